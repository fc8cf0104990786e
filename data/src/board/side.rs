//! The two players of a game.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thiserror::Error;

/// One of the two players.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Side {
    /// The first player, who starts at `a1` and moves to the opposite corner.
    X,
    /// The second player, who moves to `a1`.
    O,
}

impl Side {
    /// Both players, the first player first.
    pub const BOTH: [Side; 2] = [Side::X, Side::O];

    /// Returns the other player.
    #[inline]
    #[must_use]
    pub const fn other(self) -> Side {
        match self {
            Side::X => Side::O,
            Side::O => Side::X,
        }
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Side::X => "x",
            Side::O => "o",
        })
    }
}

/// The error for text that names no player.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
#[error("expected the player `x` or `o`, got `{0}`")]
pub struct ParseSideError(String);

impl FromStr for Side {
    type Err = ParseSideError;

    fn from_str(text: &str) -> Result<Side, ParseSideError> {
        match text {
            "x" => Ok(Side::X),
            "o" => Ok(Side::O),
            _ => Err(ParseSideError(text.to_owned())),
        }
    }
}

impl Serialize for Side {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Side {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Side, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}
