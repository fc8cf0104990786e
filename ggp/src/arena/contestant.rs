//! The players of the arena.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sternhalma_game::{Game, Limits, SearchClock, SearchStats, SearchTask};
use thiserror::Error;

use super::{GameClock, SearchValue};
use crate::Policy;
use crate::policy::{PolicyAgent, PolicyGame};

/// A player of one role of a game, in this process or in another program.
pub trait Contestant<G: Game>: Send {
    /// Receives the [number](super::Schedule::number) of the next game, before
    /// [`begin`](Contestant::begin). The default ignores it.
    fn set_game_number(&mut self, _number: u64) {}

    /// Begins a game from `start`. The same seed gives the same moves, unless time is limited.
    ///
    /// # Errors
    /// Returns a fault if the contestant cannot play.
    fn begin(&mut self, game: &G, start: &G::State, role: usize, seed: u64) -> Result<(), Fault>;

    /// Chooses a move in a state that is not terminal, and returns it with its cost. The
    /// caller checks whether the move is legal and in time. Once `request.stop` is set, the
    /// result is ignored.
    ///
    /// # Errors
    /// Returns a fault if there is no move before the [`deadline`](Request::deadline).
    fn choose(&mut self, game: &G, state: &G::State, request: &Request) -> Result<(G::Move, SearchStats), Fault>;

    /// Returns the value of the state in which the contestant last chose a move, for itself. The
    /// default returns `None`: the value is not known.
    fn value(&self) -> Option<SearchValue> {
        None
    }

    /// Thinks within the limits of the request without choosing a move, and returns the cost.
    /// The state is not terminal. The default does nothing.
    ///
    /// # Errors
    /// Returns a fault if the contestant cannot continue.
    fn think(
        &mut self,
        _game: &G,
        _state: &G::State,
        _request: &Request,
        _clock: SearchClock,
    ) -> Result<SearchStats, Fault> {
        Ok(SearchStats::default())
    }

    /// Updates the contestant with the moves of all acting roles, including its own.
    fn observe(&mut self, game: &G, joint: &[G::Move]);
}

/// The conditions under which a contestant chooses a move.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The role of the contestant.
    pub role: usize,
    /// The limits of the move, without the clock.
    pub limits: Limits,
    /// The clocks of all roles.
    pub clocks: &'a [Option<GameClock>],
    /// Grace period after the time limit, before the contestant is declared hung.
    pub patience: Duration,
    /// Set when the move is no longer needed.
    pub stop: &'a AtomicBool,
}

impl<'a> Request<'a> {
    /// Returns the time for the move, or `None` if only counts are limited.
    pub fn time(&self) -> Option<Duration> {
        let clock = self.clocks[self.role].map(|clock| clock.left);
        self.limits.time.into_iter().chain(clock).min()
    }

    /// Returns the time after which the contestant is declared hung.
    pub fn deadline(&self) -> Duration {
        self.time().unwrap_or_default() + self.patience
    }

    /// Returns the limits of a search: those of the move, its share of the clock, and the
    /// deadline.
    pub fn search_limits(&self) -> Limits {
        let share = self.clocks[self.role].map(|clock| clock.share());
        self.limits.and(Limits { time: share, ..Limits::default() }).and(Limits::time(self.deadline()))
    }

    fn task<G: Game>(&self, game: &'a G, state: &'a G::State, clock: SearchClock) -> SearchTask<'a, G> {
        SearchTask { clock, ..SearchTask::new(game, state, self.search_limits(), self.stop) }
    }
}

/// The reason why a contestant loses a game before its end.
#[derive(Clone, PartialEq, Eq, Debug, Error, Serialize, Deserialize)]
#[error("{kind}: {detail}")]
pub struct Fault {
    /// The kind of fault.
    pub kind: FaultKind,
    /// Details, for people.
    pub detail: String,
}

/// A kind of fault.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Error, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum FaultKind {
    /// The program ended or could not be started, or the contestant panicked.
    #[error("crash")]
    Crash,
    /// The contestant did not answer within its time and the grace period.
    #[error("hang")]
    Hang,
    /// The contestant answered too late.
    #[error("time loss")]
    Time,
    /// The chosen move is illegal.
    #[error("illegal move")]
    Illegal,
    /// The answer cannot be parsed.
    #[error("garbage")]
    Garbage,
}

impl FaultKind {
    /// Returns a number of faults of this kind as text, such as `2 crashes`.
    pub fn counted(self, count: u64) -> String {
        let plural = match self {
            FaultKind::Crash => "crashes",
            FaultKind::Hang => "hangs",
            FaultKind::Time => "time losses",
            FaultKind::Illegal => "illegal moves",
            FaultKind::Garbage => "garbage",
        };
        if count == 1 { format!("1 {self}") } else { format!("{count} {plural}") }
    }

    /// Returns a fault of this kind.
    pub fn fault(self, detail: impl Into<String>) -> Fault {
        Fault { kind: self, detail: detail.into() }
    }
}

/// A contestant that plays by a [`Policy`].
pub struct PolicyPlayer<G> {
    policy: Policy,
    agent: Option<Box<dyn PolicyAgent<G>>>,
    /// The value of the last search.
    value: Option<SearchValue>,
}

impl<G: PolicyGame> PolicyPlayer<G> {
    /// Creates a contestant.
    pub fn new(policy: Policy) -> PolicyPlayer<G> {
        PolicyPlayer { policy, agent: None, value: None }
    }
}

impl<G: PolicyGame> Contestant<G> for PolicyPlayer<G> {
    fn begin(&mut self, game: &G, start: &G::State, role: usize, seed: u64) -> Result<(), Fault> {
        self.agent.insert(game.agent(&self.policy, role, seed)).begin(game, start);
        Ok(())
    }

    fn choose(&mut self, game: &G, state: &G::State, request: &Request) -> Result<(G::Move, SearchStats), Fault> {
        let agent = self.agent.as_mut().expect("`begin` is called before `choose`");
        let found = agent.search(&request.task(game, state, SearchClock::Play), request.role);
        self.value = found.value().map(SearchValue::of_mean);
        Ok((found.best, found.spent))
    }

    fn value(&self) -> Option<SearchValue> {
        self.value
    }

    fn think(
        &mut self,
        game: &G,
        state: &G::State,
        request: &Request,
        clock: SearchClock,
    ) -> Result<SearchStats, Fault> {
        let agent = self.agent.as_mut().expect("`begin` is called before `think`");
        Ok(agent.think(&request.task(game, state, clock)))
    }

    fn observe(&mut self, game: &G, joint: &[G::Move]) {
        if let Some(agent) = &mut self.agent {
            agent.advance(game, joint);
        }
    }
}
