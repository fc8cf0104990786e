//! `serve`: the server as a process.

use std::io::{Read, Write};
use std::net::TcpStream;

use crate::common::{Session, TestEnv, signal};

/// Sends GET to a server with this URL, and returns the answer.
fn get(url: &str, path: &str) -> String {
    let address = url.strip_prefix("http://").and_then(|rest| rest.split('/').next()).unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn the_server_answers_until_a_signal_ends_it() {
    let env = TestEnv::new();
    env.build("--side 4 --pieces 3");
    let session = Session::new(env.command(["serve", "--port", "0", "--threads", "1", "--requests"]));
    let url = session.receive();
    assert!(url.starts_with("http://127.0.0.1:") && url.ends_with('/'), "{url}");
    let answer = get(&url, "/api/tables/4x4-3/state?state=%230");
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.contains("\"category\":\"goal\""), "{answer}");
    assert!(get(&url, "/").contains("<!doctype html>"));
    assert!(signal("-INT", session.id()));
    let ended = session.finish();
    assert_eq!((ended.code, ended.out()), (0, ""));
    let lines: Vec<&str> = ended.err.lines().collect();
    assert!(lines[0].starts_with("GET /api/tables/4x4-3/state?state=%230 200 ") && lines[1].starts_with("GET / 200 "));
}

#[test]
fn other_machines_need_a_token_and_addresses_must_be_free() {
    let env = TestEnv::new();
    let session = Session::new(env.command(["serve", "--bind", "0.0.0.0", "--port", "0"]));
    let url = session.receive();
    assert!(url.starts_with("http://localhost:") && url.contains("/?token="), "{url}");
    let port = url.split(':').nth(2).and_then(|rest| rest.split('/').next()).unwrap();
    let token = url.split_once('?').unwrap().1;
    let error = env.run(&format!("serve --bind 0.0.0.0 --port {port}")).refusal();
    assert!(error.contains(&format!("cannot listen on 0.0.0.0:{port}")), "{error}");
    assert!(error.contains("--port 0 takes a free one"), "{error}");
    // Requests are printed only on request.
    get(&format!("http://localhost:{port}/"), "/");
    assert!(signal("-INT", session.id()));
    let ended = session.finish();
    assert!(!ended.err.contains("GET"), "quiet");
    // The further lines are the addresses for other machines.
    for other in ended.out().lines() {
        assert!(other.starts_with("http://") && other.ends_with(&format!(":{port}/?{token}")), "{other}");
        assert!(!other.contains("localhost") && !other.contains("0.0.0.0"), "{other}");
    }
}

#[test]
fn the_rulesheets_of_a_directory_are_counted_and_refused_ones_named() {
    let env = TestEnv::new();
    let start = |dir: &str| {
        let session = Session::new(env.command(["serve", "--port", "0", "--rulesheets", dir]));
        session.receive();
        assert!(signal("-INT", session.id()));
        session.finish().err
    };
    std::fs::create_dir(env.path("none")).unwrap();
    std::fs::write(env.path("none/notes.txt"), "").unwrap();
    let warning = start("none");
    assert!(warning.contains("warning: none has no rulesheets; the names of their files end in `.kif`"), "{warning}");
    std::fs::create_dir(env.path("games")).unwrap();
    std::fs::write(env.path("games/good.kif"), "(role me) (init on) (legal me go) terminal (goal me 1)").unwrap();
    std::fs::write(env.path("games/open.kif"), "(role me").unwrap();
    std::fs::write(env.path("games/part.kif"), "(role me)").unwrap();
    let notice = start("games");
    let lines: Vec<&str> = notice.lines().collect();
    assert_eq!(lines[0], "games: 1 of 3 rulesheets can be played");
    assert!(lines[1].starts_with("games/open.kif: the rulesheet is invalid: 1:1: error[syntax]: "), "{notice}");
    assert!(lines[2].starts_with("games/part.kif: the rulesheet is invalid: "), "{notice}");
    assert_eq!(lines.len(), 3, "{notice}");
}

#[test]
fn names_of_proxies_are_allowed() {
    let env = TestEnv::new();
    let session = Session::new(env.command(["serve", "--port", "0", "--allow-host", "hub.example.org"]));
    let url = session.receive();
    let address = url.strip_prefix("http://").and_then(|rest| rest.split('/').next()).unwrap();
    for (host, status) in [("hub.example.org", 200), ("example.org", 403)] {
        let mut stream = TcpStream::connect(address).unwrap();
        write!(stream, "GET /healthz HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
        assert_eq!(answer.contains("`--allow-host example.org`"), status == 403, "{answer}");
    }
    assert!(signal("-INT", session.id()));
    session.finish();
    let refused = env.run("serve --port 0 --allow-host http://hub.example.org/");
    assert_eq!(refused.code, 2, "{refused:?}");
    let error = refused.err.lines().next().unwrap();
    assert!(error.contains("expected the name of a host"), "{error}");
    assert!(error.ends_with("got `http://hub.example.org/`"), "{error}");
}

#[test]
fn a_directory_of_rulesheets_that_does_not_exist_is_refused() {
    let error = TestEnv::new().run("serve --port 0 --rulesheets nowhere").refusal();
    assert!(error.contains("nowhere: there is no such directory"), "{error}");
}

#[test]
fn a_directory_of_logs_that_does_not_exist_is_refused() {
    let error = TestEnv::new().run("serve --port 0 --logs nowhere").refusal();
    assert!(error.contains("nowhere: there is no such directory"), "{error}");
}
