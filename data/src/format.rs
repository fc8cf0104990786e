//! The layout of a table file, version 1 (`docs/table-format.md`).

use std::fmt;
use std::ops::{Range, RangeInclusive};
use std::path::Path;
use std::str::FromStr;

use byteorder::{ByteOrder, LittleEndian};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use crate::board::{Board, Prefix};
use crate::cell::Cell;
use crate::error::TableError;
use crate::storage::Traffic;

pub(crate) const MAGIC: [u8; 8] = *b"\x89SHT\r\n\x1a\n";
pub(crate) const VERSION: u32 = 1;
/// The rules of `docs/notation.md`: steps and jump chains on the diamond.
pub(crate) const RULES: [u8; 8] = *b"diamond\0";
/// Bytes of partition data under one checksum.
pub const BLOCK_BYTES: u64 = 1 << 20;

const VERSION_AT: usize = MAGIC.len();
const BLOCK_BYTES_AT: usize = VERSION_AT + 4;
const RULES_AT: usize = BLOCK_BYTES_AT + 4;
const SIDE_AT: usize = RULES_AT + RULES.len();
const PIECES_AT: usize = SIDE_AT + 1;
const WITHIN_AT: usize = PIECES_AT + 1;
const ENCODING_AT: usize = WITHIN_AT + 1;
const LAYERS_AT: usize = ENCODING_AT + 1;
const STATES_AT: usize = LAYERS_AT + 4;
const ESCAPE_AT: usize = STATES_AT + 8;
const PARTITIONS_AT: usize = ESCAPE_AT + 4;
const BLOCKS_AT: usize = PARTITIONS_AT + 4;
const DATA_AT: usize = BLOCKS_AT + 8;
const DATA_BYTES_AT: usize = DATA_AT + 8;
const CHECKSUM_AT: usize = DATA_BYTES_AT + 8;
const BLOCK_BITS_AT: usize = CHECKSUM_AT + 8;
const LEVEL_AT: usize = BLOCK_BITS_AT + 1;
const RESERVED_AT: usize = LEVEL_AT + 1;
pub(crate) const HEADER_BYTES: usize = 128;

const ENTRY_BYTES: u64 = 32;
const NO_ESCAPE: u32 = u32::MAX;
/// Data begins on a page, so that a map of the file is a map of the data.
const DATA_ALIGNMENT: u64 = 4096;
/// Distances are below 255, so no table has more layers.
const MOST_LAYERS: u32 = 255;

/// How the distance of a state is stored.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Encoding {
    /// One byte a state: the distance.
    Byte,
    /// Two bits a state: the distance modulo 3, four states a byte from the
    /// lowest bits up, each partition on its own bytes.
    Mod3,
    /// About one bit a state: predicted and compressed in blocks.
    Zstd(Zstd),
}

/// How the blocks of the encoding `zstd` are made.
///
/// Large blocks take less room, small ones less time a look-up
/// (`docs/compression.md`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Zstd {
    block_bits: u8,
    level: u8,
}

impl Zstd {
    const BLOCK_BITS: RangeInclusive<u8> = 6..=20;
    const LEVELS: RangeInclusive<u8> = 1..=22;

    /// Blocks of so many states, compressed at this level of zstd.
    ///
    /// # Errors
    /// If the states are not a power of two from 64 to 1,048,576, or the level
    /// is not 1 to 22.
    pub fn new(block_states: u64, level: u8) -> Result<Zstd, String> {
        let block_bits = block_states.trailing_zeros() as u8;
        if !block_states.is_power_of_two() || !Zstd::BLOCK_BITS.contains(&block_bits) {
            return Err(format!("a block has a power of two of states, 64 to 1048576, not {block_states}"));
        }
        if !Zstd::LEVELS.contains(&level) {
            return Err(format!("zstd has levels 1 to 22, not {level}"));
        }
        Ok(Zstd { block_bits, level })
    }

    /// States in a block; the last of a partition may have fewer.
    pub const fn block_states(self) -> u64 {
        1 << self.block_bits
    }

    /// The level of zstd they are compressed at.
    pub const fn level(self) -> u8 {
        self.level
    }
}

impl Default for Zstd {
    /// Blocks of 32,768 states at level 19.
    fn default() -> Zstd {
        Zstd { block_bits: 15, level: 19 }
    }
}

impl Encoding {
    const fn code(self) -> u8 {
        match self {
            Encoding::Byte => 1,
            Encoding::Mod3 => 2,
            Encoding::Zstd(_) => 3,
        }
    }

    /// The encoding a header tells; None if it is not known.
    fn of_header(header: &[u8]) -> Option<Result<Encoding, String>> {
        match header[ENCODING_AT] {
            1 => Some(Ok(Encoding::Byte)),
            2 => Some(Ok(Encoding::Mod3)),
            3 => {
                let block_states = 1u64.checked_shl(header[BLOCK_BITS_AT].into()).unwrap_or(0);
                Some(Zstd::new(block_states, header[LEVEL_AT]).map(Encoding::Zstd))
            }
            _ => None,
        }
    }

    /// States in one byte of the data, if all bytes have as many.
    pub const fn states_per_byte(self) -> Option<u64> {
        match self {
            Encoding::Byte => Some(1),
            Encoding::Mod3 => Some(4),
            Encoding::Zstd(_) => None,
        }
    }

    /// States in a block; the last of a partition may have fewer.
    pub const fn block_states(self) -> u64 {
        match self {
            Encoding::Byte => BLOCK_BYTES,
            Encoding::Mod3 => 4 * BLOCK_BYTES,
            Encoding::Zstd(zstd) => zstd.block_states(),
        }
    }
}

impl fmt::Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Encoding::Byte => "byte",
            Encoding::Mod3 => "mod3",
            Encoding::Zstd(_) => "zstd",
        })
    }
}

impl FromStr for Encoding {
    type Err = String;

    fn from_str(text: &str) -> Result<Encoding, String> {
        match text {
            "byte" => Ok(Encoding::Byte),
            "mod3" => Ok(Encoding::Mod3),
            "zstd" => Ok(Encoding::Zstd(Zstd::default())),
            _ => Err(format!("an encoding is `byte`, `mod3` or `zstd`, not `{text}`")),
        }
    }
}

/// What a table holds, its distances apart.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TableInfo {
    /// The covered states.
    pub prefix: Prefix,
    /// How they are stored.
    pub encoding: Encoding,
    /// How many states there are at each distance, from 0 on.
    pub layers: Vec<u64>,
    /// The lowest layer with a successor outside the prefix; `None` if no
    /// state has one.
    pub boundary_layer: Option<u32>,
}

/// How a table came to be. It is no part of the table's identity.
#[derive(Clone, PartialEq, Default, Debug, Serialize, Deserialize)]
pub struct Provenance {
    /// The program and its version.
    pub program: String,
    /// When the table was finished: UTC, RFC 3339.
    pub built: String,
    /// How it was built: `in-memory` or `out-of-core`.
    pub mode: String,
    /// Threads that searched.
    pub threads: usize,
    /// Seconds from start to finish; of a build that was interrupted, those
    /// of its completed steps.
    pub wall_s: f64,
    /// Seconds of processor time, of all threads.
    #[serde(default)]
    pub cpu_s: f64,
    /// The most memory the program has held at a time, where the system tells.
    #[serde(default)]
    pub peak_bytes: u64,
    /// States a move away from those of a layer and not in it, once for each
    /// context they share with it, over all layers.
    #[serde(default)]
    pub successors: u64,
    /// How often the build was taken up again.
    #[serde(default)]
    pub resumes: u64,
    /// What making each layer read and wrote; nothing for a build in memory.
    #[serde(default)]
    pub io: Vec<LayerTraffic>,
    /// What making the table of the layers read and wrote.
    #[serde(default)]
    pub table_io: Traffic,
    /// The mark of the work directory the table was made in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<String>,
}

/// Bytes read and written for a layer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LayerTraffic {
    /// The distance of its states.
    pub layer: u32,
    /// Bytes read.
    pub read: u64,
    /// Bytes written.
    pub written: u64,
}

/// A block of a table: data under one checksum.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Block {
    /// The ranks of its states, all of one partition.
    pub ranks: Range<u64>,
    /// Where its bytes lie, counted from the first byte of the data.
    pub bytes: Range<u64>,
}

/// A partition of a table: the states of one back piece cell.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Partition {
    /// The back piece cell, as the goal tip sees it.
    pub back: Cell,
    /// The ranks of its states.
    pub ranks: Range<u64>,
    /// Where its bytes lie, counted from the first byte of the data.
    pub bytes: Range<u64>,
}

/// Where the partitions and blocks of a table lie.
#[derive(Clone, Debug)]
pub struct Layout {
    prefix: Prefix,
    encoding: Encoding,
    partitions: Vec<PartitionLayout>,
    /// Of an encoding with blocks of any length: where each ends, from the
    /// first byte of the data, as far as they are known.
    ends: Vec<u64>,
}

#[derive(Clone, Debug)]
struct PartitionLayout {
    ranks: Range<u64>,
    /// From the first byte of the data. Empty if that depends on the data.
    bytes: Range<u64>,
    first_block: u64,
    blocks: u64,
}

impl Layout {
    /// The layout of a table of these states in this encoding. Of `zstd`,
    /// where blocks have any length, it does not tell where their bytes lie.
    pub fn new(prefix: Prefix, encoding: Encoding) -> Layout {
        let (mut at, mut first_block) = (0, 0);
        let mut partitions = Vec::new();
        for back in prefix.back_cells() {
            let ranks = prefix.partition(back);
            let states = ranks.end - ranks.start;
            let bytes = at..at + encoding.states_per_byte().map_or(0, |per_byte| states.div_ceil(per_byte));
            at = bytes.end;
            let partition =
                PartitionLayout { ranks, bytes, first_block, blocks: states.div_ceil(encoding.block_states()) };
            first_block += partition.blocks;
            partitions.push(partition);
        }
        Layout { prefix, encoding, partitions, ends: Vec::new() }
    }

    /// The layout once the length of every block is known.
    fn with_lengths(mut self, lengths: &[u32]) -> Layout {
        self.ends = lengths
            .iter()
            .scan(0, |end, &length| {
                *end += u64::from(length);
                Some(*end)
            })
            .collect();
        let end = |blocks: u64| if blocks == 0 { 0 } else { self.ends[blocks as usize - 1] };
        if !lengths.is_empty() {
            for partition in &mut self.partitions {
                partition.bytes = end(partition.first_block)..end(partition.first_block + partition.blocks);
            }
        }
        self
    }

    /// The states of the table.
    pub fn prefix(&self) -> Prefix {
        self.prefix
    }

    /// How they are stored.
    pub fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// Bytes of all partitions.
    pub fn data_bytes(&self) -> u64 {
        self.last().bytes.end
    }

    /// How many blocks there are.
    pub fn blocks(&self) -> u64 {
        self.last().first_block + self.last().blocks
    }

    /// How many of them have their length in the file.
    fn lengths(&self) -> u64 {
        if self.encoding.states_per_byte().is_none() { self.blocks() } else { 0 }
    }

    /// The partitions, nearest to the goal first.
    pub fn partitions(&self) -> impl Iterator<Item = Partition> + '_ {
        self.prefix.back_cells().zip(&self.partitions).map(|(back, partition)| Partition {
            back: Cell::new(back),
            ranks: partition.ranks.clone(),
            bytes: partition.bytes.clone(),
        })
    }

    fn last(&self) -> &PartitionLayout {
        self.partitions.last().expect("a prefix has at least one partition")
    }

    /// The bytes of the file before the data when there are this many layers.
    fn data_offset(&self, layers: usize) -> u64 {
        let directory = ENTRY_BYTES * self.partitions.len() as u64;
        let tables = 8 * layers as u64 + directory + 8 * self.blocks() + 4 * self.lengths();
        (HEADER_BYTES as u64 + tables).next_multiple_of(DATA_ALIGNMENT)
    }

    /// An upper bound of the size of the file, a provenance of ordinary length
    /// included. For `zstd` it takes two bits a state, which compressed
    /// distances stay below.
    pub fn file_bytes(&self) -> u64 {
        let data = self.encoding.states_per_byte().map_or(self.prefix.states().div_ceil(4), |_| self.data_bytes());
        self.data_offset(MOST_LAYERS as usize) + data + 4096
    }

    /// Block number `number` of [`blocks`](Layout::blocks).
    ///
    /// # Panics
    /// If there is no such block.
    pub fn block(&self, number: u64) -> Block {
        let partition = self.partitions.partition_point(|p| p.first_block + p.blocks <= number);
        let partition = &self.partitions[partition];
        let within = number - partition.first_block;
        let first = partition.ranks.start + within * self.encoding.block_states();
        let ranks = first..partition.ranks.end.min(first + self.encoding.block_states());
        Block { ranks, bytes: self.block_bytes(partition, number) }
    }

    /// Where the bytes of a block lie; nowhere, if that is not known yet.
    fn block_bytes(&self, partition: &PartitionLayout, number: u64) -> Range<u64> {
        if self.encoding.states_per_byte().is_none() {
            let end = |blocks: u64| blocks.checked_sub(1).and_then(|last| self.ends.get(last as usize)).copied();
            return end(number).unwrap_or(0)..end(number + 1).unwrap_or(0);
        }
        let start = partition.bytes.start + (number - partition.first_block) * BLOCK_BYTES;
        start..partition.bytes.end.min(start + BLOCK_BYTES)
    }

    /// The block that holds the state of this rank.
    ///
    /// # Panics
    /// If there is no such state.
    pub fn block_of_rank(&self, rank: u64) -> u64 {
        let partition = &self.partitions[self.partitions.partition_point(|p| p.ranks.end <= rank)];
        partition.first_block + (rank - partition.ranks.start) / self.encoding.block_states()
    }

    #[inline]
    fn partition(&self, back: usize) -> &PartitionLayout {
        &self.partitions[back + 1 - self.prefix.board().pieces()]
    }

    /// The bytes of the partition of `back`, counted from the first of the data.
    pub(crate) fn partition_bytes(&self, back: usize) -> Range<u64> {
        self.partition(back).bytes.clone()
    }

    /// Where the state of this rank and back piece is, in an encoding with
    /// `per_byte` states a byte: the byte, counted from the first of the data,
    /// and the state's number within the byte.
    #[inline]
    pub(crate) fn place(&self, rank: u64, back: usize, per_byte: u64) -> (u64, u32) {
        let partition = self.partition(back);
        let state = rank - partition.ranks.start;
        (partition.bytes.start + state / per_byte, (state % per_byte) as u32)
    }

    /// The block that holds the state of this rank and back piece.
    #[inline]
    pub(crate) fn block_of(&self, rank: u64, back: usize) -> u64 {
        let partition = self.partition(back);
        partition.first_block + (rank - partition.ranks.start) / self.encoding.block_states()
    }
}

/// The checksum of data, of a partition's block checksums, and of records.
pub fn checksum(bytes: &[u8]) -> u64 {
    xxh3_64(bytes)
}

/// Everything of a file before its data.
#[derive(Debug)]
pub(crate) struct Metadata {
    pub contents: TableInfo,
    pub layout: Layout,
    pub block_checksums: Vec<u64>,
    /// The bytes of each block, if that depends on the data.
    pub block_lengths: Vec<u32>,
    /// The checksum of everything but the provenance: of the metadata, which
    /// holds the checksums of the data.
    pub checksum: u64,
    pub data_offset: u64,
}

impl Metadata {
    pub fn new(contents: TableInfo, block_checksums: Vec<u64>, block_lengths: Vec<u32>) -> Metadata {
        let layout = Layout::new(contents.prefix, contents.encoding).with_lengths(&block_lengths);
        let data_offset = layout.data_offset(contents.layers.len());
        let mut metadata = Metadata { contents, layout, block_checksums, block_lengths, checksum: 0, data_offset };
        metadata.checksum = checksum(&metadata.encode());
        metadata
    }

    /// The bytes of the file before its data.
    pub fn encode(&self) -> Vec<u8> {
        let TableInfo { prefix, encoding, layers, boundary_layer } = &self.contents;
        let mut out = vec![0; HEADER_BYTES];
        out[..MAGIC.len()].copy_from_slice(&MAGIC);
        LittleEndian::write_u32(&mut out[VERSION_AT..], VERSION);
        LittleEndian::write_u32(&mut out[BLOCK_BYTES_AT..], BLOCK_BYTES as u32);
        out[RULES_AT..SIDE_AT].copy_from_slice(&RULES);
        out[SIDE_AT] = prefix.board().size() as u8;
        out[PIECES_AT] = prefix.board().pieces() as u8;
        out[WITHIN_AT] = prefix.within() as u8;
        out[ENCODING_AT] = encoding.code();
        LittleEndian::write_u32(&mut out[LAYERS_AT..], layers.len() as u32);
        LittleEndian::write_u64(&mut out[STATES_AT..], prefix.states());
        LittleEndian::write_u32(&mut out[ESCAPE_AT..], boundary_layer.unwrap_or(NO_ESCAPE));
        LittleEndian::write_u32(&mut out[PARTITIONS_AT..], self.layout.partitions.len() as u32);
        LittleEndian::write_u64(&mut out[BLOCKS_AT..], self.layout.blocks());
        LittleEndian::write_u64(&mut out[DATA_AT..], self.data_offset);
        LittleEndian::write_u64(&mut out[DATA_BYTES_AT..], self.layout.data_bytes());
        LittleEndian::write_u64(&mut out[CHECKSUM_AT..], self.checksum);
        if let Encoding::Zstd(zstd) = encoding {
            (out[BLOCK_BITS_AT], out[LEVEL_AT]) = (zstd.block_bits, zstd.level);
        }
        let mut push = |value: u64| out.extend_from_slice(&value.to_le_bytes());
        layers.iter().for_each(|&states| push(states));
        for partition in &self.layout.partitions {
            push(self.data_offset + partition.bytes.start);
            push(partition.bytes.end - partition.bytes.start);
            push(partition.ranks.end - partition.ranks.start);
            let first = partition.first_block as usize;
            let blocks = &self.block_checksums[first..first + partition.blocks as usize];
            push(checksum(&blocks.iter().flat_map(|sum| sum.to_le_bytes()).collect::<Vec<u8>>()));
        }
        self.block_checksums.iter().for_each(|&sum| push(sum));
        out.extend(self.block_lengths.iter().flat_map(|length| length.to_le_bytes()));
        out.resize(self.data_offset as usize, 0);
        out
    }

    /// Reads and checks the bytes before the data of the file `file`.
    ///
    /// After the header, which says how many bytes there are, the rest is
    /// checked by writing it anew: what is not equal is damaged.
    pub fn decode(path: &Path, file: &[u8]) -> Result<Metadata, TableError> {
        let corrupt = |what: &str| TableError::corrupt(path, what);
        let cut = || TableError::corrupt(path, format!("it is cut short, at {} bytes", file.len()));
        let magic = file.get(..MAGIC.len()).unwrap_or(file);
        if magic.is_empty() || !MAGIC.starts_with(magic) {
            return Err(TableError::NotATable { path: path.to_owned() });
        }
        let header = file.get(..HEADER_BYTES).ok_or_else(cut)?;
        let word = |at| LittleEndian::read_u64(&header[at..]);
        let half = |at| LittleEndian::read_u32(&header[at..]);
        let unsupported = |what: String| TableError::Unsupported { path: path.to_owned(), what };
        if half(VERSION_AT) != VERSION {
            return Err(unsupported(format!("table format version {}", half(VERSION_AT))));
        }
        if header[RULES_AT..SIDE_AT] != RULES {
            return Err(unsupported(format!("rule set {:?}", String::from_utf8_lossy(&header[RULES_AT..SIDE_AT]))));
        }
        let encoding = Encoding::of_header(header);
        let encoding = encoding.ok_or_else(|| unsupported(format!("encoding {}", header[ENCODING_AT])))?;
        let encoding = encoding.map_err(|error| corrupt(&error))?;
        let board = Board::new(header[SIDE_AT].into(), header[PIECES_AT].into());
        let prefix = board.and_then(|board| Prefix::new(board, header[WITHIN_AT].into()));
        let prefix = prefix.map_err(|error| corrupt(&error.to_string()))?;
        let layers = half(LAYERS_AT);
        if layers == 0 || layers > MOST_LAYERS {
            return Err(corrupt("its number of layers is out of range"));
        }
        let layout = Layout::new(prefix, encoding);
        let data_offset = layout.data_offset(layers as usize);
        let bytes = usize::try_from(data_offset).ok().and_then(|end| file.get(..end)).ok_or_else(cut)?;

        let mut tables = &bytes[HEADER_BYTES..];
        let mut take = |length: usize| {
            let (taken, rest) = tables.split_at(length);
            tables = rest;
            taken
        };
        let words = |bytes: &[u8]| bytes.chunks_exact(8).map(LittleEndian::read_u64).collect();
        let layers: Vec<u64> = words(take(8 * layers as usize));
        take(ENTRY_BYTES as usize * layout.partitions.len());
        let block_checksums = words(take(8 * layout.blocks() as usize));
        let block_lengths = take(4 * layout.lengths() as usize).chunks_exact(4).map(LittleEndian::read_u32).collect();
        let boundary_layer = Some(half(ESCAPE_AT)).filter(|&layer| layer != NO_ESCAPE);
        let contents = TableInfo { prefix, encoding, layers, boundary_layer };
        let metadata = Metadata::new(contents, block_checksums, block_lengths);
        if metadata.checksum != word(CHECKSUM_AT) || metadata.encode() != bytes {
            return Err(corrupt("the checksum of its header does not match"));
        }
        metadata.contents.check().map_err(corrupt)?;
        Ok(metadata)
    }
}

impl TableInfo {
    /// What a header with a right checksum may still have wrong.
    fn check(&self) -> Result<(), &'static str> {
        let sum = self.layers.iter().try_fold(0u64, |sum, &states| sum.checked_add(states));
        if sum != Some(self.prefix.states()) {
            return Err("its layers do not add up to its states");
        }
        if self.prefix.is_whole() && self.boundary_layer.is_some() {
            return Err("it covers the whole board and yet has an escape layer");
        }
        if self.boundary_layer.is_some_and(|layer| layer as usize >= self.layers.len()) {
            return Err("its escape layer is beyond its last layer");
        }
        Ok(())
    }
}

/// The last record of a file: length, JSON, checksum.
pub(crate) fn encode_provenance(provenance: &Provenance) -> Vec<u8> {
    let json = serde_json::to_vec(provenance).expect("a provenance has only strings and finite numbers");
    let mut out = (json.len() as u32).to_le_bytes().to_vec();
    out.extend(json);
    let sum = checksum(&out);
    out.extend(sum.to_le_bytes());
    out
}

pub(crate) fn decode_provenance(path: &Path, record: &[u8]) -> Result<Provenance, TableError> {
    let corrupt = || TableError::corrupt(path, "the record of how it was built is cut short or changed");
    let (length, rest) = record.split_first_chunk::<4>().ok_or_else(corrupt)?;
    let length = u32::from_le_bytes(*length) as usize;
    if rest.len().checked_sub(8) != Some(length) {
        return Err(corrupt());
    }
    let (json, sum) = rest.split_at(length);
    if checksum(&record[..4 + length]) != LittleEndian::read_u64(sum) {
        return Err(corrupt());
    }
    serde_json::from_slice(json).map_err(|_| corrupt())
}

const _: () = assert!(RESERVED_AT <= HEADER_BYTES);
