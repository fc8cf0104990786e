//! The entry point of verification.

use std::path::PathBuf;

use sternhalma_data::Table;
use sternhalma_data::board::choose;
use sternhalma_data::table::fs::{OsFileSystem, parent_directory};

use super::checkpoint::{Checkpoint, ProofFiles, Unfinished};
use super::partitioned::{self, MAPPED, PROGRAM, fit_to_limit, prove_by_partitions};
use super::proof::prove_in_memory;
use super::sample::{self, Sample, SampleExtent, SampleSpec, prove_sample};
use crate::blocks::check_blocks;
use crate::error::{BuilderError, Result};
use crate::external::PartitionParams;
use crate::observer::Observer;
use crate::options::{BuildMode, ProcessOptions};
use crate::process::{thread_count, thread_pool};

/// What an interrupted proof has left.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum UnfinishedProof {
    /// There is no unfinished proof.
    Nothing,
    /// The proof resumes.
    Resumes {
        /// The share of the contexts that are proven, from 0 to 1.
        share: f64,
    },
    /// The proof starts again: the files are damaged, or they are of another table, of other options
    /// or of another version of this library.
    Unusable,
}

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
    work_dir: Option<PathBuf>,
    restart: bool,
}

impl<'a> Verifier<'a> {
    /// Creates a verifier of this table: one thread per core, no memory limit.
    pub fn new(table: &'a Table) -> Verifier<'a> {
        Verifier { table, threads: 0, memory_limit: u64::MAX, work_dir: None, restart: false }
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

    /// Sets the directory for the state of a proof. The default is the directory of the table.
    pub fn work_dir(mut self, dir: impl Into<PathBuf>) -> Verifier<'a> {
        self.work_dir = Some(dir.into());
        self
    }

    /// Sets whether the state of an unfinished proof is discarded.
    pub fn restart(mut self, restart: bool) -> Verifier<'a> {
        self.restart = restart;
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
    /// A proof out of core keeps two files beside the table, or in the
    /// [`work_dir`](Verifier::work_dir): its state, at most every second, and spilled states. If the
    /// process is interrupted, the next proof of the table resumes. The files are removed at the end.
    ///
    /// # Errors
    /// If the table is damaged or wrong, the memory limit is too small, the files cannot be written or
    /// are in use, or the observer cancels the proof.
    pub fn prove(&self, observer: &dyn Observer) -> Result<()> {
        let pool = thread_pool(self.threads)?;
        if self.mode() == BuildMode::InMemory {
            pool.install(|| {
                self.check_in_pool(observer)?;
                prove_in_memory(self.table, observer)
            })?;
            let files = self.proof_files();
            // The files of an earlier proof out of core are no longer needed.
            return if files.unfinished()? == Unfinished::Nothing { Ok(()) } else { files.discard() };
        }
        let (params, unfinished) = self.resumable_proof()?;
        let new = Checkpoint::new(params.fixed_pieces, params.segment_words);
        pool.install(|| {
            let proof = self.proof_files().open(unfinished.into(), new, params.spill_bytes)?;
            self.check_in_pool(observer)?;
            prove_by_partitions(self.table, proof, observer)
        })
    }

    /// Returns what an earlier [`prove`](Verifier::prove) has left, or with a sample an earlier
    /// [`prove_sample`](Verifier::prove_sample).
    ///
    /// # Errors
    /// If the files cannot be read, or the memory limit is too small for a proof.
    pub fn unfinished(&self, sample: Option<SampleSpec>) -> Result<UnfinishedProof> {
        let prefix = self.table.prefix();
        let (unfinished, contexts) = match sample {
            Some(spec) => {
                let sample = Sample::draw(prefix, spec);
                (self.resumable_sample(spec, &sample)?, sample.extent.contexts)
            }
            None if self.mode() == BuildMode::InMemory => return Ok(UnfinishedProof::Nothing),
            None => (self.resumable_proof()?.1, choose(prefix.within(), prefix.board().pieces() - 1)),
        };
        Ok(match unfinished {
            Unfinished::Nothing => UnfinishedProof::Nothing,
            Unfinished::Unusable => UnfinishedProof::Unusable,
            Unfinished::Usable(checkpoint) => {
                UnfinishedProof::Resumes { share: checkpoint.steps as f64 / contexts as f64 }
            }
        })
    }

    /// Returns the options that each process of a cluster has.
    pub fn process_options(&self) -> ProcessOptions {
        let Verifier { threads, memory_limit, restart, .. } = *self;
        ProcessOptions { threads, memory_limit, restart, drop_page_cache: false }
    }

    /// Returns the files of a proof of this kind, with these options in their fingerprint.
    pub fn files(&self, kind: &str, options: &str) -> ProofFiles {
        let dir = self.work_dir.clone().unwrap_or_else(|| parent_directory(self.table.path()).to_owned());
        ProofFiles::new(&OsFileSystem::shared(), &dir, self.table, kind, options)
    }

    fn proof_files(&self) -> ProofFiles {
        self.files("proof", "")
    }

    fn sample_files(&self, spec: SampleSpec) -> ProofFiles {
        self.files("sample", &format!("{} {}", spec.states, spec.seed))
    }

    /// Returns the parameters of a proof out of core, and the state from which it resumes. The memory
    /// limit may change as long as the partitions of an unfinished proof fit.
    fn resumable_proof(&self) -> Result<(PartitionParams, Unfinished)> {
        let fit = |fixed_pieces: Option<usize>| {
            fit_to_limit(self.table.info(), thread_count(self.threads), self.memory_limit, fixed_pieces)
        };
        let unfinished = self.unless_restarted(self.proof_files().unfinished()?);
        let Unfinished::Usable(checkpoint) = &unfinished else { return Ok((fit(None)?, unfinished)) };
        let (fixed_pieces, segment_words) = checkpoint.partitioning;
        match fit(Some(fixed_pieces)) {
            Ok(params) if segment_words == partitioned::SEGMENT_WORDS => Ok((params, unfinished)),
            _ => Ok((fit(None)?, Unfinished::Unusable)),
        }
    }

    /// Returns the state from which the proof of a sample resumes.
    fn resumable_sample(&self, spec: SampleSpec, sample: &Sample) -> Result<Unfinished> {
        let partitioning = (sample.extent.fixed_pieces, sample::SEGMENT_WORDS);
        Ok(match self.unless_restarted(self.sample_files(spec).unfinished()?) {
            Unfinished::Usable(checkpoint) if checkpoint.partitioning != partitioning => Unfinished::Unusable,
            unfinished => unfinished,
        })
    }

    /// Returns what an earlier proof has left, unless the proof starts again.
    pub fn unless_restarted(&self, unfinished: Unfinished) -> Unfinished {
        if self.restart { Unfinished::Nothing } else { unfinished }
    }

    /// Proves a sample of the table: for the drawn context classes, that no move changes the distance
    /// by two or more, and that every state except the goal has a successor with a distance smaller
    /// by one.
    ///
    /// The distances are right if all classes meet these conditions, so an error in another class
    /// remains undetected. The layers and the boundary layer of the header are not compared. Only the
    /// blocks that are read are compared with their checksums. If the sample has as many states as
    /// the table, all classes are drawn. An interrupted proof resumes as in [`prove`](Verifier::prove).
    ///
    /// # Errors
    /// If the table is damaged or wrong, the memory limit is too small, the files cannot be written or
    /// are in use, or the observer cancels the proof.
    pub fn prove_sample(&self, spec: SampleSpec, observer: &dyn Observer) -> Result<SampleExtent> {
        let pool = thread_pool(self.threads)?;
        let sample = Sample::draw(self.table.prefix(), spec);
        let least = PROGRAM + MAPPED + sample.memory(self.table.info(), pool.current_num_threads());
        if least > self.memory_limit {
            return Err(BuilderError::MemoryLimit { least, limit: self.memory_limit });
        }
        let table = self.reopen()?;
        let unfinished = self.resumable_sample(spec, &sample)?;
        let new = Checkpoint::new(sample.extent.fixed_pieces, sample::SEGMENT_WORDS);
        let proof = self.sample_files(spec).open(unfinished.into(), new, 0)?;
        pool.install(|| prove_sample(&table, &sample, proof, observer))?;
        Ok(sample.extent)
    }

    /// Opens the table again, so that each block is compared with its checksum before its first use.
    ///
    /// # Errors
    /// If the table cannot be opened, or was replaced.
    pub fn reopen(&self) -> Result<Table> {
        let table = Table::options().verify_blocks(true).open(self.table.path())?;
        if table.checksum() != self.table.checksum() {
            let replaced = std::io::Error::other("the file was replaced after it had been opened");
            return Err(BuilderError::file(self.table.path(), "open")(replaced));
        }
        Ok(table)
    }
}
