//! Distances of armies to their goals: from a table, or estimated.

mod advice;
mod distance;
mod draw_in;

pub use advice::TableAdvice;
pub use distance::Distances;
pub use draw_in::DrawIn;
