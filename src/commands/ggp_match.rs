use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, anyhow, bail};
use rand::SeedableRng;
use sternhalma_ggp::Rng;
use sternhalma_ggp::gdl::{ProverGame, Renaming, Rulesheet};
use sternhalma_ggp::protocol::http::HttpTransport;
use sternhalma_ggp::protocol::{MatchConfig, MatchEnd, MatchRecord, play_match};

use crate::args::rulesheet::read_rulesheet;
use crate::context::CommandContext;
use crate::output::{self, CommandOutcome, status};
use crate::values::{count, seconds, symbol};

/// Manage a match between players over HTTP, and print its record as JSON
///
/// If a player sends no legal move in time, a random move is played for it and
/// the error is recorded.
#[derive(clap::Args)]
pub struct Args {
    /// Rulesheet
    game: PathBuf,
    /// Players, one per role, in the order of the rulesheet
    #[arg(required = true, value_name = "HOST:PORT")]
    players: Vec<String>,
    /// Time before the first move
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds)]
    start_clock: Duration,
    /// Time per move
    #[arg(long, value_name = "SECONDS", default_value = "5", value_parser = seconds)]
    play_clock: Duration,
    /// Maximum number of joint moves
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = count::<usize>(1))]
    steps: usize,
    /// Seed of the random moves and of the scrambling
    #[arg(long, value_name = "S", default_value_t = 1, value_parser = count::<u64>(0))]
    seed: u64,
    /// Send the rulesheet with scrambled names
    #[arg(long)]
    scramble: bool,
    /// Name of the match [default: the name of the game and the time]
    #[arg(long, value_parser = symbol)]
    id: Option<String>,
}

pub fn run(ctx: &CommandContext, args: &Args) -> Result<CommandOutcome> {
    let file = args.game.display();
    let sheet = Rulesheet::parse(&read_rulesheet(&args.game)?).with_context(|| file.to_string())?;
    let game = ProverGame::new(sheet.rules().with_context(|| file.to_string())?).with_context(|| file.to_string())?;
    if let Some(player) = args.players.iter().find(|player| !is_address(player)) {
        bail!("`{player}` is not an address; expected HOST:PORT");
    }
    let name = args.game.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let terms = MatchConfig {
        id: args.id.clone().unwrap_or_else(|| made_up_id(&name)),
        game: name,
        players: args.players.clone(),
        start: args.start_clock,
        play: args.play_clock,
        steps: args.steps,
        seed: args.seed,
        renaming: args.scramble.then(|| Renaming::random(sheet.document(), &mut Rng::seed_from_u64(args.seed))),
    };
    let stop = ctx.stop()?;
    let mut peers = HttpTransport::new(args.players.clone(), stop.clone())?;
    let log = |line: &str| status!("{}", line.replace(char::is_control, " "));
    let record = play_match(&game, sheet.document(), &terms, &mut peers, &stop, &log)?;
    status!("{}", result_line(&record));
    output::print_json(&record)?;
    let absent: Vec<&str> = record.absent_players().collect();
    match (game.failure(), record.ended) {
        (Some(failure), _) => Err(anyhow!(failure).context(format!("{file}: the match could not be continued"))),
        (None, MatchEnd::Interrupted) => bail!("interrupted after {} steps", record.steps.len()),
        (None, _) if !absent.is_empty() => {
            status!("no legal move from {}: all moves were random", absent.join(", "));
            Ok(CommandOutcome::SomeInvalid)
        }
        (None, _) => Ok(CommandOutcome::Answered),
    }
}

/// Returns the goals of a match, with the winner if there is one.
fn result_line(record: &MatchRecord) -> String {
    let goals: Vec<String> =
        record.roles.iter().zip(&record.goals).map(|(role, goal)| format!("{role} {goal}")).collect();
    let best = record.goals.iter().max();
    let mut winners = record.roles.iter().zip(&record.goals).filter(|(_, goal)| Some(*goal) == best);
    let winner = match (record.ended, winners.next(), winners.next()) {
        (MatchEnd::Steps | MatchEnd::Interrupted, ..) => "the match did not end".to_owned(),
        (MatchEnd::Terminal, Some((role, _)), None) if record.roles.len() > 1 => format!("{role} wins"),
        (MatchEnd::Terminal, _, Some(_)) => "a draw".to_owned(),
        (MatchEnd::Terminal, ..) => "the match is over".to_owned(),
    };
    format!("{winner}, goals: {}", goals.join(", "))
}

fn is_address(text: &str) -> bool {
    text.rsplit_once(':').is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok_and(|port| port > 0))
}

fn made_up_id(game: &str) -> String {
    let game: String = game.chars().filter(|c| c.is_ascii_alphanumeric()).collect();
    let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("{game}.{}", time.as_millis())
}
