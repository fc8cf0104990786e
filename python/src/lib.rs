//! The compiled part of the Python package `sternhalma`: the module `sternhalma._native`.
//!
//! The functions of this module take contiguous arrays of fixed types. The Python modules beside it
//! convert arguments to these arrays, and document the interface.
#![deny(unsafe_code)]

mod arguments;
mod batch;
mod board;
mod build;
mod environment;
mod errors;
mod lanes;
mod play;
mod program;
mod results;
mod rulesheet;
mod states;
mod table;
mod tournament;
mod vector;
mod work;

/// The compiled part of the package. Use the package `sternhalma` instead.
#[pyo3::pymodule]
mod _native {
    #[pymodule_export]
    use crate::board::{Board, format_cells, format_moves, moves, parse, rank, unrank};
    #[pymodule_export]
    use crate::build::{build, compare, contents_checksum, convert, plan, verify};
    #[pymodule_export]
    use crate::environment::{Autoreset, LaneArrays};
    #[pymodule_export]
    use crate::lanes::CheckersLanes;
    #[pymodule_export]
    use crate::play::{Player, Position, is_rule_set, players, removal_notice, restore_position};
    #[pymodule_export]
    use crate::program::Program;
    #[pymodule_export]
    use crate::results::{Results, read_log, read_logs, restore_results};
    #[pymodule_export]
    use crate::rulesheet::{Game, GameState, check, games, read_rulesheet};
    #[pymodule_export]
    use crate::table::{Table, open, tables};
    #[pymodule_export]
    use crate::tournament::tournament;
    #[pymodule_export]
    use crate::vector::VectorGame;
    #[pymodule_export]
    use crate::work::{default_memory_limit, machine_memory, search_memory, thread_count};

    /// The version of the package.
    #[pymodule_export]
    #[allow(non_upper_case_globals, reason = "the name is that of the Python constant")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
