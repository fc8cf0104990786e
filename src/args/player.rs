//! Players of Chinese Checkers.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use clap::Args;
use sternhalma_data::table::Coverage;
use sternhalma_data::{Board, Table};
use sternhalma_engine::{Config, Distances, PLY_LIMIT, Roster};

use crate::context::{CommandContext, verified};
use crate::output::status;
use crate::values::{count, report_removed};

/// Definitions of players, and their tables and memory.
#[derive(Args)]
pub struct PlayerArgs {
    /// TOML file of your own players
    #[arg(long = "players", value_name = "FILE", value_parser = players_file, help_heading = "Players")]
    file: Option<PathBuf>,
    /// Distance table [default: the best table of the board in the tables directory]
    #[arg(long, value_name = "FILE", help_heading = "Players")]
    table: Option<PathBuf>,
    /// Ply at which a game is drawn
    #[arg(long, value_name = "PLIES", default_value_t = PLY_LIMIT, value_parser = count::<u32>(1), help_heading = "Board")]
    pub ply_limit: u32,
}

/// The default player.
pub const DEFAULT_PLAYER: &str = "sternhalma";

impl PlayerArgs {
    pub fn roster(&self) -> Result<Roster> {
        roster(self.file.as_deref())
    }

    /// Returns the player that a text describes.
    pub fn config(&self, text: &str) -> Result<Config> {
        player_config(&self.roster()?, text)
    }

    /// Returns the table that the user names, if any.
    pub fn table(&self) -> Option<&Path> {
        self.table.as_deref()
    }

    /// Opens the table of the board if one of the players needs a table.
    ///
    /// # Errors
    ///
    /// Fails if the table cannot be opened.
    pub fn distances(
        &self,
        ctx: &CommandContext,
        board: Board,
        configs: &[Config],
        coverage: Coverage,
    ) -> Result<Option<Distances>> {
        let needed = configs.iter().any(Config::needs_table);
        needed.then(|| distances(ctx, board, self.table.as_deref(), coverage)).transpose()
    }
}

/// Parses the name of a file of players. A number of players is not one.
pub fn players_file(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    if text.parse::<u64>().is_ok() && !path.exists() {
        return Err(format!(
            "expected a TOML file of players, got `{text}`; the game has two players, which --player-x and --player-o of \
             `play` select"
        ));
    }
    Ok(path)
}

/// Returns the built-in players and those of a file.
pub fn roster(file: Option<&Path>) -> Result<Roster> {
    let mut roster = Roster::built_in();
    if let Some(path) = file {
        let text =
            sternhalma_ggp::messages::read_text(path).with_context(|| format!("{}: cannot read", path.display()))?;
        report_removed(&text);
        roster.add(Roster::parse(&text).with_context(|| path.display().to_string())?);
    }
    Ok(roster)
}

/// Returns the player that a text describes. Prints a notice about removed parameters.
pub fn player_config(roster: &Roster, text: &str) -> Result<Config> {
    report_removed(text);
    Ok(roster.config(text)?)
}

/// Opens the given table, or the best table of the board in the tables directory. A partial table of the directory is
/// used only if `coverage` allows it, and with a notice.
///
/// # Errors
///
/// Fails if there is no such table, or it cannot be opened. The message has the command that builds it.
pub fn distances(ctx: &CommandContext, board: Board, name: Option<&Path>, coverage: Coverage) -> Result<Distances> {
    load_distances(map_table(ctx, board, name, coverage)?, board, ctx, name.is_some())
}

/// Opens the same table as [`distances`], also a partial one, or returns estimates with a notice if there is none.
pub fn distances_or_estimates(ctx: &CommandContext, board: Board, name: Option<&Path>) -> Result<Distances> {
    open_distances(ctx, board, name, Coverage::Prefix)?.map_or_else(|| estimates(ctx, board), Ok)
}

/// Returns estimates, with a notice that there is no table.
pub fn estimates(ctx: &CommandContext, board: Board) -> Result<Distances> {
    status!(
        "no distance table of {board} in {}: distances are estimated; for a stronger player: {}",
        ctx.tables.dir()?.display(),
        ctx.tables.advice_for_board(board, Coverage::Prefix)
    );
    Ok(Distances::estimated(board))
}

/// Opens the table of [`distances`], if there is one.
pub fn open_distances(
    ctx: &CommandContext,
    board: Board,
    name: Option<&Path>,
    coverage: Coverage,
) -> Result<Option<Distances>> {
    let table = find_table(ctx, board, name, coverage)?;
    table.map(|table| load_distances(table, board, ctx, name.is_some())).transpose()
}

/// Opens the table of [`distances`] without loading it.
///
/// # Errors
///
/// Fails as `distances` does.
pub fn map_table(ctx: &CommandContext, board: Board, name: Option<&Path>, coverage: Coverage) -> Result<Table> {
    find_table(ctx, board, name, coverage)?.with_context(|| {
        let kind = if coverage == Coverage::Complete { "a complete one" } else { "one" };
        let dir = ctx.tables.dir().unwrap_or_default();
        let advice = ctx.tables.advice_for_board(board, coverage);
        format!("{}, and {} does not have {kind}; {advice}", need(board), dir.display())
    })
}

fn find_table(ctx: &CommandContext, board: Board, name: Option<&Path>, coverage: Coverage) -> Result<Option<Table>> {
    let table = match name {
        Some(name) => ctx.tables.open_mapped(name).map(Some),
        None => ctx.tables.lookup(board, coverage),
    };
    table.with_context(|| need(board))
}

/// Loads and checks a table for a search. A part of a table that the user has not named gets a notice.
pub fn load_distances(table: Table, board: Board, ctx: &CommandContext, named: bool) -> Result<Distances> {
    let table = ctx.tables.load_for_search(table).and_then(verified).with_context(|| need(board))?;
    if !named && !table.prefix().is_whole() {
        let exact = table.proven_depth().map_or(String::new(), |depth| format!(", exact up to distance {depth}"));
        status!("no complete table of {board}: using {}{exact}", table.path().display());
    }
    Ok(Distances::new(Arc::new(table)))
}

fn need(board: Board) -> String {
    format!("these players need a distance table of {board}")
}
