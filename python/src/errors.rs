//! Conversion of errors to the exceptions of `sternhalma._errors`.

use std::error::Error;
use std::io;
use std::path::Path;

use pyo3::PyErr;
use sternhalma_builder::{BuilderError, ResourceError};
use sternhalma_data::{BoardError, TableError};
use sternhalma_ggp::gdl::GAMES;
use sternhalma_ggp::messages::{nearest, shorten_quotes};

/// The exceptions, which are defined in Python because they have several bases.
pub mod exceptions {
    pyo3::import_exception!(sternhalma._errors, ArgumentError);
    pyo3::import_exception!(sternhalma._errors, ArgumentTypeError);
    pyo3::import_exception!(sternhalma._errors, BoardError);
    pyo3::import_exception!(sternhalma._errors, BuildError);
    pyo3::import_exception!(sternhalma._errors, CallError);
    pyo3::import_exception!(sternhalma._errors, ClosedError);
    pyo3::import_exception!(sternhalma._errors, DamagedTable);
    pyo3::import_exception!(sternhalma._errors, IllegalAction);
    pyo3::import_exception!(sternhalma._errors, IndexOutOfRange);
    pyo3::import_exception!(sternhalma._errors, LogError);
    pyo3::import_exception!(sternhalma._errors, LogNotFound);
    pyo3::import_exception!(sternhalma._errors, NotCovered);
    pyo3::import_exception!(sternhalma._errors, NotationError);
    pyo3::import_exception!(sternhalma._errors, OutOfMemory);
    pyo3::import_exception!(sternhalma._errors, ProgramError);
    pyo3::import_exception!(sternhalma._errors, RulesheetError);
    pyo3::import_exception!(sternhalma._errors, RulesheetFileError);
    pyo3::import_exception!(sternhalma._errors, RulesheetNotFound);
    pyo3::import_exception!(sternhalma._errors, StateError);
    pyo3::import_exception!(sternhalma._errors, TableError);
    pyo3::import_exception!(sternhalma._errors, TableExists);
    pyo3::import_exception!(sternhalma._errors, TableNotFound);
    pyo3::import_exception!(sternhalma._errors, TournamentError);
}

/// Returns the message of an error with those of its causes. Quotations of inputs are short.
pub fn message(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text += &format!(": {error}");
        cause = error.source();
    }
    shorten_quotes(&text)
}

/// Returns the exception for an error of a board.
pub fn board_error(error: BoardError) -> PyErr {
    exceptions::BoardError::new_err(message(&error))
}

/// Returns the message for a rulesheet that cannot be read. `known` are names that the user may have meant.
pub fn unread_rulesheet<'a>(path: &Path, error: &io::Error, known: impl IntoIterator<Item = &'a str>) -> String {
    let name = path.to_string_lossy();
    let similar = nearest(&name, known).map_or(String::new(), |name| format!("; did you mean `{name}`?"));
    let cause = format!("cannot read the rulesheet: {error}; sternhalma.ggp.games() has the built-in ones{similar}");
    shorten_quotes(&format!("{name}: {cause}"))
}

/// Returns the exception for a rulesheet that cannot be read.
pub fn rulesheet_file_error(path: &Path, error: &io::Error) -> PyErr {
    let text = unread_rulesheet(path, error, GAMES.iter().map(|game| game.name));
    match error.kind() {
        io::ErrorKind::NotFound => exceptions::RulesheetNotFound::new_err(text),
        _ => exceptions::RulesheetFileError::new_err(text),
    }
}

/// Returns the exception for an error of a table file.
pub fn table_error(error: TableError) -> PyErr {
    let text = message(&error);
    match error {
        TableError::Absent { .. } => exceptions::TableNotFound::new_err(text),
        TableError::Exists { .. } => exceptions::TableExists::new_err(text),
        TableError::NotATable { .. } | TableError::Corrupt { .. } => exceptions::DamagedTable::new_err(text),
        _ => exceptions::TableError::new_err(text),
    }
}

/// Returns the exception for an error of the builder.
pub fn builder_error(error: BuilderError) -> PyErr {
    match error {
        BuilderError::Table(error) => table_error(error),
        BuilderError::File { .. } => exceptions::TableError::new_err(message(&error)),
        BuilderError::WrongTable { .. } => exceptions::DamagedTable::new_err(message(&error)),
        BuilderError::OutOfMemory { .. }
        | BuilderError::MemoryLimit { .. }
        | BuilderError::WorkDirMemory { .. }
        | BuilderError::Resources(ResourceError::Memory { .. }) => exceptions::OutOfMemory::new_err(message(&error)),
        error => exceptions::BuildError::new_err(message(&error)),
    }
}
