//! Streams of distances within the memory of a proof.

use std::ops::Range;

use sternhalma_data::table::TableError;
use sternhalma_data::{DistanceStream, Table, TableInfo};

/// The decoded blocks that a stream keeps, in bytes.
const CACHE: usize = 4 << 20;

/// Creates a stream of the distances of these ranks.
pub(super) fn stream(table: &Table, ranks: Range<u64>) -> Result<DistanceStream<'_>, TableError> {
    Ok(DistanceStream::new(table, ranks)?.cache_bytes(CACHE))
}

/// Returns the memory of the blocks that a stream keeps, in bytes.
pub(super) fn stream_memory(info: &TableInfo) -> u64 {
    match info.spec.encoding.states_per_compressed_block() {
        // At least two blocks are kept, and one more while it is decoded.
        Some(states) if info.spec.mirrored => (CACHE as u64).max(2 * states) + states,
        Some(states) => states,
        None => 0,
    }
}
