//! The memory and the disk space of the machine.

use std::path::Path;

use anyhow::{Context, Result, bail};
use bytesize::ByteSize;
use indicatif::HumanBytes;

/// The limit a user gives, or three quarters of the memory.
pub fn memory_limit(given: Option<ByteSize>) -> u64 {
    given.map_or_else(|| total_memory() / 4 * 3, |memory| memory.as_u64())
}

/// The memory of the machine, or what a container has of it.
pub fn total_memory() -> u64 {
    let mut system = sysinfo::System::new();
    system.refresh_memory();
    let limit = system.cgroup_limits().map_or(u64::MAX, |limits| limits.total_memory);
    system.total_memory().min(limit)
}

pub fn check_memory(needed: u64) -> Result<()> {
    let advice = "cover fewer cells with --within, store less with --encoding mod3, or free some memory";
    check_memory_or(needed, advice)
}

/// As [`check_memory`], with advice of one's own.
pub fn check_memory_or(needed: u64, advice: &str) -> Result<()> {
    let mut system = sysinfo::System::new();
    system.refresh_memory();
    let mut available = system.available_memory();
    if let Some(limits) = system.cgroup_limits() {
        available = available.min(limits.free_memory);
    }
    // A system that tells nothing is taken to have enough.
    if available > 0 && needed > available {
        bail!("this needs {} of memory and {} are available; {advice}", HumanBytes(needed), HumanBytes(available));
    }
    Ok(())
}

pub fn check_disk(path: &Path, needed: u64) -> Result<()> {
    let existing = path.ancestors().skip(1).find(|dir| dir.exists() && !dir.as_os_str().is_empty());
    let dir = existing.unwrap_or(Path::new("."));
    let available =
        fs4::available_space(dir).with_context(|| format!("cannot ask for the space in {}", dir.display()))?;
    if needed > available {
        bail!(
            "this needs {} of disk and {} has {} available; choose another place with -o",
            HumanBytes(needed),
            dir.display(),
            HumanBytes(available)
        );
    }
    Ok(())
}
