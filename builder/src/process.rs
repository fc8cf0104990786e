//! Threads, time and memory of this process.

use std::sync::OnceLock;
use std::time::{Duration, Instant, SystemTime};

use rayon::{ThreadPool, ThreadPoolBuilder};
use sternhalma_cpu::{level, level_name};
use sternhalma_data::table::{Origin, Provenance};

use crate::error::{BuilderError, Result};
use crate::options::BuildMode;

/// The largest number of threads per processor core.
const MAX_PER_CORE: usize = 4;

/// The largest number of threads on machines with few cores, which every machine may use.
const MAX_OF_FEW_CORES: usize = 16;

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Returns the largest number of threads that the program starts for a job: four per processor core, but 16 on machines
/// with fewer than four cores. More threads take memory and start-up time without making a job faster.
pub fn max_threads() -> usize {
    (MAX_PER_CORE * cores()).max(MAX_OF_FEW_CORES).min(rayon::max_num_threads())
}

/// Returns the number of threads of a job: the given number, at most [`max_threads`], or one per processor core for 0.
pub fn thread_count(threads: usize) -> usize {
    match threads {
        0 => cores().min(max_threads()),
        // The number of cores takes some time.
        1..=MAX_OF_FEW_CORES => threads,
        _ => threads.min(max_threads()),
    }
}

/// Returns the notice that [`thread_count`] is smaller than the given number of threads, or `None` if it is not.
pub fn thread_notice(threads: usize) -> Option<String> {
    let count = thread_count(threads);
    (threads > count).then(|| format!("{threads} threads are more than this machine can use: using {count}"))
}

/// Starts as many threads as [`thread_count`] returns.
pub fn thread_pool(threads: usize) -> Result<ThreadPool> {
    let threads = thread_count(threads);
    let started = ThreadPoolBuilder::new().num_threads(threads).build();
    started.map_err(|error| BuilderError::Threads { threads, source: Box::new(error) })
}

/// Measures elapsed time and processor time.
pub struct Stopwatch(Instant, Duration);

impl Stopwatch {
    /// Starts the measurement.
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
pub fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes =
        line.and_then(|line| line.trim().strip_suffix("kB")).and_then(|number| number.trim().parse::<u64>().ok());
    kibibytes.unwrap_or(0) * 1024
}

/// What the process knows of its program: the commit and the arguments.
static PROGRAM: OnceLock<(Option<String>, Vec<String>)> = OnceLock::new();

/// Sets the commit from which the program was compiled, and its arguments, which the tables of this process record.
/// Only the first call of a process has an effect.
pub fn set_program(commit: Option<String>, command: Vec<String>) {
    let _ = PROGRAM.set((commit, command));
}

/// Returns the origin of the tables of this process.
pub fn origin() -> Origin {
    let (commit, command) = PROGRAM.get().cloned().unwrap_or_default();
    Origin {
        program: concat!("sternhalma ", env!("CARGO_PKG_VERSION")).to_owned(),
        commit,
        command,
        cpu_level: Some(level_name(level()).to_owned()),
    }
}

/// Returns the present time: UTC, RFC 3339.
pub fn now() -> String {
    humantime::format_rfc3339_seconds(SystemTime::now()).to_string()
}

/// Returns the provenance of a build that ends now, without times and traffic.
pub fn provenance(mode: BuildMode, pool: &ThreadPool) -> Provenance {
    Provenance {
        origin: origin(),
        built: now(),
        mode: mode.name().to_owned(),
        threads: pool.current_num_threads(),
        peak_bytes: peak_memory(),
        ..Provenance::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_has_at_most_four_threads_per_core() {
        assert_eq!(thread_count(0), cores());
        assert_eq!(thread_count(3), 3);
        assert_eq!(thread_count(65_535), max_threads());
        assert_eq!([thread_notice(0), thread_notice(max_threads())], [None, None]);
        assert!(thread_notice(65_535).unwrap().ends_with(&format!("using {}", max_threads())));
        assert!((16..=16.max(4 * cores())).contains(&max_threads()));
    }
}
