//! Tables from the outside: building, comparing, converting.
#![allow(clippy::disallowed_methods)]

mod build;
mod compare;
mod convert;
mod mirrored;
