//! Playouts by what moves are worth.

use rand::RngExt;

use super::average::Decay;
use super::replies::Replies;
use super::selector::Selector;
use crate::game::{Game, Rng};
use crate::parts::{Controls, PerRole, Playout};
use crate::trail::Trail;

/// What moves are worth by the simulations so far.
pub trait Worth {
    /// Appends what each of some moves of a role is worth at the end of the
    /// trail, from 0 to 1.
    fn worths(&mut self, trail: &Trail, role: usize, numbers: &[u32], worths: &mut Vec<f32>);

    /// Learns from a simulation that came to rewards, one a role. What occurs
    /// in it decays by ω.
    fn learn(&mut self, trail: &Trail, rewards: &[f64], decay: &Decay);

    /// Multiplies all weights.
    fn decay(&mut self, by: f64);
}

/// Chooses by good replies, if there are some and they are asked, and else by
/// what moves are worth. In the tree it chooses among the untried moves only.
#[derive(Clone, Debug)]
pub struct Learned<W, M> {
    worth: W,
    selector: PerRole<Selector>,
    replies: Option<Replies>,
    decay: Decay,
    /// Simulations since the last batch ended.
    batched: u32,
    moves: Vec<M>,
    chooser: Chooser,
}

/// What a choice works in.
#[derive(Clone, Debug, Default)]
struct Chooser {
    numbers: Vec<u32>,
    worths: Vec<f32>,
}

impl<W: Worth, M> Learned<W, M> {
    /// Playouts that have learnt nothing yet.
    pub fn new(worth: W, selector: Selector, replies: Option<Replies>, decay: Decay) -> Learned<W, M> {
        Learned {
            worth,
            selector: PerRole::new(selector),
            replies,
            decay,
            batched: 0,
            moves: Vec::new(),
            chooser: Chooser::default(),
        }
    }

    /// The index of the choice among moves that are at hand: a good reply,
    /// else at random or by what they are worth.
    #[inline]
    fn choose_among<G: Game<Move = M>>(
        &mut self,
        game: &G,
        role: usize,
        moves: &[M],
        trail: &Trail,
        random: bool,
        rng: &mut Rng,
    ) -> usize
    where
        M: Copy,
    {
        if moves.len() == 1 {
            return 0;
        }
        let Chooser { numbers, worths } = &mut self.chooser;
        numbers.clear();
        numbers.extend(moves.iter().map(|&mv| game.number(role, mv)));
        if let Some(reply) = self.replies.as_ref().and_then(|replies| replies.find(trail, role, numbers)) {
            return reply;
        }
        if random {
            return rng.random_range(0..moves.len());
        }
        worths.clear();
        self.worth.worths(trail, role, numbers, worths);
        self.selector.of(role).choose(worths, rng)
    }

    /// How what is learnt of a game decays: not at all without an opponent.
    fn decay_of(&self, game: &impl Game) -> Decay {
        if game.roles() > 1 { self.decay } else { Decay::NONE }
    }
}

impl<G: Game, W: Worth> Playout<G> for Learned<W, G::Move> {
    const LEARNS: bool = true;

    fn choose(&mut self, game: &G, state: &G::State, role: usize, trail: &Trail, rng: &mut Rng) -> G::Move {
        let random = self.selector.of(role).is_random(rng);
        let mut moves = std::mem::take(&mut self.moves);
        let known = if random && self.replies.is_none() {
            game.random_move(state, role, &mut moves, rng)
        } else {
            moves.clear();
            game.playout_moves(state, role, &mut moves);
            let choice = self.choose_among(game, role, &moves, trail, random, rng);
            moves.get(choice).copied()
        };
        self.moves = moves;
        known.expect("an acting role has a legal move in a state that is not terminal")
    }

    fn choose_untried(
        &mut self,
        game: &G,
        _: &G::State,
        role: usize,
        untried: &[G::Move],
        trail: &Trail,
        rng: &mut Rng,
    ) -> usize {
        let random = self.selector.of(role).is_random(rng);
        self.choose_among(game, role, untried, trail, random, rng)
    }

    fn set(&mut self, role: usize, controls: &Controls) {
        self.selector.set(role, Selector::Greedy { epsilon: controls.epsilon });
    }

    fn learn(&mut self, game: &G, trail: &Trail, rewards: &[f64]) {
        let decay = self.decay_of(game);
        self.worth.learn(trail, rewards, &decay);
        if let Some(replies) = &mut self.replies {
            replies.learn(trail, rewards);
        }
        self.batched += 1;
        if self.batched >= decay.batch {
            self.batched = 0;
            self.worth.decay(decay.lambda);
        }
    }

    fn advance(&mut self, game: &G) {
        self.worth.decay(self.decay_of(game).gamma);
    }
}
