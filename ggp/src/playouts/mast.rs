//! The move-average sampling technique.

use super::UNSEEN;
use super::average::{Average, Decay, Scale};
use super::learned::Worth;
use crate::trail::Trail;

/// The move-average sampling technique (MAST; Finnsson and Björnsson 2008;
/// paper 000, section III-D): a move is worth the average reward of the
/// simulations it was played in, counted once an occurrence.
#[derive(Clone, Debug)]
pub struct Mast {
    /// By role and number.
    moves: Vec<Vec<Average>>,
    scale: Scale,
}

impl Default for Mast {
    fn default() -> Mast {
        Mast { moves: Vec::new(), scale: Scale::ONE }
    }
}

impl Mast {
    /// The average of a move, if it has been played and is not forgotten.
    #[inline]
    pub(super) fn mean(&self, role: usize, number: u32) -> Option<f32> {
        self.moves.get(role)?.get(number as usize)?.mean(self.scale)
    }

    /// Takes in a reward of a move.
    #[inline]
    pub(super) fn add(&mut self, role: usize, number: u32, reward: f32, omega: f32) {
        if number >= Trail::WAITS {
            return;
        }
        if self.moves.len() <= role {
            self.moves.resize(role + 1, Vec::new());
        }
        let moves = &mut self.moves[role];
        if moves.len() <= number as usize {
            moves.resize(number as usize + 1, Average::default());
        }
        moves[number as usize].add(reward, omega, self.scale);
    }
}

impl Worth for Mast {
    #[inline]
    fn worths(&mut self, _: &Trail, role: usize, numbers: &[u32], worths: &mut Vec<f32>) {
        worths.extend(numbers.iter().map(|&number| self.mean(role, number).unwrap_or(UNSEEN)));
    }

    fn learn(&mut self, trail: &Trail, rewards: &[f64], decay: &Decay) {
        for step in trail.steps() {
            for (role, (&number, &reward)) in step.iter().zip(rewards).enumerate() {
                self.add(role, number, reward as f32, decay.omega as f32);
            }
        }
    }

    fn decay(&mut self, by: f64) {
        self.scale.decay(by);
        if let Some(factor) = self.scale.take() {
            self.moves.iter_mut().flatten().for_each(|average| _ = average.multiply(factor));
        }
    }
}
