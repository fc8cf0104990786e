//! Distances of armies to their goals: from a table, or estimated.

mod distance;
mod draw_in;

pub use distance::Distances;
pub use draw_in::DrawIn;
