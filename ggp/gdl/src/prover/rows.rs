//! Sets of tuples of terms, with indexes by column.

use std::hash::BuildHasher;

use hashbrown::HashTable;
use rustc_hash::{FxBuildHasher, FxHashMap};
use sternhalma_game::hash_table_bytes;

/// Returns the hash of a tuple.
#[inline]
pub fn hash(words: &[u32]) -> u64 {
    FxBuildHasher.hash_one(words)
}

/// The row number that means no row.
pub const NONE: u32 = u32::MAX;

/// The maximum size of sets that are searched linearly.
const SMALL: usize = 8;

/// An index of a column: the rows with each value, as a chain in their order.
#[derive(Default)]
struct Column {
    built: bool,
    /// The first row with each value, and the number of rows with it.
    first: FxHashMap<u32, (u32, u32)>,
    next: Vec<u32>,
}

impl Column {
    fn bytes(&self) -> usize {
        hash_table_bytes::<(u32, (u32, u32))>(self.first.capacity()) + self.next.capacity() * size_of::<u32>()
    }
}

/// A set of tuples of the same width, in the order of insertion.
#[derive(Default)]
pub struct TupleSet {
    width: usize,
    len: usize,
    words: Vec<u32>,
    slots: HashTable<u32>,
    columns: Vec<Column>,
    /// The memory of the indexes in bytes.
    indexes: usize,
}

impl TupleSet {
    pub fn new(width: usize) -> TupleSet {
        TupleSet { width, ..TupleSet::default() }
    }

    /// Removes all tuples and changes the width.
    pub fn reset(&mut self, width: usize) {
        self.width = width;
        self.len = 0;
        self.words.clear();
        self.slots.clear();
        for column in &mut self.columns {
            column.built = false;
        }
    }

    /// Returns the memory of the set in bytes.
    #[inline]
    pub fn bytes(&self) -> usize {
        self.words.capacity() * size_of::<u32>() + self.slots.allocation_size() + self.indexes
    }

    pub fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub fn row(&self, row: u32) -> &[u32] {
        let start = row as usize * self.width;
        &self.words[start..start + self.width]
    }

    pub fn iter(&self) -> impl Iterator<Item = &[u32]> {
        (0..self.len as u32).map(|row| self.row(row))
    }

    /// Adds a tuple that is known not to be in the set.
    pub fn push(&mut self, words: &[u32]) {
        debug_assert_eq!(words.len(), self.width);
        self.words.extend_from_slice(words);
        self.len += 1;
    }

    /// Adds a tuple. Returns `false` if the tuple was already in the set.
    pub fn insert(&mut self, words: &[u32]) -> bool {
        if self.len <= SMALL {
            if self.iter().any(|row| row == words) {
                return false;
            }
            self.push(words);
            if self.len > SMALL {
                for row in 0..self.len as u32 {
                    self.enter(row);
                }
            }
            return true;
        }
        if self.slots.find(hash(words), |&row| self.row(row) == words).is_some() {
            return false;
        }
        self.push(words);
        self.enter(self.len as u32 - 1);
        true
    }

    fn enter(&mut self, row: u32) {
        let TupleSet { width, words, slots, .. } = self;
        let row_hash = |&row: &u32| hash(&words[row as usize * *width..][..*width]);
        slots.insert_unique(row_hash(&row), row, row_hash);
    }

    /// Returns whether the set is large enough for an index.
    pub fn wants_index(&self) -> bool {
        self.len > SMALL
    }

    /// Returns the first row with a value in a column, and the number of such rows.
    /// Builds the index of the column. No row may be added afterwards.
    pub fn first_with(&mut self, column: usize, value: u32) -> (u32, u32) {
        if self.columns.len() < self.width {
            self.columns.resize_with(self.width, Column::default);
        }
        let index = &mut self.columns[column];
        if !index.built {
            self.indexes -= index.bytes();
            index.built = true;
            index.first.clear();
            index.next.clear();
            index.next.resize(self.len, NONE);
            for row in (0..self.len).rev() {
                let first = index.first.entry(self.words[row * self.width + column]).or_insert((NONE, 0));
                index.next[row] = first.0;
                *first = (row as u32, first.1 + 1);
            }
            self.indexes += index.bytes();
        }
        index.first.get(&value).copied().unwrap_or((NONE, 0))
    }

    /// Returns the next row with the same value in a column.
    #[inline]
    pub fn next_with(&self, column: usize, row: u32) -> u32 {
        self.columns[column].next[row as usize]
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn rows_are_a_set_and_columns_find_them(tuples in proptest::collection::vec((0u32..6, 0u32..6), 0..60)) {
            let mut rows = TupleSet::new(2);
            let mut set = BTreeSet::new();
            for &(a, b) in &tuples {
                prop_assert_eq!(rows.insert(&[a, b]), set.insert((a, b)));
            }
            prop_assert_eq!(rows.len(), set.len());
            for column in 0..2 {
                for value in 0..7 {
                    let (mut row, count) = rows.first_with(column, value);
                    let mut found = 0;
                    while row != NONE {
                        prop_assert_eq!(rows.row(row)[column], value);
                        found += 1;
                        row = rows.next_with(column, row);
                    }
                    prop_assert_eq!(found, count);
                    let expected = set.iter().filter(|pair| [pair.0, pair.1][column] == value).count();
                    prop_assert_eq!(found as usize, expected);
                }
            }
        }
    }
}
