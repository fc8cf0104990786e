//! The N-gram selection technique.

use rustc_hash::FxHashMap;

use super::average::{Average, Decay, Scale};
use super::context::context;
use super::learned::Worth;
use super::mast::Mast;
use super::{LEAST_WEIGHT, UNSEEN};
use crate::trail::Trail;

/// The N-gram selection technique (NST; paper 000, section IV-B): a move is
/// worth the mean of the averages of the sequences that it would end, of
/// length 1, 2 and 3. A sequence that ends with a move of role i has, before
/// it, a move of role i - 1 and one of role i - 2, each a step earlier and
/// counted round all roles.
///
/// Longer sequences count from a weight on. The moves that have followed the
/// same one or two moves, a *context*, are kept together, so that a choice
/// looks up two contexts, and most of those of two moves say nothing yet.
#[derive(Clone, Debug)]
pub struct Nst {
    /// The longest sequences.
    longest: usize,
    /// The weight from which longer sequences count, k.
    least: f32,
    singles: Mast,
    /// By role: the place of a context among all.
    places: Vec<FxHashMap<u64, u32>>,
    contexts: Vec<Followers>,
    scale: Scale,
    /// Of each move that a choice is about: the sum of averages, and how many
    /// they are.
    sums: Vec<(f32, f32)>,
}

/// The moves that have followed a context, by open addressing.
#[derive(Clone, Debug, Default)]
struct Followers {
    /// A power of two of slots, a quarter of them free at least.
    slots: Vec<Follower>,
    used: u32,
    /// How many have ever had a weight that counts; more may not.
    telling: u32,
}

/// A sequence: the move that ends it, and its average.
#[derive(Clone, Copy, Debug)]
struct Follower {
    number: u32,
    average: Average,
}

impl Followers {
    const FREE: Follower = Follower { number: Trail::NONE, average: Average::NONE };

    /// The place of a move, or the free one where it would be.
    #[inline]
    fn place(&self, number: u32) -> usize {
        let mask = self.slots.len() - 1;
        // Fibonacci hashing: the upper bits of the product are well mixed.
        let hash = number.wrapping_mul(0x9e37_79b9);
        let mut place = ((u64::from(hash) * self.slots.len() as u64) >> 32) as usize;
        while self.slots[place].number != number && self.slots[place].number != Trail::NONE {
            place = (place + 1) & mask;
        }
        place
    }

    fn add(&mut self, number: u32, reward: f32, omega: f32, scale: Scale, least: f32) {
        if 4 * (self.used as usize + 1) > 3 * self.slots.len() {
            self.rebuild((2 * self.slots.len()).max(4), |_| true);
        }
        let place = self.place(number);
        let follower = &mut self.slots[place];
        self.used += u32::from(follower.number == Trail::NONE);
        follower.number = number;
        let counted = follower.average.mean_from(least, scale).is_some();
        follower.average.add(reward, omega, scale);
        let counts = follower.average.mean_from(least, scale).is_some();
        self.telling += u32::from(counts && !counted);
    }

    /// Moves the followers to be kept to so many slots.
    fn rebuild(&mut self, slots: usize, keep: impl Fn(&mut Average) -> bool) {
        let old = std::mem::replace(&mut self.slots, vec![Followers::FREE; slots]);
        self.used = 0;
        for mut follower in old.into_iter().filter(|follower| follower.number != Trail::NONE) {
            if keep(&mut follower.average) {
                let place = self.place(follower.number);
                self.slots[place] = follower;
                self.used += 1;
            }
        }
    }

    /// The average of a move whose weight counts.
    #[inline]
    fn mean(&self, number: u32, least: f32, scale: Scale) -> Option<f32> {
        self.slots[self.place(number)].average.mean_from(least, scale)
    }
}

impl Nst {
    /// Sequences of lengths up to `longest`, 1 to 3, of which longer ones
    /// than one move count from the weight `least` on.
    pub fn new(longest: usize, least: f64) -> Nst {
        Nst {
            longest,
            least: (least as f32).max(LEAST_WEIGHT),
            singles: Mast::default(),
            places: Vec::new(),
            contexts: Vec::new(),
            scale: Scale::ONE,
            sums: Vec::new(),
        }
    }

    fn add(&mut self, role: usize, key: u64, number: u32, reward: f32, omega: f32) {
        if self.places.len() <= role {
            self.places.resize(role + 1, FxHashMap::default());
        }
        let place = *self.places[role].entry(key).or_insert_with(|| {
            self.contexts.push(Followers::default());
            self.contexts.len() as u32 - 1
        });
        self.contexts[place as usize].add(number, reward, omega, self.scale, self.least);
    }

    /// Adds what the sequences of a context say of the moves that a choice is about.
    #[inline]
    fn follow(&mut self, role: usize, key: u64, numbers: &[u32]) {
        let Some(&place) = self.places.get(role).and_then(|places| places.get(&key)) else { return };
        let followers = &self.contexts[place as usize];
        if followers.telling == 0 {
            return;
        }
        for ((sum, count), &number) in self.sums.iter_mut().zip(numbers) {
            if let Some(mean) = followers.mean(number, self.least, self.scale) {
                *sum += mean;
                *count += 1.0;
            }
        }
    }
}

impl Worth for Nst {
    fn worths(&mut self, trail: &Trail, role: usize, numbers: &[u32], worths: &mut Vec<f32>) {
        self.sums.clear();
        let single = |&number: &u32| self.singles.mean(role, number).map_or((UNSEEN, 1.0), |mean| (mean, 1.0));
        self.sums.extend(numbers.iter().map(single));
        for length in 1..self.longest {
            let key = context(trail.roles(), role, length, |back, role| trail.back(back, role));
            self.follow(role, key, numbers);
        }
        worths.extend(self.sums.iter().map(|(sum, count)| sum / count));
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
            for followers in &mut self.contexts {
                followers.rebuild(followers.slots.len(), |average| average.multiply(factor));
            }
        }
    }
}
