//! Move counts, forward playouts, and the search of a player.
//!
//! The search uses the table of 6 pieces on 9x9 if `STERNHALMA_BENCH_TABLE`
//! names its file, and else plays on a smaller board.

mod support;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use rand::SeedableRng;
use sternhalma_data::{Board, Position, RuleSet};
use sternhalma_engine::players::FarthestMix;
use sternhalma_engine::{ChineseCheckers, Distances, Filter, Roster};
use sternhalma_ggp::mcts::{MoveHistory, Playout};
use sternhalma_ggp::{Game, Limits, MemoryBudget, Rng};

fn perft(c: &mut Criterion) {
    let position = Position::initial(Board::new(9, 6).unwrap());
    let mut group = c.benchmark_group("9x9-6");
    group.sample_size(20).throughput(Throughput::Elements(10_010_896));
    group.bench_function("perft 6", |b| b.iter(|| assert_eq!(position.perft(6), 10_010_896)));
    group.finish();
}

/// Forward playouts from the initial state to the end, as base0 plays them.
fn playouts(c: &mut Criterion) {
    let game = ChineseCheckers::new(Board::new(9, 6).unwrap(), Filter::Forward).with_rules(RuleSet::Paper);
    let run = || {
        let mut rng = Rng::seed_from_u64(17);
        let mut policy = FarthestMix::new(0.17);
        let history = MoveHistory::default();
        let mut moves = 0u64;
        for _ in 0..200 {
            let mut state = game.initial();
            while !game.is_terminal(&state) {
                let action = policy.choose(&game, &state, state.player() as usize, &history, &mut rng);
                game.play_action(&mut state, action);
                moves += 1;
            }
        }
        moves
    };
    let moves = run();
    let mut group = c.benchmark_group("9x9-6");
    group.throughput(Throughput::Elements(moves));
    group.bench_function("playout moves", |b| b.iter(|| assert_eq!(run(), moves)));
    group.finish();
}

fn search(c: &mut Criterion) {
    let distances = Distances::new(Arc::new(support::table()));
    let board = distances.board();
    let game = ChineseCheckers::new(board, Filter::All).with_rules(RuleSet::Paper);
    let roster = Roster::built_in();
    for name in ["base0", "heur0", "end0", "ab-lookup"] {
        let player = roster.config(name).unwrap().prepare(game.setup(), Some(&distances)).unwrap();
        let mut player = player.start(&MemoryBudget::unlimited()).unwrap();
        // Early, midway, and with the armies past each other.
        let states: Vec<_> = [4, 24, 44]
            .map(|plies| game.random_state(plies, &mut Rng::seed_from_u64(plies.into())).expect("no game ends so soon"))
            .to_vec();
        let mut run = || -> u64 {
            let searches = states.iter().map(|state| {
                player.reset(1);
                player.choose(state, Limits::expansions(30_000), &AtomicBool::new(false)).spent.expansions
            });
            searches.sum()
        };
        let expansions = run();
        let mut group = c.benchmark_group(format!("{0}x{0}-{1}", board.size(), board.pieces()));
        group.sample_size(20).throughput(Throughput::Elements(expansions));
        group.bench_function(format!("expansions of {name}"), |b| b.iter(|| assert_eq!(run(), expansions)));
        group.finish();
    }
}

criterion_group!(benches, perft, playouts, search);
criterion_main!(benches);
