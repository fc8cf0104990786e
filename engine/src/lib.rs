//! Two-player Chinese Checkers and its players, on the tables of
//! `sternhalma-data` and the search of `sternhalma-ggp`.
//!
//! Nothing is here yet; `ARCHITECTURE.md` says what belongs here.
#![forbid(unsafe_code)]
