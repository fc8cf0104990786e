//! Games between people.

use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};

use crate::client::TestServer;

/// Begins a game of two players on a board of 3 by 3, and returns its path and the seats of `x` and `o`.
fn begin(server: &TestServer) -> (String, [Value; 2]) {
    let first = server.post("/api/games", &json!({ "side": 3, "pieces": 1 }));
    assert_eq!(first.status, 201);
    let first = first.json();
    assert_eq!((&first["player"], &first["game"]["joined"]), (&json!("x"), &json!(["x"])));
    let path = format!("/api/games/{}", first["game"]["game"].as_str().unwrap());
    let second = server.post(&format!("{path}/join"), &json!({})).success();
    assert_eq!((&second["player"], &second["game"]["joined"]), (&json!("o"), &json!(["x", "o"])));
    (path, [first["seat"].clone(), second["seat"].clone()])
}

/// The body of a move.
fn mv(seat: &Value, ply: usize, text: &str) -> Value {
    json!({ "seat": seat, "ply": ply, "move": text })
}

/// The events of a game, as they arrive.
struct Events(BufReader<TcpStream>);

impl Events {
    fn of(server: &TestServer, path: &str) -> Events {
        let mut stream = server.connect();
        server.send(&mut stream, "GET", &format!("{path}/events"), &[], b"").unwrap();
        let mut events = Events(BufReader::new(stream));
        let head: Vec<String> = std::iter::from_fn(|| events.line().filter(|line| !line.is_empty())).collect();
        assert!(head[0].starts_with("HTTP/1.1 200") && head.contains(&"x-accel-buffering: no".to_owned()), "{head:?}");
        events
    }

    fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        (self.0.read_line(&mut line).unwrap() > 0).then(|| line.trim_end().to_owned())
    }

    /// Waits for the next state, or the end of the stream.
    fn next(&mut self) -> Option<Value> {
        loop {
            let line = self.line()?;
            if let Some(data) = line.strip_prefix("data: ") {
                return Some(serde_json::from_str(data).unwrap());
            }
        }
    }
}

#[test]
fn two_players_play_a_game_and_others_look_on() {
    let server = TestServer::start();
    let (path, seats) = begin(&server);
    assert_ne!(seats[0], seats[1]);
    let mut events = Events::of(&server, &path);
    assert_eq!(events.next().unwrap()["moves"], json!([]));
    let moves = ["a1-b1", "c3-b3", "b1-b2", "b3-a3", "b2-c2", "a3-a2", "c2-c3"];
    for (ply, text) in moves.into_iter().enumerate() {
        let answer = server.post(&format!("{path}/moves"), &mv(&seats[ply % 2], ply, text)).success();
        assert_eq!(answer["moves"], json!(moves[..=ply]));
        // The other player sees the move at once.
        assert_eq!(events.next().unwrap(), answer);
        assert_eq!(server.value(&path), answer);
    }
    let over = server.value(&path);
    assert_eq!(
        (&over["result"], &over["end"], &over["rules"]),
        (&json!("x"), &json!("rules"), &json!("blocked-goal-2"))
    );
    assert_eq!(over["position"], "2o/3/x2 x 0");
    let late = server.post(&format!("{path}/moves"), &mv(&seats[1], 7, "a2-a1"));
    assert_eq!((late.error(409).as_str(), late.code().as_str()), ("the game is over", "game-over"));
    assert!(server.post(&format!("{path}/resign"), &json!({ "seat": seats[1] })).error(409).contains("over"));
}

#[test]
fn illegal_moves_have_a_reason_and_change_nothing() {
    let server = TestServer::start();
    let (path, seats) = begin(&server);
    let play = |seat: &Value, ply, text: &str| server.post(&format!("{path}/moves"), &mv(seat, ply, text));
    assert!(play(&seats[0], 0, "a1-c3").error(400).contains("`a1-c3` is not legal for x at ply 0"));
    assert_eq!(play(&seats[0], 0, "a1-c3").code(), "illegal-move");
    assert_eq!(play(&json!("0".repeat(32)), 0, "a1-b1").code(), "no-seat");
    assert!(play(&seats[0], 0, "a1-z9").error(400).contains("z9"));
    assert!(play(&seats[0], 0, "pass").error(400).contains("`pass` is not legal"));
    assert!(play(&seats[1], 0, "c3-b3").error(409).contains("it is the turn of x"));
    assert!(play(&seats[0], 2, "a1-b1").error(409).contains("expected a move at ply 0, got one at ply 2"));
    assert_eq!(server.value(&path)["moves"], json!([]));
    // A request whose answer was lost may be repeated, but not with another move.
    let first = play(&seats[0], 0, "a1-b1").success();
    let mut events = Events::of(&server, &path);
    assert_eq!((events.next().as_ref(), play(&seats[0], 0, "a1-b1").success()), (Some(&first), first.clone()));
    let second = play(&seats[1], 1, "c3-b3").success();
    assert_eq!(events.next(), Some(second), "a repeated request changes nothing");
    assert!(play(&seats[0], 0, "a1-a2").error(409).contains("expected a move at ply 2"));
    assert!(play(&seats[1], 0, "a1-b1").error(409).contains("expected a move at ply 2"));
    // The rules are those of the game.
    let sealing = json!({ "side": 7, "pieces": 6, "player": "o" });
    for (rules, status) in [("blocked-goal-2", 400), ("paper", 200)] {
        let mut body = sealing.clone();
        body["rules"] = json!(rules);
        let o = server.post("/api/games", &body).success();
        let path = format!("/api/games/{}", o["game"]["game"].as_str().unwrap());
        let x = server.post(&format!("{path}/join"), &json!({})).success();
        for (ply, (seat, text)) in [(&x, "a3-a4"), (&o, "g5-g4")].into_iter().enumerate() {
            server.post(&format!("{path}/moves"), &mv(&seat["seat"], ply, text)).success();
        }
        let answer = server.post(&format!("{path}/moves"), &mv(&x["seat"], 2, "a1-a3"));
        assert_eq!(answer.status, status, "{}", answer.text());
        if status == 400 {
            assert!(answer.error(400).contains("a1"), "the reason names the sealed cell");
            assert_eq!(answer.code(), "sealed-goal");
        }
    }
}

#[test]
fn only_players_move_and_their_secrets_are_not_shown() {
    let mut server = TestServer::start();
    let (path, seats) = begin(&server);
    let absent = format!("/api/games/{}", "0".repeat(32));
    let other = begin(&server).1;
    for seat in [json!(""), json!("0".repeat(32)), other[0].clone()] {
        for (route, body) in [
            ("moves", mv(&seat, 0, "a1-b1")),
            ("resign", json!({ "seat": seat })),
            ("rematch", json!({ "seat": seat })),
        ] {
            let refusal = server.post(&format!("{path}/{route}"), &body).error(403);
            assert!(refusal.contains("the seat is not one of this game"), "{refusal}");
            server.post(&format!("{absent}/{route}"), &body).error(404);
        }
    }
    assert!(server.post(&format!("{path}/join"), &json!({})).error(409).contains("the game already has two players"));
    server.post(&format!("{absent}/join"), &json!({})).error(404);
    for route in ["", "/events"] {
        server.get(&format!("{absent}{route}")).error(404);
    }
    // Pages of other sites are refused, also before the seat is compared.
    for (name, value) in [("origin", "http://example.com"), ("sec-fetch-site", "cross-site")] {
        let headers = [("content-type", "application/json"), (name, value)];
        let body = mv(&seats[0], 0, "a1-b1").to_string();
        for (method, path) in [
            ("POST", "/api/games".to_owned()),
            ("POST", format!("{path}/moves")),
            ("POST", format!("{path}/join")),
            ("GET", path.clone()),
            ("GET", format!("{path}/events")),
            ("GET", "/api/access".to_owned()),
        ] {
            assert!(server.request(method, &path, &headers, body.as_bytes()).error(403).contains("other web sites"));
        }
    }
    server.post(&format!("{path}/moves"), &mv(&seats[0], 0, "a1-b1")).success();
    let shown = server.get(&path).text().to_owned();
    server.stop();
    let log = server.log.lock().unwrap().join("\n");
    assert!(log.contains("/moves 200"));
    for seat in seats.iter().chain(&other) {
        let seat = seat.as_str().unwrap();
        assert!(!shown.contains(seat) && !log.contains(seat));
    }
}

#[test]
fn players_change_sides_in_a_second_game() {
    let server = TestServer::start();
    let (path, seats) = begin(&server);
    let rematch = |seat: &Value| server.post(&format!("{path}/rematch"), &json!({ "seat": seat }));
    assert!(rematch(&seats[0]).error(409).contains("not over"));
    let mut events = Events::of(&server, &path);
    events.next();
    server.post(&format!("{path}/resign"), &json!({ "seat": seats[0] })).success();
    let over = events.next().unwrap();
    assert_eq!((&over["result"], &over["end"], &over["rematch"]), (&json!("o"), &json!("resigned"), &json!(null)));
    let first = rematch(&seats[1]).success();
    let again = events.next().unwrap();
    assert_eq!((&again["rematch"], &first["player"]), (&first["game"]["game"], &json!("x")));
    let second = rematch(&seats[0]).success();
    assert_eq!((&second["game"], &second["player"], &second["seat"]), (&first["game"], &json!("o"), &seats[0]));
    let next = format!("/api/games/{}", first["game"]["game"].as_str().unwrap());
    server.post(&format!("{next}/moves"), &mv(&seats[1], 0, "a1-b1")).success();
    assert!(server.post(&format!("{next}/moves"), &mv(&seats[1], 1, "c3-b3")).error(409).contains("turn of o"));
}

#[test]
fn the_number_of_games_and_their_time_are_limited() {
    let body = json!({ "side": 3, "pieces": 1 });
    let small = TestServer::with(|options| options.limits.games.games = 1);
    small.post("/api/games", &body).success();
    let full = small.post("/api/games", &body);
    assert!(full.error(503).contains("1 games at most") && full.header("retry-after").is_some());
    let server = TestServer::with(|options| options.limits.games.waiting = Duration::from_secs(2));
    let first = server.post("/api/games", &body).success();
    let path = format!("/api/games/{}", first["game"]["game"].as_str().unwrap());
    let mut events = Events::of(&server, &path);
    events.next();
    std::thread::sleep(Duration::from_millis(2100));
    // A game that nobody has joined is forgotten, and the stream of its changes ends.
    assert!(server.get(&path).error(404).contains("does not have this game"));
    assert_eq!(events.next(), None);
}

#[test]
fn the_end_of_the_server_ends_the_streams() {
    let mut server = TestServer::start();
    let (path, _) = begin(&server);
    let mut events = Events::of(&server, &path);
    events.next();
    server.stop();
    assert_eq!(events.next(), None);
}

#[test]
fn impossible_games_are_refused() {
    let server = TestServer::start();
    for (body, why) in [
        (json!({}), "missing field `side`"),
        (json!({ "side": 2, "pieces": 1 }), "expected a board of 3 to 11"),
        (json!({ "side": 3, "pieces": 5 }), "overlap"),
        (json!({ "side": 3, "pieces": 1, "rules": "none" }), "unknown variant `none`"),
        (json!({ "side": 3, "pieces": 1, "player": "z" }), "`z`"),
        (json!({ "side": 3, "pieces": 1, "seat": "mine" }), "unknown field `seat`"),
    ] {
        let message = server.post("/api/games", &body).error(400);
        assert!(message.contains(why), "{body}: {message}");
    }
}

#[test]
fn links_have_the_token_of_the_server() {
    let server = TestServer::with(|options| options.bind = "0.0.0.0".parse().unwrap());
    let token = server.token.clone().unwrap();
    server.get("/api/access").error(403);
    let bearer = format!("Bearer {token}");
    let access = server.request("GET", "/api/access", &[("authorization", &bearer)], b"").success();
    assert_eq!(access["query"], format!("?token={token}"));
    let pages = access["pages"].as_array().unwrap();
    let port = server.address.port();
    assert!(pages.iter().all(|page| page.as_str().unwrap().ends_with(&format!(":{port}/"))), "{pages:?}");
    assert_eq!(TestServer::start().value("/api/access"), json!({ "pages": [], "query": "" }));
}
