//! Which values are expected to be good before anything is played.

use super::space::Space;
use crate::game::Game;
use crate::parts::PlayoutKind;

/// What is known of a game before it is played.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Beforehand {
    /// The number of roles.
    pub roles: usize,
    /// Whether what moves bring about stays ([`Game::accumulates`]).
    pub accumulates: bool,
}

impl Beforehand {
    /// What is known of a game.
    pub fn of<G: Game>(game: &G) -> Beforehand {
        Beforehand { roles: game.roles(), accumulates: game.accumulates() }
    }

    /// The value of a parameter that is expected to be the best. With GRAVE
    /// they are those that the paper found off-line. Else they are what our own
    /// player has: decay, but not in games of one role (paper 003, section
    /// 6.1), and a share of random moves that is larger where stones stay,
    /// since there a move that was good once is good at any time, and playouts
    /// would be alike.
    fn expected(self, parameter: &str, with_grave: bool) -> Option<f64> {
        let nst = PlayoutKind::ALL.iter().position(|&kind| kind == PlayoutKind::Nst);
        match parameter {
            "C" => Some(0.2),
            "K" => Some(250.0),
            "ref" => Some(50.0),
            "epsilon" => Some(if with_grave || self.accumulates { 0.4 } else { 0.2 }),
            "playout" => nst.map(|kind| kind as f64),
            "gamma" => Some(1.0),
            "omega" => Some(if self.roles == 1 { 1.0 } else { 0.97 }),
            _ => None,
        }
    }
}

impl Space {
    /// The same space, its parameters with the values that are expected to be
    /// the best in a game, as far as there are such.
    #[must_use]
    pub fn expecting(mut self, game: Beforehand) -> Space {
        let with_grave = self.parameter("C").is_some();
        for parameter in self.parameters_mut() {
            let expected = game.expected(&parameter.name, with_grave);
            parameter.expected = parameter.values.iter().position(|&value| value.is_some() && value == expected);
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tuning::Aspect;

    #[test]
    fn what_is_expected_is_by_roles_and_rules() {
        let expected = |aspects: &[Aspect], roles, accumulates| {
            let space = Space::of(aspects).unwrap().expecting(Beforehand { roles, accumulates });
            let value = |parameter: &crate::tuning::Parameter| parameter.values[parameter.expected?];
            space.parameters().iter().map(value).collect::<Vec<_>>()
        };
        use Aspect::*;
        let own = [Playout, Epsilon, Gamma, Omega];
        assert_eq!(expected(&own, 2, false), [2.0, 0.2, 1.0, 0.97].map(Some));
        assert_eq!(expected(&own, 3, true), [2.0, 0.4, 1.0, 0.97].map(Some));
        assert_eq!(expected(&own, 1, false), [2.0, 0.2, 1.0, 1.0].map(Some));
        assert_eq!(expected(&[Grave], 2, false), [0.2, 250.0, 50.0, 0.4].map(Some));
    }

    #[test]
    fn what_evolves_away_is_no_longer_expected() {
        use rand::SeedableRng;
        let mut space = Space::of(&[Aspect::Epsilon]).unwrap().expecting(Beforehand { roles: 2, accumulates: false });
        let expected = space.parameters()[0].expected.unwrap();
        let mut rng = crate::Rng::seed_from_u64(1);
        assert!(space.evolve(|setting| Some(-(setting.value as f64)), &mut rng));
        assert_eq!(space.parameters()[0].expected, Some(expected), "another went");
        assert!(space.evolve(|setting| Some(if setting.value == expected { 0.0 } else { 1.0 }), &mut rng));
        assert_eq!(space.parameters()[0].expected, None);
    }
}
