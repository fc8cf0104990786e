//! Tournaments in lock step, compared with the same tournaments one game at a
//! time.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use sternhalma_ggp::Policy;
use sternhalma_ggp::arena::{
    self, Budget, Contestant, ContestantError, Entrant, GameId, GameRecord, LockStepSetup, PolicyPlayer, RoundSpec,
    RunError, Schedule, SprtSpec, Standings, TimeControl, TournamentSetup,
};
use sternhalma_ggp::gdl::Rules;
use sternhalma_ggp::gdl::network::{Network, NetworkGame};

use crate::common::own;

const NAMES: [&str; 4] = ["base", "random", "mast,tune=nmc,tune-what=epsilon,tune-prior=8", "tuned"];

fn network(name: &str) -> NetworkGame {
    NetworkGame::new(Network::new(&Rules::parse(&own(name)).unwrap()).unwrap())
}

fn schedule(roles: usize, games: u64) -> Schedule {
    let budget = Budget { playouts: Some(30), ..Budget::default() };
    let mut entrants = NAMES.map(Entrant::named).to_vec();
    entrants[2].budget = Budget { nodes: Some(150), ..Budget::default() };
    Schedule { roles, ..Schedule::new(entrants, budget, games) }
}

/// Returns records without times, by game.
fn by_id(records: Vec<GameRecord>) -> BTreeMap<GameId, GameRecord> {
    let count = records.len();
    let without_time = |mut record: GameRecord| {
        record.spent.iter_mut().for_each(|spent| spent.seconds = 0.0);
        record.searches.iter_mut().for_each(|search| search.seconds = 0.0);
        (record.id, record)
    };
    let found: BTreeMap<GameId, GameRecord> = records.into_iter().map(without_time).collect();
    assert_eq!(found.len(), count, "no game is played twice");
    found
}

fn threads(count: usize) -> NonZeroUsize {
    NonZeroUsize::new(count).unwrap()
}

/// Plays one game at a time.
fn one_by_one(game: &NetworkGame, schedule: &Schedule) -> BTreeMap<GameId, GameRecord> {
    let make = |entrant: usize| -> Result<Box<dyn Contestant<NetworkGame>>, ContestantError> {
        Ok(Box::new(PolicyPlayer::new(NAMES[entrant].parse().unwrap())))
    };
    let mut records = Vec::new();
    let keep = |record: &GameRecord, _: &Standings| -> Result<(), RunError> {
        records.push(record.clone());
        Ok(())
    };
    let host = TournamentSetup { game, contestants: &make, adjudicator: None, openings: None };
    let mut standings = Standings::new(schedule.clone());
    arena::run(&host, &mut standings, threads(1), &AtomicBool::new(false), keep).unwrap();
    by_id(records)
}

/// Plays the missing games of the standings in lock step, up to a number of
/// games.
fn in_lock_step(
    game: &NetworkGame,
    standings: &mut Standings,
    games: usize,
    on: usize,
    most: usize,
) -> Result<Vec<GameRecord>, RunError> {
    let policies = NAMES.map(|name| name.parse::<Policy>().unwrap());
    let (lanes, games) = (game.lanes().unwrap(), threads(games));
    let host = LockStepSetup { game, lanes, policies: &policies, games, openings: None };
    let (stop, mut records) = (AtomicBool::new(false), Vec::new());
    let keep = |record: &GameRecord, _: &Standings| -> Result<(), RunError> {
        records.push(record.clone());
        stop.store(records.len() >= most, Relaxed);
        Ok(())
    };
    arena::run_in_lock_step(host, standings, threads(on), &stop, keep)?;
    Ok(records)
}

#[test]
fn games_in_lock_step_are_those_of_one_by_one() {
    for (name, ponder, start) in [
        ("tic-tac-toe", false, 0.0),
        ("tic-tac-toe", true, 2.5),
        ("odd-one-out", true, 1.0),
        ("connect-four", true, 0.5),
        ("chinese-checkers-3p", false, 1.0),
    ] {
        let game = network(name);
        let games = if name == "chinese-checkers-3p" { 2 } else { 6 };
        let roles = game.network().roles.len();
        // Odd one out ends after one move.
        let opening_plies = if name == "odd-one-out" { 0 } else { 2 };
        let schedule = Schedule { ponder, start, ply_limit: 40, opening_plies, ..schedule(roles, games) };
        let whole = one_by_one(&game, &schedule);
        assert_eq!(whole.len() as u64, 6 * games);
        for (games, on) in [(1, 1), (5, 1), (7, 2), (600, 2)] {
            let mut standings = Standings::new(schedule.clone());
            let found = by_id(in_lock_step(&game, &mut standings, games, on, usize::MAX).unwrap());
            assert_eq!(found, whole, "{name}, {games} games on {on} threads");
        }
    }
}

#[test]
fn a_resumed_run_gives_the_same_result() {
    let game = network("tic-tac-toe");
    let mut schedule = schedule(2, 9);
    schedule.rounds.push(RoundSpec { name: "two".to_owned(), games: 4, ..schedule.rounds[0].clone() });
    let whole = one_by_one(&game, &schedule);
    for on in [1, 2] {
        let mut standings = Standings::new(schedule.clone());
        let (mut records, mut runs) = (Vec::new(), 0);
        while standings.played() < standings.expected() {
            records.extend(in_lock_step(&game, &mut standings, 10, on, 7).unwrap());
            runs += 1;
        }
        assert!(runs > 1);
        assert_eq!(by_id(records), whole, "{on} threads");
    }
}

#[test]
fn a_test_decides_the_same() {
    let game = network("tic-tac-toe");
    let test = SprtSpec { nelo: [0.0, 400.0], alpha: 0.05, beta: 0.05 };
    let mut schedule = Schedule { test: Some(test), ..schedule(2, 400) };
    schedule.pairings = vec![[0, 1]];
    let expected = |games, on| {
        let mut standings = Standings::new(schedule.clone());
        in_lock_step(&game, &mut standings, games, on, usize::MAX).unwrap();
        let score = standings.summary()[0].pairings[0].score;
        (standings.played(), score)
    };
    let first = expected(1, 1);
    assert!(first.0 < 400, "{first:?}");
    assert_eq!((expected(8, 1), expected(9, 2)), (first, first));
}

#[test]
fn budgets_that_are_no_counts_are_refused() {
    let game = network("tic-tac-toe");
    let playouts = Some(10);
    for budget in [
        Budget { movetime: Some(5), playouts, ..Budget::default() },
        Budget { time: Some("5+1".parse::<TimeControl>().unwrap()), playouts, ..Budget::default() },
        Budget { depth: Some(3), playouts, ..Budget::default() },
    ] {
        let mut schedule = schedule(2, 2);
        schedule.entrants[1].budget = budget;
        let error = in_lock_step(&game, &mut Standings::new(schedule), 4, 1, usize::MAX).unwrap_err().to_string();
        assert!(error.contains("need a budget of playouts or nodes alone, and that of random is"), "{error}");
    }
    let mut schedule = schedule(2, 2);
    schedule.rounds[0].budget = Budget::default();
    let error = in_lock_step(&game, &mut Standings::new(schedule), 4, 1, usize::MAX).unwrap_err().to_string();
    assert!(error.ends_with("and that of base is no limit"), "{error}");
}
