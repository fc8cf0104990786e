//! Where tournaments are played: Chinese Checkers boards, and rulesheets.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use serde_json::{Value, json};
use sternhalma_data::Board;
use sternhalma_engine::{
    ChineseCheckers, Config, Distances, EngineContestant, ExternalPlayer, ExternalPlayerError, Filter, GameState,
    Separated, player,
};
use sternhalma_ggp::arena::{self, Contestant, GameRecord, LockStepSetup, PolicyPlayer, Standings, TournamentSetup};
use sternhalma_ggp::gdl::network::{LaneGame, Network, NetworkGame};
use sternhalma_ggp::gdl::{ProverGame, Reasoner, Rules};
use sternhalma_ggp::policy::PolicyGame;
use sternhalma_ggp::{Limits, Policy};

use super::settings::{Engine, Player, Plays, Settings};
use crate::args::player::{distances, roster};
use crate::context::CommandContext;
use crate::output::status;

/// Games at a time a thread in lock step, unless told. Fewer leave lanes empty
/// that cost as much; the trees of more are too large for the caches.
const BEST_GAMES: NonZeroUsize = NonZeroUsize::new(128).expect("128 is not 0");

/// Told of each game as it ends.
pub type Report<'a> = dyn FnMut(&GameRecord, &Standings) -> Result<(), Failure> + 'a;

/// What ends a run before its last game.
pub struct Failure(pub anyhow::Error);

impl From<String> for Failure {
    fn from(why: String) -> Failure {
        Failure(anyhow!(why))
    }
}

/// A game with its players, ready to play.
pub trait Room {
    /// What is played, for the log.
    fn game(&self) -> Value;

    /// The number of roles.
    fn roles(&self) -> usize;

    /// Who plays, for the log.
    fn players(&self) -> Vec<Value>;

    /// Whether every search of a player ends, by these limits or by itself.
    fn ends_by(&self, player: usize, limits: &Limits) -> bool;

    /// How many games are played at a time by so many threads.
    fn at_a_time(&self, threads: NonZeroUsize) -> NonZeroUsize {
        threads
    }

    /// Plays the games that the standings lack.
    fn play(
        &self,
        standings: &mut Standings,
        threads: NonZeroUsize,
        stop: &AtomicBool,
        report: &mut Report<'_>,
    ) -> Result<()>;
}

/// Opens all that the players need. Programs are started once, so that one
/// that cannot play is told before the first game.
pub fn open(ctx: &CommandContext, settings: &Settings) -> Result<Box<dyn Room>> {
    let Some(path) = &settings.rules else { return Ok(Box::new(BoardRoom::open(ctx, settings)?)) };
    if settings.adjudicate == Some(true) {
        bail!("nothing adjudicates a game of a rulesheet");
    }
    let of_boards =
        [settings.side.is_some(), settings.pieces.is_some(), settings.table.is_some(), settings.players.is_some()];
    if of_boards.contains(&true) {
        bail!("side, pieces, table and players are of Chinese Checkers, not of a rulesheet");
    }
    let told = || path.display().to_string();
    let text = std::fs::read_to_string(path).with_context(|| format!("{}: cannot read", path.display()))?;
    let rules = Rules::parse(&text).with_context(told)?;
    if let Some(games) = settings.lock_step {
        if settings.engine == Some(Engine::Prover) {
            bail!("games in lock step are played by the network, not by proof: leave out --engine prover");
        }
        let network = Network::new(&rules).with_context(told)?;
        return Ok(Box::new(LockStepRoom::new(network, &text, settings, games).with_context(told)?));
    }
    let network = match settings.engine {
        Some(Engine::Prover) => None,
        Some(Engine::Sequential) => Some(Network::new(&rules).with_context(told)?),
        None => Network::new(&rules).ok(),
    };
    Ok(match network {
        Some(network) => Box::new(RulesRoom::new(
            NetworkGame::new(network).with_rules(rules),
            "sequential",
            &text,
            &settings.player,
        )?),
        None => {
            Box::new(RulesRoom::new(ProverGame::new(&rules).with_context(told)?, "prover", &text, &settings.player)?)
        }
    })
}

/// Chinese Checkers and its players.
struct BoardRoom {
    game: ChineseCheckers,
    players: Vec<Kind>,
    /// What games are adjudicated by.
    separated: Option<Separated>,
    ply_limit: u32,
}

/// What plays Chinese Checkers.
enum Kind {
    BuiltIn { config: Config, distances: Option<Distances> },
    Program(Program),
}

/// A program that speaks the engine protocol.
struct Program {
    command: String,
    options: Vec<(String, String)>,
    dir: Option<PathBuf>,
    starting: Duration,
}

impl Program {
    fn peer(&self) -> Result<ExternalPlayer, ExternalPlayerError> {
        let peer = ExternalPlayer::new(&self.command, self.options.clone(), self.dir.clone())?;
        Ok(peer.with_starting_patience(self.starting))
    }
}

impl Kind {
    fn describe(&self) -> Value {
        match self {
            Kind::BuiltIn { config, distances } => {
                json!({ "player": config, "table": distances.as_ref().map(checksum) })
            }
            Kind::Program(Program { command, options, dir, .. }) => {
                json!({ "command": command, "options": options, "dir": dir })
            }
        }
    }
}

impl BoardRoom {
    fn open(ctx: &CommandContext, settings: &Settings) -> Result<BoardRoom> {
        if settings.ponder == Some(true) || settings.start.is_some_and(|start| start != 0.0) {
            bail!("players of Chinese Checkers think when it is their turn; those of rulesheets can do more");
        }
        if settings.lock_step.is_some() {
            bail!(
                "games of rulesheets can be played in lock step, those of Chinese Checkers cannot; --rules names one"
            );
        }
        if settings.engine.is_some() {
            bail!("an engine plays a rulesheet, and Chinese Checkers needs none; --rules names one");
        }
        let board = Board::new(settings.side.unwrap_or(9), settings.pieces.unwrap_or(6))?.for_two()?;
        let ply_limit = settings.ply_limit();
        let game = ChineseCheckers::new(board, Filter::All).with_ply_limit(ply_limit);
        let mut shelf = Shelf { ctx, board, default: settings.table.as_deref(), open: Vec::new() };
        let roster = roster(settings.players.as_deref())?;
        let patience = settings.patience()?;
        let kind = |told: &Player| match told.plays()? {
            Plays::BuiltIn(text) => {
                let config = roster.config(text)?;
                let distances = match config.needs_table() {
                    true => Some(shelf.take(told.table.as_deref())?),
                    false => None,
                };
                player(&config, board, ply_limit, distances.as_ref()).map_err(|why| anyhow!("{text}: {why}"))?;
                Ok(Kind::BuiltIn { config, distances })
            }
            Plays::Program(command) => {
                let options = told.options.clone().into_iter().collect();
                let program =
                    Program { command: command.to_owned(), options, dir: told.dir.clone(), starting: patience };
                let greeted = program.peer()?.greet(patience);
                status!("{command}: {}", greeted.map_err(|fault| anyhow!("{command}: {fault}"))?);
                Ok(Kind::Program(program))
            }
        };
        let players = settings.player.iter().map(kind).collect::<Result<_>>()?;
        let separated = match settings.adjudicate {
            Some(true) => Some(Separated::new(&game, shelf.take(None)?)),
            _ => None,
        };
        Ok(BoardRoom { game, players, separated, ply_limit })
    }
}

impl Room for BoardRoom {
    fn game(&self) -> Value {
        let board = self.game.board();
        let judge = self.separated.as_ref().map(|separated| checksum(separated.distances()));
        json!({ "side": board.size(), "pieces": board.pieces(), "adjudicated-by": judge })
    }

    fn roles(&self) -> usize {
        2
    }

    fn players(&self) -> Vec<Value> {
        self.players.iter().map(Kind::describe).collect()
    }

    fn ends_by(&self, player: usize, limits: &Limits) -> bool {
        match &self.players[player] {
            Kind::BuiltIn { config, .. } => config.ends_by(limits),
            Kind::Program(_) => true,
        }
    }

    fn play(
        &self,
        standings: &mut Standings,
        threads: NonZeroUsize,
        stop: &AtomicBool,
        report: &mut Report<'_>,
    ) -> Result<()> {
        let make = |entrant: usize| -> Box<dyn Contestant<ChineseCheckers>> {
            match &self.players[entrant] {
                Kind::BuiltIn { config, distances } => {
                    let made = player(config, self.game.board(), self.ply_limit, distances.as_ref());
                    Box::new(EngineContestant(made.expect("the player has been made before")))
                }
                Kind::Program(program) => Box::new(program.peer().expect("the command has been read before")),
            }
        };
        let adjudicator = |state: &GameState| {
            let winner = self.separated.as_ref()?.winner(&self.game, state)?;
            Some([0, 1].map(|role| if role == winner as usize { 100u8 } else { 0 }).to_vec())
        };
        let adjudicator = standings.schedule().adjudicate.then_some(&adjudicator as _);
        let host = TournamentSetup { game: &self.game, contestants: &make, adjudicator };
        arena::run(&host, standings, threads, stop, report).map_err(|failure| failure.0)
    }
}

/// What tells a table.
fn checksum(distances: &Distances) -> String {
    format!("{:016x}", distances.table().checksum())
}

/// Tables, each opened once.
struct Shelf<'a> {
    ctx: &'a CommandContext,
    board: Board,
    /// The table of players that name none.
    default: Option<&'a Path>,
    open: Vec<(Option<PathBuf>, Distances)>,
}

impl Shelf<'_> {
    fn take(&mut self, name: Option<&Path>) -> Result<Distances> {
        let name = name.or(self.default);
        if let Some((_, found)) = self.open.iter().find(|(open, _)| open.as_deref() == name) {
            return Ok(found.clone());
        }
        let opened = distances(self.ctx, self.board, name)?;
        self.open.push((name.map(Path::to_owned), opened.clone()));
        Ok(opened)
    }
}

/// What tells a rulesheet in a log, in place of its text.
fn digest(rules: &str) -> String {
    format!("{:032x}", xxhash_rust::xxh3::xxh3_128(rules.as_bytes()))
}

/// Tells the rulesheet of a game by its digest, where an older log has its text.
pub fn shorten(game: &mut Value) {
    if let Some(Value::String(rules)) = game.get_mut("rules")
        && rules.contains('(')
    {
        *rules = digest(rules);
    }
}

/// A rulesheet and its players.
struct RulesRoom<G> {
    game: G,
    /// How it is played, and what tells the rules.
    engine: &'static str,
    digest: String,
    players: Vec<Policy>,
}

impl<G: PolicyGame + Reasoner> RulesRoom<G> {
    fn new(game: G, engine: &'static str, text: &str, players: &[Player]) -> Result<RulesRoom<G>> {
        let policy = |told: &Player| match told.plays()? {
            Plays::BuiltIn(text) => Ok(text.parse::<Policy>()?),
            Plays::Program(command) => {
                bail!(
                    "{command}: programs of the engine protocol play Chinese Checkers; `ggp-match` plays rulesheets with other programs"
                )
            }
        };
        let players = players.iter().map(policy).collect::<Result<_>>()?;
        Ok(RulesRoom { game, engine, digest: digest(text), players })
    }
}

impl<G: PolicyGame + Reasoner> Room for RulesRoom<G> {
    fn game(&self) -> Value {
        json!({ "engine": self.engine, "rules": self.digest })
    }

    fn roles(&self) -> usize {
        self.game.role_names().len()
    }

    fn players(&self) -> Vec<Value> {
        self.players.iter().map(|policy| json!({ "policy": policy.to_string() })).collect()
    }

    fn ends_by(&self, player: usize, limits: &Limits) -> bool {
        self.players[player] == Policy::Random
            || [limits.playouts, limits.expansions].iter().any(Option::is_some)
            || limits.time.is_some()
    }

    fn play(
        &self,
        standings: &mut Standings,
        threads: NonZeroUsize,
        stop: &AtomicBool,
        report: &mut Report<'_>,
    ) -> Result<()> {
        let make =
            |entrant: usize| -> Box<dyn Contestant<G>> { Box::new(PolicyPlayer::new(self.players[entrant].clone())) };
        let host = TournamentSetup { game: &self.game, contestants: &make, adjudicator: None };
        arena::run(&host, standings, threads, stop, report).map_err(|failure| failure.0)
    }
}

/// A rulesheet whose games are played in lock step. In the log it is the room
/// of the same network.
struct LockStepRoom {
    room: RulesRoom<NetworkGame>,
    lanes: LaneGame,
    /// Games at a time; 0 for as many as are best.
    games: usize,
}

impl LockStepRoom {
    fn new(network: Network, text: &str, settings: &Settings, games: usize) -> Result<LockStepRoom> {
        let lanes = LaneGame::new(NetworkGame::new(network.clone()))?;
        let room = RulesRoom::new(NetworkGame::new(network), "sequential", text, &settings.player)?;
        Ok(LockStepRoom { room, lanes, games })
    }
}

impl Room for LockStepRoom {
    fn game(&self) -> Value {
        self.room.game()
    }

    fn roles(&self) -> usize {
        self.room.roles()
    }

    fn players(&self) -> Vec<Value> {
        self.room.players()
    }

    fn ends_by(&self, player: usize, limits: &Limits) -> bool {
        self.room.ends_by(player, limits)
    }

    fn at_a_time(&self, threads: NonZeroUsize) -> NonZeroUsize {
        NonZeroUsize::new(self.games).unwrap_or(threads.saturating_mul(BEST_GAMES))
    }

    fn play(
        &self,
        standings: &mut Standings,
        threads: NonZeroUsize,
        stop: &AtomicBool,
        report: &mut Report<'_>,
    ) -> Result<()> {
        let games = self.at_a_time(threads);
        let host = LockStepSetup { game: &self.lanes, policies: &self.room.players, games };
        arena::run_in_lock_step(host, standings, threads, stop, report).map_err(|failure| failure.0)
    }
}
