//! The rows that proofs read: facts, the state, the moves, and the tables of
//! calls.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use sternhalma_game::hash_table_bytes;

use super::plan::{AnswerScope, PlannedRules};
use super::rows::{NONE, TupleSet};

/// The memory of the key of a call besides its words, in bytes.
const KEY_BYTES: usize = 32;

/// The mark of a free argument. No term has this id.
pub const FREE: u32 = u32::MAX;

/// The evaluation of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CallStatus {
    /// Not evaluated completely: the answers are correct, but some may be missing.
    Open,
    /// Being evaluated.
    Active,
    /// Evaluated in `round`, and waiting for a leader.
    Waiting,
    Complete,
}

/// The answers of a call.
pub struct CallTable {
    pub pred: u32,
    /// The relation, then the arguments of the call, of which the free ones are [`FREE`].
    pub key: Arc<[u32]>,
    pub status: CallStatus,
    pub depth: u32,
    /// The smallest depth of an active call on which it depends.
    pub low: u32,
    pub round: u64,
    /// The answers: the values of the free arguments.
    pub rows: TupleSet,
}

/// The tables whose answers are valid for the same scope of time.
#[derive(Default)]
pub struct TableCache {
    pub numbers: FxHashMap<Arc<[u32]>, u32>,
    pub tables: Vec<CallTable>,
    pub used: usize,
    /// The memory of the tables in bytes, including those that are not used.
    pub bytes: usize,
}

impl TableCache {
    /// Removes all tables. Keeps at most `spare` bytes of memory for other tables.
    pub fn clear(&mut self, spare: usize) {
        if self.bytes > spare {
            *self = TableCache::default();
        }
        self.numbers.clear();
        self.used = 0;
    }

    /// Returns the memory in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes + hash_table_bytes::<(Arc<[u32]>, u32)>(self.numbers.capacity())
    }

    /// Returns the table of a call. The key is the relation and the arguments.
    pub fn table(&mut self, key: &[u32]) -> u32 {
        if let Some(&number) = self.numbers.get(key) {
            return number;
        }
        let number = self.used as u32;
        let width = key[1..].iter().filter(|&&arg| arg == FREE).count();
        let shared: Arc<[u32]> = key.into();
        self.numbers.insert(shared.clone(), number);
        if self.used == self.tables.len() {
            let rows = TupleSet::new(width);
            let status = CallStatus::Open;
            self.bytes += size_of::<CallTable>() + KEY_BYTES + size_of_val(key);
            self.tables.push(CallTable { pred: key[0], key: shared, status, depth: 0, low: NONE, round: 0, rows });
        } else {
            let table = &mut self.tables[self.used];
            table.rows.reset(width);
            (table.pred, table.key, table.status, table.round) = (key[0], shared, CallStatus::Open, 0);
        }
        self.used += 1;
        number
    }
}

/// The number of a table in the cache of its scope.
#[derive(Clone, Copy, Debug)]
pub struct TableRef {
    pub scope: AnswerScope,
    pub number: u32,
}

/// A set of rows.
#[derive(Clone, Copy)]
pub enum RowsRef {
    Facts(u32),
    Functor(u32),
    Fluents,
    Does,
    Table(TableRef),
}

/// All sources of rows.
pub struct RowStore {
    pub program: PlannedRules,
    /// The arguments of the fluents in the state, by functor.
    pub functors: Vec<TupleSet>,
    pub fluents: TupleSet,
    pub does: TupleSet,
    pub caches: [TableCache; 3],
    /// The memory of the state and of the indexes of facts, in bytes.
    pub state: usize,
}

impl RowStore {
    #[inline]
    pub fn rows(&self, at: RowsRef) -> &TupleSet {
        match at {
            RowsRef::Facts(pred) => &self.program.preds[pred as usize].facts,
            RowsRef::Functor(functor) => &self.functors[functor as usize],
            RowsRef::Fluents => &self.fluents,
            RowsRef::Does => &self.does,
            RowsRef::Table(table) => &self.table(table).rows,
        }
    }

    /// Returns the memory in bytes.
    pub fn bytes(&self) -> usize {
        self.state + self.caches.iter().map(TableCache::bytes).sum::<usize>()
    }

    /// Adds a row to a table. Returns `false` if the table has the row already.
    #[inline]
    pub fn insert(&mut self, at: TableRef, row: &[u32]) -> bool {
        let cache = &mut self.caches[at.scope as usize];
        let rows = &mut cache.tables[at.number as usize].rows;
        let before = rows.bytes();
        let is_new = rows.insert(row);
        cache.bytes += rows.bytes() - before;
        is_new
    }

    pub fn rows_mut(&mut self, at: RowsRef) -> &mut TupleSet {
        match at {
            RowsRef::Facts(pred) => &mut self.program.preds[pred as usize].facts,
            RowsRef::Functor(functor) => &mut self.functors[functor as usize],
            RowsRef::Fluents => &mut self.fluents,
            RowsRef::Does => &mut self.does,
            RowsRef::Table(table) => &mut self.table_mut(table).rows,
        }
    }

    #[inline]
    pub fn table(&self, at: TableRef) -> &CallTable {
        &self.caches[at.scope as usize].tables[at.number as usize]
    }

    #[inline]
    pub fn table_mut(&mut self, at: TableRef) -> &mut CallTable {
        &mut self.caches[at.scope as usize].tables[at.number as usize]
    }
}

/// Returns the first row to try and the column whose chain to follow. The column
/// is the one whose key has the fewest rows.
pub fn start_rows(store: &mut RowStore, at: RowsRef, keys: impl Iterator<Item = (usize, u32)>) -> (u32, u32) {
    if !store.rows(at).wants_index() {
        return (0, NONE);
    }
    let rows = store.rows_mut(at);
    let before = rows.bytes();
    let mut best = (0, NONE, u32::MAX);
    for (column, value) in keys {
        let (first, count) = rows.first_with(column, value);
        if count < best.2 {
            best = (first, column as u32, count);
        }
    }
    // Indexes only grow.
    let grown = rows.bytes() - before;
    match at {
        RowsRef::Table(table) => store.caches[table.scope as usize].bytes += grown,
        _ => store.state += grown,
    }
    (best.0, best.1)
}
