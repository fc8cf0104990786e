//! UCB1 applied to trees.

use super::{EdgeValues, Game, MoveStats, NodeVisit, ParamOverrides, Selection};
use crate::PerRole;

/// UCB1 applied to trees [Kocsis and Szepesvári 2006; Roschke and Sturtevant
/// 2013, section 2.2]: mean + C √(ln T / Tᵢ).
#[derive(Clone, PartialEq, Debug)]
pub struct Uct {
    c: PerRole<f64>,
}

impl Uct {
    /// Creates a selection with the exploration constant C, for rewards from 0
    /// to 1.
    pub fn new(c: f64) -> Uct {
        Uct { c: PerRole::new(c) }
    }
}

impl<G: Game, V> Selection<G, V> for Uct {
    #[inline]
    fn edge_data(&mut self, _: &G, _: &V, _: usize, moves: &[G::Move]) -> &[()] {
        // A slice of zero-sized values takes no memory, whatever its length.
        &[(); usize::MAX][..moves.len()]
    }
}

impl EdgeValues for Uct {
    type EdgeData = ();
    type Prepared = f64;

    fn values_untried(&self) -> bool {
        false
    }

    #[inline]
    fn prepare(&mut self, place: NodeVisit, role: usize) -> f64 {
        self.c.of(role) * f64::from(place.visits.max(1)).ln().sqrt()
    }

    #[inline]
    fn value(&self, prepared: f64, stats: MoveStats, (): ()) -> f64 {
        let visits = f64::from(stats.visits);
        stats.mean() + prepared / visits.sqrt()
    }

    fn set_params(&mut self, role: usize, params: &ParamOverrides) {
        if let Some(c) = params.c {
            self.c.set(role, c);
        }
    }
}
