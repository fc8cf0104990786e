//! Directories of table files.

use std::path::{Path, PathBuf};

use super::error::TableError;
use super::format::Encoding;
use super::names::{parse_table_name, table_name};
use super::options::TableOptions;
use super::reader::Table;
use crate::board::{Board, Prefix};

/// The extension of table files.
const EXTENSION: &str = "sht";

/// A directory of table files, which need not exist.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TablesDir(PathBuf);

/// The tables that may be used for a board.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Coverage {
    /// Complete tables.
    Complete,
    /// The largest available table.
    Prefix,
}

/// A file of a tables directory.
#[derive(Debug)]
pub struct TableFile {
    /// The name without its extension.
    pub name: String,
    /// The path.
    pub path: PathBuf,
    /// The table, or the reason why it cannot be opened.
    pub table: Result<Table, TableError>,
}

impl TablesDir {
    /// Creates the description of a directory.
    pub fn new(path: impl Into<PathBuf>) -> TablesDir {
        TablesDir(path.into())
    }

    /// Returns the path.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Returns the path of a table whose file the user does not name.
    pub fn default_path(&self, prefix: Prefix, encoding: Encoding) -> PathBuf {
        self.0.join(format!("{}.{EXTENSION}", table_name(prefix, encoding)))
    }

    /// Returns the path of the table with a name, or `None` if the directory has no file of
    /// it. A path is not a name.
    ///
    /// ```
    /// use sternhalma_data::table::TablesDir;
    /// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden");
    /// # /*
    /// let path = "tests/golden";
    /// # */
    /// let dir = TablesDir::new(path);
    /// assert!(dir.file("v1-4x4-3-within13-byte").is_some());
    /// assert_eq!(dir.file("../golden/v1-4x4-3-within13-byte"), None);
    /// ```
    pub fn file(&self, name: &str) -> Option<PathBuf> {
        let file = format!("{name}.{EXTENSION}");
        let plain = !name.contains(['/', '\\', ':', '\0']) && Path::new(&file).file_stem()?.to_str() == Some(name);
        Some(self.0.join(file)).filter(|path| plain && path.is_file())
    }

    /// Returns the names and paths of the table files, ordered by name. A directory that does not
    /// exist has none.
    ///
    /// # Errors
    /// If the directory cannot be read.
    pub fn files(&self) -> Result<Vec<(String, PathBuf)>, TableError> {
        if !self.0.exists() {
            return Ok(Vec::new());
        }
        let unreadable = || TableError::io(&self.0, "read the directory");
        let mut files = Vec::new();
        for entry in std::fs::read_dir(&self.0).map_err(unreadable())? {
            let path = entry.map_err(unreadable())?.path();
            if path.extension().is_some_and(|extension| extension == EXTENSION) {
                files.push((path.file_stem().unwrap_or_default().to_string_lossy().into_owned(), path));
            }
        }
        files.sort();
        Ok(files)
    }

    /// Opens the table files with [`TableOptions::open_named`], ordered by name.
    ///
    /// # Errors
    /// If the directory cannot be read.
    pub fn list(&self) -> Result<Vec<TableFile>, TableError> {
        let open = |(name, path): (String, PathBuf)| {
            let table = Table::options().open_named(&path);
            TableFile { name, path, table }
        };
        Ok(self.files()?.into_iter().map(open).collect())
    }

    /// Opens the [best](Table::preference) table of a board. A [misnamed](TableError::Misnamed) table is passed over, and
    /// `misnamed` is called with the error if its name or its contents are of the board.
    ///
    /// # Errors
    /// If the directory cannot be read, or the table of all states in the default encoding cannot be opened.
    pub fn lookup(
        &self,
        board: Board,
        coverage: Coverage,
        mut misnamed: impl FnMut(&TableError),
    ) -> Result<Option<Table>, TableError> {
        let default = self.default_path(Prefix::whole(board), Encoding::Byte);
        if default.exists() {
            match Table::options().open_named(&default) {
                Err(error @ TableError::Misnamed { .. }) => misnamed(&error),
                // A damaged table is no reason to use another one.
                opened => return opened.map(Some),
            }
        }
        let usable = |(_, path): (String, PathBuf)| match Table::options().open_named(&path) {
            Ok(table) => {
                let covers = table.prefix().is_whole() || coverage == Coverage::Prefix;
                (table.board() == board && covers).then_some(table)
            }
            Err(error) => {
                if matches!(&error, TableError::Misnamed { named, found, .. } if [named.board(), found.board()].contains(&board))
                {
                    misnamed(&error);
                }
                None
            }
        };
        let others = self.files()?.into_iter().filter(|(_, path)| *path != default).filter_map(usable);
        Ok(others.max_by(|a, b| (a.preference(), a.path()).cmp(&(b.preference(), b.path()))))
    }
}

impl TableOptions {
    /// Opens a file of a tables directory. A table with the name of a table of other states is an error, so that no
    /// program uses it.
    ///
    /// # Errors
    /// As for [`open`](TableOptions::open), and if the name is that of a table of other states.
    pub fn open_named(self, path: &Path) -> Result<Table, TableError> {
        let table = self.open(path)?;
        match path.file_stem().and_then(|name| parse_table_name(name.to_str()?)) {
            Some((named, _)) if named != table.prefix() => {
                Err(TableError::Misnamed { path: path.to_owned(), named, found: table.prefix() })
            }
            _ => Ok(table),
        }
    }

    /// Opens the file that [`find_table`](super::find_table) has found for what a user specifies: a path, where the file
    /// may have any name, or the [name](TableOptions::open_named) of a table.
    ///
    /// # Errors
    /// As for [`open_named`](TableOptions::open_named).
    pub fn open_found(self, found: &Path, specified: &Path) -> Result<Table, TableError> {
        if found == specified { self.open(found) } else { self.open_named(found) }
    }
}

impl Table {
    /// Returns a number by which tables of a board are compared: the best table covers most, and of
    /// tables that cover the same its look-ups are fastest.
    pub fn preference(&self) -> (usize, u8) {
        let speed = match self.encoding() {
            Encoding::Byte => 3,
            Encoding::Mod3 => 2,
            Encoding::Zstd(_) => 1,
            Encoding::Ans(_) => 0,
        };
        (self.prefix().within(), speed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_that_is_found_stays_open() {
        let golden = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/v1-4x4-3-within13-byte.sht"));
        let board = Board::new(4, 3).unwrap();
        for (name, coverage) in [("4x4-3-within13.sht", Coverage::Prefix), ("other.sht", Coverage::Prefix)] {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join(name);
            std::fs::copy(golden, &path).unwrap();
            let tables = TablesDir::new(dir.path());
            let lookup = |coverage| tables.lookup(board, coverage, |error| panic!("{error}")).unwrap();
            assert!(lookup(Coverage::Complete).is_none());
            let found = lookup(coverage).unwrap();
            std::fs::remove_file(&path).unwrap();
            let loaded = found.with_loading(Table::options().load_budget(u64::MAX).verify_blocks(true)).unwrap();
            assert_eq!((loaded.path(), loaded.loaded_bytes()), (&*path, loaded.layout().data_bytes()));
            assert_eq!(loaded.probe(crate::State::goal(board)).unwrap().is_exact(), Some(true));
        }
    }

    #[test]
    fn only_names_of_files_in_the_directory_are_found() {
        let dir = tempfile::tempdir().unwrap();
        let inner = dir.path().join("inner");
        std::fs::create_dir_all(inner.join("folder.sht")).unwrap();
        for path in [dir.path().join("outer.sht"), inner.join("5x5-3.sht"), inner.join("a b.c.sht"), inner.join("text")]
        {
            std::fs::write(path, "").unwrap();
        }
        let tables = TablesDir::new(&inner);
        assert_eq!(tables.file("5x5-3"), Some(inner.join("5x5-3.sht")));
        assert_eq!(tables.file("a b.c"), Some(inner.join("a b.c.sht")));
        let absolute = dir.path().join("outer");
        for name in
            ["", ".", "..", "text", "5x5-3.sht", "folder", "../outer", "./5x5-3", "inner\0", absolute.to_str().unwrap()]
        {
            assert_eq!(tables.file(name), None, "{name:?}");
        }
        let names: Vec<String> = tables.files().unwrap().into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["5x5-3", "a b.c", "folder"]);
        assert!(TablesDir::new(dir.path().join("absent")).files().unwrap().is_empty());
    }
}
