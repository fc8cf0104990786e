//! What the distances before a state in its block say of its own.

use std::ops::Range;

use crate::board::Geometry;
use crate::cell::{Cell, CellSet};
use crate::rank::MOST_PIECES;

/// More than the cells of any board, and a power of two.
pub(crate) const ROW: usize = 128;
/// No distance: a state that is not before this one in the block. It is above
/// all bytes, so that a difference tells it from distances.
pub(crate) const MISSING: u16 = 512;
/// A cell that no board has: its distances are missing.
const NO_CELL: u8 = 127;

/// Contexts but for their last digit, that of the state before in the row.
const GROUPS: usize = 6 * 6 * 6 * 4 * 4 * 6;
/// The order of differences of a state whose anchor is the state before it.
pub(crate) const PLAIN: u32 = 0b00_10_01;

/// By context, the differences from the anchor from the likeliest on: the
/// first in the lowest two bits, each as 0, 1 or 2 for -1, 0 or 1. The last
/// digit of the context chooses a byte, so that all but it is looked up before
/// the state before is known.
static ORDERS: [u32; GROUPS] = orders();

const fn orders() -> [u32; GROUPS] {
    let (told, _) = include_bytes!("orders.bin").as_chunks::<4>();
    let mut orders = [0; GROUPS];
    let mut group = 0;
    while group < GROUPS {
        orders[group] = u32::from_le_bytes(told[group]);
        group += 1;
    }
    orders
}

/// Cells beside each other on the boards of one side.
#[derive(Debug)]
pub(crate) struct Shape {
    /// For each cell the lowest cell beside it, if that is lower.
    near: [u8; ROW],
    /// The same without cell 0.
    near_second: [u8; ROW],
    /// The cell before, if in the same row.
    before: [u8; ROW],
    /// The cell after, if in the same row.
    after: [u8; ROW],
}

impl Shape {
    pub fn of(geometry: &Geometry) -> Shape {
        let mut shape =
            Shape { near: [NO_CELL; ROW], near_second: [NO_CELL; ROW], before: [NO_CELL; ROW], after: [NO_CELL; ROW] };
        let index = |cell: Option<Cell>| cell.map_or(NO_CELL, |cell| cell.index() as u8);
        for cell in 1..geometry.cells() {
            let below = geometry.neighbors(Cell::new(cell)) & CellSet::first_cells(cell);
            shape.near[cell] = index(below.first());
            shape.near_second[cell] = index(below.without(Cell::new(0)).first());
            if geometry.row(Cell::new(cell - 1)) == geometry.row(Cell::new(cell)) {
                shape.before[cell] = cell as u8 - 1;
                shape.after[cell - 1] = cell as u8;
            }
        }
        shape
    }
}

/// The distances of the states that share all pieces but the two lowest, by
/// the second lowest and the lowest. Those not before the state in hand are
/// missing or never asked for.
#[derive(Debug)]
pub(crate) struct Triangle([[u16; ROW]; ROW]);

impl Triangle {
    pub fn new() -> Box<Triangle> {
        Box::new(Triangle([[MISSING; ROW]; ROW]))
    }

    /// Forgets the states before that with these lowest pieces.
    pub fn forget(&mut self, second: usize, lowest: usize) {
        self.0[..second].iter_mut().for_each(|row| row.fill(MISSING));
        self.0[second][..lowest].fill(MISSING);
    }

    /// Goes through the states of a run with these lowest pieces in order:
    /// `distance` is told anchor and order of each.
    ///
    /// `before` is the distance of the state before the first. Returns that of
    /// the last.
    #[inline(always)]
    pub fn run(
        &mut self,
        shape: &Shape,
        second: usize,
        lowest: Range<usize>,
        mut before: u8,
        mut distance: impl FnMut(u8, u32) -> u8,
    ) -> u8 {
        let [three, five] = &DIGITS;
        let second = second & (ROW - 1);
        let (done, rest) = self.0.split_at_mut(second);
        let Some(row) = rest.first_mut() else { return before };
        const ALL_MISSING: [u16; ROW] = [MISSING; ROW];
        let done = |cell: u8| done.get(usize::from(cell)).unwrap_or(&ALL_MISSING);
        let near = shape.near_second[second];
        let (beside, below) = (done((second as u8).wrapping_sub(1)), done(near));
        let below_after = done(shape.after[usize::from(near) & (ROW - 1)]);
        for cell in lowest {
            let cell = cell & (ROW - 1);
            let near = usize::from(shape.near[cell]) & (ROW - 1);
            let anchor = if cell == 0 { below[0] } else { row[near] };
            let after = usize::from(shape.after[near]) & (ROW - 1);
            let far = usize::from(shape.near[usize::from(shape.near[near]) & (ROW - 1)]) & (ROW - 1);
            let mut group = (digit(five, beside[cell], anchor) * 6 + digit(five, below[cell], anchor)) * 6;
            group = ((group + digit(five, below_after[cell], anchor)) * 4 + digit(three, row[after], anchor)) * 4;
            group = (group + digit(three, beside[near], anchor)) * 6 + digit(five, row[far], anchor);
            let previous = if shape.before[cell] == NO_CELL { MISSING } else { before.into() };
            let order = ORDERS[group] >> (8 * digit(three, previous, anchor));
            before = if anchor == MISSING { distance(before, PLAIN) } else { distance(anchor as u8, order) };
            row[cell] = before.into();
        }
        before
    }

    /// The distances of a run.
    #[inline]
    pub fn row(&self, second: usize) -> &[u16; ROW] {
        &self.0[second]
    }

    /// Notes the distance of a state.
    #[inline]
    pub fn set(&mut self, second: usize, lowest: usize, distance: u8) {
        self.0[second][lowest] = distance.into();
    }
}

/// How far a distance is above the anchor's, from 0 for `most` or more below
/// it to `2 * most` for `most` or more above, and one more if it is missing.
/// By the difference and 256.
type Digits = [u8; 1024];

static DIGITS: [Digits; 2] = [digits(1), digits(2)];

const fn digits(most: i32) -> Digits {
    let mut digits = [0; 1024];
    let mut difference = -256;
    while difference < 768 {
        let digit = match difference {
            _ if difference > 256 => 2 * most + 1,
            _ if difference < -most => 0,
            _ if difference > most => 2 * most,
            _ => difference + most,
        };
        digits[(difference + 256) as usize] = digit as u8;
        difference += 1;
    }
    digits
}

#[inline(always)]
fn digit(digits: &Digits, distance: u16, anchor: u16) -> usize {
    usize::from(digits[usize::from(distance.wrapping_add(256).wrapping_sub(anchor)) & 1023])
}

/// The pieces of a state but the lowest, which go through runs and triangles
/// in the order of ranks.
#[derive(Clone, Debug)]
pub(crate) struct Runs {
    pieces: usize,
    cells: [u8; MOST_PIECES + 1],
}

impl Runs {
    pub fn at(state: CellSet) -> Runs {
        let mut cells = [NO_CELL; MOST_PIECES + 1];
        state.iter().zip(&mut cells).for_each(|(cell, slot)| *slot = cell.index() as u8);
        Runs { pieces: state.len(), cells }
    }

    /// The cell of the second lowest piece: the states of the run.
    #[inline]
    pub fn second(&self) -> usize {
        usize::from(self.cells[1])
    }

    /// The states of the triangle.
    #[inline]
    pub fn triangle(&self) -> usize {
        let third = usize::from(if self.pieces < 3 { NO_CELL } else { self.cells[2] });
        third * (third - 1) / 2 + usize::from(self.pieces < 2) * ROW
    }

    /// Goes to the next run. Says whether a triangle begins with it.
    #[inline]
    pub fn next_run(&mut self) -> bool {
        if self.pieces > 1 && (self.pieces == 2 || self.cells[1] + 1 < self.cells[2]) {
            self.cells[1] += 1;
            return false;
        }
        self.next_triangle();
        true
    }

    /// Goes to the first run of the next triangle.
    pub fn next_triangle(&mut self) {
        let mut i = 2;
        while i + 1 < self.pieces && self.cells[i] + 1 == self.cells[i + 1] {
            self.cells[i] = i as u8;
            i += 1;
        }
        self.cells[i.min(MOST_PIECES)] += 1;
        self.cells[1] = 1;
    }
}
