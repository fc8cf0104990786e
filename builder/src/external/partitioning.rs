//! The partitioning of the states of a prefix, so that one partition and its
//! successors fit in memory.
//!
//! The method is structured duplicate detection [Zhou and Hansen 2004] by the
//! upper pieces. A *partition* consists of the states with the same
//! `fixed_pieces` upper pieces. A partition is an interval of ranks and has its
//! own bitmap. A *context class* consists of the contexts with the same
//! `fixed_pieces` upper pieces.
//!
//! Let Q be the upper pieces of a class, and q the lowest of them. The class
//! involves the states of partition Q, where the mover stands below q. For
//! every cell c above q it also involves the states of partition
//! Q ∪ {c} ∖ {q} whose next piece is q. These states are an interval of ranks,
//! and their partition is a *successor* of Q. All states that a class involves
//! are thus a few intervals, and classes can be expanded one at a time.
//!
//! A successor comes after its partition in the order of ranks. If classes are
//! expanded in that order, a partition is complete after its own class.
//!
//! The bitmap of a partition is divided into *segments*, at least one for each
//! cell of the next piece, so that a successor interval is one or more whole
//! segments. A segment may start or end within a word. The neighboring segment
//! then has the same word, and each segment only its own bits.
//!
//! If only one state of each mirrored pair is stored ([`StateNumbering`]), partitions
//! contain only canonical states, and only canonical contexts have a class. The
//! class then also involves intervals of states whose mirror images have a
//! context of the class. These states are not in an earlier partition: adding a
//! piece to the mirror image of a context, which is not smaller than the context,
//! does not make its upper pieces smaller.

use std::collections::BTreeMap;
use std::ops::Range;

use sternhalma_data::board::{choose, rank_above};
use sternhalma_data::{Cell, CellSet, Prefix, State, States};

use super::neighbors::{LowerCells, NeighborOffsets};
use super::numbering::{self, ChosenPositions, ClassPositions, Numbering, StateNumbering, below, upper};
use crate::bits::low_mask;

/// The parameters of a partitioning, and the memory that goes with it.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct PartitionParams {
    /// The number of upper pieces that the states of a partition share.
    pub fixed_pieces: usize,
    /// The number of pieces of a context that differ within a group.
    pub slice_pieces: usize,
    /// The largest size of a segment, in words.
    pub segment_words: usize,
    /// The memory for spilled states, in bytes.
    pub spill_bytes: u64,
}

/// The partitions and segments of a prefix.
#[derive(Debug)]
pub struct Partitioning<N = Numbering> {
    numbering: N,
    lower_cells: LowerCells,
    fixed_pieces: usize,
    segment_words: usize,
    /// The shapes of partitions, by [`StateNumbering::shape_key`].
    shapes: BTreeMap<Option<(usize, u128)>, PartitionShape>,
    /// The first segment of each partition, and the number of all segments.
    first_segments: Vec<u64>,
}

/// The segments of a partition.
#[derive(Debug, Default)]
struct PartitionShape {
    states: u64,
    segments: Vec<Segment>,
}

/// An interval of a partition's bitmap.
#[derive(Clone, Debug)]
pub struct Segment {
    /// The bits, counted from the first bit of the partition.
    pub bits: Range<u64>,
}

impl Segment {
    /// Returns the words with bits of this segment. The first and the last word
    /// may also have bits of the neighboring segments.
    pub fn words(&self) -> Range<usize> {
        (self.bits.start / 64) as usize..self.bits.end.div_ceil(64) as usize
    }

    /// Returns the mask of the bits of `word` that belong to this segment.
    pub fn mask(&self, word: usize) -> u64 {
        let first = 64 * word as u64;
        let low = self.bits.start.saturating_sub(first);
        low_mask(self.bits.end - first) & (u64::MAX << low)
    }
}

/// A segment, or a part of one, within the bitmaps of a context class.
#[derive(Clone, Debug)]
pub struct LoadedSegment {
    /// The number of the segment.
    pub number: u64,
    /// The position of the word of the first bit in the bitmaps.
    pub at: usize,
    pub segment: Segment,
    /// The part of the segment that the class involves.
    pub part: Segment,
}

impl LoadedSegment {
    /// Returns the number of words with bits of the part.
    pub fn words(&self) -> usize {
        self.part.words().len()
    }

    /// Returns the positions of the part's bits in the bitmaps.
    pub fn bits(&self) -> Range<usize> {
        let first = 64 * self.at + (self.part.bits.start % 64) as usize;
        first..first + (self.part.bits.end - self.part.bits.start) as usize
    }
}

/// The contexts with the same fixed pieces, and the states that they involve.
#[derive(Debug)]
pub struct ContextClass<P = ChosenPositions> {
    /// The numbers of the class's groups of contexts.
    pub groups: Range<u64>,
    /// The number of the class's own partition, whose bitmap comes first.
    pub partition: u64,
    /// The states of other partitions that the class involves.
    pub successors: Vec<SuccessorRange>,
    /// The positions of the class's states in bitmaps of [`ContextClass::words`] words.
    pub positions: P,
    /// The words of the class's bitmaps, with the spare word.
    pub words: usize,
}

/// An interval of states of a successor partition that a class involves.
#[derive(Debug)]
pub struct SuccessorRange {
    /// The numbers of the segments with these states.
    pub segments: Range<u64>,
    /// The bits of the states, counted from the first bit of the partition.
    bits: Range<u64>,
    /// The position of the word of the first state in the bitmaps of the class.
    at: usize,
}

impl<N: StateNumbering> Partitioning<N> {
    /// Divides partitions with `fixed_pieces` fixed pieces into segments of
    /// at most `segment_words` words.
    pub fn new(numbering: N, fixed_pieces: usize, segment_words: usize) -> Partitioning<N> {
        let prefix = numbering.prefix();
        let mut partitioning = Partitioning {
            lower_cells: LowerCells::of(prefix.board().geometry()),
            numbering,
            fixed_pieces,
            segment_words,
            shapes: BTreeMap::new(),
            first_segments: vec![0],
        };
        for (_, pieces) in States::of_ranks(fixed_pieces, 0..choose(prefix.within(), fixed_pieces)) {
            let key = partitioning.numbering.shape_key(pieces.cells());
            if !partitioning.shapes.contains_key(&key) {
                let shape = partitioning.shape_of(pieces.cells());
                partitioning.shapes.insert(key, shape);
            }
            let segments = partitioning.shapes[&key].segments.len() as u64;
            partitioning.first_segments.push(partitioning.segments() + segments);
        }
        partitioning
    }

    /// Returns the memory of the first segments of all partitions, in bytes. Shapes need little.
    pub fn memory(prefix: Prefix, fixed_pieces: usize) -> u64 {
        choose(prefix.within(), fixed_pieces).saturating_mul(size_of::<u64>() as u64)
    }

    /// Creates the shape of the partition of these pieces.
    fn shape_of(&self, pieces: CellSet) -> PartitionShape {
        let (below, free_pieces) = (below(self.prefix(), pieces), self.free_pieces());
        let states = self.numbering.interval(pieces, below, free_pieces);
        let first = |next: usize| match next {
            next if next < free_pieces => 0,
            next if next == below => states.end - states.start,
            next => self.numbering.interval(pieces.with(Cell::new(next)), next, free_pieces - 1).start - states.start,
        };
        PartitionShape::new(below, self.segment_words, first)
    }

    fn prefix(&self) -> Prefix {
        self.numbering.prefix()
    }

    /// Returns the numbering of the states.
    pub fn numbering(&self) -> &N {
        &self.numbering
    }

    /// Returns the largest size of a segment, in words.
    pub fn segment_words(&self) -> usize {
        self.segment_words
    }

    /// Returns the number of states.
    pub fn states(&self) -> u64 {
        self.numbering.states()
    }

    /// Returns the number of partitions.
    pub fn partitions(&self) -> u64 {
        self.first_segments.len() as u64 - 1
    }

    /// Returns the number of segments of all partitions.
    pub fn segments(&self) -> u64 {
        self.first_segments[self.first_segments.len() - 1]
    }

    /// Returns the segments of a partition, and the number of the first of them.
    pub fn segments_of(&self, partition: u64) -> (u64, &[Segment]) {
        (self.first_segments[partition as usize], &self.shape(partition).segments)
    }

    /// Returns a segment by number.
    pub fn segment(&self, number: u64) -> &Segment {
        let (first, segments) = self.segments_of(self.partition_of(number));
        &segments[(number - first) as usize]
    }

    /// Returns the number of states of a partition.
    pub fn partition_states(&self, partition: u64) -> u64 {
        self.shape(partition).states
    }

    /// Returns the partition of a segment.
    pub fn partition_of(&self, segment: u64) -> u64 {
        self.first_segments.partition_point(|&first| first <= segment) as u64 - 1
    }

    /// Returns the index of the first state of a segment.
    pub fn first_index(&self, segment: u64) -> u64 {
        self.start(self.partition_of(segment)) + self.segment(segment).bits.start
    }

    /// Returns the segments of the partition of a class.
    pub fn own_segments(&self, class: &ContextClass<N::Positions>) -> Vec<LoadedSegment> {
        let (first, segments) = self.segments_of(class.partition);
        let load = |(number, segment): (u64, &Segment)| LoadedSegment {
            number,
            at: segment.words().start,
            segment: segment.clone(),
            part: segment.clone(),
        };
        (first..).zip(segments).map(load).collect()
    }

    /// Returns the parts of segments of the successors of a class, in the order of their positions.
    pub fn successor_segments(&self, class: &ContextClass<N::Positions>) -> Vec<LoadedSegment> {
        let mut loaded = Vec::new();
        for SuccessorRange { segments, bits, at } in &class.successors {
            let first_word = (bits.start / 64) as usize;
            let (first, all) = self.segments_of(self.partition_of(segments.start));
            for number in segments.clone() {
                let segment = &all[(number - first) as usize];
                let part = Segment { bits: segment.bits.start.max(bits.start)..segment.bits.end.min(bits.end) };
                let at = at + part.words().start - first_word;
                loaded.push(LoadedSegment { number, at, segment: segment.clone(), part });
            }
        }
        loaded
    }

    /// Iterates over the segments with a state of these indices. Each item is a
    /// segment with its number and the index of its first state.
    pub fn segments_of_indices(&self, ranks: Range<u64>) -> impl Iterator<Item = (u64, &Segment, u64)> {
        let partition = match self.fixed_pieces {
            0 => 0,
            fixed_pieces => {
                let state = self.numbering.state(ranks.start);
                State::from_cells(upper(state.cells(), fixed_pieces)).rank().0
            }
        };
        let partitions =
            (partition..self.partitions()).map(|partition| (self.start(partition), self.segments_of(partition)));
        let end = ranks.end;
        let partitions = partitions.take_while(move |(start, _)| *start < end);
        let segments = partitions.flat_map(|(start, (first, segments))| {
            (first..).zip(segments).map(move |(number, segment)| (number, segment, start + segment.bits.start))
        });
        let begins = segments
            .skip_while(move |(_, segment, rank)| rank + (segment.bits.end - segment.bits.start) <= ranks.start);
        begins.take_while(move |(_, _, rank)| *rank < end)
    }

    /// Returns the fixed pieces of a partition.
    pub fn pieces(&self, partition: u64) -> CellSet {
        numbering::fixed_pieces(partition, self.fixed_pieces)
    }

    fn free_pieces(&self) -> usize {
        self.prefix().board().pieces() - self.fixed_pieces
    }

    fn shape(&self, partition: u64) -> &PartitionShape {
        &self.shapes[&self.numbering.shape_key(self.pieces(partition))]
    }

    /// Returns the index of the first state of a partition.
    fn start(&self, partition: u64) -> u64 {
        let pieces = self.pieces(partition);
        self.numbering.interval(pieces, below(self.prefix(), pieces), self.free_pieces()).start
    }

    /// Returns the context class of a partition, in groups with `upper` upper pieces.
    pub fn class(&self, partition: u64, upper: usize) -> ContextClass<N::Positions> {
        let pieces = self.pieces(partition);
        let below = below(self.prefix(), pieces);
        let first_group = rank_above(pieces, upper - self.fixed_pieces);
        let groups = first_group..first_group + choose(below, upper - self.fixed_pieces);
        let (start, own) = (self.start(partition), self.partition_states(partition));
        let mut class = ContextClass {
            partition,
            successors: Vec::new(),
            positions: self.numbering.positions(start, own, below),
            words: own.div_ceil(64) as usize,
            groups,
        };
        if !class.groups.is_empty() && self.fixed_pieces > 0 {
            for successor in self.numbering.successor_states(pieces) {
                let start = self.start(successor.partition);
                let bits = successor.indices.start - start..successor.indices.end - start;
                class.positions.add(&successor, 64 * class.words as u64 + bits.start % 64);
                self.add_successor(&mut class, successor.partition, bits);
            }
        }
        class.words += 1;
        class
    }

    /// Adds some states of a partition, given by their bits, to the end of a class.
    fn add_successor(&self, class: &mut ContextClass<N::Positions>, partition: u64, bits: Range<u64>) {
        let (first, segments) = self.segments_of(partition);
        let from = segments.partition_point(|segment| segment.bits.end <= bits.start) as u64;
        let to = segments.partition_point(|segment| segment.bits.start < bits.end) as u64;
        let words = (bits.end.div_ceil(64) - bits.start / 64) as usize;
        class.successors.push(SuccessorRange { segments: first + from..first + to, at: class.words, bits });
        class.words += words;
    }

    /// Returns an upper bound of the words of the bitmaps of a class.
    pub fn max_words(&self) -> usize {
        max_words(&self.numbering, self.fixed_pieces)
    }
}

impl Partitioning {
    /// Returns the positions of the neighbors of a segment's states.
    pub fn neighbors(&self, segment: u64) -> NeighborOffsets<'_> {
        let bits = &self.segment(segment).bits;
        let first = self.first_index(segment);
        let indices = first..first + (bits.end - bits.start);
        NeighborOffsets::new(&self.numbering, &self.lower_cells, self.free_pieces(), indices, bits.start % 64)
    }
}

/// Returns an upper bound of the words of the bitmaps of a class.
pub(crate) fn max_words(numbering: &impl StateNumbering, fixed_pieces: usize) -> usize {
    let prefix = numbering.prefix();
    let free_pieces = prefix.board().pieces() - fixed_pieces;
    let words = |below: usize| {
        let (successors, next_pieces) = ((prefix.within() - below - fixed_pieces) as u64, free_pieces - 1);
        choose(below, free_pieces) / 64 + 2 + successors * (choose(below, next_pieces) / 64 + 2)
    };
    let most = match fixed_pieces {
        0 => numbering.states() / 64 + 2,
        _ => (0..=prefix.within() - fixed_pieces).map(words).max().unwrap_or(0),
    };
    let images = if fixed_pieces > 0 { numbering.image_words() } else { 0 };
    usize::try_from(most).unwrap_or(usize::MAX).saturating_add(images)
}

/// Returns the number of segments of a partitioning of all states without creating it.
pub fn count_segments(prefix: Prefix, fixed_pieces: usize, segment_words: usize) -> u64 {
    let free_pieces = prefix.board().pieces() - fixed_pieces;
    let segments_at = |next: usize| {
        let (start, end) = (choose(next, free_pieces), choose(next + 1, free_pieces));
        if start == end { 0 } else { (end - start / 64 * 64).div_ceil(64 * segment_words as u64) }
    };
    let segments = |below: usize| (0..below).map(segments_at).sum::<u64>();
    match fixed_pieces {
        0 => segments(prefix.within()),
        // The factor is the number of sets of fixed pieces with this lowest one.
        _ => (0..prefix.within())
            .map(|below| choose(prefix.within() - below - 1, fixed_pieces - 1).saturating_mul(segments(below)))
            .fold(0, u64::saturating_add),
    }
}

impl PartitionShape {
    /// Divides a partition into segments. `first(cell)` returns the number of states whose next
    /// piece is below `cell`.
    fn new(cells: usize, segment_words: usize, first: impl Fn(usize) -> u64) -> PartitionShape {
        let mut shape = PartitionShape { states: first(cells), ..PartitionShape::default() };
        let segment_bits = 64 * segment_words as u64;
        for next in 0..cells {
            let (mut start, end) = (first(next), first(next + 1));
            while start < end {
                let segment_end = end.min((start / 64 * 64).saturating_add(segment_bits));
                shape.segments.push(Segment { bits: start..segment_end });
                start = segment_end;
            }
        }
        shape
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cmp::Ordering;
    use std::collections::{BTreeMap, BTreeSet};
    use sternhalma_data::board::Symmetry;
    use sternhalma_data::{Board, CellSet, Rank};

    use crate::ranks::BitOffsets;

    /// Returns whole boards and prefixes that are small enough to enumerate.
    fn prefixes() -> Vec<Prefix> {
        let prefix = |(side, pieces, within)| Prefix::new(Board::new(side, pieces).unwrap(), within).unwrap();
        let cases = [(3, 2, 9), (3, 3, 7), (3, 4, 9), (4, 2, 16), (4, 3, 16), (4, 4, 11), (5, 3, 25), (4, 3, 4)];
        cases.map(prefix).to_vec()
    }

    /// Returns prefixes with a mirror symmetry.
    fn symmetric_prefixes() -> Vec<Prefix> {
        let prefix = |(side, pieces, within)| Prefix::new(Board::new(side, pieces).unwrap(), within).unwrap();
        [(3, 3, 9), (3, 6, 9), (4, 3, 16), (4, 3, 13), (4, 6, 13), (5, 3, 15)].map(prefix).to_vec()
    }

    fn partitionings() -> impl Iterator<Item = (Prefix, usize, usize, Partitioning<Prefix>)> {
        partitionings_of(prefixes().into_iter())
    }

    fn mirrored_partitionings() -> impl Iterator<Item = (Prefix, usize, usize, Partitioning<Symmetry>)> {
        partitionings_of(symmetric_prefixes().into_iter().map(|prefix| Symmetry::of(prefix).unwrap()))
    }

    fn partitionings_of<N: StateNumbering + Clone>(
        numberings: impl Iterator<Item = N>,
    ) -> impl Iterator<Item = (Prefix, usize, usize, Partitioning<N>)> {
        numberings.flat_map(|numbering| {
            let prefix = numbering.prefix();
            (0..=prefix.board().pieces() - 2).flat_map(move |fixed_pieces| {
                let numbering = numbering.clone();
                [1, 2, 3, 100].map(move |words| {
                    (prefix, fixed_pieces, words, Partitioning::new(numbering.clone(), fixed_pieces, words))
                })
            })
        })
    }

    /// Returns the segment of each state by index, from the segments in order.
    fn segment_by_index<N: StateNumbering>(partitioning: &Partitioning<N>) -> Vec<u64> {
        let mut segments = Vec::new();
        for partition in 0..partitioning.partitions() {
            let (first, shapes) = partitioning.segments_of(partition);
            for (number, segment) in (first..).zip(shapes) {
                assert_eq!(
                    partitioning.start(partition) + segment.bits.start,
                    segments.len() as u64,
                    "segments are contiguous"
                );
                assert_eq!(partitioning.segment(number).bits, segment.bits);
                segments.extend(segment.bits.clone().map(|_| number));
            }
        }
        segments
    }

    /// Checks that every state is in a segment of its partition and no segment is empty.
    fn check_partitions<N: StateNumbering>(partitioning: &Partitioning<N>) {
        let segments = segment_by_index(partitioning);
        assert_eq!(segments.len() as u64, partitioning.states());
        let used: BTreeSet<u64> = segments.iter().copied().collect();
        assert_eq!(used.len() as u64, partitioning.segments(), "no segment is empty");
        for (index, &segment) in segments.iter().enumerate() {
            let state = partitioning.numbering.state(index as u64);
            let partition = State::from_cells(upper(state.cells(), partitioning.fixed_pieces)).rank().0;
            let (first, shapes) = partitioning.segments_of(partition);
            assert!((first..first + shapes.len() as u64).contains(&segment), "{state:?} is in partition {partition}");
        }
    }

    #[test]
    fn every_state_is_in_one_segment_of_its_partition() {
        for (prefix, fixed_pieces, segment_words, partitioning) in partitionings() {
            check_partitions(&partitioning);
            assert_eq!(count_segments(prefix, fixed_pieces, segment_words), partitioning.segments());
        }
        mirrored_partitionings().for_each(|(_, _, _, partitioning)| check_partitions(&partitioning));
    }

    /// Checks the size of segments, and that their masks divide the words that they share.
    fn check_segments<N: StateNumbering>(partitioning: &Partitioning<N>) {
        for partition in 0..partitioning.partitions() {
            let mut bits = BTreeMap::new();
            for segment in partitioning.segments_of(partition).1 {
                assert!((1..=partitioning.segment_words).contains(&segment.words().len()));
                for word in segment.words() {
                    let others = bits.entry(word).or_insert(0u64);
                    assert_eq!(*others & segment.mask(word), 0);
                    *others |= segment.mask(word);
                }
            }
            let states: u32 = bits.values().map(|word| word.count_ones()).sum();
            assert_eq!(u64::from(states), partitioning.partition_states(partition));
        }
    }

    #[test]
    fn segments_respect_their_size_and_masks_divide_shared_words() {
        partitionings().for_each(|(_, _, _, partitioning)| check_segments(&partitioning));
        mirrored_partitionings().for_each(|(_, _, _, partitioning)| check_segments(&partitioning));
    }

    /// Checks the segments of intervals of indices.
    fn check_segments_of_indices<N: StateNumbering>(partitioning: &Partitioning<N>) {
        let segments = segment_by_index(partitioning);
        let all = partitioning.states();
        let step = (all / 23).max(1) as usize;
        let starts = (0..all).step_by(step).chain([all - 1]);
        for (start, length) in starts.flat_map(|start| [1, 5, 64, 200, all].map(|length| (start, length))) {
            let ranks = start..all.min(start + length);
            let mut expected = segments[ranks.start as usize..ranks.end as usize].to_vec();
            expected.dedup();
            let found: Vec<u64> = partitioning.segments_of_indices(ranks).map(|(number, _, _)| number).collect();
            assert_eq!(found, expected);
        }
        for (number, segment, first) in partitioning.segments_of_indices(0..all) {
            assert_eq!(segments[first as usize], number);
            assert_ne!(segments.get((first + segment.bits.end - segment.bits.start) as usize), Some(&number));
        }
    }

    #[test]
    fn segments_of_indices_are_exactly_those_with_such_a_state() {
        partitionings().for_each(|(_, _, _, partitioning)| check_segments_of_indices(&partitioning));
        mirrored_partitionings().for_each(|(_, _, _, partitioning)| check_segments_of_indices(&partitioning));
    }

    /// Enumerates the states that a class involves context by context, each
    /// with the cell of the mover.
    fn involved(prefix: Prefix, fixed_pieces: usize, partition: u64) -> BTreeSet<(Cell, CellSet)> {
        let (pieces, context_pieces) = (Rank(partition).state(fixed_pieces).cells(), prefix.board().pieces() - 1);
        let contexts = States::of_ranks(context_pieces, 0..choose(prefix.within(), context_pieces));
        let contexts = contexts.map(|(_, context)| context.cells());
        let own = contexts.filter(|&context| upper(context, fixed_pieces) == pieces);
        own.flat_map(|context| (prefix.cells() - context).iter().map(move |cell| (cell, context.with(cell)))).collect()
    }

    #[test]
    fn a_class_has_a_distinct_bit_for_every_state_it_involves() {
        for (prefix, fixed_pieces, _, partitioning) in partitionings() {
            let segments = segment_by_index(&partitioning);
            for upper in fixed_pieces..=prefix.board().pieces() - 2 {
                let mut groups = 0;
                for partition in 0..partitioning.partitions() {
                    let class = partitioning.class(partition, upper);
                    // Classes contain each group once and in order.
                    assert!(class.groups.is_empty() || class.groups.start == groups);
                    groups = groups.max(class.groups.end);
                    let mut bits: BTreeMap<u64, CellSet> = BTreeMap::new();
                    for (mover, state) in involved(prefix, fixed_pieces, partition) {
                        let lowest = partitioning.pieces(partition).first();
                        let is_above = lowest.is_some_and(|lowest| mover > lowest);
                        let offset =
                            if is_above { class.positions.above[mover.index()] } else { class.positions.below };
                        let rank = State::from_cells(state).rank().0;
                        let bit = rank.wrapping_sub(offset);
                        if !is_above {
                            assert_eq!(
                                class.positions.above[..below(prefix, partitioning.pieces(partition))],
                                vec![offset; below(prefix, partitioning.pieces(partition))]
                            );
                        }
                        // The last word is spare, for loads across the end.
                        assert!(bit < 64 * (class.words as u64 - 1), "{state:?} is at {bit}");
                        assert_eq!(*bits.entry(bit).or_insert(state), state, "two states have bit {bit}");
                        assert_segment(&partitioning, &class, segments[rank as usize], rank, bit);
                    }
                }
                assert_eq!(groups, choose(prefix.within(), upper));
            }
        }
    }

    #[test]
    fn a_class_holds_the_canonical_states_of_its_canonical_contexts() {
        for (prefix, fixed_pieces, segment_words, partitioning) in mirrored_partitionings() {
            let symmetry = &partitioning.numbering;
            for partition in 0..partitioning.partitions() {
                let class = partitioning.class(partition, fixed_pieces);
                assert!(class.words <= partitioning.max_words());
                // The position of each bit of each segment.
                let mut positions = BTreeMap::new();
                let loaded =
                    partitioning.own_segments(&class).into_iter().chain(partitioning.successor_segments(&class));
                for (i, part) in loaded.enumerate() {
                    let own = partitioning.segments_of(partition).1.len();
                    assert!(
                        i < own || part.number >= partitioning.segments_of(partition + 1).0,
                        "successors come later"
                    );
                    assert!(part.bits().end <= 64 * (class.words - 1), "the last word is spare");
                    let start = partitioning.first_index(part.number) - part.segment.bits.start;
                    for (bit, at) in part.part.bits.clone().zip(part.bits()) {
                        assert!(positions.insert(start + bit, at as u64).is_none(), "states are loaded once");
                    }
                }
                let used: BTreeSet<u64> = positions.values().copied().collect();
                assert_eq!(used.len(), positions.len(), "states have distinct positions");
                for (mover, state) in involved(prefix, fixed_pieces, partition) {
                    let context = state.without(mover);
                    if symmetry.compare_with_mirror(context) == Ordering::Greater {
                        continue;
                    }
                    let index = symmetry.reduced_rank(State::from_cells(state));
                    let position = class.positions.position(index);
                    assert!(position.is_some(), "{prefix}, {fixed_pieces} fixed, {segment_words} words: {state:?}");
                    assert_eq!(position, positions.get(&index).copied());
                }
            }
        }
    }

    /// Checks that the bit of a state is at the position of its segment in the class's bitmap.
    fn assert_segment(
        partitioning: &Partitioning<Prefix>,
        class: &ContextClass<BitOffsets>,
        segment: u64,
        rank: u64,
        bit: u64,
    ) {
        let (first, own) = partitioning.segments_of(class.partition);
        let (partition, at) = if (first..first + own.len() as u64).contains(&segment) {
            (class.partition, 0)
        } else {
            let mut successors = class.successors.iter().filter(|successor| successor.segments.contains(&segment));
            let successor = successors.next().expect("the class involves the segment");
            assert!(successors.next().is_none(), "segment {segment} belongs to one successor");
            let partition =
                partitioning.first_segments.partition_point(|&first| first <= successor.segments.start) as u64 - 1;
            assert!(partition > class.partition, "successors come after their partition");
            let first_word = successor.bits.start / 64;
            (partition, (64 * successor.at as u64).wrapping_sub(64 * first_word))
        };
        assert_eq!(bit, (rank - partitioning.start(partition)).wrapping_add(at));
    }

    #[test]
    fn no_class_exceeds_the_bound_of_words() {
        for (prefix, fixed_pieces, _, partitioning) in partitionings() {
            let words = |upper| {
                (0..partitioning.partitions())
                    .map(|partition| partitioning.class(partition, upper).words)
                    .max()
                    .unwrap()
            };
            let most = words(fixed_pieces);
            assert!(most <= partitioning.max_words(), "{prefix}, {fixed_pieces} fixed pieces: {most}");
            // The bound is off by at most two words per successor.
            let successors = (0..partitioning.partitions())
                .map(|partition| partitioning.class(partition, fixed_pieces).successors.len())
                .max()
                .unwrap();
            assert!(
                partitioning.max_words() <= most + 2 * prefix.within() + successors,
                "{prefix}, {fixed_pieces} fixed pieces: {most}"
            );
        }
    }
}
