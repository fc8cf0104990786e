//! What follows from the options of a build, the machine, and the files that exist.

use std::path::{Path, PathBuf};

use sternhalma_data::table::write::NewTable;
use sternhalma_data::{Table, TableSpec};

use super::in_memory::build_in_memory;
use super::memory::{fit_resumed, fit_to_limit, max_threads, memory_with_spill};
use super::out_of_core::{BuildOutcome, OutOfCoreBuild};
use super::table_builder::TableBuilder;
use crate::error::{BuilderError, Result};
use crate::external::{Manifest, PartitionParams, WorkDir};
use crate::observer::Observer;
use crate::options::{BuildMode, LayerForm};
use crate::process::{thread_count, thread_pool};
use crate::resources::{check_disk, check_memory, directory_bytes};
use crate::search::memory_needed;

/// The mode of a build, and the reason for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ModeChoice {
    /// The mode.
    pub mode: BuildMode,
    /// The reason.
    pub reason: ModeReason,
}

/// The reason for the mode of a build.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ModeReason {
    /// The caller specified the mode.
    Requested,
    /// A single piece needs almost no memory.
    SinglePiece,
    /// The work directory already exists.
    WorkDirExists,
    /// The memory limit allows or excludes a search in memory.
    Memory {
        /// The memory that a search in memory needs, in bytes.
        needed: u64,
    },
}

/// A build whose questions are all answered: [`run`](BuildPlan::run) does what the plan says.
///
/// ```
/// use sternhalma_builder::{BuildMode, TableBuilder};
/// use sternhalma_data::{Board, Prefix, Table};
///
/// let dir = tempfile::tempdir()?;
/// let path = dir.path().join("5x5-3.sht");
/// let plan = TableBuilder::new(Prefix::whole(Board::new(5, 3)?)).threads(2).plan(&path)?;
/// assert_eq!((plan.mode().mode, plan.threads()), (BuildMode::InMemory, 2));
/// plan.check()?;
/// plan.run(&())?;
/// assert_eq!(Table::open(&path)?.provenance().threads, 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[must_use]
pub struct BuildPlan {
    pub(super) options: TableBuilder,
    pub(super) path: PathBuf,
    work_dir: PathBuf,
    /// Whether the work directory exists, with or without unfinished work.
    has_work_dir: bool,
    /// Whether the build resumes unfinished work if it is out of core.
    resumes: bool,
    /// Whether the unfinished work has layers, whose partitions the build keeps.
    has_layers: bool,
    /// Whether the unfinished work is damaged or of another table, which [`check`](BuildPlan::check) reports.
    has_unusable_work: bool,
    existing: Option<Table>,
    mode: ModeChoice,
    threads: usize,
    memory: u64,
    /// The partitions of a build out of core, if the memory limit allows one.
    pub(super) params: Option<PartitionParams>,
    /// The form of layers, if the build is out of core.
    pub(super) form: LayerForm,
    table_bytes: u64,
    stored_states: u64,
}

impl TableBuilder {
    /// Resolves how the table at `path` is built now.
    ///
    /// # Errors
    /// If the table has no mirrored form and one is requested.
    pub fn plan(&self, path: impl AsRef<Path>) -> Result<BuildPlan> {
        let path = path.as_ref().to_owned();
        let layout = self.spec.layout()?;
        let (table_bytes, stored_states) = (layout.estimated_file_bytes(), layout.stored_states());
        let work_dir = self.work_dir_of(&path);
        let (has_work_dir, has_work) = (work_dir.exists(), WorkDir::exists(&work_dir));
        let existing = if self.overwrite || has_work { None } else { Table::open(&path).ok() };
        let is_same = |table: &Table| (table.prefix(), table.encoding()) == (self.spec.prefix, self.spec.encoding);
        let resumes = has_work && !self.restart;
        let all = thread_count(self.threads);
        let mut mode = self.fresh_mode(self.memory_with(all), self.memory_limit);
        if resumes && matches!(mode.reason, ModeReason::Memory { .. }) {
            mode = ModeChoice { mode: BuildMode::OutOfCore, reason: ModeReason::WorkDirExists };
        }
        let begun = match mode.mode {
            BuildMode::OutOfCore if resumes => Manifest::with_layers(&work_dir, self.spec),
            _ => Ok(None),
        };
        let (begun, has_unusable_work) = begun.map_or((None, true), |begun| (begun, false));
        let (threads, memory, params) = match mode.mode {
            BuildMode::InMemory => {
                let fits = |&threads: &usize| self.mode.is_none() || self.memory_with(threads) <= self.memory_limit;
                let fitting = max_threads(all, |threads| Some(threads).filter(fits)).map(|(threads, _)| threads);
                (fitting.unwrap_or(all), self.memory_with(fitting.unwrap_or(1)), None)
            }
            BuildMode::OutOfCore => match self.fit_out_of_core(all, begun.as_ref()) {
                Ok((params, threads)) => (threads, memory_with_spill(self.spec, threads, params), Some(params)),
                Err(least) => (all, least, None),
            },
        };
        Ok(BuildPlan {
            form: self.choose_layer_form(&work_dir, work_bytes(stored_states, LayerForm::Whole), table_bytes),
            options: self.clone(),
            path,
            work_dir,
            has_work_dir,
            resumes,
            has_layers: begun.is_some(),
            has_unusable_work,
            existing: existing.filter(is_same),
            mode,
            threads,
            memory,
            params,
            table_bytes,
            stored_states,
        })
    }

    /// Builds the table and writes it to `path`: [`plan`](TableBuilder::plan), and [`run`](BuildPlan::run).
    ///
    /// # Errors
    /// If one of both fails.
    pub fn build(&self, path: impl AsRef<Path>, observer: &dyn Observer) -> Result<BuildOutcome> {
        self.plan(path)?.run(observer)
    }

    /// Returns the mode of a build that resumes nothing, has `limit` bytes of memory, and needs `needed` bytes in memory.
    pub(super) fn fresh_mode(&self, needed: u64, limit: u64) -> ModeChoice {
        let (mode, reason) = if let Some(mode) = self.mode {
            (mode, ModeReason::Requested)
        } else if self.spec.prefix.board().pieces() == 1 {
            (BuildMode::InMemory, ModeReason::SinglePiece)
        } else if needed <= limit {
            (BuildMode::InMemory, ModeReason::Memory { needed })
        } else {
            (BuildMode::OutOfCore, ModeReason::Memory { needed })
        };
        ModeChoice { mode, reason }
    }

    /// Returns an upper bound of the memory of a build in memory, in bytes.
    pub(super) fn memory_with(&self, threads: usize) -> u64 {
        memory_needed(self.spec, self.symmetry().as_ref(), threads)
    }

    /// Returns the partitions of a build out of core, which are those of a build that has begun, and the largest number
    /// of threads that the memory limit allows, at most `all`.
    ///
    /// # Errors
    /// The smallest limit that suffices, or 0 if there is none.
    fn fit_out_of_core(
        &self,
        all: usize,
        begun: Option<&Manifest>,
    ) -> std::result::Result<(PartitionParams, usize), u64> {
        match begun {
            Some(begun) => fit_resumed(self.spec, all, begun.partitioning(), self.memory_limit),
            None => fit_to_limit(self.spec, all, self.memory_limit).map_err(|error| match error {
                BuilderError::MemoryLimit { least, .. } => least,
                _ => 0,
            }),
        }
    }

    /// Returns the form of the layers of an out-of-core build. The work files of an unfinished build count as free space.
    fn choose_layer_form(&self, work_dir: &Path, whole_layers: u64, table_bytes: u64) -> LayerForm {
        let whole_fits = || {
            let needed = whole_layers.saturating_add(table_bytes);
            check_disk(work_dir, needed.saturating_sub(directory_bytes(work_dir)), self.disk_reserve).is_ok()
        };
        self.layer_form.unwrap_or_else(|| if whole_fits() { LayerForm::Whole } else { LayerForm::Delta })
    }
}

impl BuildPlan {
    /// Returns the states, the encoding and the form of the table.
    pub fn spec(&self) -> TableSpec {
        self.options.spec
    }

    /// Returns the path of the table.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the table at the path, if it has the states and the encoding of this one in either form, must not be
    /// replaced, and no work is left to do.
    pub fn existing(&self) -> Option<&Table> {
        self.existing.as_ref()
    }

    /// Takes the [existing](BuildPlan::existing) table out of the plan.
    pub fn take_existing(&mut self) -> Option<Table> {
        self.existing.take()
    }

    /// Returns the mode, and the reason for it.
    pub fn mode(&self) -> ModeChoice {
        self.mode
    }

    /// Returns the number of threads: as many as requested, or fewer if the memory limit allows only those.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Returns an upper bound of the memory of the build, in bytes, or the least memory with which it would be possible
    /// if the memory limit is too small.
    ///
    /// In memory, the bound holds for distances below 64, which no known table exceeds.
    pub fn memory(&self) -> u64 {
        self.memory
    }

    /// Returns the memory limit, in bytes.
    pub fn memory_limit(&self) -> u64 {
        self.options.memory_limit
    }

    /// Returns the work directory, which a build out of core uses.
    pub fn work_dir(&self) -> &Path {
        &self.work_dir
    }

    /// Returns the form of the layers of a build out of core.
    pub fn layer_form(&self) -> Option<LayerForm> {
        (self.mode.mode == BuildMode::OutOfCore).then_some(self.form)
    }

    /// Returns an estimate of the largest size of the work files, in bytes. A build in memory has none.
    ///
    /// In the whole tables of 8, 9 and 10 pieces, whole layers take up to 3 bits per stored state, and differences with
    /// the copies of the last layers take up to 1.75 bits. While the table is written, the layers in it are removed.
    pub fn work_bytes(&self) -> u64 {
        self.layer_form().map_or(0, |form| work_bytes(self.stored_states, form))
    }

    /// Tests that the file can be written, and that the machine has the memory and the disk space. The test omits the
    /// disk space of an unfinished build out of core, a part of which is in use.
    ///
    /// # Errors
    /// If the file exists and must not be replaced; if the machine has less memory or disk space; or if the memory limit
    /// is too small.
    pub fn check(&self) -> Result<()> {
        if self.has_unusable_work {
            Manifest::with_layers(&self.work_dir, self.options.spec)?;
        }
        if self.mode.mode == BuildMode::InMemory || !self.resumes {
            NewTable::check(&self.path, self.options.overwrite)?;
        }
        let check_disk = |path, bytes| check_disk(path, bytes, self.options.disk_reserve);
        match self.mode.mode {
            BuildMode::InMemory => {
                self.check_limit()?;
                check_memory(self.memory)?;
                check_disk(&self.path, self.table_bytes)?;
            }
            BuildMode::OutOfCore if self.has_work_dir => check_disk(&self.work_dir, 0)?,
            BuildMode::OutOfCore => {
                // The layers are removed while the table is written, so that one disk need not have room for both.
                check_disk(&self.work_dir, self.work_bytes())?;
                check_disk(&self.path, self.table_bytes)?;
            }
        }
        self.check_limit()
    }

    /// Tests that the memory limit suffices.
    fn check_limit(&self) -> Result<()> {
        let suffices = match self.mode {
            ModeChoice { mode: BuildMode::OutOfCore, .. } if self.spec().prefix.board().pieces() == 1 => {
                return Err(BuilderError::SinglePiece);
            }
            ModeChoice { mode: BuildMode::OutOfCore, .. } => self.params.is_some(),
            ModeChoice { reason: ModeReason::Requested, .. } => self.memory <= self.options.memory_limit,
            _ => true,
        };
        let (least, limit) = (self.memory, self.options.memory_limit);
        match suffices {
            true => Ok(()),
            false if self.has_layers => Err(BuilderError::WorkDirMemory { path: self.work_dir.clone(), least, limit }),
            false => Err(BuilderError::MemoryLimit { least, limit }),
        }
    }

    /// Builds the table.
    ///
    /// # Errors
    /// If the memory or the memory limit does not suffice; if a file cannot be written; if the path exists and is not to
    /// be replaced; if the work directory is in use, damaged, or contains an unfinished build of another table; or if the
    /// observer cancels the build. The file at the path is unchanged then, and the work directory keeps its complete
    /// layers.
    pub fn run(&self, observer: &dyn Observer) -> Result<BuildOutcome> {
        self.check_limit()?;
        let pool = &thread_pool(self.threads)?;
        match self.params {
            Some(params) => {
                if !self.resumes {
                    // Fails before anything is changed.
                    NewTable::check(&self.path, self.options.overwrite)?;
                }
                let build = OutOfCoreBuild::new(&self.options, params, self.form, pool, observer);
                build.run(&self.path, &self.work_dir)
            }
            None => build_in_memory(&self.path, &self.options, pool, observer).map(|()| BuildOutcome::Built),
        }
    }
}

/// Returns an estimate of the largest size of the work files with layers in this form, in bytes: 3 and 1.75 bits per
/// stored state, above all that were measured (docs/research/out-of-core.md).
fn work_bytes(stored_states: u64, form: LayerForm) -> u64 {
    let quarters_of_bits_per_state = match form {
        LayerForm::Whole => 12,
        LayerForm::Delta => 7,
    };
    stored_states / 32 * quarters_of_bits_per_state
}
