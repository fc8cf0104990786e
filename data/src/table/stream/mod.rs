//! Distances of consecutive ranks.

mod distance_stream;
mod mod3;

pub use distance_stream::DistanceStream;
