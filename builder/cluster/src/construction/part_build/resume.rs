//! Resuming a build: what all processes have, and lost work directories.

use serde::{Deserialize, Serialize};
use sternhalma_builder::BuilderError;
use sternhalma_builder::steps::{LayerFile, check_layers};

use super::{PartBuild, PartOfLayer, WholeLayer};
use crate::construction::copies::send_file;
use crate::error::{ClusterError, Result};
use crate::processes::ParcelKind;

/// What a process says about its files when it resumes.
#[derive(Serialize, Deserialize)]
struct Resumption {
    layers: Vec<PartOfLayer>,
    /// For each layer that process 0 has committed, the checksums of all parts.
    committed: Vec<Vec<u64>>,
    /// Whether the part of the table is complete.
    finished: bool,
}

/// Replaces the error about a damaged layer, which one process alone cannot compute again.
fn damaged_part(error: BuilderError) -> BuilderError {
    match error {
        BuilderError::DamagedFile { path, what } => ClusterError::DamagedPart { path, what }.into(),
        error => error,
    }
}

impl PartBuild<'_> {
    /// Sends a layer to the process that keeps its second copy. The copy is durable after the next barrier.
    pub(super) fn send_copy(&self, distance: u32) -> Result<()> {
        let path = self.work.dir.layer_path(distance);
        let keeper = self.keeper(self.me());
        send_file(&*self.storage, &path, &self.exchange, keeper, ParcelKind::Copy, distance.into())
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
    pub(super) fn resume(&mut self, finished: bool) -> Result<(Vec<LayerFile>, Vec<WholeLayer>, bool)> {
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
                return Err(ClusterError::OtherPart { process, distance }.into());
            }
        }
        let (kept, present) = (committed.len(), layers.len());
        // The files are locked while they are open.
        layers.truncate(kept);
        (kept..present).try_for_each(|distance| self.work.remove_layer(distance as u32))?;
        if kept > 0 {
            let distances = layers.iter().enumerate().map(|(distance, layer)| (distance as u32, layer));
            check_layers(&self.work, distances, segments, 0, self.process.observer).map_err(damaged_part)?;
            self.work.count_resume()?;
        }
        for (distance, parts) in (0..).zip(committed) {
            if self.records_commits() && self.work.committed(distance)?.is_none() {
                self.work.commit(distance, parts)?;
            }
        }
        if self.has_copies() && kept > 0 {
            self.complete_copies(&layers)?;
        }
        let whole = (0..kept).map(|distance| WholeLayer::of(votes.iter().map(|vote| vote.layers[distance])));
        Ok((layers, whole.collect(), false))
    }
}
