//! Time and memory that this process has used.

use std::time::{Duration, Instant};

/// Measures elapsed time and processor time.
pub(crate) struct Stopwatch(Instant, Duration);

impl Stopwatch {
    pub fn start() -> Stopwatch {
        Stopwatch(Instant::now(), cpu_time())
    }

    /// Returns the elapsed time and the processor time since the start, in seconds.
    pub fn seconds(&self) -> (f64, f64) {
        (self.0.elapsed().as_secs_f64(), cpu_time().saturating_sub(self.1).as_secs_f64())
    }
}

/// Returns the processor time of all threads so far, or zero if the system does not report it.
#[cfg(unix)]
fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

#[cfg(not(unix))]
fn cpu_time() -> Duration {
    Duration::ZERO
}

/// Returns the peak memory use in bytes, or 0 if the system does not report it.
pub(crate) fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes =
        line.and_then(|line| line.trim().strip_suffix("kB")).and_then(|number| number.trim().parse::<u64>().ok());
    kibibytes.unwrap_or(0) * 1024
}
