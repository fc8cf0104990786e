//! Conversion of a table to another encoding or form.

use std::ops::Range;
use std::path::Path;
use std::sync::Mutex;

use sternhalma_data::board::{Stretch, Symmetry};
use sternhalma_data::table::write::{BlockEncoder, NewTable};
use sternhalma_data::table::{Block, Conversion, Provenance};
use sternhalma_data::{DistanceStream, Encoding, Table, TableInfo, TableSpec};

use crate::blocks::{BatchSize, write_blocks};
use crate::error::{BuilderError, Result};
use crate::observer::Observer;
use crate::process::{now, origin, thread_pool};

/// The states that are read at a time.
const PART: usize = 1 << 16;

/// Options of a conversion, and the conversion itself.
///
/// The new file has the bytes of a build with this encoding and form, except for
/// the provenance, which is that of the table and this conversion. The file appears only when it
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
    spec: TableSpec,
    threads: usize,
    overwrite: bool,
}

impl<'a> TableConverter<'a> {
    /// Creates a converter of this table: the default form of the encoding
    /// ([`TableSpec::new`]), one thread per core.
    pub fn new(table: &'a Table, encoding: Encoding) -> TableConverter<'a> {
        TableConverter { table, spec: TableSpec::new(table.prefix(), encoding), threads: 0, overwrite: false }
    }

    /// Sets whether the new file is mirrored: whether it stores only the canonical
    /// state of each mirrored pair.
    pub fn mirrored(mut self, mirrored: bool) -> TableConverter<'a> {
        self.spec.mirrored = mirrored;
        self
    }

    /// Returns the states, the encoding and the form of the new table.
    pub fn spec(&self) -> TableSpec {
        self.spec
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
    /// If a mirrored table is requested and not possible; if the table is damaged
    /// or wrong; if the file cannot be written; if
    /// `path` exists and is not to be replaced, or is the table itself; or if
    /// the observer cancels the conversion. `path` is unchanged then.
    pub fn convert(&self, path: impl AsRef<Path>, observer: &dyn Observer) -> Result<()> {
        let (table, path) = (self.table, path.as_ref());
        if sternhalma_files::is_same_file(table.path(), path) {
            return Err(BuilderError::SameFile { path: path.to_owned() });
        }
        let layout = self.spec.layout()?;
        let new = NewTable::create(path, self.overwrite)?;
        let pool = thread_pool(self.threads)?;
        let mut writer = new.begin(TableInfo { spec: self.spec, ..table.info().clone() })?;
        let layers = Mutex::new([0u64; 256]);
        let encode = |encoder: &mut BlockEncoder, blocks: &[Block]| {
            let mut counts = [0; 256];
            let encoded = encode(table, layout.symmetry(), encoder, blocks, &mut counts)?;
            let mut layers = layers.lock().expect("no thread panics while it adds");
            layers.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
            Ok(encoded)
        };
        write_blocks(&mut writer, BatchSize::default(), &pool, observer, encode, |_| Ok(()))?;
        let layers = layers.into_inner().expect("no thread panics while it adds");
        let expected = &table.info().layers;
        if layers[..expected.len()] != **expected {
            let what = "the layers in the header are not those of its distances".to_owned();
            return Err(BuilderError::WrongTable { path: table.path().to_owned(), what });
        }
        writer.finish(&self.provenance())?;
        Ok(())
    }
}

impl TableConverter<'_> {
    /// Returns the provenance of the table, with this conversion.
    fn provenance(&self) -> Provenance {
        let mut provenance = self.table.provenance().clone();
        provenance.conversions.push(Conversion {
            origin: origin(),
            converted: now(),
            encoding: self.table.encoding().to_string(),
            mirrored: self.table.spec().mirrored,
            checksum: self.table.checksum_text(),
        });
        provenance
    }
}

/// Encodes consecutive blocks, and counts the states at each distance. With a
/// symmetry, the blocks are those of a mirrored table.
fn encode(
    table: &Table,
    symmetry: Option<&Symmetry>,
    encoder: &mut BlockEncoder,
    blocks: &[Block],
    counts: &mut [u64; 256],
) -> Result<Vec<Vec<u8>>> {
    let (Some(first), Some(last)) = (blocks.first(), blocks.last()) else { return Ok(Vec::new()) };
    let mut reader = StoredDistances::new(table, symmetry, first.indices.start..last.indices.end)?;
    let mut distances = Vec::new();
    let encode = |block: &Block| {
        distances.resize((block.indices.end - block.indices.start) as usize, 0);
        reader.read(&mut distances, counts)?;
        Ok(encoder.encode(block.indices.clone(), &distances))
    };
    blocks.iter().map(encode).collect()
}

/// The distances that a new table stores, in the order of their indices.
struct StoredDistances<'a> {
    stream: DistanceStream<'a>,
    /// The rank of the next state of the stream.
    rank: u64,
    /// The symmetry, if the new table is mirrored.
    symmetry: Option<&'a Symmetry>,
    /// The index of the next state to return.
    index: u64,
}

impl<'a> StoredDistances<'a> {
    fn new(table: &'a Table, symmetry: Option<&'a Symmetry>, indices: Range<u64>) -> Result<StoredDistances<'a>> {
        let rank = |index| symmetry.map_or(index, |symmetry| symmetry.state(index).rank().0);
        let ranks = rank(indices.start)..rank(indices.end - 1) + 1;
        let rank = ranks.start;
        Ok(StoredDistances { stream: DistanceStream::new(table, ranks)?, rank, symmetry, index: indices.start })
    }

    /// Reads the distances of the next states to store. Adds the number of states
    /// with each distance to `counts`, mirror images included.
    fn read(&mut self, mut out: &mut [u8], counts: &mut [u64; 256]) -> Result<()> {
        while !out.is_empty() {
            let (states, images) = match self.symmetry {
                None => (out.len(), 1),
                Some(symmetry) => {
                    let Stretch { first: state, states: stretch, .. } = symmetry.stretch(self.index);
                    self.skip_to(state.rank().0)?;
                    let images = if symmetry.compare_with_mirror(state.cells()).is_eq() { 1 } else { 2 };
                    (out.len().min(usize::try_from(stretch).unwrap_or(usize::MAX)), images)
                }
            };
            let (stretch, rest) = out.split_at_mut(states);
            // Small parts are still in the cache when they are counted.
            for part in stretch.chunks_mut(PART) {
                self.stream.read(part)?;
                part.iter().for_each(|&distance| counts[usize::from(distance)] += images);
            }
            self.rank += states as u64;
            self.index += states as u64;
            out = rest;
        }
        Ok(())
    }

    /// Reads the states before this rank, which are not stored.
    fn skip_to(&mut self, rank: u64) -> Result<()> {
        let mut skipped = vec![0; PART.min((rank - self.rank) as usize)];
        while self.rank < rank {
            let part = &mut skipped[..PART.min((rank - self.rank) as usize)];
            self.stream.read(part)?;
            self.rank += part.len() as u64;
        }
        Ok(())
    }
}
