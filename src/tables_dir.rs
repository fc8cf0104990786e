//! The directory in which tables are kept.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use bytesize::ByteSize;
use clap::Args;
use indicatif::HumanBytes;
use sternhalma_builder::{check_memory, largest_prefix, total_memory};
use sternhalma_data::table::{Coverage, Layout, TablesDir, find_table, parse_table_name, table_name, tables_dir};
use sternhalma_data::{Board, Encoding, Prefix, Table, TableOptions};
use sternhalma_ggp::messages::nearest;

use crate::output::status;
use crate::resources::advise;
use crate::values::{DEFAULT_PIECES, DEFAULT_SIZE, size};

/// The largest table in bytes that an error message suggests to build.
const LARGEST_SUGGESTION: u64 = 4 << 30;

/// The most states of a table that is built within seconds.
const QUICK_STATES: u64 = 20_000_000;

/// The tables directory, and how tables are loaded from it.
#[derive(Args, Clone)]
pub struct TablesArgs {
    /// Directory of the tables, which `sternhalma tables` lists [env: STERNHALMA_TABLES]
    // Clap would show an option that the environment sets in every usage line, so `TablesArgs::dir` reads the variable.
    #[arg(long = "tables", value_name = "DIR", global = true, help_heading = "Global options")]
    tables_dir: Option<PathBuf>,
    /// Memory for the part of a table nearest the goal, e.g. `4GiB`; the rest stays on disk [default: 0; players: a quarter of the memory if it is available]
    #[arg(long, value_name = "SIZE", value_parser = size, global = true, help_heading = "Global options")]
    load_budget: Option<ByteSize>,
}

impl TablesArgs {
    /// Returns the same arguments with another directory.
    pub fn in_dir(self, dir: PathBuf) -> TablesArgs {
        TablesArgs { tables_dir: Some(dir), ..self }
    }

    /// Returns the directory of the tables.
    ///
    /// # Errors
    ///
    /// Fails if no directory is given and the system has no data directory.
    pub fn dir(&self) -> Result<PathBuf> {
        if let Some(dir) = &self.tables_dir {
            return Ok(dir.clone());
        }
        tables_dir().context("this system has no data directory; give one with --tables or STERNHALMA_TABLES")
    }

    /// Returns the directory of the tables, to look for tables in it.
    ///
    /// # Errors
    ///
    /// Fails as [`dir`](TablesArgs::dir) does.
    pub fn directory(&self) -> Result<TablesDir> {
        Ok(TablesDir::new(self.dir()?))
    }

    /// Opens the best table of a board. A table whose contents do not match its name is passed over, with a notice.
    ///
    /// # Errors
    ///
    /// Fails if the directory is unknown or cannot be read, or if the default table of the board is damaged.
    pub fn lookup(&self, board: Board, coverage: Coverage) -> Result<Option<Table>> {
        Ok(self.directory()?.lookup(board, coverage, |error| status!("passed over {error}"))?)
    }

    /// Returns the memory for the part of a table nearest the goal, in bytes.
    pub fn load_budget(&self) -> u64 {
        self.load_budget.map_or(0, |budget| budget.as_u64())
    }

    /// Returns the path of the table that the user names: a path, or the name
    /// of a file in the directory with or without its extension.
    ///
    /// # Errors
    ///
    /// Fails if there is no such file. The message names the directory and its tables.
    pub fn find(&self, file: &Path) -> Result<PathBuf> {
        find_table(&self.dir()?, file).with_context(|| {
            let dir = self.dir().unwrap_or_default();
            format!(
                "{}: there is no such file, neither here nor in {}{}",
                file.display(),
                dir.display(),
                self.advice_for_name(&file.to_string_lossy())
            )
        })
    }

    /// Returns what a user can do who named a table that does not exist, as a clause that begins with `; `.
    fn advice_for_name(&self, name: &str) -> String {
        if name.starts_with('#') || name.contains(',') {
            return "; the table comes before the states".to_owned();
        }
        let names = self.names();
        let similar = nearest(name, names.iter().map(String::as_str));
        let build = match (parse_table_name(name.strip_suffix(".sht").unwrap_or(name)), similar) {
            (Some((prefix, encoding)), _) => format!("; {} builds it", self.build_command(prefix, encoding)),
            (None, Some(similar)) => return format!("; did you mean `{similar}`?"),
            (None, None) => "; `sternhalma build` builds tables".to_owned(),
        };
        build + &existing(&names)
    }

    /// Returns the remedy for a missing table of a board, and the tables that exist.
    pub fn advice_for_board(&self, board: Board, coverage: Coverage) -> String {
        let whole = Prefix::whole(board);
        let bytes = Layout::new(whole, Encoding::Byte).estimated_file_bytes();
        let mut advice = if bytes <= LARGEST_SUGGESTION {
            let size = HumanBytes(bytes);
            format!("{} builds one ({size})", self.build_command(whole, Encoding::Byte))
        } else {
            let part = largest_prefix(board, QUICK_STATES);
            let name = table_name(part, Encoding::Byte);
            let usage =
                if coverage == Coverage::Prefix { String::new() } else { format!("; use it with --table {name}") };
            format!(
                "a complete table takes {}; {} builds a part of it{usage}",
                HumanBytes(bytes),
                self.build_command(part, Encoding::Byte)
            )
        };
        advice += &existing(&self.names());
        advice
    }

    fn names(&self) -> Vec<String> {
        let files = self.directory().and_then(|dir| Ok(dir.files()?)).unwrap_or_default();
        files.into_iter().map(|(name, _)| name).collect()
    }

    /// Returns the command that builds a table.
    fn build_command(&self, prefix: Prefix, encoding: Encoding) -> String {
        let board = prefix.board();
        let mut command = "sternhalma build".to_owned();
        let mut option = |given: bool, name: &str, value: &dyn std::fmt::Display| {
            if given {
                command += &format!(" --{name} {value}");
            }
        };
        option(board.size() as u64 != DEFAULT_SIZE, "side", &board.size());
        option(board.pieces() as u64 != DEFAULT_PIECES, "pieces", &board.pieces());
        option(!prefix.is_whole(), "within", &prefix.within());
        option(encoding != Encoding::Byte, "encoding", &encoding);
        if let Some(dir) = &self.tables_dir {
            option(true, "tables", &dir.display());
        }
        format!("`{command}`")
    }

    /// Opens the table that a user names, and loads as much of it into memory as the options of the command line say.
    ///
    /// # Errors
    ///
    /// Fails if there is no such table, the memory is not available, or the table cannot be opened.
    pub fn open(&self, name: &Path, options: TableOptions) -> Result<Table> {
        self.load(self.open_mapped(name)?, options)
    }

    /// Opens the table that a user names, and leaves it on disk.
    ///
    /// # Errors
    ///
    /// Fails if there is no such table, or it cannot be opened.
    pub fn open_mapped(&self, name: &Path) -> Result<Table> {
        Ok(Table::options().open_found(&self.find(name)?, name)?)
    }

    /// Loads an open table as [`open`](TablesArgs::open) does.
    ///
    /// # Errors
    ///
    /// Fails if the memory is not available.
    pub fn load(&self, table: Table, options: TableOptions) -> Result<Table> {
        let options = options.load_budget(self.load_budget());
        check_loading(table.path(), options)?;
        Ok(table.with_loading(options)?)
    }

    /// Loads an open table for a search, which reads it at random. Without a given budget, as much of the file as fits in
    /// a quarter of the memory is loaded; if that memory is not available, a notice says so and the table stays on disk.
    ///
    /// # Errors
    ///
    /// Fails if the memory of a given budget is not available.
    pub fn load_for_search(&self, table: Table) -> Result<Table> {
        if self.load_budget.is_some() {
            return self.load(table, Table::options());
        }
        let loading = Table::options().load_budget(total_memory() / 4);
        match check_memory(loading.memory(table.path())) {
            Ok(()) => Ok(table.with_loading(loading)?),
            Err(shortage) => {
                status!(
                    "{}: the table stays on disk, so that look-ups are slower: {shortage}; free some memory, or give --load-budget",
                    table.path().display()
                );
                Ok(table)
            }
        }
    }
}

/// Tests that the memory is available into which these settings load a table.
fn check_loading(path: &Path, options: TableOptions) -> Result<()> {
    advise(check_memory(options.memory(path)), "give a smaller --load-budget or free some memory")
}

/// Lists existing tables, as a clause that begins with `; `, or returns nothing if there are none.
fn existing(names: &[String]) -> String {
    match names {
        [] => String::new(),
        names => format!("; the tables there are {}", names.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_of_the_given_settings_is_checked() {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(1 << 42).unwrap();
        let checked = |options| check_loading(file.path(), options);
        let loading = checked(Table::options().load_budget(1 << 42)).unwrap_err().to_string();
        assert!(loading.ends_with("give a smaller --load-budget or free some memory"), "{loading}");
        checked(Table::options()).unwrap();
    }

    #[test]
    fn suggested_prefixes_are_small() {
        for (size, pieces, within) in [(9, 10, 28), (11, 15, 27), (3, 2, 9)] {
            let prefix = largest_prefix(Board::new(size, pieces).unwrap(), QUICK_STATES);
            assert_eq!(prefix.within(), within, "{size} {pieces}: {}", prefix.states());
        }
    }
}
