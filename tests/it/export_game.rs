//! `export-game`: pages with a game and its analysis.

use std::fs;

use serde_json::Value;

use crate::common::TestEnv;

const RECORD: &str = r#"[Event "</script><script>alert(1)</script>"]
[PlayerX "<b>one</b>"]
[Size "5"]
[Pieces "3"]

{<!-- <script> -->} 1. a2-a3 <score=+0.35 depth=8 nodes=1000> (1. a1-a3 {a jump}) 1... d5-c5 2. a1-a2 *
"#;

/// Returns the data in a page.
fn data(page: &str) -> Value {
    let (_, rest) = page.split_once("<script type=\"application/json\" id=\"data\">").unwrap();
    serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
}

#[test]
fn pages_have_the_game_and_the_distances_of_the_table() {
    let env = TestEnv::new();
    env.build("--side 5 --pieces 3");
    env.file("game.shg", RECORD);
    let printed = env.run_args(["export-game", "game.shg", "-o", "game.html"]).success();
    assert_eq!(printed, "game.html\n");
    let page = fs::read_to_string(env.path("game.html")).unwrap();
    assert!(page.starts_with("<!doctype html>\n"));
    assert!(!page.contains("<script>alert") && !page.contains("<!-- <script>"), "texts of the record are markup");
    let found = data(&page);
    assert_eq!(found["record"]["tags"][0][1], "</script><script>alert(1)</script>");
    assert_eq!(found["record"]["comments"][0], "<!-- <script> -->");
    assert_eq!((found["table"].as_str(), found["searches"].as_array().unwrap().len()), (Some("5x5-3"), 0));
    let positions = found["positions"].as_array().unwrap();
    assert_eq!(positions.len(), 5);
    for row in positions {
        let position = row[0].as_str().unwrap();
        let query = env.run_args(["query", "5x5-3", position, "--player", "both", "--json"]).success();
        let query: Vec<Value> = serde_json::from_str(&query).unwrap();
        for (army, side) in query.iter().zip(["x", "o"]) {
            assert_eq!(row[1][side], format!("={}", army["distance"]), "{row}: {army}");
        }
    }
    let stdout = env.run_args(["export-game", "game.shg", "-o", "-"]).success();
    assert_eq!(stdout, page);
}

#[test]
fn a_player_searches_every_position() {
    let env = TestEnv::new();
    env.file("game.shg", RECORD);
    let ran = env.run_args(["export-game", "game.shg", "--player", "sternhalma", "--nodes", "200", "-o", "-"]);
    let found = data(&ran.success());
    assert!(found["table"].is_null());
    let (positions, searches) = (found["positions"].as_array().unwrap(), found["searches"].as_array().unwrap());
    assert_eq!(searches.len(), positions.len());
    // No position of the record occurs twice.
    for (number, (position, search)) in positions.iter().zip(searches).enumerate() {
        assert_eq!(search["node"], number);
        let info = &search["info"];
        assert!(info["value"]["value"].is_number() && info["nodes"].as_u64().unwrap() >= 1, "{info}");
        let best: Vec<&str> = info["pv"][0].as_str().unwrap().split('-').collect();
        let moves = position[1]["moves"].as_str().unwrap();
        assert!(moves.split(' ').any(|hops| hops.starts_with(best[0]) && hops.ends_with(best[1])), "{info}: {moves}");
    }
}

#[test]
fn games_of_tournament_logs_are_exported() {
    let env = TestEnv::new();
    let args = ["match", "greedy", "random", "--side", "4", "--pieces", "2", "--games", "2", "--log", "a.ndjson"];
    env.run_args(args).success();
    let page = env.run_args(["export-game", "a.ndjson", "--game", "2", "-o", "-"]).success();
    let record = env.run_args(["tournament", "show", "a.ndjson", "--game", "2", "--record"]).success();
    assert_eq!(data(&page)["text"].as_str().unwrap().trim_end(), record.trim_end());
    let error = env.run_args(["export-game", "a.ndjson", "--game", "3", "-o", "-"]).failure();
    assert!(error.contains("expected a game from 1 to 2, got 3"), "{error}");
}

#[test]
fn what_cannot_be_exported_is_refused() {
    let env = TestEnv::new();
    env.file("game.shg", RECORD);
    env.file("bad.shg", RECORD.replace("d5-c5", "d5-a1"));
    env.file("there.html", "mine");
    for (args, expected) in [
        (&["bad.shg", "-o", "-"][..], "bad.shg: line 6, column 88: `d5-a1` is not legal for o at ply 1"),
        (&["absent.shg", "-o", "-"], "absent.shg: cannot read"),
        (&["game.shg", "-o", "there.html"], "there.html: the file exists; --force replaces it"),
        (&["game.shg", "-o", "absent/game.html"], "absent/game.html: cannot write"),
        (&["game.shg", "-o", "-", "--player", "nobody"], "there is no player `nobody`"),
        (&["game.shg", "-o", "-", "--table", "absent"], "there is no such file"),
    ] {
        let error = env.run_args(["export-game"].iter().chain(args)).failure();
        assert!(error.contains(expected), "{expected}: {error}");
    }
    assert_eq!(fs::read_to_string(env.path("there.html")).unwrap(), "mine");
    env.run_args(["export-game", "game.shg", "-o", "there.html", "--force"]).success();
    assert!(fs::read_to_string(env.path("there.html")).unwrap().starts_with("<!doctype html>"));
}
