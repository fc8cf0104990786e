//! Players and limits on the command line.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use clap::Args;
use rayon::{ThreadPool, ThreadPoolBuilder};
use sternhalma_data::{Board, Encoding, Prefix, Table};
use sternhalma_engine::{Config, Distances, PLY_LIMIT, Player, Roster, Terms, player};
use sternhalma_ggp::Limits;

use crate::files::Tables;
use crate::state::BoardArgs;

/// Where players come from, and the game they play.
#[derive(Args)]
pub struct PlayerArgs {
    /// Players of your own, in TOML like the ones that ship
    #[arg(long = "players", value_name = "FILE")]
    file: Option<PathBuf>,
    /// The distance table [default: the whole table of the board in the tables directory]
    #[arg(long, value_name = "FILE")]
    table: Option<PathBuf>,
    /// The ply at which a game is a draw
    #[arg(long, default_value_t = PLY_LIMIT)]
    pub ply_limit: u32,
}

/// What two players play by.
#[derive(Args)]
pub struct TermsArgs {
    /// Random plies before the players take over
    #[arg(long, default_value_t = 2)]
    opening_plies: u32,
    /// Fixes openings and random numbers
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Games at a time [default: one a core]
    #[arg(long)]
    threads: Option<NonZeroUsize>,
    #[command(flatten)]
    limits: LimitArgs,
    #[command(flatten)]
    pub board: BoardArgs,
    #[command(flatten)]
    pub players: PlayerArgs,
}

impl TermsArgs {
    pub fn terms(&self, club: &Club, games: u64) -> Terms {
        Terms {
            board: club.board(),
            games,
            limits: self.limits.limits(),
            opening_plies: self.opening_plies,
            ply_limit: club.ply_limit(),
            seed: self.seed,
        }
    }

    /// The threads that games are played on.
    pub fn pool(&self) -> Result<ThreadPool> {
        Ok(ThreadPoolBuilder::new().num_threads(self.threads.map_or(0, NonZeroUsize::get)).build()?)
    }
}

/// What a player may spend on a move; it ends at whichever comes first.
#[derive(Args)]
pub struct LimitArgs {
    /// Node expansions a move [default: 100000, if no other limit is given]
    #[arg(long)]
    nodes: Option<u64>,
    /// Playouts a move
    #[arg(long)]
    playouts: Option<u64>,
    /// Plies of alpha-beta search
    #[arg(long)]
    depth: Option<u32>,
    /// Milliseconds a move
    #[arg(long, value_name = "MS")]
    movetime: Option<u64>,
}

impl LimitArgs {
    pub fn limits(&self) -> Limits {
        let limits = Limits {
            playouts: self.playouts,
            expansions: self.nodes,
            depth: self.depth,
            time: self.movetime.map(Duration::from_millis),
        };
        if limits == Limits::default() { Limits::expansions(100_000) } else { limits }
    }
}

/// A board's players, made ready as often as they are needed.
pub struct Club {
    board: Board,
    ply_limit: u32,
    distances: Option<Distances>,
}

impl PlayerArgs {
    /// The configuration of each named player.
    pub fn configs<const N: usize>(&self, names: [&str; N]) -> Result<[Config; N]> {
        let roster = self.roster()?;
        let configs: Vec<Config> = names.iter().map(|name| roster.config(name)).collect::<Result<_, _>>()?;
        Ok(configs.try_into().expect("there is a configuration a name"))
    }

    pub fn roster(&self) -> Result<Roster> {
        let mut roster = Roster::built_in();
        if let Some(path) = &self.file {
            let text = std::fs::read_to_string(path).with_context(|| format!("{}: cannot read", path.display()))?;
            roster.add(Roster::parse(&text).with_context(|| path.display().to_string())?);
        }
        Ok(roster)
    }

    /// Opens the table if one of the players needs it.
    pub fn club(&self, tables: &Tables, board: Board, configs: &[Config]) -> Result<Club> {
        let board = board.for_two()?;
        let mut distances = None;
        if configs.iter().any(Config::needs_table) {
            let path = match &self.table {
                Some(path) => tables.find(path)?,
                None => tables.default_path(Prefix::whole(board), Encoding::Byte)?,
            };
            let table = tables.load(&path, Table::options()).with_context(|| {
                format!("these players need a distance table of {board}; --table names one, of a prefix too")
            })?;
            sternhalma_builder::verify(&table, false, 0, &())?;
            distances = Some(Distances::new(Arc::new(table)));
        }
        let club = Club { board, ply_limit: self.ply_limit, distances };
        configs.iter().try_for_each(|config| club.player(config).map(|_| ()))?;
        Ok(club)
    }
}

impl Club {
    pub fn board(&self) -> Board {
        self.board
    }

    pub fn ply_limit(&self) -> u32 {
        self.ply_limit
    }

    pub fn player(&self, config: &Config) -> Result<Box<dyn Player>> {
        player(config, self.board, self.ply_limit, self.distances.as_ref()).map_err(|why| anyhow!(why))
    }
}
