//! Forward chaining: finds all sentences that may hold, and the instances of
//! clauses from which they follow.

use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use hashbrown::HashTable;

use super::clause::{GroundClause, GroundLiteral, GroundTest, TermPattern, Var, VarSet};
use super::tables::{NONE, RowTable, hash};
use super::terms::Functor;
use super::{GroundBound, GroundClauses, GroundError, GroundLimits, GroundTerms, PredId, RelationName};

/// The memory of a fact besides its arguments, in words: its time, its atom and
/// its entries in indexes.
const WORDS_A_FACT: usize = 12;

/// The memory of a mentioned sentence besides its words: its place and its allocation.
const WORDS_A_MENTION: usize = 8;

/// A literal of an instance: an atom, or the absence of a mentioned sentence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InstanceLiteral(u32);

impl InstanceLiteral {
    fn atom(atom: u32) -> InstanceLiteral {
        InstanceLiteral(atom << 1)
    }

    fn mention(mention: u32) -> InstanceLiteral {
        InstanceLiteral(mention << 1 | 1)
    }
}

/// The kind of an atom in the network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AtomKind {
    /// The fluent of a term.
    Fluent(u32),
    /// The move of a role, as the terms of both.
    Move(u32, u32),
    /// A sentence that clauses derive.
    Derived,
}

/// A pattern for a column of a row in a join.
#[derive(Debug)]
enum ColumnMatch {
    Const(u32),
    Bind(Var),
    Check(Var),
    Fun(Functor, Box<[ColumnMatch]>),
}

#[derive(Debug)]
enum JoinStep {
    /// Matches the rows of a literal of the body.
    Scan {
        pred: PredId,
        meets: Box<[ColumnMatch]>,
        access: RowAccess,
        /// Whether rows must be older than the fact that began the join.
        before: bool,
        is_dynamic: bool,
    },
    Test(GroundTest),
}

#[derive(Debug)]
enum RowAccess {
    All,
    /// All columns are bound.
    Row(Box<[TermPattern]>),
    /// Some columns are bound: an index with the values of its columns.
    Chain(usize, Box<[TermPattern]>),
}

/// A plan of a join: the literal whose new row begins it, and the other literals
/// in order.
struct JoinPlan {
    start: Option<(Box<[ColumnMatch]>, bool)>,
    steps: Vec<JoinStep>,
    /// The number of facts at which the order is computed again.
    until: usize,
}

pub struct ForwardChaining<'a> {
    pub terms: &'a mut GroundTerms,
    pub program: &'a GroundClauses,
    pub tables: Vec<RowTable>,
    /// All facts in the order in which they were derived.
    facts: Vec<(PredId, u32)>,
    /// The kind of each atom.
    pub kinds: Vec<AtomKind>,
    /// Instances of dynamic clauses. Each instance is its head, the number of its
    /// literals and the literals.
    pub instances: Vec<u32>,
    /// The sentences whose absence instances require: a relation and its arguments.
    mentions: Vec<Box<[u32]>>,
    mentioned: HashTable<u32>,
    special: SpecialRelations,
    pub limits: GroundLimits,
    stop: &'a AtomicBool,
    env: Vec<u32>,
    refs: Vec<u32>,
    visits: u64,
    /// The memory of all facts, in words.
    kept: usize,
    /// Derived heads that are not added yet: the arguments, the number of
    /// literals and the literals.
    pending: Vec<u32>,
}

/// The relations with a special meaning in the language.
struct SpecialRelations {
    init: Option<PredId>,
    next: Option<PredId>,
    legal: Option<PredId>,
}

impl<'a> ForwardChaining<'a> {
    pub fn new(
        program: &'a GroundClauses,
        terms: &'a mut GroundTerms,
        limits: GroundLimits,
        stop: &'a AtomicBool,
    ) -> ForwardChaining<'a> {
        let named = |name: &str, arity| program.names.get(&RelationName::Named(name.into(), arity)).copied();
        let special = SpecialRelations { init: named("init", 1), next: named("next", 1), legal: named("legal", 2) };
        ForwardChaining {
            terms,
            program,
            tables: program.relations.iter().map(|relation| RowTable::new(relation.arity)).collect(),
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

    /// Runs the clauses group by group. A group reads the facts of all groups
    /// before it.
    ///
    /// # Errors
    ///
    /// Returns an error if a limit is exceeded or the caller stops the run.
    pub fn run(&mut self, groups: &[Vec<usize>]) -> Result<(), GroundError> {
        let relations = self.program.relations.len();
        let (mut heads, mut triggers) = (vec![false; relations], vec![Vec::new(); relations]);
        for group in groups {
            self.run_group(group, &mut heads, &mut triggers)?;
        }
        Ok(())
    }

    /// Runs a group. `heads` marks the relations that the group derives, and `triggers` has the
    /// literals of the group that read each of them: the place of the clause in the group and the
    /// index of the literal. Both are empty before and after, since a rulesheet can have as many
    /// groups as relations.
    fn run_group(
        &mut self,
        group: &[usize],
        heads: &mut [bool],
        triggers: &mut [Vec<(usize, usize)>],
    ) -> Result<(), GroundError> {
        let program = self.program;
        let is_late = |&clause: &usize| program.relations[program.clauses[clause].head.pred].is_late();
        group.iter().for_each(|&clause| heads[program.clauses[clause].head.pred] = true);
        let mut at = self.facts.len();
        if group.iter().any(is_late) {
            // All relations that depend on the state, and the state itself, are one
            // group.
            for (head, relation) in heads.iter_mut().zip(&program.relations) {
                *head |= relation.is_late();
            }
            if let Some(init) = self.special.init {
                (0..self.tables[init].len() as u32).for_each(|row| self.add_fluent(self.tables[init].row(row)[0]));
            }
        }
        let mut plans: Vec<Vec<Option<Rc<JoinPlan>>>> = Vec::new();
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
                        self.refs.push(InstanceLiteral::atom(self.tables[pred].atom(row)).0);
                    }
                    self.join(clause, &plan, 0, time)?;
                    self.add_pending(clause.head.pred);
                }
            }
        }
        for &number in group {
            let clause = &program.clauses[number];
            heads[clause.head.pred] = false;
            clause.body.iter().for_each(|literal| triggers[literal.pred].clear());
        }
        Ok(())
    }

    /// Runs a plan from step `at` on, and adds the derived heads to `pending`.
    fn join(&mut self, clause: &GroundClause, plan: &JoinPlan, at: usize, time: u32) -> Result<(), GroundError> {
        if at == 0 && plan.start.is_none() {
            self.env.clear();
            self.env.resize(clause.variables, NONE);
            self.refs.clear();
        }
        let Some(step) = plan.steps.get(at) else { return self.found(clause) };
        match step {
            JoinStep::Test(test) => {
                if self.passes(test) {
                    self.join(clause, plan, at + 1, time)?;
                }
            }
            JoinStep::Scan { pred, meets, access, before, is_dynamic } => {
                let refs = self.refs.len();
                let (mut row, chain) = match access {
                    RowAccess::All => (if self.tables[*pred].len() == 0 { NONE } else { 0 }, NONE),
                    RowAccess::Row(args) => {
                        let words = self.make_all(args);
                        (self.tables[*pred].find(&words).unwrap_or(NONE), NONE - 1)
                    }
                    RowAccess::Chain(index, key) => {
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
                            self.refs.push(InstanceLiteral::atom(atom).0);
                        }
                        self.join(clause, plan, at + 1, time)?;
                        self.refs.truncate(refs);
                    }
                }
                if self.visits > self.limits.visits {
                    return Err(self.limits.error(GroundBound::Visits));
                }
                if self.visits.is_multiple_of(4096) && self.stop.load(Relaxed) {
                    return Err(GroundError::Stopped);
                }
            }
        }
        Ok(())
    }

    fn found(&mut self, clause: &GroundClause) -> Result<(), GroundError> {
        for arg in &clause.head.args {
            let term = make(arg, self.terms, &self.env);
            let GroundLimits { depth, length, .. } = self.limits;
            if self.terms.depth(term) > depth || self.terms.length(term) > length as u64 {
                return Err(GroundError::TermTooLarge { depth, length });
            }
            self.pending.push(term);
        }
        let count = self.pending.len();
        self.pending.push(0);
        self.pending.extend_from_slice(&self.refs);
        for literal in &clause.absent {
            let mention = self.mention(literal);
            self.pending.push(InstanceLiteral::mention(mention).0);
        }
        // Static heads have no literals.
        self.pending[count] = (self.pending.len() - count - 1) as u32;
        let words = self.pending.len() + self.instances.len() + self.kept + self.terms.words_kept();
        if words > self.limits.words {
            return Err(self.limits.error(GroundBound::Words));
        }
        Ok(())
    }

    fn mention(&mut self, literal: &GroundLiteral) -> u32 {
        let mut words = vec![literal.pred as u32];
        words.extend(literal.args.iter().map(|arg| make(arg, self.terms, &self.env)));
        let key = hash(&words);
        if let Some(&known) = self.mentioned.find(key, |&known| *self.mentions[known as usize] == *words) {
            return known;
        }
        let mention = self.mentions.len() as u32;
        self.kept += words.len() + WORDS_A_MENTION;
        self.mentions.push(words.into());
        let mentions = &self.mentions;
        self.mentioned.insert_unique(key, mention, |&known| hash(&mentions[known as usize]));
        mention
    }

    /// Adds the derived heads of a relation.
    fn add_pending(&mut self, pred: PredId) {
        let relation = &self.program.relations[pred];
        let mut pending = std::mem::take(&mut self.pending);
        let mut at = 0;
        while at < pending.len() {
            let (words, rest) = pending[at..].split_at(relation.arity);
            let refs = &rest[1..1 + rest[0] as usize];
            at += relation.arity + 1 + refs.len();
            let atom = self.add(pred, words);
            // An instance whose head is one of its own literals is redundant.
            if relation.is_dynamic() && !refs.contains(&InstanceLiteral::atom(atom).0) {
                self.instances.extend([atom, refs.len() as u32]);
                self.instances.extend_from_slice(refs);
            }
        }
        pending.clear();
        self.pending = pending;
    }

    /// Returns the atom of a fact. Adds the fact if it is new.
    fn add(&mut self, pred: PredId, words: &[u32]) -> u32 {
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

    fn add_fact(&mut self, pred: PredId, words: &[u32], atom: u32) {
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
        if let Some(&pred) = self.program.names.get(&RelationName::True(Some(words[0]))) {
            self.add_fact(pred, &words[1..], atom);
        }
    }

    fn add_move(&mut self, role: u32, term: u32) {
        let atom = self.new_atom(AtomKind::Move(role, term));
        self.add_fact(self.program.moves(), &[role, term], atom);
        let mut words = self.terms.words(term).to_vec();
        if let Some(&pred) = self.program.names.get(&RelationName::Does(Some(words[0]))) {
            words[0] = role;
            self.add_fact(pred, &words, atom);
        }
    }

    fn make_all(&mut self, pats: &[TermPattern]) -> Vec<u32> {
        pats.iter().map(|pat| make(pat, self.terms, &self.env)).collect()
    }

    fn passes(&mut self, test: &GroundTest) -> bool {
        match test {
            GroundTest::Distinct(left, right) => {
                make(left, self.terms, &self.env) != make(right, self.terms, &self.env)
            }
            GroundTest::Same(left, right) => make(left, self.terms, &self.env) == make(right, self.terms, &self.env),
            GroundTest::Absent(literal) => {
                let words = self.make_all(&literal.args);
                self.tables[literal.pred].find(&words).is_none()
            }
            GroundTest::All(parts) => parts.iter().all(|part| self.passes(part)),
            GroundTest::Any(parts) => parts.iter().any(|part| self.passes(part)),
        }
    }

    /// Plans the join that begins with a new row of the literal `start`, or without
    /// one. The next literal is always the one with the fewest expected rows.
    fn plan(&mut self, clause: &GroundClause, start: Option<usize>) -> JoinPlan {
        let mut bound: VarSet = 0;
        let mut left: Vec<usize> = (0..clause.body.len()).filter(|&index| Some(index) != start).collect();
        let mut tests: Vec<&GroundTest> = clause.tests.iter().collect();
        let is_dynamic = |literal: &GroundLiteral| self.program.relations[literal.pred].is_dynamic();
        let start_meets = start.map(|index| {
            let literal = &clause.body[index];
            (meets(&literal.args, &mut bound), is_dynamic(literal))
        });
        let mut steps = Vec::new();
        loop {
            tests.retain(|test| {
                let ready = test.vars() & !bound == 0;
                if ready {
                    steps.push(JoinStep::Test((*test).clone()));
                }
                !ready
            });
            let costs = left.iter().map(|&index| ForwardChaining::cost(&mut self.tables, &clause.body[index], bound));
            let cheapest = costs.enumerate().min_by(|(_, a), (_, b)| a.total_cmp(b));
            let Some((place, _)) = cheapest else { break };
            let index = left.remove(place);
            let literal = &clause.body[index];
            let columns = bound_columns(literal, bound);
            let pats = |columns: &[usize]| columns.iter().map(|&column| literal.args[column].clone()).collect();
            let access = if columns.len() == literal.args.len() {
                RowAccess::Row(literal.args.clone())
            } else if columns.is_empty() {
                RowAccess::All
            } else {
                RowAccess::Chain(self.tables[literal.pred].index(&columns), pats(&columns))
            };
            steps.push(JoinStep::Scan {
                pred: literal.pred,
                meets: meets(&literal.args, &mut bound),
                access,
                before: start.is_some_and(|start| index < start),
                is_dynamic: self.program.relations[literal.pred].is_dynamic(),
            });
        }
        JoinPlan { start: start_meets, steps, until: 2 * self.facts.len() + 256 }
    }

    /// Returns the expected number of rows of a literal for one binding, or 0 if the literal is bound as a whole: such
    /// a literal has at most one row and comes first.
    fn cost(tables: &mut [RowTable], literal: &GroundLiteral, bound: VarSet) -> f64 {
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

    /// Returns the rows of a relation of the rulesheet in the order in which they
    /// were derived.
    pub fn rows(&self, name: &str, arity: usize) -> impl Iterator<Item = &[u32]> {
        let pred = self.program.names.get(&RelationName::Named(name.into(), arity));
        let table = pred.map(|&pred| &self.tables[pred]);
        table.into_iter().flat_map(|table| (0..table.len() as u32).map(|row| table.row(row)))
    }

    /// Returns the atom of a sentence of the rulesheet, or `None` if it never
    /// holds.
    pub fn find(&self, name: &str, words: &[u32]) -> Option<u32> {
        self.find_in(*self.program.names.get(&RelationName::Named(name.into(), words.len()))?, words)
    }

    pub fn find_in(&self, pred: PredId, words: &[u32]) -> Option<u32> {
        let table = &self.tables[pred];
        table.find(words).map(|row| table.atom(row))
    }

    /// Returns the atom of a literal of an instance, or `None` if the sentence
    /// never holds, and whether the literal is negated.
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

/// Returns the columns of a literal whose terms are bound.
fn bound_columns(literal: &GroundLiteral, bound: VarSet) -> Vec<usize> {
    (0..literal.args.len()).filter(|&column| literal.args[column].vars() & !bound == 0).collect()
}

/// Returns the patterns of columns and marks their variables as bound.
fn meets(args: &[TermPattern], bound: &mut VarSet) -> Box<[ColumnMatch]> {
    args.iter()
        .map(|arg| match arg {
            TermPattern::Const(term) => ColumnMatch::Const(*term),
            TermPattern::Var(var) if *bound >> var & 1 == 1 => ColumnMatch::Check(*var),
            TermPattern::Var(var) => {
                *bound |= 1 << var;
                ColumnMatch::Bind(*var)
            }
            TermPattern::Fun(functor, args) => ColumnMatch::Fun(*functor, meets(args, bound)),
        })
        .collect()
}

#[inline]
fn met(meet: &ColumnMatch, term: u32, terms: &GroundTerms, env: &mut [u32]) -> bool {
    match meet {
        ColumnMatch::Const(other) => *other == term,
        ColumnMatch::Bind(var) => {
            env[*var] = term;
            true
        }
        ColumnMatch::Check(var) => env[*var] == term,
        ColumnMatch::Fun(functor, args) => {
            let words = terms.words(term);
            words[0] == *functor && args.iter().zip(&words[1..]).all(|(arg, &word)| met(arg, word, terms, env))
        }
    }
}

fn make(pat: &TermPattern, terms: &mut GroundTerms, env: &[u32]) -> u32 {
    match pat {
        TermPattern::Const(term) => *term,
        TermPattern::Var(var) => env[*var],
        TermPattern::Fun(functor, args) => {
            let mut words = Vec::with_capacity(args.len() + 1);
            words.push(*functor);
            words.extend(args.iter().map(|arg| make(arg, terms, env)));
            terms.intern(&words)
        }
    }
}
