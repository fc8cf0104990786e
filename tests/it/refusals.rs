//! Invalid input: files, states, boards and usage.

use std::fs;

use crate::common::{TestEnv, names, set};

#[test]
fn invalid_files_are_refused_in_one_line() {
    let env = TestEnv::new();
    let bytes = fs::read(env.build("--side 4 --pieces 3")).unwrap();
    let mut later = bytes.clone();
    later[8] = 3;
    let mut other_rules = bytes.clone();
    other_rules[16..23].copy_from_slice(b"hexagon");
    fs::create_dir(env.path("dir")).unwrap();
    env.file("text", "a1,b1,c1\n");
    env.file("empty", "");
    env.file("cut", &bytes[..bytes.len() - 1]);
    env.file("cut-in-data", &bytes[..4100]);
    env.file("cut-in-header", &bytes[..100]);
    env.file("cut-in-magic", &bytes[..5]);
    env.file("longer", [&bytes[..], b"\n"].concat());
    env.file("later", later);
    env.file("other-rules", other_rules);
    for (file, why) in [
        ("missing", "there is no such file"),
        ("missing/deep.sht", "the file does not exist"),
        ("text/below", "text/below"),
        ("dir", "not a Sternhalma table"),
        ("text", "not a Sternhalma table"),
        ("empty", "not a Sternhalma table"),
        ("cut", "cut short"),
        ("cut-in-data", "cut short"),
        ("cut-in-header", "cut short"),
        ("cut-in-magic", "cut short"),
        ("longer", "damaged"),
        ("later", "version 3"),
        ("other-rules", "hexagon"),
    ] {
        for words in
            ["info", "info --json", "verify", "verify --deep", "query #0", "line #0", "export", "export -o out"]
        {
            let mut args: Vec<&str> = words.split(' ').collect();
            args.insert(1, file);
            let error = env.run_args(&args).refusal();
            assert!(error.contains(why) && error.contains(file), "{args:?}: {error}");
        }
    }
    assert!(!env.path("out").exists());
}

#[test]
fn messages_quote_at_most_80_characters_of_an_input() {
    let env = TestEnv::new();
    env.build("--side 5 --pieces 3");
    let long = "z".repeat(70_000);
    for (name, text) in [
        ("value.toml", format!("side = 5\ngames = \"{long}\"\n")),
        ("table.toml", format!("[[{long}\n")),
        ("key.toml", format!("{long} = 3\n")),
        ("players.toml", format!("[{long}]\nkind = \"{long}\"\n")),
        ("openings", format!("{long}\n")),
        ("undefined.kif", format!("(role x) (<= {long} (foo ?x))")),
        ("open.kif", format!("(role x) (init (f {long})) (")),
        ("names.kif", format!("(role x) (<= (f ?x) ({long} ?x))")),
        ("game.shg", format!("[Size \"5\"] [Pieces \"3\"] 1.{long} *")),
        ("log.ndjson", format!("{long}\n")),
        ("trace", format!("{long}\n")),
    ] {
        env.file(name, text);
    }
    for words in [
        "LONG",
        "--LONG",
        "gdl LONG",
        "build --side LONG",
        "build --encoding LONG",
        "build --memory LONG",
        "completions LONG",
        "policies LONG",
        "serve --port LONG",
        "info LONG",
        "query 5x5-3 LONG",
        "line 5x5-3 LONG",
        "perft 1 LONG",
        "moves LONG",
        "match LONG random",
        "match greedy,LONG random",
        "match greedy random --rules LONG",
        "match greedy random --side 5 --pieces 3 --openings openings",
        "tournament -f value.toml",
        "tournament -f table.toml",
        "tournament -f key.toml",
        "tournament rate log.ndjson --anchor LONG=5",
        "tournament rate log.ndjson --anchor a=LONG",
        "players --players players.toml",
        "gdl check undefined.kif",
        "gdl check open.kif",
        "gdl check names.kif --json",
        "gdl check LONG",
        "gdl show LONG",
        "gdl replay tic-tac-toe trace",
        "show game.shg",
        "ugi --compliance LONG --side 5 --pieces 3",
    ] {
        let args: Vec<String> = words.split(' ').map(|word| word.replace("LONG", &long)).collect();
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let ran = env.run_args(&args);
        assert!([1, 2].contains(&ran.code), "{words}: {ran:?}");
        let (all, quotation) = (format!("{}{}", ran.out(), ran.err), "z".repeat(81));
        assert!(all.len() < 3000 && !all.contains(&quotation), "{words}: {} characters: {all:.300}", all.len());
    }
    // The place of the error remains.
    let toml = env.run("tournament -f table.toml").err;
    let toml: Vec<&str> = toml.lines().collect();
    let caret = toml[3].find('^').unwrap();
    assert!(toml[0].contains("line 1, column 70003") && toml[2].starts_with("1 | …zzz"), "{toml:?}");
    assert_eq!(toml[2].chars().count(), caret, "{toml:?}");
    let kif = env.run("gdl check open.kif");
    let lines: Vec<&str> = kif.out().lines().collect();
    let place = lines[2].chars().position(|c| c == '^').unwrap();
    assert_eq!(lines[1].chars().nth(place), Some('('), "{kif:?}");
    // The notation of an input with blanks is short too.
    let words = env.run_args(["build", "--side", &"z ".repeat(40_000)]);
    assert!(words.err.len() < 1000 && words.err.contains("expected a whole number"), "{}", words.err.len());
}

#[test]
fn invalid_states_are_refused_in_one_line() {
    let env = TestEnv::new();
    env.build("--side 5 --pieces 3");
    for (state, why) in [
        ("a1,b1", "expected 3 pieces, got 2"),
        ("a1,b1,c1,d1", "got 4"),
        ("a1,b1,a1", "`a1` is given twice"),
        ("a1,b1,f1", "`f1` is not a cell"),
        ("a1,b1,a6", "`a6` is not a cell"),
        ("a1,b1,", "`` is not a cell"),
        ("", "empty text: `` is not a cell"),
        ("hello", "`hello` is not a cell"),
        ("#2300", "#0 to #2299"),
        ("#-1", "is not a rank"),
        ("#99999999999999999999", "is not a rank"),
        ("#", "is not a rank"),
        ("3oo/4o/5/x4/xx3 x 0 0", "one to three fields"),
        ("oo/4o/5/x4/xx3 x 0", "shorter"),
        ("6ooo/7oo/8o/9/9/9/x8/xx7/xxx6 x 0", "9 rows, and the board has 5"),
        ("5/5/5/5/5 x 0", "got 0"),
    ] {
        for command in [&["query", "5x5-3"][..], &["line", "5x5-3"], &["rank", "--side", "5", "--pieces", "3"]] {
            let error = env.run_args(command.iter().chain([&state])).refusal();
            assert!(error.contains(why), "{command:?} {state}: {error}");
        }
    }
    for rank in ["2300", "", "x", "1.0", "##1"] {
        let error = env.run_args(["unrank", "--side", "5", "--pieces", "3", rank]).refusal();
        assert!(error.contains("#0 to #2299"), "{rank}: {error}");
    }
}

#[test]
fn invalid_boards_are_refused_in_one_line() {
    let env = TestEnv::new();
    for (words, why) in [
        ("--pieces 0", "1 to 15 pieces on a 9x9 board, got 0"),
        ("--pieces 16", "1 to 15 pieces on a 9x9 board, got 16"),
        ("--side 2 --pieces 1", "3 to 11 cells along an edge, got 2"),
        ("--side 12", "3 to 11 cells along an edge, got 12"),
        ("--side 300", "3 to 11 cells along an edge, got 300"),
        ("--side 18446744073709551615", "3 to 11 cells along an edge, got 18446744073709551615"),
        ("--pieces 18446744073709551615", "1 to 15 pieces"),
        ("--side 3 --pieces 9", "1 to 8 pieces on a 3x3 board, got 9"),
        ("--side 3 --pieces 10", "1 to 8 pieces on a 3x3 board, got 10"),
    ] {
        for command in ["build", "rank a1", "unrank 0"] {
            let error = env.run(&format!("{command} {words}")).refusal();
            assert!(error.contains(why), "{command} {words}: {error}");
        }
    }
    for (words, why) in [
        ("--pieces 3 --within 2", "3 to 81 cells for 3 pieces on 81 cells, got 2"),
        ("--pieces 3 --within 82", "3 to 81 cells for 3 pieces on 81 cells, got 82"),
        ("--pieces 3 --within 0", "3 to 81 cells for 3 pieces on 81 cells, got 0"),
        ("--pieces 3 --within 18446744073709551615", "3 to 81 cells for 3 pieces"),
    ] {
        let error = env.run(&format!("build {words}")).refusal();
        assert!(error.contains(why), "{words}: {error}");
    }
    assert!(!env.tables().exists());
}

#[test]
fn usage_errors_end_with_code_2() {
    let env = TestEnv::new();
    for words in [
        "",
        "nonsense",
        "build --pieces",
        "build --pieces six",
        "build --pieces -1",
        "build --pieces 99999999999999999999",
        "build --within x",
        "build --encoding zip",
        "build extra",
        "info",
        "verify",
        "verify --threads x any",
        "query any",
        "query any #0 --player z",
        "query any #0 --format xml",
        "line any",
        "rank",
        "unrank",
        "export",
        "export any --order random",
    ] {
        let ran = env.run(words);
        assert_eq!((ran.code, ran.out()), (2, ""), "{words}");
        assert!(ran.err.starts_with("error: ") || words.is_empty(), "{words}: {}", ran.err);
        assert!(ran.err.contains("--help") || ran.err.contains("Usage"), "{words}: {}", ran.err);
    }
    let ran = env.run("play --rules nim.kif");
    assert!(ran.code == 2 && ran.err.contains("`sternhalma gdl play nim.kif`"), "{}", ran.err);
    assert!(!env.tables().exists());
}

#[test]
fn a_file_that_cannot_be_created_is_refused() {
    let env = TestEnv::new();
    env.build("--side 3 --pieces 2");
    fs::create_dir(env.path("dir")).unwrap();
    env.file("file", "precious");
    for words in [
        "build --side 3 --pieces 2 -o file/table.sht",
        "build --side 3 --pieces 2 -o file/below/table.sht",
        "build --side 3 --pieces 2 --tables file",
        "build --side 3 --pieces 2 -o dir --force",
        "export 3x3-2 -o file/flat",
        "export 3x3-2 -o missing/flat",
        "export 3x3-2 -o dir",
    ] {
        let ran = env.run(words);
        assert_eq!(ran.out(), "", "{words}");
        let error = ran.failure();
        let path = words.split(' ').find(|word| ["file", "dir", "missing"].iter().any(|p| word.starts_with(p)));
        let first = path.unwrap().split('/').next().unwrap();
        assert!(error.contains(first) && error.contains("cannot "), "{words}: {error}");
    }
    assert_eq!(fs::read(env.path("file")).unwrap(), b"precious");
    assert_eq!(names(&env.work()), set(["dir", "file"]));
    assert_eq!(names(&env.path("dir")), set([]));
}

/// An error is one line and names each cause once.
#[test]
fn an_error_is_one_line_without_repetition() {
    let env = TestEnv::new();
    env.build("--side 5 --pieces 3");
    env.file("file", "precious");
    let error = env.run_args(["query", "5x5-3", "a1,\nz1\r\n"]).refusal();
    assert!(error.contains("`z1` is not a cell"), "{error}");
    for words in ["build --side 3 --pieces 2 -o file/table.sht", "info file/table.sht", "export 5x5-3 -o file/flat"] {
        let error = env.run(words).failure();
        assert_eq!(error.matches("os error").count(), 1, "{words}: {error}");
    }
}
