//! The features of states that playouts use.

use super::{GoalTree, Successors};
use crate::util::FluentSet;
use crate::{Game, Turn};

/// The features of states for strategies that judge a move by the state after it.
///
/// A game that is not a rulesheet provides:
///
/// * its facts: what a rulesheet would state as fluents, numbered from 0, e.g.
///   one for each cell and each piece that may stand on it;
/// * the elements of each fact: the number of its name, and one number for each
///   argument. Facts of one name share the first. Facts of one name that have an
///   argument in the same place share the number of the argument;
/// * the mobility of each role, 1 for a role that waits;
/// * for strategies that approach a goal, the highest goal of each role as a
///   tree of facts, and the mean of the goal values of the role.
///
/// Playouts call the methods from their innermost loops.
pub trait StateFeatures<G: Game>: Send + Sync {
    /// Returns the number of facts.
    fn facts(&self) -> usize;

    /// Returns the number of elements.
    fn elements(&self) -> usize;

    /// Returns the elements of a fact.
    fn elements_of(&self, fact: usize) -> &[u32];

    /// Sets `facts` to those that hold in a state.
    fn mark(&self, game: &G, state: &G::State, facts: &mut FluentSet);

    /// Returns the number of legal moves of a role, acting or not.
    fn mobility(&self, game: &G, state: &G::State, role: usize) -> u32;

    /// Returns the same features for another search.
    fn duplicate(&self) -> Box<dyn StateFeatures<G>>;

    /// Returns the highest goal of a role, or `None` if it has no tree of
    /// reasonable size.
    fn goal_tree(&self, role: usize) -> Option<&GoalTree>;

    /// Returns the mean of the distinct goal values of a role, as a reward of 0 to 1.
    fn mean_goal(&self, role: usize) -> f64;

    /// Sets `found` to the states after some joint moves of a state that is not
    /// terminal. `joints` holds the moves of the acting roles for the first joint
    /// move, then for the second, and so on. Mobility is needed `with_mobility`
    /// only.
    fn successors(
        &mut self,
        game: &G,
        state: &G::State,
        joints: &[G::Move],
        with_mobility: bool,
        found: &mut Successors,
    ) {
        one_by_one(self, game, state, joints, with_mobility, found);
    }
}

impl<G: Game> Clone for Box<dyn StateFeatures<G>> {
    fn clone(&self) -> Box<dyn StateFeatures<G>> {
        self.duplicate()
    }
}

/// Finds the [`successors`](StateFeatures::successors) of a state by playing each
/// joint move.
pub fn one_by_one<G: Game, A: StateFeatures<G> + ?Sized>(
    features: &A,
    game: &G,
    state: &G::State,
    joints: &[G::Move],
    with_mobility: bool,
    found: &mut Successors,
) {
    let seats = seats(game, state);
    found.reset(joints.len() / seats, features.facts(), game.roles());
    let mut facts = FluentSet::new(features.facts());
    let mut after = state.clone();
    for (successor, joint) in joints.chunks_exact(seats).enumerate() {
        after.clone_from(state);
        game.play(&mut after, joint);
        features.mark(game, &after, &mut facts);
        facts.iter().for_each(|fact| found.insert(successor, fact));
        if with_mobility {
            for role in 0..game.roles() {
                found.mobility_mut(role)[successor] = features.mobility(game, &after, role);
            }
        }
    }
}

/// Returns the number of roles that act in a state.
#[inline]
fn seats<G: Game>(game: &G, state: &G::State) -> usize {
    match game.turn(state) {
        Turn::One(_) => 1,
        Turn::All => game.roles(),
    }
}
