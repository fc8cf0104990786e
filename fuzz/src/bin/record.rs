//! Fuzzes the parser of game records.
#![cfg_attr(fuzzing, no_main)]

sternhalma_fuzz::main!();
