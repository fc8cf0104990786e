//! The Universal Game Interface (`docs/ugi.md`).
//!
//! `command` has the words of the protocol: parsing of commands, and printing
//! of moves and of the progress of a search. `session` has the state of an
//! engine process, and answers the commands.

mod command;
mod session;

pub(crate) use command::placed;
pub use command::{Go, PASS, Query, StartPosition, UgiCommand, UgiError, action_text, info_line, legal_action};
pub use session::{SessionError, UgiHost, UgiSession, UgiSettings};
