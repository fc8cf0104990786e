//! Damaged and hostile files. Each file is rejected with an error that names the
//! file, or answers like any table. None ends the program.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use proptest::prelude::*;
use sternhalma_data::table::write::BlockEncoder;
use sternhalma_data::table::{Layout, Provenance, checksum};
use sternhalma_data::{Board, Encoding, Prefix, Probe, Rank, Side, States, Table, TableError, TableInfo, TableSpec};
use sternhalma_testutil::{Reference, encodings, write_forged_blocks};
use tempfile::TempDir;

/// Offset of the data of the small tables: the first page after the header.
const DATA_AT: usize = 4096;
const CHECKSUM_AT: usize = 72;
const SIZE_AT: usize = 24;
const WITHIN_AT: usize = 26;
const ENCODING_AT: usize = 27;
const BOUNDARY_AT: usize = 40;
const BLOCK_BITS_AT: usize = 80;
const LEVEL_AT: usize = 81;
const MIRRORED_AT: usize = 82;
const FIELD_BYTES: usize = 83;

/// A table file that is changed in place repeatedly.
struct CorruptibleTable {
    dir: TempDir,
    path: PathBuf,
    file: File,
    bytes: Vec<u8>,
}

impl CorruptibleTable {
    fn new(prefix: Prefix, encoding: Encoding, mirrored: bool) -> CorruptibleTable {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("corruptible.sht");
        let reference = Reference::search(prefix);
        match mirrored {
            true => reference.write_mirrored(&path, encoding).unwrap(),
            false => reference.write(&path, encoding),
        };
        let file = OpenOptions::new().write(true).open(&path).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        CorruptibleTable { dir, path, file, bytes }
    }

    fn patch(&mut self, at: usize, bytes: &[u8]) {
        self.file.seek(SeekFrom::Start(at as u64)).unwrap();
        self.file.write_all(bytes).unwrap();
    }

    /// Writes another file beside the table and returns its path.
    fn other(&self, bytes: &[u8]) -> PathBuf {
        let path = self.dir.path().join("other.sht");
        std::fs::write(&path, bytes).unwrap();
        path
    }
}

fn small_prefixes() -> [Prefix; 2] {
    let board = Board::new(4, 3).unwrap();
    [Prefix::whole(board), Prefix::new(board, 11).unwrap()]
}

/// Prefixes whose tables can be mirrored.
fn symmetric_prefixes() -> [Prefix; 2] {
    let board = Board::new(4, 3).unwrap();
    [Prefix::whole(board), Prefix::new(board, 13).unwrap()]
}

/// Returns a table in each encoding, whole and of a prefix, and then mirrored tables.
fn corruptible_tables() -> impl Iterator<Item = CorruptibleTable> {
    let prefixes = small_prefixes().map(|prefix| (prefix, false)).into_iter();
    prefixes.chain(symmetric_prefixes().map(|prefix| (prefix, true))).flat_map(|(prefix, mirrored)| {
        encodings().map(move |encoding| CorruptibleTable::new(prefix, encoding, mirrored))
    })
}

/// The bytes of those tables.
static SMALL_TABLES: LazyLock<Vec<Vec<u8>>> =
    LazyLock::new(|| corruptible_tables().map(|table_file| table_file.bytes).collect());

/// Returns the error of opening the file or of checking its blocks, if any.
fn refusal(path: &Path) -> Option<String> {
    let check = |table: Table| (0..table.layout().blocks()).try_for_each(|block| table.check_block(block));
    Table::open(path).and_then(check).err().map(|error| error.to_string())
}

fn assert_refused(path: &Path, what: impl FnOnce() -> String) {
    match refusal(path) {
        None => panic!("accepted: {}", what()),
        Some(why) => assert!(why.contains(&*path.to_string_lossy()), "{}: `{why}` names no file", what()),
    }
}

/// The result of opening a changed file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fate {
    Refused,
    /// The file opens, but its distances are not those of its prefix.
    Opened,
    Right,
}

/// Opens a file and, if it opens, looks up every covered state with its moves and
/// solution, and one state outside. Then compares the table with the reference.
/// Every error must name the file.
fn fate(path: &Path) -> Fate {
    let named = |why: String| assert!(why.contains(&*path.to_string_lossy()), "`{why}` names no file");
    let mut opened = None;
    for verified in [false, true] {
        let table = match Table::options().verify_blocks(verified).open(path) {
            Ok(table) => table,
            Err(error) => {
                named(error.to_string());
                return Fate::Refused;
            }
        };
        for (_, state) in States::all(table.prefix()) {
            let asked = table.probe(state).and_then(|answer| {
                let distance = answer.distance().expect("the prefix covers the state");
                assert!(distance <= table.max_distance(), "{state:?} is at {distance}");
                let probed = table.side(Side::O).probed(state.to_army(table.board(), Side::O))?;
                probed.moves()?;
                probed.solution()
            });
            if let Err(error) = asked {
                named(error.to_string());
            }
        }
        if !table.prefix().is_whole() {
            let beyond = Rank(table.prefix().states()).state(table.prefix().board().pieces());
            assert_eq!(table.probe(beyond).unwrap(), Probe::NotCovered);
        }
        opened = Some(table);
    }
    let table = opened.expect("it opens both ways");
    match Reference::search(table.prefix()).check(&table) {
        Ok(()) => Fate::Right,
        Err(error) => {
            named(error);
            Fate::Opened
        }
    }
}

#[test]
fn no_shorter_file_is_a_table() {
    for table_file in corruptible_tables() {
        assert_eq!(refusal(&table_file.path), None);
        for length in (0..table_file.bytes.len()).rev() {
            table_file.file.set_len(length as u64).unwrap();
            assert_refused(&table_file.path, || format!("the first {length} bytes"));
        }
    }
}

#[test]
fn no_longer_file_is_a_table() {
    for table_file in corruptible_tables() {
        let record = table_file.bytes[DATA_AT..].to_vec();
        for more in [vec![0], vec![0; 8], vec![0; 4096], b"\n".to_vec(), record, table_file.bytes.clone()] {
            let path = table_file.other(&[&table_file.bytes[..], &more].concat());
            assert_refused(&path, || format!("{} bytes more", more.len()));
        }
    }
}

#[test]
fn every_flipped_bit_is_found() {
    for mut table_file in corruptible_tables() {
        for at in 0..table_file.bytes.len() {
            let right = table_file.bytes[at];
            for bit in 0..8 {
                table_file.patch(at, &[right ^ 1 << bit]);
                assert_refused(&table_file.path, || format!("bit {bit} of byte {at} flipped"));
            }
            table_file.patch(at, &[right]);
        }
        assert_eq!(refusal(&table_file.path), None);
    }
}

/// Sets the checksum of the bytes before the data to the right value.
fn seal(bytes: &mut [u8]) {
    bytes[CHECKSUM_AT..][..8].fill(0);
    let sum = checksum(&bytes[..DATA_AT]);
    bytes[CHECKSUM_AT..][..8].copy_from_slice(&sum.to_le_bytes());
}

/// Nothing else in a file depends on the boundary layer, or on the size of a board
/// that has the covered cells. Only a comparison of distances detects such files.
#[test]
fn every_wrong_header_byte_under_a_right_checksum_is_found() {
    // Three whole tables and one of a prefix that are not mirrored, and two of each that are mirrored.
    for mut table_file in [0, 5, 2, 3, 8, 14, 9, 15].into_iter().filter_map(|number| corruptible_tables().nth(number)) {
        let table = Table::open(&table_file.path).unwrap();
        let (whole, mirrored) = (table.prefix().is_whole(), table.spec().mirrored);
        let mut opened = BTreeSet::new();
        for at in (0..FIELD_BYTES).filter(|at| !(CHECKSUM_AT..CHECKSUM_AT + 8).contains(at)) {
            for value in 0..=255 {
                // Nothing depends on the level of compression, nor on the block length if no
                // partition has two blocks.
                let encoding = table_file.bytes[ENCODING_AT];
                let relabels = match at {
                    LEVEL_AT => encoding == 3 && value <= 22,
                    BLOCK_BITS_AT => matches!(encoding, 3 | 4) && mirrored && (6..=20).contains(&value),
                    _ => false,
                };
                if value == table_file.bytes[at] || relabels {
                    continue;
                }
                let mut bytes = table_file.bytes[..DATA_AT].to_vec();
                bytes[at] = value;
                seal(&mut bytes);
                table_file.patch(0, &bytes[..FIELD_BYTES]);
                match Table::open(&table_file.path) {
                    Ok(table) => {
                        let right = Reference::search(table.prefix()).check(&table);
                        assert!(right.is_err(), "byte {at} as {value} is right");
                        opened.insert(at);
                    }
                    Err(_) => assert_refused(&table_file.path, || format!("byte {at} as {value}")),
                }
            }
        }
        // The rows of another board end elsewhere, so it has no such mirrored table.
        let size = Some(SIZE_AT).filter(|_| !mirrored);
        let boundary = Some(BOUNDARY_AT).filter(|_| !whole);
        assert_eq!(opened, size.into_iter().chain(boundary).collect());
    }
}

/// Returns whether a table is right. The level of compression does not matter,
/// nor does the block length if no partition has two blocks.
fn is_right(bytes: &[u8], right: &[u8]) -> bool {
    let mut relabelled = bytes.to_vec();
    let zstd = right[ENCODING_AT] == 3 && (1..=22).contains(&bytes[LEVEL_AT]);
    if (zstd || right[ENCODING_AT] == 4) && (6..=20).contains(&bytes[BLOCK_BITS_AT]) {
        relabelled[LEVEL_AT] = if zstd { right[LEVEL_AT] } else { bytes[LEVEL_AT] };
        if small_prefixes()[1].within() == usize::from(right[WITHIN_AT]) || right[MIRRORED_AT] == 1 {
            relabelled[BLOCK_BITS_AT] = right[BLOCK_BITS_AT];
        }
        seal(&mut relabelled);
    }
    relabelled == right
}

/// A change to a file.
#[derive(Clone, Debug)]
enum Edit {
    Overwrite(prop::sample::Index, u8),
    Insert(prop::sample::Index, u8),
    Delete(prop::sample::Index),
}

fn edits() -> impl Strategy<Value = Vec<Edit>> {
    let edit = prop_oneof![
        (any::<prop::sample::Index>(), any::<u8>()).prop_map(|(at, byte)| Edit::Overwrite(at, byte)),
        (any::<prop::sample::Index>(), any::<u8>()).prop_map(|(at, byte)| Edit::Insert(at, byte)),
        any::<prop::sample::Index>().prop_map(Edit::Delete),
    ];
    prop::collection::vec(edit, 1..6)
}

/// Returns the bytes with edits in the first `length` of them.
fn edited(bytes: &[u8], length: usize, edits: &[Edit]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for edit in edits {
        match edit {
            Edit::Overwrite(at, byte) => bytes[at.index(length)] = *byte,
            Edit::Insert(at, byte) => bytes.insert(at.index(length), *byte),
            Edit::Delete(at) => {
                bytes.remove(at.index(length));
            }
        }
    }
    bytes
}

/// Writes a table of this data under right checksums.
fn forge(path: &Path, info: TableInfo, data: &[u8]) {
    let (encoding, layout) = (info.spec.encoding, info.spec.layout().unwrap());
    write_forged_blocks(path, info, |number, block| match encoding.states_per_byte() {
        Some(_) => block.bytes.map(|at| data[at as usize % data.len()]).collect(),
        // Every third block is noise, and every third is compressed noise.
        None if number % 3 == 1 => data.to_vec(),
        None if number % 3 == 2 => zstd::bulk::compress(data, 1).unwrap(),
        None => {
            let distances: Vec<u8> = block.indices.clone().map(|at| data[at as usize % data.len()].min(254)).collect();
            BlockEncoder::new(&layout).encode(block.indices, &distances)
        }
    });
}

/// A prefix that is small enough to look up every state.
fn small_prefix() -> impl Strategy<Value = Prefix> {
    let board =
        (3u64..=11, 1u64..=15).prop_filter_map("too many pieces", |(size, pieces)| Board::new(size, pieces).ok());
    let prefix = (board, any::<prop::sample::Index>()).prop_map(|(board, more)| {
        let within = board.pieces() + more.index(board.cells() - board.pieces() + 1);
        Prefix::new(board, within as u64).unwrap()
    });
    let small = prefix.prop_map(|mut prefix| {
        while prefix.states() > 2000 {
            prefix = Prefix::new(prefix.board(), prefix.within() as u64 - 1).unwrap();
        }
        prefix
    });
    let symmetric = prop::sample::select(vec![(3, 3, 9), (3, 6, 9), (4, 3, 16), (4, 6, 13), (5, 3, 19), (11, 10, 15)]);
    let symmetric =
        symmetric.prop_map(|(size, pieces, within)| Prefix::new(Board::new(size, pieces).unwrap(), within).unwrap());
    prop_oneof![small, symmetric]
}

/// Layers, most of which add up to the number of states.
fn layers(states: u64) -> impl Strategy<Value = Vec<u64>> {
    let cut = prop::collection::vec(0..=states, 0..300).prop_map(move |mut cuts| {
        cuts.extend([0, states]);
        cuts.sort();
        cuts.windows(2).map(|pair| pair[1] - pair[0]).collect()
    });
    prop_oneof![4 => cut, 1 => prop::collection::vec(any::<u64>(), 0..300)]
}

fn record_of(table: &[u8]) -> &[u8] {
    let json = table.windows(2).rposition(|pair| pair == b"{\"").unwrap();
    &table[json - 4..]
}

proptest! {
    #[test]
    fn random_bytes_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..300), magic: bool, pages in 0usize..3) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("noise.sht");
        let mut file = if magic { b"\x89SHT\r\n\x1a\n\x01\0\0\0\0\0\x10\0diamond\0".to_vec() } else { Vec::new() };
        file.extend(bytes);
        file.resize(file.len() + pages * 4096, 0);
        std::fs::write(&path, file).unwrap();
        prop_assert_eq!(fate(&path), Fate::Refused);
    }

    #[test]
    fn edits_are_refused(edits in edits()) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("edited.sht");
        for right in SMALL_TABLES.iter() {
            let bytes = edited(right, right.len() - edits.len(), &edits);
            std::fs::write(&path, &bytes).unwrap();
            prop_assert_eq!(fate(&path) == Fate::Right, bytes == *right);
            prop_assert_eq!(refusal(&path).is_none(), bytes == *right);
        }
    }

    /// The part before the data keeps its length: it is cut off or filled with zeros.
    #[test]
    fn sealed_edits_of_the_header_are_right_only_if_equal(edits in edits(), used in 80usize..700) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("sealed.sht");
        for right in SMALL_TABLES.iter() {
            let mut bytes = edited(&right[..DATA_AT], used, &edits);
            bytes.resize(DATA_AT, 0);
            seal(&mut bytes);
            bytes.extend(&right[DATA_AT..]);
            std::fs::write(&path, &bytes).unwrap();
            prop_assert_eq!(fate(&path) == Fate::Right, is_right(&bytes, right));
        }
    }

    #[test]
    fn forged_tables_open_if_their_header_is_sound(
        (prefix, layers) in small_prefix().prop_flat_map(|prefix| (Just(prefix), layers(prefix.states()))),
        encoding in 0usize..3,
        mirrored: bool,
        boundary_layer in prop::option::of(prop_oneof![0u32..300, any::<u32>()]),
        data in prop_oneof![
            prop::collection::vec(any::<u8>(), 1..200),
            prop::collection::vec(0u8..4, 1..200),
            prop::collection::vec(Just(0x24u8), 1..2),
        ],
    ) {
        let encoding = encodings()[encoding];
        let mirrored = mirrored && Layout::mirrored(prefix, encoding).is_some();
        let info = TableInfo { spec: TableSpec { prefix, encoding, mirrored }, layers: layers.clone(), boundary_layer };
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("forged.sht");
        forge(&path, info, &data);
        let sum = layers.iter().try_fold(0u64, |sum, &states| sum.checked_add(states));
        // The largest number in a header means that there is no boundary layer.
        let boundary_layer = boundary_layer.filter(|&layer| layer != u32::MAX);
        let sound = (1..=255).contains(&layers.len())
            && sum == Some(prefix.states())
            && boundary_layer.is_none_or(|layer| !prefix.is_whole() && (layer as usize) < layers.len());
        prop_assert_eq!(fate(&path) != Fate::Refused, sound);
    }

    #[test]
    fn sealed_provenance_is_accepted_if_it_parses(edits in edits(), json in "\\PC{0,40}", free: bool) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("sealed.sht");
        for right in SMALL_TABLES.iter() {
            let (before, record) = right.split_at(right.len() - record_of(right).len());
            let text = &record[4..record.len() - 8];
            let json = if free { json.clone().into_bytes() } else { edited(text, text.len() - edits.len(), &edits) };
            let mut sealed = [&(json.len() as u32).to_le_bytes()[..], &json].concat();
            sealed.extend(checksum(&sealed).to_le_bytes());
            std::fs::write(&path, [before, &sealed].concat()).unwrap();
            let sound = serde_json::from_slice::<Provenance>(&json).is_ok();
            prop_assert_eq!(fate(&path), if sound { Fate::Right } else { Fate::Refused });
        }
    }
}

/// A header is checked against the length of the file before memory is allocated,
/// so headers of the largest boards are refused immediately.
#[test]
fn headers_of_all_boards_are_handled() {
    let opened = headers_that_open(corruptible_tables().next().unwrap());
    // The layout of the small table is the same on every board that has its cells.
    assert_eq!(opened, [4, 9, 11].map(|size| (size, 3, 16, 1)));
    let opened = headers_that_open(corruptible_tables().nth(8).unwrap());
    assert_eq!(opened, [(4, 3, 16, 1)]);
}

fn headers_that_open(mut table_file: CorruptibleTable) -> Vec<(u8, u8, u8, u8)> {
    let mut opened = Vec::new();
    for size in [2, 3, 4, 9, 11, 12] {
        for pieces in 0..=16 {
            for within in [pieces, pieces + 1, 16, 64, 121, 122, 255] {
                for encoding in 0..=4 {
                    let mut bytes = table_file.bytes[..DATA_AT].to_vec();
                    bytes[24..28].copy_from_slice(&[size, pieces, within, encoding]);
                    seal(&mut bytes);
                    table_file.patch(0, &bytes[..FIELD_BYTES]);
                    if fate(&table_file.path) != Fate::Refused {
                        opened.push((size, pieces, within, encoding));
                    }
                }
            }
        }
    }
    opened
}

/// A reader of version 1 must not misread a mirrored table, and neither may a
/// reader of version 2 misread one that has no symmetry.
#[test]
fn the_version_decides_whether_a_table_is_mirrored() {
    let mut mirrored = corruptible_tables().nth(8).unwrap();
    assert_eq!((mirrored.bytes[8], mirrored.bytes[MIRRORED_AT]), (2, 1));
    for (version, flag) in [(1, 0), (1, 1), (2, 0), (2, 2), (3, 1)] {
        let mut bytes = mirrored.bytes[..DATA_AT].to_vec();
        (bytes[8], bytes[MIRRORED_AT]) = (version, flag);
        seal(&mut bytes);
        mirrored.patch(0, &bytes);
        let error = Table::open(&mirrored.path).unwrap_err();
        assert_eq!(matches!(error, TableError::Unsupported { .. }), version == 3, "{error}");
    }
    let mut unmirrored = CorruptibleTable::new(small_prefixes()[1], Encoding::Byte, false);
    let mut bytes = unmirrored.bytes[..DATA_AT].to_vec();
    (bytes[8], bytes[MIRRORED_AT]) = (2, 1);
    seal(&mut bytes);
    unmirrored.patch(0, &bytes);
    let error = Table::open(&unmirrored.path).unwrap_err().to_string();
    assert!(error.contains("no mirrored form"), "{error}");
}

#[test]
fn a_damaged_block_is_reported_by_the_first_look_up_in_it() {
    let prefix = small_prefixes()[0];
    for (encoding, mirrored) in encodings().into_iter().flat_map(|encoding| [(encoding, false), (encoding, true)]) {
        let mut table_file = CorruptibleTable::new(prefix, encoding, mirrored);
        let layout = Table::open(&table_file.path).unwrap().layout().clone();
        for number in 0..layout.blocks() {
            let block = layout.block(number);
            let at = DATA_AT + block.bytes.start as usize;
            let right = table_file.bytes[at];
            table_file.patch(at, &[right ^ 1]);
            let (start, end) = (block.indices.start, block.indices.end);
            let ranks = if mirrored { "reduced ranks" } else { "ranks" };
            let damaged = format!("block {number} ({ranks} {start} to {})", end - 1);
            for (rank, state) in States::all(prefix) {
                let table = Table::options().verify_blocks(true).open(&table_file.path).unwrap();
                let index = table.symmetry().map_or(rank.0, |symmetry| symmetry.reduced_rank(state));
                match table.probe(state) {
                    Err(error) => {
                        assert!(matches!(error, TableError::Corrupt { .. }));
                        assert!(error.to_string().contains(&damaged), "{error}");
                        // A mod-3 look-up reads the blocks on the way to the goal too.
                        assert!((start..end).contains(&index) || encoding == Encoding::Mod3);
                    }
                    Ok(_) => assert!(!(start..end).contains(&index), "rank {rank} is answered in spite of {damaged}"),
                }
            }
            table_file.patch(at, &[right]);
        }
    }
}

#[test]
fn a_damaged_block_leaves_the_others_of_its_partition_readable() {
    let prefix = Prefix::whole(Board::new(7, 6).unwrap());
    let mut table_file = CorruptibleTable::new(prefix, Encoding::Byte, false);
    let layout = Layout::new(prefix, Encoding::Byte);
    let data_at = table_file.bytes.len() - record_of(&table_file.bytes).len() - layout.data_bytes() as usize;
    let last = layout.block(layout.blocks() - 1);
    let before = layout.block(layout.blocks() - 2);
    assert_eq!(prefix.partition(48), before.indices.start..last.indices.end);
    let at = data_at + last.bytes.start as usize;
    table_file.patch(at, &[table_file.bytes[at] ^ 1]);
    let table = Table::options().verify_blocks(true).open(&table_file.path).unwrap();
    let distance = |rank: u64| table.probe(Rank(rank).state(6));
    for rank in [before.indices.start, before.indices.end - 1] {
        assert_eq!(distance(rank).unwrap().is_exact(), Some(true));
    }
    for rank in [last.indices.start, last.indices.end - 1] {
        assert!(distance(rank).unwrap_err().to_string().contains(&format!("block {} ", layout.blocks() - 1)));
    }
}

/// The data either agrees with the rules and contradicts the header, or leads
/// around in circles.
#[test]
fn a_descent_ends_at_the_largest_distance() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("forged.sht");
    let check = |prefix: Prefix, data: &[u8], nearest: u64| {
        let layers = vec![1, prefix.states() - 1];
        forge(
            &path,
            TableInfo {
                spec: TableSpec { prefix, encoding: Encoding::Mod3, mirrored: false },
                layers,
                boundary_layer: None,
            },
            data,
        );
        assert_eq!(fate(&path), Fate::Opened);
        let table = Table::open(&path).unwrap();
        let answered = States::all(prefix).filter(|(_, state)| table.probe(*state).is_ok());
        assert_eq!(answered.count() as u64, nearest);
    };
    let whole = small_prefixes()[0];
    let table_file = CorruptibleTable::new(whole, Encoding::Mod3, false);
    let layout = Layout::new(whole, Encoding::Mod3);
    let nearest = Table::open(&table_file.path).unwrap().info().layers[..2].iter().sum();
    check(whole, &table_file.bytes[DATA_AT..][..layout.data_bytes() as usize], nearest);

    // Every cell has a neighbor that is one less modulo 3. One piece takes one byte per state.
    let board = Board::new(4, 1).unwrap();
    let cells = Prefix::whole(board).cells().iter().map(|cell| board.geometry().coordinates(cell));
    let circles: Vec<u8> = cells.map(|(x, y)| (x + 2 * y) % 3).collect();
    check(Prefix::whole(board), &circles, 2);
}
