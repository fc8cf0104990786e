//! Matches written down state by state, and compared.

use std::collections::BTreeMap;

use rand::SeedableRng;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::kif::Document;
use super::prover::{Goal, Prover, ProverError, State};
use super::terms::TermId;
use crate::Rng;

/// A visited state: what holds in it and what is played. All terms are KIF.
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
    /// A goal a role, in the order of roles; `undef` where there is not
    /// exactly one.
    pub goals: Vec<String>,
    /// The legal moves of each role; none at the end.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub legal: Option<BTreeMap<String, Vec<String>>>,
    /// The joint move that is then played, in the order of roles; none at
    /// the end.
    #[serde(rename = "move", skip_serializing_if = "Option::is_none", default)]
    pub joint: Option<Vec<String>>,
}

/// What disagrees with a trace, or keeps it from being replayed.
#[derive(Error, Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ReplayError {
    /// The prover and the trace differ.
    #[error("playout {p}, step {t}: {what}: the trace says {expected}, the engine {found}")]
    Differs {
        /// The match.
        p: u64,
        /// The step.
        t: u64,
        /// What of it differs.
        what: String,
        /// What the trace says.
        expected: String,
        /// What the engine says.
        found: String,
    },
    /// The prover fails.
    #[error(transparent)]
    Prover(#[from] ProverError),
}

/// Plays random matches and hands each visited state to `visit`. The same
/// seed gives the same matches.
///
/// # Errors
///
/// As [`Prover::playout`], or what `visit` returns.
pub fn trace<E: From<ProverError>>(
    prover: &mut Prover,
    seed: u64,
    playouts: u64,
    most_steps: usize,
    mut visit: impl FnMut(&TraceLine) -> Result<(), E>,
) -> Result<(), E> {
    let mut rng = Rng::seed_from_u64(seed);
    for p in 0..playouts {
        let mut state = prover.initial()?;
        for t in 0.. {
            let mut line = line(prover, p, t, &state)?;
            if line.terminal {
                visit(&line)?;
                break;
            }
            if t as usize == most_steps {
                return Err(ProverError::Endless { steps: most_steps }.into());
            }
            let joint = prover.random_moves(&state, &mut rng)?;
            line.joint = Some(joint.iter().map(|&mv| prover.text(mv)).collect());
            visit(&line)?;
            state = prover.next(&state, &joint)?;
        }
    }
    Ok(())
}

/// What the prover says of a state. Lists are in alphabetical order.
fn line(prover: &mut Prover, p: u64, t: u64, state: &State) -> Result<TraceLine, ProverError> {
    let roles = prover.roles().to_vec();
    let terminal = prover.is_terminal(state)?;
    let mut legal = BTreeMap::new();
    for (role, &name) in roles.iter().enumerate().filter(|_| !terminal) {
        let moves = prover.legal(state, role)?;
        legal.insert(prover.text(name), texts(prover, &moves));
    }
    Ok(TraceLine {
        p,
        t,
        state: texts(prover, state.fluents()),
        terminal,
        goals: prover.goals(state)?.into_iter().map(goal_text).collect(),
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

fn texts(prover: &Prover, terms: &[TermId]) -> Vec<String> {
    let mut texts: Vec<String> = terms.iter().map(|&term| prover.text(term)).collect();
    texts.sort_unstable();
    texts
}

/// Compares what a line says with the prover, in the state that `state`
/// holds, and plays on: `state` is then the one that the next line should
/// tell. A line of step 0 begins a match.
///
/// # Errors
///
/// The first difference, or what keeps the line from being replayed.
pub fn replay_line(prover: &mut Prover, state: &mut State, told: &TraceLine) -> Result<(), ReplayError> {
    if told.t == 0 {
        *state = prover.initial()?;
    }
    let differs = |what: &str, expected: String, found: String| ReplayError::Differs {
        p: told.p,
        t: told.t,
        what: what.into(),
        expected,
        found,
    };
    let found = line(prover, told.p, told.t, state)?;
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
    if joint.len() != prover.roles().len() {
        return Err(differs("move", joint.join(" "), format!("{} roles", prover.roles().len())));
    }
    let joint = joint.iter().map(|mv| prover.term(mv)).collect::<Result<Vec<_>, _>>()?;
    *state = prover.next(state, &joint)?;
    Ok(())
}

fn keys(legal: &BTreeMap<String, Vec<String>>) -> Vec<String> {
    legal.keys().cloned().collect()
}

/// A sentence with one space between words; text that is not KIF as it is.
fn normal(text: &str) -> String {
    Document::parse(text).map_or_else(|_| text.to_string(), |document| document.to_string())
}

/// What only one of two lists has, if they differ as sets.
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
