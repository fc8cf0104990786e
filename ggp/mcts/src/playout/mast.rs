//! The move-average sampling technique.

use sternhalma_game::{NOOP, Room};

use super::decay::{DecayingAverage, Scale, WeightLimits};
use super::{Decay, MoveHistory, MoveValues, UNSEEN};

/// The move-average sampling technique (MAST) [Finnsson and Björnsson 2008;
/// Tak et al. 2012, section III-D].
///
/// The value of a move is the average reward of the simulations it was played
/// in, counted once per occurrence.
#[derive(Clone, Debug)]
pub struct Mast {
    /// The averages by role and move number.
    moves: Vec<Vec<DecayingAverage>>,
    scale: Scale,
    room: Room,
}

impl Default for Mast {
    fn default() -> Mast {
        Mast { moves: Vec::new(), scale: Scale::ONE, room: Room::UNLIMITED }
    }
}

impl Mast {
    /// Returns the average of a move, if it has been played and has not
    /// decayed away.
    #[inline]
    pub(super) fn mean(&self, role: usize, number: u32) -> Option<f32> {
        self.moves.get(role)?.get(number as usize)?.mean(self.scale)
    }

    /// Adds a reward of a move.
    #[inline]
    pub(super) fn add(&mut self, role: usize, number: u32, reward: f32, limits: WeightLimits) {
        if number >= NOOP {
            return;
        }
        if self.moves.len() <= role {
            self.moves.resize(role + 1, Vec::new());
        }
        let moves = &mut self.moves[role];
        if self.room.extend(moves, number as usize) {
            moves[number as usize].add(reward, limits, self.scale);
        }
    }
}

impl MoveValues for Mast {
    #[inline]
    fn worths(&mut self, _: &MoveHistory, role: usize, numbers: &[u32], worths: &mut Vec<f32>) {
        worths.extend(numbers.iter().map(|&number| self.mean(role, number).unwrap_or(UNSEEN)));
    }

    fn learn(&mut self, history: &MoveHistory, rewards: &[f64], decay: &Decay) {
        let limits = decay.limits();
        for step in history.steps() {
            for (role, (&number, &reward)) in step.iter().zip(rewards).enumerate() {
                self.add(role, number, reward as f32, limits);
            }
        }
    }

    fn memory(&self) -> usize {
        self.moves.iter().map(|moves| moves.capacity() * size_of::<DecayingAverage>()).sum()
    }

    fn set_room(&mut self, bytes: usize) {
        self.room.set(bytes);
    }

    fn take_shortage(&mut self) -> bool {
        self.room.take_shortage()
    }

    fn decay(&mut self, by: f64) {
        self.scale.decay(by);
        if let Some(factor) = self.scale.take() {
            self.moves.iter_mut().flatten().for_each(|average| _ = average.multiply(factor));
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::collections::HashMap;

    use rand::{RngExt, SeedableRng};

    use super::*;
    use sternhalma_game::Rng;

    impl Mast {
        /// Returns the mean of each move, if it is known, and its weight.
        pub(in crate::playout) fn table(&self, role: usize) -> Vec<(u32, Option<f32>, f32)> {
            let moves = self.moves.get(role).into_iter().flatten().enumerate();
            moves
                .map(|(number, average)| (number as u32, average.mean(self.scale), average.weight(self.scale)))
                .collect()
        }
    }

    /// Rewards with their weights.
    pub(in crate::playout) type Weighted = Vec<(f64, f64)>;

    /// The oracle: every reward of every move of a role.
    #[derive(Default)]
    struct Slow(HashMap<(usize, u32), Weighted>);

    /// Adds a reward. The earlier rewards are scaled so that all together do
    /// not exceed the maximum weight; then all decay.
    pub(in crate::playout) fn add(rewards: &mut Weighted, reward: f64, decay: &Decay) {
        let before: f64 = rewards.iter().map(|(_, weight)| weight).sum();
        if before + 1.0 > decay.cap {
            rewards.iter_mut().for_each(|(_, weight)| *weight *= (decay.cap - 1.0) / before);
        }
        rewards.push((reward, 1.0));
        rewards.iter_mut().for_each(|(_, weight)| *weight *= decay.omega);
    }

    impl Slow {
        fn worth(&self, role: usize, number: u32) -> f64 {
            let rewards = self.0.get(&(role, number)).map_or(&[][..], Vec::as_slice);
            let weight: f64 = rewards.iter().map(|(_, weight)| weight).sum();
            let sum: f64 = rewards.iter().map(|(reward, weight)| reward * weight).sum();
            if weight < 1e-6 { 1.0 } else { sum / weight }
        }
    }

    #[test]
    fn averages_are_those_of_all_rewards() {
        let mut rng = Rng::seed_from_u64(1);
        for round in 0..60 {
            let roles = 1 + round % 3;
            let (omega, cap) = ([1.0, 0.9][round % 2], [f64::INFINITY, 1.0, 3.5][round / 6 % 3]);
            let (mut mast, mut slow) = (Mast::default(), Slow::default());
            let decay = Decay { omega, cap, ..Decay::NONE };
            for _ in 0..40 {
                let mut history = MoveHistory::new(roles);
                let rewards: Vec<f64> = (0..roles).map(|_| f64::from(rng.random_range(0..=100)) / 100.0).collect();
                for _ in 0..rng.random_range(1..6) {
                    let step: Vec<u32> = (0..roles).map(|_| rng.random_range(0..5)).collect();
                    let step: Vec<u32> = step.iter().map(|&mv| if mv == 4 { NOOP } else { mv }).collect();
                    for (role, &number) in step.iter().enumerate().filter(|(_, number)| **number != NOOP) {
                        add(slow.0.entry((role, number)).or_default(), rewards[role], &decay);
                    }
                    history.push(|numbers| numbers.extend(step));
                }
                mast.learn(&history, &rewards, &decay);
                if rng.random_bool(0.3) {
                    // Decay is frequent enough to rescale the table.
                    let by = [0.0, 0.03, 0.5, 0.9][rng.random_range(0..4)];
                    mast.decay(by);
                    slow.0.values_mut().flatten().for_each(|(_, weight)| *weight *= by);
                }
                let numbers = [3, 0, 5, 1, 2];
                for role in 0..roles {
                    let mut worths = vec![7.0];
                    mast.worths(&history, role, &numbers, &mut worths);
                    assert_eq!((worths.len(), worths[0]), (6, 7.0), "worths are appended");
                    for (&number, &worth) in numbers.iter().zip(&worths[1..]) {
                        let expected = slow.worth(role, number);
                        assert!((f64::from(worth) - expected).abs() < 1e-4, "{worth} instead of {expected}");
                    }
                }
            }
        }
    }
}
