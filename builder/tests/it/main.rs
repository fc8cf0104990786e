//! Tables from the outside: building, comparing, converting.

mod build;
mod compare;
mod convert;
mod mirrored;
