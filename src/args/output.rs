//! Paths of files that a command writes.

use std::ops::Deref;
use std::path::{Path, PathBuf};

use clap::ArgMatches;
use clap::builder::{MapValueParser, PathBufValueParser, TypedValueParser, ValueParserFactory};

use crate::tables_dir::TablesArgs;

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

/// Returns the reason why an output of a command destroys one of its inputs or another output, also under another name.
pub fn conflict(matches: &clap::ArgMatches, tables: &TablesArgs) -> Option<String> {
    if let Some((_, matches)) = matches.subcommand() {
        return conflict(matches, tables);
    }
    fn values<T: Clone + Send + Sync + 'static>(matches: &ArgMatches) -> Vec<T> {
        let ids = matches.ids();
        ids.filter_map(|id| matches.try_get_many::<T>(id.as_str()).ok().flatten()).flatten().cloned().collect()
    }
    let same = |output: &OutputPath, other: &Path| sternhalma_files::is_same_file(output, other);
    // An input may also be the name of a table.
    let is_input = |output: &OutputPath, input: &PathBuf| {
        input.as_os_str() != "-" && (same(output, input) || tables.find(input).is_ok_and(|table| same(output, &table)))
    };
    let (inputs, outputs) = (values::<PathBuf>(matches), values::<OutputPath>(matches));
    outputs.iter().enumerate().find_map(|(index, output)| {
        let is_other = |other: &&OutputPath| {
            **other == *output && !output.is_stdout() && !sternhalma_files::is_stream(output)
                || output.is_file() && same(output, other)
        };
        if let Some(input) = inputs.iter().find(|input| is_input(output, input)) {
            let (output, input) = (output.display(), input.display());
            return Some(format!("{output}: this is an input ({input}), which would be destroyed; name another file"));
        }
        let other = outputs[..index].iter().find(is_other)?;
        let (output, other) = (output.display(), other.display());
        Some(format!("{output}: this is another output ({other}), which would be damaged; name another file"))
    })
}
