//! Processes that work together, on one machine or several: their connections, the messages that they exchange, and
//! what they decide together. The work itself is in `construction` and `verify`.

mod exchange;
mod link;
mod member;
mod peers;
mod voting;

pub(crate) use exchange::{Exchange, Parcel, ParcelKind};
pub(crate) use link::Link;
pub use member::ClusterMember;
pub(crate) use peers::{Common, Peers, connect};
pub(crate) use voting::Voting;

use sternhalma_builder::BuilderError;

/// The memory of the connection to another process, in bytes: the buffers of timely, which grow to twice
/// the longest message.
const CONNECTION_BYTES: u64 = 6 << 20;

/// Returns the memory of the connections to all processes, in bytes.
pub(crate) fn connection_memory(processes: usize) -> u64 {
    CONNECTION_BYTES * processes as u64
}

/// Returns an error about the memory that a limit leaves besides the connections as one about the limit.
pub(crate) fn with_connections(error: BuilderError, limit: u64, processes: usize) -> BuilderError {
    match error {
        BuilderError::MemoryLimit { least, .. } => {
            BuilderError::MemoryLimit { least: least.saturating_add(connection_memory(processes)), limit }
        }
        error => error,
    }
}

/// Returns addresses on this machine with free ports.
#[cfg(test)]
pub(crate) fn free_addresses(processes: usize) -> Vec<String> {
    let listen = |_| std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let listeners: Vec<_> = (0..processes).map(listen).collect();
    listeners.iter().map(|listener| listener.local_addr().unwrap().to_string()).collect()
}
