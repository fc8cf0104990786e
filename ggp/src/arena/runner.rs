//! One game between contestants, which act one after the other.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use super::budget::GameClock;
use super::contestant::{Contestant, Fault, FaultKind, Request};
use super::game::{ArenaGame, Opening, TournamentSetup};
use super::record::{GameRecord, RoleFault, Termination};
use super::schedule::{GameId, Schedule};
use super::session::{GameSession, RoleTask, TaskKind};
use crate::limits::{Limits, SearchStats};
use crate::mcts::SearchClock;

/// Runs a game between contestants and judges their time.
pub(super) struct GameRunner<'a, G: ArenaGame> {
    session: GameSession<'a, G>,
    schedule: &'a Schedule,
    cancelled: &'a AtomicBool,
    /// By role.
    clocks: Vec<Option<GameClock>>,
}

/// The end of a game.
enum GameEnd {
    Result(Termination, Vec<u8>),
    Fault(RoleFault),
    Cancelled,
}

impl<'a, G: ArenaGame> GameRunner<'a, G> {
    pub fn new(
        setup: &'a TournamentSetup<'a, G>,
        schedule: &'a Schedule,
        id: GameId,
        cancelled: &'a AtomicBool,
        start: Opening<G::State>,
    ) -> Self {
        let clock = |seat: usize| schedule.budget(id, seat).time.map(GameClock::from);
        let clocks = schedule.seats(id).into_iter().map(clock).collect();
        let session = GameSession::new(setup.game, setup.adjudicator, schedule, id, start);
        GameRunner { session, schedule, cancelled, clocks }
    }

    /// Plays the game to its end. Returns `None` if the game was cancelled before.
    pub fn play(mut self, game: &G, contestants: &mut [&mut dyn Contestant<G>]) -> Option<GameRecord> {
        match self.run(game, contestants) {
            GameEnd::Cancelled => None,
            GameEnd::Result(termination, goals) => Some(self.session.record(termination, goals)),
            GameEnd::Fault(fault) => Some(self.session.forfeit(fault)),
        }
    }

    fn run(&mut self, game: &G, contestants: &mut [&mut dyn Contestant<G>]) -> GameEnd {
        for (role, contestant) in contestants.iter_mut().enumerate() {
            let seed = self.session.seed(role);
            if let Err(fault) = catch_panic(|| contestant.begin(game, &self.session.state, role, seed)) {
                return self.fault(role, fault);
            }
        }
        loop {
            let tasks = match self.session.tasks() {
                Ok(tasks) => tasks,
                Err((termination, goals)) => return GameEnd::Result(termination, goals),
            };
            if let Err(end) = self.step(game, &tasks, contestants) {
                return end;
            }
        }
    }

    /// Runs the tasks of a step, then ends the step.
    fn step(
        &mut self,
        game: &G,
        tasks: &[RoleTask],
        contestants: &mut [&mut dyn Contestant<G>],
    ) -> Result<(), GameEnd> {
        for task in tasks {
            let contestant = &mut *contestants[task.role];
            match task.kind {
                TaskKind::Move => self.choose(game, task.role, contestant, task.limits)?,
                TaskKind::Think(clock) => self.think(game, task.role, contestant, task.limits, clock)?,
            }
        }
        let Some(joint) = self.session.play() else { return Ok(()) };
        for (role, contestant) in contestants.iter_mut().enumerate() {
            let observed = catch_panic(|| {
                contestant.observe(game, &joint);
                Ok(())
            });
            observed.map_err(|fault| self.fault(role, fault))?;
        }
        Ok(())
    }

    fn fault(&self, role: usize, fault: Fault) -> GameEnd {
        if self.cancelled.load(Relaxed) { GameEnd::Cancelled } else { GameEnd::Fault(RoleFault { role, fault }) }
    }

    fn request(&self, role: usize, limits: Limits) -> Request<'_> {
        let patience = Duration::from_millis(self.schedule.patience);
        Request { role, limits, clocks: &self.clocks, patience, stop: self.cancelled }
    }

    /// Lets a role think in a step without choosing a move. The clock of the role does not run.
    fn think(
        &mut self,
        game: &G,
        role: usize,
        contestant: &mut dyn Contestant<G>,
        limits: Limits,
        clock: SearchClock,
    ) -> Result<(), GameEnd> {
        let request = self.request(role, limits);
        let started = Instant::now();
        let spent = catch_panic(|| contestant.think(game, &self.session.state, &request, clock));
        let late = started.elapsed() > request.deadline() + Duration::from_millis(self.schedule.margin);
        if self.cancelled.load(Relaxed) {
            return Err(GameEnd::Cancelled);
        }
        if late && request.time().is_some() {
            return Err(self.fault(role, FaultKind::Hang.fault("it did not stop thinking when its time was over")));
        }
        let spent = spent.map_err(|fault| self.fault(role, fault))?;
        self.session.finish_thinking(role, spent);
        Ok(())
    }

    fn choose(
        &mut self,
        game: &G,
        role: usize,
        contestant: &mut dyn Contestant<G>,
        limits: Limits,
    ) -> Result<(), GameEnd> {
        let request = self.request(role, limits);
        let started = Instant::now();
        let chosen = catch_panic(|| contestant.choose(game, &self.session.state, &request));
        let judged = judge_time(&request, started.elapsed(), self.schedule.margin, chosen);
        if self.cancelled.load(Relaxed) {
            return Err(GameEnd::Cancelled);
        }
        let (mv, spent) = judged.map_err(|fault| self.fault(role, fault))?;
        self.session.choose(role, mv, spent).map_err(|fault| self.fault(role, fault))?;
        self.clocks[role] = self.clocks[role].map(|clock| clock.after(started.elapsed()));
        Ok(())
    }
}

/// Calls a contestant. A panic is a crash; the caller must then drop the contestant.
fn catch_panic<T>(call: impl FnOnce() -> Result<T, Fault>) -> Result<T, Fault> {
    catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|_| Err(FaultKind::Crash.fault("it panicked")))
}

/// Returns the chosen move, or a fault if it came too late.
fn judge_time<M>(
    request: &Request,
    elapsed: Duration,
    margin: u64,
    chosen: Result<(M, SearchStats), Fault>,
) -> Result<(M, SearchStats), Fault> {
    let chosen = chosen?;
    let fault = |kind: FaultKind, time: Duration| {
        Err(kind.fault(format!("it took {} ms of {}", elapsed.as_millis(), time.as_millis())))
    };
    match request.time() {
        _ if elapsed > request.deadline() => fault(FaultKind::Hang, request.deadline()),
        Some(time) if elapsed > time + Duration::from_millis(margin) => fault(FaultKind::Time, time),
        _ => Ok(chosen),
    }
}
