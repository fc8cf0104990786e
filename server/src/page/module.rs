//! A module of the page: its imports, its exports, and its code without both.

use super::script::{Kind, Token, tokens};

/// A module, in the forms of import and export that the page uses.
#[derive(Debug)]
pub struct Module {
    /// The imports, in order.
    pub imports: Vec<Import>,
    /// The exported names, each with its name in the module.
    pub exports: Vec<(String, String)>,
    /// The code without comments, imports and exports.
    pub code: String,
}

/// The import of names from another module.
#[derive(Debug)]
pub struct Import {
    /// The address of the other module, relative to this one.
    pub from: String,
    /// The names in the other module, each with its name in this one.
    pub names: Vec<(String, String)>,
}

/// The expected forms of exports.
const EXPORTS: &str = "expected `export` with `{ … }`, `class`, `function`, `async function` or `const NAME`";

impl Module {
    /// Parses a module.
    ///
    /// # Errors
    /// If the module has another form of import or export than static imports and exports of names. The error has the
    /// line.
    pub fn parse(script: &str) -> Result<Module, (usize, String)> {
        let tokens = tokens(script)?;
        let module = Module { imports: Vec::new(), exports: Vec::new(), code: String::with_capacity(script.len()) };
        let mut parser = Parser { tokens: &tokens, at: 0, module };
        while let Some(token) = parser.tokens.get(parser.at) {
            parser.step(token).map_err(|what| (token.line, what))?;
        }
        Ok(parser.module)
    }
}

struct Parser<'a> {
    tokens: &'a [Token<'a>],
    at: usize,
    module: Module,
}

impl<'a> Parser<'a> {
    fn step(&mut self, token: &Token) -> Result<(), String> {
        let is_member = self.module.code.ends_with('.') && !self.module.code.ends_with("..");
        match (token.kind, token.text) {
            (Kind::Word, "import") if !is_member => self.import(),
            (Kind::Word, "export") if !is_member => self.export(),
            _ => {
                self.at += 1;
                self.copy(token);
                Ok(())
            }
        }
    }

    /// Copies a token. Comments and white space are one line break, or one blank.
    fn copy(&mut self, token: &Token) {
        let code = &mut self.module.code;
        match token.kind {
            Kind::Blank if token.text.contains('\n') => {
                code.truncate(code.trim_end_matches(' ').len());
                if !code.is_empty() && !code.ends_with('\n') {
                    code.push('\n');
                }
            }
            Kind::Blank if code.is_empty() || code.ends_with([' ', '\n']) => {}
            Kind::Blank => code.push(' '),
            _ => code.push_str(token.text),
        }
    }

    /// Returns the next token that is not blank, and moves on.
    fn next(&mut self) -> Option<&'a Token<'a>> {
        let blanks = self.rest().iter().take_while(|token| token.kind == Kind::Blank).count();
        self.at += blanks + 1;
        self.tokens.get(self.at - 1)
    }

    /// Returns the next token that is not blank.
    fn peek(&self) -> Option<&'a Token<'a>> {
        self.rest().iter().find(|token| token.kind != Kind::Blank)
    }

    fn rest(&self) -> &'a [Token<'a>] {
        self.tokens.get(self.at..).unwrap_or_default()
    }

    fn expect(&mut self, text: &str) -> Result<(), String> {
        match self.next() {
            Some(token) if token.text == text => Ok(()),
            other => Err(format!("expected `{text}`, got `{}`", other.map_or("", |token| token.text))),
        }
    }

    fn import(&mut self) -> Result<(), String> {
        self.next();
        match self.peek().map(|token| token.text) {
            Some("{") => {}
            Some("(") => return Err("a dynamic import cannot be part of one script".to_owned()),
            _ => return Err("expected `import { … } from \"…\";`".to_owned()),
        }
        let names = self.names()?;
        self.expect("from")?;
        let address = self.next().filter(|token| token.kind == Kind::Literal && token.text.starts_with('"'));
        let from = address.ok_or("expected the address of a module")?.text.trim_matches('"').to_owned();
        self.expect(";")?;
        self.module.imports.push(Import { from, names });
        Ok(())
    }

    fn export(&mut self) -> Result<(), String> {
        self.next();
        let keyword = self.peek().map_or("", |token| token.text);
        if keyword == "{" {
            // The name before `as` is that in this module, and the one after it the exported one.
            let names = self.names()?.into_iter().map(|(local, exported)| (exported, local));
            self.module.exports.extend(names);
            return self.expect(";").map_err(|_| EXPORTS.to_owned());
        }
        // The declaration itself stays in the code.
        let declaration = self.at;
        let name = match (keyword, self.next().and_then(|_| self.next())) {
            ("async", Some(token)) if token.text == "function" => self.next(),
            ("class" | "function" | "const", name) => name,
            _ => return Err(EXPORTS.to_owned()),
        };
        let name = match name {
            Some(token) if token.text == "*" => self.next(),
            name => name,
        };
        let name = name.filter(|token| token.kind == Kind::Word).ok_or(EXPORTS)?.text.to_owned();
        self.module.exports.push((name.clone(), name));
        self.at = declaration;
        Ok(())
    }

    /// Parses names in braces: `{ a, b as c }`.
    fn names(&mut self) -> Result<Vec<(String, String)>, String> {
        self.expect("{")?;
        let mut names = Vec::new();
        loop {
            let name = self.next().ok_or("expected `}`")?;
            if name.text == "}" {
                return Ok(names);
            }
            let renamed = self.peek().is_some_and(|token| token.text == "as");
            let local = if renamed { self.next().and_then(|_| self.next()).unwrap_or(name) } else { name };
            if name.kind != Kind::Word || local.kind != Kind::Word {
                return Err(format!("expected a name, got `{}`", local.text));
            }
            names.push((name.text.to_owned(), local.text.to_owned()));
            if self.peek().is_some_and(|token| token.text == ",") {
                self.next();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_and_exports_are_separated_from_the_code() {
        let module = Module::parse(
            "/** A module. */\nimport {\n  a,\n  b as c, // both\n} from \"./x.js\";\n\
             export const d = 1; /* one */\nexport async function e() {\n  return a.import /* x */;\n}\n\
             export class F {}\nexport function* g() {}\nconst h = 2;\nexport { h, h as i };\n",
        )
        .unwrap();
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        let [import] = &module.imports[..] else { panic!("{module:?}") };
        assert_eq!((import.from.as_str(), &import.names), ("./x.js", &vec![pair("a", "a"), pair("b", "c")]));
        let exports = ["d", "e", "F", "g", "h"].map(|name| pair(name, name));
        assert_eq!(module.exports, [&exports[..], &[pair("i", "h")]].concat());
        assert_eq!(
            module.code,
            "const d = 1;\nasync function e() {\nreturn a.import ;\n}\nclass F {}\nfunction* g() {}\nconst h = 2;\n"
        );
    }

    #[test]
    fn other_forms_of_import_and_export_are_refused() {
        for script in [
            "import a from \"./x.js\";",
            "import * as a from \"./x.js\";",
            "import \"./x.js\";",
            "import { a } from './x.js';",
            "import { a } from \"./x.json\" with { type: \"json\" };",
            "const a = await import(\"./x.js\");",
            "const a = `${import(\"./x.js\")}`;",
            "f(...import(\"./x.js\"));",
            "const a = import.meta.url;",
            "export default class A {}",
            "export * from \"./x.js\";",
            "export { a } from \"./x.js\";",
            "export let a = 1;",
            "export const { a } = b;",
            "export const [a] = b;",
            "export async () => {};",
        ] {
            let (line, error) = Module::parse(&format!("const z = 1;\n{script}\n")).unwrap_err();
            assert_eq!(line, 2, "{script}: {error}");
        }
    }
}
