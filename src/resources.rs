//! The memory and the disk space of the machine.

use anyhow::{Result, anyhow};
use bytesize::ByteSize;
use sternhalma_builder::ResourceError;
use sternhalma_ggp::MemoryBudget;
use sternhalma_ggp::arena::Standings;

use crate::output::{counted, status};

/// Returns the given memory limit, or three quarters of the machine's memory.
pub fn memory_limit(given: Option<ByteSize>) -> u64 {
    sternhalma_builder::memory_limit(given.map(|memory| memory.as_u64()))
}

/// Returns the memory limit of searches: the given one, but at most the available memory, with a notice, or a quarter of
/// the machine's memory.
pub fn search_memory(given: Option<ByteSize>) -> u64 {
    let (limit, notice) = sternhalma_builder::search_memory(given.map(|memory| memory.as_u64()));
    if let Some(notice) = notice {
        status!("{notice}");
    }
    limit
}

/// Prints a notice if searches in the games of a tournament reached the memory limit. In a series, the notice begins
/// with the name of the game.
pub fn report_memory_limited(name: Option<&str>, standings: &Standings) {
    let (limited, games) = (standings.memory_limited(), counted(standings.len(), "game"));
    let prefix = name.map_or_else(String::new, |name| format!("{name}: "));
    if limited > 0 {
        status!(
            "{prefix}{limited} of {games} had searches that reached the memory limit; to repeat them, choose another log, \
             and raise --memory or the parameter `memory` of the policies, or play fewer games at a time"
        );
    }
}

/// Prints a notice if a tournament that has just been played reached its memory limit.
pub fn report_memory(name: Option<&str>, memory: &MemoryBudget, standings: &Standings) {
    report_memory_limited(name, standings);
    if memory.is_exhausted() && standings.memory_limited() == 0 {
        status!("the prover, or a search of an unfinished game, reached the memory limit; raise --memory");
    }
}

/// Adds the advice of a command to an error about memory or disk space.
pub fn advise(checked: Result<(), ResourceError>, advice: &str) -> Result<()> {
    checked.map_err(|error| match error {
        ResourceError::UnknownDisk { .. } => error.into(),
        shortage => anyhow!("{shortage}; {advice}"),
    })
}
