//! The entry point of builds.

use std::path::{Path, PathBuf};

use sternhalma_data::table::fs::OsFileSystem;
use sternhalma_data::{Encoding, Prefix};

use super::estimate::{BuildEstimate, MachineSpec, estimate};
use super::in_memory::build_in_memory;
use super::memory::{fit_to_limit, least_memory};
use super::out_of_core::{BuildOutcome, OutOfCoreBuild};
use crate::error::BuilderError;
use crate::external::WorkDir;
use crate::mode::BuildMode;
use crate::observer::Observer;
use crate::search::memory_needed;
use crate::spec::TableSpec;
use crate::threads::Threads;

/// Options of a build, and the build itself.
///
/// A build searches in memory if the memory limit allows it, and otherwise
/// out of core. Both write the same bytes, except for the provenance, with any
/// number of threads and any memory limit. The file appears only when it is
/// complete.
///
/// An out-of-core build keeps its layers in a work directory. After an
/// interruption of any kind, the same build resumes after the last complete
/// layer. It needs about 3 bits of disk space per state for the layers, in
/// addition to the table. It uses fewer threads than requested if the memory
/// limit is too small for all of them.
///
/// ```
/// use sternhalma_builder::TableBuilder;
/// use sternhalma_data::{Board, Encoding, Prefix, Table};
///
/// let dir = tempfile::tempdir()?;
/// let path = dir.path().join("5x5-3.sht");
/// let prefix = Prefix::whole(Board::new(5, 3)?);
/// TableBuilder::new(prefix).encoding(Encoding::Mod3).threads(2).build(&path, &())?;
///
/// let table = Table::open(&path)?;
/// assert_eq!(table.info().layers, [1, 6, 26, 72, 166, 294, 417, 488, 429, 269, 116, 16]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct TableBuilder {
    spec: TableSpec,
    threads: Threads,
    memory_limit: u64,
    mode: Option<BuildMode>,
    work_dir: Option<PathBuf>,
    restart: bool,
    overwrite: bool,
    drop_page_cache: bool,
}

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

impl TableBuilder {
    /// Creates a builder of a table of these states: one byte per state, one
    /// thread per core, no memory limit.
    pub fn new(prefix: Prefix) -> TableBuilder {
        TableBuilder {
            spec: TableSpec { prefix, encoding: Encoding::Byte },
            threads: Threads::PER_CORE,
            memory_limit: u64::MAX,
            mode: None,
            work_dir: None,
            restart: false,
            overwrite: false,
            drop_page_cache: false,
        }
    }

    /// Sets the encoding of the distances.
    #[must_use]
    pub fn encoding(mut self, encoding: Encoding) -> TableBuilder {
        self.spec.encoding = encoding;
        self
    }

    /// Sets the number of threads.
    #[must_use]
    pub fn threads(mut self, threads: impl Into<Threads>) -> TableBuilder {
        self.threads = threads.into();
        self
    }

    /// Sets the memory limit, in bytes.
    #[must_use]
    pub fn memory_limit(mut self, bytes: u64) -> TableBuilder {
        self.memory_limit = bytes;
        self
    }

    /// Sets the mode. By default [`choose_mode`](TableBuilder::choose_mode) decides.
    #[must_use]
    pub fn mode(mut self, mode: BuildMode) -> TableBuilder {
        self.mode = Some(mode);
        self
    }

    /// Sets the work directory of an out-of-core build. The default is the
    /// path of the table with `.work` appended.
    #[must_use]
    pub fn work_dir(mut self, directory: impl Into<PathBuf>) -> TableBuilder {
        self.work_dir = Some(directory.into());
        self
    }

    /// Sets whether to discard an unfinished build in the work directory.
    #[must_use]
    pub fn restart(mut self, restart: bool) -> TableBuilder {
        self.restart = restart;
        self
    }

    /// Sets whether to replace an existing file.
    #[must_use]
    pub fn overwrite(mut self, overwrite: bool) -> TableBuilder {
        self.overwrite = overwrite;
        self
    }

    /// Sets whether to drop work files from the page cache after each use.
    #[must_use]
    pub fn drop_page_cache(mut self, drop_page_cache: bool) -> TableBuilder {
        self.drop_page_cache = drop_page_cache;
        self
    }

    /// Returns the states and the encoding of the table.
    pub fn spec(&self) -> TableSpec {
        self.spec
    }

    /// Returns the number of threads.
    pub fn thread_count(&self) -> usize {
        self.threads.count()
    }

    /// Returns an upper bound of the memory of a build in memory, in bytes.
    ///
    /// The bound holds for distances below 64, which no known table exceeds.
    pub fn memory_needed(&self) -> u64 {
        memory_needed(self.spec, self.threads.count())
    }

    /// Returns the smallest memory limit with which an out-of-core build can
    /// use all its threads, in bytes.
    pub fn least_memory(&self) -> u64 {
        least_memory(self.spec, self.threads.count())
    }

    /// Returns the work directory of an out-of-core build of the table at `path`.
    pub fn work_dir_of(&self, path: impl AsRef<Path>) -> PathBuf {
        self.work_dir.clone().unwrap_or_else(|| {
            let mut name = path.as_ref().as_os_str().to_owned();
            name.push(".work");
            name.into()
        })
    }

    /// Returns whether the work directory of the table at `path` exists.
    pub fn work_dir_exists(&self, path: impl AsRef<Path>) -> bool {
        WorkDir::exists(&self.work_dir_of(path))
    }

    /// Returns the mode in which the table at `path` would be built now.
    pub fn choose_mode(&self, path: impl AsRef<Path>) -> ModeChoice {
        let needed = self.memory_needed();
        let (mode, reason) = if let Some(mode) = self.mode {
            (mode, ModeReason::Requested)
        } else if self.spec.prefix.board().pieces() == 1 {
            (BuildMode::InMemory, ModeReason::SinglePiece)
        } else if self.work_dir_exists(path) && !self.restart {
            (BuildMode::OutOfCore, ModeReason::WorkDirExists)
        } else if needed <= self.memory_limit {
            (BuildMode::InMemory, ModeReason::Memory { needed })
        } else {
            (BuildMode::OutOfCore, ModeReason::Memory { needed })
        };
        ModeChoice { mode, reason }
    }

    /// Builds the table and writes it to `path`.
    ///
    /// # Errors
    /// If the memory or the memory limit does not suffice; if a file cannot
    /// be written; if `path` exists and is not to be replaced; if the work
    /// directory is in use, damaged, or contains an unfinished build of
    /// another table; or if the observer cancels the build. `path` is unchanged
    /// then, and the work directory keeps its complete layers.
    pub fn build(&self, path: impl AsRef<Path>, observer: &dyn Observer) -> Result<BuildOutcome, BuilderError> {
        let path = path.as_ref();
        match self.choose_mode(path).mode {
            BuildMode::InMemory => {
                build_in_memory(path, self.spec, self.overwrite, &self.threads.pool()?, observer)?;
                Ok(BuildOutcome::Built)
            }
            BuildMode::OutOfCore => self.build_out_of_core(path, observer),
        }
    }

    fn build_out_of_core(&self, path: &Path, observer: &dyn Observer) -> Result<BuildOutcome, BuilderError> {
        if self.spec.prefix.board().pieces() == 1 {
            return Err(BuilderError::SinglePiece);
        }
        let (params, threads) = fit_to_limit(self.spec, self.threads.count(), self.memory_limit)?;
        let build = OutOfCoreBuild {
            storage: OsFileSystem::shared(),
            spec: self.spec,
            params,
            work_dir: self.work_dir_of(path),
            memory_limit: self.memory_limit,
            restart: self.restart,
            overwrite: self.overwrite,
            drop_page_cache: self.drop_page_cache,
            pool: &Threads::from(threads).pool()?,
            observer,
        };
        build.run(path)
    }

    /// Estimates the build on each of these machines. The estimates are
    /// extrapolated from builds of smaller tables on this machine, with their
    /// files in `directory`. These builds take a few seconds and some ten MiB,
    /// and their files are removed.
    ///
    /// # Errors
    /// If one of these builds fails, or the memory of a machine does not suffice.
    pub fn estimate(
        &self,
        machines: &[MachineSpec],
        directory: impl AsRef<Path>,
    ) -> Result<Vec<BuildEstimate>, BuilderError> {
        estimate(self.spec, &self.threads.pool()?, machines, directory.as_ref())
    }
}
