//! One game between contestants, which act one after the other.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use sternhalma_mcts::SearchClock;

use super::budget::GameClock;
use super::contestant::{Contestant, Fault, FaultKind, Request};
use super::game::{ArenaGame, Opening};
use super::record::{GameRecord, RoleFault, Termination};
use super::schedule::{GameId, Schedule};
use super::session::{GameSession, RoleTask, TaskKind};
use super::setup::TournamentSetup;

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
    pub fn play(mut self, contestants: &mut [&mut dyn Contestant<G>]) -> Option<GameRecord> {
        match self.run(contestants) {
            GameEnd::Cancelled => None,
            GameEnd::Result(termination, goals) => Some(self.session.record(termination, goals)),
            GameEnd::Fault(fault) => Some(self.session.forfeit(fault)),
        }
    }

    fn run(&mut self, contestants: &mut [&mut dyn Contestant<G>]) -> GameEnd {
        for (role, contestant) in contestants.iter_mut().enumerate() {
            let (session, seed) = (&self.session, self.session.seed(role));
            contestant.set_game_number(self.schedule.number(session.id));
            if let Err(fault) = catch_panic(|| contestant.begin(session.game, &session.state, role, seed)) {
                return self.fault(role, fault);
            }
        }
        loop {
            let tasks = match self.session.tasks() {
                Ok(tasks) => tasks,
                Err((termination, goals)) => return GameEnd::Result(termination, goals),
            };
            if let Err(end) = self.step(&tasks, contestants) {
                return end;
            }
        }
    }

    /// Runs the tasks of a step, then ends the step.
    fn step(&mut self, tasks: &[RoleTask], contestants: &mut [&mut dyn Contestant<G>]) -> Result<(), GameEnd> {
        for task in tasks {
            let contestant = &mut *contestants[task.role];
            match task.kind {
                TaskKind::Move => self.choose(task, contestant)?,
                TaskKind::Think(clock) => self.think(task, contestant, clock)?,
            }
        }
        let Some(joint) = self.session.play() else { return Ok(()) };
        for (role, contestant) in contestants.iter_mut().enumerate() {
            let observed = catch_panic(|| {
                contestant.observe(self.session.game, &joint);
                Ok(())
            });
            observed.map_err(|fault| self.fault(role, fault))?;
        }
        Ok(())
    }

    fn fault(&self, role: usize, fault: Fault) -> GameEnd {
        if self.cancelled.load(Relaxed) { GameEnd::Cancelled } else { GameEnd::Fault(RoleFault { role, fault }) }
    }

    fn request(&self, &RoleTask { role, limits, .. }: &RoleTask) -> Request<'_> {
        let patience = Duration::from_millis(self.schedule.patience);
        Request { role, limits, clocks: &self.clocks, patience, stop: self.cancelled }
    }

    /// Lets a role think in a step without choosing a move. The clock of the role does not run.
    fn think(&mut self, task: &RoleTask, player: &mut dyn Contestant<G>, clock: SearchClock) -> Result<(), GameEnd> {
        let (role, session) = (task.role, &self.session);
        let request = self.request(task);
        let started = Instant::now();
        let spent = catch_panic(|| player.think(session.game, &session.state, &request, clock));
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

    fn choose(&mut self, task: &RoleTask, player: &mut dyn Contestant<G>) -> Result<(), GameEnd> {
        let (role, session) = (task.role, &self.session);
        let request = self.request(task);
        let started = Instant::now();
        let chosen = catch_panic(|| player.choose(session.game, &session.state, &request));
        let in_time = judge_time(&request, started.elapsed(), self.schedule.margin);
        let judged = chosen.and_then(|chosen| in_time.map(|()| chosen));
        if self.cancelled.load(Relaxed) {
            return Err(GameEnd::Cancelled);
        }
        let (mv, spent) = judged.map_err(|fault| self.fault(role, fault))?;
        self.session.choose(role, mv, spent, player.value()).map_err(|fault| self.fault(role, fault))?;
        self.clocks[role] = self.clocks[role].map(|clock| clock.after(started.elapsed()));
        Ok(())
    }
}

/// Calls a contestant. A panic is a crash; the caller must then drop the contestant.
fn catch_panic<T>(call: impl FnOnce() -> Result<T, Fault>) -> Result<T, Fault> {
    catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|_| Err(FaultKind::Crash.fault("it panicked")))
}

/// Returns a fault if a move came too late.
fn judge_time(request: &Request, elapsed: Duration, margin: u64) -> Result<(), Fault> {
    let fault = |kind: FaultKind, time: Duration| {
        Err(kind.fault(format!("it took {} ms of {}", elapsed.as_millis(), time.as_millis())))
    };
    match request.time() {
        _ if elapsed > request.deadline() => fault(FaultKind::Hang, request.deadline()),
        Some(time) if elapsed > time + Duration::from_millis(margin) => fault(FaultKind::Time, time),
        _ => Ok(()),
    }
}
