//! The last-good-reply policy with forgetting.

use rustc_hash::FxHashMap;

use super::context::context;
use crate::trail::Trail;

/// The last-good-reply policy with forgetting, to one and to two moves
/// (LGRF-2, Baier and Drake 2010; paper 000, section IV-C): a role plays
/// what was played after the same moves in the last simulation with them that
/// it did not lose. The moves replied to are those of role i - 1 a step and of
/// role i - 2 two steps before.
///
/// A reply is stored if no role has a higher reward, else a stored one is
/// forgotten where it was played. A role without opponents always stores: the
/// policy is not made for it.
#[derive(Clone, Debug, Default)]
pub struct Replies {
    /// By role: the reply to two moves, or to one, by what is replied to.
    replies: Vec<FxHashMap<u64, u32>>,
}

impl Replies {
    /// The index of the reply of a role among moves: to two moves if it is
    /// among them, else to one.
    pub(super) fn find(&self, trail: &Trail, role: usize, numbers: &[u32]) -> Option<usize> {
        let replies = self.replies.get(role)?;
        [2, 1].into_iter().find_map(|length| {
            let reply = replies.get(&context(trail.roles(), role, length, |back, role| trail.back(back, role)))?;
            numbers.iter().position(|number| number == reply)
        })
    }

    /// Learns from a simulation.
    pub(super) fn learn(&mut self, trail: &Trail, rewards: &[f64]) {
        let roles = trail.roles();
        self.replies.resize(roles, FxHashMap::default());
        let highest = rewards.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        for (step, numbers) in trail.steps().enumerate() {
            for (role, (&number, &reward)) in numbers.iter().zip(rewards).enumerate() {
                if number >= Trail::WAITS {
                    continue;
                }
                for length in 1..=step.min(2) {
                    let key = context(roles, role, length, |back, role| trail.number(step - back, role));
                    if reward >= highest {
                        self.replies[role].insert(key, number);
                    } else if self.replies[role].get(&key) == Some(&number) {
                        self.replies[role].remove(&key);
                    }
                }
            }
        }
    }
}
