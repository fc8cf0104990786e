use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use sternhalma_ggp::gdl::network::{Network, NetworkGame};
use sternhalma_ggp::gdl::{ProverError, ProverGame, Reasoner, find_move};
use sternhalma_ggp::messages::without_bom;
use sternhalma_ggp::policy::{PolicyAgent, PolicyGame, SearchTask};
use sternhalma_ggp::{Limits, MemoryBudget, Policy};

use super::rulesheet::role_index;
use crate::args::limits::LimitArgs;
use crate::args::rulesheet::{playable_rulesheet, read_rulesheet};
use crate::context::CommandContext;
use crate::match_text::result_text;
use crate::output::{self, CommandOutcome, counted, prompt, status};
use crate::resources::search_memory;
use crate::values::{count, policy};

/// The interval at which the wait for a line tests whether to stop.
const LOOK: Duration = Duration::from_millis(50);

/// Play a game against a policy
///
/// Enter a move by its number or its text, `state` for the facts of the state,
/// or `quit`. Ctrl-C ends the game.
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
    /// Maximum number of joint moves
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = count::<usize>(1))]
    steps: usize,
    /// Play a rulesheet also if `gdl check` reports errors
    #[arg(long)]
    lenient: bool,
    #[command(flatten)]
    limits: LimitArgs,
}

pub fn run(ctx: &CommandContext, args: &Args) -> Result<CommandOutcome> {
    let file = || args.file.display().to_string();
    let sheet = playable_rulesheet(&args.file, &read_rulesheet(&args.file)?, args.lenient)?;
    let rules = sheet.rules().with_context(file)?.clone();
    match Network::new(&rules) {
        Ok(network) => play(ctx, args, &NetworkGame::new(network).with_rules(rules), |_| None),
        Err(reason) => {
            status!("without a network: {reason}");
            play(ctx, args, &ProverGame::new(&rules).with_context(file)?, ProverGame::failure)
        }
    }
}

fn play<G: Reasoner + PolicyGame>(
    ctx: &CommandContext,
    args: &Args,
    game: &G,
    failure: impl Fn(&G) -> Option<ProverError>,
) -> Result<CommandOutcome> {
    let roles = game.role_names();
    let person = args.role.as_deref().map_or(Ok(0), |name| role_index(roles, name))?;
    let stop = ctx.stop()?;
    let mut players = Players::new(game, args, person, stop.clone());
    let mut state = game.initial();
    players.agents.iter_mut().for_each(|agent| agent.begin(game, &state));
    status!(
        "You play {} against {}. Enter the number or the text of a move. `state` prints the state, `quit` ends.",
        roles[person],
        args.policy
    );
    let mut steps = 0;
    while !game.is_terminal(&state) && steps < args.steps {
        let joint = players.choose(&state)?;
        if stop.load(Relaxed) {
            bail!("interrupted after {}", counted(steps, "step"));
        }
        let Some(joint) = joint else { return Ok(CommandOutcome::Answered) };
        let name = |(role, mv): (usize, &G::Move)| format!("{}: {}", roles[role], game.move_name(role, *mv));
        output::print_line(&joint.iter().enumerate().map(name).collect::<Vec<_>>().join("  "))?;
        let acting = game.turn(&state).acting(roles.len());
        players.agents.iter_mut().for_each(|agent| agent.advance(game, &joint[acting.clone()]));
        game.play_all(&mut state, &joint);
        steps += 1;
    }
    if let Some(failure) = failure(game) {
        return Err(anyhow!(failure).context(format!("{}: the match could not be continued", args.file.display())));
    }
    let is_over = game.is_terminal(&state);
    if is_over && !game.is_over(&state) {
        let stuck = (0..roles.len()).find(|&role| game.legal_of(&state, role).is_empty());
        bail!("{} has no legal move: the rulesheet is invalid", stuck.map_or("a role", |role| &roles[role]));
    }
    if !is_over {
        status!("the match has no end after {}; --steps N allows more", counted(steps, "step"));
    }
    let goals: Vec<u8> = (0..roles.len()).map(|role| game.goal(&state, role)).collect();
    output::print_line(&result_text(roles, &goals, is_over))?;
    Ok(CommandOutcome::Answered)
}

/// The person and the agents that choose the moves of a match.
struct Players<'a, G: PolicyGame> {
    game: &'a G,
    /// The role of the person.
    person: usize,
    lines: StdinLines,
    /// An agent of each role.
    agents: Vec<Box<dyn PolicyAgent<G>>>,
    limits: Limits,
    stop: Arc<AtomicBool>,
}

impl<'a, G: Reasoner + PolicyGame> Players<'a, G> {
    fn new(game: &'a G, args: &Args, person: usize, stop: Arc<AtomicBool>) -> Players<'a, G> {
        let policy = args.policy.clone().within(&MemoryBudget::new(search_memory(None)));
        let agent = |role: usize| game.agent(&policy, role, args.seed.wrapping_add(role as u64));
        let agents = (0..game.roles()).map(agent).collect();
        Players { game, person, lines: StdinLines::new(stop.clone()), agents, limits: args.limits.limits(), stop }
    }

    /// Returns a joint move, or `None` if the person quits or a signal came.
    fn choose(&mut self, state: &G::State) -> Result<Option<Vec<G::Move>>> {
        let roles = self.game.roles();
        let acting = self.game.turn(state).acting(roles);
        let mut joint = Vec::new();
        for role in 0..roles {
            let legal = self.game.legal_of(state, role);
            if legal.is_empty() {
                bail!("{} has no legal move: the rulesheet is invalid", self.game.role_names()[role]);
            }
            joint.push(if role == self.person && legal.len() > 1 {
                match self.ask(state, &legal)? {
                    Some(mv) => mv,
                    None => return Ok(None),
                }
            } else if acting.contains(&role) && legal.len() > 1 {
                self.agents[role].search(&SearchTask::new(self.game, state, self.limits, &self.stop), role).best
            } else {
                legal[0]
            });
        }
        Ok(Some(joint))
    }

    /// Asks for a move until one is legal. Returns `None` at `quit`, at the end of the input and after a signal.
    fn ask(&self, state: &G::State, legal: &[G::Move]) -> Result<Option<G::Move>> {
        let role = &self.game.role_names()[self.person];
        let names: Vec<String> = legal.iter().map(|&mv| self.game.move_name(self.person, mv)).collect();
        for (number, name) in names.iter().enumerate() {
            status!("{:>4}  {name}", number + 1);
        }
        loop {
            prompt(&format!("{role}> "));
            let Some(line) = self.lines.next()? else { return Ok(None) };
            match without_bom(&line).trim() {
                "" => {}
                "quit" => return Ok(None),
                "help" => status!("Enter the number or the text of a move, `state` or `quit`."),
                "state" => status!("{}", self.game.facts(state).join("\n")),
                text => {
                    let index = text.parse().ok().and_then(|number: usize| number.checked_sub(1));
                    match index.filter(|&index| index < names.len()).map_or_else(|| find_move(text, role, &names), Ok) {
                        Ok(index) => return Ok(Some(legal[index])),
                        Err(error) => status!("{error}, or a number from 1 to {}", names.len()),
                    }
                }
            }
        }
    }
}

/// The lines of stdin. A thread reads them, so that a signal ends the wait for a line.
struct StdinLines {
    lines: Receiver<io::Result<String>>,
    stop: Arc<AtomicBool>,
}

impl StdinLines {
    fn new(stop: Arc<AtomicBool>) -> StdinLines {
        let (sender, lines) = channel();
        thread::spawn(move || io::stdin().lines().try_for_each(|line| sender.send(line)));
        StdinLines { lines, stop }
    }

    /// Returns the next line, or `None` at the end of the input and after a signal.
    fn next(&self) -> Result<Option<String>> {
        loop {
            match self.lines.recv_timeout(LOOK) {
                Ok(line) => return line.map(Some).context("cannot read stdin"),
                Err(RecvTimeoutError::Disconnected) => return Ok(None),
                Err(RecvTimeoutError::Timeout) if self.stop.load(Relaxed) => return Ok(None),
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }
}
