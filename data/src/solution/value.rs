//! The values of positions, and their codes.

use std::fmt;

/// The value of a position for the player to move, if both players play well: the winner as fast as possible, the loser
/// as slowly as possible.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Value {
    /// No game has this position.
    Illegal,
    /// Neither player can force a win.
    Draw,
    /// The player to move loses in this number of plies.
    Loss(u32),
    /// The player to move wins in this number of plies.
    Win(u32),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Illegal => f.write_str("illegal"),
            Value::Draw => f.write_str("draw"),
            Value::Loss(plies) => write!(f, "loss in {plies}"),
            Value::Win(plies) => write!(f, "win in {plies}"),
        }
    }
}

/// The positions with the same value. A win or a loss has a layer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Layer {
    /// The value, a win or a loss.
    pub value: Value,
    /// The number of positions, in which the mirror image of a position counts separately.
    pub positions: u64,
}

/// The value of a position as a byte: illegal, drawn, or the number of its layer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Code(pub u8);

impl Code {
    /// The code of drawn positions.
    pub const DRAW: Code = Code(0);
    /// The code of illegal positions.
    pub const ILLEGAL: Code = Code(1);

    /// Returns the code of a layer, or `None` if there are too many layers.
    pub fn of_layer(number: usize) -> Option<Code> {
        u8::try_from(number + 2).ok().map(Code)
    }

    /// Returns the value of this code, given the layers, or `None` if there is no such layer.
    #[inline]
    pub fn value(self, layers: &[Layer]) -> Option<Value> {
        match self {
            Code::DRAW => Some(Value::Draw),
            Code::ILLEGAL => Some(Value::Illegal),
            Code(code) => layers.get(usize::from(code) - 2).map(|layer| layer.value),
        }
    }
}
