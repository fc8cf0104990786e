//! The Game Description Language (GDL): reads, checks and plays rulesheets.
//!
//! The stages of the pipeline are:
//!
//! 1. `syntax`: [`Document`] is a text in the Knowledge Interchange Format (KIF),
//!    and [`Rules`] are the facts and rules of a rulesheet.
//! 2. `check`: [`check()`] reports errors in a rulesheet.
//! 3. `prover`: [`Prover`] plays a rulesheet by resolution with tabling. The
//!    prover is simple rather than fast, and is the reference for the other
//!    engines.
//! 4. `ground`: instantiates the rules without variables.
//! 5. [`network`]: builds a circuit from the ground rules and plays on it,
//!    thousands of times faster than the prover.
//!    [`NetworkGame`](network::NetworkGame) plays one state at a time,
//!    [`Lanes`](network::Lanes) 512 matches at once, and
//!    [`LaneEnvironment`](network::LaneEnvironment) 512 matches by given moves.
//!
//! ```
//! use sternhalma_gdl::{Prover, Rules};
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
//! The semantics are those of the language specification [Love et al. 2008].
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods))]

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod check;
mod fluents;
mod games;
mod ground;
pub mod network;
mod prover;
mod reasoner;
mod scc;
mod syntax;
mod trace;

pub use check::{CheckOptions, InvalidRulesheet, check};
pub use fluents::FluentDomains;
pub use games::{BuiltInGame, GAMES, read_rulesheet};
pub use ground::{GroundBound, GroundError};
pub use prover::{Prover, ProverError, ProverGame, ProverGameState, ProverLimits, ProverState, RandomMatch, TermId};
pub use reasoner::{Goal, Reasoner};
pub use syntax::{
    Atom, Code, Document, Expr, ExprKind, Finding, IllegalMove, KifError, Literal, MAX_DEPTH, MAX_TERM_LENGTH, Place,
    Renaming, Rule, RuleBound, Rules, RulesError, Rulesheet, Severity, Term, digest, find_move, index_of_name,
    scramble, shuffle,
};
pub use trace::{ReplayError, StateView, TraceEngine, TraceLine, replay_line, trace};
