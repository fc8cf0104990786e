//! The build of one process.

mod resume;
mod search;
mod table;

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};

use rayon::ThreadPool;
use serde::{Deserialize, Serialize};
use sternhalma_data::table::fs::{FileSystem, OsFileSystem};

use crate::build::cluster::copies::FileReceiver;
use crate::build::cluster::exchange::{Exchange, Parcel, ParcelKind};
use crate::build::cluster::link::Link;
use crate::build::cluster::member::ClusterMember;
use crate::build::cluster::ownership::Ownership;
use crate::build::cluster::part::PartFile;
use crate::build::cluster::peers::{Common, connect};
use crate::build::cluster::voting::Voting;
use crate::build::memory::resume_params;
use crate::build::table_builder::TableBuilder;
use crate::error::{BuilderError, ClusterError, Result};
use crate::external::{
    FrameStore, LayerFile, LayerSummary, LockedDir, Manifest, MemberId, Numbering, PartitionParams, Partitioning,
    WorkDir, copies_name, layer_name,
};
use crate::observer::Observer;

/// The build of one process.
pub(super) struct ClusterProcess<'a> {
    pub options: &'a TableBuilder,
    pub member: &'a ClusterMember,
    /// The parameters of a new build. An unfinished build keeps its partitions.
    pub params: PartitionParams,
    /// The memory limit without the memory of connections, in bytes.
    pub memory_limit: u64,
    pub pool: &'a ThreadPool,
    pub observer: &'a dyn Observer,
}

/// What a process reports about its part of a build.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PartReport {
    /// The bytes that this run of the process has sent to the others.
    pub sent: u64,
    /// The bytes that it has received from the others.
    pub received: u64,
}

/// What arrives from other processes.
struct Inbox {
    voting: Voting,
    /// States of own segments that other processes have reached.
    reached: FrameStore,
    /// Segments of other processes in the new layer.
    frontier: FrameStore,
    /// Distances in own blocks, by the number of the block.
    distances: Mutex<BTreeMap<u64, Vec<FoundDistances>>>,
    files: FileReceiver,
    /// The work directory, in which files arrive.
    work_dir: PathBuf,
}

/// Distances of consecutive states, with the index of the first one.
type FoundDistances = (u64, Vec<u8>);

impl Inbox {
    fn deliver(&self, parcel: Parcel) -> Result<()> {
        let Parcel { kind, number, bytes, .. } = parcel;
        match kind {
            ParcelKind::Reached => self.reached.add(number, bytes)?,
            ParcelKind::Frontier => self.frontier.add(number, bytes)?,
            ParcelKind::Vote => self.voting.deliver(number, parcel.from, bytes),
            ParcelKind::Distances => {
                let mut distances = self.distances.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some((first, bytes)) = bytes.split_first_chunk() {
                    let first = u64::from_le_bytes(*first);
                    distances.entry(number).or_default().push((first, bytes.to_vec()));
                }
            }
            ParcelKind::Copy => {
                let directory = self.work_dir.join(copies_name(parcel.from as usize));
                self.files.add(directory.join(layer_name(number as u32)), &bytes)?;
            }
            ParcelKind::Restore => self.files.add(self.work_dir.join(layer_name(number as u32)), &bytes)?,
            ParcelKind::Band => {}
        }
        Ok(())
    }
}

/// What a process says about its work directory when it starts.
#[derive(Serialize, Deserialize)]
struct Beginning {
    /// The identifier of the build that the directory holds.
    id: Option<String>,
    has_layers: bool,
    /// The identifier of a new build, if no process holds one.
    new_id: String,
}

/// What a process says about its part of a layer.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct PartOfLayer {
    states: u64,
    escapes: bool,
    checksum: u64,
}

impl PartOfLayer {
    fn of(layer: &LayerFile) -> PartOfLayer {
        let LayerSummary { states, escapes, .. } = layer.summary();
        PartOfLayer { states, escapes, checksum: layer.directory_checksum() }
    }
}

/// A layer of all processes.
#[derive(Clone, Copy)]
struct WholeLayer {
    states: u64,
    escapes: bool,
}

impl WholeLayer {
    fn of(parts: impl Iterator<Item = PartOfLayer>) -> WholeLayer {
        let none = WholeLayer { states: 0, escapes: false };
        parts.fold(none, |all, part| WholeLayer {
            states: all.states + part.states,
            escapes: all.escapes || part.escapes,
        })
    }
}

impl ClusterProcess<'_> {
    fn id(&self) -> MemberId {
        MemberId { process: self.member.process(), processes: self.member.processes() }
    }

    /// Builds the part of the table at `path`, or resumes its build.
    pub fn run(&self, path: &Path) -> Result<PartReport> {
        let (spec, storage) = (self.options.spec, OsFileSystem::shared());
        let locked = LockedDir::open(&storage, &self.options.work_dir_of(path))?;
        let manifest = if self.options.restart { None } else { locked.manifest(spec)? };
        if let Some(found) = manifest.as_ref().filter(|manifest| manifest.member() != Some(self.id())) {
            let found = found.member().map_or("a build by one process".to_owned(), |found| found.to_string());
            return Err(ClusterError::OtherMember { found, requested: self.id().to_string() }.into());
        }
        let params = self.resumed_params(manifest.as_ref(), &locked.path)?;
        let partitioning = || Partitioning::new(Numbering::of(spec), params.fixed_pieces, params.segment_words);
        let upper = spec.prefix.board().pieces() - 1 - params.slice_pieces;
        let ownership = Ownership::new(&partitioning(), self.member.processes(), upper);
        let link = Arc::new(Link::default());
        let common = Common {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            table: format!("{spec}, {:?}", spec.encoding),
            processes: self.member.processes().to_string(),
            copies: self.member.copies.to_string(),
            partitions: format!("{} {}", params.fixed_pieces, params.segment_words),
        };
        let streams = connect(self.member, &common, &link)?;
        // The memory for states on their way: spilled states, both kinds of messages, and bands.
        let share = params.spill_bytes / 8;
        let inbox = Arc::new(Inbox {
            voting: Voting::default(),
            reached: FrameStore::new(&storage, &locked.path.join("reached"), 2 * share),
            frontier: FrameStore::new(&storage, &locked.path.join("frontier"), share),
            distances: Mutex::default(),
            files: FileReceiver::new(&storage),
            work_dir: locked.path.clone(),
        });
        let receiver = Arc::clone(&inbox);
        let deliver = move |parcel| receiver.deliver(parcel);
        let exchange = Exchange::start(&link, streams, self.member.process(), share, deliver);
        let (work, lost) = self.begin(locked, manifest, params, &inbox, &exchange)?;
        let mut build = PartBuild {
            process: self,
            params: PartitionParams { spill_bytes: 4 * share, ..params },
            storage,
            exchange,
            inbox,
            work,
            reported: AtomicU64::new(0),
            lost,
            ownership,
            partitioning: partitioning(),
        };
        self.pool.install(|| build.run(path))?;
        build.exchange.finish();
        let (sent, received) = link.traffic();
        Ok(PartReport { sent, received })
    }

    /// Returns the parameters of a new build, or those of a build that is resumed.
    fn resumed_params(&self, manifest: Option<&Manifest>, work_dir: &Path) -> Result<PartitionParams> {
        let recorded = manifest.map_or((self.params.fixed_pieces, self.params.segment_words), Manifest::partitioning);
        let threads = self.pool.current_num_threads();
        resume_params(self.options.spec, threads, recorded, self.params, self.memory_limit)
            .ok_or_else(|| BuilderError::WorkDirMemory { path: work_dir.to_owned() })
    }

    /// Resumes the build that all processes hold, or starts one. Returns the processes too that have lost their work
    /// directories, of which there are second copies.
    fn begin(
        &self,
        locked: LockedDir,
        manifest: Option<Manifest>,
        params: PartitionParams,
        inbox: &Inbox,
        exchange: &Exchange,
    ) -> Result<(WorkDir, Vec<usize>)> {
        let beginning = Beginning {
            id: manifest.as_ref().map(|manifest| manifest.id().to_owned()),
            has_layers: manifest.is_some() && locked.has_layers(),
            new_id: locked.new_id(),
        };
        let votes = inbox.voting.ask(exchange, &beginning)?;
        // The build of the first process with layers, or else that of process 0.
        let held = votes.iter().find(|vote| vote.has_layers).unwrap_or(&votes[0]).id.clone();
        let is_lost = |vote: &Beginning| vote.id != held;
        let lost: Vec<usize> = (0..votes.len()).filter(|&process| is_lost(&votes[process])).collect();
        let start = |locked: LockedDir, id: String| locked.start_part(id, self.options.spec, params, self.id());
        match (held.clone(), manifest) {
            (Some(_), Some(manifest)) if lost.is_empty() => Ok((locked.resume(manifest), lost)),
            (Some(id), manifest) if votes.iter().any(|vote| vote.has_layers) => {
                // The next process has the second copies.
                let is_gone = |&process: &usize| {
                    let keeper = &votes[(process + 1) % votes.len()];
                    self.member.copies < 2 || is_lost(keeper) || votes[process].has_layers
                };
                if let Some(&process) = lost.iter().find(|&process| is_gone(process)) {
                    return Err(ClusterError::MissingPart { process, distance: 0 }.into());
                }
                let work = match manifest.filter(|_| !lost.contains(&self.member.process())) {
                    Some(manifest) => locked.resume(manifest),
                    None => start(locked, id)?,
                };
                Ok((work, lost))
            }
            _ => Ok((start(locked, votes[0].new_id.clone())?, Vec::new())),
        }
    }
}

/// The build of one process that is connected to the others.
struct PartBuild<'a> {
    process: &'a ClusterProcess<'a>,
    params: PartitionParams,
    storage: Arc<dyn FileSystem>,
    exchange: Exchange,
    inbox: Arc<Inbox>,
    work: WorkDir,
    ownership: Ownership,
    partitioning: Partitioning,
    /// The sent bytes that have been reported.
    reported: AtomicU64,
    /// The processes that have lost their work directories.
    lost: Vec<usize>,
}

impl PartBuild<'_> {
    fn me(&self) -> usize {
        self.exchange.process()
    }

    fn run(&mut self, path: &Path) -> Result<()> {
        self.restore_lost()?;
        let part_path = ClusterMember::part_path(path, self.me(), self.exchange.processes());
        let finished = PartFile::open(&part_path).is_ok_and(|part| part.is_of(self.work.id(), self.me()));
        let (mut layers, mut whole, all_finished) = self.resume(finished)?;
        if !all_finished {
            self.search(&mut layers, &mut whole)?;
            self.write_part(&part_path, &layers, &whole, finished)?;
        }
        // Layers are removed when all parts of the table are durable.
        self.inbox.voting.ask(&self.exchange, &())?;
        drop(layers);
        if self.has_copies() {
            let copies = self.work.dir.copies_path(self.ward());
            match std::fs::remove_dir_all(&copies) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(BuilderError::file(&copies, "remove")(error));
                }
                _ => {}
            }
        }
        self.work.dir.clear()
    }

    fn has_copies(&self) -> bool {
        self.process.member.copies > 1
    }

    /// Returns the process that keeps the second copies of a process.
    fn keeper(&self, process: usize) -> usize {
        (process + 1) % self.exchange.processes()
    }

    /// Returns the process whose second copies this process keeps.
    fn ward(&self) -> usize {
        (self.me() + self.exchange.processes() - 1) % self.exchange.processes()
    }

    /// Returns whether this process writes manifests of layers: process 0, and the one that keeps its second copies.
    fn commits(&self) -> bool {
        self.me() == 0 || (self.has_copies() && self.ward() == 0)
    }

    /// Returns an error if the build must stop.
    fn check(&self) -> Result<()> {
        self.exchange.check()?;
        if self.process.observer.cancelled() { Err(BuilderError::Cancelled) } else { Ok(()) }
    }

    fn owns(&self, partition: u64) -> bool {
        self.ownership.owner(partition) == self.me()
    }
}
