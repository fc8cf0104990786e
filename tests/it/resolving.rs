//! Errors that come before work: before games, searches, tables and programs, and before files are written.

use std::path::Path;

use crate::common::{TestEnv, rulesheets};
use crate::tournament::{SMALL, answer, refused};

fn write(dir: &Path, name: &str, text: &str) {
    std::fs::write(dir.join(name), text).unwrap();
}

#[test]
fn a_series_reads_all_games_before_it_plays_one() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let games = rulesheets();
    write(dir, "broken.kif", "(role x\n");
    let series = |player: &str, second: &str| {
        format!(
            "title = 'x'\nrulesheets = ['.', {games:?}]\ngames = 2\nopening-plies = 0\nbudget = {{ playouts = 5 }}\n\
             [[player]]\nname = 'random'\n[[player]]\nname = 'a'\nplayer = '{player}'\n\
             [[player]]\nname = 'uct'\n[[game]]\nname = 'tic-tac-toe'\npairings = [['uct', 'random']]\n\
             [[game]]\nname = '{second}'\npairings = [['a', 'random']]\n"
        )
    };
    for (player, game, why) in
        [("nobody", "connect-four", "connect-four: unknown policy `nobody`"), ("uct", "broken", "broken: ./broken.kif")]
    {
        write(dir, "series.toml", &series(player, game));
        for more in [&["--log", "logs"][..], &["--plan"]] {
            let error = refused(dir, &[&["tournament", "-f", "series.toml"], more].concat());
            assert!(error.contains(why), "{error}");
            assert!(!error.contains("tic-tac-toe") && !dir.join("logs").exists(), "{error}");
        }
    }
    write(dir, "series.toml", &series("mast", "connect-four"));
    let budget = ["tournament", "-f", "series.toml", "--log", "logs", "--depth", "2"];
    let error = refused(dir, &budget);
    assert!(error.contains("does not bound its searches") && !dir.join("logs").exists(), "{error}");
}

#[test]
fn the_schedule_and_the_budgets_are_judged_before_tables_and_logs() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let error = refused(dir, &[&["tournament", "greedy", "heur0", "--sprt", "5,0"], &SMALL[..]].concat());
    assert!(error.contains("nElo") && !error.contains("distance table"), "{error}");
    let error = refused(dir, &[&["tournament", "heur0", "heur0"], &SMALL[..]].concat());
    assert!(error.contains("two players named `heur0`"), "{error}");
    let lanes = ["match", "uct", "random", "--rules", "tic-tac-toe", "--lock-step", "--games", "2", "--log", "log"];
    let error = refused(dir, &[&lanes[..], &["--movetime", "10"]].concat());
    assert!(error.contains("games in lock step need a budget of playouts or nodes alone"), "{error}");
    assert!(!dir.join("log").exists());
    answer(dir, &[&lanes[..], &["--playouts", "5"]].concat());
}

#[test]
fn policies_are_read_before_matches_check_the_rulesheet() {
    let dir = tempfile::tempdir().unwrap();
    // A game that never ends.
    write(dir.path(), "endless.kif", "(role x) (init a) (legal x wait) (next a) (goal x 0) (<= terminal (true b))");
    let error = refused(dir.path(), &["tournament", "uct", "nobody", "--rules", "endless.kif"]);
    assert!(error.contains("unknown policy `nobody`"), "{error}");
}

/// Returns a program that plays `greedy` and adds a line to the file `started` whenever it starts.
#[cfg(unix)]
fn counted(dir: &Path) -> String {
    use std::os::unix::fs::PermissionsExt;
    let (path, program) = (dir.join("counted"), env!("CARGO_BIN_EXE_sternhalma"));
    let text = format!("#!/bin/sh\necho >> started\nexec '{program}' ugi --side 5 --pieces 3 --player greedy\n");
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    format!("ugi:{}", path.display())
}

#[cfg(unix)]
#[test]
fn programs_are_started_once_and_after_the_openings_are_read() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let program = counted(dir);
    write(dir, "list", "# two\n\n3xx/4x/5/o4/oo3 o 9\n");
    let error = refused(dir, &[&["match", &program, "greedy", "--openings", "list"], &SMALL[..]].concat());
    assert!(error.contains("list: line 3: ") && !error.contains("opening 1"), "{error}");
    assert!(!dir.join("started").exists());
    let error = refused(dir, &[&["match", "heur0", "greedy", "--openings", "list"], &SMALL[..]].concat());
    assert!(error.contains("list: line 3: ") && !error.contains("distance table"), "{error}");
    answer(dir, &[&["match", &program, "greedy", "--games", "4", "--threads", "1"], &SMALL[..]].concat());
    assert_eq!(std::fs::read_to_string(dir.join("started")).unwrap(), "\n");
}

#[test]
fn a_refused_log_of_the_protocol_is_not_created() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    for command in ["match", "tournament"] {
        let error = refused(dir, &[&[command, "greedy", "random", "--debug", "x"], &SMALL[..]].concat());
        assert!(error.contains("no player is one"), "{error}");
    }
    write(
        dir,
        "series.toml",
        "rulesheets = ['.']\npairings = [['uct', 'random']]\n[[player]]\nname = 'uct'\n[[player]]\nname = 'random'\n[[game]]\nname = 'x'\n",
    );
    let error = refused(dir, &["tournament", "-f", "series.toml", "--debug", "x"]);
    assert!(error.contains("players of a series file are policies"), "{error}");
    assert!(!dir.join("x").exists());
}

#[test]
fn a_merge_reads_the_series_file_before_it_writes() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    std::fs::create_dir(dir.join("logs")).unwrap();
    let game = ["match", "greedy", "random", "--games", "2", "--log", "logs/a.ndjson"];
    answer(dir, &[&game[..], &SMALL].concat());
    for (inputs, why) in [("logs", "no.toml: cannot read"), ("logs/a.ndjson", "this is a log")] {
        let error = refused(dir, &["tournament", "merge", inputs, "-o", "new", "-f", "no.toml"]);
        assert!(error.contains(why), "{error}");
        assert!(!dir.join("new").exists(), "{inputs}");
    }
}

#[test]
fn the_player_of_an_exported_game_is_read_before_positions_are_looked_up() {
    let env = TestEnv::new();
    env.file("game.shg", "[Size \"5\"]\n[Pieces \"3\"]\n\n1. a2-a3 *\n");
    let error = env.run_args(["export-game", "game.shg", "-o", "x", "--player", "nobody"]).err;
    assert!(error.contains("there is no player `nobody`") && !error.contains("no distance table"), "{error}");
}
