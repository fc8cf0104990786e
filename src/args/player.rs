//! Players of Chinese Checkers.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, anyhow};
use clap::Args;
use sternhalma_data::{Board, Encoding, Prefix};
use sternhalma_engine::{Config, Distances, EnginePlayer, PLY_LIMIT, Roster, player};

use crate::context::CommandContext;

/// Definitions of players, and what they play with.
#[derive(Args)]
pub struct PlayerArgs {
    /// TOML file of your own players
    #[arg(long = "players", value_name = "FILE")]
    file: Option<PathBuf>,
    /// Distance table [default: the complete table of the board in the tables directory]
    #[arg(long, value_name = "FILE")]
    table: Option<PathBuf>,
    /// Ply at which a game is drawn
    #[arg(long, default_value_t = PLY_LIMIT)]
    pub ply_limit: u32,
}

/// The default player.
pub const DEFAULT_PLAYER: &str = "sternhalma";

/// Creates players for one board.
pub struct PlayerFactory {
    board: Board,
    ply_limit: u32,
    distances: Option<Distances>,
}

impl PlayerArgs {
    pub fn roster(&self) -> Result<Roster> {
        roster(self.file.as_deref())
    }

    /// Returns the table that the user names, if any.
    pub fn table(&self) -> Option<&Path> {
        self.table.as_deref()
    }

    /// Returns a factory for these players. Opens the table if one of them needs it.
    ///
    /// # Errors
    ///
    /// Fails if the table cannot be opened, or one of the players cannot be created.
    pub fn factory(&self, ctx: &CommandContext, board: Board, configs: &[Config]) -> Result<PlayerFactory> {
        let board = board.for_two()?;
        let mut distances = None;
        if configs.iter().any(Config::needs_table) {
            distances = Some(self::distances(ctx, board, self.table.as_deref())?);
        }
        let factory = PlayerFactory { board, ply_limit: self.ply_limit, distances };
        configs.iter().try_for_each(|config| factory.player(config).map(|_| ()))?;
        Ok(factory)
    }
}

/// Returns the built-in players and those of a file.
pub fn roster(file: Option<&Path>) -> Result<Roster> {
    let mut roster = Roster::built_in();
    if let Some(path) = file {
        let text = std::fs::read_to_string(path).with_context(|| format!("{}: cannot read", path.display()))?;
        roster.add(Roster::parse(&text).with_context(|| path.display().to_string())?);
    }
    Ok(roster)
}

/// Opens the given table, or the complete table of the board.
pub fn distances(ctx: &CommandContext, board: Board, name: Option<&Path>) -> Result<Distances> {
    let path = match name {
        Some(name) => name.to_owned(),
        None => ctx.tables.default_path(Prefix::whole(board), Encoding::Byte)?,
    };
    let table = ctx.open_verified(&path).with_context(|| {
        format!("these players need a distance table of {board}; give one with --table, a partial table too")
    })?;
    Ok(Distances::new(Arc::new(table)))
}

impl PlayerFactory {
    pub fn board(&self) -> Board {
        self.board
    }

    pub fn ply_limit(&self) -> u32 {
        self.ply_limit
    }

    pub fn player(&self, config: &Config) -> Result<Box<dyn EnginePlayer>> {
        player(config, self.board, self.ply_limit, self.distances.as_ref()).map_err(|reason| anyhow!(reason))
    }
}
