//! The entry point of verification.

use sternhalma_data::Table;

use super::partitioned::{MAPPED, PROGRAM, fit_to_limit, prove_by_partitions};
use super::proof::prove_in_memory;
use super::sample::{Sample, SampleExtent, SampleSpec, prove_sample};
use crate::blocks::check_blocks;
use crate::error::{BuilderError, Result};
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
                let params = fit_to_limit(
                    self.table.prefix(),
                    self.table.encoding(),
                    pool.current_num_threads(),
                    self.memory_limit,
                )?;
                pool.install(|| {
                    self.check_in_pool(observer)?;
                    prove_by_partitions(self.table, params, observer)
                })
            }
        }
    }

    /// Proves a sample of the table: for the drawn context classes, that no move changes the distance
    /// by two or more, and that every state except the goal has a successor with a distance smaller
    /// by one.
    ///
    /// The distances are right if all classes meet these conditions, so an error in another class
    /// remains undetected. The layers and the boundary layer of the header are not compared. Only the
    /// blocks that are read are compared with their checksums. If the sample has as many states as
    /// the table, all classes are drawn.
    ///
    /// # Errors
    /// If the table is damaged or wrong, the memory limit is too small, or the observer cancels the
    /// proof.
    pub fn prove_sample(&self, spec: SampleSpec, observer: &dyn Observer) -> Result<SampleExtent> {
        let pool = thread_pool(self.threads)?;
        let sample = Sample::draw(self.table.prefix(), spec);
        let least = PROGRAM + MAPPED + sample.memory(self.table.prefix(), pool.current_num_threads());
        if least > self.memory_limit {
            return Err(BuilderError::MemoryLimit { least, limit: self.memory_limit });
        }
        let table = self.reopen()?;
        pool.install(|| prove_sample(&table, &sample, observer))?;
        Ok(sample.extent)
    }

    /// Opens the table again, so that each block is compared with its checksum before its first use.
    fn reopen(&self) -> Result<Table> {
        let table = Table::options().verify_blocks(true).open(self.table.path())?;
        if table.checksum() != self.table.checksum() {
            let replaced = std::io::Error::other("the file was replaced after it had been opened");
            return Err(BuilderError::file(self.table.path(), "open")(replaced));
        }
        Ok(table)
    }
}
