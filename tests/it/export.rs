//! `export`.

use std::collections::BTreeSet;
use std::fs;

use sternhalma_data::table::write_lex;
use sternhalma_data::{Board, Prefix, Table};

use crate::common::{ENCODINGS, TestEnv, names, set};

#[test]
fn exports_do_not_depend_on_the_encoding() {
    let env = TestEnv::new();
    for (side, pieces, alike) in [(3, 1, true), (3, 8, true), (5, 3, false), (4, 6, false)] {
        let prefix = Prefix::whole(Board::new(side, pieces).unwrap());
        let mut exported = Vec::new();
        for encoding in ENCODINGS {
            let name = env.build(&format!("--side {side} --pieces {pieces} --encoding {encoding}"));
            let file = name.to_str().unwrap();
            let ran = ["export", "export --order colex", "export --order lex"]
                .map(|words| env.run_args(words.split(' ').chain([file])));
            assert!(ran.iter().all(|ran| ran.code == 0 && ran.err.is_empty()), "{ran:?}");
            let [plain, colex, lex] = ran.map(|ran| ran.bytes);
            assert!(plain == colex);

            assert_eq!(env.run(&format!("export {file} -o flat --order lex --force")).success(), "flat\n");
            assert!(fs::read(env.path("flat")).unwrap() == lex);
            // An existing file is replaced.
            assert_eq!(env.run(&format!("export {file} --force --output flat")).success(), "flat\n");
            assert!(fs::read(env.path("flat")).unwrap() == colex);
            assert_eq!(names(&env.work()), set(["flat"]));
            assert!(env.run(&format!("export {file} -o -")).bytes == colex);

            assert_eq!(colex.len() as u64, prefix.states());
            let mut sorted = Vec::new();
            write_lex(prefix.board(), &colex, &mut sorted).unwrap();
            assert!(lex == sorted);
            exported.push((colex, lex));
        }
        assert!(exported[0] == exported[1]);
        assert_eq!(exported[0].0 == exported[0].1, alike);
    }
}

#[test]
fn a_partial_table_is_exported_only_by_rank() {
    let env = TestEnv::new();
    for encoding in ENCODINGS {
        let name = env.build(&format!("--side 4 --pieces 3 --within 13 --encoding {encoding}"));
        let flat = env.run_args(["export".as_ref(), name.as_os_str()]);
        assert_eq!((flat.code, flat.bytes), (0, Table::open(&name).unwrap().distances().unwrap().into_owned()));
        for out in ["-", "flat"] {
            let error = env.run(&format!("export {} --order lex -o {out}", name.display())).refusal();
            assert!(error.contains("--order colex"), "{error}");
        }
        assert_eq!(names(&env.work()), BTreeSet::new());
    }
}
