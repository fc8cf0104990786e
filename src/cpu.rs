//! The instruction set of the processor.

use std::io::{Write, stderr};

use anyhow::{Context, Result};
use sternhalma_cpu::{compiled_level, level, level_name, levels, set_level as set_level_by_name};

/// The variable that selects the level of vectorised loops.
const VARIABLE: &str = "STERNHALMA_CPU";

/// Selects the level that the variable names, if it is set.
///
/// # Errors
/// If the processor or the program lacks the level.
pub fn set_level() -> Result<()> {
    match std::env::var_os(VARIABLE) {
        Some(name) if !name.is_empty() => set_level_by_name(&name.to_string_lossy()).context(VARIABLE),
        _ => Ok(()),
    }
}

/// Describes the instruction sets of the program and of the processor.
pub fn describe() -> String {
    let available: Vec<&str> = levels().into_iter().map(level_name).collect();
    format!(
        "compiled for {}\nlevel of vectorised loops: {} (of {})",
        compiled_level(),
        level_name(level()),
        available.join(", ")
    )
}

/// Prints the error of a program that is compiled for an extension that the processor lacks.
///
/// The pieces are written one by one. Formatting might use the extension.
pub fn report_missing(extension: &str) {
    let pieces = [
        "error: this program is compiled for ",
        compiled_level(),
        ", and the processor lacks ",
        extension,
        "; docs/guide/install.md describes programs for other processors\n",
    ];
    let mut stderr = stderr();
    // The program ends with an error in any case.
    pieces.iter().for_each(|piece| drop(stderr.write_all(piece.as_bytes())));
}
