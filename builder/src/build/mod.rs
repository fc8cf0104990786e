//! Builds of table files.

mod assembly;
mod estimate;
mod in_memory;
mod memory;
mod out_of_core;
mod run;
mod table_builder;

#[cfg(test)]
mod tests;

pub use estimate::{BuildEstimate, Calibration, MachineSpec};
pub use out_of_core::BuildOutcome;
pub use table_builder::{ModeChoice, ModeReason, TableBuilder};
