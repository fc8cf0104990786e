//! The results of commands that did not fail.

use std::process::ExitCode;

/// The result of a command that did not fail. Each has its exit code.
pub enum CommandOutcome {
    /// The question is answered: exit code 0.
    Answered,
    /// What was asked for does not exist, or two things differ: exit code 1.
    NotFound,
    /// Some of the inputs were wrong and have been reported: exit code 2.
    SomeInvalid,
}

impl From<CommandOutcome> for ExitCode {
    fn from(outcome: CommandOutcome) -> ExitCode {
        ExitCode::from(match outcome {
            CommandOutcome::Answered => 0,
            CommandOutcome::NotFound => 1,
            CommandOutcome::SomeInvalid => 2,
        })
    }
}
