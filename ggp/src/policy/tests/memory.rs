//! Searches with a limit of memory.

use std::sync::atomic::AtomicBool;

use sternhalma_game::{Game, Limits, MemoryBudget};
use sternhalma_gdl::Rules;
use sternhalma_gdl::network::{Network, NetworkGame};

use crate::policy::{Policy, PolicyGame, SearchTask};

/// One policy for each part of a search that takes memory.
const POLICIES: [&str; 9] =
    ["uct", "grave", "authors", "mast", "nst", "lgrf", "mini-eq", "tuned", "nst,lanes=8,solver=yes"];

/// A simultaneous game, a game of two roles, and a puzzle-like game with many moves.
const GAMES: [&str; 3] = ["connect-four", "matching-pennies", "breakthrough"];

fn game(name: &str) -> NetworkGame {
    let path = format!("{}/games/{name}.kif", env!("CARGO_MANIFEST_DIR"));
    let rules = Rules::parse(&std::fs::read_to_string(path).unwrap()).unwrap();
    NetworkGame::new(Network::new(&rules).unwrap()).with_rules(rules)
}

/// Returns the first moves of a match in which one player searches for the moves of all roles.
/// Calls `see` after each step, with whether any search of the step reached the memory limit.
fn play(game: &NetworkGame, policy: &Policy, playouts: u64, mut see: impl FnMut(bool)) -> Vec<Vec<u32>> {
    let mut state = game.initial();
    let mut agent = game.agent(policy, 0, 5);
    agent.begin(game, &state);
    let mut played = Vec::new();
    while !game.is_terminal(&state) && played.len() < 4 {
        let mut is_limited = false;
        let joint: Vec<u32> = (game.turn(&state).acting(game.roles()))
            .map(|role| {
                let stop = AtomicBool::new(false);
                let found = agent.search(&SearchTask::new(game, &state, Limits::playouts(playouts), &stop), role);
                is_limited |= found.spent.memory_limited;
                let mv = found.best;
                let mut legal = Vec::new();
                game.legal(&state, role, &mut legal);
                assert!(legal.contains(&mv), "{mv} is not legal");
                mv
            })
            .collect();
        see(is_limited);
        agent.advance(game, &joint);
        game.play(&mut state, &joint);
        played.push(joint);
    }
    played
}

fn policy(text: &str) -> Policy {
    text.parse().unwrap()
}

#[test]
fn a_full_search_plays_on_within_its_memory() {
    const LIMIT: u64 = 100 << 10;
    let game = game("breakthrough");
    for text in POLICIES {
        let whole = MemoryBudget::new(LIMIT);
        let policy = policy(text).within(&whole);
        let mut most = 0;
        let mut is_limited = false;
        let moves = play(&game, &policy, 2000, |limited| {
            assert!(whole.used() <= LIMIT, "{text}: {} bytes", whole.used());
            most = most.max(whole.used());
            is_limited |= limited;
            assert_eq!(is_limited, whole.is_exhausted(), "{text}");
        });
        assert_eq!(moves.len(), 4);
        assert!(whole.is_exhausted() && most > LIMIT / 3, "{text}: {most} bytes");
        assert_eq!(whole.used(), 0, "{text}: a match that is over holds no memory");
        // A search that is full is reproducible, too.
        assert_eq!(play(&game, &policy, 2000, |_| ()), moves, "{text}");
    }
}

#[test]
fn a_limit_that_is_not_reached_changes_nothing() {
    for name in GAMES {
        let game = game(name);
        for text in POLICIES {
            let memory = MemoryBudget::new(1 << 30);
            let limited = play(&game, &policy(text).within(&memory), 300, |is_limited| {
                assert!(memory.used() > 0 && !is_limited);
            });
            assert_eq!(limited, play(&game, &policy(text), 300, |_| ()), "{name}, {text}");
            assert!(!memory.is_exhausted());
        }
    }
}

#[test]
fn a_policy_has_a_limit_of_its_own() {
    let game = game("breakthrough");
    let whole = MemoryBudget::new(1 << 30);
    let policy = policy("nst,memory=80KiB").within(&whole);
    assert!(policy.to_string().ends_with(",memory=81920"), "{policy}");
    play(&game, &policy, 2000, |_| assert!(whole.used() <= 80 << 10, "{}", whole.used()));
    assert!(whole.is_exhausted());
}
