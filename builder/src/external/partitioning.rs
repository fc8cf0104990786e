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

use std::ops::Range;

use sternhalma_data::board::{choose, rank_above};
use sternhalma_data::{Cell, CellSet, Prefix, Rank, State, States};

use crate::bits::low_mask;
use crate::ranks::{BitOffsets, MAX_CELLS};

/// The parameters of a partitioning, and the memory that goes with it.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct PartitionParams {
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
pub(crate) struct Partitioning {
    prefix: Prefix,
    fixed_pieces: usize,
    segment_words: usize,
    /// By the number of cells below the fixed pieces.
    shapes: Vec<PartitionShape>,
    /// The first segment of each partition, and the number of all segments.
    first_segments: Vec<u64>,
}

/// The segments of all partitions with the same number of cells below their fixed pieces.
#[derive(Debug, Default)]
struct PartitionShape {
    bits: u64,
    segments: Vec<Segment>,
    /// The first segment for each cell of the next piece, and the number of all segments.
    first_segments: Vec<usize>,
}

/// An interval of a partition's bitmap.
#[derive(Clone, Debug)]
pub(crate) struct Segment {
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

/// A segment within the bitmaps of a context class.
#[derive(Debug)]
pub(crate) struct LoadedSegment {
    /// The number of the segment.
    pub number: u64,
    /// The position of the segment's first word in the bitmaps.
    pub at: usize,
    pub segment: Segment,
}

impl LoadedSegment {
    /// Returns the number of words of the segment.
    pub fn words(&self) -> usize {
        self.segment.words().len()
    }

    /// Returns the positions of the segment's bits in the bitmaps.
    pub fn bits(&self) -> Range<usize> {
        let first = 64 * self.at + (self.segment.bits.start % 64) as usize;
        first..first + (self.segment.bits.end - self.segment.bits.start) as usize
    }
}

/// The contexts with the same fixed pieces, and the states that they involve.
#[derive(Debug)]
pub(crate) struct ContextClass {
    /// The numbers of the class's groups of contexts.
    pub groups: Range<u64>,
    /// The number of the class's own partition, whose bitmap comes first.
    pub partition: u64,
    pub successors: Vec<SuccessorRange>,
    /// The positions of the class's states in bitmaps of [`ContextClass::words`] words.
    pub offsets: BitOffsets,
    /// The words of the class's bitmaps, with the spare word.
    pub words: usize,
}

/// The states of a successor partition that a class involves.
#[derive(Debug)]
pub(crate) struct SuccessorRange {
    /// The numbers of the segments of these states.
    pub segments: Range<u64>,
    /// The position of the first word of the first segment in the bitmaps of the class.
    pub at: usize,
}

impl Partitioning {
    /// Divides partitions with `fixed_pieces` fixed pieces into segments of
    /// at most `segment_words` words.
    pub fn new(prefix: Prefix, fixed_pieces: usize, segment_words: usize) -> Partitioning {
        let free_pieces = prefix.board().pieces() - fixed_pieces;
        let shape = |cells: usize| PartitionShape::new(cells, free_pieces, segment_words);
        let shapes: Vec<PartitionShape> = (0..=prefix.within()).map(shape).collect();
        let mut first_segments = vec![0];
        for (_, pieces) in States::of_ranks(fixed_pieces, 0..choose(prefix.within(), fixed_pieces)) {
            let shape = &shapes[below(prefix, pieces.cells())];
            first_segments.push(first_segments[first_segments.len() - 1] + shape.segments.len() as u64);
        }
        Partitioning { prefix, fixed_pieces, segment_words, shapes, first_segments }
    }

    /// Returns the largest size of a segment, in words.
    pub fn segment_words(&self) -> usize {
        self.segment_words
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
        (self.first_segments[partition as usize], &self.shape(self.pieces(partition)).segments)
    }

    /// Returns a segment by number.
    pub fn segment(&self, number: u64) -> &Segment {
        let (first, segments) = self.segments_of(self.partition_of(number));
        &segments[(number - first) as usize]
    }

    /// Returns the partition of a segment.
    fn partition_of(&self, segment: u64) -> u64 {
        self.first_segments.partition_point(|&first| first <= segment) as u64 - 1
    }

    /// Returns the rank of the first state of a segment.
    pub fn first_rank(&self, segment: u64) -> u64 {
        self.start(self.partition_of(segment)) + self.segment(segment).bits.start
    }

    /// Returns the segments of the partition of a class.
    pub fn own_segments(&self, class: &ContextClass) -> Vec<LoadedSegment> {
        let (first, segments) = self.segments_of(class.partition);
        let load = |(number, segment): (u64, &Segment)| LoadedSegment {
            number,
            at: segment.words().start,
            segment: segment.clone(),
        };
        (first..).zip(segments).map(load).collect()
    }

    /// Returns the segments of the successors of a class.
    pub fn successor_segments(&self, class: &ContextClass) -> Vec<LoadedSegment> {
        let mut loaded = Vec::new();
        for successor in &class.successors {
            let mut at = successor.at;
            for number in successor.segments.clone() {
                let segment = LoadedSegment { number, at, segment: self.segment(number).clone() };
                at += segment.words();
                loaded.push(segment);
            }
        }
        loaded
    }

    /// Iterates over the segments with a state of these ranks. Each item is a
    /// partition with its number and the rank of its first state.
    pub fn segments_of_ranks(&self, ranks: Range<u64>) -> impl Iterator<Item = (u64, &Segment, u64)> {
        let partition = match self.fixed_pieces {
            0 => 0,
            fixed_pieces => {
                let state = Rank(ranks.start).state(self.prefix.board().pieces());
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

    fn pieces(&self, partition: u64) -> CellSet {
        Rank(partition).state(self.fixed_pieces).cells()
    }

    fn free_pieces(&self) -> usize {
        self.prefix.board().pieces() - self.fixed_pieces
    }

    fn shape(&self, pieces: CellSet) -> &PartitionShape {
        &self.shapes[below(self.prefix, pieces)]
    }

    /// Returns the rank of the first state of a partition.
    fn start(&self, partition: u64) -> u64 {
        rank_above(self.pieces(partition), self.free_pieces())
    }

    /// Returns the context class of a partition, in groups with `upper` upper pieces.
    pub fn class(&self, partition: u64, upper: usize) -> ContextClass {
        let pieces = self.pieces(partition);
        let below = below(self.prefix, pieces);
        let first_group = rank_above(pieces, upper - self.fixed_pieces);
        let groups = first_group..first_group + choose(below, upper - self.fixed_pieces);
        let mut words = self.shape(pieces).bits.div_ceil(64) as usize;
        let mut offsets = BitOffsets { below: self.start(partition), above: [0; MAX_CELLS] };
        // A mover below the fixed pieces is in the partition itself.
        offsets.above[..below].fill(self.start(partition));
        let mut successors = Vec::new();
        let above = self.prefix.cells() - CellSet::first_cells(below) - pieces;
        for cell in above.iter().filter(|_| !groups.is_empty()) {
            let successor = State::from_cells(pieces.with(cell).without(Cell::new(below))).rank().0;
            let (shape, first_segment) = (self.shape(self.pieces(successor)), self.first_segments[successor as usize]);
            let segments = shape.first_segments[below] as u64..shape.first_segments[below + 1] as u64;
            if segments.is_empty() {
                continue;
            }
            let first_word = shape.segments[segments.start as usize].words().start;
            let last_word = shape.segments[segments.end as usize - 1].words().end;
            offsets.above[cell.index()] =
                self.start(successor).wrapping_add(64 * first_word as u64).wrapping_sub(64 * words as u64);
            successors.push(SuccessorRange {
                segments: first_segment + segments.start..first_segment + segments.end,
                at: words,
            });
            words += last_word - first_word;
        }
        ContextClass { groups, partition, successors, offsets, words: words + 1 }
    }

    /// Returns an upper bound of the words of the bitmaps of a class.
    pub fn max_words(&self) -> usize {
        max_words(self.prefix, self.fixed_pieces)
    }
}

/// Returns an upper bound of the words of the bitmaps of a class.
pub(crate) fn max_words(prefix: Prefix, fixed_pieces: usize) -> usize {
    let free_pieces = prefix.board().pieces() - fixed_pieces;
    let words = |below: usize| {
        let successors = if fixed_pieces > 0 { (prefix.within() - below - fixed_pieces) as u64 } else { 0 };
        let successor_words = if fixed_pieces > 0 { choose(below, free_pieces - 1) / 64 + 2 } else { 0 };
        choose(below, free_pieces) / 64 + 2 + successors * successor_words
    };
    let most = match fixed_pieces {
        0 => words(prefix.within()),
        _ => (0..=prefix.within() - fixed_pieces).map(words).max().unwrap_or(0),
    };
    usize::try_from(most).unwrap_or(usize::MAX)
}

/// Returns the number of segments of a partitioning without creating it.
pub(crate) fn count_segments(prefix: Prefix, fixed_pieces: usize, segment_words: usize) -> u64 {
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
    fn new(cells: usize, free_pieces: usize, segment_words: usize) -> PartitionShape {
        let mut shape = PartitionShape { bits: choose(cells, free_pieces), ..PartitionShape::default() };
        let segment_bits = 64 * segment_words as u64;
        for next in 0..cells {
            shape.first_segments.push(shape.segments.len());
            let (mut start, end) = (choose(next, free_pieces), choose(next + 1, free_pieces));
            while start < end {
                let segment_end = end.min((start / 64 * 64).saturating_add(segment_bits));
                shape.segments.push(Segment { bits: start..segment_end });
                start = segment_end;
            }
        }
        shape.first_segments.push(shape.segments.len());
        shape
    }
}

/// Returns the number of cells below these pieces.
fn below(prefix: Prefix, pieces: CellSet) -> usize {
    pieces.first().map_or(prefix.within(), Cell::index)
}

/// Returns the `count` upper pieces of a state.
fn upper(state: CellSet, count: usize) -> CellSet {
    let lower: CellSet = state.iter().take(state.len() - count).collect();
    state - lower
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeMap, BTreeSet};
    use sternhalma_data::{Board, CellSet};

    /// Returns whole boards and prefixes that are small enough to enumerate.
    fn prefixes() -> Vec<Prefix> {
        let prefix = |(side, pieces, within)| Prefix::new(Board::new(side, pieces).unwrap(), within).unwrap();
        let cases = [(3, 2, 9), (3, 3, 7), (3, 4, 9), (4, 2, 16), (4, 3, 16), (4, 4, 11), (5, 3, 25), (4, 3, 4)];
        cases.map(prefix).to_vec()
    }

    fn partitionings() -> impl Iterator<Item = (Prefix, usize, usize, Partitioning)> {
        prefixes().into_iter().flat_map(|prefix| {
            let fixed_pieces = 0..=prefix.board().pieces() - 2;
            fixed_pieces.flat_map(move |fixed_pieces| {
                [1, 2, 3, 100]
                    .map(|words| (prefix, fixed_pieces, words, Partitioning::new(prefix, fixed_pieces, words)))
            })
        })
    }

    /// Returns the segment of each state by rank, from the segments in order.
    fn segment_by_rank(partitioning: &Partitioning) -> Vec<u64> {
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

    #[test]
    fn every_state_is_in_one_segment_of_its_partition() {
        for (prefix, fixed_pieces, segment_words, partitioning) in partitionings() {
            let segments = segment_by_rank(&partitioning);
            assert_eq!(segments.len() as u64, prefix.states());
            let used: BTreeSet<u64> = segments.iter().copied().collect();
            assert_eq!(used.len() as u64, partitioning.segments(), "no segment is empty");
            assert_eq!(count_segments(prefix, fixed_pieces, segment_words), partitioning.segments());
            for (rank, state) in States::all(prefix) {
                let partition = State::from_cells(upper(state.cells(), fixed_pieces)).rank().0;
                let (first, shapes) = partitioning.segments_of(partition);
                let segment = segments[rank.0 as usize];
                assert!(
                    (first..first + shapes.len() as u64).contains(&segment),
                    "{state:?} is in partition {partition}"
                );
            }
        }
    }

    #[test]
    fn segments_respect_their_size_and_masks_divide_shared_words() {
        for (_, _, segment_words, partitioning) in partitionings() {
            for partition in 0..partitioning.partitions() {
                let mut bits = BTreeMap::new();
                for segment in partitioning.segments_of(partition).1 {
                    assert!((1..=segment_words).contains(&segment.words().len()));
                    for word in segment.words() {
                        let others = bits.entry(word).or_insert(0u64);
                        assert_eq!(*others & segment.mask(word), 0);
                        *others |= segment.mask(word);
                    }
                }
                let states: u32 = bits.values().map(|word| word.count_ones()).sum();
                assert_eq!(u64::from(states), partitioning.shape(partitioning.pieces(partition)).bits);
            }
        }
    }

    #[test]
    fn segments_of_ranks_are_exactly_those_with_such_a_state() {
        for (prefix, _, _, partitioning) in partitionings() {
            let segments = segment_by_rank(&partitioning);
            let all = prefix.states();
            let step = (all / 23).max(1) as usize;
            let starts = (0..all).step_by(step).chain([all - 1]);
            for (start, length) in starts.flat_map(|start| [1, 5, 64, 200, all].map(|length| (start, length))) {
                let ranks = start..all.min(start + length);
                let mut expected = segments[ranks.start as usize..ranks.end as usize].to_vec();
                expected.dedup();
                let found: Vec<u64> = partitioning.segments_of_ranks(ranks).map(|(number, _, _)| number).collect();
                assert_eq!(found, expected);
            }
            for (number, segment, first) in partitioning.segments_of_ranks(0..all) {
                assert_eq!(segments[first as usize], number);
                assert_ne!(segments.get((first + segment.bits.end - segment.bits.start) as usize), Some(&number));
            }
        }
    }

    /// Enumerates the states that a class involves context by context, each
    /// with the cell of the mover if it is above the fixed pieces.
    fn involved(prefix: Prefix, fixed_pieces: usize, partition: u64) -> BTreeSet<(Option<Cell>, CellSet)> {
        let (pieces, context_pieces) = (Rank(partition).state(fixed_pieces).cells(), prefix.board().pieces() - 1);
        let contexts = States::of_ranks(context_pieces, 0..choose(prefix.within(), context_pieces));
        let contexts = contexts.map(|(_, context)| context.cells());
        let own = contexts.filter(|&context| upper(context, fixed_pieces) == pieces);
        own.flat_map(|context| {
            (prefix.cells() - context).iter().map(move |cell| {
                let above = pieces.first().is_some_and(|lowest| cell > lowest);
                (above.then_some(cell), context.with(cell))
            })
        })
        .collect()
    }

    #[test]
    fn a_class_has_a_distinct_bit_for_every_state_it_involves() {
        for (prefix, fixed_pieces, _, partitioning) in partitionings() {
            let segments = segment_by_rank(&partitioning);
            for upper in fixed_pieces..=prefix.board().pieces() - 2 {
                let mut groups = 0;
                for partition in 0..partitioning.partitions() {
                    let class = partitioning.class(partition, upper);
                    // Classes contain each group once and in order.
                    assert!(class.groups.is_empty() || class.groups.start == groups);
                    groups = groups.max(class.groups.end);
                    let mut bits: BTreeMap<u64, CellSet> = BTreeMap::new();
                    for (mover, state) in involved(prefix, fixed_pieces, partition) {
                        let offset = mover.map_or(class.offsets.below, |cell| class.offsets.above[cell.index()]);
                        let rank = State::from_cells(state).rank().0;
                        let bit = rank.wrapping_sub(offset);
                        if mover.is_none() {
                            assert_eq!(
                                class.offsets.above[..below(prefix, partitioning.pieces(partition))],
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

    /// Checks that the bit of a state is at the position of its segment in the class's bitmap.
    fn assert_segment(partitioning: &Partitioning, class: &ContextClass, segment: u64, rank: u64, bit: u64) {
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
            let first_word = partitioning.segment(successor.segments.start).words().start as u64;
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
