//! Prints the share of random openings that the rule set `blocked-goal` forbids, for 6 and 10 pieces on the 9x9 board.
//!
//! ```sh
//! cargo run --release -p sternhalma-engine --example forbidden_openings
//! ```
//!
//! Each move of an opening is drawn uniformly from the moves that are legal under `paper` rules. An opening is forbidden
//! if one of its moves seals the goal of the opponent.

use rand::SeedableRng;
use rand::seq::IndexedRandom;
use sternhalma_data::{Board, BoardError, RuleSet};
use sternhalma_engine::{ChineseCheckers, Filter};
use sternhalma_ggp::{Game, Rng};

/// The number of openings of each length.
const OPENINGS: u32 = 10_000;

/// Lengths in plies.
const PLIES: [usize; 3] = [8, 16, 24];

/// Returns the number of moves of a random opening before the first forbidden one, at most `plies`.
fn permitted_moves(paper: &ChineseCheckers, blocked: &ChineseCheckers, plies: usize, rng: &mut Rng) -> usize {
    let (mut state, mut legal) = (paper.initial(), Vec::new());
    for ply in 0..plies {
        legal.clear();
        paper.legal(&state, state.player() as usize, &mut legal);
        let action = *legal.choose(rng).expect("a player without a move passes");
        if action.is_some_and(|mv| blocked.cells_sealed_by(&state, mv).is_some()) {
            return ply;
        }
        paper.play_action(&mut state, action);
    }
    plies
}

fn main() -> Result<(), BoardError> {
    for pieces in [6, 10] {
        let board = Board::new(9, pieces)?;
        let paper = ChineseCheckers::new(board, Filter::All).with_rules(RuleSet::Paper);
        let blocked = ChineseCheckers::new(board, Filter::All).with_rules(RuleSet::NEWEST);
        let mut rng = Rng::seed_from_u64(1);
        let longest = PLIES[PLIES.len() - 1];
        let permitted: Vec<usize> =
            (0..OPENINGS).map(|_| permitted_moves(&paper, &blocked, longest, &mut rng)).collect();
        for plies in PLIES {
            let forbidden = permitted.iter().filter(|&&moves| moves < plies).count();
            println!("{pieces} pieces, {plies} plies: {:.1}%", 100.0 * forbidden as f64 / f64::from(OPENINGS));
        }
    }
    Ok(())
}
