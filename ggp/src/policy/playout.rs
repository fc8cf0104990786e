//! Playout policies as parts of a policy.
//!
//! A new playout policy is a file in `mcts/playout`, its line in `mcts/playout/mod.rs`, and in this file a variant of
//! [`PlayoutPolicy`] (or of [`MoveValuePolicy`]), its name, its parameters, and its arm in [`PlayoutPolicy::visit`].

use super::visitor::PartsVisitor;
use crate::features::StateFeatures;
use crate::game::Game;
use crate::mcts::playout::mini::{Chances, MiniConfig, MiniPlayout, OpponentModel, Strategy, StrategyAllocation};
use crate::mcts::playout::{Decay, LastGoodReply, Mast, MoveValues, Nst, NstEnsemble, Selector, ValueGuidedPlayout};
use crate::mcts::tuning::{Aspect, Tuning};
use crate::mcts::{RandomPlayout, Selection};
use crate::param_table::{Field, Param, choice, count, finite, flag, number, one_of, range, some_of};

/// The choice of moves beyond the tree, and among untried moves.
#[derive(Clone, PartialEq, Debug)]
pub enum PlayoutPolicy {
    /// Uniformly random moves.
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
const MOVE_VALUES: [(&str, MoveValuePolicy); 2] = [("mast", MoveValuePolicy::Mast), ("nst", NST)];
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
const LEARNED: &str = "`playout=mast` or `playout=nst`";

impl PlayoutPolicy {
    pub(super) const PARAMS: &[Param<PlayoutPolicy>] = &[
        Param {
            key: "playout",
            owner: "",
            values: "`random`, `mast`, `nst`, `mini`; `random`",
            help: "policy beyond the tree and among untried moves",
            omitted: "random",
            field: |playout| Some(name(playout)),
        },
        Param {
            key: "n",
            owner: "`playout=nst`",
            values: "1, 2, 3; 3",
            help: "the longest sequences",
            omitted: "",
            field: |playout| nst_field(playout, |longest, _| choice(longest, LENGTHS)),
        },
        Param {
            key: "least",
            owner: "`playout=nst`",
            values: "≥ 0; 7",
            help: "the minimum weight of a sequence of two or three moves",
            omitted: "",
            field: |playout| nst_field(playout, |_, least| finite(least, 0.0)),
        },
        Param {
            key: "waiting",
            owner: "`playout=nst`",
            values: "`count`, `skip`; `count`",
            help: "`skip` leaves moves without a choice out of sequences, such as those of roles that wait",
            omitted: "count",
            field: |playout| match playout {
                PlayoutPolicy::Learned { values: MoveValuePolicy::Nst { skips_waits, .. }, .. } => {
                    choice(skips_waits, WAITS)
                }
                _ => None,
            },
        },
        Param {
            key: "epsilon",
            owner: LEARNED,
            values: "0 to 1; 0.2",
            help: "fraction of random moves; all other moves have the highest value",
            omitted: "",
            field: |playout| Some(epsilon(playout.selector()?)),
        },
        Param {
            key: "tau",
            owner: LEARNED,
            values: "> 0",
            help: "Gibbs sampling instead of `epsilon`, for goals from 0 to 100",
            omitted: "",
            field: |playout| Some(tau(playout.selector()?)),
        },
        Param {
            key: "replies",
            owner: LEARNED,
            values: "`none`, `lgrf2`; `none`",
            help: "good replies to the last two moves, or to the last, take precedence",
            omitted: "none",
            field: |playout| match playout {
                PlayoutPolicy::Learned { replies, .. } => choice(replies, REPLIES),
                _ => None,
            },
        },
        Param {
            key: "gamma",
            owner: LEARNED,
            values: "0 to 1; 1",
            help: "Move Decay: factor for all weights after each joint move of the match",
            omitted: "1",
            field: |playout| range(&mut playout.decay()?.gamma, 0.0, 1.0),
        },
        Param {
            key: "lambda",
            owner: LEARNED,
            values: "0 to 1; 1",
            help: "Batch Decay: factor for all weights after each batch of simulations",
            omitted: "1",
            field: |playout| range(&mut playout.decay()?.lambda, 0.0, 1.0),
        },
        Param {
            key: "omega",
            owner: LEARNED,
            values: "0 to 1; 1",
            help: "Simulation Decay: factor for the moves and sequences of a simulation, after each occurrence",
            omitted: "1",
            field: |playout| range(&mut playout.decay()?.omega, 0.0, 1.0),
        },
        Param {
            key: "batch",
            owner: LEARNED,
            values: "≥ 1; 50",
            help: "Batch Decay: simulations of a batch",
            omitted: "50",
            field: |playout| count(&mut playout.decay()?.batch, u32::MAX),
        },
        Param {
            key: "cap",
            owner: LEARNED,
            values: "1 to `inf`; `inf`",
            help: "decay by visits: the maximum weight; from there on the average is exponential",
            omitted: "inf",
            field: |playout| range(&mut playout.decay()?.cap, 1.0, f64::INFINITY),
        },
        Param {
            key: "decay-alone",
            owner: LEARNED,
            values: "`yes`, `no`; `no`",
            help: "whether decay is also used in one-player games, as in [Tak et al. 2014, Table VI]",
            omitted: "no",
            field: |playout| flag(&mut playout.decay()?.alone),
        },
        Param {
            key: "b",
            owner: "`allocation=ucb` of `playout=mini`",
            values: "≥ 0; 5",
            help: "the weight of exploration, for rewards from 0 to 1",
            omitted: "",
            field: |playout| match &mut playout.mini()?.allocation {
                StrategyAllocation::Ucb { b, .. } => finite(b, 0.0),
                _ => None,
            },
        },
        Param {
            key: "prior",
            owner: "`allocation=ucb` of `playout=mini`",
            values: "≥ 1; 1",
            help: "the weight of the [expected](#prior-expectations) strategy",
            omitted: "1",
            field: |playout| match &mut playout.mini()?.allocation {
                StrategyAllocation::Ucb { prior, .. } => finite(prior, 1.0),
                _ => None,
            },
        },
        Param {
            key: "floor",
            owner: "`allocation=ucb` of `playout=mini`",
            values: "0 to 1; 0",
            help: "the minimum fraction of the simulations for a strategy",
            omitted: "0",
            field: |playout| match &mut playout.mini()?.allocation {
                StrategyAllocation::Ucb { floor, .. } => range(floor, 0.0, 1.0),
                _ => None,
            },
        },
        Param {
            key: "ceiling",
            owner: "`allocation=ucb` of `playout=mini`",
            values: "0 to 1; 1",
            help: "the maximum fraction of the simulations for a strategy",
            omitted: "1",
            field: |playout| match &mut playout.mini()?.allocation {
                StrategyAllocation::Ucb { ceiling, .. } => range(ceiling, 0.0, 1.0),
                _ => None,
            },
        },
        Param {
            key: "allocation",
            owner: "`playout=mini`",
            values: "`ucb`, `static`, `square`, `best`; `ucb`",
            help: "how simulations are allocated to the strategies",
            omitted: "ucb",
            field: |playout| choice(&mut playout.mini()?.allocation, ALLOCATIONS),
        },
        Param {
            key: "strategies",
            owner: "`playout=mini`",
            values: "some of `R+AGE+SSC+M+E+HH`; all",
            help: "the strategies of the own role, one per simulation",
            omitted: "",
            field: |playout| some_of(&mut playout.mini()?.strategies, &Strategy::NAMES),
        },
        Param {
            key: "opponents",
            owner: "`playout=mini`",
            values: "`hh`, `tree`, `random`; `tree`",
            help: "the other roles in simulations: HH, HH only among untried moves of the tree, or random moves",
            omitted: "tree",
            field: |playout| choice(&mut playout.mini()?.opponents, OPPONENTS),
        },
        chance("pr-age", "0 to 1; 0.75", "0.75", |playout| range(&mut playout.chances()?.goal, 0.0, 1.0)),
        chance("pr-ssc", "0 to 1; 1", "1", |playout| range(&mut playout.chances()?.symbols, 0.0, 1.0)),
        chance("pr-m", "0 to 1; 0.85", "0.85", |playout| range(&mut playout.chances()?.mobility, 0.0, 1.0)),
        chance("pr-e", "0 to 1; 0.8", "0.8", |playout| range(&mut playout.chances()?.exploration, 0.0, 1.0)),
        chance("pr-hh", "0 to 1; 0.7", "0.7", |playout| range(&mut playout.chances()?.history, 0.0, 1.0)),
    ];

    /// Calls the visitor with a selection and this playout, without experience. The playout is for `role` until another
    /// role is searched for. `features` returns the features of the game.
    pub(super) fn visit<G, S, V>(
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
        S: Selection<G> + Clone + Send + 'static,
        V: PartsVisitor<G>,
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

    /// Returns whether the playout plays the same in resumable searches: strategies that use features need more of a
    /// state than a lane shows.
    pub(super) fn is_resumable(&self) -> bool {
        match self {
            PlayoutPolicy::Mini(config) => config.is_blind(),
            _ => true,
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

/// The probability of a strategy.
const fn chance(
    key: &'static str,
    values: &'static str,
    omitted: &'static str,
    field: for<'a> fn(&'a mut PlayoutPolicy) -> Option<Field<'a>>,
) -> Param<PlayoutPolicy> {
    let help = "the probability that the strategy chooses the move; otherwise it is random";
    Param { key, owner: "`playout=mini`", values, help, omitted, field }
}

/// Returns the field of a length or a weight of NST. Both parameters are
/// printed if one of them is not the default.
fn nst_field<'a>(
    playout: &'a mut PlayoutPolicy,
    field: impl FnOnce(&'a mut usize, &'a mut f64) -> Option<Field<'a>>,
) -> Option<Field<'a>> {
    match playout {
        PlayoutPolicy::Learned { values: MoveValuePolicy::Nst { longest, least, .. }, .. } => {
            let is_default = (*longest, *least) == (3, 7.0);
            let field = field(longest, least)?;
            Some(if is_default { field.unprinted() } else { field })
        }
        _ => None,
    }
}

/// Returns the parameter `playout`. From `mast` to `nst` and back, the selector, the replies and the decay stay, and the
/// parameters of NST get their defaults. From `mini` to `mini` everything stays.
fn name(playout: &mut PlayoutPolicy) -> Field<'_> {
    let text = match playout {
        PlayoutPolicy::Random => "random",
        PlayoutPolicy::Mini(_) => "mini",
        PlayoutPolicy::Learned { values: MoveValuePolicy::Mast, .. } => "mast",
        PlayoutPolicy::Learned { values: MoveValuePolicy::Nst { .. }, .. } => "nst",
    };
    Field::new(Some(text), playout, |playout, text| {
        Ok(match (text, playout) {
            ("random", _) => PlayoutPolicy::Random,
            ("mini", PlayoutPolicy::Mini(config)) => PlayoutPolicy::Mini(config.clone()),
            ("mini", _) => PlayoutPolicy::Mini(MiniConfig::default()),
            (name, playout) => {
                let expected = |_| format!("expected one of random, mast, nst, mini, got `{name}`");
                let values = one_of(name, &MOVE_VALUES).map_err(expected)?;
                match *playout {
                    PlayoutPolicy::Learned { selector, replies, decay, .. } => {
                        PlayoutPolicy::Learned { values, selector, replies, decay }
                    }
                    _ => {
                        let selector = Selector::Greedy { epsilon: EPSILON };
                        PlayoutPolicy::Learned { values, selector, replies: false, decay: Decay::NONE }
                    }
                }
            }
        })
    })
}

/// Returns the parameter `epsilon`, which replaces `tau`.
fn epsilon(selector: &mut Selector) -> Field<'_> {
    let text = match *selector {
        Selector::Greedy { epsilon } => Some(epsilon),
        Selector::Gibbs { .. } => None,
    };
    Field::new(text, selector, |_, text| Ok(Selector::Greedy { epsilon: number(text, 0.0, 1.0)? }))
}

/// Returns the parameter `tau`, which replaces `epsilon`.
fn tau(selector: &mut Selector) -> Field<'_> {
    let text = match *selector {
        Selector::Gibbs { tau } => Some(tau),
        Selector::Greedy { .. } => None,
    };
    Field::new(text, selector, |_, text| Ok(Selector::Gibbs { tau: number(text, f64::MIN_POSITIVE, f64::MAX)? }))
}
