//! The exit codes of commands.

/// How a command ended, when nothing went wrong.
pub enum Outcome {
    Answered,
    NotThere,
    /// Some of many inputs were bad; each has been reported in its place.
    SomeBad,
}
