//! From a board to a table file.

use std::ops::Range;
use std::path::Path;
use std::time::{Instant, SystemTime};

use rayon::ThreadPoolBuilder;
use sternhalma_data::{BlockEncoder, Contents, Encoding, NewTable, Prefix, Provenance};

use crate::blocks::write_blocks;
use crate::error::BuildError;
use crate::labels::Labels;
use crate::monitor::Monitor;
use crate::search::{Found, search};

/// What to build, and with what.
#[derive(Clone, Copy, Debug)]
pub struct BuildOptions {
    /// The states to cover.
    pub prefix: Prefix,
    /// How to store their distances.
    pub encoding: Encoding,
    /// Threads to search with; 0 for one a core.
    pub threads: usize,
}

/// Builds a table in memory and writes it to `path`, which it takes only when
/// whole. The bytes, the record of the build apart, depend on the prefix and
/// the encoding alone.
///
/// Memory: [`memory_needed`](crate::memory_needed).
///
/// ```
/// use sternhalma_builder::{BuildOptions, build};
/// use sternhalma_data::{Board, CellSet, Encoding, Lookup, Distance, Prefix, Table};
/// let dir = tempfile::tempdir()?;
/// let path = dir.path().join("5x5-3.sht");
/// let prefix = Prefix::whole(Board::new(5, 3)?);
/// build(&path, BuildOptions { prefix, encoding: Encoding::Byte, threads: 1 }, false, &())?;
///
/// let table = Table::open(&path)?;
/// assert_eq!(table.contents().layers, [1, 6, 26, 72, 166, 294, 417, 488, 429, 269, 116, 16]);
/// let opposite = prefix.board().home().turned(25);
/// assert_eq!(table.distance(opposite)?, Lookup::Exact(Distance(11)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If memory or threads cannot be had, the file cannot be written, `path`
/// exists and `replace` is not set, or the monitor cancels the work. No file
/// is left then.
pub fn build(path: &Path, options: BuildOptions, replace: bool, monitor: &dyn Monitor) -> Result<(), BuildError> {
    let started = Instant::now();
    let new = NewTable::create(path, replace)?;
    let pool = ThreadPoolBuilder::new().num_threads(options.threads).build()?;
    let Found { labels, layers, escape_layer } = search(options.prefix, options.encoding, &pool, monitor)?;
    let contents = Contents { prefix: options.prefix, encoding: options.encoding, layers, escape_layer };
    let mut writer = new.begin(contents)?;
    write_blocks(&mut writer, &pool, monitor, |encoder, blocks| -> Result<_, BuildError> {
        let ranks = blocks.iter().map(|block| block.ranks.clone());
        Ok(ranks.map(|ranks| encode(&labels, options.encoding, encoder, ranks)).collect())
    })?;
    writer.finish(&Provenance {
        program: concat!("sternhalma ", env!("CARGO_PKG_VERSION")).to_owned(),
        built: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
        mode: "in-memory".to_owned(),
        threads: pool.current_num_threads(),
        wall_s: started.elapsed().as_secs_f64(),
    })?;
    Ok(())
}

fn encode(labels: &Labels, encoding: Encoding, encoder: &mut BlockEncoder, ranks: Range<u64>) -> Vec<u8> {
    let bytes = labels.encode(ranks.clone());
    match encoding {
        // Labels are kept as these are stored.
        Encoding::Byte | Encoding::Mod3 => bytes,
        _ => encoder.encode(ranks, &bytes),
    }
}
