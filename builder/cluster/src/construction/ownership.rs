//! The processes that own the partitions of a search.

use std::ops::Range;

use sternhalma_builder::steps::{LayerFile, PartitionParams, Partitioning, count_segments};
use sternhalma_data::board::choose;
use sternhalma_data::{Cell, CellSet, TableSpec};

/// The owner of each partition, and the processes that read each segment.
///
/// A process expands the contexts of its partitions and stores their states. Partitions with the
/// same highest pieces have the same owner, so that a move of another piece stays with the owner.
pub(super) struct Ownership {
    owners: Vec<u16>,
    /// The first indices of runs of partitions with the same owner, in order, with that owner.
    runs: Vec<(u64, u16)>,
    /// For each segment, the processes other than its owner whose contexts involve it.
    visitors: Vec<Box<[u16]>>,
}

impl Ownership {
    /// Divides the partitions among processes. The classes have groups with `upper` upper pieces.
    pub fn new(partitioning: &Partitioning, processes: usize, upper: usize) -> Ownership {
        let partitions = partitioning.partitions();
        let (sizes, owners) = owners(partitioning, processes);
        let mut runs: Vec<(u64, u16)> = Vec::new();
        let mut start = 0;
        for (&owner, size) in owners.iter().zip(&sizes) {
            if *size > 0 && runs.last().is_none_or(|&(_, last)| last != owner) {
                runs.push((start, owner));
            }
            start += size;
        }
        let mut visitors = vec![Vec::new(); partitioning.segments() as usize];
        let owner_of = |partition: u64| owners[partition as usize];
        for partition in 0..partitions {
            let class = partitioning.class(partition, upper);
            let visitor = owner_of(partition);
            for successor in &class.successors {
                let owner = owner_of(partitioning.partition_of(successor.segments.start));
                for segment in successor.segments.clone().filter(|_| owner != visitor) {
                    let visitors: &mut Vec<u16> = &mut visitors[segment as usize];
                    if !visitors.contains(&visitor) {
                        visitors.push(visitor);
                    }
                }
            }
        }
        let visitors = visitors.into_iter().map(Vec::into_boxed_slice).collect();
        Ownership { owners, runs, visitors }
    }

    /// Returns the indices of the states of a process, in order.
    pub fn ranges(partitioning: &Partitioning, processes: usize, process: usize) -> Vec<Range<u64>> {
        let (sizes, owners) = owners(partitioning, processes);
        let mut ranges: Vec<Range<u64>> = Vec::new();
        let mut start = 0;
        for (owner, size) in owners.into_iter().zip(sizes) {
            match ranges.last_mut() {
                _ if usize::from(owner) != process || size == 0 => {}
                Some(last) if last.end == start => last.end += size,
                _ => ranges.push(start..start + size),
            }
            start += size;
        }
        ranges
    }

    /// Returns an upper bound of the memory, in bytes.
    pub fn memory(partitions: u64, segments: u64) -> u64 {
        18 * partitions + 40 * segments
    }

    /// Returns the owner of a partition.
    pub fn owner(&self, partition: u64) -> usize {
        self.owners[partition as usize].into()
    }

    /// Returns the processes other than its owner whose contexts involve a segment.
    pub fn visitors(&self, segment: u64) -> impl Iterator<Item = usize> {
        self.visitors[segment as usize].iter().map(|&process| process.into())
    }

    /// Returns which states travel between the processes in a layer: for each process, the states of the segments that it
    /// sends to visitors, and of those that it receives as a visitor.
    pub fn traffic(&self, partitioning: &Partitioning, processes: usize) -> Vec<StateTraffic> {
        let mut traffic = vec![StateTraffic::default(); processes];
        for segment in 0..partitioning.segments() {
            let bits = &partitioning.segment(segment).bits;
            let states = bits.end - bits.start;
            let owner = self.owner(partitioning.partition_of(segment));
            for visitor in self.visitors(segment) {
                traffic[owner].sent += states;
                traffic[visitor].received += states;
            }
        }
        traffic
    }

    /// Returns the owner of the state with an index.
    pub fn owner_of_index(&self, index: u64) -> usize {
        self.runs[self.runs.partition_point(|&(start, _)| start <= index) - 1].1.into()
    }

    /// Returns the first indices of runs of states with one owner, in order.
    pub fn starts(&self) -> impl Iterator<Item = u64> {
        self.runs.iter().map(|&(start, _)| start)
    }

    /// Divides indices into parts with one owner each.
    pub fn split(&self, indices: Range<u64>) -> impl Iterator<Item = (usize, Range<u64>)> {
        let first = self.runs.partition_point(|&(start, _)| start <= indices.start) - 1;
        let ends = self.runs[first + 1..].iter().map(|&(start, _)| start).chain([u64::MAX]);
        let runs = self.runs[first..].iter().zip(ends);
        let end = indices.end;
        let parts = runs.take_while(move |((start, _), _)| *start < end);
        parts.map(move |(&(start, owner), next)| (owner.into(), start.max(indices.start)..next.min(indices.end)))
    }
}

/// Returns the memory that a process needs besides that of a build by one process, in bytes: the owners, and the
/// copies of segments of other processes.
pub(super) fn owner_memory(spec: TableSpec, params: PartitionParams) -> u64 {
    let partitions = choose(spec.prefix.within(), params.fixed_pieces);
    let segments = count_segments(spec.prefix, params.fixed_pieces, params.segment_words);
    Ownership::memory(partitions, segments).saturating_add(LayerFile::memory(segments).saturating_mul(3))
}

/// The states in the segments that a process sends to visitors and receives as a visitor.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct StateTraffic {
    pub sent: u64,
    pub received: u64,
}

/// Returns the number of states and the owner of each partition.
fn owners(partitioning: &Partitioning, processes: usize) -> (Vec<u64>, Vec<u16>) {
    let sizes: Vec<u64> =
        (0..partitioning.partitions()).map(|partition| partitioning.partition_states(partition)).collect();
    let owners = divide(&sizes, |partition| highest_first(partitioning.pieces(partition as u64)), processes);
    (sizes, owners)
}

/// Returns pieces, the highest one first.
fn highest_first(pieces: CellSet) -> Vec<Cell> {
    let mut pieces: Vec<Cell> = pieces.iter().collect();
    pieces.reverse();
    pieces
}

/// Assigns partitions to processes: the largest runs with the same highest pieces first, each to
/// the process with the fewest states. Runs are divided by further pieces while one of them
/// exceeds the share of a process.
fn divide(sizes: &[u64], pieces: impl Fn(usize) -> Vec<Cell>, processes: usize) -> Vec<u16> {
    let share = sizes.iter().sum::<u64>() / processes as u64;
    let pieces: Vec<_> = (0..sizes.len()).map(pieces).collect();
    let most = pieces.first().map_or(0, Vec::len);
    let runs_by = |shared: usize| -> Vec<Range<usize>> {
        let indices: Vec<usize> = (0..sizes.len()).collect();
        let runs = indices.chunk_by(|&a, &b| pieces[a][..shared] == pieces[b][..shared]);
        runs.map(|run| run[0]..run[run.len() - 1] + 1).collect()
    };
    let states = |run: &Range<usize>| sizes[run.clone()].iter().sum::<u64>();
    let fits = |runs: &Vec<Range<usize>>| processes == 1 || runs.iter().all(|run| states(run) <= share);
    let mut runs = (0..=most).map(runs_by).find(fits).unwrap_or_else(|| runs_by(most));
    runs.sort_by_key(|run| std::cmp::Reverse(states(run)));
    let mut loads = vec![0u64; processes];
    let mut owners = vec![0; sizes.len()];
    for run in runs {
        let least = (0..processes).min_by_key(|&process| loads[process]).expect("there is a process");
        loads[least] += states(&run);
        owners[run].fill(least as u16);
    }
    owners
}

#[cfg(test)]
mod tests {
    use super::*;
    use sternhalma_builder::steps::Numbering;
    use sternhalma_data::board::Symmetry;
    use sternhalma_data::{Board, Prefix};

    fn partitioning(side: u64, pieces: u64, fixed: usize, mirrored: bool) -> Partitioning {
        let prefix = Prefix::whole(Board::new(side, pieces).unwrap());
        let symmetry = Symmetry::of(prefix).filter(|_| mirrored);
        Partitioning::new(Numbering::new(prefix, symmetry), fixed, 50)
    }

    #[test]
    fn every_process_owns_about_the_same_number_of_states() {
        for (fixed, processes, most) in [(1, 2, 1.01), (1, 4, 1.01), (2, 8, 1.01), (2, 16, 1.02), (3, 64, 1.1)] {
            let partitioning = partitioning(9, 6, fixed, false);
            let ownership = Ownership::new(&partitioning, processes, 4);
            let mut loads = vec![0; processes];
            for partition in 0..partitioning.partitions() {
                loads[ownership.owner(partition)] += partitioning.partition_states(partition);
            }
            let mean = partitioning.states() as f64 / processes as f64;
            let largest = *loads.iter().max().unwrap() as f64 / mean;
            assert!(largest < most, "{fixed} fixed pieces, {processes} processes: {largest}");
        }
    }

    #[test]
    fn every_visited_segment_is_sent_and_received() {
        for processes in 1..5 {
            let partitioning = partitioning(4, 4, 2, false);
            let ownership = Ownership::new(&partitioning, processes, 2);
            let traffic = ownership.traffic(&partitioning, processes);
            let sum = |states: fn(&StateTraffic) -> u64| traffic.iter().map(states).sum::<u64>();
            assert_eq!(sum(|process| process.sent), sum(|process| process.received));
            assert_eq!(sum(|process| process.sent) > 0, processes > 1);
            assert!(sum(|process| process.sent) < processes as u64 * partitioning.states());
        }
    }

    #[test]
    fn indices_have_the_owner_of_their_partition() {
        for (mirrored, fixed) in [(false, 1), (false, 2), (true, 1), (true, 2)] {
            let partitioning = partitioning(4, 3, fixed, mirrored);
            let ownership = Ownership::new(&partitioning, 3, 2);
            let mut expected = Vec::new();
            for partition in 0..partitioning.partitions() {
                let states = partitioning.partition_states(partition) as usize;
                expected.extend(vec![ownership.owner(partition); states]);
            }
            assert_eq!(expected.len() as u64, partitioning.states());
            let found: Vec<usize> = (0..partitioning.states()).map(|index| ownership.owner_of_index(index)).collect();
            assert_eq!(found, expected);
            for (start, end) in [(0, expected.len()), (5, 6), (3, expected.len() - 7)] {
                let parts = ownership.split(start as u64..end as u64);
                let owners: Vec<usize> =
                    parts.flat_map(|(owner, part)| vec![owner; (part.end - part.start) as usize]).collect();
                assert_eq!(owners, expected[start..end]);
            }
            for process in 0..3 {
                let own = Ownership::ranges(&partitioning, 3, process).into_iter().flatten();
                assert!(own.eq((0..partitioning.states()).filter(|&index| expected[index as usize] == process)));
            }
        }
    }
}
