//! The names of table files, and the directory where they are kept.

use std::path::{Path, PathBuf};

use super::format::Encoding;
use crate::board::{Board, Prefix};

/// The environment variable that names the tables directory.
pub const TABLES_VARIABLE: &str = "STERNHALMA_TABLES";

/// Returns the directory of the tables: the value of the environment variable
/// `STERNHALMA_TABLES`, or else the user's data directory, or `None` if the
/// system has none. The directory need not exist.
pub fn tables_dir() -> Option<PathBuf> {
    match std::env::var_os(TABLES_VARIABLE) {
        Some(dir) if !dir.is_empty() => Some(dir.into()),
        _ => Some(directories::ProjectDirs::from("", "", "sternhalma")?.data_dir().to_owned()),
    }
}

/// Returns the path of the table that a user names: `file` itself if it exists
/// or has a directory, or else the file in `dir` with this name, with or without
/// the extension `.sht`. Returns `None` if there is no such file in `dir`.
pub fn find_table(dir: &Path, file: &Path) -> Option<PathBuf> {
    if file.exists() || file.components().count() != 1 {
        return Some(file.to_owned());
    }
    let kept = dir.join(file);
    let mut with_extension = kept.clone().into_os_string();
    with_extension.push(".sht");
    [kept, with_extension.into()].into_iter().find(|path| path.exists())
}

/// Returns the name of a table's file without its extension, such as
/// `9x9-10-within45-zstd`. The encoding `byte` is omitted.
pub fn table_name(prefix: Prefix, encoding: Encoding) -> String {
    let board = prefix.board();
    let mut name = format!("{0}x{0}-{1}", board.size(), board.pieces());
    if !prefix.is_whole() {
        name += &format!("-within{}", prefix.within());
    }
    if encoding != Encoding::Byte {
        name += &format!("-{encoding}");
    }
    name
}

/// Returns the states and the encoding of the table with this name, or `None` if
/// [`table_name`] returns it for no table.
pub fn parse_table_name(name: &str) -> Option<(Prefix, Encoding)> {
    let mut parts = name.split('-');
    let (size, other) = parts.next()?.split_once('x')?;
    let board = Board::new(size.parse().ok()?, parts.next()?.parse().ok()?).ok().filter(|_| size == other)?;
    let (mut prefix, mut encoding) = (Prefix::whole(board), Encoding::Byte);
    for part in parts {
        match part.strip_prefix("within") {
            Some(within) => prefix = Prefix::new(board, within.parse().ok()?).ok()?,
            None => encoding = part.parse().ok()?,
        }
    }
    (table_name(prefix, encoding) == name).then_some((prefix, encoding))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_tables_are_parsed() {
        for name in ["9x9-6", "9x9-10-within22", "5x5-3-zstd", "5x5-3-ans", "5x5-3-within18-mod3"] {
            let (prefix, encoding) = parse_table_name(name).unwrap();
            assert_eq!(table_name(prefix, encoding), name);
        }
        for name in ["", "9x9", "9x8-6", "9x9-16", "9x9-6-within99", "9x9-6-byte", "9x9-06", "a1,b1,c1", "table"] {
            assert!(parse_table_name(name).is_none(), "{name}");
        }
    }

    #[test]
    fn tables_are_found_by_their_names() {
        let dir = tempfile::tempdir().unwrap();
        let (table, other) = (dir.path().join("5x5-3.sht"), dir.path().join("copy"));
        for path in [&table, &other] {
            std::fs::write(path, "").unwrap();
        }
        let find = |name: &Path| find_table(dir.path(), name);
        for name in ["5x5-3", "5x5-3.sht"] {
            assert_eq!(find(Path::new(name)).as_ref(), Some(&table));
        }
        assert_eq!(find(Path::new("copy")), Some(other));
        assert_eq!(find(Path::new("5x5-4")), None);
        // A path is not looked for in the directory.
        assert_eq!(find(Path::new("else/5x5-3")).unwrap(), Path::new("else/5x5-3"));
    }
}
