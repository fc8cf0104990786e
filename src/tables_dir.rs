//! The directory in which tables are kept.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use bytesize::ByteSize;
use clap::Args;
use indicatif::HumanBytes;
use sternhalma_builder::{TableOffer, check_memory, total_memory};
use sternhalma_data::table::{Coverage, Layout, TablesDir, find_table, table_name, tables_dir};
use sternhalma_data::{Board, Encoding, Prefix, Table, TableOptions};
use sternhalma_engine::TableAdvice;

use crate::output::status;
use crate::resources::advise;
use crate::values::{DEFAULT_PIECES, DEFAULT_SIZE, size};

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
        let dir = self.dir()?;
        find_table(&dir, file).with_context(|| {
            let name = file.to_string_lossy();
            let advice = match name.starts_with('#') || name.contains(',') {
                true => "; the table comes before the states".to_owned(),
                false => self.advice().for_name(&name),
            };
            format!("{name}: there is no such file, neither here nor in {}{advice}", dir.display())
        })
    }

    /// Returns the remedies for missing tables of the directory.
    fn advice(&self) -> TableAdvice<impl Fn(Option<(Prefix, Encoding)>) -> String> {
        TableAdvice::new(&self.dir().unwrap_or_default(), |table| match table {
            Some((prefix, encoding)) => self.build_command(prefix, encoding),
            None => "`sternhalma build`".to_owned(),
        })
    }

    /// Returns the remedy for a missing table of a board, and the tables that exist.
    pub fn advice_for_board(&self, board: Board, coverage: Coverage) -> String {
        let (advice, offer) = (self.advice(), TableOffer::of(board));
        let (command, size) = (advice.build(offer.prefix()), HumanBytes(offer.bytes()));
        let remedy = if offer.prefix().is_whole() {
            format!("{command} builds one ({size})")
        } else {
            let whole = HumanBytes(Layout::new(Prefix::whole(board), Encoding::Byte).estimated_file_bytes());
            let usage = match coverage {
                Coverage::Prefix => String::new(),
                Coverage::Complete => format!("; use it with --table {}", table_name(offer.prefix(), Encoding::Byte)),
            };
            format!("a complete table takes {whole}; {command} builds a part of it ({size}){usage}")
        };
        remedy + &advice.existing()
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
}
