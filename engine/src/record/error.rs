//! Errors in records of games.

use thiserror::Error;

use crate::protocol::ugi::UgiError;

/// An error in the text of a record, with its place.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("line {line}, column {column}: {fault}")]
pub struct RecordError {
    /// The line, counted from 1.
    pub line: usize,
    /// The character in the line, counted from 1.
    pub column: usize,
    /// The reason.
    pub fault: RecordFault,
}

/// The reason why a record cannot be parsed.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum RecordFault {
    /// The text does not continue as the format requires.
    #[error("expected {expected}, got {found}")]
    Unexpected {
        /// The expected text.
        expected: String,
        /// The beginning of the text.
        found: String,
    },
    /// A comment, text in quotes, a variation or move data does not end.
    #[error("{0} is not closed")]
    Unclosed(&'static str),
    /// A tag is given twice.
    #[error("the tag `{0}` is given twice")]
    TagTwice(String),
    /// The tags do not determine the start position.
    #[error("the tags do not specify the board; expected `Size` and `Pieces`, or `Start`")]
    NoBoard,
    /// The value of a tag is invalid.
    #[error("the tag `{name}`: {why}")]
    TagValue {
        /// The name of the tag.
        name: String,
        /// The error in the value.
        why: String,
    },
    /// The text of a move cannot be parsed, or the move is not legal or follows the end of the game.
    #[error(transparent)]
    Move(#[from] UgiError),
    /// Move data or a variation comes before the first move of its line.
    #[error("{0} before the first move")]
    BeforeFirstMove(&'static str),
    /// A value in the data of a move is invalid or given twice.
    #[error("`{text}`: {why}")]
    MoveData {
        /// The key and the value.
        text: String,
        /// What is wrong.
        why: &'static str,
    },
    /// Variations are nested too deeply.
    #[error("variations are nested more than {0} deep")]
    Nesting(usize),
    /// The result contradicts the tag `Result` or the moves.
    #[error("the result is `{found}`, but {source_of_other} `{other}`")]
    Result {
        /// The result at the end of the moves.
        found: &'static str,
        /// The source of the other result.
        source_of_other: &'static str,
        /// The other result.
        other: &'static str,
    },
}
