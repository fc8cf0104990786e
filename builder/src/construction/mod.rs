//! Builds of table files.

mod assembly;
#[cfg(feature = "cluster")]
mod cluster;
mod estimate;
mod in_memory;
mod machine;
mod memory;
mod out_of_core;
mod plan;
mod table_builder;

#[cfg(test)]
mod tests;

#[cfg(feature = "cluster")]
pub use cluster::{ClusterEstimate, LinkEstimate, PartReport, assemble};
pub use estimate::{BuildEstimate, Calibration};
pub use machine::{MachineSpec, disk_rate};
pub use out_of_core::BuildOutcome;
pub use plan::{BuildPlan, ModeChoice, ModeReason};
pub use table_builder::TableBuilder;
