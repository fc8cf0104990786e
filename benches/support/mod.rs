//! What the benches share.

use std::path::PathBuf;

use sternhalma_builder::TableBuilder;
use sternhalma_data::{Board, Prefix, Table, TableOptions};

/// The table of bytes that `STERNHALMA_BENCH_TABLE` names, or else one of 6
/// pieces on 7x7.
pub fn table() -> Table {
    table_with(Table::options())
}

/// Returns the [`table`] opened with other options.
pub fn table_with(options: TableOptions) -> Table {
    if let Some(path) = std::env::var_os("STERNHALMA_BENCH_TABLE").map(PathBuf::from) {
        return options.open(&path).unwrap();
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("7x7-6.sht");
    let prefix = Prefix::whole(Board::new(7, 6).unwrap());
    TableBuilder::new(prefix).build(&path, &()).unwrap();
    // The map outlives the file's name.
    options.open(&path).unwrap()
}
