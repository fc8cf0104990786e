//! The clock a search runs under.

/// Which clock a search runs under.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum SearchClock {
    /// The start clock, before the match, which is over with the search.
    Start,
    /// A part of it; the share of the start clock that is gone, 0 to 1.
    StartAt(f64),
    /// The clock of a move.
    Play,
}
