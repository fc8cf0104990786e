//! Processes of a cluster on this machine.

use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use bytesize::ByteSize;
use sternhalma_files::create_private;

use crate::error::Reported;
use crate::output::{EXIT_LOST, is_quiet, shows_progress, status};
use crate::resources::memory_limit;

/// The failures without progress after which the processes are no longer started again.
const MAX_FAILURES: u32 = 5;

/// The pause before the first restart. Each further one without progress takes twice as long.
const BACK_OFF: Duration = Duration::from_secs(1);

/// The time that the other processes have to end after one has ended.
const END_TIME: Duration = Duration::from_secs(10);

/// The time between two looks at the processes.
const PERIOD: Duration = Duration::from_millis(50);

/// Processes of this program that work together.
pub struct LocalProcesses<'a> {
    pub processes: usize,
    /// The arguments of every process.
    pub arguments: Vec<OsString>,
    /// Further arguments of process 0.
    pub first_arguments: Vec<OsString>,
    /// A directory for the addresses and the secret.
    pub dir: PathBuf,
    pub stop: &'a AtomicBool,
}

/// How a run of the processes ended.
enum RunEnd {
    Finished,
    /// A process was killed or has lost another one.
    Lost,
    /// A process has reported an error.
    Failed,
    Stopped,
}

/// Returns the threads and the memory in bytes of each process: as given, or a share of this machine's.
pub fn resources_of_each(processes: usize, threads: usize, memory: Option<ByteSize>) -> (usize, u64) {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = if threads == 0 { (cores / processes).max(1) } else { threads };
    let share = || memory_limit(None) / processes as u64;
    (threads, memory.map_or_else(share, |memory| memory.as_u64()))
}

impl LocalProcesses<'_> {
    /// Runs the processes until all of them have succeeded. Starts them again after one was killed, and gives up after
    /// several failures without progress. `progress` returns a value that grows.
    pub fn run<P: PartialOrd>(&self, progress: impl Fn() -> P) -> Result<()> {
        let secret = self.write_secret()?;
        let mut failures = 0;
        let mut before = progress();
        loop {
            match self.run_once(&secret)? {
                RunEnd::Finished => break,
                RunEnd::Failed => return Err(Reported.into()),
                RunEnd::Stopped => bail!("interrupted: the same command resumes"),
                RunEnd::Lost => {}
            }
            let now = progress();
            if now > before {
                (failures, before) = (1, now);
            } else {
                failures += 1;
            }
            if failures == MAX_FAILURES {
                bail!("the processes have ended {MAX_FAILURES} times without progress; the same command resumes");
            }
            let pause = BACK_OFF * 2u32.pow(failures - 1);
            status!("a process has ended; starting all again in {} s", pause.as_secs());
            self.wait(pause)?;
        }
        [secret, self.hosts_path()].iter().try_for_each(fs::remove_file).context("cannot remove the work files")
    }

    fn hosts_path(&self) -> PathBuf {
        self.dir.join("hosts")
    }

    /// Waits, unless the user stops the work.
    fn wait(&self, pause: Duration) -> Result<()> {
        let end = Instant::now() + pause;
        while Instant::now() < end {
            if self.stop.load(Relaxed) {
                bail!("interrupted: the same command resumes");
            }
            std::thread::sleep(PERIOD);
        }
        Ok(())
    }

    /// Writes a new secret to a file that only this user can read.
    fn write_secret(&self) -> Result<PathBuf> {
        let path = self.dir.join("secret");
        let secret: [u8; 32] = rand::random();
        let write = || -> std::io::Result<()> {
            fs::create_dir_all(&self.dir)?;
            let digits: String = secret.iter().map(|byte| format!("{byte:02x}")).collect();
            create_private(&path)?.write_all(digits.as_bytes())
        };
        write().with_context(|| format!("{}: cannot write", path.display()))?;
        Ok(path)
    }

    /// Writes the addresses of the processes, at ports that are free now.
    fn write_hosts(&self) -> Result<PathBuf> {
        let listen = |_| TcpListener::bind("127.0.0.1:0");
        let listeners = (0..self.processes).map(listen).collect::<Result<Vec<_>, _>>().context("cannot listen")?;
        let addresses = listeners.iter().map(|listener| Ok(format!("{}\n", listener.local_addr()?)));
        let text: String = addresses.collect::<std::io::Result<_>>().context("cannot listen")?;
        let path = self.hosts_path();
        let written = create_private(&path).and_then(|mut file| file.write_all(text.as_bytes()));
        written.with_context(|| format!("{}: cannot write", path.display()))?;
        Ok(path)
    }

    /// Returns the command of a process. Only process 0 reports progress.
    fn command(&self, process: usize, hosts: &Path, secret: &Path) -> Result<Command> {
        let program = std::env::current_exe().context("cannot find this program")?;
        let mut command = Command::new(program);
        command.args(&self.arguments).arg("--cluster").arg(hosts).args(["--process", &process.to_string()]);
        command.arg("--secret-file").arg(secret);
        command.arg("--with-parent").stdin(Stdio::piped()).stdout(Stdio::null());
        if process == 0 {
            command.args(&self.first_arguments);
        }
        if process > 0 || is_quiet() {
            command.arg("--quiet");
        } else if !shows_progress() {
            command.arg("--no-progress");
        }
        Ok(command)
    }

    /// Runs all processes until one of them has failed, or all have finished.
    fn run_once(&self, secret: &Path) -> Result<RunEnd> {
        let hosts = self.write_hosts()?;
        let mut children = Vec::new();
        for process in 0..self.processes {
            match self.command(process, &hosts, secret)?.spawn() {
                Ok(child) => children.push(child),
                Err(error) => {
                    end_all(&mut children, Duration::ZERO);
                    return Err(error).context("cannot start a process");
                }
            }
        }
        loop {
            let mut running = false;
            for child in &mut children {
                match child.try_wait().context("cannot watch a process")? {
                    None => running = true,
                    Some(status) if status.success() => {}
                    Some(_) => {
                        let statuses = end_all(&mut children, END_TIME);
                        return Ok(if self.stop.load(Relaxed) { RunEnd::Stopped } else { ended(&statuses) });
                    }
                }
            }
            if !running {
                return Ok(RunEnd::Finished);
            }
            if self.stop.load(Relaxed) {
                end_all(&mut children, END_TIME);
                return Ok(RunEnd::Stopped);
            }
            std::thread::sleep(PERIOD);
        }
    }
}

/// Closes the standard input of the processes, waits for them, and kills those that are still running after a time.
fn end_all(children: &mut [Child], patience: Duration) -> Vec<ExitStatus> {
    children.iter_mut().for_each(|child| drop(child.stdin.take()));
    let end = Instant::now() + patience;
    while Instant::now() < end && children.iter_mut().any(|child| matches!(child.try_wait(), Ok(None))) {
        std::thread::sleep(PERIOD);
    }
    for child in children.iter_mut() {
        // A process that has ended cannot be killed.
        let _ = child.kill();
    }
    children.iter_mut().filter_map(|child| child.wait().ok()).collect()
}

/// Returns how a run ended in which a process has not succeeded.
fn ended(statuses: &[ExitStatus]) -> RunEnd {
    let is_error =
        |status: &ExitStatus| matches!(status.code(), Some(code) if code != 0 && code != i32::from(EXIT_LOST));
    if statuses.iter().any(is_error) { RunEnd::Failed } else { RunEnd::Lost }
}
