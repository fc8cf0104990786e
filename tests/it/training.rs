//! Games of self-play, and weights that are trained from them.

use crate::common::TestEnv;

const BOARD: &str = "--side 5 --pieces 3";

/// Returns the command that generates games.
fn datagen(positions: u64) -> String {
    format!("datagen {BOARD} -o games.bin --positions {positions} --nodes 30 --opening-plies 2-4 --threads 2")
}

#[test]
fn games_are_generated_extended_and_refused() {
    let env = TestEnv::new();
    env.build(BOARD);
    let first = env.run(&datagen(200)).success();
    assert!(first.contains(" games, ") && first.contains(" positions"), "{first}");
    let complete = env.run(&datagen(200));
    assert!(complete.err.contains("is complete"), "{}", complete.err);
    // A larger file begins with the same games, and a torn end is repaired.
    let before = std::fs::read(env.path("games.bin")).unwrap();
    env.run(&datagen(600)).success();
    let after = std::fs::read(env.path("games.bin")).unwrap();
    assert!(after.len() > before.len() && after.starts_with(&before));
    std::fs::write(env.path("games.bin"), &after[..after.len() - 5]).unwrap();
    let repaired = env.run(&datagen(600));
    assert!(repaired.err.contains("after the last complete block"), "{}", repaired.err);
    let another = env.run(&(datagen(600) + " --seed 2"));
    assert_eq!(another.code, 2);
    assert!(another.err.starts_with("error: games.bin: ") && another.err.lines().count() == 1, "{}", another.err);
    // Another table may lead to other games.
    env.run(&format!("build {BOARD} --within 9 -o part.sht")).success();
    let other_table = env.run(&(datagen(700) + " --table part.sht"));
    assert!(other_table.code == 2 && other_table.err.contains("`table` is "), "{}", other_table.err);
    assert!(env.run(&datagen(1).replace("2-4", "4-2")).err.contains("the smaller number first"));
}

#[test]
fn a_player_uses_trained_weights() {
    let env = TestEnv::new();
    env.build(BOARD);
    env.run(&datagen(600)).success();
    env.run("train games.bin -o weights.bin --epochs 2 --hidden 4 --held-out 20").success();
    let again = "train games.bin -o again.bin --epochs 2 --hidden 4 --held-out 20 --threads 1";
    env.run(again).success();
    let [one, two] = ["weights.bin", "again.bin"].map(|name| std::fs::read(env.path(name)).unwrap());
    assert_eq!(one, two);
    for evaluation in ["linear", "network"] {
        let player = format!("sternhalma,evaluation={evaluation},weights=weights.bin");
        env.run(&format!("match {player} greedy {BOARD} --games 2 --nodes 20")).success();
    }
    // A file of games is not extended with other weights of the same name.
    let more =
        datagen(100).replace("games.bin", "more.bin") + " --player sternhalma,evaluation=linear,weights=weights.bin";
    env.run(&more).success();
    env.run("train games.bin -o weights.bin --force --model linear --blend 0.1").success();
    let refused = env.run(&more);
    assert!(refused.code == 2 && refused.err.contains("`weights` is "), "{}", refused.err);
    env.build("--side 5 --pieces 4");
    let other = env.run("match sternhalma,evaluation=network,weights=weights.bin greedy --side 5 --pieces 4");
    assert!(other.code == 2 && other.err.contains("weights.bin"), "{}", other.err);
    env.file("noise.bin", "no games");
    let noise = env.run("train noise.bin -o w.bin");
    assert!(noise.code == 2 && noise.err.starts_with("error: noise.bin: "), "{}", noise.err);
}
