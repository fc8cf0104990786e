//! A [`Game`] that the prover plays.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use sternhalma_game::{Game, NOOP, Turn};

use super::{Prover, ProverError, ProverLimits, ProverState, TermId};
use crate::{Goal, Reasoner, Rules};

/// A game played by the [`Prover`]. The prover is slow, but plays games that
/// are too large for a network. Threads share one prover and use it in turn.
///
/// The methods of [`Game`] cannot return errors, but proofs can fail. A state is
/// terminal with goal 0 for every role if the prover fails on it or a role has no
/// legal move, so that a search avoids it. [`failure`](ProverGame::failure)
/// returns the first such error.
///
/// If at most one role has more than one legal move, it alone acts
/// ([`Turn::One`], with role 0 if no role has a choice). Otherwise all roles act.
///
/// ```
/// use sternhalma_gdl::{ProverGame, Reasoner, Rules};
/// use sternhalma_game::{Game, Turn};
///
/// let rules = Rules::parse(
///     "(role a) (role b) (init (of 3)) (succ 1 2) (succ 2 3)
///      (<= (legal a (take ?n)) (true (of ?m)) (succ ?n ?m)) (legal a none) (legal b wait)
///      (<= (next (of ?n)) (does a (take ?n)))
///      (<= terminal (true (of 1))) (<= terminal (not (true (of 2))) (not (true (of 3))))
///      (goal a 100) (goal b 0)",
/// )?;
/// let game = ProverGame::new(&rules)?;
/// let mut state = game.initial();
/// assert_eq!(game.turn(&state), Turn::One(0));
/// let take = game.move_named(0, "(take 2)").unwrap();
/// game.play(&mut state, &[take]);
/// assert_eq!(game.facts(&state), ["(of 2)"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ProverGame {
    roles: Vec<String>,
    initial: ProverGameState,
    shared: Mutex<SharedProver>,
}

/// The prover and the first error of a query.
struct SharedProver {
    prover: Prover,
    failure: Option<ProverError>,
}

/// A state of a [`ProverGame`] with the answers that a search needs.
#[derive(Clone)]
pub struct ProverGameState(Arc<StateAnswers>);

struct StateAnswers {
    facts: ProverState,
    terminal: bool,
    /// The legal moves of each role, empty in a terminal state.
    legal: Vec<Vec<TermId>>,
    goals: OnceLock<Vec<Goal>>,
}

impl ProverGame {
    /// Prepares the rules of a game.
    ///
    /// # Errors
    ///
    /// Returns an error if a rule cannot be evaluated, the initial state cannot be
    /// computed, or a role has no legal move in it.
    pub fn new(rules: &Rules) -> Result<ProverGame, ProverError> {
        ProverGame::bounded(rules, &ProverLimits::default())
    }

    /// Prepares the rules of a game with limits.
    ///
    /// Long proofs end while the flag of the limits is set. States computed then are terminal with
    /// goals 0, so the game cannot be used any longer.
    ///
    /// # Errors
    ///
    /// As [`ProverGame::new`].
    pub fn bounded(rules: &Rules, limits: &ProverLimits) -> Result<ProverGame, ProverError> {
        let mut prover = Prover::bounded(rules, limits)?;
        let facts = prover.initial()?;
        let initial = ProverGameState(Arc::new(answers(&mut prover, facts)?));
        let roles = prover.roles().iter().map(|&role| prover.text(role)).collect();
        Ok(ProverGame { roles, initial, shared: Mutex::new(SharedProver { prover, failure: None }) })
    }

    /// Returns the state in which exactly these fluents hold.
    ///
    /// # Errors
    ///
    /// Returns an error if a fluent is not a ground term, the prover fails on the state, or a role
    /// has no legal move in it.
    pub fn state_from(&self, fluents: &[String]) -> Result<ProverGameState, ProverError> {
        let SharedProver { prover, .. } = &mut *self.lock();
        let fluents = fluents.iter().map(|text| prover.term(text)).collect::<Result<_, _>>()?;
        Ok(ProverGameState(Arc::new(answers(prover, ProverState::new(fluents))?)))
    }

    /// Returns the first error that made a state count as terminal.
    pub fn failure(&self) -> Option<ProverError> {
        self.lock().failure.clone()
    }

    /// Locks the prover. A panic of another thread does no harm, since the prover
    /// discards incomplete work itself.
    fn lock(&self) -> MutexGuard<'_, SharedProver> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Computes the answers for a state.
fn answers(prover: &mut Prover, facts: ProverState) -> Result<StateAnswers, ProverError> {
    let terminal = prover.is_terminal(&facts)?;
    let mut legal = Vec::new();
    for role in 0..prover.roles().len() {
        let moves = if terminal { Vec::new() } else { prover.legal(&facts, role)? };
        if moves.is_empty() && !terminal {
            return Err(ProverError::NoLegalMove { role: prover.text(prover.roles()[role]) });
        }
        legal.push(moves);
    }
    Ok(StateAnswers { facts, terminal, legal, goals: OnceLock::new() })
}

impl SharedProver {
    /// Returns the answer to a query, and records an error.
    fn query<T>(&mut self, query: impl FnOnce(&mut Prover) -> Result<T, ProverError>) -> Option<T> {
        query(&mut self.prover).map_err(|error| self.failure.get_or_insert(error).clone()).ok()
    }

    /// Returns the state after a joint move. If the prover fails, the state is
    /// terminal and has the facts that are known.
    fn next(&mut self, from: &StateAnswers, joint: &[TermId]) -> StateAnswers {
        let facts = self.query(|prover| prover.next(&from.facts, joint));
        let known = facts.clone().and_then(|facts| self.query(|prover| answers(prover, facts)));
        known.unwrap_or_else(|| StateAnswers {
            facts: facts.unwrap_or_default(),
            terminal: true,
            legal: vec![Vec::new(); joint.len()],
            goals: OnceLock::from(vec![Goal::None; joint.len()]),
        })
    }
}

impl Game for ProverGame {
    type State = ProverGameState;
    type Move = TermId;

    fn roles(&self) -> usize {
        self.roles.len()
    }

    fn initial(&self) -> ProverGameState {
        self.initial.clone()
    }

    fn turn(&self, state: &ProverGameState) -> Turn {
        let mut choosing = state.0.legal.iter().enumerate().filter(|(_, moves)| moves.len() > 1);
        match (choosing.next(), choosing.next()) {
            (first, None) => Turn::One(first.map_or(0, |(role, _)| role)),
            (_, Some(_)) => Turn::All,
        }
    }

    fn has_choice(&self, state: &ProverGameState, role: usize) -> bool {
        state.0.legal[role].len() > 1
    }

    fn legal(&self, state: &ProverGameState, role: usize, moves: &mut Vec<TermId>) {
        moves.extend_from_slice(&state.0.legal[role]);
    }

    fn number(&self, _: usize, mv: TermId) -> u32 {
        mv.0
    }

    fn numbers(&self, state: &ProverGameState, joint: &[TermId], numbers: &mut Vec<u32>) {
        match self.turn(state) {
            _ if state.0.terminal => numbers.extend((0..self.roles()).map(|_| NOOP)),
            Turn::All => numbers.extend(joint.iter().map(|mv| mv.0)),
            Turn::One(acting) => {
                let only = |(role, moves): (usize, &Vec<TermId>)| if role == acting { joint[0] } else { moves[0] };
                numbers.extend(state.0.legal.iter().enumerate().map(|choice| only(choice).0));
            }
        }
    }

    /// Plays a joint move. A terminal state stays as it is: a state on which the prover fails may
    /// have had moves when it was reached before, with more memory.
    fn play(&self, state: &mut ProverGameState, joint: &[TermId]) {
        match self.turn(state) {
            _ if state.0.terminal => {}
            Turn::All => self.play_all(state, joint),
            Turn::One(acting) => {
                let mut all: Vec<TermId> = state.0.legal.iter().map(|moves| moves[0]).collect();
                all[acting] = joint[0];
                self.play_all(state, &all);
            }
        }
    }

    fn is_terminal(&self, state: &ProverGameState) -> bool {
        state.0.terminal
    }

    fn goal(&self, state: &ProverGameState, role: usize) -> u8 {
        self.reached(state, role).score()
    }
}

impl Reasoner for ProverGame {
    fn role_names(&self) -> &[String] {
        &self.roles
    }

    fn facts(&self, state: &ProverGameState) -> Vec<String> {
        let shared = self.lock();
        let mut facts: Vec<String> = state.0.facts.fluents().iter().map(|&fact| shared.prover.text(fact)).collect();
        facts.sort_unstable();
        facts
    }

    /// Returns no moves if the prover fails.
    fn legal_of(&self, state: &ProverGameState, role: usize) -> Vec<TermId> {
        if !state.0.terminal {
            return state.0.legal[role].clone();
        }
        self.lock().query(|prover| prover.legal(&state.0.facts, role)).unwrap_or_default()
    }

    fn move_name(&self, _: usize, mv: TermId) -> String {
        self.lock().prover.text(mv)
    }

    /// Accepts any ground term as a move.
    fn move_named(&self, _: usize, name: &str) -> Option<TermId> {
        self.lock().prover.term(name).ok()
    }

    fn play_all(&self, state: &mut ProverGameState, joint: &[TermId]) {
        *state = ProverGameState(Arc::new(self.lock().next(&state.0, joint)));
    }

    fn is_crowded(&self) -> bool {
        self.lock().prover.is_crowded()
    }

    /// Returns [`Goal::None`] also if the prover fails.
    fn reached(&self, state: &ProverGameState, role: usize) -> Goal {
        let goals = state.0.goals.get_or_init(|| {
            let goals = self.lock().query(|prover| prover.goals(&state.0.facts));
            goals.unwrap_or_else(|| vec![Goal::None; self.roles.len()])
        });
        goals[role]
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;
    use std::sync::atomic::Ordering::Relaxed;

    use rand::SeedableRng;

    use super::*;
    use sternhalma_game::{Limits, MemoryBudget, Rng};
    use sternhalma_mcts::Mcts;
    use sternhalma_mcts::{MctsConfig, RandomPlayout, ToTheEnd, Uct};

    fn game(text: &str) -> ProverGame {
        ProverGame::new(&Rules::parse(text).unwrap()).unwrap()
    }

    fn own(name: &str) -> String {
        std::fs::read_to_string(format!("{}/games/{name}.kif", env!("CARGO_MANIFEST_DIR"))).unwrap()
    }

    #[test]
    fn a_game_agrees_with_the_prover() {
        let mut rng = Rng::seed_from_u64(5);
        for name in ["tic-tac-toe", "matching-pennies", "subtraction"] {
            let rules = Rules::parse(&own(name)).unwrap();
            let (game, mut prover) = (ProverGame::new(&rules).unwrap(), Prover::new(&rules).unwrap());
            let (mut state, mut expected) = (game.initial(), prover.initial().unwrap());
            for _ in 0..100 {
                let mut facts: Vec<String> = expected.fluents().iter().map(|&fact| prover.text(fact)).collect();
                facts.sort();
                assert_eq!(game.facts(&state), facts);
                assert_eq!(game.is_terminal(&state), prover.is_terminal(&expected).unwrap());
                for role in 0..game.roles() {
                    let legal = |game: &ProverGame| -> Vec<String> {
                        game.legal_of(&state, role).iter().map(|&mv| game.move_name(role, mv)).collect()
                    };
                    let right: Vec<String> =
                        prover.legal(&expected, role).unwrap().iter().map(|&mv| prover.text(mv)).collect();
                    assert_eq!(legal(&game), right);
                    assert_eq!(game.reached(&state, role), prover.goals(&expected).unwrap()[role]);
                }
                if game.is_terminal(&state) {
                    (state, expected) = (game.initial(), prover.initial().unwrap());
                    continue;
                }
                let joint = prover.random_moves(&expected, &mut rng).unwrap();
                let texts: Vec<String> = joint.iter().map(|&mv| prover.text(mv)).collect();
                let all: Vec<TermId> =
                    texts.iter().enumerate().map(|(role, text)| game.move_named(role, text).unwrap()).collect();
                let acting = game.turn(&state).acting(game.roles());
                // Both ways of playing lead to the same state.
                let mut other = state.clone();
                game.play_all(&mut other, &all);
                game.play(&mut state, &all[acting]);
                assert_eq!(game.facts(&state), game.facts(&other));
                expected = prover.next(&expected, &joint).unwrap();
            }
            assert_eq!(game.failure(), None);
        }
    }

    #[test]
    fn whose_turn_it_is_follows_from_the_moves() {
        let free = |role: &str| format!("(legal {role} go) (legal {role} stay)");
        let forced = |role: &str| format!("(legal {role} stay)");
        let turn = |a: String, b: String| {
            let game = game(&format!("(role a) (role b) {a} {b}"));
            game.turn(&game.initial())
        };
        assert_eq!(turn(free("a"), free("b")), Turn::All);
        assert_eq!(turn(free("a"), forced("b")), Turn::One(0));
        assert_eq!(turn(forced("a"), free("b")), Turn::One(1));
        assert_eq!(turn(forced("a"), forced("b")), Turn::One(0));
    }

    #[test]
    fn the_search_plays_it() {
        let game = game(&own("subtraction"));
        let mut mcts = Mcts::new(Uct::new(0.7), RandomPlayout::default(), ToTheEnd, MctsConfig::default(), 1);
        let found = mcts.search(&game, &game.initial(), 0, Limits::playouts(2_000), &AtomicBool::new(false));
        // Ten stones are left at two more than a multiple of four.
        assert_eq!(game.move_name(0, found.best), "(take 2)");
    }

    #[test]
    fn a_state_on_which_the_prover_fails_ends_the_match() {
        let stuck = "(role a) (init on) (<= (legal a go) (true on)) (legal b x) (<= (goal a 100) (role a))";
        let endless = "(role a) (init on) (legal a go) (<= (bad ?x) (bad (s ?x)))
            (<= terminal (not (true on)) (bad 0)) (goal a 100)";
        for (rules, error) in [(stuck, "no legal move"), (endless, "nested deeper")] {
            let game = game(rules);
            let mut state = game.initial();
            assert!(!game.is_terminal(&state));
            assert_eq!(game.failure(), None);
            let mut moves = Vec::new();
            game.legal(&state, 0, &mut moves);
            game.play(&mut state, &moves);
            assert!(game.is_terminal(&state));
            assert_eq!((game.goal(&state, 0), game.reached(&state, 0)), (0, Goal::None));
            let failure = game.failure().unwrap().to_string();
            assert!(failure.contains(error), "{failure}");
        }
        let rules = Rules::parse("(role a) (init on)").unwrap();
        assert_eq!(ProverGame::new(&rules).err(), Some(ProverError::NoLegalMove { role: "a".into() }));
    }

    #[test]
    fn proofs_stay_within_the_memory() {
        // A state of 4 facts has 2^16 rows of `pair`.
        let rules = Rules::parse(
            "(role a) (legal a go) (legal a stay) (goal a 100) (init (f 0)) (init (f 1)) (init (f 2)) (init (f 3))
             (<= (next (f ?x)) (true (f ?x)))
             (<= (next big) (does a go))
             (<= (pair ?a ?b ?c ?d ?e ?f ?g ?h) (true (f ?a)) (true (f ?b)) (true (f ?c)) (true (f ?d))
                 (true (f ?e)) (true (f ?f)) (true (f ?g)) (true (f ?h)))
             (<= terminal (true big) (pair ?a ?b ?c ?d ?e ?f ?g ?h) (distinct ?a ?a))",
        )
        .unwrap();
        let limits = |bytes| ProverLimits { memory: MemoryBudget::new(bytes), ..ProverLimits::default() };
        for (bytes, fits) in [(1 << 20, false), (1 << 30, true)] {
            let limits = limits(bytes);
            let game = ProverGame::bounded(&rules, &limits).unwrap();
            let mut state = game.initial();
            let go = game.move_named(0, "go").unwrap();
            game.play_all(&mut state, &[go]);
            let error = (!fits).then_some(ProverError::Memory { limit: bytes });
            assert_eq!((game.failure(), game.is_terminal(&state)), (error, !fits));
            assert!(fits || limits.memory.used() <= bytes / 2, "the tables are dropped: {:?}", limits.memory);
            assert_eq!(limits.memory.is_exhausted(), !fits);
            drop(game);
            assert_eq!(limits.memory.used(), 0);
        }
        let message = ProverError::Memory { limit: 3 << 29 }.to_string();
        assert_eq!(message, "a proof needs more than 1.5 GiB, the prover's part of the memory limit");
    }

    #[test]
    fn long_proofs_are_interrupted() {
        // A join of a million rows, which the first state does not need.
        let facts: String = (0..32).map(|n| format!("(n {n}) ")).collect();
        let rules = format!(
            "{facts} (role a) (init on) (legal a go) (goal a 100)
             (<= terminal (not (true on)) (n ?a) (n ?b) (n ?c) (n ?d) (not (m ?a ?b ?c ?d)))
             (<= (m ?a ?b ?c ?d) (n ?a) (n ?b) (n ?c) (n ?d))"
        );
        let flag = Arc::new(AtomicBool::new(false));
        let limits = ProverLimits { interrupt: flag.clone(), ..ProverLimits::default() };
        let game = ProverGame::bounded(&Rules::parse(&rules).unwrap(), &limits).unwrap();
        flag.store(true, Relaxed);
        let mut state = game.initial();
        let moves = game.legal_of(&state, 0);
        game.play(&mut state, &moves);
        assert_eq!(game.failure(), Some(ProverError::Interrupted));
    }
}
