//! External programs in the arena, using the Universal Game Interface
//! (`docs/reference/ugi.md`).

mod compliance;
mod process;
pub mod replies;
#[cfg(all(test, unix))]
mod tests;
mod trace;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sternhalma_data::{Geometry, RuleSet};
use sternhalma_ggp::arena::{Contestant, Fault, FaultKind, Request, SearchValue};
use sternhalma_ggp::{Game, SearchStats};
use thiserror::Error;

use crate::protocol::ugi::{Go, action_text};
use crate::rules::{Action, ChineseCheckers, GameState};
use process::{ExternalProgram, OutputLine, Process, Wait, excerpt};
use replies::Introduction;

pub use compliance::{CheckResult, ComplianceCheck, check_compliance};
pub use trace::{ProtocolLog, ProtocolTrace};

/// The default time in which a program must become ready.
const STARTING: Duration = Duration::from_secs(60);

/// The time after its deadline at which a program receives `stop`.
const MARGIN: Duration = Duration::from_millis(50);

/// The time in which a program must end a search whose result is not needed.
const STOPPING: Duration = Duration::from_millis(200);

/// An external program as a contestant of the arena, with the Universal Game
/// Interface on its stdin and stdout.
///
/// The program is started when it is first needed, kept from game to game, and
/// restarted if it has ended. Every request gets an answer or a [`Fault`] by
/// its deadline, whatever the program does. On Unix the program has its own
/// process group, which is killed with it. Dropping the player sends `quit`
/// first and waits 200 ms.
pub struct ExternalPlayer {
    command: ProgramCommand,
    starting: Duration,
    running: Option<Running>,
    position: PositionCommand,
    trace: Option<ProtocolTrace>,
    /// The value that the last search reported.
    value: Option<SearchValue>,
}

/// An error in the command line or the options of an external player.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum ExternalPlayerError {
    /// The command line has an unbalanced quote or ends in `\`.
    #[error("the command `{0}` has a quote that is not closed, or ends in `\\`")]
    Unbalanced(String),
    /// The command line is empty.
    #[error("there is no command to start a program with")]
    Empty,
    /// An option contains control characters.
    #[error("the option {0:?} has a line break or another control character in its name or value")]
    Control(String),
}

/// The `position` command of the current game.
#[derive(Default)]
struct PositionCommand {
    start: String,
    moves: String,
}

/// The command line of an external program, and the options that are set before each game.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProgramCommand {
    text: String,
    program: ExternalProgram,
    options: Vec<(String, String)>,
}

impl ProgramCommand {
    /// Parses a command line.
    ///
    /// The command line is split into words as in a POSIX shell, without
    /// expansion. The program runs in `dir`, if given; a relative path to the
    /// program is then relative to `dir`.
    ///
    /// # Errors
    ///
    /// Returns an error if the command line is invalid or an option contains
    /// control characters.
    pub fn new(
        command: &str,
        options: Vec<(String, String)>,
        dir: Option<PathBuf>,
    ) -> Result<ProgramCommand, ExternalPlayerError> {
        let unbalanced = || ExternalPlayerError::Unbalanced(command.to_owned());
        let mut words = shlex::split(command).ok_or_else(unbalanced)?.into_iter();
        let path = words.next().filter(|path| !path.is_empty()).ok_or(ExternalPlayerError::Empty)?.into();
        let breaks =
            |(name, value): &&(String, String)| name.contains(char::is_control) || value.contains(char::is_control);
        if let Some((name, _)) = options.iter().find(breaks) {
            return Err(ExternalPlayerError::Control(name.clone()));
        }
        let program = ExternalProgram { path, args: words.collect(), dir };
        Ok(ProgramCommand { text: command.to_owned(), program, options })
    }

    /// Returns the command line.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the description that identifies the program in logs.
    pub fn identity(&self) -> Value {
        json!({ "command": self.text, "options": self.options, "dir": self.program.dir })
    }
}

impl ExternalPlayer {
    /// Creates a player.
    pub fn new(command: ProgramCommand) -> ExternalPlayer {
        ExternalPlayer {
            command,
            starting: STARTING,
            running: None,
            position: PositionCommand::default(),
            trace: None,
            value: None,
        }
    }

    /// Logs all lines of the protocol.
    #[must_use]
    pub fn with_trace(self, trace: Option<ProtocolTrace>) -> ExternalPlayer {
        ExternalPlayer { trace, ..self }
    }

    /// Sets the name of the player in the log of the protocol.
    pub fn set_traced_name(&self, name: &str) {
        self.trace.iter().for_each(|trace| trace.set_player(name));
    }

    /// Sets the time in which the program must become ready for a game
    /// (default 60 s).
    #[must_use]
    pub fn with_starting_patience(self, starting: Duration) -> ExternalPlayer {
        ExternalPlayer { starting, ..self }
    }

    /// Starts the program if it does not run, and returns its name, which may
    /// be empty.
    ///
    /// # Errors
    ///
    /// Returns a fault if the program cannot be started, does not introduce
    /// itself, or has not declared an option that must be set, and when `stop` is set.
    pub fn greet(&mut self, patience: Duration, stop: &AtomicBool) -> Result<String, Fault> {
        let running = self.take(patience, stop)?;
        Ok(self.running.insert(running).introduction.name.clone())
    }

    /// Begins a game from `start`, like [`Contestant::begin`].
    ///
    /// # Errors
    ///
    /// Returns a fault if the program does not become ready, and when `stop` is set.
    pub fn begin_game(
        &mut self,
        game: &ChineseCheckers,
        start: &GameState,
        seed: u64,
        stop: &AtomicBool,
    ) -> Result<(), Fault> {
        self.position = PositionCommand::new(game, start);
        let mut running = self.take(self.starting, stop)?;
        running.prepare(&self.command.options, game.rules(), seed, self.starting, stop)?;
        self.running = Some(running);
        Ok(())
    }

    /// Takes the running program, or starts it.
    fn take(&mut self, patience: Duration, stop: &AtomicBool) -> Result<Running, Fault> {
        match self.running.take_if(|running| !running.process.has_ended()) {
            Some(running) => Ok(running),
            None => Running::start(&self.command, patience, stop, self.trace.clone()),
        }
    }
}

/// A program that has introduced itself.
struct Running {
    process: Process,
    introduction: Introduction,
}

impl Running {
    fn start(
        command: &ProgramCommand,
        patience: Duration,
        stop: &AtomicBool,
        trace: Option<ProtocolTrace>,
    ) -> Result<Running, Fault> {
        let mut process =
            Process::start(&command.program, trace).map_err(|error| FaultKind::Crash.fault(error.to_string()))?;
        let mut introduction = Introduction::default();
        process.say("ugi\n".to_owned())?;
        let mut wait = Wait::of(patience);
        loop {
            check_stop(stop)?;
            match process.hear(&mut wait)? {
                Some(line) if line.text.trim() == "ugiok" => break,
                Some(line) => introduction.add(&line.text),
                None => {}
            }
        }
        introduction.check(&command.options)?;
        Ok(Running { process, introduction })
    }

    /// Prepares the program for a game. A seed and rules among the options are kept.
    fn prepare(
        &mut self,
        options: &[(String, String)],
        rules: RuleSet,
        seed: u64,
        patience: Duration,
        stop: &AtomicBool,
    ) -> Result<(), Fault> {
        let mut lines: String = options.iter().map(|(name, value)| option(name, value)).collect();
        let is_chosen = |option: &str| options.iter().any(|(name, _)| name.eq_ignore_ascii_case(option));
        if let Some(offer) = self.introduction.option(SEED).filter(|_| !is_chosen(SEED)) {
            lines += &option(&offer.name, &offer.seed(seed).to_string());
        }
        if let Some(offer) = self.introduction.option(RULES).filter(|_| !is_chosen(RULES)) {
            lines += &option(&offer.name, rules.stored_name());
        }
        self.process.say(lines + "uginewgame\nisready\n")?;
        let mut wait = Wait::of(patience);
        let mut refusal = None;
        loop {
            check_stop(stop)?;
            let Some(line) = self.process.hear(&mut wait)? else { continue };
            if line.text.trim() == "readyok" {
                break;
            }
            refusal = refusal.or_else(|| replies::error(&line.text).map(excerpt));
        }
        refusal.map_or(Ok(()), |why| Err(FaultKind::Crash.fault(format!("it is not ready: it said {why}"))))
    }
}

/// Returns a fault if the answer of the program is no longer needed.
fn check_stop(stop: &AtomicBool) -> Result<(), Fault> {
    if stop.load(Relaxed) { Err(FaultKind::Hang.fault("interrupted before it was ready")) } else { Ok(()) }
}

/// The option for the seed of a game.
const SEED: &str = "Seed";

/// The option for the rule set of a game.
const RULES: &str = "Rules";

/// Returns the line that sets an option.
fn option(name: &str, value: &str) -> String {
    if value.is_empty() { format!("setoption name {name}\n") } else { format!("setoption name {name} value {value}\n") }
}

impl PositionCommand {
    fn new(game: &ChineseCheckers, start: &GameState) -> PositionCommand {
        let initial = *start == game.initial();
        let start = if initial { "startpos".to_owned() } else { format!("fen {}", game.position(start)) };
        PositionCommand { start, moves: String::new() }
    }

    fn add(&mut self, geometry: &Geometry, action: Action) {
        self.moves += if self.moves.is_empty() { " moves " } else { " " };
        self.moves += &action_text(geometry, action);
    }
}

/// Returns the `go` command for a request. Clocks are only sent if the player
/// has one.
fn go(request: &Request) -> Go {
    let mut go = Go { limits: request.limits, ..Go::default() };
    if request.clocks[request.role].is_some() {
        for (player, clock) in request.clocks.iter().take(2).enumerate() {
            go.left[player] = clock.map(|clock| clock.left);
            go.increment[player] = clock.map(|clock| clock.increment).unwrap_or_default();
        }
    }
    go
}

/// A search that the program is running.
struct PendingSearch<'a> {
    geometry: &'static Geometry,
    request: &'a Request<'a>,
    started: Instant,
    wait: Wait,
    /// Whether `stop` was sent.
    stopped: bool,
    /// Whether the answer is no longer needed.
    unwanted: bool,
    spent: SearchStats,
    /// The last value that the program reported.
    value: Option<SearchValue>,
    /// The last error that the program reported.
    error: Option<String>,
}

impl<'a> PendingSearch<'a> {
    fn new(geometry: &'static Geometry, request: &'a Request<'a>) -> PendingSearch<'a> {
        let (started, wait) = (Instant::now(), Wait::of(request.deadline()));
        let spent = SearchStats::default();
        PendingSearch {
            geometry,
            request,
            started,
            wait,
            stopped: false,
            unwanted: false,
            spent,
            value: None,
            error: None,
        }
    }

    fn answer(&mut self, process: &mut Process) -> Result<(Action, SearchStats), Fault> {
        loop {
            if let Some(line) = process.hear(&mut self.wait)?
                && let Some(action) = self.read(&line)
            {
                let spent = SearchStats { time: self.started.elapsed(), ..self.spent };
                return action.map(|action| (action, spent)).map_err(|fault| self.explained(fault));
            }
            self.stop_in_time(process)?;
        }
    }

    fn read(&mut self, line: &OutputLine) -> Option<Result<Action, Fault>> {
        replies::note(&mut self.spent, &mut self.value, &line.text);
        self.error = replies::error(&line.text).map(excerpt).or(self.error.take());
        replies::best_move(self.geometry, &line.text)
    }

    /// Sends `stop` once the time is over or the answer is not needed.
    fn stop_in_time(&mut self, process: &mut Process) -> Result<(), Fault> {
        if !self.unwanted && self.request.stop.load(Relaxed) {
            self.unwanted = true;
            self.wait.until = self.wait.until.min(Instant::now() + STOPPING);
        }
        let late = || self.request.time().is_some_and(|time| self.started.elapsed() > time + MARGIN);
        if !self.stopped && (self.unwanted || late()) {
            self.stopped = true;
            process.say("stop\n".to_owned())?;
        }
        Ok(())
    }

    fn explained(&self, fault: Fault) -> Fault {
        let said = self.error.iter().map(|error| format!(" after {error}"));
        Fault { detail: fault.detail + &said.collect::<String>(), ..fault }
    }
}

impl Contestant<ChineseCheckers> for ExternalPlayer {
    fn set_game_number(&mut self, number: u64) {
        if let Some(trace) = &self.trace {
            trace.set_game_number(number);
        }
    }

    fn begin(&mut self, game: &ChineseCheckers, start: &GameState, _: usize, seed: u64) -> Result<(), Fault> {
        self.begin_game(game, start, seed, &AtomicBool::new(false))
    }

    fn choose(
        &mut self,
        game: &ChineseCheckers,
        _: &GameState,
        request: &Request,
    ) -> Result<(Action, SearchStats), Fault> {
        let running = self.running.as_mut().ok_or_else(|| FaultKind::Crash.fault("it does not run"))?;
        let mut search = PendingSearch::new(game.geometry(), request);
        running.process.ignore(&mut search.wait)?;
        running.process.say(format!("position {}{}\n{}\n", self.position.start, self.position.moves, go(request)))?;
        let answer = search.answer(&mut running.process);
        self.value = search.value;
        answer
    }

    fn value(&self) -> Option<SearchValue> {
        self.value
    }

    fn observe(&mut self, game: &ChineseCheckers, joint: &[Action]) {
        joint.iter().for_each(|&action| self.position.add(game.geometry(), action));
    }
}
