//! Who plays in the arena.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::budget::Clock;
use crate::game::Game;
use crate::limits::{Limits, SearchStats};
use crate::mcts as search;
use crate::policy::{Mind, Policy, PolicyGame};

/// One role of a game, played in this process or by another program.
pub trait Contestant<G: Game>: Send {
    /// Begins a game in which it plays a role from `start`. The same seed and
    /// limits, but of time, give the same moves.
    ///
    /// # Errors
    /// If it cannot play.
    fn begin(&mut self, game: &G, start: &G::State, role: usize, seed: u64) -> Result<(), Fault>;

    /// Chooses a move of its role, with what it spent, in a state that is not
    /// terminal. The caller judges whether it is legal and in time.
    ///
    /// # Errors
    /// If there is no move by the [`deadline`](Request::deadline). Once
    /// `request.stop` is set any answer will do.
    fn choose(&mut self, game: &G, state: &G::State, request: &Request) -> Result<(G::Move, SearchStats), Fault>;

    /// Thinks before its role is to act, in a state that is not terminal, by
    /// the limits of the request, and returns what it spent. One that does
    /// not has nothing to do.
    ///
    /// # Errors
    /// If it cannot play on.
    fn think(
        &mut self,
        _game: &G,
        _state: &G::State,
        _request: &Request,
        _clock: search::SearchClock,
    ) -> Result<SearchStats, Fault> {
        Ok(SearchStats::default())
    }

    /// Follows the moves of the acting roles, its own included.
    fn observe(&mut self, game: &G, joint: &[G::Move]);
}

/// What a contestant is to keep to as it chooses a move.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The role it plays.
    pub role: usize,
    /// The limits of a move.
    pub limits: Limits,
    /// By role: the clock, if there is one.
    pub clocks: &'a [Option<Clock>],
    /// Who has not answered so long after the time it had hangs.
    pub patience: Duration,
    /// Set when no answer is wanted any more.
    pub stop: &'a AtomicBool,
}

impl Request<'_> {
    /// The time that its move may take; none if only counts are limited.
    pub fn time(&self) -> Option<Duration> {
        let clock = self.clocks[self.role].map(|clock| clock.left);
        self.limits.time.into_iter().chain(clock).min()
    }

    /// The time after which it is given up.
    pub fn deadline(&self) -> Duration {
        self.time().unwrap_or_default() + self.patience
    }

    /// The limits of a search for the move: those of the move, its share of
    /// the clock, and the deadline.
    pub fn search_limits(&self) -> Limits {
        let share = self.clocks[self.role].map(|clock| clock.share());
        self.limits.and(Limits { time: share, ..Limits::default() }).and(Limits::time(self.deadline()))
    }
}

/// Why a game is lost before its end.
#[derive(Clone, PartialEq, Eq, Debug, Error, Serialize, Deserialize)]
#[error("{kind}: {detail}")]
pub struct Fault {
    /// What happened.
    pub kind: FaultKind,
    /// What was seen of it.
    pub detail: String,
}

/// What a contestant did wrong.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum FaultKind {
    /// Its program ended, or could not be started.
    Crash,
    /// It did not answer, nor when its time was over.
    Hang,
    /// It answered, too late.
    Time,
    /// It chose a move that is not legal.
    Illegal,
    /// What it said is no answer.
    Garbage,
}

impl std::fmt::Display for FaultKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            FaultKind::Crash => "crash",
            FaultKind::Hang => "hang",
            FaultKind::Time => "time loss",
            FaultKind::Illegal => "illegal move",
            FaultKind::Garbage => "garbage",
        })
    }
}

impl FaultKind {
    /// A fault of this kind.
    pub fn fault(self, detail: impl Into<String>) -> Fault {
        Fault { kind: self, detail: detail.into() }
    }
}

/// A policy of general game playing as a contestant.
pub struct PolicyPlayer<G> {
    policy: Policy,
    mind: Option<Box<dyn Mind<G>>>,
}

impl<G: PolicyGame> PolicyPlayer<G> {
    /// A player of this policy.
    pub fn new(policy: Policy) -> PolicyPlayer<G> {
        PolicyPlayer { policy, mind: None }
    }
}

impl<G: PolicyGame> Contestant<G> for PolicyPlayer<G> {
    fn begin(&mut self, game: &G, start: &G::State, role: usize, seed: u64) -> Result<(), Fault> {
        self.mind.insert(game.agent(&self.policy, role, seed)).begin(game, start);
        Ok(())
    }

    fn choose(&mut self, game: &G, state: &G::State, request: &Request) -> Result<(G::Move, SearchStats), Fault> {
        let mind = self.mind.as_mut().expect("a game has begun before a move is asked for");
        Ok(mind.search(game, state, request.role, request.search_limits(), request.stop))
    }

    fn think(
        &mut self,
        game: &G,
        state: &G::State,
        request: &Request,
        clock: search::SearchClock,
    ) -> Result<SearchStats, Fault> {
        let mind = self.mind.as_mut().expect("a game has begun before it is thought about");
        Ok(mind.think(game, state, request.search_limits(), request.stop, clock))
    }

    fn observe(&mut self, game: &G, joint: &[G::Move]) {
        if let Some(mind) = &mut self.mind {
            mind.advance(game, joint);
        }
    }
}
