//! What the strategies look at in a game.

use super::goal_tree::GoalTree;
use super::successors::Successors;
use crate::game::{Game, Turn};
use crate::util::FluentSet;

/// What a game shows to strategies that judge a move by the state after it.
///
/// A search asks the game for it ([`Game::anatomy`]). A rulesheet with a
/// network has one; a game of its own gives:
///
/// * its facts: what a rulesheet would have as fluents, numbered from 0, as
///   one for each cell and what may stand on it;
/// * the elements of each fact: the number of its name and one for each of its
///   arguments, the same for facts that have the name, and the argument in the
///   same place, in common;
/// * the mobility of each role, 1 for one that waits;
/// * the goal of highest value of each role as a tree of facts, if strategies
///   are to come nearer to it, and the mean of the values it may get.
///
/// Calls are from the innermost loops of playouts.
pub trait StateFeatures<G: Game>: Send + Sync {
    /// The number of facts.
    fn facts(&self) -> usize;

    /// The number of elements.
    fn elements(&self) -> usize;

    /// The elements that a fact counts towards.
    fn elements_of(&self, fact: usize) -> &[u32];

    /// Makes `facts` those that hold in a state.
    fn mark(&self, game: &G, state: &G::State, facts: &mut FluentSet);

    /// The number of legal moves of a role, acting or not.
    fn mobility(&self, game: &G, state: &G::State, role: usize) -> u32;

    /// The same anatomy for another search.
    fn duplicate(&self) -> Box<dyn StateFeatures<G>>;

    /// The goal of highest value of a role; none if it cannot be told as a
    /// tree, or not as one of reasonable size.
    fn goal_tree(&self, role: usize) -> Option<&GoalTree>;

    /// The mean of the distinct values of a role's goals, as a reward of 0 to 1.
    fn mean_goal(&self, role: usize) -> f64;

    /// The states after each of some joint moves from a state that is not
    /// terminal. `joints` holds the moves of the acting roles of the first,
    /// then those of the second. Mobility need not be told unless it is asked for.
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

/// The anatomy of a game that shows nothing, for strategies that look at nothing.
#[derive(Clone, Copy, Debug)]
pub struct NoFeatures;

impl<G: Game> StateFeatures<G> for NoFeatures {
    fn facts(&self) -> usize {
        0
    }

    fn elements(&self) -> usize {
        0
    }

    fn elements_of(&self, _: usize) -> &[u32] {
        &[]
    }

    fn mark(&self, _: &G, _: &G::State, _: &mut FluentSet) {}

    fn mobility(&self, _: &G, _: &G::State, _: usize) -> u32 {
        1
    }

    fn duplicate(&self) -> Box<dyn StateFeatures<G>> {
        Box::new(NoFeatures)
    }

    fn goal_tree(&self, _: usize) -> Option<&GoalTree> {
        None
    }

    fn mean_goal(&self, _: usize) -> f64 {
        0.5
    }
}

/// The [`successors`](StateFeatures::successors) of a state, each played by itself.
pub fn one_by_one<G: Game, A: StateFeatures<G> + ?Sized>(
    anatomy: &A,
    game: &G,
    state: &G::State,
    joints: &[G::Move],
    with_mobility: bool,
    found: &mut Successors,
) {
    let seats = seats(game, state);
    found.reset(joints.len() / seats, anatomy.facts(), game.roles());
    let mut facts = FluentSet::new(anatomy.facts());
    let mut after = state.clone();
    for (successor, joint) in joints.chunks_exact(seats).enumerate() {
        after.clone_from(state);
        game.play(&mut after, joint);
        anatomy.mark(game, &after, &mut facts);
        facts.iter().for_each(|fact| found.insert(successor, fact));
        if with_mobility {
            for role in 0..game.roles() {
                found.mobility_mut(role)[successor] = anatomy.mobility(game, &after, role);
            }
        }
    }
}

/// The number of roles that act in a state.
#[inline]
fn seats<G: Game>(game: &G, state: &G::State) -> usize {
    match game.turn(state) {
        Turn::One(_) => 1,
        Turn::All => game.roles(),
    }
}
