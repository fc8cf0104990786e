//! Tests of the interface over HTTP.
#![allow(clippy::disallowed_methods)]

mod analysis;
mod builds;
mod client;
mod distances;
mod games;
mod hostile;
mod offers;
mod positions;
mod records;
mod rulesheets;
mod schema;
mod security;
mod states;
mod tournaments;
