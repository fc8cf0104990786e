//! Goal trees, made from the original rules.
//!
//! The network drops conditions that hold in every state, and grounding splits
//! rules. A degree of satisfaction counts all conditions of a rule. The rules
//! that lead to a goal are therefore instantiated again here, by joins over
//! the facts that grounding found possible.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use std::sync::atomic::AtomicBool;

use sternhalma_game::features::{GoalTree, GoalTreeBuilder};
use sternhalma_game::util::Lit;

use crate::ground::{
    ForwardChaining, GroundClauses, GroundError, GroundLimits, GroundTerms, PredId, RelationName, clause_groups,
    ground_clauses,
};
use crate::network::build::{Gates, NetworkBuilder};
use crate::scc::components;
use crate::syntax::{Atom, DependencyGraph, Literal, Rule, Rules, Term, for_each_atom};

/// The maximum number of nodes and branches of a tree.
const MAX_NODES: usize = 400_000;
/// The maximum number of rows that the joins for a tree may visit.
const MAX_VISITS: usize = 1_000_000;

/// Returns the tree of the highest goal of each role of a rulesheet, whose
/// facts are the fluents of its network, or `None` if the tree is too large, or
/// the role has no goal from 0 to 100.
/// Grounds the rules again, within `limits`.
///
/// A tree is defined as in [Świechowski and Mańdziuk 2014, section V.B], over
/// ground instances whose conditions may hold in some state. A sentence that
/// holds in every state has degree 1. A fluent has degree 1 or 0; so do `not`,
/// `distinct` and sentences that depend on themselves within a state. `or` is
/// a node of alternatives, and so is a relation with its instances.
///
/// # Errors
///
/// Returns the same errors as
/// [`Network::unless`](crate::network::Network::unless).
pub fn goal_trees(
    rules: &Rules,
    limits: GroundLimits,
    stop: &AtomicBool,
) -> Result<Vec<Option<GoalTree>>, GroundError> {
    let mut terms = GroundTerms::default();
    let clauses = ground_clauses(rules, &DependencyGraph::new(rules), &mut terms)?;
    let mut chain = ForwardChaining::new(&clauses, &mut terms, limits, stop);
    chain.run(&clause_groups(&clauses)?)?;
    let builder = NetworkBuilder::new(&clauses, &chain, stop)?;
    let (roles, fluents, gates, lits) = (builder.roles, builder.fluents, builder.gates, builder.lits);
    let mut sheet = GroundedRules::new(rules, &clauses, &mut chain);
    let tree_of = |&role: &u32| {
        let best = sheet.best_goal(role)?;
        let mut tree = TreeBuilder {
            sheet: &mut sheet,
            builder: GoalTreeBuilder::new(),
            known: HashMap::new(),
            wires: Wires { fluents: fluents.len(), gates: &gates, lits: &lits, signals: HashMap::new() },
            visits: 0,
        };
        let root = tree.relation("goal", &[role, best])?;
        Some(tree.builder.finish(root))
    };
    Ok(roles.iter().map(tree_of).collect())
}

/// The bound variables, in the order of their binding.
type Env<'r> = Vec<(&'r str, u32)>;

/// A relation and its number of arguments. A fluent has its own name and
/// number of arguments.
type RelationKey<'r> = (bool, &'r str, usize);

/// The rows of a relation that may hold.
#[derive(Default)]
struct RelationRows {
    rows: Vec<Box<[u32]>>,
    /// The rows by the term in a column.
    by_column: HashMap<(usize, u32), Vec<u32>>,
}

/// A rulesheet with the facts that may hold.
struct GroundedRules<'r, 'a, 'c> {
    rules: HashMap<(&'r str, usize), Vec<&'r Rule>>,
    recursive: HashSet<(&'r str, usize)>,
    clauses: &'a GroundClauses,
    chain: &'c mut ForwardChaining<'a>,
    rows: HashMap<RelationKey<'r>, Rc<RelationRows>>,
}

impl<'r, 'a, 'c> GroundedRules<'r, 'a, 'c> {
    fn new(rules: &'r Rules, clauses: &'a GroundClauses, chain: &'c mut ForwardChaining<'a>) -> Self {
        let mut by_head: HashMap<(&str, usize), Vec<&Rule>> = HashMap::new();
        for rule in rules.iter() {
            by_head.entry((rule.head.name.as_str(), rule.head.args.len())).or_default().push(rule);
        }
        let recursive = recursive(&by_head);
        GroundedRules { rules: by_head, recursive, clauses, chain, rows: HashMap::new() }
    }

    /// Returns the highest value of a role's goals, as a term.
    fn best_goal(&self, role: u32) -> Option<u32> {
        let rows = self.chain.rows("goal", 2).filter(|row| row[0] == role);
        let value = |row: &[u32]| self.chain.terms.text(row[1]).parse::<u8>().ok().filter(|&value| value <= 100);
        rows.filter_map(|row| Some((value(row)?, row[1]))).max().map(|(_, term)| term)
    }

    /// Returns the grounder's relation with a name, if the rulesheet has it.
    fn pred(&self, name: &str, arity: usize) -> Option<PredId> {
        if (name, arity) == ("true", 1) {
            return Some(self.clauses.fluents());
        }
        self.clauses.names.get(&RelationName::Named(name.to_string(), arity)).copied()
    }

    fn is_dynamic(&self, name: &str, arity: usize) -> bool {
        self.pred(name, arity).is_some_and(|pred| self.clauses.relations[pred].is_dynamic())
    }

    /// Returns whether the truth of a relation is determined by rules with
    /// conditions.
    fn is_open(&self, name: &'r str, arity: usize) -> bool {
        name != "true" && self.is_dynamic(name, arity) && !self.recursive.contains(&(name, arity))
    }

    /// Returns the grounder's relations that represent a relation.
    fn answers(&self, name: &str, arity: usize) -> Vec<PredId> {
        let Some(pred) = self.pred(name, arity) else { return Vec::new() };
        let others = self.clauses.answers.get(&pred).into_iter().flatten();
        std::iter::once(pred).chain(others.copied()).collect()
    }

    /// Returns the atom of a sentence that may hold.
    fn atom(&self, name: &str, words: &[u32]) -> Option<u32> {
        self.answers(name, words.len()).into_iter().find_map(|pred| self.chain.find_in(pred, words))
    }

    /// Returns the possible rows of an atom's relation.
    fn rows_of(&mut self, key: RelationKey<'r>) -> Rc<RelationRows> {
        if let Some(known) = self.rows.get(&key) {
            return known.clone();
        }
        let (is_function, name, arity) = key;
        let (mut seen, mut found) = (HashSet::new(), RelationRows::default());
        let answers = if is_function { vec![self.clauses.fluents()] } else { self.answers(name, arity) };
        for pred in answers {
            let table = &self.chain.tables[pred];
            for row in (0..table.len() as u32).map(|row| table.row(row)) {
                let row = if is_function { self.chain.terms.arguments(row[0], name, arity) } else { Some(row) };
                let Some(row) = row.filter(|row| seen.insert(row.to_vec())) else { continue };
                for (column, &term) in row.iter().enumerate() {
                    found.by_column.entry((column, term)).or_default().push(found.rows.len() as u32);
                }
                found.rows.push(row.into());
            }
        }
        let found = Rc::new(found);
        self.rows.insert(key, found.clone());
        found
    }

    /// Returns whether a term matches a pattern, and binds the variables of
    /// the pattern.
    fn meets(&mut self, pattern: &'r Term, term: u32, env: &mut Env<'r>) -> bool {
        match pattern {
            Term::Constant(name) => self.chain.terms.constant(name) == term,
            Term::Variable(name) => match env.iter().find(|(var, _)| var == name) {
                Some(&(_, bound)) => bound == term,
                None => {
                    env.push((name, term));
                    true
                }
            },
            Term::Function { name, args, .. } => {
                let Some(words) = self.chain.terms.arguments(term, name, args.len()).map(<[u32]>::to_vec) else {
                    return false;
                };
                args.iter().zip(words).all(|(arg, word)| self.meets(arg, word, env))
            }
        }
    }

    /// Returns the term of a pattern whose variables are bound.
    fn make(&mut self, pattern: &Term, env: &Env<'r>) -> Option<u32> {
        Some(match pattern {
            Term::Constant(name) => self.chain.terms.constant(name),
            Term::Variable(name) => env.iter().find(|(var, _)| var == name)?.1,
            Term::Function { name, args, .. } => {
                let mut words = vec![self.chain.terms.functor(name, args.len())];
                for arg in args {
                    words.push(self.make(arg, env)?);
                }
                self.chain.terms.intern(&words)
            }
        })
    }
}

/// Returns the relations that depend on themselves within a state.
fn recursive<'r>(rules: &HashMap<(&'r str, usize), Vec<&'r Rule>>) -> HashSet<(&'r str, usize)> {
    let names: Vec<(&str, usize)> = rules.keys().copied().collect();
    let places: HashMap<(&str, usize), usize> = names.iter().enumerate().map(|(place, &name)| (name, place)).collect();
    let mut edges: Vec<Vec<usize>> = vec![Vec::new(); names.len()];
    for (place, name) in names.iter().enumerate() {
        for rule in &rules[name] {
            for_each_atom(&rule.body, true, &mut |atom, _| {
                edges[place].extend(places.get(&(atom.name.as_str(), atom.args.len())));
            });
        }
    }
    let parts = components(names.len(), |node, see| edges[node].iter().for_each(|&other| see(other)));
    let is_cycle = |part: &&Vec<usize>| part.len() > 1 || edges[part[0]].contains(&part[0]);
    parts.iter().filter(is_cycle).flatten().map(|&place| names[place]).collect()
}

/// The circuit of all atoms; a tree copies the parts that its leaves read.
struct Wires<'c> {
    fluents: usize,
    gates: &'c Gates,
    lits: &'c [Lit],
    /// The signals of the nodes that were copied to the tree.
    signals: HashMap<usize, Lit>,
}

impl Wires<'_> {
    /// Returns the signal of a literal of the circuit.
    fn signal(&mut self, lit: Lit, tree: &mut GoalTreeBuilder) -> Lit {
        let mut open = vec![lit.node()];
        while let Some(&node) = open.last() {
            if self.signals.contains_key(&node) {
                open.pop();
                continue;
            }
            let signal = match self.gates.literals(node) {
                Some(lits) => {
                    let before = open.len();
                    open.extend(lits.iter().map(|lit| lit.node()).filter(|node| !self.signals.contains_key(node)));
                    if open.len() > before {
                        continue;
                    }
                    tree.and(lits.iter().map(|lit| lit.map(|node| self.signals[&node])))
                }
                None if (1..=self.fluents).contains(&node) => tree.fact(node as u32 - 1),
                // Goals do not depend on moves.
                None => Lit::FALSE,
            };
            self.signals.insert(node, signal);
        }
        lit.map(|node| self.signals[&node])
    }
}

/// The instances of the rules that lead to a goal. Methods return `None` if
/// there are too many.
struct TreeBuilder<'s, 'r, 'a, 'c> {
    sheet: &'s mut GroundedRules<'r, 'a, 'c>,
    builder: GoalTreeBuilder,
    /// The nodes of sentences.
    known: HashMap<(&'r str, Vec<u32>), u32>,
    wires: Wires<'s>,
    visits: usize,
}

/// The rows to visit for a sentence: those with a term in a column, or all.
struct JoinAccess {
    count: usize,
    column: Option<(usize, u32)>,
    index: usize,
}

impl<'r> TreeBuilder<'_, 'r, '_, '_> {
    /// Returns the node of a sentence, with the instances of its rules.
    fn relation(&mut self, name: &'r str, words: &[u32]) -> Option<u32> {
        if let Some(&known) = self.known.get(&(name, words.to_vec())) {
            return Some(known);
        }
        let rules = self.sheet.rules.get(&(name, words.len())).cloned().unwrap_or_default();
        let mut instances = Vec::new();
        for rule in rules {
            let mut env = Env::new();
            let args = rule.head.args.iter().zip(words);
            if !args.into_iter().all(|(arg, &word)| self.sheet.meets(arg, word, &mut env)) {
                continue;
            }
            for env in self.bindings(rule, env)? {
                instances.extend(self.instance(rule, &env)?);
            }
        }
        let node = self.builder.any(&instances);
        self.known.insert((name, words.to_vec()), node);
        (self.builder.size() <= MAX_NODES).then_some(node)
    }

    /// Returns the node of a rule whose variables are bound. The inner option
    /// is `None` if the conditions cannot hold, the outer one if there is no
    /// room.
    fn instance(&mut self, rule: &'r Rule, env: &Env<'r>) -> Option<Option<u32>> {
        let mut children = Vec::with_capacity(rule.body.len());
        for literal in &rule.body {
            let never = match literal {
                Literal::Not(..) | Literal::Distinct(..) => self.truth(literal, env) == Lit::FALSE,
                Literal::Holds(_) | Literal::Or(..) => false,
            };
            if never {
                return Some(None);
            }
            children.push(self.condition(literal, env)?);
        }
        Some(Some(self.builder.all(&children)))
    }

    fn condition(&mut self, literal: &'r Literal, env: &Env<'r>) -> Option<u32> {
        match literal {
            Literal::Holds(atom) if self.sheet.is_open(&atom.name, atom.args.len()) => {
                match self.ground_args(atom, env) {
                    Some(words) => self.relation(&atom.name, &words),
                    None => Some(self.builder.leaf(Lit::FALSE)),
                }
            }
            Literal::Or(_, parts) => {
                let mut alternatives = Vec::new();
                for part in parts {
                    for env in self.ways(part, env)? {
                        alternatives.push(self.condition(part, &env)?);
                    }
                }
                Some(self.builder.any(&alternatives))
            }
            _ => {
                let signal = self.truth(literal, env);
                Some(self.builder.leaf(signal))
            }
        }
    }

    /// Returns the signal of a condition.
    fn truth(&mut self, literal: &'r Literal, env: &Env<'r>) -> Lit {
        match literal {
            Literal::Holds(atom) => self.atom_truth(atom, env),
            Literal::Not(_, inner) => !self.truth(inner, env),
            Literal::Distinct(_, left, right) => {
                let (left, right) = (self.sheet.make(left, env), self.sheet.make(right, env));
                if left == right { Lit::FALSE } else { Lit::TRUE }
            }
            Literal::Or(_, parts) => {
                let signals: Vec<Lit> = parts.iter().map(|part| !self.truth(part, env)).collect();
                !self.builder.and(signals)
            }
        }
    }

    fn atom_truth(&mut self, atom: &'r Atom, env: &Env<'r>) -> Lit {
        let words = self.ground_args(atom, env);
        let Some(words) = words else { return Lit::FALSE };
        let Some(found) = self.sheet.atom(&atom.name, &words) else { return Lit::FALSE };
        if !self.sheet.is_dynamic(&atom.name, words.len()) {
            return Lit::TRUE;
        }
        self.wires.signal(self.wires.lits[found as usize], &mut self.builder)
    }

    /// Returns the arguments of an atom, or `None` if one has an unbound variable or is no term of the sheet.
    fn ground_args(&mut self, atom: &Atom, env: &Env<'r>) -> Option<Vec<u32>> {
        atom.args.iter().map(|arg| self.sheet.make(arg, env)).collect()
    }

    /// Returns all bindings of a rule's variables for which its sentences may
    /// hold.
    fn bindings(&mut self, rule: &'r Rule, env: Env<'r>) -> Option<Vec<Env<'r>>> {
        let sentences: Vec<&Atom> = rule.body.iter().filter_map(sentence).collect();
        let mut found = Vec::new();
        self.join(&sentences, env, &mut found)?;
        for (index, literal) in rule.body.iter().enumerate() {
            let Literal::Or(_, parts) = literal else { continue };
            let shared = shared(rule, index);
            let mut wider = Vec::new();
            for env in found {
                self.bind_shared(parts, &shared, env, &mut wider)?;
            }
            found = wider;
        }
        Some(found)
    }

    /// Binds the variables that a disjunction shares with other conditions,
    /// unless another condition binds them.
    fn bind_shared(
        &mut self,
        parts: &'r [Literal],
        shared: &HashSet<&'r str>,
        env: Env<'r>,
        found: &mut Vec<Env<'r>>,
    ) -> Option<()> {
        if shared.iter().all(|name| env.iter().any(|(var, _)| var == name)) {
            found.push(env);
            return Some(());
        }
        let known = env.len();
        let mut seen = HashSet::new();
        for part in parts {
            for mut way in self.ways(part, &env)? {
                let mut fresh = way.split_off(known);
                fresh.retain(|(var, _)| shared.contains(var));
                fresh.sort_unstable();
                way.extend(fresh);
                if seen.insert(way.clone()) {
                    found.push(way);
                }
            }
        }
        Some(())
    }

    /// Returns the bindings for which an alternative may hold. An alternative
    /// without variables keeps the given bindings.
    fn ways(&mut self, part: &'r Literal, env: &Env<'r>) -> Option<Vec<Env<'r>>> {
        let mut found = Vec::new();
        match part {
            Literal::Holds(atom) if self.ground_args(atom, env).is_none() => {
                self.join(&[atom], env.clone(), &mut found)?;
            }
            Literal::Or(_, parts) => {
                for part in parts {
                    found.extend(self.ways(part, env)?);
                }
            }
            _ => found.push(env.clone()),
        }
        Some(found)
    }

    /// Joins sentences, beginning with the one with the fewest rows.
    fn join(&mut self, left: &[&'r Atom], env: Env<'r>, found: &mut Vec<Env<'r>>) -> Option<()> {
        let accesses = (0..left.len()).map(|index| self.access(left, index, &env));
        let Some(access) = accesses.min_by_key(|access| access.count) else {
            found.push(env);
            return Some(());
        };
        self.visits += access.count + 1;
        if self.visits > MAX_VISITS {
            return None;
        }
        let (rows, args) = self.rows_of(left[access.index]);
        let mut rest = left.to_vec();
        rest.remove(access.index);
        let chosen: Vec<u32> = match access.column {
            Some(key) => rows.by_column.get(&key).cloned().unwrap_or_default(),
            None => (0..rows.rows.len() as u32).collect(),
        };
        for row in chosen {
            let mut env = env.clone();
            let words = rows.rows[row as usize].iter();
            if args.iter().zip(words).all(|(arg, &word)| self.sheet.meets(arg, word, &mut env)) {
                self.join(&rest, env, found)?;
            }
        }
        Some(())
    }

    /// Returns the access with the fewest rows for a sentence.
    fn access(&mut self, left: &[&'r Atom], index: usize, env: &Env<'r>) -> JoinAccess {
        let (rows, args) = self.rows_of(left[index]);
        let mut best = JoinAccess { count: rows.rows.len(), column: None, index };
        for (column, arg) in args.iter().enumerate() {
            let Some(term) = self.sheet.make(arg, env) else { continue };
            let count = rows.by_column.get(&(column, term)).map_or(0, Vec::len);
            if count <= best.count {
                best = JoinAccess { count, column: Some((column, term)), index };
            }
        }
        best
    }

    /// Returns the possible rows of a sentence's relation, and its arguments
    /// there.
    fn rows_of(&mut self, atom: &'r Atom) -> (Rc<RelationRows>, &'r [Term]) {
        match (atom.name.as_str(), &atom.args[..]) {
            ("true", [Term::Function { name, args, .. }]) => (self.sheet.rows_of((true, name, args.len())), args),
            (name, args) => (self.sheet.rows_of((false, name, args.len())), args),
        }
    }
}

fn sentence(literal: &Literal) -> Option<&Atom> {
    match literal {
        Literal::Holds(atom) => Some(atom),
        _ => None,
    }
}

/// Returns the variables of a part of a rule's body that other parts read.
fn shared(rule: &Rule, index: usize) -> HashSet<&str> {
    let (mut own, mut others) = (Default::default(), rule.head.variables());
    for (other, literal) in rule.body.iter().enumerate() {
        literal.variables(if other == index { &mut own } else { &mut others });
    }
    own.intersection(&others).copied().collect()
}
