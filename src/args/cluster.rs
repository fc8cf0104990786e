//! Processes on several machines.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use anyhow::{Context, Result};
use clap::Args;
use sternhalma_builder::BuilderError;
use sternhalma_cluster::{ClusterError, ClusterMember};

use super::output::OutputPath;
use crate::values::{count, count_in};

/// The cluster, and the place of this process in it.
#[derive(Args)]
pub struct ClusterArgs {
    /// Divide the work among processes: a file with their addresses, one HOST:PORT per line, or `local:N` for N processes on this machine
    #[arg(long, value_name = "HOSTS", help_heading = "Cluster")]
    pub cluster: Option<ClusterSpec>,
    /// Number of this process in the file, from 0
    #[arg(long, value_name = "I", requires = "cluster", value_parser = count::<usize>(0), help_heading = "Cluster")]
    process: Option<usize>,
    /// File with a secret that all processes share
    #[arg(long, value_name = "FILE", requires = "process", help_heading = "Cluster")]
    secret_file: Option<PathBuf>,
    /// End when stdin ends, because the process that started this one has ended
    #[arg(long, hide = true)]
    with_parent: bool,
}

/// The cluster of a build.
#[derive(Args)]
pub struct BuildClusterArgs {
    #[command(flatten)]
    pub args: ClusterArgs,
    /// Copies of every layer, 1 or 2: a second copy is kept by the next process, so that a lost work directory can be restored
    #[arg(long, value_name = "N", requires = "cluster", default_value_t = 1, value_parser = count_in::<usize>(1..=2), help_heading = "Cluster")]
    pub copies: usize,
    /// File to which a line of JSON per layer and process is appended: states, times, bytes and memory
    #[arg(long, value_name = "FILE", requires = "cluster", help_heading = "Cluster")]
    pub metrics: Option<OutputPath>,
}

/// The processes of a cluster.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ClusterSpec {
    /// Processes on this machine, which this process starts.
    Local(usize),
    /// A file with addresses.
    Hosts(PathBuf),
}

impl FromStr for ClusterSpec {
    type Err = String;

    fn from_str(text: &str) -> Result<ClusterSpec, String> {
        match text.strip_prefix("local:").map(str::parse) {
            None => Ok(ClusterSpec::Hosts(text.into())),
            Some(Ok(processes @ 1..=64)) => Ok(ClusterSpec::Local(processes)),
            Some(_) => Err("expected `local:` with a number from 1 to 64".to_owned()),
        }
    }
}

impl ClusterArgs {
    /// Returns this process of the cluster that a file describes.
    pub fn member(&self, hosts: &Path) -> Result<ClusterMember> {
        let process = self.process.context("--cluster with a file needs --process")?;
        let secret = self.secret_file.as_ref().context("--cluster with a file needs --secret-file")?;
        let addresses = addresses(hosts)?;
        let secret = std::fs::read(secret).with_context(|| format!("{}: cannot read", secret.display()))?;
        let secret = secret.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&secret);
        Ok(ClusterMember::new(addresses, process, secret.trim_ascii())?)
    }

    /// Sets a stop flag when the process that started this one has ended.
    pub fn end_with_parent(&self, stop: Arc<AtomicBool>) {
        if self.with_parent {
            std::thread::spawn(move || {
                // The end of the input and an error mean the same.
                let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
                stop.store(true, Relaxed);
            });
        }
    }

    /// Returns whether the process that started this one reports this error itself: an interruption, or the loss of
    /// another process.
    pub fn leaves_to_parent(&self, error: &BuilderError) -> bool {
        let lost = matches!(ClusterError::of(error), Some(ClusterError::Lost { .. }));
        self.with_parent && (lost || matches!(error, BuilderError::Cancelled))
    }
}

impl ClusterSpec {
    /// Returns the number of processes.
    pub fn processes(&self) -> Result<usize> {
        match self {
            ClusterSpec::Local(processes) => Ok(*processes),
            ClusterSpec::Hosts(hosts) => Ok(addresses(hosts)?.len()),
        }
    }
}

/// Reads a file of addresses.
fn addresses(hosts: &Path) -> Result<Vec<String>> {
    let text =
        sternhalma_ggp::messages::read_text(hosts).with_context(|| format!("{}: cannot read", hosts.display()))?;
    ClusterMember::parse_addresses(&text).with_context(|| hosts.display().to_string())
}
