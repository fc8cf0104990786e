//! Table files of every format version.
#![allow(clippy::disallowed_methods)]

mod golden;
