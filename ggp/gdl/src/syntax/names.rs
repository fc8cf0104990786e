//! Names that people enter.

use sternhalma_game::messages::{excerpt, nearest};
use thiserror::Error;

use super::Document;

/// A text that is not a legal move.
#[derive(Error, Clone, PartialEq, Eq, Debug)]
#[error("`{text}` is not legal for {role}; expected a move such as `{example}`")]
pub struct IllegalMove {
    /// The beginning of the text.
    pub text: String,
    /// The role.
    pub role: String,
    /// The legal move that is most similar to the text, or another one.
    pub example: String,
}

/// Returns the index of the name among others: of the equal name, or of the only name that differs in case alone.
pub fn index_of_name(name: &str, names: &[String]) -> Option<usize> {
    let exact = names.iter().position(|other| other == name);
    exact.or_else(|| {
        let mut alike = names.iter().enumerate().filter(|(_, other)| other.eq_ignore_ascii_case(name));
        let first = alike.next();
        first.filter(|_| alike.next().is_none()).map(|(place, _)| place)
    })
}

/// Returns the index of the legal move of a role that a text specifies, with any spaces. The outer parentheses are
/// optional, and so is the case if no other move differs in case alone.
///
/// ```
/// let legal = ["noop".to_owned(), "(mark 1 2)".to_owned()];
/// assert_eq!(sternhalma_gdl::find_move("Mark 1  2", "x", &legal), Ok(1));
/// let error = sternhalma_gdl::find_move("mark 1", "x", &legal).unwrap_err();
/// assert_eq!(error.to_string(), "`mark 1` is not legal for x; expected a move such as `(mark 1 2)`");
/// ```
///
/// # Errors
/// Returns an error if the text specifies no legal move.
pub fn find_move(text: &str, role: &str, legal: &[String]) -> Result<usize, IllegalMove> {
    let find = |text: &str| {
        let document = Document::parse(text).ok()?;
        let mut expressions = document.expressions();
        let only = expressions.next().filter(|_| expressions.next().is_none())?;
        index_of_name(&only.without_empty_parentheses().to_string(), legal)
    };
    find(&format!("({text})")).or_else(|| find(text)).ok_or_else(|| {
        let similar = nearest(text, legal.iter().map(String::as_str));
        let compound = || legal.iter().map(String::as_str).find(|name| name.starts_with('('));
        let example = similar.or_else(compound).or(legal.first().map(String::as_str)).unwrap_or_default();
        IllegalMove { text: excerpt(text), role: role.to_owned(), example: example.to_owned() }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_in_any_case_unless_two_are_alike() {
        let names = ["White", "black", "BLACK"].map(str::to_string);
        assert_eq!(index_of_name("white", &names), Some(0));
        assert_eq!(index_of_name("BLACK", &names), Some(2));
        assert_eq!(index_of_name("Black", &names), None);
        assert_eq!(index_of_name("red", &names), None);
    }

    #[test]
    fn a_move_is_one_expression_with_or_without_parentheses() {
        let legal = ["noop", "(mark 1 2)", "(mark 2 2)"].map(str::to_string);
        for (text, index) in [("noop", 0), ("(noop)", 0), ("MARK 1 2", 1), ("( mark 2  2 )", 2)] {
            assert_eq!(find_move(text, "x", &legal), Ok(index), "{text}");
        }
        for text in ["", "mark", "(mark 1 2", "(mark 1 2) (mark 2 2)", "(mark 1 2) noop", "((mark 1 2))", "3"] {
            let error = find_move(text, "x", &legal).unwrap_err().to_string();
            assert!(error.starts_with(&format!("`{text}` is not legal for x; expected a move such as `(")), "{error}");
        }
    }
}
