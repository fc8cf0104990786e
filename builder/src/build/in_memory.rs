//! Builds in memory.

use std::ops::Range;
use std::path::Path;

use rayon::ThreadPool;
use sternhalma_data::TableInfo;
use sternhalma_data::table::Provenance;
use sternhalma_data::table::fs::OsFileSystem;
use sternhalma_data::table::write::NewTable;

use super::table_builder::TableBuilder;
use crate::blocks::{BatchSize, write_blocks};
use crate::error::Result;
use crate::observer::Observer;
use crate::options::{BuildMode, TableSpec};
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
    let TableSpec { prefix, encoding, .. } = options.spec;
    let storage = OsFileSystem::shared();
    let new = NewTable::create_in(&storage, path, options.overwrite)?;
    let BfsResult { planes, runs, layers, boundary_layer, successors } =
        breadth_first_search(options.spec, options.symmetry(), pool, observer)?;
    let mut writer = new.begin(TableInfo { prefix, encoding, layers, boundary_layer })?;
    write_blocks(
        &mut writer,
        BatchSize::default(),
        pool,
        observer,
        |encoder, blocks| {
            let encode = |ranks: Range<u64>| match &runs {
                None => planes.encode_block(0, ranks, encoding, encoder),
                Some(runs) => planes.encode_reduced_block(runs, ranks, encoding, encoder),
            };
            Ok(blocks.iter().map(|block| block.ranks.clone()).map(encode).collect())
        },
        |_| Ok(()),
    )?;
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
