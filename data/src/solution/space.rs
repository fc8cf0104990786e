//! The numbers of positions of two armies.

use crate::board::{Board, Cell, CellSet, Rank, Side, State, choose};

/// The positions of a board, as a matrix.
///
/// A position is the state of the player to move and the state of the opponent, each in its own goal order, so positions
/// that differ only in the names of the players are one. The *row* of a position is given by the opponent: rows are in
/// the order of the ranks of its states. The *column* is the rank of the player to move among the cells that the opponent
/// leaves free, in goal order.
///
/// If the home is its own mirror image, a position and its mirror image have the same value. The space then has only the
/// rows of states that do not have a larger rank than their mirror images.
///
/// ```
/// use sternhalma_data::solution::PositionSpace;
/// use sternhalma_data::{Board, State};
///
/// let board = Board::new(5, 3)?;
/// let space = PositionSpace::new(board);
/// assert_eq!((space.rows(), space.columns()), (1_180, 1_540));
/// let place = space.place(State::start(board), State::start(board));
/// assert_eq!(space.position(place), [State::start(board); 2]);
/// # Ok::<(), sternhalma_data::BoardError>(())
/// ```
#[derive(Clone, Debug)]
pub struct PositionSpace {
    board: Board,
    columns: u64,
    /// The rank of the opponent's state of each row.
    ranks: Vec<u32>,
    /// By rank, the row of a state or of its mirror image, and [`MIRRORED`] for the latter.
    numbers: Vec<u32>,
}

/// Marks a state whose mirror image has a row.
const MIRRORED: u32 = 1 << 31;

/// Marks a state that is its own mirror image, if the space has only one position of each mirrored pair.
const SYMMETRIC: u32 = 1 << 30;

/// The row of a state of the opponent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RowOf {
    /// The row of the state or of its mirror image.
    pub row: usize,
    /// Whether it is the row of the mirror image.
    pub is_mirrored: bool,
    /// Whether the state is its own mirror image, and the space has only one position of each mirrored pair.
    pub is_symmetric: bool,
}

/// The place of a position in the matrix.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Place {
    /// The row.
    pub row: usize,
    /// The column.
    pub column: u64,
}

impl PositionSpace {
    /// Returns the space of a board.
    ///
    /// # Panics
    /// If the homes overlap, or if an army has 2^30 or more states.
    pub fn new(board: Board) -> PositionSpace {
        assert!(board.homes_are_apart(), "the homes of {board} overlap");
        assert!(board.states() < u64::from(SYMMETRIC), "{board} has too many states");
        let (geometry, home) = (board.geometry(), board.home(Side::X));
        let is_mirrored = geometry.mirror(home) == home;
        let columns = choose(board.cells() - board.pieces(), board.pieces());
        let (mut ranks, mut numbers) = (Vec::new(), Vec::with_capacity(board.states() as usize));
        for rank in 0..board.states() {
            let state = Rank(rank).state(board.pieces()).cells();
            let image = if is_mirrored { geometry.mirror(state) } else { state };
            let first = Rank::of(State::from_cells(image)).0;
            if first < rank {
                numbers.push(numbers[first as usize] | MIRRORED);
            } else {
                let mark = if is_mirrored && first == rank { SYMMETRIC } else { 0 };
                numbers.push(ranks.len() as u32 | mark);
                ranks.push(rank as u32);
            }
        }
        PositionSpace { board, columns, ranks, numbers }
    }

    /// Returns the board.
    pub fn board(&self) -> Board {
        self.board
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        self.ranks.len()
    }

    /// Returns the number of columns.
    pub fn columns(&self) -> u64 {
        self.columns
    }

    /// Returns the number of positions in the matrix.
    pub fn stored(&self) -> u64 {
        self.rows() as u64 * self.columns
    }

    /// Returns the number of all positions, in which the mirror image of a position counts separately.
    pub fn positions(&self) -> u64 {
        self.board.states() * self.columns
    }

    /// Returns the opponent's state of a row.
    #[inline]
    pub fn opponent(&self, row: usize) -> State {
        Rank(u64::from(self.ranks[row])).state(self.board.pieces())
    }

    /// Returns the row of an opponent's state.
    #[inline]
    pub fn row(&self, rank: Rank) -> RowOf {
        let number = self.numbers[rank.0 as usize];
        let row = (number & !(MIRRORED | SYMMETRIC)) as usize;
        RowOf { row, is_mirrored: number & MIRRORED != 0, is_symmetric: number & SYMMETRIC != 0 }
    }

    /// Returns the number of positions for which each position of a row stands.
    pub fn weight(&self, row: usize) -> u64 {
        let is_whole = self.ranks.len() == self.numbers.len();
        let number = self.numbers[self.ranks[row] as usize];
        if is_whole || number & SYMMETRIC != 0 { 1 } else { 2 }
    }

    /// Returns the place of the position in which `mover` is to move against `opponent`.
    pub fn place(&self, mover: State, opponent: State) -> Place {
        let RowOf { row, is_mirrored, .. } = self.row(Rank::of(opponent));
        let image = |state: State| {
            let cells = state.cells();
            if is_mirrored { self.board.geometry().mirror(cells) } else { cells }
        };
        let obstacles = State::from_cells(image(opponent)).to_army(self.board, Side::X);
        Place { row, column: column(image(mover), obstacles) }
    }

    /// Returns the player to move and the opponent at a place.
    pub fn position(&self, place: Place) -> [State; 2] {
        let opponent = self.opponent(place.row);
        let free = CellSet::first_cells(self.board.cells()) - opponent.to_army(self.board, Side::X);
        let free: Vec<Cell> = free.iter().collect();
        let numbers = Rank(place.column).state(self.board.pieces()).cells();
        let mover = numbers.iter().map(|number| free[number.index()]).collect();
        [State::from_cells(mover), opponent]
    }
}

/// Returns the rank of some cells among those that are not obstacles.
#[inline]
fn column(cells: CellSet, obstacles: CellSet) -> u64 {
    let number = |cell: Cell| cell.index() - (obstacles & CellSet::first_cells(cell.index())).len();
    cells.iter().enumerate().map(|(i, cell)| choose(number(cell), i + 1)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_position_has_its_place_and_shares_it_only_with_its_mirror_image() {
        let symmetric = CellSet::from_bits(0b10111);
        let boards = [(3, 1), (3, 2), (3, 4), (4, 2), (4, 3)].map(|(size, pieces)| Board::new(size, pieces).unwrap());
        for board in boards.into_iter().chain([Board::new(4, 4).unwrap().with_goal(symmetric).unwrap()]) {
            let (space, geometry) = (PositionSpace::new(board), board.geometry());
            let states = || (0..board.states()).map(|rank| Rank(rank).state(board.pieces()));
            let mut seen = vec![0u64; space.stored() as usize];
            let is_mirrored = geometry.mirror(board.home(Side::X)) == board.home(Side::X);
            for opponent in states() {
                let obstacles = opponent.to_army(board, Side::X);
                for mover in states().filter(|mover| (mover.cells() & obstacles).is_empty()) {
                    let place = space.place(mover, opponent);
                    seen[place.row * space.columns() as usize + place.column as usize] += 1;
                    let found = space.position(place);
                    let image = [mover, opponent].map(|state| State::from_cells(geometry.mirror(state.cells())));
                    assert!(found == [mover, opponent] || is_mirrored && found == image, "{board}");
                }
            }
            for (row, seen) in seen.chunks(space.columns() as usize).enumerate() {
                assert!(seen.iter().all(|&count| count == space.weight(row)), "{board}, row {row}");
            }
            assert_eq!(seen.iter().sum::<u64>(), space.positions());
        }
    }
}
