//! Paths of files that a command writes.

use std::ops::Deref;
use std::path::{Path, PathBuf};

use clap::builder::{MapValueParser, PathBufValueParser, TypedValueParser, ValueParserFactory};

/// The path of an output: a file, or a directory of files. All options of outputs have this type, so that they can be
/// found in the description of the commands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OutputPath(PathBuf);

impl OutputPath {
    /// Returns whether the output is stdout, for options that permit it.
    pub fn is_stdout(&self) -> bool {
        self.0 == Path::new("-")
    }
}

impl ValueParserFactory for OutputPath {
    type Parser = MapValueParser<PathBufValueParser, fn(PathBuf) -> OutputPath>;

    fn value_parser() -> Self::Parser {
        PathBufValueParser::new().map(OutputPath)
    }
}

impl Deref for OutputPath {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

impl AsRef<Path> for OutputPath {
    fn as_ref(&self) -> &Path {
        self
    }
}
