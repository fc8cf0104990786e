//! Builds and proofs of distance tables by processes on several machines.
//!
//! Each process is a [`ClusterMember`]. It [builds a part](build_part) of a table, and [`assemble`] joins the parts to
//! the same bytes that one process writes. Processes that can all read a table [prove it](prove_part) together.
//! [`ClusterEstimate::new`] predicts the time and the traffic of a build.
//!
//! ```
//! use std::thread;
//! use sternhalma_builder::TableBuilder;
//! use sternhalma_cluster::{ClusterMember, assemble, build_part};
//! use sternhalma_data::{Board, Prefix, Table};
//!
//! let dir = tempfile::tempdir()?;
//! let path = dir.path().join("5x5-4.sht");
//! let builder = TableBuilder::new(Prefix::whole(Board::new(5, 4)?)).threads(1);
//! // Both processes are threads here. The addresses have free ports.
//! let ports = [std::net::TcpListener::bind("127.0.0.1:0")?, std::net::TcpListener::bind("127.0.0.1:0")?];
//! let addresses: Vec<String> = ports.iter().map(|port| port.local_addr().unwrap().to_string()).collect();
//! drop(ports);
//! thread::scope(|scope| {
//!     for process in 0..2 {
//!         let member = ClusterMember::new(addresses.clone(), process, "a secret").unwrap();
//!         let (builder, path) = (builder.clone().work_dir(dir.path().join(format!("work-{process}"))), &path);
//!         scope.spawn(move || build_part(&builder, path, &member, &()).unwrap());
//!     }
//! });
//! let parts = [0, 1].map(|process| ClusterMember::part_path(&path, process, 2));
//! assemble(&parts, &path, false)?;
//! assert_eq!(Table::open(&path)?.info().layers.iter().sum::<u64>(), 12_650);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Modules
//! - `processes`: the connections of processes, their messages, and what they decide together;
//! - `construction`: builds of tables in parts, and their estimates;
//! - `proof`: proofs in parts.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods))]

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod construction;
mod error;
mod processes;
mod proof;

pub use construction::{
    ClusterEstimate, LinkEstimate, PartReport, assemble, build_part, check_part_memory, check_parts,
};
pub use error::{ClusterError, MissingPart};
pub use processes::ClusterMember;
pub use proof::{discard_part, part_state_path, prove_part};
