//! Fuzz targets: whatever bytes come in, nothing panics, and what must hold
//! of the outcome holds.
//!
//! A target is a function of bytes that panics if something is wrong. To add
//! one:
//!
//! 1. write the function in a module of its own and list it in [`TARGETS`];
//! 2. write `src/bin/NAME.rs` like the others;
//! 3. put bad inputs, small and by hand, into `corpus/NAME/`;
//! 4. add `fuzz/run NAME 60` to `.ci/run`.
//!
//! `fuzz/run NAME [SECONDS] [DIR...]` fuzzes, guided by coverage, with libFuzzer
//! on stable Rust; a C++ compiler builds it. `cargo test` takes every file of
//! the corpus and a few hundred damaged ones. The binary by itself, as in
//! `cargo run -p sternhalma-fuzz --bin kif FILE`, takes the files it is given,
//! which is how to look at a crash.
#![forbid(unsafe_code)]

mod http;
mod kif;

/// What is fuzzed: a function of any bytes that panics if something is wrong.
pub type Target = fn(&[u8]);

/// All targets by name, which is that of their binary and their corpus.
pub const TARGETS: [(&str, Target); 2] = [("http", http::target), ("kif", kif::target)];

/// The target of a name.
///
/// # Panics
///
/// If none has the name.
pub fn target(name: &str) -> Target {
    TARGETS.iter().find(|(other, _)| *other == name).expect("a target that TARGETS lists").1
}

/// The `main` of a target's binary: that of the fuzzer in a fuzzing build,
/// otherwise one that takes the files it is given.
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
