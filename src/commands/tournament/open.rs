//! Tournaments from their options: reads rulesheets and players, and opens tables.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use sternhalma_data::board::Board;
use sternhalma_data::table::Coverage;
use sternhalma_engine::arena::{
    BoardBackend, BoardPlayer, ExternalCommand, check_player_budgets, introduce, machine_rate,
};
use sternhalma_engine::external::{ProgramCommand, ProtocolLog};
use sternhalma_engine::{ChineseCheckers, Config, Distances, Filter, GameSetup, GameState, Roster, WeightsFiles};
use sternhalma_ggp::arena::{
    ArenaError, Backend, Openings, Origin, RulesEngine, Schedule, Shard, Tournament, check_policies, rules_backend,
};
use sternhalma_ggp::gdl::Rulesheet;
use sternhalma_ggp::{MemoryBudget, Policy};

use crate::args::player::{load_distances, map_table, player_config, roster};
use crate::args::rule_set::read_rules;
use crate::args::rulesheet::playable_rulesheet;
use crate::args::tournament::{GameSpec, OpeningsFile, PlannedTournament, PlayerEntry, PlayerKind, TournamentOptions};
use crate::context::CommandContext;
use crate::output::status;
use crate::values::policy;

/// A tournament whose options, rulesheet, players and budgets have been read and checked. What is large is not open yet.
pub struct ResolvedTournament {
    game: ResolvedGame,
    schedule: Schedule,
    /// The file of the openings in the schedule.
    openings: Option<OpeningsFile>,
}

enum ResolvedGame {
    Rules { path: PathBuf, sheet: Rulesheet, engine: RulesEngine, policies: Vec<Policy> },
    Board { setup: GameSetup, players: Vec<ResolvedPlayer>, openings: Openings<GameState>, table: Option<PathBuf> },
}

/// A player of Chinese Checkers.
enum ResolvedPlayer {
    BuiltIn { text: String, config: Box<Config>, table: Option<PathBuf> },
    Program { command: ProgramCommand, label: String, is_named: bool },
}

impl ResolvedTournament {
    /// Returns whether a player is an external program.
    pub fn has_programs(&self) -> bool {
        let ResolvedGame::Board { players, .. } = &self.game else { return false };
        players.iter().any(|player| matches!(player, ResolvedPlayer::Program { .. }))
    }
}

/// Reads all that a tournament needs except tables, weights and programs, and checks that they fit each other.
pub fn resolve(options: TournamentOptions, shard: Option<Shard>) -> Result<ResolvedTournament> {
    let PlannedTournament { game, players, spec, openings } = options.resolve(shard)?;
    match game {
        GameSpec::Rules { path, engine, lenient } => {
            let text = read_rules(&path)?;
            let policies: Vec<Policy> = players.iter().map(policy_of).collect::<Result<_>>()?;
            let schedule = spec.schedule()?;
            check_policies(&schedule, engine, &policies)?;
            let sheet = playable_rulesheet(&path, &text, lenient)?;
            let game = ResolvedGame::Rules { path, sheet, engine, policies };
            Ok(ResolvedTournament { game, schedule, openings })
        }
        GameSpec::Board { size, pieces, rules, table, players: file } => {
            let board = Board::new(size, pieces)?.for_two()?;
            let roster = roster(file.as_deref())?;
            let players: Vec<ResolvedPlayer> =
                players.iter().map(|player| board_player(&roster, player)).collect::<Result<_>>()?;
            let schedule = spec.schedule()?;
            check_player_budgets(&schedule, |player| match &players[player] {
                ResolvedPlayer::BuiltIn { config, .. } => Some(config),
                ResolvedPlayer::Program { .. } => None,
            })?;
            let setup = GameSetup { board, rules, ply_limit: schedule.ply_limit };
            let read = Openings::new(&ChineseCheckers::of(setup, Filter::All), &schedule);
            let read = read.map_err(|error| located(openings.as_ref(), error.into()))?;
            let game = ResolvedGame::Board { setup, players, openings: read, table };
            Ok(ResolvedTournament { game, schedule, openings })
        }
    }
}

/// Returns an error of a tournament, in which an opening has its place in the file.
fn located(openings: Option<&OpeningsFile>, error: ArenaError) -> anyhow::Error {
    match (error, openings) {
        (ArenaError::Openings(error), Some(file)) => file.locate(error),
        (error, _) => error.into(),
    }
}

fn policy_of(player: &PlayerEntry) -> Result<Policy> {
    match player.kind()? {
        PlayerKind::BuiltIn(text) => Ok(policy(text)?),
        PlayerKind::External(command) => {
            bail!("{command}: a UGI program can only play Chinese Checkers; for rulesheets use `ggp-match`")
        }
    }
}

fn board_player(roster: &Roster, player: &PlayerEntry) -> Result<ResolvedPlayer> {
    Ok(match player.kind()? {
        PlayerKind::BuiltIn(text) => {
            let config = Box::new(player_config(roster, text)?);
            ResolvedPlayer::BuiltIn { text: text.to_owned(), config, table: player.table.clone() }
        }
        PlayerKind::External(command) => {
            let set = player.options.clone().into_iter().collect();
            let command = ProgramCommand::new(command, set, player.dir.clone())?;
            ResolvedPlayer::Program { command, label: player.label(), is_named: player.is_named() }
        }
    })
}

/// Opens what is large, and starts each external program, so that one that cannot play is reported before the first
/// game. Searches share `memory`. Lines of the engine protocol are added to `log`.
pub fn open(
    ctx: &CommandContext,
    tournament: ResolvedTournament,
    memory: &MemoryBudget,
    log: Option<&ProtocolLog>,
) -> Result<Tournament> {
    let ResolvedTournament { game, mut schedule, openings: file } = tournament;
    let backend: Box<dyn Backend> = match game {
        ResolvedGame::Rules { path, sheet, engine, policies } => {
            let backend =
                rules_backend(&sheet, engine, policies, memory).with_context(|| path.display().to_string())?;
            if let Some(reason) = backend.notice() {
                status!("{}: the prover plays it, which is slow: {reason}", path.display());
            }
            backend
        }
        ResolvedGame::Board { setup, players, openings, table } => {
            let mut tables = BoardTables { ctx, setup, default: table.as_deref(), named: Vec::new(), open: Vec::new() };
            let players = open_players(&mut tables, players, &mut schedule, log)?;
            // The default table decides games whose armies have separated.
            let adjudicator = if schedule.adjudicate { Some(tables.get(None)?) } else { None };
            Box::new(BoardBackend::new(setup, players, adjudicator).within(memory).with_openings(openings))
        }
    };
    let program = format!("sternhalma {}", ctx.version);
    let tournament = Tournament::new(backend, schedule).map_err(|error| located(file.as_ref(), error))?;
    Ok(tournament.with_origin(Origin { program, machine_rate: machine_rate() }))
}

/// Opens the players. In `schedule`, programs without a name of their own get the title with which they introduce
/// themselves.
fn open_players(
    tables: &mut BoardTables<'_>,
    players: Vec<ResolvedPlayer>,
    schedule: &mut Schedule,
    log: Option<&ProtocolLog>,
) -> Result<Vec<BoardPlayer>> {
    let (patience, weights) = (Duration::from_millis(schedule.patience), WeightsFiles::default());
    let (mut opened, mut named) = (Vec::new(), Vec::new());
    for player in players {
        named.push(!matches!(player, ResolvedPlayer::Program { is_named: false, .. }));
        opened.push(match player {
            ResolvedPlayer::BuiltIn { text, config, table } => {
                let table = if config.needs_table() { Some(tables.get(table.as_deref())?) } else { None };
                let player = config.prepare_from(tables.setup, table.as_ref(), &weights).context(text)?;
                BoardPlayer::BuiltIn(Box::new(player))
            }
            ResolvedPlayer::Program { command, label, .. } => BoardPlayer::External(Box::new(ExternalCommand::new(
                command,
                patience,
                log.map(|log| (log.clone(), label)),
            ))),
        });
    }
    introduce(&mut opened, &named, schedule, &AtomicBool::new(false), |command, title| {
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
    /// By the given names and by place.
    named: Vec<(Option<PathBuf>, Distances)>,
    open: Vec<(PathBuf, Distances)>,
}

impl BoardTables<'_> {
    /// Returns the distances of a table, or of the default table without a name.
    fn get(&mut self, name: Option<&Path>) -> Result<Distances> {
        let name = name.or(self.default);
        if let Some((_, distances)) = self.named.iter().find(|(known, _)| known.as_deref() == name) {
            return Ok(distances.clone());
        }
        let distances = self.find(name)?;
        self.named.push((name.map(Path::to_owned), distances.clone()));
        Ok(distances)
    }

    /// Opens the table with a name that is new, unless it is open under another one.
    fn find(&mut self, name: Option<&Path>) -> Result<Distances> {
        let table = map_table(self.ctx, self.setup.board, name, Coverage::Complete)?;
        let place = table.path().canonicalize().unwrap_or_else(|_| table.path().to_owned());
        if let Some((_, distances)) = self.open.iter().find(|(open, _)| *open == place) {
            return Ok(distances.clone());
        }
        let opened = load_distances(table, self.setup.board, self.ctx, name.is_some())?;
        self.open.push((place, opened.clone()));
        Ok(opened)
    }
}

#[cfg(test)]
mod tests {
    use clap::{Args as _, Command, FromArgMatches};
    use sternhalma_builder::TableBuilder;
    use sternhalma_data::{Prefix, RuleSet};

    use super::*;
    use crate::tables_dir::TablesArgs;

    #[test]
    fn a_table_with_several_names_is_opened_once() {
        let dir = tempfile::tempdir().unwrap();
        let setup = GameSetup { board: Board::new(4, 1).unwrap(), rules: RuleSet::Paper, ply_limit: 100 };
        let path = dir.path().join("4x4-1.sht");
        TableBuilder::new(Prefix::whole(setup.board)).threads(1).build(&path, &()).unwrap();
        let words = ["sternhalma", "--tables", dir.path().to_str().unwrap()];
        let matches = TablesArgs::augment_args(Command::new("sternhalma")).get_matches_from(words);
        let tables = TablesArgs::from_arg_matches(&matches).unwrap();
        let ctx = CommandContext::new(tables, "", || Command::new("sternhalma"));
        let mut tables = BoardTables { ctx: &ctx, setup, default: None, named: Vec::new(), open: Vec::new() };
        for name in [None, Some(Path::new("4x4-1")), Some(Path::new("4x4-1.sht")), Some(&*path)] {
            tables.get(name).unwrap();
        }
        assert_eq!(tables.open.len(), 1);
    }
}
