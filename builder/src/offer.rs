//! The table that programs propose for a board which has none.

use std::time::Duration;

use sternhalma_data::table::{Layout, table_name};
use sternhalma_data::{Board, Cell, Encoding, Prefix};

use crate::construction::{MachineSpec, TableBuilder};
use crate::resources::memory_limit;

/// The states of a plan that is the base of an estimate.
const MEASURED_STATES: u64 = 12_000_000;

/// A proposed table: all states of a board, or the states within whole rows nearest the goal.
///
/// ```
/// use sternhalma_builder::TableOffer;
/// use sternhalma_data::Board;
///
/// assert!(TableOffer::of(Board::new(9, 6)?).prefix().is_whole());
/// assert_eq!(TableOffer::of(Board::new(9, 10)?).prefix().within(), 36);
/// # Ok::<(), sternhalma_data::BoardError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TableOffer {
    prefix: Prefix,
}

impl TableOffer {
    /// The most states of a proposed table. Such a table is built in memory in one or two minutes.
    pub const MAX_STATES: u64 = 400_000_000;

    /// Returns the largest table of a board that is proposed. If all have too many states, it is the smallest one.
    pub fn of(board: Board) -> TableOffer {
        let row = |index| board.geometry().row(Cell::new(index));
        let row_ends = (1..board.cells()).filter(|&within| row(within - 1) != row(within));
        let prefixes = row_ends.filter_map(|within| Prefix::new(board, within as u64).ok());
        let prefixes: Vec<Prefix> = prefixes.chain([Prefix::whole(board)]).collect();
        let largest = prefixes.iter().rev().find(|prefix| prefix.states() <= TableOffer::MAX_STATES);
        TableOffer { prefix: *largest.unwrap_or(&prefixes[0]) }
    }

    /// Returns the states that the table covers.
    pub fn prefix(self) -> Prefix {
        self.prefix
    }

    /// Returns the size of the file in bytes.
    pub fn bytes(self) -> u64 {
        Layout::new(self.prefix, Encoding::Byte).estimated_file_bytes()
    }

    /// Returns a rough estimate of the time of the build with a number of threads, scaled from the plan of a smaller
    /// table. Measuring takes about a second.
    pub fn time(self, threads: usize) -> Option<Duration> {
        let measured = largest_prefix(self.prefix.board(), MEASURED_STATES.min(self.prefix.states()));
        let path = std::env::temp_dir().join(table_name(measured, Encoding::Byte));
        let plan = TableBuilder::new(measured).threads(threads).plan(path).ok()?;
        let memory = memory_limit(None);
        let machine = MachineSpec { cores: plan.threads(), memory, disk_rate: 1e9, cache: memory };
        let estimate = plan.estimate(&[machine], &()).ok()?.into_iter().next()?;
        let ratio = self.prefix.states() as f64 / measured.states() as f64;
        Some(Duration::from_secs_f64((estimate.wall_s * ratio).max(1.0)))
    }
}

/// Returns the largest prefix of a board that has at most a number of states.
fn largest_prefix(board: Board, states: u64) -> Prefix {
    let prefixes = (board.pieces()..=board.cells()).filter_map(|within| Prefix::new(board, within as u64).ok());
    prefixes.take_while(|prefix| prefix.states() <= states).last().unwrap_or(Prefix::whole(board))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_the_smallest_tables_is_estimated() {
        for (size, pieces) in [(9, 1), (3, 1), (3, 2), (3, 8), (11, 1)] {
            let offer = TableOffer::of(Board::new(size, pieces).unwrap());
            assert!(offer.time(1).is_some(), "{size}, {pieces}");
        }
    }

    #[test]
    fn the_largest_small_table_is_offered() {
        for (size, pieces, within) in
            [(9, 6, 81), (9, 7, 60), (7, 8, 48), (9, 10, 36), (9, 15, 28), (5, 3, 25), (11, 15, 28), (3, 1, 9)]
        {
            let offer = TableOffer::of(Board::new(size, pieces).unwrap());
            assert_eq!(offer.prefix().within(), within);
            assert!(offer.prefix().states() <= TableOffer::MAX_STATES);
        }
    }

    #[test]
    fn an_offer_has_a_time() {
        let offer = TableOffer::of(Board::new(4, 2).unwrap());
        assert!(offer.time(1).is_some_and(|time| time >= Duration::from_secs(1)));
        assert!(offer.bytes() >= offer.prefix().states());
    }
}
