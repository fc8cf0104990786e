//! Rulesheets from text to play: the project's own, and those of other projects
//! with their traces.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::time::{Duration, Instant};

use crate::common::{collection, conformance, data, files, legal_texts, own, own_dir, prover, public_lengths};
use flate2::read::GzDecoder;
use proptest::prelude::*;
use rand::SeedableRng;
use sternhalma_ggp::Rng;
use sternhalma_ggp::gdl::network::{InLanes, Network, NetworkGame};
use sternhalma_ggp::gdl::{
    CheckOptions, Code, Document, Finding, Goal, Prover, ProverError, ProverState, Renaming, ReplayError, Rules,
    Severity, TraceEngine, TraceLine, check, replay_line, scramble, trace,
};

/// Small rulesheets of this project.
const OWN: [&str; 3] = ["tic-tac-toe", "matching-pennies", "subtraction"];

fn network(text: &str) -> NetworkGame {
    NetworkGame::new(Network::new(&Rules::parse(text).unwrap()).unwrap())
}

fn errors(findings: &[Finding]) -> Vec<Code> {
    findings.iter().filter(|finding| finding.severity == Severity::Error).map(|finding| finding.code).collect()
}

#[test]
fn tic_tac_toe_has_the_known_number_of_short_games() {
    fn games(prover: &mut Prover, state: &ProverState, depth: u32) -> u64 {
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
fn both_roles_move_at_once() {
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
fn every_engine_gives_the_same_trace() {
    for name in OWN {
        fn lines(engine: &mut impl TraceEngine) -> Vec<TraceLine> {
            let mut lines = Vec::new();
            let visit = |line: &TraceLine| -> Result<(), ReplayError> {
                lines.push(line.clone());
                Ok(())
            };
            trace(engine, 5, 20, 100, visit).unwrap();
            lines
        }
        let expected = lines(&mut prover(&own(name)));
        assert_eq!(lines(&mut network(&own(name))), expected);
        let (mut engine, mut state) = (network(&own(name)), None);
        expected.iter().for_each(|line| replay_line(&mut engine, &mut state, line).unwrap());
        let mut line = expected[0].clone();
        line.joint.as_mut().unwrap()[0] = "(give up)".into();
        let error = replay_line(&mut engine, &mut None, &line).unwrap_err();
        assert!(error.to_string().ends_with("expected (give up), got no such legal move"), "{error}");
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
    /// Drops, repeats or replaces words of a rulesheet. `check` must not panic,
    /// and a rulesheet without errors must be playable.
    #[test]
    fn damaged_rulesheets_are_checked(game in 0..OWN.len(), damage in proptest::collection::vec((any::<usize>(), any::<usize>(), 0..3), 1..4)) {
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

/// Returns the line with all symbols renamed.
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

/// Traces a match of a rulesheet and replays the first `most` lines with the
/// same rules under other names and in another order.
fn names_and_order_do_not_matter(name: &str, text: &str, most: usize) {
    let mut lines: Vec<TraceLine> = Vec::new();
    let visit = |line: &TraceLine| -> Result<(), ReplayError> {
        lines.push(line.clone());
        // An error stops the trace.
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
}

#[test]
fn names_and_the_order_of_rules_and_bodies_do_not_matter() {
    for (name, path) in files(&own_dir(), ".kif") {
        names_and_order_do_not_matter(&name, &fs::read_to_string(path).unwrap(), 100);
    }
}

/// The errors that `check` must report for a rulesheet, by the name of its file.
type ExpectedErrors = &'static [(&'static str, Code)];

/// Compares the errors of every rulesheet in a directory with the expected
/// ones. A rulesheet that is not listed must be valid.
fn check_cases(dir: &Path, invalid: ExpectedErrors, valid_if_lenient: &[&str]) {
    let cases = files(dir, ".kif");
    assert!(invalid.iter().all(|(case, _)| cases.iter().any(|(name, _)| name == case)));
    for (name, path) in cases {
        let text = fs::read_to_string(path).unwrap();
        let options = CheckOptions { fragment: true, ..CheckOptions::default() };
        let found = errors(&check(&text, &options));
        match invalid.iter().find(|(case, _)| *case == name) {
            Some((_, code)) => assert!(found.contains(code), "{name}: {found:?}"),
            None => assert_eq!(found, [], "{name}"),
        }
        if valid_if_lenient.contains(&name.as_str()) {
            let lenient = CheckOptions { lenient: true, ..options };
            assert_eq!(errors(&check(&text, &lenient)), [], "{name}");
        }
    }
}

/// The legal moves of the only role in the initial state, and its goal if the
/// first of them ends the match.
struct ExpectedMoves {
    case: &'static str,
    moves: Vec<String>,
    goal: Option<u8>,
}

fn expected_moves(case: &'static str, moves: &[&str], goal: Option<u8>) -> ExpectedMoves {
    ExpectedMoves { case, moves: moves.iter().map(ToString::to_string).collect(), goal }
}

fn check_moves(dir: &Path, cases: Vec<ExpectedMoves>) {
    for ExpectedMoves { case, moves: mut expected, goal } in cases {
        let mut prover = prover(&fs::read_to_string(dir.join(format!("{case}.kif"))).unwrap());
        let start = prover.initial().unwrap();
        let mut found = legal_texts(&mut prover, &start, 0);
        expected.sort();
        found.sort();
        assert_eq!(found, expected, "{case}");
        let Some(goal) = goal else { continue };
        let mv = prover.term(&expected[0]).unwrap();
        let end = prover.next(&start, &[mv]).unwrap();
        assert!(prover.is_terminal(&end).unwrap(), "{case}");
        assert_eq!(prover.goals(&end).unwrap(), [Goal::Value(goal)], "{case}");
    }
}

/// A file, and the code, line and column of its finding, if it has one.
type FindingCase<'a> = (&'a str, Option<(Code, u32, u32)>);

/// Compares the findings of rulesheets with their expected codes and places.
/// If an error is expected, warnings are ignored.
fn check_findings(dir: &Path, cases: &[FindingCase<'_>]) {
    for (name, expected) in cases {
        let text = fs::read_to_string(dir.join(format!("{name}.kif"))).unwrap();
        let mut findings = check(&text, &CheckOptions { fragment: true, ..CheckOptions::default() });
        if expected.is_some() {
            findings.retain(|finding| finding.severity == Severity::Error);
        }
        let place = |finding: &Finding| finding.place.map(|place| (finding.code, place.line, place.column));
        assert_eq!(findings.iter().map(place).collect::<Vec<_>>(), Vec::from_iter(expected.map(Some)), "{name}");
    }
}

/// Compares the printed form of a text with the expected one.
fn check_printer(before: &Path, after: &Path) {
    let [before, after] = [before, after].map(|path| fs::read_to_string(path).unwrap());
    let printed = Document::parse(&before).unwrap().to_string();
    assert_eq!(printed, after);
    assert_eq!(Document::parse(&printed).unwrap().to_string(), printed);
}

#[test]
fn rulesheets_are_found_valid_or_invalid() {
    let invalid = &[
        ("distinct-binds-nothing", Code::Unsafe),
        ("free-role-variable", Code::Unsafe),
        ("function-arities-differ", Code::FunctionArity),
        ("negated-distinct", Code::MisplacedKeyword),
        ("parentheses-differ", Code::EmptyArguments),
        ("partly-free-role-variable", Code::Unsafe),
        ("relation-arities-differ", Code::SentenceArity),
        ("rule-without-body", Code::EmptyBody),
    ];
    let valid_if_lenient =
        ["rule-without-body", "function-arities-differ", "relation-arities-differ", "parentheses-differ"];
    check_cases(&data("gdl/cases"), invalid, &valid_if_lenient);
}

#[test]
fn rulesheets_have_the_expected_moves() {
    let takes = ["x 0", "z 0", "z 1", "z 2", "w 0", "w 1", "w 2", "w 3", "w 4"].map(|take| format!("(take {take})"));
    let cases = vec![
        ExpectedMoves { case: "left-recursion", moves: takes.into(), goal: Some(100) },
        expected_moves("rule-without-body", &["switch"], Some(100)),
        expected_moves("body-reads-legal", &["kick", "open"], Some(10)),
        expected_moves("derived-constants", &["(ride up 0 1)"], Some(100)),
        expected_moves("move-from-relation", &["right"], Some(100)),
        expected_moves("undefined-relation", &["hat"], Some(100)),
        expected_moves("start-is-init-alone", &["boil"], Some(100)),
        expected_moves("base-and-input", &["switch"], Some(100)),
        expected_moves("recursion-through-functions", &["turn"], Some(100)),
        expected_moves("variable-twice", &["(ink 3 3 3 5)"], Some(100)),
        expected_moves("cyclic-recursion", &["turn"], Some(100)),
        expected_moves("mutual-recursion-at-the-start", &["wave"], Some(100)),
        expected_moves("mutual-recursion", &["(walk 0 0)", "(walk 1 0)", "(walk 2 0)", "(walk 2 1)"], Some(100)),
        expected_moves(
            "distinct-comes-first",
            &["(play ace queen)", "(play king ace)", "(play king queen)"],
            Some(100),
        ),
        expected_moves("functions-in-variables", &["yes1", "yes2", "yes3", "yes4", "yes5", "yes6"], Some(100)),
        expected_moves("contradictory-fluents", &["left", "right"], None),
    ];
    check_moves(&data("gdl/cases"), cases);
}

#[test]
fn findings_have_their_places() {
    let cases = [
        ("closes-nothing", Some((Code::Syntax, 1, 6))),
        ("closes-nothing-after-a-list", Some((Code::Syntax, 1, 19))),
        ("closes-nothing-on-line-two", Some((Code::Syntax, 2, 14))),
        ("empty-list-in-a-list", Some((Code::Syntax, 1, 13))),
        ("empty-list", Some((Code::Syntax, 1, 7))),
        ("never-closed", Some((Code::Syntax, 1, 7))),
        ("connective-as-fact", Some((Code::MisplacedKeyword, 1, 1))),
        ("connective-as-argument", Some((Code::MisplacedKeyword, 1, 8))),
        ("connective-as-function", Some((Code::MisplacedKeyword, 1, 8))),
        ("variable-in-a-fact", Some((Code::FactVariable, 1, 1))),
        ("empty-disjunction", Some((Code::EmptyDisjunction, 4, 17))),
        ("base-depends-on-true", Some((Code::Dependence, 2, 17))),
        ("comment-at-the-end", None),
    ];
    check_findings(&data("gdl/findings"), &cases);
}

#[test]
fn the_printer_normalizes_white_space() {
    let dir = data("gdl/format");
    for name in ["rules", "blank-lines"] {
        check_printer(&dir.join(format!("{name}-before.kif")), &dir.join(format!("{name}-after.kif")));
    }
}

/// Tests on rulesheets and traces of other projects.
mod conformance {
    use super::*;

    #[test]
    #[ignore = "needs STERNHALMA_CONFORMANCE"]
    fn names_and_the_order_of_rules_and_bodies_do_not_matter() {
        for (name, path) in files(&collection(), ".kif") {
            names_and_order_do_not_matter(&name, &fs::read_to_string(path).unwrap(), 30);
        }
    }

    #[test]
    #[ignore = "needs STERNHALMA_CONFORMANCE"]
    fn rulesheets_are_found_valid_or_invalid() {
        // The documentation calls 1a invalid because of a rule without a body,
        // and 5d, which ends with the same rule, valid. Here both are errors, and
        // both are valid with leniency.
        let invalid = &[
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
        let valid_if_lenient = ["test_case_1a", "test_case_5d", "test_invalid_function_arities_differ"];
        check_cases(&conformance("gdl-cases"), invalid, &valid_if_lenient);
    }

    #[test]
    #[ignore = "needs STERNHALMA_CONFORMANCE"]
    fn rulesheets_have_the_expected_moves() {
        let reductions =
            ["a 0", "a 1", "c 0", "c 1", "c 2", "c 3", "c 4"].map(|what| format!("(reduce {what})")).into();
        let steps = ["2 2", "3 2", "4 2", "5 2", "4 3", "5 3", "5 4"].map(|to| format!("(move {to})")).into();
        let goods = (1..=9).map(|n| format!("good{n}")).collect();
        let cases = vec![
            expected_moves("test_case_5a", &["proceed"], Some(100)),
            expected_moves("test_case_5c", &["proceed"], Some(100)),
            expected_moves("test_case_5d", &["proceed"], Some(100)),
            expected_moves("test_case_5b", &["(draw 1 1 1 2)"], Some(100)),
            ExpectedMoves { case: "test_case_5e", moves: reductions, goal: None },
            ExpectedMoves { case: "test_case_5f", moves: steps, goal: None },
            expected_moves("test_distinct_beginning_rule", &["(do a b)", "(do b a)"], Some(100)),
            ExpectedMoves { case: "test_fvv_1", moves: goods, goal: None },
        ];
        check_moves(&conformance("gdl-cases"), cases);
    }

    #[test]
    #[ignore = "needs STERNHALMA_CONFORMANCE"]
    fn findings_have_their_places() {
        let cases = [
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
        check_findings(&conformance("gdl-validation"), &cases);
    }

    #[test]
    #[ignore = "needs STERNHALMA_CONFORMANCE"]
    fn the_printer_normalizes_white_space() {
        let dir = conformance("gdl-validation");
        for number in [1, 2] {
            let path = |when| dir.join(format!("formatter{number}{when}.kif"));
            check_printer(&path("Before"), &path("After"));
        }
    }

    #[test]
    #[ignore = "needs STERNHALMA_CONFORMANCE"]
    fn one_rulesheet_of_the_collection_is_invalid() {
        let games = files(&collection(), ".kif");
        assert!(games.len() >= 42, "{}", games.len());
        // Random play finds no more errors here than the static checks do, and
        // takes longer.
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
    #[ignore = "needs STERNHALMA_CONFORMANCE"]
    fn random_matches_are_as_long_as_with_other_reasoners() {
        for (name, expected) in public_lengths() {
            let mut prover = prover(&fs::read_to_string(collection().join(format!("{name}.kif"))).unwrap());
            let start = prover.initial().unwrap();
            let (mut rng, begun) = (Rng::seed_from_u64(5), Instant::now());
            let mut lengths = Vec::new();
            // Slow games have few matches: at least one, then as time allows.
            while lengths.is_empty() || lengths.len() < 300 && begun.elapsed() < Duration::from_millis(500) {
                lengths.push(prover.playout(&start, 10_000, &mut rng).unwrap().steps as f64);
            }
            let n = lengths.len() as f64;
            let mean = lengths.iter().sum::<f64>() / n;
            let variance = lengths.iter().map(|length| (length - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
            if n >= 20.0 {
                // In a small sample in which nearly all matches end at the last
                // step, the spread underestimates how rare shorter matches are.
                let slack = 4.5 * variance.sqrt().max(0.02 * expected) / n.sqrt() + 0.01;
                assert!((mean - expected).abs() <= slack, "{name}: mean length {mean:.2} of {n}, expected {expected}");
            }
        }
    }

    #[test]
    #[ignore = "needs STERNHALMA_CONFORMANCE"]
    fn traces_of_another_prover_are_replayed() {
        let mut replayed = 0;
        for (name, path) in files(&conformance("traces"), ".jsonl.gz") {
            let text = fs::read_to_string(collection().join(format!("{name}.kif"))).unwrap();
            let (mut prover, mut network) = (prover(&text), network(&text));
            let mut in_lanes = InLanes::new(super::network(&text)).unwrap();
            let (mut proven, mut one, mut many) = (None, None, None);
            for text in BufReader::new(GzDecoder::new(File::open(path).unwrap())).lines() {
                let line: TraceLine = serde_json::from_str(&text.unwrap()).unwrap();
                replay_line(&mut prover, &mut proven, &line).unwrap_or_else(|error| panic!("{name}: {error}"));
                replay_line(&mut network, &mut one, &line).unwrap_or_else(|error| panic!("{name}: {error}"));
                replay_line(&mut in_lanes, &mut many, &line).unwrap_or_else(|error| panic!("{name}: {error}"));
                replayed += 1;
            }
        }
        assert!(replayed > 900, "{replayed} lines");
    }
}
