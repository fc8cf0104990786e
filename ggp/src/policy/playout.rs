//! Playout policies as parts of a policy.
//!
//! A new playout policy is a file in `ggp/mcts/src/playout`, its line in `mod.rs` there, and in this file a variant of
//! [`PlayoutPolicy`] (or of [`MoveValuePolicy`]), its row in `KINDS`, rows of its parameters in `PARAMS`, and its arm in
//! [`PlayoutPolicy::visit`].

use sternhalma_game::features::StateFeatures;
use sternhalma_game::param_table::{Field, Kind, Param, choice, count, finite, flag, kind, range, some_of};
use sternhalma_game::{Game, SearchState};
use sternhalma_mcts::playout::mini::{Chances, MiniConfig, MiniPlayout, OpponentModel, Strategy, StrategyAllocation};
use sternhalma_mcts::playout::{
    Decay, LastGoodReply, Mast, MoveValues, Nst, NstEnsemble, Selector, ValueGuidedPlayout,
};
use sternhalma_mcts::tuning::{Aspect, Tuning};
use sternhalma_mcts::{RandomPlayout, Selection};

use super::visitor::PartsVisitor;

/// The choice of moves beyond the tree, and among untried moves.
#[derive(Clone, PartialEq, Debug, Default)]
pub enum PlayoutPolicy {
    /// Uniformly random moves.
    #[default]
    Random,
    /// The strategies of MINI-Player. A game without features, e.g. one without a network, uses R and HH only.
    Mini(MiniConfig),
    /// Move values that are learnt from earlier simulations.
    Learned {
        /// The learnt values.
        values: MoveValuePolicy,
        /// The choice of a move by its value.
        selector: Selector,
        /// Whether good replies (LGRF-2) take precedence.
        replies: bool,
        /// How values are forgotten.
        decay: Decay,
    },
}

/// Values that are learnt from simulations.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum MoveValuePolicy {
    /// The mean reward of each move.
    Mast,
    /// The mean reward of each move and of each sequence of moves.
    Nst {
        /// The maximum length of a sequence.
        longest: usize,
        /// The minimum weight of sequences of more than one move.
        least: f64,
        /// Whether sequences skip moves without a choice.
        skips_waits: bool,
    },
}

/// The fraction of random moves by default [Tak et al. 2012, section VI-C].
const EPSILON: f64 = 0.2;

const NST: MoveValuePolicy = MoveValuePolicy::Nst { longest: 3, least: 7.0, skips_waits: false };

/// From `mast` to `nst` and back, the selector, the replies and the decay stay, and the parameters of NST get their
/// defaults. From `mini` to `mini` everything stays.
const KINDS: &[Kind<PlayoutPolicy>] = &[
    Kind { name: "random", is: |playout| matches!(playout, PlayoutPolicy::Random), make: |_| PlayoutPolicy::Random },
    Kind {
        name: "mast",
        is: |playout| matches!(playout, PlayoutPolicy::Learned { values: MoveValuePolicy::Mast, .. }),
        make: |playout| playout.learning(MoveValuePolicy::Mast),
    },
    Kind {
        name: "nst",
        is: |playout| matches!(playout, PlayoutPolicy::Learned { values: MoveValuePolicy::Nst { .. }, .. }),
        make: |playout| playout.learning(NST),
    },
    Kind {
        name: "mini",
        is: |playout| matches!(playout, PlayoutPolicy::Mini(_)),
        make: |playout| match playout {
            PlayoutPolicy::Mini(config) => PlayoutPolicy::Mini(config.clone()),
            _ => PlayoutPolicy::Mini(MiniConfig::default()),
        },
    },
];
const LENGTHS: &[(&str, usize)] = &[("1", 1), ("2", 2), ("3", 3)];
const WAITS: &[(&str, bool)] = &[("count", false), ("skip", true)];
const REPLIES: &[(&str, bool)] = &[("none", false), ("lgrf2", true)];
const ALLOCATIONS: &[(&str, StrategyAllocation)] = &[
    ("ucb", StrategyAllocation::UCB),
    ("static", StrategyAllocation::Static),
    ("square", StrategyAllocation::Square),
    ("best", StrategyAllocation::UniformThenBest),
];
const OPPONENTS: &[(&str, OpponentModel)] =
    &[("hh", OpponentModel::History), ("tree", OpponentModel::HistoryInTree), ("random", OpponentModel::Random)];
const CHANCE: &str = "the probability that the strategy chooses the move; otherwise it is random";

impl PlayoutPolicy {
    pub(super) const PARAMS: &[Param<PlayoutPolicy>] = &[
        Param {
            key: "playout",
            owner: "",
            help: "policy beyond the tree and among untried moves",
            is_optional: true,
            field: |playout| kind(playout, KINDS),
        },
        Param {
            key: "n",
            owner: "playout",
            help: "the longest sequences",
            is_optional: false,
            field: |playout| nst_field(playout, |longest, _| choice(longest, LENGTHS)),
        },
        Param {
            key: "least",
            owner: "playout",
            help: "the minimum weight of a sequence of two or three moves",
            is_optional: false,
            field: |playout| nst_field(playout, |_, least| finite(least, 0.0)),
        },
        Param {
            key: "waiting",
            owner: "playout",
            help: "`skip` leaves moves without a choice out of sequences, such as those of roles that wait",
            is_optional: true,
            field: |playout| match playout {
                PlayoutPolicy::Learned { values: MoveValuePolicy::Nst { skips_waits, .. }, .. } => {
                    choice(skips_waits, WAITS)
                }
                _ => None,
            },
        },
        Param {
            key: "epsilon",
            owner: "playout",
            help: "fraction of random moves; all other moves have the highest value",
            is_optional: false,
            field: |playout| Some(epsilon(playout.selector()?)),
        },
        Param {
            key: "tau",
            owner: "playout",
            help: "Gibbs sampling instead of `epsilon`, for goals from 0 to 100",
            is_optional: false,
            field: |playout| Some(tau(playout.selector()?)),
        },
        Param {
            key: "replies",
            owner: "playout",
            help: "good replies to the last two moves, or to the last, take precedence",
            is_optional: true,
            field: |playout| match playout {
                PlayoutPolicy::Learned { replies, .. } => choice(replies, REPLIES),
                _ => None,
            },
        },
        Param {
            key: "gamma",
            owner: "playout",
            help: "Move Decay: factor for all weights after each joint move of the match",
            is_optional: true,
            field: |playout| range(&mut playout.decay()?.gamma, 0.0, 1.0),
        },
        Param {
            key: "lambda",
            owner: "playout",
            help: "Batch Decay: factor for all weights after each batch of simulations",
            is_optional: true,
            field: |playout| range(&mut playout.decay()?.lambda, 0.0, 1.0),
        },
        Param {
            key: "omega",
            owner: "playout",
            help: "Simulation Decay: factor for the moves and sequences of a simulation, after each occurrence",
            is_optional: true,
            field: |playout| range(&mut playout.decay()?.omega, 0.0, 1.0),
        },
        Param {
            key: "batch",
            owner: "playout",
            help: "Batch Decay: simulations of a batch",
            is_optional: true,
            field: |playout| count(&mut playout.decay()?.batch, u32::MAX),
        },
        Param {
            key: "cap",
            owner: "playout",
            help: "decay by visits: the maximum weight; from there on the average is exponential",
            is_optional: true,
            field: |playout| range(&mut playout.decay()?.cap, 1.0, f64::INFINITY),
        },
        Param {
            key: "decay-alone",
            owner: "playout",
            help: "whether decay is also used in one-player games, as in [Tak et al. 2014, Table VI]",
            is_optional: true,
            field: |playout| flag(&mut playout.decay()?.alone),
        },
        Param {
            key: "b",
            owner: "allocation",
            help: "the weight of exploration, for rewards from 0 to 1",
            is_optional: false,
            field: |playout| match &mut playout.mini()?.allocation {
                StrategyAllocation::Ucb { b, .. } => finite(b, 0.0),
                _ => None,
            },
        },
        Param {
            key: "prior",
            owner: "allocation",
            help: "the weight of the [expected](#prior-expectations) strategy",
            is_optional: true,
            field: |playout| match &mut playout.mini()?.allocation {
                StrategyAllocation::Ucb { prior, .. } => finite(prior, 1.0),
                _ => None,
            },
        },
        Param {
            key: "floor",
            owner: "allocation",
            help: "the minimum fraction of the simulations for a strategy",
            is_optional: true,
            field: |playout| match &mut playout.mini()?.allocation {
                StrategyAllocation::Ucb { floor, .. } => range(floor, 0.0, 1.0),
                _ => None,
            },
        },
        Param {
            key: "ceiling",
            owner: "allocation",
            help: "the maximum fraction of the simulations for a strategy",
            is_optional: true,
            field: |playout| match &mut playout.mini()?.allocation {
                StrategyAllocation::Ucb { ceiling, .. } => range(ceiling, 0.0, 1.0),
                _ => None,
            },
        },
        Param {
            key: "allocation",
            owner: "playout",
            help: "how simulations are allocated to the strategies",
            is_optional: true,
            field: |playout| choice(&mut playout.mini()?.allocation, ALLOCATIONS),
        },
        Param {
            key: "strategies",
            owner: "playout",
            help: "the strategies of the own role, one per simulation",
            is_optional: false,
            field: |playout| some_of(&mut playout.mini()?.strategies, &Strategy::NAMES),
        },
        Param {
            key: "opponents",
            owner: "playout",
            help: "the other roles in simulations: HH, HH only among untried moves of the tree, or random moves",
            is_optional: true,
            field: |playout| choice(&mut playout.mini()?.opponents, OPPONENTS),
        },
        Param {
            key: "pr-age",
            owner: "playout",
            help: CHANCE,
            is_optional: true,
            field: |playout| range(&mut playout.chances()?.goal, 0.0, 1.0),
        },
        Param {
            key: "pr-ssc",
            owner: "playout",
            help: CHANCE,
            is_optional: true,
            field: |playout| range(&mut playout.chances()?.symbols, 0.0, 1.0),
        },
        Param {
            key: "pr-m",
            owner: "playout",
            help: CHANCE,
            is_optional: true,
            field: |playout| range(&mut playout.chances()?.mobility, 0.0, 1.0),
        },
        Param {
            key: "pr-e",
            owner: "playout",
            help: CHANCE,
            is_optional: true,
            field: |playout| range(&mut playout.chances()?.exploration, 0.0, 1.0),
        },
        Param {
            key: "pr-hh",
            owner: "playout",
            help: CHANCE,
            is_optional: true,
            field: |playout| range(&mut playout.chances()?.history, 0.0, 1.0),
        },
    ];

    /// Calls the visitor with a selection and this playout, without experience. The playout is for `role` until another
    /// role is searched for. `features` returns the features of the game.
    pub(super) fn visit<G, W, S, V>(
        &self,
        game: &G,
        role: usize,
        features: impl FnOnce() -> Option<Box<dyn StateFeatures<G>>>,
        tuning: Option<&Tuning>,
        selection: S,
        visitor: V,
    ) -> V::Made
    where
        G: Game + 'static,
        W: SearchState<G>,
        S: Selection<G> + Selection<G, W> + Clone + Send + 'static,
        V: PartsVisitor<G, W>,
    {
        match self {
            PlayoutPolicy::Mini(config) => {
                let features = if config.is_blind() { None } else { features() };
                visitor.visit(selection, MiniPlayout::new(game, role, features, config.clone()))
            }
            PlayoutPolicy::Random => visitor.visit(selection, RandomPlayout::<G::Move>::default()),
            &PlayoutPolicy::Learned { values, selector, replies, decay } => {
                fn guided<G: Game, W: MoveValues>(
                    values: W,
                    (selector, replies, decay): (Selector, bool, Decay),
                ) -> ValueGuidedPlayout<W, G::Move> {
                    ValueGuidedPlayout::new(values, selector, replies.then(LastGoodReply::default), decay)
                }
                let how = (selector, replies, decay);
                let tunes = |aspect| tuning.is_some_and(|tuning| tuning.tunes(aspect));
                if let Some(rates) = decay_rates(&decay, game.roles(), tunes) {
                    let nst = values.nst(tunes(Aspect::Playout));
                    return visitor.visit(selection, guided::<G, _>(NstEnsemble::new(&nst, &rates), how));
                }
                match values {
                    MoveValuePolicy::Mast => visitor.visit(selection, guided::<G, _>(Mast::default(), how)),
                    MoveValuePolicy::Nst { .. } => visitor.visit(selection, guided::<G, _>(values.nst(false), how)),
                }
            }
        }
    }

    /// Returns whether the playout learns move values.
    pub(super) fn learns(&self) -> bool {
        matches!(self, PlayoutPolicy::Learned { .. })
    }

    /// Returns whether the playout has a fraction of random moves.
    pub(super) fn has_epsilon(&self) -> bool {
        matches!(self, PlayoutPolicy::Learned { selector: Selector::Greedy { .. }, .. })
    }

    /// Returns the playout with other learnt values.
    fn learning(&self, values: MoveValuePolicy) -> PlayoutPolicy {
        match *self {
            PlayoutPolicy::Learned { selector, replies, decay, .. } => {
                PlayoutPolicy::Learned { values, selector, replies, decay }
            }
            _ => {
                let selector = Selector::Greedy { epsilon: EPSILON };
                PlayoutPolicy::Learned { values, selector, replies: false, decay: Decay::NONE }
            }
        }
    }

    fn selector(&mut self) -> Option<&mut Selector> {
        match self {
            PlayoutPolicy::Learned { selector, .. } => Some(selector),
            _ => None,
        }
    }

    fn decay(&mut self) -> Option<&mut Decay> {
        match self {
            PlayoutPolicy::Learned { decay, .. } => Some(decay),
            _ => None,
        }
    }

    fn mini(&mut self) -> Option<&mut MiniConfig> {
        match self {
            PlayoutPolicy::Mini(config) => Some(config),
            _ => None,
        }
    }

    fn chances(&mut self) -> Option<&mut Chances> {
        self.mini().map(|config| &mut config.chances)
    }
}

impl MoveValuePolicy {
    /// Creates NST. MAST is NST without sequences, unless tuning chooses between both.
    fn nst(self, with_sequences: bool) -> Nst {
        match self {
            MoveValuePolicy::Nst { longest, least, skips_waits } => {
                Nst::new(longest, least).skipping_waits(skips_waits)
            }
            MoveValuePolicy::Mast => Nst::new(if with_sequences { 3 } else { 1 }, 7.0),
        }
    }
}

/// Returns the rates γ and ω from which tuning chooses, or `None` if tuning chooses no rates.
fn decay_rates(decay: &Decay, roles: usize, tunes: impl Fn(Aspect) -> bool) -> Option<Vec<(f64, f64)>> {
    if ![Aspect::Playout, Aspect::Gamma, Aspect::Omega].into_iter().any(&tunes) {
        return None;
    }
    if roles == 1 && !decay.alone {
        return Some(vec![(1.0, 1.0)]);
    }
    let of = |aspect, values: &[f64], own| if tunes(aspect) { values.to_vec() } else { vec![own] };
    let omegas = of(Aspect::Omega, &Aspect::OMEGAS, decay.omega);
    let gammas = of(Aspect::Gamma, &Aspect::GAMMAS, decay.gamma);
    Some(gammas.into_iter().flat_map(|gamma| omegas.iter().map(move |&omega| (gamma, omega))).collect())
}

/// Returns the field of a length or a weight of NST. Both parameters are
/// printed if one of them is not the default.
fn nst_field<'a>(
    playout: &'a mut PlayoutPolicy,
    field: impl FnOnce(&'a mut usize, &'a mut f64) -> Option<Field<'a>>,
) -> Option<Field<'a>> {
    match playout {
        PlayoutPolicy::Learned { values: MoveValuePolicy::Nst { longest, least, .. }, .. } => {
            let own = MoveValuePolicy::Nst { longest: *longest, least: *least, skips_waits: false };
            let is_default = own == NST;
            let field = field(longest, least)?;
            Some(if is_default { field.unprinted() } else { field })
        }
        _ => None,
    }
}

/// Returns the parameter `epsilon`, which replaces `tau`.
fn epsilon(selector: &mut Selector) -> Field<'_> {
    let number = match *selector {
        Selector::Greedy { epsilon } => Some(epsilon),
        Selector::Gibbs { .. } => None,
    };
    Field::number(0.0, 1.0, number, selector, |epsilon| Selector::Greedy { epsilon })
}

/// Returns the parameter `tau`, which replaces `epsilon`.
fn tau(selector: &mut Selector) -> Field<'_> {
    let number = match *selector {
        Selector::Gibbs { tau } => Some(tau),
        Selector::Greedy { .. } => None,
    };
    Field::number(f64::MIN_POSITIVE, f64::MAX, number, selector, |tau| Selector::Gibbs { tau })
}
