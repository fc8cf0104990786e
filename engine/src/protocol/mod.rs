//! The Universal Game Interface: its words, sessions of this program, and external programs.

pub mod external;
pub mod ugi;
