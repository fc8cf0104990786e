//! The command line from end to end: output, exit codes, and files on disk.
#![allow(clippy::disallowed_methods)]

mod analyse;
mod bench;
mod build;
mod cluster;
mod common;
mod compare;
mod convert;
mod discovery;
#[cfg(repository)]
mod documents;
#[cfg(repository)]
mod experiments;
mod explorer;
mod export;
mod export_game;
mod findings;
mod gdl;
mod ggp;
mod help;
mod info;
mod levels;
mod line;
mod out_of_core;
#[cfg(unix)]
mod outputs;
#[cfg(repository)]
mod pages;
mod peer;
mod play;
mod players;
mod query;
mod rank;
mod reference;
mod refusals;
mod resolving;
#[cfg(unix)]
mod serve;
#[cfg(unix)]
mod signals;
mod tables;
mod tournament;
mod tournament_log;
mod training;
mod ugi;
mod verify;
