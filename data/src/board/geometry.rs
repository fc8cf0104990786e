//! Neighbors and jumps of the cells of a board.

use std::sync::LazyLock;

use super::cell::{Cell, CellSet};

/// A jump over one adjacent piece into the cell just beyond it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Jump {
    /// The cell that must hold a piece.
    pub over: Cell,
    /// The cell that must be empty.
    pub to: Cell,
}

/// Coordinates, neighbors and jumps of the cells of boards of one size.
///
/// Board order and goal order share one geometry: rotating the board by 180°
/// maps neighbors to neighbors and jumps to jumps.
#[derive(Debug)]
pub struct Geometry {
    size: u8,
    coordinates: Vec<(u8, u8)>,
    indices: Vec<Cell>,
    neighbors: Vec<CellSet>,
    jumps: Vec<Vec<Jump>>,
    rows: Vec<CellSet>,
    row_of: Vec<u8>,
    mirror_images: MirrorImages,
    windows: Vec<JumpWindow>,
}

/// The neighbors of one cell that can be jumped over, numbered from the lowest
/// of them. The indices of these neighbors span less than 32 cells.
#[derive(Clone, Debug)]
struct JumpWindow {
    first: u32,
    /// The neighbors with a cell just beyond, one bit each.
    neighbors: u32,
    /// For each neighbor, the cell just beyond it.
    across: [CellSet; 32],
}

impl JumpWindow {
    fn new(jumps: &[Jump]) -> JumpWindow {
        let first = jumps.iter().map(|jump| jump.over.index()).min().unwrap_or(0);
        let mut window = JumpWindow { first: first as u32, neighbors: 0, across: [CellSet::EMPTY; 32] };
        for jump in jumps {
            let place = jump.over.index() - first;
            window.neighbors |= 1 << place;
            window.across[place] = jump.to.into();
        }
        window
    }
}

/// The mirror images of sets of cells, in groups of consecutive cells.
///
/// The tables of a 9x9 board take 14 KiB, so they stay in the level 1 cache.
#[derive(Debug, Default)]
struct MirrorImages {
    /// For each group of the first [`LOW_CELLS`] cells, the mirror image of each of its subsets. The
    /// two words are halves of 128 bits.
    low: [MirrorGroup; LOW_CELLS / GROUP_CELLS],
    /// The same for the other cells.
    high: Vec<MirrorGroup>,
}

const GROUP_CELLS: usize = 6;
/// The cells in whole groups that fit in a word.
const LOW_CELLS: usize = 60;

/// The mirror images of the subsets of a group.
#[derive(Clone, Debug)]
struct MirrorGroup([[u64; 2]; 1 << GROUP_CELLS]);

impl Default for MirrorGroup {
    fn default() -> MirrorGroup {
        MirrorGroup([[0; 2]; 1 << GROUP_CELLS])
    }
}

impl MirrorImages {
    /// Returns the tables for a board with these rows.
    fn of_rows(rows: &[CellSet]) -> MirrorImages {
        let cells: usize = rows.iter().map(|row| row.len()).sum();
        let mut images = MirrorImages::default();
        images.high.resize(cells.saturating_sub(LOW_CELLS).div_ceil(GROUP_CELLS), MirrorGroup::default());
        for row in rows {
            let forward: Vec<Cell> = row.iter().collect();
            for (cell, image) in forward.iter().zip(forward.iter().rev()) {
                let (group, bit) = (cell.index() / GROUP_CELLS, cell.index() % GROUP_CELLS);
                let mut groups = images.low.iter_mut().chain(&mut images.high);
                let group = groups.nth(group).expect("the groups have all cells");
                let subsets = group.0.iter_mut().enumerate().filter(|(subset, _)| subset >> bit & 1 != 0);
                subsets.for_each(|(_, set)| set[image.index() / 64] |= 1 << (image.index() % 64));
            }
        }
        images
    }

    #[inline]
    fn apply(&self, cells: CellSet) -> CellSet {
        let bits = cells.bits();
        let mut image = [0; 2];
        let mut add = |groups: &[MirrorGroup], mut bits: u64| {
            for MirrorGroup(images) in groups {
                let subset = images[bits as usize & (images.len() - 1)];
                image = [image[0] | subset[0], image[1] | subset[1]];
                bits >>= GROUP_CELLS;
            }
        };
        add(&self.low, bits as u64);
        add(&self.high, (bits >> LOW_CELLS) as u64);
        CellSet::from_valid_bits(u128::from(image[0]) | u128::from(image[1]) << 64)
    }
}

const DIRECTIONS: [(i8, i8); 6] = [(1, 0), (-1, 0), (0, 1), (0, -1), (1, -1), (-1, 1)];

static GEOMETRIES: LazyLock<Vec<Geometry>> = LazyLock::new(|| Geometry::SIZES.map(Geometry::new).collect());

impl Geometry {
    /// The valid sizes of a board.
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
            mirror_images: MirrorImages::default(),
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
        geometry.mirror_images = MirrorImages::of_rows(&geometry.rows);
        geometry.windows = geometry.jumps.iter().map(|jumps| JumpWindow::new(jumps)).collect();
        geometry
    }

    fn beyond(&self, (x, y): (u8, u8), (dx, dy): (i8, i8), steps: i8) -> Option<Cell> {
        self.at(x.checked_add_signed(dx * steps)?, y.checked_add_signed(dy * steps)?)
    }

    /// Returns the number of cells along an edge.
    #[inline]
    pub fn size(&self) -> usize {
        usize::from(self.size)
    }

    /// Returns the number of cells of the board.
    #[inline]
    pub fn cells(&self) -> usize {
        self.coordinates.len()
    }

    /// Returns the cell at column `x` and line `y`, both counted from 0, if it
    /// is on the board.
    pub fn at(&self, x: u8, y: u8) -> Option<Cell> {
        (x < self.size && y < self.size).then(|| self.indices[usize::from(y) * self.size() + usize::from(x)])
    }

    /// Returns the column and the line of a cell, both counted from 0.
    #[inline]
    pub fn coordinates(&self, cell: Cell) -> (u8, u8) {
        self.coordinates[cell.index()]
    }

    /// Returns the row of a cell on the diamond, `x + y`. The row of `a1` is 0.
    #[inline]
    pub fn row(&self, cell: Cell) -> usize {
        usize::from(self.row_of[cell.index()])
    }

    /// Returns the cells in the same row of the diamond as `cell`.
    #[inline]
    pub fn row_of(&self, cell: Cell) -> CellSet {
        self.rows[self.row(cell)]
    }

    /// Returns the cells of a row of the diamond, see [`row`](Geometry::row).
    ///
    /// # Panics
    /// If the board has no such row.
    pub fn row_cells(&self, row: usize) -> CellSet {
        self.rows[row]
    }

    /// Returns the mirror image of some cells: each row of the diamond is reversed.
    #[inline]
    pub fn mirror(&self, cells: CellSet) -> CellSet {
        self.mirror_images.apply(cells)
    }

    /// Returns the cells one step from `cell`.
    #[inline]
    pub fn neighbors(&self, cell: Cell) -> CellSet {
        self.neighbors[cell.index()]
    }

    /// Returns the jumps from `cell` that stay on the board, at most six.
    #[inline]
    pub fn jumps(&self, cell: Cell) -> &[Jump] {
        &self.jumps[cell.index()]
    }

    /// Returns the cells that a piece can reach from `from` in one move.
    ///
    /// A move is a step to an empty neighbor, or a chain of jumps, each over
    /// one adjacent piece. `others` are all pieces of both players except the
    /// one that moves. `from` itself is empty and not a destination.
    pub fn destinations(&self, others: CellSet, from: Cell) -> CellSet {
        let steps = self.neighbors(from) - others;
        (steps | self.jump_chain(others, others, from)).without(from)
    }

    /// Returns the [`destinations`](Geometry::destinations) of moves that jump only over pieces of
    /// `hurdles`, which are some of the `others`.
    #[inline]
    pub fn destinations_over(&self, hurdles: CellSet, others: CellSet, from: Cell) -> CellSet {
        let steps = self.neighbors(from) - others;
        (steps | self.jump_chain(hurdles, others, from)).without(from)
    }

    /// Returns the cells that chains of jumps over `hurdles` reach from `from`, and `from`. No jump
    /// ends on a cell of `others`.
    #[inline]
    fn jump_chain(&self, hurdles: CellSet, others: CellSet, from: Cell) -> CellSet {
        let mut reached = CellSet::single(from);
        let mut todo = reached;
        while let Some(cell) = todo.pop_first() {
            let window = &self.windows[cell.index()];
            let mut overs = (hurdles.bits() >> window.first) as u32 & window.neighbors;
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
    fn geometry_is_symmetric_under_rotation() {
        for size in Geometry::SIZES {
            let geometry = Geometry::of_size(size);
            let cells = geometry.cells();
            for index in 0..cells {
                let cell = Cell::new(index);
                let rotated = Cell::new(cells - 1 - index);
                assert_eq!(geometry.neighbors(cell).rotate_180(cells), geometry.neighbors(rotated));
                for jump in geometry.jumps(cell) {
                    let back = Jump { over: jump.over, to: cell };
                    assert!(geometry.jumps(jump.to).contains(&back), "jumps are reversible");
                }
                assert_eq!(geometry.jumps(cell).len(), geometry.jumps(rotated).len());
            }
        }
    }
}
