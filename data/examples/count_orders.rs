//! Counts `orders.bin`, the symbol maps of the encoding `zstd`, from tables.
//!
//! Usage: `count_orders OUT TABLE[=WEIGHT]...`
//!
//! For each context of `docs/reference/table-format.md`, the program counts how often the
//! distance of a state differs by −1, 0 or +1 from its anchor, in blocks of
//! 32,768 states. The program writes the differences of each context, the most
//! frequent first, to OUT. The program then compares OUT with the committed
//! file. The count of a table is multiplied by its WEIGHT, which is 1 by
//! default.
//!
//! The program follows the format document and shares no code with the encoder.
#![allow(clippy::disallowed_methods)]

use std::error::Error;

use sternhalma_data::{Cell, CellSet, DistanceStream, Geometry, Rank, States, Table};

const COMMITTED: &[u8] = include_bytes!("../src/table/codec/orders.bin");
const CONTEXTS: usize = 6 * 6 * 6 * 4 * 4 * 6 * 4;
const BLOCK_STATES: u64 = 32_768;

/// The distances of the states of a triangle, `[y][x]`, as far as they are
/// earlier in the block.
type Triangle = Vec<Vec<Option<i32>>>;

/// Neighbors of the cells of a board, with the names of the format document.
struct Neighbors {
    low: Vec<Option<usize>>,
    low1: Vec<Option<usize>>,
    next: Vec<Option<usize>>,
    prev: Vec<Option<usize>>,
}

impl Neighbors {
    fn of(geometry: &Geometry) -> Neighbors {
        let cells = geometry.cells();
        let lowest = |cell: usize, without: CellSet| {
            let below = (geometry.neighbors(Cell::new(cell)) & CellSet::first_cells(cell)) - without;
            below.first().map(Cell::index)
        };
        let same_row = |a: usize, b: usize| geometry.row(Cell::new(a)) == geometry.row(Cell::new(b));
        Neighbors {
            low: (0..cells).map(|cell| lowest(cell, CellSet::EMPTY)).collect(),
            low1: (0..cells).map(|cell| lowest(cell, CellSet::single(Cell::new(0)))).collect(),
            next: (0..cells).map(|cell| Some(cell + 1).filter(|&next| next < cells && same_row(cell, next))).collect(),
            prev: (0..cells).map(|cell| cell.checked_sub(1).filter(|&prev| same_row(cell, prev))).collect(),
        }
    }

    /// Returns the anchor and the context of the state with the lowest pieces
    /// `x` and `y`, or `None` if it has no context.
    fn context(&self, known: &Triangle, x: usize, y: usize) -> Option<(i32, usize)> {
        let d = |x: Option<usize>, y: Option<usize>| *known.get(y?)?.get(x?)?;
        let low = self.low[x];
        let anchor = if x == 0 { d(Some(0), self.low1[y]) } else { d(low, Some(y)) }?;
        let far = low.and_then(|low| self.low[low]).and_then(|low| self.low[low]);
        let digits = [
            (2, d(Some(x), y.checked_sub(1))),
            (2, d(Some(x), self.low1[y])),
            (2, d(Some(x), self.low1[y].and_then(|low| self.next[low]))),
            (1, d(low.and_then(|low| self.next[low]), Some(y))),
            (1, d(low, y.checked_sub(1))),
            (2, d(far, Some(y))),
            (1, d(self.prev[x], Some(y))),
        ];
        let digit = |most: i32, distance: Option<i32>| {
            distance.map_or(2 * most + 1, |distance| (distance - anchor).clamp(-most, most) + most)
        };
        let add = |context: usize, (most, distance): (i32, Option<i32>)| {
            context * (2 * most + 2) as usize + digit(most, distance) as usize
        };
        Some((anchor, digits.into_iter().fold(0, add)))
    }
}

/// Adds the differences of a table to the counts, `[context][difference + 1]`.
fn count(table: &Table, weight: u64, counts: &mut [[u64; 3]]) -> Result<(), Box<dyn Error>> {
    let board = table.board();
    if board.pieces() < 2 {
        return Err("a table needs at least two pieces".into());
    }
    let neighbors = Neighbors::of(board.geometry());
    let mut stream = DistanceStream::new(table, 0..table.prefix().states())?;
    let mut distances = vec![0; BLOCK_STATES as usize];
    for ranks in table.prefix().back_cells().map(|back| table.prefix().partition(back)) {
        for start in ranks.clone().step_by(BLOCK_STATES as usize) {
            let end = ranks.end.min(start + BLOCK_STATES);
            let block = &mut distances[..(end - start) as usize];
            stream.read(block)?;
            let mut known: Triangle = vec![vec![None; board.cells()]; board.cells()];
            let mut others = CellSet::EMPTY;
            for ((Rank(rank), state), &distance) in States::of_ranks(board.pieces(), start..end).zip(&*block) {
                let mut rest = state.cells();
                let (x, y) =
                    (rest.pop_first().expect("two pieces").index(), rest.pop_first().expect("two pieces").index());
                if rank == start || rest != others {
                    known.iter_mut().for_each(|row| row.fill(None));
                    others = rest;
                } else if let Some((anchor, context)) = neighbors.context(&known, x, y) {
                    let difference = i32::from(distance) - anchor;
                    if difference.abs() <= 1 {
                        counts[context][(difference + 1) as usize] += weight;
                    }
                }
                known[y][x] = Some(distance.into());
            }
        }
    }
    Ok(())
}

/// Returns the byte of a context: the differences plus 1, the most frequent in
/// the lowest bits. Ties go to 0, then 1, then -1.
fn order(counts: &[u64; 3]) -> u8 {
    let mut codes = [1u8, 2, 0];
    codes.sort_by_key(|&code| std::cmp::Reverse(counts[usize::from(code)]));
    codes[0] | codes[1] << 2 | codes[2] << 4
}

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [out, tables @ ..] = &args[..] else { return Err("usage: count_orders OUT TABLE[=WEIGHT]...".into()) };
    let mut counts = vec![[0; 3]; CONTEXTS];
    for argument in tables {
        let (path, weight) = argument.rsplit_once('=').unwrap_or((argument, "1"));
        count(&Table::open(path)?, weight.parse()?, &mut counts)?;
    }
    let orders: Vec<u8> = counts.iter().map(order).collect();
    std::fs::write(out, &orders)?;

    let cost =
        |order: u8, counts: &[u64; 3]| -> u64 { (0..3).map(|s| s * counts[usize::from(order >> (2 * s) & 3)]).sum() };
    let all: u64 = counts.iter().flatten().sum();
    let counted = counts.iter().filter(|counts| counts.iter().sum::<u64>() > 0).count();
    let differing = |contexts: &dyn Fn(&[u64; 3]) -> bool| {
        let rows = counts.iter().zip(orders.iter().zip(COMMITTED));
        let rows = rows.filter(|(counts, (ours, committed))| ours != committed && contexts(counts));
        rows.fold((0, 0, 0), |(number, states, more), (counts, (&ours, &committed))| {
            (number + 1, states + counts.iter().sum::<u64>(), more + cost(committed, counts) - cost(ours, counts))
        })
    };
    let (number, states, more) = differing(&|counts| counts.iter().sum::<u64>() > 0);
    println!("{counted} of {CONTEXTS} contexts occur, in {all} states");
    println!(
        "{number} of them differ from the committed file, with {states} states; the sum of symbols is {more} larger there"
    );
    println!("{} contexts that do not occur differ", differing(&|counts| counts.iter().sum::<u64>() == 0).0);
    Ok(())
}
