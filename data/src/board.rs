//! Boards, the part of a board a table covers, and the geometry of a size.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;
use std::sync::LazyLock;

use thiserror::Error;

use crate::cell::{Cell, CellSet};
use crate::rank::binomial;

/// A board of `size` × `size` cells and the number of pieces of an army.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Board {
    size: u8,
    pieces: u8,
}

/// Why a [`Board`] or a [`Prefix`] cannot be had.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum BoardError {
    /// The size is out of range.
    #[error("a board has a size of 3 to 11 cells, not {0}")]
    Size(u64),
    /// The piece count is out of range.
    #[error("a board of size {size} takes 1 to {most} pieces, not {pieces}")]
    Pieces {
        /// The size of the board.
        size: u8,
        /// The piece count asked for.
        pieces: u64,
        /// The most pieces such a board takes.
        most: u64,
    },
    /// The states cannot be numbered in 64 bits.
    #[error("{pieces} pieces on a board of size {size} have more than 2^64 states")]
    TooManyStates {
        /// The size of the board.
        size: u8,
        /// The piece count.
        pieces: u8,
    },
    /// Two armies do not fit.
    #[error("the homes of two armies of {pieces} overlap on a board of size {size}")]
    HomesOverlap {
        /// The size of the board.
        size: u8,
        /// The piece count.
        pieces: u8,
    },
    /// The covered cells are too few for the army or more than the board has.
    #[error("{pieces} pieces on {cells} cells can be kept within {pieces} to {cells} cells, not {within}")]
    Within {
        /// The covered cells asked for.
        within: u64,
        /// The pieces of the army.
        pieces: u8,
        /// The cells of the board.
        cells: usize,
    },
}

impl Board {
    /// A board of this size with armies of this many pieces.
    ///
    /// # Errors
    /// If `size` is not 3 to 11, `pieces` not 1 to 15 and fewer than the
    /// cells, or the states cannot be numbered in 64 bits.
    pub fn new(size: u64, pieces: u64) -> Result<Board, BoardError> {
        let small =
            u8::try_from(size).ok().filter(|size| Geometry::SIZES.contains(size)).ok_or(BoardError::Size(size))?;
        let cells = size * size;
        let most = 15.min(cells - 1);
        if pieces == 0 || pieces > most {
            let size = small;
            return Err(BoardError::Pieces { size, pieces, most });
        }
        let board = Board { size: small, pieces: pieces as u8 };
        if binomial(board.cells(), board.pieces()).is_none() {
            return Err(BoardError::TooManyStates { size: board.size, pieces: board.pieces });
        }
        Ok(board)
    }

    /// Cells along an edge.
    #[inline]
    pub const fn size(self) -> usize {
        self.size as usize
    }

    /// Pieces of an army.
    #[inline]
    pub const fn pieces(self) -> usize {
        self.pieces as usize
    }

    /// Cells of the board.
    #[inline]
    pub const fn cells(self) -> usize {
        self.size() * self.size()
    }

    /// The number of ways to place the army: C(cells, pieces).
    pub fn states(self) -> u64 {
        Prefix::whole(self).states()
    }

    /// The neighbours and jumps of boards of this size.
    #[inline]
    pub fn geometry(self) -> &'static Geometry {
        Geometry::of_size(self.size)
    }

    /// The home of the player who starts at `a1`: the first `pieces` cells.
    /// Seen from the goal tip these are also the goal.
    #[inline]
    pub const fn home(self) -> CellSet {
        CellSet::first_cells(self.pieces())
    }

    /// Whether the two homes share no cell, as a two-player game needs.
    pub const fn homes_are_apart(self) -> bool {
        2 * self.pieces() <= self.cells()
    }

    /// The board, if a two-player game can be played on it.
    ///
    /// # Errors
    /// If the homes overlap.
    pub fn for_two(self) -> Result<Board, BoardError> {
        let apart = self.homes_are_apart();
        if apart { Ok(self) } else { Err(BoardError::HomesOverlap { size: self.size, pieces: self.pieces }) }
    }
}

impl fmt::Display for Board {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let s = if self.pieces == 1 { "" } else { "s" };
        write!(f, "{0}x{0}, {1} piece{s}", self.size, self.pieces)
    }
}

/// The states whose pieces all lie within the `within` cells nearest the
/// goal: ranks `0 .. C(within, pieces)`, whatever the board.
///
/// The whole board is the prefix with `within` equal to its cells. A prefix
/// is cut into partitions, one a *back piece* cell `b`, which hold the ranks
/// `C(b, pieces) .. C(b + 1, pieces)` (paper 004, section 3 and Table 1).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Prefix {
    board: Board,
    within: u8,
}

impl Prefix {
    /// All states of a board.
    pub const fn whole(board: Board) -> Prefix {
        Prefix { board, within: board.size * board.size }
    }

    /// The states with every piece within the `within` cells nearest the goal.
    ///
    /// # Errors
    /// If `within` is below the pieces or above the cells.
    pub fn new(board: Board, within: u64) -> Result<Prefix, BoardError> {
        if within < board.pieces() as u64 || within > board.cells() as u64 {
            return Err(BoardError::Within { within, pieces: board.pieces, cells: board.cells() });
        }
        Ok(Prefix { board, within: within as u8 })
    }

    /// The board the prefix is of.
    #[inline]
    pub const fn board(self) -> Board {
        self.board
    }

    /// How many cells nearest the goal are covered.
    #[inline]
    pub const fn within(self) -> usize {
        self.within as usize
    }

    /// The covered cells.
    #[inline]
    pub const fn cells(self) -> CellSet {
        CellSet::first_cells(self.within())
    }

    /// Whether every cell of the board is covered.
    #[inline]
    pub const fn is_whole(self) -> bool {
        self.within() == self.board.cells()
    }

    /// The number of states.
    pub fn states(self) -> u64 {
        binomial(self.within(), self.board.pieces()).expect("no prefix has more states than its board")
    }

    /// The back-piece cells that head a partition, nearest first.
    pub fn back_cells(self) -> Range<usize> {
        self.board.pieces() - 1..self.within()
    }

    /// The ranks of the partition with back piece `back`.
    pub fn partition(self, back: usize) -> Range<u64> {
        let edge = |cells| binomial(cells, self.board.pieces()).expect("no prefix has more states than its board");
        edge(back)..edge(back + 1)
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.board.fmt(f)?;
        if self.is_whole() {
            return Ok(());
        }
        write!(f, ", within {} cells", self.within)
    }
}

/// One of the two players.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Side {
    /// The first player, who starts at `a1` and goes to the opposite corner.
    X,
    /// The second player, who goes to `a1`.
    O,
}

impl Side {
    /// The other player.
    #[inline]
    #[must_use]
    pub const fn other(self) -> Side {
        match self {
            Side::X => Side::O,
            Side::O => Side::X,
        }
    }

    /// Turns a set between the board's cell order and the order seen from
    /// this player's goal tip. The function is its own inverse.
    #[inline]
    pub const fn goal_view(self, cells: usize, set: CellSet) -> CellSet {
        match self {
            Side::X => set.turned(cells),
            Side::O => set,
        }
    }

    /// [`goal_view`](Side::goal_view) of one cell.
    #[inline]
    pub const fn goal_view_cell(self, cells: usize, cell: Cell) -> Cell {
        match self {
            Side::X => Cell::new(cells - 1 - cell.index()),
            Side::O => cell,
        }
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Side::X => "x",
            Side::O => "o",
        })
    }
}

impl FromStr for Side {
    type Err = String;

    fn from_str(text: &str) -> Result<Side, String> {
        match text {
            "x" => Ok(Side::X),
            "o" => Ok(Side::O),
            _ => Err(format!("a player is `x` or `o`, not `{text}`")),
        }
    }
}

/// A jump: over one adjacent piece into the cell just beyond.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Jump {
    /// The cell that must hold a piece.
    pub over: Cell,
    /// The cell that must be empty.
    pub to: Cell,
}

/// Coordinates, neighbours and jumps of the cells of a board of one size.
///
/// The two-sided game and the distance tables share it: turning the board by
/// 180° maps neighbours to neighbours and jumps to jumps.
#[derive(Debug)]
pub struct Geometry {
    size: u8,
    coordinates: Vec<(u8, u8)>,
    indices: Vec<Cell>,
    neighbors: Vec<CellSet>,
    jumps: Vec<Vec<Jump>>,
    rows: Vec<CellSet>,
    row_of: Vec<u8>,
    windows: Vec<Window>,
}

/// The cells about one cell, by how far their index is above that of the
/// lowest of them. The neighbours that can be jumped over are within 32.
#[derive(Clone, Debug)]
struct Window {
    first: u32,
    /// The neighbours with a cell just beyond.
    neighbors: u32,
    /// By neighbour: the cell just beyond.
    across: [CellSet; 32],
}

impl Window {
    fn new(jumps: &[Jump]) -> Window {
        let first = jumps.iter().map(|jump| jump.over.index()).min().unwrap_or(0);
        let mut window = Window { first: first as u32, neighbors: 0, across: [CellSet::EMPTY; 32] };
        for jump in jumps {
            let place = jump.over.index() - first;
            window.neighbors |= 1 << place;
            window.across[place] = jump.to.into();
        }
        window
    }
}

const DIRECTIONS: [(i8, i8); 6] = [(1, 0), (-1, 0), (0, 1), (0, -1), (1, -1), (-1, 1)];

static GEOMETRIES: LazyLock<Vec<Geometry>> = LazyLock::new(|| Geometry::SIZES.map(Geometry::new).collect());

impl Geometry {
    /// The sizes a board may have.
    pub const SIZES: std::ops::RangeInclusive<u8> = 3..=11;

    pub(crate) fn of_size(size: u8) -> &'static Geometry {
        &GEOMETRIES[usize::from(size - Self::SIZES.start())]
    }

    fn new(size: u8) -> Geometry {
        let mut coordinates: Vec<(u8, u8)> = (0..size).flat_map(|x| (0..size).map(move |y| (x, y))).collect();
        coordinates.sort_by_key(|&(x, y)| (x + y, x));
        let mut indices = vec![Cell::new(0); coordinates.len()];
        for (index, &(x, y)) in coordinates.iter().enumerate() {
            indices[usize::from(y) * usize::from(size) + usize::from(x)] = Cell::new(index);
        }
        let mut geometry = Geometry {
            size,
            coordinates,
            indices,
            neighbors: Vec::new(),
            jumps: Vec::new(),
            rows: Vec::new(),
            row_of: Vec::new(),
            windows: Vec::new(),
        };
        for &from in &geometry.coordinates {
            let ring = DIRECTIONS.map(|d| geometry.beyond(from, d, 1));
            geometry.neighbors.push(ring.into_iter().flatten().collect());
            let jump = |d| Some(Jump { over: geometry.beyond(from, d, 1)?, to: geometry.beyond(from, d, 2)? });
            geometry.jumps.push(DIRECTIONS.into_iter().filter_map(jump).collect());
        }
        let count = geometry.cells();
        let cells = || (0..count).map(Cell::new);
        geometry.row_of = geometry.coordinates.iter().map(|&(x, y)| x + y).collect();
        let rows = 0..2 * usize::from(size) - 1;
        geometry.rows = rows.map(|row| cells().filter(|&cell| geometry.row(cell) == row).collect()).collect();
        geometry.windows = geometry.jumps.iter().map(|jumps| Window::new(jumps)).collect();
        geometry
    }

    fn beyond(&self, (x, y): (u8, u8), (dx, dy): (i8, i8), steps: i8) -> Option<Cell> {
        self.at(x.checked_add_signed(dx * steps)?, y.checked_add_signed(dy * steps)?)
    }

    /// Cells along an edge.
    #[inline]
    pub fn size(&self) -> usize {
        usize::from(self.size)
    }

    /// Cells of the board.
    #[inline]
    pub fn cells(&self) -> usize {
        self.coordinates.len()
    }

    /// The cell at column `x` and line `y`, both from 0, if on the board.
    pub fn at(&self, x: u8, y: u8) -> Option<Cell> {
        (x < self.size && y < self.size).then(|| self.indices[usize::from(y) * self.size() + usize::from(x)])
    }

    /// Column and line of a cell, both from 0.
    #[inline]
    pub fn coordinates(&self, cell: Cell) -> (u8, u8) {
        self.coordinates[cell.index()]
    }

    /// The row of a cell on the diamond, `x + y`: 0 at `a1`.
    #[inline]
    pub fn row(&self, cell: Cell) -> usize {
        usize::from(self.row_of[cell.index()])
    }

    /// The cells in the same row of the diamond as `cell`.
    #[inline]
    pub fn row_of(&self, cell: Cell) -> CellSet {
        self.rows[self.row(cell)]
    }

    /// The cells one step from `cell`.
    #[inline]
    pub fn neighbors(&self, cell: Cell) -> CellSet {
        self.neighbors[cell.index()]
    }

    /// The jumps that stay on the board, of at most six directions.
    #[inline]
    pub fn jumps(&self, cell: Cell) -> &[Jump] {
        &self.jumps[cell.index()]
    }

    /// Where a piece may go from `from` in one move when the `others` stand
    /// still: to an empty neighbour, or along a chain of jumps, each over one
    /// adjacent piece. `others` are all pieces of both players but the mover;
    /// `from` itself counts as empty, and is not among the destinations.
    pub fn destinations(&self, others: CellSet, from: Cell) -> CellSet {
        let steps = self.neighbors(from) - others;
        (steps | self.jump_chain(others, from)).without(from)
    }

    /// The cells a chain of jumps reaches from `from`, `from` included.
    #[inline]
    fn jump_chain(&self, others: CellSet, from: Cell) -> CellSet {
        let mut reached = CellSet::single(from);
        let mut todo = reached;
        while let Some(cell) = todo.pop_first() {
            let window = &self.windows[cell.index()];
            let mut overs = (others.bits() >> window.first) as u32 & window.neighbors;
            while overs != 0 {
                let landing = window.across[overs.trailing_zeros() as usize] - others - reached;
                reached |= landing;
                todo |= landing;
                overs &= overs - 1;
            }
        }
        reached
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_refused_in_words() {
        assert!(Board::new(9, 6).is_ok() && Board::new(11, 15).is_ok() && Board::new(3, 8).is_ok());
        assert_eq!(Board::new(2, 1).unwrap_err(), BoardError::Size(2));
        assert_eq!(Board::new(267, 1).unwrap_err(), BoardError::Size(267));
        assert_eq!(Board::new(3, 9).unwrap_err(), BoardError::Pieces { size: 3, pieces: 9, most: 8 });
        assert_eq!(Board::new(9, 0).unwrap_err(), BoardError::Pieces { size: 9, pieces: 0, most: 15 });
        let board = Board::new(4, 3).unwrap();
        assert!(Prefix::new(board, 2).is_err() && Prefix::new(board, 17).is_err());
        assert_eq!(Prefix::new(board, 16).unwrap(), Prefix::whole(board));
    }

    #[test]
    fn the_paper_s_table_1_is_the_prefix_sizes() {
        let ten = Board::new(9, 10).unwrap();
        assert_eq!(ten.states(), 1_878_392_407_320);
        for (start, states) in [(5, 1_096_993_404_430), (25, 43_183_019_880), (40, 1_471_442_973)] {
            assert_eq!(Prefix::new(ten, 82 - start).unwrap().states(), states);
        }
        assert_eq!(Board::new(9, 6).unwrap().states(), 324_540_216);
    }

    #[test]
    fn partitions_tile_the_ranks() {
        for pieces in 1..=6 {
            let prefix = Prefix::new(Board::new(4, pieces).unwrap(), 11).unwrap();
            let mut next = 0;
            for back in prefix.back_cells() {
                assert_eq!(prefix.partition(back).start, next);
                next = prefix.partition(back).end;
            }
            assert_eq!(next, prefix.states());
        }
    }

    #[test]
    fn geometry_is_symmetric_under_a_turn() {
        for size in Geometry::SIZES {
            let geometry = Geometry::of_size(size);
            let cells = geometry.cells();
            for index in 0..cells {
                let cell = Cell::new(index);
                let turned = Side::X.goal_view_cell(cells, cell);
                assert_eq!(geometry.neighbors(cell).turned(cells), geometry.neighbors(turned));
                for jump in geometry.jumps(cell) {
                    let back = Jump { over: jump.over, to: cell };
                    assert!(geometry.jumps(jump.to).contains(&back), "jumps are reversible");
                }
                assert_eq!(geometry.jumps(cell).len(), geometry.jumps(turned).len());
            }
        }
    }
}
