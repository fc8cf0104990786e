use super::*;
use crate::network::Network;
use std::sync::atomic::AtomicBool;

use crate::syntax::{Place, RuleBound};

fn network(text: &str) -> Result<Network, GroundError> {
    Network::new(&Rules::parse(text).unwrap())
}

/// Returns a rulesheet with one role and the given additional rules.
fn game(rest: &str) -> String {
    format!("(role you) (init (on 0)) (legal you wait) (<= terminal (true (on 0))) (goal you 50) {rest}")
}

fn numbers(name: &str, count: usize) -> String {
    (0..count).map(|number| format!("({name} {number} {})", number + 1)).collect()
}

#[test]
fn errors_have_their_place() {
    let place = Place { line: 2, column: 1 };
    let error = |rest: &str| network(&game(&format!("\n{rest}"))).unwrap_err();
    assert_eq!(error("(<= (p ?x) (true (on ?y)))"), GroundError::Unsafe { place });
    assert_eq!(error("(<= p (true (on 0)) (not (q ?x)))"), GroundError::Unsafe { place });
    assert_eq!(error("(<= (init (at ?x)) (true (on ?x)))"), GroundError::Start { place });
    // Only networks expand disjunctions of negations that depend on the state.
    let literal = "(or (not (true (on 0))) (not (true (on 1))) (not (true (on 2))))";
    let error = error(&format!("(<= (legal you go) {})", literal.repeat(7)));
    assert_eq!(error, GroundError::Bound { place, bound: RuleBound::Alternatives });
    assert_eq!(network("(init on)").unwrap_err(), GroundError::NoRole);
}

/// Splitting, expansion and demand must not let the number of clauses explode.
#[test]
fn explosive_rules_are_rejected_or_not_split() {
    let choices: String = (0..20)
        .map(|i| format!("(n ?a{i}) (n ?b{i}) (n ?c{i}) (n ?d{i}) (or (distinct ?a{i} ?b{i}) (distinct ?c{i} ?d{i}))"))
        .collect();
    let choices = network(&game(&format!("(n 0) (n 1) (<= (legal you go) (true (on 0)) {choices})")));
    assert!(matches!(choices, Ok(_) | Err(GroundError::TooLarge { .. })), "{choices:?}");
    // Splitting off a block would need a relation with too many columns.
    let blocks: String = (0..7)
        .map(|block| {
            let vars: String = (0..16).map(|var| format!(" ?b{block}v{var}")).collect();
            format!("(true (f{vars} ?last))")
        })
        .collect();
    let values = " 0".repeat(17);
    let wide = format!("(init (f{values})) (<= (next (f{values})) (true (f{values}))) (<= (legal you go) {blocks})");
    assert_eq!(network(&game(&wide)).unwrap().moves, ["wait", "go"]);
}

/// Relations within the bounds have networks, and so have fluents and moves with more arguments
/// than a relation may have.
#[test]
fn wide_relations_fluents_and_moves_are_grounded() {
    let list = |prefix: &str, count: usize| (0..count).map(|n| format!(" {prefix}{n}")).collect::<String>();
    for count in [63, 64, 65, 100] {
        let (values, names) = (list("v", count), list("?x", count));
        let rules = format!(
            "(role you) (init (wide{values})) (value{}) (<= (legal you (go{names})) (true (wide{names})))
             (<= (next done) (does you (go{names})) (true (wide{names})))
             (<= terminal (true done)) (<= (goal you 100) (value{}))",
            list("v", 64),
            list("?x", 64),
        );
        let network = network(&rules).unwrap();
        assert_eq!(network.moves, [format!("(go{values})")]);
        assert_eq!(network.fluents.len(), 2);
        let values = network.netlist.evaluate(&[true, false], &[true]);
        let done = network.fluents.iter().position(|fluent| fluent == "done").unwrap();
        assert!(network.netlist.outputs.next[done].of(&values), "{count} arguments");
    }
}

/// Each relation of a chain is a group of its own, and a query of its own.
#[test]
fn long_chains_have_networks() {
    const LENGTH: usize = 12_000;
    for first in ["(true (on 0))", "(role you)"] {
        let chain: String = (0..LENGTH).rev().map(|n| format!("(<= p{} p{n})", n + 1)).collect();
        let network = network(&game(&format!("{chain} (<= p0 {first}) (<= (legal you go) p{LENGTH})"))).unwrap();
        assert_eq!(network.moves, ["wait", "go"]);
    }
}

#[test]
fn grounding_is_stopped() {
    let rules = Rules::parse(&game("(<= (next (on 1)) (true (on 0)))")).unwrap();
    let stopped = Network::unless(&rules, &std::sync::atomic::AtomicBool::new(true));
    assert_eq!(stopped.unwrap_err(), GroundError::Stopped);
}

/// Roles have the same order as in the prover: roles defined by facts come first.
#[test]
fn roles_defined_by_rules_come_last() {
    let text = "(<= (role ?r) (player ?r)) (player a) (role b) (init on)
        (<= (legal ?r stay) (role ?r)) (<= terminal (not (true on)))";
    assert_eq!(network(text).unwrap().roles, ["b", "a"]);
    let mut prover = crate::Prover::new(&Rules::parse(text).unwrap()).unwrap();
    assert_eq!(prover.initial().map(|_| prover.text(prover.roles()[0])).unwrap(), "b");
}

/// A goal out of range that no match reaches must not make a game invalid. A
/// goal out of range that a match reaches counts as none.
#[test]
fn goals_out_of_range_count_as_none() {
    let rest = "(init (score 0)) (plus 0 60) (plus 60 120) (plus 120 180)
        (<= (next (score ?y)) (true (score ?x)) (plus ?x ?y))
        (<= (goal you ?x) (true (score ?x)) (distinct ?x 0))";
    let network = network(&game(rest).replace("(goal you 50)", "")).unwrap();
    let goals = &network.netlist.outputs.goals[0];
    let reached = |score: &str| {
        let fluents: Vec<bool> = network.fluents.iter().map(|fluent| fluent.ends_with(score)).collect();
        let values = network.netlist.evaluate(&fluents, &vec![false; network.moves.len()]);
        goals.iter().filter(|(_, lit)| lit.of(&values)).map(|&(goal, _)| goal).collect::<Vec<u8>>()
    };
    assert_eq!((reached(" 60)"), reached(" 120)").len()), (vec![60], 2));
}

#[test]
fn unstratified_negation_is_an_error() {
    let by_facts = "(<= (p ?x) (q ?x) (not (r ?x))) (<= (r ?x) (q ?x) (not (p ?x))) (q 0)";
    assert_eq!(network(&game(by_facts)).unwrap_err(), GroundError::NotStratified);
    let by_state = "(<= p (true (on 0)) (not r)) (<= r (true (on 0)) (not p)) (<= (legal you go) p)";
    assert_eq!(network(&game(by_state)).unwrap_err(), GroundError::NotStratified);
    let by_itself = "(<= p (true (on 0)) (not p)) (<= (legal you go) p)";
    assert_eq!(network(&game(by_itself)).unwrap_err(), GroundError::NotStratified);
}

#[test]
fn unbounded_terms_are_an_error() {
    for rest in [
        "(<= (next (on (s ?x))) (true (on ?x)))",
        "(n 0) (<= (n (s ?x)) (n ?x)) (<= (legal you ?x) (n ?x))",
        "(<= (legal you (ask ?x)) (true (on ?x)) (deep ?x)) (<= (deep ?x) (deep (s ?x)) (true (on 0)))",
        // The text of a term that contains another one twice grows exponentially.
        "(<= (next (on (s ?x ?x))) (true (on ?x)))",
    ] {
        assert!(matches!(network(&game(rest)), Err(GroundError::TermTooLarge { .. })), "{rest}");
    }
}

/// Six independent variables with a hundred values each would have 10^12
/// instances.
#[test]
fn independent_variables_are_not_multiplied() {
    let parts: String = (0..6).map(|part| format!("(true (at {part} ?v{part}))")).collect();
    let rest = format!(
        "{} (part 0) (part 1) (part 2) (part 3) (part 4) (part 5)
         (<= (init (at ?p 0)) (part ?p)) (<= (next (at ?p ?w)) (true (at ?p ?v)) (succ ?v ?w))
         (<= (legal you go) {parts})",
        numbers("succ", 100)
    );
    assert!(network(&game(&rest)).unwrap().netlist.gates().len() < 5_000);
}

/// A count that begins at 0 need not be derived from other starts.
#[test]
fn only_queried_sentences_are_grounded() {
    let rest = format!(
        "{} {} (<= (number ?x) (succ ?x ?y))
         (<= (init (cell ?c white)) (after ?c ?d)) (<= (next (cell ?c ?p)) (true (cell ?c ?p)))
         (<= (next (cell ?c black)) (true (cell ?c white)))
         (<= (legal you (say ?w ?b)) (count 0 0 0 ?w ?b))
         (<= (count 20 ?w ?b ?w ?b) (number ?w) (number ?b))
         (<= (count ?c ?w ?b ?x ?y) (true (cell ?c white)) (succ ?w ?v) (after ?c ?d) (count ?d ?v ?b ?x ?y))
         (<= (count ?c ?w ?b ?x ?y) (true (cell ?c black)) (succ ?b ?v) (after ?c ?d) (count ?d ?w ?v ?x ?y))",
        numbers("succ", 60),
        numbers("after", 20)
    );
    let network = network(&game(&rest)).unwrap();
    assert_eq!(network.moves.len(), 22, "{:?}", network.moves);
}

/// Paths in a ring are found although each step depends on all others.
#[test]
fn recursion_within_a_state_ends() {
    let rest = "(next0 0 1) (next0 1 2) (next0 2 3) (next0 3 0)
        (<= (init (open ?x ?y)) (next0 ?x ?y)) (<= (next (open ?x ?y)) (true (open ?x ?y)) (not (does you (close ?x))))
        (<= (legal you (close ?x)) (next0 ?x ?y))
        (<= (way ?x ?y) (true (open ?x ?y))) (<= (way ?x ?z) (way ?x ?y) (way ?y ?z))
        (<= (legal you (see ?x ?y)) (way ?x ?y))";
    let network = network(&game(rest)).unwrap();
    let netlist = &network.netlist;
    let seen = |open: &dyn Fn(&str) -> bool| {
        let fluents: Vec<bool> =
            network.fluents.iter().map(|fluent| !fluent.starts_with("(open") || open(fluent)).collect();
        let values = netlist.evaluate(&fluents, &vec![false; netlist.moves()]);
        let ways = (0..netlist.moves()).filter(|&mv| network.moves[mv].starts_with("(see"));
        ways.filter(|&mv| netlist.outputs.legal[mv].of(&values)).count()
    };
    assert_eq!(seen(&|_| true), 16);
    assert_eq!(seen(&|fluent| fluent != "(open 3 0)"), 6);
    assert_eq!(seen(&|_| false), 0);
}

#[test]
fn the_bound_that_is_hit_is_named() {
    let digits: String = (0..10).map(|digit| format!("(n {digit}) ")).collect();
    let rules =
        game(&format!("{digits} (<= (legal you (pick ?a ?b ?c ?d)) (true (on 0)) (n ?a) (n ?b) (n ?c) (n ?d))"));
    let rules = Rules::parse(&rules).unwrap();
    let compile = |memory| Network::within(&rules, memory, &AtomicBool::new(false));
    assert!(compile(1 << 28).is_ok());
    let error = compile(1 << 20).unwrap_err();
    assert!(matches!(error, GroundError::TooLarge { bound: GroundBound::Words, limit: 26_214, .. }), "{error:?}");
    let bound = "grounding needs more than 26214 words of facts and instances, \
                 which is the bound for a memory limit of 1.0 MiB";
    assert_eq!(error.to_string(), bound);
    // Without a limit, the bounds are those of earlier versions.
    let limits = GroundLimits::within(GroundLimits::DEFAULT_MEMORY);
    assert!(limits.words >= 50_000_000 && limits.visits >= 200_000_000 && limits.gates >= 10_000_000);
}

/// The order of the conditions does not decide whether a rulesheet can be
/// grounded: a static literal restricts the demand of a recursive one.
#[test]
fn the_order_of_conditions_does_not_decide_about_demand() {
    let conditions = ["(reach (s ?y))", "(num (s ?y))", "(num ?y)"];
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let body: Vec<&str> = order.iter().map(|&index| conditions[index]).collect();
        let text = format!(
            "(role a) (num z) (num (s z)) (num (s (s z))) (init (at (s (s z))))
            (<= (reach ?x) (true (at ?x))) (<= (reach ?y) {})
            (<= (legal a go) (true (at ?x))) (<= (next (at z)) (reach z)) (<= terminal (true (at z))) (goal a 100)",
            body.join(" ")
        );
        let network = network(&text).unwrap_or_else(|error| panic!("{body:?}: {error}"));
        let start: Vec<bool> = network.fluents.iter().map(|fluent| fluent.ends_with("(s (s z)))")).collect();
        let values = network.netlist.evaluate(&start, &vec![false; network.moves.len()]);
        let next = network.netlist.outputs.next.iter().filter(|lit| lit.of(&values)).count();
        assert_eq!(next, 1, "{body:?}");
    }
}
