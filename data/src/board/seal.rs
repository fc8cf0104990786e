//! Goals that are sealed by pieces of the opponent, after [Sturtevant 2019, Definition 3].
//!
//! The *reach* of a cell consists of its neighbors and of the cells from which one jump leads to it: two steps away in a
//! straight line. The pieces of a player *close* a region of empty cells if they stand on every cell outside the region
//! that is in the reach of one of its cells. The cell between the two ends of a jump is itself a neighbor of the region,
//! so it needs no condition of its own.
//!
//! The pieces *seal* a goal if they close an empty cell of it even without one of them. That piece can then move for
//! ever: it stands outside the wall, or inside the region, where the others close a larger one.

use std::sync::Arc;

use super::cell::{Cell, CellSet};
use super::colex::MOST_PIECES;
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
    reach: Arc<[CellSet]>,
    /// By the player whose pieces seal: the goal of the opponent.
    goals: [CellSet; 2],
    patterns: Patterns,
}

/// The number of pieces of the smallest wall, except in [`Patterns::Any`]: the reach of the tip.
const SMALLEST_WALL: usize = 4;

/// The cells of a zone are among this many first ones, as the player sees them.
const MOST_ZONE: usize = 10;

/// The seals that are possible on a board. The tests enumerate them.
#[derive(Clone, Debug)]
enum Patterns {
    /// None: a wall has at least four pieces, and a further piece must move.
    None,
    /// Only regions in zones, by the player whose pieces seal.
    Zones(Arc<[Zone; 2]>),
    /// Others too.
    Any,
}

/// Cells that may be in a sealed region, with all walls around them.
#[derive(Debug)]
struct Zone {
    cells: CellSet,
    /// The cells of all walls.
    walls: CellSet,
    /// The first cell of the part of the board with the zone.
    start: usize,
    /// For each set of empty cells of the zone, at its [`index`](Zone::index): where its regions begin in `regions`.
    starts: Vec<u32>,
    /// The connected regions that have a cell of the goal and that an army can close.
    regions: Vec<Region>,
}

/// A connected set of cells, and the cells of its reach outside it.
#[derive(Clone, Copy, Debug)]
struct Region {
    cells: CellSet,
    wall: CellSet,
}

/// The moves of an army that may seal a goal. All others do not.
#[derive(Clone, Copy, Debug)]
pub enum Suspects {
    /// Moves from cells of a zone or into it, and moves that fill a gap of a wall.
    Zone {
        /// The missing cells of walls of which only one is missing.
        gaps: CellSet,
    },
    /// All moves.
    All,
}

impl Zone {
    /// Creates a zone of cells, which `side` sees from its home.
    fn new(board: Board, side: Side, cells: &[usize], reach: &[CellSet]) -> Zone {
        let seen: CellSet = cells.iter().map(|&cell| Cell::new(cell)).collect();
        let cells = if side == Side::X { seen } else { seen.rotate_180(board.cells()) };
        let walls = cells.iter().fold(CellSet::EMPTY, |walls, cell| walls | reach[cell.index()]);
        let start = if side == Side::X { 0 } else { board.cells() - MOST_ZONE };
        let mut zone = Zone { cells, walls, start, starts: vec![0], regions: Vec::new() };
        for index in 0..1 << MOST_ZONE {
            let empty = CellSet::from_bits(index << start);
            let mut rest = if empty.is_subset(cells) { empty & board.goal(side.other()) } else { CellSet::EMPTY };
            while let Some(cell) = rest.first() {
                let region = Region::around(cell, reach, |cells| cells & empty, CellSet::EMPTY);
                let region = region.expect("no cell is open");
                rest -= region.cells;
                if region.wall.len() <= board.pieces() {
                    zone.regions.push(region);
                }
            }
            zone.starts.push(zone.regions.len() as u32);
        }
        zone
    }

    /// Returns the index of a set of cells of the zone.
    #[inline]
    fn index(&self, cells: CellSet) -> usize {
        (cells.bits() >> self.start) as usize & ((1 << MOST_ZONE) - 1)
    }

    /// Returns the regions if the empty cells of the zone are `empty`.
    #[inline]
    fn regions(&self, empty: CellSet) -> &[Region] {
        let index = self.index(empty);
        &self.regions[self.starts[index] as usize..self.starts[index + 1] as usize]
    }

    /// Returns the seal of an army, if there is one.
    #[inline]
    fn seal(&self, army: CellSet, others: CellSet) -> Option<Seal> {
        let empty = self.cells - army - others;
        let closed = self.regions(empty).iter().filter(|region| region.wall.is_subset(army));
        closed.map(|&region| (region, self.free(region, empty, army))).find_map(|(region, free)| {
            let Region { cells, wall } = region;
            (!free.is_empty()).then_some(Seal { region: cells, wall, free })
        })
    }

    /// Returns whether an army seals the goal.
    #[inline]
    fn is_sealed(&self, army: CellSet, others: CellSet) -> bool {
        let empty = self.cells - army - others;
        let closed = |region: &&Region| region.wall.is_subset(army);
        self.regions(empty).iter().filter(closed).any(|&region| !self.free(region, empty, army).is_empty())
    }

    /// Returns the free pieces of an army that closes a region.
    #[inline]
    fn free(&self, region: Region, empty: CellSet, army: CellSet) -> CellSet {
        let outside = army - region.wall;
        if outside.is_empty() { self.free_inside(region, empty, army) } else { outside }
    }

    /// Returns the pieces of an army without each of which the others close a region, if they all are in its wall.
    #[cold]
    fn free_inside(&self, region: Region, empty: CellSet, army: CellSet) -> CellSet {
        let is_free = |&piece: &Cell| {
            let mut larger = self.regions(empty.with(piece)).iter();
            larger.any(|larger| region.cells.is_subset(larger.cells) && larger.wall.is_subset(army))
        };
        (army & self.cells).iter().filter(is_free).collect()
    }

    /// Returns the cells that complete a wall around empty cells, if a piece from elsewhere moves there, and whether
    /// there is a complete wall.
    #[inline]
    fn gaps(&self, empty: CellSet, army: CellSet) -> (CellSet, bool) {
        let mut found = (CellSet::EMPTY, false);
        for region in self.regions(empty) {
            let missing = region.wall - army;
            match missing.len() {
                0 => found.1 = true,
                1 => found.0 |= missing,
                _ => {}
            }
        }
        found
    }

    /// Returns the destinations of a piece that do not seal the goal, among `to`, given the gaps of walls before the
    /// move.
    #[inline]
    fn allowed(&self, gaps: CellSet, army: CellSet, others: CellSet, from: Cell, to: CellSet) -> CellSet {
        let is_inside = self.cells.contains(from);
        if !is_inside && (to & (self.cells | gaps)).is_empty() || to.is_empty() {
            return to;
        }
        let rest = army.without(from);
        let (gaps, is_closed) = if is_inside { self.gaps(self.cells - rest - others, rest) } else { (gaps, false) };
        // If the pieces that stay are a complete wall, the one that moves is free, unless it moves inside.
        let mut seals = if is_closed { to - self.cells } else { CellSet::EMPTY };
        for cell in to & (self.cells | gaps) {
            if self.is_sealed(rest.with(cell), others) {
                seals = seals.with(cell);
            }
        }
        to - seals
    }
}

impl Region {
    /// Returns the region of the empty cells that are connected to `start`; `empty` returns the empty ones of some
    /// cells.
    ///
    /// # Errors
    ///
    /// Returns the cells that were found first if one of them has a cell of `open` in its reach.
    fn around(
        start: Cell,
        reach: &[CellSet],
        empty: impl Fn(CellSet) -> CellSet,
        open: CellSet,
    ) -> Result<Region, CellSet> {
        let (mut cells, mut rest, mut reached) = (CellSet::single(start), CellSet::single(start), CellSet::EMPTY);
        while let Some(cell) = rest.pop_first() {
            reached |= reach[cell.index()];
            if !(reached & open).is_empty() {
                return Err(cells);
            }
            let found = empty(reach[cell.index()]) - cells;
            cells |= found;
            rest |= found;
        }
        Ok(Region { cells, wall: reached - cells })
    }
}

impl SealRule {
    /// Creates the rule for a board.
    pub fn new(board: Board) -> SealRule {
        let geometry = board.geometry();
        let reach_of = |cell| {
            let jumps: CellSet = geometry.jumps(cell).iter().map(|jump| jump.to).collect();
            geometry.neighbors(cell) | jumps
        };
        let reach: Arc<[CellSet]> = (0..board.cells()).map(|cell| reach_of(Cell::new(cell))).collect();
        let goals = Side::BOTH.map(|side| board.goal(side.other()));
        let zones =
            |cells: &[usize]| Patterns::Zones(Arc::new(Side::BOTH.map(|side| Zone::new(board, side, cells, &reach))));
        let patterns = match board.pieces() {
            ..=4 => Patterns::None,
            5..=6 if board.size() >= 5 => zones(&[0]),
            7..=8 if board.size() >= 7 => zones(&[0, 1, 2]),
            // Three rows, and the ends of the fourth.
            9..=10 if board.size() >= 7 => zones(&[0, 1, 2, 3, 4, 5, 6, 9]),
            _ => Patterns::Any,
        };
        SealRule { geometry, reach, goals, patterns }
    }

    /// Returns whether an army can seal the goal of the opponent with one move, or has sealed it. `true` may be
    /// wrong, `false` never is.
    #[inline]
    pub fn is_near(&self, army: CellSet, side: Side) -> bool {
        match &self.patterns {
            Patterns::None => false,
            Patterns::Zones(zones) => (army & zones[side as usize].walls).len() + 1 >= SMALLEST_WALL,
            Patterns::Any => true,
        }
    }

    /// Returns the part of the opponent's goal that the pieces of `side` seal, if there is one.
    pub fn seal(&self, army: CellSet, others: CellSet, side: Side) -> Option<Seal> {
        match &self.patterns {
            Patterns::None => None,
            Patterns::Zones(zones) => zones[side as usize].seal(army, others),
            Patterns::Any => self.seal_anywhere(army, others, side),
        }
    }

    /// Returns the seal of an army, by a search of all regions with empty cells of the goal.
    fn seal_anywhere(&self, army: CellSet, others: CellSet, side: Side) -> Option<Seal> {
        let mut rest = self.goals[side as usize] - army - others;
        // The pieces of the opponent, and cells that are connected to them.
        let mut open = others;
        while let Some(start) = rest.first() {
            let closed = |army: CellSet, open| Region::around(start, &self.reach, |cells| cells - army, open);
            match closed(army, open) {
                Ok(Region { cells, wall }) => {
                    let is_free = |&piece: &Cell| closed(army.without(piece), others).is_ok();
                    let outside = army - wall;
                    let free = if outside.is_empty() { army.iter().filter(is_free).collect() } else { outside };
                    if !free.is_empty() {
                        return Some(Seal { region: cells, wall, free });
                    }
                    rest -= cells;
                }
                Err(cells) => {
                    open |= cells;
                    rest -= cells;
                }
            }
        }
        None
    }

    /// Returns the moves that may seal. `is_sealed` is whether the army has sealed the goal already;
    /// otherwise a move that seals either leaves the region or fills a gap of the wall.
    #[inline]
    pub fn suspects(&self, army: CellSet, others: CellSet, side: Side, is_sealed: bool) -> Option<Suspects> {
        match &self.patterns {
            Patterns::None => None,
            _ if is_sealed => Some(Suspects::All),
            Patterns::Any => Some(Suspects::All),
            Patterns::Zones(zones) => {
                let zone = &zones[side as usize];
                self.is_near(army, side).then(|| Suspects::Zone { gaps: zone.gaps(zone.cells - army - others, army).0 })
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
        match (suspects, &self.patterns) {
            (Suspects::Zone { gaps }, Patterns::Zones(zones)) => {
                zones[side as usize].allowed(gaps, army, others, from, to)
            }
            _ => {
                let rest = army.without(from);
                let seals = |&cell: &Cell| self.seal(rest.with(cell), others, side).is_some();
                to - to.iter().filter(seals).collect::<CellSet>()
            }
        }
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
            _ => {
                let mut forbidden = None;
                self.each_piece(position, is_sealed, |from, to| {
                    for to in to {
                        let after = position.after(Move { from, to });
                        count += match &self.patterns {
                            Patterns::Zones(zones) if depth == 2 && !is_sealed => {
                                self.count_last(&after, &zones[after.side_to_move() as usize], &mut forbidden)
                            }
                            _ => self.count(&after, depth - 1, is_sealed),
                        };
                    }
                });
            }
        }
        count
    }

    /// Returns the number of moves of the player to move in a position without a seal. All calls with the same `known`
    /// have the same army of this player.
    fn count_last(&self, position: &Position, zone: &Zone, known: &mut Option<ForbiddenMoves>) -> u64 {
        let side = position.side_to_move();
        let (army, others) = (position.army(side), position.army(side.other()));
        if !self.is_near(army, side) {
            return position.perft(1);
        }
        let others_near = others & zone.cells;
        let forbidden = match known {
            Some(known) if known.others_near == others_near => known,
            _ => known.insert(ForbiddenMoves::new(zone, army, others_near)),
        };
        let occupied = army | others;
        let destinations = |from: Cell| self.geometry.destinations(occupied.without(from), from);
        army.iter().zip(&forbidden.by_piece).map(|(from, &to)| (destinations(from) - to).len() as u64).sum()
    }
}

/// The moves that the rule forbids to an army without a seal. They depend on the pieces of the opponent in the zone
/// only, so they stay the same after most moves of the opponent.
struct ForbiddenMoves {
    /// The pieces of the opponent in the zone.
    others_near: CellSet,
    /// The forbidden destinations of each piece, in the order of the cells.
    by_piece: [CellSet; MOST_PIECES],
}

impl ForbiddenMoves {
    fn new(zone: &Zone, army: CellSet, others_near: CellSet) -> ForbiddenMoves {
        let (gaps, _) = zone.gaps(zone.cells - army - others_near, army);
        let mut by_piece = [CellSet::EMPTY; MOST_PIECES];
        // The pieces of the opponent outside the zone are not known, so some of these cells are occupied.
        let to = CellSet::first_cells(Cell::LIMIT) - army;
        for (from, forbidden) in army.iter().zip(&mut by_piece) {
            *forbidden = to - zone.allowed(gaps, army, others_near, from, to);
        }
        ForbiddenMoves { others_near, by_piece }
    }
}

#[cfg(test)]
mod tests;
