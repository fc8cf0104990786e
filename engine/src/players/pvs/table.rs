//! The transposition table.

use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed};

use sternhalma_data::{Cell, Move};
use thiserror::Error;

/// The relation of a stored value to the true value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Bound {
    /// The true value is at least the stored one.
    Lower,
    /// The true value is at most the stored one.
    Upper,
    /// The stored value is exact.
    Exact,
}

/// The result of a search of a state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct TableEntry {
    /// The value, relative to the state: wins and losses count plies from
    /// here.
    pub value: i32,
    /// The searched depth in plies.
    pub depth: u8,
    pub bound: Bound,
    /// The best move, if one was found.
    pub best: Option<Move>,
}

/// The system does not provide the memory of a transposition table.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
#[error("cannot allocate a transposition table of {megabytes} MiB; choose a smaller `table_megabytes` or `Hash`")]
pub struct AllocationError {
    /// The size of the table, in units of 2^20 bytes.
    pub megabytes: u32,
}

/// The number of entries in a bucket, which is a cache line.
const WAYS: usize = 4;

/// The words of a bucket.
const BUCKET: usize = 2 * WAYS;

/// A table of fixed size for searched states, which several threads share without locks. A bucket
/// has four states, each with two words: the entry packed into a word, and the exclusive or of that
/// word and the key. If two threads write a state at the same time, the words do not fit together
/// and the state is not found [Hyatt and Mann 2002]. An entry of 0 marks an empty place.
///
/// A new entry replaces one of the same state, or else the one with the
/// smallest depth, with entries of earlier moves of the game first.
pub(super) struct TranspositionTable {
    words: Vec<AtomicU64>,
    /// The index of the first word of a bucket that begins a cache line.
    first: usize,
    /// The number of buckets minus 1; the number is a power of two.
    mask: usize,
    /// The age of entries of the current search.
    age: u8,
    /// Whether a search has begun since the table was cleared.
    is_used: bool,
    /// The buckets that were written since then.
    written: WrittenBuckets,
}

/// The most buckets that are cleared one by one. A short search writes fewer, and new memory for the whole table takes
/// much longer than the search.
const MAX_CLEARED: usize = 4096;

/// The buckets that were written, perhaps several times, or their number alone if there are too many.
struct WrittenBuckets {
    /// At most [`MAX_CLEARED`], or more if not all buckets are listed.
    count: AtomicUsize,
    list: Box<[AtomicU32]>,
}

impl WrittenBuckets {
    fn none() -> WrittenBuckets {
        WrittenBuckets { count: AtomicUsize::new(0), list: (0..MAX_CLEARED).map(|_| AtomicU32::new(0)).collect() }
    }

    #[inline]
    fn add(&self, bucket: usize) {
        // Later buckets are not counted, so that threads do not wait for each other.
        if self.count.load(Relaxed) <= MAX_CLEARED {
            let at = self.count.fetch_add(1, Relaxed);
            if let Some(place) = self.list.get(at) {
                // A bucket has 64 bytes, and a table at most 2^36.
                place.store(bucket as u32, Relaxed);
            }
        }
    }

    /// Returns the buckets, if all of them are listed.
    fn take(&mut self) -> Option<impl Iterator<Item = usize> + '_> {
        let count = std::mem::take(self.count.get_mut());
        self.list.get_mut(..count).map(|list| list.iter_mut().map(|bucket| *bucket.get_mut() as usize))
    }
}

/// The bytes of the smallest page of common systems.
const PAGE: usize = 4096;

/// The largest part of a table whose pages are provided when it is created, in bytes. All pages of a larger table could take
/// many seconds, in which no move is played.
const MAX_PREFAULTED: usize = 2 << 30;

impl TranspositionTable {
    /// Creates an empty table of at most `megabytes` (2^20 bytes), but at
    /// least one.
    ///
    /// # Errors
    ///
    /// Returns an error if the system does not provide the memory.
    pub fn new(megabytes: u32) -> Result<TranspositionTable, AllocationError> {
        let buckets = (megabytes.max(1) as usize) << 20 >> (BUCKET * 8).ilog2();
        // The size is the largest power of two that fits.
        let buckets = 1usize << buckets.ilog2();
        TranspositionTable::of(buckets).ok_or(AllocationError { megabytes })
    }

    /// Creates an empty table, or returns `None` if there is not enough memory. The system provides the pages of the
    /// first [`MAX_PREFAULTED`] now, so that no search waits for them.
    fn of(buckets: usize) -> Option<TranspositionTable> {
        let words: Vec<AtomicU64> = bytemuck::try_zeroed_vec((buckets + 1) * BUCKET).ok()?;
        sternhalma_data::table::advise_huge_pages(&words);
        words.iter().take(MAX_PREFAULTED / 8).step_by(PAGE / 8).for_each(|word| word.store(0, Relaxed));
        let line = BUCKET * 8;
        let first = (line - words.as_ptr() as usize % line) % line / 8;
        let written = WrittenBuckets::none();
        Some(TranspositionTable { words, first, mask: buckets - 1, age: 0, is_used: false, written })
    }

    /// Returns the memory of the table in bytes.
    pub fn bytes(&self) -> usize {
        (self.mask + 1) * BUCKET * 8
    }

    /// Removes all entries. If many buckets were written, the memory is freed and allocated again, because the system
    /// clears pages faster. If another program has taken the memory meanwhile, the table becomes smaller.
    ///
    /// # Panics
    ///
    /// Panics if the system does not even provide the memory of one bucket.
    pub fn clear(&mut self) {
        if !self.is_used {
            return;
        }
        (self.age, self.is_used) = (0, false);
        if let Some(buckets) = self.written.take() {
            for bucket in buckets {
                let start = self.first + bucket * BUCKET;
                self.words[start..start + BUCKET].iter_mut().for_each(|word| *word.get_mut() = 0);
            }
        } else {
            // The old memory is free before the new is allocated.
            self.words = Vec::new();
            let sizes = (0..=(self.mask + 1).ilog2()).rev().map(|exponent| 1 << exponent);
            *self = sizes.into_iter().find_map(TranspositionTable::of).expect("memory for one bucket");
        }
    }

    /// Begins the search for the next move; all entries become older.
    pub fn grow_older(&mut self) {
        self.age = self.age.wrapping_add(1) & AGES;
        self.is_used = true;
    }

    #[inline]
    fn bucket(&self, key: u64) -> &[AtomicU64] {
        let start = self.first + (key as usize & self.mask) * BUCKET;
        &self.words[start..start + BUCKET]
    }

    /// Starts to load the bucket of a key.
    #[inline]
    pub fn prefetch(&self, key: u64) {
        sternhalma_data::table::prefetch(self.bucket(key), 0);
    }

    /// Returns the entry of the state with a key.
    #[inline]
    pub fn get(&self, key: u64) -> Option<TableEntry> {
        self.bucket(key).chunks_exact(2).find_map(|place| {
            let word = place[1].load(Relaxed);
            (place[0].load(Relaxed) ^ word == key && word != 0).then(|| unpack(word))
        })
    }

    /// Stores a state, during a search. A known best move is kept if there is no new one.
    #[inline]
    pub fn put(&self, key: u64, mut entry: TableEntry) {
        let bucket = self.bucket(key);
        let mut chosen = 0;
        let mut least = i32::MAX;
        for way in 0..WAYS {
            let word = bucket[2 * way + 1].load(Relaxed);
            if bucket[2 * way].load(Relaxed) ^ word == key && word != 0 {
                chosen = way;
                entry.best = entry.best.or(unpack(word).best);
                break;
            }
            let worth = match word {
                0 => -2 * DEPTHS,
                _ if age_of(word) != self.age => i32::from(unpack(word).depth) - DEPTHS,
                _ => i32::from(unpack(word).depth),
            };
            if worth < least {
                (chosen, least) = (way, worth);
            }
        }
        let word = pack(entry, self.age);
        bucket[2 * chosen].store(key ^ word, Relaxed);
        bucket[2 * chosen + 1].store(word, Relaxed);
        self.written.add(key as usize & self.mask);
    }
}

/// Ages are counted modulo `AGES + 1`.
const AGES: u8 = 63;

/// An upper bound for depths.
const DEPTHS: i32 = 256;

/// Packs an entry, from low to high bits: value (32), origin, destination,
/// depth (8 each), age (6), bound (2, never 0). Without a move, origin and
/// destination are equal.
fn pack(entry: TableEntry, age: u8) -> u64 {
    let [from, to] = entry.best.map_or([0; 2], |mv| [mv.from, mv.to].map(|cell| cell.index() as u64));
    let bound = match entry.bound {
        Bound::Lower => 1,
        Bound::Upper => 2,
        Bound::Exact => 3,
    };
    let low = u64::from(entry.value as u32) | from << 32 | to << 40;
    low | u64::from(entry.depth) << 48 | u64::from(age) << 56 | bound << 62
}

fn age_of(word: u64) -> u8 {
    (word >> 56) as u8 & AGES
}

#[inline]
fn unpack(word: u64) -> TableEntry {
    let cell = |shift: u32| Cell::new((word >> shift) as usize & 0x7f);
    let (from, to) = (cell(32), cell(40));
    let bound = match word >> 62 {
        1 => Bound::Lower,
        2 => Bound::Upper,
        _ => Bound::Exact,
    };
    let best = (from != to).then_some(Move { from, to });
    TableEntry { value: word as u32 as i32, depth: (word >> 48) as u8, bound, best }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn entries() -> impl Strategy<Value = TableEntry> {
        let bound = prop_oneof![Just(Bound::Lower), Just(Bound::Upper), Just(Bound::Exact)];
        (any::<i32>(), any::<u8>(), bound, 0usize..121, 0usize..121).prop_map(|(value, depth, bound, from, to)| {
            let best = (from != to).then_some(Move { from: Cell::new(from), to: Cell::new(to) });
            TableEntry { value, depth, bound, best }
        })
    }

    proptest! {
        #[test]
        fn stored_values_are_found(entry in entries(), key: u64) {
            let mut table = TranspositionTable::new(1).unwrap();
            prop_assert_eq!(table.get(key), None);
            table.grow_older();
            table.put(key, entry);
            prop_assert_eq!(table.get(key), Some(entry));
            prop_assert_eq!(table.get(key ^ 1 << 63), None);
            table.clear();
            prop_assert_eq!(table.get(key), None);
        }

        #[test]
        fn an_entry_is_that_of_its_last_put(puts in prop::collection::vec((0u64..40, entries()), 1..200)) {
            // All keys share a bucket, so entries are replaced frequently.
            let mut table = TranspositionTable::new(1).unwrap();
            let mut oracle = std::collections::HashMap::new();
            for (number, entry) in puts {
                let key = number << 40;
                let known = table.get(key).and_then(|known| known.best);
                table.put(key, entry);
                oracle.insert(key, TableEntry { best: entry.best.or(known), ..entry });
                for (&key, &entry) in &oracle {
                    prop_assert!(table.get(key).is_none_or(|found| found == entry));
                }
                prop_assert!(table.get(key).is_some());
                table.grow_older();
            }
        }
    }

    #[test]
    fn a_cleared_table_is_empty_after_few_and_after_many_entries() {
        let entry = TableEntry { value: 3, depth: 2, bound: Bound::Exact, best: None };
        let mut table = TranspositionTable::new(1).unwrap();
        for puts in [1, MAX_CLEARED as u64 - 1, MAX_CLEARED as u64, MAX_CLEARED as u64 + 1, 3 * MAX_CLEARED as u64, 5] {
            table.grow_older();
            (0..puts).for_each(|key| table.put(key.wrapping_mul(0x9e37_79b9_7f4a_7c15), entry));
            assert_eq!(table.written.count.load(Relaxed) <= MAX_CLEARED, puts <= MAX_CLEARED as u64);
            let memory = table.words.as_ptr();
            table.clear();
            // New memory may have the old address, so only one direction is certain.
            assert!(puts > MAX_CLEARED as u64 || table.words.as_ptr() == memory, "{puts}");
            assert!(table.words.iter().all(|word| word.load(Relaxed) == 0), "{puts}");
            assert_eq!((table.age, table.is_used), (0, false));
        }
    }

    #[test]
    fn a_table_that_does_not_fit_into_the_address_space_is_an_error() {
        assert!(TranspositionTable::of(usize::MAX >> 7).is_none());
    }

    #[test]
    fn deep_entries_of_this_move_stay() {
        let mut table = TranspositionTable::new(1).unwrap();
        let entry = |depth| TableEntry { value: 1, depth, bound: Bound::Exact, best: None };
        let key = |number: u64| number << 40;
        table.put(key(1), entry(30));
        table.grow_older();
        (2..=4).for_each(|number| table.put(key(number), entry(9)));
        // The bucket is full; the deepest entry is old and is replaced first.
        table.put(key(5), entry(1));
        assert_eq!((1..=5).map(|n| table.get(key(n)).is_some()).collect::<Vec<_>>(), [false, true, true, true, true]);
        table.put(key(6), entry(1));
        assert_eq!((2..=6).map(|n| table.get(key(n)).is_some()).collect::<Vec<_>>(), [true, true, true, false, true]);
    }
}
