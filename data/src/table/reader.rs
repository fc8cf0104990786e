//! The memory-mapped table.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use fearless_simd::{Simd, dispatch};
use fearless_simd_macros::simd;
use sternhalma_cpu::level;

use super::codec::{BlockFault, Codec, DecodedBlocks, residue};
use super::distance::Distance;
use super::error::TableError;
use super::format::{Encoding, Header, Layout, Provenance, TableInfo, TableSpec, checksum};
use super::map::Map;
use super::options::TableOptions;
use crate::board::{Board, MirroredRuns, Prefix, Rank, State, Symmetry};

/// A distance table, mapped from its file.
///
/// ```
/// use sternhalma_data::{Distance, Probe, Side, Table};
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/v1-4x4-3-within13-byte.sht");
/// let table = Table::open(path)?;
/// let state = table.board().parse_state("d4,d3,b4", Side::X)?;
/// assert_eq!(table.probe(state)?, Probe::Exact(Distance(1)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Table {
    path: PathBuf,
    map: Map,
    header: Header,
    provenance: Provenance,
    /// For each block, whether it matched its checksum, if blocks are verified
    /// on use.
    verified: OnceLock<Box<[AtomicBool]>>,
    codec: Codec,
    /// Whether the data is one byte per state, by rank.
    bytes_by_rank: bool,
    /// The reduced ranks of runs of a mirrored table, which only streams need.
    runs: OnceLock<MirroredRuns>,
}

impl TableOptions {
    /// Opens a table. The header, the directory and the provenance are checked;
    /// the data is not read, except for what is loaded into memory.
    ///
    /// # Errors
    /// If the file is absent, is not a table, is of an unknown kind, or is
    /// damaged, or if the memory to load cannot be allocated or read.
    pub fn open(self, path: impl AsRef<Path>) -> Result<Table, TableError> {
        Table::open_with(path.as_ref(), self)
    }
}

impl Table {
    /// Opens a table with the default [`TableOptions`].
    ///
    /// # Errors
    /// If the file is absent, is not a table, is of an unknown kind, or is
    /// damaged.
    pub fn open(path: impl AsRef<Path>) -> Result<Table, TableError> {
        Table::options().open(path)
    }

    /// Returns the default settings with which a table is opened.
    pub fn options() -> TableOptions {
        TableOptions::default()
    }

    /// Opens and maps a table with settings.
    fn open_with(path: &Path, options: TableOptions) -> Result<Table, TableError> {
        let map = Map::open(path)?;
        let header = Header::decode(path, &map)?;
        // The provenance begins at the end of the data and ends with the file.
        let end = header.data_offset + header.layout.data_bytes();
        let record = usize::try_from(end).ok().and_then(|end| map.get(end..)).ok_or_else(|| {
            TableError::corrupt(path, format!("it is cut short: {} bytes of more than {end}", map.len()))
        })?;
        let provenance = Provenance::decode(path, record)?;
        let codec = Codec::new(&header.layout, options.cache_bytes);
        let bytes_by_rank = header.info.spec.encoding == Encoding::Byte && !header.info.spec.mirrored;
        let (path, runs) = (path.to_owned(), OnceLock::new());
        let table = Table { path, map, header, provenance, verified: OnceLock::new(), codec, bytes_by_rank, runs };
        table.with_loading(options)
    }

    /// Returns the open table with the verification of blocks and the load budget of these settings. The file is not
    /// opened again, what is in memory stays there, and blocks that are verified stay so.
    ///
    /// # Errors
    /// If the memory to load cannot be allocated or read.
    pub fn with_loading(self, options: TableOptions) -> Result<Table, TableError> {
        if options.verify_blocks {
            self.verify_blocks();
        }
        self.load(options.load_budget)
    }

    /// Compares from now on every block with its checksum before its first use, as
    /// [`TableOptions::verify_blocks`] does.
    pub fn verify_blocks(&self) {
        self.verified.get_or_init(|| (0..self.layout().blocks()).map(|_| AtomicBool::new(false)).collect());
    }

    /// Returns the table with the nearest partitions that fit into `budget`
    /// bytes in memory.
    fn load(self, budget: u64) -> Result<Table, TableError> {
        let whole = self.layout().data_bytes() <= budget;
        let bytes = match self.layout().partitions().map(|p| p.bytes.end).take_while(|&end| end <= budget).last() {
            Some(_) if whole => self.map.len(),
            Some(end) => (self.header.data_offset + end) as usize,
            None => return Ok(self),
        };
        let map = self.map.load(&self.path, bytes)?;
        Ok(Table { map, ..self })
    }

    /// Returns the number of bytes of data that are in memory and not mapped
    /// ([`TableOptions::load_budget`]).
    pub fn loaded_bytes(&self) -> u64 {
        let data = (self.map.loaded() as u64).saturating_sub(self.header.data_offset);
        data.min(self.layout().data_bytes())
    }

    /// Returns the number of partitions that are completely in memory. The
    /// loaded partitions are those nearest the goal.
    pub fn loaded_partitions(&self) -> usize {
        let loaded = self.loaded_bytes();
        self.layout().partitions().take_while(|partition| partition.bytes.end <= loaded).count()
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the length of the file in bytes.
    pub fn file_bytes(&self) -> u64 {
        self.map.len() as u64
    }

    /// Returns the offset of the data in the file. With [`Encoding::Byte`], the
    /// byte at this offset is the distance of the goal.
    pub fn data_offset(&self) -> u64 {
        self.header.data_offset
    }

    /// Returns the board.
    #[inline]
    pub fn board(&self) -> Board {
        self.prefix().board()
    }

    /// Returns the covered states.
    #[inline]
    pub fn prefix(&self) -> Prefix {
        self.spec().prefix
    }

    /// Returns how distances are stored.
    #[inline]
    pub fn encoding(&self) -> Encoding {
        self.spec().encoding
    }

    /// Returns the symmetry of the states if the table is mirrored: it stores only
    /// the canonical state of each left-right mirrored pair.
    #[inline]
    pub fn symmetry(&self) -> Option<&Symmetry> {
        self.layout().symmetry()
    }

    /// Returns what identifies the table: the covered states, the encoding and the form.
    #[inline]
    pub fn spec(&self) -> TableSpec {
        self.info().spec
    }

    /// Returns the identity of the table, and its layers.
    #[inline]
    pub fn info(&self) -> &TableInfo {
        &self.header.info
    }

    /// Returns the places of partitions and blocks.
    #[inline]
    pub fn layout(&self) -> &Layout {
        &self.header.layout
    }

    /// Returns the largest distance.
    pub fn max_distance(&self) -> Distance {
        Distance((self.info().layers.len() - 1) as u8)
    }

    /// Returns the largest proven distance, or `None` if all are proven.
    ///
    /// A path that leaves the prefix does so from the boundary layer or a later
    /// one, and returns at the earliest two layers later.
    pub fn proven_depth(&self) -> Option<u32> {
        self.info().boundary_layer.map(|layer| layer + 2)
    }

    /// Returns the checksum of everything except the provenance. It identifies
    /// the table.
    pub fn checksum(&self) -> u64 {
        self.header.checksum
    }

    /// Returns the [checksum](Table::checksum) as 16 hexadecimal digits, as outputs and files contain it.
    pub fn checksum_text(&self) -> String {
        format!("{:016x}", self.checksum())
    }

    /// Returns how the table was built.
    pub fn provenance(&self) -> &Provenance {
        &self.provenance
    }

    /// Releases the memory of pages that have been read through the map. The
    /// pages are read again on demand, so only speed is affected.
    pub fn release_pages(&self) {
        self.map.release_pages();
    }

    fn data(&self) -> &[u8] {
        let start = self.header.data_offset as usize;
        &self.map[start..start + self.layout().data_bytes() as usize]
    }

    /// Returns the bytes of a block as they are in the file.
    ///
    /// # Panics
    /// If the block does not exist.
    pub fn block_bytes(&self, number: u64) -> &[u8] {
        let place = self.layout().block(number).bytes;
        &self.data()[place.start as usize..place.end as usize]
    }

    /// Reads a block and compares it with its checksum.
    ///
    /// # Errors
    /// If they differ, or the file has been cut short since it was opened.
    ///
    /// # Panics
    /// If the block does not exist.
    pub fn check_block(&self, number: u64) -> Result<(), TableError> {
        let end = self.header.data_offset + self.layout().block(number).bytes.end;
        if !self.map.still_whole(end as usize) {
            return Err(TableError::corrupt(&self.path, "it has been cut short since it was opened"));
        }
        if checksum(self.block_bytes(number)) != self.header.block_checksums[number as usize] {
            let indices = self.layout().block(number).indices;
            let ranks = if self.spec().mirrored { "reduced ranks" } else { "ranks" };
            let what = format!(
                "block {number} ({ranks} {} to {}) does not match its checksum",
                indices.start,
                indices.end - 1
            );
            return Err(TableError::corrupt(&self.path, what));
        }
        Ok(())
    }

    pub(super) fn codec(&self) -> &Codec {
        &self.codec
    }

    /// Returns the distances of all states by rank if the encoding is
    /// [`Encoding::Byte`] and the table is not mirrored. The fastest look-up is
    /// `bytes[state.rank().0]`.
    #[inline]
    pub fn as_bytes(&self) -> Option<&[u8]> {
        self.bytes_by_rank.then(|| self.data())
    }

    /// Returns the distance of a state if the encoding is [`Encoding::Byte`] and
    /// the table covers the state. Blocks are not compared with their checksums.
    #[inline]
    pub fn probe_byte(&self, state: State) -> Option<u8> {
        let covered = matches!(self.codec, Codec::Byte) && state.cells().is_subset(self.prefix().cells());
        covered.then(|| self.data()[self.index_of(state) as usize])
    }

    /// Returns the distances of many states in their order, if the encoding is
    /// [`Encoding::Byte`] and the table covers all of the states.
    ///
    /// Loads from memory overlap, so this is several times faster than
    /// separate look-ups. Blocks are not compared with their checksums.
    ///
    /// If the result is `false`, `out` is unchanged.
    ///
    /// # Panics
    /// If `out` is shorter than `states`.
    #[must_use]
    pub fn probe_bytes(&self, states: &[State], out: &mut [u8]) -> bool {
        if !matches!(self.codec, Codec::Byte) {
            return false;
        }
        let (bytes, covered) = (self.data(), self.prefix().cells());
        if !states.iter().all(|state| state.cells().is_subset(covered)) {
            return false;
        }
        dispatch!(level(), simd => probe_batches(simd, self.symmetry(), bytes, states, &mut out[..states.len()]));
        true
    }

    /// Returns the index of a covered state: its rank, or its reduced rank in a mirrored table.
    #[inline]
    fn index_of(&self, state: State) -> u64 {
        self.symmetry().map_or_else(|| Rank::of(state).0, |symmetry| symmetry.reduced_rank(state))
    }

    /// Returns the stored value of a state, or `None` if it is not covered: its
    /// distance, or for [`Encoding::Mod3`] its distance modulo 3.
    pub(super) fn value(&self, state: State) -> Result<Option<u8>, TableError> {
        let back_of = |state: State| state.cells().last().map_or(0, |cell| cell.index());
        if back_of(state) >= self.prefix().within() {
            return Ok(None);
        }
        let value = match self.symmetry() {
            None => self.value_of_index(Rank::of(state).0, back_of(state)),
            Some(symmetry) => {
                let stored = symmetry.canonical(state);
                self.value_of_index(symmetry.reduced_rank_of_canonical(stored.cells()), back_of(stored))
            }
        };
        value.map(Some)
    }

    /// Returns the stored value of the state with this index and back piece.
    #[inline]
    fn value_of_index(&self, index: u64, back: usize) -> Result<u8, TableError> {
        let block = self.layout().block_of(index, back);
        self.verify(block)?;
        let byte_of = |per_byte| {
            let (byte, place) = self.layout().place(index, back, per_byte);
            (self.data()[byte as usize], place)
        };
        let (value, most) = match &self.codec {
            Codec::Byte => (byte_of(1).0, self.max_distance().0),
            Codec::Mod3 => {
                let (byte, place) = byte_of(4);
                (residue(byte, place), 2)
            }
            Codec::Compressed(reader) => {
                let mut distance = [0];
                let read =
                    reader.read(block, &self.layout().block(block), self.block_bytes(block), index, &mut distance);
                read.map_err(|fault| self.bad_block(block, fault))?;
                (distance[0], self.max_distance().0)
            }
        };
        if value > most {
            let rank = self.symmetry().map_or(index, |symmetry| symmetry.state(index).rank().0);
            return Err(self.bad_rank(rank));
        }
        Ok(value)
    }

    /// Writes the stored values of the states from this index on to `out`. For
    /// [`Encoding::Mod3`], a damaged value may be 3.
    fn read_values(&self, mut index: u64, mut out: &mut [u8], decoded: &mut DecodedBlocks) -> Result<(), TableError> {
        while !out.is_empty() {
            let number = self.layout().block_of_index(index);
            self.verify(number)?;
            let block = self.layout().block(number);
            let left = usize::try_from(block.indices.end - index).expect("the block is mapped");
            let (part, rest) = out.split_at_mut(left.min(out.len()));
            let (first, bytes) = ((index - block.indices.start) as usize, self.block_bytes(number));
            match &self.codec {
                Codec::Byte => part.copy_from_slice(&bytes[first..first + part.len()]),
                Codec::Mod3 => {
                    let value = |at: usize| residue(bytes[at / 4], (at % 4) as u32);
                    part.iter_mut().zip(first..).for_each(|(out, at)| *out = value(at));
                }
                Codec::Compressed(reader) => {
                    let distances = decoded.get(number, |out| reader.read_block(&block, bytes, out));
                    let distances = distances.map_err(|fault| self.bad_block(number, fault))?;
                    part.copy_from_slice(&distances[first..first + part.len()]);
                }
            }
            index += part.len() as u64;
            out = rest;
        }
        Ok(())
    }

    /// Returns the stored values of the states with these ranks, of a mirrored
    /// table. Blocks are verified as in [`verify`](Table::verify). `decoded` keeps
    /// blocks of [`Encoding::Zstd`] between calls.
    ///
    /// The first call prepares the reduced ranks of runs, which takes some
    /// milliseconds and up to a MiB.
    ///
    /// # Panics
    /// If the table is not mirrored.
    pub(super) fn unfold(&self, ranks: Range<u64>, decoded: &mut DecodedBlocks) -> Result<Vec<u8>, TableError> {
        /// The values of the runs of states that differ in two pieces are read together.
        const MAX_PERMUTED: usize = 2;
        let symmetry = self.symmetry().expect("only mirrored tables are unfolded");
        let most_permuted = MAX_PERMUTED.min(self.board().pieces() - 2);
        let runs = self.runs.get_or_init(|| MirroredRuns::new(symmetry.clone(), most_permuted));
        let mut result = Ok(());
        let values = runs.read_by_rank(ranks, |first, out| {
            if result.is_ok() {
                result = self.read_values(first, out, decoded);
            }
        });
        result.map(|()| values)
    }

    /// Compares a block with its checksum before its first use, if the table
    /// verifies blocks.
    #[inline]
    pub(super) fn verify(&self, block: u64) -> Result<(), TableError> {
        let Some(verified) = self.verified.get() else { return Ok(()) };
        let seen = &verified[block as usize];
        if !seen.load(Relaxed) {
            self.check_block(block)?;
            seen.store(true, Relaxed);
        }
        Ok(())
    }

    /// Verifies the block of this index. Returns the first index after the block.
    pub(super) fn verify_block_of(&self, index: u64) -> Result<u64, TableError> {
        let number = self.layout().block_of_index(index);
        self.verify(number)?;
        Ok(self.layout().block(number).indices.end)
    }

    /// Returns the data of the partition with this back piece.
    pub(super) fn partition_bytes(&self, back: usize) -> &[u8] {
        let place = self.layout().partition_bytes(back);
        &self.data()[place.start as usize..place.end as usize]
    }

    pub(super) fn bad_block(&self, number: u64, fault: BlockFault) -> TableError {
        let states = fault.states;
        TableError::corrupt(&self.path, format!("block {number} does not decompress to its {states} states"))
    }

    pub(super) fn bad_rank(&self, rank: u64) -> TableError {
        TableError::corrupt(&self.path, format!("no distance fits the state of rank {rank}"))
    }

    pub(super) fn contradiction(&self, rank: u64) -> TableError {
        let what = format!("the distances around the state of rank {rank} contradict each other");
        TableError::corrupt(&self.path, what)
    }
}

/// Looks up covered states of a table with one byte per stored state, some at a time.
#[simd]
fn probe_batches<S: Simd>(_: S, symmetry: Option<&Symmetry>, bytes: &[u8], states: &[State], out: &mut [u8]) {
    /// Enough loads in flight for the processor, few enough for the level 1 cache.
    const BATCH: usize = 64;
    for (states, out) in states.chunks(BATCH).zip(out.chunks_mut(BATCH)) {
        let mut indices = [0; BATCH];
        match symmetry {
            None => indices.iter_mut().zip(states).for_each(|(index, &state)| *index = Rank::of(state).0),
            Some(symmetry) => symmetry.reduced_ranks(states, &mut indices),
        }
        out.iter_mut().zip(indices).for_each(|(out, index)| *out = bytes[index as usize]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_are_looked_up_at_every_level() {
        let board = Board::new(5, 6).unwrap();
        let symmetry = Symmetry::of(Prefix::whole(board)).unwrap();
        let bytes: Vec<u8> = (0..board.states()).map(|index| (index * 7 % 251) as u8).collect();
        let states: Vec<State> = (0..board.states()).rev().step_by(37).map(|rank| Rank(rank).state(6)).collect();
        for level in sternhalma_cpu::levels() {
            for symmetry in [None, Some(&symmetry)] {
                let mut found = vec![0; states.len()];
                dispatch!(level, simd => probe_batches(simd, symmetry, &bytes, &states, &mut found));
                let index = |state: State| symmetry.map_or(state.rank().0, |symmetry| symmetry.reduced_rank(state));
                assert!(states.iter().zip(found).all(|(&state, found)| bytes[index(state) as usize] == found));
            }
        }
    }
}
