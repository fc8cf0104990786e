//! The tokens of a script, as far as a bundle needs them.

/// A part of a script.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Token<'a> {
    /// The kind.
    pub kind: Kind,
    /// The text.
    pub text: &'a str,
    /// The line, from 1.
    pub line: usize,
}

/// The kind of a token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A name, a keyword or a number.
    Word,
    /// A character of punctuation.
    Mark,
    /// A string, a regular expression, or a part of a template.
    Literal,
    /// White space, or a comment.
    Blank,
}

/// The words after which `/` begins a regular expression.
const BEFORE_EXPRESSION: [&str; 12] =
    ["return", "typeof", "case", "in", "of", "delete", "void", "throw", "new", "else", "do", "await"];

/// Splits a script into tokens. Their texts together are the script.
///
/// # Errors
/// If a string, a template, a regular expression or a comment does not end. The error has the line.
pub fn tokens(script: &str) -> Result<Vec<Token<'_>>, (usize, String)> {
    let mut lexer = Lexer { script, at: 0, line: 1, tokens: Vec::new(), braces: 0, templates: Vec::new() };
    while lexer.at < script.len() {
        lexer.step().map_err(|what| (lexer.line, format!("{what} does not end")))?;
    }
    Ok(lexer.tokens)
}

struct Lexer<'a> {
    script: &'a str,
    at: usize,
    line: usize,
    tokens: Vec<Token<'a>>,
    /// The open braces.
    braces: usize,
    /// The open braces before the expression in each open template.
    templates: Vec<usize>,
}

impl<'a> Lexer<'a> {
    fn step(&mut self) -> Result<(), &'static str> {
        let rest = &self.script[self.at..];
        let first = rest.chars().next().unwrap_or_default();
        let run = |test: fn(char) -> bool| rest.find(|c| !test(c)).unwrap_or(rest.len());
        let (kind, length) = if first.is_whitespace() {
            (Kind::Blank, run(char::is_whitespace))
        } else if is_word(first) {
            (Kind::Word, run(is_word))
        } else if rest.starts_with("//") {
            (Kind::Blank, run(|c| c != '\n'))
        } else if rest.starts_with("/*") {
            (Kind::Blank, rest.find("*/").ok_or("a comment")? + 2)
        } else if matches!(first, '"' | '\'') {
            (Kind::Literal, string(rest, first).ok_or("a string")?)
        } else if first == '`' || (first == '}' && self.templates.last() == Some(&self.braces)) {
            (Kind::Literal, self.template(rest).ok_or("a template")?)
        } else if first == '/' && self.expects_expression() {
            (Kind::Literal, regular_expression(rest).ok_or("a regular expression")?)
        } else {
            match first {
                '{' => self.braces += 1,
                '}' => self.braces = self.braces.saturating_sub(1),
                _ => {}
            }
            (Kind::Mark, first.len_utf8())
        };
        let text = &rest[..length];
        self.tokens.push(Token { kind, text, line: self.line });
        self.line += text.matches('\n').count();
        self.at += length;
        Ok(())
    }

    /// Returns the length of a part of a template: to its end, or to the next expression in it.
    fn template(&mut self, rest: &str) -> Option<usize> {
        if rest.starts_with('}') {
            self.templates.pop();
        }
        let mut characters = rest.char_indices().skip(1);
        while let Some((at, c)) = characters.next() {
            match c {
                '\\' => drop(characters.next()),
                '`' => return Some(at + 1),
                '$' if rest[at..].starts_with("${") => {
                    self.templates.push(self.braces);
                    return Some(at + 2);
                }
                _ => {}
            }
        }
        None
    }

    /// Returns whether an expression, and no operator, follows the tokens.
    fn expects_expression(&self) -> bool {
        match self.tokens.iter().rev().find(|token| token.kind != Kind::Blank) {
            None => true,
            Some(Token { kind: Kind::Mark, text, .. }) => !matches!(*text, ")" | "]" | "}"),
            Some(Token { kind: Kind::Word, text, .. }) => BEFORE_EXPRESSION.contains(text),
            // An expression in a template follows its first part.
            Some(Token { text, .. }) => text.ends_with("${"),
        }
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '$' | '#')
}

/// Returns the length of a string with its quotes.
fn string(rest: &str, quote: char) -> Option<usize> {
    let mut characters = rest.char_indices().skip(1);
    while let Some((at, c)) = characters.next() {
        match c {
            '\\' => drop(characters.next()),
            '\n' => return None,
            _ if c == quote => return Some(at + 1),
            _ => {}
        }
    }
    None
}

/// Returns the length of a regular expression without its flags.
fn regular_expression(rest: &str) -> Option<usize> {
    let mut in_class = false;
    let mut characters = rest.char_indices().skip(1);
    while let Some((at, c)) = characters.next() {
        match c {
            '\\' => drop(characters.next()),
            '\n' => return None,
            '[' => in_class = true,
            ']' => in_class = false,
            '/' if !in_class => return Some(at + 1),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(script: &str) -> Vec<(Kind, &str)> {
        let tokens = tokens(script).unwrap();
        assert_eq!(tokens.iter().map(|token| token.text).collect::<String>(), script);
        tokens.iter().filter(|token| token.kind != Kind::Blank).map(|token| (token.kind, token.text)).collect()
    }

    fn literals(script: &str) -> Vec<&str> {
        kinds(script).into_iter().filter(|(kind, _)| *kind == Kind::Literal).map(|(_, text)| text).collect()
    }

    #[test]
    fn literals_are_whole() {
        assert_eq!(literals(r#"a("it's // no \" comment", '/*')"#), [r#""it's // no \" comment""#, "'/*'"]);
        assert_eq!(literals(r"x.split(/[/'\]]/g) / 2"), [r"/[/'\]]/"]);
        assert_eq!(literals("return /\"/"), ["/\"/"]);
        assert!(literals("a / b / c; (a) / b; x[0] / 2").is_empty());
        assert_eq!(literals("`a ${b({ c: `${d}` })} e` + f"), ["`a ${", "`${", "}`", "} e`"]);
        assert_eq!(literals("`${/x/.test(y)}`"), ["`${", "/x/", "}`"]);
    }

    #[test]
    fn comments_are_blank() {
        assert_eq!(kinds("/* import(\"x\") */ a // \"b\n"), [(Kind::Word, "a")]);
    }

    #[test]
    fn parts_that_do_not_end_are_refused() {
        for (script, line, what) in [
            ("a\n\"b\nc\"", 2, "a string"),
            ("`a\n${b}", 2, "a template"),
            ("a = /b", 1, "a regular expression"),
            ("\n\n/* a", 3, "a comment"),
        ] {
            let (found, error) = tokens(script).unwrap_err();
            assert_eq!(error, format!("{what} does not end"));
            assert!(found <= line, "{script}");
        }
    }
}
