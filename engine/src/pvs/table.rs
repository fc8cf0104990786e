//! The transposition table.

use sternhalma_data::{Cell, Move};

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

/// The number of entries in a bucket, which is a cache line.
const WAYS: usize = 4;

/// A table of fixed size for searched states. A bucket has four states, each
/// with its key and an entry packed into a word. A key of 0 marks an empty
/// place.
///
/// A new entry replaces one of the same state, or else the one with the
/// smallest depth, with entries of earlier moves of the game first.
pub(super) struct TranspositionTable {
    buckets: Vec<[u64; 2 * WAYS]>,
    /// The age of entries of the current search.
    age: u8,
}

impl TranspositionTable {
    /// Creates an empty table of at most `megabytes` (2^20 bytes), but at
    /// least one.
    pub fn new(megabytes: u32) -> TranspositionTable {
        let buckets = (megabytes.max(1) as usize) << 20 >> (2 * WAYS * 8).ilog2();
        // The size is the largest power of two that fits.
        TranspositionTable { buckets: vec![[0; 2 * WAYS]; 1 << buckets.ilog2()], age: 0 }
    }

    /// Returns the memory of the table in bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.buckets)
    }

    /// Removes all entries. The memory is freed and allocated again, so that
    /// each page is cleared at its first use.
    pub fn clear(&mut self) {
        *self = TranspositionTable { buckets: vec![[0; 2 * WAYS]; self.buckets.len()], age: 0 };
    }

    /// Begins the search for the next move; all entries become older.
    pub fn grow_older(&mut self) {
        self.age = self.age.wrapping_add(1) & AGES;
    }

    #[inline]
    fn place(&self, key: u64) -> usize {
        key as usize & (self.buckets.len() - 1)
    }

    /// Returns the entry of the state with a key.
    #[inline]
    pub fn get(&self, key: u64) -> Option<TableEntry> {
        let bucket = &self.buckets[self.place(key)];
        let way = (0..WAYS).find(|&way| bucket[2 * way] == key && bucket[2 * way + 1] != 0)?;
        Some(unpack(bucket[2 * way + 1]))
    }

    /// Stores a state. A known best move is kept if there is no new one.
    #[inline]
    pub fn put(&mut self, key: u64, mut entry: TableEntry) {
        let (place, age) = (self.place(key), self.age);
        let bucket = &mut self.buckets[place];
        let mut chosen = 0;
        let mut least = i32::MAX;
        for way in 0..WAYS {
            let word = bucket[2 * way + 1];
            if bucket[2 * way] == key && word != 0 {
                chosen = way;
                entry.best = entry.best.or(unpack(word).best);
                break;
            }
            let worth = match word {
                0 => -2 * DEPTHS,
                _ if age_of(word) != age => i32::from(unpack(word).depth) - DEPTHS,
                _ => i32::from(unpack(word).depth),
            };
            if worth < least {
                (chosen, least) = (way, worth);
            }
        }
        bucket[2 * chosen] = key;
        bucket[2 * chosen + 1] = pack(entry, age);
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
            let mut table = TranspositionTable::new(1);
            prop_assert_eq!(table.get(key), None);
            table.put(key, entry);
            prop_assert_eq!(table.get(key), Some(entry));
            prop_assert_eq!(table.get(key ^ 1 << 63), None);
            table.clear();
            prop_assert_eq!(table.get(key), None);
        }

        #[test]
        fn an_entry_is_that_of_its_last_put(puts in prop::collection::vec((0u64..40, entries()), 1..200)) {
            // All keys share a bucket, so entries are replaced frequently.
            let mut table = TranspositionTable::new(1);
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
    fn deep_entries_of_this_move_stay() {
        let mut table = TranspositionTable::new(1);
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
