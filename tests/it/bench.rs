//! The node count of `bench`, which identifies the search.

use serde_json::Value;

use crate::common::TestEnv;

/// The number of nodes of `sternhalma bench`.
///
/// Every change of the search, its evaluation, its move order or the rules changes it, and a change that should only
/// make the program faster or clearer does not. After an intended change, replace the number by the one that this test
/// prints, and state the old and the new number in the message of the commit.
const NODES: u64 = 61_235;

#[test]
fn the_node_count_of_the_bench_changes_only_with_the_search() {
    let env = TestEnv::new();
    let report = env.json("bench --json");
    assert_eq!(report["nodes"], NODES, "the search has changed");
    let rows = report["positions"].as_array().unwrap();
    let counts: Vec<u64> = rows.iter().map(|row| row["nodes"].as_u64().unwrap()).collect();
    assert_eq!((counts.len(), counts.iter().sum::<u64>()), (20, NODES));
}

#[test]
fn the_node_count_of_the_bench_does_not_depend_on_the_threads_or_the_tables() {
    let env = TestEnv::new();
    let counts = |words: &str| {
        let mut report = env.json(&format!("bench --depth 5 --json {words}"));
        report["positions"].take()
    };
    let alone = counts("");
    assert_eq!(alone.as_array().map(Vec::len), Some(20));
    assert_eq!(counts("--threads 4"), alone);
    env.build("--pieces 6 --within 30");
    assert_eq!(counts(""), alone);
    let text = env.run("bench --depth 5 --divide").success();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 21, "{text}");
    for (line, row) in lines.iter().zip(alone.as_array().unwrap()) {
        let field = |key: &str| row[key].as_str().map_or_else(|| row[key].to_string(), str::to_owned);
        assert_eq!(*line, format!("{}  {}", field("position"), field("nodes")));
    }
    let total: u64 = alone.as_array().unwrap().iter().filter_map(|row: &Value| row["nodes"].as_u64()).sum();
    assert!(lines[20].starts_with(&format!("depth 5: {total} nodes in ")), "{text}");
}
