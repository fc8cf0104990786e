//! The thread of a match: follows the moves and searches.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use rand::RngExt;

use super::match_slot::{MatchCommand, Publisher};
use crate::gdl::Rules;
use crate::mcts::SearchClock;
use crate::protocol::engine::{EngineResult, MatchEngine};
use crate::rng::Rng;

/// The duration of a part of a search. A part takes a quarter of the remaining
/// time if that is less, and twice as long if that is too short for a
/// simulation. The best move is published after each part.
const MAX_PART: Duration = Duration::from_millis(200);
const MIN_PART: Duration = Duration::from_millis(10);

/// The time for which an engine is measured.
const TRIAL: Duration = Duration::from_millis(50);

/// The number of joint moves after which the engines are measured again.
const MEASURE_EVERY: usize = 8;

/// An engine is replaced by the other if its speed is less than this part of
/// the speed of the other.
const SLOWER: f64 = 0.8;

/// The speed of an engine since the last measurement began.
#[derive(Clone, Copy, Default)]
pub struct EngineSpeed {
    playouts: u64,
    time: Duration,
}

impl EngineSpeed {
    /// Returns the simulations per second, or `None` before the end of the
    /// measurement.
    fn per_second(self) -> Option<f64> {
        (self.time >= TRIAL).then(|| self.playouts as f64 / self.time.as_secs_f64())
    }
}

/// An engine that is not in use.
pub struct ReserveEngine {
    engine: Box<dyn MatchEngine>,
    speed: EngineSpeed,
    /// The number of joint moves that the worker has followed.
    seen: usize,
}

/// The thread of a match.
///
/// There are at most two engines: the prover and a compiled one. Which of them
/// is faster depends on the game and its phase, so both are measured.
pub struct MatchWorker<'a> {
    pub log: &'a dyn Fn(&str),
    /// The rules, for the spelling of moves.
    pub rules: &'a Rules,
    /// Creates an engine with the prover at the start of the match.
    pub prover: &'a dyn Fn() -> EngineResult,
    pub engine: Box<dyn MatchEngine>,
    pub speed: EngineSpeed,
    /// Whether `engine` is compiled. The prover is then in reserve.
    pub compiled: bool,
    pub reserve: Option<ReserveEngine>,
    /// The joint moves so far.
    pub history: Vec<Vec<String>>,
    pub rng: Rng,
    pub ponder: bool,
    pub hurry: Arc<AtomicBool>,
    pub over: Arc<AtomicBool>,
    pub receiver: Receiver<MatchCommand>,
    pub pending: VecDeque<MatchCommand>,
    pub expires: Instant,
    /// The start of the start clock, while it runs.
    pub started: Option<Instant>,
}

impl MatchWorker<'_> {
    pub fn run(mut self, deadline: Instant, ready: Publisher<bool>) {
        ready.put(true);
        self.started = Some(Instant::now());
        self.think_until(deadline, |_| {});
        self.started = None;
        drop(ready);
        while let Some(command) = self.next() {
            match command {
                MatchCommand::Play { moves, deadline, expires, answer } => {
                    self.expires = expires;
                    self.follow(moves);
                    self.choose(deadline, &answer);
                }
                MatchCommand::Stop { moves, answer: _answer } => {
                    self.follow(moves);
                    (self.log)(&format!("over, goals {:?}", self.engine.goals()));
                    break;
                }
                MatchCommand::Compiled(engine) => _ = self.change_over(engine),
                MatchCommand::Leave => break,
            }
        }
    }

    /// Returns the next command, or `None` once the match is over. Searches until the match is
    /// idle if the player ponders, and then waits without a search.
    fn next(&mut self) -> Option<MatchCommand> {
        if self.ponder && self.pending.is_empty() {
            self.think_until(self.expires, |_| {});
        }
        if let Some(command) = self.pending.pop_front() {
            return Some(command);
        }
        let left = self.expires.saturating_duration_since(Instant::now());
        match self.receiver.recv_timeout(left) {
            Ok(command) => Some(command),
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => {
                (self.log)("idle: nothing was heard of it; another match may start");
                self.receiver.recv().ok()
            }
        }
    }

    fn follow(&mut self, moves: Option<Vec<String>>) {
        let Some(moves) = moves else { return };
        if !self.engine.allows(&moves) {
            self.drop_compiled();
        }
        match self.engine.follow(&moves) {
            Ok((names, illegal)) => {
                if let Some(illegal) = illegal {
                    (self.log)(&format!("the manager says an illegal move: {illegal}"));
                }
                self.history.push(names);
                if self.engine.is_crowded() {
                    self.replace_prover();
                }
                if self.history.len().is_multiple_of(MEASURE_EVERY)
                    && let Some(reserve) = &mut self.reserve
                {
                    (self.speed, reserve.speed) = Default::default();
                }
            }
            Err(error) => (self.log)(&format!("the moves ({}) are ignored: {error}", moves.join(" "))),
        }
    }

    /// Replaces a prover whose memory is used up by a new one that follows the match so far.
    fn replace_prover(&mut self) {
        let replayed = (self.prover)().and_then(|mut engine| {
            for joint in &self.history {
                engine.follow(joint)?;
            }
            Ok(engine)
        });
        match replayed {
            Ok(engine) => {
                self.engine = engine;
                (self.log)("the memory of the prover is used up: begun again");
            }
            Err(error) => (self.log)(&format!("the prover cannot begin again: {error}")),
        }
    }

    /// Returns to the prover permanently, because only the prover is correct
    /// after an illegal move.
    fn drop_compiled(&mut self) {
        if self.compiled && self.exchange() {
            (self.log)("back to the prover");
        }
        if !self.compiled {
            self.reserve = None;
        }
    }

    /// Exchanges the two engines. Returns whether there are two engines that
    /// can play the match.
    fn exchange(&mut self) -> bool {
        let Some(mut reserve) = self.reserve.take() else { return false };
        for joint in &self.history[reserve.seen..] {
            if let Err(error) = reserve.engine.follow(joint) {
                (self.log)(&format!("the other engine cannot follow: {error}"));
                return false;
            }
        }
        reserve.seen = self.history.len();
        std::mem::swap(&mut self.engine, &mut reserve.engine);
        std::mem::swap(&mut self.speed, &mut reserve.speed);
        self.reserve = Some(reserve);
        self.compiled = !self.compiled;
        true
    }

    /// Exchanges the engines if the one in use has been measured, and the other
    /// has not or is faster.
    fn prefer_faster(&mut self) -> bool {
        let Some(now) = self.speed.per_second() else { return false };
        let other = self.reserve.as_ref().map(|reserve| reserve.speed.per_second());
        let faster = match other {
            None => return false,
            Some(None) => None,
            Some(Some(other)) if now < SLOWER * other => Some(other),
            Some(Some(_)) => return false,
        };
        let exchanged = self.exchange();
        if let Some(other) = faster.filter(|_| exchanged) {
            let engine = if self.compiled { "the network" } else { "the prover" };
            (self.log)(&format!("{engine} is faster: {other:.0} playouts per second in place of {now:.0}"));
        }
        exchanged
    }

    /// Searches for a move until the deadline. A legal move is published
    /// immediately.
    fn choose(&mut self, deadline: Instant, answer: &Publisher<Option<String>>) {
        let options = self.engine.options();
        let rules = self.rules;
        let first = match options.len() {
            0 => None,
            count => Some(rules.spell(&options[self.rng.random_range(0..count)])),
        };
        answer.put(first);
        if options.len() > 1 {
            self.think_until(deadline, |mv| {
                if options.contains(&mv) {
                    answer.put(Some(rules.spell(&mv)));
                }
            });
        }
    }

    /// Returns the clock at a time before its end.
    fn clock(&self, now: Instant, deadline: Instant) -> SearchClock {
        let Some(started) = self.started else { return SearchClock::Play };
        let whole = deadline.saturating_duration_since(started).as_secs_f64();
        SearchClock::StartAt(((now - started).as_secs_f64() / whole).min(1.0))
    }

    /// Searches until a time, a command, the end of the match, or a proof of
    /// its outcome. The worker switches to a faster engine when that engine is
    /// ready. The moves of the new engine are published once it has searched as
    /// much as the old one.
    fn think_until(&mut self, deadline: Instant, mut publish: impl FnMut(String)) {
        let mut least = MIN_PART;
        let (mut done, mut before) = (0, 0);
        while self.engine.thinks() && Instant::now() < deadline && !self.over.load(Relaxed) {
            // The order matters: the search sees a command that sets the flag
            // later.
            self.hurry.store(false, Relaxed);
            match self.receiver.try_recv() {
                Ok(MatchCommand::Compiled(engine)) => {
                    if self.change_over(engine) {
                        (before, done, least) = (done, 0, MIN_PART);
                    }
                    continue;
                }
                Ok(command) => {
                    self.pending.push_back(command);
                    return;
                }
                Err(_) => {}
            }
            let began = Instant::now();
            let left = deadline.saturating_duration_since(began);
            let part = (left / 4).min(MAX_PART).max(least).min(left);
            let (playouts, best) = self.engine.think(part, self.clock(began, deadline));
            done += playouts;
            self.speed.playouts += playouts;
            self.speed.time += began.elapsed();
            if let Some(mv) = best.filter(|_| done > 0 && done >= before) {
                publish(mv);
            }
            if playouts == 0 {
                least *= 2;
            }
            if self.engine.is_solved() {
                return;
            }
            if self.prefer_faster() {
                (before, done, least) = (done.max(before), 0, MIN_PART);
            }
        }
    }

    /// Switches to a compiled engine if it agrees on the match so far.
    fn change_over(&mut self, engine: EngineResult) -> bool {
        let replayed = engine.and_then(|mut engine| {
            for joint in &self.history {
                // A network is correct for legal moves only.
                if let (_, Some(illegal)) = engine.follow(joint)? {
                    return Err(illegal);
                }
            }
            let sorted = |mut moves: Vec<String>| {
                moves.sort_unstable();
                moves
            };
            if sorted(engine.options()) != sorted(self.engine.options()) {
                return Err("it differs from the prover on what is legal".to_string());
            }
            Ok(engine)
        });
        match replayed {
            Ok(engine) => {
                let speed = EngineSpeed::default();
                self.reserve = Some(ReserveEngine { engine, speed, seen: self.history.len() });
                (self.log)("compiled");
                self.exchange()
            }
            Err(error) => {
                (self.log)(&format!("not compiled; the prover continues: {error}"));
                false
            }
        }
    }
}
