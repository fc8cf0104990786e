//! Goals that are sealed by pieces of the opponent, after [Sturtevant 2019, Definition 3].
//!
//! The *reach* of a cell consists of its neighbors and of the cells from which one jump leads to it: two steps away in a
//! straight line. The pieces of a player divide the other cells into *parts*: two cells are connected if one is in the
//! reach of the other. No piece of the opponent leaves its part while these pieces stand still. The cell between the two
//! ends of a jump is a neighbor of both, so it needs no condition of its own.
//!
//! The pieces of a player *seal* the goal of the opponent if, without one of them, a part other than the largest has
//! fewer pieces of the opponent than cells of that goal. The piece that is taken away can move for ever. If it is in the
//! part, and the part has only cells of the goal, it always fills one of them. Inside a part, the pieces of the opponent
//! can take any cells, so only their number matters, and no move of the opponent changes whether its goal is sealed.
//!
//! In the first version of the rule, a wall with a piece of the opponent behind it sealed nothing.

use std::sync::Arc;

use super::cell::{Cell, CellSet};
use super::colex::MAX_PIECES;
use super::geometry::Geometry;
use super::moves::Move;
use super::position::Position;
use super::rule_set::{BlockedGoal, RuleSet};
use super::setup::Board;
use super::side::Side;

/// A sealed part of a goal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Seal {
    /// The cells behind the wall without a piece of the opponent. At least one of them is in the goal.
    pub region: CellSet,
    /// The pieces around the region and inside it.
    pub wall: CellSet,
    /// The pieces that can move for ever: without each of them, the others seal a cell of the region.
    pub free: CellSet,
}

/// The rule against blocked goals on a board: a player may not make a move after which its pieces seal the goal of the
/// opponent, unless that move wins.
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
    version: Version,
    patterns: Patterns,
}

/// The versions of the rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Version {
    /// Only regions without a piece of the opponent are sealed, and no move is exempt.
    First,
    /// The rule of this page.
    Second,
}

/// The number of pieces of the smallest wall, except in [`Patterns::Any`]: the reach of the tip.
const SMALLEST_WALL: usize = 4;

/// The cells of a zone are among this many first ones, as the player sees them.
const MAX_ZONE: usize = 10;

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

/// Cells that may be in a sealed part, with all walls around them.
#[derive(Debug)]
struct Zone {
    cells: CellSet,
    /// The cells of all walls.
    walls: CellSet,
    /// The first cell of the section of the board with the zone.
    start: usize,
    version: Version,
    /// For each set of open cells of the zone, at its [`index`](Zone::index): where its parts begin in `parts`.
    starts: Vec<u32>,
    /// The parts that may be sealed.
    parts: Vec<Part>,
}

/// A part that may be sealed, perhaps only without a piece that stands in it.
#[derive(Clone, Copy, Debug)]
struct Part {
    cells: CellSet,
    /// The pieces of the wall, and the piece that is taken away, if it stands in the part.
    needed: CellSet,
    /// The part is sealed if it has fewer pieces of the opponent.
    fill: usize,
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

impl Part {
    /// Returns whether an army seals the part, if its other pieces are outside the zone.
    #[inline]
    fn is_sealed(&self, army: CellSet, others: CellSet) -> bool {
        self.needed.is_subset(army) && self.is_short(others)
    }

    /// Returns whether the pieces of the opponent in the part are too few to fill the goal there.
    #[inline]
    fn is_short(&self, others: CellSet) -> bool {
        (self.cells & others).len() < self.fill
    }

    /// Returns whether the part is sealed wherever another one is.
    fn covers(&self, other: &Part) -> bool {
        self.needed.is_subset(other.needed) && self.cells.is_subset(other.cells) && self.fill >= other.fill
    }
}

impl Zone {
    /// Creates a zone of cells, which `side` sees from its home.
    fn new(board: Board, version: Version, side: Side, cells: &[usize], reach: &[CellSet]) -> Zone {
        let seen: CellSet = cells.iter().map(|&cell| Cell::new(cell)).collect();
        let cells = if side == Side::X { seen } else { seen.rotate_180(board.cells()) };
        let walls = cells.iter().fold(CellSet::EMPTY, |walls, cell| walls | reach[cell.index()]);
        let start = if side == Side::X { 0 } else { board.cells() - MAX_ZONE };
        let mut zone = Zone { cells, walls, start, version, starts: vec![0], parts: Vec::new() };
        for index in 0..1 << MAX_ZONE {
            let open = CellSet::from_bits(index << start);
            if open.is_subset(cells) {
                zone.parts.extend(zone.parts_of(board, board.goal(side.other()), open, reach));
            }
            zone.starts.push(zone.parts.len() as u32);
        }
        zone
    }

    /// Returns the parts that may be sealed if the open cells of the zone are `open`.
    fn parts_of(&self, board: Board, goal: CellSet, open: CellSet, reach: &[CellSet]) -> Vec<Part> {
        let mut parts: Vec<Part> = Vec::new();
        let mut add = |start: Cell, open: CellSet, free: Option<Cell>| {
            let region = Region::around(start, reach, |cells| cells & open, CellSet::EMPTY);
            let Region { cells, wall } = region.expect("no cell blocks the search");
            let is_free_inside = free.is_some() && cells.is_subset(goal);
            let fill = match self.version {
                Version::First => {
                    usize::from(!(cells & goal & (open - free.map_or(CellSet::EMPTY, CellSet::single))).is_empty())
                }
                Version::Second => (cells & goal).len() - usize::from(is_free_inside),
            };
            let needed = free.map_or(wall, |free| wall.with(free));
            let part = Part { cells, needed, fill };
            // One piece is not in the wall.
            if fill > 0 && wall.len() < board.pieces() && !parts.iter().any(|known| known.covers(&part)) {
                parts.push(part);
            }
            cells
        };
        let mut rest = open & goal;
        while let Some(cell) = rest.first() {
            rest -= add(cell, open, None);
        }
        for free in self.cells - open {
            add(free, open.with(free), Some(free));
        }
        parts
    }

    /// Returns the open cells of the zone.
    #[inline]
    fn open(&self, army: CellSet, others: CellSet) -> CellSet {
        match self.version {
            Version::First => self.cells - army - others,
            Version::Second => self.cells - army,
        }
    }

    /// Returns the index of a set of cells of the zone.
    #[inline]
    fn index(&self, cells: CellSet) -> usize {
        (cells.bits() >> self.start) as usize & ((1 << MAX_ZONE) - 1)
    }

    /// Returns the parts that an army may seal.
    #[inline]
    fn parts(&self, army: CellSet, others: CellSet) -> &[Part] {
        let index = self.index(self.open(army, others));
        &self.parts[self.starts[index] as usize..self.starts[index + 1] as usize]
    }

    /// Returns whether an army seals the goal.
    #[inline]
    fn is_sealed(&self, army: CellSet, others: CellSet) -> bool {
        self.parts(army, others).iter().any(|part| part.is_sealed(army, others))
    }

    /// Returns the cells outside the army that complete a wall, if a piece from elsewhere moves there, and whether there
    /// is a complete wall.
    #[inline]
    fn gaps(&self, army: CellSet, others: CellSet) -> (CellSet, bool) {
        let mut found = (CellSet::EMPTY, false);
        for part in self.parts(army, others).iter().filter(|part| part.is_short(others)) {
            let missing = part.needed - army;
            match missing.len() {
                0 => found.1 = true,
                1 => found.0 |= missing,
                _ => {}
            }
        }
        found
    }

    /// Returns the destinations of a piece that seal the goal, among `to`, given the gaps of walls before the move.
    #[inline]
    fn seals(&self, gaps: CellSet, army: CellSet, others: CellSet, from: Cell, to: CellSet) -> CellSet {
        let is_inside = self.cells.contains(from);
        if !is_inside && (to & (self.cells | gaps)).is_empty() || to.is_empty() {
            return CellSet::EMPTY;
        }
        let rest = army.without(from);
        let (gaps, is_closed) = if is_inside { self.gaps(rest, others) } else { (gaps, false) };
        // If the pieces that stay seal a part, the one that moves is free, unless it moves into the zone.
        let mut seals = if is_closed { to - self.cells } else { CellSet::EMPTY };
        for cell in to & (self.cells | gaps) {
            if self.is_sealed(rest.with(cell), others) {
                seals = seals.with(cell);
            }
        }
        seals
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
    /// Creates the rule for a board, in its newest version.
    pub fn new(board: Board) -> SealRule {
        SealRule::with_version(board, Version::Second)
    }

    /// Returns the rule of a rule set for a board, if the rule set has one.
    pub fn of(rules: RuleSet, board: Board) -> Option<SealRule> {
        SealRule::of_switch(rules.switches().blocked_goal, board)
    }

    /// Returns the rule of a switch for a board, if the switch has one.
    pub fn of_switch(blocked_goal: BlockedGoal, board: Board) -> Option<SealRule> {
        let version = match blocked_goal {
            BlockedGoal::Allowed | BlockedGoal::Tip => return None,
            BlockedGoal::First => Version::First,
            BlockedGoal::Second => Version::Second,
        };
        Some(SealRule::with_version(board, version))
    }

    fn with_version(board: Board, version: Version) -> SealRule {
        let geometry = board.geometry();
        let reach_of = |cell| {
            let jumps: CellSet = geometry.jumps(cell).iter().map(|jump| jump.to).collect();
            geometry.neighbors(cell) | jumps
        };
        let reach: Arc<[CellSet]> = (0..board.cells()).map(|cell| reach_of(Cell::new(cell))).collect();
        let goals = Side::BOTH.map(|side| board.goal(side.other()));
        let zones = |cells: &[usize]| {
            Patterns::Zones(Arc::new(Side::BOTH.map(|side| Zone::new(board, version, side, cells, &reach))))
        };
        let patterns = match board.pieces() {
            ..=4 => Patterns::None,
            5..=6 if board.size() >= 5 => zones(&[0]),
            7..=8 if board.size() >= 7 => zones(&[0, 1, 2]),
            // Three rows, and the ends of the fourth.
            9..=10 if board.size() >= 7 => zones(&[0, 1, 2, 3, 4, 5, 6, 9]),
            _ => Patterns::Any,
        };
        SealRule { geometry, reach, goals, version, patterns }
    }

    /// Returns whether an army of the board has enough pieces for a wall.
    pub fn is_possible(&self) -> bool {
        !matches!(self.patterns, Patterns::None)
    }

    /// Returns cells of which an army that seals the goal of the opponent has at least this number. `None` if no army
    /// seals it.
    pub fn walls(&self, side: Side) -> Option<(CellSet, usize)> {
        match &self.patterns {
            Patterns::None => None,
            Patterns::Zones(zones) => Some((zones[side as usize].walls, SMALLEST_WALL - 1)),
            Patterns::Any => Some((CellSet::EMPTY, 0)),
        }
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
    #[inline]
    pub fn seal(&self, army: CellSet, others: CellSet, side: Side) -> Option<Seal> {
        match &self.patterns {
            Patterns::None => None,
            Patterns::Zones(zones) if !zones[side as usize].is_sealed(army, others) => None,
            _ => self.seal_anywhere(army, others, side),
        }
    }

    /// Returns the seal by which a move of `side` is illegal, given the armies after it: a move that wins is legal in any
    /// case.
    #[inline]
    pub fn forbids(&self, army: CellSet, others: CellSet, side: Side) -> Option<Seal> {
        self.seal(army, others, side).filter(|_| self.version == Version::First || !self.has_won(army, others, side))
    }

    /// Returns the seal of an army, without knowledge of the seals that are possible on the board.
    fn seal_anywhere(&self, army: CellSet, others: CellSet, side: Side) -> Option<Seal> {
        match self.version {
            Version::First => self.closed_region(army, others, side),
            Version::Second => self.short_part(army, others, side),
        }
    }

    /// Returns whether the goal of `side` is full and has one of its pieces.
    #[inline]
    fn has_won(&self, army: CellSet, others: CellSet, side: Side) -> bool {
        let goal = self.goals[side.other() as usize];
        goal.is_subset(army | others) && !(goal & army).is_empty()
    }

    /// Returns whether a move of `side` may win.
    #[inline]
    fn may_win(&self, army: CellSet, others: CellSet, side: Side) -> bool {
        (self.goals[side.other() as usize] - army - others).len() <= 1
    }

    /// Returns the seal of an army under the second version of the rule.
    #[cold]
    fn short_part(&self, army: CellSet, others: CellSet, side: Side) -> Option<Seal> {
        let goal = self.goals[side as usize];
        let mut rest = CellSet::first_cells(self.geometry.cells()) - army;
        let mut parts = Vec::new();
        while let Some(start) = rest.first() {
            let region = Region::around(start, &self.reach, |cells| cells - army, CellSet::EMPTY);
            let Region { cells, .. } = region.expect("no cell blocks the search");
            rest -= cells;
            parts.push(cells);
        }
        // Without a piece, only the parts in its reach change: they become one with its cell.
        let short_without = |free: Cell| {
            let (mut all, mut joined) = (Vec::with_capacity(parts.len() + 1), CellSet::single(free));
            for &part in &parts {
                if (part & self.reach[free.index()]).is_empty() { all.push(part) } else { joined |= part }
            }
            all.push(joined);
            let size = |&at: &usize| (all[at].len(), (all[at] & others).len(), (all[at] & goal).len());
            let largest = (0..all.len()).max_by_key(size);
            let is_short = |part: CellSet| {
                let fills = part.contains(free) && part.is_subset(goal);
                (part & others).len() + usize::from(fills) < (part & goal).len()
            };
            (0..all.len()).filter(|&at| Some(at) != largest).map(|at| all[at]).find(|&part| is_short(part))
        };
        let mut short = army.iter().filter_map(|free| Some((free, short_without(free)?)));
        let (first, part) = short.next()?;
        let region = part - others;
        let around = part.iter().fold(CellSet::EMPTY, |around, cell| around | self.reach[cell.index()]);
        let same = short.filter(|&(_, part)| !(region & part).is_empty()).map(|(free, _)| free);
        Some(Seal { region, wall: around - part, free: same.collect::<CellSet>().with(first) })
    }

    /// Returns the seal of an army under the first version of the rule, by a search of all regions with empty cells of the
    /// goal.
    fn closed_region(&self, army: CellSet, others: CellSet, side: Side) -> Option<Seal> {
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
                self.is_near(army, side).then(|| Suspects::Zone { gaps: zone.gaps(army, others).0 })
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
        let rest = army.without(from);
        let seals = match (suspects, &self.patterns) {
            (Suspects::Zone { gaps }, Patterns::Zones(zones)) => {
                zones[side as usize].seals(gaps, army, others, from, to)
            }
            _ => to.iter().filter(|&cell| self.seal(rest.with(cell), others, side).is_some()).collect(),
        };
        if self.version == Version::First || seals.is_empty() || !self.may_win(rest, others, side) {
            return to - seals;
        }
        to - seals.iter().filter(|&cell| !self.has_won(rest.with(cell), others, side)).collect::<CellSet>()
    }

    /// Returns the part of a goal that is sealed in a position, with the player whose pieces seal it.
    pub fn sealed(&self, position: &Position) -> Option<(Side, Seal)> {
        Side::BOTH.into_iter().find_map(|side| {
            let seal = self.seal(position.army(side), position.army(side.other()), side)?;
            Some((side, seal))
        })
    }

    /// Returns the moves of the player to move that do not seal the goal of the opponent, or that win.
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
    /// seals the goal of the opponent, unless it wins. Sequences continue after a win.
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
                let side = position.side_to_move();
                let may_win = self.may_win(position.army(side), position.army(side.other()), side);
                self.each_piece(position, is_sealed, |from, to| {
                    for to in to {
                        let after = position.after(Move { from, to });
                        // A move that wins may seal.
                        let is_sealed = is_sealed || may_win && self.sealed(&after).is_some();
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
        // Which of the moves win depends on all pieces of the opponent.
        if self.may_win(army, others, side) {
            return self.count(position, 1, false);
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
    by_piece: [CellSet; MAX_PIECES],
}

impl ForbiddenMoves {
    fn new(zone: &Zone, army: CellSet, others_near: CellSet) -> ForbiddenMoves {
        let (gaps, _) = zone.gaps(army, others_near);
        let mut by_piece = [CellSet::EMPTY; MAX_PIECES];
        // The pieces of the opponent outside the zone are not known, so some of these cells are occupied.
        let to = CellSet::first_cells(Cell::LIMIT) - army;
        for (from, forbidden) in army.iter().zip(&mut by_piece) {
            *forbidden = zone.seals(gaps, army, others_near, from, to);
        }
        ForbiddenMoves { others_near, by_piece }
    }
}

#[cfg(test)]
mod tests;
