//! `compare`.

use serde_json::{Value, json};
use sternhalma_data::Table;
use sternhalma_testutil::write_forged_table;

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
    write_forged_table(&env.path("forged.sht"), table.info().clone(), &data);
    let ran = env.run("compare 5x5-3 forged.sht --json");
    let found: Value = serde_json::from_slice(&ran.bytes).unwrap();
    assert_eq!((&found["differ"], &found["impossible"], &found["proven_differ"]), (&json!(2), &json!(2), &json!(2)));
    let error = ran.failure();
    assert!(error.contains("2 states differ in a way that correct tables cannot"), "{error}");
    let text = env.run("compare 5x5-3 forged.sht");
    assert!(text.out().contains("2 of them differ, which is impossible"), "{text:?}");
    assert_eq!(text.code, 2);
}
