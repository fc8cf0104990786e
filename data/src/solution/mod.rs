//! Solutions of the two-player game: the value of every position of a board.

mod space;
mod value;

pub use space::{Place, PositionSpace, RowOf};
pub use value::{Code, Layer, Value};
