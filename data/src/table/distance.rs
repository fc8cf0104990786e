//! Distances and the answers of a table.

use std::fmt;

use serde::ser::{Serialize, SerializeStruct, Serializer};

/// The fewest moves from a state to the goal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Distance(pub u8);

impl Distance {
    /// The largest distance that a table can store. The byte 255 is free to
    /// mean that there is no distance.
    pub const MAX: Distance = Distance(254);

    /// The number of possible distances, 0 to [`MAX`](Distance::MAX).
    pub const COUNT: usize = Distance::MAX.0 as usize + 1;
}

impl fmt::Display for Distance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The answer of a table for a state.
///
/// | answer | meaning |
/// |---|---|
/// | `Exact(d)` | the goal is exactly `d` moves away |
/// | `UpperBound(d)` | a path of `d` moves stays inside the table's prefix; a path that leaves the prefix may be shorter |
/// | `NotCovered` | a piece is outside the table's prefix |
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Probe {
    /// The distance.
    Exact(Distance),
    /// The length of a shortest path inside the prefix.
    UpperBound(Distance),
    /// The state is outside the table.
    NotCovered,
}

/// A `distance` and whether it is `exact`. Both are null if the state is not
/// covered.
impl Serialize for Probe {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Probe", 2)?;
        fields.serialize_field("distance", &self.distance().map(|distance| distance.0))?;
        fields.serialize_field("exact", &self.is_exact())?;
        fields.end()
    }
}

impl Probe {
    /// Returns the distance or its upper bound if the state is covered.
    pub const fn distance(self) -> Option<Distance> {
        match self {
            Probe::Exact(distance) | Probe::UpperBound(distance) => Some(distance),
            Probe::NotCovered => None,
        }
    }

    /// Returns whether the distance is proven, or `None` if the state is not
    /// covered.
    pub const fn is_exact(self) -> Option<bool> {
        match self {
            Probe::Exact(_) => Some(true),
            Probe::UpperBound(_) => Some(false),
            Probe::NotCovered => None,
        }
    }
}
