//! Builds on several machines: the out-of-core search with its partitions divided among processes.
//!
//! Each process owns partitions ([`ownership`]), expands their contexts and stores their states. A layer
//! takes these steps:
//!
//! 1. Every process expands its contexts. States that it reaches in partitions of others are sent
//!    to their owners. A [barrier](crate::processes::Exchange::barrier) ends the step.
//! 2. Every process closes its partitions. Each new segment is sent to the processes whose contexts
//!    involve it, which need it for the next layer.
//! 3. Every process makes its part of the layer durable and [votes](crate::processes::Voting) with its checksum. Process
//!    0 records all parts in a manifest, which commits the layer.
//!
//! Both kinds of messages are segments as they are stored, as the difference to the two previous layers: a
//! process has these layers in all segments that its contexts involve.
//!
//! At the end, every process encodes the blocks of the table that begin in its partitions. A block that
//! continues in a partition of another process gets its distances.

mod beginning;
mod copies;
mod estimate;
mod ownership;
mod part;
mod part_build;
#[cfg(test)]
mod tests;

pub use estimate::{ClusterEstimate, LinkEstimate};
pub use part::assemble;
pub use part_build::PartReport;

use std::path::Path;

use sternhalma_builder::steps::{MIN_SPILL, PartitionParams, WorkDir, fit_with_fixed, thread_pool};
use sternhalma_builder::{BuilderError, Observer, ProcessOptions, TableBuilder, thread_count};
use sternhalma_data::TableSpec;

use crate::error::{ClusterError, Result};
use crate::processes::{ClusterMember, connection_memory, with_connections};
use ownership::owner_memory;
use part_build::ClusterProcess;

/// How a process of a cluster uses its memory.
struct PartMemory {
    params: PartitionParams,
    threads: usize,
    /// The memory limit without connections, in bytes.
    limit: u64,
}

/// Returns the parameters of a process, and the number of threads that its memory limit allows.
fn part_memory(spec: TableSpec, threads: usize, memory_limit: u64, processes: usize) -> Result<PartMemory> {
    let limit = memory_limit.saturating_sub(connection_memory(processes));
    let (params, threads) =
        fit_with_fixed(spec, threads, limit, 1).map_err(|error| with_connections(error, memory_limit, processes))?;
    let own = owner_memory(spec, params);
    let too_small = || BuilderError::MemoryLimit { least: memory_limit.saturating_add(own), limit: memory_limit };
    let spill_bytes = params.spill_bytes.checked_sub(own).filter(|&bytes| bytes >= MIN_SPILL).ok_or_else(too_small)?;
    Ok(PartMemory { params: PartitionParams { spill_bytes, ..params }, threads, limit })
}

/// Tests that the table at `path` can be built in parts.
///
/// # Errors
/// If the table must be mirrored and has no mirrored form, if it has fewer than three pieces, or if the work
/// directory contains an unfinished build by one process.
pub fn check_parts(builder: &TableBuilder, path: impl AsRef<Path>) -> Result<()> {
    check_form(builder.spec())?;
    let path = builder.work_dir_of(path);
    if !builder.process_options().restart && WorkDir::has_layers(&path) {
        return Err(ClusterError::OneProcess { path }.into());
    }
    Ok(())
}

/// Tests that the memory limit suffices for a process of a cluster.
///
/// # Errors
/// If it does not.
pub fn check_part_memory(builder: &TableBuilder, processes: usize) -> Result<()> {
    parameters(builder, processes).map(drop)
}

fn check_form(spec: TableSpec) -> Result<()> {
    spec.layout()?;
    if spec.prefix.board().pieces() < 3 {
        let what = "a table of fewer than 3 pieces is built by one process".to_owned();
        return Err(ClusterError::Hosts { what }.into());
    }
    Ok(())
}

fn parameters(builder: &TableBuilder, processes: usize) -> Result<PartMemory> {
    let ProcessOptions { threads, memory_limit, .. } = builder.process_options();
    part_memory(builder.spec(), thread_count(threads), memory_limit, processes)
}

/// Builds a part of the table at `path` as a process of a cluster, at
/// [`ClusterMember::part_path`]. The other processes must build the same table. [`assemble`] joins
/// the parts. The table has the same bytes as that of a single process, except for the provenance.
///
/// Every process has a directory of its own in the work directory, so that all of them can have the same work
/// directory. If a process ends, all processes end. The same command on all machines resumes after the last
/// committed layer. Another number of processes can resume the build too, if the work directories contain the
/// layers of all former processes.
///
/// # Errors
/// As [`TableBuilder::build`], and if the processes cannot be connected, differ in what they build, or one
/// of them is lost.
pub fn build_part(
    builder: &TableBuilder,
    path: impl AsRef<Path>,
    member: &ClusterMember,
    observer: &dyn Observer,
) -> Result<PartReport> {
    check_parts(builder, &path)?;
    let PartMemory { params, threads, limit } = parameters(builder, member.processes())?;
    let pool = &thread_pool(threads)?;
    ClusterProcess { builder, member, params, memory_limit: limit, pool, observer }.run(path.as_ref())
}
