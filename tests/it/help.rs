//! Help, usage errors, and the table of commands in the documentation.

use std::fs;
use std::path::Path;

use crate::common::TestEnv;

/// Returns the groups of commands in a help text: headings, each with names and descriptions.
fn groups(help: &str) -> Vec<(String, Vec<(String, String)>)> {
    let mut groups: Vec<(String, Vec<(String, String)>)> = Vec::new();
    for line in help.lines() {
        if let Some(heading) = line.strip_suffix(':').filter(|heading| !heading.starts_with(' ')) {
            groups.push((heading.to_owned(), Vec::new()));
        } else if let (Some((_, rows)), Some(row)) = (groups.last_mut(), line.strip_prefix("  "))
            && let Some((name, about)) = row.split_once("  ").filter(|(name, _)| !name.starts_with(['-', ' ']))
        {
            rows.push((name.to_owned(), about.trim().to_owned()));
        }
    }
    groups
}

/// Returns `docs/reference/commands.md` as the help of the program has it.
fn documentation(env: &TestEnv) -> String {
    let mut text = "# Commands\n\nThis page is generated from the help of the program. `sternhalma help COMMAND` prints the options of a command. \
        All commands accept the global options.\n"
        .to_owned();
    for (group, rows) in groups(&env.run("--help").success()) {
        if group == "Global options" {
            continue;
        }
        text += &format!("\n## {group}\n\n| command | purpose | example |\n|---|---|---|\n");
        let mut row = |path: &str, about: &str| {
            let help = env.run(&format!("{path} --help")).success();
            let example = help.split("Example").nth(1).and_then(|part| part.lines().nth(1)).unwrap_or_default();
            let example =
                if example.is_empty() { String::new() } else { format!("`{}`", example.trim().replace('|', "\\|")) };
            text += &format!("| `{path}` | {about} | {example} |\n");
            help
        };
        for (name, about) in rows.iter().filter(|(name, _)| name != "help") {
            let help = row(name, about);
            let below = groups(&help).into_iter().filter(|(heading, _)| heading == "Commands");
            for (below, about) in below.flat_map(|(_, rows)| rows).filter(|(name, _)| name != "help") {
                row(&format!("{name} {below}"), &about);
            }
        }
    }
    let options = env.run("-h").success();
    let options = options.split("Global options:\n").nth(1).unwrap_or_default().trim_end();
    text + &format!("\n## Global options\n\n```text\n{options}\n```\n")
}

/// `STERNHALMA_UPDATE_DOCS=1 cargo test --test it help` writes the page.
#[test]
fn the_table_of_commands_is_that_of_the_help() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/reference/commands.md");
    let expected = documentation(&TestEnv::new());
    if std::env::var_os("STERNHALMA_UPDATE_DOCS").is_some() {
        fs::write(&path, &expected).unwrap();
    }
    assert!(
        fs::read_to_string(&path).unwrap_or_default() == expected,
        "STERNHALMA_UPDATE_DOCS=1 updates it:\n{expected}"
    );
}

#[test]
fn the_documentation_has_the_table_of_parameters_of_policies() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/reference/policies.md");
    let page = std::fs::read_to_string(path).unwrap();
    let table = sternhalma_ggp::policy::parameter_table().join("\n");
    assert!(
        page.contains(&format!("{table}\n\n")),
        "docs/reference/policies.md should have these rows in its table of parameters:\n{table}"
    );
}

#[test]
fn the_program_alone_prints_its_help() {
    let env = TestEnv::new();
    let alone = env.run("");
    assert_eq!((alone.code, alone.out()), (2, ""));
    assert_eq!(alone.err, env.run("-h").success());
    let headings: Vec<String> = groups(&alone.err).into_iter().map(|(heading, _)| heading).collect();
    let expected = ["Tables", "Look up", "Play", "Tournaments", "Training", "Rulesheets", "Program", "Global options"];
    assert_eq!(headings, expected);
}

#[test]
fn help_has_headings_examples_and_global_options_at_the_end() {
    let env = TestEnv::new();
    let help = env.run("tournament -h").success();
    let headings = ["Limits per move:", "Schedule:", "Clocks:", "Sequential test:", "Global options:", "Examples:"];
    let places: Vec<usize> = headings.iter().map(|heading| help.find(heading).expect(heading)).collect();
    assert!(places[..4].iter().all(|&place| place < places[4]) && places[4] < places[5], "{help}");
    for (command, shown) in [
        ("rank", false),
        ("perft", false),
        ("gdl check", false),
        ("tournament show", false),
        ("query", true),
        ("build", true),
    ] {
        let help = env.run(&format!("{command} --help")).success();
        assert_eq!(help.contains("--tables"), shown, "{command}: {help}");
        assert!(help.contains("Example"), "{command}: {help}");
    }
    // Headings of shared options do not extend to the options after them.
    for (command, options) in [("build", ["--output", "--json"]), ("tournament", ["--file", "--json"])] {
        let help = env.run(&format!("{command} -h")).success();
        let plain = help.split("\nOptions:\n").nth(1).and_then(|rest| rest.split("\n\n").next()).unwrap();
        assert!(options.iter().all(|option| plain.contains(option)), "{help}");
    }
    // Options that are not shown are accepted.
    env.run("rank a1,b1,c1,a2,b2,a3 --tables elsewhere --load-budget 1GiB").success();
    assert!(env.run("--color always --help").success().contains('\x1b'));
    assert!(!env.run("--help").success().contains('\x1b'));
}

#[test]
fn numbers_have_suffixes_and_plain_errors() {
    let env = TestEnv::new();
    let run =
        |nodes: &str| env.run(&format!("match base0 greedy --side 5 --pieces 1 --games 2 --json --nodes {nodes}"));
    let moves = |nodes: &str| {
        let value: serde_json::Value = serde_json::from_str(&run(nodes).success()).unwrap();
        (value["score"].clone(), value["spent"]["a"]["expansions"].clone())
    };
    assert_eq!(moves("2k"), moves("2_000"));
    assert_eq!(moves("2k"), moves("2000"));
    for (words, expected) in [
        (
            "match greedy random --nodes 1q",
            "expected a whole number from 1 to 18446744073709551615, e.g. 100000, 100_000, 100k or 2M, got `1q`",
        ),
        ("match greedy random --games 0", "expected a whole number from 1 to 18446744073709551615"),
        ("match greedy random --nodes 0", "expected a whole number from 1 to 18446744073709551615"),
        ("match greedy random --movetime 0", "expected a whole number from 1 to 18446744073709551615"),
        ("match greedy random --depth 0", "expected a whole number from 1 to 4294967295"),
        ("match greedy random --seed x", "expected a whole number from 0 to 18446744073709551615"),
        ("match greedy random --alpha x", "expected a number from 0 to 1, e.g. 0.5, got `x`"),
        ("perft abc", "expected a whole number from 0 to 1000"),
        ("perft -1", "got `-1`"),
        ("build --pieces -1", "got `-1`"),
        ("build --memory foo", "or a size such as `64MiB`"),
        ("build --plan --plan-disk-rate foo", "expected a speed such as `500MB/s`"),
        ("info any --load-budget foo", "or a size such as `64MiB`"),
    ] {
        let ran = env.run(words);
        let first = ran.err.lines().next().unwrap();
        assert!(ran.code == 2 && first.starts_with("error: ") && first.contains(expected), "{words}: {first}");
    }
    assert!(env.run("unrank -5").refusal().contains("`-5` is not a rank"));
    env.file("zero.toml", "games = 0\nplayer = [{ name = 'greedy' }, { name = 'random' }]\n");
    assert!(env.run("tournament -f zero.toml").refusal().contains("expected a whole number from 1"));
}

#[test]
fn questions_about_the_star_and_more_players_have_answers() {
    let env = TestEnv::new();
    for words in ["play --players 3", "match greedy random --players 6", "players --players 2"] {
        let ran = env.run(words);
        assert_eq!(ran.code, 2, "{words}");
        assert!(ran.err.contains("the game has two players"), "{words}: {}", ran.err);
    }
    // A file may have any name.
    env.file("3", env.run("players greedy").success().replacen("greedy", "mine", 1));
    env.run("players mine --players 3").success();
    for words in ["play --board star", "moves --star", "play --star"] {
        let ran = env.run(words);
        assert_eq!(ran.code, 2, "{words}");
        assert!(ran.err.contains("the board is the diamond") && ran.err.contains("docs/guide/rules.md"), "{}", ran.err);
        assert!(!ran.err.contains("'--load'"), "{}", ran.err);
    }
}

#[test]
fn misspelt_names_have_suggestions() {
    let env = TestEnv::new();
    for (words, expected) in [
        ("match heuro random", "there is no player `heuro`; did you mean `heur0`? `sternhalma players`"),
        ("match Heur0 random", "did you mean `heur0`?"),
        ("match base0,cc=1 random", "unknown parameter `cc`; did you mean `c`?"),
        ("match utc nst --rules nowhere.kif", "nowhere.kif"),
        ("tune base0 --only treshold", "did you mean `threshold`?"),
        ("tournament shw games.ndjson", "there is no player `shw`; did you mean the command `tournament show`?"),
    ] {
        let error = env.run(words).failure();
        assert!(error.contains(expected), "{words}: {error}");
    }
    let ran = env.run("qery 9x9-6 #0");
    assert!(ran.err.contains("query"), "{ran:?}");
}

#[test]
fn errors_in_toml_are_shown_in_the_file() {
    let env = TestEnv::new();
    env.file("type.toml", "games = \"ten\"\n");
    let ran = env.run("tournament -f type.toml");
    assert_eq!(
        ran.err,
        "error: type.toml: line 1, column 9: expected a whole number ≥ 0, got \"ten\"\n  |\n1 | games = \"ten\"\n  |         ^^^^^\n"
    );
    for (text, expected) in [
        ("side = 5\ngmaes = 3\n", "key.toml: line 2, column 1: unknown key `gmaes`; did you mean `games`?"),
        ("[[player]]\nnmae = 'greedy'\n", "unknown key `nmae`; did you mean `name`?"),
        ("adjudicate = 3\n", "expected `true` or `false`, got `3`"),
        ("alpha = 'x'\n", "expected a number, got \"x\""),
        ("side = 5\nside = 6\n", "key.toml: line 2"),
    ] {
        env.file("key.toml", text);
        let error = env.run("tournament -f key.toml").refusal();
        assert!(error.contains(expected), "{text}: {error}");
    }
    env.file("players.toml", "[mine\nlike = 'heur0'\n");
    let ran = env.run("match mine greedy --players players.toml");
    assert!(ran.err.contains("players.toml") && ran.err.contains("\n1 | [mine\n"), "{ran:?}");
}
