//! The build of one process.

mod fetch;
mod resume;
mod search;
mod table;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};

use rayon::ThreadPool;
use serde::{Deserialize, Serialize};
use sternhalma_builder::steps::{
    FrameStore, LayerFile, LayerSummary, LockedDir, Manifest, MemberId, Numbering, PartitionParams, Partitioning,
    StoredPart, WorkDir, copies_name, layer_name, resume_params,
};
use sternhalma_builder::{BuilderError, Observer, TableBuilder};
use sternhalma_data::table::fs::{FileSystem, OsFileSystem};

use crate::construction::beginning::{
    Beginning, CannotBegin, Decision, EarlierWork, FoundPart, LostParts, decide, obsolete,
};
use crate::construction::copies::FileReceiver;
use crate::construction::ownership::{Ownership, owner_memory};
use crate::construction::part::PartFile;
use crate::error::{ClusterError, MissingPart, Result};
use crate::processes::{ClusterMember, Common, Exchange, Link, Parcel, ParcelKind, Peers, Voting, connect};

/// The build of one process.
pub(super) struct ClusterProcess<'a> {
    pub builder: &'a TableBuilder,
    pub member: &'a ClusterMember,
    /// The parameters of a new build. An unfinished build keeps its partitions.
    pub params: PartitionParams,
    /// The memory limit without the memory of connections, in bytes. The owners and copies need a part of it.
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
        let (spec, storage) = (self.builder.spec(), OsFileSystem::shared());
        let work_dir = self.builder.work_dir_of(path);
        let locked = LockedDir::open(&storage, &work_dir.join(self.id().directory_name()))?;
        let manifest = locked.manifest(spec)?;
        let found = StoredPart::scan(&*storage, &work_dir, spec)?;
        let beginning = self.beginning(path, &locked, &found)?;
        let link = Arc::new(Link::default());
        link.cancelled_by(self.observer, || self.run_with(&link, path, locked, manifest, &found, beginning))
    }

    /// Builds the part together with the processes that connect.
    fn run_with(
        &self,
        link: &Arc<Link>,
        path: &Path,
        locked: LockedDir,
        manifest: Option<Manifest>,
        found: &[StoredPart],
        beginning: Beginning,
    ) -> Result<PartReport> {
        let (spec, storage) = (self.builder.spec(), OsFileSystem::shared());
        let work_dir = self.builder.work_dir_of(path);
        let Peers { streams, found: beginnings } = connect(self.member, self.common(), beginning, link)?;
        let decision = decide(&beginnings, self.member.process()).map_err(|why| self.cannot_begin(why))?;
        let params = self.params_of(decision.partitions, &locked.path)?;
        let partitioning = Partitioning::new(Numbering::of(spec), params.fixed_pieces, params.segment_words);
        let upper = spec.prefix.board().pieces() - 1 - params.slice_pieces;
        let ownership = Ownership::new(&partitioning, self.member.processes(), upper);
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
        let work = match manifest.filter(|manifest| self.keeps_layers(&decision, manifest)) {
            Some(manifest) => locked.resume(manifest),
            None => locked.start_part(decision.id.clone(), spec, params, self.id())?,
        };
        let receiver = Arc::clone(&inbox);
        let deliver = move |parcel| receiver.deliver(parcel);
        let exchange = Exchange::start(link, streams, self.member.process(), share, deliver);
        let mut build = PartBuild {
            process: self,
            params: PartitionParams { spill_bytes: 4 * share, ..params },
            storage,
            exchange,
            inbox,
            work,
            reported: AtomicU64::new(0),
            ownership,
            partitioning,
        };
        let obsolete = obsolete(&beginnings, &decision, self.member.process());
        self.pool.install(|| {
            build.fetch_layers(&decision.work, found)?;
            build.run(path, || remove_parts(&OsFileSystem::shared(), &work_dir, &obsolete))
        })?;
        build.exchange.finish();
        let (sent, received) = link.traffic();
        Ok(PartReport { sent, received })
    }

    /// Returns what all processes must have in common.
    fn common(&self) -> Common {
        let table = ("the table", self.builder.spec().to_string());
        let copies = ("the number of copies", self.member.copies.to_string());
        Common::new(
            "build",
            self.member,
            &[table, copies, ("the request to start again", self.builder.process_options().restart.to_string())],
        )
    }

    /// Returns what this process has found: the parts of layers in its work directory, and its part of the table.
    fn beginning(&self, path: &Path, locked: &LockedDir, found: &[StoredPart]) -> Result<Beginning> {
        let storage = OsFileSystem::shared();
        let part = |part: &StoredPart| {
            Ok(FoundPart {
                id: part.id().to_owned(),
                member: part.member,
                home: part.home_process(),
                partitions: part.partitioning(),
                layers: part.layers(&*storage),
                committed: part.committed(&*storage)?.len() as u32,
            })
        };
        let finished = PartFile::open(&ClusterMember::part_path(path, self.id().process, self.id().processes)).ok();
        Ok(Beginning {
            parts: found.iter().map(part).collect::<Result<_>>()?,
            fresh: self.builder.process_options().restart,
            finished: finished.filter(|part| part.member() == self.id()).map(|part| part.build_id().to_owned()),
            partitions: (self.params.fixed_pieces, self.params.segment_words),
            new_id: locked.new_id(),
        })
    }

    /// Returns the error about layers that are missing, or about processes that differ.
    fn cannot_begin(&self, why: CannotBegin) -> BuilderError {
        let LostParts { processes, owners, partitions: (fixed_pieces, segment_words) } = match why {
            CannotBegin::Differs(error) => return error.into(),
            CannotBegin::Lost(lost) => lost,
        };
        let partitioning = Partitioning::new(Numbering::of(self.builder.spec()), fixed_pieces, segment_words);
        let part = |process| MissingPart { process, ranges: Ownership::ranges(&partitioning, processes, process) };
        ClusterError::MissingParts { processes, parts: owners.into_iter().map(part).collect() }.into()
    }

    /// Returns the parameters with the partitions of the build.
    fn params_of(&self, partitions: (usize, usize), work_dir: &Path) -> Result<PartitionParams> {
        let (fixed_pieces, segment_words) = partitions;
        if partitions == (self.params.fixed_pieces, self.params.segment_words) {
            return Ok(self.params);
        }
        let (spec, threads) = (self.builder.spec(), self.pool.current_num_threads());
        let own = owner_memory(spec, PartitionParams { fixed_pieces, segment_words, ..self.params });
        let limit = self.memory_limit.saturating_sub(own);
        // All processes need slices of the same size, but may have different numbers of threads.
        let slice_pieces = self.params.slice_pieces;
        resume_params(spec, threads, partitions, slice_pieces..=slice_pieces, limit)
            .map_err(|least| least.saturating_add(own).next_multiple_of(1 << 20))
            .map_err(|least| BuilderError::WorkDirMemory { path: work_dir.to_owned(), least, limit: self.memory_limit })
    }

    /// Returns whether the build resumes with the layers of this process.
    fn keeps_layers(&self, decision: &Decision, manifest: &Manifest) -> bool {
        let own = self.member.process();
        let same =
            matches!(&decision.work, EarlierWork::Same { lost } if lost.iter().all(|source| source.owner != own));
        same && manifest.id() == decision.id && manifest.member() == Some(self.id())
    }
}

/// Removes the files of other processes, whose layers are no longer needed. Skips processes that are running.
fn remove_parts(storage: &Arc<dyn FileSystem>, work_dir: &Path, members: &[MemberId]) -> Result<()> {
    for member in members {
        let dir = work_dir.join(member.directory_name());
        match LockedDir::open(storage, &dir) {
            Err(BuilderError::WorkDirInUse { .. }) => {}
            locked => {
                let locked = locked?;
                // The manifest is removed last, so that an interrupted removal is repeated.
                locked.clear()?;
                std::fs::remove_dir_all(&dir).map_err(BuilderError::file(&dir, "remove"))?;
            }
        }
    }
    Ok(())
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
}

impl PartBuild<'_> {
    fn me(&self) -> usize {
        self.exchange.process()
    }

    /// Builds the part. Calls `begun` when this cluster has all earlier layers, with their second copies.
    fn run(&mut self, path: &Path, begun: impl FnOnce() -> Result<()>) -> Result<()> {
        let part_path = ClusterMember::part_path(path, self.me(), self.exchange.processes());
        let finished = PartFile::open(&part_path)
            .is_ok_and(|part| part.build_id() == self.work.id() && part.member() == self.process.id());
        let (mut layers, mut whole, all_finished) = self.resume(finished)?;
        self.exchange.barrier()?;
        begun()?;
        if !all_finished {
            self.search(&mut layers, &mut whole)?;
            self.write_part(&part_path, &layers, &whole, finished)?;
        }
        // Layers are removed when all parts of the table are durable.
        self.inbox.voting.ask(&self.exchange, &())?;
        drop(layers);
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

    /// Returns whether this process writes the checksums of committed layers: process 0, and the one that keeps its second
    /// copies.
    fn records_commits(&self) -> bool {
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
