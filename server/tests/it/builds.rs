//! Builds of tables.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sternhalma_data::{Board, Prefix, Table};
use sternhalma_testutil::Reference;

use crate::client::TestServer;

/// Waits for the end of a build and returns it.
fn ended(server: &TestServer, build: &Value) -> Value {
    let path = format!("/api/builds/{}", build["id"].as_str().unwrap());
    let (began, mut share) = (Instant::now(), 0.0);
    loop {
        let build = server.value(&path);
        let before = std::mem::replace(&mut share, build["share"].as_f64().unwrap());
        assert!(before <= share && share <= 1.0, "{build}");
        assert!(build["done"].as_u64() <= build["total"].as_u64(), "{build}");
        assert!(build["found"].as_u64() <= build["states"].as_u64(), "{build}");
        if build["state"] != "running" {
            return build;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "{build}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_table_is_built_and_used() {
    let server = TestServer::start();
    assert_eq!(server.value("/api/builds"), json!({ "builds": [] }));
    let body = json!({ "side": 5, "pieces": 3, "within": 20, "encoding": "zstd" });
    let answer = server.post("/api/builds", &body);
    assert_eq!(answer.status, 202);
    let build = answer.json();
    assert_eq!((&build["table"], &build["error"]), (&json!("5x5-3-within20-zstd"), &json!(null)));
    let done = ended(&server, &build);
    assert_eq!((&done["state"], &done["phase"], &done["error"]), (&json!("done"), &json!("writing"), &json!(null)));
    assert_eq!(server.value("/api/builds")["builds"], json!([done]));
    assert_eq!((&done["found"], &done["states"], &done["share"]), (&json!(1140), &json!(1140), &json!(1.0)));
    let table = Table::open(server.dir.path().join("5x5-3-within20-zstd.sht")).unwrap();
    let reference = Reference::search(Prefix::new(Board::new(5, 3).unwrap(), 20).unwrap());
    assert_eq!(table.info().layers.iter().sum::<u64>(), reference.prefix.states());
    let state = server.value("/api/tables/5x5-3-within20-zstd/state?state=%23500");
    assert_eq!(state["distance"], reference.distances[500]);
    assert!(server.post("/api/builds", &body).error(409).contains("exists"));
}

#[test]
fn a_build_is_cancelled_and_others_wait() {
    let server = TestServer::start();
    let body = json!({ "side": 9, "pieces": 6 });
    let build = server.post("/api/builds", &body).success();
    assert!(server.post("/api/builds", &body).error(409).contains("is being built"));
    let other = server.post("/api/builds", &json!({ "side": 4, "pieces": 2 }));
    assert!(other.error(503).contains("`9x9-6` is being built") && other.header("retry-after").is_some());
    let path = format!("/api/builds/{}", build["id"].as_str().unwrap());
    assert_eq!(server.request("DELETE", &path, &[], b"").status, 204);
    assert_eq!(ended(&server, &build)["state"], "cancelled");
    assert!(!server.dir.path().join("9x9-6.sht").exists());
    let other = server.post("/api/builds", &json!({ "side": 4, "pieces": 2 })).success();
    assert_eq!(ended(&server, &other)["state"], "done");
    assert_ne!(other["id"], build["id"]);
}

#[test]
fn the_end_of_the_server_cancels_builds_and_keeps_their_work() {
    // With so little memory the build is out of core.
    let mut server = TestServer::with(|options| options.build_memory = 64 << 20);
    server.post("/api/builds", &json!({ "side": 8, "pieces": 6 })).success();
    let work = server.dir.path().join("8x8-6.sht.work");
    let began = Instant::now();
    while !work.exists() {
        assert!(began.elapsed() < Duration::from_secs(60), "the build does not start");
        std::thread::sleep(Duration::from_millis(10));
    }
    server.stop();
    assert!(work.exists() && !server.dir.path().join("8x8-6.sht").exists());
}

#[test]
fn impossible_builds_are_refused() {
    let server = TestServer::start();
    for (body, why) in [
        (json!({}), "missing field `side`"),
        (json!({ "side": 2, "pieces": 1 }), "expected a board of 3 to 11"),
        (json!({ "side": 4, "pieces": 99 }), "expected 1 to 15 pieces"),
        (json!({ "side": 4, "pieces": 3, "within": 2 }), "expected a prefix of 3 to 16"),
        (json!({ "side": 4, "pieces": 3, "encoding": "gzip" }), "expected the encoding"),
        (json!({ "side": 4, "pieces": 3, "path": "/tmp/x" }), "unknown field `path`"),
    ] {
        let message = server.post("/api/builds", &body).error(400);
        assert!(message.contains(why), "{body}: {message}");
    }
    let message = server.post("/api/builds", &json!({ "side": 11, "pieces": 15 })).error(503);
    assert!(message.contains("this needs about"), "{message}");
    for method in ["GET", "DELETE"] {
        for id in ["1", "x", "-1"] {
            server.request(method, &format!("/api/builds/{id}"), &[], b"").error(404);
        }
    }
    assert_eq!(std::fs::read_dir(server.dir.path()).unwrap().count(), 9);
}
