//! Resolution with linear tabling [Zhou and Sato 2003].
//!
//! Each call, identified by its relation and bound arguments, has a table of its
//! answers. A call that recurs while it is evaluated returns the answers found so
//! far. The first of the calls that depend on each other is the *leader*. The
//! leader is evaluated again until no answer is added. The tables of all these
//! calls are then complete.
//!
//! Negation reads complete tables only: in a stratified rulesheet, a negated call
//! does not depend on its caller.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use rustc_hash::FxHashMap;
use sternhalma_game::{MemoryBudget, MemoryUse};

use super::error::ProverError;
use super::plan::{AnswerScope, ColumnPattern, PlanStep, PlannedRules, RowSource, RulePlan, RuleTerm};
use super::row_store::{CallStatus, FREE, RowStore, RowsRef, TableRef, start_rows};
use super::rows::{NONE, TupleSet};
use super::terms::TermStore;

/// The maximum nesting depth of calls.
const MAX_CALLS: u32 = 1_500;

/// The maximum number of rows that one query visits.
const MAX_VISITS: u64 = 2_000_000_000;

/// The number of visited rows between two checks of the interrupt flag.
const CHECK_INTERVAL: u64 = 1 << 12;

/// The number of static tables above which they are dropped between queries.
const MAX_STATIC_TABLES: usize = 2_000_000;

/// The memory of an answer of a query besides its words, in bytes.
const ANSWER_BYTES: usize = 24;

/// The position of the search in the alternatives of a step.
#[derive(Clone, Copy)]
enum StepCursor {
    /// A test that failed or has been used; there are no more alternatives.
    Spent,
    /// A test that holds and has not been used.
    Once,
    /// The rows from `row` on, along a column's chain unless `chain` is [`NONE`].
    Rows { rows: RowsRef, row: u32, chain: u32 },
}

/// Evaluates calls in a state and with a joint move.
pub struct TablingEngine {
    pub terms: TermStore,
    store: RowStore,
    plans: FxHashMap<(u32, u64), Arc<[RulePlan]>>,
    env: Vec<u32>,
    cursors: Vec<StepCursor>,
    /// Keys under construction.
    scratch: Vec<u32>,
    depth: u32,
    low: u32,
    round: u64,
    added: u64,
    waiting: Vec<TableRef>,
    visits: u64,
    /// The number of visits at which the limit and the flag are checked next.
    next_check: u64,
    limit: u64,
    interrupt: Arc<AtomicBool>,
    memory: MemoryUse,
}

impl TablingEngine {
    pub fn new(program: PlannedRules, terms: TermStore) -> TablingEngine {
        let (fluents, does) = (TupleSet::new(1), TupleSet::new(2));
        TablingEngine {
            terms,
            store: RowStore { program, functors: Vec::new(), fluents, does, caches: Default::default(), state: 0 },
            plans: FxHashMap::default(),
            env: Vec::new(),
            cursors: Vec::new(),
            scratch: Vec::new(),
            depth: 0,
            low: NONE,
            round: 1,
            added: 0,
            waiting: Vec::new(),
            visits: 0,
            next_check: 0,
            limit: MAX_VISITS,
            interrupt: Arc::default(),
            memory: MemoryUse::default(),
        }
    }

    /// Limits the memory of terms and tables.
    pub fn set_memory(&mut self, memory: &MemoryBudget) {
        self.memory = MemoryUse::of(memory);
    }

    /// Returns whether the terms, which are never removed, take more than half of the memory.
    pub fn is_crowded(&self) -> bool {
        self.terms.bytes() as u64 > self.memory.budget().limit() / 2
    }

    /// Returns the memory that is kept for the tables of the next state.
    fn spare(&self) -> usize {
        usize::try_from(self.memory.budget().limit() / 8).unwrap_or(usize::MAX)
    }

    /// Counts the memory in use.
    fn count_memory(&mut self) -> u64 {
        let bytes = (self.terms.bytes() + self.store.bytes()) as u64;
        self.memory.set(bytes);
        bytes
    }

    /// Returns an error if the memory in use and `more` bytes exceed the limit.
    fn check_memory(&mut self, more: u64) -> Result<(), ProverError> {
        let limit = self.memory.budget().limit();
        if self.count_memory().saturating_add(more) > limit {
            self.memory.budget().exhaust();
            return Err(ProverError::Memory { limit });
        }
        Ok(())
    }

    /// Limits the number of rows that one query visits.
    pub fn set_limit(&mut self, visits: u64) {
        self.limit = visits.min(MAX_VISITS);
    }

    /// Sets the flag that ends queries.
    pub fn set_interrupt(&mut self, flag: Arc<AtomicBool>) {
        self.interrupt = flag;
    }

    /// Changes the state, without moves.
    pub fn set_state(&mut self, fluents: &[u32]) {
        let spare = self.spare();
        self.store.caches[AnswerScope::State as usize].clear(spare);
        self.set_moves(&[]);
        if self.store.state > spare {
            self.store.functors = Vec::new();
            self.store.fluents = TupleSet::new(1);
            self.store.state = 0;
        }
        let RowStore { functors, fluents: all, state, .. } = &mut self.store;
        functors.resize_with(self.terms.functors(), TupleSet::default);
        functors.iter_mut().for_each(|rows| rows.reset(0));
        all.reset(1);
        for &fluent in fluents {
            let words = self.terms.words(fluent);
            let rows = &mut functors[words[0] as usize];
            let before = rows.bytes() + all.bytes();
            if rows.len() == 0 {
                rows.reset(words.len() - 1);
            }
            rows.push(&words[1..]);
            all.push(&[fluent]);
            *state += rows.bytes() + all.bytes() - before;
        }
    }

    /// Sets the joint move: pairs of role and move.
    pub fn set_moves(&mut self, moves: &[[u32; 2]]) {
        let spare = self.spare();
        self.store.caches[AnswerScope::Joint as usize].clear(spare);
        self.store.does.reset(2);
        for pair in moves {
            self.store.does.push(pair);
        }
    }

    /// Returns the answers of a call, each with all its arguments. `None` is a free
    /// argument.
    pub fn query(&mut self, name: &str, args: &[Option<u32>]) -> Result<Vec<Vec<u32>>, ProverError> {
        let Some(pred) = self.store.program.pred(name, args.len()) else { return Ok(Vec::new()) };
        let (spare, permanent) = (self.spare(), &mut self.store.caches[AnswerScope::Always as usize]);
        if permanent.used > MAX_STATIC_TABLES || permanent.bytes / 2 > spare {
            permanent.clear(spare);
        }
        (self.visits, self.next_check) = (0, self.limit.saturating_add(1).min(CHECK_INTERVAL));
        self.scratch.clear();
        self.scratch.push(pred);
        self.scratch.extend(args.iter().map(|arg| arg.unwrap_or(FREE)));
        let table = match self.solve(pred, 0) {
            Ok(table) => table,
            Err(error) => {
                self.discard();
                return Err(error);
            }
        };
        let answers = self.store.table(table).rows.len() * (size_of::<Vec<u32>>() + ANSWER_BYTES + size_of_val(args));
        if let Err(error) = self.check_memory(answers as u64) {
            self.discard();
            return Err(error);
        }
        let whole = |row: &[u32]| {
            let mut free = row.iter();
            args.iter().map(|arg| arg.or_else(|| free.next().copied()).unwrap_or(FREE)).collect()
        };
        Ok(self.store.table(table).rows.iter().map(whole).collect())
    }

    /// Discards all incomplete work.
    fn discard(&mut self) {
        self.store.caches.iter_mut().for_each(|cache| cache.clear(0));
        self.count_memory();
        self.env.clear();
        self.cursors.clear();
        self.waiting.clear();
        (self.depth, self.low) = (0, NONE);
        self.terms.too_large = false;
    }

    /// Returns the table of the call whose key begins at `start` of the scratch
    /// buffer, and removes the key. The table has all answers unless the call is
    /// being evaluated.
    fn solve(&mut self, pred: u32, start: usize) -> Result<TableRef, ProverError> {
        let scope = self.store.program.preds[pred as usize].scope;
        let number = self.store.caches[scope as usize].table(&self.scratch[start..]);
        self.scratch.truncate(start);
        let at = TableRef { scope, number };
        let table = self.store.table(at);
        match table.status {
            CallStatus::Complete => {}
            CallStatus::Active => self.low = self.low.min(table.depth),
            CallStatus::Waiting if table.round == self.round => self.low = self.low.min(table.low),
            CallStatus::Waiting | CallStatus::Open => self.evaluate(at)?,
        }
        Ok(at)
    }

    fn evaluate(&mut self, at: TableRef) -> Result<(), ProverError> {
        if self.depth == MAX_CALLS {
            return Err(ProverError::TooDeep { limit: MAX_CALLS });
        }
        let table = self.store.table(at);
        let (pred, key) = (table.pred, table.key.clone());
        let plans = self.plans(pred, &key);
        self.depth += 1;
        let depth = self.depth;
        let mark = self.waiting.len();
        let outer = std::mem::replace(&mut self.low, NONE);
        loop {
            let (round, before) = (self.round, self.added);
            let table = self.store.table_mut(at);
            (table.status, table.depth, table.round) = (CallStatus::Active, depth, round);
            self.low = NONE;
            if self.run(at, pred, &key, &plans)? {
                // The only possible answer is found. Tables that waited for this one
                // may lack the answer.
                self.settle(at, mark, u64::MAX);
                self.low = outer;
                break;
            }
            if self.low < depth {
                self.wait(at, mark);
                self.low = self.low.min(outer);
                break;
            }
            if self.low == NONE || self.added == before {
                self.settle(at, mark, round);
                self.low = outer;
                break;
            }
            self.round += 1;
        }
        self.depth -= 1;
        Ok(())
    }

    /// Completes a table and releases the tables that wait since `mark`. Tables
    /// evaluated in the last round, which added no answer, are complete.
    fn settle(&mut self, at: TableRef, mark: usize, last_round: u64) {
        for waiting in self.waiting.split_off(mark) {
            let table = self.store.table_mut(waiting);
            table.status = if table.round >= last_round { CallStatus::Complete } else { CallStatus::Open };
        }
        self.store.table_mut(at).status = CallStatus::Complete;
    }

    /// Makes a table, and all tables that waited for it, wait for an outer leader.
    fn wait(&mut self, at: TableRef, mark: usize) {
        self.waiting.push(at);
        for &waiting in &self.waiting[mark..] {
            let low = self.low;
            let table = self.store.table_mut(waiting);
            (table.status, table.low) = (CallStatus::Waiting, low);
        }
    }

    fn plans(&mut self, pred: u32, key: &[u32]) -> Arc<[RulePlan]> {
        let bits = key[1..].iter().enumerate().filter(|(_, arg)| **arg != FREE);
        let mask = bits.fold(0, |mask, (column, _)| mask | 1 << column);
        let TablingEngine { plans, store, .. } = self;
        plans.entry((pred, mask)).or_insert_with(|| store.program.plans(pred, mask).into()).clone()
    }

    /// Adds the answers of facts and rules. Returns `true` if there can be no other
    /// answer.
    fn run(&mut self, at: TableRef, pred: u32, key: &[u32], plans: &[RulePlan]) -> Result<bool, ProverError> {
        self.run_facts(at, pred, &key[1..])?;
        let ground = !key.contains(&FREE);
        for plan in plans {
            if ground && self.store.table(at).rows.len() > 0 {
                return Ok(true);
            }
            self.run_rule(at, &key[1..], plan, ground)?;
        }
        Ok(ground && self.store.table(at).rows.len() > 0)
    }

    fn run_facts(&mut self, at: TableRef, pred: u32, args: &[u32]) -> Result<(), ProverError> {
        let source = RowsRef::Facts(pred);
        let keys = args.iter().enumerate().filter(|(_, arg)| **arg != FREE);
        let (mut row, chain) = start_rows(&mut self.store, source, keys.map(|(column, arg)| (column, *arg)));
        while row < self.store.rows(source).len() as u32 {
            self.visits += 1;
            self.check_visits()?;
            let facts = self.store.rows(source);
            let words = facts.row(row);
            let scratch = &mut self.scratch;
            let start = scratch.len();
            let meets = args.iter().zip(words).all(|(arg, word)| *arg == FREE || arg == word);
            scratch.extend(args.iter().zip(words).filter(|(arg, _)| **arg == FREE).map(|(_, word)| *word));
            row = following(facts, row, chain);
            if meets {
                self.add(at, start);
            }
            self.scratch.truncate(start);
        }
        Ok(())
    }

    /// Adds the answer that begins at `start` of the scratch buffer, and removes it
    /// from the buffer.
    fn add(&mut self, at: TableRef, start: usize) {
        let TablingEngine { scratch, store, added, .. } = self;
        *added += u64::from(store.insert(at, &scratch[start..]));
        scratch.truncate(start);
    }

    /// Returns an error if too many rows were visited or the query is interrupted.
    #[inline]
    fn check_visits(&mut self) -> Result<(), ProverError> {
        if self.visits < self.next_check { Ok(()) } else { self.check_limits() }
    }

    #[cold]
    fn check_limits(&mut self) -> Result<(), ProverError> {
        if self.visits > self.limit {
            return Err(ProverError::TooLong { limit: self.limit });
        }
        if self.interrupt.load(Relaxed) {
            return Err(ProverError::Interrupted);
        }
        self.check_memory(0)?;
        self.next_check = self.limit.saturating_add(1).min(self.visits + CHECK_INTERVAL);
        Ok(())
    }

    /// Adds the answers of a rule by depth-first search. With `once`, stops at the
    /// first answer.
    fn run_rule(&mut self, at: TableRef, args: &[u32], plan: &RulePlan, once: bool) -> Result<(), ProverError> {
        let base = self.env.len();
        self.env.resize(base + plan.variables, FREE);
        let bound = args.iter().filter(|arg| **arg != FREE);
        let env = &mut self.env[base..];
        if plan.bound.iter().zip(bound).all(|(pat, &arg)| meets(pat, arg, &self.terms, env)) {
            self.run_body(at, plan, base, once)?;
        }
        self.env.truncate(base);
        Ok(())
    }

    fn run_body(&mut self, at: TableRef, plan: &RulePlan, base: usize, once: bool) -> Result<(), ProverError> {
        let first = self.cursors.len();
        let mut level = 0;
        loop {
            if let Some(step) = plan.body.get(level) {
                if self.cursors.len() == first + level {
                    let cursor = self.open(step, base)?;
                    self.cursors.push(cursor);
                }
                if self.advance(step, base)? {
                    level += 1;
                    continue;
                }
                self.cursors.pop();
            } else {
                let start = self.scratch.len();
                for build in &plan.free {
                    let value = self.build(build, base);
                    self.scratch.push(value);
                }
                self.add(at, start);
                if self.terms.too_large {
                    return Err(ProverError::TermTooLarge);
                }
                if once {
                    break;
                }
            }
            if level == 0 {
                break;
            }
            level -= 1;
        }
        self.cursors.truncate(first);
        Ok(())
    }

    /// Returns the cursor before the first alternative of a step.
    fn open(&mut self, step: &PlanStep, base: usize) -> Result<StepCursor, ProverError> {
        Ok(match step {
            PlanStep::Scan { source, keys, .. } => {
                let rows = match *source {
                    RowSource::Facts(pred) => RowsRef::Facts(pred),
                    RowSource::Functor(functor) if functor as usize >= self.store.functors.len() => {
                        return Ok(StepCursor::Spent);
                    }
                    RowSource::Functor(functor) => RowsRef::Functor(functor),
                    RowSource::Fluents => RowsRef::Fluents,
                    RowSource::Does => RowsRef::Does,
                };
                let TablingEngine { env, store, .. } = self;
                let value = |build: &RuleTerm| match *build {
                    RuleTerm::Const(id) => id,
                    RuleTerm::Var(variable) => env[base + variable],
                    RuleTerm::Fun(..) => FREE,
                };
                let keys = keys.iter().map(|(column, build)| (*column, value(build)));
                let (row, chain) = start_rows(store, rows, keys);
                StepCursor::Rows { rows, row, chain }
            }
            PlanStep::Call { pred, args, .. } => {
                let start = self.scratch.len();
                self.scratch.push(*pred);
                for arg in args {
                    let value = arg.as_ref().map_or(FREE, |arg| self.build(arg, base));
                    self.scratch.push(value);
                }
                if self.terms.too_large {
                    return Err(ProverError::TermTooLarge);
                }
                let table = self.solve(*pred, start)?;
                StepCursor::Rows { rows: RowsRef::Table(table), row: 0, chain: NONE }
            }
            PlanStep::Distinct(left, right) => once(self.build(left, base) != self.build(right, base)),
            PlanStep::Not(inner) => once(!self.holds(inner, base)?),
            PlanStep::AnyOf(branches) => {
                for branch in branches {
                    let mut all = true;
                    for step in branch {
                        all = all && self.holds(step, base)?;
                    }
                    if all {
                        return Ok(StepCursor::Once);
                    }
                }
                StepCursor::Spent
            }
        })
    }

    /// Returns whether a step whose variables are bound holds.
    fn holds(&mut self, step: &PlanStep, base: usize) -> Result<bool, ProverError> {
        let cursor = self.open(step, base)?;
        self.cursors.push(cursor);
        let found = self.advance(step, base)?;
        self.cursors.pop();
        Ok(found)
    }

    /// Moves the last cursor to its next alternative and binds the variables.
    /// Returns `false` if no alternative is left.
    fn advance(&mut self, step: &PlanStep, base: usize) -> Result<bool, ProverError> {
        let Some(cursor) = self.cursors.last_mut() else { return Ok(false) };
        let (rows, mut row, chain) = match *cursor {
            StepCursor::Spent => return Ok(false),
            StepCursor::Once => {
                *cursor = StepCursor::Spent;
                return Ok(true);
            }
            StepCursor::Rows { rows, row, chain } => (rows, row, chain),
        };
        let (PlanStep::Scan { pats, .. } | PlanStep::Call { pats, .. }) = step else { return Ok(false) };
        let all = self.store.rows(rows);
        let env = &mut self.env[base..];
        while (row as usize) < all.len() {
            self.visits += 1;
            let words = all.row(row);
            row = following(all, row, chain);
            if pats.iter().zip(words).all(|(pat, &word)| meets(pat, word, &self.terms, env)) {
                *cursor = StepCursor::Rows { rows, row, chain };
                return Ok(true);
            }
        }
        self.check_visits()?;
        Ok(false)
    }

    fn build(&mut self, build: &RuleTerm, base: usize) -> u32 {
        match build {
            RuleTerm::Const(id) => *id,
            RuleTerm::Var(variable) => self.env[base + variable],
            RuleTerm::Fun(functor, args) => {
                let start = self.scratch.len();
                self.scratch.push(*functor);
                for arg in args {
                    let value = self.build(arg, base);
                    self.scratch.push(value);
                }
                let id = self.terms.intern(&self.scratch[start..]);
                self.scratch.truncate(start);
                id
            }
        }
    }
}

fn once(holds: bool) -> StepCursor {
    if holds { StepCursor::Once } else { StepCursor::Spent }
}

#[inline]
fn following(rows: &TupleSet, row: u32, chain: u32) -> u32 {
    if chain == NONE { row + 1 } else { rows.next_with(chain as usize, row) }
}

/// Matches a term with a pattern and binds the variables of the pattern.
#[inline]
fn meets(pat: &ColumnPattern, term: u32, terms: &TermStore, env: &mut [u32]) -> bool {
    match pat {
        ColumnPattern::Const(id) => *id == term,
        ColumnPattern::Bind(variable) => {
            env[*variable] = term;
            true
        }
        ColumnPattern::Check(variable) => env[*variable] == term,
        ColumnPattern::Fun(functor, args) => {
            let words = terms.words(term);
            words[0] == *functor && args.iter().zip(&words[1..]).all(|(arg, &word)| meets(arg, word, terms, env))
        }
    }
}
