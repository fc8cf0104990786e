//! The N-gram selection technique.

use rustc_hash::FxHashMap;

use super::UNSEEN;
use super::average::{Average, Decay, Scale};
use super::context::context;
use super::learned::Worth;
use super::mast::Mast;
use crate::trail::Trail;

/// The N-gram selection technique (NST; paper 000, section IV-B): a move is
/// worth the mean of the averages of the sequences that it would end, of
/// length 1, 2 and 3. A sequence that ends with a move of role i has, before
/// it, a move of role i - 1 and one of role i - 2, each a step earlier and
/// counted round all roles.
///
/// Longer sequences count from a weight on. The moves that have followed the
/// same one or two moves, a *context*, are kept together, so that a choice
/// looks up two contexts and not two sequences a move.
#[derive(Clone, Debug)]
pub struct Nst {
    /// The longest sequences.
    longest: usize,
    /// The weight from which longer sequences count, k.
    least: f32,
    singles: Mast,
    /// By role: the place of a context's moves among all.
    contexts: Vec<FxHashMap<u64, u32>>,
    followers: Vec<Vec<Follower>>,
    scale: Scale,
    /// By number: the sum of averages of a move that a choice is about, and
    /// how many they are.
    sums: Vec<(f32, u32)>,
}

/// A sequence: the move that ends it, and its average.
#[derive(Clone, Copy, Debug)]
struct Follower {
    number: u32,
    average: Average,
}

impl Nst {
    /// Sequences of lengths up to `longest`, 1 to 3, of which longer ones
    /// than one move count from the weight `least` on.
    pub fn new(longest: usize, least: f64) -> Nst {
        Nst {
            longest,
            least: least as f32,
            singles: Mast::default(),
            contexts: Vec::new(),
            followers: Vec::new(),
            scale: Scale::ONE,
            sums: Vec::new(),
        }
    }

    fn add(&mut self, role: usize, key: u64, number: u32, reward: f32, omega: f32) {
        if self.contexts.len() <= role {
            self.contexts.resize(role + 1, FxHashMap::default());
        }
        let place = *self.contexts[role].entry(key).or_insert_with(|| {
            self.followers.push(Vec::new());
            self.followers.len() as u32 - 1
        });
        let followers = &mut self.followers[place as usize];
        let known = followers.iter().position(|follower| follower.number == number);
        let place = known.unwrap_or_else(|| {
            followers.push(Follower { number, average: Average::default() });
            followers.len() - 1
        });
        followers[place].average.add(reward, omega, self.scale);
    }

    /// Adds what the sequences of a context say of the moves that a choice is about.
    #[inline]
    fn follow(&mut self, role: usize, key: u64) {
        let Some(&place) = self.contexts.get(role).and_then(|contexts| contexts.get(&key)) else { return };
        for follower in &self.followers[place as usize] {
            let Some(mean) = follower.average.mean_from(self.least, self.scale) else { continue };
            // A move that the choice is not about has none to be added to.
            if let Some((sum, count)) = self.sums.get_mut(follower.number as usize).filter(|(_, count)| *count > 0) {
                *sum += mean;
                *count += 1;
            }
        }
    }
}

impl Worth for Nst {
    fn worths(&mut self, trail: &Trail, role: usize, numbers: &[u32], worths: &mut Vec<f32>) {
        for &number in numbers {
            if self.sums.len() <= number as usize {
                self.sums.resize(number as usize + 1, (0.0, 0));
            }
            if let Some(mean) = self.singles.mean(role, number) {
                self.sums[number as usize] = (mean, 1);
            }
        }
        for length in 1..self.longest {
            let key = context(trail.roles(), role, length, |back, role| trail.back(back, role));
            self.follow(role, key);
        }
        worths.extend(numbers.iter().map(|&number| {
            let (sum, count) = std::mem::take(&mut self.sums[number as usize]);
            if count == 0 { UNSEEN } else { sum / count as f32 }
        }));
    }

    fn learn(&mut self, trail: &Trail, rewards: &[f64], decay: &Decay) {
        self.singles.learn(trail, rewards, decay);
        let roles = trail.roles();
        for (step, numbers) in trail.steps().enumerate() {
            for (role, (&number, &reward)) in numbers.iter().zip(rewards).enumerate() {
                if number >= Trail::WAITS {
                    continue;
                }
                for length in 1..self.longest.min(step + 1) {
                    let key = context(roles, role, length, |back, role| trail.number(step - back, role));
                    self.add(role, key, number, reward as f32, decay.omega as f32);
                }
            }
        }
    }

    fn decay(&mut self, by: f64) {
        self.singles.decay(by);
        self.scale.decay(by);
        if let Some(factor) = self.scale.take() {
            for followers in &mut self.followers {
                followers.retain_mut(|follower| follower.average.multiply(factor));
            }
        }
    }
}
