//! The positional value of armies.

use sternhalma_data::{Cell, CellSet, Geometry};

use crate::config::PvsConfig;

/// The weights of the positional value of an army.
pub(super) struct Weights {
    /// The weight of each cell, in goal order.
    cells: [i32; Cell::LIMIT],
    /// The weight per row of the rearmost piece.
    rearmost: i32,
    second: i32,
    rows: [i32; Cell::LIMIT],
    /// The value of being on move.
    pub tempo: i32,
}

impl Weights {
    pub fn new(geometry: &Geometry, config: &PvsConfig) -> Weights {
        let mut rows = [0; Cell::LIMIT];
        (0..geometry.cells()).map(Cell::new).for_each(|cell| rows[cell.index()] = geometry.row(cell) as i32);
        let cells = rows.map(|row| -config.row * row);
        Weights { cells, rows, rearmost: config.rearmost, second: config.second, tempo: config.tempo }
    }

    /// Returns the positional value of an army, without its distance.
    #[inline]
    pub fn of(&self, army: CellSet) -> i32 {
        army.last().map_or(0, |last| self.with(&self.of_rest(army.without(last)), last))
    }

    /// Returns the positional value of all pieces of an army except one. `cells`
    /// does not contain that piece.
    #[inline]
    pub fn of_rest(&self, cells: CellSet) -> RestWorth {
        let row = |cell: Option<Cell>| cell.map_or(0, |cell| self.rows[cell.index()]);
        // In goal order the last cell is that of the rearmost piece.
        let last = cells.last();
        let rear = [row(last), row(last.and_then(|last| cells.without(last).last()))];
        RestWorth { sum: cells.iter().map(|cell| self.cells[cell.index()]).sum(), rear }
    }

    /// Returns the positional value of an army with its missing piece on
    /// `cell`.
    #[inline]
    pub fn with(&self, rest: &RestWorth, cell: Cell) -> i32 {
        let (row, [first, second]) = (self.rows[cell.index()], rest.rear);
        let rear = [first.max(row), second.max(first.min(row))];
        rest.sum + self.cells[cell.index()] - self.rearmost * rear[0] - self.second * rear[1]
    }
}

/// The positional value of an army without one piece.
pub(super) struct RestWorth {
    sum: i32,
    /// The rows of the two rearmost pieces.
    rear: [i32; 2],
}
