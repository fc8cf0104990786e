//! Evaluations of states for strategies that judge a move by the state after
//! it.

use rand::RngExt;
use sternhalma_game::Rng;
use sternhalma_game::features::{Degree, FactRows, Successors};
use sternhalma_game::util::{FluentSet, bits_of};

/// The largest difference of values that are considered equal.
const ROUNDING: f64 = 1e-6;

/// The value of a state, and a tie-break between states of the same value.
pub(super) type StateScore = (f64, f64);

/// Evaluates states by their degree of satisfying a goal [Świechowski and
/// Mańdziuk 2014, section V.B].
pub(super) fn by_goal(degrees: &[Degree], worths: &mut Vec<StateScore>) {
    worths.clear();
    worths.extend(degrees.iter().map(|degree| (f64::from(degree.value), f64::from(degree.tie_break))));
}

/// Evaluates states by the sum of the weights of their facts (section V.C).
pub(super) fn by_weights(states: &FactRows, weights: &[f64], worths: &mut Vec<StateScore>) {
    worths.clear();
    worths.extend(states.rows().map(|facts| (bits_of(facts).fold(0.0, |sum, fact| sum + weights[fact]), 0.0)));
}

/// Evaluates states by mobility: the number of moves of a role minus those of
/// each other role, summed; without other roles, the number of moves (section
/// V.D).
pub(super) fn by_mobility(states: &Successors, roles: usize, role: usize, worths: &mut Vec<StateScore>) {
    let own = f64::from(roles.saturating_sub(1).max(1) as u32);
    worths.clear();
    worths.extend(states.mobility(role).iter().map(|&moves| (own * f64::from(moves), 0.0)));
    for other in (0..roles).filter(|&other| other != role) {
        worths.iter_mut().zip(states.mobility(other)).for_each(|(worth, &moves)| worth.0 -= f64::from(moves));
    }
}

/// Evaluates states by novelty: the smallest number of facts of a state that
/// did not hold in an earlier state (section V.E).
pub(super) fn by_novelty(states: &FactRows, before: &[FluentSet], worths: &mut Vec<StateScore>) {
    let new = |facts: &[u64], before: &FluentSet| {
        facts.iter().zip(before.words()).map(|(fact, before)| (fact & !before).count_ones()).sum::<u32>()
    };
    worths.clear();
    worths.extend(states.rows().map(|facts| {
        let least = before.iter().map(|before| new(facts, before)).min();
        (least.map_or(f64::INFINITY, f64::from), 0.0)
    }));
}

/// Returns the index of the highest value (ties: at random).
pub(super) fn best(worths: &[StateScore], rng: &mut Rng) -> usize {
    let (mut best, mut equals) = (0, 1);
    for (index, worth) in worths.iter().enumerate().skip(1) {
        let (value, tie_break) = (worth.0 - worths[best].0, worth.1 - worths[best].1);
        if value > ROUNDING || value > -ROUNDING && tie_break > ROUNDING {
            (best, equals) = (index, 1);
        } else if value > -ROUNDING && tie_break > -ROUNDING {
            equals += 1;
            if rng.random_range(0..equals) == 0 {
                best = index;
            }
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};

    use super::*;

    fn rows(facts: usize, states: &[&[usize]]) -> FactRows {
        let mut rows = FactRows::default();
        rows.reset(states.len(), facts);
        for (state, holding) in states.iter().enumerate() {
            rows.row_mut(state).copy_from_slice(set(facts, holding).words());
        }
        rows
    }

    fn moving(mobility: &[&[u32]]) -> Successors {
        let mut all = Successors::default();
        all.reset(mobility[0].len(), 0, mobility.len());
        mobility.iter().enumerate().for_each(|(role, moves)| all.mobility_mut(role).copy_from_slice(moves));
        all
    }

    fn set(facts: usize, holding: &[usize]) -> FluentSet {
        let mut set = FluentSet::new(facts);
        holding.iter().for_each(|&fact| set.insert(fact));
        set
    }

    #[test]
    fn mobility_is_the_sum_of_differences() {
        let mut worths = Vec::new();
        let all = moving(&[&[5, 2], &[1, 1], &[7, 3]]);
        by_mobility(&all, 3, 0, &mut worths);
        assert_eq!(worths, [(5.0 - 1.0 + 5.0 - 7.0, 0.0), (2.0 - 1.0 + 2.0 - 3.0, 0.0)]);
        by_mobility(&all, 3, 2, &mut worths);
        assert_eq!(worths, [(7.0 - 5.0 + 7.0 - 1.0, 0.0), (3.0 - 2.0 + 3.0 - 1.0, 0.0)]);
        by_mobility(&moving(&[&[5, 2]]), 1, 0, &mut worths);
        assert_eq!(worths, [(5.0, 0.0), (2.0, 0.0)]);
    }

    #[test]
    fn novelty_is_the_distance_to_the_nearest_state_before() {
        let mut worths = Vec::new();
        let all = rows(5, &[&[0, 1, 2], &[2, 3, 4], &[0]]);
        let before = [set(5, &[0, 1]), set(5, &[4]), set(5, &[0, 2, 3])];
        // The first state has 1, 3 and 1 facts that the earlier states do not
        // have, the second 3, 2 and 1, the third 0, 1 and 0.
        for (known, expected) in [(1, [1.0, 3.0, 0.0]), (2, [1.0, 2.0, 0.0]), (3, [1.0, 1.0, 0.0])] {
            by_novelty(&all, &before[..known], &mut worths);
            assert_eq!(worths, expected.map(|worth| (worth, 0.0)));
        }
    }

    #[test]
    fn worths_of_many_states_are_those_one_at_a_time() {
        let mut rng = Rng::seed_from_u64(1);
        let (facts, count) = (90, 130);
        let random = |rng: &mut Rng| -> Vec<usize> { (0..facts).filter(|_| rng.random_bool(0.3)).collect() };
        let expected: Vec<Vec<usize>> = (0..count).map(|_| random(&mut rng)).collect();
        let before: Vec<FluentSet> = (0..3).map(|_| set(facts, &random(&mut rng))).collect();
        let weights: Vec<f64> = (0..facts).map(|_| f64::from(rng.random_range(-3i32..4))).collect();
        let all = rows(facts, &expected.iter().map(|facts| &facts[..]).collect::<Vec<_>>());
        let mut worths = Vec::new();
        by_weights(&all, &weights, &mut worths);
        let sums = expected.iter().map(|facts| facts.iter().map(|&fact| weights[fact]).sum::<f64>());
        assert!(worths.iter().map(|worth| worth.0).eq(sums));
        by_novelty(&all, &before, &mut worths);
        let fresh = |facts: &[usize], set: &FluentSet| facts.iter().filter(|&&fact| !set.contains(fact)).count();
        let nearest = expected.iter().map(|facts| before.iter().map(|set| fresh(facts, set)).min().unwrap() as f64);
        assert!(worths.iter().map(|worth| worth.0).eq(nearest));
    }

    #[test]
    fn the_best_is_chosen_and_of_equals_any() {
        let mut rng = Rng::seed_from_u64(2);
        let worths = [(0.5, 9.0), (1.0, 0.2), (1.0 + 1e-9, 0.3), (1.0, 0.3 - 1e-9), (0.9, 1.0)];
        let mut chosen = [0; 5];
        (0..1000).for_each(|_| chosen[best(&worths, &mut rng)] += 1);
        assert_eq!((chosen[0], chosen[1], chosen[4]), (0, 0, 0));
        assert!(chosen[2] > 400 && chosen[3] > 400, "{chosen:?}");
    }
}
