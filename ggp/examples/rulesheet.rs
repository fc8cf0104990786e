//! Reads a rulesheet and plays a match by a policy against random moves.
//!
//! Run the example with `cargo run --release -p sternhalma-ggp --example rulesheet [FILE]
//! [POLICY]`. The default is tic-tac-toe, played by the policy `mast`.

use std::error::Error;
use std::sync::atomic::AtomicBool;

use sternhalma_ggp::gdl::network::{Network, NetworkGame};
use sternhalma_ggp::gdl::{Reasoner, Rules};
use sternhalma_ggp::policy::{PolicyGame, SearchTask};
use sternhalma_ggp::{Game, Limits, Policy};

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let path = args.next().unwrap_or_else(|| concat!(env!("CARGO_MANIFEST_DIR"), "/games/tic-tac-toe.kif").to_owned());
    let policy: Policy = args.next().as_deref().unwrap_or("mast").parse()?;

    // The rules are compiled to a propositional network, which plays them.
    let rules = Rules::parse(&std::fs::read_to_string(&path)?)?;
    let game = NetworkGame::new(Network::new(&rules)?).with_rules(rules);

    // The first role follows the policy, all others play random moves.
    let policies = |role| if role == 0 { policy.clone() } else { Policy::Random };
    let mut agents: Vec<_> = (0..game.roles()).map(|role| game.agent(&policies(role), role, 1)).collect();
    let mut state = game.initial();
    agents.iter_mut().for_each(|agent| agent.begin(&game, &state));

    let stop = AtomicBool::new(false);
    while !game.is_terminal(&state) {
        let mut joint = Vec::new();
        for role in game.turn(&state).acting(game.roles()) {
            let task = SearchTask::new(&game, &state, Limits::playouts(500), &stop);
            let found = agents[role].search(&task, role);
            let playouts = found.spent.playouts;
            println!("{}: {} ({playouts} playouts)", game.role_names()[role], game.move_name(role, found.best));
            joint.push(found.best);
        }
        agents.iter_mut().for_each(|agent| agent.advance(&game, &joint));
        game.play(&mut state, &joint);
    }
    let mut goals = Vec::new();
    game.goals(&state, &mut goals);
    for (role, goal) in game.role_names().iter().zip(&goals) {
        println!("{role}: {goal} points");
    }
    Ok(())
}
