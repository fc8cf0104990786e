//! Networks against the prover: on every rulesheet, original and scrambled, both
//! evaluations agree with the prover in every state of random matches.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use rand::SeedableRng;
use sternhalma_ggp::gdl::network::{
    Autoreset, EnvironmentBlock, EnvironmentOptions, EnvironmentRows, LANES, LaneEnvironment, Lanes, Network,
    NetworkGame, Playouts, SequentialEngine,
};
use sternhalma_ggp::gdl::{Document, Goal, Prover, Reasoner, Rules, TermId, scramble};
use sternhalma_ggp::util::FluentSet;
use sternhalma_ggp::{Game, Rng};

use crate::common::{collection, files, own_dir, public_lengths};

const PLAYOUTS: usize = 200;
const MAX_STEPS: usize = 10_000;

/// A state of a match as the prover reports it, in the numbers of the network.
struct ProvenState {
    fluents: FluentSet,
    terminal: bool,
    goals: Vec<Goal>,
    /// The legal moves of each role, in order; empty at the end.
    legal: Vec<Vec<usize>>,
    /// The joint move that is played; empty at the end.
    joint: Vec<usize>,
}

/// Maps the terms of a prover to the numbers of a network.
struct Numbers<'a> {
    network: &'a Network,
    fluents: HashMap<TermId, usize>,
    moves: Vec<HashMap<TermId, usize>>,
}

impl<'a> Numbers<'a> {
    fn new(network: &'a Network, prover: &mut Prover) -> Numbers<'a> {
        let mut term = |text: &String| prover.term(text).unwrap();
        let fluents = network.fluents.iter().enumerate().map(|(fluent, text)| (term(text), fluent)).collect();
        let moves = network.netlist.roles.iter();
        let moves = moves.map(|range| range.clone().map(|mv| (term(&network.moves[mv]), mv)).collect()).collect();
        Numbers { network, fluents, moves }
    }

    fn fluents(&self, terms: &[TermId]) -> FluentSet {
        let mut set = FluentSet::new(self.network.fluents.len());
        terms.iter().for_each(|term| set.insert(self.fluents[term]));
        set
    }

    fn moves(&self, role: usize, terms: &[TermId]) -> Vec<usize> {
        let mut moves: Vec<usize> = terms.iter().map(|term| self.moves[role][term]).collect();
        moves.sort_unstable();
        moves
    }
}

/// Plays random matches with the prover until there are enough or the time is
/// over, but at least one.
fn proven_matches(network: &Network, prover: &mut Prover, time: Duration, rng: &mut Rng) -> Vec<Vec<ProvenState>> {
    let numbers = Numbers::new(network, prover);
    let roles = network.roles.len();
    let started = Instant::now();
    let mut matches = Vec::new();
    while matches.is_empty() || matches.len() < PLAYOUTS && started.elapsed() < time {
        let mut state = prover.initial().unwrap();
        let mut states = Vec::new();
        loop {
            let terminal = prover.is_terminal(&state).unwrap();
            let mut legal = Vec::new();
            let mut joint = Vec::new();
            if !terminal {
                legal.extend((0..roles).map(|role| numbers.moves(role, &prover.legal(&state, role).unwrap())));
                joint = prover.random_moves(&state, rng).unwrap();
            }
            let numbered = joint.iter().enumerate().map(|(role, mv)| numbers.moves[role][mv]).collect();
            let (fluents, goals) = (numbers.fluents(state.fluents()), prover.goals(&state).unwrap());
            states.push(ProvenState { fluents, terminal, goals, legal, joint: numbered });
            if terminal {
                break;
            }
            assert!(states.len() < MAX_STEPS);
            state = prover.next(&state, &joint).unwrap();
        }
        matches.push(states);
    }
    matches
}

fn one_at_a_time(game: &NetworkGame, matches: &[Vec<ProvenState>]) {
    for states in matches {
        let mut state = game.initial();
        for expected in states {
            assert_eq!(*state.fluents(), expected.fluents);
            assert_eq!(game.is_terminal(&state), expected.terminal);
            for (role, &goal) in expected.goals.iter().enumerate() {
                assert_eq!(game.reached(&state, role), goal);
            }
            if expected.terminal {
                break;
            }
            for (role, moves) in expected.legal.iter().enumerate() {
                let mut legal: Vec<usize> = game.legal_of(&state, role).into_iter().map(|mv| mv as usize).collect();
                legal.sort_unstable();
                assert_eq!(legal, *moves);
            }
            let joint: Vec<u32> = expected.joint.iter().map(|&mv| mv as u32).collect();
            game.play_all(&mut state, &joint);
        }
    }
}

/// Replays the matches in all lanes at once. A lane whose match ends begins it
/// again.
fn all_at_once(network: &Network, matches: &[Vec<ProvenState>]) {
    let mut lanes = Lanes::new(&network.netlist).unwrap();
    lanes.set_all(&FluentSet::of(&network.netlist.initial));
    let longest = matches.iter().map(Vec::len).max().unwrap();
    let mut at = [0; LANES];
    for _ in 0..longest {
        lanes.evaluate();
        let mut joints = Vec::new();
        let mut over = Vec::new();
        for (lane, at) in at.iter_mut().enumerate() {
            let expected = &matches[lane % matches.len()][*at];
            assert_eq!(lanes.state(lane), expected.fluents, "lane {lane}");
            assert_eq!(lanes.is_terminal(lane), expected.terminal, "lane {lane}");
            for (role, &goal) in expected.goals.iter().enumerate() {
                assert_eq!(lanes.goal(lane, role), goal, "lane {lane}");
            }
            for (role, moves) in expected.legal.iter().enumerate() {
                assert!(lanes.legal(lane, role).eq(moves.iter().copied()), "lane {lane}");
            }
            joints.push(&expected.joint[..]);
            *at += 1;
            if expected.terminal {
                *at = 0;
                over.push(lane);
            }
        }
        lanes.step(joints);
        let initial = FluentSet::of(&network.netlist.initial);
        over.into_iter().for_each(|lane| lanes.set(lane, &initial));
    }
}

fn agree(text: &str, time: Duration, seed: u64) {
    let rules = Rules::parse(text).unwrap();
    let network = Network::new(&rules).unwrap();
    let mut prover = Prover::new(&rules).unwrap();
    let roles: Vec<String> = prover.roles().iter().map(|&role| prover.text(role)).collect();
    assert_eq!(network.roles, roles);
    let matches = proven_matches(&network, &mut prover, time, &mut Rng::seed_from_u64(seed));
    one_at_a_time(&NetworkGame::new(network.clone()), &matches);
    if fits_lanes(&network) {
        all_at_once(&network, &matches);
    }
}

/// Returns whether a network has few enough values for lanes, which hold
/// 65,536 at a time.
fn fits_lanes(network: &Network) -> bool {
    network.fluents.len() < 40_000
}

fn scrambled(text: &str, seed: u64) -> String {
    let document = Document::parse(text).unwrap();
    scramble(&document, &mut Rng::seed_from_u64(seed)).0.to_string()
}

fn all_agree(dir: &Path) {
    for (name, path) in files(dir, ".kif") {
        let text = fs::read_to_string(path).unwrap();
        println!("{name}");
        agree(&text, Duration::from_millis(1500), 1);
        agree(&scrambled(&text, 2), Duration::from_millis(1000), 2);
    }
}

#[test]
fn networks_of_own_rulesheets_agree_with_the_prover() {
    all_agree(&own_dir());
}

#[test]
#[ignore = "takes minutes, and needs STERNHALMA_CONFORMANCE"]
fn networks_of_public_rulesheets_agree_with_the_prover() {
    all_agree(&collection());
}

/// A sample mean and its standard error.
struct Mean {
    mean: f64,
    error: f64,
}

impl Mean {
    fn of(values: &[f64]) -> Mean {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
        Mean { mean, error: (variance / count).sqrt() }
    }

    /// Returns whether two means differ by at most five standard errors plus
    /// `slack`.
    fn agrees(&self, other: &Mean, slack: f64) -> bool {
        (self.mean - other.mean).abs() <= 5.0 * self.error.hypot(other.error) + slack
    }
}

/// Returns the lengths of playouts, and then the goals of each role.
fn samples(playouts: &Playouts, roles: usize) -> Vec<Vec<f64>> {
    let mut samples = vec![playouts.lengths.iter().map(|&length| f64::from(length)).collect()];
    samples.extend((0..roles).map(|role| {
        playouts.scores.iter().skip(role).step_by(roles).map(|&score| f64::from(score)).collect::<Vec<f64>>()
    }));
    samples
}

fn sequential_samples(game: &NetworkGame, count: usize, rng: &mut Rng) -> Vec<Vec<f64>> {
    let roles = game.roles();
    let mut samples = vec![Vec::new(); 1 + roles];
    for _ in 0..count {
        let mut state = game.initial();
        samples[0].push(game.playout(&mut state, MAX_STEPS, rng) as f64);
        (0..roles).for_each(|role| samples[1 + role].push(f64::from(game.goal(&state, role))));
    }
    samples
}

/// Rare short or long matches may be missing from a small sample. Therefore
/// means may differ by a little more than their standard errors allow.
#[test]
#[ignore = "takes minutes, and needs STERNHALMA_CONFORMANCE"]
fn lengths_and_goals_of_public_rulesheets_are_as_expected() {
    for (name, length) in public_lengths() {
        let text = fs::read_to_string(collection().join(format!("{name}.kif"))).unwrap();
        let network = Network::new(&Rules::parse(&text).unwrap()).unwrap();
        if !fits_lanes(&network) {
            continue;
        }
        let mut rng = Rng::seed_from_u64(3);
        let playouts = Lanes::new(&network.netlist).unwrap().playouts(20 * LANES, &mut rng).unwrap();
        let lanes: Vec<Mean> = samples(&playouts, network.roles.len()).iter().map(|values| Mean::of(values)).collect();
        let game = NetworkGame::new(network);
        let one: Vec<Mean> = sequential_samples(&game, 300, &mut rng).iter().map(|values| Mean::of(values)).collect();
        for (lanes, one) in lanes.iter().zip(&one) {
            assert!(lanes.agrees(one, 0.02 * lanes.mean), "{name}: {} {}", lanes.mean, one.mean);
        }
        let expected = Mean { mean: length, error: 0.0 };
        assert!(lanes[0].agrees(&expected, 0.02 * length), "{name}: {} {length}", lanes[0].mean);
    }
}

/// Plays random actions in an environment, and the same moves with the prover in the first lanes.
#[test]
fn environments_agree_with_the_prover() {
    const STEPS: usize = 12;
    for (name, path) in files(&own_dir(), ".kif") {
        let rules = Rules::parse(&fs::read_to_string(path).unwrap()).unwrap();
        let network = Network::new(&rules).unwrap();
        let mut prover = Prover::new(&rules).unwrap();
        let numbers = Numbers::new(&network, &mut prover);
        let engine = SequentialEngine::new(&network.netlist);
        let environment = LaneEnvironment::new(&network, &engine, &EnvironmentOptions::default()).unwrap();
        let mut block = EnvironmentBlock::new(&environment, 0, 2);
        let (fluents, moves) = (environment.fluents(), environment.max_moves());
        let (mut observation, mut legal) = (vec![0; 2 * fluents], vec![0; 2 * moves * environment.choices()]);
        let (mut player, mut terminated) = ([0; 2], [0; 2]);
        let mut rows = EnvironmentRows {
            observation: &mut observation,
            legal: &mut legal,
            player: &mut player,
            terminated: &mut terminated,
            ..EnvironmentRows::default()
        };
        block.reset(&environment, |_| true, &mut rows);
        let mut state = prover.initial().unwrap();
        for _ in 0..STEPS {
            let facts = numbers.fluents(state.fluents());
            assert!((0..fluents).all(|fluent| facts.contains(fluent) == (rows.observation[fluent] == 1)), "{name}");
            assert_eq!(prover.is_terminal(&state).unwrap(), rows.terminated[0] == 1, "{name}");
            if rows.terminated[0] == 1 {
                break;
            }
            let mut actions = vec![0; 2 * environment.choices()];
            block.choose(&environment, &mut actions);
            let joint = (0..network.roles.len()).map(|role| {
                let terms = prover.legal(&state, role).unwrap();
                let proven = numbers.moves(role, &terms);
                let choice = if environment.is_simultaneous() { Some(role) } else { None };
                let acts = choice.is_some() || rows.player[0] == role as i8;
                let mask = &rows.legal[choice.unwrap_or(0) * moves..][..moves];
                if acts {
                    let legal = environment.moves(role).iter().zip(mask).filter(|(_, legal)| **legal == 1);
                    assert_eq!(legal.map(|(&mv, _)| mv).collect::<Vec<_>>(), proven, "{name}");
                } else {
                    assert_eq!(proven.len(), 1, "{name}");
                }
                let mv = if acts { environment.moves(role)[actions[choice.unwrap_or(0)] as usize] } else { proven[0] };
                *terms.iter().find(|term| numbers.moves[role][*term] == mv).unwrap()
            });
            let joint: Vec<TermId> = joint.collect();
            assert_eq!(block.read_actions(&environment, &actions, None), None, "{name}");
            block.step(&environment, Autoreset::Never, &mut rows);
            state = prover.next(&state, &joint).unwrap();
        }
    }
}
