//! Tables of the sentences that may hold: rows of terms.

use hashbrown::{HashMap, HashTable};
use rustc_hash::FxBuildHasher;

/// The number that means no row or no index.
pub const NONE: u32 = u32::MAX;

/// Returns a hash of words whose bits are all well mixed.
pub fn hash(words: &[u32]) -> u64 {
    use std::hash::BuildHasher;
    FxBuildHasher.hash_one(words)
}

/// The rows of a relation, each once, in the order in which they were derived.
#[derive(Default)]
pub struct RowTable {
    arity: usize,
    words: Vec<u32>,
    /// The number of facts at the time each row was derived.
    times: Vec<u32>,
    /// The atom of each row.
    atoms: Vec<u32>,
    known: HashTable<u32>,
    indexes: Vec<ColumnIndex>,
}

/// An index by some columns: chains of rows in the order of time. Keys are hashes,
/// so a chain may contain rows of other keys. The caller compares the columns.
struct ColumnIndex {
    columns: Box<[usize]>,
    /// The first row, the last row and the number of rows of each chain.
    chains: HashMap<u64, (u32, u32, u32), FxBuildHasher>,
    following: Vec<u32>,
}

impl RowTable {
    pub fn new(arity: usize) -> RowTable {
        RowTable { arity, ..RowTable::default() }
    }

    pub fn len(&self) -> usize {
        self.times.len()
    }

    #[inline]
    pub fn row(&self, row: u32) -> &[u32] {
        &self.words[row as usize * self.arity..][..self.arity]
    }

    /// Returns 1 plus the place of the row among all facts. Times are therefore unique and grow; joins compare them, so
    /// that they find each combination once.
    #[inline]
    pub fn time(&self, row: u32) -> u32 {
        self.times[row as usize]
    }

    #[inline]
    pub fn atom(&self, row: u32) -> u32 {
        self.atoms[row as usize]
    }

    /// Returns the row with these words.
    pub fn find(&self, words: &[u32]) -> Option<u32> {
        self.known.find(hash(words), |&row| self.row(row) == words).copied()
    }

    /// Adds a row that is not in the table.
    pub fn add(&mut self, words: &[u32], time: u32, atom: u32) {
        let row = self.times.len() as u32;
        self.words.extend_from_slice(words);
        self.times.push(time);
        self.atoms.push(atom);
        let (all, arity) = (&self.words, self.arity);
        self.known.insert_unique(hash(words), row, |&row| hash(&all[row as usize * arity..][..arity]));
        self.indexes.iter_mut().for_each(|index| index.add(words, row));
    }

    /// Returns the index by these columns. Creates the index if it does not
    /// exist, and then maintains the index.
    pub fn index(&mut self, columns: &[usize]) -> usize {
        if let Some(known) = self.indexes.iter().position(|index| &*index.columns == columns) {
            return known;
        }
        let mut index = ColumnIndex { columns: columns.into(), chains: HashMap::default(), following: Vec::new() };
        for row in 0..self.len() as u32 {
            index.add(self.row(row), row);
        }
        self.indexes.push(index);
        self.indexes.len() - 1
    }

    /// Returns the average number of rows per chain of an index.
    pub fn chain_length(&self, index: usize) -> f64 {
        self.len() as f64 / self.indexes[index].chains.len().max(1) as f64
    }

    /// Returns the first row of the chain of a key, or [`NONE`].
    #[inline]
    pub fn first(&self, index: usize, key: &[u32]) -> u32 {
        self.indexes[index].chains.get(&hash(key)).map_or(NONE, |&(first, ..)| first)
    }

    /// Returns the next row in a chain, or [`NONE`].
    #[inline]
    pub fn following(&self, index: usize, row: u32) -> u32 {
        self.indexes[index].following[row as usize]
    }
}

impl ColumnIndex {
    fn add(&mut self, words: &[u32], row: u32) {
        let mut key = [0; 64];
        for (place, &column) in key.iter_mut().zip(&self.columns) {
            *place = words[column];
        }
        self.following.push(NONE);
        let chain = self.chains.entry(hash(&key[..self.columns.len()])).or_insert((row, row, 0));
        if chain.2 > 0 {
            self.following[chain.1 as usize] = row;
        }
        chain.1 = row;
        chain.2 += 1;
    }
}
