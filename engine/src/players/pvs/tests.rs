//! Comparison of the search with plain minimax, and tests of its guarantees.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use sternhalma_builder::TableBuilder;
use sternhalma_data::table::Zstd;
use sternhalma_data::{Board, Cell, CellSet, Encoding, Position, Prefix, RuleSet, Table};
use sternhalma_ggp::{Game, Limits, MemoryBudget, Rng};

use super::*;
use crate::players::config::{Config, PositionalEvaluation};
use crate::players::interface::{SearchInfo, SearchValue};
use crate::players::learned::{LinearWeights, MAX_HIDDEN, MAX_OUTPUT, NetworkWeights};
use crate::players::roster::Roster;
use crate::rules::{Filter, Outcome, PLY_LIMIT};
use node::SearchNode;
use sternhalma_data::Side;

fn distances(board: Board, within: Option<u64>, encoding: Encoding) -> Distances {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("table.sht");
    let prefix = within.map_or(Prefix::whole(board), |within| Prefix::new(board, within).unwrap());
    TableBuilder::new(prefix).encoding(encoding).threads(1).build(&path, &()).unwrap();
    Distances::new(Arc::new(Table::open(&path).unwrap()))
}

fn config(changes: &str) -> PvsConfig {
    match Roster::built_in().config(&format!("sternhalma,table_megabytes=1{changes}")).unwrap() {
        Config::Pvs(config) => config,
        other => panic!("{other:?} is no PVS player"),
    }
}

fn player_of(board: Board, ply_limit: u32, changes: &str) -> PvsPlayer {
    player_with(board, RuleSet::Paper, ply_limit, changes)
}

/// Creates a player. A network has random weights.
fn player_with(board: Board, rules: RuleSet, ply_limit: u32, changes: &str) -> PvsPlayer {
    let config = config(changes);
    let game = Arc::new(ChineseCheckers::new(board, config.moves).with_rules(rules).with_ply_limit(ply_limit));
    let learned = random_weights(board, 3);
    let distances = distances(board, None, Encoding::Byte);
    PvsPlayer::new(
        game,
        &config,
        distances,
        Some(&learned).filter(|_| has_network(&config)),
        &MemoryBudget::unlimited(),
    )
    .unwrap()
}

fn has_network(config: &PvsConfig) -> bool {
    config.evaluation == PositionalEvaluation::Network
}

/// Returns weights with random numbers of every size that is allowed.
fn random_weights(board: Board, seed: u64) -> LearnedWeights {
    let mut rng = Rng::seed_from_u64(seed);
    let mut units = |most: i16| [(); MAX_HIDDEN].map(|()| rng.random_range(-most..=most));
    let network = NetworkWeights {
        scale: 150,
        inputs: (0..2 * board.cells()).map(|_| units(400)).collect(),
        biases: units(500),
        outputs: [units(MAX_OUTPUT), units(MAX_OUTPUT)],
        bias: -7,
    };
    let cells = (0..board.cells() as i16).map(|cell| -7 * cell).collect();
    let linear = LinearWeights { cells, rearmost: 11, second: 5, tempo: 90 };
    LearnedWeights { board, linear, network: Some(network) }
}

fn go(player: &mut PvsPlayer, state: &GameState, limits: Limits) -> (Choice, Vec<SearchInfo>) {
    let mut seen = Vec::new();
    let choice = player.think(state, limits, &AtomicBool::new(false), &mut |info| seen.push(info.clone()));
    (choice, seen)
}

fn legal(game: &ChineseCheckers, state: &GameState) -> Vec<Action> {
    let mut moves = Vec::new();
    game.legal(state, state.player() as usize, &mut moves);
    moves
}

/// Returns states of random games in which the game is not over.
fn some_states(game: &ChineseCheckers, count: u64, seed: u64) -> Vec<GameState> {
    let mut rng = Rng::seed_from_u64(seed);
    let states = (0..count).filter_map(|number| game.random_state(3 + 2 * (number % 20) as u32, &mut rng));
    states.filter(|state| state.outcome().is_none()).collect()
}

/// Returns a state with both armies on random cells.
fn random_placement(game: &ChineseCheckers, rng: &mut Rng) -> GameState {
    let board = game.board();
    let mut cells: Vec<usize> = (0..board.cells()).collect();
    cells.shuffle(rng);
    let mut army = || cells.drain(..board.pieces()).map(Cell::new).collect::<CellSet>();
    let (x, o) = (army(), army());
    let mover = if rng.random() { Side::X } else { Side::O };
    game.state(&Position::new(board.geometry(), x, o, mover, 0).unwrap()).unwrap()
}

/// Computes the value of a node by plain minimax, with the evaluation of the
/// search.
fn minimax(context: &mut SearchContext, node: &SearchNode, depth: u32, ply: u32, race_is_leaf: bool) -> i32 {
    if let Some(outcome) = node.state.outcome() {
        return value::of_outcome(outcome, node.state.player(), ply);
    }
    if depth == 0 || race_is_leaf && ply > 0 && context.is_race(node.standings[0], node.standings[1]) {
        return value::of_node(context, node);
    }
    let values = legal(&context.game.clone(), &node.state).into_iter().map(|action| {
        let (mut state, mover) = (node.state, node.state.player());
        context.game.play_action(&mut state, action);
        let standing = context.standing(context.game.ranked(&state, mover).0);
        let child = context.after(node, action, standing);
        -minimax(context, &child, depth - 1, ply + 1, race_is_leaf)
    });
    values.max().unwrap()
}

#[test]
fn without_pruning_it_is_minimax() {
    let (paper, blocked_goal) = (RuleSet::Paper, RuleSet::NEWEST);
    // With five pieces, goals are sealed: a draw under `paper`, and not legal under `blocked-goal`.
    for (side, pieces, filter, rules, most_depth) in [
        (4, 3, "all", paper, 4),
        (5, 3, "all", blocked_goal, 4),
        (5, 4, "all", paper, 4),
        (5, 3, "non-backward", paper, 4),
        (5, 4, "all,evaluation=network", paper, 4),
        (5, 5, "all,evaluation=network", paper, 3),
        (4, 5, "all", paper, 3),
        (5, 5, "all", paper, 3),
        (5, 5, "all", blocked_goal, 3),
    ] {
        let board = Board::new(side, pieces).unwrap();
        let changes = format!(",pruning=false,reductions=false,moves={filter}");
        let mut player = player_with(board, rules, PLY_LIMIT, &changes);
        for state in some_states(&player.main.context.game.clone(), 20, side) {
            for depth in 1..=most_depth {
                player.reset(0);
                let (_, seen) = go(&mut player, &state, Limits::depth(depth));
                let root = player.main.context.root(&state, MAX_PLIES);
                let race_is_leaf = !player.main.context.is_race(root.standings[0], root.standings[1]);
                let expected = minimax(&mut player.main.context, &root, depth, 0, race_is_leaf);
                let expected = match expected {
                    // A move that the filter excludes may avoid a loss, so a
                    // filter allows no proof.
                    end if value::is_proof(end) && !filter.starts_with("all") => continue,
                    won if won >= value::LEAST_WIN => SearchValue::Won((value::WIN - won) as u32),
                    lost if lost <= -value::LEAST_WIN => SearchValue::Lost((value::WIN + lost) as u32),
                    lead => SearchValue::Lead(value::lead_of(lead)),
                };
                if legal(&player.main.context.game, &state).len() > 1 {
                    let found = seen.last().unwrap();
                    assert_eq!(
                        found.value,
                        Some(expected),
                        "{} depth {depth}",
                        player.main.context.game.position(&state)
                    );
                }
            }
        }
    }
}

#[test]
fn incremental_node_data_matches_a_recomputation() {
    for (side, pieces) in [(5, 3), (6, 4), (7, 3)] {
        let board = Board::new(side, pieces).unwrap();
        let mut player = player_of(board, 300, ",evaluation=network");
        let context = &mut player.main.context;
        let mut rng = Rng::seed_from_u64(side);
        for game in 0..20 {
            let mut node = context.root(&context.game.initial(), if game % 2 == 0 { MAX_PLIES } else { 300 });
            let mut keys = vec![node.key];
            while node.state.outcome().is_none() {
                let mut moves = Vec::new();
                context.outline(&node, Filter::All, &mut moves);
                context.look_up_all(&node, &mut moves);
                node = match moves.is_empty() {
                    true => context.after(&node, None, node.standings[node.state.player() as usize]),
                    false => {
                        let chosen = moves[rng.random_range(0..moves.len())];
                        let after = context.after(&node, Some(chosen.mv), chosen.standing);
                        let value = value::of_child(context, &node, chosen.mv, &after.state, chosen.standing);
                        assert_eq!(value, value::of_node(context, &after));
                        after
                    }
                };
                assert_eq!(node.key, context.key(&node.state));
                let network = context.network.as_ref().expect("the player has a network");
                assert_eq!(node.sums, network.sums(&node.state));
                let fresh = [Side::X, Side::O].map(|side| context.standing(context.game.ranked(&node.state, side).0));
                assert_eq!(node.standings, fresh);
                let [x, o] = node.standings;
                assert_eq!(context.is_race(x, o), context.game.is_race(&node.state));
                let skipped = context.skipped(&node);
                assert_eq!(skipped.key, context.key(&skipped.state));
                keys.push(node.key);
            }
            // With the ply in the key, no two states of a game share a key.
            if game % 2 == 1 {
                keys.sort_unstable();
                assert!(keys.windows(2).all(|pair| pair[0] != pair[1]));
            }
        }
    }
}

#[test]
fn outlines_have_all_moves_and_bound_their_distances() {
    for (side, pieces, within) in [(5, 3, None), (6, 4, None), (6, 4, Some(24)), (9, 3, Some(45))] {
        let board = Board::new(side, pieces).unwrap();
        let game = Arc::new(ChineseCheckers::new(board, Filter::All));
        let cache = DistanceCache::new(distances(board, within, Encoding::Byte));
        let mut context = SearchContext::new(game.clone(), cache, &config(""), None);
        let (mut least, mut exceeded) = (0, 0);
        let mut rng = Rng::seed_from_u64(side);
        for _ in 0..300 {
            let state = random_placement(&game, &mut rng);
            let node = context.root(&state, MAX_PLIES);
            let mut outline = Vec::new();
            context.outline(&node, Filter::All, &mut outline);
            let moves: Vec<Action> = outline.iter().map(|candidate| Some(candidate.mv)).collect();
            assert!(moves.is_empty() || moves == legal(&game, &state));
            let mut found = outline.clone();
            context.look_up_all(&node, &mut found);
            for (mut candidate, found) in outline.into_iter().zip(found) {
                let bound = candidate.standing.distance;
                context.look_up(&node, &mut candidate);
                let fresh = context.after(&node, Some(candidate.mv), candidate.standing).state;
                let fresh = context.standing(game.ranked(&fresh, state.player()).0);
                assert_eq!((candidate.standing, found.standing), (fresh, fresh));
                assert!(bound <= fresh.distance, "{} {:?}", game.position(&state), candidate.mv);
                least += usize::from(bound > 0 && bound == fresh.distance);
                exceeded += usize::from(bound > 0 && bound < fresh.distance);
            }
        }
        assert!(least > 100 && exceeded > 100, "{board}: {least} {exceeded}");
    }
}

/// Returns whether the player to move wins within `plies` against every reply.
fn wins_within(game: &ChineseCheckers, state: &GameState, plies: u32) -> bool {
    let me = state.player();
    if plies == 0 {
        return false;
    }
    legal(game, state).into_iter().any(|action| {
        let mut child = *state;
        game.play_action(&mut child, action);
        match child.outcome() {
            Some(outcome) => outcome == Outcome::Won(me),
            None => loses_within(game, &child, plies - 1),
        }
    })
}

fn loses_within(game: &ChineseCheckers, state: &GameState, plies: u32) -> bool {
    let other = state.player().other();
    plies > 0
        && legal(game, state).into_iter().all(|action| {
            let mut child = *state;
            game.play_action(&mut child, action);
            match child.outcome() {
                Some(outcome) => outcome == Outcome::Won(other),
                None => wins_within(game, &child, plies - 1),
            }
        })
}

/// Returns the last ten states of games of a player against itself.
fn ends_of_games(player: &mut PvsPlayer, games: u64) -> Vec<GameState> {
    let game = player.main.context.game.clone();
    let mut ends = Vec::new();
    for mut state in some_states(&game, games, 9) {
        let mut states = Vec::new();
        player.reset(0);
        while state.outcome().is_none() {
            states.push(state);
            let action = go(player, &state, Limits::expansions(20)).0.action;
            game.play_action(&mut state, action);
            player.observe(action);
        }
        ends.extend(states.into_iter().rev().take(10));
    }
    ends
}

#[test]
fn claimed_wins_and_losses_are_true() {
    let mut proofs = [0; 2];
    for (changes, pieces, rules, [win, loss]) in [
        ("", 3, RuleSet::Paper, [5, 6]),
        (",moves=non-backward", 3, RuleSet::Paper, [5, 6]),
        (",threads=3", 3, RuleSet::NEWEST, [5, 6]),
        ("", 5, RuleSet::NEWEST, [3, 4]),
    ] {
        let board = Board::new(4, pieces).unwrap();
        let mut player = player_with(board, rules, PLY_LIMIT, changes);
        let game = ChineseCheckers::new(board, Filter::All).with_rules(rules);
        for state in ends_of_games(&mut player, 100) {
            player.reset(0);
            for info in go(&mut player, &state, Limits::expansions(300)).1 {
                match info.value {
                    Some(SearchValue::Won(plies)) if plies <= win => {
                        proofs[0] += 1;
                        assert!(wins_within(&game, &state, plies), "{} {plies}", game.position(&state));
                    }
                    Some(SearchValue::Lost(plies)) if plies <= loss => {
                        proofs[1] += 1;
                        assert!(loses_within(&game, &state, plies), "{} {plies}", game.position(&state));
                    }
                    _ => {}
                }
            }
        }
    }
    assert!(proofs[0] >= 50 && proofs[1] >= 10, "{proofs:?}");
}

/// Returns the moves of a game against itself.
fn own_game(player: &mut PvsPlayer, limits: Limits) -> Vec<(Action, u64, u32)> {
    let game = player.main.context.game.clone();
    let mut state = game.initial();
    let mut played = Vec::new();
    while state.outcome().is_none() {
        let (choice, seen) = go(player, &state, limits);
        assert!(choice.spent.expansions <= limits.expansions.unwrap_or(u64::MAX));
        assert!(choice.spent.depth <= limits.depth.unwrap_or(u32::MAX));
        // The line has legal moves and begins with the chosen move.
        let mut at = state;
        for info in &seen {
            at = state;
            for &action in &info.line {
                assert!(legal(&game, &at).contains(&action));
                game.play_action(&mut at, action);
            }
        }
        assert!(at != state || seen.is_empty());
        played.push((choice.action, choice.spent.expansions, choice.spent.depth));
        game.play_action(&mut state, choice.action);
        player.observe(choice.action);
    }
    assert!(matches!(state.outcome(), Some(Outcome::Won(_))), "{:?}", state.outcome());
    played
}

#[test]
fn counted_limits_are_kept_and_give_the_same_game_again() {
    let board = Board::new(6, 3).unwrap();
    for limits in [Limits::expansions(1), Limits::expansions(7), Limits::expansions(500), Limits::depth(3)] {
        let mut player = player_of(board, PLY_LIMIT, "");
        player.reset(1);
        let first = own_game(&mut player, limits);
        player.reset(1);
        assert_eq!(own_game(&mut player, limits), first, "{limits:?}");
        assert_eq!(own_game(&mut player_of(board, PLY_LIMIT, ""), limits), first, "{limits:?}");
    }
}

#[test]
fn several_threads_keep_limits_and_stop() {
    let board = Board::new(6, 3).unwrap();
    let mut player = player_of(board, PLY_LIMIT, ",threads=3");
    let state = player.main.context.game.initial();
    for nodes in [3, 100, 5000] {
        let (choice, seen) = go(&mut player, &state, Limits::expansions(nodes));
        assert!(choice.spent.expansions <= nodes && choice.action.is_some() && !seen.is_empty(), "{nodes}");
    }
    let (choice, seen) = go(&mut player, &state, Limits::depth(5));
    assert_eq!((choice.spent.depth, seen.len()), (5, 5));
    let stop = AtomicBool::new(true);
    let choice = player.think(&state, Limits::default(), &stop, &mut |_| ());
    assert!(choice.action.is_some());
}

#[test]
fn the_network_is_a_plain_sum() {
    let board = Board::new(5, 3).unwrap();
    let learned = random_weights(board, 9);
    let network = learned.network.as_ref().unwrap();
    let mut outputs = Vec::new();
    for state in some_states(&ChineseCheckers::new(board, Filter::All), 50, 6) {
        for player in Side::BOTH {
            let mut total = 0;
            for (side, weights) in [player, player.other()].into_iter().zip(&network.outputs) {
                for (unit, weight) in weights.iter().enumerate() {
                    let mut sum = i64::from(network.biases[unit]);
                    for cell in (0..board.cells()).map(Cell::new) {
                        let input = cell.to_goal_order(board, side).index();
                        if state.army(side).contains(cell) {
                            sum += i64::from(network.inputs[input][unit]);
                        }
                        if state.army(side.other()).contains(cell) {
                            sum += i64::from(network.inputs[board.cells() + input][unit]);
                        }
                    }
                    total += sum.clamp(0, 255).pow(2) * i64::from(*weight);
                }
            }
            let expected = total * i64::from(network.scale) / (255 * 255 * 64) + i64::from(network.bias);
            let inference = network::Network::new(board, network.clone());
            let found = inference.output(&inference.sums(&state), player);
            assert_eq!(i64::from(found), expected);
            outputs.push(found);
        }
    }
    outputs.sort_unstable();
    outputs.dedup();
    assert!(outputs.len() > 20);
}

#[test]
fn every_kind_of_table_gives_the_same_game() {
    let board = Board::new(5, 3).unwrap();
    let config = config("");
    let game = Arc::new(ChineseCheckers::new(board, config.moves));
    let play = |within, encoding| {
        own_game(
            &mut PvsPlayer::new(
                game.clone(),
                &config,
                distances(board, within, encoding),
                None,
                &MemoryBudget::unlimited(),
            )
            .unwrap(),
            Limits::expansions(200),
        )
    };
    let zstd = Encoding::Zstd(Zstd::default());
    let whole = play(None, Encoding::Byte);
    assert_eq!(play(None, Encoding::Mod3), whole);
    assert_eq!(play(None, zstd), whole);
    // Estimates beyond a prefix are the same for all encodings.
    let part = play(Some(12), Encoding::Byte);
    assert_eq!(play(Some(12), Encoding::Mod3), part);
    assert_eq!(play(Some(12), zstd), part);
}

#[test]
fn a_player_that_shuffles_is_beaten() {
    let board = Board::new(6, 3).unwrap();
    for (seed, first) in [(1, true), (2, false), (3, true), (4, false)] {
        let mut player = player_of(board, PLY_LIMIT, "");
        let game = player.main.context.game.clone();
        let mut rng = Rng::seed_from_u64(seed);
        let mut state = game.random_state(6, &mut rng).unwrap();
        let mut last: Action = None;
        let me = if first { Side::X } else { Side::O };
        while state.outcome().is_none() {
            let action = match state.player() == me {
                true => go(&mut player, &state, Limits::expansions(300)).0.action,
                false => {
                    // The player takes its last move back if it can.
                    let back = last.map(|mv| sternhalma_data::Move { from: mv.to, to: mv.from });
                    let moves = legal(&game, &state);
                    last = if moves.contains(&back) { back } else { moves[rng.random_range(0..moves.len())] };
                    last
                }
            };
            game.play_action(&mut state, action);
            player.observe(action);
        }
        assert_eq!(state.outcome(), Some(Outcome::Won(me)));
        assert!(state.ply() < 150, "{} plies", state.ply());
    }
}
