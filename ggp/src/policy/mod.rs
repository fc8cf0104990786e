//! Policies: how a player of any game finds its moves, as text and as parts of
//! a search.

mod agent;
mod game;
mod lock_step;
mod resumable;
#[cfg(test)]
mod tests;
mod text;

pub use crate::batch::Parallelism;
use crate::game::Game;
use crate::mcts::playout::mini::{MiniConfig, MiniPlayout};
use crate::mcts::playout::{Decay, LastGoodReply, Mast, Nst, NstEnsemble, Selector, ValueGuidedPlayout};
use crate::mcts::tuning::{Aspect, Tuning};
use crate::mcts::{Decision, Playout, RandomPlayout, Selection, Uct};
use crate::mcts::{Grave, GraveSettings};

pub use agent::PolicyAgent;
pub(crate) use agent::RandomAgent;
pub use game::{PolicyGame, Together};
pub use lock_step::LockStep;
pub use text::{PolicyError, PolicyText};

/// How a player of any game finds its moves, written `name,key=value,…` or as
/// a table of TOML (docs/policies.md).
///
/// ```
/// use sternhalma_ggp::Policy;
///
/// let policy: Policy = "grave,playout=mast,epsilon=0.4".parse()?;
/// assert_eq!(policy.to_string(), "grave,c=0.2,k=250,ref=50,playout=mast,epsilon=0.4");
/// assert_eq!(policy.to_string().parse::<Policy>()?, policy);
/// # Ok::<(), sternhalma_ggp::policy::PolicyError>(())
/// ```
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
#[expect(clippy::large_enum_variant, reason = "there are a few of them in a tournament, most of them searches")]
pub enum Policy {
    /// `random`: any legal move, all equally likely.
    Random,
    /// Monte-Carlo tree search.
    Search(SearchPolicy),
}

/// The parts of a Monte-Carlo tree search.
#[derive(Clone, PartialEq, Debug)]
pub struct SearchPolicy {
    /// How moves are chosen in the tree.
    pub selection: SelectionPolicy,
    /// How moves are chosen beyond it, and among untried moves.
    pub playout: PlayoutPolicy,
    /// Which move is played.
    pub decision: Decision,
    /// What the visits and rewards in the tree are multiplied by after each
    /// joint move of the match, 0 to 1.
    pub tree_gamma: f64,
    /// Whether states in the tree are proved (docs/policies.md).
    pub solver: bool,
    /// How its numbers are tuned while it searches, if they are.
    pub tuning: Option<Tuning>,
    /// How many simulations are under way side by side, where the game is
    /// known by a network (docs/policies.md).
    pub lanes: Parallelism,
}

/// How moves are chosen in the tree.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum SelectionPolicy {
    /// UCB1, with the exploration constant C on rewards 0 to 1.
    Uct {
        /// C.
        c: f64,
    },
    /// GRAVE.
    Grave(GraveSettings),
}

/// How moves are chosen beyond the tree.
#[derive(Clone, PartialEq, Debug)]
pub enum PlayoutPolicy {
    /// All moves are equally likely.
    Random,
    /// By the strategies of MINI-Player. In a game that shows them nothing,
    /// as one without a network does, R and HH alone.
    Mini(MiniConfig),
    /// By what was learnt from the simulations before.
    Learned {
        /// What is kept of them.
        worth: MoveValuePolicy,
        /// How it makes a choice.
        selector: Selector,
        /// Whether good replies (LGRF-2) go before it.
        replies: bool,
        /// How it is forgotten.
        decay: Decay,
    },
}

/// What is kept of simulations.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum MoveValuePolicy {
    /// An average a move.
    Mast,
    /// Averages of sequences of moves, too.
    Nst {
        /// The length of the longest.
        longest: usize,
        /// The weight from which sequences of more than one move count.
        least: f64,
        /// Whether they skip moves without a choice.
        skips_waits: bool,
    },
}

/// Makes something of the parts of a search.
pub trait PartsVisitor<G: Game> {
    /// What it makes.
    type Made;

    /// Makes it.
    fn visit<S, P>(self, selection: S, playout: P) -> Self::Made
    where
        S: Selection<G> + Clone + Send + 'static,
        S::EdgeData: Send,
        P: Playout<G> + Clone + Send + 'static;
}

impl Default for Policy {
    /// `adaptive`, our own.
    fn default() -> Policy {
        "adaptive".parse().expect("it is the name of a policy")
    }
}

impl Default for SearchPolicy {
    /// `uct`: UCB1 with C = 0.4 and random playouts.
    fn default() -> SearchPolicy {
        SearchPolicy {
            selection: SelectionPolicy::Uct { c: 0.4 },
            playout: PlayoutPolicy::Random,
            decision: Decision::BestAverage,
            tree_gamma: 1.0,
            solver: false,
            tuning: None,
            lanes: Parallelism::One,
        }
    }
}

impl SearchPolicy {
    /// Makes the parts, which know nothing yet, and hands them to a visitor:
    /// a search is compiled for each combination of parts.
    /// The search is for a role until another is searched for.
    pub fn visit<G: PolicyGame, V: PartsVisitor<G>>(&self, game: &G, role: usize, visitor: V) -> V::Made {
        match self.selection {
            SelectionPolicy::Uct { c } => self.visit_with(game, role, Uct::new(c), visitor),
            SelectionPolicy::Grave(settings) => self.visit_with(game, role, Grave::new(settings), visitor),
        }
    }

    fn visit_with<G, S, V>(&self, game: &G, role: usize, selection: S, visitor: V) -> V::Made
    where
        G: PolicyGame,
        S: Selection<G> + Clone + Send + 'static,
        S::EdgeData: Send,
        V: PartsVisitor<G>,
    {
        match &self.playout {
            PlayoutPolicy::Mini(config) => {
                let features = if config.is_blind() { None } else { game.features() };
                visitor.visit(selection, MiniPlayout::new(game, role, features, config.clone()))
            }
            PlayoutPolicy::Random => visitor.visit(selection, RandomPlayout::<G::Move>::default()),
            &PlayoutPolicy::Learned { worth, selector, replies, decay } => {
                let replies = replies.then(LastGoodReply::default);
                if let Some(rates) = self.rates(&decay, game.roles()) {
                    let worth = NstEnsemble::new(&self.nst(worth), &rates);
                    return visitor
                        .visit(selection, ValueGuidedPlayout::<_, G::Move>::new(worth, selector, replies, decay));
                }
                match worth {
                    MoveValuePolicy::Mast => visitor.visit(
                        selection,
                        ValueGuidedPlayout::<_, G::Move>::new(Mast::default(), selector, replies, decay),
                    ),
                    MoveValuePolicy::Nst { .. } => {
                        let worth = self.nst(worth);
                        visitor.visit(selection, ValueGuidedPlayout::<_, G::Move>::new(worth, selector, replies, decay))
                    }
                }
            }
        }
    }
}

impl SearchPolicy {
    /// Whether something of it is tuned.
    fn tunes(&self, aspect: Aspect) -> bool {
        self.tuning.as_ref().is_some_and(|tuning| !tuning.shadow && tuning.what.contains(&aspect))
    }

    /// The rates γ and ω of what tuning lets playouts choose among; none if
    /// they have no choice.
    fn rates(&self, decay: &Decay, roles: usize) -> Option<Vec<(f64, f64)>> {
        if ![Aspect::Playout, Aspect::Gamma, Aspect::Omega].into_iter().any(|aspect| self.tunes(aspect)) {
            return None;
        }
        if roles == 1 && !decay.alone {
            return Some(vec![(1.0, 1.0)]);
        }
        let of = |aspect, values: &[f64], own| if self.tunes(aspect) { values.to_vec() } else { vec![own] };
        let omegas = of(Aspect::Omega, &Aspect::OMEGAS, decay.omega);
        let gammas = of(Aspect::Gamma, &Aspect::GAMMAS, decay.gamma);
        Some(gammas.into_iter().flat_map(|gamma| omegas.iter().map(move |&omega| (gamma, omega))).collect())
    }

    /// What makes both NST and MAST; that of MAST knows no sequences but where
    /// tuning chooses between both.
    fn nst(&self, worth: MoveValuePolicy) -> Nst {
        match worth {
            MoveValuePolicy::Nst { longest, least, skips_waits } => {
                Nst::new(longest, least).skipping_waits(skips_waits)
            }
            MoveValuePolicy::Mast => Nst::new(if self.tunes(Aspect::Playout) { 3 } else { 1 }, 7.0),
        }
    }
}

impl Policy {
    /// Whether it plays better if it is given more time.
    pub(crate) fn thinks(&self) -> bool {
        !matches!(self, Policy::Random)
    }
}
