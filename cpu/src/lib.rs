//! The instruction set of the processor, chosen once at run time, and the memory of the machine.
//!
//! A program is compiled for one instruction set. Loops over many words are compiled for several
//! [levels](Level) in addition, with [`fearless_simd`], and run at the highest level that the processor has:
//!
//! ```
//! use fearless_simd::{Simd, dispatch};
//! use fearless_simd_macros::simd;
//!
//! #[simd]
//! fn count<S: Simd>(_: S, words: &[u64]) -> u32 {
//!     words.iter().map(|word| word.count_ones()).sum()
//! }
//!
//! assert_eq!(dispatch!(sternhalma_cpu::level(), simd => count(simd, &[1, 3, 7])), 6);
//! ```
//!
//! All levels give the same results.
//!
//! [`Memory`] is the one place that decides how much memory a process has and how much of it is available.
#![cfg_attr(test, allow(clippy::disallowed_methods))]
#![forbid(unsafe_code)]

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

use std::sync::OnceLock;

pub use fearless_simd::Level;
use thiserror::Error;

mod compiled;
mod memory;

pub use compiled::{compiled_level, missing_extension};
pub use memory::Memory;

static LEVEL: OnceLock<Level> = OnceLock::new();

/// Returns the level of all loops of this process: the highest level that the processor has, or the one that
/// was [set](set_level).
#[inline]
pub fn level() -> Level {
    *LEVEL.get_or_init(Level::new)
}

/// Returns the levels that the processor has and the program contains, the lowest first.
pub fn levels() -> Vec<Level> {
    let best = Level::new();
    let mut levels = vec![Level::baseline()];
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    {
        use fearless_simd::Simd;
        levels.extend(best.as_sse4_2().map(|simd| simd.level()));
        levels.extend(best.as_avx2().map(|simd| simd.level()));
        levels.extend(best.as_avx512().map(|simd| simd.level()));
        // Levels below the one that the program is compiled for are not in the program. That one comes first, and
        // again after the levels below it, if there are any.
        let compiled = levels.iter().rposition(|&level| level_name(level) == level_name(levels[0])).unwrap_or(0);
        levels.drain(..compiled);
    }
    if level_name(levels[levels.len() - 1]) != level_name(best) {
        levels.push(best);
    }
    levels
}

/// Returns the name of a level: `x86-64`, `x86-64-v2` (SSE 4.2), `x86-64-v3` (AVX2), `avx512` (as of Ice Lake),
/// `neon`, or `none`.
pub fn level_name(level: Level) -> &'static str {
    match level {
        #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
        Level::Sse2(_) => "x86-64",
        #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
        Level::Sse4_2(_) => "x86-64-v2",
        #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
        Level::Avx2(_) => "x86-64-v3",
        #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
        Level::Avx512(_) => "avx512",
        #[cfg(target_arch = "aarch64")]
        Level::Neon(_) => "neon",
        _ => "none",
    }
}

/// A level that cannot be used.
#[derive(Debug, Error)]
#[error("there is no level `{name}` here; the levels are {}", names())]
pub struct LevelError {
    name: String,
}

fn names() -> String {
    levels().into_iter().map(level_name).collect::<Vec<_>>().join(", ")
}

/// Sets the level of all loops of this process, by its name, before the first of them runs. A level that was
/// used or set before remains.
///
/// # Errors
/// If the processor or the program lacks the level.
pub fn set_level(name: &str) -> Result<(), LevelError> {
    let level = levels().into_iter().find(|&level| level_name(level) == name);
    let level = level.ok_or_else(|| LevelError { name: name.to_owned() })?;
    LEVEL.get_or_init(|| level);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_have_different_names_and_end_with_the_best() {
        let names: Vec<&str> = levels().into_iter().map(level_name).collect();
        assert_eq!(names.last(), Some(&level_name(Level::new())));
        assert_eq!(names.first(), Some(&level_name(Level::baseline())));
        assert!((1..names.len()).all(|i| !names[..i].contains(&names[i])), "{names:?}");
    }

    #[test]
    fn unknown_levels_are_refused() {
        let error = set_level("x86-64-v9").unwrap_err().to_string();
        assert!(error.contains("x86-64-v9") && error.contains(level_name(Level::baseline())), "{error}");
    }
}
