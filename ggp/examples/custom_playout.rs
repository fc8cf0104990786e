//! Implements a playout policy and compares it with random playouts.
//!
//! The game is Nim with one heap: players take 1 to 3 stones in turn, and the
//! player who takes the last stone wins. The playout policy leaves a multiple of
//! four stones if possible, which is perfect play.
//!
//! Run the example with `cargo run --release -p sternhalma-ggp --example custom_playout`.

use std::sync::atomic::AtomicBool;

use sternhalma_ggp::mcts::{MctsConfig, MoveHistory, Playout, RandomPlayout, ToTheEnd, Uct};
use sternhalma_ggp::{Game, Limits, Mcts, Rng, Turn};

/// The rules.
struct Nim;

impl Game for Nim {
    /// The stones, and the player to move.
    type State = (u32, usize);
    type Move = u32;

    fn roles(&self) -> usize {
        2
    }

    fn initial(&self) -> (u32, usize) {
        (30, 0)
    }

    fn turn(&self, state: &(u32, usize)) -> Turn {
        Turn::One(state.1)
    }

    fn legal(&self, state: &(u32, usize), _role: usize, moves: &mut Vec<u32>) {
        moves.extend(1..=state.0.min(3));
    }

    fn number(&self, _role: usize, mv: u32) -> u32 {
        mv
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

/// Leaves a multiple of four stones if that is possible, and else takes one.
struct MultiplesOfFour;

impl Playout<Nim> for MultiplesOfFour {
    fn choose(&mut self, _: &Nim, state: &(u32, usize), _: usize, _: &MoveHistory, _: &mut Rng) -> u32 {
        (state.0 % 4).max(1)
    }
}

/// Counts the seeds for which a search of 40 simulations finds the winning move.
fn count_correct<P: Playout<Nim>>(playout: impl Fn() -> P) -> usize {
    let is_correct = |seed: u64| {
        let mut mcts = Mcts::new(Uct::new(0.7), playout(), ToTheEnd, MctsConfig::default(), seed);
        let result = mcts.search(&Nim, &Nim.initial(), 0, Limits::playouts(40), &AtomicBool::new(false));
        result.best == 2 // leaves 28 stones
    };
    (0..100).filter(|&seed| is_correct(seed)).count()
}

fn main() {
    let random = count_correct(RandomPlayout::default);
    let perfect = count_correct(|| MultiplesOfFour);
    println!("random playouts find the winning move {random} times of 100, perfect playouts {perfect} times");
    assert!(perfect > random, "better playouts find better moves");
}
