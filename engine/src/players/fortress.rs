//! A player that keeps the opponent out of its goal.
//!
//! With the rules of the paper, the player seals the tip of its home as soon as it can, and then
//! moves its other pieces for ever. With the rule against sealed goals, it makes the goal as hard to
//! enter as it may, and leaves its home only if it must.

use rand::seq::IteratorRandom;
use sternhalma_data::board::SealRule;
use sternhalma_data::{Board, Cell, CellSet, Move, RuleSet, Side};
use sternhalma_ggp::{Game, Rng};

use crate::rules::{Action, ChineseCheckers, GameState, Outcome};

/// The most moves of its own in which the player looks for a seal.
const SEALING_MOVES: u32 = 3;

/// The number of steps that stands for a cell that cannot be entered.
const UNREACHABLE: u32 = 100;

/// Chooses moves for games on one board.
pub(crate) struct Fortress {
    seal: SealRule,
}

impl Fortress {
    pub fn new(board: Board) -> Fortress {
        Fortress { seal: SealRule::new(board) }
    }

    /// Returns the move to play, with ties broken at random.
    pub fn choose(&self, game: &ChineseCheckers, state: &GameState, rng: &mut Rng) -> Action {
        let moves = moves(game, state);
        if moves.is_empty() {
            return None;
        }
        let sealing = if game.rules() == RuleSet::Paper { self.sealing_move(game, state) } else { None };
        sealing.or_else(|| self.best(game, state, &moves, rng))
    }

    /// Returns the number of moves of free pieces, which keep the goal sealed, or `None` if it is open.
    fn free_moves(&self, game: &ChineseCheckers, army: CellSet, others: CellSet, side: Side) -> Option<usize> {
        let seal = self.seal.seal(army, others, side)?;
        let moves = |cell: Cell| game.geometry().destinations((army | others).without(cell), cell).len();
        Some(seal.free.iter().map(moves).sum())
    }

    /// Returns the first move of a shortest way to a seal, if the opponent does not interfere. If the goal is sealed,
    /// returns the move that keeps it so and leaves the most moves to the free pieces.
    fn sealing_move(&self, game: &ChineseCheckers, state: &GameState) -> Option<Move> {
        let (side, army) = (state.player(), state.army(state.player()));
        let others = state.army(side.other());
        (1..=SEALING_MOVES).find_map(|depth| {
            let first = game.geometry().army_moves(army, others);
            let value = |mv: Move| self.freedom(game, army.without(mv.from).with(mv.to), others, side, depth - 1);
            let found = first.filter_map(|mv| Some((value(mv)?, mv))).max_by_key(|&(freedom, _)| freedom);
            found.map(|(_, mv)| mv)
        })
    }

    /// Returns the most free moves of a seal after at most `depth` further moves of the army.
    fn freedom(&self, game: &ChineseCheckers, army: CellSet, others: CellSet, side: Side, depth: u32) -> Option<usize> {
        let now = self.free_moves(game, army, others, side).filter(|&free| free > 0);
        if now.is_some() || depth == 0 {
            return now;
        }
        let after = |mv: Move| self.freedom(game, army.without(mv.from).with(mv.to), others, side, depth - 1);
        game.geometry().army_moves(army, others).filter_map(after).max()
    }

    /// Returns the move after which the goal of the opponent is hardest to enter, whatever the opponent replies. The
    /// next criterion is the number of pieces at home.
    fn best(&self, game: &ChineseCheckers, state: &GameState, moves: &[Move], rng: &mut Rng) -> Action {
        let side = state.player();
        let home = game.goal_corner(side.other());
        let value = |mv: Move| {
            let after = played(game, state, mv);
            let replies = self::moves(game, &after).into_iter().map(|reply| played(game, &after, reply));
            let least = replies.map(|reply| hardness(game, &reply, side)).min();
            (least.unwrap_or_else(|| hardness(game, &after, side)), (after.army(side) & home).len())
        };
        let valued: Vec<_> = moves.iter().map(|&mv| (value(mv), mv)).collect();
        let best = valued.iter().map(|&(value, _)| value).max();
        valued.into_iter().filter(|&(value, _)| Some(value) == best).map(|(_, mv)| mv).choose(rng)
    }
}

fn moves(game: &ChineseCheckers, state: &GameState) -> Vec<Move> {
    let mut actions = Vec::new();
    if state.outcome().is_none() {
        game.legal(state, state.player() as usize, &mut actions);
    }
    actions.into_iter().flatten().collect()
}

fn played(game: &ChineseCheckers, state: &GameState, mv: Move) -> GameState {
    let mut after = *state;
    game.play_action(&mut after, Some(mv));
    after
}

/// Returns how hard the goal of the opponent of `side` is to enter: the sum, over its empty cells, of the steps and
/// jumps from the nearest piece of the opponent, if pieces could jump over any cell.
fn hardness(game: &ChineseCheckers, state: &GameState, side: Side) -> u32 {
    match state.outcome() {
        Some(Outcome::Won(winner)) if winner != side => return 0,
        Some(_) => return u32::MAX,
        None => {}
    }
    let army = state.army(side);
    let mut reached = state.army(side.other());
    let mut missing = game.goal_corner(side.other()) - army - reached;
    let (mut steps, mut sum) = (1, 0);
    while !missing.is_empty() {
        let more = reached.iter().fold(reached, |cells, cell| cells | reach(game, cell)) - army;
        if more == reached {
            return sum + UNREACHABLE * missing.len() as u32;
        }
        sum += steps * (missing & more).len() as u32;
        (missing, reached, steps) = (missing - more, more, steps + 1);
    }
    sum
}

/// Returns the neighbors of a cell, and the cells two steps away in a straight line.
fn reach(game: &ChineseCheckers, cell: Cell) -> CellSet {
    let jumps: CellSet = game.geometry().jumps(cell).iter().map(|jump| jump.to).collect();
    game.geometry().neighbors(cell) | jumps
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    #[test]
    fn a_fortress_seals_as_soon_as_it_can_and_stays() {
        let board = Board::new(9, 6).unwrap();
        let game = ChineseCheckers::new(board, crate::Filter::All).with_rules(RuleSet::Paper);
        let (fortress, seal) = (Fortress::new(board), SealRule::new(board));
        let (mut state, mut rng) = (game.initial(), Rng::seed_from_u64(1));
        for ply in 0..60 {
            let action = match state.player() {
                Side::X => fortress.choose(&game, &state, &mut rng),
                Side::O => moves(&game, &state).into_iter().choose(&mut rng),
            };
            game.play_action(&mut state, action);
            let sealed = seal.seal(state.army(Side::X), state.army(Side::O), Side::X);
            // Two moves of `x` suffice.
            assert_eq!(sealed.is_some(), ply > 1, "ply {ply}");
        }
    }

    #[test]
    fn cells_are_harder_to_enter_from_afar_and_behind_pieces() {
        let game = ChineseCheckers::new(Board::new(5, 5).unwrap(), crate::Filter::All);
        let of = |text: &str| hardness(&game, &game.state(&text.parse().unwrap()).unwrap(), Side::X);
        // The goal of `o` is a1 to c1 and b2, of which only a1 is empty.
        let far = of("3oo/3oo/4o/xx3/1xx1x x 8");
        let near = of("4o/4o/oo2o/xx3/1xx1x x 8");
        let walled = of("4o/4o/oo2o/x4/1xxxx x 8");
        assert!(near == 1 && far > near, "{far} {near}");
        let sealed = of("4o/4o/xoo1o/x4/1xx1x x 8");
        assert!(sealed >= UNREACHABLE && walled < UNREACHABLE, "{sealed} {walled}");
    }
}
