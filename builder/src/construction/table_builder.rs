//! The options of builds.

use std::path::{Path, PathBuf};

use sternhalma_data::board::Symmetry;
use sternhalma_data::{Encoding, Prefix, TableSpec};

use crate::options::{BuildMode, LayerForm, Mirroring, ProcessOptions};

/// Options of a build. [`plan`](TableBuilder::plan) resolves them.
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
    pub(super) mode: Option<BuildMode>,
    work_dir: Option<PathBuf>,
    pub(super) layer_form: Option<LayerForm>,
    pub(super) disk_reserve: u64,
    pub(super) restart: bool,
    pub(super) overwrite: bool,
    pub(super) drop_page_cache: bool,
    mirroring: Option<Mirroring>,
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
            mirroring: None,
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

    /// Sets the mode. By default the search is in memory if the memory limit allows it and there is no unfinished work.
    /// The memory limit holds in both modes.
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

    /// Sets the disk space that must stay free, in bytes. The default is 0.
    pub fn disk_reserve(mut self, bytes: u64) -> TableBuilder {
        self.disk_reserve = bytes;
        self
    }

    /// Sets the form of the layers of an out-of-core build. By default layers are whole if the disk of the work directory
    /// has room for all of them and for the table. An unfinished build may continue in the other form. The processes of a
    /// cluster always write differences.
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

    /// Sets what the mirror symmetry of the states is used for. By default the search uses it, and [`TableSpec::new`]
    /// decides for the file.
    pub fn mirroring(mut self, mirroring: impl Into<Mirroring>) -> TableBuilder {
        self.mirroring = Some(mirroring.into());
        self.with_form()
    }

    /// Sets the form of the file according to the options.
    fn with_form(mut self) -> TableBuilder {
        self.spec = match self.mirroring {
            None => TableSpec::new(self.spec.prefix, self.spec.encoding),
            Some(mirroring) => TableSpec { mirrored: mirroring == Mirroring::File, ..self.spec },
        };
        self
    }

    /// Returns the symmetry that a search in memory uses. The expander of a single piece has no reduced ranks.
    pub(super) fn symmetry(&self) -> Option<Symmetry> {
        let prefix = self.spec.prefix;
        Symmetry::of(prefix).filter(|_| self.mirroring != Some(Mirroring::Off) && prefix.board().pieces() > 1)
    }

    /// Returns the states, the encoding and the form of the table.
    pub fn spec(&self) -> TableSpec {
        self.spec
    }

    /// Returns the options that each process of a cluster has.
    pub fn process_options(&self) -> ProcessOptions {
        let TableBuilder { threads, memory_limit, restart, drop_page_cache, .. } = *self;
        ProcessOptions { threads, memory_limit, restart, drop_page_cache }
    }

    /// Returns the work directory of an out-of-core build of the table at `path`.
    pub fn work_dir_of(&self, path: impl AsRef<Path>) -> PathBuf {
        self.work_dir.clone().unwrap_or_else(|| {
            let mut name = path.as_ref().as_os_str().to_owned();
            name.push(".work");
            name.into()
        })
    }
}
