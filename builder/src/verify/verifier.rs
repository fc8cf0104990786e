//! The entry point of verification.

use sternhalma_data::Table;

use super::in_memory::{memory_needed, prove_in_memory};
use super::partitioned::{fit_to_limit, prove_by_partitions};
use crate::checksums::check_blocks;
use crate::error::BuilderError;
use crate::mode::BuildMode;
use crate::observer::Observer;
use crate::threads::Threads;

/// Options of a verification, and the verification itself.
///
/// ```
/// use sternhalma_builder::{TableBuilder, Verifier};
/// use sternhalma_data::{Board, Prefix, Table};
///
/// let dir = tempfile::tempdir()?;
/// let path = dir.path().join("4x4-3.sht");
/// TableBuilder::new(Prefix::whole(Board::new(4, 3)?)).build(&path, &())?;
///
/// let table = Table::open(&path)?;
/// Verifier::new(&table).memory_limit(1 << 30).prove(&())?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Verifier<'a> {
    table: &'a Table,
    threads: Threads,
    memory_limit: u64,
}

impl<'a> Verifier<'a> {
    /// Creates a verifier of this table: one thread per core, no memory limit.
    pub fn new(table: &'a Table) -> Verifier<'a> {
        Verifier { table, threads: Threads::PER_CORE, memory_limit: u64::MAX }
    }

    /// Sets the number of threads.
    #[must_use]
    pub fn threads(mut self, threads: impl Into<Threads>) -> Verifier<'a> {
        self.threads = threads.into();
        self
    }

    /// Sets the memory limit of a proof, in bytes.
    #[must_use]
    pub fn memory_limit(mut self, bytes: u64) -> Verifier<'a> {
        self.memory_limit = bytes;
        self
    }

    /// Returns the memory of a proof in memory, in bytes: one byte and one bit
    /// per state, and the mapped part of the file.
    pub fn memory_needed(&self) -> u64 {
        memory_needed(self.table.prefix())
    }

    /// Returns the mode of a proof: in memory if the memory limit allows it.
    pub fn mode(&self) -> BuildMode {
        if self.memory_needed() <= self.memory_limit { BuildMode::InMemory } else { BuildMode::OutOfCore }
    }

    /// Compares every block of the table with its checksum.
    ///
    /// # Errors
    /// If the table is damaged, or the observer cancels the check.
    pub fn check(&self, observer: &dyn Observer) -> Result<(), BuilderError> {
        self.threads.pool()?.install(|| self.check_in_pool(observer))
    }

    fn check_in_pool(&self, observer: &dyn Observer) -> Result<(), BuilderError> {
        check_blocks(&[self.table], self.table.prefix().states(), observer)
    }

    /// Compares every block with its checksum. Then proves that each distance
    /// is right, along paths inside the prefix, and that the header has the
    /// right layers.
    ///
    /// A proof out of core spills to a file beside the table and removes it at the end.
    ///
    /// # Errors
    /// If the table is damaged or wrong, the memory limit is too small, the
    /// spill file cannot be written, or the observer cancels the proof.
    pub fn prove(&self, observer: &dyn Observer) -> Result<(), BuilderError> {
        let pool = self.threads.pool()?;
        match self.mode() {
            BuildMode::InMemory => pool.install(|| {
                self.check_in_pool(observer)?;
                prove_in_memory(self.table, observer)
            }),
            BuildMode::OutOfCore => {
                let params = fit_to_limit(self.table.prefix(), pool.current_num_threads(), self.memory_limit)?;
                pool.install(|| {
                    self.check_in_pool(observer)?;
                    prove_by_partitions(self.table, params, observer)
                })
            }
        }
    }
}
