//! Estimates of the cost of a build.
//!
//! Tables of smaller prefixes of the same board are built in the same mode,
//! which takes seconds, and their costs are extrapolated. Their parameters are
//! such that a state costs about as much as in the larger build.
//!
//! - The number of layers grows with the square root of the number of cells,
//!   along the line through two measurements.
//! - Processor time of the search is proportional to the words of the bit
//!   slices of all groups ([`Expander::work`]) and to the number of layers.
//! - Processor time of the writing of the table is proportional to the number of
//!   states, and for the decoding of layers to the number of layers, half each.
//! - Layers on disk, in the same form, and compressed tables take the same number of bits per state.
//! - The copies of the last layers are smaller parts of all states if there are more layers.
//! - A layer is read `fixed_pieces + 1` times to be expanded and once more for
//!   duplicate detection. To write the table, a layer is read once per task
//!   that needs one of its segments.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use rayon::ThreadPool;
use serde::Serialize;
use sternhalma_data::board::{Symmetry, choose};
use sternhalma_data::table::fs::parent_directory;
use sternhalma_data::{Prefix, Table, TableSpec};
use sternhalma_files::ScratchDirectory;

use super::in_memory::build_in_memory;
use super::machine::MachineSpec;
use super::memory::{batch_size, fit_to_limit, max_spill, memory_with_spill};
use super::out_of_core::{COMMIT_BYTES, OutOfCoreBuild};
use super::plan::BuildPlan;
use super::table_builder::TableBuilder;
use crate::error::{BuilderError, Result};
use crate::external::{PartitionParams, count_segments};
use crate::observer::{BuildPhase, Observer};
use crate::options::{BuildMode, LayerForm, Mirroring};
use crate::process::{Stopwatch, thread_pool};
use crate::search::Expander;

/// The states of a calibration: enough for all threads and for typical layers, and few enough for seconds.
const CALIBRATION_STATES: u64 = 300_000_000;

/// The measured cost of the build of a smaller table.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Calibration {
    /// The number of cells of the table's prefix.
    pub within: usize,
    /// The number of states.
    pub states: u64,
    /// The number of layers.
    pub layers: usize,
    /// The elapsed time, in seconds.
    pub wall_s: f64,
    /// The processor time, in seconds.
    pub cpu_s: f64,
    /// The part of `wall_s` in which the table was written, in seconds.
    pub table_wall_s: f64,
    /// The part of `cpu_s` in which the table was written, in seconds.
    pub table_cpu_s: f64,
    /// The size of the layers on disk, in bytes.
    pub layer_bytes: u64,
    /// The bytes written for layers, with the copies of the last ones.
    pub layer_written_bytes: u64,
    /// The sizes of the layers and of the copies when they were largest together, in bytes.
    pub peak_work_bytes: [u64; 2],
    /// The size of the data of the table, in bytes.
    pub data_bytes: u64,
}

/// Records the largest work files of a build, and the time that it took before the table was written.
struct CalibrationObserver<'a> {
    /// The observer of all builds.
    outer: &'a dyn Observer,
    layers: AtomicU64,
    peak: Mutex<[u64; 2]>,
    started: Mutex<Option<Stopwatch>>,
}

impl<'a> CalibrationObserver<'a> {
    fn new(outer: &'a dyn Observer) -> CalibrationObserver<'a> {
        CalibrationObserver { outer, layers: AtomicU64::default(), peak: Mutex::default(), started: Mutex::default() }
    }
}

impl Observer for CalibrationObserver<'_> {
    fn begin(&self, phase: BuildPhase, total: u64) {
        self.outer.begin(phase, total);
        if phase == BuildPhase::Write {
            *self.started.lock().expect("no thread panics with the lock") = Some(Stopwatch::start());
        }
    }

    fn advance(&self, steps: u64) {
        self.outer.advance(steps);
    }

    fn layer(&self, distance: u32, states: u64, seen: u64, all: u64) {
        self.outer.layer(distance, states, seen, all);
    }

    fn cancelled(&self) -> bool {
        self.outer.cancelled()
    }

    fn work_files(&self, layers: u64, copies: u64) {
        self.layers.store(layers, Relaxed);
        let mut peak = self.peak.lock().expect("no thread panics with the lock");
        if layers + copies > peak.iter().sum() {
            *peak = [layers, copies];
        }
    }
}

/// The estimated cost of a build.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct BuildEstimate {
    /// The machine.
    pub machine: MachineSpec,
    /// The mode of the build on this machine.
    pub mode: BuildMode,
    /// The form of the layers of a build out of core.
    pub layer_form: Option<LayerForm>,
    /// The number of states.
    pub states: u64,
    /// The number of layers.
    pub layers: usize,
    /// The peak memory use, in bytes.
    pub memory_bytes: u64,
    /// The size of the table, in bytes.
    pub table_bytes: u64,
    /// The size of all layers on disk, in bytes.
    pub layer_bytes: u64,
    /// The peak disk use for layers and table, in bytes.
    pub disk_bytes: u64,
    /// The bytes read.
    pub read_bytes: u64,
    /// The bytes written, including the table.
    pub written_bytes: u64,
    /// The processor time, in seconds.
    pub cpu_s: f64,
    /// The elapsed time, in seconds.
    pub wall_s: f64,
    /// The measurements that the estimate is based on. The larger table comes first.
    pub calibrations: Vec<Calibration>,
}

impl BuildPlan {
    /// Estimates the build on each of these machines. The estimates are
    /// extrapolated from builds of smaller tables on this machine, with their
    /// files in the directory of the table. These builds take up to a minute and some hundred MiB,
    /// and their files are removed. `observer` watches these builds and can cancel them.
    /// The estimates do not consider unfinished builds.
    ///
    /// # Errors
    /// If one of these builds fails or is cancelled, if the memory of a machine does not suffice, or if the mode is out of
    /// core and the table is for one piece.
    pub fn estimate(&self, machines: &[MachineSpec], observer: &dyn Observer) -> Result<Vec<BuildEstimate>> {
        let mut calibrator = Calibrator::new(&self.options, parent_directory(&self.path), observer)?;
        machines.iter().map(|&machine| self.estimate_on(&mut calibrator, machine)).collect()
    }

    fn estimate_on(&self, calibrator: &mut Calibrator, machine: MachineSpec) -> Result<BuildEstimate> {
        let needed = self.options.memory_with(machine.cores);
        let (out_of_core, cores) = match self.options.fresh_mode(needed, machine.memory).mode {
            BuildMode::InMemory => (None, machine.cores),
            BuildMode::OutOfCore => {
                let (params, threads) = fit_to_limit(self.spec(), machine.cores, machine.memory)?;
                (Some((params, self.form)), threads)
            }
        };
        let machine = MachineSpec { cores, ..machine };
        calibrator.estimate(machine, out_of_core)
    }
}

/// The parameters of a build out of core and the form of its layers, or `None` for a build in memory.
type OutOfCore = Option<(PartitionParams, LayerForm)>;

/// The builds of smaller tables for the estimates of a build. Each is measured once.
pub struct Calibrator<'a> {
    options: &'a TableBuilder,
    pool: ThreadPool,
    directory: &'a Path,
    observer: &'a dyn Observer,
    measured: Vec<((Prefix, OutOfCore), Calibration)>,
}

impl<'a> Calibrator<'a> {
    /// Creates the builds for `options`, with their files in a directory.
    ///
    /// # Errors
    /// If the threads cannot be started.
    pub fn new(options: &'a TableBuilder, directory: &'a Path, observer: &'a dyn Observer) -> Result<Calibrator<'a>> {
        let pool = thread_pool(options.threads)?;
        Ok(Calibrator { options, pool, directory, observer, measured: Vec::new() })
    }

    /// Estimates a build out of core with these parameters and this form of layers, or in memory without them, with a
    /// thread per core of the machine.
    ///
    /// # Errors
    /// If a build of a smaller table fails or is cancelled, or the table cannot have the form.
    pub fn estimate(&mut self, machine: MachineSpec, out_of_core: OutOfCore) -> Result<BuildEstimate> {
        let params = out_of_core.map(|(params, _)| params);
        let spec = self.options.spec;
        let table_bytes = spec.layout()?.estimated_file_bytes();
        let needed = self.options.memory_with(machine.cores);
        let symmetric = self.options.symmetry().is_some() && (params.is_none() || spec.mirrored);
        let [large, small] = smaller_prefixes(spec.prefix, symmetric);
        let comparable = out_of_core.map(|(params, form)| (comparable_params(spec.prefix, large, params), form));
        let builds = SmallerBuilds {
            calibrations: [self.measure(large, symmetric, comparable)?, self.measure(small, symmetric, comparable)?],
            threads: self.pool.current_num_threads(),
            work: relative_work(spec.prefix, params, large, comparable.map(|(params, _)| params)),
        };
        Ok(extrapolate(spec, table_bytes, machine, out_of_core, needed, builds))
    }

    /// Returns the cost of the table of a smaller prefix. `symmetric` follows from the options and the mode.
    fn measure(&mut self, prefix: Prefix, symmetric: bool, out_of_core: OutOfCore) -> Result<Calibration> {
        let key = (prefix, out_of_core);
        if let Some((_, known)) = self.measured.iter().find(|(known, _)| *known == key) {
            return Ok(*known);
        }
        let spec = self.options.spec;
        let mirroring = match (symmetric, spec.mirrored && Symmetry::of(prefix).is_some()) {
            (_, true) => Mirroring::File,
            (true, false) => Mirroring::Search,
            (false, false) => Mirroring::Off,
        };
        let builder = TableBuilder::new(prefix).encoding(spec.encoding).mirroring(mirroring);
        let calibration = calibrate(&builder, out_of_core, &self.pool, self.directory, self.observer)?;
        self.measured.push((key, calibration));
        Ok(calibration)
    }
}

/// Returns parameters for a build of a smaller prefix that takes about as much time and space per state as a build of
/// `prefix` with `params`.
///
/// Segments have about as many states, because small ones compress less. The slices of a group have as many pieces as
/// in other builds of the smaller prefix, because a group with short slices takes more time per word.
fn comparable_params(prefix: Prefix, smaller: Prefix, params: PartitionParams) -> PartitionParams {
    let states = |prefix: Prefix, fixed_pieces: usize| {
        prefix.states() / count_segments(prefix, fixed_pieces, params.segment_words).max(1)
    };
    let wanted = states(prefix, params.fixed_pieces) / 2;
    let fixed_pieces = (0..=params.fixed_pieces).rev().find(|&fixed_pieces| states(smaller, fixed_pieces) >= wanted);
    let fixed_pieces = fixed_pieces.unwrap_or(0);
    let slice_pieces = Expander::best_slice_pieces(smaller).min(smaller.board().pieces() - 1 - fixed_pieces);
    PartitionParams { fixed_pieces, slice_pieces, ..params }
}

/// Returns the words of all slices of a prefix in relation to those of a smaller one, for builds with these parameters
/// or in memory.
fn relative_work(
    prefix: Prefix,
    params: Option<PartitionParams>,
    smaller: Prefix,
    smaller_params: Option<PartitionParams>,
) -> f64 {
    let [work, smaller_work] = [(prefix, params), (smaller, smaller_params)].map(|(prefix, params)| {
        let slice_pieces = params.map_or_else(|| Expander::best_slice_pieces(prefix), |params| params.slice_pieces);
        Expander::work(prefix, slice_pieces)
    });
    work as f64 / smaller_work.max(1) as f64
}

/// Returns two smaller prefixes to measure. The larger one has whole rows if `symmetric`.
fn smaller_prefixes(prefix: Prefix, symmetric: bool) -> [Prefix; 2] {
    let (board, pieces) = (prefix.board(), prefix.board().pieces());
    let most = CALIBRATION_STATES.min(prefix.states() / 4);
    let smaller = |within: usize| {
        Prefix::new(board, within.min(board.cells()) as u64).expect("the prefix is larger than the home")
    };
    let is_suitable =
        |within: &usize| choose(*within, pieces) <= most && (!symmetric || Symmetry::of(smaller(*within)).is_some());
    let large = (pieces + 1..prefix.within()).rev().find(is_suitable).unwrap_or(pieces + 1);
    let small = (large - large / 3).max(pieces + 1);
    [large, small].map(smaller)
}

fn calibrate(
    options: &TableBuilder,
    out_of_core: Option<(PartitionParams, LayerForm)>,
    pool: &ThreadPool,
    directory: &Path,
    observer: &dyn Observer,
) -> Result<Calibration> {
    std::fs::create_dir_all(directory).map_err(BuilderError::file(directory, "create the directory"))?;
    let created = ScratchDirectory::create_in(directory, ".calibration-");
    let directory = created.map_err(BuilderError::file(directory, "create a directory in it"))?;
    let path = directory.path().join("table.sht");
    let observer = CalibrationObserver::new(observer);
    match out_of_core {
        None => build_in_memory(&path, options, pool, &observer)?,
        Some((params, form)) => {
            OutOfCoreBuild::new(options, params, form, pool, &observer).run(&path, &options.work_dir_of(&path))?;
        }
    }
    let CalibrationObserver { layers, peak, started, .. } = observer;
    let writing = started.into_inner().expect("no thread panics with the lock");
    let (table_wall_s, table_cpu_s) = writing.map_or((0.0, 0.0), |stopwatch| stopwatch.seconds());
    let table = Table::open(&path)?;
    let record = table.provenance();
    Ok(Calibration {
        within: options.spec.prefix.within(),
        states: options.spec.prefix.states(),
        layers: table.info().layers.len(),
        wall_s: record.wall_s,
        cpu_s: record.cpu_s,
        table_wall_s: table_wall_s.min(record.wall_s),
        table_cpu_s: table_cpu_s.min(record.cpu_s),
        layer_bytes: layers.into_inner(),
        layer_written_bytes: record.io.iter().map(|layer| layer.written).sum(),
        peak_work_bytes: peak.into_inner().expect("no thread panics with the lock"),
        data_bytes: table.layout().data_bytes(),
    })
}

/// The smaller builds that an estimate is based on.
struct SmallerBuilds {
    /// The costs of both. The larger one comes first.
    calibrations: [Calibration; 2],
    /// The number of threads of each.
    threads: usize,
    /// The work of the estimated search in relation to that of the larger build.
    work: f64,
}

/// Estimates a build from the costs of smaller ones. Without `out_of_core` the build is in memory and needs `in_memory`
/// bytes. `machine.cores` is the number of threads of the build.
fn extrapolate(
    spec: TableSpec,
    table_bytes: u64,
    machine: MachineSpec,
    out_of_core: Option<(PartitionParams, LayerForm)>,
    in_memory: u64,
    builds: SmallerBuilds,
) -> BuildEstimate {
    let prefix = spec.prefix;
    let [large, small] = builds.calibrations;
    let breadth = |within: usize| (within as f64).sqrt();
    // The minimum avoids a division by 0 for two builds of the same prefix.
    let slope = (large.layers as f64 - small.layers as f64) / (breadth(large.within) - breadth(small.within)).max(0.01);
    let layers = large.layers as f64 + slope * (breadth(prefix.within()) - breadth(large.within));
    let more_states = prefix.states() as f64 / large.states as f64;
    let more_layers = layers / large.layers as f64;
    let search_s = (large.cpu_s - large.table_cpu_s) * builds.work * more_layers;
    let cpu_s = search_s + large.table_cpu_s * more_states * (1.0 + more_layers) / 2.0;
    // The length of a compressed table depends on its data.
    let table_bytes = match spec.encoding.states_per_byte() {
        Some(_) => table_bytes,
        None => (large.data_bytes as f64 * more_states) as u64 + 12 * prefix.states() / spec.encoding.block_states(),
    };
    // The fraction of the threads' time in which they compute.
    let utilization = (large.cpu_s / (large.wall_s * builds.threads as f64)).clamp(0.1, 1.0);
    let layer_bytes = large.layer_bytes as f64 * more_states;
    let [peak_layers, peak_copies] = large.peak_work_bytes.map(|bytes| bytes as f64 * more_states);
    let (mode, read_bytes, spilled_bytes, memory_bytes) = match out_of_core {
        None => (BuildMode::InMemory, 0.0, 0.0, in_memory),
        Some((params, form)) => {
            let largest_spill = max_spill(prefix, params.fixed_pieces);
            // States that do not fit in memory are written and read once. Their fraction of
            // a layer is taken to be that of the largest spill.
            let spilled = layer_bytes * (1.0 - params.spill_bytes as f64 / largest_spill.max(1) as f64).max(0.0);
            // Expansion and duplicate detection read whole layers or copies, and the table reads the layers.
            let searched = match form {
                LayerForm::Whole => layer_bytes,
                LayerForm::Delta => (large.layer_written_bytes - large.layer_bytes) as f64 * more_states,
            };
            let read =
                searched * (params.fixed_pieces as f64 + 2.0) + layer_bytes * table_reads(spec, params) + spilled;
            let memory = memory_with_spill(spec, machine.cores, params);
            (BuildMode::OutOfCore, read, spilled, memory)
        }
    };
    let written_bytes = large.layer_written_bytes as f64 * more_states + spilled_bytes + table_bytes as f64;
    // Files that fit in the page cache are not read from the disk.
    let from_disk = if layer_bytes < machine.cache as f64 { 0.0 } else { read_bytes };
    let disk_s = (from_disk + written_bytes) / machine.disk_rate;
    BuildEstimate {
        machine,
        mode,
        layer_form: out_of_core.map(|(_, form)| form),
        states: prefix.states(),
        layers: layers.round() as usize,
        memory_bytes,
        table_bytes,
        layer_bytes: layer_bytes as u64,
        // The file of spilled states is empty while the table is written. Layers are freed as they
        // become part of the table.
        disk_bytes: ((layer_bytes as u64).max(table_bytes) + COMMIT_BYTES.min(table_bytes))
            .max((peak_layers + peak_copies / more_layers) as u64),
        read_bytes: read_bytes as u64,
        written_bytes: written_bytes as u64,
        cpu_s,
        // Computation and transfers are taken to overlap.
        wall_s: (cpu_s / utilization / machine.cores as f64).max(disk_s),
        calibrations: builds.calibrations.to_vec(),
    }
}

/// Returns the number of times that a layer is read to write the table. Each
/// task unpacks the segments that it needs.
fn table_reads(spec: TableSpec, params: PartitionParams) -> f64 {
    let task = batch_size(spec, params).states_per_task as f64;
    let segments = count_segments(spec.prefix, params.fixed_pieces, params.segment_words) as f64;
    1.0 + spec.prefix.states() as f64 / segments / task
}

#[cfg(test)]
mod tests {
    use sternhalma_data::{Board, Encoding};

    use super::*;

    #[test]
    fn parameters_of_smaller_builds_are_valid_and_comparable() {
        for (pieces, within, limit) in [(6, 81, 64 << 20), (8, 81, 2 << 30), (9, 75, 12 << 30), (10, 60, 4 << 30)] {
            let prefix = Prefix::new(Board::new(9, pieces).unwrap(), within).unwrap();
            let (params, _) = fit_to_limit(TableSpec::new(prefix, Encoding::Mod3), 2, limit).unwrap();
            for smaller in smaller_prefixes(prefix, false) {
                let comparable = comparable_params(prefix, smaller, params);
                assert!(comparable.fixed_pieces <= params.fixed_pieces, "{prefix:?}");
                assert!(comparable.fixed_pieces + comparable.slice_pieces < prefix.board().pieces(), "{prefix:?}");
                let states = |prefix: Prefix, params: PartitionParams| {
                    prefix.states() / count_segments(prefix, params.fixed_pieces, params.segment_words)
                };
                let is_large = 2 * states(smaller, comparable) >= states(prefix, params) - 1;
                assert!(is_large || comparable.fixed_pieces == 0, "{prefix:?}");
            }
        }
    }

    #[test]
    fn work_of_the_same_build_is_equal() {
        let prefix = Prefix::new(Board::new(9, 10).unwrap(), 45).unwrap();
        let (params, _) = fit_to_limit(TableSpec::new(prefix, Encoding::Mod3), 2, 1 << 30).unwrap();
        assert_eq!(relative_work(prefix, Some(params), prefix, Some(params)), 1.0);
        assert_eq!(relative_work(prefix, None, prefix, None), 1.0);
    }
}
