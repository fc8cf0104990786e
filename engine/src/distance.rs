//! Distances to the goal for the players, from a table and beyond it.

use std::sync::Arc;

use sternhalma_data::{Cell, CellSet, Encoding, Rank, Table};

/// Moves a row costs a piece beyond the table's prefix, on average. Fitted on
/// the whole table of 6 pieces (`docs/players.md`).
const MOVES_PER_ROW: f64 = 0.35;

/// The distance of an army to its goal: what the table says where it covers
/// the state, and an estimate where it does not.
///
/// The estimate takes each piece beyond the prefix to the farthest free cell
/// inside, looks that state up, and adds a fixed number of moves for each row
/// it was taken. At the border no row is added, so there is no jump.
#[derive(Clone, Debug)]
pub struct Distances {
    table: Arc<Table>,
}

impl Distances {
    /// The distances of a table.
    pub fn new(table: Arc<Table>) -> Distances {
        Distances { table }
    }

    /// The table.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// The distance of an army, given as its goal tip sees it, with its rank.
    /// A damaged table gives the estimate that its neighbours would.
    #[inline]
    pub fn of(&self, army: CellSet, rank: Rank) -> f64 {
        match self.table.as_bytes().and_then(|bytes| bytes.get(rank.0 as usize)) {
            Some(&distance) => f64::from(distance),
            None => self.slow(army),
        }
    }

    #[cold]
    fn slow(&self, army: CellSet) -> f64 {
        let covered = self.table.prefix().cells();
        let inside = army & covered;
        let (placed, rows) = match army == inside {
            true => (army, 0),
            false => self.draw_in(army, inside, covered),
        };
        let known = match self.table.encoding() {
            Encoding::Byte => self.table.as_bytes().map(|bytes| bytes[Rank::of(placed).0 as usize]),
            _ => self.table.distance(placed).ok().and_then(|lookup| lookup.distance()).map(|distance| distance.0),
        };
        f64::from(known.unwrap_or(self.table.max_distance().0)) + MOVES_PER_ROW * f64::from(rows)
    }

    /// The army with every piece inside the prefix, and the rows that took.
    fn draw_in(&self, army: CellSet, inside: CellSet, covered: CellSet) -> (CellSet, u32) {
        let geometry = self.table.prefix().board().geometry();
        let row = |cell: Cell| geometry.row(cell) as u32;
        let mut placed = inside;
        let mut rows = 0;
        for cell in army - covered {
            let to = (covered - placed).last().expect("a prefix has room for the army");
            rows += row(cell) - row(to);
            placed = placed.with(to);
        }
        (placed, rows)
    }
}
