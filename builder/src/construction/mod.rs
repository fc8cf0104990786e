//! Builds of table files.

mod assembly;
mod estimate;
mod in_memory;
mod machine;
mod memory;
mod out_of_core;
mod plan;
mod table_builder;

#[cfg(test)]
mod tests;

pub use assembly::TableAssembler;
pub use estimate::{BuildEstimate, Calibration, Calibrator};
pub use machine::{MachineSpec, disk_rate};
pub use memory::{MIN_SPILL, batch_size, fit_with_fixed, resume_params};
pub use out_of_core::{BuildOutcome, check_layers, goal_segment, open_copies};
pub use plan::{BuildPlan, ModeChoice, ModeReason};
pub use table_builder::TableBuilder;
