//! Limits of memory.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// A limit of memory that several structures share, such as the trees of all players of a match.
///
/// Clones share one count. A structure counts the memory that it holds as a [`MemoryUse`], and does
/// not grow beyond the [`room`](MemoryBudget::room) that is left.
///
/// ```
/// use sternhalma_game::{MemoryBudget, MemoryUse};
///
/// let all = MemoryBudget::new(1000);
/// let mut tree = MemoryUse::of(&all.part(600));
/// tree.set(500);
/// assert_eq!((all.used(), all.room(), tree.budget().room()), (500, 500, 100));
/// drop(tree);
/// assert_eq!(all.used(), 0);
/// ```
#[derive(Clone)]
pub struct MemoryBudget(Arc<SharedBudget>);

struct SharedBudget {
    limit: u64,
    used: AtomicU64,
    /// Whether a structure could not grow.
    exhausted: AtomicBool,
    whole: Option<MemoryBudget>,
}

impl MemoryBudget {
    /// Creates a limit of `bytes`.
    pub fn new(bytes: u64) -> MemoryBudget {
        MemoryBudget::within(bytes, None)
    }

    /// Creates a budget without a limit.
    pub fn unlimited() -> MemoryBudget {
        MemoryBudget::new(u64::MAX)
    }

    /// Returns a part of the budget with a separate limit. The memory of the
    /// part also counts for the whole.
    #[must_use]
    pub fn part(&self, bytes: u64) -> MemoryBudget {
        MemoryBudget::within(bytes.min(self.limit()), Some(self.clone()))
    }

    fn within(limit: u64, whole: Option<MemoryBudget>) -> MemoryBudget {
        MemoryBudget(Arc::new(SharedBudget {
            limit,
            used: AtomicU64::new(0),
            exhausted: AtomicBool::new(false),
            whole,
        }))
    }

    /// Returns the limit in bytes.
    pub fn limit(&self) -> u64 {
        self.0.limit
    }

    /// Returns the bytes that are in use.
    pub fn used(&self) -> u64 {
        self.0.used.load(Relaxed)
    }

    /// Returns the bytes that are left, in this budget and in those that contain it.
    pub fn room(&self) -> u64 {
        let own = self.limit().saturating_sub(self.used());
        self.0.whole.as_ref().map_or(own, |whole| own.min(whole.room()))
    }

    /// Returns whether a structure could not grow because of the limit.
    pub fn is_exhausted(&self) -> bool {
        self.0.exhausted.load(Relaxed)
    }

    /// Records that a structure could not grow.
    pub fn exhaust(&self) {
        self.0.exhausted.store(true, Relaxed);
        self.0.whole.iter().for_each(MemoryBudget::exhaust);
    }

    fn add(&self, bytes: u64) {
        self.0.used.fetch_add(bytes, Relaxed);
        self.0.whole.iter().for_each(|whole| whole.add(bytes));
    }

    fn subtract(&self, bytes: u64) {
        self.0.used.fetch_sub(bytes, Relaxed);
        self.0.whole.iter().for_each(|whole| whole.subtract(bytes));
    }
}

impl Default for MemoryBudget {
    fn default() -> MemoryBudget {
        MemoryBudget::unlimited()
    }
}

/// Budgets with the same limit are equal.
impl PartialEq for MemoryBudget {
    fn eq(&self, other: &MemoryBudget) -> bool {
        self.limit() == other.limit()
    }
}

impl fmt::Debug for MemoryBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MemoryBudget({} of {} bytes)", self.used(), self.limit())
    }
}

/// The memory that a structure takes from a budget. Dropping the reservation
/// returns the memory.
#[derive(Debug, Default)]
pub struct MemoryUse {
    budget: MemoryBudget,
    bytes: u64,
}

impl MemoryUse {
    /// Creates a use of no bytes.
    pub fn of(budget: &MemoryBudget) -> MemoryUse {
        MemoryUse { budget: budget.clone(), bytes: 0 }
    }

    /// Returns the budget.
    pub fn budget(&self) -> &MemoryBudget {
        &self.budget
    }

    /// Returns the bytes that were set.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Sets the bytes that the structure holds.
    #[inline]
    pub fn set(&mut self, bytes: u64) {
        match bytes {
            more if more > self.bytes => self.budget.add(more - self.bytes),
            less if less < self.bytes => self.budget.subtract(self.bytes - less),
            _ => return,
        }
        self.bytes = bytes;
    }
}

impl Drop for MemoryUse {
    fn drop(&mut self) {
        self.set(0);
    }
}

/// Reserves space for more elements, which takes at most `room` bytes. Returns whether there is space.
///
/// The space doubles, or grows by an eighth if there is no room for that.
#[inline]
pub fn reserve_within<T>(elements: &mut Vec<T>, additional: usize, room: impl FnOnce() -> u64) -> bool {
    elements.capacity() - elements.len() >= additional || reserve_more(elements, additional, room())
}

#[cold]
fn reserve_more<T>(elements: &mut Vec<T>, additional: usize, room: u64) -> bool {
    let least = additional.max(4);
    let fits = |more: usize| (more.max(least) * size_of::<T>()) as u64 <= room;
    let old = elements.capacity();
    if fits(old) {
        elements.reserve(additional);
    } else if fits(old / 8) {
        elements.reserve_exact((old / 8).max(least));
    } else {
        return false;
    }
    true
}

/// The memory by which a structure may grow.
#[derive(Clone, Debug)]
pub struct Room {
    bytes: usize,
    was_short: bool,
}

impl Room {
    /// Room without a limit.
    pub const UNLIMITED: Room = Room { bytes: usize::MAX, was_short: false };

    /// Returns the number of bytes that are left.
    #[inline]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Sets the number of bytes.
    #[inline]
    pub fn set(&mut self, bytes: usize) {
        self.bytes = bytes;
    }

    /// Subtracts bytes by which the structure has grown.
    #[inline]
    pub fn subtract(&mut self, bytes: usize) {
        self.bytes = self.bytes.saturating_sub(bytes);
    }

    /// Records that the structure could not grow.
    #[cold]
    pub fn record_shortage(&mut self) {
        self.was_short = true;
    }

    /// Returns whether there was a shortage since the last call.
    #[inline]
    pub fn take_shortage(&mut self) -> bool {
        std::mem::take(&mut self.was_short)
    }

    /// Reserves space for more elements as [`reserve_within`] does. Returns whether there is space.
    #[inline]
    pub fn reserve<T>(&mut self, elements: &mut Vec<T>, additional: usize) -> bool {
        let before = elements.capacity();
        let has_space = reserve_within(elements, additional, || self.bytes as u64);
        self.subtract((elements.capacity() - before) * size_of::<T>());
        has_space
    }

    /// Extends `elements` by default values up to `index`, if there is room, and records a shortage otherwise. Returns
    /// whether the element exists.
    #[inline]
    pub fn extend<T: Clone + Default>(&mut self, elements: &mut Vec<T>, index: usize) -> bool {
        if elements.len() <= index {
            if !self.reserve(elements, index + 1 - elements.len()) {
                self.record_shortage();
                return false;
            }
            elements.resize(index + 1, T::default());
        }
        true
    }
}

/// Returns the memory of the elements of a hash table with this capacity, each with a byte for its hash.
pub const fn hash_table_bytes<T>(capacity: usize) -> usize {
    // A table with 7 of 8 slots in use is full.
    capacity.div_ceil(7) * 8 * (size_of::<T>() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_count_for_the_whole() {
        let whole = MemoryBudget::new(100);
        let [left, right] = [whole.part(80), whole.part(1000)];
        assert_eq!((left.limit(), right.limit()), (80, 100));
        let (mut a, mut b) = (MemoryUse::of(&left), MemoryUse::of(&right));
        a.set(50);
        b.set(30);
        assert_eq!((whole.used(), whole.room(), left.room(), right.room()), (80, 20, 20, 20));
        b.set(5);
        assert_eq!((whole.used(), left.room(), right.room()), (55, 30, 45));
        b.set(70);
        assert_eq!((whole.room(), left.room()), (0, 0), "the limit is exceeded");
        drop(a);
        assert_eq!((whole.used(), left.used()), (70, 0));
        right.exhaust();
        assert_eq!([&whole, &left, &right].map(MemoryBudget::is_exhausted), [true, false, true]);
    }

    #[test]
    fn a_structure_extends_within_its_room() {
        let (mut room, mut elements) = (Room::UNLIMITED, Vec::<u64>::new());
        room.set(100);
        assert!(room.extend(&mut elements, 9) && !room.take_shortage());
        assert_eq!((elements.len(), room.bytes()), (10, 20));
        assert!(room.extend(&mut elements, 3) && !room.extend(&mut elements, 20));
        assert_eq!((elements.len(), room.bytes()), (10, 20));
        assert_eq!([room.take_shortage(), room.take_shortage()], [true, false]);
    }

    #[test]
    fn vectors_grow_within_the_room() {
        for room in [0, 100, 1000, 10_000, 100_000] {
            let mut vec: Vec<u64> = Vec::new();
            let bytes = |capacity: usize| (capacity * size_of::<u64>()) as u64;
            loop {
                let left = room - bytes(vec.capacity());
                if !reserve_within(&mut vec, 3, || left) {
                    break;
                }
                vec.extend([1, 2, 3]);
                assert!(bytes(vec.capacity()) <= room, "{} of {room}", bytes(vec.capacity()));
            }
            assert!(room < 100 || vec.len() * size_of::<u64>() > room as usize / 2, "{} of {room}", vec.len());
        }
    }
}
