//! The HTTP server of Sternhalma: a JSON interface to distance tables, players
//! and game records, and a board in the browser.
//!
//! ```
//! use std::sync::atomic::AtomicBool;
//! use sternhalma_server::{Server, ServerOptions};
//!
//! let dir = tempfile::tempdir()?;
//! let server = Server::bind(ServerOptions::new(dir.path()))?;
//! println!("{}", server.url());
//! let stop = AtomicBool::new(true);
//! server.run(&stop); // Returns once `stop` is set.
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! `docs/reference/http.md` describes the interface and its limits. The document
//! [`openapi`] describes the interface for programs.
//!
//! # Modules
//! - `server`, `connections`: the listener, connections and their limits;
//! - `guard`, `body`, `log`: the layers around the interface, with the `hosts` and the `secret`s that the guard accepts;
//! - `page`: the page, with its modules as one script;
//! - `app`, `work`, `tables`, `logs`, `rulesheets`, `builds`, `games`, `searches`, `reports`, `proofs`: the state that
//!   requests share;
//! - `openapi`: what the OpenAPI document has besides the types and handlers of the routes;
//! - `facts`, `rows`: positions, moves and distances, as the interface describes them;
//! - `export`: games and tables as files that need no server of this program;
//! - `api`: the routes of the interface.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods))]

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod answer;
mod api;
mod app;
mod body;
mod builds;
mod connections;
mod error;
mod export;
mod extract;
mod facts;
mod files;
mod games;
mod guard;
mod hosts;
mod log;
mod logs;
mod openapi;
mod options;
mod page;
mod proofs;
mod reports;
mod rows;
mod rulesheets;
mod searches;
mod secret;
mod server;
mod tables;
mod work;

pub use api::openapi;
pub use export::{ExplorerTable, SavedGame, SavedGameError, Search, explorer_index, explorer_page, explorer_samples};
pub use games::GameLimits;
pub use hosts::{HostName, ParseHostError};
pub use options::{ClientLimits, Log, ServerOptions};
pub use page::PageError;
pub use rulesheets::RulesheetFile;
pub use server::{BindError, Server};
