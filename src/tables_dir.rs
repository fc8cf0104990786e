//! The directory in which tables are kept.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use bytesize::ByteSize;
use clap::Args;
use sternhalma_data::{Encoding, Prefix, Table, TableOptions};

use crate::resources::check_memory;

/// The tables directory, and how tables are loaded from it.
#[derive(Args, Clone)]
pub struct TablesArgs {
    /// Directory of the tables [default: the platform's data directory]
    #[arg(long = "tables", value_name = "DIR", env = "STERNHALMA_TABLES", global = true)]
    dir: Option<PathBuf>,
    /// Memory for the part of a table nearest the goal, e.g. `4GiB`; the rest stays on disk
    #[arg(long, value_name = "SIZE", value_parser = parse_size, default_value = "0", hide_default_value = true, global = true)]
    load_budget: ByteSize,
}

fn parse_size(text: &str) -> Result<ByteSize, String> {
    text.parse().map_err(|_| "expected a number of bytes, or a size such as `64MiB`, `4GiB` or `4GB`".to_owned())
}

impl TablesArgs {
    /// Returns the same arguments with another directory.
    pub fn in_dir(self, dir: PathBuf) -> TablesArgs {
        TablesArgs { dir: Some(dir), ..self }
    }

    /// Returns the directory of the tables.
    ///
    /// # Errors
    ///
    /// Fails if none is given and the system has no data directory.
    pub fn dir(&self) -> Result<PathBuf> {
        if let Some(dir) = &self.dir {
            return Ok(dir.clone());
        }
        let dirs = directories::ProjectDirs::from("", "", "sternhalma");
        let dirs = dirs.context("this system has no data directory; give one with --tables or STERNHALMA_TABLES")?;
        Ok(dirs.data_dir().to_owned())
    }

    /// Returns the path in the directory of a table whose file the user does not name.
    pub fn default_path(&self, prefix: Prefix, encoding: Encoding) -> Result<PathBuf> {
        let board = prefix.board();
        let mut name = format!("{0}x{0}-{1}", board.size(), board.pieces());
        if !prefix.is_whole() {
            name += &format!("-within{}", prefix.within());
        }
        if encoding != Encoding::Byte {
            name += &format!("-{encoding}");
        }
        Ok(self.dir()?.join(name + ".sht"))
    }

    /// Returns the path of the table that the user names: a path, or the name
    /// of a file in the directory with or without its extension.
    ///
    /// # Errors
    ///
    /// Fails if there is no such file.
    pub fn find(&self, file: &Path) -> Result<PathBuf> {
        if file.exists() || file.components().count() != 1 {
            return Ok(file.to_owned());
        }
        let kept = self.dir()?.join(file);
        let mut with_extension = kept.clone().into_os_string();
        with_extension.push(".sht");
        let found = [kept, with_extension.into()].into_iter().find(|path| path.exists());
        found.with_context(|| {
            let tables =
                self.dir.as_ref().map_or_else(|| "the tables directory".to_owned(), |dir| dir.display().to_string());
            format!(
                "{}: there is no such file, neither here nor in {tables}; `sternhalma build` makes tables",
                file.display()
            )
        })
    }

    /// Opens a table and loads as much of it into memory as the budget allows.
    ///
    /// # Errors
    ///
    /// Fails if the memory is not available, or the table cannot be opened.
    pub fn open(&self, path: &Path, options: TableOptions) -> Result<Table> {
        let budget = self.load_budget.as_u64();
        if budget > 0 {
            let file = path.metadata().map_or(0, |metadata| metadata.len());
            check_memory(budget.min(file), "give a smaller --load-budget or free some memory")?;
        }
        Ok(options.load_budget(budget).open(path)?)
    }
}
