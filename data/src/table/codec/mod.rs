//! The encodings of distances: from distances to the bytes of blocks and back.

mod ans;
mod cache;
mod context;
mod encoder;
mod intervals;
mod models;
mod predict;
pub mod rans;
mod reader;
mod walk;
mod zstd;

#[cfg(test)]
mod test_blocks;

pub(crate) use cache::DecodedBlocks;
pub use encoder::BlockEncoder;
pub use models::ans_models;
pub(crate) use reader::{BlockFault, Codec, neighbor_distance, residue};
pub(crate) use zstd::packed;
