//! The text of rulesheets: parsing, printing, diagnostics and renaming.

mod conjunctions;
mod dependencies;
mod diagnostics;
mod kif;
mod names;
mod rules;
mod rulesheet;
mod scramble;
mod terms;

pub use conjunctions::RuleBound;
pub(super) use conjunctions::{ConjunctionPart, MAX_ARITY, conjunctions};
pub(super) use dependencies::DependencyGraph;
pub use diagnostics::{Code, Finding, Severity};

pub use kif::{Document, Expr, ExprKind, KifError, MAX_DEPTH, MAX_TERM_LENGTH, Place};
pub use names::{IllegalMove, find_move, index_of_name};
pub(super) use rules::{RELATIONS, has_error};
pub use rules::{Rules, RulesError};
pub use rulesheet::{Rulesheet, digest};
pub use scramble::{Renaming, scramble, shuffle};
pub(super) use terms::for_each_atom;
pub use terms::{Atom, Literal, Rule, Term};
