//! UCB1 for bandits with thousands of arms.

use super::ucb::UNTRIED;

/// The number that is no bucket.
const NONE: u32 = u32::MAX;

/// The bucket of the untried arms.
const FRESH: u32 = 0;

/// A bandit with many arms that finds the best by UCB1 without evaluating all.
///
/// Arms with the same number of visits rank by mean, whatever t and C are. The
/// arms are therefore in one bucket per number of visits, and only the best
/// arm of each bucket is evaluated. Among arms with equal values the one with
/// the highest random number wins; an arm draws a new one whenever it changes
/// its bucket, so ties are broken at random.
///
/// A choice takes time proportional to the number of buckets, an update
/// logarithmic time in the size of a bucket.
#[derive(Clone, Debug)]
pub(super) struct RankedArms {
    arms: Vec<ArmPosition>,
    /// A binary heap per bucket, with the best arm at its top.
    heaps: Vec<Vec<RankedArm>>,
    /// The buckets in order of visits, starting with [`FRESH`].
    links: Vec<BucketLink>,
    /// The mean of the best arm of each bucket; below all means if it is
    /// empty.
    mean: Vec<f64>,
    /// 1 / √visits; 0 without visits.
    spread: Vec<f64>,
    /// The numbers of unlinked buckets, for reuse. Their heaps are empty.
    unused: Vec<u32>,
}

/// The position of an arm.
#[derive(Clone, Copy, Debug)]
struct ArmPosition {
    bucket: u32,
    index: u32,
}

#[derive(Clone, Copy, Debug)]
struct RankedArm {
    /// The sum of rewards, which ranks like the mean within a bucket.
    sum: f64,
    /// The random number that breaks ties.
    lot: u32,
    /// The number of the arm.
    arm: u32,
}

impl RankedArm {
    #[inline]
    fn beats(&self, other: &RankedArm) -> bool {
        self.sum > other.sum || (self.sum == other.sum && (self.lot, self.arm) > (other.lot, other.arm))
    }
}

#[derive(Clone, Copy, Debug)]
struct BucketLink {
    /// The visits of each arm in the bucket.
    visits: u32,
    /// The bucket with the next smaller number of visits, or [`NONE`].
    before: u32,
    /// The bucket with the next larger number of visits, or [`NONE`].
    after: u32,
}

impl RankedArms {
    /// Creates a bandit without arms.
    pub(super) fn new() -> RankedArms {
        RankedArms {
            arms: Vec::new(),
            heaps: vec![Vec::new()],
            links: vec![BucketLink { visits: 0, before: NONE, after: NONE }],
            mean: vec![f64::NEG_INFINITY],
            spread: vec![0.0],
            unused: Vec::new(),
        }
    }

    /// Adds an untried arm and returns its number.
    pub(super) fn push(&mut self, lot: u32) -> u32 {
        let arm = self.arms.len() as u32;
        self.arms.push(ArmPosition { bucket: FRESH, index: 0 });
        self.insert(FRESH, RankedArm { sum: 0.0, lot, arm });
        arm
    }

    /// Returns the arm with the highest value, or `None` without arms.
    #[inline]
    pub(super) fn choose(&self, exploration: f64) -> Option<u32> {
        let mut best: Option<&RankedArm> = None;
        let mut most = f64::NEG_INFINITY;
        for (bucket, (mean, spread)) in self.mean.iter().zip(&self.spread).enumerate() {
            let value = mean + exploration * spread;
            if value < most {
                continue;
            }
            let Some(top) = self.heaps[bucket].first() else { continue };
            if value > most || best.is_none_or(|best| (top.lot, top.arm) > (best.lot, best.arm)) {
                (best, most) = (Some(top), value);
            }
        }
        best.map(|top| top.arm)
    }

    /// Returns the best of the arms with the most visits, or `None` without
    /// arms.
    pub(super) fn most_visited(&self) -> Option<u32> {
        let filled = (0..self.heaps.len()).filter(|&bucket| !self.heaps[bucket].is_empty());
        filled.max_by_key(|&bucket| self.links[bucket].visits).map(|bucket| self.heaps[bucket][0].arm)
    }

    /// Adds `visits` plays of an arm, at least one, with the sum of their rewards,
    /// and gives the arm the new random number `lot`.
    #[inline]
    pub(super) fn update(&mut self, arm: u32, visits: u32, sum: f64, lot: u32) {
        let from = self.arms[arm as usize].bucket;
        let mut entry = self.remove(arm);
        entry.sum += sum;
        entry.lot = lot;
        let to = self.bucket(from, self.links[from as usize].visits + visits);
        self.insert(to, entry);
        // Only now, because `bucket` searches from the old bucket on.
        if from != FRESH && self.heaps[from as usize].is_empty() {
            self.unlink(from);
        }
    }

    /// Returns the bucket for a number of visits, searching from bucket
    /// `before`.
    fn bucket(&mut self, mut before: u32, visits: u32) -> u32 {
        loop {
            let after = self.links[before as usize].after;
            if after == NONE || self.links[after as usize].visits > visits {
                break;
            }
            before = after;
        }
        if self.links[before as usize].visits == visits { before } else { self.link(before, visits) }
    }

    fn link(&mut self, before: u32, visits: u32) -> u32 {
        let new = self.unused.pop().unwrap_or_else(|| self.add_bucket());
        let after = std::mem::replace(&mut self.links[before as usize].after, new);
        self.links[new as usize] = BucketLink { visits, before, after };
        if after != NONE {
            self.links[after as usize].before = new;
        }
        self.spread[new as usize] = 1.0 / f64::from(visits).sqrt();
        new
    }

    fn add_bucket(&mut self) -> u32 {
        self.heaps.push(Vec::new());
        self.links.push(BucketLink { visits: 0, before: NONE, after: NONE });
        self.mean.push(f64::NEG_INFINITY);
        self.spread.push(0.0);
        self.heaps.len() as u32 - 1
    }

    fn unlink(&mut self, bucket: u32) {
        let BucketLink { before, after, .. } = self.links[bucket as usize];
        self.links[before as usize].after = after;
        if after != NONE {
            self.links[after as usize].before = before;
        }
        self.unused.push(bucket);
    }

    #[inline]
    fn insert(&mut self, bucket: u32, entry: RankedArm) {
        let heap = &mut self.heaps[bucket as usize];
        heap.push(entry);
        let last = heap.len() - 1;
        self.arms[entry.arm as usize].bucket = bucket;
        rise(heap, &mut self.arms, last);
        self.refresh(bucket);
    }

    #[inline]
    fn remove(&mut self, arm: u32) -> RankedArm {
        let ArmPosition { bucket, index } = self.arms[arm as usize];
        let heap = &mut self.heaps[bucket as usize];
        let index = index as usize;
        let entry = heap.swap_remove(index);
        if index < heap.len() {
            let index = rise(heap, &mut self.arms, index);
            sink(heap, &mut self.arms, index);
        }
        self.refresh(bucket);
        entry
    }

    #[inline]
    fn refresh(&mut self, bucket: u32) {
        let bucket = bucket as usize;
        self.mean[bucket] = match (self.heaps[bucket].first(), self.links[bucket].visits) {
            (None, _) => f64::NEG_INFINITY,
            (Some(_), 0) => UNTRIED,
            (Some(top), visits) => top.sum / f64::from(visits),
        };
    }
}

/// Moves an entry towards the top while it beats its parent, and returns its
/// final index.
#[inline]
fn rise(heap: &mut [RankedArm], arms: &mut [ArmPosition], mut index: usize) -> usize {
    let entry = heap[index];
    while index > 0 {
        let above = (index - 1) / 2;
        if !entry.beats(&heap[above]) {
            break;
        }
        put(heap, arms, index, heap[above]);
        index = above;
    }
    put(heap, arms, index, entry);
    index
}

/// Moves an entry away from the top while a child beats it.
#[inline]
fn sink(heap: &mut [RankedArm], arms: &mut [ArmPosition], mut index: usize) {
    let entry = heap[index];
    loop {
        let mut below = 2 * index + 1;
        if below + 1 < heap.len() && heap[below + 1].beats(&heap[below]) {
            below += 1;
        }
        if below >= heap.len() || !heap[below].beats(&entry) {
            break;
        }
        put(heap, arms, index, heap[below]);
        index = below;
    }
    put(heap, arms, index, entry);
}

#[inline]
fn put(heap: &mut [RankedArm], arms: &mut [ArmPosition], index: usize, entry: RankedArm) {
    heap[index] = entry;
    arms[entry.arm as usize].index = index as u32;
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::tuning::ucb::exploration;

    /// The oracle: visits, sum of rewards and random number of each arm, all
    /// evaluated.
    #[derive(Default)]
    struct Scan(Vec<(u32, f64, u32)>);

    impl Scan {
        fn choose(&self, exploration: f64) -> Option<u32> {
            let value = |&(visits, sum, _): &(u32, f64, u32)| {
                if visits == 0 { 1.0 } else { sum / f64::from(visits) + exploration * (1.0 / f64::from(visits).sqrt()) }
            };
            let arms = 0..self.0.len();
            let best = arms.max_by(|&a, &b| {
                let (a, b) = ((&self.0[a], a), (&self.0[b], b));
                value(a.0).total_cmp(&value(b.0)).then((a.0.2, a.1).cmp(&(b.0.2, b.1)))
            });
            best.map(|arm| arm as u32)
        }

        fn most_visited(&self) -> Option<u32> {
            let rank = |arm: usize| self.0[arm];
            let best = (0..self.0.len()).max_by(|&a, &b| {
                let ((n, sum, lot), (m, other, lots)) = (rank(a), rank(b));
                n.cmp(&m).then(sum.total_cmp(&other)).then((lot, a).cmp(&(lots, b)))
            });
            best.map(|arm| arm as u32)
        }
    }

    #[derive(Clone, Debug)]
    enum Step {
        Push,
        /// A reward for the arm with a number, modulo the number of arms.
        Reward(u32, u32, u8),
        /// A reward for the chosen arm.
        RewardBest(u32, u8),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            2 => Just(Step::Push),
            2 => (any::<u32>(), 1_u32..4, 0_u8..5).prop_map(|(arm, visits, reward)| Step::Reward(arm, visits, reward)),
            3 => (1_u32..4, 0_u8..5).prop_map(|(visits, reward)| Step::RewardBest(visits, reward)),
        ]
    }

    proptest! {
        /// Few different random numbers, so that ties occur.
        #[test]
        fn the_best_is_that_of_a_full_scan(
            steps in prop::collection::vec((step(), 0_u32..5), 0..400),
            c in 0.0_f64..1.5,
        ) {
            let (mut ranked, mut scan) = (RankedArms::new(), Scan::default());
            let mut total = 0;
            for (step, lot) in steps {
                let exploration = exploration(c, total);
                prop_assert_eq!(ranked.choose(exploration), scan.choose(exploration));
                prop_assert_eq!(ranked.most_visited(), scan.most_visited());
                let count = scan.0.len() as u32;
                let (arm, visits, reward) = match step {
                    Step::Reward(arm, visits, reward) if count > 0 => (arm % count, visits, reward),
                    Step::RewardBest(visits, reward) if count > 0 => (ranked.choose(exploration).unwrap(), visits, reward),
                    _ => {
                        prop_assert_eq!(ranked.push(lot), count);
                        scan.0.push((0, 0.0, lot));
                        continue;
                    }
                };
                let sum = f64::from(visits) * f64::from(reward) / 4.0;
                ranked.update(arm, visits, sum, lot);
                total += visits;
                let known = &mut scan.0[arm as usize];
                *known = (known.0 + visits, known.1 + sum, lot);
            }
        }
    }
}
