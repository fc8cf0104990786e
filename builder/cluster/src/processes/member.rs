//! A process of a cluster.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sternhalma_builder::steps::MemberId;

use crate::error::ClusterError;

/// The most processes of a cluster.
const MAX_PROCESSES: usize = 1024;

/// One of the processes that build a table together.
#[derive(Clone, Debug)]
#[must_use]
pub struct ClusterMember {
    pub(crate) addresses: Vec<String>,
    pub(crate) process: usize,
    pub(crate) secret: Vec<u8>,
    pub(crate) patience: Duration,
    pub(crate) copies: usize,
    /// The version of the program. All processes have the same.
    pub(crate) version: String,
}

impl ClusterMember {
    /// Creates the process with this number, from 0, of the cluster with these addresses (`host:port`). The
    /// `secret` is the same for all processes.
    ///
    /// # Errors
    /// If there is no such process, or an address occurs twice.
    pub fn new(
        addresses: Vec<String>,
        process: usize,
        secret: impl Into<Vec<u8>>,
    ) -> Result<ClusterMember, ClusterError> {
        let fault = |what: String| Err(ClusterError::Hosts { what });
        if process >= addresses.len() {
            return fault(format!("there is no process {process}: the cluster has {} processes", addresses.len()));
        }
        if addresses.len() > MAX_PROCESSES {
            return fault(format!("expected at most {MAX_PROCESSES} processes, got {}", addresses.len()));
        }
        if let Some((_, address)) = addresses.iter().enumerate().find(|(i, address)| addresses[..*i].contains(address))
        {
            return fault(format!("the address {address} occurs twice"));
        }
        let secret = secret.into();
        if secret.is_empty() {
            return fault("the secret is empty".to_owned());
        }
        let version = env!("CARGO_PKG_VERSION").to_owned();
        Ok(ClusterMember { addresses, process, secret, patience: Duration::from_secs(600), copies: 1, version })
    }

    /// Sets how long the process waits for the others when it starts. The default is ten minutes.
    pub fn patience(mut self, patience: Duration) -> ClusterMember {
        self.patience = patience;
        self
    }

    /// Sets the number of copies of every layer: 1, or 2. A second copy of the part of each process is in the work
    /// directory of the next process, so that a lost work directory can be restored. The default is 1.
    ///
    /// # Errors
    /// If the number is another one, or greater than that of processes.
    pub fn copies(self, copies: usize) -> Result<ClusterMember, ClusterError> {
        if !(1..=2.min(self.processes())).contains(&copies) {
            let what = format!("expected 1 or 2 copies, and at least as many processes, got {copies}");
            return Err(ClusterError::Hosts { what });
        }
        Ok(ClusterMember { copies, ..self })
    }

    /// Reads the addresses of a cluster: one per line, without blanks and lines that begin with `#`.
    ///
    /// # Errors
    /// If a line has no port.
    pub fn parse_addresses(text: &str) -> Result<Vec<String>, ClusterError> {
        let lines = text.lines().enumerate().map(|(number, line)| (number + 1, line.trim()));
        let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let address = |(number, line): (usize, &str)| match line.rsplit_once(':') {
            Some((host, port)) if !host.is_empty() && port.parse::<u16>().is_ok_and(|port| port > 0) => {
                Ok(line.to_owned())
            }
            _ => Err(ClusterError::Hosts { what: format!("line {number}: expected HOST:PORT, got `{line}`") }),
        };
        lines.map(address).collect()
    }

    /// Returns the number of this process.
    pub fn process(&self) -> usize {
        self.process
    }

    /// Returns the number of processes.
    pub fn processes(&self) -> usize {
        self.addresses.len()
    }

    /// Returns the name of the directory in which a process keeps its work files.
    pub fn directory_name(process: usize, processes: usize) -> String {
        MemberId { process, processes }.directory_name()
    }

    /// Returns whether a directory has the name of one with the work files of a process.
    pub fn is_directory_name(name: &OsStr) -> bool {
        name.to_str().and_then(MemberId::of_directory_name).is_some()
    }

    /// Returns the path of the part that a process writes of the table at `path`.
    pub fn part_path(path: &Path, process: usize, processes: usize) -> PathBuf {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".part-{process}-of-{processes}"));
        name.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_lines() {
        let addresses = ClusterMember::parse_addresses("# both\n a:2101 \n\n[::1]:2102\n").unwrap();
        assert_eq!(addresses, ["a:2101", "[::1]:2102"]);
        for (text, what) in [("a:1\nb", "line 2: "), ("a:0", "`a:0`"), (":3", "`:3`"), ("a:70000", "HOST:PORT")] {
            assert!(ClusterMember::parse_addresses(text).unwrap_err().to_string().contains(what), "{text}");
        }
    }

    #[test]
    fn a_process_is_one_of_the_cluster() {
        let addresses = || vec!["a:1".to_owned(), "b:1".to_owned()];
        assert_eq!(ClusterMember::new(addresses(), 1, "x").unwrap().processes(), 2);
        let error = |result: Result<ClusterMember, ClusterError>| result.unwrap_err().to_string();
        assert!(error(ClusterMember::new(addresses(), 2, "x")).contains("no process 2"));
        assert!(error(ClusterMember::new(addresses(), 0, "")).contains("secret"));
        assert!(error(ClusterMember::new(vec!["a:1".into(), "a:1".into()], 0, "x")).contains("twice"));
    }
}
