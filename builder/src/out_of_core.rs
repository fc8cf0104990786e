//! Building a table larger than memory, and going on after an interruption.
//!
//! Each layer is a file of the work directory, which appears only when whole
//! and on disk. Whatever ends the process, the same build goes on after the
//! last layer there is. The table appears last; it bears the mark of the work
//! directory, by which a finished build is known.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use sternhalma_data::table::fs::{FileSystem, OsFileSystem, parent_directory};
use sternhalma_data::table::write::{BlockEncoder, NewTable};
use sternhalma_data::table::{Block, LayerTraffic, Provenance};
use sternhalma_data::{Encoding, Prefix, Table, TableInfo};

use crate::bits::or_run;
use crate::blocks::write_blocks;
use crate::build::{BuildOptions, Clock, encode, provenance};
use crate::cut::Cut;
use crate::error::BuildError;
use crate::external::Search;
use crate::labels::{Labels, bitmap};
use crate::layer_file::{Codec, LayerFile, LayerWriter, Summary};
use crate::memory::{Limits, fit, limits, pace};
use crate::monitor::{Monitor, Stage};
use crate::process::peak_memory;
use crate::spec::TableSpec;
use crate::verify::verify;
use crate::work::{LockedDir, Work};

/// The largest distance a table holds.
const FARTHEST: u32 = 254;

/// Where and in what a build works out of core.
#[derive(Clone, Debug)]
pub struct OutOfCore {
    /// The work directory. It is made if there is none.
    pub directory: PathBuf,
    /// The most memory to hold, in bytes.
    pub memory: u64,
    /// Whether to drop what an earlier process has done there.
    pub fresh: bool,
    /// Whether to drop work files from the system's cache as soon as they
    /// have been read or written.
    pub uncached: bool,
}

/// What a build out of core found to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Done {
    /// The table was made.
    Built,
    /// The table was there already, made in this work directory.
    Before,
}

/// Builds a table in limited memory and writes it to `path`. The bytes are
/// those of [`build`](crate::build), the record of the build apart.
///
/// Interrupted in whatever way, the same call goes on where it was. Layers are
/// removed when the table is in place. Where the memory is too little for all
/// threads, there are fewer.
///
/// Disk: about 3 bits a state for the layers, and the table.
///
/// # Errors
/// As [`build`](crate::build); if the memory is too little for a single thread; if the work
/// directory is in use, is for another table, or is damaged. Completed layers
/// stay in the work directory.
///
/// # Panics
/// If there is a single piece.
pub fn build_out_of_core(
    path: &Path,
    options: BuildOptions,
    work: &OutOfCore,
    replace: bool,
    monitor: &dyn Monitor,
) -> Result<Done, BuildError> {
    let threads = match options.threads {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        threads => threads,
    };
    let (cut, threads) = limits(options.prefix, options.encoding, threads, work.memory)?;
    let pool = ThreadPoolBuilder::new().num_threads(threads).build()?;
    build_in(&OsFileSystem::shared(), path, options, work, cut, replace, &pool, monitor)
}

/// The same in a storage, and cut in a given way if the work is new.
#[expect(clippy::too_many_arguments, reason = "what its callers are to choose")]
pub(crate) fn build_in(
    storage: &Arc<dyn FileSystem>,
    path: &Path,
    options: BuildOptions,
    work_options: &OutOfCore,
    cut: Limits,
    replace: bool,
    pool: &ThreadPool,
    monitor: &dyn Monitor,
) -> Result<Done, BuildError> {
    let BuildOptions { prefix, encoding, .. } = options;
    if work_options.fresh || !is_begun(&work_options.directory) {
        // Refused before anything is touched; the table of work that was begun may be in place.
        NewTable::check(path, replace)?;
    }
    let spec = TableSpec { prefix, encoding };
    let locked = LockedDir::open(storage, &work_options.directory)?;
    let begun = if work_options.fresh { None } else { locked.manifest(spec)? };
    let mut work = match begun {
        Some(manifest) => locked.resume(manifest),
        None => {
            NewTable::check(path, replace)?;
            locked.start(spec, cut)?
        }
    };
    if is_complete(path, spec, work.id(), replace, pool) {
        settle(storage, path)?;
        work.clear()?;
        return Ok(Done::Before);
    }
    let cut = cut_as_before(&work, options, work_options, cut, pool)?;
    let new = NewTable::create_in(storage, path, replace)?;
    let build = Build { storage, prefix, uncached: work_options.uncached, monitor };
    let layers = pool.install(|| build.layers(&mut work, cut))?;
    let (contents, record) = what_layers_tell(prefix, encoding, &layers);

    let clock = Clock::start();
    let before = storage.traffic();
    let mut writer = new.begin(contents)?;
    let table = Assembly { cut: Cut::new(prefix, cut.fixed, cut.chunk_words), layers: &layers, encoding, limits: cut };
    write_blocks(&mut writer, pace(prefix, encoding, cut), pool, monitor, |encoder, blocks| {
        table.encode(encoder, blocks)
    })?;
    let (wall, cpu) = clock.elapsed();
    let record = Provenance {
        wall_s: record.wall_s + wall.as_secs_f64(),
        cpu_s: record.cpu_s + cpu.as_secs_f64(),
        peak_bytes: record.peak_bytes.max(peak_memory()),
        resumes: work.resumes(),
        table_io: storage.traffic().since(before),
        work: Some(work.id().to_owned()),
        successors: record.successors,
        io: record.io,
        ..provenance("out-of-core", pool)
    };
    writer.finish(&record)?;
    drop(layers);
    work.clear()?;
    Ok(Done::Built)
}

/// Whether a build out of core has begun in this directory.
pub fn is_begun(directory: &Path) -> bool {
    Work::exists(directory)
}

/// Whether the table at `path` is the result of the build with this
/// identifier. A table that would otherwise be replaced must also be intact.
fn is_complete(path: &Path, spec: TableSpec, id: &str, replace: bool, pool: &ThreadPool) -> bool {
    let Ok(table) = Table::open(path) else { return false };
    let intact = || verify(&table, false, pool.current_num_threads(), &()).is_ok();
    TableSpec::of(&table) == spec && table.provenance().work.as_deref() == Some(id) && (!replace || intact())
}

/// Makes a table outlast a power cut before its layers go, and removes the
/// other name it has if the process that named it was killed in between.
fn settle(storage: &Arc<dyn FileSystem>, path: &Path) -> Result<(), BuildError> {
    // Dropped, it takes what it was to write with it.
    drop(NewTable::create_in(storage, path, true)?);
    storage.sync_directory(parent_directory(path)).map_err(BuildError::file(path, "write"))
}

/// Work that was begun is cut as it was; the memory must suffice for that.
fn cut_as_before(
    work: &Work,
    options: BuildOptions,
    given: &OutOfCore,
    cut: Limits,
    pool: &ThreadPool,
) -> Result<Limits, BuildError> {
    let (fixed, chunk_words) = work.cut();
    if (fixed, chunk_words) == (cut.fixed, cut.chunk_words) {
        return Ok(cut);
    }
    let pieces = options.prefix.board().pieces();
    let before = Limits { fixed, chunk_words, lanes: cut.lanes.min(pieces - 1 - fixed), pending: 0 };
    fit(options.prefix, options.encoding, pool.current_num_threads(), before, given.memory).ok_or_else(|| {
        let why = "this work was begun with a larger memory limit, and cut for it; \
            give as much again with --memory, or start anew with --fresh";
        BuildError::WorkDirectory { path: given.directory.clone(), why: why.to_owned() }
    })
}

struct Build<'a> {
    storage: &'a Arc<dyn FileSystem>,
    prefix: Prefix,
    uncached: bool,
    monitor: &'a dyn Monitor,
}

impl Build<'_> {
    /// All layers, those that are on disk and then the rest. The last is empty.
    fn layers(&self, work: &mut Work, cut: Limits) -> Result<Vec<LayerFile>, BuildError> {
        let mut search = None;
        let mut layers: Vec<LayerFile> = Vec::new();
        let mut seen = 0;
        let chunks = crate::cut::count_chunks(self.prefix, cut.fixed, cut.chunk_words);
        let found = self.check(work, chunks)?;
        if found > 0 {
            work.count_resume()?;
        }
        loop {
            let distance = layers.len() as u32;
            let layer = match work.layer(distance, chunks)? {
                Some(layer) => layer,
                None => {
                    let search = search.get_or_insert_with(|| {
                        Search::new(self.prefix, cut, self.storage, &work.spill_path(), self.monitor)
                    });
                    self.next_layer(work, search, &layers)?
                }
            };
            let states = layer.summary().states;
            layers.push(layer);
            if states == 0 {
                break;
            }
            if distance > FARTHEST {
                return Err(BuildError::TooFar);
            }
            seen += states;
            self.monitor.layer(distance, states, seen, self.prefix.states());
        }
        assert_eq!(seen, self.prefix.states(), "every state of a prefix can be reached");
        Ok(layers)
    }

    /// Compares the layers on disk with their checksums, and returns how many there are.
    fn check(&self, work: &Work, chunks: u64) -> Result<u64, BuildError> {
        let present = (0..=FARTHEST + 1).filter(|&distance| work.layer_path(distance).exists()).collect::<Vec<u32>>();
        if !present.is_empty() {
            self.monitor.begin(Stage::Resume, present.len() as u64 * chunks);
        }
        for &distance in &present {
            let Some(layer) = work.layer(distance, chunks)? else { continue };
            (0..chunks).into_par_iter().try_for_each(|chunk| layer.check(chunk))?;
            if self.monitor.cancelled() {
                return Err(BuildError::Cancelled);
            }
            self.monitor.advance(chunks);
        }
        Ok(present.len() as u64)
    }

    fn next_layer(&self, work: &Work, search: &mut Search, layers: &[LayerFile]) -> Result<LayerFile, BuildError> {
        let distance = layers.len() as u32;
        let clock = Clock::start();
        let before = self.storage.traffic();
        let identity = work.identity(distance, search.cut.chunks());
        let mut out = LayerWriter::create(self.storage, &work.layer_path(distance), identity)?;
        let summary = match layers.split_last() {
            None => write_goal(&search.cut, &mut out)?,
            Some((layer, earlier)) => {
                self.monitor.begin(Stage::Layer(distance), search.groups());
                search.expand(layer, earlier.last(), &mut out)?
            }
        };
        let ((wall, cpu), traffic) = (clock.elapsed(), self.storage.traffic().since(before));
        let layer = out.finish(Summary {
            wall_s: wall.as_secs_f64(),
            cpu_s: cpu.as_secs_f64(),
            read: traffic.read,
            written: traffic.written,
            peak_bytes: peak_memory(),
            ..summary
        })?;
        if self.uncached {
            layers.iter().rev().take(2).chain([&layer]).for_each(LayerFile::uncache);
        }
        Ok(layer)
    }
}

/// Layer 0 is the goal, of rank 0.
fn write_goal(cut: &Cut, out: &mut LayerWriter) -> Result<Summary, BuildError> {
    let mut words = vec![0; cut.chunk(0).words().len()];
    words[0] = 1;
    out.add(&[Codec::new().pack(&words)])?;
    out.add_empty(cut.chunks() - 1);
    Ok(Summary { states: 1, ..Summary::default() })
}

/// The contents of the table, and what the provenance says of the layers.
fn what_layers_tell(prefix: Prefix, encoding: Encoding, layers: &[LayerFile]) -> (TableInfo, Provenance) {
    let summaries: Vec<Summary> = layers.iter().map(LayerFile::summary).collect();
    // The file of a layer tells of the expansion of the one before.
    let boundary_layer = summaries.iter().position(|summary| summary.escapes).map(|distance| distance as u32 - 1);
    let states = summaries.iter().map(|summary| summary.states).filter(|&states| states > 0).collect();
    let io = (0..).zip(&summaries).map(|(layer, s)| LayerTraffic { layer, read: s.read, written: s.written });
    let record = Provenance {
        wall_s: summaries.iter().map(|summary| summary.wall_s).sum(),
        cpu_s: summaries.iter().map(|summary| summary.cpu_s).sum(),
        peak_bytes: summaries.iter().map(|summary| summary.peak_bytes).max().unwrap_or(0),
        successors: summaries.iter().map(|summary| summary.successors).sum(),
        io: io.collect(),
        ..Provenance::default()
    };
    (TableInfo { prefix, encoding, layers: states, boundary_layer }, record)
}

/// Makes the blocks of a table from its layers.
struct Assembly<'a> {
    cut: Cut,
    layers: &'a [LayerFile],
    encoding: Encoding,
    limits: Limits,
}

impl Assembly<'_> {
    /// The bytes of consecutive blocks.
    fn encode(&self, encoder: &mut BlockEncoder, blocks: &[Block]) -> Result<Vec<Vec<u8>>, BuildError> {
        let (Some(first), Some(last)) = (blocks.first(), blocks.last()) else { return Ok(Vec::new()) };
        let start = first.ranks.start;
        let labels = self.labels(start..last.ranks.end)?;
        Ok(blocks.iter().map(|block| encode(&labels, start, self.encoding, encoder, block.ranks.clone())).collect())
    }

    /// The labels of the states of these ranks, the first of them at 0.
    fn labels(&self, ranks: Range<u64>) -> Result<Labels, BuildError> {
        let states = ranks.end - ranks.start;
        let no_memory = |_| BuildError::Memory { needed: states };
        let mut labels = Labels::new(states, self.encoding).map_err(no_memory)?;
        let mut layer_states = bitmap(states).map_err(no_memory)?;
        let mut words = vec![0; self.limits.chunk_words + 2];
        let mut codec = Codec::new();
        for (distance, layer) in (0..).zip(self.layers) {
            let mut any = false;
            for (number, chunk, first) in self.cut.chunks_of(ranks.clone()) {
                let length = chunk.words().len();
                if !layer.read(number, &mut words[..length], &mut codec)? {
                    continue;
                }
                // The chunk's first bit may lie within its first word.
                let last = first + (chunk.bits.end - chunk.bits.start);
                let (start, end) = (first.max(ranks.start), last.min(ranks.end));
                let skipped = chunk.bits.start % 64 + (start - first);
                or_run(&mut layer_states, start - ranks.start, &words, skipped, end - start);
                any = true;
            }
            if any {
                labels.add(&layer_states, distance).map_err(no_memory)?;
                layer_states.fill(0);
            }
        }
        assert!(labels.all_seen(states), "every state is in a layer");
        Ok(labels)
    }
}

#[cfg(test)]
mod faults;
#[cfg(test)]
mod interruptions;
#[cfg(test)]
mod tests;
