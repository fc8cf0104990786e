//! Breadth-first search from the goal.
//!
//! Both searches expand a layer with the same bit-parallel [`Expander`]:
//! [`breadth_first_search`] over bitmaps of all states, or of all canonical states, in memory, and
//! [`ExternalSearch`] over the partitions of layers on disk.

mod distance_planes;
mod expander;
mod in_memory;
mod occupancy;
mod out_of_core;
mod run_bits;

pub(crate) use distance_planes::{DistancePlanes, MAX_LAYERS, new_bitmap};
pub(crate) use expander::{Expander, Field, MAX_SLICES_BYTES, RowExpander, RowMoves, RowScratch};
pub(crate) use in_memory::{BfsResult, breadth_first_search, memory_needed};
pub(crate) use occupancy::Occupancy;
pub use out_of_core::ExternalSearch;
