//! The checksum of the distances of a table, apart from their encoding and form.

use rayon::prelude::*;
use sternhalma_data::table::checksum;
use sternhalma_data::{DistanceStream, Prefix, Table};

use crate::error::{BuilderError, Result};
use crate::observer::{BuildPhase, Observer};
use crate::process::thread_pool;

/// The states of a part with a checksum of its own.
const PART: u64 = 1 << 20;

/// Returns the contents checksum: the identity of the covered states and their distances,
/// which is the same in every encoding, mirrored or not.
///
/// It is the [`checksum`] of the size of the board, the number of pieces and the number of covered cells, in a byte each,
/// and of the checksums, in 8 little-endian bytes each, of consecutive 2^20 states by rank, with a byte per distance.
///
/// Cost: one pass over all distances, which compares each block with its checksum.
///
/// # Errors
/// If the table is damaged, or if the observer cancels the work.
pub fn contents_checksum(table: &Table, threads: usize, observer: &dyn Observer) -> Result<u64> {
    let prefix = table.prefix();
    let states = prefix.states();
    let part = |part: u64| {
        if observer.cancelled() {
            return Err(BuilderError::Cancelled);
        }
        let ranks = part * PART..states.min((part + 1) * PART);
        let mut distances = vec![0; (ranks.end - ranks.start) as usize];
        DistanceStream::new(table, ranks)?.read(&mut distances)?;
        observer.advance(distances.len() as u64);
        Ok(checksum(&distances))
    };
    table.verify_blocks();
    let parts: Vec<u64> = thread_pool(threads)?.install(|| {
        observer.begin(BuildPhase::Read, states);
        (0..states.div_ceil(PART)).into_par_iter().map(part).collect::<Result<_>>()
    })?;
    Ok(combine(prefix, &parts))
}

fn combine(prefix: Prefix, parts: &[u64]) -> u64 {
    let (board, within) = (prefix.board(), prefix.within());
    let mut bytes = [board.size(), board.pieces(), within].map(|number| number as u8).to_vec();
    parts.iter().for_each(|part| bytes.extend(part.to_le_bytes()));
    checksum(&bytes)
}

#[cfg(test)]
mod tests {
    use sternhalma_data::{Board, Encoding};

    use super::*;
    use crate::{TableBuilder, TableConverter};

    #[test]
    fn the_contents_checksum_is_that_of_the_distances_in_every_encoding_and_form() {
        let dir = tempfile::tempdir().unwrap();
        let (path, other) = (dir.path().join("a.sht"), dir.path().join("b.sht"));
        let mut seen = std::collections::HashSet::new();
        for (size, pieces, within) in [(5, 3, 25), (6, 6, 36), (6, 6, 33), (6, 5, 36)] {
            let prefix = Prefix::new(Board::new(size, pieces).unwrap(), within).unwrap();
            TableBuilder::new(prefix).overwrite(true).build(&path, &()).unwrap();
            let table = Table::open(&path).unwrap();
            let distances = table.distances().unwrap();
            let parts: Vec<u64> = distances.chunks(1 << 20).map(checksum).collect();
            let mut bytes = vec![size as u8, pieces as u8, within as u8];
            bytes.extend(parts.iter().flat_map(|part| part.to_le_bytes()));
            let expected = checksum(&bytes);
            assert!(seen.insert(expected));
            for encoding in ["byte", "mod3", "zstd", "ans"].map(|name| name.parse::<Encoding>().unwrap()) {
                let converter = TableConverter::new(&table, encoding).overwrite(true);
                for mirrored in [false, true] {
                    let converter = converter.clone().mirrored(mirrored);
                    if converter.spec().layout().is_err() {
                        assert!(mirrored && within == 33 || pieces == 5 || pieces == 3, "{prefix}");
                        continue;
                    }
                    converter.convert(&other, &()).unwrap();
                    let found = contents_checksum(&Table::open(&other).unwrap(), 2, &()).unwrap();
                    assert_eq!(found, expected, "{prefix}, {encoding}, {mirrored}");
                }
            }
        }
    }
}
