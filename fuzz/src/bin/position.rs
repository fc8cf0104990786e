//! Fuzzes the notation of cells, moves and positions.
#![cfg_attr(fuzzing, no_main)]

sternhalma_fuzz::main!();
