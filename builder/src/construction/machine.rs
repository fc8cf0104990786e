//! Machines on which a build is to run.

use std::io::{self, Write};
use std::path::Path;
use std::time::Instant;

use serde::Serialize;

use crate::error::{BuilderError, Result};

/// Bytes written to measure the disk.
const SAMPLE: usize = 128 << 20;

/// A machine on which a build is to run.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct MachineSpec {
    /// The number of processor cores, each as fast as a core of this machine.
    pub cores: usize,
    /// The memory limit of the build, in bytes.
    pub memory: u64,
    /// The throughput of the disk, in bytes per second.
    pub disk_rate: f64,
    /// The size of the page cache, in bytes.
    pub cache: u64,
}

/// Returns the bytes per second at which a file in a directory is written and synced. The file has
/// 128 MiB and is removed.
///
/// # Errors
/// If the file cannot be written.
pub fn disk_rate(directory: &Path) -> Result<f64> {
    let measure = || -> io::Result<f64> {
        let mut file = tempfile::tempfile_in(directory)?;
        // Bytes that a compressing file system cannot compress.
        let bytes: Vec<u8> =
            (0u64..SAMPLE as u64 / 8).flat_map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes()).collect();
        let started = Instant::now();
        file.write_all(&bytes)?;
        file.sync_all()?;
        Ok(SAMPLE as f64 / started.elapsed().as_secs_f64())
    };
    measure().map_err(BuilderError::file(directory, "measure the disk"))
}
