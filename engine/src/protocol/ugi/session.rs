//! The state of an engine process that speaks the protocol.

use std::collections::VecDeque;
use std::error::Error as _;
use std::io::{self, BufRead, Write};
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::Instant;

use sternhalma_data::RuleSet;
use sternhalma_ggp::messages::{excerpt, shorten_quotes, without_bom};

use super::command::{Go, MAX_LINES, StartPosition, UgiCommand, UgiError};
use super::error::SessionError;
use super::game::CurrentGame;
use super::search::{EngineHandle, LineOutput, RunningSearch, SearchJob};
use crate::players::{Config, EnginePlayer, Follower, MAX_MEGABYTES, MAX_THREADS, Roster};
use crate::rules::GameSetup;

/// The reason why a host refuses a request.
pub type HostError = Box<dyn std::error::Error + Send + Sync>;

/// The program around a session. The host opens the tables of the players.
pub trait UgiHost {
    /// Creates a player of a game.
    ///
    /// # Errors
    ///
    /// Returns an error if the player cannot be created.
    fn player(&mut self, config: &Config, setup: GameSetup) -> Result<Box<dyn EnginePlayer>, HostError>;

    /// Returns the directory of the tables, or `None` if there is none.
    fn tables_dir(&self) -> Option<PathBuf>;

    /// Sets the directory of the tables for the players that are created next.
    fn set_tables_dir(&mut self, dir: PathBuf);

    /// Returns the memory limit of the tree or the transposition table of a player, in bytes.
    fn memory(&self) -> u64;

    /// Sets the memory limit for the players that are created next.
    ///
    /// # Errors
    ///
    /// Returns an error, and keeps the old limit, if that much memory is not available.
    fn set_memory(&mut self, bytes: u64) -> Result<(), HostError>;
}

/// The settings of a session before its first command.
#[derive(Clone, Debug)]
pub struct UgiSettings {
    /// The players that the option `Player` can select.
    pub roster: Roster,
    /// The player, as a name with optional parameters.
    pub player: String,
    /// The seed of the player.
    pub seed: u64,
    /// The board of `position startpos`, and the rules of all games.
    pub setup: GameSetup,
    /// The limit of a search that no limit of its `go` ends, in expansions.
    pub default_nodes: u64,
}

/// A session: the options, the game and the player.
///
/// ```
/// use std::path::PathBuf;
/// use sternhalma_data::Board;
/// use sternhalma_engine::ugi::{HostError, UgiHost, UgiSession, UgiSettings};
/// use sternhalma_engine::{Config, EnginePlayer, GameSetup, Roster};
/// use sternhalma_ggp::MemoryBudget;
/// /// A host without tables.
/// struct NoTables;
/// impl UgiHost for NoTables {
///     fn player(&mut self, config: &Config, setup: GameSetup) -> Result<Box<dyn EnginePlayer>, HostError> {
///         Ok(config.prepare(setup, None)?.start(&MemoryBudget::unlimited())?)
///     }
///     fn tables_dir(&self) -> Option<PathBuf> {
///         None
///     }
///     fn set_tables_dir(&mut self, _dir: PathBuf) {}
///     fn memory(&self) -> u64 {
///         u64::MAX
///     }
///     fn set_memory(&mut self, _bytes: u64) -> Result<(), HostError> {
///         Ok(())
///     }
/// }
/// let settings = UgiSettings {
///     roster: Roster::built_in(),
///     player: "ab-avg".to_owned(),
///     seed: 1,
///     setup: GameSetup::new(Board::new(5, 3)?),
///     default_nodes: 100_000,
/// };
/// let session = UgiSession::new(NoTables, settings, std::io::stdout())?;
/// session.run(&b"position startpos\ngo depth 2\nquit\n"[..])?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct UgiSession<H, W> {
    host: H,
    settings: UgiSettings,
    output: LineOutput<W>,
    config: Config,
    seed: u64,
    /// The option `Hash` in MiB, if it was set.
    hash: Option<u32>,
    /// The option `Hash` and the memory limit before the option was set, until there is a player with the new size.
    hash_before: Option<(Option<u32>, u64)>,
    /// The option `Threads`, if it was set.
    threads: Option<u32>,
    /// The option `MultiPV`: the number of lines of a search.
    lines: u32,
    game: CurrentGame,
    /// The player between searches, once it has been created.
    engine: Option<EngineHandle>,
    search: Option<RunningSearch>,
    /// The number of searches so far.
    searches: u64,
    /// The commands that wait for the end of the search, in their order.
    waiting: VecDeque<WaitingCommand>,
}

impl<H: UgiHost, W: Write + Send + 'static> UgiSession<H, W> {
    /// Creates a session that writes its replies to `output`. The player is
    /// created when it is needed.
    ///
    /// # Errors
    ///
    /// Returns an error if the player's text is invalid, or if the board has no
    /// two-player game.
    pub fn new(host: H, settings: UgiSettings, output: W) -> Result<UgiSession<H, W>, SessionError> {
        let config = settings.roster.config(&settings.player)?;
        let game = CurrentGame::initial(settings.setup)?;
        let (output, seed) = (LineOutput::new(output), settings.seed);
        Ok(UgiSession {
            host,
            settings,
            output,
            config,
            seed,
            hash: None,
            hash_before: None,
            threads: None,
            lines: 1,
            game,
            engine: None,
            search: None,
            searches: 0,
            waiting: VecDeque::new(),
        })
    }

    /// Executes the commands of `input`, one per line, until `quit` or the end
    /// of the input. A running search is then stopped, and prints its move.
    ///
    /// Commands that need the player, and those after them, wait for the
    /// `bestmove` of a search. The caller's thread reads the commands meanwhile,
    /// so that `stop` and `quit` reach the search.
    ///
    /// # Errors
    ///
    /// Returns an error if the input cannot be read or the output cannot be
    /// written. Other errors are printed as `info string error: …`.
    pub fn run(self, input: impl BufRead) -> io::Result<()>
    where
        H: Send,
    {
        let (sender, events) = mpsc::channel();
        let searches = sender.clone();
        thread::scope(|scope| {
            let executor = scope.spawn(move || self.execute_all(&events, &searches));
            let read = read_commands(input, &sender);
            let executed = executor.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            executed.and(read)
        })
    }

    /// Executes commands until the last one has been executed.
    fn execute_all(mut self, events: &Receiver<Event>, sender: &Sender<Event>) -> io::Result<()> {
        let mut is_at_end = false;
        loop {
            match events.recv().expect("this thread has a sender") {
                // A `stop` for the search that runs does not wait behind commands that wait for its end.
                Event::Command(Ok(UgiCommand::Stop), _) if !self.waiting.iter().any(is_go) => self.stop(),
                Event::Command(Ok(UgiCommand::Quit), _) => {
                    self.waiting.clear();
                    is_at_end = true;
                }
                Event::Command(command, received) => self.waiting.push_back((command, received)),
                Event::Ended(number) => {
                    if number == self.searches {
                        self.join();
                    }
                }
                Event::End => is_at_end = true,
            }
            self.execute_waiting(sender)?;
            if is_at_end && self.waiting.is_empty() {
                self.stop();
                self.join();
                return Ok(());
            }
        }
    }

    /// Executes commands in their order, up to one that must wait for the end of a search.
    fn execute_waiting(&mut self, sender: &Sender<Event>) -> io::Result<()> {
        loop {
            self.collect();
            let Some((command, _)) = self.waiting.front() else { return Ok(()) };
            let needs_player = match command {
                Ok(command) => !matches!(
                    command,
                    UgiCommand::IsReady | UgiCommand::Query(_) | UgiCommand::Ugi | UgiCommand::Stop | UgiCommand::Quit
                ),
                Err(_) => false,
            };
            // Only a later `stop` would end the wait for an endless search, so such a command is refused.
            if needs_player && self.search.as_ref().is_some_and(|search| !search.is_endless()) {
                return Ok(());
            }
            let Some((command, received)) = self.waiting.pop_front() else { return Ok(()) };
            match command {
                Ok(command) => self.execute(command, received, sender)?,
                Err(error) => self.refuse(&error.into(), false)?,
            }
        }
    }

    fn execute(&mut self, command: UgiCommand, received: Instant, sender: &Sender<Event>) -> io::Result<()> {
        let searching = self.search.is_some();
        let is_go = matches!(command, UgiCommand::Go(_));
        let done = match command {
            UgiCommand::IsReady => {
                let ready = if searching { Ok(()) } else { self.prepare() };
                if let Err(error) = ready {
                    self.refuse(&error, false)?;
                }
                return self.output.print("readyok");
            }
            UgiCommand::Query(query) => return self.output.print(&format!("response {}", self.game.answer(query))),
            UgiCommand::Ugi => return self.introduce(),
            UgiCommand::Stop | UgiCommand::Quit => {
                self.stop();
                return Ok(());
            }
            _ if searching => Err(SessionError::Searching),
            UgiCommand::NewGame => self.new_game(),
            UgiCommand::Position { start, moves } => self.place(start, &moves),
            UgiCommand::SetOption { name, value } => self.set(&name, value),
            UgiCommand::Go(go) => {
                if !go.ignored.is_empty() {
                    let ignored = excerpt(&go.ignored.join(", ").replace(char::is_control, "?"));
                    self.output.print(&format!("info string not a limit, ignored: {ignored}"))?;
                }
                self.go(&go, received, sender)
            }
        };
        done.or_else(|error| self.refuse(&error, is_go))
    }

    /// Prints an error. Every `go` gets a `bestmove`, even if there is no move.
    fn refuse(&mut self, error: &SessionError, is_go: bool) -> io::Result<()> {
        self.collect();
        let mut message = error.to_string();
        let mut source = error.source();
        while let Some(cause) = source {
            message += &format!(": {cause}");
            source = cause.source();
        }
        let message = shorten_quotes(&message);
        self.output.print(&format!("info string error: {message}").replace(char::is_control, " "))?;
        if is_go && self.search.is_none() { self.output.print("bestmove none") } else { Ok(()) }
    }

    fn introduce(&self) -> io::Result<()> {
        let UgiSettings { player, seed, setup, .. } = &self.settings;
        let tables = self.host.tables_dir().map_or_else(|| "<empty>".to_owned(), |dir| dir.display().to_string());
        let names: String = RuleSet::ALL.map(|rules| format!(" var {}", rules.stored_name())).concat();
        for line in [
            concat!("id name Sternhalma ", env!("CARGO_PKG_VERSION")),
            "id author the Sternhalma developers",
            &format!("option name Player type string default {player}"),
            &format!("option name Seed type spin default {seed} min 0 max {}", u64::MAX),
            &format!("option name Hash type spin default {} min 1 max {MAX_MEGABYTES}", self.hash()),
            &format!("option name Threads type spin default {} min 1 max {MAX_THREADS}", self.threads()),
            &format!("option name MultiPV type spin default 1 min 1 max {MAX_LINES}"),
            &format!("option name Tables type string default {tables}"),
            &format!("option name Rules type combo default {}{names}", setup.rules.stored_name()),
            "ugiok",
        ] {
            self.output.print(line)?;
        }
        Ok(())
    }

    fn set(&mut self, name: &str, value: String) -> Result<(), SessionError> {
        match name.to_ascii_lowercase().as_str() {
            "player" => {
                self.config = self.settings.roster.config(&value)?;
                self.engine = None;
            }
            "seed" => {
                self.seed = value.parse().map_err(|_| SessionError::Seed(value))?;
                self.forget();
            }
            "hash" => {
                let hash = value.parse().ok().filter(|hash| (1..=MAX_MEGABYTES).contains(hash));
                let hash = hash.ok_or(SessionError::Hash(value))?;
                let before = (self.hash, self.host.memory());
                self.host.set_memory(u64::from(hash) << 20).map_err(SessionError::Host)?;
                self.hash_before = self.hash_before.or(Some(before));
                (self.hash, self.engine) = (Some(hash), None);
            }
            "threads" => {
                let threads = value.parse().ok().filter(|threads| (1..=MAX_THREADS).contains(threads));
                let threads = threads.ok_or(SessionError::Threads(value))?;
                (self.threads, self.engine) = (Some(threads), None);
            }
            "multipv" => {
                let lines = value.parse().ok().filter(|lines| (1..=MAX_LINES).contains(lines));
                self.lines = lines.ok_or(SessionError::MultiPv(value))?;
            }
            "tables" if value.is_empty() => return Err(SessionError::NoTablesDir),
            "tables" => {
                self.host.set_tables_dir(PathBuf::from(value));
                self.engine = None;
            }
            "rules" => {
                self.settings.setup.rules = RuleSet::from_stored(&value)?;
                self.engine = None;
            }
            _ => return Err(SessionError::UnknownOption(name.to_owned())),
        }
        Ok(())
    }

    /// Returns the configuration of the player with the options `Hash` and `Threads`.
    fn player_config(&self) -> Config {
        let mut config = self.config.clone();
        if let Config::Pvs(pvs) = &mut config {
            pvs.table_megabytes = self.hash.unwrap_or(pvs.table_megabytes);
            pvs.threads = self.threads.unwrap_or(pvs.threads);
        }
        config
    }

    /// Returns the number of threads of the player.
    fn threads(&self) -> u32 {
        if let Config::Pvs(pvs) = self.player_config() { pvs.threads } else { 1 }
    }

    /// Returns the memory of the player in MiB: the size of its table, or the limit of its tree.
    fn hash(&self) -> u32 {
        match self.player_config() {
            Config::Pvs(pvs) => pvs.table_megabytes,
            _ => u32::try_from(self.host.memory() >> 20).unwrap_or(u32::MAX).clamp(1, MAX_MEGABYTES),
        }
    }

    fn new_game(&mut self) -> Result<(), SessionError> {
        self.forget();
        self.place(StartPosition::Initial, &[])
    }

    /// Makes the player begin another game at its next search.
    fn forget(&mut self) {
        if let Some(engine) = &mut self.engine {
            engine.follower.forget();
        }
    }

    /// Sets up a game. An error leaves the present game unchanged.
    fn place(&mut self, start: StartPosition, moves: &[String]) -> Result<(), SessionError> {
        let setup = self.settings.setup;
        let mut game = match start {
            StartPosition::Initial => CurrentGame::initial(setup)?,
            StartPosition::At(position) => CurrentGame::at(&position, setup)?,
        };
        moves.iter().try_for_each(|text| game.play(text))?;
        self.game = game;
        Ok(())
    }

    /// Creates the player for the board, unless it exists.
    fn prepare(&mut self) -> Result<(), SessionError> {
        let setup = self.game.rules.setup();
        if self.engine.as_ref().is_none_or(|engine| engine.setup != setup) {
            let mut player = self.host.player(&self.player_config(), setup);
            if player.is_err()
                && let Some((hash, memory)) = self.hash_before.take()
            {
                // Perhaps the new size cannot be allocated: the player gets the old one back.
                self.hash = hash;
                self.host.set_memory(memory).map_err(SessionError::Host)?;
                let refused = std::mem::replace(&mut player, self.host.player(&self.player_config(), setup));
                if let (Ok(_), Err(error)) = (&player, refused) {
                    let _ = self.refuse(&SessionError::Host(error), false);
                }
            }
            let player = player.map_err(SessionError::Host)?;
            self.hash_before = None;
            self.engine = Some(EngineHandle { follower: Follower::new(player), setup });
        }
        Ok(())
    }

    fn go(&mut self, go: &Go, received: Instant, sender: &Sender<Event>) -> Result<(), SessionError> {
        if self.game.outcome().is_some() {
            return Err(SessionError::GameOver);
        }
        let mut limits = go.limits(self.game.now.player());
        if !go.infinite && !self.config.ends_by(&limits) {
            limits.expansions = Some(self.settings.default_nodes);
        }
        self.prepare()?;
        self.searches += 1;
        let (number, sender) = (self.searches, sender.clone());
        // The session may have ended.
        let on_end = move || drop(sender.send(Event::Ended(number)));
        let engine = self.engine.take().expect("a player between searches");
        let job = SearchJob {
            game: self.game.clone(),
            seed: self.seed,
            limits,
            infinite: go.infinite,
            lines: self.lines as usize,
            received,
            output: self.output.share(),
        };
        self.search = Some(RunningSearch::start(job, engine, on_end).map_err(SessionError::Thread)?);
        Ok(())
    }

    /// Stops a running search, which then answers.
    fn stop(&mut self) {
        if let Some(search) = &self.search {
            search.stop();
        }
    }

    /// Waits for the answer of a search that ends, and takes the player back. After a panic the player is created again.
    fn join(&mut self) {
        if let Some(search) = self.search.take() {
            self.engine = search.join();
        }
    }

    /// Takes the player back if its search has ended.
    fn collect(&mut self) {
        if self.search.as_ref().is_some_and(RunningSearch::has_ended) {
            self.join();
        }
    }
}

/// What happens to a session.
#[derive(Debug)]
enum Event {
    /// A command was read.
    Command(Result<UgiCommand, UgiError>, Instant),
    /// The search with this number has ended.
    Ended(u64),
    /// There are no more commands.
    End,
}

/// A command that waits, and the time of its arrival.
type WaitingCommand = (Result<UgiCommand, UgiError>, Instant);

fn is_go((command, _): &WaitingCommand) -> bool {
    matches!(command, Ok(UgiCommand::Go(_)))
}

/// Reads commands until `quit`, the end of the input, or the end of the session.
fn read_commands(input: impl BufRead, sender: &Sender<Event>) -> io::Result<()> {
    let mut lines = input.split(b'\n');
    let mut is_first = true;
    let result = loop {
        let line = match lines.next() {
            None => break Ok(()),
            Some(Err(error)) => break Err(io::Error::new(error.kind(), format!("cannot read the commands: {error}"))),
            Some(Ok(line)) => line,
        };
        let (received, line) = (Instant::now(), String::from_utf8_lossy(&line));
        let line = if std::mem::take(&mut is_first) { without_bom(&line) } else { &line };
        let Some(command) = UgiCommand::parse(line).transpose() else { continue };
        let is_last = matches!(command, Ok(UgiCommand::Quit));
        if sender.send(Event::Command(command, received)).is_err() || is_last {
            break Ok(());
        }
    };
    // The session has ended if it does not receive this.
    let _ = sender.send(Event::End);
    result
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
    use std::sync::{Arc, Mutex};
    use std::thread;
    use std::time::Duration;

    use sternhalma_data::Board;
    use sternhalma_ggp::{Game, Limits, SearchStats};

    use super::*;
    use crate::players::Choice;
    use crate::rules::{Action, ChineseCheckers, Filter, GameState};

    /// The calls to a player, in order.
    type Calls = Arc<Mutex<Vec<String>>>;

    /// A player that plays the first legal action, and records its calls. With
    /// `waits` it searches until it is stopped.
    struct RecordingPlayer {
        calls: Calls,
        setup: GameSetup,
        waits: bool,
    }

    impl EnginePlayer for RecordingPlayer {
        fn choose(&mut self, state: &GameState, limits: Limits, stop: &AtomicBool) -> Choice {
            self.calls.lock().unwrap().push(format!("choose {:?}", limits.expansions));
            while self.waits && !stop.load(Relaxed) {
                thread::sleep(Duration::from_millis(1));
            }
            let mut legal = Vec::new();
            ChineseCheckers::of(self.setup, Filter::All).legal(state, state.player() as usize, &mut legal);
            Choice { action: legal[0], spent: SearchStats::default() }
        }

        fn observe(&mut self, _action: Action) {
            self.calls.lock().unwrap().push("observe".to_owned());
        }

        fn reset(&mut self, seed: u64) {
            self.calls.lock().unwrap().push(format!("reset {seed}"));
        }
    }

    /// A host whose players record their calls. `greedy` waits to be stopped,
    /// and `random` cannot be created.
    #[derive(Default)]
    struct RecordingHost {
        calls: Calls,
    }

    impl UgiHost for RecordingHost {
        fn player(&mut self, config: &Config, setup: GameSetup) -> Result<Box<dyn EnginePlayer>, HostError> {
            if *config == Config::Random {
                return Err("it needs\na table".into());
            }
            self.calls.lock().unwrap().push(format!("player {}", setup.board.size()));
            let waits = *config == Config::Greedy;
            Ok(Box::new(RecordingPlayer { calls: self.calls.clone(), setup, waits }))
        }

        fn tables_dir(&self) -> Option<PathBuf> {
            None
        }

        fn set_tables_dir(&mut self, dir: PathBuf) {
            self.calls.lock().unwrap().push(format!("tables {}", dir.display()));
        }

        fn memory(&self) -> u64 {
            3 << 20
        }

        fn set_memory(&mut self, bytes: u64) -> Result<(), HostError> {
            if bytes > 1 << 30 {
                return Err("that much memory is not available".into());
            }
            self.calls.lock().unwrap().push(format!("memory {bytes}"));
            Ok(())
        }
    }

    /// An output that a test reads after the session.
    #[derive(Clone, Default)]
    struct SharedOutput(Arc<Mutex<Vec<u8>>>);

    impl SharedOutput {
        fn lines(&self) -> Vec<String> {
            let text = String::from_utf8(self.0.lock().unwrap().clone()).unwrap();
            text.lines().map(str::to_owned).collect()
        }
    }

    impl Write for SharedOutput {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn settings(player: &str) -> UgiSettings {
        UgiSettings {
            roster: Roster::built_in(),
            player: player.to_owned(),
            seed: 7,
            setup: GameSetup::new(Board::new(5, 3).unwrap()),
            default_nodes: 64,
        }
    }

    /// Runs a session and returns its replies, without the progress of
    /// searches, and the calls to its players.
    fn run(player: &str, commands: &[&'static str]) -> (Vec<String>, Vec<String>) {
        let (host, output) = (RecordingHost::default(), SharedOutput::default());
        let calls = host.calls.clone();
        let input = Input { lines: commands.iter(), rest: b"", searches: 0, output: output.clone() };
        UgiSession::new(host, settings(player), output.clone()).unwrap().run(io::BufReader::new(input)).unwrap();
        let replies = output.lines().into_iter().filter(|line| !line.starts_with("info depth")).collect();
        let calls = calls.lock().unwrap().clone();
        (replies, calls)
    }

    /// An input of commands. The command `wait` is not sent: it waits for the
    /// `bestmove` of each `go`, as programs do.
    struct Input<'a> {
        lines: std::slice::Iter<'a, &'static str>,
        rest: &'static [u8],
        /// The number of `go` commands so far.
        searches: usize,
        output: SharedOutput,
    }

    impl io::Read for Input<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            while self.rest.is_empty() {
                match self.lines.next() {
                    None => return Ok(0),
                    Some(&"wait") => {
                        let answered = |line: &String| line.starts_with("bestmove");
                        while self.output.lines().into_iter().filter(answered).count() < self.searches {
                            thread::sleep(Duration::from_millis(1));
                        }
                    }
                    Some(line) => {
                        self.searches += usize::from(line.starts_with("go"));
                        self.rest = line.as_bytes();
                    }
                }
            }
            self.rest.read(buffer)
        }
    }

    #[test]
    fn a_player_follows_a_game_that_continues() {
        let (replies, calls) = run(
            "ab-avg",
            &[
                "go depth 1\n",
                "wait",
                "position startpos moves a1-a3 e5-e3\n",
                "go depth 1\n",
                "wait",
                "uginewgame\n",
                "setoption name Seed value 9\n",
                "go depth 1\n",
                "wait",
                "position fen 3oo/4o/5/x4/xx3 o 7\n",
                "go depth 1\n",
            ],
        );
        assert_eq!(replies.iter().filter(|reply| reply.starts_with("bestmove ")).count(), 4, "{replies:?}");
        let expected = [
            "player 5",
            "reset 7",
            "choose None", // the initial position
            "observe",
            "observe",
            "choose None", // the same game, two plies later
            "reset 9",
            "choose None", // another game
            "reset 9",
            "choose None", // another start
        ];
        assert_eq!(calls, expected);
    }

    #[test]
    fn a_search_without_end_gets_the_default_limit() {
        let (_, calls) = run("base0", &["go depth 3\n", "wait", "go movetime 1\n"]);
        assert_eq!(calls, ["player 5", "reset 7", "choose Some(64)", "choose None"]);
    }

    #[test]
    fn a_running_search_refuses_other_commands_and_ends_with_the_input() {
        let (replies, calls) = run("greedy", &["go infinite\n", "isready\n", "go nodes 5\n", "query p1turn\n"]);
        let error = "info string error: a search is running; until `bestmove` only isready, query, stop and quit are \
                     allowed";
        assert_eq!(replies[..3], ["readyok", error, "response true"]);
        assert!(replies[3].starts_with("bestmove ") && replies.len() == 4, "{replies:?}");
        assert_eq!(calls, ["player 5", "reset 7", "choose None"]);
    }

    #[test]
    fn commands_after_stop_or_during_a_search_wait_for_its_move() {
        let script = ["go infinite\n", "stop\n", "position startpos moves a1-a3\n", "query p1turn\n", "go nodes 5\n"];
        let (replies, calls) = run("greedy", &[&script[..], &["stop\n"], &script, &["stop\n"]].concat());
        let moves: Vec<&str> = replies.iter().map(|reply| reply.split(' ').next().unwrap()).collect();
        assert_eq!(moves, ["bestmove", "response", "bestmove", "bestmove", "response", "bestmove"], "{replies:?}");
        assert_eq!(calls.iter().filter(|call| call.starts_with("choose")).count(), 4, "{calls:?}");
        assert_eq!(calls.iter().filter(|call| *call == "choose Some(5)").count(), 2, "{calls:?}");
    }

    #[test]
    fn a_position_that_waits_does_not_keep_stop_from_the_search() {
        let (replies, _) =
            run("greedy", &["go nodes 5\n", "position startpos moves a1-a3\n", "stop\n", "query p1turn\n"]);
        assert!(replies[0].starts_with("bestmove ") && replies[1..] == ["response false"], "{replies:?}");
    }

    #[test]
    fn memory_that_is_not_available_is_an_error_and_keeps_the_old_size() {
        let lines = ["setoption name Hash value 16\n", "setoption name Hash value 65536\n", "isready\n", "ugi\n"];
        let (replies, calls) = run("base0", &lines);
        assert_eq!(replies[..2], ["info string error: that much memory is not available", "readyok"]);
        assert!(replies.iter().any(|line| line.starts_with("option name Hash type spin default 3")), "{replies:?}");
        assert_eq!(calls, ["memory 16777216", "player 5"]);
    }

    #[test]
    fn every_go_with_a_legal_move_gets_one() {
        for go in ["go p1time -5\n", "go p2time 1000\n", "go p1time 20 movestogo 3\n", "go fast\n", "go nodes x\n"] {
            let (replies, _) = run("ab-avg", &[go, "wait"]);
            let last = replies.last().unwrap();
            assert!(last.starts_with("bestmove ") && last != "bestmove none", "{go}: {replies:?}");
        }
    }

    #[test]
    fn a_byte_order_mark_is_skipped() {
        assert_eq!(run("ab-avg", &["\u{feff}query p1turn\n"]).0, ["response true"]);
    }

    #[test]
    fn an_error_of_the_host_is_one_line_and_refuses_the_search() {
        let (replies, calls) = run("random", &["isready\n", "go depth 1\n", "setoption name tables value /a b\n"]);
        let error = "info string error: it needs a table";
        assert_eq!(replies, [error, "readyok", error, "bestmove none"]);
        assert_eq!(calls, ["tables /a b"]);
    }

    #[test]
    fn another_player_or_board_creates_the_player_again() {
        let (_, calls) = run(
            "ab-avg",
            &[
                "isready\n",
                "setoption name Player value ab-avg,depth=2\n",
                "isready\n",
                "position fen 1oo/x1o/xx1 x 0\n",
                "isready\n",
            ],
        );
        assert_eq!(calls, ["player 5", "player 5", "player 3"]);
    }

    #[test]
    fn hash_limits_the_memory_of_the_player() {
        let (replies, calls) = run(
            "base0",
            &[
                "ugi\n",
                "isready\n",
                "setoption name Hash value 16\n",
                "isready\n",
                "setoption name hash value 0\n",
                "setoption name Player value sternhalma\n",
                "ugi\n",
            ],
        );
        let hash: Vec<&String> = replies.iter().filter(|line| line.contains("Hash")).collect();
        assert_eq!(hash[0], "option name Hash type spin default 3 min 1 max 65536");
        assert_eq!(hash[1], "option name Hash type spin default 16 min 1 max 65536");
        assert!(
            replies
                .contains(&"info string error: `0` is not a size; expected a number of MiB from 1 to 65536".to_owned())
        );
        assert_eq!(calls, ["player 5", "memory 16777216", "player 5"]);
    }

    #[test]
    fn threads_are_those_of_the_option() {
        let lines = ["ugi\n", "setoption name Threads value 2\n", "ugi\n", "setoption name threads value 0\n"];
        let (replies, _) = run("sternhalma", &lines);
        let threads: Vec<&String> = replies.iter().filter(|line| line.contains("hreads")).collect();
        assert_eq!(threads[0], "option name Threads type spin default 1 min 1 max 256");
        assert_eq!(threads[1], "option name Threads type spin default 2 min 1 max 256");
        assert_eq!(threads[2], "info string error: `0` is not a number of threads; expected one from 1 to 256");
        let (replies, _) = run("greedy", &lines[1..3]);
        assert!(replies.contains(&"option name Threads type spin default 1 min 1 max 256".to_owned()));
    }

    #[test]
    fn invalid_settings_are_errors() {
        let new = |settings| UgiSession::new(RecordingHost::default(), settings, SharedOutput::default());
        assert!(matches!(new(settings("heur9")), Err(SessionError::Config(_))));
        let crowded = UgiSettings { setup: GameSetup::new(Board::new(3, 5).unwrap()), ..settings("greedy") };
        assert!(matches!(new(crowded), Err(SessionError::Board(_))));
    }
}
