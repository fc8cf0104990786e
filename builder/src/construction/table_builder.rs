//! The options of builds.

use std::path::{Path, PathBuf};

use sternhalma_data::board::Symmetry;
use sternhalma_data::table::NoMirroredForm;
use sternhalma_data::{Encoding, Prefix, TableSpec};

use crate::error::BuilderError;
use crate::external::WorkDir;
use crate::options::{BuildMode, LayerForm};
use crate::process::thread_count;
use crate::resources::{check_disk, check_memory, directory_bytes};
use crate::search::memory_needed;

/// Options of a build, and the build itself.
///
/// A build searches in memory if the memory limit allows it, and otherwise
/// out of core. Both write the same bytes, except for the provenance, with any
/// number of threads and any memory limit. The file appears only when it is
/// complete.
///
/// An out-of-core build keeps its layers in a work directory. After an
/// interruption of any kind, the same build resumes after the last complete
/// layer. The layers take about 2 to 3 bits of disk space per stored state, or 1 to
/// 2 bits [as differences](LayerForm::Delta), and are removed while the table is
/// written. The build uses fewer threads than requested if the memory limit is too
/// small for all of them.
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
#[must_use]
pub struct TableBuilder {
    pub(super) spec: TableSpec,
    pub(super) threads: usize,
    pub(super) memory_limit: u64,
    mode: Option<BuildMode>,
    work_dir: Option<PathBuf>,
    layer_form: Option<LayerForm>,
    disk_reserve: u64,
    pub(super) restart: bool,
    pub(super) overwrite: bool,
    pub(super) drop_page_cache: bool,
    mirror: bool,
    mirrored: Option<bool>,
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
            spec: TableSpec::new(prefix, Encoding::Byte),
            threads: 0,
            memory_limit: u64::MAX,
            mode: None,
            work_dir: None,
            layer_form: None,
            disk_reserve: 0,
            restart: false,
            overwrite: false,
            drop_page_cache: false,
            mirror: true,
            mirrored: None,
        }
    }

    /// Sets the encoding of the distances.
    pub fn encoding(mut self, encoding: Encoding) -> TableBuilder {
        self.spec.encoding = encoding;
        self.with_form()
    }

    /// Sets the number of threads; 0 is one per processor core.
    pub fn threads(mut self, threads: usize) -> TableBuilder {
        self.threads = threads;
        self
    }

    /// Sets the memory limit, in bytes.
    pub fn memory_limit(mut self, bytes: u64) -> TableBuilder {
        self.memory_limit = bytes;
        self
    }

    /// Sets the mode. By default [`choose_mode`](TableBuilder::choose_mode) decides. The memory limit holds in both
    /// modes.
    pub fn mode(mut self, mode: BuildMode) -> TableBuilder {
        self.mode = Some(mode);
        self
    }

    /// Sets the work directory of an out-of-core build. The default is the
    /// path of the table with `.work` appended.
    pub fn work_dir(mut self, directory: impl Into<PathBuf>) -> TableBuilder {
        self.work_dir = Some(directory.into());
        self
    }

    /// Sets the disk space that [`check_resources`](TableBuilder::check_resources) leaves free, in bytes. The default
    /// is 0.
    pub fn disk_reserve(mut self, bytes: u64) -> TableBuilder {
        self.disk_reserve = bytes;
        self
    }

    /// Sets the form of the layers of an out-of-core build. By default
    /// [`choose_layer_form`](TableBuilder::choose_layer_form) decides. An unfinished build may continue in the other
    /// form. The processes of a cluster always write differences.
    pub fn layer_form(mut self, form: LayerForm) -> TableBuilder {
        self.layer_form = Some(form);
        self
    }

    /// Sets whether to discard an unfinished build in the work directory.
    pub fn restart(mut self, restart: bool) -> TableBuilder {
        self.restart = restart;
        self
    }

    /// Sets whether to replace an existing file.
    pub fn overwrite(mut self, overwrite: bool) -> TableBuilder {
        self.overwrite = overwrite;
        self
    }

    /// Sets whether to drop work files from the page cache after each use.
    pub fn drop_page_cache(mut self, drop_page_cache: bool) -> TableBuilder {
        self.drop_page_cache = drop_page_cache;
        self
    }

    /// Sets whether a search in memory skips mirror images (default: true). It has no effect out of
    /// core, or if the goal or the prefix ends within a row. Without mirroring, the file is by default
    /// not mirrored either.
    pub fn mirror(mut self, mirror: bool) -> TableBuilder {
        self.mirror = mirror;
        self.with_form()
    }

    /// Sets whether the file is mirrored: whether it stores only the canonical state of each mirrored
    /// pair. By default [`TableSpec::new`] decides. The search of a mirrored file always skips mirror
    /// images.
    pub fn mirrored(mut self, mirrored: bool) -> TableBuilder {
        self.mirrored = Some(mirrored);
        self.with_form()
    }

    /// Sets the form of the file according to the options.
    fn with_form(mut self) -> TableBuilder {
        let default = || self.mirror && TableSpec::new(self.spec.prefix, self.spec.encoding).mirrored;
        self.spec.mirrored = self.mirrored.unwrap_or_else(default);
        self
    }

    /// Returns the symmetry that a search in memory uses. The expander of a single piece has no reduced ranks.
    pub(super) fn symmetry(&self) -> Option<Symmetry> {
        let prefix = self.spec.prefix;
        Symmetry::of(prefix).filter(|_| (self.mirror || self.spec.mirrored) && prefix.board().pieces() > 1)
    }

    /// Returns the states, the encoding and the form of the table.
    pub fn spec(&self) -> TableSpec {
        self.spec
    }

    /// Returns the number of threads.
    pub fn thread_count(&self) -> usize {
        thread_count(self.threads)
    }

    /// Returns an upper bound of the memory of a build in memory, in bytes.
    ///
    /// The bound holds for distances below 64, which no known table exceeds.
    pub fn memory_needed(&self) -> u64 {
        self.memory_with(thread_count(self.threads))
    }

    fn memory_with(&self, threads: usize) -> u64 {
        memory_needed(self.spec, self.symmetry().as_ref(), threads)
    }

    /// Returns an estimate of the largest size of the work files of an out-of-core build with layers in this form, in
    /// bytes.
    ///
    /// In the whole tables of 8, 9 and 10 pieces, whole layers take up to 3 bits per stored state, and differences with
    /// the copies of the last layers take up to 1.75 bits. While the table is written, the layers in it are removed.
    ///
    /// # Errors
    /// If the table has no mirrored form and one is requested.
    pub fn work_bytes(&self, form: LayerForm) -> Result<u64, NoMirroredForm> {
        let eighths_of_bits = match form {
            LayerForm::Whole => 24,
            LayerForm::Delta => 14,
        };
        Ok(self.spec.layout()?.stored_states() / 64 * eighths_of_bits)
    }

    /// Returns the form of the layers that an out-of-core build of the table at `path` would write now.
    ///
    /// By default layers are whole if the disk of the work directory has room for all of them and for the table. The
    /// work files of an unfinished build are counted as free space.
    pub fn choose_layer_form(&self, path: impl AsRef<Path>) -> LayerForm {
        let whole_fits = || {
            let work_dir = self.work_dir_of(path);
            let (layers, table) = (self.work_bytes(LayerForm::Whole).ok()?, self.spec.layout().ok()?.file_bytes());
            let needed = layers.saturating_add(table);
            check_disk(&work_dir, needed.saturating_sub(directory_bytes(&work_dir)), self.disk_reserve).ok()
        };
        self.layer_form.unwrap_or_else(|| if whole_fits().is_some() { LayerForm::Whole } else { LayerForm::Delta })
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
        let fresh = self.choose_fresh_mode(self.memory_needed(), self.memory_limit);
        if matches!(fresh.reason, ModeReason::Memory { .. }) && self.work_dir_exists(path) && !self.restart {
            return ModeChoice { mode: BuildMode::OutOfCore, reason: ModeReason::WorkDirExists };
        }
        fresh
    }

    /// Returns the mode of a build that resumes nothing, has `limit` bytes of memory, and needs `needed` bytes in memory.
    pub(super) fn choose_fresh_mode(&self, needed: u64, limit: u64) -> ModeChoice {
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

    /// Returns the number of threads of a build in memory. If such a build is requested, it is the largest number that
    /// the memory limit allows.
    ///
    /// # Errors
    /// If the limit does not suffice for one thread.
    pub(super) fn threads_in_memory(&self) -> Result<usize, BuilderError> {
        let (all, limit) = (thread_count(self.threads), self.memory_limit);
        if self.mode != Some(BuildMode::InMemory) {
            return Ok(all);
        }
        let least = self.memory_with(1);
        if least > limit {
            return Err(BuilderError::MemoryLimit { least, limit });
        }
        // More threads take more memory. `fits` threads fit, and more than `most` do not.
        let (mut fits, mut most) = (1, all);
        while fits < most {
            let middle = fits + (most - fits).div_ceil(2);
            if self.memory_with(middle) <= limit {
                fits = middle;
            } else {
                most = middle - 1;
            }
        }
        Ok(fits)
    }

    /// Tests that the machine has the memory and the disk space to build the table at `path` now. The
    /// test omits the disk space of an unfinished build out of core, a part of which is in use.
    ///
    /// # Errors
    /// If the machine has less; if a build in memory is requested and exceeds the memory limit; or if the table has no
    /// mirrored form and one is requested.
    pub fn check_resources(&self, path: impl AsRef<Path>) -> Result<(), BuilderError> {
        let path = path.as_ref();
        let table_bytes = self.spec.layout()?.file_bytes();
        if self.choose_mode(path).mode == BuildMode::InMemory {
            check_memory(self.memory_with(self.threads_in_memory()?))?;
            return self.check_disk(path, table_bytes);
        }
        let work_dir = self.work_dir_of(path);
        if work_dir.exists() {
            return self.check_disk(&work_dir, 0);
        }
        // The layers are removed while the table is written, so that one disk need not have room for both.
        self.check_disk(&work_dir, self.work_bytes(self.layer_form.unwrap_or(LayerForm::Delta))?)?;
        self.check_disk(path, table_bytes)
    }

    /// Tests that the disk has `bytes` for a file at `path`, beside the reserve.
    fn check_disk(&self, path: &Path, bytes: u64) -> Result<(), BuilderError> {
        Ok(check_disk(path, bytes, self.disk_reserve)?)
    }
}
