//! The open tables of the directory.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use sternhalma_builder::{Observer, Verifier};
use sternhalma_data::table::TablesDir;
use sternhalma_data::{Board, Table, TableError};

use crate::error::ApiError;
use crate::files::FileIdentity;

/// The tables of a directory. A table is opened for its first request, and again if its file has changed.
#[derive(Debug)]
pub struct TableStore {
    dir: TablesDir,
    /// The memory for the parts of tables nearest the goal, in bytes.
    load_budget: u64,
    open: Mutex<HashMap<String, Arc<OpenTable>>>,
}

/// An open table.
#[derive(Debug)]
pub struct OpenTable {
    /// The name of its file without the extension.
    pub name: String,
    /// The table. Blocks are verified before their first use.
    pub table: Arc<Table>,
    file: FileIdentity,
    /// The result of the check of all blocks.
    checked: OnceLock<Result<(), String>>,
}

/// The files of the directory.
#[derive(Debug, Default)]
pub struct Listing {
    /// The tables that can be opened.
    pub tables: Vec<Arc<OpenTable>>,
    /// The names of the other files, with the reasons.
    pub unreadable: Vec<(String, TableError)>,
}

impl TableStore {
    /// Creates the store of a directory.
    pub fn new(dir: TablesDir, load_budget: u64) -> TableStore {
        TableStore { dir, load_budget, open: Mutex::default() }
    }

    /// Returns the directory.
    pub fn dir(&self) -> &TablesDir {
        &self.dir
    }

    /// Returns the table with a name.
    ///
    /// # Errors
    /// If there is none, or it cannot be opened.
    pub fn open(&self, name: &str) -> Result<Arc<OpenTable>, ApiError> {
        let missing = || ApiError::missing(format!("there is no table `{name}`; `/api/tables` lists the tables"));
        let path = self.dir.file(name).ok_or_else(missing)?;
        Ok(self.open_file(name, &path)?)
    }

    /// Returns the tables that can be opened, and the names of the others with the reasons.
    ///
    /// # Errors
    /// If the directory cannot be read.
    pub fn list(&self) -> Result<Listing, TableError> {
        let mut listing = Listing::default();
        for (name, path) in self.dir.files()? {
            match self.open_file(&name, &path) {
                Ok(table) => listing.tables.push(table),
                Err(error) => listing.unreadable.push((name, error)),
            }
        }
        Ok(listing)
    }

    /// Returns the [best](Table::preference) table of a board, if there is one.
    ///
    /// # Errors
    /// If the directory cannot be read.
    pub fn best(&self, board: Board) -> Result<Option<Arc<OpenTable>>, TableError> {
        let of_board = self.list()?.tables.into_iter().filter(|open| open.table.board() == board);
        Ok(of_board.max_by_key(|open| (open.table.preference(), open.table.path().to_owned())))
    }

    /// Deletes the file of a table, if it has a checksum. Requests that use the table already keep it.
    ///
    /// # Errors
    /// If there is no such table, its contents are others, or its file cannot be removed.
    pub fn delete(&self, name: &str, checksum: &str) -> Result<(), ApiError> {
        let open = self.open(name)?;
        if open.table.checksum_text() != checksum {
            let (found, expected) = (open.table.checksum_text(), checksum);
            return Err(ApiError::conflict(format!("the table `{name}` has the checksum {found}, not {expected}")));
        }
        let path = open.table.path();
        let mut all = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if FileIdentity::of(path) != Some(open.file) {
            return Err(ApiError::conflict(format!("the file of the table `{name}` has changed")));
        }
        std::fs::remove_file(path)
            .map_err(|error| ApiError::internal(format!("{}: cannot remove: {error}", path.display())))?;
        all.remove(name);
        Ok(())
    }

    fn open_file(&self, name: &str, path: &Path) -> Result<Arc<OpenTable>, TableError> {
        let file = FileIdentity::of(path);
        let mut all = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(open) = all.get(name).filter(|open| Some(open.file) == file) {
            return Ok(open.clone());
        }
        all.remove(name);
        let loaded: u64 = all.values().map(|open| open.table.loaded_bytes()).sum();
        let options = Table::options().verify_blocks(true).load_budget(self.load_budget.saturating_sub(loaded));
        let table = Arc::new(options.open_named(path)?);
        let Some(file) = file else { return Err(TableError::Absent { path: path.to_owned() }) };
        let open = Arc::new(OpenTable { name: name.to_owned(), table, file, checked: OnceLock::new() });
        all.insert(name.to_owned(), open.clone());
        Ok(open)
    }
}

impl OpenTable {
    /// Checks all blocks once, for players, whose look-ups check nothing.
    ///
    /// # Errors
    /// If a block is damaged, or if the observer cancels the check.
    pub fn check_all(&self, observer: &dyn Observer) -> Result<(), ApiError> {
        if let Some(checked) = self.checked.get() {
            return checked.clone().map_err(ApiError::internal);
        }
        let checked = Verifier::new(&self.table).check(observer);
        if observer.cancelled() {
            return Ok(checked?);
        }
        self.checked.get_or_init(|| checked.map_err(|error| error.to_string())).clone().map_err(ApiError::internal)
    }
}

#[cfg(test)]
mod tests {
    use sternhalma_builder::TableBuilder;
    use sternhalma_data::Prefix;

    use super::*;

    #[test]
    fn replaced_tables_are_opened_again() {
        let dir = tempfile::tempdir().unwrap();
        let store = TableStore::new(TablesDir::new(dir.path()), u64::MAX);
        assert!(store.open("t").is_err());
        let path = dir.path().join("t.sht");
        let build = |pieces| {
            let prefix = Prefix::whole(Board::new(4, pieces).unwrap());
            TableBuilder::new(prefix).overwrite(true).threads(1).build(&path, &()).unwrap();
        };
        build(2);
        let first = store.open("t").unwrap();
        assert!(Arc::ptr_eq(&first, &store.open("t").unwrap()));
        assert_eq!(first.table.loaded_bytes(), 120);
        build(3);
        let second = store.open("t").unwrap();
        assert_eq!((first.table.board().pieces(), second.table.board().pieces()), (2, 3));
        assert!(store.best(first.table.board()).unwrap().is_none());
        assert_eq!(store.best(second.table.board()).unwrap().unwrap().name, "t");
        std::fs::remove_file(path).unwrap();
        assert!(store.open("t").is_err());
    }

    #[test]
    fn misnamed_tables_are_named_and_passed_over() {
        let dir = tempfile::tempdir().unwrap();
        let store = TableStore::new(TablesDir::new(dir.path()), u64::MAX);
        let board = Board::new(4, 2).unwrap();
        let path = dir.path().join("4x4-3.sht");
        TableBuilder::new(Prefix::whole(board)).threads(1).build(&path, &()).unwrap();
        let message = "the table is of 4x4, 2 pieces, and its name says 4x4, 3 pieces; rename it";
        let listing = store.list().unwrap();
        assert!(listing.tables.is_empty());
        let [(name, error)] = &listing.unreadable[..] else { panic!("{listing:?}") };
        assert!(name == "4x4-3" && error.to_string().ends_with(message), "{error}");
        assert!(store.best(board).unwrap().is_none());
        assert!(store.open("4x4-3").unwrap_err().to_string().ends_with(message));
        std::fs::rename(&path, dir.path().join("4x4-2.sht")).unwrap();
        assert_eq!(store.best(board).unwrap().unwrap().name, "4x4-2");
    }
}
