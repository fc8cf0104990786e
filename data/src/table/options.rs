//! The settings with which a table is opened.

use std::path::Path;

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
    pub(super) verify_blocks: bool,
    pub(super) load_budget: u64,
    pub(super) cache_bytes: usize,
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

    /// Returns the bytes of memory that opening a file with these settings takes
    /// for data: the load budget, but at most the length of the file.
    pub fn memory(&self, path: impl AsRef<Path>) -> u64 {
        self.load_budget.min(path.as_ref().metadata().map_or(0, |metadata| metadata.len()))
    }
}
