//! A cache of decoded distances around arbitrary ranks.

use std::collections::HashMap;

use sternhalma_data::Table;

use super::streams::stream;
use crate::error::Result;

/// The states of a window. Windows of compressed tables have several blocks.
const WINDOW: u64 = 1 << 16;
/// The windows of a cache.
const WINDOWS: usize = 256;

/// Mapped pages of the table are released after this many windows.
const RELEASE: u64 = 64;

/// A cache of the distances of aligned intervals of ranks. The least recently used ones are dropped.
pub(super) struct DistanceWindows<'a> {
    table: &'a Table,
    windows: HashMap<u64, Window>,
    /// The number of look-ups so far.
    lookups: u64,
    /// The number of windows that have been decoded.
    decoded: u64,
}

struct Window {
    distances: Vec<u8>,
    last_lookup: u64,
}

impl<'a> DistanceWindows<'a> {
    /// The largest memory of a cache, in bytes.
    pub const MEMORY: u64 = WINDOWS as u64 * (WINDOW + 128);

    /// Creates an empty cache.
    pub fn new(table: &'a Table) -> DistanceWindows<'a> {
        DistanceWindows { table, windows: HashMap::new(), lookups: 0, decoded: 0 }
    }

    /// Returns the distance of the state with this rank.
    pub fn distance(&mut self, rank: u64) -> Result<u8> {
        self.lookups += 1;
        let (number, place) = (rank / WINDOW, (rank % WINDOW) as usize);
        if let Some(window) = self.windows.get_mut(&number) {
            window.last_lookup = self.lookups;
            return Ok(window.distances[place]);
        }
        let mut distances = self.remove_oldest().unwrap_or_default();
        let ranks = number * WINDOW..self.table.prefix().states().min((number + 1) * WINDOW);
        distances.resize((ranks.end - ranks.start) as usize, 0);
        stream(self.table, ranks)?.read(&mut distances)?;
        self.decoded += 1;
        if self.decoded.is_multiple_of(RELEASE) {
            self.table.release_pages();
        }
        let distance = distances[place];
        self.windows.insert(number, Window { distances, last_lookup: self.lookups });
        Ok(distance)
    }

    /// Removes the least recently used window if the cache is full, and returns its memory.
    fn remove_oldest(&mut self) -> Option<Vec<u8>> {
        if self.windows.len() < WINDOWS {
            return None;
        }
        let (&oldest, _) = self.windows.iter().min_by_key(|(_, window)| window.last_lookup)?;
        self.windows.remove(&oldest).map(|window| window.distances)
    }
}
