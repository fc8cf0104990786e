//! A player: receives messages and replies within their clocks.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rand::{RngExt, SeedableRng};

use super::engine::{EngineConfig, EngineFactory, EngineResult, MatchEngine, ReasonerEngine};
use super::message::{Message, MessageError, Reply};
use crate::gdl::{Document, ProverGame, Rules};
use crate::mcts::SearchClock;
use crate::{Policy, Rng};

/// The duration of a part of a search. A part takes a quarter of the remaining
/// time if that is less, and twice as long if that is too short for a
/// simulation. The best move is published after each part.
const PART: Duration = Duration::from_millis(200);
const LEAST_PART: Duration = Duration::from_millis(10);

/// The maximum number of rows that one proof of an external rulesheet may
/// visit: a hundred times the need of the 42 rulesheets of the collection, and
/// half a gigabyte.
const MOST_ROWS: u64 = 10_000_000;

/// A function that receives one line per event.
pub type Logger = Arc<dyn Fn(&str) + Send + Sync>;

/// The settings of a player.
#[derive(Clone)]
pub struct PlayerOptions {
    /// Its name.
    pub name: String,
    /// The policy that finds its moves.
    pub policy: Policy,
    /// The time before the end of a clock at which it answers. It answers
    /// after half of the clock if that is later.
    pub margin: Duration,
    /// The time without messages, beyond the clock, after which a match is
    /// abandoned.
    pub patience: Duration,
    /// Whether it searches while it waits for the next message.
    pub ponder: bool,
    /// The seed of its random numbers.
    pub seed: u64,
    /// A factory of engines that are faster than the prover.
    pub compiler: Option<EngineFactory>,
    /// Receives the events.
    pub log: Logger,
}

impl Default for PlayerOptions {
    fn default() -> PlayerOptions {
        PlayerOptions {
            name: "sternhalma".into(),
            policy: Policy::default(),
            margin: Duration::from_millis(500),
            patience: Duration::from_secs(30),
            ponder: false,
            seed: 1,
            compiler: None,
            log: Arc::new(|_| {}),
        }
    }
}

/// A player of one match at a time, which any number of threads may call.
///
/// Each match has a thread that proves, searches and publishes the best known
/// move. The reply takes that move when its time has come, whatever the thread
/// is doing. The match begins with the prover. It continues with the engine of
/// the [`EngineFactory`] when that is ready, unless the two differ on the
/// legal moves.
///
/// The match ends with STOP, with ABORT, or if no message arrives for the
/// clock plus the patience of the player. The player then accepts the next
/// START.
///
/// Illegal last moves are played, because the manager decides what is legal.
/// Moves that cannot be played are ignored.
pub struct GgpPlayer {
    options: PlayerOptions,
    seat: Mutex<Option<ActiveMatch>>,
    /// Whether an engine is being compiled; this may outlast its match.
    compiling: Arc<AtomicBool>,
}

/// The current match. Dropping it leaves the match.
struct ActiveMatch {
    id: String,
    play: Duration,
    expires: Instant,
    post: MatchHandle,
}

impl Drop for ActiveMatch {
    fn drop(&mut self) {
        self.post.over.store(true, Relaxed);
        self.post.send(MatchCommand::Leave);
    }
}

/// A connection to the thread of a match.
#[derive(Clone)]
struct MatchHandle {
    commands: Sender<MatchCommand>,
    hurry: Arc<AtomicBool>,
    over: Arc<AtomicBool>,
}

impl MatchHandle {
    /// The thread ends its search only after it can see the command.
    fn send(&self, command: MatchCommand) {
        // If the thread has ended there is no answer, and the clock runs out.
        let _ = self.commands.send(command);
        self.hurry.store(true, Relaxed);
    }
}

enum MatchCommand {
    Play { moves: Option<Vec<String>>, deadline: Instant, expires: Instant, answer: Publisher<Option<String>> },
    Stop { moves: Option<Vec<String>>, answer: Publisher<()> },
    Compiled(EngineResult),
    Leave,
}

/// An answer that improves until it is taken.
struct BestSoFar<T> {
    best: Mutex<(Option<T>, bool)>,
    finished: Condvar,
}

/// The sender of improving answers. Dropping it marks the last answer as
/// final.
struct Publisher<T>(Arc<BestSoFar<T>>);

impl<T> Publisher<T> {
    fn put(&self, answer: T) {
        lock(&self.0.best).0 = Some(answer);
    }
}

impl<T> Drop for Publisher<T> {
    fn drop(&mut self) {
        lock(&self.0.best).1 = true;
        self.0.finished.notify_all();
    }
}

impl<T: Clone> BestSoFar<T> {
    fn new() -> (Arc<BestSoFar<T>>, Publisher<T>) {
        let slot = Arc::new(BestSoFar { best: Mutex::new((None, false)), finished: Condvar::new() });
        (slot.clone(), Publisher(slot))
    }

    /// Returns the best answer at the deadline, or the final answer if it
    /// comes earlier.
    fn take(&self, deadline: Instant) -> Option<T> {
        let left = deadline.saturating_duration_since(Instant::now());
        let best = self.finished.wait_timeout_while(lock(&self.best), left, |(_, finished)| !*finished);
        best.unwrap_or_else(PoisonError::into_inner).0.0.clone()
    }
}

/// Locks a mutex, ignoring poisoning. The locked data are consistent after
/// every statement.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl GgpPlayer {
    /// Creates a player without a match.
    pub fn new(options: PlayerOptions) -> GgpPlayer {
        GgpPlayer { options, seat: Mutex::new(None), compiling: Arc::default() }
    }

    /// Answers a message that arrived at a given time, within its clock. START
    /// and PLAY are answered at the latest one margin before the clock runs
    /// out, other messages at once.
    pub fn answer(&self, message: Message, arrived: Instant) -> Reply {
        match message {
            Message::Info => Reply::Info { name: self.options.name.clone(), busy: self.seat(arrived).is_some() },
            Message::Preview { .. } => Reply::Ready,
            Message::Start { id, role, rules, start, play } => {
                self.start(arrived, MatchStart { id, role, rules, start, play })
            }
            Message::Play { id, moves } => self.play(arrived, &id, moves),
            Message::Stop { id, moves } => self.stop(arrived, &id, moves),
            Message::Abort { id } => match self.leave(arrived, &id) {
                Some(_) => {
                    self.log(&id, "aborted");
                    Reply::Aborted
                }
                None => Reply::Busy,
            },
        }
    }

    /// Parses and answers a text like [`GgpPlayer::answer`].
    ///
    /// # Errors
    ///
    /// Returns an error if the text is not a message.
    pub fn answer_text(&self, text: &str, arrived: Instant) -> Result<Reply, MessageError> {
        match text.parse() {
            Ok(message) => Ok(self.answer(message, arrived)),
            Err(error) => {
                (self.options.log)(&format!("not understood: {error}"));
                Err(error)
            }
        }
    }

    /// Returns the current match, or `None` if the player is free.
    fn seat(&self, now: Instant) -> MutexGuard<'_, Option<ActiveMatch>> {
        let mut seat = lock(&self.seat);
        if seat.as_ref().is_some_and(|seat| seat.expires < now || seat.post.over.load(Relaxed)) {
            *seat = None;
        }
        seat
    }

    /// Leaves a match.
    fn leave(&self, now: Instant, id: &str) -> Option<ActiveMatch> {
        self.seat(now).take_if(|seat| seat.id.eq_ignore_ascii_case(id))
    }

    fn log(&self, id: &str, event: &str) {
        (self.options.log)(&format!("match {id}: {event}"));
    }

    /// Returns the time at which to answer a message with a clock.
    fn deadline(&self, arrived: Instant, clock: Duration) -> Instant {
        arrived + (clock - self.options.margin.min(clock / 2))
    }

    fn start(&self, arrived: Instant, terms: MatchStart) -> Reply {
        let mut seat = self.seat(arrived);
        if let Some(seat) = &*seat {
            self.log(&terms.id, &format!("refused: match {} is played", seat.id));
            return Reply::Busy;
        }
        let (start, play) = (terms.start.as_secs_f64(), terms.play.as_secs_f64());
        self.log(&terms.id, &format!("start as {}, {start} s, {play} s a move", terms.role));
        let (commands, receiver) = channel();
        let post = MatchHandle { commands, hurry: Arc::default(), over: Arc::default() };
        let deadline = self.deadline(arrived, terms.start);
        let expires = arrived + terms.start + self.options.patience;
        let (id, play) = (terms.id.clone(), terms.play);
        let (ready, answer) = BestSoFar::new();
        let seated = MatchSetup {
            options: self.options.clone(),
            compiling: self.compiling.clone(),
            post: post.clone(),
            receiver,
            answer,
            deadline,
            expires,
        };
        if thread::Builder::new().name("match".into()).spawn(move || seated.run(&terms)).is_err() {
            return Reply::Busy;
        }
        *seat = Some(ActiveMatch { id, play, expires, post });
        drop(seat);
        match ready.take(deadline) {
            Some(false) => Reply::Busy,
            Some(true) | None => Reply::Ready,
        }
    }

    /// Returns the handle of a match after recording the arrival of a message.
    fn post(&self, arrived: Instant, id: &str) -> Option<(MatchHandle, Duration, Instant)> {
        let mut seat = self.seat(arrived);
        let seat = seat.as_mut().filter(|seat| seat.id.eq_ignore_ascii_case(id))?;
        seat.expires = arrived + seat.play + self.options.patience;
        Some((seat.post.clone(), seat.play, seat.expires))
    }

    fn play(&self, arrived: Instant, id: &str, moves: Option<Vec<String>>) -> Reply {
        let Some((post, play, expires)) = self.post(arrived, id) else {
            self.log(id, "a move is asked for, but this match is not played");
            return Reply::Busy;
        };
        let deadline = self.deadline(arrived, play);
        let (best, answer) = BestSoFar::new();
        post.send(MatchCommand::Play { moves, deadline, expires, answer });
        let mv = best.take(deadline).flatten();
        post.hurry.store(true, Relaxed);
        self.log(id, &format!("played {}", mv.as_deref().unwrap_or("NIL: no legal move is known")));
        Reply::Move(mv)
    }

    fn stop(&self, arrived: Instant, id: &str, moves: Option<Vec<String>>) -> Reply {
        let Some(seat) = self.leave(arrived, id) else { return Reply::Busy };
        let (told, answer) = BestSoFar::new();
        seat.post.send(MatchCommand::Stop { moves, answer });
        let _ = told.take(self.deadline(arrived, seat.play.min(Duration::from_secs(1))));
        Reply::Done
    }
}

/// Leaves the current match.
impl Drop for GgpPlayer {
    fn drop(&mut self) {
        *lock(&self.seat) = None;
    }
}

/// The contents of START.
struct MatchStart {
    id: String,
    role: String,
    rules: Document,
    start: Duration,
    play: Duration,
}

/// The input of the thread of a match.
struct MatchSetup {
    options: PlayerOptions,
    compiling: Arc<AtomicBool>,
    post: MatchHandle,
    receiver: Receiver<MatchCommand>,
    /// Receives whether the match can be played.
    answer: Publisher<bool>,
    deadline: Instant,
    expires: Instant,
}

impl MatchSetup {
    fn run(self, terms: &MatchStart) {
        let _over = Over(self.post.over.clone());
        let config = EngineConfig {
            role: terms.role.clone(),
            policy: self.options.policy.clone(),
            seed: self.options.seed,
            hurry: self.post.hurry.clone(),
            over: self.post.over.clone(),
        };
        let log = |event: &str| (self.options.log)(&format!("match {}: {event}", terms.id));
        let prover = |rules: &Rules| -> EngineResult {
            let game = ProverGame::bounded(rules, MOST_ROWS, config.over.clone());
            let game = game.map_err(|error| error.to_string())?;
            Ok(Box::new(ReasonerEngine::new(game, &config)?))
        };
        let rules = Rules::from_document(&terms.rules).map_err(|error| error.to_string());
        if let Ok(rules) = &rules {
            self.compile(rules.clone(), config.clone());
        }
        let engine = match rules.and_then(|rules| prover(&rules)) {
            Ok(engine) => engine,
            Err(error) => {
                log(&format!("refused: {error}"));
                // The player is free before it reports so.
                config.over.store(true, Relaxed);
                return self.answer.put(false);
            }
        };
        let worker = MatchWorker {
            log: &log,
            engine,
            proof: None,
            history: Vec::new(),
            rng: Rng::seed_from_u64(self.options.seed),
            ponder: self.options.ponder,
            hurry: self.post.hurry.clone(),
            over: self.post.over.clone(),
            receiver: self.receiver,
            pending: VecDeque::new(),
            expires: self.expires,
            started: None,
        };
        worker.run(self.deadline, self.answer);
    }

    /// Starts to compile a faster engine, which is sent to the match. Only one
    /// engine is compiled at a time; a previous compilation may still be
    /// running.
    fn compile(&self, rules: Rules, config: EngineConfig) {
        let Some(compiler) = self.options.compiler.clone() else { return };
        if !config.policy.thinks() || self.compiling.swap(true, Relaxed) {
            return;
        }
        let compiling = Compiling(self.compiling.clone());
        let commands = self.post.commands.clone();
        let make = move || {
            let _compiling = compiling;
            let engine = compiler.compile(&rules, &config);
            let _ = commands.send(MatchCommand::Compiled(engine));
        };
        // If the thread cannot be started, the match continues with the
        // prover.
        let _ = thread::Builder::new().name("compiler".into()).spawn(make);
    }
}

/// Frees the player when the thread of its match ends, in any way.
struct Over(Arc<AtomicBool>);

impl Drop for Over {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

/// Held while an engine is compiled.
struct Compiling(Arc<AtomicBool>);

impl Drop for Compiling {
    fn drop(&mut self) {
        self.0.store(false, Relaxed);
    }
}

/// The thread of a match.
struct MatchWorker<'a> {
    log: &'a dyn Fn(&str),
    engine: Box<dyn MatchEngine>,
    /// The prover, after the switch to a faster engine, and the length of the
    /// history that it has played.
    proof: Option<(Box<dyn MatchEngine>, usize)>,
    /// The joint moves so far.
    history: Vec<Vec<String>>,
    rng: Rng,
    ponder: bool,
    hurry: Arc<AtomicBool>,
    over: Arc<AtomicBool>,
    receiver: Receiver<MatchCommand>,
    pending: VecDeque<MatchCommand>,
    expires: Instant,
    /// The start of the start clock, while it runs.
    started: Option<Instant>,
}

impl MatchWorker<'_> {
    fn run(mut self, deadline: Instant, ready: Publisher<bool>) {
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

    /// Returns the next command, or `None` once the match is over.
    fn next(&mut self) -> Option<MatchCommand> {
        loop {
            if let Some(command) = self.pending.pop_front() {
                return Some(command);
            }
            if self.ponder {
                self.think_until(self.expires, |_| {});
                if !self.pending.is_empty() {
                    continue;
                }
            }
            let left = self.expires.saturating_duration_since(Instant::now());
            match self.receiver.recv_timeout(left) {
                Ok(command) => return Some(command),
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => {
                    (self.log)("given up: nothing was heard of it");
                    return None;
                }
            }
        }
    }

    fn follow(&mut self, moves: Option<Vec<String>>) {
        let Some(moves) = moves else { return };
        if !self.engine.allows(&moves) {
            self.go_back();
        }
        match self.engine.follow(&moves) {
            Ok((names, illegal)) => {
                if let Some(illegal) = illegal {
                    (self.log)(&format!("the manager says an illegal move: {illegal}"));
                }
                self.history.push(names);
            }
            Err(error) => (self.log)(&format!("the moves ({}) are ignored: {error}", moves.join(" "))),
        }
    }

    /// Returns to the prover, because only the prover is correct after an
    /// illegal move.
    fn go_back(&mut self) {
        let Some((mut prover, seen)) = self.proof.take() else { return };
        for joint in &self.history[seen..] {
            if let Err(error) = prover.follow(joint) {
                (self.log)(&format!("the prover cannot follow: {error}"));
                return;
            }
        }
        self.engine = prover;
        (self.log)("back to the prover");
    }

    /// Searches for a move until the deadline. A legal move is published at
    /// once.
    fn choose(&mut self, deadline: Instant, answer: &Publisher<Option<String>>) {
        let options = self.engine.options();
        let first = match options.len() {
            0 => None,
            count => Some(options[self.rng.random_range(0..count)].clone()),
        };
        answer.put(first);
        if options.len() > 1 {
            self.think_until(deadline, |mv| {
                if options.contains(&mv) {
                    answer.put(Some(mv));
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
    /// its outcome. It switches to a faster engine when that is ready. The
    /// moves of the new engine are published once it has searched as much as
    /// the old one.
    fn think_until(&mut self, deadline: Instant, mut publish: impl FnMut(String)) {
        let mut least = LEAST_PART;
        let (mut done, mut before) = (0, 0);
        while self.engine.thinks() && Instant::now() < deadline && !self.over.load(Relaxed) {
            // The order matters: the search sees a command that sets the flag
            // later.
            self.hurry.store(false, Relaxed);
            match self.receiver.try_recv() {
                Ok(MatchCommand::Compiled(engine)) => {
                    if self.change_over(engine) {
                        (before, done, least) = (done, 0, LEAST_PART);
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
            let part = (left / 4).min(PART).max(least).min(left);
            let (playouts, best) = self.engine.think(part, self.clock(began, deadline));
            done += playouts;
            if let Some(mv) = best.filter(|_| done > 0 && done >= before) {
                publish(mv);
            }
            if playouts == 0 {
                least *= 2;
            }
            if self.engine.is_solved() {
                return;
            }
        }
    }

    /// Switches to a faster engine if it agrees on the match so far.
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
                let prover = std::mem::replace(&mut self.engine, engine);
                self.proof = Some((prover, self.history.len()));
                (self.log)("compiled");
                true
            }
            Err(error) => {
                (self.log)(&format!("not compiled, the prover goes on: {error}"));
                false
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;
    use crate::game::Game;
    use crate::gdl::{Goal, Reasoner};
    use crate::policy::PolicyGame;

    fn own(name: &str) -> String {
        std::fs::read_to_string(format!("{}/games/{name}.kif", env!("CARGO_MANIFEST_DIR"))).unwrap()
    }

    fn start(id: &str, role: &str, game: &str, start: f64, play: f64) -> String {
        let rules: Document = Document::parse(&own(game)).unwrap();
        let seconds = Duration::from_secs_f64;
        Message::Start { id: id.into(), role: role.into(), rules, start: seconds(start), play: seconds(play) }
            .to_string()
    }

    /// Returns a player and the lines of its log.
    fn player(options: PlayerOptions) -> (GgpPlayer, mpsc::Receiver<String>) {
        let (sender, lines) = channel();
        let sender = Mutex::new(sender);
        let log: Logger = Arc::new(move |line| drop(lock(&sender).send(line.to_string())));
        (GgpPlayer::new(PlayerOptions { log, ..options }), lines)
    }

    fn quick() -> PlayerOptions {
        PlayerOptions { margin: Duration::from_millis(100), ..PlayerOptions::default() }
    }

    fn say(player: &GgpPlayer, text: &str) -> String {
        player.answer(text.parse().unwrap(), Instant::now()).to_string()
    }

    /// Waits for a line of the log that contains `words`.
    fn await_line(lines: &mpsc::Receiver<String>, words: &str) {
        let mut seen = Vec::new();
        while let Ok(line) = lines.recv_timeout(Duration::from_secs(20)) {
            if line.contains(words) {
                return;
            }
            seen.push(line);
        }
        panic!("no line with `{words}`: {seen:?}");
    }

    #[test]
    fn a_match_is_played_from_start_to_stop() {
        let (player, lines) = player(quick());
        assert_eq!(say(&player, "(INFO)"), "( ( name sternhalma ) ( status available ) )");
        assert_eq!(say(&player, "(PREVIEW ((role a)) 10)"), "ready");
        assert_eq!(say(&player, &start("m", "FIRST", "subtraction", 0.5, 0.5)), "ready");
        assert_eq!(say(&player, "(INFO)"), "( ( name sternhalma ) ( status busy ) )");
        // From 10 take two, from 7 take three: 8 and 4 are lost.
        assert_eq!(say(&player, "(PLAY M nil)"), "(take 2)");
        assert_eq!(say(&player, "(PLAY m ((TAKE  2) wait))"), "wait");
        assert_eq!(say(&player, "(PLAY m (wait (take 1)))"), "(take 3)");
        assert_eq!(say(&player, "(PLAY m ((take 3) wait))"), "wait");
        assert_eq!(say(&player, "(PLAY m (wait (take 3)))"), "(take 1)");
        assert_eq!(say(&player, "(STOP m ((take 1) wait))"), "done");
        await_line(&lines, "over, goals [100, 0]");
        assert_eq!(say(&player, "(INFO)"), "( ( name sternhalma ) ( status available ) )");
        assert_eq!(say(&player, "(STOP m (wait (take 3)))"), "busy");
    }

    #[test]
    fn other_matches_are_refused_while_one_is_played() {
        let (player, lines) = player(PlayerOptions { policy: Policy::Random, ..quick() });
        assert_eq!(say(&player, "(PLAY m NIL)"), "busy");
        assert_eq!(say(&player, &start("m", "x", "tic-tac-toe", 9.0, 9.0)), "ready");
        for message in ["(PLAY n NIL)", "(STOP n NIL)", "(ABORT n)", &*start("n", "x", "tic-tac-toe", 9.0, 9.0)] {
            assert_eq!(say(&player, message), "busy");
        }
        await_line(&lines, "match n: refused: match m is played");
        assert!(say(&player, "(PLAY m NIL)").starts_with("(mark "));
        assert_eq!(say(&player, "(ABORT m)"), "aborted");
        assert_eq!(say(&player, &start("n", "x", "tic-tac-toe", 9.0, 9.0)), "ready");
        assert_eq!(say(&player, "(ABORT n)"), "aborted");
    }

    #[test]
    fn nobody_waits_for_a_match_that_is_over() {
        let (player, lines) = player(quick());
        // The clocks are longer than any test may take.
        let start = start("m", "x", "tic-tac-toe", 1e6, 1e6);
        thread::scope(|scope| {
            let waiting = scope.spawn(|| say(&player, &start));
            await_line(&lines, "start as x");
            assert_eq!(say(&player, "(INFO)"), "( ( name sternhalma ) ( status busy ) )");
            assert_eq!(say(&player, "(ABORT m)"), "aborted");
            // The player was ready, unless it was stopped first.
            let answer = waiting.join().unwrap();
            assert!(["ready", "busy"].contains(&&*answer), "{answer}");
        });
        assert_eq!(say(&player, &start.replace("1000000 1000000", "0.2 1000000")), "ready");
        thread::scope(|scope| {
            let waiting = scope.spawn(|| say(&player, "(PLAY m NIL)"));
            assert_eq!(say(&player, "(ABORT m)"), "aborted");
            let answer = waiting.join().unwrap();
            assert!(answer.starts_with("(mark ") || ["NIL", "busy"].contains(&&*answer), "{answer}");
        });
    }

    #[test]
    fn what_cannot_be_played_is_refused() {
        let (player, lines) = player(quick());
        let refused = [
            ("(START m z ((role a) (legal a b)) 9 9)", "no role z: the roles are a"),
            ("(START m a ((role a) (legal a ?x)) 9 9)", "unsafe"),
            ("(START m a ((role)) 9 9)", "`role` takes 1 argument"),
            ("(START m a ((role a)) 9 9)", "no legal move"),
            ("(START m a (terminal) 9 9)", "no role"),
        ];
        for (message, reason) in refused {
            assert_eq!(say(&player, message), "busy", "{message}");
            await_line(&lines, reason);
        }
        assert_eq!(say(&player, "(INFO)"), "( ( name sternhalma ) ( status available ) )");
    }

    #[test]
    fn a_manager_that_vanishes_is_not_waited_for() {
        let patience = Duration::from_millis(300);
        for ponder in [false, true] {
            let (player, lines) = player(PlayerOptions { patience, ponder, ..quick() });
            assert_eq!(say(&player, &start("m", "x", "tic-tac-toe", 0.2, 0.2)), "ready");
            assert_eq!(say(&player, &start("n", "x", "tic-tac-toe", 0.2, 0.2)), "busy");
            await_line(&lines, "match m: given up");
            assert_eq!(say(&player, &start("n", "x", "tic-tac-toe", 0.2, 0.2)), "ready");
            assert!(say(&player, "(PLAY n NIL)").starts_with("(mark "));
            await_line(&lines, "match n: given up");
            assert_eq!(say(&player, "(PLAY n NIL)"), "busy");
        }
    }

    #[test]
    fn moves_that_are_not_legal_are_survived() {
        let (player, lines) = player(PlayerOptions { policy: Policy::Random, ..quick() });
        assert_eq!(say(&player, &start("m", "second", "subtraction", 9.0, 9.0)), "ready");
        for (moves, line) in [
            ("((take 1))", "1 moves for 2 roles"),
            ("((take ?n) wait)", "no move (take ?n)"),
            ("(a b c)", "3 moves for 2 roles"),
            ("((take 4) wait)", "(take 4) is not legal for first"),
        ] {
            let answer = say(&player, &format!("(PLAY m {moves})"));
            assert!(answer == "wait" || answer.starts_with("(take ") || answer == "NIL", "{answer}");
            await_line(&lines, line);
        }
        // At the end there are no moves; the query must still be answered.
        for _ in 0..10 {
            say(&player, "(PLAY m ((take 3) (take 3)))");
        }
        assert_eq!(say(&player, "(STOP m NIL)"), "done");
    }

    /// A `ProverGame` that records queries of legal moves.
    struct Marked(ProverGame, Arc<AtomicBool>);

    impl Game for Marked {
        type State = <ProverGame as Game>::State;
        type Move = <ProverGame as Game>::Move;

        fn roles(&self) -> usize {
            self.0.roles()
        }
        fn initial(&self) -> Self::State {
            self.0.initial()
        }
        fn turn(&self, state: &Self::State) -> crate::Turn {
            self.0.turn(state)
        }
        fn number(&self, role: usize, mv: Self::Move) -> u32 {
            self.0.number(role, mv)
        }
        fn legal(&self, state: &Self::State, role: usize, moves: &mut Vec<Self::Move>) {
            self.1.store(true, Relaxed);
            self.0.legal(state, role, moves);
        }
        fn play(&self, state: &mut Self::State, joint: &[Self::Move]) {
            self.0.play(state, joint);
        }
        fn is_terminal(&self, state: &Self::State) -> bool {
            self.0.is_terminal(state)
        }
        fn goal(&self, state: &Self::State, role: usize) -> u8 {
            self.0.goal(state, role)
        }
    }

    impl PolicyGame for Marked {}

    impl Reasoner for Marked {
        fn role_names(&self) -> &[String] {
            self.0.role_names()
        }
        fn facts(&self, state: &Self::State) -> Vec<String> {
            self.0.facts(state)
        }
        fn legal_of(&self, state: &Self::State, role: usize) -> Vec<Self::Move> {
            self.0.legal_of(state, role)
        }
        fn move_name(&self, role: usize, mv: Self::Move) -> String {
            self.0.move_name(role, mv)
        }
        fn move_named(&self, role: usize, name: &str) -> Option<Self::Move> {
            self.0.move_named(role, name)
        }
        fn play_all(&self, state: &mut Self::State, joint: &[Self::Move]) {
            self.0.play_all(state, joint);
        }
        fn reached(&self, state: &Self::State, role: usize) -> Goal {
            self.0.reached(state, role)
        }
    }

    #[test]
    fn an_engine_that_is_late_is_changed_over_to() {
        let used = Arc::new(AtomicBool::new(false));
        let (gate, open) = channel::<()>();
        let open = Mutex::new(open);
        let mark = used.clone();
        let compiler = EngineFactory::new(move |rules, _| {
            let _ = lock(&open).recv();
            ProverGame::new(rules).map(|game| Marked(game, mark.clone()))
        });
        let (player, lines) = player(PlayerOptions { compiler: Some(compiler), ..quick() });
        assert_eq!(say(&player, &start("m", "first", "subtraction", 0.4, 0.4)), "ready");
        assert_eq!(say(&player, "(PLAY m NIL)"), "(take 2)");
        assert!(!used.load(Relaxed));
        gate.send(()).unwrap();
        await_line(&lines, "match m: compiled");
        assert_eq!(say(&player, "(PLAY m ((take 2) wait))"), "wait");
        assert_eq!(say(&player, "(PLAY m (wait (take 1)))"), "(take 3)");
        assert!(used.load(Relaxed));
        // Illegal moves need the prover.
        say(&player, "(PLAY m ((take 9) wait))");
        await_line(&lines, "match m: back to the prover");
        used.store(false, Relaxed);
        say(&player, "(PLAY m (wait wait))");
        assert!(!used.load(Relaxed));
    }

    #[test]
    fn without_an_engine_the_prover_goes_on() {
        let fails = EngineFactory::new(|_, _| Err::<ProverGame, _>("too large"));
        let wrong = EngineFactory::new(|_, _| {
            let rules = "(role first) (role second) (legal first (take 1)) (legal second wait)";
            ProverGame::new(&Rules::parse(rules).unwrap())
        });
        for (compiler, reason) in [(fails, "too large"), (wrong, "it differs from the prover")] {
            let (player, lines) = player(PlayerOptions { compiler: Some(compiler), ..quick() });
            assert_eq!(say(&player, &start("m", "first", "subtraction", 0.4, 0.4)), "ready");
            await_line(&lines, reason);
            assert_eq!(say(&player, "(PLAY m NIL)"), "(take 2)");
        }
    }

    #[test]
    fn one_engine_is_made_at_a_time() {
        let (gate, open) = channel::<()>();
        let open = Mutex::new(open);
        let compiler = EngineFactory::new(move |rules, _| {
            let _ = lock(&open).recv();
            ProverGame::new(rules)
        });
        let (player, lines) = player(PlayerOptions { compiler: Some(compiler), ..quick() });
        // The engine of the first match is still being compiled when the
        // second match begins.
        for id in ["m", "n"] {
            assert_eq!(say(&player, &start(id, "first", "subtraction", 0.2, 0.2)), "ready");
            assert_eq!(say(&player, "(PLAY n NIL)") == "busy", id == "m");
            assert_eq!(say(&player, &format!("(ABORT {id})")), "aborted");
        }
        drop(gate);
        while player.compiling.load(Relaxed) {
            thread::yield_now();
        }
        assert!(lines.try_iter().all(|line| !line.contains("compiled")));
    }

    #[test]
    fn a_rulesheet_that_takes_forever_is_answered_in_time() {
        let facts: String = (0..200).map(|n| format!("(n {n}) ")).collect();
        // The first state is cheap; its successors join 200^4 rows.
        let rules = format!(
            "{facts} (role a) (init on) (legal a go) (legal a stay) (goal a 100)
             (<= terminal (not (true on)) (n ?a) (n ?b) (n ?c) (n ?d) (distinct ?a ?a))
             (<= terminal (not (true on)) (n ?a) (n ?b) (n ?c) (n ?d) (not (m ?a ?b ?c ?d)))
             (<= (m ?a ?b ?c ?d) (n ?a) (n ?b) (n ?c) (n ?d))"
        );
        let (player, _lines) = player(quick());
        let began = Instant::now();
        assert_eq!(say(&player, &format!("(START m a ({rules}) 0.4 0.4)")), "ready");
        let first = say(&player, "(PLAY m NIL)");
        assert!(["go", "stay", "NIL"].contains(&&*first), "{first}");
        say(&player, "(PLAY m (go))");
        assert_eq!(say(&player, "(ABORT m)"), "aborted");
        // The match has three clocks of 0.4 s; the proof alone would take a
        // minute.
        assert!(began.elapsed() < Duration::from_secs(10));
    }
}
