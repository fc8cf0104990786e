//! External memory: partitions of the states, and their files.
//!
//! These modules know ranks and bitmaps but no moves, so that the search and
//! the verifier can share them.

mod bit_coder;
mod delta;
mod frames;
mod journal;
mod layer_file;
mod layer_stack;
mod neighbors;
mod numbering;
mod partitioning;
mod segment;
mod spill;
mod stored_part;
mod work_dir;

pub(crate) use frames::FrameStore;
pub(crate) use journal::{CommittedBlocks, EarlierJournal, Effort, Journal};
pub(crate) use layer_file::{LayerFile, LayerParts, LayerSummary, LayerWriter, NewLayer, PackedLayerSegment};
pub(crate) use layer_stack::SegmentHistory;
pub(crate) use numbering::Numbering;
pub(crate) use partitioning::{
    ContextClass, LoadedSegment, PartitionParams, Partitioning, Segment, count_segments, max_words,
};
pub(crate) use segment::{PackedSegment, SegmentCodec};
pub(crate) use spill::{DiskRecord, SpillBuffer};
pub(crate) use stored_part::StoredPart;
pub(crate) use work_dir::{LockedDir, Manifest, MemberId, WorkDir, copies_name, layer_name};
