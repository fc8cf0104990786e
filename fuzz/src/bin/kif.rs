//! Fuzzes the parser and the checker of rulesheets.
#![cfg_attr(fuzzing, no_main)]

sternhalma_fuzz::main!();
