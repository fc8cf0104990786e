//! Clients that are slow, that send nonsense, or that leave. Others are answered meanwhile.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use sternhalma_server::openapi;

use crate::client::{Answer, PATIENCE, TestServer, encoded};

/// Checks that the server answers.
#[track_caller]
fn check_alive(server: &TestServer) {
    assert_eq!(server.get("/api/tables/byte/state?state=%239").status, 200);
}

fn write(server: &TestServer, bytes: &[u8]) -> TcpStream {
    let mut stream = server.connect();
    // The server may refuse before it has read everything.
    let _ = stream.write_all(bytes);
    stream
}

/// Returns a head with these lines for a path.
fn head(method: &str, path: &str, lines: &str) -> Vec<u8> {
    format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{lines}\r\n").into_bytes()
}

#[test]
fn slow_heads_and_bodies_are_disconnected() {
    let server = TestServer::with(|options| {
        options.limits.head_time = Duration::from_millis(300);
        options.limits.body_time = Duration::from_millis(300);
    });
    for start in ["", "G", "GET /healthz HTTP/1.1\r\nhost: localhost\r\n"] {
        let mut stream = write(&server, start.as_bytes());
        check_alive(&server);
        let mut rest = Vec::new();
        // The server closes the connection, perhaps after an answer.
        let _ = stream.read_to_end(&mut rest);
        assert!(rest.is_empty() || rest.starts_with(b"HTTP/1.1 4"), "{}", String::from_utf8_lossy(&rest));
    }
    let lines = "content-type: application/json\r\ncontent-length: 100\r\n";
    let mut slow = head("POST", "/api/records/parse", lines);
    slow.extend(b"{\"text\":");
    assert_eq!(Answer::read(write(&server, &slow)).error(408), "the body did not arrive in time");
    let lines = "content-type: application/json\r\ntransfer-encoding: chunked\r\n";
    let mut slow = head("POST", "/api/records/parse", lines);
    slow.extend(b"5\r\n{\"tex\r\n");
    Answer::read(write(&server, &slow)).error(408);
}

#[test]
fn huge_heads_and_bodies_are_refused() {
    let server = TestServer::with(|options| options.limits.body_bytes = 1 << 20);
    let long = "a".repeat(200_000);
    for request in [
        head("GET", &format!("/api/position?position={long}"), ""),
        head("GET", "/healthz", &format!("x: {long}\r\n")),
        head("GET", "/healthz", &"x: y\r\n".repeat(10_000)),
    ] {
        let status = Answer::read(write(&server, &request)).status;
        assert!([400, 414, 431].contains(&status), "{status}");
        check_alive(&server);
    }
    let path = "/api/tables/byte/distances";
    let announced = head("POST", path, "content-type: application/json\r\ncontent-length: 99999999999\r\n");
    assert!(Answer::read(write(&server, &announced)).error(413).contains("more than 1048576 bytes"));
    let mut chunks = head("POST", path, "content-type: application/json\r\ntransfer-encoding: chunked\r\n");
    for _ in 0..40 {
        chunks.extend(format!("8000\r\n{}\r\n", " ".repeat(0x8000)).bytes());
    }
    Answer::read(write(&server, &chunks)).error(413);
    check_alive(&server);
}

/// The head of a request with a large body.
const LARGE: &str = "content-type: application/json\r\ncontent-length: 1048576\r\n";

#[test]
fn bodies_share_a_limited_memory() {
    let server = TestServer::with(|options| {
        options.limits.body_bytes = 1 << 20;
        options.limits.all_body_bytes = 2 << 20;
        options.limits.body_time = PATIENCE;
        options.limits.body_pause = PATIENCE;
    });
    let mut large = head("POST", "/api/records/parse", LARGE);
    large.extend(vec![b' '; (1 << 20) - 1]);
    let began = Instant::now();
    let message = loop {
        // Both bodies lack their last byte.
        let waiting = [(); 2].map(|()| write(&server, &large));
        // If the small body comes before the last parts of a large one, then that one is refused instead of the small one.
        std::thread::sleep(Duration::from_millis(50));
        let answer = server.request("POST", "/api/records/parse", &[("content-type", "application/json")], b"{}");
        drop(waiting);
        if answer.status != 400 {
            break answer.error(503);
        }
        assert!(began.elapsed() < PATIENCE, "bodies do not share their memory");
    };
    assert!(message.contains("too many bodies"), "{message}");
    check_alive(&server);
}

#[test]
fn bodies_that_do_not_come_hold_no_memory() {
    let server = TestServer::with(|options| {
        options.limits.body_bytes = 1 << 20;
        options.limits.all_body_bytes = 1 << 20;
        options.limits.body_time = PATIENCE;
        options.limits.body_pause = PATIENCE;
    });
    let chunked = "content-type: application/json\r\ntransfer-encoding: chunked\r\n";
    let idle: Vec<TcpStream> =
        (0..40).map(|index| write(&server, &head("POST", "/api/records/parse", [LARGE, chunked][index % 2]))).collect();
    // The server reads the heads in the order of the connections, and these bodies while the others are idle.
    for _ in 0..10 {
        let message =
            server.request("POST", "/api/records/parse", &[("content-type", "application/json")], b"{}").error(400);
        assert!(message.contains("text"), "{message}");
    }
    drop(idle);
    check_alive(&server);
}

#[test]
fn a_pause_ends_a_body() {
    let server = TestServer::with(|options| {
        options.limits.body_time = PATIENCE * 10;
        options.limits.body_pause = Duration::from_millis(100);
    });
    for lines in [LARGE, "content-type: application/json\r\ntransfer-encoding: chunked\r\n"] {
        let mut body = head("POST", "/api/records/parse", lines);
        body.extend(b"5\r\n{\"tex\r\n");
        assert_eq!(Answer::read(write(&server, &body)).error(408), "the body did not arrive in time");
    }
}

#[test]
fn heads_have_at_most_64_kib() {
    let server = TestServer::start();
    let answer = |length: usize| {
        let empty = head("GET", "/healthz", "x: \r\n").len();
        let request = head("GET", "/healthz", &format!("x: {}\r\n", "y".repeat(length - empty)));
        assert_eq!(request.len(), length);
        Answer::read(write(&server, &request))
    };
    assert_eq!(answer(64 << 10).status, 200);
    for length in [(64 << 10) + 1, 70_000, 100_000] {
        answer(length).error(431);
    }
}

#[test]
fn nonsense_is_refused() {
    let server = TestServer::start();
    for request in [
        &b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"[..],
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: localhost\r\ncontent-length: -1\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost localhost\r\n\r\n",
        b"GET /\xff\xfe HTTP/1.1\r\nhost: localhost\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: \xff\r\nconnection: close\r\n\r\n",
        b"GET / HTTP/1.1\r\nconnection: close\r\n\r\n",
    ] {
        let mut rest = Vec::new();
        let mut stream = write(&server, request);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let _ = stream.read_to_end(&mut rest);
        assert!(rest.is_empty() || rest.starts_with(b"HTTP/1.1 4"), "{:?}", String::from_utf8_lossy(&rest));
        check_alive(&server);
    }
    for path in [
        "/api/tables/%ff/state",
        "/api/tables/byte/state?state=%C0%80",
        "/api/tables/byte/state?%ff=%ff",
        "/api/tables//state",
    ] {
        let status = server.get(path).status;
        assert!([400, 404].contains(&status), "{path}: {status}");
    }
    for method in ["PUT", "PATCH", "TRACE", "CONNECT", "OPTIONS", "ODD"] {
        let answer = server.request(method, "/api/tables", &[], b"");
        assert!([400, 405].contains(&answer.status), "{method}: {}", answer.status);
        assert_eq!(answer.header("access-control-allow-methods"), None);
    }
    let allowed = server.request("DELETE", "/api/position/play", &[], b"");
    assert_eq!((allowed.error(405), allowed.header("allow")), ("expected POST, got DELETE".to_owned(), Some("POST")));
}

#[test]
fn idle_connections_make_room_for_others() {
    let server = TestServer::with(|options| options.limits.connections = 20);
    let idle: Vec<TcpStream> =
        (0..300).map(|number| write(&server, if number % 2 == 0 { b"" } else { b"GET /" })).collect();
    for _ in 0..10 {
        check_alive(&server);
    }
    drop(idle);
    check_alive(&server);
}

#[test]
fn connections_are_kept_and_clients_that_leave_do_no_harm() {
    let server = TestServer::start();
    let mut stream = server.connect();
    let request = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n";
    let mut lengths = Vec::new();
    for _ in 0..3 {
        stream.write_all(request).unwrap();
        let mut bytes = [0; 4096];
        let length = stream.read(&mut bytes).unwrap();
        assert!(bytes.starts_with(b"HTTP/1.1 200 "));
        lengths.push(length);
    }
    assert_eq!(lengths[0], lengths[2]);
    // Three requests at once are answered in their order.
    stream.write_all(&request.repeat(3)).unwrap();
    let mut bytes = vec![0; 3 * lengths[0]];
    stream.read_exact(&mut bytes).unwrap();
    // Clients leave before their answers.
    for path in ["/api/tables/ans/line?state=startpos", "/api/analysis?position=startpos&nodes=1000000", "/api/tables"]
    {
        for _ in 0..20 {
            drop(write(&server, &head("GET", path, "")));
        }
    }
    let began = Instant::now();
    while server.get("/api/analysis?position=startpos&player=greedy").status != 200 {
        assert!(began.elapsed() < PATIENCE);
        std::thread::sleep(Duration::from_millis(20));
    }
    check_alive(&server);
}

#[test]
fn every_endpoint_refuses_unknown_parameters() {
    let server = TestServer::start();
    let mut requests = 0;
    for (path, operations) in openapi()["paths"].as_object().unwrap() {
        let Some(operation) = operations.get("get") else { continue };
        let (mut path, mut query) = (path.clone(), vec!["unknown=1".to_owned()]);
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            let (name, example) = (parameter["name"].as_str().unwrap(), &parameter["example"]);
            let example = example.as_str().map_or_else(|| example.to_string(), str::to_owned);
            match parameter["in"].as_str() {
                Some("path") => path = path.replace(&format!("{{{name}}}"), &encoded(&example)),
                _ if parameter["required"] == true => query.push(format!("{name}={}", encoded(&example))),
                _ => {}
            }
        }
        let answer = server.get(&format!("{path}?{}", query.join("&")));
        assert!(answer.error(400).contains("unknown"), "{path}");
        requests += 1;
    }
    assert!(requests > 10, "{requests}");
}
