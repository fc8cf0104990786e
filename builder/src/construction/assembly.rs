//! The table from its layers.

use std::mem;
use std::ops::Range;
use std::sync::Arc;

use sternhalma_data::Encoding;
use sternhalma_data::table::fs::{FileSystem, Traffic};
use sternhalma_data::table::write::{BlockEncoder, TableWriter, WrittenBlock};
use sternhalma_data::table::{Block, Layout};

use crate::bits::or_run;
use crate::error::{BuilderError, Result};
use crate::external::{CommittedBlocks, Effort, Journal, LayerFile, Partitioning, SegmentHistory, WorkDir};
use crate::process::{Stopwatch, peak_memory};
use crate::search::{DistancePlanes, Occupancy, new_bitmap};

/// Returns the number of segments whose states are all in the first `blocks` blocks of a table.
pub(super) fn segments_before(partitioning: &Partitioning, layout: &Layout, blocks: u64) -> u64 {
    let Some(states) = blocks.checked_sub(1).map(|last| layout.block(last).indices.end) else { return 0 };
    if states == partitioning.states() {
        return partitioning.segments();
    }
    let (first, ..) = partitioning.segments_of_indices(states..states + 1).next().expect("every state is in a segment");
    first
}

/// The commits of a table that is written from its layers. Committed blocks are durable, and their
/// layers are freed, so that layers and table together take little more disk space than the larger
/// of the two.
pub(super) struct TableCommits<'a> {
    storage: &'a Arc<dyn FileSystem>,
    work: &'a WorkDir,
    assembler: &'a TableAssembler<'a>,
    /// The bytes of the blocks of a commit. A commit may have up to a batch of blocks more.
    commit_bytes: u64,
    journal: Option<Journal>,
    /// The number of committed blocks.
    blocks: usize,
    /// The number of segments that are freed.
    freed: u64,
    effort: Effort,
    stopwatch: Stopwatch,
    traffic: Traffic,
}

impl<'a> TableCommits<'a> {
    pub fn new(
        storage: &'a Arc<dyn FileSystem>,
        work: &'a WorkDir,
        assembler: &'a TableAssembler<'a>,
        commit_bytes: u64,
    ) -> TableCommits<'a> {
        TableCommits {
            storage,
            work,
            assembler,
            commit_bytes,
            journal: None,
            blocks: 0,
            freed: 0,
            effort: Effort::default(),
            stopwatch: Stopwatch::start(),
            traffic: storage.traffic(),
        }
    }

    /// Continues after the commits of an interrupted process.
    pub fn resume(&mut self, journal: Journal, committed: CommittedBlocks, writer: &mut TableWriter) -> Result<()> {
        self.blocks = committed.blocks.len();
        self.effort = committed.effort;
        self.journal = Some(journal);
        writer.resume(committed.blocks)?;
        // The process may have been killed before it freed the last segments.
        self.free(writer)
    }

    /// Commits the blocks after the last commit if there are enough of them.
    pub fn commit(&mut self, writer: &mut TableWriter) -> Result<()> {
        let length = |block: &WrittenBlock| u64::from(block.length);
        if writer.written()[self.blocks..].iter().map(length).sum::<u64>() < self.commit_bytes {
            return Ok(());
        }
        writer.sync()?;
        let effort = self.lap();
        let journal = match &mut self.journal {
            Some(journal) => journal,
            none => {
                let path = self.work.dir.journal_path();
                none.insert(Journal::create(self.storage, &path, self.work.fingerprint())?)
            }
        };
        journal.commit(&writer.written()[self.blocks..], effort)?;
        self.blocks = writer.written().len();
        self.effort = self.effort.and(effort);
        self.free(writer)
    }

    /// Frees the segments of the committed blocks.
    fn free(&mut self, writer: &TableWriter) -> Result<()> {
        let segments = segments_before(self.assembler.partitioning, writer.layout(), self.blocks as u64);
        self.assembler.layers.iter().try_for_each(|layer| layer.free(self.freed..segments))?;
        self.freed = segments;
        Ok(())
    }

    /// Returns the effort of all blocks.
    pub fn effort(mut self) -> Effort {
        let rest = self.lap();
        self.effort.and(rest)
    }

    /// Returns the effort since the last call.
    fn lap(&mut self) -> Effort {
        let (wall_s, cpu_s) = mem::replace(&mut self.stopwatch, Stopwatch::start()).seconds();
        let traffic = self.storage.traffic();
        let Traffic { read, written } = traffic.since(mem::replace(&mut self.traffic, traffic));
        Effort { wall_s, cpu_s, read, written, peak_bytes: peak_memory() }
    }
}

/// Assembles the blocks of a table from its layers.
pub struct TableAssembler<'a> {
    /// The partitions of the layers.
    pub partitioning: &'a Partitioning,
    /// The layers, in order of their distances.
    pub layers: &'a [LayerFile],
    /// The encoding of the table.
    pub encoding: Encoding,
}

impl TableAssembler<'_> {
    /// Returns the bytes of each of these consecutive blocks. The distances of
    /// the blocks are first collected from the layers, in bit planes.
    pub fn encode(&self, encoder: &mut BlockEncoder, blocks: &[Block]) -> Result<Vec<Vec<u8>>> {
        self.encode_with(encoder, blocks, &[])
    }

    /// Returns the bytes of blocks as [`encode`](TableAssembler::encode) does, if the layers lack some states. Those
    /// have the given distances, each from an index on.
    pub fn encode_with(
        &self,
        encoder: &mut BlockEncoder,
        blocks: &[Block],
        others: &[(u64, Vec<u8>)],
    ) -> Result<Vec<Vec<u8>>> {
        let (Some(first), Some(last)) = (blocks.first(), blocks.last()) else { return Ok(Vec::new()) };
        let start = first.indices.start;
        let planes = self.planes_with(start..last.indices.end, others)?;
        Ok(blocks
            .iter()
            .map(|block| planes.encode_block(start, block.indices.clone(), self.encoding, encoder))
            .collect())
    }

    /// Reads the distances of the states from index `start` on, or the distances modulo 3.
    ///
    /// # Errors
    /// If a layer cannot be read, or there is no memory.
    pub fn read(&self, start: u64, out: &mut [u8]) -> Result<()> {
        self.planes_with(start..start + out.len() as u64, &[])?.read(0, out);
        Ok(())
    }

    /// Returns the distances. Bit `i` of the planes belongs to the state with the index `indices.start + i`.
    /// States that the layers lack have the given distances, each from an index on.
    fn planes_with(&self, indices: Range<u64>, others: &[(u64, Vec<u8>)]) -> Result<DistancePlanes> {
        let states = indices.end - indices.start;
        // Eight bitmaps take a byte per state: six binary digits of a distance, the seen states, and a layer.
        let no_memory = |_| BuilderError::OutOfMemory { needed: states };
        let mut planes = DistancePlanes::new(states, self.encoding).map_err(no_memory)?;
        let mut layer_states = new_bitmap(states).map_err(no_memory)?;
        let mut occupancy = Occupancy::new(layer_states.len());
        let mut history = SegmentHistory::new(self.partitioning.segment_words());
        for (number, segment, first) in self.partitioning.segments_of_indices(indices.clone()) {
            // `first` is the index of the segment's first state, whose bit may lie
            // within the first word. `last` is the index after its last state.
            let last = first + (segment.bits.end - segment.bits.start);
            let (start, end) = (first.max(indices.start), last.min(indices.end));
            let skipped = segment.bits.start % 64 + (start - first);
            let bits = start - indices.start..end - indices.start;
            occupancy.clear();
            occupancy.mark_bits(bits.start, bits.end - bits.start);
            history.for_each(self.partitioning, number, self.layers, |_, distance, words| {
                or_run(&mut layer_states, bits.start, words, skipped, end - start);
                planes.add(&layer_states, &occupancy, distance as u8).map_err(no_memory)?;
                layer_states[(bits.start / 64) as usize..bits.end.div_ceil(64) as usize].fill(0);
                Ok(())
            })?;
        }
        for (first, distances) in others {
            let offset = first - indices.start;
            occupancy.clear();
            occupancy.mark_bits(offset, distances.len() as u64);
            for distance in 0..=distances.iter().copied().max().unwrap_or(0) {
                let states = (offset..).zip(distances).filter(|(_, found)| **found == distance);
                states.for_each(|(bit, _)| layer_states[(bit / 64) as usize] |= 1 << (bit % 64));
                planes.add(&layer_states, &occupancy, distance).map_err(no_memory)?;
                layer_states.fill(0);
            }
        }
        assert!(planes.all_seen(states), "every state is in a layer");
        Ok(planes)
    }
}
