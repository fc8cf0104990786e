//! Plays a match between two policies on a rulesheet and prints the results.
//!
//! ```text
//! cargo run --release -p sternhalma-ggp --example tournament
//! cargo run --release -p sternhalma-ggp --example tournament -- ggp/games/connect-four.kif grave random
//! ```

use std::error::Error;
use std::num::NonZeroUsize;
use std::sync::atomic::AtomicBool;

use sternhalma_ggp::arena::{
    Budget, Entrant, RulesEngine, Schedule, Tournament, pairing_text, progress_line, rules_backend,
};
use sternhalma_ggp::gdl::Rulesheet;
use sternhalma_ggp::{MemoryBudget, Policy};

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let argument = |at: usize, default: &str| args.get(at).cloned().unwrap_or_else(|| default.to_owned());
    let path = argument(0, concat!(env!("CARGO_MANIFEST_DIR"), "/games/tic-tac-toe.kif"));
    let names = [argument(1, "uct"), argument(2, "random")];

    // The backend: a rulesheet, and the policies of the players.
    let rules = Rulesheet::parse(&std::fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?)?;
    let policies = names.iter().map(|name| name.parse()).collect::<Result<Vec<Policy>, _>>()?;
    // The network and the search trees take at most 1 GiB.
    let backend = rules_backend(&rules, RulesEngine::Auto, policies, &MemoryBudget::new(1 << 30))?;

    // The schedule: 20 games of two players, with 100 simulations per move.
    let entrants = names.map(Entrant::named).to_vec();
    let budget = Budget { playouts: Some(100), ..Budget::default() };
    let tournament = Tournament::new(backend, Schedule::new(entrants, budget, 20))?;

    // A path in place of `None` names a log, from which the run resumes.
    let threads = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let standings = tournament.run(None, threads, &AtomicBool::new(false), |record, standings| {
        println!("{}", progress_line(record, standings));
    })?;
    println!("{}", pairing_text(&standings.summary()[0].pairings[0]));
    Ok(())
}
