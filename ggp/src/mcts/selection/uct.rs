//! UCB1 applied to trees.

use super::{Place, Selection};
use crate::game::Game;
use crate::mcts::params::{Controls, PerRole};
use crate::mcts::stats::MoveStats;

/// UCB1 applied to trees (Kocsis & Szepesvári 2006; paper 004, section 2.2):
/// mean + C √(ln T / Tᵢ).
#[derive(Clone, PartialEq, Debug)]
pub struct Uct {
    c: PerRole<f64>,
}

impl Uct {
    /// Selection with the exploration constant C, on rewards 0 to 1.
    pub fn new(c: f64) -> Uct {
        Uct { c: PerRole::new(c) }
    }
}

impl<G: Game> Selection<G> for Uct {
    type Note = ();
    type Prepared = f64;

    fn values_untried(&self) -> bool {
        false
    }

    #[inline]
    fn note(&mut self, _: &G, _: &G::State, _: usize, moves: &[G::Move]) -> &[()] {
        // A slice of nothing takes no memory, however long.
        &[(); usize::MAX][..moves.len()]
    }

    #[inline]
    fn prepare(&mut self, place: Place, role: usize) -> f64 {
        self.c.of(role) * f64::from(place.visits.max(1)).ln().sqrt()
    }

    #[inline]
    fn value(&self, prepared: f64, stats: MoveStats, (): ()) -> f64 {
        let visits = f64::from(stats.visits);
        stats.mean() + prepared / visits.sqrt()
    }

    fn set(&mut self, role: usize, controls: &Controls) {
        if let Some(c) = controls.c {
            self.c.set(role, c);
        }
    }
}
