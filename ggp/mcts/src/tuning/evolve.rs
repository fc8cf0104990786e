//! Evolution of the values that a parameter may take.

use rand::RngExt;

use super::{Rng, Setting, Space};

impl Space {
    /// Replaces the value with the lowest score of each parameter by a value between the best one and a neighbour of
    /// the best, a quarter to three quarters of the way. Values that a constraint names, values that are not finite
    /// numbers, and values without a score stay. Returns whether any value was replaced.
    pub(super) fn evolve(&mut self, score: impl Fn(Setting) -> Option<f64>, rng: &mut Rng) -> bool {
        let mut evolved = false;
        for parameter in 0..self.parameters().len() {
            let Some((worst, new)) = self.successor(parameter, &score, rng) else { continue };
            if !self.parameters()[parameter].values.contains(&new.into()) {
                self.replace(Setting { parameter, value: worst }, new);
                evolved = true;
            }
        }
        evolved
    }

    /// Returns the index of the worst value of a parameter and the value to replace it; none if all score alike.
    fn successor(
        &self,
        parameter: usize,
        score: impl Fn(Setting) -> Option<f64>,
        rng: &mut Rng,
    ) -> Option<(usize, f64)> {
        let values = &self.parameters()[parameter].values;
        let finite = |value: usize| values[value].number().filter(|number| number.is_finite());
        let scored = || {
            let score = |value| Some((score(Setting { parameter, value })?, finite(value)?, value));
            (0..values.len()).filter_map(score)
        };
        let may_go = |&(.., value): &(f64, f64, usize)| !self.is_fixed(Setting { parameter, value });
        let (least, _, worst) = scored().filter(may_go).min_by(|a, b| a.0.total_cmp(&b.0))?;
        let (most, best, _) = scored().max_by(|a, b| a.0.total_cmp(&b.0))?;
        if least >= most {
            return None;
        }
        let others = (0..values.len()).filter(|&value| value != worst).filter_map(finite);
        let below = others.clone().filter(|&other| other < best).reduce(f64::max);
        let above = others.filter(|&other| other > best).reduce(f64::min);
        let next = match (below, above) {
            (Some(below), Some(above)) => {
                if rng.random() {
                    below
                } else {
                    above
                }
            }
            (Some(one), None) | (None, Some(one)) => one,
            (None, None) => return None,
        };
        Some((worst, best + (next - best) * (0.25 + 0.5 * rng.random::<f64>())))
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;
    use crate::params::Aspect;

    #[test]
    fn the_worst_value_is_replaced_by_one_near_the_best() {
        let mut rng = Rng::seed_from_u64(8);
        // The best and worst values of C are 0.3 and 0.9, of K 100 and 10 (0 and infinity stay), of ref 0 and 10,000.
        // Of epsilon only the value 0 has a score.
        let score = |setting: Setting| match (setting.parameter, setting.value) {
            (0, value) => Some(1.0 - (value as f64 - 2.0).abs() / 10.0),
            (1, value) => Some([0.0, 0.1, 0.5, 0.9, 0.5, 0.5, 0.5, 0.5, 0.5, 0.0][value]),
            (2, value) => Some(1.0 - value as f64 / 10.0),
            (_, 0) => Some(0.5),
            _ => None,
        };
        let mut met = [[false; 2]; 2];
        for _ in 0..200 {
            let before = Space::grave_mast();
            let mut space = before.clone();
            assert!(space.evolve(score, &mut rng));
            let value = |space: &Space, setting: Setting| space.parameters()[setting.parameter].values[setting.value];
            let changed: Vec<(usize, usize, f64)> = (before.settings())
                .map(|setting| (setting, value(&space, setting)))
                .filter(|&(setting, now)| value(&before, setting) != now)
                .map(|(setting, now)| (setting.parameter, setting.value, now.number().unwrap()))
                .collect();
            let [(0, 8, c), (1, 1, k), (2, 6, reference)] = changed[..] else { panic!("{changed:?}") };
            let near =
                |value: f64, best: f64, next: f64| (0.25..0.75 + 1e-9).contains(&((value - best) / (next - best)));
            assert!(near(c, 0.3, 0.2) || near(c, 0.3, 0.4), "{c}");
            assert!(near(k, 100.0, 50.0) || near(k, 100.0, 250.0), "{k}");
            assert!(near(reference, 0.0, 50.0), "{reference}");
            met[0][usize::from(c > 0.3)] = true;
            met[1][usize::from(k > 100.0)] = true;
            assert_eq!(space.combinations(), before.combinations(), "legality does not change");
        }
        assert_eq!(met, [[true; 2]; 2]);
        let mut fixed = Space::of(&[Aspect::Playout, Aspect::Gamma, Aspect::Omega]).unwrap();
        assert!(!fixed.evolve(|setting| Some(setting.value as f64), &mut rng));
        assert!(!Space::grave_mast().evolve(|_| Some(0.5), &mut rng), "no value is worse than another");
    }

    #[test]
    fn a_replaced_value_is_no_longer_expected() {
        let mut space = Space::of(&[Aspect::Epsilon]).unwrap().expecting();
        let expected = space.expected(0).unwrap();
        let mut rng = Rng::seed_from_u64(1);
        assert!(space.evolve(|setting| Some(-(setting.value as f64)), &mut rng));
        assert_eq!(space.expected(0), Some(expected), "another value was replaced");
        assert!(space.evolve(|setting| Some(if setting.value == expected { 0.0 } else { 1.0 }), &mut rng));
        assert_eq!(space.expected(0), None);
    }
}
