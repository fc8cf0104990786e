//! Fuzzes the reader and the validator of rulesheets.
#![cfg_attr(fuzzing, no_main)]

sternhalma_fuzz::main!();
