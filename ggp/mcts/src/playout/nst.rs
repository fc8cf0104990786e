//! The N-gram selection technique.

use std::hint::black_box;

use rustc_hash::FxHashMap;
use sternhalma_game::{NOOP, Room, hash_table_bytes};

use super::context::{chosen_context, context};
use super::decay::{DecayingAverage, Scale, WeightLimits};
use super::followers::{Follower, Followers};
use super::{Decay, LEAST_WEIGHT, Mast, MoveHistory, MoveValues, UNSEEN};

/// The N-gram selection technique (NST) [Tak et al. 2012, section IV-B].
///
/// The value of a move is the mean of the averages of the sequences of length
/// 1, 2 and 3 that it would end. In a sequence that ends with a move of role
/// i, the moves before it are of role i - 1 and role i - 2 (cyclically), each
/// one step earlier. A longer sequence is only used if its weight is large
/// enough.
///
/// Moves that followed the same one or two moves, a *context*, are stored
/// together. A choice therefore looks up two contexts; most contexts of two
/// moves have a single follower, and no sequence with enough weight.
#[derive(Clone, Debug)]
pub struct Nst {
    /// The maximum length of a sequence.
    longest: usize,
    /// The minimum weight k of longer sequences.
    least: f32,
    /// Whether moves without a choice are skipped.
    skips_waits: bool,
    singles: Mast,
    /// The contexts of each role.
    contexts: Vec<FxHashMap<u64, Followers>>,
    /// The memory of the followers of all contexts, in bytes, without that of `contexts`.
    entries: usize,
    room: Room,
    scale: Scale,
    /// The sum and the number of averages for each move of the current choice.
    sums: Vec<(f32, f32)>,
    /// The sequences of the current simulation.
    played: Vec<PlayedSequence>,
}

/// A sequence of a simulation: its role, its context, its last move, and the reward of the role.
#[derive(Clone, Copy, Debug)]
struct PlayedSequence {
    role: usize,
    key: u64,
    number: u32,
    reward: f32,
}

impl Nst {
    /// The maximum number of contexts; most occur only once. They take about
    /// 280 MB without the averages of several followers. Further contexts are ignored.
    const MAX_CONTEXTS: usize = 1 << 22;

    /// The memory of the smallest table of contexts, in bytes. The smallest table of followers takes less.
    const LEAST_BYTES: usize = hash_table_bytes::<(u64, Followers)>(3);

    /// The number of sequences whose averages are loaded together.
    const LOADED: usize = 16;

    /// Creates a table for sequences of lengths up to `longest` (1 to 3).
    /// Sequences of two and three moves need at least the weight `least`.
    pub fn new(longest: usize, least: f64) -> Nst {
        Nst {
            longest,
            least: (least as f32).max(LEAST_WEIGHT),
            skips_waits: false,
            singles: Mast::default(),
            contexts: Vec::new(),
            entries: 0,
            room: Room::UNLIMITED,
            scale: Scale::ONE,
            sums: Vec::new(),
            played: Vec::new(),
        }
    }

    /// Sets whether sequences consist of moves that were chosen.
    ///
    /// If so, joint moves in which no role had a choice are skipped, and a
    /// role without a choice is replaced by one that had a choice. The move
    /// history marks such roles.
    #[must_use]
    pub fn skipping_waits(mut self, skips: bool) -> Nst {
        self.skips_waits = skips;
        self
    }

    /// Learns like [`MoveValues::learn`], from the moves that were chosen.
    fn learn_chosen(&mut self, history: &MoveHistory, rewards: &[f64], limits: WeightLimits) {
        let first = history.known() - history.len();
        for joint in first..history.known() {
            for (role, &reward) in rewards.iter().enumerate() {
                let Some(number) = history.chosen(joint, role) else { continue };
                self.singles.add(role, number, reward as f32, limits);
                for length in 1..self.longest {
                    let Some(key) = chosen_context(history, first..joint, role, length) else { break };
                    self.played.push(PlayedSequence { role, key, number, reward: reward as f32 });
                }
            }
        }
        self.add_played(limits);
    }

    /// Adds the rewards of the sequences of the current simulation.
    fn add_played(&mut self, limits: WeightLimits) {
        let mut played = std::mem::take(&mut self.played);
        for sequences in played.chunks(Nst::LOADED) {
            self.load(sequences);
            sequences.iter().for_each(|&sequence| self.add(sequence, limits));
        }
        played.clear();
        self.played = played;
    }

    /// Loads the averages of up to `LOADED` sequences into the cache. These loads overlap. In [`add`](Nst::add) they
    /// would not, because branches depend on what they load. `black_box` keeps the loads in the program.
    fn load(&self, sequences: &[PlayedSequence]) {
        let mut found = [None; Nst::LOADED];
        for (found, sequence) in found.iter_mut().zip(sequences) {
            *found = self.contexts.get(sequence.role).and_then(|contexts| contexts.get(&sequence.key));
        }
        for (followers, sequence) in found.into_iter().zip(sequences) {
            black_box(followers.map(|followers| followers.first_at(sequence.number)));
        }
    }

    /// Adds a reward to the average of a sequence. Ignores it if the sequence is new and there is no room.
    fn add(&mut self, sequence: PlayedSequence, limits: WeightLimits) {
        let role = sequence.role;
        if self.contexts.len() <= role {
            self.contexts.resize(role + 1, FxHashMap::default());
        }
        let before = self.sequence_bytes(role);
        self.add_within_room(sequence, limits);
        let after = self.sequence_bytes(role);
        self.room.subtract(after.saturating_sub(before));
    }

    fn add_within_room(&mut self, sequence: PlayedSequence, limits: WeightLimits) {
        let PlayedSequence { role, key, number, reward } = sequence;
        let (scale, least) = (self.scale, self.least);
        let is_enough = |average: DecayingAverage| average.mean_from(least, scale).is_some();
        let may_add = self.has_room_for_context(role);
        let contexts = &mut self.contexts[role];
        let followers = match may_add {
            true => contexts.entry(key).or_insert(Followers::One(Follower { number, average: DecayingAverage::NONE })),
            false => match contexts.get_mut(&key) {
                Some(followers) => followers,
                None => {
                    if !self.has_most_contexts() {
                        self.room.record_shortage();
                    }
                    return;
                }
            },
        };
        if followers.needs_room(number) {
            let before = followers.bytes();
            if 2 * before + Nst::LEAST_BYTES > self.room.bytes() {
                self.room.record_shortage();
                return;
            }
            followers.make_room(number, is_enough);
            self.entries = self.entries + followers.bytes() - before;
        }
        followers.update(number, |average| average.add(reward, limits, scale), is_enough);
    }

    /// Returns whether a new context of a role has room.
    fn has_room_for_context(&self, role: usize) -> bool {
        let contexts = &self.contexts[role];
        let grows = contexts.len() == contexts.capacity();
        !self.has_most_contexts()
            && (!grows || Nst::context_bytes(contexts).max(Nst::LEAST_BYTES) <= self.room.bytes() / 2)
    }

    /// Returns whether the number of contexts is at its maximum.
    fn has_most_contexts(&self) -> bool {
        self.contexts.iter().map(FxHashMap::len).sum::<usize>() >= Nst::MAX_CONTEXTS
    }

    fn context_bytes(contexts: &FxHashMap<u64, Followers>) -> usize {
        hash_table_bytes::<(u64, Followers)>(contexts.capacity())
    }

    /// Returns the memory of the contexts of a role, and of all followers.
    fn sequence_bytes(&self, role: usize) -> usize {
        Nst::context_bytes(&self.contexts[role]) + self.entries
    }
}

impl Nst {
    /// Computes values like [`MoveValues::worths`], with sequences up to a
    /// length.
    pub(super) fn worths_by(
        &mut self,
        longest: usize,
        history: &MoveHistory,
        role: usize,
        numbers: &[u32],
        worths: &mut Vec<f32>,
    ) {
        self.sums.clear();
        let single = |&number: &u32| self.singles.mean(role, number).map_or((UNSEEN, 1.0), |mean| (mean, 1.0));
        self.sums.extend(numbers.iter().map(single));
        // The contexts are looked up before the averages are read, so that the loads overlap.
        let mut found = [None; 2];
        for (length, found) in (1..longest.min(self.longest)).zip(&mut found) {
            let key = match self.skips_waits {
                true => chosen_context(history, 0..history.known(), role, length),
                false => Some(context(history.roles(), role, length, |back, role| history.back(back, role))),
            };
            let Some(key) = key else { break };
            *found = self.contexts.get(role).and_then(|contexts| contexts.get(&key));
        }
        for followers in found.into_iter().flatten() {
            followers.add_values(numbers, &mut self.sums, self.least, self.scale);
        }
        worths.extend(self.sums.iter().map(|(sum, count)| sum / count));
    }
}

impl MoveValues for Nst {
    fn skips_waits(&self) -> bool {
        self.skips_waits
    }

    fn worths(&mut self, history: &MoveHistory, role: usize, numbers: &[u32], worths: &mut Vec<f32>) {
        self.worths_by(self.longest, history, role, numbers, worths);
    }

    fn learn(&mut self, history: &MoveHistory, rewards: &[f64], decay: &Decay) {
        let limits = decay.limits();
        if self.skips_waits {
            return self.learn_chosen(history, rewards, limits);
        }
        self.singles.learn(history, rewards, decay);
        let roles = history.roles();
        for (step, numbers) in history.steps().enumerate() {
            for (role, (&number, &reward)) in numbers.iter().zip(rewards).enumerate() {
                if number >= NOOP {
                    continue;
                }
                for length in 1..self.longest.min(step + 1) {
                    let key = context(roles, role, length, |back, role| history.number(step - back, role));
                    self.played.push(PlayedSequence { role, key, number, reward: reward as f32 });
                }
            }
        }
        self.add_played(limits);
    }

    fn memory(&self) -> usize {
        let contexts: usize = self.contexts.iter().map(Nst::context_bytes).sum();
        self.singles.memory() + contexts + self.entries
    }

    fn set_room(&mut self, bytes: usize) {
        self.room.set(bytes / 2);
        self.singles.set_room(bytes / 2);
    }

    fn take_shortage(&mut self) -> bool {
        self.room.take_shortage() | self.singles.take_shortage()
    }

    fn decay(&mut self, by: f64) {
        self.singles.decay(by);
        self.scale.decay(by);
        if let Some(factor) = self.scale.take() {
            self.contexts.iter_mut().for_each(|contexts| contexts.retain(|_, followers| followers.multiply(factor)));
            self.entries = self.contexts.iter().flat_map(FxHashMap::values).map(Followers::bytes).sum();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, HashMap};

    use rand::{RngExt, SeedableRng};
    use serde::Deserialize;

    use super::*;
    use crate::playout::mast::tests::{Weighted, add};
    use crate::testing::{Simulation, history, number, numbers};
    use sternhalma_game::Rng;

    impl Nst {
        /// Returns the mean of each sequence, if it is known, and its weight.
        pub(in crate::playout) fn table(&self, role: usize) -> BTreeMap<Vec<u32>, (Option<f32>, f32)> {
            let singles = self.singles.table(role).into_iter().filter(|(.., weight)| *weight > 0.0);
            let mut table: BTreeMap<_, _> =
                singles.map(|(number, mean, weight)| (vec![number], (mean, weight))).collect();
            for (key, followers) in self.contexts.get(role).into_iter().flatten() {
                let (two, one) = ((key >> 32) as u32, *key as u32);
                for Follower { number, average } in followers.all() {
                    // A sequence of two moves has a number without a move in place
                    // of the first.
                    let moves = [two, one, number].into_iter().skip(usize::from(two == NOOP - 1));
                    table.insert(moves.collect(), (average.mean(self.scale), average.weight(self.scale)));
                }
            }
            table
        }
    }

    #[derive(Deserialize)]
    struct Case {
        about: String,
        roles: usize,
        k: f64,
        simulations: Vec<Simulation>,
        /// The mean of each sequence and its number of occurrences, by role.
        grams: Vec<BTreeMap<String, (f32, f32)>>,
        choices: Vec<Choice>,
    }

    #[derive(Deserialize)]
    struct Choice {
        r#match: Vec<String>,
        simulation: Vec<String>,
        role: usize,
        worths: BTreeMap<String, f32>,
    }

    fn cases() -> Vec<Case> {
        let value: serde_json::Value =
            serde_json::from_str(include_str!("../../tests/data/policies/ngrams.json")).unwrap();
        serde_json::from_value(value["cases"].clone()).unwrap()
    }

    fn taught(case: &Case) -> Nst {
        let mut nst = Nst::new(3, case.k);
        for simulation in &case.simulations {
            (0..simulation.times).for_each(|_| nst.learn(&simulation.history(), &simulation.rewards(), &Decay::NONE));
        }
        nst
    }

    #[test]
    fn the_sequences_of_a_simulation_are_those_of_the_paper() {
        for case in cases() {
            let nst = taught(&case);
            for (role, expected) in case.grams.iter().enumerate() {
                let expected: BTreeMap<_, _> =
                    expected.iter().map(|(gram, average)| (numbers(gram), average)).collect();
                let found = nst.table(role);
                let about = format!("{}, role {role}", case.about);
                assert!(found.keys().eq(expected.keys()), "{about}: {found:?}");
                for ((mean, weight), (expected_mean, count)) in found.values().zip(expected.values()) {
                    assert_eq!(weight, count, "{about}: {found:?}");
                    assert!((100.0 * mean.unwrap() - expected_mean).abs() < 1e-3, "{about}: {found:?}");
                }
            }
            assert_eq!(nst.contexts.len().max(case.roles), case.roles);
        }
    }

    #[test]
    fn sequences_without_room_are_reported() {
        let learn = |nst: &mut Nst, steps: &str| {
            let steps: Vec<String> = steps.split(' ').map(str::to_owned).collect();
            nst.learn(&history(1, &[], &steps), &[1.0], &Decay::NONE);
            (nst.take_shortage(), nst.memory())
        };
        let mut nst = Nst::new(2, 1.0);
        let (is_short, bytes) = learn(&mut nst, "A B C D");
        assert_eq!((is_short, nst.contexts[0].capacity()), (false, 3), "the table of three contexts is full");
        nst.set_room(0);
        assert_eq!(learn(&mut nst, "A B C D"), (false, bytes), "all sequences are known");
        assert_eq!(learn(&mut nst, "D A"), (true, bytes), "the context is new");
        assert_eq!(learn(&mut nst, "A C"), (true, bytes), "the context has another follower");
        nst.set_room(1 << 20);
        let (is_short, more) = learn(&mut nst, "D A C");
        assert!(!is_short && more > bytes);
    }

    #[test]
    fn a_move_is_worth_the_mean_of_what_counts() {
        for case in cases() {
            let mut nst = taught(&case);
            for choice in &case.choices {
                let history = history(case.roles, &choice.r#match, &choice.simulation);
                let offered: Vec<u32> = choice.worths.keys().map(|mv| number(mv)).collect();
                // The second pass checks that a choice changes no state.
                for _ in 0..2 {
                    let mut worths = Vec::new();
                    nst.worths(&history, choice.role, &offered, &mut worths);
                    assert_eq!(worths.len(), offered.len());
                    for (worth, expected) in worths.iter().zip(choice.worths.values()) {
                        let about = &case.about;
                        assert!(
                            (100.0 * worth - expected).abs() < 1e-3,
                            "{about}: {worth} instead of {expected} of 100"
                        );
                    }
                }
            }
        }
    }

    /// The oracle: every reward of every sequence of a role.
    #[derive(Default)]
    struct Slow(HashMap<(usize, Vec<u32>), Weighted>);

    impl Slow {
        fn learn(&mut self, steps: &[Vec<u32>], rewards: &[f64], longest: usize, decay: &Decay) {
            for end in 0..steps.len() {
                for (role, reward) in rewards.iter().enumerate().filter(|(role, _)| steps[end][*role] != NOOP) {
                    for length in 1..=longest.min(end + 1) {
                        let rewards = self.0.entry((role, sequence(&steps[..=end], role, length))).or_default();
                        add(rewards, *reward, decay);
                    }
                }
            }
        }

        fn average(&self, role: usize, sequence: Vec<u32>) -> (f64, f64) {
            let rewards = self.0.get(&(role, sequence)).map_or(&[][..], Vec::as_slice);
            let weight: f64 = rewards.iter().map(|(_, weight)| weight).sum();
            (rewards.iter().map(|(reward, weight)| reward * weight).sum::<f64>() / weight, weight)
        }

        /// Computes the value of a move after all steps. Returns `None` if a
        /// weight is too near to a threshold for single precision.
        fn worth(&self, steps: &[Vec<u32>], role: usize, number: u32, longest: usize, least: f64) -> Option<f64> {
            let mut steps = steps.to_vec();
            steps.push(vec![number; steps.first().map_or(1, Vec::len)]);
            let mut counted = Vec::new();
            for length in 1..=longest.min(steps.len()) {
                let (mean, weight) = self.average(role, sequence(&steps, role, length));
                let from = if length == 1 { 1e-6 } else { least.max(1e-6) };
                if weight != from && (weight / from - 1.0).abs() < 1e-4 {
                    return None;
                }
                if length == 1 && weight < from {
                    return Some(1.0);
                }
                counted.extend((weight >= from).then_some(mean));
            }
            Some(counted.iter().sum::<f64>() / counted.len() as f64)
        }
    }

    /// Returns the last moves of the sequence that a move of a role ends.
    fn sequence(steps: &[Vec<u32>], role: usize, length: usize) -> Vec<u32> {
        let roles = steps[0].len();
        let at = |back: usize| steps[steps.len() - 1 - back][(role + 3 * roles - back) % roles];
        (0..length).rev().map(at).collect()
    }

    #[test]
    fn averages_are_those_of_all_rewards() {
        let mut rng = Rng::seed_from_u64(2);
        let (mut asked, mut long) = (0, 0);
        for round in 0..240 {
            let (roles, longest) = (1 + round % 3, 1 + round / 3 % 3);
            let least = [0.0, 1.0, 2.3, 4.0][round / 9 % 4];
            let decay =
                Decay { omega: [1.0, 0.9][round % 2], cap: [f64::INFINITY, 1.0, 4.5][round / 36 % 3], ..Decay::NONE };
            let (mut nst, mut slow) = (Nst::new(longest, least), Slow::default());
            let mut moved: Vec<Vec<u32>> = Vec::new();
            let mut history = MoveHistory::new(roles);
            for _ in 0..30 {
                history.rewind();
                let mut steps = Vec::new();
                for _ in 0..rng.random_range(0..7) {
                    let step: Vec<u32> = (0..roles).map(|_| [0, 1, 2, NOOP][rng.random_range(0..4)]).collect();
                    history.push(|numbers| numbers.extend(&step));
                    steps.push(step);
                    let all: Vec<Vec<u32>> = moved.iter().chain(&steps).cloned().collect();
                    let role = rng.random_range(0..roles);
                    let offered: Vec<u32> = (0..4).filter(|_| rng.random_bool(0.7)).collect();
                    let mut worths = Vec::new();
                    nst.worths(&history, role, &offered, &mut worths);
                    for (&number, &worth) in offered.iter().zip(&worths) {
                        let Some(expected) = slow.worth(&all, role, number, longest, least) else { continue };
                        assert!(
                            (f64::from(worth) - expected).abs() < 1e-4,
                            "round {round}: {worth} instead of {expected}"
                        );
                        asked += 1;
                        long += u32::from(slow.worth(&all, role, number, 1, least) != Some(expected));
                    }
                }
                let rewards: Vec<f64> = (0..roles).map(|_| f64::from(rng.random_range(0..=100)) / 100.0).collect();
                nst.learn(&history, &rewards, &decay);
                slow.learn(&steps, &rewards, longest, &decay);
                if rng.random_bool(0.2) {
                    let by = [0.0, 0.01, 0.5, 0.9][rng.random_range(0..4)];
                    nst.decay(by);
                    slow.0.values_mut().flatten().for_each(|(_, weight)| *weight *= by);
                }
                let bytes: usize = nst.contexts.iter().flat_map(FxHashMap::values).map(Followers::bytes).sum();
                assert_eq!(nst.entries, bytes, "round {round}");
                if let Some(last) = steps.pop().filter(|_| rng.random_bool(0.2)) {
                    // The match plays the last joint move.
                    history.rewind();
                    history.push(|numbers| numbers.extend(&last));
                    history.commit_last();
                    moved.push(last);
                }
            }
        }
        assert!(asked > 20_000 && long > 5_000, "{asked} asked, {long} by longer sequences");
    }

    /// A role, its move, and the earlier moves with their roles, last first.
    type Chosen = (usize, u32, Vec<(usize, u32)>);

    /// Returns the moves that precede a move of a role, last first, from joint
    /// moves in which a role had a choice. In `steps`, `None` is a role without
    /// a choice.
    fn chosen_before(steps: &[Vec<Option<u32>>], role: usize) -> Vec<(usize, u32)> {
        let roles = steps.first().map_or(1, Vec::len);
        let chosen = steps.iter().rev().filter(|step| step.iter().any(Option::is_some));
        let choice = |(place, step): (usize, &Vec<Option<u32>>)| {
            let mut wanted = (role + 100 * roles - place - 1) % roles;
            while step[wanted].is_none() {
                wanted = (wanted + roles - 1) % roles;
            }
            (wanted, step[wanted].unwrap())
        };
        chosen.enumerate().map(choice).collect()
    }

    #[test]
    fn moves_without_a_choice_are_skipped() {
        let mut rng = Rng::seed_from_u64(3);
        let mut by_length = [0; 3];
        for round in 0..60 {
            let (roles, least) = (1 + round % 3, [1.0, 2.0][round % 2]);
            // Often all roles choose, or one, or none.
            let chance = [0.2, 0.5, 0.9][round / 3 % 3];
            let mut nst = Nst::new(3, least).skipping_waits(true);
            let mut slow: HashMap<Chosen, Vec<f64>> = HashMap::new();
            let mut moved: Vec<Vec<Option<u32>>> = Vec::new();
            let mut history = MoveHistory::new(roles);
            let push = |history: &mut MoveHistory, step: &[Option<u32>]| {
                // A role without a choice has a number too, or waits.
                let number = |mv: &Option<u32>| mv.unwrap_or(if roles == 2 { NOOP } else { 0 });
                history.push(|numbers| numbers.extend(step.iter().map(number)));
                history.mark_waits(|role| step[role].is_none());
            };
            for _ in 0..40 {
                history.rewind();
                let mut steps: Vec<Vec<Option<u32>>> = Vec::new();
                for _ in 0..rng.random_range(1..8) {
                    let all: Vec<_> = moved.iter().chain(&steps).cloned().collect();
                    // Only the last two joint moves of the match are known.
                    let known = chosen_before(&all[all.len().saturating_sub(steps.len() + 2)..], 0).len();
                    for role in 0..roles {
                        let before = chosen_before(&all, role);
                        let mut worths = Vec::new();
                        nst.worths(&history, role, &[0, 1], &mut worths);
                        for (mv, &worth) in worths.iter().enumerate() {
                            let sequence = |length: usize| (role, mv as u32, before[..length].to_vec());
                            let means = (0..=known.min(2)).filter_map(|length| {
                                let rewards = slow.get(&sequence(length))?;
                                let counts = length == 0 || rewards.len() as f64 >= least;
                                counts.then(|| rewards.iter().sum::<f64>() / rewards.len() as f64)
                            });
                            let means: Vec<f64> = means.collect();
                            let expected =
                                if means.is_empty() { 1.0 } else { means.iter().sum::<f64>() / means.len() as f64 };
                            assert!(
                                (f64::from(worth) - expected).abs() < 1e-4,
                                "round {round}: {worth} instead of {expected}"
                            );
                            by_length[means.len().saturating_sub(1)] += 1;
                        }
                    }
                    let mut choice = || rng.random_bool(chance).then(|| rng.random_range(0..2));
                    let step: Vec<Option<u32>> = (0..roles).map(|_| choice()).collect();
                    push(&mut history, &step);
                    steps.push(step);
                }
                let rewards: Vec<f64> = (0..roles).map(|_| f64::from(rng.random_range(0..=100)) / 100.0).collect();
                nst.learn(&history, &rewards, &Decay::NONE);
                for (end, step) in steps.iter().enumerate() {
                    for (role, mv) in step.iter().enumerate().filter_map(|(role, mv)| Some((role, (*mv)?))) {
                        let before = chosen_before(&steps[..end], role);
                        for length in 0..=before.len().min(2) {
                            slow.entry((role, mv, before[..length].to_vec())).or_default().push(rewards[role]);
                        }
                    }
                }
                if rng.random_bool(0.3) {
                    history.rewind();
                    push(&mut history, &steps[0]);
                    history.commit_last();
                    moved.push(steps.swap_remove(0));
                }
            }
        }
        assert!(by_length.iter().all(|&count| count > 500), "{by_length:?}");
    }
}
