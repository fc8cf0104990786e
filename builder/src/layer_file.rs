//! A layer on disk: its bitmap in compressed chunks.
//!
//! ```text
//! magic, format version, distance, fingerprint of the cut   24 bytes
//! chunks that are not empty, each a zstd frame
//! for each chunk: length (0 for an empty one), checksum     16 bytes
//! what is known of the layer, as JSON
//! length of the chunks, length of the JSON, checksum of
//! everything from the chunks' end on but itself             24 bytes
//! ```
//!
//! All numbers are little-endian; a bitmap is 64-bit words.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sternhalma_data::table::checksum;
use sternhalma_data::table::fs::{AtomicFile, FileSystem, RandomAccessFile};

use crate::error::BuildError;

const MAGIC: &[u8; 8] = b"SHTLAYER";
const VERSION: u32 = 1;
const HEADER_BYTES: u64 = 24;
const ENTRY_BYTES: usize = 16;
const TAIL_BYTES: u64 = 24;

/// What is known of a layer besides its states.
#[derive(Clone, Default, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Summary {
    pub states: u64,
    /// Whether the layer before has a successor outside the prefix.
    pub escapes: bool,
    /// Of the layer before.
    pub successors: u64,
    pub wall_s: f64,
    pub cpu_s: f64,
    pub read: u64,
    pub written: u64,
    pub peak_bytes: u64,
}

/// Which layer of which build a file holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Identity {
    pub distance: u32,
    /// Of the prefix and how it is cut.
    pub fingerprint: u64,
    pub chunks: u64,
}

impl Identity {
    fn header(&self) -> [u8; HEADER_BYTES as usize] {
        let mut header = [0; HEADER_BYTES as usize];
        header[..8].copy_from_slice(MAGIC);
        header[8..12].copy_from_slice(&VERSION.to_le_bytes());
        header[12..16].copy_from_slice(&self.distance.to_le_bytes());
        header[16..].copy_from_slice(&self.fingerprint.to_le_bytes());
        header
    }
}

/// A compressed chunk and its checksum; empty for a chunk without states.
#[derive(Default)]
pub(crate) struct Packed {
    pub bytes: Vec<u8>,
    pub checksum: u64,
}

/// Compresses and decompresses chunks, with room to do it in.
pub(crate) struct Codec {
    compressor: zstd::bulk::Compressor<'static>,
    decompressor: zstd::bulk::Decompressor<'static>,
    bytes: Vec<u8>,
}

/// The level that packs best per time; higher ones cost a multiple for a few percent.
const LEVEL: i32 = 3;

impl Codec {
    pub fn new() -> Codec {
        let compressor = zstd::bulk::Compressor::new(LEVEL).expect("the level is one of zstd's");
        let decompressor = zstd::bulk::Decompressor::new().expect("zstd needs little memory");
        Codec { compressor, decompressor, bytes: Vec::new() }
    }

    /// An upper bound of the bytes a codec takes for chunks of so many words.
    pub fn memory(words: usize) -> u64 {
        // Compressor and decompressor by measurement, and the bytes of a chunk.
        (1700 << 10) + 9 * words as u64
    }

    pub fn pack(&mut self, words: &[u64]) -> Packed {
        if words.iter().all(|&word| word == 0) {
            return Packed::default();
        }
        let bytes = bytemuck::cast_slice(words);
        self.bytes.resize(zstd::zstd_safe::compress_bound(bytes.len()), 0);
        let length =
            self.compressor.compress_to_buffer(bytes, &mut self.bytes[..]).expect("the buffer is large enough");
        let bytes = self.bytes[..length].to_vec();
        Packed { checksum: checksum(&bytes), bytes }
    }

    /// Fills `words` from packed bytes. False if they do not hold as many.
    pub fn unpack(&mut self, packed: &[u8], words: &mut [u64]) -> bool {
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(words);
        self.decompressor.decompress_to_buffer(packed, bytes).is_ok_and(|length| length == bytes.len())
    }
}

/// Writes the chunks of a layer in order.
pub(crate) struct LayerWriter {
    identity: Identity,
    file: AtomicFile,
    entries: Vec<Entry>,
    at: u64,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    /// Where the chunk begins, counted from the first.
    start: u64,
    checksum: u64,
}

impl LayerWriter {
    pub fn create(storage: &Arc<dyn FileSystem>, path: &Path, identity: Identity) -> Result<LayerWriter, BuildError> {
        let file = AtomicFile::create(storage, path).map_err(BuildError::file(path, "create"))?;
        let mut writer =
            LayerWriter { identity, file, entries: Vec::with_capacity(identity.chunks as usize + 1), at: 0 };
        writer.write(&identity.header())?;
        Ok(writer)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), BuildError> {
        let path = self.file.path().to_owned();
        self.file.write_all(bytes).map_err(BuildError::file(&path, "write"))
    }

    /// Adds the next chunks.
    pub fn add(&mut self, chunks: &[Packed]) -> Result<(), BuildError> {
        let mut bytes = Vec::with_capacity(chunks.iter().map(|chunk| chunk.bytes.len()).sum());
        for chunk in chunks {
            self.entries.push(Entry { start: self.at, checksum: chunk.checksum });
            self.at += chunk.bytes.len() as u64;
            bytes.extend_from_slice(&chunk.bytes);
        }
        if bytes.is_empty() { Ok(()) } else { self.write(&bytes) }
    }

    /// Adds so many empty chunks.
    pub fn add_empty(&mut self, chunks: u64) {
        self.entries.extend((0..chunks).map(|_| Entry { start: self.at, checksum: 0 }));
    }

    /// Completes the file and puts it in its place.
    pub fn finish(mut self, summary: Summary) -> Result<LayerFile, BuildError> {
        assert_eq!(self.entries.len() as u64, self.identity.chunks, "every chunk is written");
        self.entries.push(Entry { start: self.at, checksum: 0 });
        let mut tail = Vec::with_capacity(ENTRY_BYTES * self.entries.len());
        for pair in self.entries.windows(2) {
            tail.extend((pair[1].start - pair[0].start).to_le_bytes());
            tail.extend(pair[0].checksum.to_le_bytes());
        }
        let json = serde_json::to_vec(&summary).expect("a summary has only finite numbers");
        tail.extend(&json);
        tail.extend(self.at.to_le_bytes());
        tail.extend((json.len() as u64).to_le_bytes());
        tail.extend(checksum(&tail).to_le_bytes());
        self.write(&tail)?;
        let path = self.file.path().to_owned();
        let file = self.file.persist(true).map_err(BuildError::file(&path, "write"))?;
        Ok(LayerFile { path, file, entries: self.entries, summary, tail_bytes: tail.len() as u64 })
    }
}

/// A complete layer on disk.
#[derive(Debug)]
pub(crate) struct LayerFile {
    path: PathBuf,
    file: Box<dyn RandomAccessFile>,
    /// One for each chunk and one for the end.
    entries: Vec<Entry>,
    summary: Summary,
    tail_bytes: u64,
}

impl LayerFile {
    /// The bytes of memory that an open file of so many chunks takes.
    pub fn memory(chunks: u64) -> u64 {
        chunks.saturating_add(1).saturating_mul(ENTRY_BYTES as u64)
    }

    /// Opens a layer; `None` if there is no such file. All of it but the
    /// chunks is checked.
    pub fn open(storage: &dyn FileSystem, path: &Path, identity: Identity) -> Result<Option<LayerFile>, BuildError> {
        let file = match storage.open(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            file => file.map_err(BuildError::file(path, "open"))?,
        };
        let damaged = |what: &str| BuildError::damaged(path, what);
        let read = |at: u64, length: u64| {
            let mut bytes = vec![0; length as usize];
            file.read_at(&mut bytes, at).map_err(BuildError::file(path, "read")).map(|()| bytes)
        };
        let length = file.len().map_err(BuildError::file(path, "read"))?;
        let directory_bytes = ENTRY_BYTES as u64 * identity.chunks;
        let least = HEADER_BYTES + directory_bytes + TAIL_BYTES;
        if length < least {
            return Err(damaged("it is cut short"));
        }
        if read(0, HEADER_BYTES)? != identity.header() {
            return Err(damaged("its header is not that of this layer"));
        }
        let word = |bytes: &[u8], at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
        let end = read(length - TAIL_BYTES, TAIL_BYTES)?;
        let (chunk_bytes, json_bytes) = (word(&end, 0), word(&end, 8));
        if chunk_bytes.checked_add(json_bytes).and_then(|bytes| bytes.checked_add(least)) != Some(length) {
            return Err(damaged("its end does not fit its length"));
        }
        let tail = read(HEADER_BYTES + chunk_bytes, length - HEADER_BYTES - chunk_bytes)?;
        if checksum(&tail[..tail.len() - 8]) != word(&tail, tail.len() - 8) {
            return Err(damaged("its directory does not match its checksum"));
        }
        let (directory, rest) = tail.split_at(directory_bytes as usize);
        let mut entries = Vec::with_capacity(identity.chunks as usize + 1);
        let mut start = 0u64;
        for entry in directory.chunks_exact(ENTRY_BYTES) {
            entries.push(Entry { start, checksum: word(entry, 8) });
            start = start.saturating_add(word(entry, 0));
        }
        entries.push(Entry { start, checksum: 0 });
        let summary =
            serde_json::from_slice(&rest[..json_bytes as usize]).map_err(|_| damaged("its summary is unreadable"))?;
        match start == chunk_bytes {
            true => {
                Ok(Some(LayerFile { path: path.to_owned(), file, entries, summary, tail_bytes: tail.len() as u64 }))
            }
            false => Err(damaged("its chunks do not add up")),
        }
    }

    /// What is known of the layer, with all that was written for it.
    pub fn summary(&self) -> Summary {
        Summary { written: self.summary.written + self.tail_bytes, ..self.summary.clone() }
    }

    /// Compares a chunk with its checksum.
    pub fn check(&self, chunk: u64) -> Result<(), BuildError> {
        self.packed(chunk, &mut Vec::new()).map(drop)
    }

    pub fn is_empty(&self, chunks: std::ops::Range<u64>) -> bool {
        self.entries[chunks.start as usize].start == self.entries[chunks.end as usize].start
    }

    /// Says that these chunks are read soon.
    pub fn prefetch(&self, chunks: std::ops::Range<u64>) {
        let place = |chunk: u64| HEADER_BYTES + self.entries[chunk as usize].start;
        if !self.is_empty(chunks.clone()) {
            self.file.prefetch(place(chunks.start)..place(chunks.end));
        }
    }

    /// Lets the system's cache of the file go.
    pub fn uncache(&self) {
        self.file.drop_page_cache();
    }

    /// Fills `words` with a chunk. False, and `words` as they were, if the chunk is empty.
    pub fn read(&self, chunk: u64, words: &mut [u64], codec: &mut Codec) -> Result<bool, BuildError> {
        let mut bytes = std::mem::take(&mut codec.bytes);
        let any = self.packed(chunk, &mut bytes)?;
        let sound = !any || codec.unpack(&bytes, words);
        codec.bytes = bytes;
        if sound { Ok(any) } else { Err(self.damaged_chunk(chunk)) }
    }

    /// Reads the bytes of a chunk that is not empty.
    fn packed(&self, chunk: u64, bytes: &mut Vec<u8>) -> Result<bool, BuildError> {
        let [entry, next] = [chunk, chunk + 1].map(|chunk| self.entries[chunk as usize]);
        if entry.start == next.start {
            return Ok(false);
        }
        bytes.resize((next.start - entry.start) as usize, 0);
        self.file.read_at(bytes, HEADER_BYTES + entry.start).map_err(BuildError::file(&self.path, "read"))?;
        if checksum(bytes) == entry.checksum { Ok(true) } else { Err(self.damaged_chunk(chunk)) }
    }

    fn damaged_chunk(&self, chunk: u64) -> BuildError {
        BuildError::damaged(&self.path, format!("chunk {chunk} does not match its checksum"))
    }
}
