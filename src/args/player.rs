//! Players and limits on the command line.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, anyhow};
use clap::Args;
use sternhalma_data::{Board, Encoding, Prefix};
use sternhalma_engine::{Config, Distances, EnginePlayer, PLY_LIMIT, Roster, player};

use crate::context::CommandContext;

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

/// Who plays if nobody else is told.
pub const DEFAULT_PLAYER: &str = "sternhalma";

/// A board's players, made ready as often as they are needed.
pub struct Club {
    board: Board,
    ply_limit: u32,
    distances: Option<Distances>,
}

impl PlayerArgs {
    pub fn roster(&self) -> Result<Roster> {
        roster(self.file.as_deref())
    }

    /// Opens the table if one of the players needs it.
    pub fn club(&self, ctx: &CommandContext, board: Board, configs: &[Config]) -> Result<Club> {
        let board = board.for_two()?;
        let mut distances = None;
        if configs.iter().any(Config::needs_table) {
            distances = Some(self::distances(ctx, board, self.table.as_deref())?);
        }
        let club = Club { board, ply_limit: self.ply_limit, distances };
        configs.iter().try_for_each(|config| club.player(config).map(|_| ()))?;
        Ok(club)
    }
}

/// The players that ship, and those of a file.
pub fn roster(file: Option<&Path>) -> Result<Roster> {
    let mut roster = Roster::built_in();
    if let Some(path) = file {
        let text = std::fs::read_to_string(path).with_context(|| format!("{}: cannot read", path.display()))?;
        roster.add(Roster::parse(&text).with_context(|| path.display().to_string())?);
    }
    Ok(roster)
}

/// The distances of a table that is named, or of the board's whole one.
pub fn distances(ctx: &CommandContext, board: Board, name: Option<&Path>) -> Result<Distances> {
    let path = match name {
        Some(name) => name.to_owned(),
        None => ctx.tables.default_path(Prefix::whole(board), Encoding::Byte)?,
    };
    let table = ctx.open_verified(&path).with_context(|| {
        format!("these players need a distance table of {board}; --table names one, of a prefix too")
    })?;
    Ok(Distances::new(Arc::new(table)))
}

impl Club {
    pub fn board(&self) -> Board {
        self.board
    }

    pub fn ply_limit(&self) -> u32 {
        self.ply_limit
    }

    pub fn player(&self, config: &Config) -> Result<Box<dyn EnginePlayer>> {
        player(config, self.board, self.ply_limit, self.distances.as_ref()).map_err(|why| anyhow!(why))
    }
}
