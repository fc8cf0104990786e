//! Fuzzes the parser of tournament files.
#![cfg_attr(fuzzing, no_main)]

sternhalma_fuzz::main!();
