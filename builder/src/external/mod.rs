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

pub use frames::FrameStore;
pub(crate) use journal::{CommittedBlocks, EarlierJournal, Effort, Journal};
pub use layer_file::{LayerFile, LayerParts, LayerSummary, LayerWriter, NewLayer, PackedLayerSegment};
pub use layer_stack::SegmentHistory;
pub use numbering::{ChosenPositions, Numbering, StateNumbering};
pub(crate) use partitioning::max_words;
pub use partitioning::{ContextClass, LoadedSegment, PartitionParams, Partitioning, Segment, count_segments};
pub use segment::{PackedSegment, SegmentCodec};
pub use spill::{DiskRecord, SpillBuffer};
pub use stored_part::StoredPart;
pub use work_dir::{LockedDir, Manifest, MemberId, WorkDir, copies_name, layer_name};
