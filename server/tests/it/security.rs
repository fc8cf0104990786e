//! Who may send requests, and the headers of answers.

use std::time::{Duration, Instant};

use crate::client::{Answer, TestServer};

/// A path of every kind, with its method.
const PATHS: [(&str, &str); 6] = [
    ("GET", "/"),
    ("GET", "/healthz"),
    ("GET", "/api/tables"),
    ("GET", "/api/analysis?position=startpos&nodes=10"),
    ("POST", "/api/position/play"),
    ("GET", "/api/absent"),
];

#[test]
fn other_hosts_are_refused_on_every_path() {
    let server = TestServer::with(|options| options.host_option = Some("--allow-host".to_owned()));
    for (method, path) in PATHS {
        for host in ["example.com", "localhost.example.com", "10.1.2.3", "localhost:x", "[::1]x", "[::1]80"] {
            let answer = server.request(method, path, &[("host", host)], b"");
            let message = answer.error(403);
            assert!(message.contains(&format!("`Host` has `{host}`")), "{message}");
            assert_eq!(answer.code(), "unknown-host");
            // Only a name can be allowed.
            let named = ["example.com", "localhost.example.com", "10.1.2.3"].contains(&host);
            assert_eq!(message.ends_with(&format!("`--allow-host {host}`")), named, "{message}");
        }
        let twice = [("host", "localhost"), ("host", "localhost")];
        assert_eq!(server.request(method, path, &twice, b"").status, 400);
    }
    for host in ["localhost", "LOCALHOST:1", "127.0.0.1:9", "[::1]"] {
        assert_eq!(server.request("GET", "/healthz", &[("host", host)], b"").status, 200, "{host}");
    }
}

#[test]
fn allowed_hosts_and_their_pages_are_answered() {
    let server = TestServer::with(|options| options.allowed_hosts = vec!["hub.example.org".parse().unwrap()]);
    let json = ("content-type", "application/json");
    let play = |headers: &[(&str, &str)]| {
        let body = br#"{"position":"startpos","move":"a3-a4"}"#;
        server.request("POST", "/api/position/play", &[headers, &[json]].concat(), body).status
    };
    // A proxy keeps the host of the browser, or replaces it with that of the server.
    let origin = ("origin", "https://hub.example.org");
    assert_eq!(play(&[("host", "hub.example.org"), origin]), 200);
    assert_eq!(play(&[origin]), 200);
    assert_eq!(play(&[("host", "example.org"), origin]), 403);
    assert_eq!(play(&[origin, ("sec-fetch-site", "same-site")]), 403);
    assert_eq!(play(&[("origin", "https://example.org"), ("x-forwarded-host", "example.org")]), 403);
    assert_eq!(play(&[("host", "example.org"), ("x-forwarded-host", "hub.example.org")]), 403);
    for (method, path) in PATHS {
        let answer = server.request(method, path, &[("host", "hub.example.org:8443")], b"");
        assert_ne!(answer.status, 403, "{path}");
    }
}

#[test]
fn other_sites_are_refused_on_every_path_of_the_interface() {
    let server = TestServer::start();
    let origin = format!("http://localhost:{}", server.address.port());
    for (method, path) in PATHS.into_iter().filter(|(_, path)| path.starts_with("/api")) {
        for (name, value) in [
            ("sec-fetch-site", "cross-site"),
            ("sec-fetch-site", "same-site"),
            ("origin", "http://example.com"),
            ("origin", "null"),
            ("origin", "http://localhost"),
        ] {
            let message = server.request(method, path, &[(name, value)], b"").error(403);
            assert!(message.contains("other web sites"), "{message}");
        }
        for headers in
            [[("sec-fetch-site", "same-origin"), ("origin", &*origin)], [("sec-fetch-site", "none"), ("x", "y")]]
        {
            assert_ne!(server.request(method, path, &headers, b"").status, 403, "{path}");
        }
    }
    let own = format!("http://localhost:{}", server.address.port());
    for (method, path) in PATHS.into_iter().filter(|(_, path)| path.starts_with("/api")) {
        for headers in [
            [("sec-fetch-site", "same-origin"), ("sec-fetch-site", "cross-site")],
            [("sec-fetch-site", "same-origin"), ("sec-fetch-site", "same-origin")],
            [("origin", &*own), ("origin", "http://example.com")],
            [("origin", &*own), ("origin", &*own)],
        ] {
            let message = server.request(method, path, &headers, b"").error(403);
            assert!(message.contains("other web sites"), "{message}");
        }
    }
    // A link from another site may open the page.
    assert_eq!(server.request("GET", "/", &[("sec-fetch-site", "cross-site")], b"").status, 200);
}

#[test]
fn targets_are_paths() {
    let server = TestServer::start();
    for host in ["example.com", "localhost"] {
        let mut stream = server.connect();
        server.send(&mut stream, "GET", &format!("http://{host}/api/tables"), &[], b"").unwrap();
        let message = Answer::read(stream).error(400);
        assert!(message.contains("expected a path"), "{message}");
    }
}

#[test]
fn every_answer_restricts_the_page() {
    let server = TestServer::start();
    for (method, path) in PATHS {
        let answer = server.request(method, path, &[], b"");
        let policy = answer.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'self'") && !policy.contains("unsafe"), "{policy}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{path}");
        assert_eq!(answer.header("referrer-policy"), Some("no-referrer"), "{path}");
        assert_eq!(answer.header("access-control-allow-origin"), None, "{path}");
    }
}

#[test]
fn posts_need_json() {
    let server = TestServer::start();
    for path in [
        "/api/position/play",
        "/api/records/parse",
        "/api/records/page",
        "/api/records/print",
        "/api/builds",
        "/api/games",
        "/api/games/00000000000000000000000000000000/join",
        "/api/games/00000000000000000000000000000000/moves",
        "/api/tables/byte/distances",
    ] {
        for content_type in
            ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/jsonp"]
        {
            server.request("POST", path, &[("content-type", content_type)], b"{}").error(415);
        }
        server.request("POST", path, &[], b"{}").error(415);
        for body in ["", "{", "[]", "nul", "\u{feff}{}"] {
            let headers = [("content-type", "Application/JSON; charset=utf-8")];
            server.request("POST", path, &headers, body.as_bytes()).error(400);
        }
        let headers = [("content-type", "application/json")];
        server.request("POST", path, &headers, b"\"\xff\xfe\"").error(400);
    }
    let lines = [("content-type", "application/x-ndjson")];
    server.request("POST", "/api/position/play", &lines, b"{}").error(415);
}

#[test]
fn tables_are_named_and_paths_are_refused() {
    let server = TestServer::start();
    let outside = server.dir.path().join("../secret.sht");
    std::fs::copy(server.dir.path().join("byte.sht"), &outside).unwrap();
    for name in ["..%2Fsecret", "%2e%2e%2fsecret", "..", ".%2Fbyte", "byte.sht", "byte%00", "%2Fetc%2Fpasswd", "absent"]
    {
        assert_eq!(server.get(&format!("/api/tables/{name}")).status, 404, "{name}");
    }
    assert_eq!(server.get("/api/tables/%ff").status, 400);
    assert_eq!(server.get("/api/tables/../../etc/passwd").status, 404);
    std::fs::remove_file(outside).unwrap();
    for path in ["/../Cargo.toml", "/%2e%2e/Cargo.toml", "//etc/passwd", "/index.html/..", "/src/lib.rs"] {
        assert_eq!(server.get(path).status, 404, "{path}");
    }
}

#[test]
fn a_server_for_other_machines_needs_its_token() {
    let server = TestServer::with(|options| options.bind = "0.0.0.0".parse().unwrap());
    let token = server.token.clone().unwrap();
    for path in ["/", "/healthz", "/api/tables", "/?token=0", "/api/tables?token=0"] {
        server.get(path).error(403);
    }
    // Only the page takes the token from the address.
    server.get(&format!("/api/tables?token={token}")).error(403);
    let welcome = server.get(&format!("/?token={token}"));
    // A proxy may serve the page under a path, which is also that of the cookie.
    assert_eq!((welcome.status, welcome.header("location")), (303, Some("./")));
    let cookie = welcome.header("set-cookie").unwrap();
    assert!(cookie.ends_with("; HttpOnly; SameSite=Lax") && !cookie.contains("Path"), "{cookie}");
    let pair = format!("other=1; {}", cookie.split(';').next().unwrap());
    let bearer = format!("Bearer {token}");
    for path in ["/", "/api/tables"] {
        assert_eq!(server.request("GET", path, &[("cookie", &pair)], b"").status, 200);
        assert_eq!(server.request("GET", path, &[("authorization", &bearer)], b"").status, 200);
        assert_eq!(server.request("GET", path, &[("authorization", "Bearer 1")], b"").status, 403);
    }
    // The log does not contain the token.
    let mut server = server;
    server.stop();
    assert!(server.log.lock().unwrap().iter().all(|line| !line.contains(&token)));
}

#[test]
fn every_request_has_a_line_in_the_log() {
    let mut server = TestServer::start();
    server.get("/healthz");
    server.get("/api/absent?x=%0a1");
    server.request("GET", "/api/tables", &[("host", "example.com")], b"");
    server.stop();
    let began = Instant::now();
    while server.log.lock().unwrap().len() < 3 && began.elapsed() < Duration::from_secs(60) {
        std::thread::yield_now();
    }
    let log = server.log.lock().unwrap().clone();
    let starts: Vec<String> = log.iter().map(|line| line.split(' ').take(3).collect::<Vec<_>>().join(" ")).collect();
    assert_eq!(starts, ["GET /healthz 200", "GET /api/absent?x=%0a1 404", "GET /api/tables 403"]);
}

#[test]
fn the_page_is_compressed_and_cached() {
    let server = TestServer::start();
    let page = server.get("/");
    assert_eq!((page.status, page.header("content-type")), (200, Some("text/html; charset=utf-8")));
    let packed = server.request("GET", "/", &[("accept-encoding", "br, gzip")], b"");
    if packed.header("content-encoding") == Some("gzip") {
        let mut text = Vec::new();
        std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(&packed.body[..]), &mut text).unwrap();
        assert_eq!(text, page.body);
    }
    let etag = page.header("etag").unwrap();
    let again = server.request("GET", "/", &[("if-none-match", etag)], b"");
    assert_eq!((again.status, again.body.len(), again.header("etag")), (304, 0, Some(etag)));
    let head = server.request("HEAD", "/index.html", &[], b"");
    assert_eq!((head.status, head.body.len()), (200, 0));
    assert_eq!(server.request("POST", "/", &[], b"").status, 405);
}
