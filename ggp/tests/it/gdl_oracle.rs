//! The prover and the network against bottom-up evaluation: random stratified
//! programs with mutual recursion, negation and disjunction, queried with every
//! combination of bound arguments.

use std::collections::BTreeSet;
use std::fmt::Write;

use proptest::prelude::*;
use rand::SeedableRng;
use sternhalma_ggp::Rng;
use sternhalma_ggp::gdl::network::Network;
use sternhalma_ggp::gdl::{CheckOptions, Code, Document, Prover, Rules, check, shuffle};

const CONSTANTS: usize = 3;
/// The number of relations, of two arguments each. Relations from `UPPER` on
/// may negate the others.
const RELATIONS: usize = 9;
const UPPER: usize = 7;

/// An argument: 0 to 2 are constants, 3 to 5 variables.
type Arg = usize;

#[derive(Clone, Debug)]
struct Call {
    relation: usize,
    args: [Arg; 2],
}

/// The clause `head <= body and either and not negated and left /= right`. One of
/// `either` must hold unless it is empty, and none of `negated`.
#[derive(Clone, Debug)]
struct Clause {
    head: Call,
    body: Vec<Call>,
    either: Vec<Call>,
    negated: Vec<Call>,
    distinct: Option<[Arg; 2]>,
}

impl Clause {
    fn is_fact(&self) -> bool {
        self.body.is_empty() && self.either.is_empty()
    }
}

type Tuples = Vec<BTreeSet<[usize; 2]>>;

fn call(relations: std::ops::Range<usize>) -> impl Strategy<Value = Call> {
    (relations, [0..6usize, 0..6usize]).prop_map(|(relation, args)| Call { relation, args })
}

fn clause(head: std::ops::Range<usize>, body: std::ops::Range<usize>) -> impl Strategy<Value = Clause> {
    let calls = |most| proptest::collection::vec(call(body.clone()), 0..=most);
    let negated = proptest::collection::vec(call(0..UPPER), 0..2);
    let distinct = proptest::option::of([0..6usize, 0..6usize]);
    (call(head.clone()), calls(3), calls(2), negated, distinct).prop_map(move |parts| {
        let (head, body, either, negated, distinct) = parts;
        let negated = if head.relation < UPPER { Vec::new() } else { negated };
        made_safe(Clause { head, body, either, negated, distinct })
    })
}

/// Replaces each variable that the body does not bind by a constant.
fn made_safe(mut clause: Clause) -> Clause {
    if clause.either.len() == 1 {
        clause.body.append(&mut clause.either);
    }
    let mut bound: BTreeSet<Arg> = clause.body.iter().flat_map(|call| call.args).collect();
    let in_all = |arg: &Arg| !clause.either.is_empty() && clause.either.iter().all(|call| call.args.contains(arg));
    bound.extend((3..6).filter(in_all));
    let safe = |arg: &mut Arg| {
        if *arg >= 3 && !bound.contains(arg) {
            *arg -= 3;
        }
    };
    clause.head.args.iter_mut().for_each(safe);
    clause.negated.iter_mut().flat_map(|call| &mut call.args).for_each(safe);
    clause.distinct.iter_mut().flatten().for_each(safe);
    clause
}

fn program() -> impl Strategy<Value = Vec<Clause>> {
    let facts = (0..RELATIONS, [0..CONSTANTS, 0..CONSTANTS]).prop_map(|(relation, args)| {
        let head = Call { relation, args };
        Clause { head, body: Vec::new(), either: Vec::new(), negated: Vec::new(), distinct: None }
    });
    let facts = proptest::collection::vec(facts, 1..6);
    let lower = proptest::collection::vec(clause(0..UPPER, 0..UPPER), 1..16);
    let upper = proptest::collection::vec(clause(UPPER..RELATIONS, 0..RELATIONS), 0..5);
    (facts, lower, upper).prop_map(|(facts, lower, upper)| [facts, lower, upper].concat())
}

fn value(arg: Arg, env: [usize; 3]) -> usize {
    if arg < 3 { arg } else { env[arg - 3] }
}

fn holds(call: &Call, env: [usize; 3], tuples: &Tuples) -> bool {
    tuples[call.relation].contains(&call.args.map(|arg| value(arg, env)))
}

/// Returns all tuples that follow from a program. Adds tuples until nothing new
/// follows, for the lower relations first.
fn evaluate(program: &[Clause]) -> Tuples {
    let mut tuples: Tuples = vec![BTreeSet::new(); RELATIONS];
    for upper in [false, true] {
        loop {
            let before: usize = tuples.iter().map(BTreeSet::len).sum();
            for clause in program.iter().filter(|clause| (clause.head.relation >= UPPER) == upper) {
                for code in 0..CONSTANTS.pow(3) {
                    let env = [code % 3, code / 3 % 3, code / 9];
                    let follows = clause.body.iter().all(|call| holds(call, env, &tuples))
                        && (clause.either.is_empty() || clause.either.iter().any(|call| holds(call, env, &tuples)))
                        && !clause.negated.iter().any(|call| holds(call, env, &tuples))
                        && clause.distinct.is_none_or(|[a, b]| value(a, env) != value(b, env));
                    if follows {
                        tuples[clause.head.relation].insert(clause.head.args.map(|arg| value(arg, env)));
                    }
                }
            }
            if tuples.iter().map(BTreeSet::len).sum::<usize>() == before {
                break;
            }
        }
    }
    tuples
}

fn term(arg: Arg) -> &'static str {
    ["a", "b", "c", "?x", "?y", "?z"][arg]
}

fn sentence(call: &Call) -> String {
    format!("(r{} {} {})", call.relation, term(call.args[0]), term(call.args[1]))
}

/// Returns a rulesheet that queries each relation with no argument bound, with
/// either one, and with both.
fn rulesheet(program: &[Clause]) -> String {
    let mut text = String::from("(role you)(k a)(k b)(k c)(init (on a))\n");
    for clause in program {
        write_rule(clause, "", &mut text);
    }
    text + &queries()
}

/// Returns the same rulesheet with facts that depend on the state: each step may
/// drop one.
fn rulesheet_of_states(program: &[Clause]) -> String {
    let mut text = String::from("(role you)(k a)(k b)(k c)(init (on a))(next (on a))(legal you wait)\n");
    for (number, clause) in program.iter().enumerate() {
        if clause.is_fact() {
            write!(text, "(init (fact {number}))(<= (legal you (drop {number})) (true (fact {number})))").unwrap();
            write!(text, "(<= (next (fact {number})) (true (fact {number})) (not (does you (drop {number}))))")
                .unwrap();
            write_rule(clause, &format!("(true (fact {number}))"), &mut text);
        } else {
            write_rule(clause, "", &mut text);
        }
    }
    text + &queries()
}

fn write_rule(clause: &Clause, condition: &str, text: &mut String) {
    write!(text, "(<= {}{condition}", sentence(&clause.head)).unwrap();
    clause.body.iter().for_each(|call| *text += &sentence(call));
    clause.negated.iter().for_each(|call| *text += &format!("(not {})", sentence(call)));
    if let Some([left, right]) = clause.distinct {
        write!(text, "(distinct {} {})", term(left), term(right)).unwrap();
    }
    if !clause.either.is_empty() {
        let parts: String = clause.either.iter().map(sentence).collect();
        write!(text, "(or {parts})").unwrap();
    }
    *text += ")\n";
}

fn queries() -> String {
    let mut text = String::new();
    for relation in 0..RELATIONS {
        for (mode, bound) in ["", "(k ?x)", "(k ?y)", "(k ?x)(k ?y)"].iter().enumerate() {
            writeln!(text, "(<= (legal you (m {relation} {mode} ?x ?y)) (true (on a)){bound}(r{relation} ?x ?y))")
                .unwrap();
        }
    }
    text
}

/// Returns the moves that are legal if these tuples hold.
fn answers(tuples: &Tuples) -> BTreeSet<String> {
    let mut moves = BTreeSet::new();
    for (relation, tuples) in tuples.iter().enumerate() {
        for [x, y] in tuples {
            moves.extend((0..4).map(|mode| format!("(m {relation} {mode} {} {})", term(*x), term(*y))));
        }
    }
    moves
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn resolution_agrees_with_bottom_up_evaluation(program in program()) {
        let tuples = evaluate(&program);
        let text = rulesheet(&program);
        let mut prover = Prover::new(&Rules::parse(&text).unwrap()).unwrap();
        let state = prover.initial().unwrap();
        let moves = prover.legal(&state, 0).unwrap();
        let found: BTreeSet<String> = moves.into_iter().map(|mv| prover.text(mv)).collect();
        prop_assert_eq!(found, answers(&tuples), "{}", text);
    }

    #[test]
    fn networks_agree_with_bottom_up_evaluation(program in program(), drops in proptest::collection::vec(any::<proptest::sample::Index>(), 0..6)) {
        let text = rulesheet_of_states(&program);
        let network = Network::new(&Rules::parse(&text).unwrap()).unwrap();
        let netlist = &network.netlist;
        let mut left = program.clone();
        let mut numbers: Vec<usize> = (0..program.len()).collect();
        let mut fluents = netlist.initial.clone();
        for drop in drops.iter().map(Some).chain([None]) {
            let values = netlist.evaluate(&fluents, &vec![false; netlist.moves()]);
            let is_legal = |mv: &usize| netlist.outputs.legal[*mv].of(&values);
            let found = (0..netlist.moves()).filter(is_legal).map(|mv| network.moves[mv].clone());
            let found: BTreeSet<String> = found.filter(|name| name.starts_with("(m ")).collect();
            prop_assert_eq!(found, answers(&evaluate(&left)), "{}", text);
            let facts: Vec<usize> = (0..left.len()).filter(|&index| left[index].is_fact()).collect();
            let Some(drop) = drop.filter(|_| !facts.is_empty()) else { break };
            let index = facts[drop.index(facts.len())];
            left.remove(index);
            let name = format!("(drop {})", numbers.remove(index));
            let mv = network.moves.iter().position(|mv| *mv == name).unwrap();
            let mut does = vec![false; netlist.moves()];
            does[mv] = true;
            let values = netlist.evaluate(&fluents, &does);
            fluents = netlist.outputs.next.iter().map(|lit| lit.of(&values)).collect();
        }
    }
}

/// The largest number, as a term of successors.
const LARGEST: usize = 4;

fn number(value: usize) -> String {
    (0..value).fold("z".to_owned(), |inner, _| format!("(s {inner})"))
}

/// Returns a rule for a relation of numbers that calls other ones for the next or the previous
/// number. Another condition restricts the number of each call, as valid rules require: a
/// relation that is static or not, with one argument or two.
fn rule_of_numbers() -> impl Strategy<Value = String> {
    let conditions = proptest::collection::vec((0..4_usize, 0..3_usize, 0..4_usize), 1..4);
    (0..4_usize, any::<bool>(), conditions).prop_map(|(head, up, conditions)| {
        let (head_term, base) = if up { ("(s ?y)", "(num ?y)") } else { ("?y", "(num ?y)") };
        let mut text = format!("(<= (q{head} {head_term})");
        for (place, &(call, step, restriction)) in conditions.iter().enumerate() {
            let term = ["?y", "(s ?y)", "(s (s ?y))"][step];
            write!(text, "(q{call} {term})").unwrap();
            match restriction {
                0 => write!(text, "(num {term})"),
                1 => write!(text, "(some {term})"),
                2 => write!(text, "(pair {term} ?w{place})"),
                _ => write!(text, "(both {term} ?w{place})"),
            }
            .unwrap();
        }
        text + base + ")\n"
    })
}

fn rulesheet_of_numbers(rules: &[String]) -> String {
    let mut text = String::from(
        "(role you)(init on)(legal you wait)(<= (next on)(true on))(<= terminal (not (true on)))(goal you 50)\n",
    );
    for value in 0..=LARGEST {
        let number = number(value);
        write!(text, "(num {number})(pair {number} z)(init (at {number}))").unwrap();
    }
    text += "(<= (some ?x)(true (at ?x)))(<= (both ?x ?w)(some ?x)(num ?w)(true on))\n(q0 z)(<= (q1 ?x)(true (at ?x)))(<= (q2 ?x)(some ?x)(distinct ?x z))\n";
    text += &rules.concat();
    for relation in 0..4 {
        for (mode, bound) in ["", "(some ?x)"].iter().enumerate() {
            writeln!(text, "(<= (legal you (m {relation} {mode} ?x)){bound}(q{relation} ?x))").unwrap();
        }
    }
    text
}

/// The legal moves of the initial state according to the prover and to the network.
fn legal_moves(text: &str) -> [BTreeSet<String>; 2] {
    let rules = Rules::parse(text).unwrap();
    let mut prover = Prover::new(&rules).unwrap();
    let state = prover.initial().unwrap();
    let moves = prover.legal(&state, 0).unwrap();
    let by_prover = moves.into_iter().map(|mv| prover.text(mv)).collect();
    let network = Network::new(&rules).unwrap_or_else(|error| panic!("{error}: {text}"));
    let netlist = &network.netlist;
    let values = netlist.evaluate(&netlist.initial, &vec![false; netlist.moves()]);
    let legal = (0..netlist.moves()).filter(|&mv| netlist.outputs.legal[mv].of(&values));
    [by_prover, legal.map(|mv| network.moves[mv].clone()).collect()]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// The order of rules and conditions decides neither whether a valid rulesheet can be
    /// grounded nor what it means.
    #[test]
    fn shuffled_conditions_keep_groundability_and_meaning(rules in proptest::collection::vec(rule_of_numbers(), 1..7), seed: u64) {
        let text = rulesheet_of_numbers(&rules);
        let options = CheckOptions { playouts: 0, ..CheckOptions::default() };
        let unrestricted = check(&text, &options).iter().any(|finding| finding.code == Code::Recursion);
        prop_assume!(!unrestricted);
        let expected = legal_moves(&text);
        prop_assert_eq!(&expected[0], &expected[1], "{}", text);
        let (document, mut rng) = (Document::parse(&text).unwrap(), Rng::seed_from_u64(seed));
        for _ in 0..3 {
            let shuffled = shuffle(&document, &mut rng).to_string();
            prop_assert_eq!(&legal_moves(&shuffled), &expected, "{}", shuffled);
        }
    }
}
