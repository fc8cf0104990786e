use std::io::{self, BufRead};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use anyhow::{Context, Result, anyhow, bail};
use sternhalma_data::{Board, Position, Side};
use sternhalma_engine::ugi::{self, Go, Query, StartPosition, UgiCommand, UgiError};
use sternhalma_engine::{Action, ChineseCheckers, Config, EnginePlayer, Filter, GameState, Outcome as End, Roster};
use sternhalma_ggp::{Game, Limits};

use crate::args::board::BoardArgs;
use crate::args::limits::DEFAULT_BUDGET;
use crate::args::player::{DEFAULT_PLAYER, PlayerArgs};
use crate::context::CommandContext;
use crate::error::one_line;
use crate::output::{CommandOutcome, print_line};

/// Play over the Universal Game Interface on stdin and stdout
///
/// docs/ugi.md describes commands, options and replies.
#[derive(clap::Args)]
pub struct Args {
    /// Player, unless the option `Player` sets another
    #[arg(long, default_value = DEFAULT_PLAYER)]
    player: String,
    /// Seed of the player
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    board: BoardArgs,
    #[command(flatten)]
    players: PlayerArgs,
}

pub fn run(ctx: &CommandContext, args: &Args) -> Result<CommandOutcome> {
    let mut session = Session::new(ctx.clone(), args)?;
    for line in io::stdin().lock().split(b'\n') {
        let line = line.context("cannot read stdin")?;
        let received = Instant::now();
        match UgiCommand::parse(&String::from_utf8_lossy(&line)) {
            Ok(None) => {}
            Ok(Some(UgiCommand::Quit)) => break,
            Ok(Some(command)) => session.obey(command, received)?,
            Err(error) => session.refuse(&error.into())?,
        }
    }
    session.stop();
    Ok(CommandOutcome::Answered)
}

/// The state of the protocol: the options, the game and the player.
struct Session<'a> {
    args: &'a Args,
    ctx: CommandContext,
    roster: Roster,
    config: Config,
    seed: u64,
    game: CurrentGame,
    /// The player between searches, once it has been created.
    engine: Option<EngineHandle>,
    search: Option<RunningSearch>,
}

/// The game of the last `position` command.
#[derive(Clone)]
struct CurrentGame {
    rules: Arc<ChineseCheckers>,
    start: GameState,
    actions: Vec<Action>,
    now: GameState,
}

/// A player, and the game that it has followed.
struct EngineHandle {
    player: Box<dyn EnginePlayer>,
    board: Board,
    /// The start and the actions that the player knows. `None` before its first search.
    followed: Option<(GameState, Vec<Action>)>,
}

/// A search on a thread of its own.
struct RunningSearch {
    stop: Arc<AtomicBool>,
    /// Set before `bestmove` is printed, so that the next command can follow it at once.
    answered: Arc<AtomicBool>,
    thread: JoinHandle<EngineHandle>,
}

impl<'a> Session<'a> {
    fn new(ctx: CommandContext, args: &'a Args) -> Result<Session<'a>> {
        let roster = args.players.roster()?;
        let config = roster.config(&args.player)?;
        let game = CurrentGame::initial(args.board.board()?, args.players.ply_limit)?;
        let seed = args.seed;
        Ok(Session { args, ctx, roster, config, seed, game, engine: None, search: None })
    }

    /// Executes a command.
    ///
    /// # Errors
    ///
    /// Fails only if stdout cannot be written. Other errors are printed.
    fn obey(&mut self, command: UgiCommand, received: Instant) -> Result<()> {
        self.collect();
        let thinks = self.search.is_some();
        let done = match command {
            UgiCommand::IsReady => {
                let ready = if thinks { Ok(()) } else { self.prepare() };
                if let Err(error) = ready {
                    self.refuse(&error)?;
                }
                return print_line("readyok");
            }
            UgiCommand::Query(query) => return print_line(&format!("response {}", self.game.answer(query))),
            UgiCommand::Ugi => return self.introduce(),
            UgiCommand::Stop => {
                self.stop();
                return Ok(());
            }
            _ if thinks => {
                Err(anyhow!("a search is running; until `bestmove` only isready, query, stop and quit are allowed"))
            }
            UgiCommand::NewGame => self.new_game(),
            UgiCommand::Position { start, moves } => self.place(start, &moves),
            UgiCommand::SetOption { name, value } => self.set(&name, value),
            UgiCommand::Go(go) => self.go(&go, received).map_err(|error| UgiError::Go(one_line(&error)).into()),
            UgiCommand::Quit => Ok(()),
        };
        done.or_else(|error| self.refuse(&error))
    }

    /// Prints an error. Every `go` gets a `bestmove`, even if there is no move.
    fn refuse(&mut self, error: &anyhow::Error) -> Result<()> {
        self.collect();
        print_line(&format!("info string error: {}", one_line(error)))?;
        match error.downcast_ref() {
            Some(UgiError::Go(_)) if self.search.is_none() => print_line("bestmove none"),
            _ => Ok(()),
        }
    }

    fn introduce(&self) -> Result<()> {
        let tables = self.ctx.tables.dir().map_or_else(|_| "<empty>".to_owned(), |dir| dir.display().to_string());
        print_line(&format!("id name Sternhalma {}", env!("CARGO_PKG_VERSION")))?;
        print_line("id author the Sternhalma developers")?;
        print_line(&format!("option name Player type string default {}", self.args.player))?;
        print_line(&format!("option name Seed type spin default {} min 0 max {}", self.args.seed, u64::MAX))?;
        print_line(&format!("option name Tables type string default {tables}"))?;
        print_line("ugiok")
    }

    fn set(&mut self, name: &str, value: String) -> Result<()> {
        match name.to_ascii_lowercase().as_str() {
            "player" => {
                self.config = self.roster.config(&value)?;
                self.engine = None;
            }
            "seed" => {
                let why = || format!("`{value}` is not a seed; expected a number from 0 to {}", u64::MAX);
                self.seed = value.parse().with_context(why)?;
                self.forget();
            }
            "tables" if value.is_empty() => bail!("the option `Tables` needs a directory"),
            "tables" => {
                self.ctx.tables = self.ctx.tables.clone().in_dir(PathBuf::from(value));
                self.engine = None;
            }
            _ => bail!("there is no option `{name}`; the options are Player, Seed and Tables"),
        }
        Ok(())
    }

    fn new_game(&mut self) -> Result<()> {
        self.forget();
        self.place(StartPosition::Initial, &[])
    }

    fn forget(&mut self) {
        if let Some(engine) = &mut self.engine {
            engine.followed = None;
        }
    }

    /// Sets up a game. An error leaves the present game unchanged.
    fn place(&mut self, start: StartPosition, moves: &[String]) -> Result<()> {
        let ply_limit = self.args.players.ply_limit;
        let mut game = match start {
            StartPosition::Initial => CurrentGame::initial(self.args.board.board()?, ply_limit)?,
            StartPosition::At(position) => CurrentGame::at(&position, ply_limit)?,
        };
        moves.iter().try_for_each(|text| game.play(text))?;
        self.game = game;
        Ok(())
    }

    /// Creates the player for the board, unless it exists.
    fn prepare(&mut self) -> Result<()> {
        let board = self.game.rules.board();
        if self.engine.as_ref().is_none_or(|engine| engine.board != board) {
            let factory = self.args.players.factory(&self.ctx, board, std::slice::from_ref(&self.config))?;
            self.engine = Some(EngineHandle { player: factory.player(&self.config)?, board, followed: None });
        }
        Ok(())
    }

    fn go(&mut self, go: &Go, received: Instant) -> Result<()> {
        if self.game.now.outcome().is_some() {
            bail!("the game is over");
        }
        let mut limits = go.limits(self.game.now.player())?;
        if !go.infinite && !self.config.ends_by(&limits) {
            limits.expansions = DEFAULT_BUDGET.nodes;
        }
        self.prepare()?;
        let engine = self.engine.take().context("the player is busy")?;
        let (stop, answered) = (Arc::<AtomicBool>::default(), Arc::<AtomicBool>::default());
        let job = SearchJob {
            game: self.game.clone(),
            seed: self.seed,
            limits,
            infinite: go.infinite,
            received,
            stop: stop.clone(),
            answered: answered.clone(),
        };
        let thread = thread::Builder::new().spawn(move || job.think(engine)).context("cannot start a thread")?;
        self.search = Some(RunningSearch { stop, answered, thread });
        Ok(())
    }

    /// Stops a running search, and waits for its answer.
    fn stop(&mut self) {
        if let Some(search) = &self.search {
            search.stop.store(true, Relaxed);
            // An infinite search that has its result parks until it is stopped.
            search.thread.thread().unpark();
            self.join();
        }
    }

    /// Takes the player back if its search has ended.
    fn collect(&mut self) {
        let ended = |search: &RunningSearch| search.answered.load(Relaxed) || search.thread.is_finished();
        if self.search.as_ref().is_some_and(ended) {
            self.join();
        }
    }

    /// Waits for the thread. After a panic the player is created again.
    fn join(&mut self) {
        self.engine = self.search.take().and_then(|search| search.thread.join().ok());
    }
}

/// The job of a search thread.
struct SearchJob {
    game: CurrentGame,
    seed: u64,
    limits: Limits,
    infinite: bool,
    received: Instant,
    stop: Arc<AtomicBool>,
    answered: Arc<AtomicBool>,
}

impl SearchJob {
    /// Searches, prints the answer and returns the player. Ignores a closed
    /// stdout: the thread that reads commands will fail on it.
    fn think(self, mut engine: EngineHandle) -> EngineHandle {
        engine.follow(&self.game, self.seed);
        let geometry = self.game.rules.geometry();
        // The clock has been running since the command arrived.
        let time = self.limits.time.map(|time| time.saturating_sub(self.received.elapsed()));
        let limits = Limits { time, ..self.limits };
        let choice = engine.player.think(&self.game.now, limits, &self.stop, &mut |insight| {
            let _ = print_line(&ugi::info_line(geometry, insight));
        });
        while self.infinite && !self.stop.load(Relaxed) {
            thread::park();
        }
        self.answered.store(true, Relaxed);
        let _ = print_line(&format!("bestmove {}", ugi::action_text(geometry, choice.action)));
        engine
    }
}

impl EngineHandle {
    /// Continues the game that the player knows, or begins another one.
    fn follow(&mut self, game: &CurrentGame, seed: u64) {
        let known =
            self.followed.take().filter(|(start, actions)| *start == game.start && game.actions.starts_with(actions));
        let known = known.map(|(_, actions)| actions.len()).unwrap_or_else(|| {
            self.player.reset(seed);
            game.actions.len()
        });
        game.actions[known..].iter().for_each(|&action| self.player.observe(action));
        self.followed = Some((game.start, game.actions.clone()));
    }
}

impl CurrentGame {
    fn initial(board: Board, ply_limit: u32) -> Result<CurrentGame> {
        let game = ChineseCheckers::new(board.for_two()?, Filter::All).with_ply_limit(ply_limit);
        let start = game.initial();
        Ok(CurrentGame { rules: Arc::new(game), start, actions: Vec::new(), now: start })
    }

    /// Returns the game that starts at a position, on its board.
    fn at(position: &Position, ply_limit: u32) -> Result<CurrentGame> {
        let board = Board::new(position.geometry().size() as u64, position.army(Side::X).len() as u64)?;
        let mut game = CurrentGame::initial(board, ply_limit)?;
        game.start = game.rules.state(position).context("both armies need the same number of pieces")?;
        game.now = game.start;
        Ok(game)
    }

    fn play(&mut self, text: &str) -> Result<()> {
        let action = ugi::legal_action(&self.rules, &self.now, text)?;
        self.rules.play_action(&mut self.now, action);
        self.actions.push(action);
        Ok(())
    }

    fn answer(&self, query: Query) -> String {
        match (query, self.now.outcome()) {
            (Query::GameOver, outcome) => outcome.is_some().to_string(),
            (Query::P1Turn, _) => (self.now.player() == Side::X).to_string(),
            (Query::Result, None) => "none".to_owned(),
            (Query::Result, Some(End::Draw)) => "draw".to_owned(),
            (Query::Result, Some(End::Won(side))) => format!("p{}win", side as usize + 1),
        }
    }
}
