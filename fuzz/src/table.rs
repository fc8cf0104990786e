//! Table files with arbitrary contents.
//!
//! Checksums reject nearly every change of a file, so the target repairs a
//! copy. `repair` is written from `docs/reference/table-format.md`, and not with the
//! code of the writer.

use sternhalma_data::table::{Ans, Layout, Zstd, checksum};
use sternhalma_data::{Board, Encoding, Prefix, Rank, Side, Table, TableError};

use crate::scratch::Scratch;

/// Tables with more states are not repaired.
const MAX_STATES: u64 = 1 << 20;
/// The number of states that are looked up.
const PROBES: u64 = 8;

const HEADER: usize = 128;
const PAGE: usize = 4096;
const CHECKSUM_AT: usize = 72;

thread_local! {
    static SCRATCH: Scratch = Scratch::new();
}

/// Reads the bytes as a table file, before and after a repair of its lengths
/// and checksums. An error must name the file.
pub fn target(bytes: &[u8]) {
    let mut repaired = bytes.to_vec();
    let repaired = repair(&mut repaired).map(|()| repaired);
    SCRATCH.with(|scratch| {
        for bytes in [Some(bytes), repaired.as_deref()].into_iter().flatten() {
            let path = scratch.write("fuzzed.sht", bytes);
            for verify in [true, false] {
                if let Err(error) = Table::options().verify_blocks(verify).open(&path).and_then(|table| read(&table)) {
                    assert!(error.to_string().contains("fuzzed.sht"), "{error}");
                }
            }
        }
    });
}

/// Reads blocks, states, moves and shortest paths.
fn read(table: &Table) -> Result<(), TableError> {
    let states = table.prefix().states();
    (0..table.layout().blocks().min(PROBES)).try_for_each(|block| table.check_block(block))?;
    for probe in 0..PROBES {
        let state = Rank(probe * (states - 1) / (PROBES - 1)).state(table.board().pieces());
        let probed = table.side(Side::X).probed(state.to_army(table.board(), Side::X))?;
        assert!(probed.probe().distance().expect("the table covers the state") <= table.max_distance());
        probed.moves()?;
        probed.solution()?;
    }
    if states <= 1 << 12 {
        assert_eq!(table.distances()?.len() as u64, states);
    }
    Ok(())
}

fn number<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at + N)?.try_into().ok()
}

/// Sets the lengths and checksums that follow from the board, the covered
/// cells, the encoding and the data. Returns `None` if these fields are not
/// valid or the file is too short.
fn repair(file: &mut [u8]) -> Option<()> {
    let header: [u8; HEADER] = number(file, 0)?;
    let board = Board::new(header[24].into(), header[25].into()).ok()?;
    let prefix = Prefix::new(board, header[26].into()).ok().filter(|prefix| prefix.states() <= MAX_STATES)?;
    let encoding = match header[27] {
        1 => Encoding::Byte,
        2 => Encoding::Mod3,
        3 => Encoding::Zstd(Zstd::new(1_u64.checked_shl(header[80].into())?, header[81]).ok()?),
        4 => Encoding::Ans(Ans::new(1_u64.checked_shl(header[80].into())?).ok()?),
        _ => return None,
    };
    let compressed = matches!(header[27], 3 | 4);
    let layers = u32::from_le_bytes(number(file, 28)?) as usize;
    let mirrored = header[8] == 2;
    let layout = if mirrored { Layout::mirrored(prefix, encoding)? } else { Layout::new(prefix, encoding) };
    let (blocks, partitions) = (layout.blocks() as usize, prefix.back_cells().len());
    let directory_at = HEADER + 8 * (1..=255).contains(&layers).then_some(layers)?;
    let checksums_at = directory_at + 32 * partitions;
    let lengths_at = checksums_at + 8 * blocks;
    let lists_end = lengths_at + if compressed { 4 * blocks } else { 0 };
    let data_at = lists_end.next_multiple_of(PAGE);
    if file.len() < data_at {
        return None;
    }
    file[lists_end..data_at].fill(0);
    let mut put = |at: usize, bytes: &[u8]| file[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, b"\x89SHT\r\n\x1a\n\x01\0\0\0\0\0\x10\0diamond\0");
    put(8, &[1 + u8::from(mirrored)]);
    put(32, &layout.stored_states().to_le_bytes());
    put(44, &(partitions as u32).to_le_bytes());
    put(48, &(blocks as u64).to_le_bytes());
    put(56, &(data_at as u64).to_le_bytes());
    put(82, &[0; HEADER - 82]);
    put(82, &[u8::from(mirrored)]);
    let (mut end, mut block) = (data_at, 0);
    for (number, partition) in layout.partitions().enumerate() {
        let (start, first) = (end, block);
        while block < blocks && layout.block(block as u64).indices.start < partition.indices.end {
            let length = match compressed {
                true => u32::from_le_bytes(self::number(file, lengths_at + 4 * block)?) as usize,
                false => {
                    let bytes = layout.block(block as u64).bytes;
                    (bytes.end - bytes.start) as usize
                }
            };
            let sum = checksum(file.get(end..end.checked_add(length)?)?);
            file[checksums_at + 8 * block..][..8].copy_from_slice(&sum.to_le_bytes());
            end += length;
            block += 1;
        }
        let sum = checksum(&file[checksums_at + 8 * first..checksums_at + 8 * block]);
        let states = partition.indices.end - partition.indices.start;
        let entry = [start as u64, (end - start) as u64, states, sum].map(u64::to_le_bytes);
        file[directory_at + 32 * number..][..32].copy_from_slice(entry.as_flattened());
    }
    file[64..72].copy_from_slice(&((end - data_at) as u64).to_le_bytes());
    file[CHECKSUM_AT..CHECKSUM_AT + 8].fill(0);
    let sum = checksum(&file[..data_at]);
    file[CHECKSUM_AT..CHECKSUM_AT + 8].copy_from_slice(&sum.to_le_bytes());
    // The provenance: its length, a record, and the checksum of both.
    let provenance = file.get_mut(end..)?;
    let length = provenance.len().checked_sub(12)?;
    provenance[..4].copy_from_slice(&(length as u32).to_le_bytes());
    let sum = checksum(&provenance[..4 + length]);
    provenance[4 + length..].copy_from_slice(&sum.to_le_bytes());
    Some(())
}
