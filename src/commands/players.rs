use std::path::PathBuf;

use anyhow::Result;
use serde::Serialize;
use sternhalma_engine::{Config, Roster};

use crate::args::player::{player_config, players_file, roster};
use crate::output::{self, CommandOutcome, columns};

/// List the players of Chinese Checkers, or print the parameters of some
///
/// A player is used by its name, or as `name,key=value,…` with some parameters
/// changed. Policies (`sternhalma policies`) are players, too.
#[derive(clap::Args)]
pub struct Args {
    /// Players whose parameters to print: `name`, or `name,key=value,…` [default: list all players]
    #[arg(value_name = "PLAYER")]
    names: Vec<String>,
    /// TOML file of your own players
    #[arg(long = "players", value_name = "FILE", value_parser = players_file)]
    file: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct PlayerRow {
    name: String,
    search: &'static str,
    needs_table: bool,
    about: Option<String>,
    parameters: Config,
}

pub fn run(args: &Args) -> Result<CommandOutcome> {
    let roster = roster(args.file.as_deref())?;
    let all: Vec<String> = roster.names().map(str::to_owned).collect();
    let names = if args.names.is_empty() { &all } else { &args.names };
    let rows = names.iter().map(|name| row(&roster, name)).collect::<Result<Vec<PlayerRow>>>()?;
    if args.json || args.names.is_empty() {
        return output::answer(args.json, &rows, || list(&rows));
    }
    let parameters = rows.iter().map(parameters).collect::<Result<Vec<String>>>()?;
    output::print_line(&parameters.join("\n\n"))?;
    Ok(CommandOutcome::Answered)
}

fn row(roster: &Roster, name: &str) -> Result<PlayerRow> {
    let parameters = player_config(roster, name)?;
    Ok(PlayerRow {
        name: name.to_owned(),
        search: parameters.search_name(),
        needs_table: parameters.needs_table(),
        about: roster.about(name).map(str::to_owned),
        parameters,
    })
}

fn list(rows: &[PlayerRow]) -> String {
    let header = ["player", "search", "table", "description"].map(str::to_owned).to_vec();
    let cells = |row: &PlayerRow| {
        let table = if row.needs_table { "needed" } else { "-" };
        let about = row.about.clone().unwrap_or_default();
        vec![row.name.clone(), row.search.to_owned(), table.to_owned(), about]
    };
    columns(std::iter::once(header).chain(rows.iter().map(cells)).collect())
}

/// Returns the parameters as they are written in a file of players.
fn parameters(row: &PlayerRow) -> Result<String> {
    let about = row.about.iter().map(|about| format!("# {about}\n"));
    let table = if row.needs_table { "# needs a distance table\n" } else { "" };
    let name = row.name.split(',').next().unwrap_or_default();
    Ok(format!("{}{table}[{name}]\n{}", about.collect::<String>(), toml::to_string(&row.parameters)?.trim_end()))
}
