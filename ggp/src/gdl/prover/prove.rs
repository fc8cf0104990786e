//! A rulesheet played by proof.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rand::RngExt;

use super::error::ProverError;
use super::plan::Program;
use super::tabling::Machine;
use super::terms::{TermId, Terms};
use crate::Rng;
use crate::gdl::reasoner::Goal;
use crate::gdl::syntax::{Document, Expr, ExprKind, Rules};

/// A state: the fluents that are true, each once, in order of their ids.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct State(Arc<[TermId]>);

impl State {
    /// The state in which these fluents are true.
    pub fn new(mut fluents: Vec<TermId>) -> State {
        fluents.sort_unstable();
        fluents.dedup();
        State(fluents.into())
    }

    /// The fluents.
    pub fn fluents(&self) -> &[TermId] {
        &self.0
    }
}

/// How a random match ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Match {
    /// The terminal state.
    pub end: State,
    /// The joint moves from the start to it.
    pub steps: usize,
    /// What each role has reached.
    pub goals: Vec<Goal>,
}

/// A plain reasoner: what it says follows from the rules by resolution with
/// tabling, state by state, and nothing is compiled or approximated.
///
/// Answers that depend on the state are kept while the state is the same,
/// those that depend on no state for good.
pub struct Prover {
    machine: Machine,
    roles: Vec<TermId>,
    /// The state the machine is in.
    state: Option<State>,
}

impl Prover {
    /// Makes rules ready.
    ///
    /// # Errors
    ///
    /// Rules that cannot be evaluated, and a rulesheet without a role.
    pub fn new(rules: &Rules) -> Result<Prover, ProverError> {
        Prover::bounded(rules, u64::MAX, Arc::default())
    }

    /// As [`Prover::new`], with a limit of rows as [`Prover::set_limit`] has
    /// it. While the flag is set, long questions are given up with
    /// [`ProverError::Interrupted`].
    ///
    /// # Errors
    ///
    /// As [`Prover::new`].
    pub fn bounded(rules: &Rules, rows: u64, interrupt: Arc<AtomicBool>) -> Result<Prover, ProverError> {
        let mut terms = Terms::default();
        let program = Program::new(rules, &mut terms)?;
        let mut prover = Prover { machine: Machine::new(program, terms), roles: Vec::new(), state: None };
        prover.machine.set_limit(rows);
        prover.machine.set_interrupt(interrupt);
        prover.go_to(&State::default());
        let roles = prover.machine.query("role", &[None])?;
        prover.roles = roles.into_iter().flatten().map(TermId).collect();
        if prover.roles.is_empty() {
            return Err(ProverError::NoRole);
        }
        Ok(prover)
    }

    /// Lets no single question visit more rows than this; the default is
    /// two thousand million. A question that would ends in
    /// [`ProverError::TooLong`].
    pub fn set_limit(&mut self, rows: u64) {
        self.machine.set_limit(rows);
    }

    /// The roles, in the order of the rulesheet.
    pub fn roles(&self) -> &[TermId] {
        &self.roles
    }

    /// The state a match begins in.
    ///
    /// # Errors
    ///
    /// This and the other questions fail if a proof goes too deep or takes
    /// too long.
    pub fn initial(&mut self) -> Result<State, ProverError> {
        self.go_to(&State::default());
        self.fluents("init")
    }

    /// The legal moves of a role, counted from 0, in an order that depends
    /// on the state alone.
    ///
    /// # Errors
    ///
    /// As [`Prover::initial`].
    ///
    /// # Panics
    ///
    /// If there is no such role.
    pub fn legal(&mut self, state: &State, role: usize) -> Result<Vec<TermId>, ProverError> {
        self.go_to(state);
        let rows = self.machine.query("legal", &[Some(self.roles[role].0), None])?;
        let mut moves: Vec<TermId> = rows.into_iter().map(|row| TermId(row[1])).collect();
        moves.sort_unstable_by(|a, b| self.machine.terms.compare(a.0, b.0));
        Ok(moves)
    }

    /// The state after a joint move, one move a role.
    ///
    /// # Errors
    ///
    /// As [`Prover::initial`].
    ///
    /// # Panics
    ///
    /// If the joint move has not one move a role.
    pub fn next(&mut self, state: &State, joint: &[TermId]) -> Result<State, ProverError> {
        assert_eq!(joint.len(), self.roles.len(), "a joint move has one move a role");
        self.go_to(state);
        let moves: Vec<[u32; 2]> = self.roles.iter().zip(joint).map(|(role, mv)| [role.0, mv.0]).collect();
        self.machine.set_moves(&moves);
        let next = self.fluents("next");
        self.machine.set_moves(&[]);
        next
    }

    /// Whether the match is over.
    ///
    /// # Errors
    ///
    /// As [`Prover::initial`].
    pub fn is_terminal(&mut self, state: &State) -> Result<bool, ProverError> {
        self.go_to(state);
        Ok(!self.machine.query("terminal", &[])?.is_empty())
    }

    /// What each role has reached.
    ///
    /// # Errors
    ///
    /// As [`Prover::initial`].
    pub fn goals(&mut self, state: &State) -> Result<Vec<Goal>, ProverError> {
        self.go_to(state);
        (0..self.roles.len()).map(|role| self.goal(role)).collect()
    }

    fn goal(&mut self, role: usize) -> Result<Goal, ProverError> {
        let rows = self.machine.query("goal", &[Some(self.roles[role].0), None])?;
        let [row] = &rows[..] else {
            return Ok(if rows.is_empty() { Goal::None } else { Goal::Several });
        };
        let value = self.text(TermId(row[1])).parse().ok().filter(|&value| value <= 100);
        Ok(value.map_or(Goal::NotANumber, Goal::Value))
    }

    /// Plays random moves, all equally likely, to the end of the match.
    ///
    /// # Errors
    ///
    /// As [`Prover::initial`], and if a role cannot move or the match goes
    /// on for more than `most` steps.
    pub fn playout(&mut self, from: &State, most: usize, rng: &mut Rng) -> Result<Match, ProverError> {
        let mut state = from.clone();
        let mut steps = 0;
        while !self.is_terminal(&state)? {
            if steps == most {
                return Err(ProverError::Endless { steps });
            }
            let joint = self.random_moves(&state, rng)?;
            state = self.next(&state, &joint)?;
            steps += 1;
        }
        Ok(Match { goals: self.goals(&state)?, end: state, steps })
    }

    /// One move a role, all equally likely.
    ///
    /// # Errors
    ///
    /// As [`Prover::initial`], and if a role cannot move.
    pub fn random_moves(&mut self, state: &State, rng: &mut Rng) -> Result<Vec<TermId>, ProverError> {
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

    /// A term as KIF.
    ///
    /// # Panics
    ///
    /// If the term may be from another prover, this panics or tells another.
    pub fn text(&self, term: TermId) -> String {
        let mut text = String::new();
        self.machine.terms.write(term.0, &mut text);
        text
    }

    /// The term that a text means.
    ///
    /// # Errors
    ///
    /// If it is not one ground term.
    pub fn term(&mut self, text: &str) -> Result<TermId, ProverError> {
        let error = || ProverError::NotGround { text: text.to_string() };
        let document = Document::parse(text).map_err(|_| error())?;
        let mut exprs = document.expressions();
        let (Some(expr), None) = (exprs.next(), exprs.next()) else { return Err(error()) };
        self.intern(expr).map(TermId).ok_or_else(error)
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
        let functor = self.machine.terms.functor(name, args.len()).0;
        Some(self.machine.terms.intern(&[&[functor], &args[..]].concat()))
    }

    fn fluents(&mut self, relation: &str) -> Result<State, ProverError> {
        let rows = self.machine.query(relation, &[None])?;
        Ok(State::new(rows.into_iter().flatten().map(TermId).collect()))
    }

    fn go_to(&mut self, state: &State) {
        if self.state.as_ref() != Some(state) {
            let fluents: Vec<u32> = state.fluents().iter().map(|fluent| fluent.0).collect();
            self.machine.set_state(&fluents);
            self.state = Some(state.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gdl::syntax::Place;

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

    /// A rule that makes a move of each answer.
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
        assert!(matches!(grows, Err(ProverError::TermTooDeep { .. })), "{grows:?}");
        let sinks = moves(&format!("(<= (n ?x) (n (s ?x))) {}", asked("(role ?x) (n ?x)")));
        assert!(matches!(sinks, Err(ProverError::TermTooDeep { .. })), "{sinks:?}");
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
