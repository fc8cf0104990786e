//! From a table file to one in another encoding.

use std::path::Path;
use std::sync::Mutex;

use rayon::ThreadPoolBuilder;
use sternhalma_data::table::Block;
use sternhalma_data::table::write::{BlockEncoder, NewTable};
use sternhalma_data::{DistanceStream, Encoding, Table, TableInfo};

use crate::blocks::{Pace, write_blocks};
use crate::error::ConvertError;
use crate::monitor::Monitor;

/// Writes the distances of a table in another encoding to `path`, which the
/// new table takes only when whole. But for the provenance, which is carried
/// over, the file has the bytes that [`build`](crate::build) gives it.
///
/// Of a table opened with [`TableOptions::verify_blocks`](sternhalma_data::TableOptions::verify_blocks) blocks are compared with
/// their checksums. Layers are counted and compared with the header's in any
/// case. Memory: a few blocks a thread. `threads` of 0 are one a core.
///
/// ```
/// use sternhalma_builder::{BuildOptions, build, convert};
/// use sternhalma_data::{Board, Encoding, Prefix, Table};
/// let dir = tempfile::tempdir()?;
/// let (path, packed) = (dir.path().join("5x5-3.sht"), dir.path().join("5x5-3-zstd.sht"));
/// let prefix = Prefix::whole(Board::new(5, 3)?);
/// build(&path, BuildOptions { prefix, encoding: Encoding::Mod3, threads: 1 }, false, &())?;
/// let table = Table::options().verify_blocks(true).open(&path)?;
/// convert(&table, &packed, "zstd".parse()?, 1, false, &())?;
/// assert_eq!(Table::open(&packed)?.distances()?, table.distances()?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If the table is damaged or wrong, threads cannot be had, the file cannot be
/// written, `path` exists and `replace` is not set, or is the table itself, or
/// the monitor cancels the work. No file is left then.
pub fn convert(
    table: &Table,
    path: &Path,
    encoding: Encoding,
    threads: usize,
    replace: bool,
    monitor: &dyn Monitor,
) -> Result<(), ConvertError> {
    if same_file(table.path(), path) {
        return Err(ConvertError::SameFile { path: path.to_owned() });
    }
    let new = NewTable::create(path, replace)?;
    let pool = ThreadPoolBuilder::new().num_threads(threads).build()?;
    let mut writer = new.begin(TableInfo { encoding, ..table.info().clone() })?;
    let layers = Mutex::new([0u64; 256]);
    write_blocks(&mut writer, Pace::default(), &pool, monitor, |encoder, blocks| -> Result<_, ConvertError> {
        let mut counts = [0; 256];
        let encoded = encode(table, encoder, blocks, &mut counts)?;
        let mut layers = layers.lock().expect("no thread ends while it adds");
        layers.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        Ok(encoded)
    })?;
    let layers = layers.into_inner().expect("no thread ends while it adds");
    let told = &table.info().layers;
    if layers[..told.len()] != **told {
        return Err(ConvertError::Layers { path: table.path().to_owned() });
    }
    writer.finish(table.provenance())?;
    Ok(())
}

fn encode(
    table: &Table,
    encoder: &mut BlockEncoder,
    blocks: &[Block],
    counts: &mut [u64; 256],
) -> Result<Vec<Vec<u8>>, ConvertError> {
    let (Some(first), Some(last)) = (blocks.first(), blocks.last()) else { return Ok(Vec::new()) };
    let mut reader = DistanceStream::new(table, first.ranks.start..last.ranks.end)?;
    let mut distances = Vec::new();
    let encode = |block: &Block| {
        distances.resize((block.ranks.end - block.ranks.start) as usize, 0);
        // In parts, which are still in the cache when they are counted.
        for part in distances.chunks_mut(1 << 16) {
            reader.read(part)?;
            part.iter().for_each(|&distance| counts[usize::from(distance)] += 1);
        }
        Ok(encoder.encode(block.ranks.clone(), &distances))
    };
    blocks.iter().map(encode).collect()
}

fn same_file(a: &Path, b: &Path) -> bool {
    matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}
