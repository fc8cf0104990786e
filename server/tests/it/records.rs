//! Records of games as text and as JSON.

use serde_json::{Value, json};

use crate::client::TestServer;

const RECORD: &str = r#"[Event "A \"quick\" game"]
[Result "*"]
[RuleSet "diamond"]
[Size "5"]
[Pieces "1"]
[PlyLimit "100"]

{one piece each} 1. a1-b1 <score=-0.5 depth=3 nodes=120 time=0.042 clock=1:30>
{a first step} (1. a1-a2 {or this} 1... e5-e4 (1... e5-d5 {sideways}) 2. a2-a3)
1... e5-d5 <score=-#12> 2. b1-c1 *
"#;

fn parsed(server: &TestServer, text: &str) -> Value {
    server.post("/api/records/parse", &json!({ "text": text })).success()
}

#[test]
fn records_are_the_same_as_text_and_as_json() {
    let server = TestServer::start();
    let record = parsed(&server, RECORD);
    assert_eq!(record["tags"], json!([["Event", "A \"quick\" game"]]));
    assert_eq!(
        (&record["position"], &record["ply_limit"], &record["result"]),
        (&json!("4o/5/5/5/x4 x 0"), &json!(100), &json!("*"))
    );
    assert_eq!(record["comments"], json!(["one piece each"]));
    let variation = json!({ "game": [
        { "move": "a1-a2", "comments": ["or this"] },
        { "move": "e5-e4", "variations": [{ "game": [{ "move": "e5-d5", "comments": ["sideways"] }] }] },
        { "move": "a2-a3" },
    ] });
    assert_eq!(
        record["game"],
        json!([
            {
                "move": "a1-b1", "value": { "kind": "lead", "value": -0.5 }, "depth": 3, "nodes": 120, "seconds": 0.042,
                "data": [["clock", "1:30"]], "comments": ["a first step"], "variations": [variation],
            },
            { "move": "e5-d5", "value": { "kind": "lost", "value": 12 } },
            { "move": "b1-c1" },
        ])
    );
    let printed = server.post("/api/records/print", &record).success();
    assert_eq!(printed, json!({ "text": RECORD }));
}

#[test]
fn a_record_with_a_sealing_move_has_the_code_of_the_move() {
    let server = TestServer::start();
    let text = "[Rules \"blocked-goal-2\"]\n[Size \"7\"]\n[Pieces \"6\"]\n\n1. a3-a4 g5-g4 2. a1-a3 *";
    let answer = server.post("/api/records/parse", &json!({ "text": text }));
    assert!(answer.error(400).starts_with("line 5, column 19: `a1-a3` is not legal"), "{}", answer.text());
    assert_eq!(answer.code(), "sealed-goal");
    let other = server.post("/api/records/parse", &json!({ "text": text.replace("a1-a3", "a1-a7") }));
    assert_eq!((other.status, other.code().as_str()), (400, "illegal-move"));
}

#[test]
fn short_records_have_defaults() {
    let server = TestServer::start();
    let record = json!({ "position": "4o/5/5/5/x4 x 0", "game": [] });
    let text = server.post("/api/records/print", &record).success()["text"].as_str().unwrap().to_owned();
    let full = parsed(&server, &text);
    assert_eq!((&full["ply_limit"], &full["result"], &full["tags"]), (&json!(1000), &json!("*"), &json!([])));
}

#[test]
fn invalid_records_are_refused() {
    let server = TestServer::start();
    let message = server.post("/api/records/parse", &json!({ "text": RECORD.replace("b1-c1", "b1-e5") })).error(400);
    assert!(message.contains("line 10") && message.contains("not legal"), "{message}");
    let with = |key: &str, value: Value| {
        let mut record = parsed(&server, RECORD);
        record[key] = value;
        record
    };
    let first = |key: &str, value: Value| {
        let mut record = parsed(&server, RECORD);
        record["game"][0][key] = value;
        record
    };
    let mut deep = json!({ "move": "a1-b1" });
    for _ in 0..34 {
        deep = json!({ "move": "a1-b1", "variations": [{ "game": [deep] }] });
    }
    for (record, why) in [
        (with("result", json!("2-0")), "expected the result"),
        (with("result", json!("1/2")), "expected the result"),
        (with("position", json!("5/5/5/5/x4 x 0")), "expected armies of the same size"),
        (with("position", json!("startpos")), "is not a position"),
        (with("tags", json!([["Size", "5"]])), "not the name of a free tag"),
        (with("tags", json!([["a b", "5"]])), "not the name of a free tag"),
        (with("tags", json!([["A", "5"], ["A", "6"]])), "`A`"),
        (with("other", json!(1)), "unknown field `other`"),
        (first("move", json!("a1-c1")), "not legal"),
        (first("move", json!("a1")), "is not a move"),
        (first("seconds", json!(-1)), "expected seconds"),
        (first("seconds", json!(1e300)), "expected seconds"),
        (first("data", json!([["clock", "1 30"]])), "expected `key=value`"),
        (first("data", json!([["clock", "1> {x} <a=1"]])), "`data`"),
        (first("data", json!([["time", "1"]])), ""),
        (first("variations", json!([{ "game": [] }])), ""),
        (first("value", json!({ "kind": "best", "value": 1 })), "unknown variant"),
        (with("game", json!([deep])), "recursion limit"),
    ] {
        let message = server.post("/api/records/print", &record).error(400);
        assert!(message.contains(why), "{why}: {message}");
    }
}

/// Returns the data of a page.
fn page_data(page: &str) -> Value {
    let (_, rest) = page.split_once("<script type=\"application/json\" id=\"data\">").unwrap();
    serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
}

#[test]
fn pages_have_the_record_and_the_searches() {
    let server = TestServer::start();
    let record = parsed(&server, RECORD);
    let info = json!({ "line": 1, "depth": 2, "nodes": 3, "playouts": 0, "seconds": 0.5, "value": null, "pv": [] });
    let searches = json!([{ "node": 0, "info": info }]);
    let body = json!({ "record": record, "searches": searches });
    let answer = server.post("/api/records/page", &body).success();
    let data = page_data(answer["text"].as_str().unwrap());
    assert_eq!((&data["record"], &data["searches"], &data["text"]), (&record, &searches, &json!(RECORD)));
    // The start, three moves, and the variations: the moves of both are five.
    assert_eq!(data["positions"].as_array().unwrap().len(), 8);
    let error = server.post("/api/records/page", &json!({ "record": record, "x": 1 })).error(400);
    assert!(error.contains("unknown field `x`"), "{error}");
}
