//! The bytes of a table file before its data.

use std::path::Path;

use super::encoding::{BLOCK_BYTES, Encoding};
use super::info::TableInfo;
use super::layout::{ENTRY_BYTES, HEADER_BYTES, Layout, checksum};
use super::spec::TableSpec;
use crate::board::{Board, Prefix};
use crate::table::distance::Distance;
use crate::table::error::TableError;

const MAGIC: [u8; 8] = *b"\x89SHT\r\n\x1a\n";
const VERSION: u32 = 1;
/// The version of mirrored tables. All other tables keep version 1.
const MIRRORED_VERSION: u32 = 2;
/// The rules of `docs/reference/notation.md`: steps and jump chains on the diamond.
const RULES: [u8; 8] = *b"diamond\0";

const VERSION_AT: usize = MAGIC.len();
const BLOCK_BYTES_AT: usize = VERSION_AT + 4;
const RULES_AT: usize = BLOCK_BYTES_AT + 4;
const SIZE_AT: usize = RULES_AT + RULES.len();
const PIECES_AT: usize = SIZE_AT + 1;
const WITHIN_AT: usize = PIECES_AT + 1;
const ENCODING_AT: usize = WITHIN_AT + 1;
const LAYERS_AT: usize = ENCODING_AT + 1;
const STATES_AT: usize = LAYERS_AT + 4;
const BOUNDARY_AT: usize = STATES_AT + 8;
const PARTITIONS_AT: usize = BOUNDARY_AT + 4;
const BLOCKS_AT: usize = PARTITIONS_AT + 4;
const DATA_AT: usize = BLOCKS_AT + 8;
const DATA_BYTES_AT: usize = DATA_AT + 8;
const CHECKSUM_AT: usize = DATA_BYTES_AT + 8;
const BLOCK_BITS_AT: usize = CHECKSUM_AT + 8;
const LEVEL_AT: usize = BLOCK_BITS_AT + 1;
const MIRRORED_AT: usize = LEVEL_AT + 1;
const RESERVED_AT: usize = MIRRORED_AT + 1;
const _: () = assert!(RESERVED_AT <= HEADER_BYTES);

const NO_BOUNDARY: u32 = u32::MAX;

/// Everything in a file before its data.
#[derive(Debug)]
pub(crate) struct Header {
    pub info: TableInfo,
    pub layout: Layout,
    pub block_checksums: Vec<u64>,
    /// The length of each block, if lengths depend on the data.
    pub block_lengths: Vec<u32>,
    /// The checksum of this header. The checksum identifies the table, because
    /// the header contains the checksums of the data.
    pub checksum: u64,
    pub data_offset: u64,
}

impl Header {
    /// Returns the header of a table with this layout, which must be that of `info`.
    pub fn new(info: TableInfo, layout: Layout, block_checksums: Vec<u64>, block_lengths: Vec<u32>) -> Header {
        let layout = layout.with_lengths(&block_lengths);
        let data_offset = layout.data_offset(info.layers.len());
        let mut header = Header { info, layout, block_checksums, block_lengths, checksum: 0, data_offset };
        header.checksum = checksum(&header.encode());
        header
    }

    /// Returns the bytes of the file before its data.
    pub fn encode(&self) -> Vec<u8> {
        let &TableInfo { spec: TableSpec { prefix, encoding, mirrored }, ref layers, boundary_layer } = &self.info;
        let version = if mirrored { MIRRORED_VERSION } else { VERSION };
        let mut out = vec![0; HEADER_BYTES];
        let mut put = |at: usize, bytes: &[u8]| out[at..at + bytes.len()].copy_from_slice(bytes);
        let [code, block_bits, level] = encoding.to_header();
        put(0, &MAGIC);
        put(VERSION_AT, &version.to_le_bytes());
        put(BLOCK_BYTES_AT, &(BLOCK_BYTES as u32).to_le_bytes());
        put(RULES_AT, &RULES);
        put(SIZE_AT, &[prefix.board().size() as u8, prefix.board().pieces() as u8, prefix.within() as u8, code]);
        put(LAYERS_AT, &(layers.len() as u32).to_le_bytes());
        put(STATES_AT, &self.layout.stored_states().to_le_bytes());
        put(BOUNDARY_AT, &boundary_layer.unwrap_or(NO_BOUNDARY).to_le_bytes());
        put(PARTITIONS_AT, &(prefix.back_cells().len() as u32).to_le_bytes());
        put(BLOCKS_AT, &self.layout.blocks().to_le_bytes());
        put(DATA_AT, &self.data_offset.to_le_bytes());
        put(DATA_BYTES_AT, &self.layout.data_bytes().to_le_bytes());
        put(CHECKSUM_AT, &self.checksum.to_le_bytes());
        put(BLOCK_BITS_AT, &[block_bits, level, u8::from(mirrored)]);
        let mut push = |value: u64| out.extend_from_slice(&value.to_le_bytes());
        layers.iter().for_each(|&states| push(states));
        for (partition, blocks) in self.layout.partitions().zip(self.layout.partition_blocks()) {
            push(self.data_offset + partition.bytes.start);
            push(partition.bytes.end - partition.bytes.start);
            push(partition.indices.end - partition.indices.start);
            push(checksum(
                self.block_checksums[blocks].iter().flat_map(|sum| sum.to_le_bytes()).collect::<Vec<u8>>().as_slice(),
            ));
        }
        self.block_checksums.iter().for_each(|&sum| push(sum));
        out.extend(self.block_lengths.iter().flat_map(|length| length.to_le_bytes()));
        out.resize(self.data_offset as usize, 0);
        out
    }

    /// Reads and checks the bytes before the data of the file `path`.
    ///
    /// The fixed part gives the length of the rest. The whole is then encoded
    /// again, and the file is damaged if it differs.
    pub fn decode(path: &Path, file: &[u8]) -> Result<Header, TableError> {
        let corrupt = |what: &str| TableError::corrupt(path, what);
        let cut = || TableError::corrupt(path, format!("it is cut short, at {} bytes", file.len()));
        let magic = file.get(..MAGIC.len()).unwrap_or(file);
        if magic.is_empty() || !MAGIC.starts_with(magic) {
            return Err(TableError::NotATable { path: path.to_owned() });
        }
        let fixed = file.get(..HEADER_BYTES).ok_or_else(cut)?;
        let spec = decode_spec(path, fixed)?;
        let layers = u32_at(fixed, LAYERS_AT) as usize;
        if layers == 0 || layers > Distance::COUNT {
            return Err(corrupt("its number of layers is out of range"));
        }
        let mut info = TableInfo { spec, layers: Vec::new(), boundary_layer: None };
        let layout = spec.layout().map_err(|_| corrupt("it is mirrored, but its states have no mirrored form"))?;
        let data_offset = layout.data_offset(layers);
        let bytes = usize::try_from(data_offset).ok().and_then(|end| file.get(..end)).ok_or_else(cut)?;

        let mut tables = &bytes[HEADER_BYTES..];
        let mut take = |length: usize| {
            let (taken, rest) = tables.split_at(length);
            tables = rest;
            taken
        };
        let words = |bytes: &[u8]| bytes.chunks_exact(8).map(|word| u64_at(word, 0)).collect();
        info.layers = words(take(8 * layers));
        take(ENTRY_BYTES as usize * spec.prefix.back_cells().len());
        let block_checksums = words(take(8 * layout.blocks() as usize));
        let block_lengths = take(4 * layout.listed_blocks() as usize).chunks_exact(4).map(|word| u32_at(word, 0));
        info.boundary_layer = Some(u32_at(fixed, BOUNDARY_AT)).filter(|&layer| layer != NO_BOUNDARY);
        let header = Header::new(info, layout, block_checksums, block_lengths.collect());
        if header.checksum != u64_at(fixed, CHECKSUM_AT) || header.encode() != bytes {
            return Err(corrupt("the checksum of its header does not match"));
        }
        header.info.fault().map_or(Ok(header), |fault| Err(corrupt(fault)))
    }
}

/// Reads the identity of a table from the fixed part of its header, and checks the rules.
fn decode_spec(path: &Path, fixed: &[u8]) -> Result<TableSpec, TableError> {
    let unsupported = |what: String| TableError::Unsupported { path: path.to_owned(), what };
    let mirrored = match u32_at(fixed, VERSION_AT) {
        VERSION => false,
        MIRRORED_VERSION => true,
        version => return Err(unsupported(format!("table format version {version}"))),
    };
    let rules = &fixed[RULES_AT..SIZE_AT];
    if rules != RULES {
        return Err(unsupported(format!("rule set {:?}", String::from_utf8_lossy(rules))));
    }
    let encoding = Encoding::from_header([fixed[ENCODING_AT], fixed[BLOCK_BITS_AT], fixed[LEVEL_AT]]);
    let encoding = encoding.ok_or_else(|| unsupported(format!("encoding {}", fixed[ENCODING_AT])))?;
    let encoding = encoding.map_err(|error| TableError::corrupt(path, error.to_string()))?;
    let board = Board::new(fixed[SIZE_AT].into(), fixed[PIECES_AT].into());
    let prefix = board.and_then(|board| Prefix::new(board, fixed[WITHIN_AT].into()));
    let prefix = prefix.map_err(|error| TableError::corrupt(path, error.to_string()))?;
    Ok(TableSpec { prefix, encoding, mirrored })
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(*bytes[at..].first_chunk().expect("the field is inside the header"))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(*bytes[at..].first_chunk().expect("the field is inside the header"))
}
