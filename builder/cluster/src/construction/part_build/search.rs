//! The layers of one process.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use rayon::prelude::*;
use sternhalma_builder::steps::{
    ExternalSearch, LayerFile, LayerParts, LayerSummary, NewLayer, PackedSegment, SegmentCodec, Stopwatch,
    goal_segment, open_copies, peak_memory,
};
use sternhalma_builder::{BuildPhase, BuilderError, LayerForm, LayerReport};
use sternhalma_data::Distance;

use super::{PartBuild, PartOfLayer, WholeLayer};
use crate::error::Result;
use crate::processes::ParcelKind;

/// The copies of a layer: the own segments, and those of other processes.
type Copies = [LayerFile; 2];

/// Returns the copies of the last layer and of the one before it.
fn last_two(copies: &[Copies]) -> [LayerParts<'_>; 2] {
    [0, 1].map(|i| LayerParts(copies.get(i).map_or(&[], |copies| &copies[..])))
}

impl PartBuild<'_> {
    /// Adds the layers that are missing. The last one is empty.
    pub(super) fn search(&self, layers: &mut Vec<LayerFile>, whole: &mut Vec<WholeLayer>) -> Result<()> {
        if whole.last().is_some_and(|layer| layer.states == 0) {
            return Ok(());
        }
        let prefix = self.process.builder.spec().prefix;
        let mut copies = self.restore_copies(layers)?;
        let mut search = ExternalSearch::new(
            &self.partitioning,
            self.params,
            LayerForm::Delta,
            &self.storage,
            &self.work.dir.spill_path(),
            self.process.observer,
        );
        let mut seen = whole.iter().map(|layer| layer.states).sum::<u64>();
        loop {
            let distance = layers.len() as u32;
            if distance > Distance::COUNT as u32 {
                return Err(BuilderError::DistanceTooLarge);
            }
            let (layer, copy, report) = self.next_layer(&mut search, distance, &copies)?;
            let votes = self.inbox.voting.ask(&self.exchange, &(PartOfLayer::of(&layer), report))?;
            let (votes, reports): (Vec<PartOfLayer>, Vec<LayerReport>) = votes.into_iter().unzip();
            if self.records_commits() {
                let parts: Vec<u64> = votes.iter().map(|part| part.checksum).collect();
                self.work.commit(distance, &parts)?;
            }
            layers.push(layer);
            let all = WholeLayer::of(votes.into_iter());
            whole.push(all);
            seen += all.states;
            self.process.observer.layer(distance, all.states, seen, prefix.states());
            self.process.observer.processes(&reports);
            if all.states == 0 {
                assert_eq!(seen, prefix.states(), "every state of a prefix is reachable");
                return Ok(());
            }
            let visited = self.write_visited(distance, &copies)?;
            let bytes = |files: &[LayerFile]| files.iter().map(LayerFile::bytes).sum::<u64>();
            copies.insert(0, [copy, visited]);
            self.process.observer.work_files(bytes(layers), copies.iter().map(|copies| bytes(copies)).sum());
            copies.truncate(2);
            if let Some(obsolete) = distance.checked_sub(2) {
                self.work.remove_copy(obsolete)?;
            }
        }
    }

    /// Returns the copies of the last two layers, the last one first. Sends the own segments to the other processes.
    fn restore_copies(&self, layers: &[LayerFile]) -> Result<Vec<Copies>> {
        let own = open_copies(&self.work, &self.partitioning, layers)?;
        let first = layers.len() - own.len();
        let mut copies: Vec<Copies> = Vec::new();
        for (i, own) in own.into_iter().rev().enumerate() {
            let own = own.expect("a layer of differences has a copy");
            let segments: Vec<u64> = (0..self.partitioning.segments()).collect();
            segments.par_iter().try_for_each(|&segment| match own.whole_segment(segment)? {
                Some(bytes) => self.announce(segment, &bytes),
                None => Ok(()),
            })?;
            self.exchange.barrier()?;
            let visited = self.write_visited((first + i) as u32, &copies)?;
            self.exchange.barrier()?;
            copies.insert(0, [own, visited]);
        }
        Ok(copies)
    }

    /// Sends an own segment to the processes whose contexts involve it.
    fn announce(&self, segment: u64, bytes: &[u8]) -> Result<()> {
        let mut visitors = self.ownership.visitors(segment);
        visitors.try_for_each(|to| self.exchange.send(to, ParcelKind::Frontier, segment, bytes.to_vec()))
    }

    /// Writes the copies of the segments that have arrived, given those of the two previous layers.
    fn write_visited(&self, distance: u32, copies: &[Copies]) -> Result<LayerFile> {
        let segments = self.partitioning.segments();
        let mut writer = self.work.create_visited(distance, segments)?;
        let [last, before] = last_two(copies);
        let most = self.params.segment_words + 1;
        let buffers = || (SegmentCodec::default(), [vec![0; most], vec![0; most], vec![0; most]]);
        let unpack = |(codec, buffers): &mut (SegmentCodec, [Vec<u64>; 3]), segment: u64| -> Result<PackedSegment> {
            let mut frames = self.inbox.frontier.take(segment)?;
            let Some(bytes) = frames.pop() else { return Ok(PackedSegment::default()) };
            let length = self.partitioning.segment(segment).words().len();
            let [words, last_words, before_words] = buffers.each_mut().map(|buffer| &mut buffer[..length]);
            for (source, words) in [(last, &mut *last_words), (before, &mut *before_words)] {
                if !source.read(segment, words, codec)? {
                    words.fill(0);
                }
            }
            let neighbors = self.partitioning.neighbors(segment);
            if !frames.is_empty() || !codec.unpack_delta(&bytes, words, [&*last_words, &*before_words], neighbors) {
                let what = format!("segment {segment} is invalid");
                return Err(BuilderError::damaged(self.inbox.frontier.path(), what));
            }
            Ok(codec.pack(words))
        };
        let batch = 16 * rayon::current_num_threads() as u64;
        for first in (0..segments).step_by(batch as usize) {
            let end = segments.min(first + batch);
            if !self.inbox.frontier.any(first..end) {
                writer.add_empty(end - first);
                continue;
            }
            let packed = (first..end).into_par_iter().map_init(buffers, unpack).collect::<Result<Vec<_>>>()?;
            writer.add(packed.iter())?;
        }
        self.inbox.frontier.reset();
        writer.finish(LayerSummary::default())
    }

    /// Writes the own part of the layer of this distance, given the copies of the two previous layers.
    /// Returns the layer, the copy of the own segments, and a report.
    fn next_layer(
        &self,
        search: &mut ExternalSearch,
        distance: u32,
        copies: &[Copies],
    ) -> Result<(LayerFile, LayerFile, LayerReport)> {
        let (stopwatch, before) = (Stopwatch::start(), self.storage.traffic());
        let mut report = LayerReport { layer: distance, process: self.me(), ..LayerReport::default() };
        let mut out = self.work.create_layer(distance, self.partitioning.segments(), LayerForm::Delta)?;
        let summary = match distance {
            0 => self.write_goal(&mut out)?,
            _ => self.expand(search, last_two(copies), &mut out, &mut report)?,
        };
        let (layer, copy) = out.finish(|| {
            let ((wall_s, cpu_s), traffic) = (stopwatch.seconds(), self.storage.traffic().since(before));
            let (read, written) = (traffic.read, traffic.written);
            LayerSummary { wall_s, cpu_s, read, written, peak_bytes: peak_memory(), ..summary }
        })?;
        let copy = copy.expect("a layer of differences has a copy");
        if self.has_copies() {
            self.send_copy(distance)?;
            self.exchange.barrier()?;
        }
        if self.process.builder.process_options().drop_page_cache {
            let copies = copies.iter().flatten();
            copies.chain([&layer, &copy]).for_each(LayerFile::drop_page_cache);
        }
        report.close_s = stopwatch.seconds().0 - report.expand_s - report.wait_s;
        report.cpu_s = stopwatch.seconds().1;
        report.states = layer.summary().states;
        let sent = self.exchange.traffic().0;
        report.sent = sent - self.reported.swap(sent, Relaxed);
        report.bytes = layer.bytes();
        report.peak_bytes = peak_memory();
        Ok((layer, copy, report))
    }

    /// Writes the own part of layer 0: the goal is in segment 0.
    fn write_goal(&self, out: &mut NewLayer) -> Result<LayerSummary> {
        let segments = self.partitioning.segments();
        if !self.owns(self.partitioning.partition_of(0)) {
            out.add_empty(segments);
            return Ok(LayerSummary::default());
        }
        let goal = goal_segment(&self.partitioning);
        self.announce(0, &goal.layer.bytes)?;
        out.add(&[goal])?;
        out.add_empty(segments - 1);
        Ok(LayerSummary { states: 1, ..LayerSummary::default() })
    }

    /// Writes the own part of a layer after the first.
    fn expand(
        &self,
        search: &mut ExternalSearch,
        layers: [LayerParts; 2],
        out: &mut NewLayer,
        report: &mut LayerReport,
    ) -> Result<LayerSummary> {
        let stopwatch = Stopwatch::start();
        let partitions = self.partitioning.partitions();
        let groups = |partition| {
            let groups = search.class(partition).groups;
            groups.end - groups.start
        };
        let own_groups = (0..partitions).filter(|&partition| self.owns(partition)).map(groups).sum();
        self.process.observer.begin(BuildPhase::Layer(report.layer), own_groups);
        let escapes = AtomicBool::new(false);
        let is_own = |segment| self.owns(self.partitioning.partition_of(segment));
        let send = |segment, bytes| {
            let owner = self.ownership.owner(self.partitioning.partition_of(segment));
            self.exchange.send(owner, ParcelKind::Reached, segment, bytes)
        };
        for partition in (0..partitions).filter(|&partition| self.owns(partition)) {
            self.check()?;
            let class = search.class(partition);
            if search.expand_contexts(&class, layers[0], &escapes)? {
                search.hand_over(&class, layers, is_own, send)?;
            }
        }
        report.expand_s = stopwatch.seconds().0;
        self.exchange.barrier()?;
        report.wait_s = stopwatch.seconds().0 - report.expand_s;
        let mut states = 0;
        for partition in 0..partitions {
            self.check()?;
            if self.owns(partition) {
                let announce = |segment, packed: &PackedSegment| self.announce(segment, &packed.bytes);
                states += search.close(partition, layers, &self.inbox.reached, out, announce)?;
            } else {
                out.add_empty(self.partitioning.segments_of(partition).1.len() as u64);
            }
        }
        search.end_layer();
        self.inbox.reached.reset();
        let (escapes, successors) = (escapes.into_inner(), search.take_successors());
        Ok(LayerSummary { states, escapes, successors, ..LayerSummary::default() })
    }
}
