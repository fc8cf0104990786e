//! The part of the table of one process.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::PoisonError;

use rayon::prelude::*;
use sternhalma_builder::steps::{
    LayerFile, LayerSummary, Stopwatch, TableAssembler, batch_size, peak_memory, provenance,
};
use sternhalma_builder::{BuildMode, BuildPhase};
use sternhalma_data::table::write::BlockEncoder;
use sternhalma_data::table::{Block, LayerTraffic, Layout, Provenance};

use super::{PartBuild, WholeLayer};
use crate::construction::part::{PartHead, PartWriter};
use crate::error::Result;
use crate::processes::ParcelKind;

impl PartBuild<'_> {
    /// Writes the own part of the table, unless it is complete.
    pub(super) fn write_part(
        &mut self,
        path: &Path,
        layers: &[LayerFile],
        whole: &[WholeLayer],
        finished: bool,
    ) -> Result<()> {
        let spec = self.process.builder.spec();
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
                assembler.read(indices.start, &mut bytes[8..])?;
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
        // A layer describes the expansion of the previous layer.
        let boundary_layer = whole.iter().position(|layer| layer.escapes).map(|distance| distance as u32 - 1);
        let states = whole.iter().map(|layer| layer.states).filter(|&states| states > 0).collect();
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
        PartHead {
            id: self.work.id().to_owned(),
            process: self.me(),
            processes: self.exchange.processes(),
            spec: self.process.builder.spec(),
            layers: states,
            boundary_layer,
            provenance,
        }
    }
}
