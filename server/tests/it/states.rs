//! Tables, states, lines, heat maps and random states, against a search by brute force.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value, json};
use sternhalma_data::{Board, CellSet, Position, Rank, Side, State};
use sternhalma_testutil::Reference;

use crate::client::{TestServer, encoded, references, table_names};

/// Returns the distance that a table of a reference knows, and whether it is exact.
fn expected(reference: &Reference, state: State) -> (Option<u8>, Option<bool>) {
    if !state.cells().is_subset(reference.prefix.cells()) {
        return (None, None);
    }
    let distance = reference.distances[state.rank().0 as usize];
    let exact = reference.boundary_layer.is_none_or(|layer| u32::from(distance) <= layer + 2);
    (Some(distance), Some(exact))
}

/// Returns the legal moves of an army alone, by the rules of positions.
fn moves(board: Board, side: Side, army: CellSet) -> BTreeMap<String, State> {
    let [x, o] = if side == Side::X { [army, CellSet::EMPTY] } else { [CellSet::EMPTY, army] };
    let position = Position::new(board.geometry(), x, o, side, 0).unwrap();
    let after = |mv| State::from_army(board, side, position.after(mv).army(side));
    position.moves().map(|mv| (board.geometry().move_text(mv), after(mv))).collect()
}

/// Checks that a path is a chain of hops on the board by coordinates: one step, or jumps over single pieces.
pub fn check_path(board: Board, occupied: CellSet, row: &Value) {
    let geometry = board.geometry();
    let text = row["move"].as_str().unwrap();
    let cells: Vec<_> = row["path"]
        .as_array()
        .unwrap()
        .iter()
        .map(|cell| geometry.parse_cell(cell.as_str().unwrap()).unwrap())
        .collect();
    let ends = format!("{}-{}", geometry.cell_name(cells[0]), geometry.cell_name(*cells.last().unwrap()));
    assert_eq!(ends, text);
    let others = occupied.without(cells[0]);
    for hop in cells.windows(2) {
        let [(ax, ay), (bx, by)] =
            [hop[0], hop[1]].map(|cell| geometry.coordinates(cell)).map(|(x, y)| (x as i8, y as i8));
        let (dx, dy) = (bx - ax, by - ay);
        let is_line = dx == 0 || dy == 0 || dx == -dy;
        let length = dx.abs().max(dy.abs());
        let over = geometry.at(((ax + bx) / 2) as u8, ((ay + by) / 2) as u8).unwrap();
        let is_step = length == 1 && cells.len() == 2;
        let is_jump = length == 2 && others.contains(over);
        assert!(is_line && (is_step || is_jump) && !others.contains(hop[1]), "{row}");
    }
}

/// Checks the answer for a state against the reference.
fn check_state(server: &TestServer, reference: &Reference, table: &str, state: State, side: Side) {
    let board = reference.prefix.board();
    let army = state.to_army(board, side);
    let text = board.geometry().cells_text(army);
    let answer = server.value(&format!("/api/tables/{table}/state?state={text}&player={side}"));
    let (distance, exact) = expected(reference, state);
    let category = match (distance, exact) {
        (Some(0), _) => "goal",
        (_, Some(true)) => "exact",
        (_, Some(false)) => "bound",
        (_, None) => "outside",
    };
    assert_eq!(answer["state"], text);
    assert_eq!(answer["player"], side.to_string());
    assert_eq!(answer["rank"], state.rank().0);
    assert_eq!((&answer["distance"], &answer["exact"]), (&json!(distance), &json!(exact)), "{table} {answer}");
    assert_eq!(answer["category"], category);
    let expected_moves = moves(board, side, army);
    let rows = answer["moves"].as_array().unwrap();
    assert_eq!(rows.len(), expected_moves.len());
    let mut before = 0;
    for row in rows {
        let (after, exact) = expected(reference, expected_moves[row["move"].as_str().unwrap()]);
        assert_eq!((&row["distance"], &row["exact"]), (&json!(after), &json!(exact)), "{row}");
        let change = after.zip(distance).map(|(after, before)| i16::from(after) - i16::from(before));
        assert_eq!(row["change"], json!(change));
        let order = after.map_or(255, u64::from);
        assert!(order >= before, "{answer}");
        before = order;
        check_path(board, army, row);
    }
}

#[test]
fn states_of_every_table_have_the_distances_of_the_reference() {
    let server = TestServer::start();
    for (reference, partial) in references().iter().zip([false, true]) {
        for table in table_names(partial) {
            for rank in (0..reference.prefix.board().states()).step_by(61) {
                for side in Side::BOTH {
                    check_state(&server, reference, &table, Rank(rank).state(3), side);
                }
            }
        }
    }
}

#[test]
fn states_are_read_in_every_form() {
    let server = TestServer::start();
    let state = |text: &str, player: &str| {
        server.value(&format!("/api/tables/byte/state?state={}&player={player}", encoded(text)))
    };
    let expected = state("d4,c4,d3", "x");
    for text in ["D4 C4 D3", "#0", "2xx/3x/4/oooo x 0", "2xx/3x/4/oooo"] {
        assert_eq!(state(text, "x"), expected, "{text}");
    }
    assert_eq!(state("startpos", "o")["rank"], 559);
    assert_eq!(server.value("/api/tables/byte/state?state=startpos")["player"], "x");
    for (query, why) in [
        ("state=a1", "expected 3 pieces, got 1"),
        ("state=a1,b1,a1", "`a1` is given twice"),
        ("state=a1,b1,z9", "`z9` is not a cell"),
        ("state=%23560", "`560` is not a rank"),
        ("state=9/9", "is not a position"),
        ("state=", "`` is not a cell"),
        ("player=x", "missing field `state`"),
        ("state=%230&player=z", "expected the player `x` or `o`"),
        ("state=%230&moves=1", "unknown field `moves`"),
        ("state=%230&state=%231", "duplicate field `state`"),
        ("state=%ff", "`\u{fffd}` is not a cell"),
    ] {
        let message = server.get(&format!("/api/tables/byte/state?{query}")).error(400);
        assert!(message.contains(why), "{query}: {message}");
    }
    server.get("/api/tables/absent/state?state=%230").error(404);
    assert!(server.get("/api/tables/damaged/state?state=%230").error(500).contains("not a Sternhalma table"));
}

#[test]
fn lines_lead_to_the_goal_by_legal_moves() {
    let server = TestServer::start();
    for (reference, partial) in references().iter().zip([false, true]) {
        let board = reference.prefix.board();
        for table in table_names(partial) {
            for rank in (0..board.states()).step_by(97) {
                let start = Rank(rank).state(3);
                let path = format!("/api/tables/{table}/line?state=%23{rank}&player=o");
                let (Some(distance), exact) = expected(reference, start) else {
                    assert!(server.get(&path).error(404).contains("does not cover"));
                    continue;
                };
                let answer = server.value(&path);
                assert_eq!((&answer["distance"], &answer["exact"]), (&json!(distance), &json!(exact)));
                let line = answer["line"].as_array().unwrap();
                assert_eq!(line.len(), usize::from(distance));
                let (mut state, mut left) = (start, distance);
                for row in line {
                    let army = state.to_army(board, Side::O);
                    check_path(board, army, row);
                    state = moves(board, Side::O, army)[row["move"].as_str().unwrap()];
                    left -= 1;
                    assert_eq!(
                        (&row["state"], &row["distance"]),
                        (&json!(board.state_text(state, Side::O)), &json!(left))
                    );
                    assert_eq!(expected(reference, state).0, Some(left));
                }
                assert_eq!(state, State::goal(board));
            }
        }
    }
}

#[test]
fn heat_maps_have_the_distance_for_each_free_cell() {
    let server = TestServer::start();
    let [_, reference] = references();
    let board = reference.prefix.board();
    for side in Side::BOTH {
        for rank in [0, 77, 300, 559] {
            let army = Rank(rank).state(3).to_army(board, side);
            for piece in army {
                let name = board.geometry().cell_name(piece);
                let answer =
                    server.value(&format!("/api/tables/part-byte/heat?state=%23{rank}&player={side}&piece={name}"));
                let cells = answer["cells"].as_array().unwrap();
                let others = army.without(piece);
                let free = (0..16).map(sternhalma_data::Cell::new).filter(|&cell| !others.contains(cell));
                let rows: Vec<Value> = free
                    .map(|cell| {
                        let (distance, exact) = expected(&reference, State::from_army(board, side, others.with(cell)));
                        json!({ "cell": board.geometry().cell_name(cell), "distance": distance, "exact": exact })
                    })
                    .collect();
                assert_eq!(cells, &rows);
                assert_eq!(answer["piece"], name);
            }
        }
    }
    assert!(server.get("/api/tables/byte/heat?state=startpos&piece=d4").error(400).contains("no piece on `d4`"));
    server.get("/api/tables/byte/heat?state=startpos&piece=e1").error(400);
}

#[test]
fn random_states_have_the_distance_and_follow_the_seed() {
    let server = TestServer::start();
    let [reference, _] = references();
    for distance in 0..=*reference.distances.iter().max().unwrap() {
        let path = |seed| format!("/api/tables/zstd/random?distance={distance}&player=o&seed={seed}");
        let answer = server.value(&path(5));
        assert_eq!(answer["distance"], distance);
        assert_eq!(reference.distances[answer["rank"].as_u64().unwrap() as usize], distance);
        let board = reference.prefix.board();
        let state = board.parse_state(answer["state"].as_str().unwrap(), Side::O).unwrap();
        assert_eq!(answer["rank"], state.rank().0);
        assert_eq!(answer, server.value(&path(5)));
    }
    let free = server.get("/api/tables/byte/random?distance=3");
    assert_eq!((free.status, free.header("cache-control")), (200, Some("no-store")));
    for distance in ["99", "255"] {
        server.get(&format!("/api/tables/byte/random?distance={distance}")).error(404);
    }
    for query in ["", "distance=256", "distance=-1", "distance=x", "distance=1&seed=-1"] {
        server.get(&format!("/api/tables/byte/random?{query}")).error(400);
    }
}

#[test]
fn the_tables_are_listed_with_their_metadata() {
    let server = TestServer::start();
    let list = server.value("/api/tables");
    let names: Vec<&str> = list["tables"].as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap()).collect();
    let mut expected: Vec<String> = table_names(false).into_iter().chain(table_names(true)).collect();
    expected.sort();
    assert_eq!(names, expected);
    assert_eq!(list["unreadable"][0]["name"], "damaged");
    assert!(list["unreadable"][0]["error"].as_str().unwrap().contains("not a Sternhalma table"));
    for (reference, partial) in references().iter().zip([false, true]) {
        let start = expected_start(reference);
        for table in table_names(partial) {
            let answer = server.value(&format!("/api/tables/{table}"));
            let listed = list["tables"].as_array().unwrap().iter().find(|row| row["name"] == table).unwrap();
            for (key, value) in listed.as_object().unwrap() {
                assert_eq!(&answer[key], value);
            }
            let layers = |distance| reference.distances.iter().filter(|&&found| found == distance).count();
            let most = *reference.distances.iter().max().unwrap();
            assert_eq!(answer["layers"], json!((0..=most).map(layers).collect::<Vec<_>>()));
            assert_eq!((&answer["max_distance"], &answer["start_distance"]), (&json!(most), &json!(start)));
            assert_eq!(answer["exact_to"], json!(reference.boundary_layer.map(|layer| layer + 2)));
            assert_eq!((&answer["side"], &answer["pieces"]), (&json!(4), &json!(3)));
            assert_eq!(answer["within"], reference.prefix.within());
            assert_eq!(answer["states"], reference.prefix.states());
            let partitions = answer["partitions"].as_array().unwrap();
            assert_eq!(
                partitions.iter().map(|row| row["states"].as_u64().unwrap()).sum::<u64>(),
                reference.prefix.states()
            );
            assert_eq!(partitions[0], json!({ "back": "c4", "within": 3, "states": 1 }));
            assert!(answer["provenance"]["program"].is_string());
        }
    }
    server.get("/api/tables?x=1").error(400);
}

fn expected_start(reference: &Reference) -> Option<u8> {
    expected(reference, State::start(reference.prefix.board())).0
}

#[test]
fn answers_are_kept_until_the_table_changes() {
    let server = TestServer::start();
    let paths = ["", "/state?state=%239", "/line?state=%239", "/heat?state=startpos&piece=a1"];
    let mut tags = Vec::new();
    for path in paths {
        let path = format!("/api/tables/byte{path}");
        let answer = server.get(&path);
        let etag = answer.header("etag").unwrap().to_owned();
        assert_eq!(answer.header("cache-control"), Some("no-cache"));
        let known = format!("\"1\", {etag}");
        let again = server.request("GET", &path, &[("if-none-match", &known)], b"");
        assert_eq!((again.status, again.body.len(), again.header("etag")), (304, 0, Some(&*etag)));
        assert_eq!(server.request("GET", &path, &[("if-none-match", "\"1\"")], b"").status, 200);
        tags.push(etag);
    }
    tags.sort();
    tags.dedup();
    assert_eq!(tags.len(), paths.len());
    // Another table takes the name.
    let [_, reference] = references();
    reference.write(&server.dir.path().join("new"), sternhalma_data::Encoding::Byte);
    std::fs::rename(server.dir.path().join("new"), server.dir.path().join("byte.sht")).unwrap();
    let answer = server.get("/api/tables/byte/state?state=%239");
    assert!(!tags.iter().any(|tag| Some(&**tag) == answer.header("etag")));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]
    #[test]
    fn random_texts_get_the_answer_of_the_library(
        text in prop_oneof!["[a-d][1-4],[a-d][1-4],[a-d][1-4]", "#[0-9]{1,3}", "[a-e1-5,#/ ]{0,12}", any::<String>()],
        side in prop::sample::select(Side::BOTH.to_vec()),
    ) {
        let (server, [reference, _]) = (shared(), references());
        let board = reference.prefix.board();
        let query = format!("/api/tables/mod3/state?state={}&player={side}", encoded(&text));
        match board.parse_state(&text, side) {
            Ok(state) => check_state(server, &reference, "mod3", state, side),
            Err(error) => {
                let message = error.to_string().replace(char::is_control, " ");
                prop_assert_eq!(server.get(&query).error(400), message);
            }
        }
    }
}

/// Returns a server that property tests share.
fn shared() -> &'static TestServer {
    static SERVER: std::sync::OnceLock<TestServer> = std::sync::OnceLock::new();
    SERVER.get_or_init(TestServer::start)
}
