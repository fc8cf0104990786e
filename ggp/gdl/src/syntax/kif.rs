//! The Knowledge Interchange Format: text to expressions and back.

use std::{fmt, mem};

use thiserror::Error;

/// The maximum nesting depth of lists. Because of this limit, functions on
/// expressions may recurse.
pub const MAX_DEPTH: usize = 200;

/// The maximum length of the text of a term that a proof or grounding creates, in bytes.
///
/// A term can contain another one several times, so its text can be exponentially longer than the rules.
pub const MAX_TERM_LENGTH: usize = 1 << 16;

/// A position in a text. Lines and columns count from 1, columns in characters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Place {
    /// The line number.
    pub line: u32,
    /// The column, in characters.
    pub column: u32,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// A syntax error in a KIF text. Each variant has its place, and its message
/// states what was expected there.
#[derive(Error, Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum KifError {
    /// The text ends within a list.
    #[error("{place}: this parenthesis is never closed: expected `)` before the end of the text")]
    Unclosed {
        /// The innermost open parenthesis.
        place: Place,
    },
    /// A parenthesis closes nothing.
    #[error("{place}: `)` closes nothing: expected a symbol, `(` or the end of the text")]
    Unopened {
        /// The closing parenthesis.
        place: Place,
    },
    /// A list is empty.
    #[error("{place}: the list is empty: expected a symbol or `(` after `(`")]
    Empty {
        /// The opening parenthesis.
        place: Place,
    },
    /// Lists are nested deeper than [`MAX_DEPTH`].
    #[error("{place}: lists are nested deeper than {MAX_DEPTH}: expected `)` or a symbol")]
    TooDeep {
        /// The opening parenthesis that exceeds the limit.
        place: Place,
    },
    /// The text ends within a string.
    #[error("{place}: this string is never closed: expected `\"` before the end of the text")]
    UnclosedString {
        /// The opening quotation mark.
        place: Place,
    },
}

impl KifError {
    /// Returns the place of the error.
    pub fn place(&self) -> Place {
        match *self {
            KifError::Unclosed { place }
            | KifError::Unopened { place }
            | KifError::Empty { place }
            | KifError::TooDeep { place }
            | KifError::UnclosedString { place } => place,
        }
    }
}

/// A symbol or a list, with its place and the comments before it.
///
/// Equality compares the content and ignores places and comments.
#[derive(Clone, Debug)]
pub struct Expr {
    /// The place of the expression's first character.
    pub place: Place,
    /// The comments since the previous expression, each with its semicolons.
    pub comments: Vec<String>,
    /// The symbol or list itself.
    pub kind: ExprKind,
}

/// The content of an expression.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ExprKind {
    /// A symbol, or a string with its quotation marks.
    Symbol(String),
    /// A list of at least one expression.
    List(Vec<Expr>),
}

impl PartialEq for Expr {
    fn eq(&self, other: &Expr) -> bool {
        self.kind == other.kind
    }
}

impl Eq for Expr {}

impl Expr {
    /// Creates a symbol without a place.
    pub fn symbol(name: impl Into<String>) -> Expr {
        Expr { place: Place::default(), comments: Vec::new(), kind: ExprKind::Symbol(name.into()) }
    }

    /// Creates a list without a place.
    pub fn list(items: Vec<Expr>) -> Expr {
        Expr { place: Place::default(), comments: Vec::new(), kind: ExprKind::List(items) }
    }

    /// Returns the symbol, or `None` for a list.
    pub fn as_symbol(&self) -> Option<&str> {
        match &self.kind {
            ExprKind::Symbol(name) => Some(name),
            ExprKind::List(_) => None,
        }
    }

    /// Returns whether the expression is the keyword, ignoring case.
    pub fn is_keyword(&self, keyword: &str) -> bool {
        self.as_symbol().is_some_and(|name| name.eq_ignore_ascii_case(keyword))
    }

    /// Adds the comments of the expression and of all its parts to `comments`, in
    /// order.
    fn gather_comments<'a>(&'a self, comments: &mut Vec<&'a str>) {
        comments.extend(self.comments.iter().map(String::as_str));
        if let ExprKind::List(items) = &self.kind {
            for item in items {
                item.gather_comments(comments);
            }
        }
    }
}

impl Expr {
    /// Returns the expression with each `(name)`, a list of one symbol,
    /// replaced by `name`, from the inside outwards: `((name))` becomes `name`.
    pub fn without_empty_parentheses(&self) -> Expr {
        let kind = match &self.kind {
            ExprKind::List(items) => {
                let mut items: Vec<Expr> = items.iter().map(Expr::without_empty_parentheses).collect();
                match &mut items[..] {
                    [Expr { kind: ExprKind::Symbol(name), .. }] => ExprKind::Symbol(mem::take(name)),
                    _ => ExprKind::List(items),
                }
            }
            ExprKind::Symbol(name) => ExprKind::Symbol(name.clone()),
        };
        Expr { place: self.place, comments: self.comments.clone(), kind }
    }
}

impl fmt::Display for Expr {
    /// Writes the expression on one line, without comments.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            ExprKind::Symbol(name) => f.write_str(name),
            ExprKind::List(items) => {
                for (i, item) in items.iter().enumerate() {
                    write!(f, "{}{item}", if i == 0 { "(" } else { " " })?;
                }
                f.write_str(")")
            }
        }
    }
}

/// A parsed text: its expressions, comments and blank lines.
///
/// `to_string` prints a normal form: one statement per line, the bodies of rules
/// indented, and comments and single blank lines kept.
///
/// ```
/// use sternhalma_gdl::Document;
///
/// let text = Document::parse("(<= terminal(true  end))(role you)")?;
/// assert_eq!(text.to_string(), "(<= terminal\n    (true end))\n(role you)");
/// # Ok::<(), sternhalma_gdl::KifError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Document {
    items: Vec<Item>,
}

/// Compares the expressions of two documents.
impl PartialEq for Document {
    fn eq(&self, other: &Document) -> bool {
        self.expressions().eq(other.expressions())
    }
}

impl Eq for Document {}

#[derive(Clone, Debug)]
struct Item {
    after_blank: bool,
    content: ItemContent,
}

#[derive(Clone, Debug)]
enum ItemContent {
    Comment(String),
    Expr(Expr),
}

impl FromIterator<Expr> for Document {
    fn from_iter<T: IntoIterator<Item = Expr>>(exprs: T) -> Document {
        let item = |expr| Item { after_blank: false, content: ItemContent::Expr(expr) };
        Document { items: exprs.into_iter().map(item).collect() }
    }
}

impl Document {
    /// Parses a text.
    ///
    /// # Errors
    ///
    /// Returns the first syntax error.
    pub fn parse(text: &str) -> Result<Document, KifError> {
        Reader::new(text).document()
    }

    /// Returns the expressions in order.
    pub fn expressions(&self) -> impl Iterator<Item = &Expr> {
        self.items.iter().filter_map(|item| match &item.content {
            ItemContent::Expr(expr) => Some(expr),
            ItemContent::Comment(_) => None,
        })
    }
}

impl fmt::Display for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, item) in self.items.iter().enumerate() {
            if i > 0 {
                f.write_str(if item.after_blank { "\n\n" } else { "\n" })?;
            }
            match &item.content {
                ItemContent::Comment(text) => f.write_str(text)?,
                ItemContent::Expr(expr) => print_statement(expr, f)?,
            }
        }
        Ok(())
    }
}

/// Prints a statement. A rule has its head on the first line and each part of
/// its body on a separate line. Comments inside a part precede its line.
fn print_statement(expr: &Expr, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let rule = match &expr.kind {
        ExprKind::List(items) if items.len() > 1 && items[0].is_keyword("<=") => items,
        _ => {
            print_comments(expr, "", f)?;
            return write!(f, "{expr}");
        }
    };
    print_comments(&rule[0], "", f)?;
    print_comments(&rule[1], "", f)?;
    write!(f, "({} {}", rule[0], rule[1])?;
    for part in &rule[2..] {
        f.write_str("\n    ")?;
        print_comments(part, "    ", f)?;
        write!(f, "{part}")?;
    }
    f.write_str(")")
}

fn print_comments(expr: &Expr, indent: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut comments = Vec::new();
    expr.gather_comments(&mut comments);
    comments.iter().try_for_each(|comment| write!(f, "{comment}\n{indent}"))
}

/// Returns whether a character separates symbols. A byte order mark does, since
/// concatenated files contain it anywhere.
fn is_space(c: char) -> bool {
    c.is_whitespace() || c == '\u{feff}'
}

/// A list whose closing parenthesis has not been read yet.
struct OpenList {
    /// The opening parenthesis.
    place: Place,
    /// The comments before the list.
    comments: Vec<String>,
    items: Vec<Expr>,
}

struct Reader<'a> {
    chars: std::iter::Peekable<std::str::Chars<'a>>,
    /// The position of the next character.
    place: Place,
    /// The line on which the last token or comment ended.
    last_line: u32,
    document: Document,
    /// The open lists, from the outermost to the innermost.
    open: Vec<OpenList>,
    /// The comments inside a list that no expression has taken yet.
    comments: Vec<String>,
}

impl<'a> Reader<'a> {
    fn new(text: &'a str) -> Reader<'a> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        Reader {
            chars: text.chars().peekable(),
            place: Place { line: 1, column: 1 },
            last_line: 1,
            document: Document::default(),
            open: Vec::new(),
            comments: Vec::new(),
        }
    }

    fn document(mut self) -> Result<Document, KifError> {
        while let Some(&c) = self.chars.peek() {
            match c {
                c if is_space(c) => self.skip(),
                ';' => self.comment(),
                '(' => self.open()?,
                ')' => self.close()?,
                '"' => self.string()?,
                _ => self.symbol(),
            }
        }
        match self.open.last() {
            Some(open) => Err(KifError::Unclosed { place: open.place }),
            None => Ok(self.document),
        }
    }

    fn skip(&mut self) {
        match self.chars.next() {
            Some('\n') => self.place = Place { line: self.place.line + 1, column: 1 },
            Some(_) => self.place.column += 1,
            None => {}
        }
    }

    fn comment(&mut self) {
        let start = self.place;
        let text = self.take_while(|c| c != '\n').trim_end().to_string();
        if self.open.is_empty() {
            self.item(start, ItemContent::Comment(text));
        } else {
            self.comments.push(text);
        }
        self.last_line = start.line;
    }

    /// Opens a list at a parenthesis. The list takes the comments before it.
    fn open(&mut self) -> Result<(), KifError> {
        let place = self.place;
        if self.open.len() == MAX_DEPTH {
            return Err(KifError::TooDeep { place });
        }
        self.skip();
        self.open.push(OpenList { place, comments: std::mem::take(&mut self.comments), items: Vec::new() });
        Ok(())
    }

    /// Closes the innermost list. Comments before the parenthesis are added to the
    /// last part.
    fn close(&mut self) -> Result<(), KifError> {
        let place = self.place;
        let Some(mut open) = self.open.pop() else { return Err(KifError::Unopened { place }) };
        let Some(last) = open.items.last_mut() else { return Err(KifError::Empty { place: open.place }) };
        last.comments.append(&mut self.comments);
        self.skip();
        self.add(Expr { place: open.place, comments: open.comments, kind: ExprKind::List(open.items) });
        Ok(())
    }

    fn symbol(&mut self) {
        let place = self.place;
        let name = self.take_while(|c| !is_space(c) && !matches!(c, '(' | ')' | ';'));
        self.add_symbol(place, name);
    }

    /// Reads a string with its quotation marks and escapes. A backslash escapes the
    /// next character.
    fn string(&mut self) -> Result<(), KifError> {
        let place = self.place;
        let mut text = String::new();
        loop {
            let Some(&c) = self.chars.peek() else { return Err(KifError::UnclosedString { place }) };
            self.skip();
            text.push(c);
            match c {
                '\\' => {
                    text.extend(self.chars.peek());
                    self.skip();
                }
                '"' if text.len() > 1 => break,
                _ => {}
            }
        }
        self.add_symbol(place, text);
        Ok(())
    }

    fn take_while(&mut self, keep: impl Fn(char) -> bool) -> String {
        let mut text = String::new();
        while let Some(&c) = self.chars.peek()
            && keep(c)
        {
            text.push(c);
            self.skip();
        }
        text
    }

    fn add_symbol(&mut self, place: Place, name: String) {
        let comments = std::mem::take(&mut self.comments);
        self.add(Expr { place, comments, kind: ExprKind::Symbol(name) });
    }

    fn add(&mut self, expr: Expr) {
        match self.open.last_mut() {
            Some(open) => open.items.push(expr),
            None => self.item(expr.place, ItemContent::Expr(expr)),
        }
    }

    fn item(&mut self, start: Place, content: ItemContent) {
        let after_blank = !self.document.items.is_empty() && start.line > self.last_line + 1;
        self.document.items.push(Item { after_blank, content });
        self.last_line = self.place.line;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn error(text: &str) -> KifError {
        Document::parse(text).unwrap_err()
    }

    fn at(line: u32, column: u32) -> Place {
        Place { line, column }
    }

    #[test]
    fn syntax_errors_have_their_place() {
        assert_eq!(error("a\n (b (c)"), KifError::Unclosed { place: at(2, 2) });
        assert_eq!(error("(a))"), KifError::Unopened { place: at(1, 4) });
        assert_eq!(error("; (\n)"), KifError::Unopened { place: at(2, 1) });
        assert_eq!(error("(a ( ))"), KifError::Empty { place: at(1, 4) });
        assert_eq!(error("()"), KifError::Empty { place: at(1, 1) });
        assert_eq!(error("(; only a comment\n)"), KifError::Empty { place: at(1, 1) });
        assert_eq!(error("(a \"b)"), KifError::UnclosedString { place: at(1, 4) });
        assert_eq!(error("\"\\"), KifError::UnclosedString { place: at(1, 1) });
        assert_eq!(error("é(é"), KifError::Unclosed { place: at(1, 2) });
        assert_eq!(
            error("(").to_string(),
            "1:1: this parenthesis is never closed: expected `)` before the end of the text"
        );
    }

    #[test]
    fn a_million_parentheses_end_in_an_error() {
        let deepest = at(1, MAX_DEPTH as u32 + 1);
        assert_eq!(error(&"(".repeat(1_000_000)), KifError::TooDeep { place: deepest });
        assert_eq!(error(&")".repeat(1_000_000)), KifError::Unopened { place: at(1, 1) });
        let deep = "(".repeat(MAX_DEPTH) + "a" + &")".repeat(MAX_DEPTH);
        assert_eq!(Document::parse(&deep).unwrap().to_string(), deep);
    }

    #[test]
    fn symbols_may_contain_unusual_characters() {
        let text = "(a\"b +1 <=> @#$% \"a (;) \\\" b\" ?x)";
        let document = Document::parse(text).unwrap();
        let ExprKind::List(items) = &document.expressions().next().unwrap().kind else { panic!("a list") };
        let names: Vec<_> = items.iter().filter_map(Expr::as_symbol).collect();
        assert_eq!(names, ["a\"b", "+1", "<=>", "@#$%", "\"a (;) \\\" b\"", "?x"]);
        assert_eq!(items[4].place, at(1, 18));
        assert_eq!(document.to_string(), text);
    }

    #[test]
    fn a_text_may_consist_of_comments() {
        for text in ["", " \r\n\t", ";", ";;;\n", "\u{feff}; a", "\u{feff}\u{feff}", "\n\u{feff}"] {
            assert_eq!(Document::parse(text).unwrap().expressions().count(), 0);
        }
    }

    #[test]
    fn comments_and_single_blank_lines_are_kept() {
        let text = "; one  \n\n\n\n a ; two\n(<= h ; three\n  ; four\n (b ;five\n c) d ; six\n)";
        let printed = Document::parse(text).unwrap().to_string();
        let lines = [
            "; one",
            "",
            "a",
            "; two",
            "(<= h",
            "    ; three",
            "    ; four",
            "    ;five",
            "    (b c)",
            "    ; six",
            "    d)",
        ];
        assert_eq!(printed.lines().collect::<Vec<_>>(), lines);
        assert_eq!(Document::parse(&printed).unwrap().to_string(), printed);
    }

    fn expr() -> impl Strategy<Value = Expr> {
        let symbol = prop_oneof![
            "[a-zA-Z0-9?<=+@#$%é'.,:-]{1,6}",
            "\"([a-z ();?]|\\\\\\PC)*\"",
            Just("<=".to_string()),
            Just("not".to_string()),
        ];
        symbol
            .prop_map(Expr::symbol)
            .prop_recursive(4, 40, 5, |inner| proptest::collection::vec(inner, 1..5).prop_map(Expr::list))
    }

    proptest! {
        #[test]
        fn printed_documents_parse_to_the_same_expressions(exprs in proptest::collection::vec(expr(), 0..8)) {
            let document: Document = exprs.into_iter().collect();
            prop_assert_eq!(Document::parse(&document.to_string()).unwrap(), document);
        }

        #[test]
        fn any_text_is_parsed_or_rejected(text in "[ab()\\\\;\"\n ?<=é]{0,60}") {
            if let Ok(document) = Document::parse(&text) {
                let printed = document.to_string();
                let again = Document::parse(&printed).unwrap();
                prop_assert_eq!(&again, &document);
                prop_assert_eq!(again.to_string(), printed);
            }
        }
    }
}
