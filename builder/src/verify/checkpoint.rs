//! The state of an unfinished proof, so that an interrupted process can resume.
//!
//! A proof out of core has two files: the state, which is replaced as a whole, and the spilled
//! states, which are only appended to until a new state is durable. The state consists of
//! little-endian numbers of 64 bits:
//!
//! ```text
//! magic, fingerprint, fixed pieces, words per segment
//! next class, completed steps, distance of the goal, boundary layer or 256
//! number of states per distance                             256 numbers
//! number of records
//! per record: segment, offset, length, checksum, whether it is compressed
//! checksum of all of these
//! ```

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use sternhalma_data::Table;
use sternhalma_data::table::checksum;
use sternhalma_data::table::fs::{AtomicFile, FileSystem};

use crate::error::{BuilderError, Result};
use crate::external::{DiskRecord, SpillBuffer};

/// The bytes `SHTPROOF`.
const MAGIC: u64 = u64::from_le_bytes(*b"SHTPROOF");
/// The version of the format of the state.
const VERSION: u32 = 1;
/// The numbers before the records.
const HEADER: usize = 8 + 256 + 1;
/// The numbers of a record.
const RECORD: usize = 5;
/// The number that stands for no boundary layer.
const NO_LAYER: u64 = 256;

/// The classes that a proof has completed, and what it has found in them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Checkpoint {
    /// The partitions of the proof have this many fixed pieces, and segments of this many words.
    pub partitioning: (usize, usize),
    /// The number of completed classes.
    pub classes: u64,
    /// The number of completed steps of the progress report.
    pub steps: u64,
    /// The distance of the goal, if its class is completed.
    pub goal: u8,
    /// The first layer with a move out of the prefix.
    pub boundary_layer: Option<u8>,
    /// The number of completed states at each distance.
    pub states_at: [u64; 256],
    /// The records of spilled states, each with its segment.
    pub spilled: Vec<(u64, DiskRecord)>,
}

/// What an earlier proof of a table has left.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Unfinished {
    /// There is no earlier proof.
    Nothing,
    /// The files do not fit the table, the options or the version of the program, or are damaged.
    Unusable,
    /// The proof continues from here.
    Usable(Box<Checkpoint>),
}

impl From<Unfinished> for Option<Checkpoint> {
    fn from(unfinished: Unfinished) -> Option<Checkpoint> {
        match unfinished {
            Unfinished::Usable(checkpoint) => Some(*checkpoint),
            Unfinished::Nothing | Unfinished::Unusable => None,
        }
    }
}

impl Checkpoint {
    /// Returns the state before the first class.
    pub fn new(fixed_pieces: usize, segment_words: usize) -> Checkpoint {
        Checkpoint {
            partitioning: (fixed_pieces, segment_words),
            classes: 0,
            steps: 0,
            goal: 0,
            boundary_layer: None,
            states_at: [0; 256],
            spilled: Vec::new(),
        }
    }

    fn encode(&self, fingerprint: u64) -> Vec<u8> {
        let Checkpoint { partitioning: (fixed_pieces, segment_words), classes, steps, goal, .. } = *self;
        let mut numbers = vec![MAGIC, fingerprint, fixed_pieces as u64, segment_words as u64, classes, steps];
        numbers.extend([u64::from(goal), self.boundary_layer.map_or(NO_LAYER, u64::from)]);
        numbers.extend(self.states_at);
        numbers.push(self.spilled.len() as u64);
        for &(segment, DiskRecord { at, length, checksum, compressed }) in &self.spilled {
            numbers.extend([segment, at, length, checksum, u64::from(compressed)]);
        }
        let mut bytes: Vec<u8> = numbers.into_iter().flat_map(u64::to_le_bytes).collect();
        bytes.extend(checksum(&bytes).to_le_bytes());
        bytes
    }

    /// Returns the state, or `None` if the bytes are damaged or have another fingerprint.
    fn decode(bytes: &[u8], fingerprint: u64) -> Option<Checkpoint> {
        let (content, sum) = bytes.split_last_chunk()?;
        if checksum(content) != u64::from_le_bytes(*sum) || content.len() % 8 != 0 {
            return None;
        }
        let number = |word: &[u8]| u64::from_le_bytes(word.try_into().expect("eight bytes"));
        let numbers: Vec<u64> = content.chunks_exact(8).map(number).collect();
        let (header, records) = numbers.split_at_checked(HEADER)?;
        let layer = |number: u64| (number != NO_LAYER).then(|| u8::try_from(number)).transpose().ok();
        let is_valid = header[..2] == [MAGIC, fingerprint]
            && records.len() % RECORD == 0
            && records.len() as u64 / RECORD as u64 == header[HEADER - 1];
        let record = |numbers: &[u64]| {
            let disk =
                DiskRecord { at: numbers[1], length: numbers[2], checksum: numbers[3], compressed: numbers[4] != 0 };
            (numbers[0], disk)
        };
        is_valid.then_some(Checkpoint {
            partitioning: (usize::try_from(header[2]).ok()?, usize::try_from(header[3]).ok()?),
            classes: header[4],
            steps: header[5],
            goal: u8::try_from(header[6]).ok()?,
            boundary_layer: layer(header[7])?,
            states_at: header[8..HEADER - 1].try_into().expect("the header has 256 layers"),
            spilled: records.chunks_exact(RECORD).map(record).collect(),
        })
    }
}

/// The files of a proof.
#[derive(Clone, Debug)]
pub struct ProofFiles {
    storage: Arc<dyn FileSystem>,
    state: PathBuf,
    spill: PathBuf,
    fingerprint: u64,
}

impl ProofFiles {
    /// Returns the files of the proof with these options in a directory. `kind` is part of their names.
    pub fn new(storage: &Arc<dyn FileSystem>, dir: &Path, table: &Table, kind: &str, options: &str) -> ProofFiles {
        let name = table.path().file_name().unwrap_or_default().display().to_string();
        let program = env!("CARGO_PKG_VERSION");
        let identity = format!("{program} {VERSION} {kind} {options} {}", table.checksum_text());
        ProofFiles {
            storage: Arc::clone(storage),
            state: dir.join(format!(".{name}.{kind}")),
            spill: dir.join(format!(".{name}.{kind}.spill")),
            fingerprint: checksum(identity.as_bytes()),
        }
    }

    /// Returns the path of the state, which changes as the proof advances.
    pub fn state_path(&self) -> &Path {
        &self.state
    }

    /// Reads what an earlier proof has left.
    pub fn unfinished(&self) -> Result<Unfinished> {
        let file = match self.storage.open(&self.state) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Unfinished::Nothing),
            file => file.map_err(BuilderError::file(&self.state, "open"))?,
        };
        let read = || {
            let mut bytes = vec![0; usize::try_from(file.len()?).map_err(|_| io::ErrorKind::OutOfMemory)?];
            file.read_at(&mut bytes, 0).map(|()| bytes)
        };
        let bytes = read().map_err(BuilderError::file(&self.state, "read"))?;
        let checkpoint = Checkpoint::decode(&bytes, self.fingerprint);
        Ok(checkpoint.map_or(Unfinished::Unusable, |checkpoint| Unfinished::Usable(Box::new(checkpoint))))
    }

    /// Opens and locks the files. Continues from `checkpoint` if its spilled states are complete,
    /// and otherwise starts with `new`, after removing what an earlier proof has left.
    ///
    /// # Errors
    /// If another process uses the files, or they cannot be written.
    pub fn open(&self, checkpoint: Option<Checkpoint>, new: Checkpoint, spill_bytes: u64) -> Result<OpenProof> {
        if let Some(checkpoint) = checkpoint
            && let Some(spill) = SpillBuffer::reopen(&self.storage, &self.spill, spill_bytes)?
            && spill.restore(&checkpoint.spilled)?
        {
            return Ok(OpenProof::new(self.clone(), checkpoint, spill));
        }
        let spill = SpillBuffer::create(&self.storage, &self.spill, spill_bytes)?;
        self.remove_state()?;
        Ok(OpenProof::new(self.clone(), new, spill))
    }

    /// Removes the state and the spilled states of an earlier proof.
    pub fn discard(&self) -> Result<()> {
        self.remove_state()?;
        self.remove(&self.spill)
    }

    fn remove_state(&self) -> Result<()> {
        self.remove(&AtomicFile::temporary_path(&self.state))?;
        self.remove(&self.state)
    }

    fn remove(&self, path: &Path) -> Result<()> {
        match self.storage.remove(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(BuilderError::file(path, "remove")(error)),
            _ => Ok(()),
        }
    }
}

/// A proof that has its files open.
pub struct OpenProof {
    files: ProofFiles,
    /// What is proven so far.
    pub checkpoint: Checkpoint,
    /// The spilled states of the proof.
    pub spill: SpillBuffer,
    /// The least time between checkpoints. Without it, every class has a checkpoint.
    pub interval: Option<Duration>,
    /// The time of the last checkpoint, and how long it took.
    last: (Instant, Duration),
}

impl OpenProof {
    /// The least time between checkpoints.
    const INTERVAL: Duration = Duration::from_secs(1);
    /// The least work between checkpoints, in multiples of the time of the last one.
    const WORK: u32 = 30;

    fn new(files: ProofFiles, checkpoint: Checkpoint, spill: SpillBuffer) -> OpenProof {
        let interval = Some(OpenProof::INTERVAL);
        OpenProof { files, checkpoint, spill, interval, last: (Instant::now(), Duration::ZERO) }
    }

    /// Returns whether enough time has passed since the last checkpoint.
    pub fn is_due(&self) -> bool {
        let (end, duration) = self.last;
        self.interval.is_none_or(|interval| end.elapsed() >= interval.max(OpenProof::WORK * duration))
    }

    /// Makes the checkpoint durable, with all spilled states.
    pub fn save(&mut self) -> Result<()> {
        let start = Instant::now();
        self.checkpoint.spilled = self.spill.save()?;
        let bytes = self.checkpoint.encode(self.files.fingerprint);
        self.checkpoint.spilled = Vec::new();
        let write = || {
            let mut file = AtomicFile::create(&self.files.storage, &self.files.state)?;
            file.write_all(&bytes)?;
            file.persist(true)
        };
        write().map_err(BuilderError::file(&self.files.state, "write"))?;
        self.spill.keep(true)?;
        self.last = (Instant::now(), start.elapsed());
        Ok(())
    }

    /// Removes the files.
    pub fn discard(self) -> Result<()> {
        self.files.remove_state()?;
        self.spill.keep(false)
    }
}
