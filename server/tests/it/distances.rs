//! Batches of distances, against a search by brute force.

use serde_json::{Value, json};
use sternhalma_data::{Rank, Side};

use crate::client::{Answer, TestServer, references, table_names};

fn lines(server: &TestServer, table: &str, body: &[u8]) -> Answer {
    let path = format!("/api/tables/{table}/distances?player=o");
    server.request("POST", &path, &[("content-type", "application/x-ndjson")], body)
}

#[test]
fn batches_are_answered_in_their_order() {
    let server = TestServer::start();
    for (reference, partial) in references().iter().zip([false, true]) {
        let board = reference.prefix.board();
        // Every state, in an order without pattern, some of them twice.
        let ranks: Vec<u64> = (0..900).map(|index| index * 191 % board.states()).collect();
        let expected: Vec<Value> =
            ranks.iter().map(|&rank| json!(reference.distances.get(rank as usize).copied())).collect();
        for table in table_names(partial) {
            let path = format!("/api/tables/{table}/distances");
            let answer = server.post(&path, &json!({ "ranks": ranks })).success();
            assert_eq!(answer, json!({ "distances": expected }), "{table}");
            for side in Side::BOTH {
                let text = |&rank: &u64| board.state_text(Rank(rank).state(3), side);
                let states: Vec<String> = ranks.iter().map(text).collect();
                let body = json!({ "player": side.to_string(), "states": states });
                assert_eq!(server.post(&path, &body).success(), json!({ "distances": expected }), "{table}");
            }
            let body: String = ranks.iter().map(|rank| format!("{rank}\n")).collect();
            let answer = lines(&server, &table, body.as_bytes());
            assert_eq!(answer.header("content-type"), Some("application/x-ndjson"));
            let found: Vec<Value> = answer.text().lines().map(|line| line.parse().unwrap()).collect();
            assert_eq!(found, expected);
        }
    }
}

#[test]
fn invalid_lines_are_answered_in_their_place() {
    let server = TestServer::start();
    let answer = lines(&server, "byte", b"0\n\"a1,b1\"\n\"startpos\"\n\n560\n-1\n\"\xff\"\n[1]\n1");
    let found: Vec<Value> = answer.text().lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(found.len(), 9);
    assert_eq!((&found[0], &found[2]), (&json!(0), &json!(references()[0].distances[559])));
    assert_eq!(found[8], json!(references()[0].distances[1]));
    for (line, why) in [
        (1, "expected 3 pieces"),
        (3, "expected a rank"),
        (4, "`560` is not a rank"),
        (5, "expected a rank"),
        (6, "expected a rank"),
        (7, "expected a rank"),
    ] {
        assert!(found[line]["error"].as_str().unwrap().starts_with(why), "{}", found[line]);
    }
    assert_eq!(lines(&server, "byte", b"").text(), "");
}

#[test]
fn batches_have_limits() {
    let server = TestServer::start();
    let path = "/api/tables/byte/distances";
    let most = server.post(path, &json!({ "ranks": vec![1; 100_000] })).success();
    assert_eq!(most["distances"].as_array().unwrap().len(), 100_000);
    let many = json!({ "ranks": vec![1; 100_001] });
    assert!(server.post(path, &many).error(413).contains("at most 100000 states"));
    assert_eq!(
        lines(&server, "byte", &b"1\n".repeat(100_000)).text(),
        "1\n".repeat(100_000).replace('1', &most["distances"][0].to_string())
    );
    lines(&server, "byte", &b"1\n".repeat(100_001)).error(413);
    for body in [
        json!({}),
        json!({ "ranks": [1], "states": ["startpos"] }),
        json!({ "ranks": [560] }),
        json!({ "ranks": [-1] }),
        json!({ "ranks": [1.5] }),
        json!({ "ranks": ["1"] }),
        json!({ "states": [1] }),
        json!({ "states": ["a1"] }),
        json!({ "ranks": [1], "player": "z" }),
        json!({ "ranks": [1], "other": 1 }),
    ] {
        assert_eq!(server.post(path, &body).status, 400, "{body}");
    }
    assert_eq!(server.post(path, &json!({ "ranks": [] })).success(), json!({ "distances": [] }));
}
