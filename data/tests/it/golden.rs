//! Files of every released format version stay readable.

use std::path::Path;

use sternhalma_data::table::{Ans, Zstd};
use sternhalma_data::{Encoding, Prefix, States, Table};

fn zstd() -> Encoding {
    Encoding::Zstd(Zstd::new(64, 19).unwrap())
}

fn ans() -> Encoding {
    Encoding::Ans(Ans::new(64).unwrap())
}

#[test]
fn files_of_version_1_stay_readable() {
    let files = [
        (Encoding::Byte, 0x16af_f73b_cb1a_4e68),
        (Encoding::Mod3, 0xfe32_223a_3b9f_e77a),
        (zstd(), 0x9ddf_2fa9_f374_6426),
        (ans(), 0x22d4_afec_6008_470a),
    ];
    assert_readable(1, files);
}

#[test]
fn files_of_version_2_stay_readable() {
    let files = [
        (Encoding::Byte, 0x939b_fb95_cfad_252a),
        (Encoding::Mod3, 0xd075_2d33_c363_3fd8),
        (zstd(), 0xeb9c_51cb_ba95_f874),
        (ans(), 0xac06_1a13_e5f2_5b41),
    ];
    assert_readable(2, files);
}

/// Checks the files of a version, given the table checksum for each encoding.
fn assert_readable(version: u32, files: [(Encoding, u64); 4]) {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let expected = std::fs::read_to_string(golden.join("v1-4x4-3-within13.txt")).unwrap();
    let expected: Vec<u8> = expected.trim().bytes().map(|digit| digit - b'0').collect();
    for (encoding, checksum) in files {
        let table = Table::options()
            .verify_blocks(true)
            .open(golden.join(format!("v{version}-4x4-3-within13-{encoding}.sht")))
            .unwrap();
        assert_eq!((table.encoding(), table.checksum()), (encoding, checksum));
        assert_eq!(table.spec().mirrored, version == 2);
        assert_eq!((table.prefix().within(), table.proven_depth()), (13, Some(5)));
        assert_eq!(table.info().layers, [1, 6, 26, 64, 96, 72, 19, 2]);
        assert_eq!(table.provenance().origin.program, "sternhalma 0.1.0");
        assert_eq!(table.distances().unwrap(), expected);
        for (rank, state) in States::all(table.prefix()) {
            let answer = table.probe(state).unwrap();
            assert_eq!(answer.distance().unwrap().0, expected[rank.0 as usize]);
            assert_eq!(answer.is_exact(), Some(expected[rank.0 as usize] <= 5));
        }
        for state in States::all(Prefix::whole(table.prefix().board())).skip(expected.len()).map(|(_, state)| state) {
            assert_eq!(table.probe(state).unwrap().distance(), None);
        }
    }
}
