//! The processes of a build on several machines.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context, Result};
use clap::Args;
use sternhalma_builder::ClusterMember;

/// The cluster of a build, and the place of this process in it.
#[derive(Args)]
pub struct ClusterArgs {
    /// Divide the work among processes: a file with their addresses, one HOST:PORT per line, or `local:N` for N processes on this machine
    #[arg(long, value_name = "HOSTS", conflicts_with_all = ["plan", "mode"], help_heading = "Cluster")]
    pub cluster: Option<ClusterSpec>,
    /// Number of this process in the file, from 0
    #[arg(long, value_name = "I", requires = "cluster", help_heading = "Cluster")]
    process: Option<usize>,
    /// File with a secret that all processes share
    #[arg(long, value_name = "FILE", requires = "process", help_heading = "Cluster")]
    secret_file: Option<PathBuf>,
    /// Copies of every layer, 1 or 2: a second copy is kept by the next process, so that a lost work directory can be restored
    #[arg(long, value_name = "N", requires = "cluster", default_value_t = 1, help_heading = "Cluster")]
    pub copies: usize,
    /// File to which a line of JSON per layer and process is appended: states, times, bytes and memory
    #[arg(long, value_name = "FILE", requires = "cluster", help_heading = "Cluster")]
    pub metrics: Option<PathBuf>,
    /// End when stdin ends, because the process that started this one has ended
    #[arg(long, hide = true)]
    pub with_parent: bool,
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
        let text = std::fs::read_to_string(hosts).with_context(|| format!("{}: cannot read", hosts.display()))?;
        let addresses = ClusterMember::parse_addresses(&text).with_context(|| hosts.display().to_string())?;
        let secret = std::fs::read(secret).with_context(|| format!("{}: cannot read", secret.display()))?;
        Ok(ClusterMember::new(addresses, process, secret.trim_ascii())?.copies(self.copies)?)
    }
}
