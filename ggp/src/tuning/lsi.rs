//! Linear side information.

use rand::RngExt;
use rustc_hash::FxHashSet;

use super::space::{Combination, MOST_VALUES, Partial, Setting, Space, all, bits, random_bit};
use crate::game::Rng;

/// First values are tested by themselves, then combinations made of the better
/// ones are compared by sequential halving, then the best is used (paper 001,
/// section 4.2, "Linear Side Information", figure 5).
#[derive(Clone, Debug)]
pub(super) struct Lsi {
    /// N_e.
    evaluate: u32,
    /// k.
    candidates: u32,
    phase: Phase,
}

#[derive(Clone, Debug)]
enum Phase {
    Generation(SideInfo),
    Evaluation(Halving),
    Recommendation(Combination),
}

impl Lsi {
    pub(super) fn new(space: &Space, generate: u32, evaluate: u32, candidates: u32) -> Lsi {
        Lsi { evaluate, candidates, phase: Phase::Generation(SideInfo::new(space, generate)) }
    }

    /// The first choice after the generation phase makes the candidates, which
    /// costs about a microsecond each.
    #[inline]
    pub(super) fn choose(&mut self, space: &Space, rng: &mut Rng) -> Combination {
        if let Phase::Generation(side) = &self.phase
            && side.is_complete()
        {
            let field = side.candidates(space, self.candidates, rng);
            self.phase = Halving::new(field, self.evaluate).phase();
        }
        match &self.phase {
            Phase::Generation(side) => side.choose(space, rng),
            Phase::Evaluation(halving) => halving.choose(),
            Phase::Recommendation(best) => *best,
        }
    }

    #[inline]
    pub(super) fn update(&mut self, reward: f64) {
        match &mut self.phase {
            Phase::Generation(side) => side.update(reward),
            Phase::Evaluation(halving) => {
                if halving.update(reward) {
                    self.phase = halving.halve().phase();
                }
            }
            Phase::Recommendation(_) => {}
        }
    }

    /// What is recommended; before that, the candidate of highest mean; before
    /// that, the combination of the values of highest mean.
    pub(super) fn best(&self, space: &Space) -> Combination {
        match &self.phase {
            Phase::Generation(side) => space.greedy(|setting| side.mean(setting)),
            Phase::Evaluation(halving) => halving.best(),
            Phase::Recommendation(best) => *best,
        }
    }
}

/// The mean reward of each value, whatever the others are: R̂.
///
/// A value that is none is not sampled; its mean is 0.
#[derive(Clone, Debug)]
struct SideInfo {
    sampled: Vec<Setting>,
    /// How often each is to be sampled: m.
    rounds: u32,
    round: u32,
    /// The next to be sampled in this round.
    next: usize,
    /// By slot.
    sum: Vec<f64>,
    visits: Vec<u32>,
}

impl SideInfo {
    fn new(space: &Space, samples: u32) -> SideInfo {
        let sampled: Vec<Setting> = space
            .settings()
            .filter(|setting| space.parameters()[setting.parameter].values[setting.value].is_some())
            .collect();
        let rounds = samples.checked_div(sampled.len() as u32).unwrap_or(0);
        let slots = space.parameters().len() * MOST_VALUES;
        SideInfo { sampled, rounds, round: 0, next: 0, sum: vec![0.0; slots], visits: vec![0; slots] }
    }

    fn is_complete(&self) -> bool {
        self.round == self.rounds
    }

    /// The value to be sampled, the others random.
    #[inline]
    fn choose(&self, space: &Space, rng: &mut Rng) -> Combination {
        let partial = space.set(space.everything(), self.sampled[self.next]);
        space.extend(partial, rng, |_, feasible, rng| random_bit(feasible, rng))
    }

    #[inline]
    fn update(&mut self, reward: f64) {
        let slot = self.sampled[self.next].slot();
        self.sum[slot] += reward;
        self.visits[slot] += 1;
        self.next += 1;
        if self.next == self.sampled.len() {
            self.next = 0;
            self.round += 1;
        }
    }

    fn mean(&self, setting: Setting) -> f64 {
        let slot = setting.slot();
        if self.visits[slot] == 0 { 0.0 } else { self.sum[slot] / f64::from(self.visits[slot]) }
    }

    /// The combinations that come of `count` draws, in order of the first.
    fn candidates(&self, space: &Space, count: u32, rng: &mut Rng) -> Vec<Combination> {
        let mut known = FxHashSet::default();
        let drawn = (0..count).map(|_| self.candidate(space, rng));
        drawn.filter(|combination| known.insert(combination.key())).collect()
    }

    /// Settings drawn one after another, of all that are feasible for the
    /// parameters not yet set.
    fn candidate(&self, space: &Space, rng: &mut Rng) -> Combination {
        let mut partial = space.everything();
        let mut unset = all(space.parameters().len());
        while unset != 0 {
            let setting = self.draw(partial, unset, rng);
            partial = space.set(partial, setting);
            unset &= !(1 << setting.parameter);
        }
        partial.combination()
    }

    /// A feasible setting of an unset parameter, with probability in
    /// proportion to its mean; if all are 0, all are equally likely.
    fn draw(&self, partial: Partial, unset: u32, rng: &mut Rng) -> Setting {
        let feasible = || {
            bits(unset).flat_map(move |parameter| {
                bits(partial.feasible(parameter)).map(move |value| Setting { parameter, value })
            })
        };
        let total: f64 = feasible().map(|setting| self.mean(setting)).sum();
        if total <= 0.0 {
            let count = feasible().count();
            return feasible().nth(rng.random_range(0..count)).expect("an unset parameter has a feasible value");
        }
        let mut left = total * rng.random::<f64>();
        // What rounding leaves over falls to the last that has a share.
        let mut drawn = None;
        for setting in feasible().filter(|&setting| self.mean(setting) > 0.0) {
            drawn = Some(setting);
            left -= self.mean(setting);
            if left < 0.0 {
                break;
            }
        }
        drawn.expect("means that add up to more than 0 are not all 0")
    }
}

/// A combination under comparison.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    combination: Combination,
    /// The sum of all its rewards, those of earlier phases included.
    sum: f64,
    visits: u32,
}

impl Candidate {
    fn mean(&self) -> f64 {
        if self.visits == 0 { 0.0 } else { self.sum / f64::from(self.visits) }
    }
}

/// Sequential halving: phase by phase all candidates are sampled equally
/// often, then the better half of them stays.
#[derive(Clone, Debug)]
struct Halving {
    /// C_i.
    field: Vec<Candidate>,
    /// N_e.
    samples: u32,
    /// ⌈log₂ |C*|⌉.
    phases: u32,
    /// How often each is sampled in this phase: m.
    rounds: u32,
    round: u32,
    /// The next to be sampled in this round.
    next: usize,
}

impl Halving {
    fn new(combinations: Vec<Combination>, samples: u32) -> Halving {
        let field: Vec<Candidate> =
            combinations.into_iter().map(|combination| Candidate { combination, sum: 0.0, visits: 0 }).collect();
        let phases = field.len().next_power_of_two().ilog2();
        let rounds = rounds(samples, field.len(), phases);
        Halving { field, samples, phases, rounds, round: 0, next: 0 }
    }

    /// What to do: nothing is left to compare with a single candidate.
    fn phase(self) -> Phase {
        match self.field[..] {
            [last] => Phase::Recommendation(last.combination),
            _ => Phase::Evaluation(self),
        }
    }

    #[inline]
    fn choose(&self) -> Combination {
        self.field[self.next].combination
    }

    /// Counts a reward, and returns whether the phase is over.
    #[inline]
    fn update(&mut self, reward: f64) -> bool {
        let candidate = &mut self.field[self.next];
        candidate.sum += reward;
        candidate.visits += 1;
        self.next += 1;
        if self.next == self.field.len() {
            self.next = 0;
            self.round += 1;
        }
        self.round == self.rounds
    }

    /// The next phase. Of candidates of equal mean the first drawn stay, which
    /// is as good as at random.
    fn halve(&mut self) -> Halving {
        let mut field = std::mem::take(&mut self.field);
        field.sort_by(|a, b| b.mean().total_cmp(&a.mean()));
        field.truncate(field.len().div_ceil(2));
        let rounds = rounds(self.samples, field.len(), self.phases);
        Halving { field, rounds, round: 0, next: 0, ..*self }
    }

    fn best(&self) -> Combination {
        let best = self.field.iter().reduce(|a, b| if b.mean() > a.mean() { b } else { a });
        best.expect("sequential halving keeps a candidate").combination
    }
}

/// m = ⌊N_e / (|C_i| ⌈log₂ |C*|⌉)⌋, but at least 1.
fn rounds(samples: u32, field: usize, phases: u32) -> u32 {
    let shares = field as u64 * u64::from(phases);
    u64::from(samples).checked_div(shares).unwrap_or(0).max(1) as u32
}
