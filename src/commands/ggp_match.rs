use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, anyhow, bail};
use rand::SeedableRng;
use sternhalma_ggp::Rng;
use sternhalma_ggp::gdl::{ProverGame, Renaming};
use sternhalma_ggp::protocol::http::HttpTransport;
use sternhalma_ggp::protocol::{MatchConfig, MatchEnd, play_match};

use crate::args::rulesheet::{playable_rulesheet, read_rulesheet};
use crate::context::CommandContext;
use crate::match_text::result_text;
use crate::output::{self, CommandOutcome, counted, status};
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
    /// Play a rulesheet also if `gdl check` reports errors
    #[arg(long)]
    lenient: bool,
    /// Send the rulesheet with scrambled names
    #[arg(long)]
    scramble: bool,
    /// Name of the match [default: the name of the game and the time]
    #[arg(long, value_parser = symbol)]
    id: Option<String>,
}

pub fn run(ctx: &CommandContext, args: &Args) -> Result<CommandOutcome> {
    let file = args.game.display();
    if let Some(player) = args.players.iter().find(|player| !is_address(player)) {
        bail!("`{player}` is not an address; expected HOST:PORT");
    }
    let sheet = playable_rulesheet(&args.game, &read_rulesheet(&args.game)?, args.lenient)?;
    let game = ProverGame::new(sheet.rules().with_context(|| file.to_string())?).with_context(|| file.to_string())?;
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
    status!("{}", result_text(&record.roles, &record.goals, record.ended == MatchEnd::Terminal));
    output::print_json(&record)?;
    let absent: Vec<&str> = record.absent_players().collect();
    match (game.failure(), record.ended) {
        (Some(failure), _) => Err(anyhow!(failure).context(format!("{file}: the match could not be continued"))),
        (None, MatchEnd::Interrupted) => bail!("interrupted after {}", counted(record.steps.len(), "step")),
        (None, _) if !absent.is_empty() => {
            status!("no legal move from {}: all moves were random", absent.join(", "));
            Ok(CommandOutcome::SomeInvalid)
        }
        (None, _) => Ok(CommandOutcome::Answered),
    }
}

fn is_address(text: &str) -> bool {
    text.rsplit_once(':').is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok_and(|port| port > 0))
}

fn made_up_id(game: &str) -> String {
    let game: String = game.chars().filter(|c| c.is_ascii_alphanumeric()).collect();
    let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("{game}.{}", time.as_millis())
}
