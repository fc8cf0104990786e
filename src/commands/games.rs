use anyhow::{Context, Result, bail};
use serde::Serialize;
use sternhalma_ggp::gdl::{BuiltInGame, GAMES, Prover, Rules};
use sternhalma_ggp::messages::suggestion;

use crate::output::{self, CommandOutcome, columns};

/// List the rulesheets that are part of this program, or print one
#[derive(clap::Args)]
pub struct Args {
    /// Game whose rulesheet to print [default: list all games]
    #[arg(value_name = "GAME")]
    name: Option<String>,
    /// Print JSON
    #[arg(long, conflicts_with = "name")]
    json: bool,
}

#[derive(Serialize)]
struct GameRow {
    name: &'static str,
    title: &'static str,
    roles: Vec<String>,
}

impl GameRow {
    fn of(game: &BuiltInGame) -> Result<GameRow> {
        let prover = Rules::parse(game.text).map(|rules| Prover::new(&rules)).context(game.name)?.context(game.name)?;
        let roles = prover.roles().iter().map(|&role| prover.text(role)).collect();
        Ok(GameRow { name: game.name, title: game.title(), roles })
    }
}

pub fn run(args: &Args) -> Result<CommandOutcome> {
    let Some(name) = &args.name else { return list(args.json) };
    let Some(game) = GAMES.iter().find(|game| game.name == name.strip_suffix(".kif").unwrap_or(name)) else {
        bail!("there is no game `{name}`{}", suggestion(name, "games", GAMES.iter().map(|game| game.name)));
    };
    output::print_line(game.text.trim_end())?;
    Ok(CommandOutcome::Answered)
}

fn list(json: bool) -> Result<CommandOutcome> {
    let rows = GAMES.iter().map(GameRow::of).collect::<Result<Vec<GameRow>>>()?;
    output::answer(json, &rows, || {
        let header = ["game", "roles", "title"].map(str::to_owned).to_vec();
        let cells = |row: &GameRow| vec![row.name.to_owned(), row.roles.join(", "), row.title.to_owned()];
        columns(std::iter::once(header).chain(rows.iter().map(cells)).collect())
    })
}
