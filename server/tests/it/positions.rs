//! Positions of the two-player game, against the rules of the engine.

use serde_json::{Value, json};
use sternhalma_data::{Board, Position, Side, State};
use sternhalma_engine::{ChineseCheckers, Filter, GameState, Outcome};
use sternhalma_ggp::Game;

use crate::client::{TestServer, encoded, references};
use crate::states::check_path;

fn position(server: &TestServer, text: &str) -> Value {
    server.value(&format!("/api/position?position={}", encoded(text)))
}

/// Checks an answer against the engine and the reference.
fn check(game: &ChineseCheckers, state: &GameState, answer: &Value) {
    let [reference, _] = references();
    let board = game.board();
    let distance = |side, army| u64::from(reference.distances[State::from_army(board, side, army).rank().0 as usize]);
    let [x, o] = Side::BOTH.map(|side| distance(side, state.army(side)));
    assert_eq!(answer["position"], game.position(state).to_string());
    assert_eq!((&answer["side"], &answer["pieces"], &answer["ply"]), (&json!(4), &json!(3), &json!(state.ply())));
    assert_eq!((&answer["player"], &answer["table"]), (&json!(state.player().to_string()), &json!("byte")));
    let known = |distance| json!({ "distance": distance, "exact": true });
    assert_eq!(answer["distances"], json!({ "x": known(x), "o": known(o) }));
    assert_eq!(answer["lead"], o as i64 - x as i64);
    let result = state.outcome().map(|outcome| match outcome {
        Outcome::Won(side) => side.to_string(),
        Outcome::Draw => "draw".to_owned(),
    });
    assert_eq!(answer["result"], json!(result));
    let rows = answer["moves"].as_array().unwrap();
    if state.outcome().is_some() {
        assert!(rows.is_empty());
        return;
    }
    let mut legal: Vec<_> = game.position(state).moves().map(|mv| game.geometry().move_text(mv)).collect();
    let mut found: Vec<_> = rows.iter().map(|row| row["move"].as_str().unwrap().to_owned()).collect();
    legal.sort();
    found.sort();
    assert_eq!(found, legal);
    let (player, occupied) = (state.player(), state.army(Side::X) | state.army(Side::O));
    let before = if player == Side::X { x } else { o };
    for row in rows {
        let mv = game.geometry().parse_move(row["move"].as_str().unwrap()).unwrap();
        let after = distance(player, state.army(player).without(mv.from).with(mv.to));
        assert_eq!((&row["distance"], &row["exact"]), (&json!(after), &json!(true)));
        assert_eq!(row["change"], after as i64 - before as i64);
        check_path(board, occupied, row);
    }
    assert!(rows.windows(2).all(|pair| pair[0]["distance"].as_u64() <= pair[1]["distance"].as_u64()));
}

#[test]
fn games_are_played_by_the_rules() {
    let server = TestServer::start();
    let game = ChineseCheckers::new(Board::new(4, 3).unwrap(), Filter::All);
    for choice in 0..3 {
        let mut state = game.initial();
        let mut answer = position(&server, &game.position(&state).to_string());
        for ply in 0..60 {
            check(&game, &state, &answer);
            let Some(row) = answer["moves"].as_array().unwrap().iter().cycle().nth(choice * ply % 5) else { break };
            let mv = row["move"].as_str().unwrap().to_owned();
            let action = sternhalma_engine::ugi::legal_action(&game, &state, &mv).unwrap();
            game.play_action(&mut state, action);
            let body = json!({ "position": answer["position"], "move": mv });
            answer = server.post("/api/position/play", &body).success();
            assert_eq!(answer, position(&server, answer["position"].as_str().unwrap()));
        }
        // The first choice is a race that ends.
        assert!(choice > 0 || state.outcome().is_some());
    }
}

#[test]
fn results_passes_and_separation_are_reported() {
    let server = TestServer::start();
    let won = position(&server, "2xx/2ox/4/oo2 o 30");
    assert_eq!((&won["result"], &won["moves"]), (&json!("x"), &json!([])));
    let drawn = position(&server, "2oo/3o/x3/xx2 x 1000");
    assert_eq!(drawn["result"], "draw");
    let start = position(&server, "startpos");
    assert_eq!(
        (&start["side"], &start["pieces"], &start["table"], &start["lead"]),
        (&json!(9), &json!(6), &json!(null), &json!(null))
    );
    assert_eq!(start["moves"][0]["distance"], json!(null));
    assert_eq!((&start["separated"], start["moves"].as_array().unwrap().len()), (&json!(false), 10));
    assert_eq!(position(&server, "2xx/2x1/o3/oo2 x 9")["separated"], true);
    let named = server.value("/api/position?position=startpos&table=part-zstd");
    assert_eq!((&named["side"], &named["table"]), (&json!(4), &json!("part-zstd")));
    assert_eq!(named["distances"]["x"], json!({ "distance": null, "exact": null }));
}

#[test]
fn a_player_without_a_move_passes() {
    let server = TestServer::start();
    // The pieces of `o` stand around the three empty cells.
    let text = "xxoo1/xxxxo/ooxxo/ooxxo/2oox x 5";
    assert_eq!(text.parse::<Position>().unwrap().moves().count(), 0);
    let answer = position(&server, text);
    let pass = json!({ "move": "pass", "path": [], "distance": null, "exact": null, "change": null });
    assert_eq!(answer["moves"], json!([pass]));
    let after = server.post("/api/position/play", &json!({ "position": text, "move": "pass" })).success();
    assert_eq!((&after["player"], &after["ply"]), (&json!("o"), &json!(6)));
    let start = json!({ "position": "startpos", "move": "pass" });
    assert!(server.post("/api/position/play", &start).error(400).contains("not legal"));
}

#[test]
fn invalid_positions_and_moves_are_refused() {
    let server = TestServer::start();
    for (text, why) in [
        ("", "is not a position"),
        ("startpos x", "is not a position"),
        ("2oo/3o/x3/xx2 y 0", "expected the player"),
        ("2oo/3o/x3/xx2 x -1", "is not a number of plies"),
        ("2oo/3o/x3/xx2 x 0 0", "one to three fields"),
        ("2oo/3o/x3/x3 x 0", "expected armies of the same size"),
        ("4/4/4/4 x 0", "expected 1 to"),
        ("xxxx/xxxx/xooo/oooo x 0", "expected armies of the same size"),
    ] {
        let message = server.get(&format!("/api/position?position={}", encoded(text))).error(400);
        assert!(message.contains(why), "{text}: {message}");
        server.post("/api/position/play", &json!({ "position": text, "move": "a1-a2" })).error(400);
    }
    assert_eq!(server.value("/api/position?position=startpos")["rules"], "blocked-goal-2");
    for mv in ["", "a1", "a1-i9", "a1-a1", "a1-a9", "PASS", "a1-a4x"] {
        server.post("/api/position/play", &json!({ "position": "startpos", "move": mv })).error(400);
    }
    server.get("/api/position?position=startpos&table=absent").error(404);
    server.get("/api/position?position=2oo/3o/x3/xx2&table=byte&x=1").error(400);
    let other = encoded("3oo/4o/5/x4/xx3 x 0");
    server.get(&format!("/api/position?position={other}&table=byte")).error(400);
    server.get("/api/position").error(400);
}

#[test]
fn the_server_lists_the_rule_sets() {
    let server = TestServer::start();
    let players = server.value("/api/players");
    let row = |row: &Value| {
        let name = row["name"].as_str().unwrap().to_owned();
        let position = server.value(&format!("/api/position?position=startpos&rules={name}"));
        assert_eq!(position["rules"], row["name"]);
        (name, row["repetitions"].as_u64(), row["current"].as_bool())
    };
    let rows: Vec<_> = players["rules"].as_array().unwrap().iter().map(row).collect();
    let expected = [("blocked-goal-2", Some(3), true), ("blocked-goal", Some(3), false), ("paper", None, true)];
    assert_eq!(rows, expected.map(|(name, repetitions, current)| (name.to_owned(), repetitions, Some(current))));
}
