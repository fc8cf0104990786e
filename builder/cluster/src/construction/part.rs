//! Parts of a table: blocks that one process has written.
//!
//! ```text
//! magic, format version                                     12 bytes
//! the blocks, one after another
//! per block: number, length, checksum                       24 bytes
//! the head, as JSON
//! length of the blocks, number of blocks, length of the
//! JSON, and the checksum of everything after the blocks     32 bytes
//! ```
//!
//! All numbers are little-endian.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sternhalma_builder::BuilderError;
use sternhalma_builder::steps::MemberId;
use sternhalma_data::table::fs::{AtomicFile, FileSystem, OsFileSystem, RandomAccessFile, Traffic};
use sternhalma_data::table::write::NewTable;
use sternhalma_data::table::{LayerTraffic, Provenance, checksum};
use sternhalma_data::{TableInfo, TableSpec};

use crate::error::{ClusterError, Result};

const MAGIC: &[u8; 12] = b"SHTPART\0\x01\0\0\0";
const ENTRY_BYTES: u64 = 24;
const TAIL_BYTES: u64 = 32;

/// What the parts of a table have in common, and the place of one of them.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct PartHead {
    /// The identifier of the build.
    pub id: String,
    pub process: usize,
    pub processes: usize,
    #[serde(flatten, serialize_with = "TableSpec::serialize_all")]
    pub spec: TableSpec,
    pub layers: Vec<u64>,
    pub boundary_layer: Option<u32>,
    /// The provenance of the table, in which every part has its own times.
    pub provenance: Provenance,
}

impl PartHead {
    /// Returns the contents of the table.
    fn info(&self) -> TableInfo {
        TableInfo { spec: self.spec, layers: self.layers.clone(), boundary_layer: self.boundary_layer }
    }
}

#[derive(Clone, Copy)]
struct PartEntry {
    number: u64,
    at: u64,
    length: u64,
    checksum: u64,
}

/// A part to which blocks are written in order.
pub(super) struct PartWriter {
    file: AtomicFile,
    entries: Vec<PartEntry>,
    end: u64,
}

impl PartWriter {
    /// Creates a temporary file, which becomes the part when it is finished.
    pub fn create(storage: &Arc<dyn FileSystem>, path: &Path) -> Result<PartWriter> {
        let mut file = AtomicFile::create(storage, path).map_err(BuilderError::file(path, "create"))?;
        file.write_all(MAGIC).map_err(BuilderError::file(path, "write"))?;
        Ok(PartWriter { file, entries: Vec::new(), end: MAGIC.len() as u64 })
    }

    pub fn add(&mut self, number: u64, bytes: &[u8]) -> Result<()> {
        let path = self.file.path().to_owned();
        self.file.write_all(bytes).map_err(BuilderError::file(&path, "write"))?;
        let length = bytes.len() as u64;
        self.entries.push(PartEntry { number, at: self.end, length, checksum: checksum(bytes) });
        self.end += length;
        Ok(())
    }

    /// Completes the file, makes it durable and moves it to its place.
    pub fn finish(mut self, head: &PartHead) -> Result<()> {
        let mut tail = Vec::with_capacity((ENTRY_BYTES as usize + 1) * self.entries.len());
        for entry in &self.entries {
            [entry.number, entry.length, entry.checksum].iter().for_each(|word| tail.extend(word.to_le_bytes()));
        }
        let json = serde_json::to_vec(head).expect("a head has only finite numbers");
        tail.extend(&json);
        let lengths = [self.end - MAGIC.len() as u64, self.entries.len() as u64, json.len() as u64];
        lengths.iter().for_each(|word| tail.extend(word.to_le_bytes()));
        tail.extend(checksum(&tail).to_le_bytes());
        let path = self.file.path().to_owned();
        let mut finish = || {
            self.file.write_all(&tail)?;
            Ok(())
        };
        finish().map_err(BuilderError::file(&path, "write"))?;
        self.file.persist(true).map(drop).map_err(BuilderError::file(&path, "write"))
    }
}

/// A complete part.
pub(super) struct PartFile {
    path: PathBuf,
    file: Box<dyn RandomAccessFile>,
    entries: Vec<PartEntry>,
    head: PartHead,
}

impl PartFile {
    /// Opens a part, and checks everything except the blocks.
    pub fn open(path: &Path) -> Result<PartFile> {
        let file = OsFileSystem::shared().open(path).map_err(BuilderError::file(path, "open"))?;
        let damaged = |what: &str| {
            BuilderError::from(ClusterError::Parts {
                what: format!("{}: the part of a table is damaged: {what}", path.display()),
            })
        };
        let read = |at: u64, length: u64| {
            let mut bytes = vec![0; length as usize];
            file.read_at(&mut bytes, at).map_err(BuilderError::file(path, "read")).map(|()| bytes)
        };
        let magic = MAGIC.len() as u64;
        let length = file.len().map_err(BuilderError::file(path, "read"))?;
        if length < magic + TAIL_BYTES || read(0, magic)? != MAGIC {
            return Err(damaged("it has no header"));
        }
        let word = |bytes: &[u8], at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
        let end = read(length - TAIL_BYTES, TAIL_BYTES)?;
        let (block_bytes, blocks, json_bytes) = (word(&end, 0), word(&end, 8), word(&end, 16));
        let directory_bytes = blocks.checked_mul(ENTRY_BYTES);
        let expected = directory_bytes
            .and_then(|bytes| bytes.checked_add(json_bytes)?.checked_add(block_bytes)?.checked_add(magic + TAIL_BYTES));
        let (Some(directory_bytes), true) = (directory_bytes, expected == Some(length)) else {
            return Err(damaged("it is cut short"));
        };
        let tail = read(magic + block_bytes, length - magic - block_bytes)?;
        if checksum(&tail[..tail.len() - 8]) != word(&tail, tail.len() - 8) {
            return Err(damaged("its directory does not match its checksum"));
        }
        let mut at = magic;
        let mut entries = Vec::with_capacity(blocks as usize);
        for entry in tail[..directory_bytes as usize].chunks_exact(ENTRY_BYTES as usize) {
            let (number, length, checksum) = (word(entry, 0), word(entry, 8), word(entry, 16));
            entries.push(PartEntry { number, at, length, checksum });
            at = at.saturating_add(length);
        }
        let json = &tail[directory_bytes as usize..][..json_bytes as usize];
        let head = serde_json::from_slice(json).map_err(|_| damaged("its head is unreadable"))?;
        if at != magic + block_bytes {
            return Err(damaged("its blocks do not add up"));
        }
        Ok(PartFile { path: path.to_owned(), file, entries, head })
    }

    /// Returns the identifier of the build of the part.
    pub fn build_id(&self) -> &str {
        &self.head.id
    }

    /// Returns the process that has written the part.
    pub fn member(&self) -> MemberId {
        MemberId { process: self.head.process, processes: self.head.processes }
    }

    /// Reads a block.
    fn read(&self, entry: &PartEntry) -> Result<Vec<u8>> {
        let mut bytes = vec![0; entry.length as usize];
        self.file.read_at(&mut bytes, entry.at).map_err(BuilderError::file(&self.path, "read"))?;
        match checksum(&bytes) == entry.checksum {
            true => Ok(bytes),
            false => Err(ClusterError::Parts {
                what: format!("{}: block {} does not match its checksum", self.path.display(), entry.number),
            }
            .into()),
        }
    }
}

/// Joins the parts of a table that the processes of a cluster have written, in any order. Every block is compared
/// with its checksum. The time is that of reading and writing the table.
///
/// # Errors
/// If a part is missing or damaged, if the parts belong to different builds, or if the table cannot be written.
pub fn assemble(parts: &[PathBuf], path: &Path, overwrite: bool) -> Result<()> {
    let fault = |what: String| BuilderError::from(ClusterError::Parts { what });
    let mut files = parts.iter().map(|path| PartFile::open(path)).collect::<Result<Vec<_>>>()?;
    files.sort_by_key(|file| file.head.process);
    let Some(first) = files.first() else { return Err(fault("expected the parts of a table".to_owned())) };
    let head = first.head.clone();
    for file in &files {
        let same = PartHead { process: head.process, provenance: head.provenance.clone(), ..file.head.clone() };
        if same != head {
            let (a, b) = (first.path.display(), file.path.display());
            return Err(fault(format!("{a} and {b} are parts of different builds")));
        }
    }
    let numbers: Vec<usize> = files.iter().map(|file| file.head.process).collect();
    if let Some(process) = (0..head.processes).find(|process| !numbers.contains(process)) {
        return Err(fault(format!("the part of process {process} is missing; there are {} parts", head.processes)));
    }
    if files.len() > head.processes {
        return Err(fault(format!("expected {} parts, got {}", head.processes, files.len())));
    }
    let layout = head.spec.layout().map_err(|_| fault(format!("{}: its head is invalid", first.path.display())))?;
    // Every block has an entry in a file, so an invalid head causes no large allocation.
    let entries: u64 = files.iter().map(|file| file.entries.len() as u64).sum();
    if entries != layout.blocks() {
        return Err(fault(format!("expected {} blocks in all parts, got {entries}", layout.blocks())));
    }
    let mut blocks: Vec<Option<(usize, PartEntry)>> = vec![None; layout.blocks() as usize];
    for (number, file) in files.iter().enumerate() {
        for entry in &file.entries {
            match blocks.get_mut(entry.number as usize) {
                Some(place @ None) => *place = Some((number, *entry)),
                _ => return Err(fault(format!("{}: block {} is one too many", file.path.display(), entry.number))),
            }
        }
    }
    let is_fixed = head.spec.encoding.states_per_byte().is_some();
    let mut writer = NewTable::create(path, overwrite)?.begin(head.info())?;
    for (number, place) in (0..).zip(blocks) {
        let (file, entry) = place.ok_or_else(|| fault(format!("block {number} is in no part")))?;
        let bytes = files[file].read(&entry)?;
        let expected = layout.block(number).bytes;
        if (is_fixed && expected.end - expected.start != entry.length) || u32::try_from(entry.length).is_err() {
            return Err(fault(format!("{}: block {number} has an invalid length", files[file].path.display())));
        }
        writer.write_block(&bytes, entry.checksum)?;
    }
    writer.finish(&joined(files.iter().map(|file| &file.head.provenance)))?;
    Ok(())
}

fn sum_of_layer(a: LayerTraffic, b: &LayerTraffic) -> LayerTraffic {
    LayerTraffic { layer: a.layer, read: a.read + b.read, written: a.written + b.written }
}

/// Returns the provenance of a table: the longest time, the largest memory, and the sum of the effort of all processes.
fn joined<'a>(parts: impl Iterator<Item = &'a Provenance>) -> Provenance {
    let mut parts = parts.cloned();
    let first = parts.next().expect("there is a part");
    parts.fold(first, |all, part| Provenance {
        wall_s: all.wall_s.max(part.wall_s),
        cpu_s: all.cpu_s + part.cpu_s,
        peak_bytes: all.peak_bytes.max(part.peak_bytes),
        threads: all.threads + part.threads,
        resumes: all.resumes.max(part.resumes),
        successors: all.successors + part.successors,
        io: all.io.iter().zip(&part.io).map(|(&a, b)| sum_of_layer(a, b)).collect(),
        table_io: Traffic {
            read: all.table_io.read + part.table_io.read,
            written: all.table_io.written + part.table_io.written,
        },
        ..all
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_of_earlier_versions_are_read_and_written_again_unchanged() {
        let provenance = serde_json::to_string(&Provenance::default()).unwrap();
        let with = |table: &str| {
            format!(
                "{{\"id\":\"a\",\"process\":1,\"processes\":2,\"side\":4,\"pieces\":3,\"within\":16,{table},\
                 \"layers\":[1,559],\"boundary_layer\":null,\"provenance\":{provenance}}}"
            )
        };
        for table in [
            r#""encoding":"byte","zstd":null,"ans":null,"mirrored":false"#,
            r#""encoding":"zstd","zstd":[4096,3],"ans":null,"mirrored":true"#,
            r#""encoding":"ans","zstd":null,"ans":64,"mirrored":false"#,
        ] {
            let json = with(table);
            let head: PartHead = serde_json::from_str(&json).unwrap();
            assert_eq!(serde_json::to_string(&head).unwrap(), json);
        }
        let without_parameters = with(r#""encoding":"zstd","zstd":null,"ans":null,"mirrored":true"#);
        assert!(serde_json::from_str::<PartHead>(&without_parameters).is_err());
    }
}
