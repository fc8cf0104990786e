//! Counts `models.bin`, the probabilities of the encoding `ans`, from tables.
//!
//! Usage: `count_models OUT MODELS BLOCK_STATES TABLE=BLOCKS...`
//!
//! The program draws BLOCKS blocks of BLOCK_STATES states from each TABLE, in equal steps, and counts how
//! often each symbol of `docs/reference/table-format.md` occurs in each context. It then finds MODELS models by
//! k-means clustering: each block belongs to the model that encodes it in the fewest bits, and each model
//! has the frequencies of its blocks. The tables must be in the encoding `byte`, mirrored or not.
//!
//! The program follows the format document and shares no code with the encoder.
#![allow(clippy::disallowed_methods)]

use std::collections::HashMap;
use std::error::Error;
use std::ops::Range;

use sternhalma_data::board::Symmetry;
use sternhalma_data::{Cell, CellSet, Geometry, Rank, State, Table};

const CONTEXTS: usize = 26 * 216 + 1;
const SLOTS: f64 = 4096.0;
const ROUNDS: usize = 30;

/// The occurrences of the symbols in each context of a block that occurs.
type BlockCounts = Vec<(usize, [u32; 4])>;

/// The distances of the earlier states of a block.
struct KnownStates<'a> {
    geometry: &'a Geometry,
    distances: HashMap<CellSet, i32>,
    previous: i32,
}

impl KnownStates<'_> {
    /// Returns the distances of the lower neighbors of a state with a piece moved from `from`: to the
    /// previous cell of its row, and to the cells of the row below. Only cells for which `allowed` returns
    /// true count.
    fn lower_neighbors(&self, state: CellSet, from: Cell, allowed: impl Fn(Cell) -> bool) -> [Option<i32>; 3] {
        let row = |cell: Cell| self.geometry.row(cell);
        let cells = self.geometry.neighbors(from) & CellSet::first_cells(from.index());
        let beside = cells.iter().find(|&cell| row(cell) == row(from));
        let mut below = cells.iter().filter(|&cell| row(cell) != row(from));
        [beside, below.next(), below.next()].map(|to| {
            let to = to.filter(|&to| !state.contains(to) && allowed(to))?;
            self.distances.get(&state.without(from).with(to)).copied()
        })
    }

    /// Returns the context of a state and the base. `below` is the first cell of the row that decides.
    fn context(&self, state: CellSet, below: usize) -> (usize, i32) {
        let pieces: Vec<Cell> = state.iter().filter(|piece| piece.index() < below).collect();
        let mut others = Vec::new();
        for (number, &piece) in pieces.iter().enumerate().skip(1) {
            let allowed = |to: Cell| number == 1 || to > pieces[1];
            others.extend(self.lower_neighbors(state, piece, allowed).into_iter().flatten());
        }
        let lowest = pieces.first().map_or([None; 3], |&piece| self.lower_neighbors(state, piece, |_| true));
        let least = others.iter().min().or(lowest.iter().flatten().min());
        let Some(&base) = least else { return (CONTEXTS - 1, self.previous) };
        let of_base = others.iter().filter(|&&distance| distance == base).count();
        let greatest = others.iter().max().map_or(0, |greatest| greatest - base);
        let class = match greatest {
            _ if others.is_empty() => 0,
            0 => 1 + of_base.min(8),
            1 => 9 + 4 * (of_base.min(4) - 1) + (others.len() - of_base).min(4),
            _ => 1,
        };
        let digit =
            |distance: Option<i32>| distance.map_or(5, |distance| ((distance - base).clamp(-2, 2) + 2) as usize);
        (lowest.into_iter().fold(class, |number, distance| 6 * number + digit(distance)), base)
    }
}

/// Returns the first cell of the row that decides whether a state is canonical.
fn deciding_row(symmetry: Option<&Symmetry>, state: State) -> usize {
    let Some(symmetry) = symmetry else { return Cell::LIMIT };
    let decides = |row: &sternhalma_data::board::Row| {
        let pattern = row.pattern(state.cells());
        pattern != row.mirror(pattern)
    };
    symmetry.rows().filter(decides).last().map_or(0, |row| row.first_cell)
}

/// Counts the symbols of the block with these indices.
fn count(table: &Table, indices: Range<u64>) -> BlockCounts {
    let mut known = KnownStates { geometry: table.board().geometry(), distances: HashMap::new(), previous: 0 };
    let mut counts = HashMap::new();
    for index in indices {
        let state = match table.symmetry() {
            None => Rank(index).state(table.board().pieces()),
            Some(symmetry) => symmetry.state(index),
        };
        let distance = i32::from(table.probe_byte(state).expect("the table stores bytes and contains the state"));
        let (context, base) = known.context(state.cells(), deciding_row(table.symmetry(), state));
        let symbol = usize::try_from(distance - base + 1).unwrap_or(3).min(3);
        counts.entry(context).or_insert([0; 4])[symbol] += 1;
        known.distances.insert(state.cells(), distance);
        known.previous = distance;
    }
    counts.into_iter().collect()
}

/// Returns the slots of the symbols in each context, from the blocks of a model.
fn slots<'a>(blocks: impl Iterator<Item = &'a BlockCounts>) -> Vec<[u16; 4]> {
    let mut counts = vec![[0.0f64; 4]; CONTEXTS];
    for &(context, block) in blocks.flatten() {
        counts[context].iter_mut().zip(block).for_each(|(count, more)| *count += f64::from(more));
    }
    let slots_of = |counts: &[f64; 4]| {
        // Every symbol may occur, a distance far from the base only in a table that is not of this game.
        let counts = [counts[0] + 0.3, counts[1] + 0.3, counts[2] + 0.3, counts[3] + 0.001];
        let all: f64 = counts.iter().sum();
        let mut slots = counts.map(|count| ((count / all * SLOTS) as u16).max(1));
        let likeliest = (0..4).max_by_key(|&symbol| slots[symbol]).expect("there are four");
        let others: u16 = (0..4).filter(|&symbol| symbol != likeliest).map(|symbol| slots[symbol]).sum();
        slots[likeliest] = SLOTS as u16 - others;
        slots
    };
    counts.iter().map(slots_of).collect()
}

/// Returns the bits of a block in a model.
fn bits(block: &BlockCounts, model: &[[u16; 4]]) -> f64 {
    let cost = |(context, counts): &(usize, [u32; 4])| -> f64 {
        let pairs = counts.iter().zip(model[*context]);
        pairs.map(|(&count, slots)| f64::from(count) * (SLOTS / f64::from(slots)).log2()).sum()
    };
    block.iter().map(cost).sum()
}

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [out, models, block_states, tables @ ..] = &args[..] else {
        return Err("usage: count_models OUT MODELS BLOCK_STATES TABLE=BLOCKS...".into());
    };
    let (models, block_states): (usize, u64) = (models.parse()?, block_states.parse()?);
    let mut blocks = Vec::new();
    let mut states = 0;
    for argument in tables {
        let (path, wanted) = argument.rsplit_once('=').ok_or("each table has a number of blocks: TABLE=BLOCKS")?;
        let (table, wanted): (_, u64) = (Table::open(path)?, wanted.parse()?);
        let all: u64 =
            table.layout().partitions().map(|partition| partition.indices.end - partition.indices.start).sum();
        for number in 0..wanted {
            let index = (2 * number + 1) * (all / (2 * wanted));
            let mut partitions = table.layout().partitions();
            let partition = partitions.find(|partition| partition.indices.contains(&index)).ok_or("no partition")?;
            let start = index - (index - partition.indices.start) % block_states;
            let end = partition.indices.end.min(start + block_states);
            states += end - start;
            blocks.push(count(&table, start..end));
        }
    }

    // Blocks of the same part of a table are alike.
    let mut chosen: Vec<usize> = (0..blocks.len()).map(|block| block * models / blocks.len()).collect();
    let mut tables = Vec::new();
    for round in 1..=ROUNDS {
        let of_model = |model: usize| {
            blocks.iter().zip(&chosen).filter(move |(_, chosen)| **chosen == model).map(|(block, _)| block)
        };
        tables = (0..models).map(|model| slots(of_model(model))).collect();
        let best = |block: &BlockCounts| {
            let costs = tables.iter().map(|model| bits(block, model));
            costs.enumerate().min_by(|(_, a), (_, b)| a.total_cmp(b)).expect("there are models")
        };
        let best: Vec<(usize, f64)> = blocks.iter().map(best).collect();
        let total: f64 = best.iter().map(|(_, bits)| bits).sum();
        let now: Vec<usize> = best.into_iter().map(|(model, _)| model).collect();
        let sizes: Vec<usize> =
            (0..models).map(|model| now.iter().filter(|&&chosen| chosen == model).count()).collect();
        println!("round {round}: {:.4} bits per state; blocks of each model: {sizes:?}", total / states as f64);
        if now == chosen {
            break;
        }
        chosen = now;
    }
    let lengths = tables.iter().flatten().flat_map(|slots| &slots[..3]);
    std::fs::write(out, lengths.flat_map(|slots| slots.to_le_bytes()).collect::<Vec<u8>>())?;
    Ok(())
}
