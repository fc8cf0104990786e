//! Tables that are proposed, and tables that are deleted.

use serde_json::{Value, json};
use sternhalma_engine::record::MARK_LIMITS;

use crate::client::TestServer;

#[test]
fn the_offer_for_a_board_is_a_table_that_is_built_soon() {
    let server = TestServer::start();
    let small = server.value("/api/offer?side=4&pieces=2");
    assert_eq!((&small["within"], &small["states"], &small["whole_states"]), (&json!(16), &json!(120), &json!(120)));
    assert!(small["seconds"].as_f64() >= Some(1.0), "{small}");
    // The offer is that of the command line.
    let part = server.value("/api/offer?side=9&pieces=10");
    assert_eq!(part["within"], 36);
    assert!(part["states"].as_u64() <= part["max_states"].as_u64());
    assert!(part["whole_states"].as_u64() > part["max_states"].as_u64());
    assert_eq!(server.value("/api/offer?side=9&pieces=10"), part);
    let message = server.get("/api/offer?side=9&pieces=99").error(400);
    assert!(message.contains("expected 1 to 15 pieces"), "{message}");
}

#[test]
fn a_table_is_deleted_only_with_its_checksum() {
    let server = TestServer::with(|options| options.deletes_tables = true);
    assert_eq!(server.value("/api/tables")["deletes"], true);
    let delete = |name: &str, checksum: &str| {
        server.request("DELETE", &format!("/api/tables/{name}?checksum={checksum}"), &[], b"")
    };
    let checksum = server.value("/api/tables/byte")["checksum"].as_str().unwrap().to_owned();
    let path = server.dir.path().join("byte.sht");
    assert!(delete("byte", "0000000000000000").error(409).contains(&checksum));
    delete("nothing", &checksum).error(404);
    assert!(server.request("DELETE", "/api/tables/byte", &[], b"").error(400).contains("checksum"));
    assert!(path.exists());
    assert_eq!(delete("byte", &checksum).status, 204);
    assert!(!path.exists());
    delete("byte", &checksum).error(404);
    let tables = server.value("/api/tables");
    let is_named = |table: &Value| table["name"] == "byte";
    assert!(!tables["tables"].as_array().unwrap().iter().any(is_named));
}

#[test]
fn a_server_deletes_nothing_by_default() {
    let server = TestServer::start();
    assert_eq!(server.value("/api/tables")["deletes"], false);
    let checksum = server.value("/api/tables/byte")["checksum"].as_str().unwrap().to_owned();
    let path = format!("/api/tables/byte?checksum={checksum}");
    assert!(server.request("DELETE", &path, &[], b"").error(403).contains("does not delete tables"));
    assert!(server.dir.path().join("byte.sht").exists());
}

#[test]
fn the_page_marks_moves_by_the_limits_of_reviews() {
    let marks = &TestServer::start().value("/api/players")["marks"];
    let limits = json!({ "lead": MARK_LIMITS.lead, "reward": MARK_LIMITS.reward, "distance": MARK_LIMITS.distance });
    assert_eq!(marks, &limits);
}
