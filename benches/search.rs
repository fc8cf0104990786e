//! Searches of rulesheets, and steps of their networks.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use rand::SeedableRng;
use sternhalma_ggp::gdl::network::{Network, NetworkGame};
use sternhalma_ggp::gdl::{Rules, read_rulesheet};
use sternhalma_ggp::policy::{PolicyGame, SearchTask};
use sternhalma_ggp::{Game, Limits, Policy, Rng, Turn};

/// The rulesheets: one with large and one with small states.
const GAMES: [&str; 2] = ["breakthrough", "connect-four"];

fn game(name: &str) -> NetworkGame {
    let rules = Rules::parse(&read_rulesheet(Path::new(name)).unwrap()).unwrap();
    NetworkGame::new(Network::new(&rules).unwrap())
}

/// Searches of the initial state with 300 playouts.
fn searches(c: &mut Criterion) {
    for name in GAMES {
        let game = game(name);
        let state = game.initial();
        let Turn::One(role) = game.turn(&state) else { panic!("one role moves first in {name}") };
        let mut group = c.benchmark_group(name);
        group.sample_size(20);
        for policy in ["uct", "nst", "grave"] {
            let policy: Policy = policy.parse().unwrap();
            let run = || {
                let mut agent = game.agent(&policy, role, 1);
                agent.begin(&game, &state);
                let stop = AtomicBool::new(false);
                let task = SearchTask::new(&game, &state, Limits::playouts(300), &stop);
                let found = agent.search(&task, role);
                (found.best, found.spent.playouts, found.spent.expansions)
            };
            let found = run();
            assert_eq!(found.1, 300);
            group.throughput(Throughput::Elements(found.2));
            group.bench_function(format!("expansions of {policy}"), |b| b.iter(|| assert_eq!(run(), found)));
        }
        group.finish();
    }
}

/// Steps of random matches, one state at a time.
fn network_steps(c: &mut Criterion) {
    for name in GAMES {
        let game = game(name);
        let run = || {
            let mut rng = Rng::seed_from_u64(3);
            let (mut moves, mut joint, mut steps, mut goals) = (Vec::new(), Vec::new(), 0u64, 0u64);
            for _ in 0..20 {
                let mut state = game.initial();
                while !game.is_terminal(&state) {
                    joint.clear();
                    for role in game.turn(&state).acting(game.roles()) {
                        joint.extend(game.random_move(&state, role, &mut moves, &mut rng));
                    }
                    game.play(&mut state, &joint);
                    steps += 1;
                }
                goals += u64::from(game.goal(&state, 0));
            }
            (steps, goals)
        };
        let found = run();
        let mut group = c.benchmark_group(name);
        group.sample_size(20).throughput(Throughput::Elements(found.0));
        group.bench_function("network steps", |b| b.iter(|| assert_eq!(run(), found)));
        group.finish();
    }
}

criterion_group!(benches, searches, network_steps);
criterion_main!(benches);
