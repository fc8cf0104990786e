//! Conversion of a table to another encoding.

use std::path::Path;
use std::sync::Mutex;

use sternhalma_data::table::Block;
use sternhalma_data::table::write::{BlockEncoder, NewTable};
use sternhalma_data::{DistanceStream, Encoding, Table, TableInfo};

use crate::blocks::{BatchSize, write_blocks};
use crate::error::{BuilderError, Result};
use crate::observer::Observer;
use crate::process::thread_pool;

/// Options of a conversion, and the conversion itself.
///
/// The new file has the bytes of a build with this encoding, except for the
/// provenance, which is copied from the table. The file appears only when it
/// is complete. Memory: a few blocks per thread.
///
/// If the table was opened with [`TableOptions::verify_blocks`](sternhalma_data::TableOptions::verify_blocks),
/// its blocks are compared with their checksums. The layers are always compared with the header.
///
/// ```
/// use sternhalma_builder::{TableBuilder, TableConverter};
/// use sternhalma_data::{Board, Prefix, Table};
///
/// let dir = tempfile::tempdir()?;
/// let (path, packed) = (dir.path().join("5x5-3.sht"), dir.path().join("5x5-3-zstd.sht"));
/// TableBuilder::new(Prefix::whole(Board::new(5, 3)?)).build(&path, &())?;
///
/// let table = Table::options().verify_blocks(true).open(&path)?;
/// TableConverter::new(&table, "zstd".parse()?).convert(&packed, &())?;
/// assert_eq!(Table::open(&packed)?.distances()?, table.distances()?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct TableConverter<'a> {
    table: &'a Table,
    encoding: Encoding,
    threads: usize,
    overwrite: bool,
}

impl<'a> TableConverter<'a> {
    /// Creates a converter of this table: one thread per core.
    pub fn new(table: &'a Table, encoding: Encoding) -> TableConverter<'a> {
        TableConverter { table, encoding, threads: 0, overwrite: false }
    }

    /// Sets the number of threads; 0 is one per processor core.
    pub fn threads(mut self, threads: usize) -> TableConverter<'a> {
        self.threads = threads;
        self
    }

    /// Sets whether to replace an existing file.
    pub fn overwrite(mut self, overwrite: bool) -> TableConverter<'a> {
        self.overwrite = overwrite;
        self
    }

    /// Writes the converted table to `path`.
    ///
    /// # Errors
    /// If the table is damaged or wrong; if the file cannot be written; if
    /// `path` exists and is not to be replaced, or is the table itself; or if
    /// the observer cancels the conversion. `path` is unchanged then.
    pub fn convert(&self, path: impl AsRef<Path>, observer: &dyn Observer) -> Result<()> {
        let (table, path) = (self.table, path.as_ref());
        if is_same_file(table.path(), path) {
            return Err(BuilderError::SameFile { path: path.to_owned() });
        }
        let new = NewTable::create(path, self.overwrite)?;
        let pool = thread_pool(self.threads)?;
        let mut writer = new.begin(TableInfo { encoding: self.encoding, ..table.info().clone() })?;
        let layers = Mutex::new([0u64; 256]);
        write_blocks(
            &mut writer,
            BatchSize::default(),
            &pool,
            observer,
            |encoder, blocks| {
                let mut counts = [0; 256];
                let encoded = encode(table, encoder, blocks, &mut counts)?;
                let mut layers = layers.lock().expect("no thread panics while it adds");
                layers.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
                Ok(encoded)
            },
            |_| Ok(()),
        )?;
        let layers = layers.into_inner().expect("no thread panics while it adds");
        let expected = &table.info().layers;
        if layers[..expected.len()] != **expected {
            let what = "the layers in the header are not those of its distances".to_owned();
            return Err(BuilderError::WrongTable { path: table.path().to_owned(), what });
        }
        writer.finish(table.provenance())?;
        Ok(())
    }
}

/// Encodes consecutive blocks, and counts the states at each distance.
fn encode(
    table: &Table,
    encoder: &mut BlockEncoder,
    blocks: &[Block],
    counts: &mut [u64; 256],
) -> Result<Vec<Vec<u8>>> {
    let (Some(first), Some(last)) = (blocks.first(), blocks.last()) else { return Ok(Vec::new()) };
    let mut reader = DistanceStream::new(table, first.ranks.start..last.ranks.end)?;
    let mut distances = Vec::new();
    let encode = |block: &Block| {
        distances.resize((block.ranks.end - block.ranks.start) as usize, 0);
        // Small parts are still in the cache when they are counted.
        for part in distances.chunks_mut(1 << 16) {
            reader.read(part)?;
            part.iter().for_each(|&distance| counts[usize::from(distance)] += 1);
        }
        Ok(encoder.encode(block.ranks.clone(), &distances))
    };
    blocks.iter().map(encode).collect()
}

fn is_same_file(a: &Path, b: &Path) -> bool {
    matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}
