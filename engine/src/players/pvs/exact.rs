//! Comparison of races, root moves and claims with exact solutions of small boards.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rand::seq::IteratorRandom;
use rand::{RngExt, SeedableRng};
use sternhalma_builder::TableBuilder;
use sternhalma_data::{Board, Cell, CellSet, Move, Position, Prefix, Rank, RuleSet, Side, State as ArmyState, Table};
use sternhalma_ggp::{Game, Limits, MemoryBudget, Rng};

use crate::distances::Distances;
use crate::players::follower::Follower;
use crate::players::interface::{EnginePlayer, SearchValue};
use crate::players::roster::Roster;
use crate::rules::{Action, ChineseCheckers, Filter, GameState, Outcome, Repetitions};

fn distances(board: Board) -> Distances {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("table.sht");
    TableBuilder::new(Prefix::whole(board)).threads(1).build(&path, &()).unwrap();
    Distances::new(Arc::new(Table::open(&path).unwrap()))
}

/// The game without repetition, solved by retrograde analysis. A position is the armies of the player to move and of
/// its opponent, turned such that the player to move is x.
struct Solution {
    game: ChineseCheckers,
    armies: Vec<CellSet>,
    /// The number of moves whose result is not known to be a win of the opponent, or one of the constants below.
    results: Vec<u8>,
}

const WON: u8 = 255;
const LOST: u8 = 254;
const IMPOSSIBLE: u8 = 253;

impl Solution {
    fn new(board: Board) -> Solution {
        let game = ChineseCheckers::new(board, Filter::All).with_rules(RuleSet::Paper);
        let mut armies = Vec::new();
        add_armies(CellSet::EMPTY, board.pieces(), board.cells(), &mut armies);
        armies.sort_by_key(|&army| rank(army));
        assert!(armies.iter().enumerate().all(|(index, &army)| rank(army) == index));
        let results = vec![IMPOSSIBLE; armies.len() * armies.len()];
        let mut solution = Solution { game, armies, results };
        let (mut found, mut passes) = (Vec::new(), Vec::new());
        for own in 0..solution.armies.len() {
            for other in 0..solution.armies.len() {
                let (army, others) = (solution.armies[own], solution.armies[other]);
                if !(army & others).is_empty() {
                    continue;
                }
                let index = own * solution.armies.len() + other;
                let moves = solution.game.geometry().army_moves(army, others).count();
                let result = match solution.over(army, others) {
                    Some(result) => result,
                    None if moves == 0 => 1,
                    None => moves as u8,
                };
                if result >= LOST {
                    found.push(index);
                } else if moves == 0 {
                    passes.push(index);
                }
                assert!(moves < IMPOSSIBLE as usize);
                solution.results[index] = result;
            }
        }
        while let Some(index) = found.pop() {
            let (army, others) = solution.at(index);
            let result = solution.results[index];
            // The moves of the opponent that led here are its moves back.
            for Move { from, to } in solution.game.geometry().army_moves(others, army) {
                let before = solution.index(solution.turned(others.without(from).with(to)), solution.turned(army));
                solution.reach(before, result, &mut found);
            }
            let before = solution.index(solution.turned(others), solution.turned(army));
            if passes.contains(&before) {
                solution.reach(before, result, &mut found);
            }
        }
        solution
    }

    /// Notes that a position has a move to one with this result.
    fn reach(&mut self, before: usize, result: u8, found: &mut Vec<usize>) {
        let known = &mut self.results[before];
        if *known >= IMPOSSIBLE {
            return;
        }
        *known = match result {
            LOST => WON,
            _ if *known == 1 => LOST,
            _ => *known - 1,
        };
        if *known >= LOST {
            found.push(before);
        }
    }

    /// Returns the result for the player to move if the game is over. The opponent has moved last.
    fn over(&self, army: CellSet, others: CellSet) -> Option<u8> {
        let has_won = |goal: CellSet, winner| goal.is_subset(army | others) && !(goal & winner).is_empty();
        if has_won(self.game.goal_corner(Side::O), others) {
            return Some(LOST);
        }
        has_won(self.game.goal_corner(Side::X), army).then_some(WON)
    }

    fn turned(&self, army: CellSet) -> CellSet {
        let last = self.game.board().cells() - 1;
        army.iter().map(|cell| Cell::new(last - cell.index())).collect()
    }

    fn index(&self, army: CellSet, others: CellSet) -> usize {
        rank(army) * self.armies.len() + rank(others)
    }

    fn at(&self, index: usize) -> (CellSet, CellSet) {
        (self.armies[index / self.armies.len()], self.armies[index % self.armies.len()])
    }

    /// Returns the result for the player to move: `Some(true)` for a win, and `None` if no player can force a win.
    fn of(&self, state: &GameState) -> Option<bool> {
        let (own, other) = (state.army(state.player()), state.army(state.player().other()));
        let index = match state.player() {
            Side::X => self.index(own, other),
            Side::O => self.index(self.turned(own), self.turned(other)),
        };
        match self.results[index] {
            WON => Some(true),
            LOST => Some(false),
            _ => None,
        }
    }

    /// Returns the numbers of races, of positions with adjacent rows after the armies have passed each other, and of
    /// those among both whose winner is not the player with the smaller distance.
    fn races(&self, distances: &Distances) -> [[u64; 2]; 2] {
        let board = self.game.board();
        let of = |side| {
            let distance = move |&army: &CellSet| {
                let state = ArmyState::from_army(board, side, army);
                distances.of(state, Rank::of(state))
            };
            self.armies.iter().map(distance).collect::<Vec<f64>>()
        };
        let (own, other) = (of(Side::X), of(Side::O));
        let row = |cell: Option<Cell>| self.game.geometry().row(cell.expect("armies have pieces"));
        let mut found = [[0; 2]; 2];
        for (index, &result) in self.results.iter().enumerate() {
            let (army, others) = self.at(index);
            let (first, last) = (row(army.first()), row(others.last()));
            if result == IMPOSSIBLE || first <= last || self.over(army, others).is_some() {
                continue;
            }
            let (own, other) = (own[index / self.armies.len()], other[index % self.armies.len()]);
            let counts = &mut found[usize::from(first == last + 1)];
            counts[0] += 1;
            counts[1] += u64::from(result != if own <= other { WON } else { LOST });
        }
        found
    }
}

fn add_armies(army: CellSet, pieces: usize, cells: usize, out: &mut Vec<CellSet>) {
    if pieces == 0 {
        out.push(army);
        return;
    }
    for cell in pieces - 1..cells {
        add_armies(army.with(Cell::new(cell)), pieces - 1, cell, out);
    }
}

/// Returns the rank of an army among those of its size, by its largest cell first.
fn rank(army: CellSet) -> usize {
    let binomial = |n: usize, k: usize| (0..k).fold(1, |product, i| product * (n - i.min(n)) / (i + 1));
    (1..).zip(army.iter()).map(|(number, cell)| binomial(cell.index(), number)).sum()
}

fn races(side: u64, pieces: u64) -> [[u64; 2]; 2] {
    let board = Board::new(side, pieces).unwrap();
    Solution::new(board).races(&distances(board))
}

#[test]
fn races_end_as_the_table_says() {
    // Adjacent rows are no race: a piece gains moves over those of the opponent.
    assert_eq!(races(4, 3), [[361, 0], [3800, 12]]);
    assert_eq!(races(4, 4)[0][1], 0);
}

#[test]
#[ignore = "takes minutes"]
fn races_end_as_the_table_says_on_larger_boards() {
    for (side, pieces) in [(4, 5), (4, 6), (5, 3), (5, 4)] {
        let found = races(side, pieces);
        println!("{side}x{side} with {pieces} pieces: {found:?}");
        assert_eq!(found[0][1], 0, "{side}x{side} with {pieces} pieces: {found:?}");
    }
}

/// A game of random moves, with its placements.
struct RandomGame {
    start: GameState,
    actions: Vec<Action>,
    now: GameState,
    played: Repetitions,
}

impl RandomGame {
    fn at(game: &ChineseCheckers, start: GameState) -> RandomGame {
        RandomGame { start, actions: Vec::new(), now: start, played: Repetitions::new(game, &start) }
    }

    fn play(&mut self, game: &ChineseCheckers, action: Action) {
        game.play_action(&mut self.now, action);
        self.played.push(game, &self.now);
        self.actions.push(action);
    }

    fn is_over(&self) -> bool {
        self.now.outcome().is_some() || self.played.is_over()
    }
}

fn legal(game: &ChineseCheckers, state: &GameState) -> Vec<Action> {
    let mut moves = Vec::new();
    game.legal(state, state.player() as usize, &mut moves);
    moves
}

fn random_placement(game: &ChineseCheckers, rng: &mut Rng) -> GameState {
    loop {
        let cells: CellSet = (0..game.board().cells()).map(Cell::new).collect();
        let x: CellSet = cells.iter().sample(rng, game.board().pieces()).into_iter().collect();
        let o: CellSet = (cells - x).iter().sample(rng, game.board().pieces()).into_iter().collect();
        let mover = if rng.random() { Side::X } else { Side::O };
        let state = game.state(&Position::new(game.geometry(), x, o, mover, 10).unwrap()).unwrap();
        if state.outcome().is_none() {
            return state;
        }
    }
}

/// Returns a game in which the pieces go back to where they were `rounds` times, where this is possible.
fn game_with_repeats(game: &ChineseCheckers, start: GameState, rounds: u32, rng: &mut Rng) -> RandomGame {
    let mut played = RandomGame::at(game, start);
    for _ in 0..rounds {
        let mut back = Vec::new();
        for _ in 0..2 {
            let Some(Some(mv)) = legal(game, &played.now).into_iter().choose(rng) else { return played };
            played.play(game, Some(mv));
            back.push(Some(Move { from: mv.to, to: mv.from }));
            if played.is_over() {
                return played;
            }
        }
        for action in back {
            if !legal(game, &played.now).contains(&action) || played.is_over() {
                return played;
            }
            played.play(game, action);
        }
    }
    // Between none and three further moves.
    for _ in 0..rng.random_range(0..4) {
        if played.is_over() {
            break;
        }
        let action = legal(game, &played.now).into_iter().choose(rng).unwrap();
        played.play(game, action);
    }
    played
}

/// Returns whether the player to move wins within some plies against every reply, with the placements that have occurred.
fn wins_within(game: &ChineseCheckers, state: &GameState, played: &mut Repetitions, plies: u32) -> bool {
    let me = state.player();
    plies > 0
        && legal(game, state).into_iter().any(|action| {
            result_after(game, state, action, played, me, |child, played| loses_within(game, child, played, plies - 1))
        })
}

fn loses_within(game: &ChineseCheckers, state: &GameState, played: &mut Repetitions, plies: u32) -> bool {
    let other = state.player().other();
    plies > 0
        && legal(game, state).into_iter().all(|action| {
            result_after(game, state, action, played, other, |child, played| {
                wins_within(game, child, played, plies - 1)
            })
        })
}

/// Returns whether `winner` wins after an action: at once, or else by `then`.
fn result_after(
    game: &ChineseCheckers,
    state: &GameState,
    action: Action,
    played: &mut Repetitions,
    winner: Side,
    then: impl FnOnce(&GameState, &mut Repetitions) -> bool,
) -> bool {
    let mut child = *state;
    game.play_action(&mut child, action);
    if let Some(outcome) = child.outcome() {
        return outcome == Outcome::Won(winner);
    }
    let before = played.len();
    let is_draw = played.push(game, &child);
    let wins = !is_draw && then(&child, played);
    played.truncate(before);
    wins
}

/// Checks claims in games with repeats, and returns the numbers of claims of wins and of losses.
fn check_claims(side: u64, count: usize, most_plies: u32, seed: u64) -> [u32; 2] {
    let board = Board::new(side, 3).unwrap();
    let game = ChineseCheckers::new(board, Filter::All).with_rules(RuleSet::NEWEST);
    let (table, solution) = (distances(board), Solution::new(board));
    let mut players: Vec<Follower> = ["sternhalma,table_megabytes=1", "ab-avg", "ab-lookup,moves=all"]
        .iter()
        .map(|name| Roster::built_in().config(name).unwrap())
        .map(|config| {
            Follower::new(
                config.prepare(game.setup(), Some(&table)).unwrap().start(&MemoryBudget::unlimited()).unwrap(),
            )
        })
        .collect();
    let mut rng = Rng::seed_from_u64(seed);
    let (mut positions, mut claims) = (0, [0; 2]);
    while positions < count {
        let rounds = rng.random_range(1..=2);
        let start = random_placement(&game, &mut rng);
        let played = game_with_repeats(&game, start, rounds, &mut rng);
        if played.is_over() || played.played.none_is_due() {
            continue;
        }
        positions += 1;
        let text = |value| format!("{} {:?}: {value:?}", game.position(&played.start), played.actions);
        for follower in &mut players {
            let player = follower.follow(&played.start, &played.actions, 1);
            let mut last = None;
            player.think(&played.now, Limits::expansions(2000), &AtomicBool::new(false), &mut |info| last = info.value);
            let (is_won, plies) = match last {
                Some(SearchValue::Won(plies)) => (true, plies),
                Some(SearchValue::Lost(plies)) => (false, plies),
                _ => continue,
            };
            claims[usize::from(!is_won)] += 1;
            // A draw by repetition makes no win and no loss.
            assert_eq!(solution.of(&played.now), Some(is_won), "{}", text(last));
            let mut history = played.played.clone();
            let holds = match is_won {
                _ if plies > most_plies => true,
                true => wins_within(&game, &played.now, &mut history, plies),
                false => loses_within(&game, &played.now, &mut history, plies),
            };
            assert!(holds, "{}", text(last));
        }
    }
    claims
}

#[test]
fn claims_after_repeats_are_true() {
    let claims = check_claims(4, 200, 5, 1);
    assert!(claims[0] >= 20 && claims[1] >= 5, "{claims:?}");
}

#[test]
#[ignore = "takes minutes"]
fn claims_after_repeats_are_true_in_2000_positions() {
    // Fewer positions of the larger board are decided within the limit of nodes.
    for (side, most_plies, [wins, losses]) in [(4, 7, [200, 40]), (5, 6, [40, 5])] {
        let claims = check_claims(side, 1000, most_plies, 2);
        println!("{side}x{side}: {claims:?}");
        assert!(claims[0] >= wins && claims[1] >= losses, "{claims:?}");
    }
}

/// Returns the action that the default player chooses after a game.
fn chosen(game: &ChineseCheckers, table: &Distances, played: &RandomGame) -> Action {
    let config = Roster::built_in().config("sternhalma,table_megabytes=1").unwrap();
    let mut follower =
        Follower::new(config.prepare(game.setup(), Some(table)).unwrap().start(&MemoryBudget::unlimited()).unwrap());
    let player: &mut dyn EnginePlayer = follower.follow(&played.start, &played.actions, 1);
    player.choose(&played.now, Limits::expansions(20_000), &AtomicBool::new(false)).action
}

#[test]
fn a_move_back_that_wins_is_played() {
    let board = Board::new(5, 3).unwrap();
    let game = ChineseCheckers::new(board, Filter::All).with_rules(RuleSet::NEWEST);
    let table = distances(board);
    let start = game.state(&"5/o3o/3x1/5/2oxx o 10".parse().unwrap()).unwrap();
    let mut played = RandomGame::at(&game, start);
    for text in ["a4-a3", "d1-b1", "a3-a4"] {
        let mv = game.geometry().parse_move(text).unwrap();
        played.play(&game, Some(mv));
    }
    let chosen = chosen(&game, &table, &played).unwrap();
    assert_eq!(game.geometry().move_text(chosen), "b1-d1");
}

/// Positions with one winning move, whose placement has occurred once.
#[test]
fn the_only_winning_move_is_played_although_it_returns() {
    let board = Board::new(4, 3).unwrap();
    let game = ChineseCheckers::new(board, Filter::All).with_rules(RuleSet::NEWEST);
    let (table, solution) = (distances(board), Solution::new(board));
    let mut rng = Rng::seed_from_u64(3);
    let mut positions = 0;
    while positions < 60 {
        // The player to move goes away and comes back with the winning move, while the opponent comes and goes.
        let mut played = RandomGame::at(&game, random_placement(&game, &mut rng));
        let mut back = Vec::new();
        for _ in 0..3 {
            let action = match back.len() {
                2 => back[0],
                _ => legal(&game, &played.now).into_iter().choose(&mut rng).unwrap(),
            };
            let Some(mv) = action.filter(|_| legal(&game, &played.now).contains(&action)) else { break };
            played.play(&game, action);
            back.push(Some(Move { from: mv.to, to: mv.from }));
            if played.is_over() {
                break;
            }
        }
        if played.is_over() || back.len() < 3 {
            continue;
        }
        let wins = |action: &Action| {
            let mut child = played.now;
            game.play_action(&mut child, *action);
            child
                .outcome()
                .map_or_else(|| solution.of(&child) == Some(false), |end| end == Outcome::Won(played.now.player()))
        };
        let winning: Vec<Action> = legal(&game, &played.now).into_iter().filter(wins).collect();
        if winning != [back[1]] {
            continue;
        }
        positions += 1;
        assert_eq!(chosen(&game, &table, &played), winning[0], "{} {:?}", game.position(&played.start), played.actions);
    }
}
