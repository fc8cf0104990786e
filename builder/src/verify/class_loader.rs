//! The distances of the states that a context class involves.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use rayon::prelude::*;
use sternhalma_data::{DistanceStream, Encoding, Prefix, Table};

use super::streams::stream;
use crate::error::{BuilderError, Result};
use crate::external::{ContextClass, LoadedSegment, Partitioning};
use crate::observer::Observer;
use crate::ranks::BitOffsets;

/// The states that are read together are at most those of a segment and this many.
const JOINED: usize = 1 << 18;

/// Mapped pages of the table are released after this many states.
const RELEASE: usize = 1 << 21;

/// A reader of the distances of context classes.
pub struct ClassLoader<'a> {
    table: &'a Table,
    partitioning: &'a Partitioning<Prefix>,
    /// The segment of the first reader.
    first_segment: u64,
    /// A reader at the start of each segment, or none if streams can begin at any rank.
    readers: Vec<DistanceStream<'a>>,
}

impl<'a> ClassLoader<'a> {
    /// The memory of a reader of distances, in bytes.
    const READER: u64 = 3 << 10;

    /// Returns the memory for the readers of this many segments, in bytes.
    pub fn memory(encoding: Encoding, segments: u64) -> u64 {
        if keeps_readers(encoding) { segments.saturating_mul(ClassLoader::READER) } else { 0 }
    }

    /// Creates a reader that begins to read each segment at an arbitrary rank.
    pub fn new(table: &'a Table, partitioning: &'a Partitioning<Prefix>) -> ClassLoader<'a> {
        ClassLoader { table, partitioning, first_segment: 0, readers: Vec::new() }
    }

    /// Creates a reader of the classes from this partition on.
    ///
    /// To read a table of distances modulo 3 from an arbitrary rank would need random access to the
    /// whole table. A single pass over the table therefore keeps a reader at the start of each segment.
    pub fn prepare(
        table: &'a Table,
        partitioning: &'a Partitioning<Prefix>,
        first: u64,
        observer: &dyn Observer,
    ) -> Result<ClassLoader<'a>> {
        let mut loader = ClassLoader::new(table, partitioning);
        if !keeps_readers(table.encoding()) {
            return Ok(loader);
        }
        let mut partitions = (first..partitioning.partitions()).filter(|&p| !partitioning.segments_of(p).1.is_empty());
        let Some(first) = partitions.next() else { return Ok(loader) };
        loader.first_segment = partitioning.segments_of(first).0;
        let ranks = partitioning.first_index(loader.first_segment)..table.prefix().states();
        let mut reader = stream(table, ranks)?.release_pages(true);
        let mut skipped = Vec::new();
        for segment in (first..partitioning.partitions()).flat_map(|partition| partitioning.segments_of(partition).1) {
            if observer.cancelled() {
                return Err(BuilderError::Cancelled);
            }
            loader.readers.push(reader.clone());
            skipped.resize((segment.bits.end - segment.bits.start) as usize, 0);
            reader.read(&mut skipped)?;
            table.release_pages();
        }
        Ok(loader)
    }

    /// Reads the distances of the states that a class involves.
    ///
    /// Consecutive small segments are read together, because blocks may be compressed as a whole.
    pub fn load(&self, class: &ContextClass<BitOffsets>, distances: &mut [u8]) -> Result<()> {
        let partitioning = self.partitioning;
        let segments = partitioning.own_segments(class).into_iter().chain(partitioning.successor_segments(class));
        let (mut rest, mut done) = (distances, 0);
        let mut tasks: Vec<(u64, &mut [u8])> = Vec::new();
        for (number, bits) in join_segments(segments) {
            let (own, left) = rest[bits.start - done..].split_at_mut(bits.len());
            (rest, done) = (left, bits.end);
            tasks.push((number, own));
        }
        let unreleased = AtomicUsize::new(0);
        tasks.into_par_iter().try_for_each(|(segment, own)| {
            self.reader(segment, own.len())?.read(own)?;
            if unreleased.fetch_add(own.len(), Relaxed) > RELEASE {
                unreleased.store(0, Relaxed);
                self.table.release_pages();
            }
            Ok(())
        })
    }

    /// Returns a reader of this many states from the start of a segment on.
    fn reader(&self, segment: u64, states: usize) -> Result<DistanceStream<'a>> {
        if self.readers.is_empty() {
            let first = self.partitioning.first_index(segment);
            return Ok(stream(self.table, first..first + states as u64)?);
        }
        Ok(self.readers[(segment - self.first_segment) as usize].clone())
    }
}

/// Returns the first segments and the positions of states with consecutive ranks.
fn join_segments(segments: impl Iterator<Item = LoadedSegment>) -> Vec<(u64, Range<usize>)> {
    let mut joined: Vec<(u64, Range<usize>)> = Vec::new();
    let mut next_segment = u64::MAX;
    for segment in segments {
        let bits = segment.bits();
        match joined.last_mut() {
            // Segments with consecutive numbers have consecutive ranks.
            Some((_, before))
                if segment.number == next_segment && before.end == bits.start && before.len() < JOINED =>
            {
                before.end = bits.end;
            }
            _ => joined.push((segment.number, bits)),
        }
        next_segment = segment.number + 1;
    }
    joined
}

fn keeps_readers(encoding: Encoding) -> bool {
    encoding == Encoding::Mod3
}
