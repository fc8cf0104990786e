//! Searches as server-sent events.

use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::client::{TestServer, encoded};

const START: &str = "2oo/3o/x3/xx2 x 0";

/// A search without an end of its own.
const ENDLESS: &str = "/api/analysis?position=startpos&player=base0&seconds=3000";

/// Returns the events of a finished search: their names and data.
fn events(text: &str) -> Vec<(String, Value)> {
    let event = |block: &str| {
        let field = |name: &str| block.lines().find_map(|line| Some(line.strip_prefix(name)?.trim().to_owned()));
        Some((field("event:")?, serde_json::from_str(&field("data:")?).unwrap()))
    };
    text.split("\n\n").filter_map(event).collect()
}

fn search(server: &TestServer, query: &str) -> Vec<(String, Value)> {
    let answer = server.get(&format!("/api/analysis?{query}"));
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("text/event-stream")), "{}", answer.text());
    events(answer.text())
}

/// Starts a search and waits for its first event.
fn started(server: &TestServer, path: &str) -> BufReader<TcpStream> {
    let mut stream = server.connect();
    server.send(&mut stream, "GET", path, &[], b"").unwrap();
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    while !line.starts_with("event:") {
        line.clear();
        assert_ne!(reader.read_line(&mut line).unwrap(), 0, "the search has ended");
    }
    reader
}

#[test]
fn a_search_reports_its_progress_and_its_move() {
    let server = TestServer::start();
    let found = search(&server, &format!("position={}&depth=5", encoded(START)));
    let (best, infos) = found.split_last().unwrap();
    assert!(infos.len() >= 3 && infos.iter().all(|(name, _)| name == "info"), "{found:?}");
    let depths: Vec<u64> = infos.iter().map(|(_, info)| info["depth"].as_u64().unwrap()).collect();
    assert!(depths.is_sorted() && depths.last() == Some(&5), "{depths:?}");
    for (_, info) in infos {
        assert_eq!((&info["line"], info.as_object().unwrap().len()), (&1.into(), 7));
        assert!(info["seconds"].is_f64() && info["playouts"] == 0 && info["value"]["kind"] == "lead", "{info}");
    }
    let (name, best) = best;
    assert_eq!((&**name, &best["move"], &best["depth"]), ("best", &best["pv"][0], &5.into()));
    let path = best["path"].as_array().unwrap();
    let ends = format!("{}-{}", path[0].as_str().unwrap(), path.last().unwrap().as_str().unwrap());
    assert_eq!(best["move"], ends);
}

#[test]
fn every_player_searches_and_lines_are_numbered() {
    let server = TestServer::start();
    let players = server.value("/api/players");
    for player in players["players"].as_array().unwrap() {
        let name = player["name"].as_str().unwrap();
        let found = search(&server, &format!("position={}&player={name}&nodes=2000", encoded(START)));
        assert_eq!(found.last().unwrap().0, "best", "{name}: {found:?}");
    }
    let found = search(&server, &format!("position={}&lines=3&nodes=2000", encoded(START)));
    let mut lines: Vec<u64> = found.iter().map(|(_, row)| row["line"].as_u64().unwrap()).collect();
    lines.dedup();
    assert_eq!(lines, [1, 2, 3, 1]);
    let moved = search(&server, &format!("position={}&moves=a1-a3,d4-d2&player=greedy", encoded(START)));
    assert_eq!(moved.last().unwrap().0, "best");
    let won = search(&server, &format!("position={}&nodes=100", encoded("2xx/2x1/4/ooo1 x 20")));
    assert_eq!(won.last().unwrap().1["value"], serde_json::json!({ "kind": "won", "value": 1 }));
}

#[test]
fn a_search_follows_the_game() {
    let server = TestServer::start();
    let value = |position: &str, moves: &str| {
        let query = format!("position={}&moves={moves}&rules=blocked-goal&nodes=5000", encoded(position));
        search(&server, &query).pop().unwrap().1["value"].clone()
    };
    // `d1-d3` makes a position occur for the third time. Without the game it wins.
    let moves = "a1-a2,d3-d1,a2-a1,d1-d3,a1-a2,d3-d1,a2-a1";
    assert_eq!(value("2x1/3x/3x/ooo1 o 10", moves), json!({ "kind": "lead", "value": 0.0 }));
    assert_eq!(value("2x1/4/3x/ooox x 17", ""), json!({ "kind": "lead", "value": 0.5 }));
    let over = format!("position={}&moves={moves},d1-d3&rules=blocked-goal", encoded("2x1/3x/3x/ooo1 o 10"));
    let answer = server.get(&format!("/api/analysis?{over}"));
    assert_eq!((answer.status, answer.text().contains("the game is over")), (400, true), "{}", answer.text());
}

#[test]
fn invalid_searches_are_refused() {
    let server = TestServer::start();
    for (query, why) in [
        ("", "missing field `position`"),
        ("position=startpos&player=nobody", "nobody"),
        ("position=startpos&player=base0,c=x", "base0"),
        ("position=startpos&player=sternhalma,evaluation=network,weights=/dev/zero", "does not read"),
        ("position=startpos&nodes=0", "`nodes` greater than 0"),
        ("position=startpos&seconds=0", "`seconds` greater than 0"),
        ("position=startpos&seconds=NaN", "`seconds` greater than 0"),
        ("position=startpos&depth=-1", "depth"),
        ("position=startpos&lines=0", "1 to 100 lines"),
        ("position=startpos&lines=101", "1 to 100 lines"),
        ("position=startpos&moves=a1-i9", "not legal"),
        ("position=2xx/2ox/4/oo2", "the game is over"),
        ("position=startpos&threads=9", "unknown field"),
    ] {
        let message = server.get(&format!("/api/analysis?{query}")).error(400);
        assert!(message.contains(why), "{query}: {message}");
    }
}

#[test]
fn the_number_of_searches_is_limited_and_clients_that_leave_free_their_place() {
    let server = TestServer::start();
    let running = [started(&server, ENDLESS), started(&server, ENDLESS)];
    let refused = server.get(ENDLESS);
    assert!(refused.error(503).contains("too many searches") && refused.header("retry-after") == Some("1"));
    // The moves of rulesheets have the same places.
    let refused = server.post("/api/rulesheets/tic-tac-toe/move", &json!({ "role": "white" }));
    assert!(refused.error(503).contains("too many searches") && refused.header("retry-after") == Some("1"));
    // Other requests are answered meanwhile.
    assert_eq!(server.get("/api/tables/byte/state?state=%239").status, 200);
    drop(running);
    let began = Instant::now();
    loop {
        let answer = server.get("/api/analysis?position=startpos&player=greedy");
        if answer.status == 200 {
            break;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "the searches do not stop");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_search_ends_with_the_server_and_still_has_a_move() {
    let mut server = TestServer::start();
    let running = started(&server, ENDLESS);
    server.stop();
    let rest: Vec<String> = running.lines().map_while(Result::ok).collect();
    assert!(rest.iter().any(|line| line == "event: best"), "{rest:?}");
}
