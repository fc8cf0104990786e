//! A test whether moves mostly add permanent facts.

use rand::SeedableRng;

use crate::Rng;
use crate::gdl::network::build::{Netlist, without_moves};
use crate::gdl::network::run::SequentialEngine;
use crate::util::FluentSet;

/// The number of random matches, and the maximum number of steps of each.
const MATCHES: usize = 20;
const STEPS: usize = 1_000;

/// Returns whether most fluents that moves made true stayed true, in random
/// matches with a fixed seed. The last move of a match is ignored, because its
/// fluents have no time to become false.
pub fn accumulates(netlist: &Netlist, engine: &SequentialEngine) -> bool {
    let mut rng = Rng::seed_from_u64(0);
    let none = || FluentSet::new(netlist.fluents());
    let (mut added, mut removed) = (none(), none());
    for _ in 0..MATCHES {
        let mut state = engine.initial().clone();
        let mut before = state.fluents().clone();
        engine.play_random(&mut state, STEPS, &mut rng, |state| {
            let words = || before.words().iter().zip(state.fluents().words());
            added.words_mut().iter_mut().zip(words()).for_each(|(added, (was, is))| *added |= !was & is);
            removed.words_mut().iter_mut().zip(words()).for_each(|(removed, (was, is))| *removed |= was & !is);
            before.clone_from(state.fluents());
        });
    }
    let free = without_moves(netlist);
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
            let engine = SequentialEngine::new(&network.netlist);
            assert_eq!(accumulates(&network.netlist, &engine), expected, "{first}");
        }
    }
}
