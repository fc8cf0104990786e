//! How a table is opened.

use std::path::Path;

use crate::error::TableError;
use crate::table::Table;

/// How a table is opened: [`Table::options`].
///
/// ```no_run
/// use sternhalma_data::Table;
/// let table = Table::options().checked(true).load_budget(4 << 30).open("9x9-10-within47.sht".as_ref())?;
/// println!("{} partitions in memory", table.loaded_partitions());
/// # Ok::<(), sternhalma_data::TableError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[must_use]
pub struct TableOptions {
    checked: bool,
    load_budget: u64,
}

impl TableOptions {
    /// Whether every block is checked against its checksum before a distance
    /// is first read from it. Not unless asked for.
    pub fn checked(self, checked: bool) -> TableOptions {
        TableOptions { checked, ..self }
    }

    /// Bytes of data to read into memory: the partitions nearest the goal
    /// that fit wholly. The others stay mapped. Nothing unless asked for.
    ///
    /// The header and what is left of the last page come on top. Loaded
    /// partitions lie in huge pages where the system has them, and the file
    /// is not read again for them. Answers and the cost of asking are the
    /// same either way: nothing is decided at a look-up. Systems other than
    /// Unix load nothing.
    pub fn load_budget(self, bytes: u64) -> TableOptions {
        TableOptions { load_budget: bytes, ..self }
    }

    /// Opens a table. Cost: the time to read what is loaded.
    ///
    /// # Errors
    /// As [`Table::open`], and if the memory cannot be had or the file not read.
    pub fn open(self, path: &Path) -> Result<Table, TableError> {
        let table = if self.checked { Table::open_checked(path)? } else { Table::open(path)? };
        table.loaded(self.load_budget)
    }
}

impl Table {
    /// Opens a table in another way than [`open`](Table::open) does.
    pub fn options() -> TableOptions {
        TableOptions::default()
    }
}
