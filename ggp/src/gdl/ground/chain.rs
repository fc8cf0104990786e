//! Forward chaining: everything that may hold, and all ways in which it may.

use std::rc::Rc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

use hashbrown::HashTable;

use super::clause::{Clause, Literal, Name, Pat, Pred, Program, Test, Var, VarSet};
use super::error::GroundError;
use super::limits::Limits;
use super::tables::{NONE, Table, hash};
use super::terms::{Functor, Terms};

/// What a fact takes besides its arguments, in words: its time, atom and
/// places in indexes.
const WORDS_A_FACT: usize = 12;

/// A literal of an instance: an atom, or the absence of what is mentioned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ref(u32);

impl Ref {
    fn atom(atom: u32) -> Ref {
        Ref(atom << 1)
    }

    fn mention(mention: u32) -> Ref {
        Ref(mention << 1 | 1)
    }
}

/// What an atom is to the network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AtomKind {
    /// The fluent of a term.
    Fluent(u32),
    /// The move of a role.
    Move(u32, u32),
    /// What clauses say.
    Derived,
}

/// A column of a row as a join meets it.
#[derive(Debug)]
enum Meet {
    Const(u32),
    Bind(Var),
    Check(Var),
    Fun(Functor, Box<[Meet]>),
}

#[derive(Debug)]
enum Step {
    /// Meets the rows of a literal of the body.
    Scan {
        pred: Pred,
        meets: Box<[Meet]>,
        access: Access,
        /// Whether the row is to be older than the fact that began the join.
        before: bool,
        is_dynamic: bool,
    },
    Test(Test),
}

#[derive(Debug)]
enum Access {
    All,
    /// All columns are bound.
    Row(Box<[Pat]>),
    /// An index and the values of its columns.
    Chain(usize, Box<[Pat]>),
}

/// A join: the literal whose new row begins it, and the others in order.
struct Plan {
    start: Option<(Box<[Meet]>, bool)>,
    steps: Vec<Step>,
    /// The count of facts at which another order may be better.
    until: usize,
}

pub struct Chain<'a> {
    pub terms: &'a mut Terms,
    pub program: &'a Program,
    pub tables: Vec<Table>,
    /// All facts in the order in which they were found.
    facts: Vec<(Pred, u32)>,
    /// Of each atom, what it is.
    pub kinds: Vec<AtomKind>,
    /// Instances of dynamic clauses: the head, the number of literals, the literals.
    pub instances: Vec<u32>,
    /// What is mentioned as absent: a relation and its arguments.
    mentions: Vec<Box<[u32]>>,
    mentioned: HashTable<u32>,
    special: Special,
    limits: Limits,
    stop: &'a AtomicBool,
    env: Vec<u32>,
    refs: Vec<u32>,
    visits: u64,
    /// Words of all facts.
    kept: usize,
    /// Heads found, to be added: the relation, the arguments, the literals.
    pending: Vec<u32>,
}

/// The relations that the language ties to others.
struct Special {
    init: Option<Pred>,
    next: Option<Pred>,
    legal: Option<Pred>,
}

impl<'a> Chain<'a> {
    pub fn new(program: &'a Program, terms: &'a mut Terms, limits: Limits, stop: &'a AtomicBool) -> Chain<'a> {
        let named = |name: &str, arity| program.names.get(&Name::Named(name.into(), arity)).copied();
        let special = Special { init: named("init", 1), next: named("next", 1), legal: named("legal", 2) };
        Chain {
            terms,
            program,
            tables: program.relations.iter().map(|relation| Table::new(relation.arity)).collect(),
            facts: Vec::new(),
            kinds: Vec::new(),
            instances: Vec::new(),
            mentions: Vec::new(),
            mentioned: HashTable::new(),
            special,
            limits,
            stop,
            kept: 0,
            env: Vec::new(),
            refs: Vec::new(),
            visits: 0,
            pending: Vec::new(),
        }
    }

    /// Runs the clauses, group by group; a group sees all of those before it.
    ///
    /// # Errors
    ///
    /// If there is more of it than the limits allow, or it is stopped.
    pub fn run(&mut self, groups: &[Vec<usize>]) -> Result<(), GroundError> {
        for group in groups {
            self.run_group(group)?;
        }
        Ok(())
    }

    fn run_group(&mut self, group: &[usize]) -> Result<(), GroundError> {
        let program = self.program;
        let mut heads = vec![false; program.relations.len()];
        let is_late = |&clause: &usize| program.relations[program.clauses[clause].head.pred].is_late();
        group.iter().for_each(|&clause| heads[program.clauses[clause].head.pred] = true);
        let mut at = self.facts.len();
        if group.iter().any(is_late) {
            // All that depends on the state is one group, the state included.
            for (head, relation) in heads.iter_mut().zip(&program.relations) {
                *head |= relation.is_late();
            }
            if let Some(init) = self.special.init {
                (0..self.tables[init].len() as u32).for_each(|row| self.add_fluent(self.tables[init].row(row)[0]));
            }
        }
        let mut triggers: Vec<Vec<(usize, usize)>> = vec![Vec::new(); heads.len()];
        let mut plans: Vec<Vec<Option<Rc<Plan>>>> = Vec::new();
        for (place, &number) in group.iter().enumerate() {
            let clause = &program.clauses[number];
            plans.push((0..clause.body.len()).map(|_| None).collect());
            let mut has_trigger = false;
            for (index, literal) in clause.body.iter().enumerate().filter(|(_, literal)| heads[literal.pred]) {
                triggers[literal.pred].push((place, index));
                has_trigger = true;
            }
            if !has_trigger {
                let plan = self.plan(clause, None);
                self.join(clause, &plan, 0, u32::MAX)?;
                self.add_pending(clause.head.pred);
            }
        }
        while at < self.facts.len() {
            let (pred, row) = self.facts[at];
            at += 1;
            let time = self.tables[pred].time(row);
            if self.stop.load(Relaxed) {
                return Err(GroundError::Stopped);
            }
            for &(place, index) in &triggers[pred] {
                let clause = &program.clauses[group[place]];
                let plan = match &plans[place][index] {
                    Some(plan) if self.facts.len() < plan.until => plan.clone(),
                    _ => {
                        let plan = Rc::new(self.plan(clause, Some(index)));
                        plans[place][index] = Some(plan.clone());
                        plan
                    }
                };
                let Some((meets, is_dynamic)) = &plan.start else { continue };
                self.env.clear();
                self.env.resize(clause.variables, NONE);
                let words = self.tables[pred].row(row);
                if meets.iter().zip(words).all(|(meet, &word)| met(meet, word, self.terms, &mut self.env)) {
                    self.refs.clear();
                    if *is_dynamic {
                        self.refs.push(Ref::atom(self.tables[pred].atom(row)).0);
                    }
                    self.join(clause, &plan, 0, time)?;
                    self.add_pending(clause.head.pred);
                }
            }
        }
        Ok(())
    }

    /// Follows a plan from one of its steps on, and puts what is found with
    /// the pending heads.
    fn join(&mut self, clause: &Clause, plan: &Plan, at: usize, time: u32) -> Result<(), GroundError> {
        if at == 0 && plan.start.is_none() {
            self.env.clear();
            self.env.resize(clause.variables, NONE);
            self.refs.clear();
        }
        let Some(step) = plan.steps.get(at) else { return self.found(clause) };
        match step {
            Step::Test(test) => {
                if self.passes(test) {
                    self.join(clause, plan, at + 1, time)?;
                }
            }
            Step::Scan { pred, meets, access, before, is_dynamic } => {
                let refs = self.refs.len();
                let (mut row, chain) = match access {
                    Access::All => (if self.tables[*pred].len() == 0 { NONE } else { 0 }, NONE),
                    Access::Row(args) => {
                        let words = self.make_all(args);
                        (self.tables[*pred].find(&words).unwrap_or(NONE), NONE - 1)
                    }
                    Access::Chain(index, key) => {
                        let words = self.make_all(key);
                        (self.tables[*pred].first(*index, &words), *index as u32)
                    }
                };
                while row != NONE {
                    let table = &self.tables[*pred];
                    let age = table.time(row);
                    if age > time || *before && age == time {
                        break;
                    }
                    self.visits += 1;
                    let words = table.row(row);
                    let is_met =
                        meets.iter().zip(words).all(|(meet, &word)| met(meet, word, self.terms, &mut self.env));
                    let atom = table.atom(row);
                    row = match chain {
                        NONE if row as usize + 1 < table.len() => row + 1,
                        NONE => NONE,
                        index if index == NONE - 1 => NONE,
                        index => table.following(index as usize, row),
                    };
                    if is_met {
                        if *is_dynamic {
                            self.refs.push(Ref::atom(atom).0);
                        }
                        self.join(clause, plan, at + 1, time)?;
                        self.refs.truncate(refs);
                    }
                }
                if self.visits > self.limits.visits {
                    return Err(GroundError::TooLarge);
                }
                if self.visits.is_multiple_of(4096) && self.stop.load(Relaxed) {
                    return Err(GroundError::Stopped);
                }
            }
        }
        Ok(())
    }

    fn found(&mut self, clause: &Clause) -> Result<(), GroundError> {
        for arg in &clause.head.args {
            let term = make(arg, self.terms, &self.env);
            if self.terms.depth(term) > self.limits.depth {
                return Err(GroundError::TooLarge);
            }
            self.pending.push(term);
        }
        let count = self.pending.len();
        self.pending.push(0);
        self.pending.extend_from_slice(&self.refs);
        for literal in &clause.absent {
            let mention = self.mention(literal);
            self.pending.push(Ref::mention(mention).0);
        }
        // What depends on no state has no literals.
        self.pending[count] = (self.pending.len() - count - 1) as u32;
        if self.pending.len() + self.instances.len() + self.kept > self.limits.words {
            return Err(GroundError::TooLarge);
        }
        Ok(())
    }

    fn mention(&mut self, literal: &Literal) -> u32 {
        let mut words = vec![literal.pred as u32];
        words.extend(literal.args.iter().map(|arg| make(arg, self.terms, &self.env)));
        let key = hash(&words);
        if let Some(&known) = self.mentioned.find(key, |&known| *self.mentions[known as usize] == *words) {
            return known;
        }
        let mention = self.mentions.len() as u32;
        self.mentions.push(words.into());
        let mentions = &self.mentions;
        self.mentioned.insert_unique(key, mention, |&known| hash(&mentions[known as usize]));
        mention
    }

    /// Adds the heads of a relation that joins have found.
    fn add_pending(&mut self, pred: Pred) {
        let relation = &self.program.relations[pred];
        let mut pending = std::mem::take(&mut self.pending);
        let mut at = 0;
        while at < pending.len() {
            let (words, rest) = pending[at..].split_at(relation.arity);
            let refs = &rest[1..1 + rest[0] as usize];
            at += relation.arity + 1 + refs.len();
            let atom = self.add(pred, words);
            // What follows from itself follows from something else too.
            if relation.is_dynamic() && !refs.contains(&Ref::atom(atom).0) {
                self.instances.extend([atom, refs.len() as u32]);
                self.instances.extend_from_slice(refs);
            }
        }
        pending.clear();
        self.pending = pending;
    }

    /// The atom of a fact, which is added if it is new.
    fn add(&mut self, pred: Pred, words: &[u32]) -> u32 {
        if let Some(row) = self.tables[pred].find(words) {
            return self.tables[pred].atom(row);
        }
        let atom = if self.program.relations[pred].is_dynamic() { self.new_atom(AtomKind::Derived) } else { NONE };
        self.add_fact(pred, words, atom);
        if Some(pred) == self.special.next {
            self.add_fluent(words[0]);
        } else if Some(pred) == self.special.legal {
            self.add_move(words[0], words[1]);
        }
        atom
    }

    fn new_atom(&mut self, kind: AtomKind) -> u32 {
        self.kinds.push(kind);
        self.kinds.len() as u32 - 1
    }

    fn add_fact(&mut self, pred: Pred, words: &[u32], atom: u32) {
        self.kept += words.len() + WORDS_A_FACT;
        self.facts.push((pred, self.tables[pred].len() as u32));
        self.tables[pred].add(words, self.facts.len() as u32, atom);
    }

    fn add_fluent(&mut self, term: u32) {
        if self.tables[self.program.fluents()].find(&[term]).is_some() {
            return;
        }
        let atom = self.new_atom(AtomKind::Fluent(term));
        self.add_fact(self.program.fluents(), &[term], atom);
        let words = self.terms.words(term).to_vec();
        if let Some(&pred) = self.program.names.get(&Name::True(Some(words[0]))) {
            self.add_fact(pred, &words[1..], atom);
        }
    }

    fn add_move(&mut self, role: u32, term: u32) {
        let atom = self.new_atom(AtomKind::Move(role, term));
        self.add_fact(self.program.moves(), &[role, term], atom);
        let mut words = self.terms.words(term).to_vec();
        if let Some(&pred) = self.program.names.get(&Name::Does(Some(words[0]))) {
            words[0] = role;
            self.add_fact(pred, &words, atom);
        }
    }

    fn make_all(&mut self, pats: &[Pat]) -> Vec<u32> {
        pats.iter().map(|pat| make(pat, self.terms, &self.env)).collect()
    }

    fn passes(&mut self, test: &Test) -> bool {
        match test {
            Test::Distinct(left, right) => make(left, self.terms, &self.env) != make(right, self.terms, &self.env),
            Test::Same(left, right) => make(left, self.terms, &self.env) == make(right, self.terms, &self.env),
            Test::Absent(literal) => {
                let words = self.make_all(&literal.args);
                self.tables[literal.pred].find(&words).is_none()
            }
            Test::All(parts) => parts.iter().all(|part| self.passes(part)),
            Test::Any(parts) => parts.iter().any(|part| self.passes(part)),
        }
    }

    /// The join that begins with a new row of a literal, or with none: next
    /// is always the literal that promises the fewest rows.
    fn plan(&mut self, clause: &Clause, start: Option<usize>) -> Plan {
        let mut bound: VarSet = 0;
        let mut left: Vec<usize> = (0..clause.body.len()).filter(|&index| Some(index) != start).collect();
        let mut tests: Vec<&Test> = clause.tests.iter().collect();
        let is_dynamic = |literal: &Literal| self.program.relations[literal.pred].is_dynamic();
        let start_meets = start.map(|index| {
            let literal = &clause.body[index];
            (meets(&literal.args, &mut bound), is_dynamic(literal))
        });
        let mut steps = Vec::new();
        loop {
            tests.retain(|test| {
                let ready = test.vars() & !bound == 0;
                if ready {
                    steps.push(Step::Test((*test).clone()));
                }
                !ready
            });
            let costs = left.iter().map(|&index| Chain::cost(&mut self.tables, &clause.body[index], bound));
            let cheapest = costs.enumerate().min_by(|(_, a), (_, b)| a.total_cmp(b));
            let Some((place, _)) = cheapest else { break };
            let index = left.remove(place);
            let literal = &clause.body[index];
            let columns = bound_columns(literal, bound);
            let pats = |columns: &[usize]| columns.iter().map(|&column| literal.args[column].clone()).collect();
            let access = if columns.len() == literal.args.len() {
                Access::Row(literal.args.clone())
            } else if columns.is_empty() {
                Access::All
            } else {
                Access::Chain(self.tables[literal.pred].index(&columns), pats(&columns))
            };
            steps.push(Step::Scan {
                pred: literal.pred,
                meets: meets(&literal.args, &mut bound),
                access,
                before: start.is_some_and(|start| index < start),
                is_dynamic: self.program.relations[literal.pred].is_dynamic(),
            });
        }
        Plan { start: start_meets, steps, until: 2 * self.facts.len() + 256 }
    }

    /// The rows a literal is expected to have for one binding.
    fn cost(tables: &mut [Table], literal: &Literal, bound: VarSet) -> f64 {
        let columns = bound_columns(literal, bound);
        let table = &mut tables[literal.pred];
        if columns.len() == literal.args.len() {
            0.0
        } else if columns.is_empty() {
            table.len() as f64
        } else {
            let index = table.index(&columns);
            table.chain_length(index)
        }
    }

    /// The rows of a relation of the rulesheet, in the order in which they
    /// were found.
    pub fn rows(&self, name: &str, arity: usize) -> impl Iterator<Item = &[u32]> {
        let pred = self.program.names.get(&Name::Named(name.into(), arity));
        let table = pred.map(|&pred| &self.tables[pred]);
        table.into_iter().flat_map(|table| (0..table.len() as u32).map(|row| table.row(row)))
    }

    /// The atom of a sentence of the rulesheet that may hold.
    pub fn find(&self, name: &str, words: &[u32]) -> Option<u32> {
        self.find_in(*self.program.names.get(&Name::Named(name.into(), words.len()))?, words)
    }

    /// Whether a sentence may hold.
    pub fn holds(&self, name: &str, words: &[u32]) -> bool {
        self.find(name, words).is_some()
    }

    pub fn find_in(&self, pred: Pred, words: &[u32]) -> Option<u32> {
        let table = &self.tables[pred];
        table.find(words).map(|row| table.atom(row))
    }

    /// The atom that a literal of an instance refers to, if it may hold, and
    /// whether it is its absence that counts.
    pub fn resolve(&self, literal: u32) -> (Option<u32>, bool) {
        let (id, is_mention) = (literal >> 1, literal & 1 == 1);
        if !is_mention {
            return (Some(id), false);
        }
        let words = &self.mentions[id as usize];
        let table = &self.tables[words[0] as usize];
        (table.find(&words[1..]).map(|row| table.atom(row)), true)
    }
}

/// The columns whose terms are known.
fn bound_columns(literal: &Literal, bound: VarSet) -> Vec<usize> {
    (0..literal.args.len()).filter(|&column| literal.args[column].vars() & !bound == 0).collect()
}

/// How columns are met, after which their variables are bound.
fn meets(args: &[Pat], bound: &mut VarSet) -> Box<[Meet]> {
    args.iter()
        .map(|arg| match arg {
            Pat::Const(term) => Meet::Const(*term),
            Pat::Var(var) if *bound >> var & 1 == 1 => Meet::Check(*var),
            Pat::Var(var) => {
                *bound |= 1 << var;
                Meet::Bind(*var)
            }
            Pat::Fun(functor, args) => Meet::Fun(*functor, meets(args, bound)),
        })
        .collect()
}

#[inline]
fn met(meet: &Meet, term: u32, terms: &Terms, env: &mut [u32]) -> bool {
    match meet {
        Meet::Const(other) => *other == term,
        Meet::Bind(var) => {
            env[*var] = term;
            true
        }
        Meet::Check(var) => env[*var] == term,
        Meet::Fun(functor, args) => {
            let words = terms.words(term);
            words[0] == *functor && args.iter().zip(&words[1..]).all(|(arg, &word)| met(arg, word, terms, env))
        }
    }
}

fn make(pat: &Pat, terms: &mut Terms, env: &[u32]) -> u32 {
    match pat {
        Pat::Const(term) => *term,
        Pat::Var(var) => env[*var],
        Pat::Fun(functor, args) => {
            let mut words = Vec::with_capacity(args.len() + 1);
            words.push(*functor);
            words.extend(args.iter().map(|arg| make(arg, terms, env)));
            terms.intern(&words)
        }
    }
}
