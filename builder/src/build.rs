//! From a board to a table file.

use std::ops::Range;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use sternhalma_data::{Contents, Disk, Encoding, NewTable, Prefix, Provenance, TableWriter, checksum};

use crate::error::BuildError;
use crate::monitor::{Monitor, Stage};
use crate::process::{cpu_time, peak_memory};
use crate::search::{Found, search};

/// Blocks a thread encodes before they are written.
const BLOCKS_AT_ONCE: u64 = 4;

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
    let clock = Clock::start();
    let storage = Disk::storage();
    let new = NewTable::create_in(&storage, path, replace)?;
    let pool = ThreadPoolBuilder::new().num_threads(options.threads).build()?;
    let Found { labels, layers, escape_layer, successors } = search(options.prefix, options.encoding, &pool, monitor)?;
    let contents = Contents { prefix: options.prefix, encoding: options.encoding, layers, escape_layer };
    let mut writer = new.begin(contents)?;
    let layout = writer.layout().clone();
    let encode = |blocks: Range<u64>| Ok(blocks.map(|number| labels.encode(layout.block(number).ranks)).collect());
    write_blocks(&mut writer, Batch { tasks: BLOCKS_AT_ONCE, blocks: 1 }, &pool, monitor, encode)?;
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

/// What is encoded while what was encoded before is written.
#[derive(Clone, Copy)]
pub(crate) struct Batch {
    /// Tasks for each thread.
    pub tasks: u64,
    /// Blocks that a task encodes.
    pub blocks: u64,
}

/// Encodes some blocks on all threads while those before them are written.
pub(crate) fn write_blocks(
    writer: &mut TableWriter,
    batch: Batch,
    pool: &ThreadPool,
    monitor: &dyn Monitor,
    encode: impl Fn(Range<u64>) -> Result<Vec<Vec<u8>>, BuildError> + Sync,
) -> Result<(), BuildError> {
    let blocks = writer.layout().blocks();
    let at_once = batch.tasks * batch.blocks * pool.current_num_threads() as u64;
    monitor.begin(Stage::Write, blocks);
    let encode_batch = |first: u64| -> Result<Vec<(Vec<u8>, u64)>, BuildError> {
        let end = blocks.min(first + at_once);
        let tasks = (first..end).step_by(batch.blocks as usize).collect::<Vec<u64>>();
        let encoded = tasks.into_par_iter().map(|first| {
            let blocks = encode(first..end.min(first + batch.blocks))?;
            Ok(blocks.into_iter().map(|bytes| (checksum(&bytes), bytes)).map(|(sum, bytes)| (bytes, sum)).collect())
        });
        Ok(encoded.collect::<Result<Vec<Vec<_>>, BuildError>>()?.into_iter().flatten().collect())
    };
    let mut encoded = pool.install(|| encode_batch(0))?;
    let mut done = 0;
    while !encoded.is_empty() {
        if monitor.cancelled() {
            return Err(BuildError::Cancelled);
        }
        done += encoded.len() as u64;
        let write = || encoded.iter().try_for_each(|(bytes, sum)| writer.write_block(bytes, *sum));
        let (written, next) = pool.install(|| rayon::join(write, || encode_batch(done)));
        written?;
        monitor.advance(encoded.len() as u64);
        encoded = next?;
    }
    Ok(())
}
