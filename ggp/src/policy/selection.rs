//! Selection policies as parts of a policy.
//!
//! A new selection policy is a file in `mcts/selection`, its line in `mcts/selection/mod.rs`, and in this file a variant
//! of [`SelectionPolicy`], its name, its parameters, and its arm in [`SelectionPolicy::visit`].

use super::visitor::SelectionVisitor;
use crate::game::Game;
use crate::mcts::{Grave, GraveForm, GraveSettings, Uct};
use crate::param_table::{Field, Param, choice, finite, range};

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

const FORMS: &[(&str, GraveForm)] = &[("paper", GraveForm::Paper), ("authors", GraveForm::Authors)];

impl SelectionPolicy {
    pub(super) const PARAMS: &[Param<SelectionPolicy>] = &[
        Param {
            key: "selection",
            owner: "",
            values: "`uct`, `grave`; `uct`",
            help: "selection in the tree",
            omitted: "",
            field: |policy| Some(selection(policy)),
        },
        Param {
            key: "c",
            owner: "",
            values: "≥ 0; 0.4, `grave` 0.2",
            help: "exploration constant, for rewards from 0 to 1. CadiaPlayer's unpublished constant is assumed to be 40 for goals from 0 to 100",
            omitted: "",
            field: |selection| finite(selection.c(), 0.0),
        },
        Param {
            key: "k",
            owner: "`selection=grave`",
            values: "0 to `inf`; 250",
            help: "the number of visits at which a node's own values and AMAF values have equal weight. 0 is plain UCT",
            omitted: "",
            field: |selection| range(&mut selection.grave()?.k, 0.0, f64::INFINITY),
        },
        Param {
            key: "ref",
            owner: "`selection=grave`",
            values: "0 to `inf`; 50",
            help: "the number of visits from which a node's AMAF values are used. 0 is RAVE, `inf` HRAVE",
            omitted: "",
            field: |selection| range(&mut selection.grave()?.reference, 0.0, f64::INFINITY),
        },
        Param {
            key: "form",
            owner: "`selection=grave`",
            values: "`paper`, `authors`; `paper`",
            help: "`paper` tries untried moves first, chosen by the playout. `authors` gives them the value AMAF + 1 (1 without AMAF value), and chooses any move within 0.01 of the best",
            omitted: "paper",
            field: |selection| choice(&mut selection.grave()?.form, FORMS),
        },
    ];

    /// Calls the visitor with the selection, without experience.
    pub fn visit<G: Game, V: SelectionVisitor<G>>(self, visitor: V) -> V::Made {
        match self {
            SelectionPolicy::Uct { c } => visitor.visit(Uct::new(c)),
            SelectionPolicy::Grave(settings) => visitor.visit(Grave::new(settings)),
        }
    }

    /// Returns whether the selection is GRAVE.
    pub(super) fn is_grave(self) -> bool {
        matches!(self, SelectionPolicy::Grave(_))
    }

    fn c(&mut self) -> &mut f64 {
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

/// Returns the parameter `selection`, which leaves C as it is.
fn selection(selection: &mut SelectionPolicy) -> Field<'_> {
    let c = *selection.c();
    let text = if selection.is_grave() { "grave" } else { "uct" };
    Field::new(Some(text), selection, move |selection, text| match (text, selection) {
        ("uct", _) => Ok(SelectionPolicy::Uct { c }),
        ("grave", SelectionPolicy::Uct { .. }) => {
            Ok(SelectionPolicy::Grave(GraveSettings { c, ..GraveSettings::BASE }))
        }
        ("grave", grave) => Ok(*grave),
        _ => Err(format!("expected one of uct, grave, got `{text}`")),
    })
}
