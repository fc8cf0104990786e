//! The last-good-reply policy with forgetting.

use rustc_hash::FxHashMap;
use sternhalma_game::{NOOP, Room, hash_table_bytes};

use super::context::context;
use crate::MoveHistory;

/// The last-good-reply policy with forgetting, with replies to one and to two
/// moves (LGRF-2) [Baier and Drake 2010; Tak et al. 2012, section IV-C].
///
/// A role repeats its reply to the same moves from the last simulation that it
/// did not lose. The replied moves are those of role i - 1 one step earlier
/// and of role i - 2 two steps earlier. A reply is stored if no role has a
/// higher reward; otherwise the stored reply is removed if it was played. A
/// role without opponents always stores; the policy was not designed for such
/// games.
#[derive(Clone, Debug)]
pub struct LastGoodReply {
    /// The replies of each role, to two moves or to one, by the replied moves.
    replies: Vec<FxHashMap<u64, u32>>,
    room: Room,
}

impl Default for LastGoodReply {
    fn default() -> LastGoodReply {
        LastGoodReply { replies: Vec::new(), room: Room::UNLIMITED }
    }
}

/// The memory of the smallest table, in bytes.
const LEAST_TABLE: usize = 256;

impl LastGoodReply {
    /// The maximum number of replies per role, about 100 MB. A full table is
    /// cleared.
    const MOST: usize = 1 << 22;

    /// Returns the memory of the replies in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.replies.iter().map(|replies| hash_table_bytes::<(u64, u32)>(replies.capacity())).sum()
    }

    /// Sets the number of bytes by which the memory may grow. A table that has
    /// no room to grow is cleared.
    pub(super) fn set_room(&mut self, bytes: usize) {
        self.room.set(bytes);
    }

    /// Returns whether there was no room since the last call.
    pub(super) fn take_shortage(&mut self) -> bool {
        self.room.take_shortage()
    }

    /// Returns whether the table of a role must grow for another reply and has no room.
    fn lacks_room(&self, role: usize) -> bool {
        let replies = &self.replies[role];
        let more = match replies.capacity() {
            0 => LEAST_TABLE,
            capacity => hash_table_bytes::<(u64, u32)>(capacity),
        };
        replies.len() == replies.capacity() && more > self.room.bytes()
    }

    /// Returns the index of the stored reply among the moves of a role: the
    /// reply to two moves if it is among them, otherwise the reply to one.
    pub(super) fn find(&self, history: &MoveHistory, role: usize, numbers: &[u32]) -> Option<usize> {
        let replies = self.replies.get(role)?;
        [2, 1].into_iter().find_map(|length| {
            let reply = replies.get(&context(history.roles(), role, length, |back, role| history.back(back, role)))?;
            numbers.iter().position(|number| number == reply)
        })
    }

    /// Learns from a simulation.
    pub(super) fn learn(&mut self, history: &MoveHistory, rewards: &[f64]) {
        let roles = history.roles();
        self.replies.resize(roles, FxHashMap::default());
        let highest = rewards.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        for (step, numbers) in history.steps().enumerate() {
            for (role, (&number, &reward)) in numbers.iter().zip(rewards).enumerate() {
                if number >= NOOP {
                    continue;
                }
                for length in 1..=step.min(2) {
                    let key = context(roles, role, length, |back, role| history.number(step - back, role));
                    if reward >= highest {
                        if self.lacks_room(role) {
                            self.room.record_shortage();
                            self.replies[role].clear();
                            if self.replies[role].capacity() == 0 {
                                continue;
                            }
                        } else if self.replies[role].len() >= LastGoodReply::MOST {
                            self.replies[role].clear();
                        }
                        let before = self.bytes();
                        self.replies[role].insert(key, number);
                        self.room.subtract(self.bytes() - before);
                    } else if self.replies[role].get(&key) == Some(&number) {
                        self.replies[role].remove(&key);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use rand::{RngExt, SeedableRng};
    use serde::Deserialize;

    use super::*;
    use crate::testing::{Simulation, history, number, numbers};
    use sternhalma_game::Rng;

    #[derive(Deserialize)]
    struct Case {
        about: String,
        roles: usize,
        simulations: Vec<Step>,
        choices: Vec<Choice>,
    }

    #[derive(Deserialize)]
    struct Step {
        #[serde(flatten)]
        simulation: Simulation,
        /// The replies after the simulation, by role and by the one or two
        /// replied moves.
        replies: Vec<BTreeMap<String, String>>,
    }

    #[derive(Deserialize)]
    struct Choice {
        r#match: Vec<String>,
        simulation: Vec<String>,
        role: usize,
        options: Vec<String>,
        reply: Option<String>,
    }

    fn cases() -> Vec<Case> {
        let value: serde_json::Value =
            serde_json::from_str(include_str!("../../tests/data/policies/replies.json")).unwrap();
        serde_json::from_value(value["cases"].clone()).unwrap()
    }

    /// Returns the replies of a role by the replied moves.
    fn table(replies: &LastGoodReply, role: usize) -> BTreeMap<Vec<u32>, u32> {
        let entries = replies.replies[role].iter().map(|(key, &reply)| {
            let (two, one) = ((key >> 32) as u32, *key as u32);
            // A reply to one move has a number without a move in place of the
            // other.
            let moves = [two, one].into_iter().skip(usize::from(two == NOOP - 1));
            (moves.collect(), reply)
        });
        entries.collect()
    }

    #[test]
    fn replies_are_stored_and_forgotten() {
        for case in cases() {
            let mut replies = LastGoodReply::default();
            for Step { simulation, replies: expected } in &case.simulations {
                replies.learn(&simulation.history(), &simulation.rewards());
                for (role, expected) in expected.iter().enumerate() {
                    let expected: BTreeMap<_, _> =
                        expected.iter().map(|(to, reply)| (numbers(to), number(reply))).collect();
                    assert_eq!(table(&replies, role), expected, "{}, role {role}", case.about);
                }
                assert_eq!(replies.replies.len(), case.roles);
            }
            for choice in &case.choices {
                let history = history(case.roles, &choice.r#match, &choice.simulation);
                let options: Vec<u32> = choice.options.iter().map(|mv| number(mv)).collect();
                let found = replies.find(&history, choice.role, &options).map(|index| &choice.options[index]);
                assert_eq!(found, choice.reply.as_ref(), "{}: after {:?}", case.about, choice.simulation);
            }
        }
    }

    #[test]
    fn a_role_without_opponents_always_stores() {
        let mut replies = LastGoodReply::default();
        let alone = |steps: [&str; 2], goal| Simulation {
            steps: steps.map(str::to_owned).to_vec(),
            rewards: vec![goal],
            times: 1,
        };
        for (simulation, reply) in [(alone(["A", "B"], 100.0), 2), (alone(["A", "C"], 0.0), 3)] {
            replies.learn(&simulation.history(), &simulation.rewards());
            assert_eq!(table(&replies, 0), BTreeMap::from([(vec![1], reply)]));
        }
    }

    /// Computes the reply of a role to some moves from all simulations, each
    /// with its steps and rewards.
    fn slow(simulations: &[(Vec<Vec<u32>>, Vec<f64>)], role: usize, to: &[u32]) -> Option<u32> {
        let mut reply = None;
        for (steps, rewards) in simulations {
            let best = rewards.iter().all(|&other| rewards[role] >= other);
            let roles = rewards.len();
            for end in to.len()..steps.len() {
                let before = (1..=to.len()).rev().map(|back| steps[end - back][(role + 2 * roles - back) % roles]);
                let played = steps[end][role];
                if played == NOOP || !before.eq(to.iter().copied()) {
                    continue;
                }
                match (best, reply) {
                    (true, _) => reply = Some(played),
                    (false, Some(known)) if known == played => reply = None,
                    (false, _) => {}
                }
            }
        }
        reply
    }

    #[test]
    fn the_reply_is_the_last_good_one() {
        let mut rng = Rng::seed_from_u64(3);
        let mut found = [0; 3];
        for round in 0..60 {
            let roles = 1 + round % 3;
            let (mut replies, mut simulations) = (LastGoodReply::default(), Vec::new());
            for _ in 0..25 {
                let mut history = MoveHistory::new(roles);
                let mut steps: Vec<Vec<u32>> = Vec::new();
                for _ in 0..rng.random_range(1..8) {
                    let step: Vec<u32> = (0..roles).map(|_| [0, 1, 2, NOOP][rng.random_range(0..4)]).collect();
                    history.push(|numbers| numbers.extend(&step));
                    steps.push(step);
                    let role = rng.random_range(0..roles);
                    let offered: Vec<u32> = (0..3).filter(|_| rng.random_bool(0.7)).collect();
                    let back = |back: usize| {
                        steps.len().checked_sub(back).map(|at| steps[at][(role + 2 * roles - back) % roles])
                    };
                    let to_two = back(2).and_then(|two| slow(&simulations, role, &[two, back(1)?]));
                    let to_one = back(1).and_then(|one| slow(&simulations, role, &[one]));
                    let expected_replies = [to_two, to_one].map(|reply| reply.filter(|reply| offered.contains(reply)));
                    let expected = expected_replies[0].or(expected_replies[1]);
                    assert_eq!(replies.find(&history, role, &offered).map(|index| offered[index]), expected);
                    found[expected_replies.iter().position(Option::is_some).unwrap_or(2)] += 1;
                }
                // There are few different rewards, and ties are frequent.
                let rewards: Vec<f64> = (0..roles).map(|_| f64::from(rng.random_range(0..3)) / 2.0).collect();
                replies.learn(&history, &rewards);
                simulations.push((steps, rewards));
            }
        }
        assert!(found.iter().all(|&count| count > 200), "{found:?} by two moves, by one and by none");
    }
}
