//! Modules as one script.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::module::Module;

/// The reason why the files of the page cannot be joined. It is a fault of the page, not of a request or a game.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PageError {
    /// A file of the page cannot be part of another one.
    #[error("the page is faulty: {path}, line {line}: {what}")]
    Content {
        /// The file.
        path: String,
        /// The line, from 1.
        line: usize,
        /// The reason.
        what: String,
    },
    /// A file is missing.
    #[error("the page is faulty: {path} is missing")]
    Missing {
        /// The file.
        path: String,
    },
}

/// Returns the text of a file of the page.
pub type ReadFile<'a> = &'a dyn Fn(&str) -> Result<String, PageError>;

/// Returns a script with a module and all modules that it imports. Each module is a function that returns its exports,
/// after the modules that it imports.
///
/// # Errors
/// If a module is missing, uses another form of import or export than [`Module::parse`] knows, or imports itself
/// through others.
pub fn bundle(entry: &str, read: ReadFile) -> Result<String, PageError> {
    let mut bundler = Bundler { read, modules: BTreeMap::new(), script: String::new() };
    bundler.add(entry)?;
    Ok(bundler.script)
}

struct Bundler<'a> {
    read: ReadFile<'a>,
    /// The exported names of each module, and its number. A module without them is not complete yet.
    modules: BTreeMap<String, Option<(usize, Vec<String>)>>,
    script: String,
}

impl Bundler<'_> {
    /// Adds a module after those that it imports.
    fn add(&mut self, path: &str) -> Result<(), PageError> {
        let fault = |what: String| PageError::Content { path: path.to_owned(), line: 1, what };
        match self.modules.insert(path.to_owned(), None) {
            None => {}
            Some(None) => return Err(fault("the module imports itself".to_owned())),
            known => {
                self.modules.insert(path.to_owned(), known.flatten());
                return Ok(());
            }
        }
        let text = (self.read)(path)?;
        let failed = |(line, what)| PageError::Content { path: path.to_owned(), line, what };
        let module = Module::parse(&text).map_err(failed)?;
        let mut body = String::new();
        for import in &module.imports {
            let from = resolve(path, &import.from)
                .ok_or_else(|| fault(format!("`{}` is not the address of a module", import.from)))?;
            self.add(&from)?;
            let Some(Some((number, exports))) = self.modules.get(&from) else { continue };
            if let Some((name, _)) = import.names.iter().find(|(name, _)| !exports.contains(name)) {
                return Err(fault(format!("{from} has no export `{name}`")));
            }
            let _ = writeln!(body, "const {} = m{number};", braced(&import.names));
        }
        let number = self.modules.values().flatten().count();
        let _ = writeln!(body, "{}", module.code.trim());
        let exports = braced(&module.exports);
        let _ = writeln!(self.script, "// {path}\nconst m{number} = (() => {{\n{body}return {exports};\n}})();");
        let names = module.exports.into_iter().map(|(name, _)| name).collect();
        self.modules.insert(path.to_owned(), Some((number, names)));
        Ok(())
    }
}

/// Returns names as the members of an object, which is also a pattern that reads them.
fn braced(names: &[(String, String)]) -> String {
    let member = |(name, local): &(String, String)| match name == local {
        true => name.clone(),
        false => format!("{name}: {local}"),
    };
    format!("{{ {} }}", names.iter().map(member).collect::<Vec<_>>().join(", "))
}

/// Returns the path that an address means in a file, or `None` if it is not relative.
fn resolve(path: &str, address: &str) -> Option<String> {
    let mut parts: Vec<&str> = path.split('/').collect();
    parts.pop();
    if !address.starts_with("./") && !address.starts_with("../") {
        return None;
    }
    for part in address.split('/') {
        match part {
            "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bundled(files: &[(&str, &str)]) -> Result<String, PageError> {
        let read = |path: &str| match files.iter().find(|(name, _)| *name == path) {
            Some((_, text)) => Ok((*text).to_owned()),
            None => Err(PageError::Missing { path: path.to_owned() }),
        };
        bundle(files[0].0, &read)
    }

    #[test]
    fn modules_follow_those_that_they_import() {
        let script = bundled(&[
            ("js/a.js", "import { b as x } from \"./b.js\";\nimport { c } from \"./v/c.js\";\nx(c);\n"),
            ("js/b.js", "import { c } from \"./v/c.js\";\nexport function b() { return c; }\n"),
            ("js/v/c.js", "const c = 1;\nexport { c };\n"),
        ]);
        assert_eq!(
            script.unwrap(),
            "// js/v/c.js\nconst m0 = (() => {\nconst c = 1;\nreturn { c };\n})();\n\
             // js/b.js\nconst m1 = (() => {\nconst { c } = m0;\nfunction b() { return c; }\nreturn { b };\n})();\n\
             // js/a.js\nconst m2 = (() => {\nconst { b: x } = m1;\nconst { c } = m0;\nx(c);\nreturn {  };\n})();\n"
        );
    }

    #[test]
    fn modules_that_cannot_be_bundled_are_refused() {
        let error = |files: &[(&str, &str)]| bundled(files).unwrap_err().to_string();
        let import_b = ("a.js", "import { b } from \"./b.js\";\n");
        assert_eq!(error(&[import_b]), "the page is faulty: b.js is missing");
        for (text, expected) in [
            ("const b = 1;\n", "a.js, line 1: b.js has no export `b`"),
            ("import { a } from \"./a.js\";\n", "a.js, line 1: the module imports itself"),
            ("import { a } from \"a\";\n", "b.js, line 1: `a` is not the address of a module"),
            ("import { a } from \"../../a.js\";\n", "b.js, line 1: `../../a.js` is not the address of a module"),
            ("\nimport a from \"./a.js\";\n", "b.js, line 2: expected `import { … } from \"…\";`"),
        ] {
            assert_eq!(error(&[import_b, ("b.js", text)]), format!("the page is faulty: {expected}"));
        }
    }
}
