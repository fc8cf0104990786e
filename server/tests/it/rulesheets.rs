//! Rulesheets: answers are those of the prover, and no rulesheet stops the server.

use std::collections::BTreeMap;

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde_json::{Value, json};
use sternhalma_ggp::gdl::{GAMES, Goal, Prover, ProverState, Rules};
use tempfile::TempDir;

use crate::client::TestServer;

/// A rulesheet whose relation `n` grows without end.
const ENDLESS: &str = "(role a) (init (on 1)) (n 0) (<= (n (s ?x)) (n ?x)) (<= (legal a (m ?x)) (n ?x))
    (<= (next (on ?x)) (true (on ?x))) (<= terminal (true (on 2))) (goal a 50)";

/// Returns rules with `n` terms, the last of which contains the first one 2^`n` times, and two uses of them.
fn doubling(n: usize, uses: &str) -> String {
    let steps: String = (0..n).map(|step| format!("(<= (d{} (f ?x ?x)) (d{step} ?x)) ", step + 1)).collect();
    format!("(role a) (d0 x) {steps} {uses} (init (on 1)) (<= terminal (true (on 2))) (goal a 50)")
}

/// A rulesheet whose moves are five of 100 objects.
fn huge() -> String {
    let objects: String = (0..100).map(|n| format!("(o {n}) ")).collect();
    format!(
        "(role a) (init (on 1)) {objects} (<= (legal a (m ?a ?b ?c ?d ?e)) (o ?a) (o ?b) (o ?c) (o ?d) (o ?e))
         (<= (next (on ?x)) (true (on ?x))) (<= terminal (true (on 2))) (goal a 50)"
    )
}

fn server(files: &[(&str, &str)]) -> (TempDir, TestServer) {
    let dir = tempfile::tempdir().unwrap();
    files.iter().for_each(|(name, text)| std::fs::write(dir.path().join(name), text).unwrap());
    let path = dir.path().to_owned();
    (dir, TestServer::with(|options| options.rulesheets = Some(path)))
}

fn state(server: &TestServer, name: &str, body: &Value) -> Value {
    server.post(&format!("/api/rulesheets/{name}/state"), body).success()
}

/// Returns the answer about a state that follows from the prover.
fn expected(prover: &mut Prover, state: &ProverState) -> (Value, Value, Vec<Value>) {
    let sorted = |mut texts: Vec<String>| {
        texts.sort();
        texts
    };
    let terminal = prover.is_terminal(state).unwrap();
    let goals = prover.goals(state).unwrap();
    let roles = (0..goals.len()).map(|role| {
        let legal = if terminal { Vec::new() } else { prover.legal(state, role).unwrap() };
        let legal = sorted(legal.into_iter().map(|mv| prover.text(mv)).collect());
        let goal = if let Goal::Value(value) = goals[role] { Some(value) } else { None };
        json!({ "role": prover.text(prover.roles()[role]), "legal": legal, "goal": goal })
    });
    let roles = roles.collect();
    let fluents = sorted(state.fluents().iter().map(|&fluent| prover.text(fluent)).collect());
    (json!(fluents), json!(terminal), roles)
}

#[test]
fn states_of_random_games_are_those_of_the_prover() {
    let server = TestServer::start();
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
    for game in GAMES {
        let mut prover = Prover::new(&Rules::parse(game.text).unwrap()).unwrap();
        let mut now = prover.initial().unwrap();
        let mut found = state(&server, game.name, &json!({}));
        for _ in 0..12 {
            let (fluents, terminal, roles) = expected(&mut prover, &now);
            assert_eq!(
                (&found["state"], &found["terminal"], &found["roles"]),
                (&fluents, &terminal, &json!(roles)),
                "{}",
                game.name
            );
            if terminal == json!(true) {
                break;
            }
            let (mut joint, mut moves, mut played) = (Vec::new(), BTreeMap::new(), BTreeMap::new());
            for row in &roles {
                let legal = row["legal"].as_array().unwrap();
                let text = legal[rng.random_range(0..legal.len())].as_str().unwrap();
                joint.push(prover.term(text).unwrap());
                let role = row["role"].as_str().unwrap();
                played.insert(role, text.to_owned());
                // A role with one move needs none.
                if legal.len() > 1 {
                    moves.insert(role, text.to_owned());
                }
            }
            found = state(&server, game.name, &json!({ "state": fluents, "moves": moves }));
            assert_eq!(found["played"], json!(played));
            now = prover.next(&now, &joint).unwrap();
        }
    }
}

#[test]
fn policies_choose_legal_moves() {
    let count = "(role a) (init (n z)) (legal a go) (legal a stay) (<= (next (n (s ?x))) (true (n ?x)))
        (<= terminal (true (n (s (s z))))) (<= (goal a 50) terminal)";
    let (_dir, server) = server(&[("count.kif", count)]);
    let choose = |name: &str, body: Value| server.post(&format!("/api/rulesheets/{name}/move"), &body);
    let start = state(&server, "tic-tac-toe", &json!({}));
    let role = start["roles"].as_array().unwrap().iter().find(|row| row["legal"].as_array().unwrap().len() > 1);
    let (role, legal) = (&role.unwrap()["role"], &role.unwrap()["legal"]);
    for policy in ["random", "uct", "adaptive", "mini"] {
        let found = choose("tic-tac-toe", json!({ "role": role, "policy": policy, "playouts": 50 })).success();
        assert!(legal.as_array().unwrap().contains(&found["move"]), "{found}");
        let visits: u64 = found["moves"].as_array().unwrap().iter().map(|row| row["visits"].as_u64().unwrap()).sum();
        assert!(policy == "random" || visits >= 50 && found["engine"] == "network", "{found}");
    }
    // Terms grow without bound, so there is no network, and the prover plays.
    let found = choose("count", json!({ "role": "a", "policy": "uct", "playouts": 20 })).success();
    assert_eq!(found["engine"], "prover");
    // Both roles of a simultaneous game choose.
    let pennies = state(&server, "matching-pennies", &json!({}));
    for row in pennies["roles"].as_array().unwrap() {
        let found = choose("matching-pennies", json!({ "role": row["role"], "playouts": 20 })).success();
        assert!(row["legal"].as_array().unwrap().contains(&found["move"]), "{found}");
    }
}

#[test]
fn wrong_requests_are_refused_in_one_line() {
    let server = TestServer::start();
    let start = state(&server, "tic-tac-toe", &json!({}));
    let (first, second) = (&start["roles"][0]["role"], &start["roles"][1]["role"]);
    let (first, second) = (first.as_str().unwrap(), second.as_str().unwrap());
    let post =
        |route: &str, body: Value| server.post(&format!("/api/rulesheets/tic-tac-toe/{route}"), &body).error(400);
    assert!(post("state", json!({ "moves": { "nobody": "noop" } })).contains("there is no role `nobody`"));
    let illegal = server.post("/api/rulesheets/tic-tac-toe/state", &json!({ "moves": { first: "(mark 9 9)" } }));
    assert_eq!(
        illegal.error(400),
        format!("`(mark 9 9)` is not legal for {first}; expected a move such as `(mark 1 1)`")
    );
    assert_eq!(illegal.code(), "illegal-move");
    for text in ["mark 9 9", "(mark 1", "mark 1 1)", ""] {
        assert!(post("state", json!({ "moves": { first: text } })).contains("such as `(mark 1 1)`"), "{text}");
    }
    for text in ["(square 9 9 x)", "(unknown fluent)", "(square 1 1)"] {
        for (route, role) in [("state", Value::Null), ("move", json!(first))] {
            let body =
                if role.is_null() { json!({ "state": [text] }) } else { json!({ "state": [text], "role": role }) };
            let error = post(route, body);
            assert!(error.starts_with(&format!("`{text}` is not a fluent of the rulesheet")), "{error}");
        }
    }
    assert!(post("state", json!({ "moves": { second: "noop" } })).contains("expected a move of"));
    for text in ["(cell ?x)", "(cell", "", "a b", "((a) b)", "\u{0}(", &"(".repeat(100_000)] {
        assert!(post("state", json!({ "state": [text] })).contains("not a ground term"), "{text}");
    }
    post("state", json!({ "other": 1 }));
    post("move", json!({ "role": "nobody" }));
    post("move", json!({ "role": first, "policy": "no policy" }));
    post("move", json!({ "role": first, "playouts": 0 }));
    post("move", json!({ "role": first, "seconds": -1 }));
    for name in ["absent", "..%2Fx", "%00"] {
        server.get(&format!("/api/rulesheets/{name}")).error(404);
    }
}

#[test]
fn the_outer_parentheses_of_a_move_are_optional() {
    let server = TestServer::start();
    let start = state(&server, "tic-tac-toe", &json!({}));
    let role = start["roles"][0]["role"].as_str().unwrap();
    let played = |text: &str| state(&server, "tic-tac-toe", &json!({ "moves": { role: text } }));
    assert_eq!(played("(mark 1 1)")["played"][role], "(mark 1 1)");
    assert_eq!(played("mark 1  1"), played("(mark 1 1)"));
}

#[test]
fn rulesheets_with_errors_are_refused() {
    let fine =
        "(role a) (init (n 1)) (legal a go) (<= (next (n 2)) (does a go)) (<= terminal (true (n 2))) (goal a 50)";
    let unused = format!("{fine} (other 1)");
    let recursive = format!("{fine} (<= (p ?x) (not (p ?x)))");
    // Only a match shows that a role has no goal.
    let played = fine.replace("(goal a 50)", "(<= (goal a 50) (true (n 3)))");
    let files = [("unused.kif", &unused), ("unsafe.kif", &recursive), ("played.kif", &played)];
    let (_dir, server) = server(&files.map(|(name, text)| (name, text.as_str())));
    for (name, code) in [("unsafe", "unsafe"), ("played", "no-goal")] {
        let details = server.value(&format!("/api/rulesheets/{name}"));
        assert!(details["error"].as_str().unwrap().contains(&format!("error[{code}]")), "{details}");
        for (route, body) in [("state", json!({})), ("move", json!({ "role": "a" }))] {
            let answer = server.post(&format!("/api/rulesheets/{name}/{route}"), &body);
            let error = answer.error(400);
            assert!(error.starts_with("the rulesheet is invalid: ") && error.contains(&format!("[{code}]")), "{error}");
            assert_eq!(answer.code(), "invalid-rulesheet");
        }
    }
    let details = server.value("/api/rulesheets/unused");
    assert_eq!((&details["error"], &details["findings"][0]["severity"]), (&json!(null), &json!("warning")));
    state(&server, "unused", &json!({}));
}

#[test]
fn rulesheets_have_roles_text_and_findings() {
    let text = "(role me) (init on) (legal me go) terminal (goal me 1)";
    let (_dir, server) =
        server(&[("own.kif", text), ("part.kif", "(role me)"), ("broken.kif", "(role"), ("other.txt", "")]);
    let list = server.value("/api/rulesheets");
    let rows = list["rulesheets"].as_array().unwrap();
    assert_eq!(rows.len(), GAMES.len() + 3);
    let row = |name: &str| rows.iter().find(|row| row["name"] == name).unwrap();
    assert_eq!((&row("own")["source"], &row("own")["roles"]), (&json!("directory"), &json!(["me"])));
    assert!(row("broken")["error"].is_string() && row("othello")["error"].is_null());
    assert_eq!(server.value("/api/rulesheets/own")["text"], text);
    let part = server.value("/api/rulesheets/part");
    assert!(part["findings"].as_array().unwrap().iter().any(|finding| finding["code"] == "missing"), "{part}");
    assert!(part["error"].is_string() && row("part")["error"] == part["error"], "{part}");
    assert_eq!(server.value("/api/rulesheets/tic-tac-toe")["findings"], json!([]));
}

#[test]
fn texts_that_are_much_longer_than_their_terms_are_refused() {
    let long = doubling(40, "(<= (legal a (m ?x)) (d40 ?x))");
    // Each of 40,000 fluents has about 1 KB.
    let objects: String = (0..200).map(|n| format!("(o {n}) ")).collect();
    let many =
        doubling(7, &format!("{objects} (legal a go) (legal a stay) (<= (init (p ?i ?j ?x)) (o ?i) (o ?j) (d7 ?x))"));
    let (_dir, server) = server(&[("long.kif", &long), ("many.kif", &many)]);
    for (name, why) in [("long", "longer than 65536 bytes"), ("many", "more than 16 MiB")] {
        for path in ["state", "move"] {
            let body = if path == "move" { json!({ "role": "a" }) } else { json!({}) };
            let error = server.post(&format!("/api/rulesheets/{name}/{path}"), &body).error(400);
            assert!(error.contains(why), "{name}, {path}: {error}");
        }
        server.get(&format!("/api/rulesheets/{name}")).success();
    }
}

#[test]
fn exploding_rulesheets_are_given_up_and_others_answered() {
    let (_dir, server) = server(&[("endless.kif", ENDLESS), ("huge.kif", &huge())]);
    let answers = ["endless", "huge"].map(|name| {
        server.get(&format!("/api/rulesheets/{name}")).success();
        server.post(&format!("/api/rulesheets/{name}/move"), &json!({ "role": "a", "seconds": 1 })).status
    });
    assert!(answers.iter().all(|status| [400, 503].contains(status)), "{answers:?}");
    state(&server, "tic-tac-toe", &json!({}));
    server.value("/api/rulesheets");
}

#[test]
fn a_role_without_a_legal_move_is_named() {
    let stuck = "(role first) (role second) (init (on 1)) (legal first go) (<= (legal second go) (true (on 2)))
        (<= (next (on 2)) (does first go)) (<= terminal (true (on 2))) (goal first 50) (goal second 50)";
    let (_dir, server) = server(&[("stuck.kif", stuck)]);
    for moves in [json!({}), json!({ "second": "go" })] {
        let error = server.post("/api/rulesheets/stuck/state", &json!({ "moves": moves })).error(400);
        assert!(error.contains("error[no-legal-move]: second has no legal move"), "{error}");
    }
}
