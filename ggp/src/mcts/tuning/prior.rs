//! Prior expectations: the values that are expected to be best.

use super::space::Space;
use crate::mcts::GraveSettings;
use crate::mcts::params::PlayoutKind;

/// The expected fraction of random moves in general, and in games whose moves
/// mostly add permanent facts. In such games a good move stays good, so
/// playouts guided by averages would be very similar. The second value proved
/// no gain (docs/reproduction.md).
const EPSILONS: [f64; 2] = [0.2, 0.4];

/// Returns a space with the values that are expected to be best.
///
/// For GRAVE with MAST, C, K, ref and ε have the values that [Sironi and
/// Winands 2018] found off-line. Other spaces expect NST, an ε that depends on
/// the rules, ω = 0.97, and no Move Decay.
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
