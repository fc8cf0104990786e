//! Converted tables against built ones.

use std::path::Path;

use sternhalma_builder::{BuilderError, Observer, TableBuilder, TableConverter, Verifier};
use sternhalma_data::table::{Ans, Provenance, Zstd};
use sternhalma_data::{Board, Encoding, Prefix, Table, TableError, TableInfo};
use sternhalma_testutil::write_forged_table;

fn encodings() -> [Encoding; 6] {
    let zstd = |block_states, level| Encoding::Zstd(Zstd::new(block_states, level).unwrap());
    let ans = Encoding::Ans(Ans::new(1024).unwrap());
    [Encoding::Byte, Encoding::Mod3, zstd(64, 1), zstd(4096, 5), Encoding::Zstd(Zstd::default()), ans]
}

fn prefixes() -> Vec<Prefix> {
    let whole = |side, pieces| Prefix::whole(Board::new(side, pieces).unwrap());
    let mut prefixes: Vec<Prefix> = [(3, 8), (4, 1), (4, 2), (4, 3), (5, 5), (7, 6)].map(|(n, k)| whole(n, k)).to_vec();
    prefixes.push(Prefix::new(Board::new(9, 6).unwrap(), 30).unwrap());
    prefixes
}

/// Returns the bytes of a table without the provenance, which comes after the data.
fn bytes_of(path: &Path) -> Vec<u8> {
    let mut bytes = std::fs::read(path).unwrap();
    // The header has the offset and the length of the data.
    let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize;
    let data_end = word(56) + word(64);
    bytes.truncate(data_end);
    bytes
}

#[test]
fn any_conversion_gives_the_bytes_of_a_build() {
    let dir = tempfile::tempdir().unwrap();
    let path = |number: usize| dir.path().join(format!("{number}.sht"));
    let new = dir.path().join("new.sht");
    for prefix in prefixes() {
        let mut built = Vec::new();
        for (number, encoding) in encodings().into_iter().enumerate() {
            TableBuilder::new(prefix).encoding(encoding).threads(2).overwrite(true).build(path(number), &()).unwrap();
            built.push(bytes_of(&path(number)));
        }
        for from in 0..encodings().len() {
            let table = Table::options().verify_blocks(true).open(path(from)).unwrap();
            for (to, encoding) in encodings().into_iter().enumerate() {
                // For tables with several blocks of bytes, one conversion from each encoding is enough.
                if prefix.states() > 1 << 20 && to != (from + 1) % encodings().len() {
                    continue;
                }
                TableConverter::new(&table, encoding)
                    .threads(1 + (from + to) % 3)
                    .overwrite(true)
                    .convert(&new, &())
                    .unwrap();
                assert!(bytes_of(&new) == built[to], "{prefix} from {from} to {to}");
                let converted = Table::open(&new).unwrap();
                let Provenance { conversions, .. } = converted.provenance().clone();
                assert_eq!(conversions[0].checksum, table.checksum_text());
                assert_eq!(conversions.len(), 1);
                assert_eq!(
                    &Provenance { conversions: Vec::new(), ..converted.provenance().clone() },
                    table.provenance()
                );
            }
        }
        Verifier::new(&Table::open(&new).unwrap()).threads(2).prove(&()).unwrap();
    }
}

/// An observer that cancels immediately.
struct Canceller;

impl Observer for Canceller {
    fn cancelled(&self) -> bool {
        true
    }
}

#[test]
fn a_failed_conversion_leaves_no_file() {
    let dir = tempfile::tempdir().unwrap();
    let (path, new) = (dir.path().join("table.sht"), dir.path().join("new.sht"));
    let prefix = Prefix::whole(Board::new(4, 3).unwrap());
    TableBuilder::new(prefix).threads(1).build(&path, &()).unwrap();
    let table = Table::options().verify_blocks(true).open(&path).unwrap();
    let refused = TableConverter::new(&table, Encoding::Mod3).threads(1).overwrite(true).convert(&path, &());
    assert!(matches!(refused, Err(BuilderError::SameFile { .. })));
    let refused = TableConverter::new(&table, Encoding::Mod3).threads(1).overwrite(true).convert(&new, &Canceller);
    assert!(matches!(refused, Err(BuilderError::Cancelled)));

    let mut damaged = std::fs::read(&path).unwrap();
    damaged[4096 + 300] ^= 1;
    let other = dir.path().join("damaged.sht");
    std::fs::write(&other, &damaged).unwrap();
    let refused = TableConverter::new(&Table::options().verify_blocks(true).open(&other).unwrap(), Encoding::Mod3)
        .threads(1)
        .overwrite(true)
        .convert(&new, &());
    assert!(matches!(refused, Err(BuilderError::Table(TableError::Corrupt { .. }))));

    // The checksums match, but the header has other layers than the distances.
    let contents = TableInfo { layers: vec![1, 500, 59], ..table.info().clone() };
    let values: Vec<u8> = (0..560).map(|rank| u8::from(rank > 0)).collect();
    write_forged_table(&other, contents, &values);
    let refused = TableConverter::new(&Table::options().verify_blocks(true).open(&other).unwrap(), Encoding::Mod3)
        .threads(1)
        .overwrite(true)
        .convert(&new, &());
    assert!(matches!(refused, Err(BuilderError::WrongTable { .. })));

    assert!(!new.exists());
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 2);
    TableConverter::new(&table, Encoding::Mod3).threads(1).convert(&new, &()).unwrap();
    assert!(matches!(
        TableConverter::new(&table, Encoding::Byte).threads(1).convert(&new, &()),
        Err(BuilderError::Table(_))
    ));
}
