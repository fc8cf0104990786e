//! The readings of the separation test [Roschke and Sturtevant 2013, section 4.2], against a search that plays
//! simulations one by one.

use std::collections::HashMap;
use std::sync::Arc;

use rand::SeedableRng;
use sternhalma_builder::TableBuilder;
use sternhalma_data::{Board, Prefix, Side, State, Table};
use sternhalma_engine::players::{Separated, SeparationTest, TieRule};
use sternhalma_engine::{Action, ChineseCheckers, Config, Distances, Filter, GameState, Roster};
use sternhalma_ggp::mcts::{MctsConfig, MoveHistory, Playout, Uct};
use sternhalma_ggp::{Game, Limits, Mcts, Rng};

const TESTS: [SeparationTest; 3] = [SeparationTest::Beyond, SeparationTest::Tree, SeparationTest::Root];
const TIES: [TieRule; 4] = [TieRule::Mover, TieRule::Other, TieRule::X, TieRule::Draw];

/// The constant of UCB1, and the visits before a node is added.
const C: f64 = 0.4;
const THRESHOLD: u32 = 3;

/// Plays the first of the moves that advance most, so that nothing is random.
#[derive(Clone)]
struct FirstFarthest;

fn farthest(game: &ChineseCheckers, state: &GameState) -> Action {
    let mut moves = Vec::new();
    game.legal(state, state.player() as usize, &mut moves);
    let advance = |action: &Action| action.map_or(0, |mv| game.advance(state.player(), mv));
    let most = moves.iter().map(advance).max().unwrap();
    moves.into_iter().find(|action| advance(action) == most).unwrap()
}

impl Playout<ChineseCheckers> for FirstFarthest {
    fn choose(&mut self, game: &ChineseCheckers, state: &GameState, _: usize, _: &MoveHistory, _: &mut Rng) -> Action {
        farthest(game, state)
    }

    fn choose_untried(
        &mut self,
        _: &ChineseCheckers,
        _: &GameState,
        _: usize,
        _: &[Action],
        _: &MoveHistory,
        _: &mut Rng,
    ) -> usize {
        0
    }
}

/// A node: the number of simulations through it, and its moves with their visits and rewards.
struct Node {
    visits: u32,
    edges: Vec<(Action, u32, f64)>,
}

/// The slow search. Nodes are found by the moves from the root.
struct Slow<'a> {
    game: &'a ChineseCheckers,
    table: &'a Table,
    test: SeparationTest,
    ties: TieRule,
    nodes: HashMap<Vec<usize>, Node>,
    expansions: u64,
}

impl Slow<'_> {
    fn add(&mut self, path: &[usize], state: &GameState) {
        let mut moves = Vec::new();
        if !self.game.is_terminal(state) {
            self.game.legal(state, state.player() as usize, &mut moves);
        }
        let edges = moves.into_iter().map(|action| (action, 0, 0.0)).collect();
        self.nodes.insert(path.to_vec(), Node { visits: 0, edges });
        self.expansions += 1;
    }

    /// Returns the rewards if the armies are separated.
    fn separated(&self, state: &GameState) -> Option<[f64; 2]> {
        let geometry = self.game.geometry();
        let sum = |cell| {
            let (x, y) = geometry.coordinates(cell);
            usize::from(x) + usize::from(y)
        };
        let centre = geometry.size() - 1;
        let is_apart = state.army(Side::X).into_iter().all(|cell| sum(cell) > centre)
            && state.army(Side::O).into_iter().all(|cell| sum(cell) < centre);
        if !is_apart {
            return None;
        }
        let distance = |side| {
            let state = State::from_army(self.table.board(), side, state.army(side));
            self.table.probe(state).unwrap().distance().unwrap().0
        };
        let [x, o] = Side::BOTH.map(distance);
        let won = |side: Side| if side == Side::X { [1.0, 0.0] } else { [0.0, 1.0] };
        Some(match (x == o, self.ties) {
            (false, _) => won(if x < o { Side::X } else { Side::O }),
            (true, TieRule::Mover) => won(state.player()),
            (true, TieRule::Other) => won(state.player().other()),
            (true, TieRule::X) => won(Side::X),
            (true, TieRule::Draw) => [0.5, 0.5],
        })
    }

    fn simulate(&mut self, root: &GameState) {
        let (mut state, mut path, mut in_tree) = (*root, Vec::new(), true);
        let mut followed: Vec<(Vec<usize>, usize, Side)> = Vec::new();
        let rewards = loop {
            if in_tree && !self.nodes[&path].edges.is_empty() {
                let is_tested = match self.test {
                    SeparationTest::Beyond => false,
                    SeparationTest::Tree => !path.is_empty(),
                    SeparationTest::Root => true,
                };
                if let Some(rewards) = self.separated(&state).filter(|_| is_tested) {
                    break rewards;
                }
                let node = &self.nodes[&path];
                let value = |&(_, visits, sum): &(Action, u32, f64)| {
                    let visits = f64::from(visits);
                    sum / visits + C * f64::from(node.visits.max(1)).ln().sqrt() / visits.sqrt()
                };
                let untried = node.edges.iter().position(|&(_, visits, _)| visits == 0);
                let chosen = untried.unwrap_or_else(|| {
                    let values: Vec<f64> = node.edges.iter().map(value).collect();
                    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                    values.iter().position(|&value| value == most).unwrap()
                });
                let (action, visits, _) = node.edges[chosen];
                followed.push((path.clone(), chosen, state.player()));
                path.push(chosen);
                self.game.play_action(&mut state, action);
                in_tree = self.nodes.contains_key(&path);
                if !in_tree && visits >= THRESHOLD {
                    self.add(&path, &state);
                }
                continue;
            }
            if self.game.is_terminal(&state) {
                break [0, 1].map(|role| f64::from(self.game.goal(&state, role)) / 100.0);
            }
            if let Some(rewards) = self.separated(&state) {
                break rewards;
            }
            in_tree = false;
            let action = farthest(self.game, &state);
            self.game.play_action(&mut state, action);
            self.expansions += 1;
        };
        for (path, chosen, side) in followed {
            let node = self.nodes.get_mut(&path).unwrap();
            node.visits += 1;
            node.edges[chosen].1 += 1;
            node.edges[chosen].2 += rewards[side as usize];
        }
    }
}

#[test]
fn each_reading_is_that_of_simulations_one_by_one() {
    let board = Board::new(5, 3).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("table.sht");
    TableBuilder::new(Prefix::whole(board)).threads(1).build(&path, &()).unwrap();
    let table = Arc::new(Table::open(&path).unwrap());
    let game = ChineseCheckers::new(board, Filter::Forward).with_ply_limit(60);
    let mut rng = Rng::seed_from_u64(4);
    let mut starts: Vec<GameState> = (0..40).filter_map(|plies| game.random_state(plies % 14, &mut rng)).collect();
    // Separated armies at the root, with equal distances and with different ones.
    for text in ["3x1/3xx/5/oo3/1o3 x 0", "3x1/3xx/5/oo3/1o3 o 0", "3xx/3x1/5/1oo2/o4 o 0"] {
        starts.push(game.state(&text.parse().unwrap()).unwrap());
    }
    let mut results = Vec::new();
    for (test, ties) in TESTS.into_iter().flat_map(|test| TIES.map(|ties| (test, ties))) {
        let mut visits: Vec<u64> = Vec::new();
        for start in &starts {
            let cutoff = Separated::new(&game, Distances::new(table.clone()), test, ties);
            let config = MctsConfig { expansion_threshold: THRESHOLD, ..MctsConfig::default() };
            let mut search = Mcts::new(Uct::new(C), FirstFarthest, cutoff, config, 1);
            let found =
                search.search(&game, start, start.player() as usize, Limits::playouts(400), &Default::default());
            let mut slow = Slow { game: &game, table: &table, test, ties, nodes: HashMap::new(), expansions: 0 };
            slow.add(&[], start);
            (0..400).for_each(|_| slow.simulate(start));
            let expected: Vec<(Action, u32, f64)> = slow.nodes[&Vec::new()].edges.clone();
            let moves: Vec<(Action, u32, f64)> =
                found.moves.iter().map(|(action, stats)| (*action, stats.visits, stats.sum)).collect();
            assert_eq!(moves, expected, "{test:?} {ties:?} {}", game.position(start));
            assert_eq!(found.spent.expansions, slow.expansions, "{test:?} {ties:?} {}", game.position(start));
            visits.extend(expected.iter().map(|&(_, visits, _)| u64::from(visits)));
            // With exact distances the moves of two readings may be the same, but not their cost.
            visits.push(slow.expansions);
        }
        results.push(visits);
    }
    for (at, one) in results.iter().enumerate() {
        assert!(results[..at].iter().all(|other| other != one), "reading {at} is no other one");
    }
}

#[test]
fn a_limit_of_expansions_ends_a_search_in_a_separated_game() {
    let board = Board::new(5, 3).unwrap();
    let game = ChineseCheckers::new(board, Filter::Forward);
    let state = game.state(&"3x1/3xx/5/oo3/1o3 x 0".parse().unwrap()).unwrap();
    for test in TESTS {
        let cutoff = Separated::new(&game, Distances::estimated(board), test, TieRule::Mover);
        let mut search = Mcts::new(Uct::new(C), FirstFarthest, cutoff, MctsConfig::default(), 1);
        let found = search.search(&game, &state, 0, Limits::expansions(1000), &Default::default());
        assert!(game.is_legal(&state, found.best.unwrap()), "{test:?}");
        assert!((1000..1100).contains(&found.spent.expansions_counted()), "{test:?}");
    }
}

#[test]
fn players_keep_their_readings() {
    for (name, reading) in [
        ("end0", (SeparationTest::Beyond, TieRule::Mover)),
        ("end1", (SeparationTest::Beyond, TieRule::Mover)),
        ("end2", (SeparationTest::Beyond, TieRule::Mover)),
        ("end0,separation=root,ties=draw", (SeparationTest::Root, TieRule::Draw)),
    ] {
        let Config::Uct(uct) = Roster::built_in().config(name).unwrap() else { panic!("{name} is no UCT player") };
        assert_eq!((uct.separation, uct.ties), reading, "{name}");
    }
    let error = Roster::built_in().config("base0,ties=draw").unwrap_err().to_string();
    assert!(error.contains("go with `end=separated`"), "{error}");
}
