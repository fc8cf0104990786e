//! The memory and the disk space of the machine.

use std::path::Path;

use anyhow::{Context, Result, bail};
use bytesize::ByteSize;
use indicatif::HumanBytes;
use sternhalma_ggp::MemoryBudget;

use crate::output::status;

/// Returns the given memory limit, or three quarters of the machine's memory.
pub fn memory_limit(given: Option<ByteSize>) -> u64 {
    given.map_or_else(|| total_memory() / 4 * 3, |memory| memory.as_u64())
}

/// Returns the memory limit of searches: the given one, or a quarter of the machine's memory.
pub fn search_memory(given: Option<ByteSize>) -> u64 {
    match (given, total_memory()) {
        (Some(memory), _) => memory.as_u64(),
        // Some systems do not report their memory.
        (None, 0) => 1 << 30,
        (None, total) => total / 4,
    }
}

/// Prints a notice if searches could not grow because of the memory limit.
pub fn report_exhausted(memory: &MemoryBudget) {
    if memory.is_exhausted() {
        status!(
            "some search trees reached the memory limit and stopped growing; raise --memory or the parameter `memory` of \
             the policies"
        );
    }
}

/// Returns the memory of the machine, or the part that a container has of it.
pub fn total_memory() -> u64 {
    let mut system = sysinfo::System::new();
    system.refresh_memory();
    let limit = system.cgroup_limits().map_or(u64::MAX, |limits| limits.total_memory);
    system.total_memory().min(limit)
}

/// Tests that this much memory is available.
///
/// # Errors
///
/// Fails if the memory is not available. The message ends with `advice`.
pub fn check_memory(needed: u64, advice: &str) -> Result<()> {
    let mut system = sysinfo::System::new();
    system.refresh_memory();
    let mut available = system.available_memory();
    if let Some(limits) = system.cgroup_limits() {
        available = available.min(limits.free_memory);
    }
    // Some systems do not report their memory. Such systems are assumed to have enough.
    if available > 0 && needed > available {
        bail!("this needs {} of memory and {} are available; {advice}", HumanBytes(needed), HumanBytes(available));
    }
    Ok(())
}

/// Tests that the disk has `needed` bytes for a file at `path`. The directory of the file need not
/// exist yet: the test uses its nearest existing ancestor.
///
/// # Errors
///
/// Fails if the disk has less.
pub fn check_disk(path: &Path, needed: u64, advice: &str) -> Result<()> {
    let existing = path.ancestors().skip(1).find(|dir| dir.exists() && !dir.as_os_str().is_empty());
    let dir = existing.unwrap_or(Path::new("."));
    let available =
        fs4::available_space(dir).with_context(|| format!("cannot read the free space of {}", dir.display()))?;
    if needed > available {
        bail!(
            "this needs about {} of disk and {} has {} available; {advice}",
            HumanBytes(needed),
            dir.display(),
            HumanBytes(available)
        );
    }
    Ok(())
}
