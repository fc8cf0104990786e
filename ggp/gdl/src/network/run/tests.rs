//! Tests of lanes and their playouts.

use std::collections::HashMap;

use rand::{RngExt, SeedableRng};
use sternhalma_game::Rng;
use sternhalma_game::util::FluentSet;

use super::bits::LANES;
use super::lanes::Lanes;
use super::playouts::MAX_STEPS;
use super::{LanesError, Playouts};
use crate::Goal;
use crate::network::build::Netlist;
use crate::network::testing::{Sizes, games, lamps, pennies, random_network, row_game, three_in_turn, tic_tac_toe};
use crate::network::{Gates, Lit, Network, Outputs};

/// Returns the legal moves of each role, given the values of all nodes.
fn legal(netlist: &Netlist, values: &[bool]) -> Vec<Vec<usize>> {
    let legal = |mv: &usize| netlist.outputs.legal[*mv].of(values);
    netlist.roles.iter().map(|role| role.clone().filter(legal).collect()).collect()
}

/// Returns the state after a joint move, by definition.
fn step(netlist: &Netlist, fluents: &[bool], joint: &[usize]) -> Vec<bool> {
    let mut does = vec![false; netlist.moves()];
    joint.iter().for_each(|&mv| does[mv] = true);
    let values = netlist.evaluate(fluents, &does);
    netlist.outputs.next.iter().map(|lit| lit.of(&values)).collect()
}

fn score(goals: &[(u8, Lit)], values: &[bool]) -> Goal {
    let reached: Vec<u8> = goals.iter().filter(|(_, lit)| lit.of(values)).map(|&(score, _)| score).collect();
    match reached[..] {
        [] => Goal::None,
        [score] => Goal::Value(score),
        _ => Goal::Several,
    }
}

/// Checks random steps from random states against the definition.
fn agrees(netlist: &Netlist, rng: &mut Rng) {
    let mut lanes = Lanes::new(netlist).expect("the network is small");
    let mut states: Vec<Vec<bool>> = Vec::new();
    for lane in 0..LANES {
        let random: Vec<bool> = (0..netlist.fluents()).map(|_| rng.random()).collect();
        states.push(if lane % 2 == 0 { random } else { netlist.initial.clone() });
        lanes.set(lane, &FluentSet::of(&states[lane]));
    }
    for _ in 0..4 {
        lanes.evaluate();
        let idle = vec![false; netlist.moves()];
        let mut joints: Vec<Vec<usize>> = Vec::new();
        let mut all_can_move = vec![true; LANES];
        for (lane, state) in states.iter().enumerate() {
            assert_eq!(lanes.state(lane), FluentSet::of(state), "lane {lane}");
            let values = netlist.evaluate(state, &idle);
            assert_eq!(lanes.is_terminal(lane), netlist.outputs.terminal.of(&values), "lane {lane}");
            let legal = legal(netlist, &values);
            for (role, moves) in legal.iter().enumerate() {
                assert_eq!(lanes.goal(lane, role), score(&netlist.outputs.goals[role], &values), "lane {lane}");
                assert!(lanes.legal(lane, role).eq(moves.iter().copied()), "lane {lane}");
            }
            all_can_move[lane] = legal.iter().all(|moves| !moves.is_empty());
            let some = legal.iter().filter(|moves| !moves.is_empty());
            joints.push(some.map(|moves| moves[rng.random_range(0..moves.len())]).collect());
        }
        let possible = joints.iter().zip(&all_can_move).map(|(joint, &all)| if all { &joint[..] } else { &[] });
        lanes.step(possible);
        for lane in 0..LANES {
            states[lane] = if all_can_move[lane] {
                step(netlist, &states[lane], &joints[lane])
            } else {
                lanes.set(lane, &FluentSet::of(&netlist.initial));
                netlist.initial.clone()
            };
        }
    }
}

#[test]
fn every_lane_agrees_with_the_reference() {
    let mut rng = Rng::seed_from_u64(1);
    games().iter().for_each(|network| agrees(&network.netlist, &mut rng));
    for round in 0..60 {
        let sizes = Sizes { roles: 1 + round % 3, moves: 3 + round % 5, fluents: 14, gates: 10 + 4 * round, steps: 3 };
        agrees(&random_network(&mut rng, sizes).netlist, &mut rng);
    }
}

/// Returns a network that has a conjunction wide enough to be split twice, and
/// next states that are swapped, inverted or constant. `more` fluents never
/// change.
fn wires(more: usize) -> Netlist {
    const FLUENTS: usize = 300;
    let mut gates = Gates::new(FLUENTS + more, 2);
    let fluent = |fluent: usize| Lit::new(1 + fluent, false);
    let wide = gates.and((0..FLUENTS).map(|f| if f % 3 == 0 { !fluent(f) } else { fluent(f) }));
    let narrow = gates.or((0..70).map(fluent));
    let mut next: Vec<Lit> = (0..FLUENTS).map(|f| fluent((f + 7) % FLUENTS)).collect();
    next[0] = !fluent(0);
    next[1] = Lit::TRUE;
    next[2] = Lit::FALSE;
    next[3] = !fluent(4);
    next[4] = fluent(3);
    next[5] = !wide;
    next[6] = wide;
    next[10] = Lit::new(1 + FLUENTS + more, true);
    next[11] = narrow;
    next[12] = narrow;
    next[13] = fluent(13);
    next.extend((FLUENTS..FLUENTS + more).map(fluent));
    let outputs =
        Outputs { next, legal: vec![!wide, !wide], terminal: wide, goals: vec![vec![(7, wide), (8, narrow)]] };
    let roles = std::iter::once(0..2).collect();
    let initial: Vec<bool> = (0..FLUENTS + more).map(|f| f % 3 != 0).collect();
    let netlist = gates.finish(initial, roles, outputs);
    assert!(netlist.outputs.terminal.of(&netlist.evaluate(&netlist.initial, &[false; 2])));
    netlist
}

#[test]
fn wide_gates_and_plain_wires_agree_with_the_reference() {
    agrees(&wires(0), &mut Rng::seed_from_u64(2));
}

#[test]
fn slots_beyond_16_bits_agree_with_the_reference() {
    agrees(&wires(1 << 16), &mut Rng::seed_from_u64(2));
}

/// Computes the exact mean length and mean goals of uniformly random
/// playouts.
fn expected(netlist: &Netlist, state: &[bool], known: &mut HashMap<Vec<bool>, Vec<f64>>) -> Vec<f64> {
    if let Some(means) = known.get(state) {
        return means.clone();
    }
    let values = netlist.evaluate(state, &vec![false; netlist.moves()]);
    let means = if netlist.outputs.terminal.of(&values) {
        let scores = netlist.outputs.goals.iter().map(|goals| f64::from(score(goals, &values).score()));
        std::iter::once(0.0).chain(scores).collect()
    } else {
        let mut joints = vec![Vec::new()];
        for moves in legal(netlist, &values) {
            joints =
                joints.iter().flat_map(|joint| moves.iter().map(move |&mv| [&joint[..], &[mv]].concat())).collect();
        }
        let mut means = vec![0.0; 1 + netlist.roles.len()];
        means[0] = 1.0;
        for joint in &joints {
            let after = expected(netlist, &step(netlist, state, joint), known);
            means.iter_mut().zip(after).for_each(|(mean, after)| *mean += after / joints.len() as f64);
        }
        means
    };
    known.insert(state.to_vec(), means.clone());
    means
}

/// Compares the means of playouts with exact ones, over many calls for
/// `count` playouts, within 5.5 standard errors.
fn fair(network: &Network, state: &[bool], count: usize, seed: u64) {
    let netlist = &network.netlist;
    let exact = expected(netlist, state, &mut HashMap::new());
    let mut lanes = Lanes::new(netlist).expect("the network is small");
    let mut rng = Rng::seed_from_u64(seed);
    let roles = netlist.roles.len();
    let mut samples: Vec<Vec<f64>> = vec![Vec::new(); 1 + roles];
    while samples[0].len() < 100_000 {
        let playouts = lanes.playouts_from(&FluentSet::of(state), count, &mut rng).expect("playouts end");
        assert_eq!((playouts.lengths.len(), playouts.scores.len()), (count, count * roles));
        assert_eq!(playouts.steps, playouts.lengths.iter().map(|&length| u64::from(length)).sum::<u64>());
        samples[0].extend(playouts.lengths.iter().copied().map(f64::from));
        for (index, &score) in playouts.scores.iter().enumerate() {
            samples[1 + index % roles].push(f64::from(score));
        }
    }
    for (exact, sample) in exact.iter().zip(&samples) {
        let size = sample.len() as f64;
        let mean = sample.iter().sum::<f64>() / size;
        let variance = sample.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / size;
        let error = (variance / size).sqrt().max(1e-9);
        assert!((mean - exact).abs() < 5.5 * error, "{mean} is not {exact} +- {error}");
    }
}

#[test]
fn playouts_are_fair() {
    for network in [tic_tac_toe(), pennies(), three_in_turn(7), lamps(6, 9)] {
        fair(&network, &network.netlist.initial, 20_000, 1);
    }
}

/// Lanes that end early must not have a larger weight: the test has few
/// playouts with very different lengths, and goals that depend on the
/// length.
#[test]
fn short_playouts_count_no_more_than_long_ones() {
    let network = stop_or_go(12);
    for count in [1, 100, 600, 1500] {
        fair(&network, &network.netlist.initial, count, 2);
    }
    for count in [600, 1500] {
        fair(&three_in_turn(7), &three_in_turn(7).netlist.initial, count, 3);
    }
}

/// Returns a game in which one role may stop at each step, must stop after
/// some, and gets a higher goal the earlier it stops.
fn stop_or_go(steps: usize) -> Network {
    let mut gates = Gates::new(steps + 2, 2);
    let at = |step: usize| Lit::new(1 + step, false);
    let over = Lit::new(2 + steps, false);
    let goes = Lit::new(3 + steps, false);
    let stops = Lit::new(4 + steps, false);
    let mut next = vec![Lit::FALSE];
    next.extend((0..steps).map(|step| gates.or([at(step), over])));
    next.push(stops);
    // The step does not change after the end of the match.
    for (step, next) in next[..=steps].iter_mut().enumerate() {
        let before = if step == 0 { Lit::FALSE } else { gates.and([at(step - 1), goes]) };
        let stays = gates.and([at(step), stops]);
        *next = gates.or([before, stays]);
    }
    let mut initial = vec![false; steps + 2];
    initial[0] = true;
    let goals = (0..=steps).map(|step| (100 - 8 * step as u8, at(step))).collect();
    let outputs = Outputs { next, legal: vec![!at(steps), Lit::TRUE], terminal: over, goals: vec![goals] };
    let roles = std::iter::once(0..2).collect();
    let names = |count: usize| (0..count).map(|name| name.to_string()).collect();
    Network {
        netlist: gates.finish(initial, roles, outputs),
        roles: names(1),
        fluents: names(steps + 2),
        moves: names(2),
    }
}

#[test]
fn playouts_begin_anywhere() {
    let mut rng = Rng::seed_from_u64(4);
    for network in [tic_tac_toe(), row_game(3, 3, 3, true), three_in_turn(8)] {
        let netlist = &network.netlist;
        let mut state = netlist.initial.clone();
        loop {
            fair(&network, &state, 5_000, rng.random());
            let values = netlist.evaluate(&state, &vec![false; netlist.moves()]);
            if netlist.outputs.terminal.of(&values) {
                break;
            }
            let legal = legal(netlist, &values);
            let joint: Vec<usize> = legal.iter().map(|moves| moves[rng.random_range(0..moves.len())]).collect();
            state = step(netlist, &state, &joint);
        }
    }
    // A state outside all phases: both roles are in control.
    let network = row_game(3, 2, 2, false);
    let mut state = network.netlist.initial.clone();
    let control = state.len() - 2;
    state[control..].fill(true);
    fair(&network, &state, 5_000, 5);
}

/// Creates a game with one fluent and one move.
fn small(initial: bool, outputs: Outputs) -> Lanes {
    let netlist = Gates::new(1, 1).finish(vec![initial], std::iter::once(0..1).collect(), outputs);
    Lanes::new(&netlist).expect("the network is small")
}

#[test]
fn games_that_cannot_be_played_are_errors() {
    let on = Lit::new(1, false);
    let outputs = |next, legal, terminal| Outputs {
        next: vec![next],
        legal: vec![legal],
        terminal,
        goals: vec![vec![(50, on), (70, on)]],
    };
    let mut rng = Rng::seed_from_u64(6);
    let stuck = small(true, outputs(Lit::FALSE, on, Lit::FALSE)).playouts(3, &mut rng);
    assert_eq!(stuck, Err(LanesError::NoLegalMove { role: 0 }));
    let endless = small(true, outputs(on, on, !on)).playouts(3, &mut rng);
    assert_eq!(endless, Err(LanesError::Endless { steps: MAX_STEPS }));
    // No goal and several goals are both faults, and count as 0.
    let several = small(true, outputs(on, on, on)).playouts(3, &mut rng).expect("over at once");
    assert_eq!(several, Playouts { lengths: vec![0; 3], scores: vec![0; 3], faults: 3, steps: 0 });
    let none = small(true, outputs(Lit::FALSE, Lit::TRUE, !on)).playouts(3, &mut rng).expect("over in a step");
    assert_eq!(none, Playouts { lengths: vec![1; 3], scores: vec![0; 3], faults: 3, steps: 3 });
    let empty = small(true, outputs(Lit::FALSE, Lit::TRUE, !on)).playouts(0, &mut rng);
    assert_eq!(empty, Ok(Playouts::default()));
}

#[test]
fn the_same_seed_gives_the_same_playouts() {
    let network = tic_tac_toe();
    let mut lanes = Lanes::new(&network.netlist).expect("the network is small");
    let mut playouts = |seed| lanes.playouts(700, &mut Rng::seed_from_u64(seed)).expect("playouts end");
    let first = playouts(1);
    assert_ne!(playouts(2), first);
    assert_eq!(playouts(1), first);
}
