//! The scale of values, and the evaluation of states.
//!
//! | value for the player to move | meaning |
//! |---|---|
//! | [`WIN`] - n | a proven win in n plies |
//! | [`UNPROVEN`] | a win among the searched moves |
//! | [`RACE`] + lead | the armies only race, and the race is won according to the table; not a proof |
//! | lead | a lead in hundredths of a move |
//! | 0 | also a draw, and a lead of the player that searches if its goal is sealed |
//!
//! Negative values are the same for the opponent.

use sternhalma_data::{Move, Side};

use super::distance_cache::MOVE;
use super::network::Network;
use super::node::{SearchContext, SearchNode, Standing};
use crate::rules::{GameState, Outcome};

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
const MAX_LEAD: i32 = 1 << 27;

/// The value of a draw.
pub(super) const DRAW: i32 = 0;

/// Returns whether a value is a proven win or loss.
pub(super) fn is_proof(value: i32) -> bool {
    value.abs() >= LEAST_WIN
}

/// Returns whether a value is the lead of a race that the table decides.
pub(super) fn is_race(value: i32) -> bool {
    value.abs() > MAX_LEAD && !is_proof(value)
}

/// Returns the lead, in moves, of a value that is not a proof.
pub(super) fn lead_of(value: i32) -> f64 {
    let race = if value.abs() > MAX_LEAD { RACE * value.signum() } else { 0 };
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
    let player = node.state.player();
    let network = || context.network.as_ref().map_or(0, |network| network.output(&node.sums, player));
    let [own, other] = [player, player.other()].map(|player| node.standings[player as usize]);
    unless_shut_out(context, &node.state, of_standings(context, own, other, network))
}

/// Returns the value of a non-terminal child for its player to move, without its node: `state` is the state after a
/// move from `parent`, and `standing` that of the mover after the move.
#[inline]
pub(super) fn of_child(
    context: &SearchContext,
    parent: &SearchNode,
    mv: Move,
    state: &GameState,
    standing: Standing,
) -> i32 {
    unless_shut_out(context, state, of_open_child(context, parent, mv, standing))
}

/// Returns the value of a non-terminal child as [`of_child`] does, if no goal is sealed.
#[inline]
fn of_open_child(context: &SearchContext, parent: &SearchNode, mv: Move, standing: Standing) -> i32 {
    let (mover, player) = (parent.state.player(), parent.state.player().other());
    let output = |network: &Network| network.output(&network.after(&parent.sums, mover, mv), player);
    let network = || context.network.as_ref().map_or(0, output);
    of_standings(context, parent.standings[player as usize], standing, network)
}

/// The largest increase of the network's output for the mover by a move, in hundredths of a move, that [`Bounds`]
/// without the output after the move allow for. It is exceeded by 3% of moves (`docs/research/strength.md`).
const MAX_INCREASE: i32 = 200;

/// Upper bounds of the values of children for the mover of their parent, plus a margin.
#[derive(Clone, Copy)]
pub(super) struct Bounds {
    margin: i32,
    /// The bound of the network's output for the mover after any move, if it is not computed for each child.
    output: Option<i32>,
    /// The least bound. The goal of the player that searches may be sealed, which makes its lead a draw.
    least: i32,
}

impl Bounds {
    /// Prepares the bounds of a parent. Exact bounds need the output of the network for each child.
    pub fn new(context: &SearchContext, parent: &SearchNode, margin: i32, is_exact: bool) -> Bounds {
        let most = |network: &Network| network.output(&parent.sums, parent.state.player()) + MAX_INCREASE;
        let output = match &context.network {
            Some(network) => (!is_exact).then(|| most(network)),
            None => Some(0),
        };
        Bounds { margin, output, least: if context.may_shut_out(&parent.state) { DRAW } else { -WIN } }
    }

    /// Returns the bound for a move from the parent. The distance of the standing after the move may be a lower bound.
    #[inline]
    pub fn of(self, context: &SearchContext, parent: &SearchNode, mv: Move, standing: Standing) -> i32 {
        let other = parent.standings[1 - parent.state.player() as usize];
        let value = match self.output {
            Some(output) => of_standings(context, other, standing, || -output),
            None => of_open_child(context, parent, mv, standing),
        };
        (self.margin - value).max(self.least)
    }
}

/// Returns the value of a state for the player to move, or of a draw if that is all that the player that searches
/// can achieve.
#[inline]
fn unless_shut_out(context: &SearchContext, state: &GameState, value: i32) -> i32 {
    // Without a way into its goal, the player that searches cannot win. A seal of its own is no
    // reason for a draw, as long as there is a chance to win.
    let leads = if state.player() == context.own() { value > 0 } else { value < 0 };
    if leads && context.is_shut_out(state) { DRAW } else { value }
}

/// Returns the value of a non-terminal state for the player to move, if no goal is sealed, given the standings of its
/// own and of the other army. `network` computes the output of the network, which counts while the armies may meet.
#[inline]
fn of_standings(context: &SearchContext, own: Standing, other: Standing, network: impl FnOnce() -> i32) -> i32 {
    if !context.is_race(own, other) {
        return own.worth() - other.worth() + context.weights.tempo + network();
    }
    // With equal distances the player to move arrives first.
    let lead = other.distance - own.distance + MOVE / 2;
    if lead > 0 { lead + RACE } else { lead - RACE }
}
