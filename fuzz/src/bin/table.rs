//! Fuzzes the reader of table files.
#![cfg_attr(fuzzing, no_main)]

sternhalma_fuzz::main!();
