//! Environments against the sequential evaluation.

use fearless_simd::dispatch;
use rand::{RngExt, SeedableRng};
use sternhalma_game::Rng;
use sternhalma_game::util::FluentSet;

use super::planes::{find_numbers, unpack_plane, unpack_planes};
use super::{Autoreset, EnvironmentBlock, EnvironmentError, EnvironmentOptions, EnvironmentRows, LaneEnvironment};
use crate::network::run::{Bits, LANES, LanesError};
use crate::network::testing::{Sizes, games, lamps, pennies, random_network, tic_tac_toe};
use crate::network::{Gates, Lit, Network, NetworkState, Outputs, SequentialEngine};

/// The arrays of a block.
#[derive(Clone, PartialEq, Debug)]
struct Arrays {
    lanes: usize,
    observation: Vec<u8>,
    legal: Vec<u8>,
    planes: Vec<u64>,
    legal_planes: Vec<u64>,
    player: Vec<i8>,
    reward: Vec<f32>,
    terminated: Vec<u8>,
    truncated: Vec<u8>,
    steps: Vec<u32>,
    final_observation: Vec<u8>,
}

impl Arrays {
    fn new(environment: &LaneEnvironment, lanes: usize) -> Arrays {
        let actions = environment.choices() * environment.max_moves();
        Arrays {
            lanes,
            observation: vec![7; lanes * environment.fluents()],
            legal: vec![7; lanes * actions],
            planes: vec![7; environment.fluents() * Bits::WORDS],
            legal_planes: vec![7; actions * Bits::WORDS],
            player: vec![7; lanes],
            reward: vec![0.0; lanes * environment.roles()],
            terminated: vec![7; lanes],
            truncated: vec![7; lanes],
            steps: vec![7; lanes],
            final_observation: vec![7; lanes * environment.fluents()],
        }
    }

    fn rows(&mut self) -> EnvironmentRows<'_> {
        EnvironmentRows {
            observation: &mut self.observation,
            legal: &mut self.legal,
            planes: &mut self.planes,
            legal_planes: &mut self.legal_planes,
            player: &mut self.player,
            reward: &mut self.reward,
            terminated: &mut self.terminated,
            truncated: &mut self.truncated,
            steps: &mut self.steps,
            final_observation: &mut self.final_observation,
        }
    }

    /// Returns the row of a lane.
    fn row<'a, T>(&self, array: &'a [T], lane: usize) -> &'a [T] {
        let width = array.len() / self.lanes;
        &array[lane * width..][..width]
    }
}

/// A match, one state at a time.
#[derive(Clone)]
struct Single<'a> {
    engine: &'a SequentialEngine,
    environment: &'a LaneEnvironment,
    state: NetworkState,
    reward: Vec<f32>,
    terminated: bool,
    truncated: bool,
    over: bool,
    steps: u32,
}

impl<'a> Single<'a> {
    fn new(engine: &'a SequentialEngine, environment: &'a LaneEnvironment) -> Single<'a> {
        Single {
            engine,
            environment,
            state: engine.initial().clone(),
            reward: vec![0.0; environment.roles()],
            terminated: false,
            truncated: false,
            over: false,
            steps: 0,
        }
    }

    fn legal(&self, role: usize) -> Vec<usize> {
        let mut legal: Vec<usize> = self.engine.legal(&self.state, role).map(|mv| mv as usize).collect();
        legal.sort_unstable();
        legal
    }

    /// Returns the roles with a choice.
    fn choosing(&self) -> Vec<usize> {
        (0..self.environment.roles()).filter(|&role| !self.over && self.legal(role).len() > 1).collect()
    }

    fn player(&self) -> Option<usize> {
        let roles = 0..self.environment.roles();
        let waits = |role: usize| {
            let moves = self.environment.moves(role);
            self.legal(role).iter().all(|mv| self.environment.waiting[role][place(moves, *mv)])
        };
        match self.choosing()[..] {
            _ if self.over => None,
            [] => roles.into_iter().find(|&role| !waits(role)).or(Some(0)),
            [role] => Some(role),
            _ => None,
        }
    }

    /// Returns whether each action is legal.
    fn mask(&self) -> Vec<u8> {
        let most = self.environment.max_moves();
        let choices = match (self.environment.is_simultaneous(), self.player()) {
            _ if self.over => return vec![1; most * self.environment.choices()],
            (true, _) => (0..self.environment.roles()).collect(),
            (false, player) => vec![player.expect("one role is to move")],
        };
        let mut mask = vec![0; most * choices.len()];
        for (choice, &role) in choices.iter().enumerate() {
            for mv in self.legal(role) {
                mask[choice * most + place(self.environment.moves(role), mv)] = 1;
            }
        }
        mask
    }

    fn begin(&mut self, state: NetworkState) {
        *self = Single { state, ..Single::new(self.engine, self.environment) };
    }

    fn find_end(&mut self) {
        self.terminated = self.engine.is_over(&self.state);
        self.truncated = !self.terminated && self.environment.max_steps.is_some_and(|most| self.steps >= most);
        self.over = self.terminated || self.truncated;
        if self.terminated {
            let (low, high) = self.environment.rewards();
            let goals = self.engine.goals(&self.state).map(|goal| f32::from(goal.score()) / 100.0);
            self.reward = goals.map(|goal| low + (high - low) * goal).collect();
        }
    }

    /// Plays actions. Returns the last state of a match that ended and began again.
    fn step(&mut self, actions: &[i32], autoreset: Autoreset) -> Option<NetworkState> {
        self.reward.fill(0.0);
        if self.over && autoreset == Autoreset::NextStep {
            self.begin(self.engine.initial().clone());
        } else if !self.over {
            let player = self.player();
            let joint = (0..self.environment.roles()).map(|role| {
                let action = match (self.environment.is_simultaneous(), player) {
                    (true, _) => actions[role],
                    (false, Some(player)) if role == player => actions[0],
                    _ => return self.legal(role)[0] as u32,
                };
                self.environment.moves(role)[action as usize] as u32
            });
            let joint: Vec<u32> = joint.collect();
            self.engine.step(&mut self.state, &joint);
            self.steps += 1;
            self.find_end();
            if self.over && autoreset == Autoreset::SameStep {
                let after = self.clone();
                self.begin(self.engine.initial().clone());
                (self.reward, self.terminated, self.truncated) = (after.reward, after.terminated, after.truncated);
                return Some(after.state);
            }
        }
        None
    }
}

fn place(moves: &[usize], mv: usize) -> usize {
    moves.iter().position(|&other| other == mv).expect("a legal move has an action")
}

fn row_of(fluents: &FluentSet, count: usize) -> Vec<u8> {
    (0..count).map(|fluent| u8::from(fluents.contains(fluent))).collect()
}

/// Compares all arrays with the matches.
fn agree(environment: &LaneEnvironment, arrays: &Arrays, matches: &[Single]) {
    for (lane, single) in matches.iter().enumerate() {
        let observation = row_of(single.state.fluents(), environment.fluents());
        assert_eq!(arrays.row(&arrays.observation, lane), observation, "lane {lane}");
        let player = single.player().map_or(-1, |role| role as i8);
        let flags = (u8::from(single.terminated), u8::from(single.truncated));
        assert_eq!(arrays.player[lane], player, "lane {lane}");
        assert_eq!((arrays.terminated[lane], arrays.truncated[lane]), flags, "lane {lane}");
        assert_eq!(arrays.steps[lane], single.steps, "lane {lane}");
        assert_eq!(arrays.row(&arrays.reward, lane), single.reward, "lane {lane}");
        let mask = single.mask();
        assert_eq!(arrays.row(&arrays.legal, lane), mask, "lane {lane}");
        let in_planes = |planes: &[u64]| -> Vec<u8> {
            planes.as_chunks::<{ Bits::WORDS }>().0.iter().map(|plane| u8::from(Bits(*plane).get(lane))).collect()
        };
        assert_eq!(in_planes(&arrays.planes), observation, "lane {lane}");
        assert_eq!(in_planes(&arrays.legal_planes), mask, "lane {lane}");
    }
}

/// Plays random actions in some lanes and compares every step. Returns the number of matches that ended by the rules
/// and by the limit.
fn compare(
    network: &Network,
    options: &EnvironmentOptions,
    autoreset: Autoreset,
    lanes: usize,
    rng: &mut Rng,
) -> [u32; 2] {
    let engine = SequentialEngine::new(&network.netlist);
    let environment = LaneEnvironment::new(network, &engine, options).expect("the game has an environment");
    let mut block = EnvironmentBlock::new(&environment, 0, lanes);
    let mut arrays = Arrays::new(&environment, lanes);
    let mut matches = vec![Single::new(&engine, &environment); lanes];
    block.reset(&environment, |_| true, &mut arrays.rows());
    let mut ends = [0; 2];
    for step in 0..30 {
        let conflict = matches.iter().position(|single| single.choosing().len() > 1);
        assert_eq!(block.conflict(&environment), conflict.filter(|_| !environment.is_simultaneous()));
        if block.conflict(&environment).is_some() {
            break;
        }
        agree(&environment, &arrays, &matches);
        let mut actions = vec![0; lanes * environment.choices()];
        block.choose(&environment, &mut actions);
        for (actions, single) in actions.chunks(environment.choices()).zip(&matches) {
            let mask = single.mask();
            let at = |(choice, &action): (usize, &i32)| mask[choice * environment.max_moves() + action as usize];
            assert!(single.over || actions.iter().enumerate().map(at).all(|legal| legal == 1));
        }
        let mask: Option<Vec<bool>> = (step % 3 == 2).then(|| (0..lanes).map(|_| rng.random()).collect());
        let stepping = |lane: usize| mask.as_ref().is_none_or(|mask| mask[lane]);
        assert_eq!(block.read_actions(&environment, &actions, mask.as_deref()), None);
        block.step(&environment, autoreset, &mut arrays.rows());
        for (lane, single) in matches.iter_mut().enumerate() {
            (single.terminated, single.truncated) = (single.terminated && single.over, single.truncated && single.over);
            single.reward.fill(0.0);
            if stepping(lane) {
                let was_over = single.over;
                let last = single.step(&actions[lane * environment.choices()..], autoreset);
                ends[0] += u32::from(single.terminated && !was_over);
                ends[1] += u32::from(single.truncated && !was_over);
                if let Some(last) = last {
                    let expected = row_of(last.fluents(), environment.fluents());
                    assert_eq!(arrays.row(&arrays.final_observation, lane), expected);
                }
            }
        }
        if step % 7 == 6 {
            agree(&environment, &arrays, &matches);
            let of: Vec<bool> = (0..lanes).map(|_| rng.random()).collect();
            block.reset(&environment, |lane| of[lane], &mut arrays.rows());
            for (single, _) in matches.iter_mut().zip(&of).filter(|(_, of)| **of) {
                single.begin(engine.initial().clone());
            }
        }
        if step % 7 == 4 {
            // Some lanes get the states of others.
            let states: Vec<NetworkState> = matches.iter().map(|single| single.state.clone()).rev().collect();
            let rows: Vec<Vec<u8>> =
                states.iter().map(|state| row_of(state.fluents(), environment.fluents())).collect();
            let states = rows.iter().enumerate().map(|(lane, row)| (lane, &row[..])).step_by(3);
            block.set(&environment, states, &mut arrays.rows());
            let sources: Vec<NetworkState> = matches.iter().map(|single| single.state.clone()).rev().collect();
            for (single, state) in matches.iter_mut().zip(sources).step_by(3) {
                single.begin(state);
                single.find_end();
            }
        }
        if step == 10 {
            block = block.duplicate(&environment);
        }
    }
    ends
}

const MODES: [Autoreset; 3] = [Autoreset::Never, Autoreset::NextStep, Autoreset::SameStep];

#[test]
fn environments_agree_with_the_sequential_evaluation() {
    let mut rng = Rng::seed_from_u64(1);
    let mut ends = [0; 2];
    for (number, network) in games().iter().enumerate() {
        for (mode, autoreset) in MODES.into_iter().enumerate() {
            let max_steps = [None, Some(9), Some(5)][(number + mode) % 3];
            let options = EnvironmentOptions { max_steps, ..EnvironmentOptions::default() };
            let lanes = [LANES, 70, 1][(number + 2 * mode) % 3];
            let ended = compare(network, &options, autoreset, lanes, &mut rng);
            ends = [ends[0] + ended[0], ends[1] + ended[1]];
        }
    }
    assert!(ends.iter().all(|&ends| ends > 100), "{ends:?}");
}

#[test]
fn random_networks_agree_with_the_sequential_evaluation() {
    let mut rng = Rng::seed_from_u64(2);
    let mut ends = 0;
    for round in 0..60 {
        let sizes = Sizes {
            roles: 1 + round % 3,
            moves: [2, 5, 40][round % 3],
            fluents: [3, 20, 90][round / 3 % 3],
            gates: 10 + 3 * round,
            steps: 6,
        };
        let network = random_network(&mut rng, sizes);
        let options = EnvironmentOptions {
            simultaneous: [Some(true), Some(false), None][round % 3],
            rewards: Some((0.5, 2.0)),
            max_steps: Some(4 + round as u32 % 4),
        };
        if SequentialEngine::new(&network.netlist).is_terminal(SequentialEngine::new(&network.netlist).initial()) {
            continue;
        }
        ends += compare(&network, &options, MODES[round % 3], 1 + 17 * round % LANES, &mut rng)[0];
    }
    assert!(ends > 1000, "{ends}");
}

/// Returns the environment of tic-tac-toe with a block of all lanes.
fn tic_tac_toe_block() -> (LaneEnvironment, EnvironmentBlock) {
    let network = tic_tac_toe();
    let engine = SequentialEngine::new(&network.netlist);
    let environment = LaneEnvironment::new(&network, &engine, &EnvironmentOptions::default());
    let environment = environment.expect("the game has an environment");
    let block = EnvironmentBlock::new(&environment, 0, LANES);
    (environment, block)
}

#[test]
fn illegal_actions_are_found() {
    let (environment, mut block) = tic_tac_toe_block();
    assert_eq!((environment.choices(), environment.max_moves(), environment.rewards()), (1, 10, (-1.0, 1.0)));
    let mut actions = [0; LANES];
    block.choose(&environment, &mut actions);
    assert_eq!(block.read_actions(&environment, &actions, None), None);
    let mut arrays = Arrays::new(&environment, LANES);
    block.reset(&environment, |_| true, &mut arrays.rows());
    let noop = arrays.row(&arrays.legal, 0).iter().position(|&legal| legal == 0).expect("waiting is not legal") as i32;
    for wrong in [noop, 10, -1, i32::MIN, i32::MAX] {
        let mut some = actions;
        some[77] = wrong;
        some[400] = wrong;
        assert_eq!(block.read_actions(&environment, &some, None), Some(77), "{wrong}");
        let mut mask = [true; LANES];
        mask[77] = false;
        assert_eq!(block.read_actions(&environment, &some, Some(&mask)), Some(400));
        mask[400] = false;
        assert_eq!(block.read_actions(&environment, &some, Some(&mask)), None);
    }
}

#[test]
fn the_same_seed_gives_the_same_actions() {
    let (environment, mut block) = tic_tac_toe_block();
    let mut actions = [[0; LANES]; 4];
    block.seed(5);
    let mut same = block.duplicate(&environment);
    block.choose(&environment, &mut actions[0]);
    same.choose(&environment, &mut actions[1]);
    block.choose(&environment, &mut actions[2]);
    EnvironmentBlock::new(&environment, 1, LANES).choose(&environment, &mut actions[3]);
    assert_eq!(actions[0], actions[1]);
    assert!(actions[0] != actions[2] && actions[0] != actions[3]);
    // Each action of 512 lanes is that of about 57.
    let counts = (0..9).map(|action| actions[0].iter().filter(|&&other| other == action).count());
    assert!(counts.into_iter().all(|count| (20..110).contains(&count)));
}

#[test]
fn games_without_an_environment_are_refused() {
    let refusal = |network: &Network| {
        let engine = SequentialEngine::new(&network.netlist);
        LaneEnvironment::new(network, &engine, &EnvironmentOptions::default()).err()
    };
    let game = |terminal: Lit, legal: Lit| {
        let outputs = Outputs { next: vec![], legal: vec![legal], terminal, goals: vec![vec![]] };
        let netlist = Gates::new(0, 1).finish(vec![], std::iter::once(0..1).collect(), outputs);
        Network { netlist, roles: vec!["you".into()], fluents: vec![], moves: vec!["go".into()] }
    };
    assert_eq!(refusal(&game(Lit::TRUE, Lit::TRUE)), Some(EnvironmentError::Terminal));
    let stuck = EnvironmentError::Lanes(LanesError::NoLegalMove { role: 0 });
    assert_eq!(refusal(&game(Lit::FALSE, Lit::FALSE)), Some(stuck));
    assert_eq!(refusal(&pennies()), None);
    assert_eq!(refusal(&lamps(3, 4)), None);
}

#[test]
fn planes_become_bytes_and_numbers() {
    let mut rng = Rng::seed_from_u64(3);
    for (width, lanes) in [(1, LANES), (9, 100), (64, 3), (65, LANES), (200, 130)] {
        let planes: Vec<Bits> = (0..width).map(|_| Bits(std::array::from_fn(|_| rng.random()))).collect();
        let mut one_per_lane = vec![Bits::NONE; width];
        (0..LANES).for_each(|lane| one_per_lane[(7 * lane + lane / 3) % width].set(lane, true));
        for level in sternhalma_cpu::levels() {
            let mut rows = vec![9; width * lanes];
            let mut blocks = vec![[[9; 64]; 64]; 4];
            dispatch!(level, simd => unpack_planes(simd, &planes, &mut blocks, &mut rows));
            let value = |at: usize| u8::from(planes[at % width].get(at / width));
            assert!(rows.iter().enumerate().all(|(at, &byte)| byte == value(at)), "{width} {lanes}");
            let mut bytes = vec![9; lanes];
            dispatch!(level, simd => unpack_plane(simd, &planes[0], 255, &mut bytes));
            assert!(bytes.iter().enumerate().all(|(lane, &byte)| byte == 255 * u8::from(planes[0].get(lane))));
            let mut numbers = [9; 2 * LANES];
            dispatch!(level, simd => find_numbers(simd, &one_per_lane, &Bits([!1; 8]), &mut numbers, 2));
            let number = |lane: usize| if lane.is_multiple_of(64) { 0 } else { (7 * lane + lane / 3) % width };
            assert!(numbers.iter().step_by(2).enumerate().all(|(lane, &found)| found as usize == number(lane)));
            assert!(numbers.iter().skip(1).step_by(2).all(|&other| other == 9));
        }
    }
}
