//! Forward playouts (paper 004, Table 2).

use rand::{Rng as _, RngExt};
use sternhalma_data::{CellSet, Move, Side};
use sternhalma_ggp::{MoveHistory, Playout, Rng};

use crate::filter::{Filter, Pieces};
use crate::game::{Action, ChineseCheckers, GameState};

/// Forward moves only: a share of them uniformly at random, the others the
/// farthest move, which advances a piece by the most rows; ties at random.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct FarthestMix {
    /// Random moves in 2^32 parts.
    random: u64,
}

impl FarthestMix {
    /// `random` is the share of random moves, 0 to 1.
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

/// A move uniformly at random; none if there is none.
#[inline]
pub(crate) fn random_move(pieces: &Pieces, rng: &mut Rng) -> Action {
    let count = pieces.count() as u32;
    let mut index = match count {
        0 => return None,
        1 => 0,
        _ => rng.random_range(0..count) as usize,
    };
    for (from, to) in pieces.iter() {
        if index < to.len() {
            return to.iter().nth(index).map(|to| Move { from, to });
        }
        index -= to.len();
    }
    unreachable!("the index is below the number of moves")
}

/// A move that advances a piece by the most rows, ties at random; none if
/// there is no move.
#[inline]
fn farthest_move(game: &ChineseCheckers, player: Side, pieces: &Pieces, rng: &mut Rng) -> Action {
    let geometry = game.geometry();
    // Cells are ordered by row, so a piece's farthest cell is its last or first.
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
