//! The settings with which a table is opened.

use std::path::Path;

use super::error::TableError;
use super::reader::Table;

/// The settings with which a table is opened.
///
/// ```
/// use sternhalma_data::Table;
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/v1-4x4-3-within13-byte.sht");
/// let table = Table::options().verify_blocks(true).load_budget(4 << 30).open(path)?;
/// println!("{} partitions in memory", table.loaded_partitions());
/// # Ok::<(), sternhalma_data::TableError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub struct TableOptions {
    verify_blocks: bool,
    load_budget: u64,
    cache_bytes: usize,
}

impl Default for TableOptions {
    fn default() -> TableOptions {
        TableOptions { verify_blocks: false, load_budget: 0, cache_bytes: 16 << 20 }
    }
}

impl TableOptions {
    /// Sets whether every block is compared with its checksum before its first
    /// use. The default is `false`.
    pub fn verify_blocks(self, verify_blocks: bool) -> TableOptions {
        TableOptions { verify_blocks, ..self }
    }

    /// Sets how many bytes of data to read into memory. The default is 0.
    ///
    /// The partitions nearest the goal that fit completely are loaded, and the
    /// others stay mapped. The budget does not include the header or the rest of
    /// the last page. Loaded partitions use huge pages if the system has them.
    /// Loading does not change answers, and look-ups take the same code path. On
    /// systems other than Unix nothing is loaded.
    pub fn load_budget(self, bytes: u64) -> TableOptions {
        TableOptions { load_budget: bytes, ..self }
    }

    /// Sets how many bytes of decompressed blocks a table in the encoding
    /// [`Zstd`](super::Encoding::Zstd) keeps. The default is 16 MiB. A block
    /// takes about a quarter of a byte per state.
    pub fn cache_bytes(self, bytes: usize) -> TableOptions {
        TableOptions { cache_bytes: bytes, ..self }
    }

    /// Opens a table. The header, the directory and the provenance are checked;
    /// the data is not read, except for what is loaded into memory.
    ///
    /// # Errors
    /// If the file is absent, is not a table, is of an unknown kind, or is
    /// damaged, or if the memory to load cannot be allocated or read.
    pub fn open(self, path: impl AsRef<Path>) -> Result<Table, TableError> {
        Table::open_with(path.as_ref(), self.verify_blocks, self.load_budget, self.cache_bytes)
    }
}

impl Table {
    /// Opens a table with the default [`TableOptions`].
    ///
    /// # Errors
    /// If the file is absent, is not a table, is of an unknown kind, or is
    /// damaged.
    pub fn open(path: impl AsRef<Path>) -> Result<Table, TableError> {
        Table::options().open(path)
    }

    /// Returns the default settings with which a table is opened.
    pub fn options() -> TableOptions {
        TableOptions::default()
    }
}
