//! The solver in memory.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard};

use rayon::ThreadPool;
use sternhalma_data::board::{GameRules, Standing, WithoutMove};
use sternhalma_data::solution::{Code, Layer, Place, PositionSpace, Value};
use sternhalma_data::{Board, RuleSet, State};

use super::row::{Columns, Direction, MOVER, Row, Transposer};
use crate::bits::words_for;
use crate::error::{BuilderError, Result};
use crate::observer::{BuildPhase, Observer};
use crate::search::{RowExpander, RowScratch};

/// The result of a position for the player to move.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Outcome {
    Loss,
    Win,
}

/// The values of all positions of a board.
#[derive(Debug)]
pub struct Solution {
    space: PositionSpace,
    /// The codes of successive rows.
    blocks: Vec<Vec<u8>>,
    rows_per_block: usize,
    layers: Vec<Layer>,
    illegal: u64,
}

impl Solution {
    /// Returns the positions.
    pub fn space(&self) -> &PositionSpace {
        &self.space
    }

    /// Returns the layers of won and lost positions, in the order of their codes.
    pub fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// Returns the number of illegal positions.
    pub fn illegal(&self) -> u64 {
        self.illegal
    }

    /// Returns the number of drawn positions.
    pub fn draws(&self) -> u64 {
        self.space.positions() - self.illegal - self.layers.iter().map(|layer| layer.positions).sum::<u64>()
    }

    #[cfg(test)]
    pub(super) fn blocks(&self) -> &[Vec<u8>] {
        &self.blocks
    }

    /// Returns the value of a position for `mover`, which is to move against `opponent`.
    pub fn value(&self, mover: State, opponent: State) -> Value {
        let Place { row, column } = self.space.place(mover, opponent);
        let (block, index) = (row / self.rows_per_block, row % self.rows_per_block);
        let code = Code(self.blocks[block][index * self.space.columns() as usize + column as usize]);
        code.value(&self.layers).expect("every code has a layer")
    }
}

const DRAW: u8 = Code::DRAW.0;
const ILLEGAL: u8 = Code::ILLEGAL.0;
/// The codes of the positions that are lost at once, and won at once.
const FIRST_LAYER: u8 = 2;

/// Successive rows.
struct Block {
    /// What is known about the moves of the rows, from other rows.
    moves: Mutex<Moves>,
    /// The values of the positions.
    values: Mutex<Vec<u8>>,
}

/// What is known about the positions after the moves of some rows. A row has one bit per placement after a move.
struct Moves {
    /// The move is illegal, or the opponent wins after it.
    bad: Vec<u64>,
    /// The value of the position after the move was found in the last layer, and in this one.
    new: [Vec<u64>; 2],
}

/// A buffer of bits that are found for the rows of a block.
const RECORDS: usize = 1024;

struct Solver<'a> {
    space: &'a PositionSpace,
    rules: &'a GameRules,
    columns: &'a Columns,
    expander: Option<RowExpander>,
    blocks: Vec<Block>,
    rows_per_block: usize,
    /// The binary logarithm of the rows of a block.
    block_bits: u32,
    row_words: usize,
}

/// The buffers of a thread.
struct Scratch {
    expander: Option<RowScratch>,
    new: Vec<u64>,
    bad: Vec<u64>,
    wanted: Vec<u64>,
    found: Vec<u64>,
    rest: Vec<u64>,
    /// By block, positions of bits to set.
    records: Vec<Vec<u32>>,
}

/// The search for the positions with one outcome in one number of plies.
struct Phase {
    outcome: Outcome,
    code: u8,
    /// The index of the bits that the last layer has found, and of those that this one finds.
    from: usize,
    to: usize,
    /// Whether no other phase needs the bits of the last layer.
    is_last: bool,
    /// The positions that pass into one of the last layer, in order.
    passes: Vec<Place>,
    /// The number of positions that were found.
    found: AtomicU64,
}

/// The positions without a legal move, which pass, each with the position after the pass.
type Stuck = Vec<(Place, Place)>;

/// What the owner of a mutex expects: a panic of another thread ends the program.
const NO_PANIC: &str = "no thread has panicked";

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect(NO_PANIC)
}

/// Returns the items with places in a row, of items in the order of their places.
fn of_row<T>(items: &[T], row: usize, place: impl Fn(&T) -> Place) -> &[T] {
    let start = items.partition_point(|item| place(item).row < row);
    let end = items.partition_point(|item| place(item).row <= row);
    &items[start..end]
}

fn bit(words: &[u64], at: u64) -> bool {
    words[(at / 64) as usize] >> (at % 64) & 1 != 0
}

fn set(words: &mut [u64], at: u64) {
    words[(at / 64) as usize] |= 1 << (at % 64);
}

fn each_bit(words: &[u64], mut visit: impl FnMut(u64)) {
    for (word, &bits) in words.iter().enumerate() {
        let mut rest = bits;
        while rest != 0 {
            visit(64 * word as u64 + u64::from(rest.trailing_zeros()));
            rest &= rest - 1;
        }
    }
}

/// Sets a bit for each value that is zero.
fn zeros(values: &[u8], out: &mut [u64]) {
    const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    out.fill(0);
    for (word, bytes) in out.iter_mut().zip(values.chunks(64)) {
        for (at, part) in bytes.chunks(8).enumerate() {
            let bits = match <[u8; 8]>::try_from(part) {
                Ok(part) => {
                    let x = u64::from_le_bytes(part);
                    let zero = !(((x & LOW) + LOW) | x | LOW);
                    (zero >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56
                }
                Err(_) => part.iter().enumerate().map(|(i, &value)| u64::from(value == 0) << i).sum(),
            };
            *word |= bits << (8 * at);
        }
    }
}

/// Solves a board: finds the value of every position.
///
/// The search is in memory and takes about 11 bits per position. The result does not depend on the number of threads.
///
/// # Errors
/// If there are more than 254 layers, or if the observer cancels the search.
///
/// # Panics
/// If the homes of the board overlap, or if the memory cannot be allocated.
///
/// ```
/// use sternhalma_builder::solve::solve;
/// use sternhalma_data::solution::Value;
/// use sternhalma_data::{Board, RuleSet, State};
///
/// let board = Board::new(4, 2)?;
/// let pool = rayon::ThreadPoolBuilder::new().build()?;
/// let solution = solve(board, RuleSet::Sturtevant2019, &pool, &())?;
/// let start = State::start(board);
/// assert_eq!(solution.value(start, start), Value::Win(15));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn solve(board: Board, rules: RuleSet, pool: &ThreadPool, observer: &dyn Observer) -> Result<Solution> {
    solve_rules(&GameRules::new(rules, board), pool, observer)
}

/// Solves a board with any rules, as [`solve`] does.
pub(super) fn solve_rules(rules: &GameRules, pool: &ThreadPool, observer: &dyn Observer) -> Result<Solution> {
    let board = rules.board();
    let space = PositionSpace::new(board);
    let columns = Columns::new(&space);
    let pieces = board.pieces();
    let expander = (pieces > 1).then(|| RowExpander::new(board.cells() - pieces, pieces));
    let row_words = words_for(space.columns());
    // The bits of a block fit in the second-level cache.
    let rows_per_block = ((4 << 20) / (8 * row_words)).clamp(1, space.rows().div_ceil(64).max(1));
    let block_bits = rows_per_block.ilog2();
    let rows_per_block = 1 << block_bits;
    let block = |first: usize| {
        let rows = rows_per_block.min(space.rows() - first);
        let bits = || vec![0; rows * row_words];
        Block {
            moves: Mutex::new(Moves { bad: bits(), new: [bits(), bits()] }),
            values: Mutex::new(vec![DRAW; rows * space.columns() as usize]),
        }
    };
    let blocks = (0..space.rows()).step_by(rows_per_block).map(block).collect();
    let solver =
        Solver { space: &space, rules, columns: &columns, expander, blocks, rows_per_block, block_bits, row_words };
    let (layers, illegal) = solver.run(pool, observer)?;
    let blocks = solver.blocks.into_iter().map(|block| block.values.into_inner().expect(NO_PANIC));
    let blocks = blocks.collect();
    Ok(Solution { blocks, rows_per_block, layers, illegal, space })
}

impl Solver<'_> {
    fn run(&self, pool: &ThreadPool, observer: &dyn Observer) -> Result<(Vec<Layer>, u64)> {
        let mut layers: Vec<Layer> = Vec::new();
        observer.begin(BuildPhase::Layer(0), self.blocks.len() as u64);
        let ends = self.find_ends(pool, observer);
        let (illegal, mut stuck) = (ends.illegal.into_inner(), ends.stuck.into_inner().expect(NO_PANIC));
        if self.rules.switches().without_move == WithoutMove::Loses {
            ends.lost.fetch_add(self.lose(&stuck), Relaxed);
            stuck.clear();
        }
        stuck.sort_unstable_by_key(|&(place, _)| place);
        let mut seen = illegal;
        // The code of each outcome of the last layer.
        let mut last: [Option<u8>; 2] = [Some(FIRST_LAYER), None];
        layers.push(Layer { value: Value::Loss(0), positions: ends.lost.into_inner() });
        let won = ends.won.into_inner();
        if won > 0 {
            layers.push(Layer { value: Value::Win(0), positions: won });
            last[1] = Some(FIRST_LAYER + 1);
        }
        let all = self.space.positions();
        let mut known = 0;
        for plies in 1.. {
            let count: u64 = layers[known..].iter().map(|layer| layer.positions).sum();
            seen += count;
            known = layers.len();
            observer.layer(plies - 1, count, seen, all);
            if observer.cancelled() {
                return Err(BuilderError::Cancelled);
            }
            if last == [None; 2] {
                break;
            }
            // The values of the stuck positions must not depend on the values of this layer.
            let passes = self.passes(&stuck, last);
            let mut next = [None; 2];
            let phases = [(Outcome::Loss, last[1]), (Outcome::Win, last[0])];
            let count = phases.iter().filter(|(_, code)| code.is_some()).count();
            for (number, (outcome, _)) in phases.into_iter().filter(|(_, code)| code.is_some()).enumerate() {
                let Code(code) = Code::of_layer(layers.len()).ok_or(BuilderError::DistanceTooLarge)?;
                observer.begin(BuildPhase::Layer(plies), self.blocks.len() as u64);
                let passes = passes.iter().filter(|&&(_, found)| found == outcome).map(|&(place, _)| place).collect();
                let [from, to] = [plies - 1, plies].map(|plies| plies as usize % 2);
                let is_last = number + 1 == count;
                let mut phase = Phase { outcome, code, from, to, is_last, passes, found: AtomicU64::new(0) };
                self.find_layer(&phase, &stuck, pool, observer);
                let found = *phase.found.get_mut();
                if found > 0 {
                    let value = if outcome == Outcome::Win { Value::Win(plies) } else { Value::Loss(plies) };
                    layers.push(Layer { value, positions: found });
                    next[outcome as usize] = Some(code);
                }
            }
            last = next;
        }
        Ok((layers, illegal))
    }

    fn scratch(&self) -> Scratch {
        let row = || vec![0; self.row_words];
        Scratch {
            expander: self.expander.as_ref().map(RowExpander::scratch),
            new: row(),
            bad: row(),
            wanted: row(),
            found: row(),
            rest: row(),
            records: vec![Vec::with_capacity(RECORDS); self.blocks.len()],
        }
    }

    /// Calls `visit` with each block on some thread.
    fn each_block(
        &self,
        pool: &ThreadPool,
        observer: &dyn Observer,
        visit: impl Fn(usize, &Block, &mut Scratch) + Sync,
        finish: impl Fn(&mut Scratch) + Sync,
    ) {
        let next = AtomicUsize::new(0);
        pool.broadcast(|_| {
            let mut scratch = self.scratch();
            loop {
                let at = next.fetch_add(1, Relaxed);
                let Some(block) = self.blocks.get(at).filter(|_| !observer.cancelled()) else { break };
                visit(at, block, &mut scratch);
                observer.advance(1);
            }
            finish(&mut scratch);
        });
    }

    fn place_partner(&self, row: usize, column: u64) -> Place {
        let [mover, opponent] = self.space.position(Place { row, column });
        self.space.place(opponent, mover)
    }

    /// Finds the positions that are over or illegal, the illegal moves, and the positions without a move.
    fn find_ends(&self, pool: &ThreadPool, observer: &dyn Observer) -> Ends {
        let ends = Ends::default();
        self.each_block(
            pool,
            observer,
            |at, block, scratch| {
                let (mut moves, mut values) = (lock(&block.moves), lock(&block.values));
                let columns = self.space.columns() as usize;
                for (index, values) in values.chunks_mut(columns).enumerate() {
                    let number = at * self.rows_per_block + index;
                    self.find_ends_of_row(number, index, &mut moves, values, scratch, &ends);
                }
            },
            |_| (),
        );
        ends
    }

    fn find_ends_of_row(
        &self,
        number: usize,
        index: usize,
        moves: &mut Moves,
        values: &mut [u8],
        scratch: &mut Scratch,
        ends: &Ends,
    ) {
        let row = Row::new(self.rules, self.space.opponent(number));
        let range = index * self.row_words..(index + 1) * self.row_words;
        let Moves { bad, new } = moves;
        let (bad, new) = (&mut bad[range.clone()], &mut new[0][range]);
        // The illegal moves.
        let forbidden = &mut scratch.bad;
        forbidden.fill(0);
        row.special(|army, column| {
            values[column as usize] = match self.rules.standing_of(army, row.obstacles, MOVER) {
                Standing::Open => DRAW,
                Standing::Illegal => ILLEGAL,
                Standing::Lost => FIRST_LAYER,
                Standing::Won => FIRST_LAYER + 1,
            };
            if !self.rules.may_reach(army, row.obstacles, MOVER) {
                set(forbidden, column);
                set(bad, column);
                return;
            }
            match self.rules.standing_of(row.obstacles, army, MOVER.other()) {
                Standing::Lost => set(new, column),
                Standing::Won => {
                    set(bad, column);
                    set(new, column);
                }
                _ => {}
            }
        });
        // The positions without a move.
        let Scratch { expander, wanted, found, rest, .. } = scratch;
        zeros(values, wanted);
        if let (Some(expander), Some(buffers)) = (&self.expander, expander) {
            rest.iter_mut().zip(&*forbidden).for_each(|(rest, forbidden)| *rest = !forbidden);
            clear_from(rest, self.space.columns());
            expander.sources(&row.field(), &row.expansion(rest, wanted), found, buffers);
            wanted.iter_mut().zip(&*found).for_each(|(wanted, found)| *wanted &= !found);
        }
        each_bit(wanted, |column| {
            let numbers = self.columns.numbers(column);
            let legal = |to| if bit(forbidden, to) { ControlFlow::Continue(()) } else { ControlFlow::Break(()) };
            if row.moves(numbers, Direction::Forward, legal).is_continue() {
                let place = Place { row: number, column };
                lock(&ends.stuck).push((place, self.place_partner(number, column)));
            }
        });
        let weight = self.space.weight(number);
        let count = |value| weight * values.iter().filter(|&&other| other == value).count() as u64;
        ends.illegal.fetch_add(count(ILLEGAL), Relaxed);
        ends.lost.fetch_add(count(FIRST_LAYER), Relaxed);
        ends.won.fetch_add(count(FIRST_LAYER + 1), Relaxed);
    }

    /// Stores the positions without a move as lost. Returns their number.
    fn lose(&self, stuck: &Stuck) -> u64 {
        let mut scratch = self.scratch();
        let phase = Phase {
            outcome: Outcome::Loss,
            code: FIRST_LAYER,
            from: 1,
            to: 0,
            is_last: false,
            passes: Vec::new(),
            found: AtomicU64::new(0),
        };
        for &(Place { row: number, column }, _) in stuck {
            let row = Row::new(self.rules, self.space.opponent(number));
            let mut values = lock(&self.blocks[number / self.rows_per_block].values);
            let columns = self.space.columns() as usize;
            let values = &mut values[number % self.rows_per_block * columns..][..columns];
            scratch.found.fill(0);
            set(&mut scratch.found, column);
            self.store(&phase, number, &row, values, &mut scratch);
        }
        (0..self.blocks.len()).for_each(|block| self.flush(&phase, block, &mut scratch));
        phase.found.into_inner()
    }

    /// Returns the stuck positions whose values follow from the last layer.
    fn passes(&self, stuck: &Stuck, last: [Option<u8>; 2]) -> Vec<(Place, Outcome)> {
        let value = |place: Place| {
            let (block, row) = (place.row / self.rows_per_block, place.row % self.rows_per_block);
            lock(&self.blocks[block].values)[row * self.space.columns() as usize + place.column as usize]
        };
        let outcome = |&(place, partner): &(Place, Place)| {
            let code = Some(value(partner));
            if value(place) != DRAW {
                None
            } else if code == last[0] {
                Some((place, Outcome::Win))
            } else if code == last[1] {
                Some((place, Outcome::Loss))
            } else {
                None
            }
        };
        stuck.iter().filter_map(outcome).collect()
    }

    /// Finds the positions of a phase.
    fn find_layer(&self, phase: &Phase, stuck: &Stuck, pool: &ThreadPool, observer: &dyn Observer) {
        self.each_block(
            pool,
            observer,
            |at, block, scratch| {
                let columns = self.space.columns() as usize;
                let mut values = lock(&block.values);
                for (index, values) in values.chunks_mut(columns).enumerate() {
                    let number = at * self.rows_per_block + index;
                    if !self.load(phase, block, index, scratch) && phase.passes.is_empty() {
                        continue;
                    }
                    let row = Row::new(self.rules, self.space.opponent(number));
                    match phase.outcome {
                        Outcome::Win => self.find_wins(&row, values, scratch),
                        Outcome::Loss => self.find_losses(&row, values, scratch),
                    }
                    // All moves of these positions are forbidden, which does not lose.
                    for &(Place { column, .. }, _) in of_row(stuck, number, |&(place, _)| place) {
                        scratch.found[(column / 64) as usize] &= !(1 << (column % 64));
                    }
                    for place in of_row(&phase.passes, number, |&place| place) {
                        set(&mut scratch.found, place.column);
                    }
                    self.store(phase, number, &row, values, scratch);
                }
            },
            |scratch| (0..self.blocks.len()).for_each(|block| self.flush(phase, block, scratch)),
        );
    }

    /// Loads the moves of a row that the last layer has found for a phase. Returns whether there are any.
    fn load(&self, phase: &Phase, block: &Block, index: usize, scratch: &mut Scratch) -> bool {
        let range = index * self.row_words..(index + 1) * self.row_words;
        let mut moves = lock(&block.moves);
        let Moves { bad, new } = &mut *moves;
        let (bad, new) = (&bad[range.clone()], &mut new[phase.from][range]);
        let mut any = 0;
        for ((to, &new), &bad) in scratch.new.iter_mut().zip(&*new).zip(bad) {
            *to = match phase.outcome {
                Outcome::Win => new & !bad,
                Outcome::Loss => new & bad,
            };
            any |= *to;
        }
        if phase.is_last {
            new.fill(0);
        }
        if phase.outcome == Outcome::Loss {
            scratch.bad.copy_from_slice(bad);
        }
        any != 0
    }

    /// Finds the positions of a row with a move to a lost position.
    fn find_wins(&self, row: &Row, values: &[u8], scratch: &mut Scratch) {
        self.spread(row, values, scratch);
        let Scratch { new, found, .. } = scratch;
        // The expansion may have missed those that follow a move themselves.
        each_bit(new, |column| {
            if values[column as usize] == DRAW && !bit(found, column) {
                let numbers = self.columns.numbers(column);
                let wins = |to| if bit(new, to) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
                if row.moves(numbers, Direction::Forward, wins).is_break() {
                    set(found, column);
                }
            }
        });
    }

    /// Finds the positions of a row of which all moves lead to won positions.
    fn find_losses(&self, row: &Row, values: &[u8], scratch: &mut Scratch) {
        self.spread(row, values, scratch);
        let Scratch { expander, new, bad, found, rest, wanted, .. } = scratch;
        each_bit(new, |column| {
            if values[column as usize] == DRAW {
                set(found, column);
            }
        });
        let count: u32 = found.iter().map(|word| word.count_ones()).sum();
        let mut exact = false;
        if let (Some(expander), Some(buffers)) = (&self.expander, expander)
            && u64::from(count) * LOSS_COST > self.space.columns()
        {
            rest.iter_mut().zip(&*bad).for_each(|(rest, bad)| *rest = !bad);
            clear_from(rest, self.space.columns());
            expander.sources(&row.field(), &row.expansion(rest, found), wanted, buffers);
            found.iter_mut().zip(&*wanted).for_each(|(found, not)| *found &= !not);
            exact = true;
        }
        for word in 0..found.len() {
            let mut bits = found[word];
            // A position that does not follow a move itself is found exactly.
            if exact {
                bits &= !bad[word];
            }
            while bits != 0 {
                let at = bits.trailing_zeros();
                bits &= bits - 1;
                let numbers = self.columns.numbers(64 * word as u64 + u64::from(at));
                let saves = |to| if bit(bad, to) { ControlFlow::Continue(()) } else { ControlFlow::Break(()) };
                if row.moves(numbers, Direction::Forward, saves).is_break() {
                    found[word] &= !(1 << at);
                }
            }
        }
    }

    /// Sets `found` to the unsolved positions with a move to `new`; those in `new` may be missing.
    fn spread(&self, row: &Row, values: &[u8], scratch: &mut Scratch) {
        let Scratch { expander, new, wanted, found, .. } = scratch;
        let count: u32 = new.iter().map(|word| word.count_ones()).sum();
        if let (Some(expander), Some(buffers)) = (&self.expander, expander)
            && u64::from(count) * SPREAD_COST > self.space.columns()
        {
            zeros(values, wanted);
            expander.sources(&row.field(), &row.expansion(new, wanted), found, buffers);
            return;
        }
        found.fill(0);
        each_bit(new, |column| {
            let numbers = self.columns.numbers(column);
            let _ = row.moves(numbers, Direction::Backward, |from| {
                if values[from as usize] == DRAW {
                    set(found, from);
                }
                ControlFlow::<()>::Continue(())
            });
        });
    }

    /// Stores the positions in `found`, and passes them on to the rows of the moves that lead to them.
    fn store(&self, phase: &Phase, number: usize, row: &Row, values: &mut [u8], scratch: &mut Scratch) {
        let transposer = Transposer::new(self.space, row, self.space.opponent(number));
        let mut count = 0;
        let found = std::mem::take(&mut scratch.found);
        each_bit(&found, |column| {
            count += 1;
            values[column as usize] = phase.code;
            transposer.each_source(self.columns.numbers(column), |source, column| {
                let (block, index) = (source >> self.block_bits, source & (self.rows_per_block - 1));
                let records = &mut scratch.records[block];
                records.push((64 * index * self.row_words) as u32 + column as u32);
                if records.len() == RECORDS {
                    self.flush(phase, block, scratch);
                }
            });
        });
        scratch.found = found;
        phase.found.fetch_add(count * self.space.weight(number), Relaxed);
    }

    /// Passes positions on to a block.
    fn flush(&self, phase: &Phase, block: usize, scratch: &mut Scratch) {
        let records = &mut scratch.records[block];
        if records.is_empty() {
            return;
        }
        let mut moves = lock(&self.blocks[block].moves);
        let Moves { bad, new } = &mut *moves;
        let new = &mut new[phase.to];
        for &at in &*records {
            let (word, bit) = ((at / 64) as usize, 1 << (at % 64));
            match phase.outcome {
                Outcome::Win => {
                    bad[word] |= bit;
                    new[word] |= bit;
                }
                // An illegal move stays bad.
                Outcome::Loss => new[word] |= bit & !bad[word],
            }
        }
        records.clear();
    }
}

/// The cost of the moves of a position, relative to that of a column in an expansion.
const SPREAD_COST: u64 = 100;
const LOSS_COST: u64 = 40;

fn clear_from(words: &mut [u64], bits: u64) {
    let word = (bits / 64) as usize;
    words[word] &= (1 << (bits % 64)) - 1;
    words[word + 1..].fill(0);
}

/// The positions that are over or illegal.
#[derive(Default)]
struct Ends {
    illegal: AtomicU64,
    lost: AtomicU64,
    won: AtomicU64,
    stuck: Mutex<Stuck>,
}
