//! Where tables are found and put.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use bytesize::ByteSize;
use clap::Args;
use sternhalma_data::{Encoding, Prefix, Table, TableOptions};

use crate::resources::check_memory_or;

#[derive(Args, Clone)]
pub struct TablesArgs {
    /// Where tables are kept [default: the platform's data directory]
    #[arg(long = "tables", value_name = "DIR", env = "STERNHALMA_TABLES", global = true)]
    dir: Option<PathBuf>,
    /// Memory for the parts of a table nearest the goal, like `4GiB`; the rest stays on disk
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "0", hide_default_value = true, global = true)]
    load_budget: ByteSize,
}

/// `4GiB`, `4GB`, or plain bytes.
fn size(text: &str) -> Result<ByteSize, String> {
    text.parse().map_err(|_| "a size is a number of bytes, or one like `64MiB`, `4GiB` or `4GB`".to_owned())
}

impl TablesArgs {
    /// The same, kept elsewhere.
    pub fn in_dir(self, dir: PathBuf) -> TablesArgs {
        TablesArgs { dir: Some(dir), ..self }
    }

    pub fn dir(&self) -> Result<PathBuf> {
        if let Some(dir) = &self.dir {
            return Ok(dir.clone());
        }
        let dirs = directories::ProjectDirs::from("", "", "sternhalma");
        let dirs = dirs.context("this system has no data directory; name one with --tables or STERNHALMA_TABLES")?;
        Ok(dirs.data_dir().to_owned())
    }

    /// The place of a table in the directory when none is named.
    pub fn default_path(&self, prefix: Prefix, encoding: Encoding) -> Result<PathBuf> {
        let board = prefix.board();
        let mut name = format!("{0}x{0}-{1}", board.side(), board.pieces());
        if !prefix.is_whole() {
            name += &format!("-within{}", prefix.within());
        }
        if encoding != Encoding::Byte {
            name += &format!("-{encoding}");
        }
        Ok(self.dir()?.join(name + ".sht"))
    }

    /// The table a user names: a path, or the name of a file in the
    /// directory, with or without its extension.
    pub fn find(&self, file: &Path) -> Result<PathBuf> {
        if file.exists() || file.components().count() != 1 {
            return Ok(file.to_owned());
        }
        let kept = self.dir()?.join(file);
        let mut with_extension = kept.clone().into_os_string();
        with_extension.push(".sht");
        let found = [kept, with_extension.into()].into_iter().find(|path| path.exists());
        found.with_context(|| {
            let here =
                self.dir.as_ref().map_or_else(|| "the tables directory".to_owned(), |dir| dir.display().to_string());
            format!("{}: there is no such file, here or in {here}; `sternhalma build` makes tables", file.display())
        })
    }

    /// Opens a table with what the budget takes in memory.
    pub fn load(&self, path: &Path, options: TableOptions) -> Result<Table> {
        let budget = self.load_budget.as_u64();
        if budget > 0 {
            let file = path.metadata().map_or(0, |metadata| metadata.len());
            check_memory_or(budget.min(file), "give a smaller --load-budget, or free some memory")?;
        }
        Ok(options.load_budget(budget).open(path)?)
    }
}
