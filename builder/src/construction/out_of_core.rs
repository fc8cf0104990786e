//! Out-of-core builds, which resume after an interruption.
//!
//! Each layer is a file of the work directory. The file appears only when it is
//! complete and on disk. However the process ends, the same build resumes after
//! the last complete layer. The table appears last. The provenance of the table
//! contains the identifier of the build, which identifies a finished build.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use rayon::ThreadPool;
use rayon::prelude::*;
use sternhalma_data::table::fs::{FileSystem, OsFileSystem, Traffic, parent_directory};
use sternhalma_data::table::write::{BlockEncoder, NewTable, TableWriter};
use sternhalma_data::table::{Block, LayerTraffic, Provenance};
use sternhalma_data::{Distance, Table, TableError, TableInfo, TableSpec};

use super::assembly::{TableAssembler, TableCommits, segments_before};
use super::memory::batch_size;
use super::table_builder::TableBuilder;
use crate::blocks::check_blocks;
use crate::blocks::write_blocks;
use crate::error::{BuilderError, Result};
use crate::external::{
    CommittedBlocks, EarlierJournal, Journal, LayerFile, LayerParts, LayerSummary, LayerWriter, LockedDir, NewLayer,
    Numbering, PackedLayerSegment, PackedSegment, PartitionParams, Partitioning, SegmentCodec, SegmentHistory,
    StoredPart, WorkDir,
};
use crate::observer::{BuildPhase, Observer};
use crate::options::{BuildMode, LayerForm};
use crate::process::{Stopwatch, peak_memory, provenance};
use crate::search::ExternalSearch;

/// The bytes of the table that are written before their layers are freed.
pub(super) const COMMIT_BYTES: u64 = 256 << 20;

/// The result of a successful build.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BuildOutcome {
    /// The table was built.
    Built,
    /// An earlier build in this work directory had already finished the same table.
    AlreadyComplete,
}

/// An out-of-core build with its files and threads.
pub(super) struct OutOfCoreBuild<'a> {
    pub storage: Arc<dyn FileSystem>,
    pub options: &'a TableBuilder,
    /// The parameters, with the partitions of the layers that exist.
    pub params: PartitionParams,
    /// The form of new layers. Existing ones may have the other form.
    pub form: LayerForm,
    /// The bytes of the table that are written before their layers are freed.
    pub commit_bytes: u64,
    pub pool: &'a ThreadPool,
    pub observer: &'a dyn Observer,
}

impl<'a> OutOfCoreBuild<'a> {
    pub fn new(
        options: &'a TableBuilder,
        params: PartitionParams,
        form: LayerForm,
        pool: &'a ThreadPool,
        observer: &'a dyn Observer,
    ) -> OutOfCoreBuild<'a> {
        let storage = OsFileSystem::shared();
        OutOfCoreBuild { storage, options, params, form, commit_bytes: COMMIT_BYTES, pool, observer }
    }

    /// Builds the table at `path` with this work directory, or resumes its build.
    pub fn run(&self, path: &Path, work_dir: &Path) -> Result<BuildOutcome> {
        let params = self.params;
        let locked = LockedDir::open(&self.storage, work_dir)?;
        let begun = if self.options.restart { None } else { locked.manifest(self.options.spec)? };
        // A work directory may belong to a finished build, whose table exists.
        if begun.as_ref().is_some_and(|manifest| self.is_complete(path, manifest.id())) {
            self.make_durable(path)?;
            locked.clear()?;
            return Ok(BuildOutcome::AlreadyComplete);
        }
        let mut work = match begun {
            Some(manifest) if manifest.partitioning() == (params.fixed_pieces, params.segment_words) => {
                locked.resume(manifest)
            }
            // The layers appeared after the parameters were chosen.
            Some(_) if locked.has_layers() => return Err(BuilderError::WorkDirInUse { path: locked.path }),
            _ => {
                self.check_no_parts(work_dir)?;
                // The work directory may exist without a manifest: then nothing is checked yet.
                NewTable::check(path, self.options.overwrite)?;
                locked.start(self.options.spec, params)?
            }
        };
        let journal_path = work.dir.journal_path();
        let EarlierJournal { committed: journal, has_remainder } =
            Journal::open(&self.storage, &journal_path, work.fingerprint())?;
        let freed = journal.is_some();
        let numbering = Numbering::of(self.options.spec);
        let partitioning = Partitioning::new(numbering, params.fixed_pieces, params.segment_words);
        let build = || {
            let new = match freed {
                false => NewTable::create_in(&self.storage, path, self.options.overwrite)?,
                true => NewTable::reopen_in(&self.storage, path, self.options.overwrite)?,
            };
            let committed = journal.as_ref().map_or(0, |(_, committed)| committed.blocks.len() as u64);
            let layers = self.pool.install(|| self.layers(&mut work, &partitioning, committed))?;
            self.write_table(new, &partitioning, &work, &layers, journal)?;
            Ok(layers)
        };
        let layers = build().map_err(|error| match error {
            BuilderError::DamagedFile { .. } if has_remainder => BuilderError::DamagedJournal { path: journal_path },
            error if freed => not_resumable(error),
            error => error,
        })?;
        // The files of the layers are closed before they are removed.
        drop(layers);
        work.dir.clear()?;
        Ok(BuildOutcome::Built)
    }

    /// Returns an error if processes of a cluster have left layers of the same table in the work directory.
    fn check_no_parts(&self, work_dir: &Path) -> Result<()> {
        let parts = StoredPart::scan(&*self.storage, work_dir, self.options.spec)?;
        match parts.into_iter().find(|part| part.layers(&*self.storage) > 0) {
            Some(part) if !self.options.restart => Err(BuilderError::SeveralProcesses { path: part.home }),
            _ => Ok(()),
        }
    }

    /// Returns whether the table at `path` is the result of the build with
    /// this identifier. A table that would otherwise be replaced must also be intact.
    fn is_complete(&self, path: &Path, id: &str) -> bool {
        let Ok(table) = Table::open(path) else { return false };
        let intact = || self.pool.install(|| check_blocks(&[&table], self.options.spec.prefix.states(), &()).is_ok());
        table.spec() == self.options.spec
            && table.provenance().work.as_deref() == Some(id)
            && (!self.options.overwrite || intact())
    }

    /// Makes a table survive a power failure before its layers are removed.
    /// Removes the temporary name that a killed process may have left.
    fn make_durable(&self, path: &Path) -> Result<()> {
        // Dropping the new table removes its temporary file.
        drop(NewTable::create_in(&self.storage, path, true)?);
        self.storage.sync_directory(parent_directory(path)).map_err(BuilderError::file(path, "write"))
    }

    /// Returns all layers: those on disk, and then the others. The last layer is empty.
    /// The segments whose states are all in the first `committed` blocks of the table may be freed.
    pub fn layers(&self, work: &mut WorkDir, partitioning: &Partitioning, committed: u64) -> Result<Vec<LayerFile>> {
        let prefix = self.options.spec.prefix;
        let mut search = None;
        let mut layers: Vec<LayerFile> = Vec::new();
        // The copies of the last two layers, if they are open, the last one first.
        let mut copies: Vec<Option<LayerFile>> = Vec::new();
        let mut seen = 0;
        let segments = partitioning.segments();
        let spec = self.options.spec;
        let freed = segments_before(partitioning, &spec.layout()?, committed);
        let mut present = BTreeMap::new();
        for distance in work.dir.layer_distances()? {
            present.extend(work.layer(distance, segments)?.map(|layer| (distance, layer)));
        }
        if !present.is_empty() {
            let layers = present.iter().map(|(&distance, layer)| (distance, layer));
            check_layers(work, layers, segments, freed, self.observer)?;
            work.count_resume()?;
        }
        loop {
            let distance = layers.len() as u32;
            let layer = match present.remove(&distance) {
                Some(layer) => {
                    copies.clear();
                    layer
                }
                None if freed > 0 => {
                    let what = format!("{}: the file is missing", work.dir.layer_path(distance).display());
                    return Err(BuilderError::NotResumable { what });
                }
                None => {
                    let search = search.get_or_insert_with(|| {
                        let (params, spill) = (self.params, work.dir.spill_path());
                        ExternalSearch::new(partitioning, params, self.form, &self.storage, &spill, self.observer)
                    });
                    if copies.is_empty() {
                        copies = open_copies(work, partitioning, &layers)?;
                    }
                    let (layer, copy) = self.next_layer(work, search, &layers, &copies)?;
                    copies.insert(0, copy);
                    let bytes = layers.iter().chain([&layer]).map(LayerFile::bytes).sum();
                    self.observer.work_files(bytes, copies.iter().flatten().map(LayerFile::bytes).sum());
                    copies.truncate(2);
                    if let Some(obsolete) = distance.checked_sub(2) {
                        work.remove_copy(obsolete)?;
                    }
                    layer
                }
            };
            let states = layer.summary().states;
            layers.push(layer);
            if states == 0 {
                break;
            }
            if distance > u32::from(Distance::MAX.0) {
                return Err(BuilderError::DistanceTooLarge);
            }
            seen += states;
            self.observer.layer(distance, states, seen, prefix.states());
        }
        assert_eq!(seen, prefix.states(), "every state of a prefix is reachable");
        Ok(layers)
    }

    /// Writes the layer after `layers`, given the copies of the last two layers, the last one first. Returns the layer
    /// and its copy.
    fn next_layer(
        &self,
        work: &WorkDir,
        search: &mut ExternalSearch,
        layers: &[LayerFile],
        copies: &[Option<LayerFile>],
    ) -> Result<(LayerFile, Option<LayerFile>)> {
        let stopwatch = Stopwatch::start();
        let before = self.storage.traffic();
        let distance = layers.len() as u32;
        let mut out = work.create_layer(distance, search.partitioning.segments(), self.form)?;
        // The search reads a layer if its segments are whole, and otherwise its copy.
        let mut last_two = layers.iter().rev().zip(copies).map(|(layer, copy)| copy.as_ref().unwrap_or(layer));
        let [last, earlier] = [last_two.next(), last_two.next()];
        let summary = if last.is_none() {
            write_goal(search.partitioning, &mut out)?
        } else {
            self.observer.begin(BuildPhase::Layer(distance), search.groups());
            let [last, earlier] = [&last, &earlier].map(|file| LayerParts(file.map_or(&[], std::slice::from_ref)));
            search.expand(last, earlier, &mut out)?
        };
        let (layer, copy) = out.finish(|| {
            let ((wall_s, cpu_s), traffic) = (stopwatch.seconds(), self.storage.traffic().since(before));
            let (read, written) = (traffic.read, traffic.written);
            LayerSummary { wall_s, cpu_s, read, written, peak_bytes: peak_memory(), ..summary }
        })?;
        if self.options.drop_page_cache {
            let read = [last, earlier].into_iter().flatten();
            read.chain([&layer]).chain(&copy).for_each(LayerFile::drop_page_cache);
        }
        Ok((layer, copy))
    }

    /// Writes the table, and frees layers as their states are durable in the table.
    fn write_table(
        &self,
        new: NewTable,
        partitioning: &Partitioning,
        work: &WorkDir,
        layers: &[LayerFile],
        journal: Option<(Journal, CommittedBlocks)>,
    ) -> Result<()> {
        let spec = self.options.spec;
        let assembler = TableAssembler { partitioning, layers, encoding: spec.encoding };
        let (contents, record) = summarize(spec, layers);
        let mut writer = new.begin(contents)?;
        let mut commits = TableCommits::new(&self.storage, work, &assembler, self.commit_bytes);
        if let Some((journal, committed)) = journal {
            commits.resume(journal, committed, &mut writer)?;
        }
        let encode = |encoder: &mut BlockEncoder, blocks: &[Block]| assembler.encode(encoder, blocks);
        let commit = |writer: &mut TableWriter| commits.commit(writer);
        write_blocks(&mut writer, batch_size(spec, self.params), self.pool, self.observer, encode, commit)?;
        let effort = commits.effort();
        writer.finish(&Provenance {
            wall_s: record.wall_s + effort.wall_s,
            cpu_s: record.cpu_s + effort.cpu_s,
            peak_bytes: record.peak_bytes.max(effort.peak_bytes),
            resumes: work.resumes(),
            table_io: Traffic { read: effort.read, written: effort.written },
            work: Some(work.id().to_owned()),
            successors: record.successors,
            io: record.io,
            ..provenance(BuildMode::OutOfCore, self.pool)
        })?;
        Ok(())
    }
}

/// Replaces an error about a damaged file by the error that the build cannot be resumed.
fn not_resumable(error: BuilderError) -> BuilderError {
    let what = match &error {
        BuilderError::DamagedFile { path, what } => format!("{}: {what}", path.display()),
        BuilderError::Table(TableError::Corrupt { .. }) => error.to_string(),
        BuilderError::Table(TableError::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
            error.to_string()
        }
        _ => return error,
    };
    BuilderError::NotResumable { what }
}

/// Compares layers, each with its distance, and their copies with their checksums, except the first `freed` segments.
pub fn check_layers<'a>(
    work: &WorkDir,
    layers: impl ExactSizeIterator<Item = (u32, &'a LayerFile)>,
    segments: u64,
    freed: u64,
    observer: &dyn Observer,
) -> Result<()> {
    observer.begin(BuildPhase::Resume, layers.len() as u64 * segments);
    for (distance, layer) in layers {
        for file in [Some(layer), work.copy(distance, segments)?.as_ref()].into_iter().flatten() {
            (freed..segments).into_par_iter().try_for_each(|segment| file.check(segment))?;
        }
        if observer.cancelled() {
            return Err(BuilderError::Cancelled);
        }
        observer.advance(segments);
    }
    Ok(())
}

/// Returns the copies of the last two of these layers, the last one first. A layer whose segments are whole has
/// none. If a copy is missing, both are made from the layers.
pub fn open_copies(
    work: &WorkDir,
    partitioning: &Partitioning,
    layers: &[LayerFile],
) -> Result<Vec<Option<LayerFile>>> {
    let segments = partitioning.segments();
    let wanted = layers.len().saturating_sub(2)..layers.len();
    let open = |distance: usize| match layers[distance].is_whole() {
        true => Ok(Some(None)),
        false => Ok(work.copy(distance as u32, segments)?.map(Some)),
    };
    if let Some(copies) = wanted.clone().rev().map(open).collect::<Result<Option<Vec<_>>>>()? {
        return Ok(copies);
    }
    let create = |distance: usize| work.create_copy(distance as u32, segments);
    let mut writers = wanted.clone().map(create).collect::<Result<Vec<_>>>()?;
    let batch = rayon::current_num_threads() as u64;
    for first in (0..segments).step_by(batch as usize) {
        let history = || SegmentHistory::new(partitioning.segment_words());
        let pack = |history: &mut SegmentHistory, segment| {
            let mut packed = [PackedSegment::default(), PackedSegment::default()];
            let length = partitioning.segment(segment).words().len();
            history.for_each(partitioning, segment, layers, |codec, distance, words| {
                if let Some(packed) = distance.checked_sub(wanted.start).and_then(|i| packed.get_mut(i)) {
                    *packed = codec.pack(&words[..length]);
                }
                Ok(())
            })?;
            Ok(packed)
        };
        let batch = (first..segments.min(first + batch)).into_par_iter().map_init(history, pack);
        let batch = batch.collect::<Result<Vec<_>>>()?;
        for (i, writer) in writers.iter_mut().enumerate() {
            writer.add(batch.iter().map(|packed| &packed[i]))?;
        }
    }
    let finish = |writer: LayerWriter| writer.finish(LayerSummary::default()).map(Some);
    writers.into_iter().rev().map(finish).collect()
}

/// Writes layer 0, which consists of the goal with rank 0.
fn write_goal(partitioning: &Partitioning, out: &mut NewLayer) -> Result<LayerSummary> {
    out.add(&[goal_segment(partitioning)])?;
    out.add_empty(partitioning.segments() - 1);
    Ok(LayerSummary { states: 1, ..LayerSummary::default() })
}

/// Returns segment 0 of layer 0.
pub fn goal_segment(partitioning: &Partitioning) -> PackedLayerSegment {
    let mut words = vec![0; partitioning.segment(0).words().len()];
    words[0] = 1;
    let mut codec = SegmentCodec::default();
    let copy = codec.pack(&words);
    PackedLayerSegment { layer: copy.to_layer_segment(), copy }
}

/// Returns the contents of the table, and the part of its provenance that follows from the layers.
fn summarize(spec: TableSpec, layers: &[LayerFile]) -> (TableInfo, Provenance) {
    let summaries: Vec<LayerSummary> = layers.iter().map(LayerFile::summary).collect();
    // The file of a layer describes the expansion of the previous layer.
    let boundary_layer = summaries.iter().position(|summary| summary.escapes).map(|distance| distance as u32 - 1);
    let states = summaries.iter().map(|summary| summary.states).filter(|&states| states > 0).collect();
    let io = (0..).zip(&summaries).map(|(layer, s)| LayerTraffic { layer, read: s.read, written: s.written });
    let record = Provenance {
        wall_s: summaries.iter().map(|summary| summary.wall_s).sum(),
        cpu_s: summaries.iter().map(|summary| summary.cpu_s).sum(),
        peak_bytes: summaries.iter().map(|summary| summary.peak_bytes).max().unwrap_or(0),
        successors: summaries.iter().map(|summary| summary.successors).sum(),
        io: io.collect(),
        ..Provenance::default()
    };
    (TableInfo { spec, layers: states, boundary_layer }, record)
}
