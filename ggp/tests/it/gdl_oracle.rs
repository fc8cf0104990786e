//! The prover and the network against bottom-up evaluation: random stratified
//! programs with mutual recursion, negation and disjunction, queried with every
//! combination of bound arguments.

use std::collections::BTreeSet;
use std::fmt::Write;

use proptest::prelude::*;
use sternhalma_ggp::gdl::network::Network;
use sternhalma_ggp::gdl::{Prover, Rules};

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
