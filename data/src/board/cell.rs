//! Cells and sets of cells.

use std::fmt;
use std::ops::{BitAnd, BitAndAssign, BitOr, BitOrAssign, BitXor, Sub, SubAssign};

/// A cell of a board, given as its index in the *cell order*.
///
/// The cell order goes through the rows of the diamond (`x + y`) from the `a1`
/// corner outwards, and within a row by `x`. Index 0 is `a1`. On a board of
/// size `n`, index `n² - 1` is the opposite acute corner. Coordinates and names
/// depend on the size of the board; [`Geometry`](crate::Geometry) has them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cell(u8);

impl Cell {
    /// The number of cells of the largest board (11x11).
    pub const LIMIT: usize = 121;

    /// Returns the cell with this index.
    ///
    /// # Panics
    /// If `index` is not below [`Cell::LIMIT`].
    #[inline]
    pub const fn new(index: usize) -> Cell {
        assert!(index < Self::LIMIT, "a cell index is below 121");
        Cell(index as u8)
    }

    /// Returns the index of the cell in the cell order.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Debug for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

/// A set of cells, with one bit per cell: bit `i` is the cell with index `i`.
///
/// Sets compare as their bits do. For sets of equal size this is the
/// colexicographic order, which is also the order of their ranks.
///
/// ```
/// use sternhalma_data::{Cell, CellSet};
/// let corner: CellSet = (0..3).map(Cell::new).collect();
/// assert_eq!(corner.len(), 3);
/// assert_eq!((corner - CellSet::single(Cell::new(0))).first(), Some(Cell::new(1)));
/// assert!((corner & CellSet::first_cells(1)).contains(Cell::new(0)));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct CellSet(u128);

impl CellSet {
    /// The empty set.
    pub const EMPTY: CellSet = CellSet(0);

    /// Returns the set of one cell.
    #[inline]
    pub const fn single(cell: Cell) -> CellSet {
        CellSet(1 << cell.0)
    }

    /// Returns the first `count` cells of the cell order.
    ///
    /// # Panics
    /// If `count` is above [`Cell::LIMIT`].
    #[inline]
    pub const fn first_cells(count: usize) -> CellSet {
        assert!(count <= Cell::LIMIT, "a board has at most 121 cells");
        CellSet((1 << count) - 1)
    }

    /// Returns the set with these bits.
    ///
    /// # Panics
    /// If a bit at or above [`Cell::LIMIT`] is set.
    #[inline]
    pub const fn from_bits(bits: u128) -> CellSet {
        assert!(bits >> Cell::LIMIT == 0, "a board has at most 121 cells");
        CellSet(bits)
    }

    /// Returns the set with these bits, which the caller knows to be cells.
    #[inline]
    pub(crate) const fn from_valid_bits(bits: u128) -> CellSet {
        debug_assert!(bits >> Cell::LIMIT == 0);
        CellSet(bits)
    }

    /// Returns the bits of the set.
    #[inline]
    pub const fn bits(self) -> u128 {
        self.0
    }

    /// Returns the number of cells in the set.
    #[inline]
    pub const fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Returns whether the set is empty.
    #[inline]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns whether `cell` is in the set.
    #[inline]
    pub const fn contains(self, cell: Cell) -> bool {
        self.0 >> cell.0 & 1 != 0
    }

    /// Returns whether every cell of `self` is in `other`.
    #[inline]
    pub const fn is_subset(self, other: CellSet) -> bool {
        self.0 & !other.0 == 0
    }

    /// Returns the set with `cell` added.
    #[inline]
    #[must_use]
    pub const fn with(self, cell: Cell) -> CellSet {
        CellSet(self.0 | 1 << cell.0)
    }

    /// Returns the set with `cell` removed.
    #[inline]
    #[must_use]
    pub const fn without(self, cell: Cell) -> CellSet {
        CellSet(self.0 & !(1 << cell.0))
    }

    /// Returns the cell with the lowest index.
    #[inline]
    pub const fn first(self) -> Option<Cell> {
        match self.0 {
            0 => None,
            bits => Some(Cell(bits.trailing_zeros() as u8)),
        }
    }

    /// Returns the cell with the highest index. In goal order this is the
    /// *back piece*.
    #[inline]
    pub const fn last(self) -> Option<Cell> {
        match self.0 {
            0 => None,
            bits => Some(Cell(127 - bits.leading_zeros() as u8)),
        }
    }

    /// Removes and returns the cell with the lowest index.
    #[inline]
    pub const fn pop_first(&mut self) -> Option<Cell> {
        let first = self.first();
        self.0 &= self.0.wrapping_sub(1);
        first
    }

    /// Returns the cells of the set in rising order.
    #[inline]
    pub const fn iter(self) -> CellIter {
        CellIter(self)
    }

    /// Returns the set rotated by 180° on a board of `cells` cells: index `i`
    /// becomes `cells - 1 - i`.
    #[inline]
    #[must_use]
    pub(crate) const fn rotate_180(self, cells: usize) -> CellSet {
        CellSet(self.0.reverse_bits() >> (128 - cells))
    }
}

impl BitOr for CellSet {
    type Output = CellSet;
    #[inline]
    fn bitor(self, other: CellSet) -> CellSet {
        CellSet(self.0 | other.0)
    }
}

impl BitAnd for CellSet {
    type Output = CellSet;
    #[inline]
    fn bitand(self, other: CellSet) -> CellSet {
        CellSet(self.0 & other.0)
    }
}

impl BitXor for CellSet {
    type Output = CellSet;
    #[inline]
    fn bitxor(self, other: CellSet) -> CellSet {
        CellSet(self.0 ^ other.0)
    }
}

/// Set difference.
impl Sub for CellSet {
    type Output = CellSet;
    #[inline]
    fn sub(self, other: CellSet) -> CellSet {
        CellSet(self.0 & !other.0)
    }
}

impl BitOrAssign for CellSet {
    #[inline]
    fn bitor_assign(&mut self, other: CellSet) {
        self.0 |= other.0;
    }
}

impl BitAndAssign for CellSet {
    #[inline]
    fn bitand_assign(&mut self, other: CellSet) {
        self.0 &= other.0;
    }
}

impl SubAssign for CellSet {
    #[inline]
    fn sub_assign(&mut self, other: CellSet) {
        self.0 &= !other.0;
    }
}

impl From<Cell> for CellSet {
    #[inline]
    fn from(cell: Cell) -> CellSet {
        CellSet::single(cell)
    }
}

impl FromIterator<Cell> for CellSet {
    fn from_iter<I: IntoIterator<Item = Cell>>(cells: I) -> CellSet {
        cells.into_iter().fold(CellSet::EMPTY, CellSet::with)
    }
}

impl IntoIterator for CellSet {
    type Item = Cell;
    type IntoIter = CellIter;
    #[inline]
    fn into_iter(self) -> CellIter {
        self.iter()
    }
}

impl fmt::Debug for CellSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(*self).finish()
    }
}

/// The cells of a [`CellSet`] in rising order.
#[derive(Clone, Debug)]
pub struct CellIter(CellSet);

impl Iterator for CellIter {
    type Item = Cell;

    #[inline]
    fn next(&mut self) -> Option<Cell> {
        self.0.pop_first()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.0.len(), Some(self.0.len()))
    }
}

impl ExactSizeIterator for CellIter {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn set_operations_agree_with_a_sorted_list() {
        let a: Vec<usize> = vec![0, 3, 63, 64, 80, 120];
        let b: Vec<usize> = vec![3, 64, 90];
        let set = |cells: &[usize]| cells.iter().map(|&c| Cell::new(c)).collect::<CellSet>();
        let list = |set: CellSet| set.iter().map(Cell::index).collect::<Vec<_>>();
        assert_eq!(list(set(&a)), a);
        assert_eq!(list(set(&a) & set(&b)), [3, 64]);
        assert_eq!(list(set(&a) - set(&b)), [0, 63, 80, 120]);
        assert_eq!(list(set(&a) | set(&b)), [0, 3, 63, 64, 80, 90, 120]);
        assert_eq!(list(set(&a) ^ set(&b)), [0, 63, 80, 90, 120]);
        assert_eq!(set(&a).first().map(Cell::index), Some(0));
        assert_eq!(set(&a).last().map(Cell::index), Some(120));
        assert_eq!(list(set(&a).rotate_180(121)), [0, 40, 56, 57, 117, 120]);
        assert_eq!(CellSet::EMPTY.first(), None);
        assert_eq!(CellSet::EMPTY.last(), None);
        assert!(set(&[3, 64]).is_subset(set(&a)) && !set(&b).is_subset(set(&a)));
    }
}
