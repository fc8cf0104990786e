//! The layers that a process gets from others before it resumes: those that it has lost, and those of another number of
//! processes.

use std::path::PathBuf;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use sternhalma_builder::steps::{LayerFile, LayerSummary, LockedDir, MemberId, PackedSegment, StoredPart};
use sternhalma_builder::{BuildPhase, BuilderError};

use super::{PartBuild, PartOfLayer};
use crate::construction::beginning::{EarlierWork, Source};
use crate::construction::copies::send_file;
use crate::error::{ClusterError, Result};
use crate::processes::ParcelKind;

/// What a process says about the layers that it moves.
#[derive(Serialize, Deserialize)]
struct MovedLayers {
    /// For each layer that is recorded as committed, the checksums of all parts.
    committed: Vec<Vec<u64>>,
    /// The parts that the process sends.
    parts: Vec<MovedPart>,
}

/// The layers of a process of the other cluster.
#[derive(Serialize, Deserialize)]
struct MovedPart {
    owner: usize,
    /// The summary and the checksum of each layer.
    layers: Vec<(LayerSummary, u64)>,
}

impl PartBuild<'_> {
    /// Gets the layers that other processes have, and sends those that this process has found.
    pub(super) fn fetch_layers(&self, work: &EarlierWork, found: &[StoredPart]) -> Result<()> {
        match work {
            EarlierWork::None => {}
            EarlierWork::Same { lost } => self.restore(lost, found)?,
            EarlierWork::Moved { processes, sources } => self.move_layers(*processes, sources, found)?,
        }
        // Nothing is read or written any longer, and all manifests are durable.
        self.exchange.barrier()
    }

    /// Returns the part of a source that this process has found.
    fn found_part<'a>(&self, found: &'a [StoredPart], source: &Source, processes: usize) -> &'a StoredPart {
        let member = MemberId { process: source.owner, processes };
        let is_source = |part: &&StoredPart| {
            part.member == member && part.home_process() == source.home && part.id() == self.work.id()
        };
        found.iter().find(is_source).expect("the process has found the part")
    }

    /// Returns the parts that this process sends, and their owners.
    fn sent_parts<'a>(
        &self,
        sources: &[Source],
        processes: usize,
        found: &'a [StoredPart],
    ) -> Vec<(usize, &'a StoredPart)> {
        let own = sources.iter().filter(|source| source.sender == self.me());
        own.map(|source| (source.owner, self.found_part(found, source, processes))).collect()
    }

    /// Locks the directories of other processes from which this one reads.
    fn lock_homes(&self, parts: &[(usize, &StoredPart)]) -> Result<Vec<LockedDir>> {
        let mut homes: Vec<&PathBuf> = parts.iter().map(|(_, part)| &part.home).collect();
        homes.retain(|home| **home != self.work.dir.path);
        homes.sort();
        homes.dedup();
        homes.into_iter().map(|home| LockedDir::open(&self.storage, home)).collect()
    }

    /// Sends layers to the processes that have lost them.
    fn restore(&self, lost: &[Source], found: &[StoredPart]) -> Result<()> {
        let parts = self.sent_parts(lost, self.exchange.processes(), found);
        let _locks = self.lock_homes(&parts)?;
        // Layers arrive in directories that are cleared before.
        self.exchange.barrier()?;
        for (owner, part) in parts {
            for distance in 0..part.layers(&*self.storage) {
                let (path, number) = (part.layer_path(distance), distance.into());
                send_file(&*self.storage, &path, &self.exchange, owner, ParcelKind::Restore, number)?;
            }
        }
        Ok(())
    }

    /// Moves the committed layers of a cluster with `processes` processes to the owners in this cluster. The old files
    /// remain.
    fn move_layers(&self, processes: usize, sources: &[Source], found: &[StoredPart]) -> Result<()> {
        let parts = self.sent_parts(sources, processes, found);
        let _locks = self.lock_homes(&parts)?;
        let votes = self.inbox.voting.ask(&self.exchange, &self.moved_layers(&parts)?)?;
        // Only process 0 and its keeper have recorded commits. The longer record is the last one.
        let committed = votes.iter().map(|vote| &vote.committed).max_by_key(|committed| committed.len());
        let committed = committed.expect("there is a process");
        let moved: Vec<&MovedPart> = votes.iter().flat_map(|vote| &vote.parts).collect();
        for (distance, sums) in committed.iter().enumerate() {
            let differs = |part: &&&MovedPart| part.layers.get(distance).map(|(_, sum)| sum) != sums.get(part.owner);
            if let Some(part) = moved.iter().find(differs) {
                return Err(ClusterError::OtherPart { process: part.owner, distance }.into());
            }
        }
        let segments = self.partitioning.segments();
        self.process.observer.begin(BuildPhase::Move, committed.len() as u64 * segments);
        for distance in 0..committed.len() {
            self.check()?;
            for (owner, part) in &parts {
                self.send_segments(&self.open(*owner, part, distance as u32)?)?;
            }
            self.exchange.barrier()?;
            let layer = self.write_moved(distance as u32, self.moved_summary(&moved, distance))?;
            // The vote also waits until all processes have written the layer.
            let votes = self.inbox.voting.ask(&self.exchange, &PartOfLayer::of(&layer))?;
            if self.records_commits() {
                let sums: Vec<u64> = votes.iter().map(|part| part.checksum).collect();
                self.work.commit(distance as u32, &sums)?;
            }
            self.process.observer.advance(segments);
        }
        Ok(())
    }

    /// Returns what this process says about the layers that it moves.
    fn moved_layers(&self, parts: &[(usize, &StoredPart)]) -> Result<MovedLayers> {
        // Process 0, and the one that keeps its second copies, have recorded the checksums.
        let first = parts.iter().find(|(owner, _)| *owner == 0);
        let committed = first.map(|(_, part)| part.committed(&*self.storage)).transpose()?.unwrap_or_default();
        let moved = |&(owner, part): &(usize, &StoredPart)| {
            let layer = |distance| {
                let layer = self.open(owner, part, distance)?;
                Ok((layer.summary(), layer.directory_checksum()))
            };
            Ok(MovedPart { owner, layers: (0..part.layers(&*self.storage)).map(layer).collect::<Result<_>>()? })
        };
        Ok(MovedLayers { committed, parts: parts.iter().map(moved).collect::<Result<_>>()? })
    }

    /// Opens a layer that exists.
    fn open(&self, owner: usize, part: &StoredPart, distance: u32) -> Result<LayerFile> {
        let layer = part.layer(&*self.storage, distance, self.partitioning.segments())?;
        let missing = || ClusterError::OtherPart { process: owner, distance: distance as usize };
        layer.ok_or_else(|| BuilderError::from(missing()))
    }

    /// Sends the segments of a layer to their owners.
    fn send_segments(&self, layer: &LayerFile) -> Result<()> {
        (0..self.partitioning.segments()).into_par_iter().try_for_each(|segment| {
            match layer.stored_segment(segment)? {
                Some(bytes) => {
                    let owner = self.ownership.owner(self.partitioning.partition_of(segment));
                    self.exchange.send(owner, ParcelKind::Frontier, segment, bytes)
                }
                None => Ok(()),
            }
        })
    }

    /// Writes the own part of a layer, whose segments have arrived.
    fn write_moved(&self, distance: u32, summary: LayerSummary) -> Result<LayerFile> {
        let segments = self.partitioning.segments();
        let mut writer = self.work.create_moved(distance, segments)?;
        for segment in 0..segments {
            match self.inbox.frontier.take(segment)?.pop() {
                Some(bytes) => writer.add([PackedSegment::new(bytes)].iter())?,
                None => writer.add_empty(1),
            }
        }
        self.inbox.frontier.reset();
        writer.finish(summary)
    }

    /// Returns the summary of the own part of a layer. The states and the effort of each old part are counted in one new
    /// part, so that the sums stay the same.
    fn moved_summary(&self, moved: &[&MovedPart], distance: usize) -> LayerSummary {
        let own = moved.iter().filter(|part| part.owner % self.exchange.processes() == self.me());
        let summaries = own.map(|part| &part.layers[distance].0);
        summaries.fold(LayerSummary::default(), |all, part| LayerSummary {
            states: all.states + part.states,
            escapes: all.escapes || part.escapes,
            successors: all.successors + part.successors,
            is_whole: false,
            wall_s: all.wall_s.max(part.wall_s),
            cpu_s: all.cpu_s + part.cpu_s,
            read: all.read + part.read,
            written: all.written + part.written,
            peak_bytes: all.peak_bytes.max(part.peak_bytes),
        })
    }
}
