//! The two-player game compared with a direct implementation of its rules.

use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use sternhalma_data::{Board, Cell, CellSet, Geometry, Move, Position, RuleSet, Side};
use sternhalma_engine::{Action, ChineseCheckers, Filter, GameState, Outcome};
use sternhalma_ggp::{Game, Rng};

fn game(side: u64, pieces: u64, filter: Filter) -> ChineseCheckers {
    ChineseCheckers::new(Board::new(side, pieces).unwrap(), filter)
}

fn state(game: &ChineseCheckers, text: &str) -> GameState {
    game.state(&text.parse().unwrap()).unwrap()
}

fn legal(game: &ChineseCheckers, state: &GameState) -> Vec<Action> {
    let mut moves = Vec::new();
    game.legal(state, state.player() as usize, &mut moves);
    moves
}

fn play(game: &ChineseCheckers, state: &mut GameState, text: &str) {
    let mv = game.geometry().parse_move(text).unwrap();
    assert!(legal(game, state).contains(&Some(mv)), "{text} is legal");
    game.play_action(state, Some(mv));
}

/// Returns the moves that a filter keeps, with rows computed from coordinates.
/// If the filter keeps no move, the next weaker filter applies.
fn expected_moves(position: &Position, filter: Filter) -> Vec<Action> {
    let row = |geometry: &Geometry, cell| {
        let (x, y) = geometry.coordinates(cell);
        i32::from(x) + i32::from(y)
    };
    let toward = |mv: &Move| {
        let rows = row(position.geometry(), mv.to) - row(position.geometry(), mv.from);
        if position.side_to_move() == Side::X { rows } else { -rows }
    };
    let all: Vec<Move> = position.moves().collect();
    let least = match filter {
        Filter::Forward => 1,
        Filter::NonBackward => 0,
        Filter::All => i32::MIN,
    };
    for least in [1, 0, i32::MIN].into_iter().filter(|&l| l <= least) {
        let kept: Vec<Action> = all.iter().filter(|mv| toward(mv) >= least).map(|&mv| Some(mv)).collect();
        if !kept.is_empty() {
            return kept;
        }
    }
    vec![None]
}

proptest! {
    #[test]
    fn moves_of_every_filter_match_the_definition(
        cells in proptest::sample::subsequence((0..81usize).collect::<Vec<_>>(), 12..=12usize),
        x_first: bool, swap in 0u32..64, crowd in 0usize..70,
    ) {
        // Some of the positions are crowded into the cells about the middle.
        let cells: Vec<usize> = if crowd < 35 { (crowd..crowd + 12).collect() } else { cells };
        let armies = |odd: bool| -> CellSet {
            let own = |i: usize| ((swap >> (i / 2)) & 1 == 1) ^ (i % 2 == 1) == odd;
            cells.iter().enumerate().filter(|(i, _)| own(*i)).map(|(_, &c)| Cell::new(c)).collect()
        };
        let player = if x_first { Side::X } else { Side::O };
        let board = Board::new(9, 6).unwrap();
        let position = Position::new(board.geometry(), armies(false), armies(true), player, 0).unwrap();
        for filter in [Filter::Forward, Filter::NonBackward, Filter::All] {
            let game = game(9, 6, filter).with_rules(RuleSet::Paper);
            let state = game.state(&position).unwrap();
            prop_assert_eq!(legal(&game, &state), expected_moves(&position, filter));
        }
    }

    #[test]
    fn carried_ranks_are_fresh_ranks(seed: u64, side in 4u64..=11, pieces in 1u64..=8) {
        let game = game(side, pieces, Filter::All);
        let mut rng = Rng::seed_from_u64(seed);
        let mut state = game.initial();
        let mut carried = [Side::X, Side::O].map(|player| game.ranked(&state, player).1);
        for _ in 0..200 {
            let mover = state.player();
            let before = game.ranked(&state, mover).0;
            let moves = legal(&game, &state);
            let action = moves[rng.random_range(0..moves.len())];
            if let Some(mv) = action {
                let [from, to] = [mv.from, mv.to].map(|cell| cell.to_goal_order(game.board(), mover));
                let rank = &mut carried[mover as usize];
                *rank = rank.after_move(before, from, to);
            }
            game.play_action(&mut state, action);
            prop_assert_eq!(carried, [Side::X, Side::O].map(|player| game.ranked(&state, player).1));
            if state.outcome().is_some() {
                break;
            }
        }
    }
}

#[test]
fn the_initial_moves_are_counted() {
    let game = game(9, 6, Filter::All);
    assert_eq!(legal(&game, &game.initial()).len(), 10);
    assert_eq!(game.position(&game.initial()).to_string(), "6ooo/7oo/8o/9/9/9/x8/xx7/xxx6 x 0");
}

#[test]
fn a_full_goal_with_an_own_piece_wins() {
    let game = game(4, 3, Filter::All);
    let mut at = state(&game, "2xx/2x1/4/ooo1 x 0");
    assert_eq!(at.outcome(), None);
    play(&game, &mut at, "c3-d3");
    assert_eq!(at.outcome(), Some(Outcome::Won(Side::X)));
    assert_eq!((game.goal(&at, 0), game.goal(&at, 1)), (100, 0));
}

#[test]
fn an_opponent_s_piece_left_behind_does_not_save_it() {
    // The tip d4 is still held by `o`; `x` fills the rest of the corner.
    let game = game(4, 3, Filter::All);
    let mut at = state(&game, "2xo/2x1/4/xoo1 x 0");
    play(&game, &mut at, "c3-d3");
    assert_eq!(at.outcome(), Some(Outcome::Won(Side::X)));
    // Without a piece of `x` a corner full of `o` is no win for anyone.
    let start = game.initial();
    assert_eq!((start.outcome(), game.is_terminal(&start)), (None, false));
}

#[test]
fn the_last_mover_is_tested_first() {
    // Both corners are full of their players.
    let game = game(4, 3, Filter::All);
    assert_eq!(state(&game, "2xx/3x/o3/oo2 x 0").outcome(), Some(Outcome::Won(Side::O)));
    assert_eq!(state(&game, "2xx/3x/o3/oo2 o 0").outcome(), Some(Outcome::Won(Side::X)));
}

#[test]
fn a_move_may_win_for_the_opponent() {
    // `x` goes back to the last cell of its home, which is the goal of `o`.
    let game = game(4, 3, Filter::All);
    let mut at = state(&game, "3o/3x/1x2/oox1 x 0");
    assert_eq!(at.outcome(), None);
    let mv = game.geometry().parse_move("b2-a2").unwrap();
    assert!(legal(&game, &at).contains(&Some(mv)));
    game.play_action(&mut at, Some(mv));
    assert_eq!(at.outcome(), Some(Outcome::Won(Side::O)));
    assert_eq!((game.goal(&at, 0), game.goal(&at, 1)), (0, 100));
}

#[test]
fn a_player_without_moves_passes_and_two_passes_are_a_draw() {
    // On a full board neither side can move, and neither corner is won.
    let game = game(4, 8, Filter::All);
    let mut at = game.initial();
    assert_eq!(legal(&game, &at), [None]);
    game.play_action(&mut at, None);
    assert_eq!((at.outcome(), legal(&game, &at)), (None, vec![None]));
    game.play_action(&mut at, None);
    assert_eq!(at.outcome(), Some(Outcome::Draw));
    assert_eq!((game.goal(&at, 0), game.goal(&at, 1)), (50, 50));
}

#[test]
fn a_pass_is_forgotten_after_a_move() {
    // `o` is shut in at home; `x` has two free cells behind it.
    let game = game(4, 7, Filter::All);
    let mut at = state(&game, "xooo/xxoo/1xxo/1xxo o 0");
    assert_eq!((at.outcome(), legal(&game, &at)), (None, vec![None]));
    game.play_action(&mut at, None);
    assert!(legal(&game, &at).iter().all(Option::is_some));
    play(&game, &mut at, "b1-a1");
    assert_eq!((at.outcome(), at.player()), (None, Side::O));
    // Now `o` may jump to b1.
    assert!(legal(&game, &at).iter().all(Option::is_some));
}

#[test]
fn the_ply_limit_is_a_draw_unless_the_last_move_wins() {
    let game = game(4, 3, Filter::All).with_ply_limit(2);
    let mut at = game.initial();
    play(&game, &mut at, "b1-c1");
    assert_eq!(at.outcome(), None);
    let reply = legal(&game, &at)[0];
    game.play_action(&mut at, reply);
    assert_eq!(at.outcome(), Some(Outcome::Draw));
    let mut at = state(&game, "2xo/2x1/4/xoo1 x 1");
    play(&game, &mut at, "c3-d3");
    assert_eq!(at.outcome(), Some(Outcome::Won(Side::X)));
}

#[test]
fn a_filter_that_leaves_no_move_widens() {
    let forward = game(4, 3, Filter::Forward);
    let at = state(&forward, "3x/2xx/o3/1oo1 x 0");
    let names = |game: &ChineseCheckers, at: &GameState| -> Vec<String> {
        legal(game, at).into_iter().flatten().map(|mv| game.geometry().move_text(mv)).collect()
    };
    let found = names(&forward, &at);
    let rows = |mv: &str| {
        let mv = forward.geometry().parse_move(mv).unwrap();
        forward.advance(Side::X, mv)
    };
    // c3 steps ahead to c4, so the filter need not widen.
    assert!(!found.is_empty() && found.iter().all(|mv| rows(mv) > 0), "{found:?}");

    // No move leads ahead, so only steps within a row remain.
    let at = state(&forward, "3x/3x/1o1x/1oo1 x 0");
    let found = names(&forward, &at);
    let all = game(4, 3, Filter::All);
    let ahead = names(&all, &at).into_iter().filter(|mv| rows(mv) > 0).count();
    let level: Vec<String> = names(&all, &at).into_iter().filter(|mv| rows(mv) == 0).collect();
    assert_eq!((ahead, found), (0, level));
}
