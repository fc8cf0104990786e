//! Tournament logs, finished and running.

use std::fs::OpenOptions;
use std::io::{Read, Write};
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use serde_json::json;
use sternhalma_engine::record::{AnnotatedGame, JsonGame};
use sternhalma_ggp::MemoryBudget;
use sternhalma_ggp::arena::{
    Budget, Entrant, GameId, GameLog, GameRecord, Origin, RulesEngine, Schedule, SprtSpec, Standings, Termination,
    Totals, Tournament, rules_backend,
};
use sternhalma_ggp::gdl::{Rulesheet, read_rulesheet};
use tempfile::TempDir;

use crate::client::TestServer;

/// Plays a tournament of a rulesheet with a log.
fn play_rulesheet(log: &Path) -> Standings {
    let names = ["uct", "random"];
    let policies = names.map(|name| name.parse().unwrap()).to_vec();
    let sheet = Rulesheet::parse(&read_rulesheet("tic-tac-toe".as_ref()).unwrap()).unwrap();
    let backend = rules_backend(&sheet, RulesEngine::Auto, policies, &MemoryBudget::new(1 << 30)).unwrap();
    let budget = Budget { playouts: Some(20), ..Budget::default() };
    let schedule = Schedule::new(names.map(Entrant::named).to_vec(), budget, 10);
    let tournament = Tournament::new(backend, schedule).unwrap();
    tournament.run(Some(log), NonZeroUsize::MIN, &AtomicBool::new(false), |_, _| ()).unwrap()
}

/// Returns a tournament of Chinese Checkers and its first games.
fn board_games() -> (Schedule, Vec<GameRecord>) {
    let mut schedule = Schedule::new(["a", "b"].map(Entrant::named).to_vec(), Budget::default(), 4);
    schedule.game = json!({ "side": 5, "pieces": 1 });
    let record = |game: u64, players: [&str; 2]| GameRecord {
        id: GameId { round: 0, pairing: 0, game },
        players: players.map(str::to_owned).to_vec(),
        opening: "startpos moves a1-b1".to_owned(),
        moves: ["e5-d5", "b1-c1"].map(str::to_owned).to_vec(),
        plies: 3,
        end: Termination::Adjudicated,
        goals: vec![100, 0],
        fault: None,
        spent: vec![Totals::default(); 2],
        searches: Vec::new(),
        origin: None::<Origin>,
    };
    (schedule, vec![record(1, ["b", "a"]), record(0, ["a", "b"]), record(2, ["a", "b"])])
}

fn server(logs: &TempDir) -> TestServer {
    TestServer::with(|options| options.logs = Some(logs.path().to_owned()))
}

#[test]
fn results_are_those_of_the_log() {
    let logs = tempfile::tempdir().unwrap();
    let expected = play_rulesheet(&logs.path().join("rules.ndjson"));
    std::fs::write(logs.path().join("damaged.ndjson"), "{}\n").unwrap();
    std::fs::write(logs.path().join("other.txt"), "").unwrap();
    let server = server(&logs);
    let list = server.value("/api/tournaments");
    assert_eq!(list["unreadable"][0]["name"], "damaged.ndjson");
    let row = &list["tournaments"][0];
    assert_eq!((&row["name"], &row["players"]), (&json!("rules.ndjson"), &json!(["uct", "random"])));
    assert_eq!((&row["games"], &row["played"]), (&json!(10), &json!(10)));
    let found = server.value("/api/tournaments/rules.ndjson");
    assert_eq!(found["rounds"], serde_json::to_value(expected.summary()).unwrap());
    let games = server.value("/api/tournaments/rules.ndjson/games");
    assert_eq!((&games["matching"], games["games"].as_array().unwrap().len()), (&json!(10), 10));
    let game = server.value("/api/tournaments/rules.ndjson/games/3");
    assert_eq!((&game["record"], &game["number"]), (&json!(null), &json!(3)));
    assert!(game["moves"].as_array().unwrap().len() >= 5);
}

#[test]
fn a_small_file_with_endless_contents_is_no_log() {
    let logs = tempfile::tempdir().unwrap();
    let path = logs.path().join("zeros.ndjson.zst");
    let zeros = std::io::repeat(0).take(64 << 20);
    zstd::stream::copy_encode(zeros, std::fs::File::create(&path).unwrap(), 1).unwrap();
    assert!(path.metadata().unwrap().len() < 1 << 20);
    let server = server(&logs);
    for _ in 0..2 {
        let list = server.value("/api/tournaments");
        let error = list["unreadable"][0]["error"].as_str().unwrap();
        assert!(error.contains("line 1 is not a line of at most 16.0 MiB"), "{error}");
    }
}

#[test]
fn a_running_log_is_followed() {
    let logs = tempfile::tempdir().unwrap();
    let path = logs.path().join("board.ndjson");
    let (schedule, records) = board_games();
    GameLog::create(&path, &schedule, &records[..2]).unwrap();
    let server = server(&logs);
    let played = || server.value("/api/tournaments/board.ndjson")["played"].clone();
    assert_eq!(played(), 2);
    let line = serde_json::to_string(&records[2]).unwrap();
    let mut log = OpenOptions::new().append(true).open(&path).unwrap();
    let (first, second) = line.split_at(20);
    // An incomplete line is no game yet.
    log.write_all(first.as_bytes()).unwrap();
    assert_eq!(played(), 2);
    log.write_all(format!("{second}\n").as_bytes()).unwrap();
    assert_eq!(played(), 3);
}

#[test]
fn games_are_selected_and_shown() {
    let logs = tempfile::tempdir().unwrap();
    let (schedule, records) = board_games();
    GameLog::create(&logs.path().join("board.ndjson.zst"), &schedule, &records).unwrap();
    let server = server(&logs);
    let numbers = |query: &str| {
        let found = server.value(&format!("/api/tournaments/board.ndjson.zst/games?{query}"));
        let games = found["games"].as_array().unwrap();
        (
            found["matching"].as_u64().unwrap(),
            games.iter().map(|row| row["number"].as_u64().unwrap()).collect::<Vec<_>>(),
        )
    };
    assert_eq!(numbers(""), (3, vec![1, 2, 3]));
    assert_eq!(numbers("player=a&result=1-0&end=adjudicated"), (3, vec![1, 2, 3]));
    assert_eq!(numbers("skip=1&count=1"), (3, vec![2]));
    for query in ["player=c", "result=0-1", "end=fault"] {
        assert_eq!(numbers(query), (0, vec![]), "{query}");
    }
    let game = server.value("/api/tournaments/board.ndjson.zst/games/2");
    let expected = AnnotatedGame::from_log(&schedule, &records[0]).unwrap();
    assert_eq!(game["record"], serde_json::to_value(JsonGame::from(&expected)).unwrap());
    assert_eq!((&game["players"], &game["result"]), (&json!(["b", "a"]), &json!("1-0")));
    for path in [
        "board.ndjson.zst/games/4",
        "board.ndjson.zst/games/0",
        "board.ndjson.zst/games/x",
        "absent.ndjson",
        "..%2Fx.ndjson",
    ] {
        server.get(&format!("/api/tournaments/{path}")).error(404);
    }
    for query in ["end=won", "count=-1", "x=1"] {
        server.get(&format!("/api/tournaments/board.ndjson.zst/games?{query}")).error(400);
    }
}

#[test]
fn a_server_without_logs_has_no_tournaments() {
    let server = TestServer::start();
    assert_eq!(server.value("/api/tournaments"), json!({ "tournaments": [], "unreadable": [] }));
    server.get("/api/tournaments/games.ndjson").error(404);
}

#[test]
fn the_course_of_a_sequential_test_has_a_point_per_pair() {
    let logs = tempfile::tempdir().unwrap();
    let policies = ["uct", "random"].map(|name| name.parse().unwrap()).to_vec();
    let sheet = Rulesheet::parse(&read_rulesheet("tic-tac-toe".as_ref()).unwrap()).unwrap();
    let backend = rules_backend(&sheet, RulesEngine::Auto, policies, &MemoryBudget::new(1 << 30)).unwrap();
    let budget = Budget { playouts: Some(5), ..Budget::default() };
    let mut schedule = Schedule::new(["uct", "random"].map(Entrant::named).to_vec(), budget, 40);
    schedule.test = Some(SprtSpec { nelo: [0.0, 10.0], alpha: 0.05, beta: 0.05 });
    let log = logs.path().join("test.ndjson");
    let tournament = Tournament::new(backend, schedule.clone()).unwrap();
    tournament.run(Some(&log), NonZeroUsize::MIN, &AtomicBool::new(false), |_, _| ()).unwrap();

    let (head, games) = GameLog::read(&log).unwrap();
    let mut expected = Vec::new();
    for count in 1..=games.len() {
        let summary = Standings::with_games(schedule.clone(), &games[..count]).summary();
        let sprt = summary[0].pairings[0].sprt.as_ref().unwrap();
        expected.push(json!({ "pairs": sprt.pairs, "llr": sprt.llr }));
    }
    expected.dedup();
    expected.retain(|point| point["pairs"] != 0);
    assert!(expected.len() > 10);

    // A log whose first game ends last.
    let late: Vec<_> = games.iter().rev().cloned().collect();
    GameLog::create(&logs.path().join("late.ndjson"), &head, &late).unwrap();

    let server = server(&logs);
    for name in ["test", "late"] {
        let curves = &server.value(&format!("/api/tournaments/{name}.ndjson"))["curves"];
        let points = curves[0]["points"].as_array().unwrap();
        let points: Vec<_> = points.iter().filter(|point| point["pairs"] != 0).cloned().collect();
        assert_eq!(points, expected, "{name}");
    }
}
