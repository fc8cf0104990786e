//! The entry point of verification.

use std::path::PathBuf;

use sternhalma_data::Table;
use sternhalma_data::board::choose;
use sternhalma_data::table::fs::{OsFileSystem, parent_directory};

use super::checkpoint::{Checkpoint, OpenProof, ProofFiles, Unfinished};
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
        self.plan()?.run(observer)
    }

    /// Resolves the proof of [`prove`](Verifier::prove): its mode, its partitions, and what an earlier one has left.
    ///
    /// # Errors
    /// If the files cannot be read, or the memory limit is too small.
    pub fn plan(&self) -> Result<ProofPlan<'a, ()>> {
        let contexts = choose(self.table.prefix().within(), self.table.prefix().board().pieces() - 1);
        let (partitions, unfinished) = match self.mode() {
            BuildMode::InMemory => (None, Unfinished::Nothing),
            BuildMode::OutOfCore => {
                let (params, unfinished) = self.resumable_proof()?;
                let new = Checkpoint::new(params.fixed_pieces, params.segment_words);
                (Some((new, params.spill_bytes)), unfinished)
            }
        };
        let (verifier, files) = (self.clone(), self.files("proof", ""));
        Ok(ProofPlan { verifier, files, unfinished: Some(unfinished), partitions, contexts, sample: () })
    }

    /// Resolves the proof of [`prove_sample`](Verifier::prove_sample): draws the sample, and reads what an earlier proof
    /// has left.
    ///
    /// # Errors
    /// If the files cannot be read, or the memory limit is too small.
    pub fn plan_sample(&self, spec: SampleSpec) -> Result<ProofPlan<'a, Sample>> {
        let sample = Sample::draw(self.table.prefix(), spec);
        let least = PROGRAM + MAPPED + sample.memory(self.table.info(), thread_count(self.threads));
        if least > self.memory_limit {
            return Err(BuilderError::MemoryLimit { least, limit: self.memory_limit });
        }
        let files = self.files("sample", &format!("{} {}", spec.states, spec.seed));
        let new = Checkpoint::new(sample.extent.fixed_pieces, sample::SEGMENT_WORDS);
        let unfinished = match self.unless_restarted(files.unfinished()?) {
            Unfinished::Usable(checkpoint) if checkpoint.partitioning != new.partitioning => Unfinished::Unusable,
            unfinished => unfinished,
        };
        let (verifier, contexts) = (self.clone(), sample.extent.contexts);
        Ok(ProofPlan { verifier, files, unfinished: Some(unfinished), partitions: Some((new, 0)), contexts, sample })
    }

    /// Returns the table.
    pub fn table(&self) -> &'a Table {
        self.table
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

    /// Returns the parameters of a proof out of core, and the state from which it resumes. The memory
    /// limit may change as long as the partitions of an unfinished proof fit.
    fn resumable_proof(&self) -> Result<(PartitionParams, Unfinished)> {
        let fit = |fixed_pieces: Option<usize>| {
            fit_to_limit(self.table.info(), thread_count(self.threads), self.memory_limit, fixed_pieces)
        };
        let unfinished = self.unless_restarted(self.files("proof", "").unfinished()?);
        let Unfinished::Usable(checkpoint) = &unfinished else { return Ok((fit(None)?, unfinished)) };
        let (fixed_pieces, segment_words) = checkpoint.partitioning;
        match fit(Some(fixed_pieces)) {
            Ok(params) if segment_words == partitioned::SEGMENT_WORDS => Ok((params, unfinished)),
            _ => Ok((fit(None)?, Unfinished::Unusable)),
        }
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
        self.plan_sample(spec)?.run(observer)
    }
}

/// A proof whose questions are all answered. `S` is the drawn sample, or nothing for the proof of the whole table.
///
/// ```
/// use sternhalma_builder::{TableBuilder, UnfinishedProof, Verifier};
/// use sternhalma_data::{Board, Prefix, Table};
///
/// let dir = tempfile::tempdir()?;
/// let path = dir.path().join("4x4-3.sht");
/// TableBuilder::new(Prefix::whole(Board::new(4, 3)?)).build(&path, &())?;
///
/// let table = Table::open(&path)?;
/// let mut plan = Verifier::new(&table).plan()?;
/// assert_eq!(plan.unfinished(), UnfinishedProof::Nothing);
/// plan.run(&())?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub struct ProofPlan<'a, S> {
    verifier: Verifier<'a>,
    files: ProofFiles,
    /// What an earlier proof has left, until the proof runs.
    unfinished: Option<Unfinished>,
    /// The state before the first class, and the memory for spilled states, unless the proof is in memory.
    partitions: Option<(Checkpoint, u64)>,
    /// The number of contexts to prove.
    contexts: u64,
    sample: S,
}

impl<S> ProofPlan<'_, S> {
    /// Returns what an earlier proof has left.
    pub fn unfinished(&self) -> UnfinishedProof {
        self.describe(self.unfinished.as_ref().unwrap_or(&Unfinished::Nothing))
    }

    /// Reads what a proof of this plan has left since it was interrupted.
    ///
    /// # Errors
    /// If the files cannot be read.
    pub fn remaining(&self) -> Result<UnfinishedProof> {
        let left = if self.partitions.is_some() { self.files.unfinished()? } else { Unfinished::Nothing };
        Ok(self.describe(&left))
    }

    fn describe(&self, unfinished: &Unfinished) -> UnfinishedProof {
        match unfinished {
            Unfinished::Nothing => UnfinishedProof::Nothing,
            Unfinished::Unusable => UnfinishedProof::Unusable,
            Unfinished::Usable(checkpoint) => {
                UnfinishedProof::Resumes { share: checkpoint.steps as f64 / self.contexts as f64 }
            }
        }
    }

    /// Opens the files of a proof out of core.
    fn open(&mut self) -> Result<Option<OpenProof>> {
        let Some((new, spill_bytes)) = self.partitions.clone() else { return Ok(None) };
        let unfinished = self.unfinished.take().map_or_else(|| self.files.unfinished(), Ok)?;
        self.files.open(unfinished.into(), new, spill_bytes).map(Some)
    }
}

impl ProofPlan<'_, ()> {
    /// Proves the table as [`Verifier::prove`] does.
    ///
    /// # Errors
    /// As for [`Verifier::prove`].
    pub fn run(&mut self, observer: &dyn Observer) -> Result<()> {
        thread_pool(self.verifier.threads)?.install(|| {
            let proof = self.open()?;
            self.verifier.check_in_pool(observer)?;
            let table = self.verifier.table;
            if let Some(proof) = proof {
                return prove_by_partitions(table, proof, observer);
            }
            prove_in_memory(table, observer)?;
            // The files of an earlier proof out of core are no longer needed.
            if self.files.unfinished()? == Unfinished::Nothing { Ok(()) } else { self.files.discard() }
        })
    }
}

impl ProofPlan<'_, Sample> {
    /// Proves the sample as [`Verifier::prove_sample`] does, and returns its extent. Look-ups in the table compare its
    /// blocks with their checksums from then on.
    ///
    /// # Errors
    /// As for [`Verifier::prove_sample`].
    pub fn run(&mut self, observer: &dyn Observer) -> Result<SampleExtent> {
        let pool = thread_pool(self.verifier.threads)?;
        if let Some(proof) = self.open()? {
            let table = self.verifier.table;
            table.verify_blocks();
            pool.install(|| prove_sample(table, &self.sample, proof, observer))?;
        }
        Ok(self.sample.extent)
    }
}
