//! The positional value of armies.

use sternhalma_data::{Cell, CellSet, Geometry};

use crate::players::config::PvsConfig;
use crate::players::learned::LinearWeights;

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
    /// Returns the learned weights, or those of the configuration.
    pub fn new(geometry: &Geometry, config: &PvsConfig, learned: Option<&LinearWeights>) -> Weights {
        let mut rows = [0; Cell::LIMIT];
        (0..geometry.cells()).map(Cell::new).for_each(|cell| rows[cell.index()] = geometry.row(cell) as i32);
        let Some(learned) = learned else {
            let cells = rows.map(|row| -config.row * row);
            return Weights { cells, rows, rearmost: config.rearmost, second: config.second, tempo: config.tempo };
        };
        let mut cells = [0; Cell::LIMIT];
        cells.iter_mut().zip(&learned.cells).for_each(|(cell, &weight)| *cell = weight.into());
        let [rearmost, second, tempo] = [learned.rearmost, learned.second, learned.tempo].map(i32::from);
        Weights { cells, rows, rearmost, second, tempo }
    }

    /// Returns the formation of an army.
    #[inline]
    pub fn of(&self, army: CellSet) -> Formation {
        army.last().map_or(Formation::default(), |last| self.with(&self.army(army.without(last)).rest(), last))
    }

    /// Prepares an army, in goal order.
    #[inline]
    pub fn army(&self, army: CellSet) -> ArmyFormation<'_> {
        // In goal order the last cell is that of the rearmost piece.
        let (mut cells, mut rear) = (army, [None; 3]);
        for place in &mut rear {
            *place = cells.last();
            if let Some(last) = *place {
                cells = cells.without(last);
            }
        }
        let sum = army.iter().map(|cell| self.cells[cell.index()]).sum();
        ArmyFormation {
            weights: self,
            sum,
            rear,
            rows: rear.map(|cell| cell.map_or(0, |cell| self.rows[cell.index()])),
        }
    }

    /// Returns the formation of an army with its missing piece on `cell`.
    #[inline]
    pub fn with(&self, rest: &RestFormation, cell: Cell) -> Formation {
        let (row, [first, second]) = (self.rows[cell.index()], rest.rear);
        let rear = [first.max(row), second.max(first.min(row))];
        let value = rest.sum + self.cells[cell.index()] - self.rearmost * rear[0] - self.second * rear[1];
        Formation { value, rear: rear[0] }
    }
}

/// What the evaluation needs of an army besides its distance.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Formation {
    /// The positional value while the armies may meet, in hundredths of a move;
    /// pieces far from the goal reduce it.
    pub value: i32,
    /// The row of the rearmost piece, counted from the tip of the goal.
    pub rear: i32,
}

/// An army, prepared to remove any of its pieces.
pub(super) struct ArmyFormation<'a> {
    weights: &'a Weights,
    sum: i32,
    /// The cells of the three rearmost pieces, and their rows.
    rear: [Option<Cell>; 3],
    rows: [i32; 3],
}

impl ArmyFormation<'_> {
    /// Returns the army itself, as one to which a piece is added.
    #[inline]
    fn rest(&self) -> RestFormation {
        RestFormation { sum: self.sum, rear: [self.rows[0], self.rows[1]] }
    }

    /// Returns the army without a piece.
    #[inline]
    pub fn without(&self, cell: Cell) -> RestFormation {
        let [first, second, third] = self.rows;
        let rear = match self.rear.map(|rear| rear == Some(cell)) {
            [true, ..] => [second, third],
            [_, true, _] => [first, third],
            _ => [first, second],
        };
        RestFormation { sum: self.sum - self.weights.cells[cell.index()], rear }
    }
}

/// An army without one piece.
pub(super) struct RestFormation {
    sum: i32,
    /// The rows of the two rearmost pieces.
    rear: [i32; 2],
}
