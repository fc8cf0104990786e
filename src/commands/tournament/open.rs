//! Tournaments from their options: reads rulesheets and opens tables.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result, bail};
use sternhalma_data::board::Board;
use sternhalma_data::table::Coverage;
use sternhalma_engine::arena::{BoardBackend, BoardPlayer, ExternalCommand, introduce, machine_rate};
use sternhalma_engine::external::{ProgramCommand, ProtocolLog};
use sternhalma_engine::{Distances, GameSetup};
use sternhalma_ggp::MemoryBudget;
use sternhalma_ggp::arena::{
    ArenaError, Backend, Origin, RulesEngine, Schedule, Tournament, rules_backend, rulesheet_errors,
};
use sternhalma_ggp::gdl::Rulesheet;

use crate::args::player::{distances, player_config, roster};
use crate::args::rule_set::read_rules;
use crate::args::tournament::{GameSpec, PlannedTournament, PlayerEntry, PlayerKind};
use crate::context::CommandContext;
use crate::output::{counted, status};
use crate::values::policy;

/// Opens everything that a tournament needs. Starts each external program once, so that one that
/// cannot play is reported before the first game. Searches share `memory`. Lines of the engine
/// protocol are added to `log`.
pub fn open(
    ctx: &CommandContext,
    spec: PlannedTournament,
    memory: &MemoryBudget,
    log: Option<&ProtocolLog>,
) -> Result<Tournament> {
    let PlannedTournament { game, players, mut schedule, openings } = spec;
    if log.is_some() && !players.iter().any(|player| matches!(player.kind(), Ok(PlayerKind::External(_)))) {
        bail!("--debug records the protocol of external programs, and no player is one; leave it out");
    }
    let backend: Box<dyn Backend> = match game {
        GameSpec::Rules { path, engine, lenient } => open_rules(&path, engine, lenient, &players, memory)?,
        GameSpec::Board { size, pieces, rules, table, players: file } => {
            let board = Board::new(size, pieces)?.for_two()?;
            let setup = GameSetup { board, rules, ply_limit: schedule.ply_limit };
            let mut tables = BoardTables { ctx, setup, default: table.as_deref(), open: Vec::new() };
            let players = open_players(&mut tables, &players, file.as_deref(), &mut schedule, log)?;
            // The default table decides games whose armies have separated.
            let adjudicator = if schedule.adjudicate { Some(tables.get(None)?) } else { None };
            Box::new(BoardBackend::new(setup, players, adjudicator).within(memory))
        }
    };
    if let Some(openings) = openings {
        backend.check_openings(&schedule, &AtomicBool::new(false)).map_err(|error| match error {
            ArenaError::Openings(error) => openings.locate(error),
            error => error.into(),
        })?;
    }
    let program = format!("sternhalma {}", ctx.version);
    Ok(Tournament::new(backend, schedule)?.with_origin(Origin { program, machine_rate: machine_rate() }))
}

fn open_rules(
    path: &Path,
    engine: RulesEngine,
    lenient: bool,
    players: &[PlayerEntry],
    memory: &MemoryBudget,
) -> Result<Box<dyn Backend>> {
    let text = read_rules(path)?;
    let policy_of = |player: &PlayerEntry| match player.kind()? {
        PlayerKind::BuiltIn(text) => Ok(policy(text)?),
        PlayerKind::External(command) => {
            bail!("{command}: a UGI program can only play Chinese Checkers; for rulesheets use `ggp-match`")
        }
    };
    let sheet = Rulesheet::parse(&text).with_context(|| path.display().to_string())?;
    if !lenient {
        refuse_invalid(&sheet).with_context(|| path.display().to_string())?;
    }
    let policies = players.iter().map(policy_of).collect::<Result<_>>()?;
    let backend = rules_backend(&sheet, engine, policies, memory).with_context(|| path.display().to_string())?;
    if let Some(reason) = backend.notice() {
        status!("{}: the prover plays it, which is slow: {reason}", path.display());
    }
    Ok(backend)
}

/// Refuses a rulesheet in which `gdl check` finds an error.
fn refuse_invalid(sheet: &Rulesheet) -> Result<()> {
    match &rulesheet_errors(sheet)[..] {
        [] => Ok(()),
        [error] => bail!("{error} --lenient plays the rulesheet despite the error"),
        [error, rest @ ..] => bail!(
            "{error} `gdl check` reports {} more; --lenient plays the rulesheet despite the errors",
            counted(rest.len(), "error")
        ),
    }
}

/// Opens the players, built in or from a file of players. In `schedule`, programs without a
/// name of their own get the title with which they introduce themselves.
fn open_players(
    tables: &mut BoardTables<'_>,
    players: &[PlayerEntry],
    file: Option<&Path>,
    schedule: &mut Schedule,
    log: Option<&ProtocolLog>,
) -> Result<Vec<BoardPlayer>> {
    let roster = roster(file)?;
    let patience = std::time::Duration::from_millis(schedule.patience);
    let mut open = |options: &PlayerEntry| match options.kind()? {
        PlayerKind::BuiltIn(text) => {
            let config = player_config(&roster, text)?;
            let table = if config.needs_table() { Some(tables.get(options.table.as_deref())?) } else { None };
            let player = config.prepare(tables.setup, table.as_ref()).with_context(|| text.to_owned())?;
            Ok(BoardPlayer::BuiltIn(Box::new(player)))
        }
        PlayerKind::External(command) => {
            let set = options.options.clone().into_iter().collect();
            let command = ProgramCommand::new(command, set, options.dir.clone())?;
            let log = log.map(|log| (log.clone(), options.label()));
            Ok(BoardPlayer::External(ExternalCommand::new(command, patience, log)))
        }
    };
    let mut opened: Vec<BoardPlayer> = players.iter().map(&mut open).collect::<Result<_>>()?;
    let is_named: Vec<bool> = players.iter().map(PlayerEntry::is_named).collect();
    introduce(&mut opened, &is_named, schedule, &AtomicBool::new(false), |command, title| {
        status!("{command}: {title}");
    })?;
    Ok(opened)
}

/// Distance tables, each opened once.
struct BoardTables<'a> {
    ctx: &'a CommandContext,
    setup: GameSetup,
    /// The table of players without their own table.
    default: Option<&'a Path>,
    open: Vec<(Option<PathBuf>, Distances)>,
}

impl BoardTables<'_> {
    /// Returns the distances of a table, or of the default table without a name.
    fn get(&mut self, name: Option<&Path>) -> Result<Distances> {
        let name = name.or(self.default);
        if let Some((_, distances)) = self.open.iter().find(|(open, _)| open.as_deref() == name) {
            return Ok(distances.clone());
        }
        let opened = distances(self.ctx, self.setup.board, name, Coverage::Complete)?;
        self.open.push((name.map(Path::to_owned), opened.clone()));
        Ok(opened)
    }
}
