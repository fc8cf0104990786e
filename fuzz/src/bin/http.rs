//! Fuzzes the player's end of HTTP and the reader of messages.
#![cfg_attr(fuzzing, no_main)]

sternhalma_fuzz::main!();
