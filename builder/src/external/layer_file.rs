//! The files of a layer: its bitmap in compressed segments.
//!
//! The file that is kept has whole segments, or the difference to the two previous layers. Whole segments
//! can be read without other layers, which the search needs. If the file has differences, a *copy* with whole
//! segments therefore exists until two later layers are complete.
//!
//! ```text
//! magic, format version, distance, fingerprint              24 bytes
//! each segment that is not empty: in the copy a zstd frame,
//!   in the other file a byte that is 0 and a zstd frame, or
//!   a byte that is 1 and the difference
//! per segment: length (0 for an empty one), checksum        16 bytes
//! the summary of the layer, as JSON
//! length of the segments, length of the JSON, and the
//! checksum of everything between segments and checksum      24 bytes
//! ```
//!
//! All numbers are little-endian. A bitmap consists of 64-bit words.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sternhalma_data::table::checksum;
use sternhalma_data::table::fs::{AtomicFile, FileSystem, RandomAccessFile};

use super::neighbors::NeighborOffsets;
use super::segment::{self, PackedSegment, SegmentCodec};
use crate::error::{BuilderError, Result};

const MAGIC: &[u8; 8] = b"SHTLAYER";
const COPY_MAGIC: &[u8; 8] = b"SHTLCOPY";
const VERSION: u32 = 2;
const HEADER_BYTES: u64 = 24;
const ENTRY_BYTES: usize = 16;
const TAIL_BYTES: u64 = 24;

/// The data about a layer besides its states.
#[derive(Clone, Default, PartialEq, Debug, Serialize, Deserialize)]
pub struct LayerSummary {
    /// The number of states.
    pub states: u64,
    /// Whether the previous layer has a successor outside the prefix.
    pub escapes: bool,
    /// The number of successors of the previous layer.
    pub successors: u64,
    /// Whether all segments of the file are whole.
    #[serde(default)]
    pub is_whole: bool,
    /// The elapsed time of the search for the layer, in seconds.
    pub wall_s: f64,
    /// The processor time, in seconds.
    pub cpu_s: f64,
    /// The bytes that were read.
    pub read: u64,
    /// The bytes that were written.
    pub written: u64,
    /// The peak memory use of the process so far, in bytes.
    pub peak_bytes: u64,
}

/// The layer and the build that a file belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LayerIdentity {
    pub distance: u32,
    /// Whether the file can be read without other layers.
    pub is_copy: bool,
    /// A checksum of the build, its prefix and its partitioning.
    pub fingerprint: u64,
    pub segments: u64,
}

impl LayerIdentity {
    fn header(&self) -> [u8; HEADER_BYTES as usize] {
        let mut header = [0; HEADER_BYTES as usize];
        header[..8].copy_from_slice(if self.is_copy { COPY_MAGIC } else { MAGIC });
        header[8..12].copy_from_slice(&VERSION.to_le_bytes());
        header[12..16].copy_from_slice(&self.distance.to_le_bytes());
        header[16..].copy_from_slice(&self.fingerprint.to_le_bytes());
        header
    }
}

/// A segment of a layer for both of its files.
#[derive(Default)]
pub struct PackedLayerSegment {
    pub layer: PackedSegment,
    pub copy: PackedSegment,
}

/// A layer to which segments are added in order.
pub struct NewLayer {
    layer: LayerWriter,
    /// The copy, unless all segments of the layer are whole.
    copy: Option<LayerWriter>,
}

impl NewLayer {
    pub(super) fn new(layer: LayerWriter, copy: Option<LayerWriter>) -> NewLayer {
        NewLayer { layer, copy }
    }

    /// Adds the next segments.
    pub fn add(&mut self, segments: &[PackedLayerSegment]) -> Result<()> {
        if let Some(copy) = &mut self.copy {
            copy.add(segments.iter().map(|segment| &segment.copy))?;
        }
        self.layer.add(segments.iter().map(|segment| &segment.layer))
    }

    /// Adds `count` empty segments.
    pub fn add_empty(&mut self, count: u64) {
        if let Some(copy) = &mut self.copy {
            copy.add_empty(count);
        }
        self.layer.add_empty(count);
    }

    /// Completes the copy and then the layer, whose summary follows from the traffic until then.
    /// Returns the layer and its copy.
    pub fn finish(self, summary: impl FnOnce() -> LayerSummary) -> Result<(LayerFile, Option<LayerFile>)> {
        let is_whole = self.copy.is_none();
        let copy = self.copy.map(|copy| copy.finish(LayerSummary::default())).transpose()?;
        Ok((self.layer.finish(LayerSummary { is_whole, ..summary() })?, copy))
    }
}

/// A layer file to which segments are added in order.
pub struct LayerWriter {
    identity: LayerIdentity,
    file: AtomicFile,
    entries: Vec<SegmentEntry>,
    at: u64,
}

#[derive(Clone, Copy, Debug)]
struct SegmentEntry {
    /// The offset of the segment from the first one.
    start: u64,
    checksum: u64,
}

impl LayerWriter {
    /// Creates a temporary file, which becomes the layer when it is finished.
    pub fn create(storage: &Arc<dyn FileSystem>, path: &Path, identity: LayerIdentity) -> Result<LayerWriter> {
        let file = AtomicFile::create(storage, path).map_err(BuilderError::file(path, "create"))?;
        let mut writer =
            LayerWriter { identity, file, entries: Vec::with_capacity(identity.segments as usize + 1), at: 0 };
        writer.write(&identity.header())?;
        Ok(writer)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let path = self.file.path().to_owned();
        self.file.write_all(bytes).map_err(BuilderError::file(&path, "write"))
    }

    /// Adds the next segments.
    pub fn add<'a>(&mut self, segments: impl Iterator<Item = &'a PackedSegment> + Clone) -> Result<()> {
        let mut bytes = Vec::with_capacity(segments.clone().map(|segment| segment.bytes.len()).sum());
        for segment in segments {
            self.entries.push(SegmentEntry { start: self.at, checksum: segment.checksum });
            self.at += segment.bytes.len() as u64;
            bytes.extend_from_slice(&segment.bytes);
        }
        if bytes.is_empty() { Ok(()) } else { self.write(&bytes) }
    }

    /// Adds `count` empty segments.
    pub fn add_empty(&mut self, count: u64) {
        self.entries.extend((0..count).map(|_| SegmentEntry { start: self.at, checksum: 0 }));
    }

    /// Completes the file and moves it to its place.
    pub fn finish(mut self, summary: LayerSummary) -> Result<LayerFile> {
        assert_eq!(self.entries.len() as u64, self.identity.segments, "every segment is written");
        self.entries.push(SegmentEntry { start: self.at, checksum: 0 });
        let mut tail = Vec::with_capacity(ENTRY_BYTES * self.entries.len());
        for pair in self.entries.windows(2) {
            tail.extend((pair[1].start - pair[0].start).to_le_bytes());
            tail.extend(pair[0].checksum.to_le_bytes());
        }
        let json = serde_json::to_vec(&summary).expect("a summary has only finite numbers");
        tail.extend(&json);
        tail.extend(self.at.to_le_bytes());
        tail.extend((json.len() as u64).to_le_bytes());
        let directory_checksum = checksum(&tail);
        tail.extend(directory_checksum.to_le_bytes());
        self.write(&tail)?;
        let path = self.file.path().to_owned();
        let file = self.file.persist(true).map_err(BuilderError::file(&path, "write"))?;
        let (tail_bytes, is_copy) = (tail.len() as u64, self.identity.is_copy);
        Ok(LayerFile { path, file, is_copy, entries: self.entries, summary, tail_bytes, directory_checksum })
    }
}

/// A complete layer on disk.
#[derive(Debug)]
pub struct LayerFile {
    path: PathBuf,
    file: Box<dyn RandomAccessFile>,
    is_copy: bool,
    /// One entry for each segment, and one for the end.
    entries: Vec<SegmentEntry>,
    summary: LayerSummary,
    tail_bytes: u64,
    directory_checksum: u64,
}

impl LayerFile {
    /// Returns the memory of an open file with this number of segments, in bytes.
    pub fn memory(segments: u64) -> u64 {
        segments.saturating_add(1).saturating_mul(ENTRY_BYTES as u64)
    }

    /// Opens a layer. Returns `None` if there is no such file. Everything
    /// except the segments is checked.
    pub fn open(storage: &dyn FileSystem, path: &Path, identity: LayerIdentity) -> Result<Option<LayerFile>> {
        let file = match storage.reopen(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            file => file.map_err(BuilderError::file(path, "open"))?,
        };
        let damaged = |what: &str| BuilderError::damaged(path, what);
        let read = |at: u64, length: u64| {
            let mut bytes = vec![0; length as usize];
            file.read_at(&mut bytes, at).map_err(BuilderError::file(path, "read")).map(|()| bytes)
        };
        let length = file.len().map_err(BuilderError::file(path, "read"))?;
        let directory_bytes = ENTRY_BYTES as u64 * identity.segments;
        let least = HEADER_BYTES + directory_bytes + TAIL_BYTES;
        if length < least {
            return Err(damaged("it is cut short"));
        }
        if read(0, HEADER_BYTES)? != identity.header() {
            return Err(damaged("its header is not that of this layer"));
        }
        let word = |bytes: &[u8], at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
        let end = read(length - TAIL_BYTES, TAIL_BYTES)?;
        let (segment_bytes, json_bytes) = (word(&end, 0), word(&end, 8));
        if segment_bytes.checked_add(json_bytes).and_then(|bytes| bytes.checked_add(least)) != Some(length) {
            return Err(damaged("its end does not fit its length"));
        }
        let tail = read(HEADER_BYTES + segment_bytes, length - HEADER_BYTES - segment_bytes)?;
        let directory_checksum = word(&tail, tail.len() - 8);
        if checksum(&tail[..tail.len() - 8]) != directory_checksum {
            return Err(damaged("its directory does not match its checksum"));
        }
        let (directory, rest) = tail.split_at(directory_bytes as usize);
        let mut entries = Vec::with_capacity(identity.segments as usize + 1);
        let mut start = 0u64;
        for entry in directory.chunks_exact(ENTRY_BYTES) {
            entries.push(SegmentEntry { start, checksum: word(entry, 8) });
            start = start.saturating_add(word(entry, 0));
        }
        entries.push(SegmentEntry { start, checksum: 0 });
        let summary =
            serde_json::from_slice(&rest[..json_bytes as usize]).map_err(|_| damaged("its summary is unreadable"))?;
        if start != segment_bytes {
            return Err(damaged("its segments do not add up"));
        }
        let (path, tail_bytes, is_copy) = (path.to_owned(), tail.len() as u64, identity.is_copy);
        Ok(Some(LayerFile { path, file, is_copy, entries, summary, tail_bytes, directory_checksum }))
    }

    /// Returns whether a file begins like the layer. The number of segments is not compared.
    pub fn begins_as(storage: &dyn FileSystem, path: &Path, identity: LayerIdentity) -> bool {
        let mut header = [0; HEADER_BYTES as usize];
        let read = storage.open(path).and_then(|file| file.read_at(&mut header, 0));
        read.is_ok() && header == identity.header()
    }

    /// Returns the summary. The bytes written include the directory.
    pub fn summary(&self) -> LayerSummary {
        LayerSummary { written: self.summary.written + self.tail_bytes, ..self.summary.clone() }
    }

    /// Returns whether this is a layer whose segments are all whole. It has no copy.
    pub fn is_whole(&self) -> bool {
        self.summary.is_whole
    }

    /// Returns the length of the file in bytes, with the segments that have been freed.
    pub fn bytes(&self) -> u64 {
        HEADER_BYTES + self.entries.last().map_or(0, |end| end.start) + self.tail_bytes
    }

    /// Returns the checksum of the directory and the summary, which identifies the contents.
    pub fn directory_checksum(&self) -> u64 {
        self.directory_checksum
    }

    /// Compares a segment with its checksum.
    pub fn check(&self, segment: u64) -> Result<()> {
        self.packed(segment, &mut Vec::new()).map(drop)
    }

    /// Returns whether all of these segments are empty.
    pub fn is_empty(&self, segments: std::ops::Range<u64>) -> bool {
        self.entries[segments.start as usize].start == self.entries[segments.end as usize].start
    }

    /// Announces to the system that these segments will be read soon.
    pub fn prefetch(&self, segments: std::ops::Range<u64>) {
        let offset = |segment: u64| HEADER_BYTES + self.entries[segment as usize].start;
        if !self.is_empty(segments.clone()) {
            self.file.prefetch(offset(segments.start)..offset(segments.end));
        }
    }

    /// Releases the disk space of these segments, which can no longer be read.
    pub fn free(&self, segments: std::ops::Range<u64>) -> Result<()> {
        let offset = |segment: u64| HEADER_BYTES + self.entries[segment as usize].start;
        if self.is_empty(segments.clone()) {
            return Ok(());
        }
        self.file.free(offset(segments.start)..offset(segments.end)).map_err(BuilderError::file(&self.path, "free"))
    }

    /// Drops the file from the page cache.
    pub fn drop_page_cache(&self) {
        self.file.drop_page_cache();
    }

    /// Fills `words` with a segment of a layer, given the segment in the two previous layers, the
    /// last one first. Returns `false` and leaves `words` alone if the segment is empty.
    pub fn read_delta(
        &self,
        segment: u64,
        words: &mut [u64],
        layers: [&[u64]; 2],
        offsets: NeighborOffsets,
        codec: &mut SegmentCodec,
    ) -> Result<bool> {
        let mut bytes = std::mem::take(&mut codec.bytes);
        let any = self.packed(segment, &mut bytes)?;
        let sound = !any || codec.unpack_delta(&bytes, words, layers, offsets);
        codec.bytes = bytes;
        if sound { Ok(any) } else { Err(self.damaged_segment(segment)) }
    }

    /// Fills `words` with a segment of a file whose segments are whole. Returns `false` and leaves `words` alone if the
    /// segment is empty.
    pub fn read(&self, segment: u64, words: &mut [u64], codec: &mut SegmentCodec) -> Result<bool> {
        let mut bytes = std::mem::take(&mut codec.bytes);
        let any = self.packed(segment, &mut bytes)?;
        let sound = match any {
            false => true,
            true if self.is_copy => codec.unpack(&bytes, words),
            true => codec.unpack_whole(&bytes, words),
        };
        codec.bytes = bytes;
        if sound { Ok(any) } else { Err(self.damaged_segment(segment)) }
    }

    /// Returns the bytes of a segment as they are stored. Returns `None` if the segment is empty.
    pub fn stored_segment(&self, segment: u64) -> Result<Option<Vec<u8>>> {
        let mut bytes = Vec::new();
        let any = self.packed(segment, &mut bytes)?;
        Ok(any.then_some(bytes))
    }

    /// Returns the bytes of a segment of a copy in the form of a layer. They can be read without other layers. Returns
    /// `None` if the segment is empty.
    pub fn whole_segment(&self, segment: u64) -> Result<Option<Vec<u8>>> {
        Ok(self.stored_segment(segment)?.map(|frame| segment::whole_form(&frame)))
    }

    /// Reads the packed bytes of a segment. Returns `false` if the segment is empty.
    fn packed(&self, segment: u64, bytes: &mut Vec<u8>) -> Result<bool> {
        let [entry, next] = [segment, segment + 1].map(|segment| self.entries[segment as usize]);
        if entry.start == next.start {
            return Ok(false);
        }
        bytes.resize((next.start - entry.start) as usize, 0);
        self.file.read_at(bytes, HEADER_BYTES + entry.start).map_err(BuilderError::file(&self.path, "read"))?;
        if checksum(bytes) == entry.checksum { Ok(true) } else { Err(self.damaged_segment(segment)) }
    }

    fn damaged_segment(&self, segment: u64) -> BuilderError {
        BuilderError::damaged(&self.path, format!("segment {segment} does not match its checksum"))
    }
}

/// The files of a layer. Each segment is in at most one of them. Without files, the layer is empty.
#[derive(Clone, Copy)]
pub struct LayerParts<'a>(pub &'a [LayerFile]);

impl LayerParts<'_> {
    /// Returns whether all of these segments are empty.
    pub fn is_empty(self, segments: std::ops::Range<u64>) -> bool {
        self.0.iter().all(|part| part.is_empty(segments.clone()))
    }

    /// Announces to the system that these segments will be read soon.
    pub fn prefetch(self, segments: std::ops::Range<u64>) {
        self.0.iter().for_each(|part| part.prefetch(segments.clone()));
    }

    /// Fills `words` with a segment of files whose segments are whole. Returns `false` and leaves `words` alone if the segment is empty.
    pub fn read(self, segment: u64, words: &mut [u64], codec: &mut SegmentCodec) -> Result<bool> {
        match self.0.iter().find(|part| !part.is_empty(segment..segment + 1)) {
            Some(part) => part.read(segment, words, codec),
            None => Ok(false),
        }
    }
}
