//! Evaluations of states, and tests that end playouts.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};
use sternhalma_data::{CellSet, Side};
use sternhalma_ggp::Game;
use sternhalma_ggp::alpha_beta::Heuristic;
use sternhalma_ggp::mcts::{Cutoff, Evaluator, MoveEvaluator};

use crate::distances::Distances;
use crate::rules::{Action, ChineseCheckers, GameState, Outcome};

const PLAYERS: [Side; 2] = [Side::X, Side::O];

/// Returns the distances of both armies, `x` first.
#[inline]
fn both(distances: &Distances, game: &ChineseCheckers, state: &GameState) -> [f64; 2] {
    PLAYERS.map(|player| {
        let (army, rank) = game.ranked(state, player);
        distances.of(army, rank)
    })
}

/// Returns the lead of the player to move, as a value of alpha-beta search.
fn lead(of: [f64; 2], state: &GameState) -> f64 {
    let mover = state.player() as usize;
    of[1 - mover] - of[mover]
}

/// Sorts moves by advance, longest first, for early cutoffs of alpha-beta
/// search.
fn farthest_first(game: &ChineseCheckers, state: &GameState, moves: &mut [Action]) {
    moves.sort_by_key(|action| action.map_or(0, |mv| -game.advance(state.player(), mv)));
}

/// The difference of the two table distances [Roschke and Sturtevant 2013,
/// section 4.1]. The evaluation also ends heuristic playouts.
#[derive(Clone, Debug)]
pub struct TableDifference {
    /// The source of distances.
    pub distances: Distances,
    /// The reward per move of difference: 0.5 + weight · difference.
    pub weight: f64,
}

impl Evaluator<ChineseCheckers> for TableDifference {
    #[inline]
    fn evaluate(&mut self, game: &ChineseCheckers, state: &GameState, values: &mut [f64]) {
        let [x, o] = both(&self.distances, game, state);
        values[0] = 0.5 + self.weight * (o - x);
        values[1] = 0.5 + self.weight * (x - o);
    }
}

impl Heuristic<ChineseCheckers> for TableDifference {
    fn value(&mut self, game: &ChineseCheckers, state: &GameState) -> f64 {
        lead(both(&self.distances, game, state), state)
    }

    fn order(&mut self, game: &ChineseCheckers, state: &GameState, moves: &mut [Action]) {
        farthest_first(game, state, moves);
    }
}

/// The value of being on move, in moves. With equal distances the player to
/// move arrives first. If the player to move is one move behind, that player
/// arrives second.
const TO_MOVE: f64 = 0.5;

/// The difference of the two table distances after each move, with half a move
/// for the opponent, who moves next. After a final move the evaluation is the
/// goal. The cost is one look-up per move.
#[derive(Clone, Debug)]
pub struct TableForesight {
    /// The source of distances.
    pub distances: Distances,
    /// The reward per move of difference.
    pub weight: f64,
}

impl MoveEvaluator<ChineseCheckers> for TableForesight {
    fn evaluate_moves(
        &mut self,
        game: &ChineseCheckers,
        state: &GameState,
        role: usize,
        moves: &[Action],
        values: &mut Vec<f32>,
    ) {
        let (army, rank) = game.ranked(state, PLAYERS[1 - role]);
        let other = self.distances.of(army, rank) - TO_MOVE;
        values.extend(moves.iter().map(|&action| {
            let mut after = *state;
            game.play_action(&mut after, action);
            if game.is_terminal(&after) {
                return f32::from(game.goal(&after, role)) / 100.0;
            }
            let (army, rank) = game.ranked(&after, PLAYERS[role]);
            (0.5 + self.weight * (other - self.distances.of(army, rank))) as f32
        }));
    }
}

/// The difference of the mean rows to the goal, with rows of the goal
/// counted as 0 [Roschke and Sturtevant 2013, section 4.1: "average
/// position"].
#[derive(Clone, Debug)]
pub struct MeanRow {
    /// The cells of each row, in goal order.
    rows: Vec<CellSet>,
    /// The last row with a cell of the goal.
    goal_rows: usize,
    pieces: f64,
}

impl MeanRow {
    /// Creates the evaluation for a board.
    pub fn new(game: &ChineseCheckers) -> MeanRow {
        let geometry = game.geometry();
        let last = sternhalma_data::State::goal(game.board()).cells().last().expect("an army has a piece");
        let rows = (0..geometry.cells()).map(sternhalma_data::Cell::new).map(|cell| geometry.row_of(cell));
        let mut rows: Vec<CellSet> = rows.collect();
        rows.dedup();
        MeanRow { rows, goal_rows: geometry.row(last), pieces: game.board().pieces() as f64 }
    }

    /// Returns the mean number of rows between the pieces of a player and its goal; smaller is better.
    fn mean(&self, game: &ChineseCheckers, state: &GameState, player: Side) -> f64 {
        let army = sternhalma_data::State::from_army(game.board(), player, state.army(player)).cells();
        let rows = self.rows.iter().enumerate().skip(self.goal_rows + 1);
        let sum: usize = rows.map(|(row, cells)| (row - self.goal_rows) * (army & *cells).len()).sum();
        sum as f64 / self.pieces
    }
}

impl Heuristic<ChineseCheckers> for MeanRow {
    fn value(&mut self, game: &ChineseCheckers, state: &GameState) -> f64 {
        lead(PLAYERS.map(|player| self.mean(game, state, player)), state)
    }

    fn order(&mut self, game: &ChineseCheckers, state: &GameState, moves: &mut [Action]) {
        farthest_first(game, state, moves);
    }
}

/// The states of a simulation in which the separation of the armies is tested.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SeparationTest {
    /// Those beyond the tree.
    #[default]
    Beyond,
    /// All but the root.
    Tree,
    /// All.
    Root,
}

/// The winner of a race of separated armies with equal distances.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TieRule {
    /// The player to move, which arrives first if no piece meets another.
    #[default]
    Mover,
    /// The other player.
    Other,
    /// The first player.
    X,
    /// Nobody.
    Draw,
}

/// A cutoff that ends a playout when the armies are separated: every `x` piece
/// is beyond the centre row, every `o` piece on the other side [Roschke and
/// Sturtevant 2013, section 4.2].
///
/// The player with the smaller distance wins. The paper does not say in which states of a simulation the test applies,
/// nor which player wins a tie.
#[derive(Clone, Debug)]
pub struct Separated {
    distances: Distances,
    test: SeparationTest,
    ties: TieRule,
    /// The cells beyond the centre row, by player.
    beyond: [CellSet; 2],
}

impl Separated {
    /// Creates the test for a board.
    pub fn new(game: &ChineseCheckers, distances: Distances, test: SeparationTest, ties: TieRule) -> Separated {
        let geometry = game.geometry();
        let centre = geometry.size() - 1;
        let cells = || (0..geometry.cells()).map(sternhalma_data::Cell::new);
        let beyond = cells().filter(|&cell| geometry.row(cell) > centre).collect();
        let before = cells().filter(|&cell| geometry.row(cell) < centre).collect();
        Separated { distances, test, ties, beyond: [beyond, before] }
    }

    /// Returns the source of distances.
    pub fn distances(&self) -> &Distances {
        &self.distances
    }

    /// Returns whether the armies are separated. Separated armies can only meet
    /// by a jump to the centre row.
    #[inline]
    pub fn holds(&self, state: &GameState) -> bool {
        PLAYERS.iter().all(|&player| state.army(player).is_subset(self.beyond[player as usize]))
    }

    /// Returns the outcome of the race if the armies are separated.
    #[inline]
    pub fn outcome(&self, game: &ChineseCheckers, state: &GameState) -> Option<Outcome> {
        let mover = state.player();
        self.holds(state).then(|| {
            let lead = lead(both(&self.distances, game, state), state);
            match (lead.total_cmp(&0.0), self.ties) {
                (Ordering::Greater, _) | (Ordering::Equal, TieRule::Mover) => Outcome::Won(mover),
                (Ordering::Less, _) | (Ordering::Equal, TieRule::Other) => Outcome::Won(mover.other()),
                (Ordering::Equal, TieRule::X) => Outcome::Won(Side::X),
                (Ordering::Equal, TieRule::Draw) => Outcome::Draw,
            }
        })
    }
}

impl Cutoff<ChineseCheckers> for Separated {
    #[inline]
    fn cut(&mut self, game: &ChineseCheckers, state: &GameState, _: u32, rewards: &mut [f64]) -> bool {
        let Some(outcome) = self.outcome(game, state) else { return false };
        debug_assert!(!game.is_terminal(state));
        match outcome {
            Outcome::Draw => rewards.fill(0.5),
            Outcome::Won(winner) => {
                rewards[winner as usize] = 1.0;
                rewards[winner.other() as usize] = 0.0;
            }
        }
        true
    }

    #[inline]
    fn tree_from(&self) -> u32 {
        match self.test {
            SeparationTest::Beyond => u32::MAX,
            SeparationTest::Tree => 1,
            SeparationTest::Root => 0,
        }
    }
}
