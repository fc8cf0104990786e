//! The best distances that are available for a board: a whole table, a partial
//! table, or estimates. Commands for people use them instead of failing.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Result;
use indicatif::HumanBytes;
use sternhalma_data::table::Layout;
use sternhalma_data::{Board, Encoding, Prefix, Table};
use sternhalma_engine::Distances;

use crate::context::CommandContext;
use crate::output::status;
use crate::values::{DEFAULT_PIECES, DEFAULT_SIZE};

/// The most states of a table that is suggested. Such a table is built in
/// memory in one or two minutes.
const MOST_STATES: u64 = 400_000_000;

/// Opens the table that the user names, or the best table of the board in the
/// tables directory, or returns estimates. Reports on stderr if the distances
/// are not those of a whole table.
pub fn best_distances(ctx: &CommandContext, board: Board, name: Option<&Path>) -> Result<Distances> {
    let found = match name {
        Some(name) => Some(name.to_owned()),
        None => best_table(ctx, board)?,
    };
    let Some(path) = found else {
        status!(
            "no distance table of {board} in {}: distances are estimated; for a stronger player: {}",
            ctx.tables.dir()?.display(),
            build_command(suggested_table(board))
        );
        return Ok(Distances::estimated(board));
    };
    let table = ctx.open_verified(&path)?;
    if name.is_none() && !table.prefix().is_whole() {
        let better = Some(suggested_table(board)).filter(|better| better.states() > table.prefix().states());
        let advice =
            better.map_or(String::new(), |better| format!("; for a stronger player: {}", build_command(better)));
        status!(
            "using the partial table {} ({}): distances beyond it are estimated{advice}",
            path.display(),
            table.prefix()
        );
    }
    Ok(Distances::new(Arc::new(table)))
}

/// Returns the best table of a board in the tables directory: a table with more
/// states is better, and of equal ones that with the faster encoding. Files that
/// are not tables are ignored.
pub fn best_table(ctx: &CommandContext, board: Board) -> Result<Option<PathBuf>> {
    let Ok(entries) = std::fs::read_dir(ctx.tables.dir()?) else { return Ok(None) };
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let tables = paths.filter(|path| path.extension().is_some_and(|extension| extension == "sht")).filter_map(|path| {
        let table = Table::open(&path).ok().filter(|table| table.board() == board)?;
        let speed = match table.encoding() {
            Encoding::Byte => 2,
            Encoding::Zstd(_) => 1,
            _ => 0,
        };
        Some(((table.prefix().states(), speed), path))
    });
    Ok(tables.max().map(|(_, path)| path))
}

/// Returns the largest table that is suggested for a board: all states, or the
/// states within whole rows.
pub fn suggested_table(board: Board) -> Prefix {
    let geometry = board.geometry();
    let row_ends = (1..board.cells()).filter(|&within| {
        let row = |index| geometry.row(sternhalma_data::Cell::new(index));
        row(within - 1) != row(within)
    });
    let prefixes = row_ends.filter_map(|within| Prefix::new(board, within as u64).ok());
    let prefixes: Vec<Prefix> = prefixes.chain([Prefix::whole(board)]).collect();
    let small = prefixes.iter().rev().find(|prefix| prefix.states() <= MOST_STATES);
    *small.unwrap_or(&prefixes[0])
}

/// Returns the command that builds a table, in backquotes.
pub fn build_command(prefix: Prefix) -> String {
    let board = prefix.board();
    let mut command = "`sternhalma build".to_owned();
    for (option, value, default) in [
        ("side", board.size() as u64, DEFAULT_SIZE),
        ("pieces", board.pieces() as u64, DEFAULT_PIECES),
        ("within", prefix.within() as u64, board.cells() as u64),
    ] {
        if value != default {
            command += &format!(" --{option} {value}");
        }
    }
    command + "`"
}

/// Returns the size of a table with one byte per state.
pub fn table_size(prefix: Prefix) -> HumanBytes {
    HumanBytes(Layout::new(prefix, Encoding::Byte).file_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_suggested_table_is_small_and_its_command_is_exact() {
        for (size, pieces, command) in [
            (9, 6, "`sternhalma build`"),
            (9, 7, "`sternhalma build --pieces 7 --within 60`"),
            (9, 10, "`sternhalma build --pieces 10 --within 36`"),
            (9, 15, "`sternhalma build --pieces 15 --within 28`"),
            (5, 3, "`sternhalma build --side 5 --pieces 3`"),
            (11, 15, "`sternhalma build --side 11 --pieces 15 --within 28`"),
        ] {
            let prefix = suggested_table(Board::new(size, pieces).unwrap());
            assert_eq!(build_command(prefix), command);
            assert!(prefix.states() <= MOST_STATES);
        }
    }
}
