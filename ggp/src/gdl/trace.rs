//! Traces: matches recorded state by state, for comparison.

use std::collections::BTreeMap;

use rand::{RngExt, SeedableRng};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::prover::{Prover, ProverError, State, TermId};
use super::reasoner::{Goal, Reasoner};
use super::syntax::Document;
use crate::{Game, Rng};

/// A visited state: its facts and the played move. All terms are KIF.
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
    /// The goals in the order of roles; `undef` if a role does not have
    /// exactly one.
    pub goals: Vec<String>,
    /// The legal moves of each role; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub legal: Option<BTreeMap<String, Vec<String>>>,
    /// The joint move that is then played, in the order of roles; absent at
    /// the end.
    #[serde(rename = "move", skip_serializing_if = "Option::is_none", default)]
    pub joint: Option<Vec<String>>,
}

/// A difference from a trace, or an error of making or replaying it.
#[derive(Error, Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ReplayError {
    /// The engine and the trace differ.
    #[error("playout {p}, step {t}: {what}: the trace says {expected}, the engine {found}")]
    Differs {
        /// The match.
        p: u64,
        /// The step.
        t: u64,
        /// The part that differs.
        what: String,
        /// The value in the trace.
        expected: String,
        /// The value of the engine.
        found: String,
    },
    /// A played move exists in no state.
    #[error("`{text}` is no move of role {role}")]
    NoMove {
        /// The role.
        role: String,
        /// The move.
        text: String,
    },
    /// The prover failed.
    #[error(transparent)]
    Prover(#[from] ProverError),
}

/// An engine that plays the matches of a trace: the [`Prover`] and every
/// [`Reasoner`].
pub trait Engine {
    /// A state of the game.
    type State;

    /// Returns the names of the roles, in order.
    fn names(&self) -> Vec<String>;

    /// Returns the initial state.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Prover::initial`]; so do the other
    /// queries.
    fn start(&mut self) -> Result<Self::State, ProverError>;

    /// Returns the facts, end, goals and legal moves of a state.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Prover::initial`].
    fn view(&mut self, state: &Self::State) -> Result<View, ProverError>;

    /// Plays a joint move, with one move per role.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Prover::next`], and
    /// [`ReplayError::NoMove`].
    fn follow(&mut self, state: &mut Self::State, joint: &[String]) -> Result<(), ReplayError>;
}

/// An engine's evaluation of a state. Names are unordered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct View {
    /// The true fluents.
    pub facts: Vec<String>,
    /// Whether the match is over.
    pub terminal: bool,
    /// The goal of each role.
    pub goals: Vec<Goal>,
    /// The legal moves of each role.
    pub legal: Vec<Vec<String>>,
}

impl Engine for Prover {
    type State = State;

    fn names(&self) -> Vec<String> {
        texts(self, self.roles())
    }

    fn start(&mut self) -> Result<State, ProverError> {
        self.initial()
    }

    fn view(&mut self, state: &State) -> Result<View, ProverError> {
        let legal = (0..self.roles().len()).map(|role| {
            let moves = self.legal(state, role)?;
            Ok(texts(self, &moves))
        });
        Ok(View {
            legal: legal.collect::<Result<_, _>>()?,
            facts: texts(self, state.fluents()),
            terminal: self.is_terminal(state)?,
            goals: self.goals(state)?,
        })
    }

    /// Any ground term is a move.
    fn follow(&mut self, state: &mut State, joint: &[String]) -> Result<(), ReplayError> {
        let joint = joint.iter().map(|mv| self.term(mv)).collect::<Result<Vec<_>, _>>()?;
        *state = self.next(state, &joint)?;
        Ok(())
    }
}

fn texts(prover: &Prover, terms: &[TermId]) -> Vec<String> {
    terms.iter().map(|&term| prover.text(term)).collect()
}

impl<R: Reasoner> Engine for R {
    type State = <R as Game>::State;

    fn names(&self) -> Vec<String> {
        self.role_names().to_vec()
    }

    fn start(&mut self) -> Result<Self::State, ProverError> {
        Ok(self.initial())
    }

    fn view(&mut self, state: &Self::State) -> Result<View, ProverError> {
        let roles = 0..self.roles();
        let legal = |role| self.legal_of(state, role).into_iter().map(|mv| self.move_name(role, mv)).collect();
        Ok(View {
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

/// Plays random matches and passes each visited state to `visit`. The same
/// seed gives the same matches for any engine.
///
/// # Errors
///
/// Returns the errors of the engine and of `visit`. Also returns an error if a
/// role has no legal move or a match has more than `most_steps` steps.
pub fn trace<T: Engine, E: From<ReplayError>>(
    engine: &mut T,
    seed: u64,
    playouts: u64,
    most_steps: usize,
    mut visit: impl FnMut(&TraceLine) -> Result<(), E>,
) -> Result<(), E> {
    let mut rng = Rng::seed_from_u64(seed);
    let failed = |error: ProverError| -> E { ReplayError::from(error).into() };
    let roles = engine.names();
    for p in 0..playouts {
        let mut state = engine.start().map_err(failed)?;
        for t in 0.. {
            let mut line = line(engine, p, t, &state).map_err(failed)?;
            let Some(legal) = &line.legal else {
                visit(&line)?;
                break;
            };
            if t as usize == most_steps {
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

/// Returns the evaluation of a state. Lists are in alphabetical order.
fn line<T: Engine>(engine: &mut T, p: u64, t: u64, state: &T::State) -> Result<TraceLine, ProverError> {
    let View { facts, terminal, goals, legal } = engine.view(state)?;
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

/// Compares a line with an engine in the state `state` and plays the move of
/// the line, so that `state` belongs to the next line. A line of step 0 begins
/// a match, and so does the first line.
///
/// # Errors
///
/// Returns the first difference, or the error that prevents the replay.
pub fn replay_line<T: Engine>(
    engine: &mut T,
    state: &mut Option<T::State>,
    told: &TraceLine,
) -> Result<(), ReplayError> {
    let state = match state {
        Some(state) if told.t > 0 => state,
        state => state.insert(engine.start()?),
    };
    let differs = |what: &str, expected: String, found: String| ReplayError::Differs {
        p: told.p,
        t: told.t,
        what: what.into(),
        expected,
        found,
    };
    let found = line(engine, told.p, told.t, state)?;
    let lists = |what: &str, expected: &[String], found: &[String]| match compare(expected, found) {
        Some((expected, found)) => Err(differs(what, expected, found)),
        None => Ok(()),
    };
    lists("state", &told.state, &found.state)?;
    if told.terminal != found.terminal {
        return Err(differs("terminal", told.terminal.to_string(), found.terminal.to_string()));
    }
    if told.goals != found.goals {
        return Err(differs("goals", told.goals.join(" "), found.goals.join(" ")));
    }
    if let (Some(told), Some(found)) = (&told.legal, &found.legal) {
        lists("roles", &keys(told), &keys(found))?;
        for (role, moves) in told {
            let role = normal(role);
            lists(&format!("legal moves of {role}"), moves, found.get(&role).map_or(&[], Vec::as_slice))?;
        }
    }
    let Some(joint) = &told.joint else { return Ok(()) };
    let roles = engine.names().len();
    if joint.len() != roles {
        return Err(differs("move", joint.join(" "), format!("{roles} roles")));
    }
    for (role, mv) in engine.names().iter().zip(joint) {
        let legal = found.legal.as_ref().and_then(|legal| legal.get(role));
        // The engine refuses a text that is not a term.
        if Document::parse(mv).is_ok() && !legal.is_some_and(|legal| legal.contains(&normal(mv))) {
            return Err(differs(&format!("move of {role}"), normal(mv), "no such legal move".into()));
        }
    }
    engine.follow(state, joint)
}

fn keys(legal: &BTreeMap<String, Vec<String>>) -> Vec<String> {
    legal.keys().cloned().collect()
}

/// Returns a sentence with one space between words. A text that is not KIF is
/// unchanged.
fn normal(text: &str) -> String {
    Document::parse(text).map_or_else(|_| text.to_string(), |document| document.to_string())
}

/// Returns the elements that only one of two lists has, if they differ as
/// sets.
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
