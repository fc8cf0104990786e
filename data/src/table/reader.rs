//! The memory-mapped table.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use super::codec::{BlockFault, Codec, residue};
use super::distance::Distance;
use super::error::TableError;
use super::format::{Encoding, Header, Layout, Provenance, TableInfo, checksum};
use super::map::Map;
use crate::board::{Board, Prefix, Rank, State};

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
    verified: Option<Box<[AtomicBool]>>,
    codec: Codec,
}

impl Table {
    /// Opens and maps a table with the settings of
    /// [`TableOptions`](super::TableOptions). `load_budget` and `cache_bytes` are
    /// in bytes.
    pub(super) fn open_with(
        path: &Path,
        verify_blocks: bool,
        load_budget: u64,
        cache_bytes: usize,
    ) -> Result<Table, TableError> {
        let map = Map::open(path)?;
        let header = Header::decode(path, &map)?;
        // The provenance begins at the end of the data and ends with the file.
        let end = header.data_offset + header.layout.data_bytes();
        let record = usize::try_from(end).ok().and_then(|end| map.get(end..)).ok_or_else(|| {
            TableError::corrupt(path, format!("it is cut short: {} bytes of more than {end}", map.len()))
        })?;
        let provenance = Provenance::decode(path, record)?;
        let codec = Codec::new(&header.layout, cache_bytes);
        let verified = verify_blocks.then(|| (0..header.layout.blocks()).map(|_| AtomicBool::new(false)).collect());
        let table = Table { path: path.to_owned(), map, header, provenance, verified, codec };
        table.load(load_budget)
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
    /// ([`TableOptions::load_budget`](super::TableOptions::load_budget)).
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
    /// byte at this offset is the distance of the state of rank 0.
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
        self.info().prefix
    }

    /// Returns how distances are stored.
    #[inline]
    pub fn encoding(&self) -> Encoding {
        self.info().encoding
    }

    /// Returns the prefix, the encoding and the layers.
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
            let ranks = self.layout().block(number).ranks;
            let what =
                format!("block {number} (ranks {} to {}) does not match its checksum", ranks.start, ranks.end - 1);
            return Err(TableError::corrupt(&self.path, what));
        }
        Ok(())
    }

    pub(super) fn codec(&self) -> &Codec {
        &self.codec
    }

    /// Returns the distances of all states by rank if the encoding is
    /// [`Encoding::Byte`]. The fastest look-up is `bytes[state.rank().0]`.
    #[inline]
    pub fn as_bytes(&self) -> Option<&[u8]> {
        matches!(self.codec, Codec::Byte).then(|| self.data())
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
        /// Enough loads in flight for the processor, few enough for the level 1 cache.
        const BATCH: usize = 64;
        let Some(bytes) = self.as_bytes() else { return false };
        let covered = self.prefix().cells();
        if !states.iter().all(|state| state.cells().is_subset(covered)) {
            return false;
        }
        for (states, out) in states.chunks(BATCH).zip(out[..states.len()].chunks_mut(BATCH)) {
            let mut ranks = [0; BATCH];
            ranks.iter_mut().zip(states).for_each(|(rank, &state)| *rank = Rank::of(state).0 as usize);
            out.iter_mut().zip(ranks).for_each(|(out, rank)| *out = bytes[rank]);
        }
        true
    }

    /// Returns the stored value of a state, or `None` if it is not covered.
    pub(super) fn value(&self, state: State) -> Result<Option<u8>, TableError> {
        let back = state.cells().last().map_or(0, |cell| cell.index());
        if back >= self.prefix().within() {
            return Ok(None);
        }
        self.value_of_rank(Rank::of(state).0, back).map(Some)
    }

    /// Returns the stored value of the state with this rank and back piece:
    /// its distance, or for [`Encoding::Mod3`] its distance modulo 3.
    #[inline]
    pub(super) fn value_of_rank(&self, rank: u64, back: usize) -> Result<u8, TableError> {
        let block = self.layout().block_of(rank, back);
        self.verify(block)?;
        let byte_of = |per_byte| {
            let (byte, place) = self.layout().place(rank, back, per_byte);
            (self.data()[byte as usize], place)
        };
        let (value, most) = match &self.codec {
            Codec::Byte => (byte_of(1).0, self.max_distance().0),
            Codec::Mod3 => {
                let (byte, place) = byte_of(4);
                (residue(byte, place), 2)
            }
            Codec::Zstd(reader) => {
                let place = self.layout().block(block);
                let bytes = &self.data()[place.bytes.start as usize..place.bytes.end as usize];
                let distance = reader.distance(block, &place, bytes, rank);
                (distance.map_err(|fault| self.bad_block(block, fault))?, self.max_distance().0)
            }
        };
        if value > most {
            return Err(self.bad_rank(rank));
        }
        Ok(value)
    }

    /// Compares a block with its checksum before its first use, if the table
    /// verifies blocks.
    #[inline]
    pub(super) fn verify(&self, block: u64) -> Result<(), TableError> {
        let Some(verified) = &self.verified else { return Ok(()) };
        let seen = &verified[block as usize];
        if !seen.load(Relaxed) {
            self.check_block(block)?;
            seen.store(true, Relaxed);
        }
        Ok(())
    }

    /// Verifies the block of this rank. Returns the first rank after the block.
    pub(super) fn verify_block_of(&self, rank: u64) -> Result<u64, TableError> {
        let number = self.layout().block_of_rank(rank);
        self.verify(number)?;
        Ok(self.layout().block(number).ranks.end)
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
