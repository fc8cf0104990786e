//! Fuzzes the HTTP server of the player and the parser of messages.
#![cfg_attr(fuzzing, no_main)]

sternhalma_fuzz::main!();
