//! Forward playouts [Roschke and Sturtevant 2013, Table 2].

use rand::Rng as _;
use sternhalma_data::{CellSet, Move, Side};
use sternhalma_ggp::Rng;
use sternhalma_ggp::mcts::{MoveHistory, Playout};

use crate::rules::{Action, ChineseCheckers, Filter, GameState, Pieces, random_move};

/// A playout with forward moves only. A fraction of them is uniformly random;
/// the others advance a piece by as many rows as possible (ties: random).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct FarthestMix {
    /// The fraction of random moves, in units of 2^-32.
    random: u64,
}

impl FarthestMix {
    /// Creates a playout; `random` is the fraction of random moves, 0 to 1.
    pub fn new(random: f64) -> FarthestMix {
        FarthestMix { random: (random * (1u64 << 32) as f64) as u64 }
    }
}

impl Playout<ChineseCheckers> for FarthestMix {
    #[inline]
    fn choose(
        &mut self,
        game: &ChineseCheckers,
        state: &GameState,
        _: usize,
        _: &MoveHistory,
        rng: &mut Rng,
    ) -> Action {
        let pieces = game.pieces(state, Filter::Forward);
        if (rng.next_u64() >> 32) < self.random {
            random_move(&pieces, rng)
        } else {
            farthest_move(game, state.player(), &pieces, rng)
        }
    }
}

/// Returns a move that advances a piece by the most rows (ties: random), or
/// `None` if there is none.
#[inline]
fn farthest_move(game: &ChineseCheckers, player: Side, pieces: &Pieces, rng: &mut Rng) -> Action {
    let geometry = game.geometry();
    // Cells are ordered by row, so the longest advance of a piece goes to its
    // last or first destination.
    let farthest = |to: CellSet| if player == Side::X { to.last() } else { to.first() };
    let mut most = i32::MIN;
    let mut best = Pieces::none();
    for (from, to) in pieces.iter() {
        let Some(end) = farthest(to) else { continue };
        let advance = game.advance(player, Move { from, to: end });
        if advance > most {
            most = advance;
            best.clear();
        }
        if advance == most {
            best.push(from, to & geometry.row_of(end));
        }
    }
    random_move(&best, rng)
}
