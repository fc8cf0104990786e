//! The clock under which a search runs.

use crate::limits::LimitChecker;

/// The clock under which a search runs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum SearchClock {
    /// The start clock before the match. The search takes all of it.
    Start,
    /// A part of the start clock. Holds the share of the start clock, 0 to 1,
    /// that has elapsed when the part begins.
    StartAt(f64),
    /// The clock of a move.
    Play,
}

impl SearchClock {
    /// Returns the share of the start clock, 0 to 1, that has elapsed, or
    /// `None` under the clock of a move.
    pub(super) fn start_elapsed(self, checker: &LimitChecker) -> Option<f64> {
        match self {
            SearchClock::Start => Some(checker.share()),
            SearchClock::StartAt(elapsed) => Some(elapsed),
            SearchClock::Play => None,
        }
    }
}
