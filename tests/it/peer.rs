//! External players: the engine plays against another process of itself.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::common::PATIENCE;
use rand::SeedableRng;
use sternhalma_data::Board;
use sternhalma_engine::arena::EngineContestant;
use sternhalma_engine::external::{ExternalPlayer, ProgramCommand};
use sternhalma_engine::{Action, ChineseCheckers, Filter, GameSetup, GameState, Roster};
use sternhalma_ggp::arena::{Contestant, Fault, FaultKind, GameClock, Request, derive_seed};
use sternhalma_ggp::{Game, Limits, MemoryBudget, Rng, SearchStats};

fn peer(args: &str, options: &[(&str, &str)]) -> ExternalPlayer {
    let command = format!("'{}' ugi --side 5 --pieces 3 --tables /nowhere {args}", env!("CARGO_BIN_EXE_sternhalma"));
    let options = options.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
    ExternalPlayer::new(ProgramCommand::new(&command, options, None).unwrap())
}

fn game() -> ChineseCheckers {
    ChineseCheckers::new(Board::new(5, 3).unwrap(), Filter::All)
}

fn ask(
    player: &mut impl Contestant<ChineseCheckers>,
    game: &ChineseCheckers,
    state: &GameState,
    limits: Limits,
) -> Result<(Action, SearchStats), Fault> {
    let (role, stop) = (state.player() as usize, AtomicBool::new(false));
    player.choose(game, state, &Request { role, limits, clocks: &[None; 2], patience: PATIENCE, stop: &stop })
}

/// Plays a game between two players with their seeds. Returns its actions and their costs.
fn between<C: Contestant<ChineseCheckers>>(
    players: &mut [C; 2],
    start: &GameState,
    seeds: [u64; 2],
    limits: Limits,
) -> (Vec<Action>, Vec<SearchStats>) {
    let game = game();
    for (role, player) in players.iter_mut().enumerate() {
        player.begin(&game, start, role, seeds[role]).unwrap();
    }
    let (mut state, mut actions, mut spent) = (*start, Vec::new(), Vec::new());
    while state.outcome().is_none() {
        let mover = &mut players[state.player() as usize];
        let (action, cost) = ask(mover, &game, &state, limits).unwrap();
        let mut legal = Vec::new();
        game.legal(&state, state.player() as usize, &mut legal);
        assert!(legal.contains(&action), "{action:?}");
        game.play_action(&mut state, action);
        players.iter_mut().for_each(|player| player.observe(&game, &[action]));
        actions.push(action);
        spent.push(SearchStats { time: Duration::ZERO, ..cost });
    }
    (actions, spent)
}

/// Plays the same game in this process, and returns its actions.
fn here(names: [&str; 2], start: &GameState, seeds: [u64; 2], limits: Limits) -> Vec<Action> {
    let roster = Roster::built_in();
    let made = |name| {
        roster
            .config(name)
            .unwrap()
            .prepare(GameSetup::new(Board::new(5, 3).unwrap()), None)
            .unwrap()
            .start(&MemoryBudget::unlimited())
            .unwrap()
    };
    between(&mut names.map(|name| EngineContestant::new(made(name))), start, seeds, limits).0
}

#[test]
fn a_program_plays_the_game_that_is_played_in_process() {
    let game = game();
    let opening = game.random_state(3, &mut Rng::seed_from_u64(5)).unwrap();
    assert_ne!(opening.player(), game.initial().player());
    let mut seen = Vec::new();
    for (names, limits) in [
        (["base0", "ab-avg"], Limits::expansions(3000)),
        (["base0", "base0"], Limits::playouts(100)),
        (["ab-avg", "random"], Limits::depth(2)),
    ] {
        let mut peers = names.map(|name| peer("", &[("Player", name)]));
        for start in [game.initial(), opening] {
            let seeds = [1, 2].map(|number| derive_seed(9, number));
            let (actions, spent) = between(&mut peers, &start, seeds, limits);
            assert_eq!(actions, here(names, &start, seeds, limits), "{names:?}");
            assert!(actions.len() > 10);
            // The same process plays the same game again.
            assert_eq!(between(&mut peers, &start, seeds, limits), (actions.clone(), spent.clone()), "{names:?}");
            let nodes = spent.iter().map(|spent| spent.expansions_counted());
            assert!(nodes.clone().max() > Some(0) && nodes.max() <= Some(100_000));
            let playouts = spent.iter().map(|spent| spent.playouts).max();
            assert_eq!(playouts > Some(0), names.contains(&"base0"), "{names:?}");
            seen.push(actions);
        }
        let other = between(&mut peers, &game.initial(), [3, 4], limits).0;
        assert_ne!(other, seen[seen.len() - 2], "{names:?}: the seed has no effect");
    }
}

#[test]
fn a_program_introduces_itself_and_reports_its_errors() {
    let greet = |mut peer: ExternalPlayer| peer.greet(PATIENCE, &AtomicBool::new(false));
    assert_eq!(greet(peer("", &[])), Ok(format!("Sternhalma {}", env!("CARGO_PKG_VERSION"))));
    let fault = greet(peer("", &[("Colour", "red")])).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Crash);
    assert!(
        fault.detail.contains("`Colour`") && fault.detail.contains("Player, Seed, Hash, Threads, MultiPV, Tables"),
        "{fault}"
    );
    // The detail of the fault is the message of the program.
    let fault = greet(peer("--colour red", &[])).unwrap_err();
    assert!(fault.kind == FaultKind::Crash && fault.detail.contains("--colour"), "{fault}");
    for (options, why) in [([("player", "heur9")], "there is no player"), ([("player", "heur0")], "distance table")] {
        let mut refusing = peer("", &options);
        let fault = refusing.begin(&game(), &game().initial(), 0, 1).unwrap_err();
        assert!(fault.kind == FaultKind::Crash && fault.detail.contains(why), "{fault}");
    }
}

#[test]
fn clocks_and_times_are_passed() {
    let (game, stop) = (game(), AtomicBool::new(false));
    let mut peer = peer("--player base0", &[]);
    let start = game.initial();
    let clock = |ms| Some(GameClock { left: Duration::from_millis(ms), increment: Duration::from_millis(5) });
    for (limits, clocks) in [
        (Limits::default(), [clock(400), clock(600_000)]),
        (Limits::default(), [clock(400), None]),
        (Limits::time(Duration::from_millis(20)), [None, clock(1)]),
    ] {
        peer.begin(&game, &start, 0, 1).unwrap();
        let request = Request { role: 0, limits, clocks: &clocks, patience: PATIENCE, stop: &stop };
        let (_, spent) = peer.choose(&game, &start, &request).unwrap();
        assert!(spent.playouts > 0 && spent.time > Duration::ZERO);
    }
}

#[test]
fn a_stopped_search_ends_and_the_program_continues() {
    let game = game();
    let start = game.initial();
    let mut peer = peer("--player base0", &[]);
    for _ in 0..3 {
        peer.begin(&game, &start, 0, 1).unwrap();
        let (stop, limits) = (AtomicBool::new(true), Limits::expansions(u64::MAX));
        let request = Request { role: 0, limits, clocks: &[None; 2], patience: PATIENCE, stop: &stop };
        let _ = peer.choose(&game, &start, &request);
    }
    peer.begin(&game, &start, 0, 1).unwrap();
    assert!(ask(&mut peer, &game, &start, Limits::expansions(10)).is_ok());
}
