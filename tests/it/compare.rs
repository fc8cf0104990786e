//! `compare`.

use serde_json::{Value, json};
use sternhalma_data::Table;
use sternhalma_data::table::checksum;
use sternhalma_data::table::write::NewTable;

use crate::common::TestEnv;

#[test]
fn a_partial_table_is_compared_with_the_complete_one() {
    let env = TestEnv::new();
    env.build("--side 5 --pieces 3");
    env.build("--side 5 --pieces 3 --within 12 --encoding mod3");
    let found = env.json("compare 5x5-3-within12-mod3 5x5-3 --json");
    assert_eq!((&found["states"], &found["within"]), (&json!(220), &json!([12, 25])));
    assert_eq!((&found["proven_differ"], &found["impossible"]), (&json!(0), &json!(0)));
    let rows = found["by_distance"].as_array().unwrap();
    let sum = |key: &str| rows.iter().map(|row| row[key].as_u64().unwrap()).sum::<u64>();
    assert_eq!((sum("states"), json!(sum("differ"))), (220, found["differ"].clone()));
    let mut turned = env.json("compare 5x5-3 5x5-3-within12-mod3 --json --threads 1");
    assert_eq!(turned["within"], json!([25, 12]));
    ["a", "b", "within"].into_iter().for_each(|key| turned[key] = found[key].clone());
    assert_eq!(turned, found);
    let text = env.run("compare 5x5-3-within12-mod3 5x5-3").success();
    assert!(text.contains("compared  220 states") && text.contains("none of them differs"), "{text}");
    let same = env.run("compare 5x5-3 5x5-3").success();
    assert!(same.contains("differ    no state") && same.contains("all distances"), "{same}");

    env.build("--side 5 --pieces 2");
    let error = env.run("compare 5x5-3 5x5-2").refusal();
    assert!(error.contains("5x5, 3 pieces") && error.contains("5x5, 2 pieces"), "{error}");
    assert!(env.run("compare 5x5-3 5x5-4").refusal().contains("sternhalma build"));
}

#[test]
fn tables_that_contradict_each_other_end_with_code_2() {
    let env = TestEnv::new();
    let path = env.build("--side 5 --pieces 3");
    let table = Table::open(&path).unwrap();
    let mut data = table.distances().unwrap().into_owned();
    data.swap(1, 2299);
    let writer = NewTable::create(&env.path("forged.sht"), false).unwrap();
    let mut writer = writer.begin(table.info().clone()).unwrap();
    for number in 0..writer.layout().blocks() {
        let env = writer.layout().block(number).bytes;
        let bytes = &data[env.start as usize..env.end as usize];
        writer.write_block(bytes, checksum(bytes)).unwrap();
    }
    writer.finish(table.provenance()).unwrap();
    let ran = env.run("compare 5x5-3 forged.sht --json");
    let found: Value = serde_json::from_slice(&ran.bytes).unwrap();
    assert_eq!((&found["differ"], &found["impossible"], &found["proven_differ"]), (&json!(2), &json!(2), &json!(2)));
    let error = ran.failure();
    assert!(error.contains("2 states differ in a way that correct tables cannot"), "{error}");
    let text = env.run("compare 5x5-3 forged.sht");
    assert!(text.out().contains("2 of them differ, which is impossible"), "{text:?}");
    assert_eq!(text.code, 2);
}
