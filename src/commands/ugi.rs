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
use crate::args::player::{DEFAULT_PLAYER, PlayerArgs};
use crate::context::CommandContext;
use crate::error::one_line;
use crate::output::{CommandOutcome, print_line};

/// The expansions of a search that is told none of the limits it knows.
const MOST_EXPANSIONS: u64 = 100_000;

/// Play over the Universal Game Interface on stdin and stdout
///
/// docs/ugi.md lists commands, options and replies.
#[derive(clap::Args)]
pub struct Args {
    /// Who plays, unless the option `Player` says otherwise
    #[arg(long, default_value = DEFAULT_PLAYER)]
    player: String,
    /// Fixes the player's random numbers
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

/// What the engine has been told, and who thinks.
struct Session<'a> {
    args: &'a Args,
    ctx: CommandContext,
    roster: Roster,
    config: Config,
    seed: u64,
    told: Told,
    /// The player, once it has been needed, while it does not think.
    thinker: Option<Thinker>,
    search: Option<Search>,
}

/// A game as the protocol tells it.
#[derive(Clone)]
struct Told {
    game: Arc<ChineseCheckers>,
    start: GameState,
    actions: Vec<Action>,
    now: GameState,
}

/// A player, and the game it has followed.
struct Thinker {
    player: Box<dyn EnginePlayer>,
    board: Board,
    /// The start and the actions that the player knows; none before its first search.
    seen: Option<(GameState, Vec<Action>)>,
}

/// A player that thinks on its own thread.
struct Search {
    stop: Arc<AtomicBool>,
    /// Set before `bestmove` is printed: who has read that may go on.
    answered: Arc<AtomicBool>,
    thread: JoinHandle<Thinker>,
}

impl<'a> Session<'a> {
    fn new(ctx: CommandContext, args: &'a Args) -> Result<Session<'a>> {
        let roster = args.players.roster()?;
        let config = roster.config(&args.player)?;
        let told = Told::initial(args.board.board()?, args.players.ply_limit)?;
        let seed = args.seed;
        Ok(Session { args, ctx, roster, config, seed, told, thinker: None, search: None })
    }

    /// Does what a command says. Only what cannot be printed is an error.
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
            UgiCommand::Query(query) => return print_line(&format!("response {}", self.told.answer(query))),
            UgiCommand::Ugi => return self.introduce(),
            UgiCommand::Stop => {
                self.stop();
                return Ok(());
            }
            _ if thinks => {
                Err(anyhow!("the engine thinks; until it has said `bestmove` there are isready, query, stop and quit"))
            }
            UgiCommand::NewGame => self.begin_anew(),
            UgiCommand::Position { start, moves } => self.place(start, &moves),
            UgiCommand::SetOption { name, value } => self.set(&name, value),
            UgiCommand::Go(go) => self.go(&go, received).map_err(|error| UgiError::Go(one_line(&error)).into()),
            UgiCommand::Quit => Ok(()),
        };
        done.or_else(|error| self.refuse(&error))
    }

    /// Tells what is wrong. A `go` is answered by a move or by none, so that
    /// nobody waits in vain.
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
                self.thinker = None;
            }
            "seed" => {
                let why = || format!("`{value}` is no seed; it is a number from 0 to {}", u64::MAX);
                self.seed = value.parse().with_context(why)?;
                self.forget();
            }
            "tables" if value.is_empty() => bail!("the option `Tables` needs a directory"),
            "tables" => {
                self.ctx.tables = self.ctx.tables.clone().in_dir(PathBuf::from(value));
                self.thinker = None;
            }
            _ => bail!("there is no option `{name}`; there are Player, Seed and Tables"),
        }
        Ok(())
    }

    fn begin_anew(&mut self) -> Result<()> {
        self.forget();
        self.place(StartPosition::Initial, &[])
    }

    fn forget(&mut self) {
        if let Some(thinker) = &mut self.thinker {
            thinker.seen = None;
        }
    }

    /// Sets the game up, or leaves it as it is.
    fn place(&mut self, start: StartPosition, moves: &[String]) -> Result<()> {
        let ply_limit = self.args.players.ply_limit;
        let mut told = match start {
            StartPosition::Initial => Told::initial(self.args.board.board()?, ply_limit)?,
            StartPosition::At(position) => Told::at(&position, ply_limit)?,
        };
        moves.iter().try_for_each(|text| told.play(text))?;
        self.told = told;
        Ok(())
    }

    /// Makes the player ready for the board, if it is not.
    fn prepare(&mut self) -> Result<()> {
        let board = self.told.game.board();
        if self.thinker.as_ref().is_none_or(|thinker| thinker.board != board) {
            let factory = self.args.players.factory(&self.ctx, board, std::slice::from_ref(&self.config))?;
            self.thinker = Some(Thinker { player: factory.player(&self.config)?, board, seen: None });
        }
        Ok(())
    }

    fn go(&mut self, go: &Go, received: Instant) -> Result<()> {
        if self.told.now.outcome().is_some() {
            bail!("the game is over");
        }
        let mut limits = go.limits(self.told.now.player())?;
        if !go.infinite && !self.config.ends_by(&limits) {
            limits.expansions = Some(MOST_EXPANSIONS);
        }
        self.prepare()?;
        let thinker = self.thinker.take().context("the player is busy")?;
        let (stop, answered) = (Arc::<AtomicBool>::default(), Arc::<AtomicBool>::default());
        let task = Task {
            told: self.told.clone(),
            seed: self.seed,
            limits,
            infinite: go.infinite,
            received,
            stop: stop.clone(),
            answered: answered.clone(),
        };
        let thread = thread::Builder::new().spawn(move || task.think(thinker)).context("cannot start a thread")?;
        self.search = Some(Search { stop, answered, thread });
        Ok(())
    }

    /// Has the player answer, if it thinks, and waits for that.
    fn stop(&mut self) {
        if let Some(search) = &self.search {
            search.stop.store(true, Relaxed);
            search.thread.thread().unpark();
            self.join();
        }
    }

    /// Takes the player back if it has answered.
    fn collect(&mut self) {
        let ended = |search: &Search| search.answered.load(Relaxed) || search.thread.is_finished();
        if self.search.as_ref().is_some_and(ended) {
            self.join();
        }
    }

    /// A thread that panicked has said so on stderr; the player is made anew.
    fn join(&mut self) {
        self.thinker = self.search.take().and_then(|search| search.thread.join().ok());
    }
}

/// What a search thread is to do.
struct Task {
    told: Told,
    seed: u64,
    limits: Limits,
    infinite: bool,
    received: Instant,
    stop: Arc<AtomicBool>,
    answered: Arc<AtomicBool>,
}

impl Task {
    /// Thinks and answers, and gives the player back. What cannot be printed
    /// is left to the thread that reads, which will meet the same.
    fn think(self, mut thinker: Thinker) -> Thinker {
        thinker.follow(&self.told, self.seed);
        let geometry = self.told.game.geometry();
        // The clock has run since the line came.
        let time = self.limits.time.map(|time| time.saturating_sub(self.received.elapsed()));
        let limits = Limits { time, ..self.limits };
        let choice = thinker.player.think(&self.told.now, limits, &self.stop, &mut |insight| {
            let _ = print_line(&ugi::info_line(geometry, insight));
        });
        while self.infinite && !self.stop.load(Relaxed) {
            thread::park();
        }
        self.answered.store(true, Relaxed);
        let _ = print_line(&format!("bestmove {}", ugi::action_text(geometry, choice.action)));
        thinker
    }
}

impl Thinker {
    /// Goes on with the game that the player knows, if it is the same, or
    /// begins a new one.
    fn follow(&mut self, told: &Told, seed: u64) {
        let known =
            self.seen.take().filter(|(start, actions)| *start == told.start && told.actions.starts_with(actions));
        let known = known.map(|(_, actions)| actions.len()).unwrap_or_else(|| {
            self.player.reset(seed);
            told.actions.len()
        });
        told.actions[known..].iter().for_each(|&action| self.player.observe(action));
        self.seen = Some((told.start, told.actions.clone()));
    }
}

impl Told {
    fn initial(board: Board, ply_limit: u32) -> Result<Told> {
        let game = ChineseCheckers::new(board.for_two()?, Filter::All).with_ply_limit(ply_limit);
        let start = game.initial();
        Ok(Told { game: Arc::new(game), start, actions: Vec::new(), now: start })
    }

    /// The game of a position, on its board.
    fn at(position: &Position, ply_limit: u32) -> Result<Told> {
        let board = Board::new(position.geometry().size() as u64, position.army(Side::X).len() as u64)?;
        let mut told = Told::initial(board, ply_limit)?;
        told.start = told.game.state(position).context("both armies need the same number of pieces")?;
        told.now = told.start;
        Ok(told)
    }

    fn play(&mut self, text: &str) -> Result<()> {
        let action = ugi::legal_action(&self.game, &self.now, text)?;
        self.game.play_action(&mut self.now, action);
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
