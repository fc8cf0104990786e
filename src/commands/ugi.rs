use std::io;
use std::path::PathBuf;

use anyhow::{Result, bail};
use sternhalma_builder::check_memory;
use sternhalma_data::table::Coverage;
use sternhalma_data::{Board, RuleSet};
use sternhalma_engine::external::{CheckResult, ProtocolLog, check_compliance};
use sternhalma_engine::ugi::{HostError, UgiHost, UgiSession, UgiSettings};
use sternhalma_engine::{ChineseCheckers, Config, EnginePlayer, Filter, GameSetup};
use sternhalma_ggp::MemoryBudget;
use sternhalma_ggp::arena::MOVE_NODES;

use crate::args::board::BoardArgs;
use crate::args::player::{DEFAULT_PLAYER, PlayerArgs};
use crate::args::protocol_log::ProtocolLogArgs;
use crate::args::rule_set::{DEFAULT_NAME, rule_set_parser};
use crate::context::CommandContext;
use crate::error::one_line;
use crate::output::{CommandOutcome, print_line, status};
use crate::resources::search_memory;
use crate::values::{count, report_removed};

/// Play over the Universal Game Interface on stdin and stdout
///
/// docs/reference/ugi.md describes commands, options and replies. With --compliance, checks
/// another engine instead; exit code 1 if a check fails.
#[derive(clap::Args)]
pub struct Args {
    /// Player, unless the option `Player` sets another
    #[arg(long, default_value = DEFAULT_PLAYER)]
    player: String,
    /// Seed of the player
    #[arg(long, default_value_t = 1, value_parser = count::<u64>(0))]
    seed: u64,
    /// Check whether a program follows the protocol, on the board of --side and --pieces
    #[arg(long, value_name = "COMMAND")]
    compliance: Option<String>,
    #[command(flatten)]
    protocol: ProtocolLogArgs,
    #[command(flatten)]
    board: BoardArgs,
    /// Rules: paper, or blocked-goal, with rules against blocked goals and repetition
    #[arg(long, value_name = "RULES", value_parser = rule_set_parser(), hide_possible_values = true, default_value = DEFAULT_NAME, help_heading = "Board")]
    rules: RuleSet,
    #[command(flatten)]
    players: PlayerArgs,
}

pub fn run(ctx: &CommandContext, args: &Args) -> Result<CommandOutcome> {
    if let Some(command) = &args.compliance {
        let log = args.protocol.open()?;
        let outcome = check(command, args.board.board()?.for_two()?, args.rules, log.as_ref())?;
        args.protocol.check(log.as_ref())?;
        return Ok(outcome);
    }
    if args.protocol.debug.is_some() {
        bail!(
            "--debug records the protocol of the program that --compliance checks; add --compliance, or leave it out"
        );
    }
    report_removed(&args.player);
    let settings = UgiSettings {
        roster: args.players.roster()?,
        player: args.player.clone(),
        seed: args.seed,
        setup: GameSetup { board: args.board.board()?, rules: args.rules, ply_limit: args.players.ply_limit },
        default_nodes: MOVE_NODES,
    };
    let host =
        Host { ctx: ctx.clone(), players: &args.players, memory: search_memory(None), used: MemoryBudget::default() };
    UgiSession::new(host, settings, io::stdout())?.run(io::stdin().lock())?;
    Ok(CommandOutcome::Answered)
}

/// Checks an engine, and prints a line per check.
fn check(command: &str, board: Board, rules: RuleSet, log: Option<&ProtocolLog>) -> Result<CommandOutcome> {
    let command = command.strip_prefix("ugi:").unwrap_or(command);
    status!("checking on {board}; --side and --pieces select another board");
    let (mut printed, mut passed, mut skipped, mut checks) = (Ok(()), 0, 0, 0);
    let game = ChineseCheckers::new(board, Filter::All).with_rules(rules);
    let follows = check_compliance(command, game, log, |check| {
        checks += 1;
        let line = match &check.result {
            CheckResult::Passed => {
                passed += 1;
                format!("ok      {}", check.name)
            }
            CheckResult::Skipped(reason) => {
                skipped += 1;
                format!("skipped {}: {reason}", check.name)
            }
            CheckResult::Failed(failure) => format!("FAILED  {}: {failure}", check.name),
        };
        if printed.is_ok() {
            printed = print_line(&line);
        }
    })?;
    printed?;
    let note = if skipped > 0 { format!(", {skipped} skipped") } else { String::new() };
    status!("{passed} of {checks} checks passed{note}");
    Ok(if follows { CommandOutcome::Answered } else { CommandOutcome::NotFound })
}

/// Opens the tables of the command line for a session.
struct Host<'a> {
    ctx: CommandContext,
    players: &'a PlayerArgs,
    /// The memory limit of a player in bytes.
    memory: u64,
    /// The memory of the present player.
    used: MemoryBudget,
}

impl UgiHost for Host<'_> {
    fn player(&mut self, config: &Config, setup: GameSetup) -> Result<Box<dyn EnginePlayer>, HostError> {
        self.used = MemoryBudget::new(self.memory);
        let start = || -> Result<Box<dyn EnginePlayer>> {
            let (board, configs) = (setup.board.for_two()?, std::slice::from_ref(config));
            let distances = self.players.distances(&self.ctx, board, configs, Coverage::Prefix)?;
            Ok(config.prepare(setup, distances.as_ref())?.start(&self.used)?)
        };
        start().map_err(|error| one_line(&error).into())
    }

    fn tables_dir(&self) -> Option<PathBuf> {
        self.ctx.tables.dir().ok()
    }

    fn memory(&self) -> u64 {
        self.memory
    }

    fn set_memory(&mut self, bytes: u64) -> Result<(), HostError> {
        // The present limit was checked before. The memory of the present player is free before that of the next is
        // allocated.
        if bytes > self.memory {
            let available = check_memory(bytes.saturating_sub(self.used.used()));
            available.map_err(|error| format!("`Hash` {}: {error}", bytes >> 20))?;
        }
        self.memory = bytes;
        Ok(())
    }

    fn set_tables_dir(&mut self, dir: PathBuf) {
        self.ctx.tables = self.ctx.tables.clone().in_dir(dir);
    }
}
