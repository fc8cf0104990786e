//! The Game Description Language: parsing, checking and playing rulesheets.
//!
//! [`Document`] is a text in the Knowledge Interchange Format with its
//! comments and places. [`Rules`] is a parsed rulesheet, and [`check`] reports
//! its errors. [`Prover`] plays it by resolution with tabling; it is simple on
//! purpose, because it is the reference for the other engines. [`network`]
//! grounds rules and plays them as a circuit, thousands of times faster: for
//! searches ([`NetworkGame`](network::NetworkGame)), or 512 matches at once
//! ([`Lanes`](network::Lanes)).
//!
//! ```
//! use sternhalma_ggp::gdl::{Prover, Rules};
//!
//! let rules = Rules::parse(
//!     "(role you) (init (heap 2))
//!      (<= (legal you (take ?n)) (true (heap ?m)) (part ?n ?m))
//!      (<= (next (heap 0)) (does you (take 2)))
//!      (<= (next (heap 1)) (does you (take 1)) (true (heap 2)))
//!      (part 1 2) (part 2 2) (part 1 1)
//!      (<= terminal (not (true (heap 2))))
//!      (<= (goal you 100) (true (heap 0)))
//!      (<= (goal you 30) (true (heap 1)))",
//! )?;
//! let mut prover = Prover::new(&rules)?;
//! let start = prover.initial()?;
//! let take = prover.term("(take 2)")?;
//! assert!(prover.legal(&start, 0)?.contains(&take));
//! let end = prover.next(&start, &[take])?;
//! assert!(prover.is_terminal(&end)?);
//! assert_eq!(prover.goals(&end)?[0].score(), 100);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Syntax and semantics follow [Love et al. 2008].

mod check;
mod ground;
pub mod network;
mod prover;
mod reasoner;
mod scc;
mod syntax;
mod trace;

pub use check::{CheckOptions, check};
pub use ground::GroundError;
pub use prover::{Match, Prover, ProverError, ProverGame, ProverState, State, TermId};
pub use reasoner::{Goal, Reasoner};
pub use syntax::{
    Atom, Code, Document, Expr, ExprKind, Finding, KifError, Literal, MAX_DEPTH, Place, Renaming, Rule, Rules,
    RulesError, Severity, Term, scramble, shuffle,
};
pub use trace::{Engine, ReplayError, TraceLine, View, replay_line, trace};
