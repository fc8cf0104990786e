use std::path::PathBuf;

use anyhow::{Context, Result};
use serde::Serialize;
use sternhalma_ggp::Game;
use sternhalma_ggp::gdl::network::Network;
use sternhalma_ggp::gdl::{ProverGame, Reasoner};

use super::rulesheet::rules;
use crate::output::{self, CommandOutcome};

/// Print the roles, the initial state, the legal moves and the sizes of a game
#[derive(clap::Args)]
pub struct Args {
    /// Rulesheet
    file: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What `gdl show` prints.
#[derive(Serialize)]
struct GameSummary {
    roles: Vec<RoleSummary>,
    /// The fluents of the initial state.
    initial: Vec<String>,
    /// The size of the network, or the reason why there is none.
    #[serde(flatten)]
    network: NetworkSummary,
}

#[derive(Serialize)]
struct RoleSummary {
    name: String,
    /// The legal moves in the initial state.
    legal: Vec<String>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum NetworkSummary {
    Sizes { fluents: usize, moves: usize, gates: usize },
    None { no_network: String },
}

pub fn run(args: &Args) -> Result<CommandOutcome> {
    let rules = rules(&args.file)?;
    let game = ProverGame::new(&rules).with_context(|| args.file.display().to_string())?;
    let state = game.initial();
    let role = |(role, name): (usize, &String)| RoleSummary {
        name: name.clone(),
        legal: game.legal_of(&state, role).into_iter().map(|mv| game.move_name(role, mv)).collect(),
    };
    let network = match Network::new(&rules) {
        Ok(network) => NetworkSummary::Sizes {
            fluents: network.fluents.len(),
            moves: network.moves.len(),
            gates: network.netlist.gates().len(),
        },
        Err(error) => NetworkSummary::None { no_network: error.to_string() },
    };
    let summary = GameSummary {
        roles: game.role_names().iter().enumerate().map(role).collect(),
        initial: game.facts(&state),
        network,
    };
    output::answer(args.json, &summary, || text(&summary))
}

fn text(summary: &GameSummary) -> String {
    let mut lines = vec!["initial state:".to_owned()];
    lines.extend(summary.initial.iter().map(|fact| format!("  {fact}")));
    for role in &summary.roles {
        lines.push(format!("{}: {}", role.name, output::counted(role.legal.len(), "legal move")));
        lines.extend(role.legal.iter().map(|mv| format!("  {mv}")));
    }
    lines.push(match &summary.network {
        NetworkSummary::Sizes { fluents, moves, gates } => {
            format!("network: {fluents} fluents, {moves} moves, {gates} gates")
        }
        NetworkSummary::None { no_network } => format!("no network: {no_network}"),
    });
    lines.join("\n")
}
