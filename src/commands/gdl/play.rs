use std::io::{self, BufRead};
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use sternhalma_ggp::arena::rulesheet_errors;
use sternhalma_ggp::gdl::network::{Network, NetworkGame};
use sternhalma_ggp::gdl::{ProverGame, Reasoner, Rulesheet, find_name};
use sternhalma_ggp::messages::without_bom;
use sternhalma_ggp::policy::{PolicyAgent, PolicyGame, SearchTask};
use sternhalma_ggp::{MemoryBudget, Policy};

use crate::args::limits::LimitArgs;
use crate::args::rulesheet::read_rulesheet;
use crate::context::CommandContext;
use crate::output::{self, CommandOutcome, prompt, status};
use crate::resources::search_memory;
use crate::values::{count, policy};

/// Play a game against a policy
///
/// Enter a move by its number or its text, `state` for the facts of the state,
/// or `quit`.
#[derive(clap::Args)]
pub struct Args {
    /// Rulesheet
    file: PathBuf,
    /// Role that you play [default: the first]
    #[arg(long)]
    role: Option<String>,
    /// Policy of the other roles
    #[arg(long, default_value = "adaptive", value_parser = policy)]
    policy: Policy,
    /// Seed of the policy
    #[arg(long, value_name = "S", default_value_t = 1, value_parser = count::<u64>(0))]
    seed: u64,
    #[command(flatten)]
    limits: LimitArgs,
}

pub fn run(ctx: &CommandContext, args: &Args) -> Result<CommandOutcome> {
    let file = || args.file.display().to_string();
    let sheet = Rulesheet::parse(&read_rulesheet(&args.file)?).with_context(file)?;
    for error in rulesheet_errors(&sheet) {
        status!("{}: {error}", file());
    }
    let rules = sheet.rules().with_context(file)?.clone();
    match Network::new(&rules) {
        Ok(network) => play(ctx, args, &NetworkGame::new(network).with_rules(rules)),
        Err(reason) => {
            status!("without a network: {reason}");
            play(ctx, args, &ProverGame::new(&rules).with_context(file)?)
        }
    }
}

fn play<G: Reasoner + PolicyGame>(ctx: &CommandContext, args: &Args, game: &G) -> Result<CommandOutcome> {
    let roles = game.role_names();
    let person = match &args.role {
        None => 0,
        Some(name) => {
            let place = roles.iter().position(|role| role.eq_ignore_ascii_case(name));
            place.with_context(|| format!("there is no role `{name}`; the roles are {}", roles.join(", ")))?
        }
    };
    let stop = ctx.stop()?;
    let policy = args.policy.clone().within(&MemoryBudget::new(search_memory(None)));
    let mut agents: Vec<Box<dyn PolicyAgent<G>>> =
        (0..roles.len()).map(|role| game.agent(&policy, role, args.seed.wrapping_add(role as u64))).collect();
    let mut state = game.initial();
    agents.iter_mut().for_each(|agent| agent.begin(game, &state));
    status!(
        "You play {} against {}. Enter the number or the text of a move. `state` prints the state, `quit` ends.",
        roles[person],
        args.policy
    );
    let mut input = io::stdin().lock();
    while !game.is_terminal(&state) {
        let acting = game.turn(&state).acting(roles.len());
        let mut joint = Vec::new();
        for role in 0..roles.len() {
            let legal = game.legal_of(&state, role);
            if legal.is_empty() {
                bail!("{} has no legal move: the rulesheet is invalid", roles[role]);
            }
            joint.push(if role == person && legal.len() > 1 {
                match ask(game, &state, role, &legal, &mut input)? {
                    Some(mv) => mv,
                    None => return Ok(CommandOutcome::Answered),
                }
            } else if acting.contains(&role) && legal.len() > 1 {
                agents[role].search(&SearchTask::new(game, &state, args.limits.limits(), &stop), role).best
            } else {
                legal[0]
            });
        }
        let names: Vec<String> = (0..roles.len()).map(|role| game.move_name(role, joint[role])).collect();
        let shown: Vec<String> = roles.iter().zip(&names).map(|(role, name)| format!("{role}: {name}")).collect();
        output::print_line(&shown.join("  "))?;
        agents.iter_mut().for_each(|agent| agent.advance(game, &joint[acting.clone()]));
        game.play_all(&mut state, &joint);
    }
    let goals: Vec<String> =
        (0..roles.len()).map(|role| format!("{} {}", roles[role], game.goal(&state, role))).collect();
    output::print_line(&format!("The game is over: {}", goals.join(", ")))?;
    Ok(CommandOutcome::Answered)
}

/// Asks for a move until one is legal. Returns `None` at `quit` and at the end
/// of the input.
fn ask<G: Reasoner>(
    game: &G,
    state: &G::State,
    role: usize,
    legal: &[G::Move],
    input: &mut impl BufRead,
) -> Result<Option<G::Move>> {
    let names: Vec<String> = legal.iter().map(|&mv| game.move_name(role, mv)).collect();
    for (number, name) in names.iter().enumerate() {
        status!("{:>4}  {name}", number + 1);
    }
    loop {
        prompt(&format!("{}> ", game.role_names()[role]));
        let mut line = String::new();
        if input.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        match without_bom(&line).trim() {
            "" => {}
            "quit" => return Ok(None),
            "help" => status!("Enter the number or the text of a move, `state` or `quit`."),
            "state" => status!("{}", game.facts(state).join("\n")),
            text => match chosen(text, &names) {
                Some(index) => return Ok(Some(legal[index])),
                None => status!("`{text}` is not a legal move; enter a number from 1 to {}", names.len()),
            },
        }
    }
}

/// Returns the index of a move that is given by its number or its text, perhaps without the outer parentheses.
fn chosen(text: &str, names: &[String]) -> Option<usize> {
    if let Ok(number) = text.parse::<usize>() {
        return number.checked_sub(1).filter(|&index| index < names.len());
    }
    find_name(text, names)
}
