//! The rules of a game with two armies: which positions are over or illegal, and which moves are legal.

use super::cell::{Cell, CellSet};
use super::geometry::Geometry;
use super::moves::Move;
use super::position::Position;
use super::rule_set::{BlockedGoal, RuleSet, Switches, WonAlready};
use super::seal::SealRule;
use super::setup::Board;
use super::side::Side;

/// What a rule set says about a position.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Standing {
    /// The player to move moves, or passes if no move is legal.
    Open,
    /// The player to move has lost: the opponent has filled its goal.
    Lost,
    /// The player to move has won: the opponent has filled the goal of this player.
    Won,
    /// No game has this position.
    Illegal,
}

/// A rule set on a board.
///
/// ```
/// use sternhalma_data::board::{GameRules, Standing};
/// use sternhalma_data::{Board, Position, RuleSet};
///
/// let board = Board::new(5, 3)?;
/// let rules = GameRules::new(RuleSet::Sturtevant2019, board);
/// let start = Position::initial(board);
/// assert_eq!(rules.standing(&start), Standing::Open);
/// assert_eq!(rules.moves(&start).len(), 6);
/// # Ok::<(), sternhalma_data::BoardError>(())
/// ```
#[derive(Clone, Debug)]
pub struct GameRules {
    board: Board,
    geometry: &'static Geometry,
    switches: Switches,
    seal: Option<SealRule>,
    /// By player, the tip of the opponent's goal, if it may not be sealed off.
    tips: Option<[Tip; 2]>,
}

/// The tip of a goal.
#[derive(Clone, Copy, Debug)]
struct Tip {
    cell: Cell,
    /// The cells from which a step or a jump leads to the tip.
    around: CellSet,
}

impl GameRules {
    /// Creates the rules of a rule set for a board.
    pub fn new(rules: RuleSet, board: Board) -> GameRules {
        GameRules::with_switches(rules.switches(), board)
    }

    /// Creates the rules of some switches for a board.
    pub fn with_switches(switches: Switches, board: Board) -> GameRules {
        let geometry = board.geometry();
        let tip = |side: Side| {
            let cell = Cell::new(if side == Side::O { board.cells() - 1 } else { 0 });
            let jumps: CellSet = geometry.jumps(cell).iter().map(|jump| jump.to).collect();
            Tip { cell, around: geometry.neighbors(cell) | jumps }
        };
        // `x` starts around cell 0, which is the tip of the goal of `o`.
        let tips = (switches.blocked_goal == BlockedGoal::Tip).then(|| Side::BOTH.map(tip));
        GameRules { board, geometry, switches, seal: SealRule::of_switch(switches.blocked_goal, board), tips }
    }

    /// Returns the board.
    pub fn board(&self) -> Board {
        self.board
    }

    /// Returns the rules as switches.
    pub fn switches(&self) -> Switches {
        self.switches
    }

    /// Returns the rule against sealed goals, if there is one.
    pub fn seal_rule(&self) -> Option<&SealRule> {
        self.seal.as_ref()
    }

    /// Returns whether the goal of `side` is full and has one of its pieces.
    #[inline]
    pub fn has_won(&self, army: CellSet, others: CellSet, side: Side) -> bool {
        let goal = self.board.goal(side);
        goal.is_subset(army | others) && !(goal & army).is_empty()
    }

    /// Returns what a position is for the player `side` with `army`, which is to move.
    pub fn standing_of(&self, army: CellSet, others: CellSet, side: Side) -> Standing {
        let has_won = self.has_won(army, others, side);
        let seals = || self.seals_tip(army, others, side) || self.seals_tip(others, army, side.other());
        if has_won && self.switches.won_already == WonAlready::Illegal || seals() {
            Standing::Illegal
        } else if self.has_won(others, army, side.other()) {
            Standing::Lost
        } else if has_won {
            Standing::Won
        } else {
            Standing::Open
        }
    }

    /// Returns what a position is for the player to move.
    pub fn standing(&self, position: &Position) -> Standing {
        let side = position.side_to_move();
        self.standing_of(position.army(side), position.army(side.other()), side)
    }

    /// Returns whether an army seals off the empty tip of the opponent's goal, against the rule.
    fn seals_tip(&self, army: CellSet, others: CellSet, side: Side) -> bool {
        self.tips.is_some_and(|tips| {
            let tip = tips[side as usize];
            !(army | others).contains(tip.cell) && tip.around.is_subset(army)
        })
    }

    /// Returns whether `side` may make a move after which the armies are these.
    pub fn may_reach(&self, army: CellSet, others: CellSet, side: Side) -> bool {
        let is_forbidden = self.seal.as_ref().is_some_and(|seal| seal.forbids(army, others, side).is_some());
        !is_forbidden && self.standing_of(others, army, side.other()) != Standing::Illegal
    }

    /// Returns whether a piece of `side` may move between two cells, as far as the rule about leaving the goal is
    /// concerned.
    #[inline]
    pub fn may_leave(&self, side: Side, from: Cell, to: Cell) -> bool {
        let goal = self.board.goal(side);
        !self.switches.locks_goal || !goal.contains(from) || goal.contains(to)
    }

    /// Returns the cells that a piece of `side` on `from` may move to.
    pub fn destinations(&self, army: CellSet, others: CellSet, side: Side, from: Cell) -> CellSet {
        let rest = army.without(from);
        let to = self.geometry.destinations(rest | others, from).iter();
        to.filter(|&to| self.may_leave(side, from, to) && self.may_reach(rest.with(to), others, side)).collect()
    }

    /// Returns the legal moves of the player to move.
    pub fn moves(&self, position: &Position) -> Vec<Move> {
        let side = position.side_to_move();
        let (army, others) = (position.army(side), position.army(side.other()));
        let moves = |from| self.destinations(army, others, side, from).iter().map(move |to| Move { from, to });
        army.iter().flat_map(moves).collect()
    }

    /// Returns the patterns of which an army has at least one if its moves or its positions may be restricted or over.
    /// Without a pattern the position is open for both players, and a move of `side` into it is legal. `army` and
    /// `others` are the pieces of `side` and of the opponent; the patterns depend on `others` only.
    pub fn special_patterns(&self, others: CellSet, side: Side) -> Vec<Pattern> {
        let [goal, home] = [self.board.goal(side), self.board.goal(side.other())];
        let all = Pattern { needed: CellSet::EMPTY, some: CellSet::EMPTY, count: 0 };
        let mut patterns = Vec::new();
        // The goal of the player is full with one of its pieces.
        if !goal.is_subset(others) {
            patterns.push(Pattern { needed: goal - others, ..all });
        }
        // That of the opponent is full with one of the others.
        if !(home & others).is_empty() {
            patterns.push(Pattern { needed: home - others, ..all });
        }
        if let Some((some, count)) = self.seal.as_ref().and_then(|seal| seal.walls(side)) {
            patterns.push(Pattern { some, count, ..all });
        }
        if let Some(tips) = self.tips {
            let [tip, own] = [tips[side as usize], tips[side.other() as usize]];
            if !others.contains(tip.cell) && (tip.around & others).is_empty() {
                patterns.push(Pattern { needed: tip.around, ..all });
            }
            if !others.contains(own.cell) && own.around.is_subset(others) {
                patterns.push(all);
            }
        }
        patterns
    }
}

/// Cells that an army has.
#[derive(Clone, Copy, Debug)]
pub struct Pattern {
    /// The army has all of these cells.
    pub needed: CellSet,
    /// The army has at least `count` of these cells.
    pub some: CellSet,
    /// See `some`.
    pub count: usize,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::States;

    /// Special patterns may be too wide, but never miss a position.
    #[test]
    fn positions_without_a_special_pattern_are_open_and_can_be_reached() {
        for (size, pieces) in [(3, 2), (3, 4), (4, 2), (4, 6), (5, 2)] {
            let board = Board::new(size, pieces).unwrap();
            let sets = || States::of_ranks(board.pieces(), 0..board.states()).map(|(_, state)| state.cells());
            for rules in RuleSet::SOLVED.map(|rules| GameRules::new(rules, board)) {
                for others in sets().step_by(if size == 4 && pieces == 6 { 97 } else { 1 }) {
                    for side in Side::BOTH {
                        let patterns = rules.special_patterns(others, side);
                        let has = |army: CellSet, pattern: &Pattern| {
                            pattern.needed.is_subset(army) && (pattern.some & army).len() >= pattern.count
                        };
                        for army in sets().filter(|&army| (army & others).is_empty()) {
                            if !patterns.iter().any(|pattern| has(army, pattern)) {
                                assert_eq!(rules.standing_of(army, others, side), Standing::Open);
                                assert_eq!(rules.standing_of(others, army, side.other()), Standing::Open);
                                assert!(rules.may_reach(army, others, side));
                            }
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn rule_sets_forbid_the_moves_of_their_definitions() {
        let legal = |pieces, position: &str, mv: &str| {
            let board = Board::new(5, pieces).unwrap();
            let position: Position = position.parse().unwrap();
            let mv = board.geometry().parse_move(mv).unwrap();
            RuleSet::SOLVED.map(|rules| GameRules::new(rules, board).moves(&position).contains(&mv))
        };
        // In the order of the rule sets: paper, blocked-goal-1, blocked-goal-2, sturtevant-2019, locked-goal.
        let leaves_the_goal = legal(3, "oo3/4x/5/1o3/xx3 x 20", "e4-e3");
        assert_eq!(leaves_the_goal, [true, true, true, true, false]);
        let fills_the_goal_of_the_opponent = legal(3, "2x1o/2x2/x4/5/oo3 x 20", "a3-a2");
        assert_eq!(fills_the_goal_of_the_opponent, [true, true, true, false, true]);
        let seals_the_tip = legal(6, "1oooo/3oo/x4/x2xx/1x1x1 x 20", "d1-c1");
        assert_eq!(seals_the_tip, [true, false, false, false, true]);
    }
}
