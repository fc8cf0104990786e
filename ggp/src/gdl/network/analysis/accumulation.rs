//! A test whether moves mostly add permanent facts.

use rand::SeedableRng;

use crate::gdl::network::build::without_moves;
use crate::gdl::network::run::NetworkGame;
use crate::util::FluentSet;
use crate::{Game, Rng};

/// The number of random matches, and the maximum number of steps of each.
const MATCHES: usize = 20;
const STEPS: usize = 1_000;

/// Returns whether most fluents that moves made true stayed true, in random
/// matches with a fixed seed. The last move of a match is ignored, because its
/// fluents have no time to become false.
pub fn accumulates(game: &NetworkGame) -> bool {
    let mut rng = Rng::seed_from_u64(0);
    let none = || FluentSet::new(game.network().netlist.fluents());
    let (mut added, mut removed) = (none(), none());
    let mut joint = Vec::new();
    for _ in 0..MATCHES {
        let mut state = game.initial();
        for _ in 0..STEPS {
            if game.is_terminal(&state) {
                break;
            }
            let before = state.fluents().clone();
            joint.clear();
            joint.extend((0..game.roles()).filter_map(|role| game.engine().random_legal(&state, role, &mut rng)));
            game.engine().step(&mut state, &joint);
            let words = || before.words().iter().zip(state.fluents().words());
            added.words_mut().iter_mut().zip(words()).for_each(|(added, (was, is))| *added |= !was & is);
            removed.words_mut().iter_mut().zip(words()).for_each(|(removed, (was, is))| *removed |= was & !is);
        }
    }
    let free = without_moves(&game.network().netlist);
    let by_moves = added.iter().filter(|&fluent| !free[fluent]);
    let (gone, stayed): (Vec<usize>, Vec<usize>) = by_moves.partition(|&fluent| removed.contains(fluent));
    stayed.len() > gone.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gdl::network::testing;

    #[test]
    fn placed_stones_accumulate() {
        for (network, expected) in testing::games().into_iter().zip([true, true, true, false, false, false]) {
            let first = network.fluents[0].clone();
            let game = NetworkGame::new(network);
            assert_eq!(game.accumulates(), expected, "{first}");
        }
    }
}
