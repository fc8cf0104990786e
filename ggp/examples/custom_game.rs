//! Implements a game and searches it.
//!
//! The game is the misère form of Nim: players take stones from one of three
//! heaps in turn, and the player who takes the last stone loses. The program
//! lets the search play against random moves.
//!
//! Run the example with `cargo run --release -p sternhalma-ggp --example custom_game`.

use std::sync::atomic::AtomicBool;

use rand::SeedableRng;
use sternhalma_ggp::{Game, Limits, Mcts, Rng, Turn};

/// The rules.
struct MisereNim;

/// The heaps, and the player to move.
#[derive(Clone)]
struct Heaps {
    stones: [u8; 3],
    player: usize,
}

/// The number of stones to take from a heap.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Take {
    heap: usize,
    stones: u8,
}

impl Game for MisereNim {
    type State = Heaps;
    type Move = Take;

    fn roles(&self) -> usize {
        2
    }

    fn initial(&self) -> Heaps {
        Heaps { stones: [3, 4, 5], player: 0 }
    }

    fn turn(&self, state: &Heaps) -> Turn {
        Turn::One(state.player)
    }

    fn legal(&self, state: &Heaps, _role: usize, moves: &mut Vec<Take>) {
        for (heap, &stones) in state.stones.iter().enumerate() {
            moves.extend((1..=stones).map(|stones| Take { heap, stones }));
        }
    }

    fn number(&self, _role: usize, mv: Take) -> u32 {
        8 * mv.heap as u32 + u32::from(mv.stones)
    }

    fn play(&self, state: &mut Heaps, joint: &[Take]) {
        // One player moves at a time, so that a joint move is one move.
        let Take { heap, stones } = joint[0];
        state.stones[heap] -= stones;
        state.player = 1 - state.player;
    }

    fn is_terminal(&self, state: &Heaps) -> bool {
        state.stones == [0; 3]
    }

    fn goal(&self, state: &Heaps, role: usize) -> u8 {
        // The other player has just taken the last stone, and loses.
        if role == state.player { 100 } else { 0 }
    }
}

/// Plays a match, and returns whether the search wins.
fn play(seed: u64) -> bool {
    let game = MisereNim;
    let mut rng = Rng::seed_from_u64(seed);
    let mut mcts = Mcts::uct(0.7, seed);
    let mut state = game.initial();
    mcts.begin(&game, &state);
    while !game.is_terminal(&state) {
        let mv = if state.player == 0 {
            mcts.search(&game, &state, 0, Limits::playouts(1000), &AtomicBool::new(false)).best
        } else {
            game.random_move(&state, 1, &mut Vec::new(), &mut rng).expect("a state that is not terminal has a move")
        };
        mcts.advance(&game, &[mv]);
        game.play(&mut state, &[mv]);
    }
    game.goal(&state, 0) == 100
}

fn main() {
    let matches = 20;
    let won = (0..matches).filter(|&seed| play(seed)).count();
    println!("the search won {won} of {matches} matches");
    assert!(won >= 18, "the search beats random moves");
}
