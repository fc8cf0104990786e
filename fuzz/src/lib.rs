//! Fuzz targets for the parsers of external input.
//!
//! A target is a function that takes any bytes and panics if the code under
//! test panics or gives an inconsistent result. To add a target:
//!
//! 1. Write the function in its own module and list it in [`TARGETS`].
//! 2. Write `src/bin/NAME.rs` like the others, and list it in `Cargo.toml`.
//! 3. Put small handwritten invalid inputs into `corpus/NAME/`.
//! 4. If the target needs other files or longer inputs, add it to the `case` of `fuzz/run`.
//!
//! `fuzz/run NAME [SECONDS]` runs a coverage-guided fuzzer (libFuzzer on stable
//! Rust, built with a C++ compiler); `fuzz/run all 20` runs every target for 20
//! seconds. `cargo test` runs every file of the corpus and a few hundred mutated
//! ones. To reproduce a crash, run the binary on a file:
//! `cargo run -p sternhalma-fuzz --bin kif FILE`.
#![forbid(unsafe_code)]
#![allow(clippy::disallowed_methods)]

mod http;
mod kif;
mod log;
mod position;
mod record;
mod reply;
mod scratch;
mod table;
#[cfg(test)]
mod tests;
mod tournament;
mod ugi;

/// A fuzz target: a function that takes any bytes and panics on an error.
pub type Target = fn(&[u8]);

/// All targets with their names. Binary and corpus of a target have the same name.
pub const TARGETS: [(&str, Target); 9] = [
    ("http", http::target),
    ("kif", kif::target),
    ("log", log::target),
    ("position", position::target),
    ("record", record::target),
    ("reply", reply::target),
    ("table", table::target),
    ("tournament", tournament::target),
    ("ugi", ugi::target),
];

/// Returns the target with the given name.
///
/// # Panics
///
/// Panics if no target has the name.
pub fn target(name: &str) -> Target {
    TARGETS.iter().find(|(other, _)| *other == name).expect("a target that TARGETS lists").1
}

/// Defines the `main` of a target's binary. In a fuzzing build it is the main
/// function of the fuzzer; otherwise it runs the target on the given files.
#[macro_export]
macro_rules! main {
    () => {
        #[cfg(fuzzing)]
        libfuzzer_sys::fuzz_target!(|data: &[u8]| $crate::target(env!("CARGO_BIN_NAME"))(data));

        #[cfg(not(fuzzing))]
        fn main() -> std::io::Result<()> {
            for file in std::env::args_os().skip(1) {
                $crate::target(env!("CARGO_BIN_NAME"))(&std::fs::read(file)?);
            }
            Ok(())
        }
    };
}
