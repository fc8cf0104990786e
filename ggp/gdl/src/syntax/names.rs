//! Names that people enter.

use super::Document;

/// Returns the index of the name that a text specifies, in any case and with any spaces. The outer parentheses are
/// optional.
///
/// ```
/// let names = ["noop".to_owned(), "(mark 1 2)".to_owned()];
/// assert_eq!(sternhalma_gdl::find_name("Mark 1  2", &names), Some(1));
/// assert_eq!(sternhalma_gdl::find_name("mark 1", &names), None);
/// ```
pub fn find_name(text: &str, names: &[String]) -> Option<usize> {
    let place = |text: &str| {
        let document = Document::parse(text).ok()?;
        let name = document.expressions().next()?.without_empty_parentheses().to_string();
        names.iter().position(|other| other.eq_ignore_ascii_case(&name))
    };
    place(&format!("({text})")).or_else(|| place(text))
}
