//! A player: receives messages and replies within their clocks.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

use super::match_slot::{BestSoFar, MatchCommand, MatchHandle, lock};
use super::options::PlayerOptions;
use super::startup::{MatchSetup, MatchStart};
use crate::protocol::message::{Message, MessageError, Reply};

/// A player of one match at a time, which any number of threads may call.
///
/// Each match has a thread that proves, searches and publishes the best known
/// move. The reply takes that move when its time has come, whatever the thread
/// is doing. The match begins with the prover. The player continues with the
/// engine of the [`EngineFactory`](crate::protocol::EngineFactory) when that is
/// ready, unless the two differ on the legal moves.
///
/// The match ends with STOP or ABORT. If no message arrives for the clock plus
/// the patience of the player, the match is idle: the player stops searching
/// and accepts the START of another match, which ends this one. Until then it
/// answers further messages of the match, because a slow manager is not gone.
///
/// Illegal last moves are played, because the manager decides what is legal.
/// Moves that cannot be played are ignored.
pub struct GgpPlayer {
    options: PlayerOptions,
    seat: Mutex<Option<ActiveMatch>>,
    /// Whether an engine is being compiled; this may outlast its match.
    pub(super) compiling: Arc<AtomicBool>,
}

/// The current match. Dropping the player leaves the match.
struct ActiveMatch {
    id: String,
    play: Duration,
    expires: Instant,
    post: MatchHandle,
}

impl ActiveMatch {
    /// Returns whether no message has arrived for the clock plus the patience.
    fn is_idle(&self, now: Instant) -> bool {
        self.expires < now
    }
}

impl Drop for ActiveMatch {
    fn drop(&mut self) {
        self.post.over.store(true, Relaxed);
        self.post.send(MatchCommand::Leave);
    }
}

impl GgpPlayer {
    /// Creates a player without a match.
    pub fn new(options: PlayerOptions) -> GgpPlayer {
        GgpPlayer { options, seat: Mutex::new(None), compiling: Arc::default() }
    }

    /// Answers a message that arrived at a given time, within its clock. START
    /// and PLAY are answered at the latest one margin before the clock runs
    /// out, other messages immediately.
    pub fn answer(&self, message: Message, arrived: Instant) -> Reply {
        match message {
            Message::Info => Reply::Info { name: self.options.name.clone(), busy: self.is_busy(arrived) },
            Message::Preview { .. } => Reply::Ready,
            Message::Start { id, role, rules, start, play } => {
                self.start(arrived, MatchStart { id, role, rules, start, play })
            }
            Message::Play { id, moves } => self.play(arrived, &id, moves),
            Message::Stop { id, moves } => self.stop(arrived, &id, moves),
            Message::Abort { id } => match self.leave(&id) {
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

    /// Returns the current match, which may be idle, or `None` if there is none.
    fn seat(&self) -> MutexGuard<'_, Option<ActiveMatch>> {
        let mut seat = lock(&self.seat);
        if seat.as_ref().is_some_and(|seat| seat.post.over.load(Relaxed)) {
            *seat = None;
        }
        seat
    }

    /// Returns whether the player refuses another match.
    fn is_busy(&self, now: Instant) -> bool {
        self.seat().as_ref().is_some_and(|seat| !seat.is_idle(now))
    }

    /// Leaves a match.
    fn leave(&self, id: &str) -> Option<ActiveMatch> {
        self.seat().take_if(|seat| seat.id.eq_ignore_ascii_case(id))
    }

    fn log(&self, id: &str, event: &str) {
        (self.options.log)(&format!("match {id}: {event}"));
    }

    /// Returns the time at which to answer a message with a clock.
    fn deadline(&self, arrived: Instant, clock: Duration) -> Instant {
        arrived + (clock - self.options.margin.min(clock / 2))
    }

    fn start(&self, arrived: Instant, terms: MatchStart) -> Reply {
        let mut seat = self.seat();
        if let Some(idle) = seat.take_if(|seat| seat.is_idle(arrived)) {
            self.log(&idle.id, &format!("given up for match {}", terms.id));
        }
        if let Some(seat) = &*seat {
            self.log(&terms.id, &format!("refused: match {} is played", seat.id));
            return Reply::Busy;
        }
        let (start, play) = (terms.start.as_secs_f64(), terms.play.as_secs_f64());
        self.log(&terms.id, &format!("start as {}, {start} s, {play} s per move", terms.role));
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
        let mut seat = self.seat();
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
        let Some(seat) = self.leave(id) else { return Reply::Busy };
        let (stopped, answer) = BestSoFar::new();
        seat.post.send(MatchCommand::Stop { moves, answer });
        let _ = stopped.take(self.deadline(arrived, seat.play.min(Duration::from_secs(1))));
        Reply::Done
    }
}

/// Leaves the current match.
impl Drop for GgpPlayer {
    fn drop(&mut self) {
        *lock(&self.seat) = None;
    }
}
