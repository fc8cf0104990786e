//! From a board to a table file.

use std::ops::Range;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use rayon::{ThreadPool, ThreadPoolBuilder};
use sternhalma_data::table::Provenance;
use sternhalma_data::table::fs::OsFileSystem;
use sternhalma_data::table::write::{BlockEncoder, NewTable};
use sternhalma_data::{Encoding, Prefix, TableInfo};

use crate::blocks::{Pace, write_blocks};
use crate::error::BuildError;
use crate::labels::Labels;
use crate::monitor::Monitor;
use crate::process::{cpu_time, peak_memory};
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
/// use sternhalma_data::{Board, CellSet, Encoding, Probe, Distance, Prefix, Table};
/// let dir = tempfile::tempdir()?;
/// let path = dir.path().join("5x5-3.sht");
/// let prefix = Prefix::whole(Board::new(5, 3)?);
/// build(&path, BuildOptions { prefix, encoding: Encoding::Byte, threads: 1 }, false, &())?;
///
/// let table = Table::open(&path)?;
/// assert_eq!(table.info().layers, [1, 6, 26, 72, 166, 294, 417, 488, 429, 269, 116, 16]);
/// assert_eq!(table.probe(State::start(prefix.board()))?, Probe::Exact(Distance(11)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If memory or threads cannot be had, the file cannot be written, `path`
/// exists and `replace` is not set, or the monitor cancels the work. No file
/// is left then.
pub fn build(path: &Path, options: BuildOptions, replace: bool, monitor: &dyn Monitor) -> Result<(), BuildError> {
    let clock = Clock::start();
    let storage = OsFileSystem::shared();
    let new = NewTable::create_in(&storage, path, replace)?;
    let pool = ThreadPoolBuilder::new().num_threads(options.threads).build()?;
    let Found { labels, layers, boundary_layer, successors } =
        search(options.prefix, options.encoding, &pool, monitor)?;
    let contents = TableInfo { prefix: options.prefix, encoding: options.encoding, layers, boundary_layer };
    let mut writer = new.begin(contents)?;
    write_blocks(&mut writer, Pace::default(), &pool, monitor, |encoder, blocks| -> Result<_, BuildError> {
        let ranks = blocks.iter().map(|block| block.ranks.clone());
        Ok(ranks.map(|ranks| encode(&labels, 0, options.encoding, encoder, ranks)).collect())
    })?;
    let (wall, cpu) = clock.elapsed();
    writer.finish(&Provenance {
        wall_s: wall.as_secs_f64(),
        cpu_s: cpu.as_secs_f64(),
        successors,
        table_io: storage.traffic(),
        ..provenance("in-memory", &pool)
    })?;
    Ok(())
}

/// What is the same for all builds.
pub(crate) fn provenance(mode: &str, pool: &ThreadPool) -> Provenance {
    Provenance {
        program: concat!("sternhalma ", env!("CARGO_PKG_VERSION")).to_owned(),
        built: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
        mode: mode.to_owned(),
        threads: pool.current_num_threads(),
        peak_bytes: peak_memory(),
        ..Provenance::default()
    }
}

/// Time on the wall and of the processors.
pub(crate) struct Clock(Instant, Duration);

impl Clock {
    pub fn start() -> Clock {
        Clock(Instant::now(), cpu_time())
    }

    pub fn elapsed(&self) -> (Duration, Duration) {
        (self.0.elapsed(), cpu_time().saturating_sub(self.1))
    }
}

/// The bytes of a block, of which `labels` begin at rank `first`.
pub(crate) fn encode(
    labels: &Labels,
    first: u64,
    encoding: Encoding,
    encoder: &mut BlockEncoder,
    ranks: Range<u64>,
) -> Vec<u8> {
    let bytes = labels.encode(ranks.start - first..ranks.end - first);
    match encoding {
        // Labels are kept as these are stored.
        Encoding::Byte | Encoding::Mod3 => bytes,
        _ => encoder.encode(ranks, &bytes),
    }
}
