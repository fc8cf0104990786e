//! The command line from end to end.

mod cli;
mod convert;
mod gdl;
mod ggp;
mod kill;
mod peer;
mod players;
mod readme;
mod reference;
mod tournament;
mod ugi;
