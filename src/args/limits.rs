//! The limits of a player per move.

use bytesize::ByteSize;
use clap::Args;
use sternhalma_ggp::arena::Budget;
use sternhalma_ggp::{Limits, MemoryBudget};

use crate::resources::search_memory;
use crate::values::{count, size_from};

/// The limits of a player per move. The first limit that is reached ends the search.
#[derive(Args, Clone, Default)]
pub struct LimitArgs {
    /// Node expansions per move [default: 100000 if no other limit is given; `play`: level 3]
    #[arg(long, value_name = "N", value_parser = count::<u64>(1), help_heading = "Limits per move")]
    nodes: Option<u64>,
    /// Playouts per move
    #[arg(long, value_name = "N", value_parser = count::<u64>(1), help_heading = "Limits per move")]
    playouts: Option<u64>,
    /// Depth of alpha-beta search in plies
    #[arg(long, value_name = "PLIES", value_parser = count::<u32>(1), help_heading = "Limits per move")]
    depth: Option<u32>,
    /// Milliseconds per move
    #[arg(long, value_name = "MS", value_parser = count::<u64>(1), help_heading = "Limits per move")]
    movetime: Option<u64>,
}

/// The limit of the memory of searches.
#[derive(Args, Clone, Default)]
pub struct MemoryArgs {
    /// Memory for trees, tables and networks, e.g. `2GiB` [default: a quarter of the machine's memory]
    #[arg(long, value_name = "SIZE", value_parser = memory, help_heading = "Resources")]
    memory: Option<ByteSize>,
}

/// Parses a limit of memory. Less than 1 MiB is probably a number without its unit.
fn memory(text: &str) -> Result<ByteSize, String> {
    size_from(ByteSize::mib(1))(text)
}

impl MemoryArgs {
    /// Returns the memory that all searches share.
    pub fn budget(&self) -> MemoryBudget {
        MemoryBudget::new(search_memory(self.memory))
    }
}

impl LimitArgs {
    /// Returns the given limits alone.
    pub fn budget(&self) -> Budget {
        let LimitArgs { nodes, playouts, depth, movetime } = *self;
        Budget { nodes, playouts, depth, movetime, time: None }
    }

    /// Returns the given limits, or the default if none is given.
    pub fn limits(&self) -> Limits {
        self.budget().or(Budget::DEFAULT).limits()
    }
}
