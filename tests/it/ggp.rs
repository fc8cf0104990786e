//! `ggp-player` and `ggp-match`: matches between processes, and players and
//! managers that misbehave.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::common::{PATIENCE, rulesheet, signal};

fn game(name: &str) -> PathBuf {
    rulesheet(name).into()
}

/// Returns the rules of a game on one line, as in a message.
fn rules(name: &str) -> String {
    let text = std::fs::read_to_string(game(name)).unwrap();
    text.lines().filter(|line| !line.starts_with(';')).collect::<Vec<_>>().join(" ")
}

fn sternhalma(command: &str) -> Command {
    let mut process = Command::new(env!("CARGO_BIN_EXE_sternhalma"));
    process.arg(command).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    process
}

/// A player process, and the lines of its log.
struct Player {
    child: Child,
    address: String,
    log: Receiver<String>,
}

impl Player {
    fn new(options: &str) -> Player {
        let mut command = sternhalma("ggp-player");
        command.args(["--port", "0", "--host", "127.0.0.1"]).args(options.split_whitespace());
        let mut child = command.spawn().unwrap();
        let mut address = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut address).unwrap();
        let (sender, log) = channel();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        thread::spawn(move || stderr.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
        Player { child, address: address.trim_end().to_string(), log }
    }

    /// Waits for a line of the log with these words.
    fn await_line(&self, words: &str) {
        let mut seen = Vec::new();
        while let Ok(line) = self.log.recv_timeout(PATIENCE) {
            assert!(!line.contains("panicked"), "{line}");
            if line.contains(words) {
                return;
            }
            seen.push(line);
        }
        panic!("no line with `{words}`: {seen:?}");
    }

    /// Sends bytes and returns the reply.
    fn send(&self, bytes: &[u8]) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        // A player that has refused the request need not read the rest.
        let _ = stream.write_all(bytes);
        let mut reply = Vec::new();
        let _ = stream.read_to_end(&mut reply);
        String::from_utf8(reply).unwrap()
    }

    /// Sends a message as public managers do, and returns the body of the reply.
    fn say(&self, message: &str) -> String {
        let reply = self.send(
            format!(
                "POST / HTTP/1.0\r\nAccept: text/delim\r\nSender: GAMEMASTER\r\nReceiver: x\r\n\
                 Content-Type: text/acl\r\nContent-Length: {}\r\n\r\n{message}",
                message.len()
            )
            .as_bytes(),
        );
        let (head, body) = reply.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{reply:?}"));
        assert!(head.starts_with("HTTP/1.0 200 OK\r\n"), "{head}");
        body.to_string()
    }

    fn is_free(&self) {
        assert_eq!(self.say("( INFO )"), "( ( name sternhalma ) ( status available ) )");
    }
}

impl Drop for Player {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Plays a match that ends with exit code 0, and returns its record.
fn record(name: &str, players: &[&str], options: &str) -> Value {
    record_with_code(0, name, players, options)
}

/// Plays a match that ends with an exit code, and returns its record.
fn record_with_code(code: i32, name: &str, players: &[&str], options: &str) -> Value {
    let mut command = sternhalma("ggp-match");
    let output = command.arg(game(name)).args(players).args(options.split_whitespace()).output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "{err}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn kinds(record: &Value) -> Vec<&str> {
    record["errors"].as_array().unwrap().iter().map(|error| error["kind"].as_str().unwrap()).collect()
}

#[test]
fn whole_matches_are_played() {
    let clocks = "--start-clock 1 --play-clock 1 --seed 3";
    let quick = "--margin 0.5 --policy";
    for (name, policies, options) in [
        ("tic-tac-toe", &["uct", "random"][..], "--scramble"),
        ("matching-pennies", &["uct,c=0.7 --ponder", "uct"], ""),
        ("odd-one-out", &["uct", "random", "uct --ponder"], "--scramble"),
    ] {
        let players: Vec<Player> = policies.iter().map(|policy| Player::new(&format!("{quick} {policy}"))).collect();
        let addresses: Vec<&str> = players.iter().map(|player| player.address.as_str()).collect();
        let record = record(name, &addresses, &format!("{clocks} {options} --id {name}"));
        assert_eq!(record["errors"], Value::Array(vec![]), "{record}");
        assert_eq!(
            (&record["ended"], &record["game"], &record["match"]),
            (&"terminal".into(), &name.into(), &name.into())
        );
        assert_eq!(record["goals"].as_array().unwrap().len(), players.len());
        assert_eq!(record["scrambled"], options == "--scramble");
        let steps = record["steps"].as_array().unwrap();
        if name != "tic-tac-toe" {
            assert_eq!(steps.len(), 2);
            assert_eq!(steps[0]["moves"].as_array().unwrap().len(), players.len());
        } else {
            // The player that searches moves first, and does not lose to the random player.
            assert!(record["goals"][0].as_u64().unwrap() >= 50, "{record}");
        }
        for player in &players {
            player.await_line("over, goals");
            player.is_free();
        }
    }
}

#[test]
fn the_third_game_is_valid() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sternhalma"));
    let output = command.args(["gdl", "check"]).arg(game("odd-one-out")).output().unwrap();
    assert!(output.status.success());
    assert!(String::from_utf8(output.stdout).unwrap().ends_with("valid, 0 errors, 0 warnings\n"));
}

/// The reaction of a misbehaving player to a request that it has read.
type Behaviour = fn(&mut TcpStream);

/// Starts a misbehaving player, and returns its address.
fn bad_player(behave: Behaviour) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            thread::spawn(move || {
                read_request(&mut stream);
                behave(&mut stream);
            });
        }
    });
    address
}

fn read_request(stream: &mut TcpStream) {
    let mut reader = BufReader::new(stream);
    let (mut line, mut length) = (String::new(), 0);
    while reader.read_line(&mut line).unwrap_or(0) > 2 {
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        line.clear();
    }
    let _ = reader.read_exact(&mut vec![0; length]);
}

fn reply(stream: &mut TcpStream, body: &str) {
    let head = format!("HTTP/1.0 200 OK\r\nContent-type: text/acl\r\nContent-Length: {}\r\n\r\n", body.len());
    let _ = stream.write_all((head + body).as_bytes());
}

fn wait_for_the_end(stream: &mut TcpStream) {
    let _ = stream.read(&mut [0]);
}

#[test]
fn players_that_misbehave_are_played_for() {
    let behaviours: [(&str, Behaviour); 12] = [
        ("illegal", |stream| reply(stream, "(take 11)")),
        ("unreadable", |stream| reply(stream, "(take")),
        ("unreadable", |stream| reply(stream, "")),
        ("busy", |stream| reply(stream, "busy")),
        ("http", |stream| _ = stream.write_all(b"\x00\xffnot HTTP at all\r\n\r\n")),
        ("http", |stream| _ = stream.write_all(b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n")),
        ("closed", |stream| _ = stream.shutdown(Shutdown::Both)),
        ("closed", |stream| _ = stream.write_all(b"HTTP/1.0 200 OK\r\nContent-Length: 90\r\n\r\n(take")),
        ("timeout", wait_for_the_end),
        ("timeout", |stream| {
            let _ = stream.write_all(b"HTTP/1.0 200 OK\r\nContent-Length: 99999999999\r\n\r\n(take 1)");
            wait_for_the_end(stream);
        }),
        ("timeout", |stream| {
            while stream.write_all(b"H").is_ok() {
                thread::sleep(Duration::from_millis(100));
            }
        }),
        ("too_long", |stream| {
            let _ = stream.write_all(b"HTTP/1.0 200 OK\r\n\r\n");
            while stream.write_all(&[b' '; 4096]).is_ok() {}
        }),
    ];
    let matches: Vec<_> = behaviours
        .into_iter()
        .map(|(kind, behave)| {
            thread::spawn(move || {
                let [first, second] = [bad_player(behave), bad_player(behave)];
                let clocks = "--start-clock 0.3 --play-clock 0.3 --steps 2 --seed 5";
                let record = record_with_code(2, "subtraction", &[&first, &second], clocks);
                assert_eq!(record["ended"], "steps");
                let steps = record["errors"].as_array().unwrap().iter().filter(|error| !error["step"].is_null());
                let found: Vec<_> = steps.map(|error| error["kind"].as_str().unwrap()).collect();
                assert_eq!(found, [kind; 4], "{record}");
                assert!(kinds(&record).len() >= 6, "none is ready: {record}");
                record["steps"].as_array().unwrap().iter().map(|step| step["moves"].clone()).collect::<Vec<_>>()
            })
        })
        .collect();
    let moves: Vec<Vec<Value>> = matches.into_iter().map(|thread| thread.join().unwrap()).collect();
    // The moves made for players depend only on the seed.
    assert!(moves.iter().all(|these| these.len() == 2 && *these == moves[0]), "{moves:?}");
}

#[test]
fn players_that_are_not_there_are_played_for() {
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let there = Player::new("--policy random");
    let clocks = "--start-clock 0.5 --play-clock 0.5";
    let record = record_with_code(2, "subtraction", &[&there.address, &gone], clocks);
    assert_eq!(record["ended"], "terminal");
    assert!(kinds(&record).iter().all(|kind| *kind == "unreachable"));
    assert_eq!(record["errors"].as_array().unwrap().len(), record["steps"].as_array().unwrap().len() + 2);
    assert_eq!(record["errors"][1]["role"], "second");
}

#[test]
fn a_match_that_cannot_be_held_is_a_usage_error() {
    let refused = |args: &[&str]| {
        let output = sternhalma("ggp-match").arg(game("odd-one-out")).args(args).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(output.stdout.is_empty());
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(refused(&["localhost:1", "localhost:2"]).contains("3 roles (ann, bob, cid) and there are 2 players"));
    assert!(
        refused(&["localhost:1", "localhost:2", "LOCALHOST:1"])
            .contains("ann and cid have the same player LOCALHOST:1, which can play only one role of a match")
    );
    assert!(refused(&["localhost"]).contains("expected HOST:PORT"));
    assert!(refused(&["localhost:0"]).contains("expected HOST:PORT"));
    assert!(refused(&["h:1", "--play-clock=-1"]).contains("expected a number from 0 to 1000000"));
    assert!(refused(&[]).contains("required"));
}

#[test]
fn an_interrupted_match_is_aborted_and_recorded() {
    let player = Player::new("--policy random");
    let silent = bad_player(wait_for_the_end);
    let mut command = sternhalma("ggp-match");
    command.arg(game("subtraction")).args([&player.address, &silent, "--start-clock", "1", "--play-clock", "100"]);
    let child = command.spawn().unwrap();
    player.await_line("played (take");
    assert!(signal("-INT", child.id()));
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let record: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(record["ended"], "interrupted");
    assert!(kinds(&record).contains(&"interrupted"), "{record}");
    player.await_line("aborted");
    player.is_free();
}

#[test]
fn a_player_answers_all_ways_of_asking() {
    let player = Player::new("");
    let info = "( ( name sternhalma ) ( status available ) )";
    for request in [
        "POST / HTTP/1.0\r\nContent-Length: 8\r\n\r\n( INFO )",
        "POST / HTTP/1.1\r\nHost: x\r\ncontent-length: 6\r\n\r\n(info)",
        "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n(IN\r\n3\r\nFO)\r\n0\r\n\r\n",
        "POST / HTTP/1.0\nContent-Length: 6\n\n(INFO)",
        "GET /%28%20INFO%20%29 HTTP/1.0\r\n\r\n",
        "GET /(+INFO+) HTTP/1.1\r\nHost: x\r\n\r\n",
    ] {
        let reply = player.send(request.as_bytes());
        let version = if request.contains("HTTP/1.1") { "HTTP/1.1" } else { "HTTP/1.0" };
        assert!(reply.starts_with(&format!("{version} 200 OK\r\n")), "{request}: {reply}");
        assert!(reply.contains("Content-Type: text/acl\r\n"), "{reply}");
        assert!(reply.contains("Access-Control-Allow-Origin: *\r\n"), "{reply}");
        assert!(reply.contains(&format!("Content-Length: {}\r\n", info.len())), "{reply}");
        assert!(reply.ends_with(&format!("\r\n\r\n{info}")), "{reply}");
    }
    let reply = player.send(b"OPTIONS / HTTP/1.1\r\nHost: x\r\nOrigin: y\r\n\r\n");
    assert!(reply.starts_with("HTTP/1.1 200 OK\r\n"), "{reply}");
    assert!(reply.contains("Access-Control-Allow-Methods: POST, GET, OPTIONS\r\n"), "{reply}");
    // A client that has closed its end gets an answer too.
    let mut stream = TcpStream::connect(&player.address).unwrap();
    stream.write_all(b"POST / HTTP/1.0\r\nContent-Length: 8\r\n\r\n( INFO )").unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).unwrap();
    assert!(reply.ends_with(info), "{reply}");
}

#[test]
fn a_proved_move_is_played_immediately() {
    let player = Player::new("--policy uct,solver=yes");
    let hours = "36000";
    // The player knows the rules soon, and no clock ends before the test stops waiting.
    let rules = rules("subtraction");
    assert_eq!(player.say(&format!("(START m first ( {rules} ) {hours} {hours})")), "ready");
    assert_eq!(player.say("(PLAY m nil)"), "(take 2)");
    assert_eq!(player.say("(PLAY m ( ( take 2 ) wait ))"), "wait");
    assert_eq!(player.say("(PLAY m ( wait ( take 3 ) ))"), "(take 1)");
}

#[test]
fn a_player_names_the_bound_of_its_memory() {
    let player = Player::new("--memory 1MiB");
    let start = format!("( START m white ( {} ) 3 2 )", rules("breakthrough"));
    assert_eq!(player.say(&start), "ready");
    player.await_line(
        "not compiled; the prover continues: grounding needs more than 13107 words of facts and instances, which is the \
         bound for a memory limit of 512.0 KiB; raise --memory",
    );
    assert!(player.say("( PLAY m NIL )").starts_with("(move "));
    assert_eq!(player.say("( ABORT m )"), "aborted");
}

#[test]
fn a_player_survives_bad_requests() {
    let player = Player::new("");
    let long = format!("POST / HTTP/1.0\r\nContent-Length: 3000000\r\n\r\n{}", "(".repeat(3_000_000));
    let deep = format!("POST / HTTP/1.0\r\nContent-Length: 100000\r\n\r\n{}", "(".repeat(100_000));
    let head = format!("GET /{} HTTP/1.0\r\n\r\n", "a".repeat(1_000_000));
    let many = format!("GET / HTTP/1.0\r\n{}\r\n", "a: b\r\n".repeat(10_000));
    for (request, status) in [
        (&b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"[..], "400"),
        (b"\r\n\r\n\r\nhello\r\n\r\n", "400"),
        (b"POST / HTTP/9.9\r\n\r\n", "400"),
        (b"PUT / HTTP/1.0\r\nContent-Length: 8\r\n\r\n( INFO )", "405"),
        (b"POST / HTTP/1.0\r\n\r\n", "400"),
        (b"POST / HTTP/1.0\r\nContent-Length: -1\r\n\r\n", "400"),
        (b"POST / HTTP/1.0\r\nContent-Length: 99999999999999999999999\r\n\r\n", "400"),
        (b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n", "400"),
        (b"POST / HTTP/1.0\r\nContent-Length: 4\r\n\r\n\xff\xfe\xfd\xfc", "400"),
        (b"GET / HTTP/1.0\r\n\r\n", "400"),
        (b"GET /%ff%00%2 HTTP/1.0\r\n\r\n", "400"),
        (long.as_bytes(), "413"),
        (deep.as_bytes(), "400"),
        (head.as_bytes(), "4"),
        (many.as_bytes(), "431"),
    ] {
        let reply = player.send(request);
        let start = String::from_utf8_lossy(&request[..request.len().min(60)]).into_owned();
        // The reply may be lost if the player does not read the whole request.
        assert!(reply.is_empty() || reply[9..].starts_with(status), "{start:?}: {reply}");
        assert!(!reply.is_empty() || request.len() > 60_000, "{start:?}");
        player.is_free();
    }
    let reply = player.send(b"POST / HTTP/1.0\r\nContent-Length: 7\r\n\r\n(HELLO)");
    assert!(reply.ends_with("begins with INFO, PREVIEW, START, PLAY, STOP or ABORT\n"), "{reply}");
    player.await_line("not understood: this is not a message");
}

#[test]
fn a_player_does_not_wait_for_half_a_request() {
    let player = Player::new("");
    let halves = ["", "POST / HTTP", "POST / HTTP/1.0\r\nContent-Length: 99999999999\r\n\r\n( INFO"];
    let mut silent: Vec<TcpStream> = Vec::new();
    for half in halves.iter().cycle().take(30) {
        let mut stream = TcpStream::connect(&player.address).unwrap();
        stream.write_all(half.as_bytes()).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        silent.push(stream);
    }
    player.is_free();
    // The player closes each connection in the end.
    for mut stream in silent {
        let mut reply = String::new();
        stream.read_to_string(&mut reply).unwrap();
        assert!(reply.is_empty() || reply.contains(" 408 "), "{reply}");
    }
}

#[test]
fn a_player_survives_bad_managers() {
    let player = Player::new("--margin 0.2 --patience 0.5");
    let start = |id: &str, role: &str, rules: &str| format!("( START {id} {role} ( {rules} ) 0.4 0.4 )");
    assert_eq!(player.say(&start("m", "x", "(role x)")), "busy");
    player.await_line("match m: refused");
    let long = format!("(role x) (<= p {})", "(true on) ".repeat(257));
    assert_eq!(player.say(&start("m", "x", &long)), "busy");
    player.await_line("error[bound]: The rule has more than 256 literals");
    assert_eq!(player.say(&start("m", "z", &rules("tic-tac-toe"))), "busy");
    assert_eq!(player.say(&start("m", "o", &rules("tic-tac-toe"))), "ready");
    assert_eq!(player.say(&start("n", "o", &rules("tic-tac-toe"))), "busy");
    assert_eq!(player.say("( PLAY n NIL )"), "busy");
    assert_eq!(player.say("( PLAY m NIL )"), "wait");
    // The square (9 9) does not exist. The match continues with the move of the manager.
    let answer = player.say("( PLAY m ( (mark 9 9) wait ) )");
    assert!(answer.starts_with("(mark "), "{answer}");
    player.await_line("an illegal move");
    player.say("( PLAY m ( nonsense ) )");
    player.await_line("are ignored: 1 moves for 2 roles");
    // The manager closes the connection during the reply, and never connects again.
    let mut stream = TcpStream::connect(&player.address).unwrap();
    stream.write_all(b"POST / HTTP/1.0\r\nContent-Length: 14\r\n\r\n( PLAY m NIL )").unwrap();
    drop(stream);
    player.await_line("match m: idle");
    player.is_free();
    assert_eq!(player.say(&start("n", "x", &rules("tic-tac-toe"))), "ready");
    player.await_line("match m: given up");
    assert!(player.say("( PLAY n NIL )").starts_with("(mark "));
    assert_eq!(player.say("( ABORT n )"), "aborted");
    player.is_free();
}

#[test]
fn ctrl_c_ends_a_player() {
    for message in ["( INFO )".to_string(), format!("( START m x ( {} ) 100 100 )", rules("tic-tac-toe"))] {
        let mut player = Player::new("");
        let mut stream = TcpStream::connect(&player.address).unwrap();
        let request = format!("POST / HTTP/1.0\r\nContent-Length: {}\r\n\r\n{message}", message.len());
        stream.write_all(request.as_bytes()).unwrap();
        match message.starts_with("( START") {
            // The signal arrives during a search.
            true => player.await_line("match m: start as x"),
            false => player.is_free(),
        }
        assert!(signal("-INT", player.child.id()));
        assert_eq!(player.child.wait().unwrap().code(), Some(0));
    }
}
