//! What contestants may spend.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::limits::Limits;

/// A clock is shared out over so many moves.
const MOVES_TO_GO: u32 = 20;

/// What stays on a clock.
const RESERVE: Duration = Duration::from_millis(10);

/// What a contestant may spend on a move, and on all moves of a game. A search
/// ends at whichever limit comes first.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    /// Node expansions a move.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nodes: Option<u64>,
    /// Simulations a move.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub playouts: Option<u64>,
    /// Plies of depth-first search.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depth: Option<u32>,
    /// Milliseconds a move.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub movetime: Option<u64>,
    /// The clock of a game.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<TimeControl>,
}

impl Budget {
    /// The limits of a move, but for the clock.
    pub fn limits(&self) -> Limits {
        let time = self.movetime.map(Duration::from_millis);
        Limits { playouts: self.playouts, expansions: self.nodes, depth: self.depth, time }
    }

    /// This budget, or the other if this one limits nothing.
    #[must_use]
    pub fn or(self, other: Budget) -> Budget {
        if self == Budget::default() { other } else { self }
    }

    /// Whether time is limited, so that a game played again may be another.
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
            self.movetime.map(|ms| format!("{ms} ms a move")),
            self.time.map(|time| format!("{time} s")),
        ];
        let told: Vec<String> = counts.into_iter().flatten().collect();
        f.write_str(&if told.is_empty() { "no limit".to_owned() } else { told.join(", ") })
    }
}

/// The time for all moves of a game and what each move adds to it, written
/// `60+0.5` in seconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct TimeControl {
    /// For all moves.
    pub base: Duration,
    /// For each move.
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

impl TryFrom<String> for TimeControl {
    type Error = String;

    fn try_from(text: String) -> Result<TimeControl, String> {
        text.parse()
    }
}

impl FromStr for TimeControl {
    type Err = String;

    fn from_str(text: &str) -> Result<TimeControl, String> {
        let (base, increment) = text.split_once('+').unwrap_or((text, "0"));
        let seconds = |text: &str| {
            let number = text.trim().parse().ok().filter(|seconds| (0.0..=1e6).contains(seconds));
            number.map(Duration::from_secs_f64)
        };
        match (seconds(base), seconds(increment)) {
            (Some(base), Some(increment)) if !base.is_zero() => Ok(TimeControl { base, increment }),
            _ => Err(format!("`{text}` is no clock; one is written `60+0.5`, seconds for all moves and for each")),
        }
    }
}

/// The clock of a contestant.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Clock {
    /// The time left.
    pub left: Duration,
    /// What a move adds.
    pub increment: Duration,
}

impl Clock {
    /// What a search may take for a move: a twentieth of the time left and the
    /// increment, so that at least 10 ms stay.
    pub fn share(&self) -> Duration {
        (self.left / MOVES_TO_GO + self.increment).min(self.left.saturating_sub(RESERVE))
    }

    /// The clock after a move that took so long.
    #[must_use]
    pub fn after(self, elapsed: Duration) -> Clock {
        Clock { left: self.left.saturating_sub(elapsed) + self.increment, ..self }
    }
}

impl From<TimeControl> for Clock {
    fn from(time: TimeControl) -> Clock {
        Clock { left: time.base, increment: time.increment }
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
            assert!(text.parse::<TimeControl>().unwrap_err().contains("is no clock"), "{text}");
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
            let mut clock = Clock { left: Duration::from_millis(left), increment: Duration::from_millis(increment) };
            for _ in 0..moves {
                let share = clock.share();
                prop_assert!(share.is_zero() || share + RESERVE <= clock.left);
                prop_assert!(share >= clock.left.saturating_sub(RESERVE).min(clock.left / MOVES_TO_GO));
                clock = clock.after(share);
            }
        }
    }
}
