//! Selection with prior probabilities.

use super::{EdgeValues, Game, MoveStats, NodeVisit, Selection};

/// An evaluator of moves before they are tried.
pub trait MoveEvaluator<G: Game> {
    /// Appends the value of each move to the role that plays it, in units of
    /// reward. The value of a simultaneous move must not depend on the moves
    /// of other roles.
    fn evaluate_moves(&mut self, game: &G, state: &G::State, role: usize, moves: &[G::Move], values: &mut Vec<f32>);
}

/// The prior knowledge of [`Puct`] about a move.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Prior {
    /// The value of the move, in units of reward.
    pub value: f32,
    /// Its probability. The probabilities of a role at a node sum to 1.
    pub prior: f32,
}

/// Selection with a [`MoveEvaluator`]: mean + C p √T / (1 + Tᵢ) (PUCT) [Rosin
/// 2011; Silver et al. 2016].
///
/// An untried move has its evaluated value as mean. The prior probability p is
/// proportional to exp(value / temperature).
#[derive(Clone, Debug)]
pub struct Puct<F> {
    foresight: F,
    c: f64,
    temperature: f64,
    values: Vec<f32>,
    hints: Vec<Prior>,
}

impl<F> Puct<F> {
    /// Creates a selection with the exploration constant `c` and a positive
    /// `temperature` in units of reward.
    pub fn new(foresight: F, c: f64, temperature: f64) -> Puct<F> {
        Puct { foresight, c, temperature, values: Vec::new(), hints: Vec::new() }
    }
}

impl<G: Game, F: MoveEvaluator<G>> Selection<G> for Puct<F> {
    fn edge_data(&mut self, game: &G, state: &G::State, role: usize, moves: &[G::Move]) -> &[Prior] {
        self.values.clear();
        self.foresight.evaluate_moves(game, state, role, moves, &mut self.values);
        // The largest exponent is 0, so none overflows.
        let most = self.values.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let weight = |value: f32| ((f64::from(value) - f64::from(most)) / self.temperature).exp() as f32;
        self.hints.clear();
        self.hints.extend(self.values.iter().map(|&value| Prior { value, prior: weight(value) }));
        let sum: f32 = self.hints.iter().map(|hint| hint.prior).sum();
        self.hints.iter_mut().for_each(|hint| hint.prior /= sum);
        &self.hints
    }
}

impl<F> EdgeValues for Puct<F> {
    type EdgeData = Prior;
    type Prepared = f64;

    fn values_untried(&self) -> bool {
        true
    }

    #[inline]
    fn prepare(&mut self, place: NodeVisit, _: usize) -> f64 {
        self.c * f64::from(place.visits.max(1)).sqrt()
    }

    #[inline]
    fn value(&self, prepared: f64, stats: MoveStats, hint: Prior) -> f64 {
        let mean = if stats.visits == 0 { f64::from(hint.value) } else { stats.mean() };
        mean + prepared * f64::from(hint.prior) / f64::from(1 + stats.visits)
    }
}
