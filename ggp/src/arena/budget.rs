//! Budgets: limits per move and clocks per game.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sternhalma_game::Limits;
use thiserror::Error;

/// The default number of expansions per move.
pub const MOVE_NODES: u64 = 100_000;

/// The number of moves over which a search spreads the time left.
const MOVES_TO_GO: u32 = 20;

/// The time that a search leaves on the clock.
const RESERVE: Duration = Duration::from_millis(10);

/// The limits of a contestant per move and per game. A search ends at the first limit that it
/// reaches.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    /// Node expansions per move.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nodes: Option<u64>,
    /// Simulations per move.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub playouts: Option<u64>,
    /// Depth of alpha-beta search, in plies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depth: Option<u32>,
    /// Milliseconds per move.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub movetime: Option<u64>,
    /// The clock for a whole game.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<TimeControl>,
}

impl Budget {
    /// The budget of players without any limit: [`MOVE_NODES`] expansions per move.
    pub const DEFAULT: Budget =
        Budget { nodes: Some(MOVE_NODES), playouts: None, depth: None, movetime: None, time: None };

    /// Returns the limits per move, without the clock.
    pub fn limits(&self) -> Limits {
        let time = self.movetime.map(Duration::from_millis);
        Limits { playouts: self.playouts, expansions: self.nodes, depth: self.depth, time }
    }

    /// Returns this budget, or `other` if this one has no limit.
    #[must_use]
    pub fn or(self, other: Budget) -> Budget {
        if self == Budget::default() { other } else { self }
    }

    /// Returns whether a limit depends on time. Games with such a limit are not reproducible.
    pub fn is_timed(&self) -> bool {
        self.movetime.is_some() || self.time.is_some()
    }
}

impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = [
            self.nodes.map(|count| format!("{count} nodes")),
            self.playouts.map(|count| format!("{count} playouts")),
            self.depth.map(|plies| format!("{plies} plies")),
            self.movetime.map(|ms| format!("{ms} ms per move")),
            self.time.map(|time| format!("{time} s")),
        ];
        let limits: Vec<String> = counts.into_iter().flatten().collect();
        f.write_str(&if limits.is_empty() { "no limit".to_owned() } else { limits.join(", ") })
    }
}

/// A time for all moves of a game and an increment per move. The text form `60+0.5` is in
/// seconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct TimeControl {
    /// The time for all moves.
    pub base: Duration,
    /// The time that each move adds.
    pub increment: Duration,
}

impl fmt::Display for TimeControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}+{}", self.base.as_secs_f64(), self.increment.as_secs_f64())
    }
}

impl From<TimeControl> for String {
    fn from(time: TimeControl) -> String {
        time.to_string()
    }
}

/// A text that is not a clock.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("invalid clock `{0}`: expected BASE or BASE+INCREMENT in seconds from 0 to 1000000, e.g. `60+0.5`")]
pub struct TimeControlError(String);

impl TryFrom<String> for TimeControl {
    type Error = TimeControlError;

    fn try_from(text: String) -> Result<TimeControl, TimeControlError> {
        text.parse()
    }
}

impl FromStr for TimeControl {
    type Err = TimeControlError;

    fn from_str(text: &str) -> Result<TimeControl, TimeControlError> {
        let (base, increment) = text.split_once('+').unwrap_or((text, "0"));
        let seconds = |text: &str| {
            let number = text.trim().parse().ok().filter(|seconds| (0.0..=1e6).contains(seconds));
            number.map(Duration::from_secs_f64)
        };
        match (seconds(base), seconds(increment)) {
            (Some(base), Some(increment)) if !base.is_zero() => Ok(TimeControl { base, increment }),
            _ => Err(TimeControlError(text.to_owned())),
        }
    }
}

/// The clock of a contestant during a game.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct GameClock {
    /// The time left.
    pub left: Duration,
    /// The time that each move adds.
    pub increment: Duration,
}

impl GameClock {
    /// Returns the time for the next move: a twentieth of the time left plus the increment. At
    /// least 10 ms stay on the clock.
    pub fn share(&self) -> Duration {
        (self.left / MOVES_TO_GO + self.increment).min(self.left.saturating_sub(RESERVE))
    }

    /// Returns the clock after a move that took `elapsed`.
    #[must_use]
    pub fn after(self, elapsed: Duration) -> GameClock {
        GameClock { left: self.left.saturating_sub(elapsed) + self.increment, ..self }
    }
}

impl From<TimeControl> for GameClock {
    fn from(time: TimeControl) -> GameClock {
        GameClock { left: time.base, increment: time.increment }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn clocks_read_as_they_print() {
        for text in ["60+0.5", "0.25+0", "3+1"] {
            assert_eq!(text.parse::<TimeControl>().unwrap().to_string(), text);
        }
        assert_eq!("2".parse(), Ok(TimeControl { base: Duration::from_secs(2), increment: Duration::ZERO }));
        for text in ["", "0+1", "-1", "1+-1", "x", "1+2+3", "nan", "1e9"] {
            assert!(text.parse::<TimeControl>().unwrap_err().to_string().contains("invalid clock"), "{text}");
        }
    }

    #[test]
    fn a_budget_that_limits_nothing_takes_another() {
        let nodes = Budget { nodes: Some(7), ..Budget::default() };
        let timed = Budget { movetime: Some(20), ..Budget::default() };
        assert_eq!((Budget::default().or(nodes), timed.or(nodes)), (nodes, timed));
        assert_eq!(timed.limits(), Limits::time(Duration::from_millis(20)));
        assert_eq!(nodes.to_string(), "7 nodes");
        assert!(timed.is_timed() && !nodes.is_timed());
    }

    proptest! {
        #[test]
        fn a_clock_never_runs_out(left in 0u64..10_000_000, increment in 0u64..100_000, moves in 1usize..300) {
            let mut clock = GameClock { left: Duration::from_millis(left), increment: Duration::from_millis(increment) };
            for _ in 0..moves {
                let share = clock.share();
                prop_assert!(share.is_zero() || share + RESERVE <= clock.left);
                prop_assert!(share >= clock.left.saturating_sub(RESERVE).min(clock.left / MOVES_TO_GO));
                clock = clock.after(share);
            }
        }
    }
}
