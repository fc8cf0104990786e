//! Policies by name, and what they search with.

use std::fmt;
use std::str::FromStr;
use std::sync::atomic::AtomicBool;

use rand::{RngExt, SeedableRng};
use thiserror::Error;

use crate::game::{Game, Rng};
use crate::limits::{Limits, Spent};
use crate::mcts::{Mcts, Settings};
use crate::parts::{RandomPlayout, ToTheEnd, Uct};

/// The edges of a tree that is kept through a match: with its nodes 400 MB to
/// 1 GB.
const MOST_EDGES: usize = 1 << 24;

/// How a player of any game finds its moves, written `name,key=value,…`.
///
/// ```
/// use sternhalma_ggp::Policy;
///
/// let policy: Policy = "uct,c=0.7".parse()?;
/// assert_eq!(policy, Policy::Uct { c: 0.7 });
/// assert_eq!(policy.to_string(), "uct,c=0.7");
/// # Ok::<(), sternhalma_ggp::PolicyError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub enum Policy {
    /// `random`: any legal move, all equally likely.
    Random,
    /// `uct`: Monte-Carlo tree search with UCB1 and random playouts.
    Uct {
        /// The exploration constant, in rewards from 0 to 1; 0.4 if it is not told.
        c: f64,
    },
}

/// Why a text names no policy.
#[derive(Error, Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum PolicyError {
    /// No policy has the name.
    #[error("there is no policy `{name}`: the policies are `random` and `uct`")]
    Unknown {
        /// The name.
        name: String,
    },
    /// The policy has no such parameter, or not of such a value.
    #[error("`{text}` is no parameter of `{name}`{}", if .name == "uct" { ": it has `c=C`, C a number from 0 up" } else { ", which has none" })]
    Parameter {
        /// The policy.
        name: String,
        /// What was told.
        text: String,
    },
}

impl FromStr for Policy {
    type Err = PolicyError;

    fn from_str(text: &str) -> Result<Policy, PolicyError> {
        let mut words = text.split(',').map(str::trim);
        let name = words.next().unwrap_or_default();
        let mut policy = match name {
            "random" => Policy::Random,
            "uct" => Policy::Uct { c: 0.4 },
            _ => return Err(PolicyError::Unknown { name: name.to_string() }),
        };
        for word in words {
            let error = || PolicyError::Parameter { name: name.to_string(), text: word.to_string() };
            let (key, value) = word.split_once('=').ok_or_else(error)?;
            match (&mut policy, key) {
                (Policy::Uct { c }, "c") => {
                    *c = value.parse().ok().filter(|c: &f64| c.is_finite() && *c >= 0.0).ok_or_else(error)?;
                }
                _ => return Err(error()),
            }
        }
        Ok(policy)
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Policy::Random => f.write_str("random"),
            Policy::Uct { c } => write!(f, "uct,c={c}"),
        }
    }
}

impl Policy {
    /// Whether it plays better if it is given more time.
    pub(crate) fn thinks(self) -> bool {
        !matches!(self, Policy::Random)
    }

    /// What plays one match by this policy.
    pub(crate) fn mind<G: Game + 'static>(self, seed: u64) -> Box<dyn Mind<G>> {
        match self {
            Policy::Random => Box::new(RandomMind { moves: Vec::new(), rng: Rng::seed_from_u64(seed) }),
            Policy::Uct { c } => {
                let settings = Settings { most_edges: MOST_EDGES, ..Settings::default() };
                let search = Mcts::new(Uct { c }, RandomPlayout::default(), ToTheEnd, settings, seed);
                Box::new(TreeMind { search })
            }
        }
    }
}

/// What finds the moves of a match.
pub(crate) trait Mind<G: Game>: Send {
    /// A move of a role that is to act in a state that is not terminal, the
    /// best that is known once a limit is reached or `stop` is set, and what
    /// that took.
    fn search(
        &mut self,
        game: &G,
        state: &G::State,
        role: usize,
        limits: Limits,
        stop: &AtomicBool,
    ) -> (G::Move, Spent);

    /// Follows the moves of the acting roles.
    fn advance(&mut self, game: &G, joint: &[G::Move]);

    /// Forgets the match so far, which goes on from another state.
    fn reset(&mut self);
}

struct RandomMind<M> {
    moves: Vec<M>,
    rng: Rng,
}

impl<G: Game> Mind<G> for RandomMind<G::Move> {
    fn search(&mut self, game: &G, state: &G::State, role: usize, _: Limits, _: &AtomicBool) -> (G::Move, Spent) {
        self.moves.clear();
        game.legal(state, role, &mut self.moves);
        (self.moves[self.rng.random_range(0..self.moves.len())], Spent::default())
    }

    fn advance(&mut self, _: &G, _: &[G::Move]) {}

    fn reset(&mut self) {}
}

struct TreeMind<G: Game> {
    search: Mcts<G, Uct, RandomPlayout<G::Move>, ToTheEnd>,
}

impl<G: Game> Mind<G> for TreeMind<G> {
    fn search(
        &mut self,
        game: &G,
        state: &G::State,
        role: usize,
        limits: Limits,
        stop: &AtomicBool,
    ) -> (G::Move, Spent) {
        let found = self.search.search(game, state, role, limits, stop);
        (found.best, found.spent)
    }

    fn advance(&mut self, game: &G, joint: &[G::Move]) {
        self.search.advance(game, joint);
    }

    fn reset(&mut self) {
        self.search.reset();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn policies_have_names_and_parameters() {
        for (text, policy) in [
            ("random", Policy::Random),
            ("uct", Policy::Uct { c: 0.4 }),
            ("uct, c=1e-3", Policy::Uct { c: 0.001 }),
            ("uct,c=1,c=2", Policy::Uct { c: 2.0 }),
        ] {
            assert_eq!(text.parse(), Ok(policy));
        }
        for (text, error) in [
            ("", "there is no policy ``"),
            ("UCT", "there is no policy `UCT`"),
            ("uct,c", "`c` is no parameter of `uct`: it has"),
            ("uct,c=-1", "`c=-1` is no parameter"),
            ("uct,c=nan", "`c=nan` is no parameter"),
            ("uct,k=1", "`k=1` is no parameter"),
            ("random,c=1", "`c=1` is no parameter of `random`, which has none"),
        ] {
            let told = text.parse::<Policy>().unwrap_err().to_string();
            assert!(told.starts_with(error), "{told}");
        }
    }

    proptest! {
        #[test]
        fn what_is_printed_names_the_same(c in 0.0..1e9) {
            let policy = Policy::Uct { c };
            prop_assert_eq!(policy.to_string().parse(), Ok(policy));
        }
    }
}
