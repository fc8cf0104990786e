//! The memory-mapped reader.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::block;
use crate::board::Prefix;
use crate::cache::Cache;
use crate::cell::CellSet;
use crate::error::TableError;
use crate::format::{self, Encoding, Layout, Metadata, Provenance, TableInfo, Zstd};
use crate::map::Map;
use crate::position::{Move, army_moves};
use crate::predict::Shape;
use crate::rank::Rank;

/// The fewest moves from a state to the goal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Distance(pub u8);

impl fmt::Display for Distance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What a table says of a state.
///
/// | answer | meaning |
/// |---|---|
/// | `Exact(d)` | the goal is `d` moves away, and no nearer |
/// | `UpperBound(d)` | there is a way of `d` moves inside the table's prefix; one that leaves it may be shorter |
/// | `NotCovered` | a piece is beyond the table's prefix |
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Probe {
    /// The distance.
    Exact(Distance),
    /// The distance along states of the prefix.
    UpperBound(Distance),
    /// The state is outside the table.
    NotCovered,
}

impl Probe {
    /// The distance or its bound, if the state is covered.
    pub const fn distance(self) -> Option<Distance> {
        match self {
            Probe::Exact(distance) | Probe::UpperBound(distance) => Some(distance),
            Probe::NotCovered => None,
        }
    }

    /// Whether the distance is proven; `None` if the state is not covered.
    pub const fn is_exact(self) -> Option<bool> {
        match self {
            Probe::Exact(_) => Some(true),
            Probe::UpperBound(_) => Some(false),
            Probe::NotCovered => None,
        }
    }
}

/// A distance table, mapped from its file.
///
/// States are given as the player's goal tip sees them
/// ([`Side::goal_view`](crate::Side::goal_view)).
///
/// ```no_run
/// use sternhalma_data::{Probe, Side, Table};
/// let table = Table::open("9x9-6.sht".as_ref())?;
/// let board = table.prefix().board();
/// let army = board.parse_army("a1,b1,c1,a2,b2,a3", Side::X)?;
/// if let Probe::Exact(distance) = table.probe(Side::X.goal_view(board.cells(), army))? {
///     println!("{distance} moves");
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Table {
    path: PathBuf,
    map: Map,
    metadata: Metadata,
    provenance: Provenance,
    /// Which blocks agree with their checksum, if blocks are checked on use.
    checked: Option<Box<[AtomicBool]>>,
    /// Of the encoding `zstd`.
    packed: Option<Packed>,
}

/// What it takes to read compressed blocks.
#[derive(Debug)]
struct Packed {
    zstd: Zstd,
    shape: Shape,
    cache: Cache,
}

impl Packed {
    fn new(layout: &Layout, zstd: Zstd, cache_bytes: usize) -> Packed {
        let prefix = layout.prefix();
        let usual = zstd.block_states().min(prefix.states()) as usize / 4;
        Packed {
            zstd,
            shape: Shape::of(prefix.board().geometry()),
            cache: Cache::new(cache_bytes, layout.blocks(), usual),
        }
    }
}

/// Bytes of decompressed blocks that a table keeps unless told otherwise.
const CACHE_BYTES: usize = 16 << 20;

impl Table {
    /// Opens and maps a table. The header, the directory and the record of
    /// the build are checked; the data is not read.
    ///
    /// # Errors
    /// If the file is absent, no table, of an unknown kind, or damaged.
    pub fn open(path: &Path) -> Result<Table, TableError> {
        let map = Map::open(path)?;
        let metadata = Metadata::decode(path, &map)?;
        let end = metadata.data_offset + metadata.layout.data_bytes();
        let record = usize::try_from(end).ok().and_then(|end| map.get(end..)).ok_or_else(|| {
            TableError::corrupt(path, format!("it is cut short: {} bytes of more than {end}", map.len()))
        })?;
        let provenance = format::decode_provenance(path, record)?;
        let packed = match metadata.contents.encoding {
            Encoding::Zstd(zstd) => Some(Packed::new(&metadata.layout, zstd, CACHE_BYTES)),
            _ => None,
        };
        Ok(Table { path: path.to_owned(), map, metadata, provenance, checked: None, packed })
    }

    /// Bounds the bytes of decompressed blocks that a table in the encoding
    /// `zstd` keeps; they are 16 MiB unless told otherwise. A block takes a
    /// quarter of a byte a state. Other tables keep nothing.
    pub fn set_cache_bytes(&mut self, bytes: usize) {
        self.packed = self.packed.take().map(|packed| Packed::new(&self.metadata.layout, packed.zstd, bytes));
    }

    /// As [`open`](Table::open), and every block is checked against its
    /// checksum before a distance is first read from it.
    ///
    /// # Errors
    /// As [`open`](Table::open).
    pub fn open_checked(path: &Path) -> Result<Table, TableError> {
        let mut table = Table::open(path)?;
        table.checked = Some((0..table.layout().blocks()).map(|_| AtomicBool::new(false)).collect());
        Ok(table)
    }

    /// As the table is, with the nearest partitions that fit into `budget`
    /// bytes in memory.
    pub(crate) fn loaded(self, budget: u64) -> Result<Table, TableError> {
        let whole = self.layout().data_bytes() <= budget;
        let bytes = match self.layout().partitions().map(|p| p.bytes.end).take_while(|&end| end <= budget).last() {
            Some(_) if whole => self.map.len(),
            Some(end) => (self.metadata.data_offset + end) as usize,
            None => return Ok(self),
        };
        let map = self.map.load(&self.path, bytes)?;
        Ok(Table { map, ..self })
    }

    /// How many bytes of the data are in memory, not mapped
    /// ([`TableOptions::load_budget`](crate::TableOptions::load_budget)).
    pub fn loaded_bytes(&self) -> u64 {
        let data = (self.map.loaded() as u64).saturating_sub(self.metadata.data_offset);
        data.min(self.layout().data_bytes())
    }

    /// How many partitions are wholly in memory: those nearest the goal.
    pub fn loaded_partitions(&self) -> usize {
        let loaded = self.loaded_bytes();
        self.layout().partitions().take_while(|partition| partition.bytes.end <= loaded).count()
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The length of the file in bytes.
    pub fn file_bytes(&self) -> u64 {
        self.map.len() as u64
    }

    /// The covered states.
    #[inline]
    pub fn prefix(&self) -> Prefix {
        self.info().prefix
    }

    /// How distances are stored.
    #[inline]
    pub fn encoding(&self) -> Encoding {
        self.info().encoding
    }

    /// Board, encoding, layers and escape layer.
    #[inline]
    pub fn info(&self) -> &TableInfo {
        &self.metadata.contents
    }

    /// Where partitions and blocks lie.
    #[inline]
    pub fn layout(&self) -> &Layout {
        &self.metadata.layout
    }

    /// The largest distance.
    pub fn max_distance(&self) -> Distance {
        Distance((self.info().layers.len() - 1) as u8)
    }

    /// Distances up to this one are proven; `None` if all are. A path that
    /// leaves the prefix does so from the escape layer or beyond, and comes
    /// back two layers on at the earliest.
    pub fn proven_depth(&self) -> Option<u32> {
        self.info().boundary_layer.map(|layer| layer + 2)
    }

    /// The checksum of everything but the provenance: the table's identity.
    pub fn checksum(&self) -> u64 {
        self.metadata.checksum
    }

    /// How the table was built.
    pub fn provenance(&self) -> &Provenance {
        &self.provenance
    }

    /// Gives back the memory of pages that have been read through the map.
    /// Only speed depends on it: they are read again when asked for.
    pub fn release_pages(&self) {
        self.map.release_pages();
    }

    fn data(&self) -> &[u8] {
        let start = self.metadata.data_offset as usize;
        &self.map[start..start + self.layout().data_bytes() as usize]
    }

    /// The bytes of a block as they are in the file.
    ///
    /// # Panics
    /// If there is no such block.
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
    /// If there is no such block.
    pub fn check_block(&self, number: u64) -> Result<(), TableError> {
        let end = self.metadata.data_offset + self.layout().block(number).bytes.end;
        if !self.map.still_whole(end as usize) {
            return Err(TableError::corrupt(&self.path, "it has been cut short since it was opened"));
        }
        if format::checksum(self.block_bytes(number)) != self.metadata.block_checksums[number as usize] {
            let ranks = self.layout().block(number).ranks;
            let what =
                format!("block {number} (ranks {} to {}) does not match its checksum", ranks.start, ranks.end - 1);
            return Err(TableError::corrupt(&self.path, what));
        }
        Ok(())
    }

    /// Of a table of bytes, the distances of all states by rank: the fast
    /// look-up is `bytes[Rank::of(state).0]`. `None` for other encodings.
    #[inline]
    pub fn as_bytes(&self) -> Option<&[u8]> {
        (self.encoding() == Encoding::Byte).then(|| self.data())
    }

    /// What the table says of a state. Cost: a rank and a load for bytes; a
    /// descent to the goal, of as many steps as the distance, for mod-3; for
    /// `zstd` a block to decompress unless it is kept, and some hundreds of
    /// states to read.
    ///
    /// # Errors
    /// If the data is damaged.
    ///
    /// # Panics
    /// If the state has not the board's number of pieces.
    pub fn probe(&self, state: CellSet) -> Result<Probe, TableError> {
        Ok(self.probed_state(state)?.map_or(Probe::NotCovered, |probed| probed.probe()))
    }

    /// The distances of many states of a table of bytes, in their order. Loads
    /// from memory overlap, so this is a good deal faster than one look-up
    /// after the other. Blocks are not checked against their checksums.
    ///
    /// ```
    /// use sternhalma_data::{CellSet, Table};
    /// fn all(table: &Table, states: &[CellSet]) -> Option<Vec<u8>> {
    ///     let mut distances = vec![0; states.len()];
    ///     table.byte_distances(states, &mut distances).then_some(distances)
    /// }
    /// ```
    ///
    /// Gives false, and leaves `out` as it is, if the table is of another
    /// encoding or does not cover one of the states.
    ///
    /// # Panics
    /// If `out` is shorter than `states`.
    pub fn byte_distances(&self, states: &[CellSet], out: &mut [u8]) -> bool {
        /// Enough for the processor's loads under way, few enough for its nearest cache.
        const BATCH: usize = 64;
        let Some(bytes) = self.as_bytes() else { return false };
        let covered = self.prefix().cells();
        if !states.iter().all(|state| state.is_subset(covered)) {
            return false;
        }
        for (states, out) in states.chunks(BATCH).zip(out[..states.len()].chunks_mut(BATCH)) {
            let mut ranks = [0; BATCH];
            ranks.iter_mut().zip(states).for_each(|(rank, &state)| *rank = Rank::of(state).0 as usize);
            out.iter_mut().zip(ranks).for_each(|(out, rank)| *out = bytes[rank]);
        }
        true
    }

    /// Looks up a state; `None` if the table does not cover it.
    ///
    /// # Errors
    /// If the data is damaged.
    ///
    /// # Panics
    /// If the state has not the board's number of pieces.
    pub fn probed_state(&self, state: CellSet) -> Result<Option<ProbedState<'_>>, TableError> {
        let pieces = self.prefix().board().pieces();
        assert_eq!(state.len(), pieces, "a state of this table has {pieces} pieces");
        let Some(value) = self.value(state)? else { return Ok(None) };
        let distance = match self.encoding() {
            Encoding::Byte | Encoding::Zstd(_) => value,
            Encoding::Mod3 => self.descend(state, value)?,
        };
        Ok(Some(ProbedState { table: self, state, distance }))
    }

    fn answer(&self, distance: u8) -> Probe {
        match self.proven_depth() {
            Some(limit) if u32::from(distance) > limit => Probe::UpperBound(Distance(distance)),
            _ => Probe::Exact(Distance(distance)),
        }
    }

    /// The number stored for a state; `None` if it is not covered.
    pub(crate) fn value(&self, state: CellSet) -> Result<Option<u8>, TableError> {
        let back = state.last().map_or(0, |cell| cell.index());
        if back >= self.prefix().within() {
            return Ok(None);
        }
        self.value_of_rank(Rank::of(state).0, back).map(Some)
    }

    /// The number stored for the state of this rank and back piece.
    #[inline]
    pub(crate) fn value_of_rank(&self, rank: u64, back: usize) -> Result<u8, TableError> {
        let block = self.layout().block_of(rank, back);
        self.ready(block)?;
        let byte_of = |per_byte| {
            let (byte, place) = self.layout().place(rank, back, per_byte);
            (self.data()[byte as usize], place)
        };
        let (value, most) = match &self.packed {
            Some(packed) => (self.packed_distance(packed, block, rank)?, self.max_distance().0),
            None if self.encoding() == Encoding::Mod3 => {
                let (byte, place) = byte_of(4);
                (byte >> (2 * place) & 3, 2)
            }
            None => (byte_of(1).0, self.max_distance().0),
        };
        if value > most {
            return Err(self.bad_rank(rank));
        }
        Ok(value)
    }

    fn packed_distance(&self, packed: &Packed, number: u64, rank: u64) -> Result<u8, TableError> {
        let ranks = self.layout().block(number).ranks;
        let states = (ranks.end - ranks.start) as usize;
        let content = packed.cache.get(number, || self.decompress(number, states))?;
        let wanted = (rank - ranks.start) as usize;
        let first = Rank(ranks.start).state(self.prefix().board().pieces());
        let mut distance = [0];
        block::read(&packed.shape, &content, states, first, wanted..wanted + 1, &mut distance);
        Ok(distance[0])
    }

    fn decompress(&self, number: u64, states: usize) -> Result<Arc<[u8]>, TableError> {
        block::decompress(self.block_bytes(number), states).ok_or_else(|| {
            TableError::corrupt(&self.path, format!("block {number} does not decompress to its {states} states"))
        })
    }

    /// The distances of a compressed block. Those that cannot be are 255.
    pub(crate) fn read_packed_block(&self, number: u64, out: &mut Vec<u8>) -> Result<(), TableError> {
        let packed = self.packed.as_ref().expect("the table has compressed blocks");
        self.ready(number)?;
        let ranks = self.layout().block(number).ranks;
        let states = (ranks.end - ranks.start) as usize;
        let content = self.decompress(number, states)?;
        out.clear();
        out.resize(states, 0);
        let first = Rank(ranks.start).state(self.prefix().board().pieces());
        block::read(&packed.shape, &content, states, first, 0..states, out);
        Ok(())
    }

    /// Checks a block before its first use, if the table is to.
    #[inline]
    fn ready(&self, block: u64) -> Result<(), TableError> {
        let Some(checked) = &self.checked else { return Ok(()) };
        let seen = &checked[block as usize];
        if !seen.load(Relaxed) {
            self.check_block(block)?;
            seen.store(true, Relaxed);
        }
        Ok(())
    }

    /// Makes the block of this rank ready to be read. Returns the first rank
    /// beyond it.
    pub(crate) fn ready_block(&self, rank: u64) -> Result<u64, TableError> {
        let number = self.layout().block_of_rank(rank);
        self.ready(number)?;
        Ok(self.layout().block(number).ranks.end)
    }

    /// The data of the partition with this back piece.
    pub(crate) fn partition_bytes(&self, back: usize) -> &[u8] {
        let place = self.layout().partition_bytes(back);
        &self.data()[place.start as usize..place.end as usize]
    }

    fn bad_state(&self, state: CellSet) -> TableError {
        self.bad_rank(Rank::of(state).0)
    }

    fn bad_rank(&self, rank: u64) -> TableError {
        TableError::corrupt(&self.path, format!("no distance fits the state of rank {rank}"))
    }

    pub(crate) fn contradiction(&self, rank: u64) -> TableError {
        let what = format!("the distances about the state of rank {rank} contradict each other");
        TableError::corrupt(&self.path, what)
    }

    /// Counts the steps to the goal, each to a state one nearer. Neighbours
    /// differ by at most one, so a distance modulo 3 tells which are nearer.
    fn descend(&self, mut state: CellSet, mut value: u8) -> Result<u8, TableError> {
        let goal = self.prefix().board().home();
        let mut steps = 0;
        while state != goal {
            if steps == self.max_distance().0 {
                return Err(self.bad_state(state));
            }
            let nearer = (value + 2) % 3;
            state = self.successor_with(state, nearer)?.ok_or_else(|| self.bad_state(state))?;
            value = nearer;
            steps += 1;
        }
        if value != 0 {
            return Err(self.bad_state(goal));
        }
        Ok(steps)
    }

    fn successor_with(&self, state: CellSet, value: u8) -> Result<Option<CellSet>, TableError> {
        for mv in army_moves(self.prefix().board().geometry(), state, CellSet::EMPTY) {
            let after = state.without(mv.from).with(mv.to);
            if self.value(after)? == Some(value) {
                return Ok(Some(after));
            }
        }
        Ok(None)
    }
}

/// A covered state with its distance, which moves carry along: one look-up a
/// move whatever the encoding.
#[derive(Clone, Debug)]
pub struct ProbedState<'a> {
    table: &'a Table,
    state: CellSet,
    distance: u8,
}

impl ProbedState<'_> {
    /// The state, as the goal tip sees it.
    pub fn state(&self) -> CellSet {
        self.state
    }

    /// What the table says of the state.
    pub fn probe(&self) -> Probe {
        self.table.answer(self.distance)
    }

    /// The distance of the state.
    pub fn distance(&self) -> Distance {
        Distance(self.distance)
    }

    /// Every move of the army alone on the board, as the goal tip sees it,
    /// with what the table says of the state after it. Nearest first, states
    /// outside the table last.
    ///
    /// # Errors
    /// If the data is damaged.
    pub fn moves(&self) -> Result<Vec<(Move, Probe)>, TableError> {
        let geometry = self.table.prefix().board().geometry();
        let mut moves = Vec::new();
        for mv in army_moves(geometry, self.state, CellSet::EMPTY) {
            let after = self.after(mv)?.map_or(Probe::NotCovered, |probed| probed.probe());
            moves.push((mv, after));
        }
        moves.sort_by_key(|(_, after)| after.distance().map_or(u8::MAX, |distance| distance.0));
        Ok(moves)
    }

    /// The state after a move of [`moves`](ProbedState::moves); `None` if it
    /// leads outside the table.
    ///
    /// # Errors
    /// If the data is damaged.
    pub fn after(&self, mv: Move) -> Result<Option<Self>, TableError> {
        let state = self.state.without(mv.from).with(mv.to);
        let Some(value) = self.table.value(state)? else { return Ok(None) };
        let distance = match self.table.encoding() {
            Encoding::Byte | Encoding::Zstd(_) => Some(value),
            Encoding::Mod3 => step(self.distance, value),
        };
        let distance = distance.ok_or_else(|| self.table.bad_state(state))?;
        Ok(Some(ProbedState { table: self.table, state, distance }))
    }

    /// A shortest way to the goal: the first best move of each state.
    ///
    /// # Errors
    /// If the data is damaged.
    pub fn solution(&self) -> Result<Vec<Move>, TableError> {
        let mut line = Vec::new();
        let mut at = self.clone();
        while at.distance > 0 {
            let (best, _) = *at.moves()?.first().ok_or_else(|| self.table.bad_state(at.state))?;
            let next = at.after(best)?.filter(|next| next.distance < at.distance);
            at = next.ok_or_else(|| self.table.bad_state(at.state))?;
            line.push(best);
        }
        Ok(line)
    }
}

/// The distance of a neighbour of a state at `distance` whose own is `value` modulo 3.
pub(crate) const fn step(distance: u8, value: u8) -> Option<u8> {
    match (value + 3 - distance % 3) % 3 {
        0 => Some(distance),
        1 => distance.checked_add(1),
        _ => distance.checked_sub(1),
    }
}
