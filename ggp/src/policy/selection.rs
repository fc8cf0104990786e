//! Selection policies as parts of a policy.
//!
//! A new selection policy is a file in `ggp/mcts/src/selection`, its line in `mod.rs` there, and in this file a variant of
//! [`SelectionPolicy`], its row in `KINDS`, rows of its parameters in `PARAMS`, and its arm in
//! [`SelectionPolicy::visit`].

use sternhalma_game::param_table::{Kind, Param, choice, finite, kind, range};
use sternhalma_game::{Game, SearchState};
use sternhalma_mcts::{Grave, GraveForm, GraveSettings, Uct};

use super::visitor::SelectionVisitor;

/// The choice of moves in the tree.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum SelectionPolicy {
    /// UCB1.
    Uct {
        /// The exploration constant C, for rewards from 0 to 1.
        c: f64,
    },
    /// GRAVE.
    Grave(GraveSettings),
}

const KINDS: &[Kind<SelectionPolicy>] = &[
    Kind {
        name: "uct",
        is: |selection| matches!(selection, SelectionPolicy::Uct { .. }),
        make: |selection| SelectionPolicy::Uct { c: selection.c() },
    },
    Kind {
        name: "grave",
        is: |selection| matches!(selection, SelectionPolicy::Grave(_)),
        make: |selection| match selection {
            SelectionPolicy::Grave(settings) => SelectionPolicy::Grave(*settings),
            other => SelectionPolicy::Grave(GraveSettings { c: other.c(), ..GraveSettings::BASE }),
        },
    },
];
const FORMS: &[(&str, GraveForm)] = &[("paper", GraveForm::Paper), ("authors", GraveForm::Authors)];

impl Default for SelectionPolicy {
    /// Returns UCB1 with C = 0.4.
    fn default() -> SelectionPolicy {
        SelectionPolicy::Uct { c: 0.4 }
    }
}

impl SelectionPolicy {
    pub(super) const PARAMS: &[Param<SelectionPolicy>] = &[
        Param {
            key: "selection",
            owner: "",
            help: "selection in the tree, which keeps `c`",
            is_optional: false,
            field: |selection| kind(selection, KINDS),
        },
        Param {
            key: "c",
            owner: "",
            help: "exploration constant, for rewards from 0 to 1; policies such as `grave` have their own. CadiaPlayer's unpublished constant is assumed to be 40 for goals from 0 to 100",
            is_optional: false,
            field: |selection| finite(selection.c_mut(), 0.0),
        },
        Param {
            key: "k",
            owner: "selection",
            help: "the number of visits at which a node's own values and AMAF values have equal weight. 0 is plain UCT",
            is_optional: false,
            field: |selection| range(&mut selection.grave()?.k, 0.0, f64::INFINITY),
        },
        Param {
            key: "ref",
            owner: "selection",
            help: "the number of visits from which a node's AMAF values are used. 0 is RAVE, `inf` HRAVE",
            is_optional: false,
            field: |selection| range(&mut selection.grave()?.reference, 0.0, f64::INFINITY),
        },
        Param {
            key: "form",
            owner: "selection",
            help: "`paper` tries untried moves first, chosen by the playout. `authors` gives them the value AMAF + 1 (1 without AMAF value), and chooses any move within 0.01 of the best",
            is_optional: true,
            field: |selection| choice(&mut selection.grave()?.form, FORMS),
        },
    ];

    /// Calls the visitor with the selection, without experience.
    pub fn visit<G: Game, W: SearchState<G>, V: SelectionVisitor<G, W>>(self, visitor: V) -> V::Made {
        match self {
            SelectionPolicy::Uct { c } => visitor.visit(Uct::new(c)),
            SelectionPolicy::Grave(settings) => visitor.visit(Grave::new(settings)),
        }
    }

    /// Returns whether the selection is GRAVE.
    pub(super) fn is_grave(self) -> bool {
        matches!(self, SelectionPolicy::Grave(_))
    }

    /// Returns the exploration constant, for rewards from 0 to 1.
    pub fn c(self) -> f64 {
        match self {
            SelectionPolicy::Uct { c } | SelectionPolicy::Grave(GraveSettings { c, .. }) => c,
        }
    }

    fn c_mut(&mut self) -> &mut f64 {
        match self {
            SelectionPolicy::Uct { c } | SelectionPolicy::Grave(GraveSettings { c, .. }) => c,
        }
    }

    fn grave(&mut self) -> Option<&mut GraveSettings> {
        match self {
            SelectionPolicy::Grave(settings) => Some(settings),
            SelectionPolicy::Uct { .. } => None,
        }
    }
}
