//! The entry point of verification.

use sternhalma_data::Table;

use super::partitioned::{PROGRAM, fit_to_limit, prove_by_partitions};
use super::proof::prove_in_memory;
use crate::blocks::check_blocks;
use crate::error::Result;
use crate::observer::Observer;
use crate::options::BuildMode;
use crate::process::thread_pool;

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
#[must_use]
pub struct Verifier<'a> {
    table: &'a Table,
    threads: usize,
    memory_limit: u64,
}

impl<'a> Verifier<'a> {
    /// Creates a verifier of this table: one thread per core, no memory limit.
    pub fn new(table: &'a Table) -> Verifier<'a> {
        Verifier { table, threads: 0, memory_limit: u64::MAX }
    }

    /// Sets the number of threads; 0 is one per processor core.
    pub fn threads(mut self, threads: usize) -> Verifier<'a> {
        self.threads = threads;
        self
    }

    /// Sets the memory limit of a proof, in bytes.
    pub fn memory_limit(mut self, bytes: u64) -> Verifier<'a> {
        self.memory_limit = bytes;
        self
    }

    /// Returns the memory of a proof in memory, in bytes: one byte and one bit
    /// per state, and the mapped part of the file.
    pub fn memory_needed(&self) -> u64 {
        self.table.prefix().states() / 2 * 3 + PROGRAM
    }

    /// Returns the mode of a proof: in memory if the memory limit allows it.
    pub fn mode(&self) -> BuildMode {
        if self.memory_needed() <= self.memory_limit { BuildMode::InMemory } else { BuildMode::OutOfCore }
    }

    /// Compares every block of the table with its checksum.
    ///
    /// # Errors
    /// If the table is damaged, or the observer cancels the check.
    pub fn check(&self, observer: &dyn Observer) -> Result<()> {
        thread_pool(self.threads)?.install(|| self.check_in_pool(observer))
    }

    fn check_in_pool(&self, observer: &dyn Observer) -> Result<()> {
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
    pub fn prove(&self, observer: &dyn Observer) -> Result<()> {
        let pool = thread_pool(self.threads)?;
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
