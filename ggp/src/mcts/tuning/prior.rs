//! Which values are expected to be good before anything is played.

use super::space::Space;
use crate::mcts::GraveSettings;
use crate::mcts::params::PlayoutKind;

/// The share of random moves, in general and where what moves bring about
/// stays. There a move that was good once is good at any time, so that playouts
/// by averages would be much alike; that proved no gain (docs/reproduction.md).
const EPSILONS: [f64; 2] = [0.2, 0.4];

/// A space with the values that are expected to be the best: of C, K, ref and ε
/// of GRAVE with MAST those that paper 001 found off-line, of what else is tuned
/// NST, ε by the rules, ω = 0.97 and no Move Decay.
pub fn expecting(space: Space, accumulates: bool) -> Space {
    let base = GraveSettings::BASE;
    let epsilon = if space.parameter("C").is_some() { 0.4 } else { EPSILONS[usize::from(accumulates)] };
    let nst = PlayoutKind::ALL.iter().position(|&kind| kind == PlayoutKind::Nst);
    space.expecting(|parameter| match parameter {
        "C" => Some(base.c),
        "K" => Some(base.k),
        "ref" => Some(base.reference),
        "epsilon" => Some(epsilon),
        "playout" => nst.map(|kind| kind as f64),
        "gamma" => Some(1.0),
        "omega" => Some(0.97),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcts::tuning::Aspect;

    #[test]
    fn what_is_expected_is_there() {
        let expected = |aspects: &[Aspect], accumulates| {
            let space = expecting(Space::of(aspects).unwrap(), accumulates);
            let value = |parameter: usize| space.parameters()[parameter].values[space.expected(parameter)?];
            (0..space.parameters().len()).map(value).collect::<Vec<_>>()
        };
        use Aspect::*;
        let own = [Playout, Epsilon, Gamma, Omega];
        assert_eq!(expected(&own, false), [2.0, 0.2, 1.0, 0.97].map(Some));
        assert_eq!(expected(&own, true), [2.0, 0.4, 1.0, 0.97].map(Some));
        assert_eq!(expected(&[Grave], false), [0.2, 250.0, 50.0, 0.4].map(Some));
    }

    #[test]
    fn what_evolves_away_is_no_longer_expected() {
        use rand::SeedableRng;
        let mut space = expecting(Space::of(&[Aspect::Epsilon]).unwrap(), false);
        let expected = space.expected(0).unwrap();
        let mut rng = crate::Rng::seed_from_u64(1);
        assert!(space.evolve(|setting| Some(-(setting.value as f64)), &mut rng));
        assert_eq!(space.expected(0), Some(expected), "another went");
        assert!(space.evolve(|setting| Some(if setting.value == expected { 0.0 } else { 1.0 }), &mut rng));
        assert_eq!(space.expected(0), None);
    }
}
