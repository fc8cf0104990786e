//! Playouts whose source of move values is tuned.

use super::{Decay, MoveHistory, MoveValues, Nst, ParamOverrides};
use crate::{PerRole, PlayoutKind};

/// Several [`Nst`] tables with different decay rates.
///
/// All tables learn from every simulation. Each role uses one of them, either
/// with sequences or with single moves only (which is MAST), as set by
/// [`ParamOverrides`].
#[derive(Clone, Debug)]
pub struct NstEnsemble {
    /// The tables, at least one.
    variants: Vec<Variant>,
    chosen: PerRole<Chosen>,
}

#[derive(Clone, Debug)]
struct Variant {
    gamma: f64,
    omega: f64,
    nst: Nst,
}

#[derive(Clone, Copy, Debug)]
struct Chosen {
    variant: usize,
    longest: usize,
}

impl NstEnsemble {
    /// Creates one empty table for each pair of rates γ and ω, at least one.
    /// Roles use the sequences of the first table until [`ParamOverrides`]
    /// select another.
    pub fn new(nst: &Nst, rates: &[(f64, f64)]) -> NstEnsemble {
        let variant = |&(gamma, omega): &(f64, f64)| Variant { gamma, omega, nst: nst.clone() };
        let chosen = PerRole::new(Chosen { variant: 0, longest: usize::MAX });
        NstEnsemble { variants: rates.iter().map(variant).collect(), chosen }
    }
}

impl MoveValues for NstEnsemble {
    fn skips_waits(&self) -> bool {
        self.variants[0].nst.skips_waits()
    }

    fn worths(&mut self, history: &MoveHistory, role: usize, numbers: &[u32], worths: &mut Vec<f32>) {
        let Chosen { variant, longest } = self.chosen.of(role);
        self.variants[variant].nst.worths_by(longest, history, role, numbers, worths);
    }

    fn learn(&mut self, history: &MoveHistory, rewards: &[f64], decay: &Decay) {
        for Variant { omega, nst, .. } in &mut self.variants {
            nst.learn(history, rewards, &Decay { omega: *omega, ..*decay });
        }
    }

    fn decay(&mut self, by: f64) {
        self.variants.iter_mut().for_each(|variant| variant.nst.decay(by));
    }

    fn memory(&self) -> usize {
        self.variants.iter().map(|variant| variant.nst.memory()).sum()
    }

    fn set_room(&mut self, bytes: usize) {
        let each = bytes / self.variants.len();
        self.variants.iter_mut().for_each(|variant| variant.nst.set_room(each));
    }

    fn take_shortage(&mut self) -> bool {
        self.variants.iter_mut().fold(false, |short, variant| variant.nst.take_shortage() | short)
    }

    fn advance(&mut self, _: &Decay) {
        self.variants.iter_mut().for_each(|variant| variant.nst.decay(variant.gamma));
    }

    fn set_params(&mut self, role: usize, params: &ParamOverrides) {
        let is_told = |variant: &Variant| {
            params.gamma.is_none_or(|gamma| gamma == variant.gamma)
                && params.omega.is_none_or(|omega| omega == variant.omega)
        };
        let variant = self.variants.iter().position(is_told).unwrap_or(0);
        let longest = if params.playout == Some(PlayoutKind::Mast) { 1 } else { usize::MAX };
        self.chosen.set(role, Chosen { variant, longest });
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};

    use super::*;
    use crate::playout::Mast;
    use sternhalma_game::Rng;

    #[test]
    fn each_is_what_it_is_by_itself() {
        let rates = [(1.0, 0.9), (0.5, 0.9), (1.0, 1.0), (0.5, 1.0)];
        let decay = |(gamma, omega)| Decay { gamma, omega, ..Decay::NONE };
        let mut variants = NstEnsemble::new(&Nst::new(3, 2.0), &rates);
        let mut alone: Vec<(Decay, Nst, Mast)> =
            rates.iter().map(|&rates| (decay(rates), Nst::new(3, 2.0), Mast::default())).collect();
        let mut rng = Rng::seed_from_u64(4);
        let mut unlike = [0; 2];
        for round in 0..200 {
            let mut history = MoveHistory::new(2);
            for _ in 0..rng.random_range(1..6) {
                history.push(|numbers| numbers.extend([rng.random_range(0..3), rng.random_range(0..3)]));
            }
            let rewards = [rng.random(), rng.random()];
            variants.learn(&history, &rewards, &Decay::NONE);
            for (decay, nst, mast) in &mut alone {
                nst.learn(&history, &rewards, decay);
                mast.learn(&history, &rewards, decay);
            }
            if round % 7 == 0 {
                variants.decay(0.9);
                variants.advance(&Decay::NONE);
                for (decay, nst, mast) in &mut alone {
                    nst.decay(0.9);
                    nst.advance(decay);
                    mast.decay(0.9);
                    mast.advance(decay);
                }
            }
            let mut first = None;
            for (decay, nst, mast) in &mut alone {
                for (kind, worth) in [(PlayoutKind::Nst, nst as &mut dyn MoveValues), (PlayoutKind::Mast, mast)] {
                    let role = rng.random_range(0..2);
                    let (gamma, omega) = (Some(decay.gamma), Some(decay.omega));
                    variants.set_params(
                        role,
                        &ParamOverrides { playout: Some(kind), gamma, omega, ..ParamOverrides::default() },
                    );
                    let (mut found, mut expected) = (Vec::new(), Vec::new());
                    variants.worths(&history, role, &[0, 1, 2], &mut found);
                    worth.worths(&history, role, &[0, 1, 2], &mut expected);
                    assert_eq!(found, expected, "round {round}, {kind:?} with {decay:?}");
                    let (known, of) = first.get_or_insert((expected.clone(), role));
                    unlike[usize::from(kind == PlayoutKind::Mast)] += u32::from(*of == role && *known != expected);
                }
            }
        }
        assert!(unlike.iter().all(|&count| count > 100), "{unlike:?}");
    }
}
