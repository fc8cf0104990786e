//! The Universal Game Interface (`docs/reference/ugi.md`).
//!
//! `command` has the words of the protocol: parsing of commands, and printing
//! of moves and of the progress of a search. `session` has the state of an
//! engine process, and executes the commands. `game` is its game, and `search` its
//! searches on a separate thread.

mod command;
mod error;
mod game;
mod search;
mod session;

pub(crate) use command::placed;
pub use command::{Go, PASS, Query, StartPosition, UgiCommand, UgiError, action_text, info_line, legal_action};
pub use error::SessionError;
pub use session::{HostError, UgiHost, UgiSession, UgiSettings};
