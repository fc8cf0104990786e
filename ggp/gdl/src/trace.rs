//! Traces: matches recorded state by state, and replayed with any engine.

use std::collections::BTreeMap;

use rand::{RngExt, SeedableRng};
use serde::{Deserialize, Serialize};
use sternhalma_game::{Game, Rng};
use thiserror::Error;

use super::{Document, Goal, Prover, ProverError, ProverState, Reasoner, TermId};

/// A visited state of a match: what holds, and the joint move that is played.
/// All terms are KIF.
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Debug)]
pub struct TraceLine {
    /// The match, counted from 0.
    pub p: u64,
    /// The step, counted from 0.
    pub t: u64,
    /// The true fluents.
    pub state: Vec<String>,
    /// Whether the match is over.
    pub terminal: bool,
    /// The goal of each role, in the order of roles. `undef` unless there is
    /// exactly one.
    pub goals: Vec<String>,
    /// The legal moves of each role. `None` in a terminal state.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub legal: Option<BTreeMap<String, Vec<String>>>,
    /// The joint move that is played, in the order of roles. `None` in a terminal
    /// state.
    #[serde(rename = "move", skip_serializing_if = "Option::is_none", default)]
    pub joint: Option<Vec<String>>,
}

/// An error while a trace is recorded or replayed.
#[derive(Error, Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ReplayError {
    /// The engine and the trace disagree.
    #[error("playout {p}, step {t}: {what}: expected {expected}, got {found}")]
    Differs {
        /// The match.
        p: u64,
        /// The step.
        t: u64,
        /// The part of the state that differs.
        what: String,
        /// The content of the trace.
        expected: String,
        /// The answer of the engine.
        found: String,
    },
    /// A recorded move is not a move of its role in any state.
    #[error("`{text}` is not a move of role {role}")]
    NoMove {
        /// The role.
        role: String,
        /// The move.
        text: String,
    },
    /// The prover fails.
    #[error(transparent)]
    Prover(#[from] ProverError),
}

/// An engine that records and replays traces: the [`Prover`] or any
/// [`Reasoner`].
pub trait TraceEngine {
    /// A state of the game.
    type State;

    /// Returns the names of the roles, in order.
    fn names(&self) -> Vec<String>;

    /// Returns the initial state.
    ///
    /// # Errors
    ///
    /// As [`Prover::initial`].
    fn start(&mut self) -> Result<Self::State, ProverError>;

    /// Returns what a trace records about a state.
    ///
    /// # Errors
    ///
    /// As [`Prover::initial`].
    fn view(&mut self, state: &Self::State) -> Result<StateView, ProverError>;

    /// Plays a joint move, one move per role.
    ///
    /// # Errors
    ///
    /// As [`Prover::next`], and [`ReplayError::NoMove`].
    fn follow(&mut self, state: &mut Self::State, joint: &[String]) -> Result<(), ReplayError>;
}

/// The facts, goals and legal moves of a state. Names are in no particular order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StateView {
    /// The true fluents.
    pub facts: Vec<String>,
    /// Whether the match is over.
    pub terminal: bool,
    /// The goal of each role.
    pub goals: Vec<Goal>,
    /// The legal moves of each role.
    pub legal: Vec<Vec<String>>,
}

impl TraceEngine for Prover {
    type State = ProverState;

    fn names(&self) -> Vec<String> {
        texts(self, self.roles())
    }

    fn start(&mut self) -> Result<ProverState, ProverError> {
        self.initial()
    }

    fn view(&mut self, state: &ProverState) -> Result<StateView, ProverError> {
        let legal = (0..self.roles().len()).map(|role| {
            let moves = self.legal(state, role)?;
            Ok(texts(self, &moves))
        });
        Ok(StateView {
            legal: legal.collect::<Result<_, _>>()?,
            facts: texts(self, state.fluents()),
            terminal: self.is_terminal(state)?,
            goals: self.goals(state)?,
        })
    }

    /// Accepts any ground term as a move.
    fn follow(&mut self, state: &mut ProverState, joint: &[String]) -> Result<(), ReplayError> {
        let joint = joint.iter().map(|mv| self.term(mv)).collect::<Result<Vec<_>, _>>()?;
        *state = self.next(state, &joint)?;
        Ok(())
    }
}

fn texts(prover: &Prover, terms: &[TermId]) -> Vec<String> {
    terms.iter().map(|&term| prover.text(term)).collect()
}

impl<R: Reasoner> TraceEngine for R {
    type State = <R as Game>::State;

    fn names(&self) -> Vec<String> {
        self.role_names().to_vec()
    }

    fn start(&mut self) -> Result<Self::State, ProverError> {
        Ok(self.initial())
    }

    fn view(&mut self, state: &Self::State) -> Result<StateView, ProverError> {
        let roles = 0..self.roles();
        let legal = |role| self.legal_of(state, role).into_iter().map(|mv| self.move_name(role, mv)).collect();
        Ok(StateView {
            facts: self.facts(state),
            terminal: self.is_over(state),
            goals: roles.clone().map(|role| self.reached(state, role)).collect(),
            legal: roles.map(legal).collect(),
        })
    }

    fn follow(&mut self, state: &mut Self::State, joint: &[String]) -> Result<(), ReplayError> {
        let joint = moves_named(self, joint)?;
        self.play_all(state, &joint);
        Ok(())
    }
}

/// Returns the moves with these names, one per role.
pub(super) fn moves_named<R: Reasoner>(game: &R, joint: &[String]) -> Result<Vec<R::Move>, ReplayError> {
    let named = |(role, text): (usize, &String)| {
        let no_move = || ReplayError::NoMove { role: game.role_names()[role].clone(), text: text.clone() };
        game.move_named(role, &normal(text)).ok_or_else(no_move)
    };
    joint.iter().enumerate().map(named).collect()
}

/// Plays random matches and passes each visited state to `visit`. The same seed
/// gives the same matches with every engine.
///
/// # Errors
///
/// Returns errors of the engine and of `visit`, and an error if a role has no
/// legal move or a match exceeds `most_steps`.
pub fn trace<T: TraceEngine, E: From<ReplayError>>(
    engine: &mut T,
    seed: u64,
    playouts: u64,
    most_steps: usize,
    mut visit: impl FnMut(&TraceLine) -> Result<(), E>,
) -> Result<(), E> {
    let mut rng = Rng::seed_from_u64(seed);
    let failed = |error: ProverError| -> E { ReplayError::from(error).into() };
    let roles = engine.names();
    for playout in 0..playouts {
        let mut state = engine.start().map_err(failed)?;
        for step in 0.. {
            let mut line = line(engine, playout, step, &state).map_err(failed)?;
            // A terminal state has no legal moves.
            let Some(legal) = &line.legal else {
                visit(&line)?;
                break;
            };
            if step as usize == most_steps {
                return Err(failed(ProverError::Endless { steps: most_steps }));
            }
            let random = |role: &String| match &legal[role][..] {
                [] => Err(failed(ProverError::NoLegalMove { role: role.clone() })),
                moves => Ok(moves[rng.random_range(0..moves.len())].clone()),
            };
            let joint = roles.iter().map(random).collect::<Result<Vec<_>, E>>()?;
            line.joint = Some(joint.clone());
            visit(&line)?;
            engine.follow(&mut state, &joint)?;
        }
    }
    Ok(())
}

/// Returns the trace line of a state, without a joint move. Lists are sorted.
fn line<T: TraceEngine>(engine: &mut T, p: u64, t: u64, state: &T::State) -> Result<TraceLine, ProverError> {
    let StateView { facts, terminal, goals, legal } = engine.view(state)?;
    let legal = engine.names().into_iter().zip(legal).map(|(role, moves)| (role, sorted(moves))).collect();
    Ok(TraceLine {
        p,
        t,
        state: sorted(facts),
        terminal,
        goals: goals.into_iter().map(goal_text).collect(),
        legal: (!terminal).then_some(legal),
        joint: None,
    })
}

fn goal_text(goal: Goal) -> String {
    match goal {
        Goal::Value(value) => value.to_string(),
        Goal::None | Goal::Several | Goal::NotANumber => "undef".into(),
    }
}

fn sorted(mut texts: Vec<String>) -> Vec<String> {
    texts.sort_unstable();
    texts
}

/// Compares a line of a trace with an engine, and plays the recorded joint move.
///
/// `state` is the state of the line before the call, and the state of the next
/// line after it. A line with step 0 begins a match, and so does the first line.
///
/// # Errors
///
/// Returns the first difference, or an error that keeps the line from being
/// replayed.
pub fn replay_line<T: TraceEngine>(
    engine: &mut T,
    state: &mut Option<T::State>,
    recorded: &TraceLine,
) -> Result<(), ReplayError> {
    let state = match state {
        Some(state) if recorded.t > 0 => state,
        state => state.insert(engine.start()?),
    };
    let differs = |what: &str, expected: String, found: String| ReplayError::Differs {
        p: recorded.p,
        t: recorded.t,
        what: what.into(),
        expected,
        found,
    };
    let found = line(engine, recorded.p, recorded.t, state)?;
    let lists = |what: &str, expected: &[String], found: &[String]| match compare(expected, found) {
        Some((expected, found)) => Err(differs(what, expected, found)),
        None => Ok(()),
    };
    lists("state", &recorded.state, &found.state)?;
    if recorded.terminal != found.terminal {
        return Err(differs("terminal", recorded.terminal.to_string(), found.terminal.to_string()));
    }
    if recorded.goals != found.goals {
        return Err(differs("goals", recorded.goals.join(" "), found.goals.join(" ")));
    }
    if let (Some(recorded), Some(found)) = (&recorded.legal, &found.legal) {
        lists("roles", &keys(recorded), &keys(found))?;
        for (role, moves) in recorded {
            let role = normal(role);
            lists(&format!("legal moves of {role}"), moves, found.get(&role).map_or(&[], Vec::as_slice))?;
        }
    }
    let Some(joint) = &recorded.joint else { return Ok(()) };
    let roles = engine.names().len();
    if joint.len() != roles {
        return Err(differs("move", joint.join(" "), format!("{roles} roles")));
    }
    for (role, mv) in engine.names().iter().zip(joint) {
        let legal = found.legal.as_ref().and_then(|legal| legal.get(role));
        // The engine rejects moves that are not terms.
        if Document::parse(mv).is_ok() && !legal.is_some_and(|legal| legal.contains(&normal(mv))) {
            return Err(differs(&format!("move of {role}"), normal(mv), "no such legal move".into()));
        }
    }
    engine.follow(state, joint)
}

fn keys(legal: &BTreeMap<String, Vec<String>>) -> Vec<String> {
    legal.keys().cloned().collect()
}

/// Returns a sentence with one space between words, or any other text unchanged.
fn normal(text: &str) -> String {
    Document::parse(text).map_or_else(|_| text.to_string(), |document| document.to_string())
}

/// Returns the elements that only one of two lists has, or `None` if the lists are
/// equal as sets.
fn compare(expected: &[String], found: &[String]) -> Option<(String, String)> {
    let sorted = |texts: &[String]| {
        let mut texts: Vec<String> = texts.iter().map(|text| normal(text)).collect();
        texts.sort_unstable();
        texts.dedup();
        texts
    };
    let (expected, found) = (sorted(expected), sorted(found));
    let only = |these: &[String], those: &[String]| {
        let only: Vec<&str> = these.iter().filter(|text| !those.contains(text)).map(String::as_str).collect();
        if only.is_empty() { "nothing else".to_string() } else { format!("also {}", only.join(" ")) }
    };
    (expected != found).then(|| (only(&expected, &found), only(&found, &expected)))
}
