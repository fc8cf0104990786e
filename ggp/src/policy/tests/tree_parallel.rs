//! Parallel simulations in one tree.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use sternhalma_game::{Game, LimitChecker, Limits, SearchStats};
use sternhalma_gdl::Rules;
use sternhalma_gdl::network::{LaneView, Network, NetworkGame};
use sternhalma_mcts::{Mcts, MctsConfig, SearchClock, SearchResult, ToTheEnd};

use crate::batch::{LanePlayout, LaneSelection, run_in_lanes};
use crate::policy::{PartsVisitor, Policy, SearchPolicy};

const POLICIES: [&str; 7] = [
    "uct",
    "nst,solver=yes",
    "nst,replies=lgrf2",
    "base",
    "mast",
    "base,tune=he",
    "nst,waiting=skip,tune=nmc,tune-what=playout+epsilon",
];

fn game(name: &str) -> NetworkGame {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("games").join(name).with_extension("kif");
    let rules = Rules::parse(&std::fs::read_to_string(path).unwrap()).unwrap();
    NetworkGame::new(Network::new(&rules).unwrap())
}

/// Searches for some moves of a match with a number of lanes, or without lanes.
struct Searched<'a> {
    game: &'a NetworkGame,
    search: &'a SearchPolicy,
    lanes: Option<usize>,
    limits: Limits,
}

impl PartsVisitor<NetworkGame, LaneView> for Searched<'_> {
    type Made = Vec<SearchResult<u32>>;

    fn visit<S, P>(self, selection: S, playout: P) -> Vec<SearchResult<u32>>
    where
        S: LaneSelection,
        P: LanePlayout,
    {
        let Searched { game, search, lanes, limits } = self;
        let settings = MctsConfig { solver: search.solver, ..MctsConfig::default() };
        let mut search = Mcts::new(selection, playout, ToTheEnd, settings, 7).tuned(search.tuning.clone());
        let mut state = game.initial();
        search.begin(game, &state);
        let mut all = Vec::new();
        while all.len() < 4 && !game.is_terminal(&state) {
            let stop = AtomicBool::new(false);
            let spent = match lanes {
                None => search.think(game, &state, limits, &stop, SearchStats::default(), SearchClock::Play),
                Some(lanes) => {
                    let mut checker = LimitChecker::counting(limits);
                    run_in_lanes(&mut search, game, game.lanes().unwrap(), &state, lanes, &mut checker);
                    checker.spent
                }
            };
            let acting = game.turn(&state).acting(game.roles());
            let found = |role| {
                let found = search.result(game, &state, role, spent);
                SearchResult { spent: SearchStats { time: Duration::ZERO, ..found.spent }, ..found }
            };
            let found: Vec<SearchResult<u32>> = acting.map(found).collect();
            let joint: Vec<u32> = found.iter().map(|found| found.best).collect();
            all.extend(found);
            search.advance(game, &joint);
            game.play(&mut state, &joint);
        }
        all
    }
}

fn searched(game: &NetworkGame, policy: &str, lanes: Option<usize>, limits: Limits) -> Vec<SearchResult<u32>> {
    let Policy::Search(search) = policy.parse().unwrap() else { panic!("{policy} searches") };
    search.visit_in_lanes(game, 0, || None, Searched { game, search: &search, lanes, limits })
}

const GAMES: [&str; 5] = ["connect-four", "breakthrough", "chinese-checkers-3p", "matching-pennies", "odd-one-out"];

#[test]
fn one_lane_equals_the_search_without_lanes() {
    for name in GAMES {
        let game = game(name);
        for policy in POLICIES {
            let limits = Limits::playouts(60);
            let found = searched(&game, policy, Some(1), limits);
            assert_eq!(found, searched(&game, policy, None, limits), "{name}, {policy}");
        }
    }
}

#[test]
fn visits_are_those_of_finished_simulations() {
    for name in GAMES {
        let game = game(name);
        for policy in POLICIES {
            // Some simulations are under way when the expansions run out.
            for limits in [Limits::playouts(150), Limits::expansions(2000)] {
                let first = searched(&game, policy, Some(64), limits).swap_remove(0);
                let visits: u64 = first.moves.iter().map(|(_, stats)| u64::from(stats.visits)).sum();
                assert_eq!(visits, first.spent.playouts, "{name}, {policy}, {limits:?}");
                assert!(first.moves.iter().all(|(_, stats)| stats.sum <= f64::from(stats.visits)));
                assert!(first.moves.iter().all(|(_, stats)| stats.under_way == 0));
            }
            let playouts = searched(&game, policy, Some(64), Limits::playouts(150)).swap_remove(0).spent.playouts;
            assert_eq!(playouts, 150, "{name}, {policy}");
        }
    }
}
