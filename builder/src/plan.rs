//! What a build will take, told before it begins.
//!
//! Smaller prefixes of the same board are built in the same way, which takes
//! seconds, and scaled up:
//!
//! - layers grow with the breadth of the prefix, the root of its cells, along
//!   the line through two of them;
//! - processor time grows with the words of the planes of all groups
//!   ([`Expander::work`](crate::expand::Expander::work)) and with the layers;
//! - layers on disk take as many bits a state;
//! - a layer is read `fixed + 1` times to be expanded and once more to be
//!   excluded, and for the table as often as tasks meet its chunks.

use std::path::Path;

use rayon::{ThreadPool, ThreadPoolBuilder};
use serde::Serialize;
use sternhalma_data::table::Layout;
use sternhalma_data::table::fs::OsFileSystem;
use sternhalma_data::{Encoding, Prefix, Table};

use crate::build::{BuildOptions, build};
use crate::error::BuildError;
use crate::expand::{Expander, choose};
use crate::memory::{Limits, PLANE_BYTES, limits, memory_needed, most_pending, needed_without_pending, pace};
use crate::out_of_core::{OutOfCore, build_in};
use crate::search::lanes;

/// States of a calibration: enough for all threads, few enough for seconds.
const CALIBRATION_STATES: u64 = 50_000_000;

/// The machine a build is planned for.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Machine {
    /// Processor cores, each as fast as one of this machine.
    pub cores: usize,
    /// The limit of memory, in bytes.
    pub memory: u64,
    /// Bytes a second that the disk reads or writes.
    pub disk_rate: f64,
    /// Memory in which the system keeps files, in bytes.
    pub cache: u64,
}

/// A build of a smaller prefix, measured.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Calibration {
    /// The cells its states lie within.
    pub within: usize,
    /// Its states.
    pub states: u64,
    /// Its layers.
    pub layers: usize,
    /// Seconds on the wall.
    pub wall_s: f64,
    /// Seconds of the processors.
    pub cpu_s: f64,
    /// Bytes of its layers on disk.
    pub layer_bytes: u64,
}

/// What a build is expected to take.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Plan {
    /// For what machine.
    pub machine: Machine,
    /// `in-memory` or `out-of-core`.
    pub mode: &'static str,
    /// States of the table.
    pub states: u64,
    /// Layers expected.
    pub layers: usize,
    /// Memory at most, in bytes.
    pub memory_bytes: u64,
    /// The table, in bytes.
    pub table_bytes: u64,
    /// The most disk taken at a time, in bytes: layers and table.
    pub disk_bytes: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written, the table included.
    pub written_bytes: u64,
    /// Seconds of the processors.
    pub cpu_s: f64,
    /// Seconds on the wall.
    pub wall_s: f64,
    /// What this is scaled up from: the larger one first.
    pub calibrations: Vec<Calibration>,
}

/// Plans a build on each of `machines`, from builds of smaller prefixes on
/// this one, with `options.threads` threads and their files in `directory`.
/// They take some seconds and some ten MiB, and are removed.
///
/// # Errors
/// As builds do; if the memory of a machine is too little.
pub fn plan(options: BuildOptions, machines: &[Machine], directory: &Path) -> Result<Vec<Plan>, BuildError> {
    let pool = ThreadPoolBuilder::new().num_threads(options.threads).build()?;
    machines.iter().map(|&machine| plan_for(options, machine, &pool, directory)).collect()
}

fn plan_for(options: BuildOptions, machine: Machine, pool: &ThreadPool, directory: &Path) -> Result<Plan, BuildError> {
    let BuildOptions { prefix, encoding, .. } = options;
    let in_memory = memory_needed(prefix, encoding, machine.cores);
    let (cut, threads) = match in_memory <= machine.memory {
        true => (None, machine.cores),
        false => {
            let (cut, threads) = limits(prefix, encoding, machine.cores, machine.memory)?;
            (Some(cut), threads)
        }
    };
    let machine = Machine { cores: threads, ..machine };
    let [large, small] = smaller(prefix);
    let calibrations = [large, small].map(|prefix| calibrate(BuildOptions { prefix, ..options }, cut, pool, directory));
    let [large, small] = calibrations;
    Ok(extrapolate(prefix, encoding, machine, cut, pool.current_num_threads(), [large?, small?]))
}

/// Two shorter prefixes to measure.
fn smaller(prefix: Prefix) -> [Prefix; 2] {
    let (board, pieces) = (prefix.board(), prefix.board().pieces());
    let most = CALIBRATION_STATES.min(prefix.states() / 4);
    let large =
        (pieces + 1..prefix.within()).rev().find(|&within| choose(within, pieces) <= most).unwrap_or(pieces + 1);
    let small = (large - large / 3).max(pieces + 1);
    [large, small]
        .map(|within| Prefix::new(board, within.min(board.cells()) as u64).expect("it holds the home and more"))
}

fn calibrate(
    options: BuildOptions,
    cut: Option<Limits>,
    pool: &ThreadPool,
    directory: &Path,
) -> Result<Calibration, BuildError> {
    std::fs::create_dir_all(directory).map_err(BuildError::file(directory, "make the directory"))?;
    let made = tempfile::Builder::new().prefix(".calibration-").tempdir_in(directory);
    let directory = made.map_err(BuildError::file(directory, "make a directory in"))?;
    let path = directory.path().join("table.sht");
    match cut {
        None => build(&path, options, false, &())?,
        Some(cut) => {
            let work = OutOfCore { directory: directory.path().join("work"), memory: 0, fresh: false, uncached: false };
            build_in(&OsFileSystem::shared(), &path, options, &work, cut, false, pool, &()).map(drop)?;
        }
    }
    let table = Table::open(&path)?;
    let record = table.provenance();
    Ok(Calibration {
        within: options.prefix.within(),
        states: options.prefix.states(),
        layers: table.info().layers.len(),
        wall_s: record.wall_s,
        cpu_s: record.cpu_s,
        layer_bytes: record.io.iter().map(|layer| layer.written).sum(),
    })
}

fn extrapolate(
    prefix: Prefix,
    encoding: Encoding,
    machine: Machine,
    cut: Option<Limits>,
    threads: usize,
    measured: [Calibration; 2],
) -> Plan {
    let [large, small] = measured;
    let breadth = |within: usize| (within as f64).sqrt();
    let more = (large.layers as f64 - small.layers as f64) / (breadth(large.within) - breadth(small.within)).max(0.01);
    let layers = large.layers as f64 + more * (breadth(prefix.within()) - breadth(large.within));
    let lanes = cut.map_or(lanes(prefix, PLANE_BYTES), |cut| cut.lanes);
    let smaller = Prefix::new(prefix.board(), large.within as u64).expect("it was built");
    let work = Expander::work(prefix, lanes) as f64 / Expander::work(smaller, lanes).max(1) as f64;
    let cpu_s = large.cpu_s * work * layers / large.layers as f64;
    // How well the threads were used.
    let used = (large.cpu_s / (large.wall_s * threads as f64)).clamp(0.1, 1.0);
    let table_bytes = Layout::new(prefix, encoding).file_bytes();
    let states = prefix.states();
    let (mode, layer_bytes, read_bytes, spilled, memory_bytes) = match cut {
        None => ("in-memory", 0.0, 0.0, 0.0, memory_needed(prefix, encoding, machine.cores)),
        Some(cut) => {
            let layer_bytes = large.layer_bytes as f64 / large.states as f64 * states as f64;
            let most = most_pending(prefix, cut.fixed);
            // What does not fit in memory is written, and read once.
            let spilled = layer_bytes * (1.0 - cut.pending as f64 / most.max(1) as f64).max(0.0);
            let read = layer_bytes * (cut.fixed as f64 + 2.0 + table_reads(prefix, encoding, cut)) + spilled;
            let memory = needed_without_pending(prefix, encoding, machine.cores, cut) + most.min(cut.pending);
            ("out-of-core", layer_bytes, read, spilled, memory)
        }
    };
    let written_bytes = layer_bytes + spilled + table_bytes as f64;
    // Files that fit in the system's cache are not read from the disk.
    let from_disk = if layer_bytes < machine.cache as f64 { 0.0 } else { read_bytes };
    let disk_s = (from_disk + written_bytes) / machine.disk_rate;
    Plan {
        machine,
        mode,
        states,
        layers: layers.round() as usize,
        memory_bytes,
        table_bytes,
        disk_bytes: layer_bytes as u64 + table_bytes,
        read_bytes: read_bytes as u64,
        written_bytes: written_bytes as u64,
        cpu_s,
        wall_s: (cpu_s / used / machine.cores as f64).max(disk_s),
        calibrations: measured.to_vec(),
    }
}

/// How often a layer is read to make the table: a chunk is unpacked by each task that meets it.
fn table_reads(prefix: Prefix, encoding: Encoding, cut: Limits) -> f64 {
    let task = pace(prefix, encoding, cut).states as f64;
    let chunks = crate::cut::count_chunks(prefix, cut.fixed, cut.chunk_words) as f64;
    1.0 + prefix.states() as f64 / chunks / task
}
