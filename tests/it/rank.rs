//! `rank` and `unrank`.

use serde_json::json;
use sternhalma_data::{Board, Position, Side};

use crate::common::TestEnv;

#[test]
fn ranks_and_states_go_both_ways() {
    let env = TestEnv::new();
    for (side, pieces, ranks) in [
        (9, 10, vec![0u64, 1, 2, 1_000_000_007, 939_196_203_660, 1_878_392_407_318, 1_878_392_407_319]),
        (9, 6, vec![0, 85_320, 324_540_215]),
        (3, 8, vec![0, 8]),
        (11, 15, vec![0, 1 << 60]),
    ] {
        let board = format!("--side {side} --pieces {pieces}");
        for player in ["x", "o"] {
            for &rank in &ranks {
                let words = format!("{board} --player {player}");
                let state = env.run(&format!("unrank {words} {rank}")).success();
                let state = state.trim();
                assert_eq!(env.run(&format!("rank {words} {state}")).success(), format!("{rank}\n"));
                assert_eq!(env.run(&format!("unrank {words} #{rank}")).success().trim(), state);
                let both = json!({ "state": state, "rank": rank });
                assert_eq!(env.json(&format!("unrank {words} {rank} --json")), both);
                assert_eq!(env.json(&format!("rank {words} {state} --json")), both);
            }
        }
    }
}

#[test]
fn the_last_rank_is_home() {
    let env = TestEnv::new();
    let board = Board::new(9, 10).unwrap();
    let initial = Position::initial(board);
    for (text, player) in [("x", Side::X), ("o", Side::O)] {
        let home = board.geometry().cells_text(initial.army(player));
        let last = "1878392407319\n";
        let words = format!("--pieces 10 --player {text}");
        assert_eq!(env.run(&format!("rank {words} {home}")).success(), last);
        let args = ["rank"].into_iter().chain(words.split(' '));
        let position = initial.to_string();
        assert_eq!(env.run_args(args.chain([position.as_str()])).success(), last);
        let goal = board.geometry().cells_text(initial.army(player.other()));
        assert_eq!(env.run(&format!("rank {words} {goal}")).success(), "0\n");
    }
}
