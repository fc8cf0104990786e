//! The players' searches against plain ones.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rand::SeedableRng;
use sternhalma_builder::TableBuilder;
use sternhalma_data::{Board, Encoding, Move, Prefix, Rank, Side, State, States, Table};
use sternhalma_engine::arena::EngineContestant;
use sternhalma_engine::players::{
    FarthestMix, MeanRow, Separated, SeparationTest, TableDifference, TableForesight, TieRule,
};
use sternhalma_engine::{Action, ChineseCheckers, Config, Distances, Filter, GameSetup, GameState, PLY_LIMIT, Roster};
use sternhalma_ggp::alpha_beta::{Heuristic, WIN, alpha_beta};
use sternhalma_ggp::arena::{
    self, Budget, Contestant, ContestantError, Entrant, GameRecord, RunError, Schedule, Standings, TournamentSetup,
};
use sternhalma_ggp::mcts::{Cutoff, MctsConfig, MoveEvaluator, MoveHistory, Playout, ToTheEnd, Uct};
use sternhalma_ggp::{Game, Limits, Mcts, MemoryBudget, Rng};

fn table(side: u64, pieces: u64, within: Option<u64>, encoding: Encoding) -> Distances {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("table.sht");
    let board = Board::new(side, pieces).unwrap();
    let prefix = within.map_or(Prefix::whole(board), |within| Prefix::new(board, within).unwrap());
    TableBuilder::new(prefix).encoding(encoding).threads(1).build(&path, &()).unwrap();
    // The map outlives the file's name.
    Distances::new(Arc::new(Table::open(&path).unwrap()))
}

/// Returns the value of a state for its mover by plain minimax, to a depth in plies.
fn minimax<H: Heuristic<ChineseCheckers>>(
    game: &ChineseCheckers,
    state: &GameState,
    heuristic: &mut H,
    depth: u32,
    ply: u32,
) -> f64 {
    if game.is_terminal(state) {
        let mover = state.player() as usize;
        return match game.goal(state, mover) {
            100 => WIN - f64::from(ply),
            0 => f64::from(ply) - WIN,
            _ => 0.0,
        };
    }
    if depth == 0 {
        return heuristic.value(game, state);
    }
    let mut moves = Vec::new();
    game.legal(state, state.player() as usize, &mut moves);
    let values = moves.into_iter().map(|mv| {
        let mut child = *state;
        game.play(&mut child, &[mv]);
        -minimax(game, &child, heuristic, depth - 1, ply + 1)
    });
    values.fold(f64::NEG_INFINITY, f64::max)
}

fn some_states(game: &ChineseCheckers, count: u64) -> Vec<GameState> {
    let mut rng = Rng::seed_from_u64(5);
    let states = (0..count).filter_map(|number| game.random_state(4 + 3 * (number % 12) as u32, &mut rng));
    states.filter(|state| !game.is_terminal(state)).collect()
}

#[test]
fn alpha_beta_is_minimax_at_every_depth() {
    let distances = table(5, 3, None, Encoding::Byte);
    for filter in [Filter::NonBackward, Filter::All] {
        let game = ChineseCheckers::new(Board::new(5, 3).unwrap(), filter);
        for state in some_states(&game, 12) {
            for depth in 1..=4 {
                let mut table = TableDifference { distances: distances.clone(), weight: 0.0 };
                let found = alpha_beta(&game, &state, &mut table, Limits::depth(depth), &AtomicBool::new(false));
                let expected = minimax(&game, &state, &mut table, depth, 0);
                // A win found early ends the deepening.
                assert!(
                    found.value == expected || (found.value > WIN / 2.0 && expected >= found.value),
                    "depth {depth}"
                );
                let mut rows = MeanRow::new(&game);
                let found = alpha_beta(&game, &state, &mut rows, Limits::depth(depth), &AtomicBool::new(false));
                let mut child = state;
                game.play(&mut child, &[found.best]);
                let expected = minimax(&game, &state, &mut rows, found.spent.depth, 0);
                let of_best = -minimax(&game, &child, &mut rows, found.spent.depth - 1, 1);
                assert_eq!((found.value, of_best), (expected, expected), "depth {depth}");
            }
        }
    }
}

#[test]
fn uct_converges_to_the_minimax_move() {
    let game = ChineseCheckers::new(Board::new(4, 3).unwrap(), Filter::All).with_ply_limit(60);
    let mut heuristic = MeanRow::new(&game);
    let mut solved = 0;
    for state in some_states(&game, 400) {
        let value_of = |action: Action, heuristic: &mut MeanRow| {
            let mut child = state;
            game.play(&mut child, &[action]);
            -minimax(&game, &child, heuristic, 2, 1)
        };
        let mut moves = Vec::new();
        game.legal(&state, state.player() as usize, &mut moves);
        let winning: Vec<Action> =
            moves.iter().copied().filter(|&mv| value_of(mv, &mut heuristic) > WIN / 2.0).collect();
        // Positions that are won within three plies, but not by every move.
        if winning.is_empty() || winning.len() == moves.len() {
            continue;
        }
        solved += 1;
        let mut mcts = Mcts::new(Uct::new(0.7), FarthestMix::new(0.5), ToTheEnd, MctsConfig::default(), 3);
        let role = state.player() as usize;
        let found = mcts.search(&game, &state, role, Limits::playouts(20_000), &AtomicBool::new(false));
        assert!(winning.contains(&found.best), "{}", game.position(&state));
    }
    assert!(solved >= 5, "only {solved} positions were solved");
}

fn match_of(nodes: u64, games: u64) -> Schedule {
    let budget = Budget { nodes: Some(nodes), ..Budget::default() };
    Schedule::new(["a", "b"].map(Entrant::named).to_vec(), budget, games)
}

/// A match on the board of a table, and its games.
fn played(
    configs: &[Config; 2],
    distances: &Distances,
    schedule: Schedule,
    threads: usize,
) -> (Standings, Vec<GameRecord>) {
    let board = distances.board();
    let game = ChineseCheckers::new(board, Filter::All);
    let make = |entrant: usize| -> Result<Box<dyn Contestant<ChineseCheckers>>, ContestantError> {
        Ok(Box::new(EngineContestant::new(
            configs[entrant]
                .prepare(GameSetup::new(board), Some(distances))
                .unwrap()
                .start(&MemoryBudget::unlimited())
                .unwrap(),
        )))
    };
    let mut standings = Standings::new(schedule);
    let mut records = Vec::new();
    let keep = |record: &GameRecord, _: &Standings| -> Result<(), RunError> {
        records.push(record.clone());
        Ok(())
    };
    let host = TournamentSetup { game: &game, contestants: &make, adjudicator: None, openings: None };
    let threads = NonZeroUsize::new(threads).unwrap();
    arena::run(&host, &mut standings, threads, &AtomicBool::new(false), keep).unwrap();
    (standings, records)
}

#[test]
fn the_same_seed_and_limits_give_the_same_games() {
    let distances = table(5, 3, None, Encoding::Byte);
    let roster = Roster::built_in();
    for (a, b) in
        [("heur0", "base0"), ("mcts", "heur0"), ("end0", "ab-lookup"), ("greedy", "random"), ("ab-avg", "heur2")]
    {
        let configs = [roster.config(a).unwrap(), roster.config(b).unwrap()];
        let games = |seed, threads| {
            let schedule = Schedule { seed, ..match_of(2000, 4) };
            let records = played(&configs, &distances, schedule, threads).1;
            let reported = |record: GameRecord| (record.id, (record.opening, record.goals, record.moves));
            records.into_iter().map(reported).collect::<BTreeMap<_, _>>()
        };
        assert_eq!(games(1, 1), games(1, 2));
        assert_ne!(games(1, 2), games(2, 2), "{a} against {b}: another seed gives other games");
    }
}

#[test]
fn the_default_player_without_a_table_beats_the_players_that_need_none() {
    let distances = Distances::estimated(Board::new(7, 6).unwrap());
    let roster = Roster::built_in();
    for opponent in ["greedy", "ab-avg", "base0"] {
        let configs = [roster.config("sternhalma").unwrap(), roster.config(opponent).unwrap()];
        let schedule = match_of(500, 40);
        let records = played(&configs, &distances, schedule.clone(), 1).1;
        let points: f64 = records.iter().filter_map(|record| record.score(&schedule)).sum();
        assert!(points >= 26.0, "{points} of 40 against {opponent}");
    }
}

#[test]
fn a_search_keeps_its_limits() {
    let board = Board::new(6, 3).unwrap();
    let distances = table(6, 3, None, Encoding::Byte);
    let game = ChineseCheckers::new(board, Filter::All);
    let roster = Roster::built_in();
    for name in roster.names() {
        let player = roster.config(name).unwrap().prepare(GameSetup::new(board), Some(&distances)).unwrap();
        let mut player = player.start(&MemoryBudget::unlimited()).unwrap();
        player.reset(1);
        let choice = player.choose(&game.initial(), Limits::expansions(3000), &AtomicBool::new(false));
        // A simulation or a depth-first line that is under way is finished.
        assert!(choice.spent.expansions <= 3000 + PLY_LIMIT as u64, "{name}: {:?}", choice.spent);
        let choice = player.choose(&game.initial(), Limits::default(), &AtomicBool::new(true));
        assert!(choice.spent.playouts <= 64, "{name} does not stop: {:?}", choice.spent);
    }
}

#[test]
fn every_player_beats_random_moves() {
    let distances = table(7, 3, None, Encoding::Byte);
    let roster = Roster::built_in();
    // These do not play to win.
    let others = ["random", "fortress", "hoarder", "straggler", "wall"];
    for name in roster.names().filter(|name| !others.contains(name)) {
        let configs = [roster.config(name).unwrap(), roster.config("random").unwrap()];
        let standings = played(&configs, &distances, match_of(1000, 6), 2).0;
        assert_eq!(standings.score(0, 0).wins, 6, "{name}");
    }
}

#[test]
fn playouts_go_forward_while_they_can() {
    let game = ChineseCheckers::new(Board::new(9, 6).unwrap(), Filter::All);
    let mut rng = Rng::seed_from_u64(1);
    let mut farthest = FarthestMix::new(0.0);
    for state in some_states(&game, 60) {
        let forward = game.pieces(&state, Filter::Forward);
        let most = forward.iter().flat_map(|(from, to)| to.iter().map(move |to| Move { from, to }));
        let most = most.map(|mv| game.advance(state.player(), mv)).max().unwrap();
        let action =
            farthest.choose(&game, &state, state.player() as usize, &MoveHistory::default(), &mut rng).unwrap();
        assert_eq!(game.advance(state.player(), action), most);
        let action = FarthestMix::new(1.0)
            .choose(&game, &state, state.player() as usize, &MoveHistory::default(), &mut rng)
            .unwrap();
        assert!(forward.iter().any(|(from, to)| from == action.from && to.contains(action.to)));
    }
}

#[test]
fn foresight_is_the_difference_after_each_move() {
    let distances = table(5, 3, None, Encoding::Byte);
    let board = Board::new(5, 3).unwrap();
    let game = ChineseCheckers::new(board, Filter::All);
    let mut foresight = TableForesight { distances: distances.clone(), weight: 0.1 };
    // Each army needs one move, and `x` is to move. After any move that does
    // not win, `x` has no lead and is not to move.
    let state = game.state(&"2xx1/4x/5/o4/1oo2 x 0".parse().unwrap()).unwrap();
    let (mut moves, mut values) = (Vec::new(), Vec::new());
    game.legal(&state, 0, &mut moves);
    foresight.evaluate_moves(&game, &state, 0, &moves, &mut values);
    assert_eq!(values.len(), moves.len());
    let mut won = 0;
    for (&action, &value) in moves.iter().zip(&values) {
        let mut after = state;
        game.play(&mut after, &[action]);
        if game.is_terminal(&after) {
            won += 1;
            assert_eq!(value, 1.0, "{action:?}");
            continue;
        }
        let army = State::from_army(board, Side::X, after.army(Side::X));
        let distance = distances.table().unwrap().probe(army).unwrap().distance().unwrap().0;
        let expected = 0.5 + 0.1 * (1.0 - f64::from(distance) - 0.5);
        assert!((f64::from(value) - expected).abs() < 1e-6, "{action:?}: {value} for {expected}");
    }
    assert_eq!(won, 1);
    // The same state rotated by 180°, with `o` to move.
    let turned = game.state(&"2xx1/4x/5/o4/1oo2 o 0".parse().unwrap()).unwrap();
    let (mut moves, mut same) = (Vec::new(), Vec::new());
    game.legal(&turned, 1, &mut moves);
    foresight.evaluate_moves(&game, &turned, 1, &moves, &mut same);
    let sorted = |mut values: Vec<f32>| {
        values.sort_by(f32::total_cmp);
        values
    };
    assert_eq!(sorted(values), sorted(same));
}

#[test]
fn separated_armies_are_decided_by_distance_and_turn() {
    let board = Board::new(5, 3).unwrap();
    let game = ChineseCheckers::new(board, Filter::All);
    let distances = table(5, 3, None, Encoding::Byte);
    let cut = |ties: TieRule, text: &str| {
        let state = game.state(&text.parse().unwrap()).unwrap();
        let mut rewards = [0.0; 2];
        let mut separated = Separated::new(&game, distances.clone(), SeparationTest::Beyond, ties);
        separated.cut(&game, &state, 0, &mut rewards).then_some(rewards)
    };
    // Each army needs one move. The player to move arrives first.
    let equal = |side: char| format!("3x1/3xx/5/oo3/1o3 {side} 0");
    for (ties, x_to_move, o_to_move) in [
        (TieRule::Mover, [1.0, 0.0], [0.0, 1.0]),
        (TieRule::Other, [0.0, 1.0], [1.0, 0.0]),
        (TieRule::X, [1.0, 0.0], [1.0, 0.0]),
        (TieRule::Draw, [0.5, 0.5], [0.5, 0.5]),
    ] {
        assert_eq!(cut(ties, &equal('x')), Some(x_to_move));
        assert_eq!(cut(ties, &equal('o')), Some(o_to_move));
        // A piece on the centre row, or an army still behind it: the race is not decided.
        assert_eq!(cut(ties, "3x1/3xx/5/1o3/1o2o x 0"), None);
        assert_eq!(cut(ties, "4o/4o/4o/x4/xx3 x 0"), None);
    }
}

#[test]
fn estimates_join_on_to_the_table_without_a_jump() {
    let whole = table(6, 3, None, Encoding::Byte);
    let part = table(6, 3, Some(21), Encoding::Byte);
    let mod3 = table(6, 3, Some(21), Encoding::Mod3);
    let prefix = part.table().unwrap().prefix();
    let board = prefix.board();
    let geometry = board.geometry();
    for (rank, state) in States::all(Prefix::whole(board)) {
        let distance = part.of(state, rank);
        assert_eq!(distance, mod3.of(state, rank));
        if state.cells().is_subset(prefix.cells()) {
            assert_eq!(Some(distance as u8), part.table().unwrap().probe(state).unwrap().distance().map(|d| d.0));
            continue;
        }
        // The nearest cell inside and the destination of the step are both
        // adjacent to the piece, so the table's answers for them differ by two
        // at most.
        for from in state.cells() - prefix.cells() {
            for to in (geometry.neighbors(from) & prefix.cells()) - state.cells() {
                let inside = state.after(Move { from, to });
                if inside.cells().is_subset(prefix.cells()) {
                    let change = (distance - part.of(inside, Rank::of(inside))).abs();
                    assert!(change <= 2.5, "{change} from {state:?} to {inside:?}");
                }
            }
        }
    }
    let home = State::start(board);
    let (estimate, exact) = (part.of(home, Rank::of(home)), whole.of(home, Rank::of(home)));
    assert!((estimate - exact).abs() < 0.3 * exact, "{estimate} for {exact}");
}
