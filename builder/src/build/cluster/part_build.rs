//! The build of one process.

use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use rayon::ThreadPool;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use sternhalma_data::TableInfo;
use sternhalma_data::table::fs::{FileSystem, OsFileSystem};
use sternhalma_data::table::write::BlockEncoder;
use sternhalma_data::table::{Block, LayerTraffic, Layout, Provenance};

use super::copies::{FileReceiver, send_file};
use super::exchange::{Exchange, Parcel, ParcelKind};
use super::link::Link;
use super::member::ClusterMember;
use super::ownership::Ownership;
use super::part::{PartFile, PartHead, PartWriter};
use super::peers::{Common, connect};
use super::voting::Voting;
use crate::build::assembly::TableAssembler;
use crate::build::memory::{batch_size, resume_params};
use crate::build::out_of_core::{MAX_DISTANCE, check_layers, goal_segment, open_copies};
use crate::build::table_builder::TableBuilder;
use crate::error::{BuilderError, ClusterError, Result};
use crate::external::{
    FrameStore, LayerFile, LayerParts, LayerSummary, LockedDir, Manifest, MemberId, NewLayer, Numbering, PackedSegment,
    PartitionParams, Partitioning, SegmentCodec, WorkDir, copies_name, layer_name,
};
use crate::observer::{BuildPhase, LayerReport, Observer};
use crate::options::BuildMode;
use crate::process::{Stopwatch, peak_memory, provenance};
use crate::search::ExternalSearch;

/// The build of one process.
pub(super) struct ClusterProcess<'a> {
    pub options: &'a TableBuilder,
    pub member: &'a ClusterMember,
    /// The parameters of a new build. An unfinished build keeps its partitions.
    pub params: PartitionParams,
    /// The memory limit without the memory of connections, in bytes.
    pub memory_limit: u64,
    pub pool: &'a ThreadPool,
    pub observer: &'a dyn Observer,
}

/// What a process reports about its part of a build.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PartReport {
    /// The bytes that this run of the process has sent to the others.
    pub sent: u64,
    /// The bytes that it has received from the others.
    pub received: u64,
}

/// What arrives from other processes.
struct Inbox {
    voting: Voting,
    /// States of own segments that other processes have reached.
    reached: FrameStore,
    /// Segments of other processes in the new layer.
    frontier: FrameStore,
    /// Distances in own blocks, by the number of the block.
    distances: Mutex<BTreeMap<u64, Vec<FoundDistances>>>,
    files: FileReceiver,
    /// The work directory, in which files arrive.
    work_dir: PathBuf,
}

/// Distances of consecutive states, with the index of the first one.
type FoundDistances = (u64, Vec<u8>);

impl Inbox {
    fn deliver(&self, parcel: Parcel) -> Result<()> {
        let Parcel { kind, number, bytes, .. } = parcel;
        match kind {
            ParcelKind::Reached => self.reached.add(number, bytes)?,
            ParcelKind::Frontier => self.frontier.add(number, bytes)?,
            ParcelKind::Vote => self.voting.deliver(number, parcel.from, bytes),
            ParcelKind::Distances => {
                let mut distances = self.distances.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some((first, bytes)) = bytes.split_first_chunk() {
                    let first = u64::from_le_bytes(*first);
                    distances.entry(number).or_default().push((first, bytes.to_vec()));
                }
            }
            ParcelKind::Copy => {
                let directory = self.work_dir.join(copies_name(parcel.from as usize));
                self.files.add(directory.join(layer_name(number as u32)), &bytes)?;
            }
            ParcelKind::Restore => self.files.add(self.work_dir.join(layer_name(number as u32)), &bytes)?,
            ParcelKind::Band => {}
        }
        Ok(())
    }
}

/// What a process says about its work directory when it starts.
#[derive(Serialize, Deserialize)]
struct Beginning {
    /// The identifier of the build that the directory holds.
    id: Option<String>,
    has_layers: bool,
    /// The identifier of a new build, if no process holds one.
    new_id: String,
}

/// What a process says about its files when it resumes.
#[derive(Serialize, Deserialize)]
struct Resumption {
    layers: Vec<PartOfLayer>,
    /// For each layer that process 0 has committed, the checksums of all parts.
    committed: Vec<Vec<u64>>,
    /// Whether the part of the table is complete.
    finished: bool,
}

/// What a process says about its part of a layer.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct PartOfLayer {
    states: u64,
    escapes: bool,
    checksum: u64,
}

impl PartOfLayer {
    fn of(layer: &LayerFile) -> PartOfLayer {
        let LayerSummary { states, escapes, .. } = layer.summary();
        PartOfLayer { states, escapes, checksum: layer.directory_checksum() }
    }
}

/// A layer of all processes.
#[derive(Clone, Copy)]
struct WholeLayer {
    states: u64,
    escapes: bool,
}

impl WholeLayer {
    fn of(parts: impl Iterator<Item = PartOfLayer>) -> WholeLayer {
        let none = WholeLayer { states: 0, escapes: false };
        parts.fold(none, |all, part| WholeLayer {
            states: all.states + part.states,
            escapes: all.escapes || part.escapes,
        })
    }
}

impl ClusterProcess<'_> {
    fn id(&self) -> MemberId {
        MemberId { process: self.member.process(), processes: self.member.processes() }
    }

    /// Builds the part of the table at `path`, or resumes its build.
    pub fn run(&self, path: &Path) -> Result<PartReport> {
        let (spec, storage) = (self.options.spec, OsFileSystem::shared());
        let locked = LockedDir::open(&storage, &self.options.work_dir_of(path))?;
        let manifest = if self.options.restart { None } else { locked.manifest(spec)? };
        if let Some(found) = manifest.as_ref().filter(|manifest| manifest.member() != Some(self.id())) {
            let found = found.member().map_or("a build by one process".to_owned(), |found| found.to_string());
            return Err(ClusterError::OtherMember { found, requested: self.id().to_string() }.into());
        }
        let params = self.resumed_params(manifest.as_ref(), &locked.path)?;
        let partitioning = || Partitioning::new(Numbering::of(spec), params.fixed_pieces, params.segment_words);
        let upper = spec.prefix.board().pieces() - 1 - params.slice_pieces;
        let ownership = Ownership::new(&partitioning(), self.member.processes(), upper);
        let link = Arc::new(Link::default());
        let common = Common {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            table: format!("{spec}, {:?}", spec.encoding),
            processes: self.member.processes().to_string(),
            copies: self.member.copies.to_string(),
            partitions: format!("{} {}", params.fixed_pieces, params.segment_words),
        };
        let streams = connect(self.member, &common, &link)?;
        // The memory for states on their way: spilled states, both kinds of messages, and bands.
        let share = params.spill_bytes / 8;
        let inbox = Arc::new(Inbox {
            voting: Voting::default(),
            reached: FrameStore::new(&storage, &locked.path.join("reached"), 2 * share),
            frontier: FrameStore::new(&storage, &locked.path.join("frontier"), share),
            distances: Mutex::default(),
            files: FileReceiver::new(&storage),
            work_dir: locked.path.clone(),
        });
        let receiver = Arc::clone(&inbox);
        let deliver = move |parcel| receiver.deliver(parcel);
        let exchange = Exchange::start(&link, streams, self.member.process(), share, deliver);
        let (work, lost) = self.begin(locked, manifest, params, &inbox, &exchange)?;
        let mut build = PartBuild {
            process: self,
            params: PartitionParams { spill_bytes: 4 * share, ..params },
            storage,
            exchange,
            inbox,
            work,
            reported: AtomicU64::new(0),
            lost,
            ownership,
            partitioning: partitioning(),
        };
        self.pool.install(|| build.run(path))?;
        build.exchange.finish();
        let (sent, received) = link.traffic();
        Ok(PartReport { sent, received })
    }

    /// Returns the parameters of a new build, or those of a build that is resumed.
    fn resumed_params(&self, manifest: Option<&Manifest>, work_dir: &Path) -> Result<PartitionParams> {
        let recorded = manifest.map_or((self.params.fixed_pieces, self.params.segment_words), Manifest::partitioning);
        let threads = self.pool.current_num_threads();
        resume_params(self.options.spec, threads, recorded, self.params, self.memory_limit)
            .ok_or_else(|| BuilderError::WorkDirMemory { path: work_dir.to_owned() })
    }

    /// Resumes the build that all processes hold, or starts one. Returns the processes too that have lost their work
    /// directories, of which there are second copies.
    fn begin(
        &self,
        locked: LockedDir,
        manifest: Option<Manifest>,
        params: PartitionParams,
        inbox: &Inbox,
        exchange: &Exchange,
    ) -> Result<(WorkDir, Vec<usize>)> {
        let beginning = Beginning {
            id: manifest.as_ref().map(|manifest| manifest.id().to_owned()),
            has_layers: manifest.is_some() && locked.has_layers(),
            new_id: locked.new_id(),
        };
        let votes = inbox.voting.ask(exchange, &beginning)?;
        // The build of the first process with layers, or else that of process 0.
        let held = votes.iter().find(|vote| vote.has_layers).unwrap_or(&votes[0]).id.clone();
        let is_lost = |vote: &Beginning| vote.id != held;
        let lost: Vec<usize> = (0..votes.len()).filter(|&process| is_lost(&votes[process])).collect();
        let start = |locked: LockedDir, id: String| locked.start_part(id, self.options.spec, params, self.id());
        match (held.clone(), manifest) {
            (Some(_), Some(manifest)) if lost.is_empty() => Ok((locked.resume(manifest), lost)),
            (Some(id), manifest) if votes.iter().any(|vote| vote.has_layers) => {
                // The next process has the second copies.
                let is_gone = |&process: &usize| {
                    let keeper = &votes[(process + 1) % votes.len()];
                    self.member.copies < 2 || is_lost(keeper) || votes[process].has_layers
                };
                if let Some(&process) = lost.iter().find(|&process| is_gone(process)) {
                    return Err(ClusterError::MissingPart { process, distance: 0 }.into());
                }
                let work = match manifest.filter(|_| !lost.contains(&self.member.process())) {
                    Some(manifest) => locked.resume(manifest),
                    None => start(locked, id)?,
                };
                Ok((work, lost))
            }
            _ => Ok((start(locked, votes[0].new_id.clone())?, Vec::new())),
        }
    }
}

/// Replaces the error about a damaged layer, which one process alone cannot compute again.
fn damaged_part(error: BuilderError) -> BuilderError {
    match error {
        BuilderError::DamagedFile { path, what } => ClusterError::DamagedPart { path, what }.into(),
        error => error,
    }
}

/// The build of one process that is connected to the others.
struct PartBuild<'a> {
    process: &'a ClusterProcess<'a>,
    params: PartitionParams,
    storage: Arc<dyn FileSystem>,
    exchange: Exchange,
    inbox: Arc<Inbox>,
    work: WorkDir,
    ownership: Ownership,
    partitioning: Partitioning,
    /// The sent bytes that have been reported.
    reported: AtomicU64,
    /// The processes that have lost their work directories.
    lost: Vec<usize>,
}

/// The copies of a layer: the own segments, and those of other processes.
type Copies = [LayerFile; 2];

/// Returns the copies of the last layer and of the one before it.
fn last_two(copies: &[Copies]) -> [LayerParts<'_>; 2] {
    [0, 1].map(|i| LayerParts(copies.get(i).map_or(&[], |copies| &copies[..])))
}

impl PartBuild<'_> {
    fn me(&self) -> usize {
        self.exchange.process()
    }

    fn run(&mut self, path: &Path) -> Result<()> {
        self.restore_lost()?;
        let part_path = ClusterMember::part_path(path, self.me(), self.exchange.processes());
        let finished = PartFile::open(&part_path).is_ok_and(|part| part.is_of(self.work.id(), self.me()));
        let (mut layers, mut whole, all_finished) = self.resume(finished)?;
        if !all_finished {
            self.search(&mut layers, &mut whole)?;
            self.write_part(&part_path, &layers, &whole, finished)?;
        }
        // Layers are removed when all parts of the table are durable.
        self.inbox.voting.ask(&self.exchange, &())?;
        drop(layers);
        if self.has_copies() {
            let copies = self.work.dir.copies_path(self.ward());
            match std::fs::remove_dir_all(&copies) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(BuilderError::file(&copies, "remove")(error));
                }
                _ => {}
            }
        }
        self.work.dir.clear()
    }

    fn has_copies(&self) -> bool {
        self.process.member.copies > 1
    }

    /// Returns the process that keeps the second copies of a process.
    fn keeper(&self, process: usize) -> usize {
        (process + 1) % self.exchange.processes()
    }

    /// Returns the process whose second copies this process keeps.
    fn ward(&self) -> usize {
        (self.me() + self.exchange.processes() - 1) % self.exchange.processes()
    }

    /// Sends a layer to the process that keeps its second copy. The copy is durable after the next barrier.
    fn send_copy(&self, distance: u32) -> Result<()> {
        let path = self.work.dir.layer_path(distance);
        let keeper = self.keeper(self.me());
        send_file(&*self.storage, &path, &self.exchange, keeper, ParcelKind::Copy, distance.into())
    }

    /// Sends the second copies of layers to the processes that have lost them.
    fn restore_lost(&self) -> Result<()> {
        if self.lost.is_empty() {
            return Ok(());
        }
        // Layers arrive in directories that are cleared before.
        self.exchange.barrier()?;
        let ward = self.ward();
        if self.lost.contains(&ward) {
            let path = |distance| self.work.second_copy_path(ward, distance);
            for distance in (0..=MAX_DISTANCE + 1).take_while(|&distance| path(distance).exists()) {
                send_file(&*self.storage, &path(distance), &self.exchange, ward, ParcelKind::Restore, distance.into())?;
            }
        }
        self.exchange.barrier()
    }

    /// Sends the second copies that are missing.
    fn complete_copies(&self, layers: &[LayerFile]) -> Result<()> {
        let segments = self.partitioning.segments();
        let copy = |distance| self.work.second_copy(self.ward(), distance, segments);
        let kept: Vec<Option<u64>> =
            (0..layers.len() as u32).map(|distance| copy(distance).map(|copy| copy.directory_checksum())).collect();
        let votes = self.inbox.voting.ask(&self.exchange, &kept)?;
        for (distance, (layer, copy)) in (0..).zip(layers.iter().zip(&votes[self.keeper(self.me())])) {
            if *copy != Some(layer.directory_checksum()) {
                self.send_copy(distance)?;
            }
        }
        self.exchange.barrier()
    }

    /// Returns the committed layers, and whether all processes have written their part of the table. Removes layers
    /// that are not committed.
    fn resume(&mut self, finished: bool) -> Result<(Vec<LayerFile>, Vec<WholeLayer>, bool)> {
        let segments = self.partitioning.segments();
        let mut layers = Vec::new();
        let mut committed = Vec::new();
        while let Some(layer) = self.work.layer(layers.len() as u32, segments).map_err(damaged_part)? {
            layers.push(layer);
        }
        while let Some(parts) = self.work.committed(committed.len() as u32)? {
            committed.push(parts);
        }
        let own = Resumption { layers: layers.iter().map(PartOfLayer::of).collect(), committed, finished };
        let votes = self.inbox.voting.ask(&self.exchange, &own)?;
        if votes.iter().all(|vote| vote.finished) {
            return Ok((Vec::new(), Vec::new(), true));
        }
        // Process 0 may have lost its manifests.
        let committed = votes.iter().map(|vote| &vote.committed).max_by_key(|committed| committed.len());
        let committed = committed.expect("there is a process");
        for (distance, parts) in committed.iter().enumerate() {
            let has =
                |vote: &Resumption, sum: &u64| vote.layers.get(distance).is_some_and(|part| part.checksum == *sum);
            if let Some(process) = (0..votes.len()).find(|&i| !parts.get(i).is_some_and(|sum| has(&votes[i], sum))) {
                return Err(ClusterError::MissingPart { process, distance }.into());
            }
        }
        let (kept, present) = (committed.len(), layers.len());
        // The files are locked while they are open.
        layers.clear();
        (kept..present).try_for_each(|distance| self.work.remove_layer(distance as u32))?;
        if kept > 0 {
            check_layers(&self.work, segments, 0, self.process.observer).map_err(damaged_part)?;
            self.work.count_resume()?;
        }
        for (distance, parts) in (0..).zip(committed) {
            layers.extend(self.work.layer(distance, segments)?);
            if self.commits() && self.work.committed(distance)?.is_none() {
                self.work.commit(distance, parts)?;
            }
        }
        if self.has_copies() && kept > 0 {
            self.complete_copies(&layers)?;
        }
        let whole = (0..kept).map(|distance| WholeLayer::of(votes.iter().map(|vote| vote.layers[distance])));
        Ok((layers, whole.collect(), false))
    }

    /// Adds the layers that are missing. The last one is empty.
    fn search(&mut self, layers: &mut Vec<LayerFile>, whole: &mut Vec<WholeLayer>) -> Result<()> {
        if whole.last().is_some_and(|layer| layer.states == 0) {
            return Ok(());
        }
        let prefix = self.process.options.spec.prefix;
        let mut copies = self.restore_copies(layers)?;
        let mut search = ExternalSearch::new(
            Numbering::of(self.process.options.spec),
            self.params,
            &self.storage,
            &self.work.dir.spill_path(),
            self.process.observer,
        );
        let mut seen = whole.iter().map(|layer| layer.states).sum::<u64>();
        loop {
            let distance = layers.len() as u32;
            if distance > MAX_DISTANCE + 1 {
                return Err(BuilderError::DistanceTooLarge);
            }
            let (layer, copy, report) = self.next_layer(&mut search, distance, &copies)?;
            let votes = self.inbox.voting.ask(&self.exchange, &(PartOfLayer::of(&layer), report))?;
            let (votes, reports): (Vec<PartOfLayer>, Vec<LayerReport>) = votes.into_iter().unzip();
            if self.commits() {
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
        let buffers = || (SegmentCodec::new(), [vec![0; most], vec![0; most], vec![0; most]]);
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

    /// Returns whether this process writes manifests of layers: process 0, and the one that keeps its second copies.
    fn commits(&self) -> bool {
        self.me() == 0 || (self.has_copies() && self.ward() == 0)
    }

    fn owns(&self, partition: u64) -> bool {
        self.ownership.owner(partition) == self.me()
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
        let mut out = self.work.create_layer(distance, self.partitioning.segments())?;
        let summary = match distance {
            0 => self.write_goal(&mut out)?,
            _ => self.expand(search, last_two(copies), &mut out, &mut report)?,
        };
        let (layer, copy) = out.finish(|| {
            let ((wall_s, cpu_s), traffic) = (stopwatch.seconds(), self.storage.traffic().since(before));
            let (read, written) = (traffic.read, traffic.written);
            LayerSummary { wall_s, cpu_s, read, written, peak_bytes: peak_memory(), ..summary }
        })?;
        if self.has_copies() {
            self.send_copy(distance)?;
            self.exchange.barrier()?;
        }
        if self.process.options.drop_page_cache {
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
        self.announce(0, &goal.delta.bytes)?;
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

    /// Returns an error if the build must stop.
    fn check(&self) -> Result<()> {
        self.exchange.check()?;
        if self.process.observer.cancelled() { Err(BuilderError::Cancelled) } else { Ok(()) }
    }

    /// Writes the own part of the table, unless it is complete.
    fn write_part(&mut self, path: &Path, layers: &[LayerFile], whole: &[WholeLayer], finished: bool) -> Result<()> {
        let spec = self.process.options.spec;
        let (stopwatch, before) = (Stopwatch::start(), self.storage.traffic());
        let layout = spec.layout()?;
        let assembler = TableAssembler { partitioning: &self.partitioning, layers, encoding: spec.encoding };
        // The blocks with states of several processes.
        let starts = self.ownership.starts().map(|start| (start, layout.block_of_index(start)));
        let shared: BTreeSet<u64> = starts
            .filter(|&(start, block)| layout.block(block).indices.start < start)
            .map(|(_, block)| block)
            .collect();
        for &number in &shared {
            let mut parts = self.ownership.split(layout.block(number).indices);
            let Some((owner, _)) = parts.next() else { continue };
            for (_, indices) in parts.filter(|(other, _)| owner != self.me() && *other == self.me()) {
                let mut bytes = indices.start.to_le_bytes().to_vec();
                bytes.resize(8 + (indices.end - indices.start) as usize, 0);
                assembler.planes(indices)?.read(0, &mut bytes[8..]);
                self.exchange.send(owner, ParcelKind::Distances, number, bytes)?;
            }
        }
        self.exchange.barrier()?;
        if finished {
            return Ok(());
        }
        let mut writer = PartWriter::create(&self.storage, path)?;
        let mut tasks = self.tasks(&layout, &shared, batch_size(spec, self.params).states_per_task);
        self.process.observer.begin(BuildPhase::Write, tasks.iter().map(|task| task.len() as u64).sum());
        while !tasks.is_empty() {
            self.check()?;
            let batch: Vec<Vec<u64>> = tasks.drain(..tasks.len().min(rayon::current_num_threads())).collect();
            let encode = |encoder: &mut BlockEncoder, task: &Vec<u64>| self.encode(&assembler, encoder, &layout, task);
            let encoder = || BlockEncoder::new(&layout);
            let encoded = batch.par_iter().with_max_len(1).map_init(encoder, encode).collect::<Result<Vec<_>>>()?;
            for (number, bytes) in batch.iter().flatten().zip(encoded.iter().flatten()) {
                writer.add(*number, bytes)?;
            }
            self.process.observer.advance(batch.iter().map(|task| task.len() as u64).sum());
        }
        let (wall_s, cpu_s) = stopwatch.seconds();
        let effort =
            Provenance { wall_s, cpu_s, table_io: self.storage.traffic().since(before), ..Provenance::default() };
        let head = self.head(layers, whole, effort);
        writer.finish(&head)
    }

    /// Returns the numbers of the own blocks in tasks of consecutive blocks. A block with states of several processes
    /// is a task of its own.
    fn tasks(&self, layout: &Layout, shared: &BTreeSet<u64>, states_per_task: u64) -> Vec<Vec<u64>> {
        let most = (states_per_task / layout.encoding().block_states()).max(1) as usize;
        let owner = |block: &u64| self.ownership.owner_of_index(layout.block(*block).indices.start);
        let own = (0..layout.blocks()).filter(|block| owner(block) == self.me());
        let mut tasks: Vec<Vec<u64>> = Vec::new();
        for block in own {
            match tasks.last_mut() {
                Some(task)
                    if task.len() < most
                        && task.last() == Some(&(block - 1))
                        && !shared.contains(&block)
                        && !shared.contains(&(block - 1)) =>
                {
                    task.push(block);
                }
                _ => tasks.push(vec![block]),
            }
        }
        tasks
    }

    /// Returns the bytes of consecutive blocks.
    fn encode(
        &self,
        assembler: &TableAssembler,
        encoder: &mut BlockEncoder,
        layout: &Layout,
        task: &[u64],
    ) -> Result<Vec<Vec<u8>>> {
        let blocks: Vec<Block> = task.iter().map(|&number| layout.block(number)).collect();
        let mut distances = self.inbox.distances.lock().unwrap_or_else(PoisonError::into_inner);
        let others = distances.remove(&task[0]).unwrap_or_default();
        drop(distances);
        assembler.encode_with(encoder, &blocks, &others)
    }

    /// Returns the head of the part, with the effort of this process.
    fn head(&self, layers: &[LayerFile], whole: &[WholeLayer], effort: Provenance) -> PartHead {
        let spec = self.process.options.spec;
        // A layer describes the expansion of the previous layer.
        let boundary_layer = whole.iter().position(|layer| layer.escapes).map(|distance| distance as u32 - 1);
        let states = whole.iter().map(|layer| layer.states).filter(|&states| states > 0).collect();
        let (prefix, encoding, mirrored) = (spec.prefix, spec.encoding, spec.mirrored);
        let info = TableInfo { prefix, encoding, mirrored, layers: states, boundary_layer };
        let summaries: Vec<LayerSummary> = layers.iter().map(LayerFile::summary).collect();
        let io = (0..).zip(&summaries).map(|(layer, s)| LayerTraffic { layer, read: s.read, written: s.written });
        let provenance = Provenance {
            wall_s: summaries.iter().map(|summary| summary.wall_s).sum::<f64>() + effort.wall_s,
            cpu_s: summaries.iter().map(|summary| summary.cpu_s).sum::<f64>() + effort.cpu_s,
            peak_bytes: summaries.iter().map(|summary| summary.peak_bytes).max().unwrap_or(0).max(peak_memory()),
            resumes: self.work.resumes(),
            io: io.collect(),
            table_io: effort.table_io,
            work: Some(self.work.id().to_owned()),
            successors: summaries.iter().map(|summary| summary.successors).sum(),
            ..provenance(BuildMode::OutOfCore, self.process.pool)
        };
        PartHead::new(self.work.id(), self.me(), self.exchange.processes(), &info, provenance)
    }
}
