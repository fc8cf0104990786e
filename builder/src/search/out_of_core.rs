//! External-memory breadth-first search: layers on disk, one partition and its
//! successors in memory.
//!
//! Moves are reversible, so a successor of a layer is in the layer itself, in
//! the previous layer or in the next layer. Delayed duplicate detection [Korf
//! 2004] against two layers therefore suffices, and no set of seen states is
//! needed. The search reads *whole* segments, which can be decoded without other
//! layers. A layer that is stored as the difference to the two previous layers has
//! a copy with whole segments, which is removed after two more layers ([`NewLayer`]).
//!
//! Context classes ([`Partitioning`]) are processed in order. The states of the
//! layer in a class are unpacked and expanded as in memory. The states reached
//! in later partitions are spilled ([`SpillBuffer`]). The partition of the
//! class is then complete, and is packed and written.

use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard};

use rayon::prelude::*;
use sternhalma_data::board::Symmetry;
use sternhalma_data::table::fs::FileSystem;

use super::expander::{Expander, ExpanderScratch, LayerBitmaps};
use super::occupancy::{BLOCK, Occupancy};
use crate::error::{BuilderError, Result};
use crate::external::{
    ChosenPositions, ContextClass, FrameStore, LayerFile, LayerParts, LayerSummary, LoadedSegment, NewLayer, Numbering,
    PackedLayerSegment, PackedSegment, PartitionParams, Partitioning, Segment, SegmentCodec, SpillBuffer,
    StateNumbering, count_segments, max_words,
};
use crate::observer::Observer;
use crate::options::LayerForm;
use crate::ranks::BitOffsets;

/// The tasks per thread in a class, so that all threads finish at about the same time.
const TASKS: u64 = 32;

/// The segments that a thread packs before they are written.
const SEGMENTS_PER_BATCH: usize = 4;

/// A search over layers on disk.
pub struct ExternalSearch<'a> {
    /// The partitions of the layers.
    pub partitioning: &'a Partitioning,
    upper: usize,
    expander: Expander,
    workers: Vec<Mutex<ThreadBuffers>>,
    bitmaps: ClassBitmaps,
    spill: SpillBuffer,
    /// If only canonical states are stored, the indices of those that are their own mirror images, in order.
    symmetric: Option<Vec<u64>>,
    form: LayerForm,
    observer: &'a dyn Observer,
}

/// The bitmaps of a class.
struct ClassBitmaps {
    /// The states of the layer in the current class.
    frontier: Vec<u64>,
    occupancy: Occupancy,
    /// The states that the current class reaches.
    next: Vec<AtomicU64>,
    next_occupancy: Occupancy,
}

impl ClassBitmaps {
    /// Creates empty bitmaps of this many words.
    fn new(words: usize) -> ClassBitmaps {
        ClassBitmaps {
            frontier: vec![0; words],
            occupancy: Occupancy::new(words),
            next: (0..words).map(|_| AtomicU64::new(0)).collect(),
            next_occupancy: Occupancy::new(words),
        }
    }

    /// Returns the memory of bitmaps of this many words, in bytes.
    fn memory(words: usize) -> u64 {
        let bytes = (words as u64).saturating_mul(8);
        bytes.saturating_add(Occupancy::memory(bytes)).saturating_mul(2)
    }
}

/// The buffers of one thread.
struct ThreadBuffers {
    scratch: ExpanderScratch,
    codec: SegmentCodec,
    words: Vec<u64>,
    spare: Vec<u64>,
    /// A segment of the layer that is expanded, and of the one before.
    last: Vec<u64>,
    before: Vec<u64>,
}

impl ThreadBuffers {
    fn new(expander: &Expander, params: PartitionParams) -> ThreadBuffers {
        let [words, spare, last, before] = [(); 4].map(|()| vec![0; params.segment_words + 1]);
        ThreadBuffers { scratch: expander.scratch(), codec: SegmentCodec::default(), words, spare, last, before }
    }

    /// Returns an upper bound of the memory of the buffers, and of the packed segments of a thread, in bytes.
    fn memory(numbering: &Numbering, params: PartitionParams) -> u64 {
        let (prefix, segment_bytes) = (numbering.prefix(), 8 * params.segment_words as u64);
        let mirrored = numbering.symmetry().map(|_| Expander::reduced_scratch_memory(prefix, params.slice_pieces));
        // Packed segments, for both files of a layer: being made, waiting, being written.
        let packed = 6 * SEGMENTS_PER_BATCH as u64 * segment_bytes;
        Expander::scratch_memory(prefix, params.slice_pieces)
            + mirrored.unwrap_or(0)
            + SegmentCodec::memory(params.segment_words)
            + SegmentCodec::delta_memory(params.segment_words)
            + 4 * segment_bytes
            + packed
    }
}

/// The states of a segment that a class has reached, and buffers of its length.
struct ReachedSegment<'a> {
    number: u64,
    words: &'a mut [u64],
    last: &'a mut [u64],
    before: &'a mut [u64],
    codec: &'a mut SegmentCodec,
}

impl<'a> ExternalSearch<'a> {
    /// Allocates the bitmaps, and buffers for each thread of the current pool. Layers are written in the form `form`.
    /// States that exceed the memory are spilled to the file `spill_path`. `partitioning` is that of `params`.
    pub fn new(
        partitioning: &'a Partitioning,
        params: PartitionParams,
        form: LayerForm,
        storage: &Arc<dyn FileSystem>,
        spill_path: &Path,
        observer: &'a dyn Observer,
    ) -> ExternalSearch<'a> {
        let numbering = partitioning.numbering();
        let prefix = numbering.prefix();
        let expander = match numbering.symmetry() {
            None => Expander::new(prefix, params.slice_pieces),
            Some(symmetry) => Expander::reduced(symmetry.clone(), params.slice_pieces),
        };
        let symmetric = numbering.symmetry().map(Symmetry::symmetric_reduced_ranks);
        let thread_buffers = |_| Mutex::new(ThreadBuffers::new(&expander, params));
        let workers = (0..rayon::current_num_threads()).map(thread_buffers).collect();
        ExternalSearch {
            upper: prefix.board().pieces() - 1 - params.slice_pieces,
            bitmaps: ClassBitmaps::new(partitioning.max_words()),
            partitioning,
            workers,
            expander,
            spill: SpillBuffer::new(storage, spill_path, params.spill_bytes),
            symmetric,
            form,
            observer,
        }
    }

    /// Returns the memory of a search without spilled states, in bytes.
    pub fn memory(numbering: &Numbering, threads: usize, params: PartitionParams) -> u64 {
        let (prefix, PartitionParams { fixed_pieces, slice_pieces, .. }) = (numbering.prefix(), params);
        // There are at most as many canonical segments.
        let segments = count_segments(prefix, fixed_pieces, params.segment_words);
        let mirrored = numbering.symmetry().map_or(0, |symmetry| Expander::reduced_memory(symmetry, slice_pieces));
        ClassBitmaps::memory(max_words(numbering, fixed_pieces))
            .saturating_add(mirrored)
            .saturating_add(Expander::memory(prefix, slice_pieces))
            .saturating_add(LayerFile::memory(segments).saturating_mul(3))
            .saturating_add(Partitioning::<Numbering>::memory(prefix, fixed_pieces))
            .saturating_add((threads as u64).saturating_mul(ThreadBuffers::memory(numbering, params)))
    }

    /// Returns the class of a partition.
    pub fn class(&self, partition: u64) -> ContextClass {
        self.partitioning.class(partition, self.upper)
    }

    /// Returns the number of groups of contexts, which are the steps of a layer.
    pub fn groups(&self) -> u64 {
        self.expander.groups()
    }

    /// Writes the layer after `layer`, whose predecessor is `before`. The segments of both files are whole. The
    /// returned summary lacks times and traffic.
    ///
    /// A layer takes two steps per partition: its contexts are expanded, and the partition is closed
    /// once no context can reach it any longer. Here the contexts of earlier partitions are
    /// expanded first, so a partition is closed as soon as its own contexts are expanded.
    pub fn expand(&mut self, layer: LayerParts, before: LayerParts, out: &mut NewLayer) -> Result<LayerSummary> {
        let escapes = AtomicBool::new(false);
        let mut states = 0;
        let mut class = self.partitioning.class(0, self.upper);
        for partition in 0..self.partitioning.partitions() {
            if self.observer.cancelled() {
                return Err(BuilderError::Cancelled);
            }
            let following = (partition + 1 < self.partitioning.partitions())
                .then(|| self.partitioning.class(partition + 1, self.upper));
            if let Some(following) = &following {
                self.segments(following).for_each(|segments| layer.prefetch(segments));
            }
            before.prefetch(self.own_segments(partition));
            let any = self.expand_contexts(&class, layer, &escapes)?;
            // Spilling involves only later partitions, and writing only this
            // one, so that both run in parallel.
            let spill = || if any { self.spill_successors(&class) } else { Ok(()) };
            let (spilled, written) = rayon::join(spill, || self.write_partition(&class, any, before, out));
            spilled?;
            states += written?;
            self.bitmaps.next_occupancy.clear();
            if let Some(following) = following {
                class = following;
            }
        }
        self.end_layer();
        let successors = self.take_successors();
        Ok(LayerSummary { states, escapes: escapes.into_inner(), successors, ..LayerSummary::default() })
    }

    /// Expands the contexts of a class. Returns false if the layer has no state in them. Sets `escapes`
    /// if a successor is outside the prefix. The reached states remain in the bitmap.
    pub fn expand_contexts(&mut self, class: &ContextClass, layer: LayerParts, escapes: &AtomicBool) -> Result<bool> {
        let any = self.segments(class).any(|segments| !layer.is_empty(segments));
        if any {
            self.load(class, layer)?;
            self.expand_class(class, escapes);
        }
        self.observer.advance(class.groups.end - class.groups.start);
        Ok(any)
    }

    /// Returns the number of successors since the last call.
    pub fn take_successors(&mut self) -> u64 {
        let workers = self.workers.iter_mut().map(|worker| worker.get_mut().expect("no worker panicked"));
        workers.map(|worker| worker.scratch.take_successors()).sum()
    }

    fn own_segments(&self, partition: u64) -> Range<u64> {
        let (first, segments) = self.partitioning.segments_of(partition);
        first..first + segments.len() as u64
    }

    /// Iterates over the segments of a class: those of its partition and of its successors.
    fn segments(&self, class: &ContextClass) -> impl Iterator<Item = Range<u64>> {
        let own = self.own_segments(class.partition);
        std::iter::once(own).chain(class.successors.iter().map(|successor| successor.segments.clone()))
    }

    /// Unpacks the states of the layer in a class.
    fn load(&mut self, class: &ContextClass, layer: LayerParts) -> Result<()> {
        let mut parts = self.partitioning.own_segments(class);
        parts.extend(self.partitioning.successor_segments(class));
        // Each part gets the words up to the start of the next one. If the
        // two share a word, the first of them has one word too many.
        let ends: Vec<usize> = parts.iter().skip(1).map(|part| part.at).chain([class.words]).collect();
        let mut rest = &mut self.bitmaps.frontier[..class.words];
        let mut tasks = Vec::with_capacity(parts.len());
        let mut done = 0;
        for (part, end) in parts.iter().zip(ends) {
            let (own, left) = rest.split_at_mut(end - done);
            tasks.push((part, own));
            (rest, done) = (left, end);
        }
        // The parts of a segment are loaded together.
        tasks.sort_by_key(|(part, _)| part.number);
        let mut tasks: Vec<&mut [(&LoadedSegment, &mut [u64])]> =
            tasks.chunk_by_mut(|(a, _), (b, _)| a.number == b.number).collect();
        let workers = &self.workers;
        let load = |parts: &mut &mut [(&LoadedSegment, &mut [u64])]| -> Result<Vec<(usize, u64)>> {
            parts.iter_mut().for_each(|(_, own)| own.fill(0));
            let ThreadBuffers { codec, words, .. } = &mut *buffers(workers);
            let LoadedSegment { number, segment, .. } = parts[0].0;
            let words = &mut words[..segment.words().len()];
            if !layer.read(*number, words, codec)? {
                return Ok(Vec::new());
            }
            let mut shared = Vec::new();
            for (loaded, own) in parts.iter_mut() {
                let range = loaded.part.words();
                let states = |word: usize| words[word - segment.words().start] & loaded.part.mask(word);
                own.iter_mut().zip(range.clone()).for_each(|(own, word)| *own = states(word));
                shared.extend(range.skip(own.len()).map(|word| (loaded.at + own.len(), states(word))));
            }
            Ok(shared)
        };
        let shared: Vec<Vec<(usize, u64)>> = tasks.par_iter_mut().map(load).collect::<Result<_>>()?;
        shared.into_iter().flatten().for_each(|(at, word)| self.bitmaps.frontier[at] |= word);
        Ok(())
    }

    fn expand_class(&mut self, class: &ContextClass, escapes: &AtomicBool) {
        let frontier = &self.bitmaps.frontier[..class.words];
        self.bitmaps.occupancy.update(frontier);
        let (offsets, intervals) = match &class.positions {
            ChosenPositions::ByRank(offsets) => (offsets.as_ref(), None),
            ChosenPositions::ByReducedRank(intervals) => (&BitOffsets::ZERO, Some(intervals)),
        };
        let layer = LayerBitmaps {
            offsets,
            intervals,
            frontier,
            occupancy: &self.bitmaps.occupancy,
            seen: [frontier, frontier],
            unseen_blocks: None,
            next: &self.bitmaps.next[..class.words],
            next_occupancy: &self.bitmaps.next_occupancy,
            escapes,
        };
        let count = class.groups.end - class.groups.start;
        let grain = (count / (TASKS * self.workers.len() as u64)).clamp(1, 64);
        // The groups with the highest pieces are the largest, so they come first.
        let left = AtomicU64::new(count.div_ceil(grain));
        rayon::broadcast(|_| {
            let scratch = &mut buffers(&self.workers).scratch;
            while let Ok(task) = left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)) {
                let first = class.groups.start + (task - 1) * grain;
                let batch = first..class.groups.end.min(first + grain);
                batch.for_each(|group| self.expander.expand_group(group, &layer, scratch));
            }
        });
    }

    /// Moves the reached states of later partitions from the bitmap to the spill buffer.
    fn spill_successors(&self, class: &ContextClass) -> Result<()> {
        let add = |reached: ReachedSegment| self.spill.add(reached.number, reached.words, reached.codec);
        self.take_reached(self.partitioning.successor_segments(class), add)
    }

    /// Removes the reached states of these segments from the bitmap, and passes each segment with such states to `take`.
    fn take_reached(
        &self,
        mut parts: Vec<LoadedSegment>,
        take: impl Fn(ReachedSegment) -> Result<()> + Sync,
    ) -> Result<()> {
        parts.sort_by_key(|part| part.number);
        let segments: Vec<&[LoadedSegment]> = parts.chunk_by(|a, b| a.number == b.number).collect();
        segments.into_par_iter().try_for_each(|parts| {
            let reached = |part: &LoadedSegment| part.at..part.at + part.words();
            if !parts.iter().any(|part| self.any_reached(reached(part))) {
                return Ok(());
            }
            let ThreadBuffers { codec, words, last, before, .. } = &mut *buffers(&self.workers);
            let segment = parts[0].segment.words();
            let [words, last, before] = [words, last, before].map(|buffer| &mut buffer[..segment.len()]);
            words.fill(0);
            for part in parts.iter().filter(|part| self.any_reached(reached(part))) {
                for (word, next) in part.part.words().zip(&self.bitmaps.next[reached(part)]) {
                    let mask = part.part.mask(word);
                    words[word - segment.start] |= next.fetch_and(!mask, Relaxed) & mask;
                }
            }
            take(ReachedSegment { number: parts[0].number, words, last, before, codec })
        })
    }

    /// Returns whether the current class may have reached a state in these words.
    fn any_reached(&self, words: Range<usize>) -> bool {
        self.bitmaps.next_occupancy.any(64 * words.start as u64, 64 * words.len() as u64)
    }

    /// Packs and writes the partition of a class, which is complete, and returns
    /// its number of states. Clears the bitmap.
    fn write_partition(
        &self,
        class: &ContextClass,
        expanded: bool,
        before: LayerParts,
        out: &mut NewLayer,
    ) -> Result<u64> {
        let own = self.own_segments(class.partition);
        if !expanded && !self.spill.any(own.clone()) {
            out.add_empty(own.end - own.start);
            return Ok(0);
        }
        let states =
            self.write_segments(class.partition, out, |number, segment| self.pack(segment, number, expanded, before))?;
        if expanded {
            let words = self.own_words(class);
            let blocks = self.bitmaps.next[..words].par_chunks(BLOCK).with_min_len(1 << 8).enumerate();
            let reached = blocks.filter(|(block, _)| self.bitmaps.next_occupancy.contains(*block));
            reached.for_each(|(_, words)| words.iter().for_each(|word| word.store(0, Relaxed)));
        }
        Ok(states)
    }

    /// Writes the segments of a partition, each as `pack` returns it with its number of states. Returns the states.
    fn write_segments(
        &self,
        partition: u64,
        out: &mut NewLayer,
        pack: impl Fn(u64, &Segment) -> Result<(PackedLayerSegment, u64)> + Sync,
    ) -> Result<u64> {
        let (first, segments) = self.partitioning.segments_of(partition);
        let pack = |batch: Range<usize>| -> Result<Vec<(PackedLayerSegment, u64)>> {
            let batch = batch.into_par_iter().with_max_len(1);
            batch.map(|i| pack(first + i as u64, &segments[i])).collect()
        };
        let mut states = 0;
        let mut batches = self.batches(segments).into_iter();
        let mut next = batches.next().map_or(Ok(Vec::new()), &pack)?;
        while !next.is_empty() {
            let (packed, counts): (Vec<PackedLayerSegment>, Vec<u64>) = next.into_iter().unzip();
            states += counts.iter().sum::<u64>();
            let (written, following) = match batches.next() {
                Some(batch) => rayon::join(|| out.add(&packed), || pack(batch)),
                None => (out.add(&packed), Ok(Vec::new())),
            };
            written?;
            next = following?;
        }
        Ok(states)
    }

    /// Divides the segments of a partition into batches, as index ranges. A batch
    /// has at most the words of [`SEGMENTS_PER_BATCH`] full segments per thread.
    ///
    /// No batch is empty unless there are no segments, because every segment fits
    /// into a batch.
    fn batches(&self, segments: &[Segment]) -> Vec<Range<usize>> {
        let most = SEGMENTS_PER_BATCH * self.workers.len() * self.partitioning.segment_words();
        let (mut batches, mut first, mut words) = (Vec::new(), 0, 0);
        for (i, segment) in segments.iter().enumerate() {
            if words + segment.words().len() > most {
                batches.push(first..i);
                (first, words) = (i, 0);
            }
            words += segment.words().len();
        }
        batches.push(first..segments.len());
        batches
    }

    fn own_words(&self, class: &ContextClass) -> usize {
        let (_, segments) = self.partitioning.segments_of(class.partition);
        segments.last().map_or(0, |segment| segment.words().end)
    }

    /// Packs a segment of the current partition: the reached states except
    /// those of the two previous layers. Returns their number too.
    fn pack(
        &self,
        segment: &Segment,
        number: u64,
        expanded: bool,
        before: LayerParts,
    ) -> Result<(PackedLayerSegment, u64)> {
        let ThreadBuffers { codec, words, spare, last, .. } = &mut *buffers(&self.workers);
        let range = segment.words();
        let words = &mut words[..range.len()];
        if expanded && self.any_reached(range.clone()) {
            let reached = range.clone().zip(words.iter_mut());
            reached.for_each(|(at, word)| *word = self.bitmaps.next[at].load(Relaxed) & segment.mask(at));
        } else {
            words.fill(0);
        }
        self.spill.take(number, words, spare, codec)?;
        let (last, spare) = (&mut last[..range.len()], &mut spare[..range.len()]);
        if expanded {
            let known = range.clone().zip(&self.bitmaps.frontier[range.clone()]);
            last.iter_mut().zip(known).for_each(|(last, (at, known))| *last = known & segment.mask(at));
            words.iter_mut().zip(&*last).for_each(|(word, known)| *word &= !known);
        } else {
            last.fill(0);
        }
        if words.iter().all(|&word| word == 0) {
            return Ok((PackedLayerSegment::default(), 0));
        }
        if before.read(number, spare, codec)? {
            words.iter_mut().zip(&*spare).for_each(|(word, known)| *word &= !*known);
        } else {
            spare.fill(0);
        }
        Ok(self.pack_new(number, segment, words, [&*last, &*spare], codec))
    }

    /// Removes the reached states of a class from the bitmap. Those of segments for which `is_own` holds go to the
    /// spill buffer, until [`close`](ExternalSearch::close) takes them. Those of the other segments that
    /// are in neither of the two layers are packed and passed to `send`, which another process passes to `close`.
    pub fn hand_over(
        &mut self,
        class: &ContextClass,
        [layer, before]: [LayerParts; 2],
        is_own: impl Fn(u64) -> bool + Sync,
        send: impl Fn(u64, Vec<u8>) -> Result<()> + Sync,
    ) -> Result<()> {
        let mut parts = self.partitioning.own_segments(class);
        parts.extend(self.partitioning.successor_segments(class));
        self.take_reached(parts, |reached| {
            let ReachedSegment { number, words, last, before: earlier, codec, .. } = reached;
            if is_own(number) {
                return self.spill.add(number, words, codec);
            }
            for (source, known) in [(layer, &mut *last), (before, &mut *earlier)] {
                if source.read(number, known, codec)? {
                    words.iter_mut().zip(&*known).for_each(|(word, known)| *word &= !known);
                } else {
                    known.fill(0);
                }
            }
            let whole = codec.pack(words);
            let delta = codec.pack_delta(words, &whole, [&*last, &*earlier], self.partitioning.neighbors(number));
            if delta.bytes.is_empty() { Ok(()) } else { send(number, delta.bytes) }
        })?;
        self.bitmaps.next_occupancy.clear();
        Ok(())
    }

    /// Writes a partition that no context can reach any longer: the states of the spill buffer and those that other
    /// processes have reached. Passes each segment with new states to `announce`. Returns the number of new states.
    pub fn close(
        &self,
        partition: u64,
        [layer, before]: [LayerParts; 2],
        received: &FrameStore,
        out: &mut NewLayer,
        announce: impl Fn(u64, &PackedSegment) -> Result<()> + Sync,
    ) -> Result<u64> {
        let own = self.own_segments(partition);
        if !self.spill.any(own.clone()) && !received.any(own.clone()) {
            out.add_empty(own.end - own.start);
            return Ok(0);
        }
        self.write_segments(partition, out, |number, segment| {
            let ThreadBuffers { codec, words, spare, last, before: earlier, .. } = &mut *buffers(&self.workers);
            let [words, spare, last, earlier] =
                [words, spare, last, earlier].map(|buffer| &mut buffer[..segment.words().len()]);
            words.fill(0);
            self.spill.take(number, words, spare, codec)?;
            for (source, known) in [(layer, &mut *last), (before, &mut *earlier)] {
                if !source.read(number, known, codec)? {
                    known.fill(0);
                }
            }
            let neighbors = || self.partitioning.neighbors(number);
            for bytes in received.take(number)? {
                if !codec.unpack_delta(&bytes, spare, [&*last, &*earlier], neighbors()) {
                    return Err(BuilderError::damaged(received.path(), format!("segment {number} is invalid")));
                }
                words.iter_mut().zip(&*spare).for_each(|(word, new)| *word |= new);
            }
            let known = last.iter().zip(&*earlier);
            words.iter_mut().zip(known).for_each(|(word, (last, earlier))| *word &= !(last | earlier));
            if words.iter().all(|&word| word == 0) {
                return Ok((PackedLayerSegment::default(), 0));
            }
            let (packed, states) = self.pack_new(number, segment, words, [&*last, &*earlier], codec);
            announce(number, &packed.layer)?;
            Ok((packed, states))
        })
    }

    /// Prepares for the next layer. Every state that was handed over must have been taken.
    pub fn end_layer(&self) {
        self.spill.reset();
    }

    /// Packs the new states of a segment, given the segment in the two previous layers, the last one first. Returns
    /// the number of new states too.
    fn pack_new(
        &self,
        number: u64,
        segment: &Segment,
        words: &mut [u64],
        layers: [&[u64]; 2],
        codec: &mut SegmentCodec,
    ) -> (PackedLayerSegment, u64) {
        let mut states = words.iter().map(|word| u64::from(word.count_ones())).sum();
        if let Some(symmetric) = &self.symmetric {
            // A state that is not its own mirror image counts twice.
            states = 2 * states - self.count_symmetric(symmetric, number, segment, words);
        }
        let copy = codec.pack(words);
        let layer = match self.form {
            LayerForm::Whole => copy.to_layer_segment(),
            LayerForm::Delta => codec.pack_delta(words, &copy, layers, self.partitioning.neighbors(number)),
        };
        (PackedLayerSegment { layer, copy }, states)
    }

    /// Returns the number of states of a segment that are their own mirror images.
    fn count_symmetric(&self, symmetric: &[u64], number: u64, segment: &Segment, words: &[u64]) -> u64 {
        let start = self.partitioning.first_index(number);
        let end = start + (segment.bits.end - segment.bits.start);
        let from = symmetric.partition_point(|&index| index < start);
        let indices = symmetric[from..].iter().take_while(|&&index| index < end);
        let bits = indices.map(|index| index - start + segment.bits.start % 64);
        bits.map(|bit| words[(bit / 64) as usize] >> (bit % 64) & 1).sum()
    }
}

/// Returns the buffers of the current thread. No task that holds buffers waits
/// for other tasks.
fn buffers(workers: &[Mutex<ThreadBuffers>]) -> MutexGuard<'_, ThreadBuffers> {
    let index = rayon::current_thread_index().expect("this runs in the pool");
    workers[index].lock().expect("no worker panicked")
}
