//! The scale of values, and what a state is worth without search.
//!
//! | value to the player to move | meaning |
//! |---|---|
//! | [`WIN`] - n | won in n plies, proven |
//! | [`UNPROVEN`] | won, as far as was looked |
//! | [`RACE`] + lead | the armies have passed each other, and by the table the race is won |
//! | lead | hundredths of a move ahead |
//!
//! and the negatives of these.

use sternhalma_data::{Cell, CellSet, Geometry, Side};

use super::distance_cache::MOVE;
use super::node::{SearchContext, SearchNode, Standing};
use crate::config::PvsConfig;
use crate::game::{GameState, Outcome};

/// A won game, less a point a ply.
pub(super) const WIN: i32 = 1 << 30;

/// Values from here on are proven wins.
pub(super) const LEAST_WIN: i32 = WIN - (1 << 20);

/// What is added to the lead of who wins the race by the table.
pub(super) const RACE: i32 = 1 << 28;

/// A win that would be proven if all moves had been looked at: above the
/// lead of any race.
pub(super) const UNPROVEN: i32 = RACE + 100 * MOVE;

/// Leads are below this.
const MOST_LEAD: i32 = 1 << 27;

/// Whether a win or a loss is proven.
pub(super) fn is_proof(value: i32) -> bool {
    value.abs() >= LEAST_WIN
}

/// The lead of a value that is not proven, in moves.
pub(super) fn lead_of(value: i32) -> f64 {
    let race = if value.abs() > MOST_LEAD { RACE * value.signum() } else { 0 };
    f64::from(value - race) / f64::from(MOVE)
}

/// A value as the table keeps it: plies count from the state on.
pub(super) fn to_table(value: i32, ply: u32) -> i32 {
    match is_proof(value) {
        true => value + value.signum() * ply as i32,
        false => value,
    }
}

/// The inverse of [`to_table`].
pub(super) fn from_table(value: i32, ply: u32) -> i32 {
    match is_proof(value) {
        true => value - value.signum() * ply as i32,
        false => value,
    }
}

/// The value of a game that has ended `ply` plies on, to `player`.
pub(super) fn of_outcome(outcome: Outcome, player: Side, ply: u32) -> i32 {
    match outcome {
        Outcome::Draw => 0,
        Outcome::Won(winner) if winner == player => WIN - ply as i32,
        Outcome::Won(_) => ply as i32 - WIN,
    }
}

/// Whether the armies have passed each other: every piece of `x` is in a
/// higher row than every piece of `o`. Only by going back could they meet.
#[inline]
pub(super) fn have_passed(context: &SearchContext, state: &GameState) -> bool {
    match (state.army(Side::X).first(), state.army(Side::O).last()) {
        (Some(x), Some(o)) => context.geometry().row(x) > context.geometry().row(o),
        _ => false,
    }
}

/// The value of a node that has not ended to the player to move.
#[inline]
pub(super) fn of_node(context: &SearchContext, node: &SearchNode) -> i32 {
    let mover = node.state.player() as usize;
    of_state(context, &node.state, node.standings[mover], node.standings[1 - mover])
}

/// The value of a state that has not ended to the player to move, who stands
/// like `own`, against an army that stands like `other`.
#[inline]
pub(super) fn of_state(context: &SearchContext, state: &GameState, own: Standing, other: Standing) -> i32 {
    if !have_passed(context, state) {
        return own.worth - other.worth + context.weights.tempo;
    }
    // Of equal distances the mover's is covered first.
    let lead = other.distance - own.distance + MOVE / 2;
    if lead > 0 { lead + RACE } else { lead - RACE }
}

/// What the places of an army's pieces are worth.
pub(super) struct Weights {
    /// By cell as the goal tip sees it.
    cells: [i32; Cell::LIMIT],
    /// By row of the rearmost piece.
    rearmost: i32,
    second: i32,
    rows: [i32; Cell::LIMIT],
    /// What it is worth to be on move.
    pub tempo: i32,
}

impl Weights {
    pub fn new(geometry: &Geometry, config: &PvsConfig) -> Weights {
        let mut rows = [0; Cell::LIMIT];
        (0..geometry.cells()).map(Cell::new).for_each(|cell| rows[cell.index()] = geometry.row(cell) as i32);
        let cells = rows.map(|row| -config.row * row);
        Weights { cells, rows, rearmost: config.rearmost, second: config.second, tempo: config.tempo }
    }

    /// The worth of an army as its goal tip sees it, but for its distance.
    #[inline]
    pub fn of(&self, army: CellSet) -> i32 {
        army.last().map_or(0, |last| self.with(&self.of_rest(army.without(last)), last))
    }

    /// The worth of all pieces of an army but one.
    #[inline]
    pub fn of_rest(&self, cells: CellSet) -> RestWorth {
        let row = |cell: Option<Cell>| cell.map_or(0, |cell| self.rows[cell.index()]);
        let last = cells.last();
        let rear = [row(last), row(last.and_then(|last| cells.without(last).last()))];
        RestWorth { sum: cells.iter().map(|cell| self.cells[cell.index()]).sum(), rear }
    }

    /// The worth of an army whose last piece is on `cell`.
    #[inline]
    pub fn with(&self, rest: &RestWorth, cell: Cell) -> i32 {
        let (row, [first, second]) = (self.rows[cell.index()], rest.rear);
        let rear = [first.max(row), second.max(first.min(row))];
        rest.sum + self.cells[cell.index()] - self.rearmost * rear[0] - self.second * rear[1]
    }
}

/// What an army is worth but for one piece.
pub(super) struct RestWorth {
    sum: i32,
    /// The rows of the two rearmost pieces.
    rear: [i32; 2],
}
