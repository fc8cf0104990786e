//! Many searches in lock step, compared with each search alone.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use sternhalma_game::{Game, Limits, SearchStats};
use sternhalma_gdl::Rules;
use sternhalma_gdl::network::{Network, NetworkGame, NetworkState};
use sternhalma_mcts::{Mcts, Playout, SearchClock, SearchResult, Selection, ToTheEnd};

use crate::batch::{LaneSearch, LockStepSearches};
use crate::policy::{PartsVisitor, Policy, PolicyGame, SearchTask};

const POLICIES: [&str; 15] = [
    "uct",
    "nst,solver=yes",
    "mast,tune=mab,tune-what=playout+gamma+omega",
    "lgrf,waiting=skip",
    "base",
    "authors",
    "authors,transpositions=yes",
    "tuned",
    "base,tune=he",
    "mini",
    "mini,transpositions=yes,solver=yes",
    "mini,strategies=AGE,pr-age=0.6",
    "mini,strategies=M,allocation=static,opponents=hh",
    "mini,strategies=E",
    "mini,strategies=SSC,selection=grave",
];

/// The number of moves of each match.
const MOVES: usize = 3;

fn games() -> Vec<(String, NetworkGame)> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("games");
    let files = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let rules = files.filter(|path| path.extension().is_some_and(|ending| ending == "kif"));
    let mut games: Vec<(String, NetworkGame)> = rules
        .map(|path| {
            let rules = Rules::parse(&std::fs::read_to_string(&path).unwrap()).unwrap();
            let game = NetworkGame::new(Network::new(&rules).unwrap());
            (path.display().to_string(), game.with_rules(rules))
        })
        .collect();
    games.sort_by(|a, b| a.0.cmp(&b.0));
    games
}

/// Returns the limits and the clock of the search for a move.
fn limits(seed: u64, at: usize) -> (Limits, SearchClock) {
    let count = 3 + (7 * seed + 11 * at as u64) % 13;
    let limits =
        if (seed + at as u64).is_multiple_of(3) { Limits::expansions(4 * count) } else { Limits::playouts(count) };
    (limits, if at == 0 { SearchClock::Start } else { SearchClock::Play })
}

/// Returns the joint move after a search: the best move of the first acting role,
/// and the last legal move of the others.
fn joint(game: &NetworkGame, state: &NetworkState, best: u32) -> Vec<u32> {
    let acting = game.turn(state).acting(game.roles());
    let last = |role| {
        let mut moves = Vec::new();
        game.legal(state, role, &mut moves);
        moves[moves.len() - 1]
    };
    acting.clone().map(|role| if role == acting.start { best } else { last(role) }).collect()
}

/// Runs the searches for the first moves of a match alone.
struct Alone<'a> {
    game: &'a NetworkGame,
    search: &'a crate::policy::SearchPolicy,
    seed: u64,
}

impl PartsVisitor<NetworkGame> for Alone<'_> {
    type Made = Vec<SearchResult<u32>>;

    fn visit<S, P>(self, selection: S, playout: P) -> Vec<SearchResult<u32>>
    where
        S: Selection<NetworkGame> + Clone + Send + 'static,
        P: Playout<NetworkGame> + Clone + Send + 'static,
    {
        let &crate::policy::SearchPolicy { decision, solver, transpositions, .. } = self.search;
        let settings =
            sternhalma_mcts::MctsConfig { decision, solver, transpositions, ..sternhalma_mcts::MctsConfig::default() };
        let mut mcts = Mcts::new(selection, playout, ToTheEnd, settings, self.seed).tuned(self.search.tuning.clone());
        let game = self.game;
        let mut state = game.initial();
        mcts.begin(game, &state);
        let mut all = Vec::new();
        while all.len() < MOVES && !game.is_terminal(&state) {
            let role = game.turn(&state).acting(game.roles()).start;
            let (limits, clock) = limits(self.seed, all.len());
            let spent = mcts.think(game, &state, limits, &Default::default(), SearchStats::default(), clock);
            let found = mcts.result(game, &state, role, spent);
            let joint = joint(game, &state, found.best);
            all.push(found);
            mcts.advance(game, &joint);
            game.play(&mut state, &joint);
        }
        all
    }
}

/// Runs the searches for the first moves of matches in lock step, one match for
/// each seed.
fn in_lock_step(game: &NetworkGame, policy: &Policy, seeds: u64, seats: usize) -> Vec<Vec<SearchResult<u32>>> {
    let mut searches = LockStepSearches::new(game, game.lanes().unwrap(), seats);
    let mut found: Vec<Vec<SearchResult<u32>>> = vec![Vec::new(); seeds as usize];
    for seed in 0..seeds {
        let mut resumable = policy.resumable(game, 0, seed).unwrap();
        resumable.begin(game, &game.initial());
        let (limits, clock) = limits(seed, 0);
        searches.add(LaneSearch::new(seed, resumable, game.initial(), limits, clock));
    }
    while !searches.is_idle() {
        searches.round();
        let ended: Vec<LaneSearch<u64>> = searches.take_ended().collect();
        for mut search in ended {
            let (seed, mut state) = (search.tag, search.root.clone());
            let role = game.turn(&state).acting(game.roles()).start;
            let of = &mut found[seed as usize];
            of.push(search.result(game, role));
            let joint = joint(game, &state, of[of.len() - 1].best);
            search.resumable.advance(game, &joint);
            game.play(&mut state, &joint);
            if of.len() < MOVES && !game.is_terminal(&state) {
                let (limits, clock) = limits(seed, of.len());
                searches.add(LaneSearch::new(seed, search.resumable, state, limits, clock));
            }
        }
    }
    found
}

fn without_time(found: Vec<SearchResult<u32>>) -> Vec<SearchResult<u32>> {
    let spent = |spent| SearchStats { time: Duration::ZERO, ..spent };
    found.into_iter().map(|found| SearchResult { spent: spent(found.spent), ..found }).collect()
}

#[test]
fn searches_in_lock_step_equal_searches_alone() {
    const SEEDS: u64 = 5;
    for (place, (name, game)) in games().into_iter().enumerate() {
        for (number, policy) in POLICIES.into_iter().enumerate() {
            let policy: Policy = policy.parse().unwrap();
            let Policy::Search(search) = &policy else { panic!("all policies search") };
            let alone = |seed| without_time(search.visit(&game, 0, Alone { game: &game, search, seed }));
            let alone: Vec<Vec<SearchResult<u32>>> = (0..SEEDS).map(alone).collect();
            let seats = [2, 4, 512][(place + number) % 3];
            let found = in_lock_step(&game, &policy, SEEDS, seats);
            let found: Vec<Vec<SearchResult<u32>>> = found.into_iter().map(without_time).collect();
            assert_eq!(found, alone, "{name}, {policy}, {seats} seats");
        }
    }
}

#[test]
fn dropped_searches_free_their_seats() {
    let (_, game) = games().swap_remove(3);
    let policy: Policy = "base".parse().unwrap();
    let begun = |seed: u64, limit: u64| {
        let mut resumable = policy.resumable(&game, 0, seed).unwrap();
        resumable.begin(&game, &game.initial());
        LaneSearch::new(seed, resumable, game.initial(), Limits::playouts(limit), SearchClock::Play)
    };
    let mut searches = LockStepSearches::new(&game, game.lanes().unwrap(), 3);
    (0..6).for_each(|seed| searches.add(begun(seed, u64::MAX)));
    (0..100).for_each(|_| searches.round());
    searches.retain(|&seed| seed == 1);
    (6..9).for_each(|seed| searches.add(begun(seed, 20)));
    let mut ended = Vec::new();
    while ended.len() < 3 {
        searches.round();
        ended.extend(searches.take_ended());
    }
    searches.retain(|_| false);
    assert!(searches.is_idle());
    ended.sort_by_key(|search| search.tag);
    for (search, seed) in ended.iter().zip(6..) {
        let one = in_lock_step_alone(&game, begun(seed, 20));
        assert_eq!((search.tag, search.result(&game, 0).moves), (seed, one));
        assert_eq!(search.spent().playouts, 20);
    }
}

#[test]
fn lanes_find_the_transpositions_of_single_states() {
    let (_, game) = games().into_iter().find(|(name, _)| name.ends_with("/tic-tac-toe.kif")).unwrap();
    let limits = Limits::playouts(2000);
    let found = ["uct", "uct,transpositions=yes"].map(|text| {
        let policy: Policy = text.parse().unwrap();
        let mut agent = game.agent(&policy, 0, 1);
        let state = game.initial();
        agent.begin(&game, &state);
        let stop = AtomicBool::new(false);
        let alone = agent.search(&SearchTask::new(&game, &state, limits, &stop), 0).moves;
        let mut resumable = policy.resumable(&game, 0, 1).unwrap();
        resumable.begin(&game, &game.initial());
        let search = LaneSearch::new(1, resumable, game.initial(), limits, SearchClock::Play);
        assert_eq!(in_lock_step_alone(&game, search), alone, "{text}");
        alone
    });
    assert_ne!(found[0], found[1], "transpositions change the search");
}

/// Runs one search without others beside it, and returns its moves.
fn in_lock_step_alone(game: &NetworkGame, search: LaneSearch<u64>) -> Vec<(u32, sternhalma_mcts::MoveStats)> {
    let mut searches = LockStepSearches::new(game, game.lanes().unwrap(), 1);
    searches.add(search);
    loop {
        searches.round();
        let ended = searches.take_ended().next();
        if let Some(search) = ended {
            return search.result(game, 0).moves;
        }
    }
}
