//! Fuzzes logs of tournaments.
#![cfg_attr(fuzzing, no_main)]

sternhalma_fuzz::main!();
