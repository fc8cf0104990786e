//! Builds in memory.

use std::ops::Range;
use std::path::Path;

use rayon::ThreadPool;
use sternhalma_data::table::fs::OsFileSystem;
use sternhalma_data::table::write::{BlockEncoder, NewTable};
use sternhalma_data::table::{Block, Provenance};
use sternhalma_data::{TableInfo, TableSpec};

use super::table_builder::TableBuilder;
use crate::blocks::{BatchSize, write_blocks};
use crate::error::Result;
use crate::observer::Observer;
use crate::options::BuildMode;
use crate::process::{Stopwatch, provenance};
use crate::search::{BfsResult, breadth_first_search};

/// Searches in memory and writes the table to `path`.
pub(super) fn build_in_memory(
    path: &Path,
    options: &TableBuilder,
    pool: &ThreadPool,
    observer: &dyn Observer,
) -> Result<()> {
    let stopwatch = Stopwatch::start();
    let TableSpec { encoding, mirrored, .. } = options.spec;
    let storage = OsFileSystem::shared();
    let new = NewTable::create_in(&storage, path, options.overwrite)?;
    let BfsResult { planes, runs, layers, boundary_layer, successors } =
        breadth_first_search(options.spec, options.symmetry(), pool, observer)?;
    let mut writer = new.begin(TableInfo { spec: options.spec, layers, boundary_layer })?;
    let encode = |encoder: &mut BlockEncoder, blocks: &[Block]| {
        // The planes of a mirrored table are by reduced rank, as its blocks are.
        let encode = |indices: Range<u64>| match runs.as_ref().filter(|_| !mirrored) {
            None => planes.encode_block(0, indices, encoding, encoder),
            Some(runs) => planes.encode_reduced_block(runs, indices, encoding, encoder),
        };
        Ok(blocks.iter().map(|block| block.indices.clone()).map(encode).collect())
    };
    write_blocks(&mut writer, BatchSize::default(), pool, observer, encode, |_| Ok(()))?;
    let (wall_s, cpu_s) = stopwatch.seconds();
    writer.finish(&Provenance {
        wall_s,
        cpu_s,
        successors,
        table_io: storage.traffic(),
        ..provenance(BuildMode::InMemory, pool)
    })?;
    Ok(())
}
