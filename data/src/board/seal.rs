//! Goals that are sealed by pieces of the opponent, after [Sturtevant 2019, Definition 3].
//!
//! The *reach* of a cell consists of its neighbors and of the cells from which one jump leads to it: two steps away in a
//! straight line. The pieces of a player *close* a region of empty cells if they stand on every cell outside the region
//! that is in the reach of one of its cells. The cell between the two ends of a jump is itself a neighbor of the region,
//! so it needs no condition of its own.
//!
//! The pieces *seal* a goal if they close an empty cell of it even without one of them. That piece can then move for
//! ever: it stands outside the wall, or inside the region, where the others close a larger one.

use super::cell::{Cell, CellSet};
use super::geometry::Geometry;
use super::moves::Move;
use super::position::Position;
use super::setup::Board;
use super::side::Side;

/// A sealed part of a goal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Seal {
    /// The empty cells that no piece can enter. At least one of them is in the goal.
    pub region: CellSet,
    /// The pieces around the region and inside it.
    pub wall: CellSet,
    /// The pieces that can move for ever: those outside the wall or, if there are none, those inside it without each of
    /// which the others close the region.
    pub free: CellSet,
}

/// The rule against blocked goals on a board: a player may not make a move after which its pieces
/// seal the goal of the opponent.
///
/// ```
/// use sternhalma_data::board::SealRule;
/// use sternhalma_data::{Board, Position, Side};
///
/// let board = Board::new(9, 6)?;
/// let sealed: Position = "7oo/7oo/8o/8o/9/9/x8/xx7/1xx5x x 20".parse()?;
/// let (side, seal) = SealRule::new(board).sealed(&sealed).unwrap();
/// assert_eq!((side, board.geometry().cells_text(seal.region)), (Side::X, "a1".to_owned()));
/// assert_eq!(board.geometry().cells_text(seal.wall), "a2,b1,a3,c1");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct SealRule {
    geometry: &'static Geometry,
    /// The reach of each cell.
    reach: Vec<CellSet>,
    /// By the player whose pieces seal: the goal of the opponent.
    goals: [CellSet; 2],
    /// By the player whose pieces seal: the cells of all walls.
    walls: [CellSet; 2],
    patterns: Patterns,
}

/// The number of pieces of the smallest wall, except in [`Patterns::Any`]: the reach of the tip.
const SMALLEST_WALL: usize = 4;

/// The seals that are possible on a board. The tests enumerate them.
#[derive(Clone, Copy, Debug)]
enum Patterns {
    /// None: a wall has at least four pieces, and a further piece must move.
    None,
    /// Only the four pieces around the empty tip, by the player whose pieces seal.
    Tip([TipPattern; 2]),
    /// Only regions in these cells, by the player whose pieces seal.
    Zone([CellSet; 2]),
    /// Others too.
    Any,
}

#[derive(Clone, Copy, Debug)]
struct TipPattern {
    tip: CellSet,
    wall: CellSet,
}

/// The moves of an army that may seal a goal. All others do not.
#[derive(Clone, Copy, Debug)]
pub enum Suspects {
    /// Moves from cells of `from` to the gap of a wall. All of them seal.
    Gap {
        /// The cells of the pieces.
        from: CellSet,
        /// The gap.
        gap: CellSet,
    },
    /// Moves of pieces in these cells, if they leave a region of one cell.
    Single(CellSet),
    /// Moves from cells of `from`, and moves to cells of `to`.
    Some {
        /// The cells of the first moves.
        from: CellSet,
        /// The destinations of the others.
        to: CellSet,
    },
    /// All moves.
    All,
}

/// Returns some cells as `x` and `o` see them from their homes.
fn zones(board: Board, cells: &[usize]) -> [CellSet; 2] {
    let zone: CellSet = cells.iter().map(|&cell| Cell::new(cell)).collect();
    [zone, zone.rotate_180(board.cells())]
}

impl SealRule {
    /// Creates the rule for a board.
    pub fn new(board: Board) -> SealRule {
        let geometry = board.geometry();
        let reach_of = |cell| {
            let jumps: CellSet = geometry.jumps(cell).iter().map(|jump| jump.to).collect();
            geometry.neighbors(cell) | jumps
        };
        let reach: Vec<CellSet> = (0..board.cells()).map(|cell| reach_of(Cell::new(cell))).collect();
        let goals = Side::BOTH.map(|side| board.goal(side.other()));
        let tip = |cell: usize| TipPattern { tip: Cell::new(cell).into(), wall: reach[cell] };
        let patterns = match board.pieces() {
            ..=4 => Patterns::None,
            5..=6 if board.size() >= 5 => Patterns::Tip([tip(0), tip(board.cells() - 1)]),
            7..=8 if board.size() >= 7 => Patterns::Zone(zones(board, &[0, 1, 2])),
            // Three rows, and the ends of the fourth.
            9..=10 if board.size() >= 7 => Patterns::Zone(zones(board, &[0, 1, 2, 3, 4, 5, 6, 9])),
            _ => Patterns::Any,
        };
        let mut rule = SealRule { geometry, reach, goals, walls: [CellSet::EMPTY; 2], patterns };
        rule.walls = Side::BOTH.map(|side| {
            rule.possible(side).iter().fold(CellSet::EMPTY, |walls, cell| walls | rule.reach[cell.index()])
        });
        rule
    }

    /// Returns whether an army can seal the goal of the opponent with one move, or has sealed it. `true` may be
    /// wrong, `false` never is.
    #[inline]
    pub fn is_near(&self, army: CellSet, side: Side) -> bool {
        matches!(self.patterns, Patterns::Any) || (army & self.walls[side as usize]).len() + 1 >= SMALLEST_WALL
    }

    /// Returns the part of the opponent's goal that the pieces of `side` seal, if there is one.
    pub fn seal(&self, army: CellSet, others: CellSet, side: Side) -> Option<Seal> {
        let possible = self.possible(side);
        let mut rest = (self.goals[side as usize] & possible) - army - others;
        // Cells that are in no sealed region and in no wall.
        let mut open = others | (CellSet::first_cells(self.reach.len()) - possible - army);
        while let Some(start) = rest.first() {
            let (region, reach, is_open) = self.region(start, army, open, side);
            if is_open {
                open |= region;
            } else {
                let wall = reach - region;
                let outside = army - wall;
                let free = if outside.is_empty() { self.free_inside(start, army, others, side) } else { outside };
                if !free.is_empty() {
                    return Some(Seal { region, wall, free });
                }
            }
            rest -= region;
        }
        None
    }

    /// Returns the pieces of an army without each of which the others close a cell, given that all of them do.
    #[cold]
    fn free_inside(&self, cell: Cell, army: CellSet, others: CellSet, side: Side) -> CellSet {
        let possible = self.possible(side);
        let is_free = |&piece: &Cell| {
            let rest = army.without(piece);
            let open = others | (CellSet::first_cells(self.reach.len()) - possible - rest);
            !self.region(cell, rest, open, side).2
        };
        (army & possible).iter().filter(is_free).collect()
    }

    /// Returns the cells that can be in a sealed region.
    #[inline]
    fn possible(&self, side: Side) -> CellSet {
        match &self.patterns {
            Patterns::None => CellSet::EMPTY,
            Patterns::Tip(patterns) => patterns[side as usize].tip,
            Patterns::Zone(zones) => zones[side as usize],
            Patterns::Any => CellSet::first_cells(self.reach.len()),
        }
    }

    /// Returns the empty cells that are connected to `start`, with their reach. Stops as soon as the
    /// reach has a cell of `open`, and returns whether it has.
    #[inline]
    fn region(&self, start: Cell, army: CellSet, open: CellSet, side: Side) -> (CellSet, CellSet, bool) {
        let mut region = CellSet::single(start);
        let (mut rest, mut reach) = (region, CellSet::EMPTY);
        // The pieces of the opponent are usually ahead.
        let next = |rest: CellSet| if side == Side::X { rest.last() } else { rest.first() };
        while let Some(cell) = next(rest) {
            reach |= self.reach[cell.index()];
            if !(reach & open).is_empty() {
                return (region, reach, true);
            }
            let found = self.reach[cell.index()] - army - region;
            region |= found;
            rest = rest.without(cell) | found;
        }
        (region, reach, false)
    }

    /// Returns the moves that may seal. `is_sealed` is whether the army has sealed the goal already;
    /// otherwise a move that seals either leaves the region or fills a gap of the wall.
    #[inline]
    pub fn suspects(&self, army: CellSet, others: CellSet, side: Side, is_sealed: bool) -> Option<Suspects> {
        match &self.patterns {
            Patterns::None => None,
            _ if is_sealed => Some(Suspects::All),
            Patterns::Any => Some(Suspects::All),
            Patterns::Tip(patterns) => {
                let TipPattern { tip, wall } = patterns[side as usize];
                let gap = wall - army;
                let is_open = !gap.bits().is_power_of_two() || !((gap | tip) & others).is_empty();
                let from = if tip.is_subset(army) { tip } else { army - wall };
                (!is_open).then_some(Suspects::Gap { from, gap })
            }
            Patterns::Zone(zones) => {
                let zone = zones[side as usize];
                let empty = zone - army - others;
                // The missing pieces of walls around the cells that may be in a region.
                let (mut gaps, mut may_close) = (CellSet::EMPTY, false);
                for cell in empty {
                    let reach = self.reach[cell.index()];
                    let gap = reach - army - zone;
                    if (reach & others).is_empty() && gap.len() <= 1 {
                        (gaps, may_close) = (gaps | gap, true);
                    }
                }
                // A region with a cell that is empty now, or one with only the cell that a piece leaves.
                let some = Suspects::Some { from: zone, to: gaps | empty };
                Some(if may_close { some } else { Suspects::Single(zone) })
            }
        }
    }

    /// Returns the destinations of a piece that do not seal the goal, among `to`.
    #[inline]
    pub fn allowed(
        &self,
        suspects: Suspects,
        army: CellSet,
        others: CellSet,
        side: Side,
        from: Cell,
        to: CellSet,
    ) -> CellSet {
        match suspects {
            Suspects::Gap { from: pieces, gap } if pieces.contains(from) => to - gap,
            Suspects::Single(zone) if zone.contains(from) => {
                // The reach of a cell of a zone has fewer cells than the army.
                let gap = self.reach[from.index()] - army;
                if gap.bits().is_power_of_two() { to - gap } else { to }
            }
            Suspects::Some { from: pieces, to: gaps } if !pieces.contains(from) => {
                let suspects = to & gaps;
                if suspects.is_empty() {
                    to
                } else {
                    (to - suspects) | self.without_seals(army, others, side, from, suspects)
                }
            }
            Suspects::Some { .. } | Suspects::All => self.without_seals(army, others, side, from, to),
            _ => to,
        }
    }

    /// Returns the destinations of a piece that do not seal the goal, by a full test of each.
    fn without_seals(&self, army: CellSet, others: CellSet, side: Side, from: Cell, to: CellSet) -> CellSet {
        let rest = army.without(from);
        let seals = |&cell: &Cell| self.seal(rest.with(cell), others, side).is_some();
        to - to.iter().filter(seals).collect::<CellSet>()
    }

    /// Returns the part of a goal that is sealed in a position, with the player whose pieces seal it.
    pub fn sealed(&self, position: &Position) -> Option<(Side, Seal)> {
        Side::BOTH.into_iter().find_map(|side| {
            let seal = self.seal(position.army(side), position.army(side.other()), side)?;
            Some((side, seal))
        })
    }

    /// Returns the moves of the player to move that do not seal the goal of the opponent.
    pub fn moves(&self, position: &Position) -> Vec<Move> {
        let mut moves = Vec::new();
        self.each_piece(position, self.sealed(position).is_some(), |from, to| {
            moves.extend(to.iter().map(|to| Move { from, to }));
        });
        moves
    }

    /// Calls `visit` with each piece of the player to move and its destinations.
    #[inline]
    fn each_piece(&self, position: &Position, is_sealed: bool, mut visit: impl FnMut(Cell, CellSet)) {
        let side = position.side_to_move();
        let (army, others) = (position.army(side), position.army(side.other()));
        let suspects = self.suspects(army, others, side, is_sealed);
        for from in army {
            let to = self.geometry.destinations((army | others).without(from), from);
            visit(from, suspects.map_or(to, |suspects| self.allowed(suspects, army, others, side, from, to)));
        }
    }

    /// Returns the number of sequences of moves, as [`Position::perft`] counts them, in which no move
    /// seals the goal of the opponent.
    pub fn perft(&self, position: &Position, depth: u32) -> u64 {
        self.count(position, depth, self.sealed(position).is_some())
    }

    fn count(&self, position: &Position, depth: u32, is_sealed: bool) -> u64 {
        let mut count = 0;
        match depth {
            0 => count = 1,
            1 => self.each_piece(position, is_sealed, |_, to| count += to.len() as u64),
            _ => self.each_piece(position, is_sealed, |from, to| {
                let after = |to| self.count(&position.after(Move { from, to }), depth - 1, is_sealed);
                count += to.iter().map(after).sum::<u64>();
            }),
        }
        count
    }
}

#[cfg(test)]
mod tests;
