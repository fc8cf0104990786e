//! Moves and simulations in the data files of tests (`tests/data/policies`),
//! and a game that offers these moves.

use serde::Deserialize;
use sternhalma_game::{Game, NOOP, Turn};

use super::MoveHistory;

/// Returns the number of a move: `-` waits, `noop` is 0, and `A` is 1.
pub fn number(name: &str) -> u32 {
    match name.as_bytes() {
        b"-" => NOOP,
        b"noop" => 0,
        &[letter] if letter.is_ascii_alphabetic() => u32::from(letter - b'A') + 1,
        _ => panic!("`{name}` is no move"),
    }
}

/// Returns the numbers of moves that are separated by spaces.
pub fn numbers(names: &str) -> Vec<u32> {
    names.split(' ').map(number).collect()
}

/// A simulation with its goals.
#[derive(Clone, Deserialize, Debug)]
pub struct Simulation {
    pub steps: Vec<String>,
    /// The goal of each role, 0 to 100.
    pub rewards: Vec<f64>,
    /// The number of times that the simulation is run.
    #[serde(default = "once")]
    pub times: u32,
}

fn once() -> u32 {
    1
}

impl Simulation {
    pub fn history(&self) -> MoveHistory {
        history(self.rewards.len(), &[], &self.steps)
    }

    /// Returns the reward of each role, 0 to 1.
    pub fn rewards(&self) -> Vec<f64> {
        self.rewards.iter().map(|goal| goal / 100.0).collect()
    }
}

/// Returns the history of some joint moves after those of the match.
pub fn history(roles: usize, before: &[String], steps: &[String]) -> MoveHistory {
    let mut history = MoveHistory::new(roles);
    for step in before {
        history.push(|into| into.extend(numbers(step)));
        history.commit_last();
    }
    for step in steps {
        history.push(|into| into.extend(numbers(step)));
    }
    assert_eq!(history.len(), steps.len());
    history
}

/// A game with this number of roles that never ends. A state holds the role to
/// move and the moves that it is offered.
pub struct Offers(pub usize);

impl Game for Offers {
    type State = (usize, Vec<u32>);
    type Move = u32;
    fn roles(&self) -> usize {
        self.0
    }
    fn initial(&self) -> (usize, Vec<u32>) {
        (0, vec![0])
    }
    fn turn(&self, state: &(usize, Vec<u32>)) -> Turn {
        Turn::One(state.0)
    }
    fn legal(&self, state: &(usize, Vec<u32>), _: usize, moves: &mut Vec<u32>) {
        moves.extend(&state.1);
    }
    fn number(&self, _: usize, mv: u32) -> u32 {
        mv
    }
    fn play(&self, state: &mut (usize, Vec<u32>), _: &[u32]) {
        state.0 = (state.0 + 1) % self.0;
    }
    fn is_terminal(&self, _: &(usize, Vec<u32>)) -> bool {
        false
    }
    fn goal(&self, _: &(usize, Vec<u32>), _: usize) -> u8 {
        0
    }
}

/// Returns the chi-squared statistic of counts as a normal deviate, after Wilson
/// and Hilferty (1931). The deviate exceeds 6.5 by chance less than once in a
/// billion (10^9) times. The deviate is infinite if an impossible outcome has
/// occurred.
pub fn deviate(counts: &[u32], probabilities: &[f64]) -> f64 {
    assert!((probabilities.iter().sum::<f64>() - 1.0).abs() < 1e-6);
    let total = f64::from(counts.iter().sum::<u32>());
    let cells: Vec<(f64, f64)> =
        counts.iter().zip(probabilities).map(|(&count, chance)| (f64::from(count), total * chance)).collect();
    if cells.iter().any(|&(count, expected)| expected < 1e-9 && count > 0.0) {
        return f64::INFINITY;
    }
    let possible: Vec<_> = cells.into_iter().filter(|(_, expected)| *expected >= 1e-9).collect();
    assert!(possible.iter().all(|(_, expected)| *expected > 5.0), "too few draws");
    let freedom = possible.len() as f64 - 1.0;
    if freedom == 0.0 {
        return 0.0;
    }
    let chi: f64 = possible.iter().map(|(count, expected)| (count - expected).powi(2) / expected).sum();
    let variance = 2.0 / (9.0 * freedom);
    ((chi / freedom).cbrt() - (1.0 - variance)) / variance.sqrt()
}
