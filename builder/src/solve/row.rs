//! The moves within a row: those of one army beside a fixed army of the opponent.

use std::ops::ControlFlow;

use sternhalma_data::board::{GameRules, Pattern, States, choose};
use sternhalma_data::solution::PositionSpace;
use sternhalma_data::{Cell, CellSet, Geometry, Rank, Side, State};

use crate::ranks::{MAX_CELLS, MAX_PIECES};
use crate::search::{Field, RowMoves};

/// The player to move in the frame of a row. Its goal order is the order of the board.
pub const MOVER: Side = Side::O;

/// The placements of the player to move beside a fixed army of the opponent.
///
/// Cells are in the goal order of the player to move. A placement is the set of its cells, or its *column*: its rank among
/// the free cells, which have numbers.
pub struct Row<'a> {
    rules: &'a GameRules,
    geometry: &'static Geometry,
    /// The pieces of the opponent.
    pub obstacles: CellSet,
    /// The free cells by number.
    cells: [Cell; MAX_CELLS],
    /// The numbers of the free cells.
    numbers: [u8; MAX_CELLS],
    /// The cells that a piece does not leave.
    locked: CellSet,
}

/// The direction of moves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// From a placement to those after a move.
    Forward,
    /// From a placement to those before a move.
    Backward,
}

impl<'a> Row<'a> {
    pub fn new(rules: &'a GameRules, opponent: State) -> Row<'a> {
        let board = rules.board();
        let obstacles = opponent.to_army(board, MOVER.other());
        let (mut cells, mut numbers) = ([Cell::new(0); MAX_CELLS], [0; MAX_CELLS]);
        let free = CellSet::first_cells(board.cells()) - obstacles;
        for (number, cell) in free.iter().enumerate() {
            cells[number] = cell;
            numbers[cell.index()] = number as u8;
        }
        let locked = if rules.switches().locks_goal { board.goal(MOVER) } else { CellSet::EMPTY };
        Row { rules, geometry: board.geometry(), obstacles, cells, numbers, locked }
    }

    /// Returns the field of the row, for its expansion.
    pub fn field(&self) -> Field {
        Field::new(self.geometry, self.obstacles)
    }

    /// Returns the moves from `wanted` placements to `targets`, for the expansion of the row.
    pub fn expansion<'b>(&self, targets: &'b [u64], wanted: &'b [u64]) -> RowMoves<'b> {
        RowMoves { targets, wanted, locked: self.numbers_of(self.locked - self.obstacles) }
    }

    /// Returns the cells with some numbers.
    #[inline]
    pub fn army(&self, numbers: &[u8]) -> CellSet {
        numbers.iter().map(|&number| self.cells[usize::from(number)]).collect()
    }

    #[inline]
    fn numbers_of(&self, cells: CellSet) -> CellSet {
        cells.iter().map(|cell| Cell::new(usize::from(self.numbers[cell.index()]))).collect()
    }

    /// Returns the column of a placement.
    pub fn column(&self, army: CellSet) -> u64 {
        Rank::of(State::from_cells(self.numbers_of(army))).0
    }

    /// Calls `visit` with the column of each placement one move from the cells with these numbers, until it breaks. Moves
    /// that the rules forbid because of the armies after them are included.
    #[inline]
    pub fn moves<B>(
        &self,
        numbers: &[u8],
        direction: Direction,
        mut visit: impl FnMut(u64) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        let army = self.army(numbers);
        let occupied: CellSet = numbers.iter().map(|&number| Cell::new(usize::from(number))).collect();
        // What the first pieces add to the rank with their own indices, and with indices that are one lower or higher.
        let (mut same, mut lower, mut higher) = ([0; MAX_PIECES + 1], [0; MAX_PIECES + 1], [0; MAX_PIECES + 1]);
        let pieces = numbers.len();
        for (at, &number) in numbers.iter().enumerate() {
            let cell = Cell::new(usize::from(number));
            same[at + 1] = same[at] + Rank::term(at, cell);
            lower[at + 1] = lower[at] + if at == 0 { 0 } else { Rank::term(at - 1, cell) };
            higher[at + 1] = higher[at] + Rank::term(at + 1, cell);
        }
        for (mover, &number) in numbers.iter().enumerate() {
            let from = self.cells[usize::from(number)];
            let mut to = self.geometry.destinations(army.without(from) | self.obstacles, from);
            match direction {
                Direction::Forward if self.locked.contains(from) => to &= self.locked,
                Direction::Backward if !self.locked.contains(from) => to -= self.locked,
                _ => {}
            }
            if to.is_empty() {
                continue;
            }
            for cell in to {
                let number = Cell::new(usize::from(self.numbers[cell.index()]));
                // The pieces below the destination, without the one that moves.
                let below = (occupied & CellSet::first_cells(number.index())).len();
                let rank = if number.index() > usize::from(numbers[mover]) {
                    let at = below - 1;
                    same[mover]
                        + (lower[at + 1] - lower[mover + 1])
                        + Rank::term(at, number)
                        + (same[pieces] - same[at + 1])
                } else {
                    same[below]
                        + Rank::term(below, number)
                        + (higher[mover] - higher[below])
                        + (same[pieces] - same[mover + 1])
                };
                visit(rank)?;
            }
        }
        ControlFlow::Continue(())
    }

    /// Calls `visit` with each placement that may not be open for both players, or that a move may not lead to, and its
    /// column. It may be called more than once with a placement.
    pub fn special(&self, mut visit: impl FnMut(CellSet, u64)) {
        let pieces = self.rules.board().pieces();
        let free = CellSet::first_cells(self.rules.board().cells()) - self.obstacles;
        for Pattern { needed, some, count } in self.rules.special_patterns(self.obstacles, MOVER) {
            let [some, others] = [some & free, free - some - needed].map(|cells| cells.iter().collect::<Vec<Cell>>());
            let Some(rest) = pieces.checked_sub(needed.len()) else { continue };
            for among in count..=rest.min(some.len()) {
                for chosen in subsets(&some, among) {
                    for other in subsets(&others, rest - among) {
                        let army = needed | chosen | other;
                        visit(army, self.column(army));
                    }
                }
            }
        }
    }
}

/// Returns all sets of `count` of the cells.
fn subsets(cells: &[Cell], count: usize) -> impl Iterator<Item = CellSet> + '_ {
    let number = if count > cells.len() { 0 } else { choose(cells.len(), count) };
    let of_ranks = if count == 0 { None } else { Some(States::of_ranks(count, 0..number)) };
    let some = of_ranks.into_iter().flatten().map(|(_, set)| set.cells().iter().map(|at| cells[at.index()]).collect());
    (count == 0).then_some(CellSet::EMPTY).into_iter().chain(some)
}

/// The cells of all columns, as numbers.
pub struct Columns {
    pieces: usize,
    numbers: Vec<u8>,
}

impl Columns {
    pub fn new(space: &PositionSpace) -> Columns {
        let pieces = space.board().pieces();
        let states = States::of_ranks(pieces, 0..space.columns());
        let numbers = states.flat_map(|(_, state)| state.cells().iter().map(|cell| cell.index() as u8)).collect();
        Columns { pieces, numbers }
    }

    /// Returns the numbers of the cells of a column.
    #[inline]
    pub fn numbers(&self, column: u64) -> &[u8] {
        &self.numbers[column as usize * self.pieces..][..self.pieces]
    }
}

/// Where the positions of a row are in the rows of the moves that lead to them.
///
/// A position follows a move of the opponent. In the row of that move, the obstacles are the pieces `a` of the player to
/// move, and the column is that of the opponent's pieces `c` beside them: the sum of C(`c` − `l`, i + 1), in which `l` is
/// the number of obstacles below the i-th piece `c`. The tables give the rank of `a` and the numbers `l` as sums over the
/// pieces of `a`.
pub struct Transposer<'a> {
    space: &'a PositionSpace,
    pieces: usize,
    /// By index of a piece and number of its cell, what the piece adds to the rank.
    terms: Vec<[u32; MAX_CELLS]>,
    /// For the position and its mirror image.
    images: [ImageTables; 2],
    /// Whether the opponent is its own mirror image.
    is_symmetric: bool,
}

/// The columns of an opponent.
struct ImageTables {
    /// By number of a cell, one byte for each piece of the opponent: 1 if a piece on the cell is an obstacle below it.
    below: [u128; MAX_CELLS],
    /// By piece of the opponent and number of obstacles below it, what the piece adds to the column.
    terms: [[u32; 16]; MAX_PIECES],
}

impl ImageTables {
    fn new(cells: usize, opponent: CellSet, free: impl Iterator<Item = Cell>) -> ImageTables {
        let mut tables = ImageTables { below: [0; MAX_CELLS], terms: [[0; 16]; MAX_PIECES] };
        for (number, cell) in free.enumerate() {
            // The cell in the goal order of the opponent.
            let turned = cells - 1 - cell.index();
            let is_above = opponent.iter().map(|piece| u128::from(piece.index() > turned));
            tables.below[number] = is_above.enumerate().map(|(at, is_above)| is_above << (8 * at)).sum();
        }
        for (at, piece) in opponent.iter().enumerate() {
            for below in 0..=opponent.len().min(piece.index()) {
                tables.terms[at][below] = choose(piece.index() - below, at + 1) as u32;
            }
        }
        tables
    }

    /// Returns the column if the player to move has pieces on the cells with these numbers.
    #[inline]
    fn column(&self, numbers: &[u8]) -> u64 {
        let below: u128 = numbers.iter().map(|&number| self.below[usize::from(number) % MAX_CELLS]).sum();
        let below = below.to_le_bytes();
        let terms = self.terms.iter().zip(below).take(numbers.len());
        terms.map(|(terms, below)| u64::from(terms[usize::from(below) % 16])).sum()
    }
}

impl<'a> Transposer<'a> {
    pub fn new(space: &'a PositionSpace, row: &Row, opponent: State) -> Transposer<'a> {
        let (board, geometry) = (space.board(), space.board().geometry());
        let (pieces, opponent) = (board.pieces(), opponent.cells());
        let free = board.cells() - pieces;
        let term = |index: usize| {
            let mut terms = [0; MAX_CELLS];
            for (term, &cell) in terms.iter_mut().zip(&row.cells[..free]) {
                *term = Rank::term(index, cell) as u32;
            }
            terms
        };
        let image = geometry.mirror(opponent);
        let mirrored = |cell: Cell| geometry.mirror(cell.into()).first().expect("a cell has a mirror image");
        let cells = &row.cells[..free];
        let images = [
            ImageTables::new(board.cells(), opponent, cells.iter().copied()),
            ImageTables::new(board.cells(), image, cells.iter().map(|&cell| mirrored(cell))),
        ];
        Transposer { space, pieces, terms: (0..pieces).map(term).collect(), images, is_symmetric: image == opponent }
    }

    /// Calls `visit` with the row and the column at which the position, with the cells of these numbers to move, follows
    /// a move of the opponent.
    #[inline]
    pub fn each_source(&self, numbers: &[u8], mut visit: impl FnMut(usize, u64)) {
        debug_assert_eq!(numbers.len(), self.pieces);
        let terms = self.terms.iter().zip(numbers);
        let rank = terms.map(|(terms, &number)| u64::from(terms[usize::from(number) % MAX_CELLS])).sum();
        let row = self.space.row(Rank(rank));
        visit(row.row, self.images[usize::from(row.is_mirrored)].column(numbers));
        if row.is_symmetric && !self.is_symmetric {
            // The army is its own mirror image, so the mirror image of the position has the same row.
            visit(row.row, self.images[1].column(numbers));
        }
    }
}
