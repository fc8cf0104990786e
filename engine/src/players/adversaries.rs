//! Players without search that delay the end of the game: tests of the default player.

use rand::RngExt;
use rand::seq::IteratorRandom;
use sternhalma_data::{Cell, CellSet, Move, Side};
use sternhalma_ggp::Rng;

use crate::rules::{Action, ChineseCheckers, Filter, GameState, Placement};

/// Chooses the action of a state, given the placements of the game so far.
pub(crate) type Adversary = fn(&ChineseCheckers, &GameState, &[Placement], &mut Rng) -> Action;

/// The last row near home in which a piece outside its home counts, with row 0 at the corner.
const LAST_NEAR_ROW: usize = 5;

/// Returns the move with the largest -3 E + 0.3 H + 0.5 N - 4 C - D, plus up to 0.1 at random:
///
/// - E: the moves by which pieces of the opponent outside its goal could enter it;
/// - H: own pieces at home; N: own pieces outside home in rows 1 to 5 from home;
/// - C: the earlier occurrences of the placement;
/// - D: 10 if at most one cell of the home is empty while a piece of the opponent stands in it.
pub(crate) fn hoarder(game: &ChineseCheckers, state: &GameState, played: &[Placement], rng: &mut Rng) -> Action {
    best(game, state, |_, after| hoard(game, after, state.player(), played) + rng.random_range(0.0..0.1))
}

fn hoard(game: &ChineseCheckers, after: &GameState, side: Side, played: &[Placement]) -> f64 {
    let (army, others) = (after.army(side), after.army(side.other()));
    let (occupied, home) = (army | others, home(game, side));
    // The home of a player is the goal of the other one.
    let entries = |cell| (game.geometry().destinations(occupied.without(cell), cell) & home).len();
    let entries: usize = (others - home).iter().map(entries).sum();
    let near = (army - home).iter().filter(|&cell| (1..=LAST_NEAR_ROW).contains(&row_from_home(game, side, cell)));
    let earlier = played.iter().filter(|&&placement| placement == after.placement()).count();
    let is_nearly_lost = (home - occupied).len() <= 1 && !(home & others).is_empty();
    -3.0 * entries as f64 + 0.3 * (army & home).len() as f64 + 0.5 * near.count() as f64
        - 4.0 * earlier as f64
        - if is_nearly_lost { 10.0 } else { 0.0 }
}

/// Returns the largest advance of a piece that is not the last one at home, or a random move if none advances. The
/// last piece at home moves only if no other can.
pub(crate) fn straggler(game: &ChineseCheckers, state: &GameState, _: &[Placement], rng: &mut Rng) -> Action {
    let side = state.player();
    let at_home = state.army(side) & home(game, side);
    let kept = if at_home.len() == 1 { at_home } else { CellSet::EMPTY };
    let free: Vec<Move> = moves(game, state).into_iter().filter(|mv| !kept.contains(mv.from)).collect();
    let advance = |mv: &Move| game.advance(side, *mv);
    match free.iter().map(advance).max() {
        None => moves(game, state).into_iter().choose(rng),
        Some(most) if most > 0 => free.into_iter().filter(|mv| advance(mv) == most).choose(rng),
        Some(_) => free.into_iter().choose(rng),
    }
}

/// Returns the move after which the pieces are fewest rows away from the middle row. Ties go to the smallest sum of the
/// advances of the opponent, and then to a random move.
pub(crate) fn wall(game: &ChineseCheckers, state: &GameState, _: &[Placement], rng: &mut Rng) -> Action {
    let (side, middle) = (state.player(), game.geometry().size() - 1);
    best(game, state, |_, after| {
        let rows = after.army(side).iter().map(|cell| game.geometry().row(cell).abs_diff(middle));
        let replies = moves(game, after).into_iter().map(|reply| game.advance(side.other(), reply).max(0));
        let (rows, advances): (usize, i32) = (rows.sum(), replies.sum());
        -1e4 * rows as f64 - f64::from(advances) + rng.random_range(0.0..0.1)
    })
}

/// Returns the move with the largest value of the state after it.
fn best(game: &ChineseCheckers, state: &GameState, mut value: impl FnMut(Move, &GameState) -> f64) -> Action {
    let valued = moves(game, state).into_iter().map(|mv| {
        let mut after = *state;
        game.play_action(&mut after, Some(mv));
        (value(mv, &after), mv)
    });
    valued.max_by(|(one, _), (other, _)| one.total_cmp(other)).map(|(_, mv)| mv)
}

fn moves(game: &ChineseCheckers, state: &GameState) -> Vec<Move> {
    let pieces = game.pieces(state, Filter::All);
    pieces.iter().flat_map(|(from, to)| to.iter().map(move |to| Move { from, to })).collect()
}

fn home(game: &ChineseCheckers, side: Side) -> CellSet {
    game.goal_corner(side.other())
}

/// Returns the row of a cell, counted from the corner at home.
fn row_from_home(game: &ChineseCheckers, side: Side, cell: Cell) -> usize {
    // The home is the goal of the opponent.
    game.geometry().row(cell.to_goal_order(game.board(), side.other()))
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use sternhalma_data::{Board, RuleSet};
    use sternhalma_ggp::Game;

    use super::*;

    fn game(size: u64, pieces: u64) -> ChineseCheckers {
        ChineseCheckers::new(Board::new(size, pieces).unwrap(), Filter::All).with_rules(RuleSet::Paper)
    }

    fn at(game: &ChineseCheckers, text: &str) -> GameState {
        game.state(&text.parse().unwrap()).unwrap()
    }

    #[test]
    fn the_terms_of_the_hoarder_have_their_weights() {
        let game = game(7, 3);
        let value = |text: &str| hoard(&game, &at(&game, text), Side::X, &[]);
        // All pieces are at home, and the opponent is far away.
        let is = |value: f64, expected: f64| assert!((value - expected).abs() < 1e-9, "{value} {expected}");
        is(value("5oo/6o/7/7/7/x6/xx5 o 1"), 0.9);
        // A piece in row 5 counts as near, a piece in row 6 does not.
        is(value("5oo/6o/7/7/2x4/x6/x6 o 1"), 0.6 + 0.5);
        is(value("5oo/6o/7/3x3/7/x6/x6 o 1"), 0.6);
        // Occurrences of the placement.
        let state = at(&game, "5oo/6o/7/7/7/x6/xx5 o 1");
        let placement = state.placement();
        assert!((hoard(&game, &state, Side::X, &[placement; 2]) - (0.9 - 8.0)).abs() < 1e-9);
        // One piece of the opponent can enter b1 by a step; then it stands in the home with no empty cell.
        assert!((value("5oo/7/7/7/7/x1x4/x1o4 o 1") - (0.6 + 0.5 - 3.0)).abs() < 1e-9);
        assert!((value("5oo/7/7/7/7/x1x4/xo5 o 1") - (0.6 + 0.5 - 10.0)).abs() < 1e-9);
    }

    #[test]
    fn the_hoarder_does_not_let_an_entry_open() {
        let game = game(7, 3);
        let state = at(&game, "5oo/7/7/7/7/x6/xxo4 x 10");
        let mut rng = Rng::seed_from_u64(1);
        for _ in 0..20 {
            let mv = hoarder(&game, &state, &[], &mut rng).unwrap();
            assert_ne!(game.geometry().cell_name(mv.from), "b1", "{mv:?}");
        }
    }

    #[test]
    fn the_last_piece_at_home_stays() {
        let game = game(7, 3);
        let mut state = game.initial();
        let mut rng = Rng::seed_from_u64(1);
        let home = home(&game, Side::X);
        let mut left = 3;
        for _ in 0..60 {
            if state.outcome().is_some() {
                break;
            }
            let action = match state.player() {
                Side::X => straggler(&game, &state, &[], &mut rng),
                Side::O => moves(&game, &state).into_iter().choose(&mut rng),
            };
            game.play_action(&mut state, action);
            left = left.min((state.army(Side::X) & home).len());
        }
        assert_eq!(left, 1, "the others leave");
    }

    #[test]
    fn the_wall_goes_to_the_middle_and_stays() {
        let game = game(7, 3);
        let mut state = game.initial();
        let mut rng = Rng::seed_from_u64(1);
        let away = |state: &GameState| -> i32 {
            state.army(Side::X).iter().map(|cell| (game.geometry().row(cell) as i32 - 6).abs()).sum()
        };
        for ply in 0..60 {
            if state.player() == Side::X {
                let action = wall(&game, &state, &[], &mut rng);
                game.play_action(&mut state, action);
                assert!(ply < 30 || away(&state) <= 2, "{}", game.position(&state));
            } else {
                state = state.skipped();
            }
        }
    }
}
