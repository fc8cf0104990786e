//! Where tables are found and put.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Args;
use sternhalma_data::{Encoding, Prefix, Table};

#[derive(Args)]
pub struct Tables {
    /// Where tables are kept [default: the platform's data directory]
    #[arg(long = "tables", value_name = "DIR", env = "STERNHALMA_TABLES", global = true)]
    dir: Option<PathBuf>,
}

impl Tables {
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
    ///
    /// Each block is checked against its checksum before it is used.
    pub fn open(&self, file: &Path) -> Result<Table> {
        if file.exists() {
            return Ok(Table::open_checked(file)?);
        }
        if file.components().count() == 1 {
            let kept = self.dir()?.join(file);
            let mut with_extension = kept.clone().into_os_string();
            with_extension.push(".sht");
            for path in [kept, with_extension.into()] {
                if path.exists() {
                    return Ok(Table::open_checked(&path)?);
                }
            }
            bail!(
                "{}: there is no such file, here or in {}; `sternhalma build` makes tables",
                file.display(),
                self.dir()?.display()
            );
        }
        Ok(Table::open_checked(file)?)
    }
}
