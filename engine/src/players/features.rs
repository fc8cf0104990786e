//! The features of Chinese Checkers for strategies of general game playing.

use std::sync::Arc;

use sternhalma_data::{CellSet, Side};
use sternhalma_ggp::features::{GoalTree, GoalTreeBuilder, StateFeatures};
use sternhalma_ggp::policy::PolicyGame;
use sternhalma_ggp::util::FluentSet;
use sternhalma_ggp::{Game, Turn};

use crate::rules::{ChineseCheckers, Filter, GameState};

const PLAYERS: [Side; 2] = [Side::X, Side::O];

/// The features of the game. There is one fact for each cell and army, `(cell
/// x y army)` as in a rulesheet.
///
/// A role's highest goal is its win condition: each cell of its goal corner is
/// occupied, and at least one of them by its own army.
#[derive(Clone, Debug)]
struct BoardFeatures(Arc<Parts>);

#[derive(Debug)]
struct Parts {
    /// The elements of each fact.
    elements_of: Vec<[u32; 4]>,
    elements: usize,
    goals: [GoalTree; 2],
}

impl BoardFeatures {
    fn new(game: &ChineseCheckers) -> BoardFeatures {
        let geometry = game.geometry();
        let side = geometry.size() as u32;
        let mut elements_of = Vec::new();
        for cell in CellSet::first_cells(game.board().cells()).iter() {
            let (x, y) = geometry.coordinates(cell);
            for player in PLAYERS {
                // The elements are the name of the fact and the values of its
                // three arguments.
                let arguments = [1 + u32::from(x), 1 + side + u32::from(y), 1 + 2 * side + player as u32];
                elements_of.push([0, arguments[0], arguments[1], arguments[2]]);
            }
        }
        let goals = PLAYERS.map(|player| goal_tree(game, player));
        BoardFeatures(Arc::new(Parts { elements_of, elements: 3 + 2 * side as usize, goals }))
    }
}

impl PolicyGame for ChineseCheckers {
    fn features(&self) -> Option<Box<dyn StateFeatures<ChineseCheckers>>> {
        Some(Box::new(BoardFeatures::new(self)))
    }
}

/// Returns the number of the fact that a player's piece is on a cell.
fn fact(cell: usize, player: Side) -> usize {
    2 * cell + player as usize
}

fn goal_tree(game: &ChineseCheckers, player: Side) -> GoalTree {
    let mut tree = GoalTreeBuilder::new();
    let mut leaf = |cell, player| {
        let signal = tree.fact(fact(cell, player) as u32);
        tree.leaf(signal)
    };
    let corner: Vec<usize> = game.goal_corner(player).iter().map(|cell| cell.index()).collect();
    let leaves: Vec<[u32; 2]> = corner.iter().map(|&cell| PLAYERS.map(|player| leaf(cell, player))).collect();
    let mut conditions: Vec<u32> = leaves.iter().map(|occupied| tree.any(occupied)).collect();
    let own: Vec<u32> = leaves.iter().map(|occupied| occupied[player as usize]).collect();
    conditions.push(tree.any(&own));
    let root = tree.all(&conditions);
    tree.finish(root)
}

impl StateFeatures<ChineseCheckers> for BoardFeatures {
    fn facts(&self) -> usize {
        self.0.elements_of.len()
    }

    fn elements(&self) -> usize {
        self.0.elements
    }

    fn elements_of(&self, fact: usize) -> &[u32] {
        &self.0.elements_of[fact]
    }

    fn mark(&self, _: &ChineseCheckers, state: &GameState, facts: &mut FluentSet) {
        facts.clear();
        for player in PLAYERS {
            state.army(player).iter().for_each(|cell| facts.insert(fact(cell.index(), player)));
        }
    }

    /// Returns the number of moves; 1 for the waiting player.
    fn mobility(&self, game: &ChineseCheckers, state: &GameState, role: usize) -> u32 {
        match game.turn(state) {
            Turn::One(acting) if acting == role => (game.pieces(state, Filter::All).count() as u32).max(1),
            _ => 1,
        }
    }

    fn duplicate(&self) -> Box<dyn StateFeatures<ChineseCheckers>> {
        Box::new(self.clone())
    }

    fn goal_tree(&self, role: usize) -> Option<&GoalTree> {
        self.0.goals.get(role)
    }

    /// The goals of a win, a draw and a loss are 100, 50 and 0.
    fn mean_goal(&self, _: usize) -> f64 {
        0.5
    }
}

#[cfg(test)]
mod tests {
    use sternhalma_data::{Board, Cell};
    use sternhalma_ggp::features::{DegreeBuffers, Successors, one_by_one};

    use super::*;

    #[test]
    fn a_goal_is_as_near_as_its_corner_is_full() {
        let game = ChineseCheckers::new(Board::new(5, 3).unwrap(), Filter::All);
        let anatomy = BoardFeatures::new(&game);
        let mut facts = FluentSet::new(anatomy.facts());
        let state = game.initial();
        anatomy.mark(&game, &state, &mut facts);
        assert_eq!(facts.iter().count(), 6);
        let mut states = Successors::default();
        states.reset(1, anatomy.facts(), 2);
        facts.iter().for_each(|fact| states.insert(0, fact));
        let mut degrees = Vec::new();
        anatomy.goal_tree(0).unwrap().degrees(&states, &mut DegreeBuffers::default(), &mut degrees);
        // The corner is full of the other player's pieces, so three of four
        // conditions hold.
        assert_eq!(degrees[0].value, 0.75);
        // Each cell satisfies one of two conditions, and no own piece is in
        // the corner: (3/2 + 0) / 4.
        assert_eq!(degrees[0].tie_break, 0.375);
    }

    #[test]
    fn successors_and_mobility_are_those_of_the_moves() {
        let game = ChineseCheckers::new(Board::new(5, 3).unwrap(), Filter::All);
        let anatomy = BoardFeatures::new(&game);
        let state = game.initial();
        let mut moves = Vec::new();
        game.legal(&state, 0, &mut moves);
        assert_eq!(anatomy.mobility(&game, &state, 0) as usize, moves.len());
        assert_eq!(anatomy.mobility(&game, &state, 1), 1);
        let mut found = Successors::default();
        one_by_one(&anatomy, &game, &state, &moves, true, &mut found);
        for (successor, &mv) in moves.iter().enumerate() {
            let mut after = state;
            game.play(&mut after, &[mv]);
            let reported = |player: Side| {
                let cells = CellSet::first_cells(game.board().cells()).iter();
                let holds = |&cell: &Cell| {
                    found.holding(fact(cell.index(), player))[successor / 64] >> (successor % 64) & 1 == 1
                };
                cells.filter(holds).collect::<CellSet>()
            };
            assert_eq!(PLAYERS.map(reported), PLAYERS.map(|player| after.army(player)));
            let mut replies = Vec::new();
            game.legal(&after, 1, &mut replies);
            assert_eq!(found.mobility(1)[successor] as usize, replies.len());
        }
    }
}
