//! The prover: answers queries about a rulesheet.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rand::RngExt;
use sternhalma_game::{MemoryBudget, Rng};

use super::plan::PlannedRules;
use super::tabling::TablingEngine;
use super::terms::TermStore;
use super::{ProverError, TermId};
use crate::{Document, Expr, ExprKind, Goal, Rules};

/// A state of a match: the fluents that hold, each once, in the order of their
/// ids.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct ProverState(Arc<[TermId]>);

impl ProverState {
    /// Creates the state in which exactly these fluents hold.
    pub fn new(mut fluents: Vec<TermId>) -> ProverState {
        fluents.sort_unstable();
        fluents.dedup();
        ProverState(fluents.into())
    }

    /// Returns the fluents that hold.
    pub fn fluents(&self) -> &[TermId] {
        &self.0
    }
}

/// The limits of a [`Prover`].
#[derive(Clone, Debug)]
pub struct ProverLimits {
    /// The number of rows that one query visits, as in [`Prover::set_limit`].
    pub rows: u64,
    /// The memory of terms and tables. A query that needs more ends with [`ProverError::Memory`].
    pub memory: MemoryBudget,
    /// While the flag is set, long queries end with [`ProverError::Interrupted`].
    pub interrupt: Arc<AtomicBool>,
}

impl Default for ProverLimits {
    fn default() -> ProverLimits {
        ProverLimits { rows: u64::MAX, memory: MemoryBudget::unlimited(), interrupt: Arc::default() }
    }
}

/// The end of a random match.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RandomMatch {
    /// The terminal state.
    pub end: ProverState,
    /// The number of joint moves played.
    pub steps: usize,
    /// The goal of each role.
    pub goals: Vec<Goal>,
}

/// The reference engine for rulesheets. The prover answers queries about one
/// state at a time by resolution with tabling, without compilation or
/// approximation.
///
/// Answers that depend on the state are cached until the state changes. Other
/// answers are cached permanently.
pub struct Prover {
    engine: TablingEngine,
    roles: Vec<TermId>,
    /// The state for which the engine has cached answers.
    state: Option<ProverState>,
}

impl Prover {
    /// Prepares the rules of a game.
    ///
    /// # Errors
    ///
    /// Returns an error if a rule cannot be evaluated or there is no role.
    pub fn new(rules: &Rules) -> Result<Prover, ProverError> {
        Prover::bounded(rules, &ProverLimits::default())
    }

    /// Prepares the rules of a game as [`Prover::new`] does, with limits.
    ///
    /// # Errors
    ///
    /// As [`Prover::new`].
    pub fn bounded(rules: &Rules, limits: &ProverLimits) -> Result<Prover, ProverError> {
        let mut terms = TermStore::default();
        let plans = PlannedRules::new(rules, &mut terms)?;
        let mut prover = Prover { engine: TablingEngine::new(plans, terms), roles: Vec::new(), state: None };
        prover.engine.set_limit(limits.rows);
        prover.engine.set_memory(&limits.memory);
        prover.engine.set_interrupt(limits.interrupt.clone());
        prover.go_to(&ProverState::default());
        let roles = prover.engine.query("role", &[None])?;
        prover.roles = roles.into_iter().flatten().map(TermId).collect();
        if prover.roles.is_empty() {
            return Err(ProverError::NoRole);
        }
        Ok(prover)
    }

    /// Limits the number of rows that one query visits. The default is two billion.
    /// A query that exceeds the limit ends with [`ProverError::TooLong`].
    pub fn set_limit(&mut self, rows: u64) {
        self.engine.set_limit(rows);
    }

    /// Returns whether the terms that have occurred take more than half of the memory of the
    /// prover. The prover never drops a term.
    pub fn is_crowded(&self) -> bool {
        self.engine.is_crowded()
    }

    /// Returns the roles in the order of the rulesheet.
    pub fn roles(&self) -> &[TermId] {
        &self.roles
    }

    /// Returns the initial state.
    ///
    /// # Errors
    ///
    /// Returns an error if a proof is nested too deep or visits too many rows, as
    /// do the other queries.
    pub fn initial(&mut self) -> Result<ProverState, ProverError> {
        self.go_to(&ProverState::default());
        self.fluents("init")
    }

    /// Returns the legal moves of a role. The order of the moves depends on the
    /// state only. Roles are numbered from 0.
    ///
    /// # Errors
    ///
    /// As [`Prover::initial`].
    ///
    /// # Panics
    ///
    /// If the role does not exist.
    pub fn legal(&mut self, state: &ProverState, role: usize) -> Result<Vec<TermId>, ProverError> {
        self.go_to(state);
        let rows = self.engine.query("legal", &[Some(self.roles[role].0), None])?;
        let mut moves: Vec<TermId> = rows.into_iter().map(|row| TermId(row[1])).collect();
        moves.sort_unstable_by(|a, b| self.engine.terms.compare(a.0, b.0));
        Ok(moves)
    }

    /// Returns the state after a joint move, which has one move per role.
    ///
    /// # Errors
    ///
    /// As [`Prover::initial`].
    ///
    /// # Panics
    ///
    /// If the joint move does not have one move per role.
    pub fn next(&mut self, state: &ProverState, joint: &[TermId]) -> Result<ProverState, ProverError> {
        assert_eq!(joint.len(), self.roles.len(), "a joint move has one move per role");
        self.go_to(state);
        let moves: Vec<[u32; 2]> = self.roles.iter().zip(joint).map(|(role, mv)| [role.0, mv.0]).collect();
        self.engine.set_moves(&moves);
        let next = self.fluents("next");
        self.engine.set_moves(&[]);
        next
    }

    /// Returns whether a state is terminal.
    ///
    /// # Errors
    ///
    /// As [`Prover::initial`].
    pub fn is_terminal(&mut self, state: &ProverState) -> Result<bool, ProverError> {
        self.go_to(state);
        Ok(!self.engine.query("terminal", &[])?.is_empty())
    }

    /// Returns the goal of each role.
    ///
    /// # Errors
    ///
    /// As [`Prover::initial`].
    pub fn goals(&mut self, state: &ProverState) -> Result<Vec<Goal>, ProverError> {
        self.go_to(state);
        (0..self.roles.len()).map(|role| self.goal(role)).collect()
    }

    fn goal(&mut self, role: usize) -> Result<Goal, ProverError> {
        let rows = self.engine.query("goal", &[Some(self.roles[role].0), None])?;
        let [row] = &rows[..] else {
            return Ok(if rows.is_empty() { Goal::None } else { Goal::Several });
        };
        let value = self.text(TermId(row[1])).parse().ok().filter(|&value| value <= 100);
        Ok(value.map_or(Goal::NotANumber, Goal::Value))
    }

    /// Plays uniformly random moves to the end of the match.
    ///
    /// # Errors
    ///
    /// As [`Prover::initial`]. Also returns an error if a role has no legal move
    /// or the match exceeds `most` steps.
    pub fn playout(&mut self, from: &ProverState, most: usize, rng: &mut Rng) -> Result<RandomMatch, ProverError> {
        self.play_random(from, most, rng, |_| ())
    }

    /// Plays as [`Prover::playout`] does, with at most `most_steps` steps. Calls
    /// `visit` with each state, from `from` to the terminal one.
    pub(crate) fn play_random(
        &mut self,
        from: &ProverState,
        most_steps: usize,
        rng: &mut Rng,
        mut visit: impl FnMut(&ProverState),
    ) -> Result<RandomMatch, ProverError> {
        let mut state = from.clone();
        let mut steps = 0;
        visit(&state);
        while !self.is_terminal(&state)? {
            if steps == most_steps {
                return Err(ProverError::Endless { steps });
            }
            let joint = self.random_moves(&state, rng)?;
            state = self.next(&state, &joint)?;
            steps += 1;
            visit(&state);
        }
        Ok(RandomMatch { goals: self.goals(&state)?, end: state, steps })
    }

    /// Returns a uniformly random legal move for each role.
    ///
    /// # Errors
    ///
    /// As [`Prover::initial`]. Also returns an error if a role has no legal move.
    pub fn random_moves(&mut self, state: &ProverState, rng: &mut Rng) -> Result<Vec<TermId>, ProverError> {
        (0..self.roles.len())
            .map(|role| {
                let moves = self.legal(state, role)?;
                if moves.is_empty() {
                    return Err(ProverError::NoLegalMove { role: self.text(self.roles[role]) });
                }
                Ok(moves[rng.random_range(0..moves.len())])
            })
            .collect()
    }

    /// Returns a term as KIF.
    ///
    /// # Panics
    ///
    /// May panic or return another term if the term is from another prover.
    pub fn text(&self, term: TermId) -> String {
        let mut text = String::with_capacity(self.text_length(term));
        self.engine.terms.write(term.0, &mut text);
        text
    }

    /// Returns the length of the text of a term in bytes, without writing it.
    ///
    /// # Panics
    ///
    /// May panic or return another length if the term is from another prover.
    pub fn text_length(&self, term: TermId) -> usize {
        self.engine.terms.length(term.0)
    }

    /// Parses a term.
    ///
    /// # Errors
    ///
    /// Returns an error unless the text is one ground term of at most [`MAX_TERM_LENGTH`] bytes.
    ///
    /// [`MAX_TERM_LENGTH`]: crate::MAX_TERM_LENGTH
    pub fn term(&mut self, text: &str) -> Result<TermId, ProverError> {
        let error = || ProverError::NotGround { text: text.to_string() };
        let document = Document::parse(text).map_err(|_| error())?;
        let mut exprs = document.expressions();
        let (Some(expr), None) = (exprs.next(), exprs.next()) else { return Err(error()) };
        let term = self.intern(expr).map(TermId).ok_or_else(error)?;
        match std::mem::take(&mut self.engine.terms.too_large) {
            true => Err(ProverError::TermTooLarge),
            false => Ok(term),
        }
    }

    fn intern(&mut self, expr: &Expr) -> Option<u32> {
        let (name, args) = match &expr.kind {
            ExprKind::Symbol(name) => (name, &[][..]),
            ExprKind::List(items) => match &items[0].kind {
                ExprKind::Symbol(name) => (name, &items[1..]),
                ExprKind::List(_) => return None,
            },
        };
        if name.starts_with('?') {
            return None;
        }
        let args: Vec<u32> = args.iter().map(|arg| self.intern(arg)).collect::<Option<_>>()?;
        let functor = self.engine.terms.functor(name, args.len()).0;
        Some(self.engine.terms.intern(&[&[functor], &args[..]].concat()))
    }

    fn fluents(&mut self, relation: &str) -> Result<ProverState, ProverError> {
        let rows = self.engine.query(relation, &[None])?;
        Ok(ProverState::new(rows.into_iter().flatten().map(TermId).collect()))
    }

    fn go_to(&mut self, state: &ProverState) {
        if self.state.as_ref() != Some(state) {
            let fluents: Vec<u32> = state.fluents().iter().map(|fluent| fluent.0).collect();
            self.engine.set_state(&fluents);
            self.state = Some(state.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax::Place;

    fn prover(text: &str) -> Prover {
        Prover::new(&Rules::parse(text).unwrap()).unwrap()
    }

    /// The legal moves of the one role `a` in the state `(on)`, in order of
    /// text.
    fn moves(rules: &str) -> Result<Vec<String>, ProverError> {
        let mut prover = prover(&format!("(role a) (init on) {rules}"));
        let start = prover.initial()?;
        let moves = prover.legal(&start, 0)?;
        let mut texts: Vec<String> = moves.into_iter().map(|mv| prover.text(mv)).collect();
        texts.sort();
        Ok(texts)
    }

    /// Returns a rule that converts each answer of a call to a legal move.
    fn asked(call: &str) -> String {
        format!("(<= (legal a (m ?x)) {call})")
    }

    #[test]
    fn bodies_are_put_in_order() {
        let facts = "(p 1) (p 2) (q 2) (q 3)";
        assert_eq!(moves(&format!("{facts} {}", asked("(distinct ?x 2) (not (q ?x)) (p ?x)"))).unwrap(), ["(m 1)"]);
        assert_eq!(moves(&format!("{facts} {}", asked("(or (p ?x) (q ?x)) (not (p ?x))"))).unwrap(), ["(m 3)"]);
        assert_eq!(
            moves(&format!("{facts} {}", asked("(or (distinct ?x 1) (not (p ?x))) (p ?x)"))).unwrap(),
            ["(m 2)"]
        );
        assert_eq!(
            moves(&format!("{facts} {}", asked("(not (or (q ?x) (distinct ?x 1))) (p ?x)"))).unwrap(),
            ["(m 1)"]
        );
        assert_eq!(moves(&format!("{facts} {}", asked("(not (not (q ?x))) (p ?x)"))).unwrap(), ["(m 2)"]);
        assert_eq!(moves(&asked("(true ?x)")).unwrap(), ["(m on)"]);
        assert_eq!(moves(&asked("(true ?x) (true off)")).unwrap(), [""; 0]);
        assert_eq!(moves(&asked("(true ?x) (or)")).unwrap(), [""; 0]);
    }

    #[test]
    fn an_empty_disjunction_never_holds_and_its_negation_always() {
        assert_eq!(moves("(<= (legal a x) (role a) (or))").unwrap(), [""; 0]);
        assert_eq!(moves("(<= (legal a x) (role a) (not (or)))").unwrap(), ["x"]);
    }

    #[test]
    fn functions_are_met_in_depth() {
        let facts = "(p (f 1 (g 2))) (p (f 1 (g 1))) (p (g 1)) (p 1)";
        assert_eq!(moves(&format!("{facts} {}", asked("(p (f ?y (g ?x)))"))).unwrap(), ["(m 1)", "(m 2)"]);
        assert_eq!(moves(&format!("{facts} {}", asked("(p (f ?x (g ?x)))"))).unwrap(), ["(m 1)"]);
        assert_eq!(moves(&format!("{facts} {}", asked("(p ?x) (p (f ?x (g ?x)))"))).unwrap(), ["(m 1)"]);
        assert_eq!(
            moves(&format!("{facts} {}", asked("(p (g ?y)) (p ?x) (distinct ?x (g ?y)) (p (g ?x))"))).unwrap(),
            ["(m 1)"]
        );
    }

    #[test]
    fn constants_are_case_sensitive_and_keywords_are_not() {
        let rules = "(p A) (p a) (<= (LEGAL a (m ?x)) (p ?x) (Not (TRUE ?x)) (Distinct ?x A))";
        assert_eq!(moves(rules).unwrap(), ["(m a)"]);
    }

    #[test]
    fn infix_rules_are_rules() {
        assert_eq!(moves("(p 1) ((legal a (m ?x)) <= (p ?x))").unwrap(), ["(m 1)"]);
    }

    #[test]
    fn unsafe_rules_are_refused() {
        for rule in [
            "(p ?x)",
            "(<= (p ?x) (role a))",
            "(<= p (not (role ?x)))",
            "(<= p (or (role ?x) (role a)) (distinct ?x a))",
        ] {
            let rules = Rules::parse(&format!("(role a)\n{rule}")).unwrap();
            let error = Prover::new(&rules).err();
            assert_eq!(error, Some(ProverError::Unsafe { place: Place { line: 2, column: 1 } }), "{rule}");
        }
        assert_eq!(Prover::new(&Rules::default()).err(), Some(ProverError::NoRole));
    }

    #[test]
    fn proofs_without_end_are_given_up() {
        let grows = moves(&format!("(n 0) (<= (n (s ?x)) (n ?x)) {}", asked("(n ?x)")));
        assert!(matches!(grows, Err(ProverError::TermTooLarge)), "{grows:?}");
        let sinks = moves(&format!("(<= (n ?x) (n (s ?x))) {}", asked("(role ?x) (n ?x)")));
        assert!(matches!(sinks, Err(ProverError::TermTooLarge)), "{sinks:?}");
        // The text of a term that contains another one twice grows exponentially.
        let doubles = moves(&format!("(n 0) (<= (n (f ?x ?x)) (n ?x)) {}", asked("(n ?x)")));
        assert!(matches!(doubles, Err(ProverError::TermTooLarge)), "{doubles:?}");
        let mut prover = prover(
            "(role a) (p 1) (p 2) (<= (legal a go) (p ?a) (p ?b) (p ?c) (p ?d) (p ?e) (distinct ?e 1) (distinct ?e 2))",
        );
        prover.set_limit(10);
        let start = prover.initial().unwrap();
        assert_eq!(prover.legal(&start, 0), Err(ProverError::TooLong { limit: 10 }));
    }

    #[test]
    fn deep_recursion_is_followed_or_refused() {
        let chain = |length: usize| {
            let facts: String = (0..length).map(|n| format!("(succ {n} {})", n + 1)).collect();
            let less = "(<= (less ?x ?y) (succ ?x ?y)) (<= (less ?x ?z) (succ ?x ?y) (less ?y ?z))";
            moves(&format!("{facts} {less} (<= (legal a yes) (less 0 {length}))"))
        };
        assert_eq!(chain(1000).unwrap(), ["yes"]);
        assert!(matches!(chain(5000), Err(ProverError::TooDeep { .. })));
    }

    #[test]
    fn a_prover_goes_on_after_an_error() {
        let mut prover = prover("(role a) (init on) (legal a go) (<= (goal a 5) (bad 0)) (<= (bad ?x) (bad (s ?x)))");
        let start = prover.initial().unwrap();
        assert!(prover.goals(&start).is_err());
        assert_eq!(prover.legal(&start, 0).unwrap().len(), 1);
        assert!(!prover.is_terminal(&start).unwrap());
    }

    #[test]
    fn goals_are_one_value_or_none() {
        let rules = "(role one) (role none) (role several) (role word) (init on)
            (goal one 70) (goal several 0) (goal several 100) (goal word many)";
        let mut prover = prover(rules);
        let start = prover.initial().unwrap();
        let goals = prover.goals(&start).unwrap();
        assert_eq!(goals, [Goal::Value(70), Goal::None, Goal::Several, Goal::NotANumber]);
        assert_eq!(goals.iter().map(|goal| goal.score()).sum::<u8>(), 70);
    }

    #[test]
    fn a_text_is_one_ground_term() {
        let mut prover = prover("(role a)");
        let term = prover.term(" ( f  (g x) ) ").unwrap();
        assert_eq!(prover.text(term), "(f (g x))");
        assert_eq!(prover.term("(f (g x))").unwrap(), term);
        for text in ["", "a b", "?x", "(f ?x)", "(f", "((f) x)"] {
            assert_eq!(prover.term(text), Err(ProverError::NotGround { text: text.into() }));
        }
    }
}
