//! Games between contestants.
mod budget;
mod contestant;

pub use budget::{Budget, Clock, TimeControl};
pub use contestant::{Contestant, Fault, FaultKind, PolicyPlayer, Request};
