//! The thread of a match: follows the moves and searches.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use rand::RngExt;
use sternhalma_game::Rng;
use sternhalma_gdl::Rules;
use sternhalma_mcts::SearchClock;

use super::match_slot::{MatchCommand, Publisher};
use crate::protocol::engine::{EngineResult, JointError, MatchEngine, Progress};

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
struct EngineSpeed {
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

/// An engine with its place in the match.
pub struct EngineSlot {
    engine: Box<dyn MatchEngine>,
    /// Whether the engine is compiled; the other one is the prover.
    compiled: bool,
    speed: EngineSpeed,
    /// The number of joint moves that the engine has followed.
    seen: usize,
}

impl EngineSlot {
    /// Creates the slot of an engine that has followed no moves.
    pub fn new(engine: Box<dyn MatchEngine>, compiled: bool) -> EngineSlot {
        EngineSlot { engine, compiled, speed: EngineSpeed::default(), seen: 0 }
    }

    /// Follows the rest of a match. A compiled engine is correct for legal moves only.
    ///
    /// # Errors
    /// Returns the reason why the engine cannot follow.
    fn replay(&mut self, history: &[Vec<String>]) -> Result<(), String> {
        for names in &history[self.seen..] {
            let joint = self.engine.resolve(names).map_err(|error| error.to_string())?;
            if let Some(illegal) = joint.illegal.as_ref().filter(|_| self.compiled) {
                return Err(illegal.clone());
            }
            self.engine.follow(&joint);
            self.seen += 1;
        }
        Ok(())
    }
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
    /// The engine in use.
    pub active: EngineSlot,
    /// The other engine, if there are two.
    pub reserve: Option<EngineSlot>,
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
                    (self.log)(&format!("over, goals {:?}", self.active.engine.goals()));
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
        let mut resolved = self.active.engine.resolve(&moves);
        let is_foreign = match &resolved {
            Ok(joint) => joint.illegal.is_some(),
            Err(error) => matches!(error, JointError::Unknown { .. }),
        };
        if is_foreign && self.drop_compiled() {
            resolved = self.active.engine.resolve(&moves);
        }
        match resolved {
            Ok(joint) => {
                self.active.engine.follow(&joint);
                if let Some(illegal) = joint.illegal {
                    (self.log)(&format!("the manager says an illegal move: {illegal}"));
                }
                self.history.push(joint.names);
                self.active.seen = self.history.len();
                if self.active.engine.is_crowded() {
                    self.replace_prover();
                }
                if self.history.len().is_multiple_of(MEASURE_EVERY)
                    && let Some(reserve) = &mut self.reserve
                {
                    (self.active.speed, reserve.speed) = Default::default();
                }
            }
            Err(error) => (self.log)(&format!("the moves ({}) are ignored: {error}", moves.join(" "))),
        }
    }

    /// Replaces a prover whose memory is used up by a new one that follows the match so far.
    fn replace_prover(&mut self) {
        let replayed = (self.prover)().and_then(|engine| {
            let mut slot = EngineSlot { speed: self.active.speed, ..EngineSlot::new(engine, false) };
            slot.replay(&self.history).map(|()| slot)
        });
        match replayed {
            Ok(slot) => {
                self.active = slot;
                (self.log)("the memory of the prover is used up: begun again");
            }
            Err(error) => (self.log)(&format!("the prover cannot begin again: {error}")),
        }
    }

    /// Returns to the prover permanently, because only the prover is correct
    /// after an illegal move. Returns whether the engine in use has changed.
    fn drop_compiled(&mut self) -> bool {
        let exchanged = self.active.compiled && self.exchange();
        if exchanged {
            (self.log)("back to the prover");
        }
        if !self.active.compiled {
            self.reserve = None;
        }
        exchanged
    }

    /// Exchanges the two engines. Returns whether there are two engines that
    /// can play the match.
    fn exchange(&mut self) -> bool {
        let Some(mut reserve) = self.reserve.take() else { return false };
        if let Err(error) = reserve.replay(&self.history) {
            (self.log)(&format!("the other engine cannot follow: {error}"));
            return false;
        }
        self.reserve = Some(std::mem::replace(&mut self.active, reserve));
        true
    }

    /// Exchanges the engines if the one in use has been measured, and the other
    /// has not or is faster.
    fn prefer_faster(&mut self) -> bool {
        let Some(now) = self.active.speed.per_second() else { return false };
        let other = self.reserve.as_ref().map(|reserve| reserve.speed.per_second());
        let faster = match other {
            None => return false,
            Some(None) => None,
            Some(Some(other)) if now < SLOWER * other => Some(other),
            Some(Some(_)) => return false,
        };
        let exchanged = self.exchange();
        if let Some(other) = faster.filter(|_| exchanged) {
            let engine = if self.active.compiled { "the network" } else { "the prover" };
            (self.log)(&format!("{engine} is faster: {other:.0} playouts per second in place of {now:.0}"));
        }
        exchanged
    }

    /// Searches for a move until the deadline. A legal move is published
    /// immediately.
    fn choose(&mut self, deadline: Instant, answer: &Publisher<Option<String>>) {
        let options = self.active.engine.options();
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
        while self.active.engine.thinks() && Instant::now() < deadline && !self.over.load(Relaxed) {
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
            let Progress { playouts, best } = self.active.engine.think(part, self.clock(began, deadline));
            done += playouts;
            self.active.speed.playouts += playouts;
            self.active.speed.time += began.elapsed();
            if let Some(mv) = best.filter(|_| done > 0 && done >= before) {
                publish(mv);
            }
            if playouts == 0 {
                least *= 2;
            }
            if self.active.engine.is_solved() {
                return;
            }
            if self.prefer_faster() {
                (before, done, least) = (done.max(before), 0, MIN_PART);
            }
        }
    }

    /// Switches to a compiled engine if it agrees on the match so far.
    fn change_over(&mut self, engine: EngineResult) -> bool {
        let replayed = engine.and_then(|engine| {
            let mut slot = EngineSlot::new(engine, true);
            slot.replay(&self.history)?;
            let sorted = |mut moves: Vec<String>| {
                moves.sort_unstable();
                moves
            };
            if sorted(slot.engine.options()) != sorted(self.active.engine.options()) {
                return Err("it differs from the prover on what is legal".to_string());
            }
            Ok(slot)
        });
        match replayed {
            Ok(slot) => {
                self.reserve = Some(slot);
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
