//! Resolution with tabling [Zhou and Sato 2003].
//!
//! Each call, identified by its relation and bound arguments, has a table of
//! its answers. A call that occurs again during its own evaluation (recursion)
//! returns the answers so far. The first call of a group of mutually dependent
//! calls, the *leader*, is evaluated repeatedly until no answer is added; then
//! all their tables are complete. Negation only uses complete tables: in a
//! stratified rulesheet a negated call does not depend on its caller.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use super::error::ProverError;
use super::plan::{Build, Goal, Pat, Program, RulePlan, Source, Span};
use super::rows::{NONE, Rows, WordMap};
use super::terms::Terms;
use crate::gdl::syntax::MAX_DEPTH;

/// The maximum depth of nested calls.
const MAX_CALLS: u32 = 1_500;

/// The default maximum number of rows that one query may visit.
const MAX_VISITS: u64 = 2_000_000_000;

/// The number of visited rows between two tests of the interrupt flag.
const LOOK_EVERY: u64 = 1 << 12;

/// The maximum number of static tables that are kept between queries.
const MAX_STATIC_TABLES: usize = 2_000_000;

/// Marks a free argument. No term has this id.
const FREE: u32 = u32::MAX;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Status {
    /// Not complete: its answers are correct, but more may follow.
    Open,
    /// Being evaluated.
    Active,
    /// Evaluated in `round`, and waiting for an outer leader.
    Waiting,
    Complete,
}

struct Table {
    pred: u32,
    /// The arguments of the call.
    key: Arc<[u32]>,
    status: Status,
    depth: u32,
    /// The smallest depth of an active call that it depends on.
    low: u32,
    round: u64,
    rows: Rows,
}

/// The tables with one validity.
#[derive(Default)]
struct Layer {
    numbers: HashMap<Arc<[u32]>, u32, std::hash::BuildHasherDefault<super::rows::WordHasher>>,
    tables: Vec<Table>,
    used: usize,
}

impl Layer {
    fn clear(&mut self) {
        self.numbers.clear();
        self.used = 0;
    }

    /// Returns the table of a call whose key is the relation and the
    /// arguments.
    fn table(&mut self, key: &[u32]) -> u32 {
        if let Some(&number) = self.numbers.get(key) {
            return number;
        }
        let number = self.used as u32;
        let width = key[1..].iter().filter(|&&arg| arg == FREE).count();
        let shared: Arc<[u32]> = key.into();
        self.numbers.insert(shared.clone(), number);
        if self.used == self.tables.len() {
            let rows = Rows::new(width);
            let status = Status::Open;
            self.tables.push(Table { pred: key[0], key: shared, status, depth: 0, low: NONE, round: 0, rows });
        } else {
            let table = &mut self.tables[self.used];
            table.rows.reset(width);
            (table.pred, table.key, table.status, table.round) = (key[0], shared, Status::Open, 0);
        }
        self.used += 1;
        number
    }
}

#[derive(Clone, Copy, Debug)]
struct TableRef {
    span: Span,
    number: u32,
}

#[derive(Clone, Copy)]
enum RowsRef {
    Facts(u32),
    Functor(u32),
    Fluents,
    Does,
    Table(TableRef),
}

/// All sources of rows.
struct Store {
    program: Program,
    /// For each functor, the arguments of its fluents in the state.
    functors: Vec<Rows>,
    fluents: Rows,
    does: Rows,
    layers: [Layer; 3],
}

impl Store {
    #[inline]
    fn rows(&self, at: RowsRef) -> &Rows {
        match at {
            RowsRef::Facts(pred) => &self.program.preds[pred as usize].facts,
            RowsRef::Functor(functor) => &self.functors[functor as usize],
            RowsRef::Fluents => &self.fluents,
            RowsRef::Does => &self.does,
            RowsRef::Table(table) => &self.table(table).rows,
        }
    }

    fn rows_mut(&mut self, at: RowsRef) -> &mut Rows {
        match at {
            RowsRef::Facts(pred) => &mut self.program.preds[pred as usize].facts,
            RowsRef::Functor(functor) => &mut self.functors[functor as usize],
            RowsRef::Fluents => &mut self.fluents,
            RowsRef::Does => &mut self.does,
            RowsRef::Table(table) => &mut self.table_mut(table).rows,
        }
    }

    #[inline]
    fn table(&self, at: TableRef) -> &Table {
        &self.layers[at.span as usize].tables[at.number as usize]
    }

    #[inline]
    fn table_mut(&mut self, at: TableRef) -> &mut Table {
        &mut self.layers[at.span as usize].tables[at.number as usize]
    }
}

/// The position of the search in the alternatives of a goal.
#[derive(Clone, Copy)]
enum Cursor {
    /// A test that is finished.
    Spent,
    /// A test that holds and has not been used.
    Once,
    /// The rows from one on, along a column's chain if there is one.
    Rows { rows: RowsRef, row: u32, chain: u32 },
}

/// Evaluates calls in a state with a joint move.
pub struct Machine {
    pub terms: Terms,
    store: Store,
    plans: WordMap<(u32, u64), Arc<[RulePlan]>>,
    env: Vec<u32>,
    cursors: Vec<Cursor>,
    /// Keys under construction.
    scratch: Vec<u32>,
    depth: u32,
    low: u32,
    round: u64,
    added: u64,
    waiting: Vec<TableRef>,
    visits: u64,
    /// The number of visits at which limit and interrupt are tested next.
    next_look: u64,
    limit: u64,
    interrupt: Arc<AtomicBool>,
}

impl Machine {
    pub fn new(program: Program, terms: Terms) -> Machine {
        let (fluents, does) = (Rows::new(1), Rows::new(2));
        Machine {
            terms,
            store: Store { program, functors: Vec::new(), fluents, does, layers: Default::default() },
            plans: WordMap::default(),
            env: Vec::new(),
            cursors: Vec::new(),
            scratch: Vec::new(),
            depth: 0,
            low: NONE,
            round: 1,
            added: 0,
            waiting: Vec::new(),
            visits: 0,
            next_look: 0,
            limit: MAX_VISITS,
            interrupt: Arc::default(),
        }
    }

    /// Sets the maximum number of rows that one query may visit.
    pub fn set_limit(&mut self, visits: u64) {
        self.limit = visits.min(MAX_VISITS);
    }

    /// Sets the flag that aborts queries.
    pub fn set_interrupt(&mut self, flag: Arc<AtomicBool>) {
        self.interrupt = flag;
    }

    /// Sets the state, without moves.
    pub fn set_state(&mut self, fluents: &[u32]) {
        self.store.layers[Span::State as usize].clear();
        self.set_moves(&[]);
        let Store { functors, fluents: all, .. } = &mut self.store;
        functors.resize_with(self.terms.functors(), Rows::default);
        functors.iter_mut().for_each(|rows| rows.reset(0));
        all.reset(1);
        for &fluent in fluents {
            let words = self.terms.words(fluent);
            let rows = &mut functors[words[0] as usize];
            if rows.len() == 0 {
                rows.reset(words.len() - 1);
            }
            rows.push(&words[1..]);
            all.push(&[fluent]);
        }
    }

    /// Sets the moves, as pairs of role and move.
    pub fn set_moves(&mut self, moves: &[[u32; 2]]) {
        self.store.layers[Span::Joint as usize].clear();
        self.store.does.reset(2);
        for pair in moves {
            self.store.does.push(pair);
        }
    }

    /// Returns the answers of a call, each with all its arguments. `None` is a
    /// free argument.
    pub fn query(&mut self, name: &str, args: &[Option<u32>]) -> Result<Vec<Vec<u32>>, ProverError> {
        let Some(pred) = self.store.program.pred(name, args.len()) else { return Ok(Vec::new()) };
        if self.store.layers[Span::Always as usize].used > MAX_STATIC_TABLES {
            self.store.layers[Span::Always as usize].clear();
        }
        (self.visits, self.next_look) = (0, self.limit.saturating_add(1).min(LOOK_EVERY));
        self.scratch.clear();
        self.scratch.push(pred);
        self.scratch.extend(args.iter().map(|arg| arg.unwrap_or(FREE)));
        let table = match self.solve(pred, 0) {
            Ok(table) => table,
            Err(error) => {
                self.forget();
                return Err(error);
            }
        };
        let whole = |row: &[u32]| {
            let mut free = row.iter();
            args.iter().map(|arg| arg.or_else(|| free.next().copied()).unwrap_or(FREE)).collect()
        };
        Ok(self.store.table(table).rows.iter().map(whole).collect())
    }

    /// Discards unfinished work.
    fn forget(&mut self) {
        self.store.layers.iter_mut().for_each(Layer::clear);
        self.env.clear();
        self.cursors.clear();
        self.waiting.clear();
        (self.depth, self.low) = (0, NONE);
        self.terms.forgive_depth();
    }

    /// Returns the table of the call whose key begins at `start` of the
    /// scratch buffer, and removes the key. The table has all answers unless
    /// the call is being evaluated.
    fn solve(&mut self, pred: u32, start: usize) -> Result<TableRef, ProverError> {
        let span = self.store.program.preds[pred as usize].span;
        let number = self.store.layers[span as usize].table(&self.scratch[start..]);
        self.scratch.truncate(start);
        let at = TableRef { span, number };
        let table = self.store.table(at);
        match table.status {
            Status::Complete => {}
            Status::Active => self.low = self.low.min(table.depth),
            Status::Waiting if table.round == self.round => self.low = self.low.min(table.low),
            Status::Waiting | Status::Open => self.evaluate(at)?,
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
            (table.status, table.depth, table.round) = (Status::Active, depth, round);
            self.low = NONE;
            if self.run(at, pred, &key, &plans)? {
                // The only possible answer was found. Calls that waited for
                // this one may have missed it.
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

    /// Completes a table and ends the waiting of tables that began since
    /// `mark`. Those that were evaluated in the last round, which added no
    /// answer, are complete.
    fn settle(&mut self, at: TableRef, mark: usize, last_round: u64) {
        for waiting in self.waiting.split_off(mark) {
            let table = self.store.table_mut(waiting);
            table.status = if table.round >= last_round { Status::Complete } else { Status::Open };
        }
        self.store.table_mut(at).status = Status::Complete;
    }

    /// Leaves a table, and all tables that wait for it, to an outer leader.
    fn wait(&mut self, at: TableRef, mark: usize) {
        self.waiting.push(at);
        for &waiting in &self.waiting[mark..] {
            let low = self.low;
            let table = self.store.table_mut(waiting);
            (table.status, table.low) = (Status::Waiting, low);
        }
    }

    fn plans(&mut self, pred: u32, key: &[u32]) -> Arc<[RulePlan]> {
        let bits = key[1..].iter().enumerate().filter(|(_, arg)| **arg != FREE);
        let mask = bits.fold(0, |mask, (column, _)| mask | 1 << column);
        let Machine { plans, store, .. } = self;
        plans.entry((pred, mask)).or_insert_with(|| store.program.plans(pred, mask).into()).clone()
    }

    /// Adds the answers of facts and rules. Returns whether there can be no
    /// other answer.
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
        let (mut row, chain) = self.start(source, keys.map(|(column, arg)| (column, *arg)));
        while row < self.store.rows(source).len() as u32 {
            self.visit()?;
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

    /// Adds the answer that begins at `start` of the scratch buffer, and
    /// removes it there.
    fn add(&mut self, at: TableRef, start: usize) {
        let Machine { scratch, store, added, .. } = self;
        *added += u64::from(store.table_mut(at).rows.insert(&scratch[start..]));
        scratch.truncate(start);
    }

    fn visit(&mut self) -> Result<(), ProverError> {
        self.visits += 1;
        self.go_on()
    }

    /// Returns an error if too many rows were visited or the query is
    /// interrupted.
    #[inline]
    fn go_on(&mut self) -> Result<(), ProverError> {
        if self.visits < self.next_look { Ok(()) } else { self.look() }
    }

    #[cold]
    fn look(&mut self) -> Result<(), ProverError> {
        if self.visits > self.limit {
            return Err(ProverError::TooLong { limit: self.limit });
        }
        if self.interrupt.load(Relaxed) {
            return Err(ProverError::Interrupted);
        }
        self.next_look = self.limit.saturating_add(1).min(self.visits + LOOK_EVERY);
        Ok(())
    }

    /// Searches the body depth-first; `once` stops at the first answer.
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
            if let Some(goal) = plan.body.get(level) {
                if self.cursors.len() == first + level {
                    let cursor = self.open(goal, base)?;
                    self.cursors.push(cursor);
                }
                if self.advance(goal, base)? {
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
                if self.terms.too_deep() {
                    return Err(ProverError::TermTooDeep { limit: MAX_DEPTH });
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

    /// Returns the first position in the alternatives of a goal.
    fn open(&mut self, goal: &Goal, base: usize) -> Result<Cursor, ProverError> {
        Ok(match goal {
            Goal::Scan { source, keys, .. } => {
                let rows = match *source {
                    Source::Facts(pred) => RowsRef::Facts(pred),
                    Source::Functor(functor) if functor as usize >= self.store.functors.len() => {
                        return Ok(Cursor::Spent);
                    }
                    Source::Functor(functor) => RowsRef::Functor(functor),
                    Source::Fluents => RowsRef::Fluents,
                    Source::Does => RowsRef::Does,
                };
                let Machine { env, store, .. } = self;
                let value = |build: &Build| match *build {
                    Build::Const(id) => id,
                    Build::Var(variable) => env[base + variable],
                    Build::Fun(..) => FREE,
                };
                let keys = keys.iter().map(|(column, build)| (*column, value(build)));
                let (row, chain) = start_rows(store, rows, keys);
                Cursor::Rows { rows, row, chain }
            }
            Goal::Call { pred, args, .. } => {
                let start = self.scratch.len();
                self.scratch.push(*pred);
                for arg in args {
                    let value = arg.as_ref().map_or(FREE, |arg| self.build(arg, base));
                    self.scratch.push(value);
                }
                if self.terms.too_deep() {
                    return Err(ProverError::TermTooDeep { limit: MAX_DEPTH });
                }
                let table = self.solve(*pred, start)?;
                Cursor::Rows { rows: RowsRef::Table(table), row: 0, chain: NONE }
            }
            Goal::Distinct(left, right) => once(self.build(left, base) != self.build(right, base)),
            Goal::Not(inner) => once(!self.holds(inner, base)?),
            Goal::AnyOf(branches) => {
                for branch in branches {
                    let mut all = true;
                    for goal in branch {
                        all = all && self.holds(goal, base)?;
                    }
                    if all {
                        return Ok(Cursor::Once);
                    }
                }
                Cursor::Spent
            }
        })
    }

    fn start(&mut self, rows: RowsRef, keys: impl Iterator<Item = (usize, u32)>) -> (u32, u32) {
        start_rows(&mut self.store, rows, keys)
    }

    /// Returns whether a goal with bound variables holds.
    fn holds(&mut self, goal: &Goal, base: usize) -> Result<bool, ProverError> {
        let cursor = self.open(goal, base)?;
        self.cursors.push(cursor);
        let found = self.advance(goal, base)?;
        self.cursors.pop();
        Ok(found)
    }

    /// Moves the last cursor to its next alternative and binds its variables.
    fn advance(&mut self, goal: &Goal, base: usize) -> Result<bool, ProverError> {
        let Some(cursor) = self.cursors.last_mut() else { return Ok(false) };
        let (rows, mut row, chain) = match *cursor {
            Cursor::Spent => return Ok(false),
            Cursor::Once => {
                *cursor = Cursor::Spent;
                return Ok(true);
            }
            Cursor::Rows { rows, row, chain } => (rows, row, chain),
        };
        let (Goal::Scan { pats, .. } | Goal::Call { pats, .. }) = goal else { return Ok(false) };
        let all = self.store.rows(rows);
        let env = &mut self.env[base..];
        while (row as usize) < all.len() {
            self.visits += 1;
            let words = all.row(row);
            row = following(all, row, chain);
            if pats.iter().zip(words).all(|(pat, &word)| meets(pat, word, &self.terms, env)) {
                *cursor = Cursor::Rows { rows, row, chain };
                return Ok(true);
            }
        }
        self.go_on()?;
        Ok(false)
    }

    fn build(&mut self, build: &Build, base: usize) -> u32 {
        match build {
            Build::Const(id) => *id,
            Build::Var(variable) => self.env[base + variable],
            Build::Fun(functor, args) => {
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

fn once(holds: bool) -> Cursor {
    if holds { Cursor::Once } else { Cursor::Spent }
}

#[inline]
fn following(rows: &Rows, row: u32, chain: u32) -> u32 {
    if chain == NONE { row + 1 } else { rows.next_with(chain as usize, row) }
}

/// Returns the first row to try and the column whose chain to follow: the key
/// with the fewest rows.
fn start_rows(store: &mut Store, at: RowsRef, keys: impl Iterator<Item = (usize, u32)>) -> (u32, u32) {
    if !store.rows(at).wants_index() {
        return (0, NONE);
    }
    let rows = store.rows_mut(at);
    let mut best = (0, NONE, u32::MAX);
    for (column, value) in keys {
        let (first, count) = rows.first_with(column, value);
        if count < best.2 {
            best = (first, column as u32, count);
        }
    }
    (best.0, best.1)
}

/// Returns whether a term matches a pattern, and binds the variables of the
/// pattern.
#[inline]
fn meets(pat: &Pat, term: u32, terms: &Terms, env: &mut [u32]) -> bool {
    match pat {
        Pat::Const(id) => *id == term,
        Pat::Bind(variable) => {
            env[*variable] = term;
            true
        }
        Pat::Check(variable) => env[*variable] == term,
        Pat::Fun(functor, args) => {
            let words = terms.words(term);
            words[0] == *functor && args.iter().zip(&words[1..]).all(|(arg, &word)| meets(arg, word, terms, env))
        }
    }
}
