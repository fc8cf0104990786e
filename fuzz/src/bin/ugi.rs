//! Fuzzes the session of the engine protocol.
#![cfg_attr(fuzzing, no_main)]

sternhalma_fuzz::main!();
