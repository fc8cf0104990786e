//! Tournaments between strong, weak and faulty contestants.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::sleep;
use std::time::Duration;

use rand::{RngExt, SeedableRng};
use serde_json::Value;
use sternhalma_ggp::arena::{
    self, ArenaGame, Budget, Contestant, ContestantError, Entrant, Fault, FaultKind, GameLog, GameRecord, Opening,
    OpeningError, PolicyPlayer, Request, RoundSpec, RunError, Schedule, SprtSpec, Standings, Termination,
    TournamentSetup,
};
use sternhalma_ggp::gdl::Rules;
use sternhalma_ggp::gdl::network::{Network, NetworkGame};
use sternhalma_ggp::policy::PolicyGame;
use sternhalma_ggp::statistics::Verdict;
use sternhalma_ggp::{Game, Rng, SearchStats, Turn};

/// Nim with one heap of 20 stones: take 1 to 3; the player that takes the last
/// stone wins.
struct Nim;

impl PolicyGame for Nim {}

impl Game for Nim {
    type State = (u32, usize);
    type Move = u32;
    fn roles(&self) -> usize {
        2
    }
    fn initial(&self) -> (u32, usize) {
        (20, 0)
    }
    fn turn(&self, state: &(u32, usize)) -> Turn {
        Turn::One(state.1)
    }
    fn number(&self, _: usize, mv: u32) -> u32 {
        mv
    }
    fn legal(&self, state: &(u32, usize), _: usize, moves: &mut Vec<u32>) {
        moves.extend(1..=state.0.min(3));
    }
    fn play(&self, state: &mut (u32, usize), joint: &[u32]) {
        *state = (state.0 - joint[0], 1 - state.1);
    }
    fn is_terminal(&self, state: &(u32, usize)) -> bool {
        state.0 == 0
    }
    fn goal(&self, state: &(u32, usize), role: usize) -> u8 {
        if role == state.1 { 0 } else { 100 }
    }
}

/// An opening is the number of stones, a space and the role to move.
impl ArenaGame for Nim {
    fn move_text(&self, _: &(u32, usize), _: usize, mv: u32) -> String {
        mv.to_string()
    }
    fn opening(&self, text: &str) -> Result<Opening<(u32, usize)>, OpeningError> {
        let parts = text.split_once(' ').and_then(|(stones, role)| Some((stones.parse().ok()?, role.parse().ok()?)));
        let state = parts.ok_or_else(|| OpeningError::Notation(format!("`{text}` is no heap")))?;
        Ok(Opening { state, text: text.to_owned(), plies: 0 })
    }
    fn random_opening(&self, plies: u32, rng: &mut Rng) -> Option<Opening<(u32, usize)>> {
        let (mut state, mut moves) = (self.initial(), Vec::new());
        for _ in 0..plies {
            let mv = self.random_move(&state, state.1, &mut moves, rng)?;
            self.play(&mut state, &[mv]);
        }
        (state.0 > 0).then(|| Opening { state, text: format!("{} {}", state.0, state.1), plies })
    }
}

/// The behaviour of a contestant.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Habit {
    /// Plays the right move with this probability, else a random move.
    Right(f64),
    /// Fails at the start of a game.
    Refuses,
    /// Fails on its second move.
    Faulty(FaultKind),
    /// Takes more stones than there are.
    Cheats,
    /// Takes this number of milliseconds per move.
    Slow(u64),
}

struct Habitual(Habit, Rng, u32);

impl Contestant<Nim> for Habitual {
    fn begin(&mut self, _: &Nim, _: &(u32, usize), _: usize, seed: u64) -> Result<(), Fault> {
        (self.1, self.2) = (Rng::seed_from_u64(seed), 0);
        if self.0 == Habit::Refuses { Err(FaultKind::Crash.fault("it does not start")) } else { Ok(()) }
    }

    fn choose(&mut self, _: &Nim, state: &(u32, usize), _: &Request) -> Result<(u32, SearchStats), Fault> {
        self.2 += 1;
        let random = 1 + self.1.random_range(0..state.0.min(3));
        let right = if state.0.is_multiple_of(4) { random } else { state.0 % 4 };
        let mv = match self.0 {
            Habit::Right(chance) if self.1.random_bool(chance) => right,
            Habit::Faulty(kind) if self.2 == 2 => return Err(kind.fault("as it does")),
            Habit::Cheats => 4,
            Habit::Slow(time) => {
                sleep(Duration::from_millis(time));
                random
            }
            _ => random,
        };
        Ok((mv, SearchStats { expansions: 1, ..SearchStats::default() }))
    }

    fn observe(&mut self, _: &Nim, _: &[u32]) {}
}

fn schedule(habits: &[Habit], games: u64) -> Schedule {
    let entrants = habits.iter().enumerate().map(|(place, habit)| Entrant::named(format!("{place}: {habit:?}")));
    let budget = Budget { nodes: Some(1), ..Budget::default() };
    Schedule { margin: 1 << 30, patience: 1 << 30, ..Schedule::new(entrants.collect(), budget, games) }
}

/// Continues a tournament until `most` more games are reported, and returns
/// these games.
fn play(habits: &[Habit], standings: &mut Standings, threads: usize, most: usize) -> Vec<GameRecord> {
    let rng = || Rng::seed_from_u64(0);
    let make = |entrant: usize| -> Result<Box<dyn Contestant<Nim>>, ContestantError> {
        Ok(Box::new(Habitual(habits[entrant], rng(), 0)))
    };
    let host = TournamentSetup { game: &Nim, contestants: &make, adjudicator: None, openings: None };
    let (stop, mut records) = (AtomicBool::new(false), Vec::new());
    let keep = |record: &GameRecord, _: &Standings| -> Result<(), RunError> {
        records.push(record.clone());
        stop.store(records.len() >= most, Relaxed);
        Ok(())
    };
    arena::run(&host, standings, NonZeroUsize::new(threads).unwrap(), &stop, keep).unwrap();
    records
}

/// Returns a summary without times.
fn summary(standings: &Standings) -> Value {
    fn without_seconds(value: &mut Value) {
        match value {
            Value::Object(fields) => {
                fields.remove("seconds");
                fields.values_mut().for_each(without_seconds);
            }
            Value::Array(values) => values.iter_mut().for_each(without_seconds),
            _ => {}
        }
    }
    let mut value = serde_json::to_value(standings.summary()).unwrap();
    without_seconds(&mut value);
    value
}

const MIXED: [Habit; 4] = [Habit::Right(0.9), Habit::Right(0.5), Habit::Faulty(FaultKind::Garbage), Habit::Right(0.0)];

#[test]
fn a_resumed_run_gives_the_same_result() {
    let dir = tempfile::tempdir().unwrap();
    let mut schedule = schedule(&MIXED, 20);
    schedule.rounds.push(RoundSpec { name: "two".to_owned(), games: 11, ..schedule.rounds[0].clone() });
    let mut whole = Standings::new(schedule.clone());
    let games = play(&MIXED, &mut whole, 1, usize::MAX);
    assert_eq!(games.len(), 6 * 31);
    for threads in 1..=4 {
        let path = dir.path().join(threads.to_string());
        let mut rng = Rng::seed_from_u64(threads as u64);
        loop {
            let (mut log, known) = GameLog::open(&path, &schedule).unwrap();
            let mut standings = Standings::new(schedule.clone());
            known.iter().for_each(|record| {
                standings.add(record);
            });
            if standings.played() == standings.expected() {
                assert_eq!(summary(&standings), summary(&whole));
                let by_id = |records: &[GameRecord]| -> BTreeMap<_, _> {
                    records.iter().map(|record| (record.id, (record.moves.clone(), record.goals.clone()))).collect()
                };
                assert_eq!((known.len(), by_id(&known)), (games.len(), by_id(&games)));
                break;
            }
            let records = play(&MIXED, &mut standings, threads, rng.random_range(1..60));
            records.iter().for_each(|record| log.append(record).unwrap());
            drop(log);
            // A killed process may leave a part of a line.
            if rng.random_bool(0.5) {
                let text = std::fs::read(&path).unwrap();
                std::fs::write(&path, &text[..text.len() - rng.random_range(1..40)]).unwrap();
            }
        }
    }
}

#[test]
fn whatever_a_contestant_does_wrong_loses_its_game_and_no_other() {
    use FaultKind::{Crash, Garbage, Hang, Illegal};
    let habits = [
        Habit::Right(1.0),
        Habit::Refuses,
        Habit::Faulty(Crash),
        Habit::Faulty(Hang),
        Habit::Faulty(Garbage),
        Habit::Cheats,
    ];
    let schedule = Schedule { pairings: Schedule::gauntlet(habits.len()), ..schedule(&habits, 6) };
    let mut standings = Standings::new(schedule);
    let records = play(&habits, &mut standings, 2, usize::MAX);
    assert_eq!(records.len(), 30);
    let round = &standings.summary()[0];
    for (pairing, kind) in round.pairings.iter().zip([Crash, Crash, Hang, Garbage, Illegal]) {
        let score = pairing.score.unwrap().score;
        assert_eq!((score.wins, score.games), (6, 6), "{pairing:?}");
        assert_eq!(pairing.faults, [BTreeMap::new(), BTreeMap::from([(kind, 6)])]);
        assert_eq!(pairing.ends.fault, 6);
    }
    for record in &records {
        let fault = record.fault.as_ref().unwrap();
        assert_eq!((record.end, record.goals[fault.role], record.goals[1 - fault.role]), (Termination::Fault, 0, 100));
    }
}

#[test]
fn a_late_player_loses_on_time() {
    let habits = [Habit::Right(1.0), Habit::Slow(40)];
    let timed = |budget: Budget, margin| {
        let mut schedule = Schedule { margin, ..schedule(&habits, 2) };
        schedule.rounds[0].budget = budget;
        let mut standings = Standings::new(schedule);
        play(&habits, &mut standings, 1, usize::MAX);
        let round = standings.summary().remove(0);
        (round.pairings[0].faults[1].clone(), round.pairings[0].ends.rules)
    };
    let movetime = Budget { movetime: Some(1), ..Budget::default() };
    assert_eq!(timed(movetime, 10), (BTreeMap::from([(FaultKind::Time, 2)]), 0));
    assert_eq!(timed(movetime, 10_000), (BTreeMap::new(), 2));
    // The clock lasts for one move, or for as many as the increment permits.
    let clock = |text: &str| Budget { time: Some(text.parse().unwrap()), ..Budget::default() };
    assert_eq!(timed(clock("0.05"), 1), (BTreeMap::from([(FaultKind::Time, 2)]), 0));
    assert_eq!(timed(clock("10+10"), 1), (BTreeMap::new(), 2));
}

#[test]
fn a_test_decides_the_same_at_any_number_of_threads() {
    let habits = [Habit::Right(0.8), Habit::Right(0.2), Habit::Right(0.79)];
    let run = |threads| {
        let test = Some(SprtSpec { nelo: [0.0, 100.0], alpha: 0.05, beta: 0.05 });
        let mut standings = Standings::new(Schedule { test, opening_plies: 0, ..schedule(&habits, 4000) });
        play(&habits, &mut standings, threads, usize::MAX);
        assert_eq!(standings.played(), standings.expected());
        assert!(standings.expected() < standings.schedule().total());
        summary(&standings)
    };
    let found = run(1);
    for threads in [2, 4] {
        assert_eq!(run(threads), found);
    }
    let verdict = |pairing: usize| found[0]["pairings"][pairing]["sprt"]["verdict"].clone();
    assert_eq!([verdict(0), verdict(2)], [Verdict::H1, Verdict::H0].map(|it| serde_json::to_value(it).unwrap()));
}

#[test]
fn openings_are_the_pairs_and_listed_ones_are_taken_in_turn() {
    let habits = [Habit::Right(0.5), Habit::Right(0.5)];
    let openings = ["9 0", "12 1", "3 0"].map(str::to_owned).to_vec();
    let mut standings = Standings::new(Schedule { openings, ..schedule(&habits, 8) });
    let mut records = play(&habits, &mut standings, 2, usize::MAX);
    records.sort_by_key(|record| record.id);
    let found: Vec<&str> = records.iter().map(|record| record.opening.as_str()).collect();
    assert_eq!(found, ["9 0", "9 0", "12 1", "12 1", "3 0", "3 0", "9 0", "9 0"]);
    for record in &records {
        let stones: u32 = record.opening.split_once(' ').unwrap().0.parse().unwrap();
        assert_eq!(record.moves.iter().map(|mv| mv.parse::<u32>().unwrap()).sum::<u32>(), stones);
    }

    // There are five openings of two plies. Later ones are longer by whole rounds, so the same
    // role moves first.
    let mut standings = Standings::new(schedule(&habits, 26));
    let mut records = play(&habits, &mut standings, 2, usize::MAX);
    records.sort_by_key(|record| record.id);
    assert!(records.chunks(2).all(|pair| pair[0].opening == pair[1].opening));
    let different: std::collections::BTreeSet<&str> = records.iter().map(|record| record.opening.as_str()).collect();
    assert_eq!(different.len(), 13);
    assert!(different.iter().all(|opening| opening.ends_with(" 0")), "{different:?}");
    assert!(records.chunks(2).all(|pair| pair[0].players[0] == pair[1].players[1]));

    let mut standings = Standings::new(Schedule { openings: vec!["x".to_owned()], ..schedule(&habits, 8) });
    let make = |_: usize| -> Result<Box<dyn Contestant<Nim>>, ContestantError> { unreachable!("nobody plays") };
    let host = TournamentSetup { game: &Nim, contestants: &make, adjudicator: None, openings: None };
    let ran =
        arena::run(&host, &mut standings, NonZeroUsize::MIN, &AtomicBool::new(false), |_, _| Ok::<_, RunError>(()));
    assert_eq!(ran.unwrap_err().to_string(), "opening 1: `x` is no heap");
}

#[test]
fn a_run_without_enough_different_openings_ends_before_its_games() {
    let habits = [Habit::Right(1.0), Habit::Right(0.5)];
    let make = |entrant: usize| -> Result<Box<dyn Contestant<Nim>>, ContestantError> {
        Ok(Box::new(Habitual(habits[entrant], Rng::seed_from_u64(0), 0)))
    };
    let run = |change: Schedule| {
        let host = TournamentSetup { game: &Nim, contestants: &make, adjudicator: None, openings: None };
        let mut standings = Standings::new(change);
        let stop = AtomicBool::new(false);
        let ran = arena::run(&host, &mut standings, NonZeroUsize::MIN, &stop, |_, _| Ok::<_, RunError>(()));
        (ran.err().map(|error| error.to_string()).unwrap_or_default(), standings.played())
    };
    let plain = schedule(&habits, 4);
    let few = "no further different openings can be drawn";
    // A heap of 20 stones lasts at most 20 plies, and no opening has 21.
    let (error, played) = run(Schedule { opening_plies: 21, ..plain.clone() });
    let found = error.starts_with(few) && error.contains("0 of 2 found with 21");
    assert!(found && played == 0, "{error}, {played} games");
    for (opening_plies, ply_limit, why) in [(12, 12, "leave no move"), (10_001, 20_000, "expected 0 to 10000")] {
        let (error, played) = run(Schedule { opening_plies, ply_limit, ..plain.clone() });
        assert!(error.contains(why) && played == 0, "{error}, {played} games");
    }
    assert_eq!(run(Schedule { opening_plies: 0, ..plain.clone() }), (String::new(), 4));
    // A test draws its openings when it needs them.
    let test = Some(SprtSpec { nelo: [0.0, 5.0], alpha: 1e-9, beta: 1e-9 });
    let (error, played) = run(Schedule { test, ..schedule(&habits, 4000) });
    assert!(error.starts_with(few) && played > 20, "{error}, {played} games");
}

#[test]
fn games_end_at_the_ply_limit_and_by_adjudication() {
    let habits = [Habit::Right(1.0), Habit::Right(1.0)];
    let mut standings = Standings::new(Schedule { ply_limit: 4, ..schedule(&habits, 4) });
    for record in play(&habits, &mut standings, 1, usize::MAX) {
        assert_eq!((record.end, record.goals, record.plies), (Termination::PlyLimit, vec![50, 50], 4));
    }
    let make = |entrant: usize| -> Result<Box<dyn Contestant<Nim>>, ContestantError> {
        Ok(Box::new(Habitual(habits[entrant], Rng::seed_from_u64(0), 0)))
    };
    // The player who faces a multiple of four stones has lost.
    let adjudicator = |state: &(u32, usize)| {
        (state.0 < 10 && state.0.is_multiple_of(4))
            .then(|| (0..2).map(|role| if role == state.1 { 0 } else { 100 }).collect())
    };
    let host = TournamentSetup { game: &Nim, contestants: &make, adjudicator: Some(&adjudicator), openings: None };
    let mut standings = Standings::new(schedule(&habits, 10));
    let keep = |record: &GameRecord, _: &Standings| -> Result<(), RunError> {
        assert_eq!(record.end, Termination::Adjudicated);
        Ok(())
    };
    arena::run(&host, &mut standings, NonZeroUsize::MIN, &AtomicBool::new(false), keep).unwrap();
    assert_eq!(standings.summary()[0].pairings[0].ends.adjudicated, 10);
}

fn rulesheet(name: &str) -> NetworkGame {
    let path = format!("{}/games/{name}.kif", env!("CARGO_MANIFEST_DIR"));
    NetworkGame::new(Network::new(&Rules::parse(&std::fs::read_to_string(path).unwrap()).unwrap()).unwrap())
}

/// Plays a match of two policies and returns its games.
fn policies(game: &NetworkGame, names: [&str; 2], games: u64, opening_plies: u32) -> (Standings, Vec<GameRecord>) {
    let make = |entrant: usize| -> Result<Box<dyn Contestant<NetworkGame>>, ContestantError> {
        Ok(Box::new(PolicyPlayer::new(names[entrant].parse().unwrap())))
    };
    let host = TournamentSetup { game, contestants: &make, adjudicator: None, openings: None };
    let budget = Budget { playouts: Some(200), ..Budget::default() };
    let entrants = names.map(Entrant::named).to_vec();
    let schedule = Schedule { roles: game.roles(), opening_plies, ..Schedule::new(entrants, budget, games) };
    let mut standings = Standings::new(schedule);
    let mut records = Vec::new();
    let keep = |record: &GameRecord, _: &Standings| -> Result<(), RunError> {
        records.push(record.clone());
        Ok(())
    };
    let threads = NonZeroUsize::new(2).unwrap();
    arena::run(&host, &mut standings, threads, &AtomicBool::new(false), keep).unwrap();
    (standings, records)
}

#[test]
fn policies_play_rulesheets_of_any_number_of_roles() {
    let (standings, records) = policies(&rulesheet("tic-tac-toe"), ["uct", "random"], 10, 2);
    assert!(standings.score(0, 0).rate() > 0.8, "{:?}", standings.score(0, 0));
    let game = rulesheet("tic-tac-toe");
    for record in &records {
        let text = format!("{} ", record.opening);
        let opening = game.opening(&text).unwrap();
        assert_eq!((opening.plies, opening.text.as_str()), (2, record.opening.as_str()));
        assert!(record.plies > 2 && record.moves.len() as u32 == record.plies - 2);
    }
    for (text, why) in [("(noop)", "invalid joint move"), ("((mark 9 9) noop)", "not legal"), ("((", "")] {
        assert!(game.opening(text).unwrap_err().to_string().contains(why), "{text}");
    }

    // Three roles move simultaneously; every division of the roles occurs.
    let (standings, records) = policies(&rulesheet("odd-one-out"), ["uct", "random"], 12, 0);
    assert_eq!(standings.played(), 12);
    let ways: std::collections::BTreeSet<Vec<String>> = records.iter().map(|record| record.players.clone()).collect();
    assert_eq!(ways.len(), 6);
    assert!(records.iter().all(|record| record.moves.iter().all(|joint| joint.split(' ').count() >= 3)));
}

#[test]
fn a_role_alone_is_played_by_either() {
    let one = NetworkGame::new(
        Network::new(
            &Rules::parse(
                "(role you) (init (at 1)) (succ 1 2) (succ 2 3) (succ 3 4)
                 (legal you on) (legal you stay)
                 (<= (next (at ?m)) (does you on) (true (at ?n)) (succ ?n ?m))
                 (<= (next (at ?n)) (does you stay) (true (at ?n)))
                 (init (step 1)) (<= (next (step ?m)) (true (step ?n)) (succ ?n ?m))
                 (<= terminal (true (step 4)))
                 (<= (goal you 100) (true (at 4))) (<= (goal you 20) (not (true (at 4))))",
            )
            .unwrap(),
        )
        .unwrap(),
    );
    let (standings, _) = policies(&one, ["uct", "random"], 20, 0);
    let pairing = &standings.summary()[0].pairings[0];
    assert_eq!((pairing.games, pairing.score), (20, None));
    let [uct, random] = pairing.goals.map(Option::unwrap);
    assert_eq!(uct, 100.0);
    assert!((20.0..100.0).contains(&random));
}

#[test]
fn all_think_in_every_step_and_before_the_game_if_they_are_to() {
    let policies = ["uct", "nst", "base", "tuned"];
    let entrants = policies.iter().map(|policy| Entrant::named((*policy).to_owned())).collect();
    let budget = Budget { playouts: Some(10), ..Budget::default() };
    let mut schedule = Schedule { start: 2.5, ponder: true, ..Schedule::new(entrants, budget, 4) };
    let make = |entrant: usize| -> Result<Box<dyn Contestant<Nim>>, ContestantError> {
        Ok(Box::new(PolicyPlayer::new(policies[entrant].parse().unwrap())))
    };
    let run = |schedule: &Schedule, threads| {
        let host = TournamentSetup { game: &Nim, contestants: &make, adjudicator: None, openings: None };
        let mut records = Vec::new();
        let keep = |record: &GameRecord, _: &Standings| -> Result<(), RunError> {
            records.push(record.clone());
            Ok(())
        };
        let mut standings = Standings::new(schedule.clone());
        arena::run(&host, &mut standings, threads, &AtomicBool::new(false), keep).unwrap();
        records.sort_by_key(|record| record.id);
        records
    };
    let [one, two] = [1, 2].map(|threads| run(&schedule, NonZeroUsize::new(threads).unwrap()));
    assert_eq!(one.len(), 24);
    for (record, again) in one.iter().zip(&two) {
        assert_eq!((&record.moves, &record.goals), (&again.moves, &again.goals));
        let plies = record.moves.len() as u64;
        for spent in &record.spent {
            assert_eq!((spent.moves, spent.playouts), (1 + plies, 25 + 10 * plies));
        }
    }
    (schedule.ponder, schedule.start) = (false, 0.0);
    for record in run(&schedule, NonZeroUsize::MIN) {
        let spent: u64 = record.spent.iter().map(|spent| spent.playouts).sum();
        assert_eq!(spent, 10 * record.moves.len() as u64);
    }
}
