//! The scale of values, and the evaluation of states.
//!
//! | value for the player to move | meaning |
//! |---|---|
//! | [`WIN`] - n | a proven win in n plies |
//! | [`UNPROVEN`] | a win among the searched moves |
//! | [`RACE`] + lead | the armies have passed each other, and the race is won according to the table |
//! | lead | a lead in hundredths of a move |
//! | 0 | also a draw, and a lead of the player that searches if its goal is sealed |
//!
//! Negative values are the same for the opponent.

use sternhalma_data::Side;

use super::distance_cache::MOVE;
use super::node::{SearchContext, SearchNode, Standing};
use crate::game::{GameState, Outcome};

/// The value of a won game; each ply reduces it by one.
pub(super) const WIN: i32 = 1 << 30;

/// The smallest value of a proven win.
pub(super) const LEAST_WIN: i32 = WIN - (1 << 20);

/// The bonus for the winner of a race according to the table.
pub(super) const RACE: i32 = 1 << 28;

/// The value of a win that is not proven because moves were omitted. This value
/// is above the lead of any race.
pub(super) const UNPROVEN: i32 = RACE + 100 * MOVE;

/// An upper bound for leads.
const MOST_LEAD: i32 = 1 << 27;

/// The value of a draw.
pub(super) const DRAW: i32 = 0;

/// Returns whether a value is a proven win or loss.
pub(super) fn is_proof(value: i32) -> bool {
    value.abs() >= LEAST_WIN
}

/// Returns the lead, in moves, of a value that is not a proof.
pub(super) fn lead_of(value: i32) -> f64 {
    let race = if value.abs() > MOST_LEAD { RACE * value.signum() } else { 0 };
    f64::from(value - race) / f64::from(MOVE)
}

/// Converts a value for the table, where plies count from the state.
pub(super) fn to_table(value: i32, ply: u32) -> i32 {
    match is_proof(value) {
        true => value + value.signum() * ply as i32,
        false => value,
    }
}

/// Inverts [`to_table`].
pub(super) fn from_table(value: i32, ply: u32) -> i32 {
    match is_proof(value) {
        true => value - value.signum() * ply as i32,
        false => value,
    }
}

/// Returns the value for `player` of a game that ended `ply` plies after the
/// root.
pub(super) fn of_outcome(outcome: Outcome, player: Side, ply: u32) -> i32 {
    match outcome {
        Outcome::Draw => DRAW,
        Outcome::Won(winner) if winner == player => WIN - ply as i32,
        Outcome::Won(_) => ply as i32 - WIN,
    }
}

/// Returns the value of a non-terminal node for the player to move.
#[inline]
pub(super) fn of_node(context: &SearchContext, node: &SearchNode) -> i32 {
    let mover = node.state.player() as usize;
    of_state(context, &node.state, node.standings[mover], node.standings[1 - mover])
}

/// Returns the value of a non-terminal state for the player to move, given the
/// standings of its own and of the other army.
#[inline]
pub(super) fn of_state(context: &SearchContext, state: &GameState, own: Standing, other: Standing) -> i32 {
    let value = of_standings(context, own, other);
    // Without a way into its goal, the player that searches cannot win. A seal of its own is no
    // reason for a draw, as long as there is a chance to win.
    let leads = if state.player() == context.own() { value > 0 } else { value < 0 };
    if leads && context.is_shut_out(state) { DRAW } else { value }
}

/// Returns the value of a non-terminal state for the player to move, if no goal is sealed.
#[inline]
pub(super) fn of_standings(context: &SearchContext, own: Standing, other: Standing) -> i32 {
    if !context.have_passed(own, other) {
        return own.worth() - other.worth() + context.weights.tempo;
    }
    // With equal distances the player to move arrives first.
    let lead = other.distance - own.distance + MOVE / 2;
    if lead > 0 { lead + RACE } else { lead - RACE }
}
