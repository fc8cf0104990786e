//! The arguments of a build.

use std::path::PathBuf;

use bytesize::ByteSize;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use sternhalma_builder::{BuildMode, LayerForm, TableBuilder};
use sternhalma_data::{Encoding, Prefix};

use crate::args::blocks::{BlockArgs, encoding_parser};
use crate::args::board::BoardArgs;
use crate::args::cluster::BuildClusterArgs;
use crate::args::mirror::MirrorArgs;
use crate::args::output::OutputPath;
use crate::args::threads::ThreadArgs;
use crate::commands::estimate;
use crate::resources::memory_limit;
use crate::values::{count, size};

/// Build a distance table
///
/// Without options, builds the complete table for 6 pieces on the 9x9 board,
/// with one byte per state, in the tables directory. Prints the path of the
/// file. If the same table exists, prints its path and builds nothing.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub board: BoardArgs,
    /// Cover only states whose pieces all lie within the B cells nearest the goal
    #[arg(long, value_name = "B", value_parser = count::<u64>(0), help_heading = "Board")]
    pub within: Option<u64>,
    /// Encoding of distances: `byte`, `mod3` (2 bits), `zstd` (about 1 bit), or `ans` (about 0.6 bits, with slow look-ups)
    #[arg(long, default_value = "byte", value_parser = encoding_parser(), hide_possible_values = true, help_heading = "Encoding")]
    pub encoding: Encoding,
    #[command(flatten)]
    pub blocks: BlockArgs,
    #[command(flatten)]
    pub mirror: MirrorArgs,
    #[command(flatten)]
    pub threads: ThreadArgs,
    /// File to write [default: named after the board, in the tables directory]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<OutputPath>,
    /// Replace the file if it exists
    #[arg(long)]
    pub force: bool,
    /// Memory limit, e.g. `2GiB` [default: three quarters of the machine's memory]
    #[arg(long, value_name = "SIZE", value_parser = size, help_heading = "Resources")]
    pub memory: Option<ByteSize>,
    /// Search in memory, or out of core in a work directory [default: in memory if the limit allows]
    #[arg(long, value_name = "MODE", value_parser = name_parser(BuildMode::ALL, BuildMode::name), help_heading = "Resources")]
    #[arg(conflicts_with = "cluster")]
    pub mode: Option<BuildMode>,
    /// Work directory of an out-of-core build [default: beside the file]
    #[arg(long, value_name = "DIR", help_heading = "Resources")]
    pub work_dir: Option<PathBuf>,
    /// Form of layers out of core: `whole` is faster, `delta` takes less disk space [default: whole if the disk has room]
    #[arg(long, value_name = "FORM", value_parser = name_parser(LayerForm::ALL, LayerForm::name), help_heading = "Resources")]
    #[arg(conflicts_with = "cluster")]
    pub layers: Option<LayerForm>,
    /// Discard the work of an earlier build in the work directory
    #[arg(long, help_heading = "Resources")]
    pub fresh: bool,
    /// Drop work files from the system's page cache after use
    #[arg(long, help_heading = "Resources")]
    pub uncached: bool,
    /// Estimate time, memory and disk space from smaller builds, and do not build the table
    #[arg(long, help_heading = "Estimate")]
    pub plan: bool,
    #[command(flatten)]
    pub machine: estimate::MachineArgs,
    #[command(flatten)]
    pub cluster: BuildClusterArgs,
    /// Print JSON: the output of `info --json` for the new table, or the estimate
    #[arg(long)]
    pub json: bool,
}

/// Returns a parser of the names of `values`.
fn name_parser<T: Copy + Send + Sync + 'static>(
    values: [T; 2],
    name: fn(T) -> &'static str,
) -> impl TypedValueParser<Value = T> {
    let value = move |given: String| values.into_iter().find(|&value| name(value) == given);
    PossibleValuesParser::new(values.map(name)).map(move |given| value(given).expect("the parser accepts the names"))
}

impl Args {
    /// Returns the memory limit, in bytes.
    pub fn limit(&self) -> u64 {
        memory_limit(self.memory)
    }

    /// Returns the build that the arguments describe, within `limit` bytes of memory.
    pub fn builder(&self, prefix: Prefix, encoding: Encoding, limit: u64) -> TableBuilder {
        let mut builder = TableBuilder::new(prefix)
            .encoding(encoding)
            .threads(self.threads.get())
            .memory_limit(match (self.mode, self.memory) {
                // Without --memory, the memory that is available is the limit of a requested build in memory.
                (Some(BuildMode::InMemory), None) => u64::MAX,
                _ => limit,
            })
            .restart(self.fresh)
            .overwrite(self.force)
            .drop_page_cache(self.uncached);
        if let Some(mirrored) = self.mirror.mirrored() {
            builder = builder.mirroring(mirrored);
        }
        if let Some(mode) = self.mode {
            builder = builder.mode(mode);
        }
        if let Some(form) = self.layers {
            builder = builder.layer_form(form);
        }
        if let Some(work_dir) = &self.work_dir {
            builder = builder.work_dir(work_dir);
        }
        builder
    }
}
