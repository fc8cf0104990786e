//! The journal of a table that is being written: the blocks that are on disk.
//!
//! ```text
//! magic, format version, zeros, fingerprint                 24 bytes
//! per commit:
//!   number of blocks, elapsed and processor seconds (as 64-bit floating-point numbers),
//!   bytes read, bytes written, peak memory                  48 bytes
//!   per block: checksum, length                             12 bytes
//!   the checksum of the commit                              8 bytes
//! ```
//!
//! All numbers are little-endian. A commit is written after its blocks are durable, and only then
//! are their layers freed. A commit that is cut short is ignored.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sternhalma_data::table::checksum;
use sternhalma_data::table::fs::{FileSystem, RandomAccessFile, parent_directory};
use sternhalma_data::table::write::WrittenBlock;

use crate::error::{BuilderError, Result};

const MAGIC: &[u8; 8] = b"SHTWRITE";
const VERSION: u32 = 1;
const HEADER_BYTES: usize = 24;
const EFFORT_BYTES: usize = 48;
const BLOCK_BYTES: usize = 12;

/// The time and the traffic of the blocks of a commit.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub(crate) struct Effort {
    pub wall_s: f64,
    pub cpu_s: f64,
    pub read: u64,
    pub written: u64,
    pub peak_bytes: u64,
}

impl Effort {
    /// Returns the sum of two efforts.
    pub fn and(self, later: Effort) -> Effort {
        Effort {
            wall_s: self.wall_s + later.wall_s,
            cpu_s: self.cpu_s + later.cpu_s,
            read: self.read + later.read,
            written: self.written + later.written,
            peak_bytes: self.peak_bytes.max(later.peak_bytes),
        }
    }
}

/// The committed blocks of a table, in order.
#[derive(Clone, Default, Debug)]
pub(crate) struct CommittedBlocks {
    pub blocks: Vec<WrittenBlock>,
    pub effort: Effort,
}

/// An open journal.
pub(crate) struct Journal {
    path: PathBuf,
    file: Box<dyn RandomAccessFile>,
    /// The end of the last commit.
    end: u64,
}

/// The journal of an interrupted process.
#[derive(Default)]
pub(crate) struct EarlierJournal {
    /// The journal with its commits, if it is of this build and has any.
    pub committed: Option<(Journal, CommittedBlocks)>,
    /// Whether bytes follow that are no commit: one that was cut short, for which no layer was freed, or damage, after
    /// which segments of layers may be freed without a record.
    pub has_remainder: bool,
}

impl Journal {
    /// Creates an empty journal, which is durable.
    pub fn create(storage: &Arc<dyn FileSystem>, path: &Path, fingerprint: u64) -> Result<Journal> {
        let create = || {
            let file = storage.create(path)?;
            file.write_at(&header(fingerprint), 0)?;
            file.sync()?;
            storage.sync_directory(parent_directory(path))?;
            Ok(file)
        };
        let file = create().map_err(BuilderError::file(path, "create"))?;
        Ok(Journal { path: path.to_owned(), file, end: HEADER_BYTES as u64 })
    }

    /// Opens the journal of an interrupted process, if there is one, and reads its commits.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn open(storage: &Arc<dyn FileSystem>, path: &Path, fingerprint: u64) -> Result<EarlierJournal> {
        let file = match storage.reopen(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(EarlierJournal::default()),
            file => file.map_err(BuilderError::file(path, "open"))?,
        };
        let read = || {
            let mut bytes = vec![0; usize::try_from(file.len()?).map_err(|_| std::io::ErrorKind::OutOfMemory)?];
            file.read_at(&mut bytes, 0).map(|()| bytes)
        };
        let bytes = read().map_err(BuilderError::file(path, "read"))?;
        let Some(mut rest) = bytes.strip_prefix(&header(fingerprint)) else {
            return Ok(EarlierJournal { committed: None, has_remainder: bytes.len() > HEADER_BYTES });
        };
        let mut committed = CommittedBlocks::default();
        while let Some((length, blocks, effort)) = parse_commit(rest) {
            committed.blocks.extend(blocks);
            committed.effort = committed.effort.and(effort);
            rest = &rest[length..];
        }
        let (has_remainder, end) = (!rest.is_empty(), (bytes.len() - rest.len()) as u64);
        let journal = Journal { path: path.to_owned(), file, end };
        let committed = (!committed.blocks.is_empty()).then_some((journal, committed));
        Ok(EarlierJournal { committed, has_remainder })
    }

    /// Records blocks that are durable.
    pub fn commit(&mut self, blocks: &[WrittenBlock], effort: Effort) -> Result<()> {
        let mut bytes = Vec::with_capacity(EFFORT_BYTES + BLOCK_BYTES * blocks.len() + 8);
        bytes.extend((blocks.len() as u64).to_le_bytes());
        bytes.extend([effort.wall_s, effort.cpu_s].into_iter().flat_map(f64::to_le_bytes));
        bytes.extend([effort.read, effort.written, effort.peak_bytes].into_iter().flat_map(u64::to_le_bytes));
        for block in blocks {
            bytes.extend(block.checksum.to_le_bytes());
            bytes.extend(block.length.to_le_bytes());
        }
        bytes.extend(checksum(&bytes).to_le_bytes());
        let write = || {
            self.file.write_at(&bytes, self.end)?;
            self.file.sync()
        };
        write().map_err(BuilderError::file(&self.path, "write"))?;
        self.end += bytes.len() as u64;
        Ok(())
    }
}

fn header(fingerprint: u64) -> [u8; HEADER_BYTES] {
    let mut header = [0; HEADER_BYTES];
    header[..8].copy_from_slice(MAGIC);
    header[8..12].copy_from_slice(&VERSION.to_le_bytes());
    header[16..].copy_from_slice(&fingerprint.to_le_bytes());
    header
}

/// Returns the length of the commit at the start of `bytes`, its blocks and its effort, or `None` if
/// there is no complete commit.
fn parse_commit(bytes: &[u8]) -> Option<(usize, Vec<WrittenBlock>, Effort)> {
    let word = |at: usize| bytes.get(at..at + 8).map(|word| u64::from_le_bytes(word.try_into().expect("eight bytes")));
    let blocks = usize::try_from(word(0)?).ok()?;
    let end = blocks.checked_mul(BLOCK_BYTES)?.checked_add(EFFORT_BYTES)?;
    let content = bytes.get(..end)?;
    if word(end)? != checksum(content) {
        return None;
    }
    let block = |entry: &[u8]| WrittenBlock {
        checksum: u64::from_le_bytes(entry[..8].try_into().expect("eight bytes")),
        length: u32::from_le_bytes(entry[8..].try_into().expect("four bytes")),
    };
    let blocks = content[EFFORT_BYTES..].chunks_exact(BLOCK_BYTES).map(block).collect();
    let seconds = |at: usize| word(at).map(f64::from_bits);
    let effort =
        Effort { wall_s: seconds(8)?, cpu_s: seconds(16)?, read: word(24)?, written: word(32)?, peak_bytes: word(40)? };
    Some((end + 8, blocks, effort))
}
