//! Fuzzes the parser of an external engine's output.
#![cfg_attr(fuzzing, no_main)]

sternhalma_fuzz::main!();
