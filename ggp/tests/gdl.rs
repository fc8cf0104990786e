//! Rulesheets end to end: small ones of our own, and those of a collection and
//! their traces computed elsewhere.

mod common;

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::time::{Duration, Instant};

use common::{conformance, files, legal_texts, own, own_dir, prover};
use flate2::read::GzDecoder;
use proptest::prelude::*;
use rand::SeedableRng;
use sternhalma_ggp::Rng;
use sternhalma_ggp::gdl::network::{InLanes, Network, NetworkGame};
use sternhalma_ggp::gdl::{
    CheckOptions, Code, Document, Engine, Finding, Goal, Prover, ProverError, Renaming, ReplayError, Rules, Severity,
    State, TraceLine, check, replay_line, scramble, trace,
};

/// Small ones.
const OWN: [&str; 3] = ["tic-tac-toe", "matching-pennies", "subtraction"];

fn network(text: &str) -> NetworkGame {
    NetworkGame::new(Network::new(&Rules::parse(text).unwrap()).unwrap())
}

fn errors(findings: &[Finding]) -> Vec<Code> {
    findings.iter().filter(|finding| finding.severity == Severity::Error).map(|finding| finding.code).collect()
}

#[test]
fn short_games_of_tic_tac_toe_are_as_many_as_known() {
    fn games(prover: &mut Prover, state: &State, depth: u32) -> u64 {
        if prover.is_terminal(state).unwrap() {
            return 1;
        }
        if depth == 0 {
            return 0;
        }
        let (x, o) = (prover.legal(state, 0).unwrap(), prover.legal(state, 1).unwrap());
        let joint: Vec<_> = x.iter().flat_map(|&x| o.iter().map(move |&o| [x, o])).collect();
        joint.iter().map(|joint| prover.next(state, joint).map(|next| games(prover, &next, depth - 1)).unwrap()).sum()
    }
    let mut prover = prover(&own("tic-tac-toe"));
    let start = prover.initial().unwrap();
    // Games that end with the fifth and the sixth mark.
    assert_eq!(games(&mut prover, &start, 4), 0);
    assert_eq!(games(&mut prover, &start, 5), 1_440);
    assert_eq!(games(&mut prover, &start, 6), 1_440 + 5_328);
}

#[test]
fn both_show_a_side_at_once() {
    let mut prover = prover(&own("matching-pennies"));
    let mut state = prover.initial().unwrap();
    for sides in [["heads", "heads"], ["heads", "tails"]] {
        assert_eq!(legal_texts(&mut prover, &state, 0), ["(show heads)", "(show tails)"]);
        let joint: Vec<_> = sides.iter().map(|side| prover.term(&format!("(show {side})")).unwrap()).collect();
        state = prover.next(&state, &joint).unwrap();
    }
    assert!(prover.is_terminal(&state).unwrap());
    assert_eq!(prover.goals(&state).unwrap(), [Goal::Value(50), Goal::Value(50)]);
}

#[test]
fn the_same_seed_gives_the_same_trace_and_it_replays() {
    for name in OWN {
        let lines = |seed| {
            let mut lines = Vec::new();
            let visit = |line: &TraceLine| -> Result<(), ReplayError> {
                lines.push(line.clone());
                Ok(())
            };
            trace(&mut prover(&own(name)), seed, 3, 100, visit).unwrap();
            lines
        };
        assert_eq!(lines(7), lines(7));
        assert_ne!(lines(7), lines(8));
        let (mut prover, mut state) = (prover(&own(name)), None);
        for line in lines(7) {
            replay_line(&mut prover, &mut state, &line).unwrap();
        }
    }
}

#[test]
fn every_engine_tells_the_same_trace() {
    for name in OWN {
        fn lines(engine: &mut impl Engine) -> Vec<TraceLine> {
            let mut lines = Vec::new();
            let visit = |line: &TraceLine| -> Result<(), ReplayError> {
                lines.push(line.clone());
                Ok(())
            };
            trace(engine, 5, 20, 100, visit).unwrap();
            lines
        }
        let told = lines(&mut prover(&own(name)));
        assert_eq!(lines(&mut network(&own(name))), told);
        let (mut engine, mut state) = (network(&own(name)), None);
        told.iter().for_each(|line| replay_line(&mut engine, &mut state, line).unwrap());
        let mut line = told[0].clone();
        line.joint.as_mut().unwrap()[0] = "(give up)".into();
        let error = replay_line(&mut engine, &mut None, &line).unwrap_err();
        assert!(error.to_string().ends_with("the trace says (give up), the engine no such legal move"), "{error}");
    }
}

#[test]
fn every_change_of_a_trace_is_noticed() {
    let mut lines: Vec<TraceLine> = Vec::new();
    let visit = |line: &TraceLine| -> Result<(), ReplayError> {
        lines.push(line.clone());
        Ok(())
    };
    trace(&mut prover(&own("subtraction")), 1, 1, 100, visit).unwrap();
    let first = &lines[0];
    type Change = fn(&mut TraceLine);
    let changed: [(&str, Change); 6] = [
        ("state", |line| line.state[0] = "(heap 9)".into()),
        ("terminal", |line| line.terminal = true),
        ("goals", |line| line.goals[0] = "undef".into()),
        ("legal moves of first", |line| line.legal.as_mut().unwrap().get_mut("first").unwrap().truncate(2)),
        ("roles", |line| drop(line.legal.as_mut().unwrap().remove("first"))),
        ("move of second", |line| line.joint.as_mut().unwrap()[1] = "(take 1)".into()),
    ];
    for (what, change) in changed {
        let mut line = first.clone();
        change(&mut line);
        let error = replay_line(&mut prover(&own("subtraction")), &mut None, &line).unwrap_err();
        assert!(error.to_string().contains(what), "{error}");
    }
}

proptest! {
    /// Words of a rulesheet are dropped, doubled, or put in place of others:
    /// it is judged, and what is found valid plays.
    #[test]
    fn damaged_rulesheets_are_judged(game in 0..OWN.len(), damage in proptest::collection::vec((any::<usize>(), any::<usize>(), 0..3), 1..4)) {
        let text = own(OWN[game]).replace('(', " ( ").replace(')', " ) ");
        let code = text.lines().filter(|line| !line.starts_with(';'));
        let mut words: Vec<&str> = code.flat_map(str::split_whitespace).collect();
        for (at, from, kind) in damage {
            let (at, from) = (at % words.len(), from % words.len());
            match kind {
                0 => drop(words.remove(at)),
                1 => words.insert(at, words[from]),
                _ => words[at] = words[from],
            }
        }
        let text = words.join(" ");
        let options = CheckOptions { rows: 100_000, playouts: 2, ..CheckOptions::default() };
        let findings = check(&text, &options);
        if errors(&findings).is_empty() && findings.iter().all(|finding| finding.code != Code::NotPlayed) {
            let mut prover = prover(&text);
            let start = prover.initial().unwrap();
            prop_assert!(!prover.roles().is_empty() && prover.is_terminal(&start).is_ok());
        }
        if let Ok(rules) = Rules::parse(&text)
            && let Ok(mut prover) = Prover::new(&rules)
        {
            prover.set_limit(100_000);
            if let Ok(start) = prover.initial() {
                let _ = prover.playout(&start, 50, &mut Rng::seed_from_u64(1));
            }
        }
    }
}

/// The line under the new names.
fn renamed(line: &TraceLine, renaming: &Renaming) -> TraceLine {
    let new = |text: &String| renaming.to_new(text).unwrap();
    let all = |texts: &Vec<String>| texts.iter().map(new).collect();
    TraceLine {
        state: all(&line.state),
        legal: line.legal.as_ref().map(|legal| legal.iter().map(|(role, moves)| (new(role), all(moves))).collect()),
        joint: line.joint.as_ref().map(all),
        ..line.clone()
    }
}

/// Traces a match of a rulesheet and replays its first lines with the same
/// rules under other names and in another order.
fn names_and_order_do_not_matter(name: &str, text: &str, most: usize) {
    let mut lines: Vec<TraceLine> = Vec::new();
    let visit = |line: &TraceLine| -> Result<(), ReplayError> {
        lines.push(line.clone());
        // Enough is reason to stop.
        if lines.len() == most { Err(ProverError::Endless { steps: most }.into()) } else { Ok(()) }
    };
    match trace(&mut prover(text), 3, 1, 1_000, visit) {
        Ok(()) | Err(ReplayError::Prover(ProverError::Endless { .. })) => {}
        Err(error) => panic!("{name}: {error}"),
    }
    let (scrambled, renaming) = scramble(&Document::parse(text).unwrap(), &mut Rng::seed_from_u64(11));
    let mut other = prover(&scrambled.to_string());
    let mut state = None;
    for line in &lines {
        let line = renamed(line, &renaming);
        replay_line(&mut other, &mut state, &line).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    eprintln!("{name}: {} lines agree", lines.len());
}

#[test]
fn names_and_the_order_of_rules_and_bodies_do_not_matter() {
    for (name, path) in files(&own_dir(), ".kif") {
        names_and_order_do_not_matter(&name, &fs::read_to_string(path).unwrap(), 100);
    }
    let Some(dir) = conformance("../games") else { return };
    for (name, path) in files(&dir, ".kif") {
        names_and_order_do_not_matter(&name, &fs::read_to_string(path).unwrap(), 30);
    }
}

#[test]
fn documented_cases_are_found_valid_or_not() {
    let Some(dir) = conformance("gdl-cases") else { return };
    // The documentation has 1a as invalid for a rule without a body, and 5d,
    // which ends in the same rule, as valid. Here both are errors, and both
    // are valid if leniency is asked for.
    let invalid = [
        ("test_case_1a", Code::EmptyBody),
        ("test_case_3a", Code::EmptyArguments),
        ("test_case_3b", Code::Unsafe),
        ("test_case_3e", Code::Unsafe),
        ("test_case_3f", Code::Unsafe),
        ("test_case_5d", Code::EmptyBody),
        ("test_clean_not_distinct", Code::MisplacedKeyword),
        ("test_invalid_function_arities_differ", Code::FunctionArity),
        ("test_invalid_sentence_arities_differ", Code::SentenceArity),
    ];
    for (name, path) in files(&dir, ".kif") {
        let text = fs::read_to_string(path).unwrap();
        let found = errors(&check(&text, &CheckOptions::default()));
        match invalid.iter().find(|(case, _)| *case == name) {
            Some((_, code)) => assert!(found.contains(code), "{name}: {found:?}"),
            None => assert_eq!(found, [], "{name}"),
        }
        let lenient = CheckOptions { lenient: true, ..CheckOptions::default() };
        if ["test_case_1a", "test_case_5d", "test_invalid_function_arities_differ"].contains(&name.as_str()) {
            assert_eq!(errors(&check(&text, &lenient)), [], "{name}");
        }
    }
}

#[test]
fn documented_cases_play_as_told() {
    let Some(dir) = conformance("gdl-cases") else { return };
    let fives: Vec<String> = (2..=5).map(|n| format!("(move {n} 2)")).collect();
    let moves: [(&str, Vec<String>, Option<u8>); 8] = [
        ("test_case_5a", vec!["proceed".into()], Some(100)),
        ("test_case_5c", vec!["proceed".into()], Some(100)),
        ("test_case_5d", vec!["proceed".into()], Some(100)),
        ("test_case_5b", vec!["(draw 1 1 1 2)".into()], Some(100)),
        (
            "test_case_5e",
            ["a 0", "a 1", "c 0", "c 1", "c 2", "c 3", "c 4"].map(|what| format!("(reduce {what})")).into(),
            None,
        ),
        ("test_case_5f", [&fives[..], &["(move 4 3)", "(move 5 3)", "(move 5 4)"].map(String::from)].concat(), None),
        ("test_distinct_beginning_rule", vec!["(do a b)".into(), "(do b a)".into()], Some(100)),
        ("test_fvv_1", (1..=9).map(|n| format!("good{n}")).collect(), None),
    ];
    for (name, mut told, goal) in moves {
        let mut prover = prover(&fs::read_to_string(dir.join(format!("{name}.kif"))).unwrap());
        let start = prover.initial().unwrap();
        let mut found = legal_texts(&mut prover, &start, 0);
        told.sort();
        found.sort();
        assert_eq!(found, told, "{name}");
        let Some(goal) = goal else { continue };
        let mv = prover.term(&told[0]).unwrap();
        let end = prover.next(&start, &[mv]).unwrap();
        assert!(prover.is_terminal(&end).unwrap(), "{name}");
        assert_eq!(prover.goals(&end).unwrap(), [Goal::Value(goal)], "{name}");
    }
}

#[test]
fn documented_findings_have_their_places() {
    let Some(dir) = conformance("gdl-validation") else { return };
    let told = [
        ("badparens1", Some((Code::Syntax, 1, 5))),
        ("badparens2", Some((Code::Syntax, 1, 9))),
        ("badparens3", Some((Code::Syntax, 2, 7))),
        ("badparens4", Some((Code::Syntax, 1, 4))),
        ("badparens5", Some((Code::Syntax, 1, 3))),
        ("baseDependsOnTrue", Some((Code::Dependence, 1, 16))),
        ("emptyDisjunction", Some((Code::EmptyDisjunction, 1, 32))),
        ("misplacedDatalogKeyword1", Some((Code::MisplacedKeyword, 1, 1))),
        ("misplacedDatalogKeyword2", Some((Code::MisplacedKeyword, 1, 6))),
        ("misplacedDatalogKeyword3", Some((Code::MisplacedKeyword, 1, 6))),
        ("varInTopLevelSentence", Some((Code::FactVariable, 1, 1))),
        ("commentEof", None),
        ("ticTacToe", None),
    ];
    for (name, told) in told {
        let text = fs::read_to_string(dir.join(format!("{name}.kif"))).unwrap();
        let mut findings = check(&text, &CheckOptions::default());
        if told.is_some() {
            findings.retain(|finding| finding.severity == Severity::Error);
        }
        let place = |finding: &Finding| finding.place.map(|place| (finding.code, place.line, place.column));
        assert_eq!(findings.iter().map(place).collect::<Vec<_>>(), Vec::from_iter(told.map(Some)), "{name}");
    }
}

#[test]
fn the_printer_prints_as_told() {
    let Some(dir) = conformance("gdl-validation") else { return };
    for number in [1, 2] {
        let text = |when: &str| fs::read_to_string(dir.join(format!("formatter{number}{when}.kif"))).unwrap();
        let printed = Document::parse(&text("Before")).unwrap().to_string();
        assert_eq!(printed, text("After"));
        assert_eq!(Document::parse(&printed).unwrap().to_string(), printed);
    }
}

#[test]
fn the_collection_is_valid_but_for_one() {
    let Some(dir) = conformance("../games") else { return };
    let games = files(&dir, ".kif");
    assert_eq!(games.len(), 42);
    // Play finds nothing more than the rules tell, and takes longer.
    let strict = CheckOptions { playouts: 0, ..CheckOptions::default() };
    let lenient = CheckOptions { lenient: true, ..strict.clone() };
    for (name, path) in games {
        let text = fs::read_to_string(path).unwrap();
        let found = check(&text, &strict);
        if name == "sudoku_simple" {
            assert_eq!(errors(&found), [Code::FunctionArity, Code::FunctionArity], "{found:?}");
            let all = found.iter().map(|finding| finding.message.as_str()).collect::<Vec<_>>().join(" ");
            assert!(all.contains(" cell ") && all.contains(" box "), "{all}");
        } else {
            assert_eq!(errors(&found), [], "{name}: {found:?}");
        }
        assert_eq!(errors(&check(&text, &lenient)), [], "{name}");
        let document = Document::parse(&text).unwrap();
        assert_eq!(Document::parse(&document.to_string()).unwrap(), document, "{name}");
    }
}

#[test]
fn the_collection_plays_to_the_told_lengths() {
    let (Some(dir), Some(told)) = (conformance("../games"), conformance("public-reasoners.tsv")) else { return };
    for row in fs::read_to_string(told).unwrap().lines().skip(1) {
        let mut fields = row.split('\t');
        let (name, mean) = (fields.next().unwrap(), fields.next().unwrap().parse::<f64>().unwrap());
        let mut prover = prover(&fs::read_to_string(dir.join(format!("{name}.kif"))).unwrap());
        let start = prover.initial().unwrap();
        let (mut rng, begun) = (Rng::seed_from_u64(5), Instant::now());
        let mut lengths = Vec::new();
        // Slow games have few matches: at least one, then as time allows.
        while lengths.is_empty() || lengths.len() < 300 && begun.elapsed() < Duration::from_millis(500) {
            lengths.push(prover.playout(&start, 10_000, &mut rng).unwrap().steps as f64);
        }
        let n = lengths.len() as f64;
        let found = lengths.iter().sum::<f64>() / n;
        let spread = (lengths.iter().map(|length| (length - found).powi(2)).sum::<f64>() / (n - 1.0).max(1.0)).sqrt();
        let rate = n / begun.elapsed().as_secs_f64();
        eprintln!("{name}: {n} matches, mean length {found:.2}, told {mean}, {rate:.1} a second");
        if n >= 20.0 {
            // Where nearly all matches end at the last step, few show how rare the others are.
            let slack = 4.5 * spread.max(0.02 * mean) / n.sqrt() + 0.01;
            assert!((found - mean).abs() <= slack, "{name}: mean length {found:.2} of {n} matches, told {mean}");
        }
    }
}

#[test]
fn traces_computed_elsewhere_agree() {
    let (Some(traces), Some(games)) = (conformance("traces"), conformance("../games")) else { return };
    let mut replayed = 0;
    for (name, path) in files(&traces, ".jsonl.gz") {
        let text = fs::read_to_string(games.join(format!("{name}.kif"))).unwrap();
        let (mut prover, mut network) = (prover(&text), network(&text));
        let mut in_lanes = InLanes::new(self::network(&text)).unwrap();
        let (mut proven, mut one, mut many) = (None, None, None);
        let mut lines = 0;
        for text in BufReader::new(GzDecoder::new(File::open(path).unwrap())).lines() {
            let line: TraceLine = serde_json::from_str(&text.unwrap()).unwrap();
            replay_line(&mut prover, &mut proven, &line).unwrap_or_else(|error| panic!("{name}: {error}"));
            replay_line(&mut network, &mut one, &line).unwrap_or_else(|error| panic!("{name}: {error}"));
            replay_line(&mut in_lanes, &mut many, &line).unwrap_or_else(|error| panic!("{name}: {error}"));
            lines += 1;
        }
        eprintln!("{name}: {lines} lines agree, all that there are");
        replayed += lines;
    }
    assert!(replayed > 900);
}
