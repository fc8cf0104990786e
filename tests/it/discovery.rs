//! The commands that list players, policies, games and boards.

use std::fs;

use serde_json::{Value, json};

use crate::common::{TestEnv, names};

#[test]
fn players_are_listed_and_explained() {
    let env = TestEnv::new();
    let rows = env.json("players --json");
    let row = |name: &str| rows.as_array().unwrap().iter().find(|row| row["name"] == name).unwrap();
    assert_eq!(rows.as_array().unwrap().len(), 19);
    for (name, table) in [("sternhalma", true), ("mcts", true), ("heur0", true), ("base0", false), ("greedy", false)] {
        assert_eq!(row(name)["needs_table"], table, "{name}");
        assert!(!row(name)["about"].as_str().unwrap().is_empty() && !row(name)["search"].as_str().unwrap().is_empty());
    }
    let text = env.run("players").success();
    assert_eq!(text.lines().count(), 20);
    assert!(text.lines().any(|line| line.starts_with("heur0 ") && line.contains(" needed ")), "{text}");
    env.file("mine.toml", "[mine]\nlike = 'heur0'\nc = 0.25\nabout = 'my own'\n");
    let text = env.run("players mine greedy,kind=random --players mine.toml").success();
    assert!(text.starts_with("# my own\n# needs a distance table\n[mine]\nkind = \"uct\"\n"), "{text}");
    assert!(text.contains("\nc = 0.25\n") && text.ends_with("\n[greedy]\nkind = \"random\"\n"), "{text}");
    // Printed text can be parsed again.
    env.file("printed.toml", env.run("players heur0").success().replace("heur0", "again"));
    let again = env.json("players again --players printed.toml --json");
    assert_eq!(again[0]["parameters"], row("heur0")["parameters"]);
}

#[test]
fn policies_are_listed_with_their_parameters() {
    let env = TestEnv::new();
    let listed = env.json("policies --json");
    for policy in listed["policies"].as_array().unwrap() {
        let [name, definition] = ["name", "definition"].map(|key| policy[key].as_str().unwrap());
        let texts =
            env.json(&format!("policies {name} {} --json", if definition.is_empty() { name } else { definition }));
        assert_eq!(texts[0], texts[1], "{name}");
    }
    let parameters = listed["parameters"].as_array().unwrap();
    let epsilon = parameters.iter().find(|row| row["key"] == "epsilon").unwrap();
    assert!(epsilon["needs"].as_str().unwrap().contains("playout=mast"), "{epsilon}");
    let text = env.run("policies").success();
    for row in parameters {
        assert!(text.contains(&format!("\n{}: ", row["key"].as_str().unwrap())), "{row}");
    }
    let ran = env.run("policies utc");
    assert!(ran.code == 2 && ran.err.contains("did you mean `uct`?"), "{ran:?}");
}

#[test]
fn games_are_listed_and_printed() {
    let env = TestEnv::new();
    let rows = env.json("games --json");
    let row = rows.as_array().unwrap().iter().find(|row| row["name"] == "othello").unwrap();
    assert_eq!(*row, json!({ "name": "othello", "title": "Othello", "roles": ["black", "white"] }));
    assert_eq!(env.run("games").success().lines().count(), rows.as_array().unwrap().len() + 1);
    env.file("game.kif", env.run("games tic-tac-toe").success());
    env.run("gdl check game.kif").success();
    let error = env.run("games tictactoe").refusal();
    assert!(error.contains("did you mean `tic-tac-toe`?"), "{error}");
}

#[test]
fn positions_are_drawn() {
    let env = TestEnv::new();
    let start = env.run("show --side 3 --pieces 3").success();
    let lines: Vec<&str> = start.lines().collect();
    assert_eq!(
        lines,
        ["     c3  o", "   b3  o   o  c2", " a3  .   .   .  c1", "   a2  x   x  b1", "     a1  x", "1oo/x1o/xx1 x 0"]
    );
    for words in ["startpos --side 3 --pieces 3", "1oo/x1o/xx1", "1OO/X1O/XX1 x 0"] {
        assert_eq!(env.run(&format!("show {words}")).success(), start, "{words}");
    }
    let army = env.run("show --side 3 A1 b1").success();
    assert!(army.ends_with("3/3/xx1 x 0\n"), "{army}");
    let ranked = env.run("show --side 3 --pieces 2 #35 --player x").success();
    assert!(ranked.ends_with("3/x2/x2 x 0\n"), "{ranked}");
    let value = env.json("show 1oo/x1o/xx1 o 4 --json");
    assert_eq!(value, json!({ "position": "1oo/x1o/xx1 o 4", "x": "a1,a2,b1", "o": "b3,c2,c3" }));
    assert!(env.run("show --labels").success().contains("xa1"));
    assert!(env.run("show --flip").success().starts_with("                 a1  x\n"));
    assert!(env.run("show --color always").success().contains("\x1b["));
    assert!(!env.run("show --color auto").success().contains("\x1b["));
    assert!(env.run("show hello").refusal().contains("`hello` is not a cell"));
    let moves = env.run("moves --board --side 3 --pieces 1 --filter forward").success();
    assert_eq!((moves.matches("(.)").count(), moves.ends_with("a1-a2\na1-b1\n")), (2, true), "{moves}");
    let positions = [vec!["perft", "1", "startpos"], vec!["moves", "startpos", "--json"], vec!["perft", "1"]];
    let counts: Vec<String> = positions.iter().map(|words| env.run_args(words).success()).collect();
    assert_eq!((counts[0].as_str(), counts[0] == counts[2]), ("depth 1: 10 lines (rules blocked-goal-2)\n", true));
    assert_eq!(serde_json::from_str::<Vec<Value>>(&counts[1]).unwrap().len(), 10);
}

#[test]
fn completions_and_manual_pages_are_written() {
    let env = TestEnv::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = env.run(&format!("completions {shell}")).success();
        assert!(script.contains("sternhalma") && script.contains("STERNHALMA_COMPLETE"), "{shell}: {script}");
    }
    env.build("--side 5 --pieces 3");
    env.file("mine.kif", "(role white) (role black)");
    env.file("notes.txt", "");
    fs::create_dir(env.path("folder")).unwrap();
    let offered = |words: &[&str]| {
        let mut shell = env.command(["--", "sternhalma"].iter().chain(words).copied());
        shell
            .env("STERNHALMA_COMPLETE", "bash")
            .env("_CLAP_IFS", "\n")
            .env("_CLAP_COMPLETE_INDEX", words.len().to_string());
        let output = shell.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap().lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>()
    };
    for (words, expected) in [
        (&["qu"][..], "query"),
        (&["query", ""], "5x5-3"),
        (&["analyse", "--table", "5"], "5x5-3"),
        (&["build", "--encoding", "a"], "ans"),
        (&["moves", "--rules", "b"], "blocked-goal"),
        (&["match", "stern"], "sternhalma"),
        (&["match", "greedy", "ns"], "nst"),
        (&["match", "--rules", "tic"], "tic-tac-toe"),
        (&["gdl", "check", "tic"], "tic-tac-toe"),
        (&["gdl", "play", "tic-tac-toe", "--policy", "adap"], "adaptive"),
        (&["play", "--player-o", "gre"], "greedy"),
        (&["games", "tic"], "tic-tac-toe"),
        (&["ggp-match", "tic"], "tic-tac-toe"),
        (&["gdl", "play", "mine.kif", "--role", "b"], "black"),
        (&["gdl", "strategies", "tic-tac-toe", "--role", ""], "o"),
        (&["gdl", "check", ""], "folder/"),
        (&["match", "--rules", "mi"], "mine.kif"),
        (&["build", "--wit"], "--within"),
    ] {
        let found = offered(words);
        assert!(found.contains(&expected.to_owned()), "{words:?}: {found:?}");
    }
    for words in [&["gdl", "check", "no"][..], &["games", "mi"], &["ggp-match", "mine.kif", "mi"]] {
        assert_eq!(offered(words), [""; 0], "{words:?}");
    }
    // Files have blanks.
    env.file("my table.sht", "");
    assert!(offered(&["query", "my"]).contains(&"my table.sht".to_owned()));
    let page = env.run("man").success();
    assert!(page.contains(".TH sternhalma 1") && page.contains("tournament"), "{page}");
    env.run("man pages/man1").success();
    let pages = names(&env.path("pages/man1"));
    for page in ["sternhalma.1", "sternhalma-build.1", "sternhalma-gdl-check.1"] {
        assert!(pages.contains(page), "{pages:?}");
    }
}

#[test]
fn the_examples_of_the_notation_are_real() {
    trycmd::TestCases::new().case("docs/reference/notation.md").run();
}
