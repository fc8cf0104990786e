//! The work directory of an out-of-core build: its manifest, its lock, and
//! the paths of its files.
//!
//! | file | contents |
//! |---|---|
//! | `build.json` | the table to build, its partitioning, and a checksum |
//! | `layer-007` | the states at distance 7; the last layer is empty |
//! | `search-007` | if layer 7 is not whole, a copy of it for the search, until layer 9 is complete |
//! | `visited-007` | in a cluster, a copy of the segments of other processes that the search of layer 8 reads |
//! | `layer-007.json` | in a cluster, the checksums of all parts of layer 7; the layer is committed with it |
//! | `copy-of-2/layer-007` | in a cluster with second copies, the part of layer 7 of process 2 |
//! | `reached`, `frontier` | in a cluster, segments that have arrived; empty between layers |
//! | `written` | the blocks of the table that are on disk; the segments of their states may be freed |
//! | `spill` | spilled states of one layer; empty between layers |
//! | `lock` | an advisory lock while a process uses the directory |
//! | `part-1-of-3/` | in a cluster, all of these files of process 1 of 3 |

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sternhalma_data::table::fs::{AtomicFile, FileSystem, OsFileSystem, RandomAccessFile};
use sternhalma_data::table::{Zstd, checksum};
use sternhalma_data::{Distance, Encoding, TableSpec};

use super::layer_file::{LayerFile, LayerIdentity, LayerWriter, NewLayer};
use super::partitioning::PartitionParams;
use crate::error::{BuilderError, Result};
use crate::options::LayerForm;

const FORMAT: u32 = 2;
const MANIFEST: &str = "build.json";
/// The beginning of the names of directories with second copies.
const COPIES: &str = "copy-of-";

/// The number of a process in a cluster, from 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct MemberId {
    /// The number of the process.
    pub process: usize,
    /// The number of all processes.
    pub processes: usize,
}

impl MemberId {
    /// Returns the name of the directory with the files of this process.
    pub fn directory_name(self) -> String {
        format!("part-{}-of-{}", self.process, self.processes)
    }

    /// Returns the process with this directory name, or `None` if the name is another one.
    pub fn of_directory_name(name: &str) -> Option<MemberId> {
        let (process, processes) = name.strip_prefix("part-")?.split_once("-of-")?;
        let member = MemberId { process: process.parse().ok()?, processes: processes.parse().ok()? };
        (member.process < member.processes && member.directory_name() == name).then_some(member)
    }
}

/// The fingerprint of a manifest contains this text, so another text would make the work directories of clusters useless.
impl fmt::Display for MemberId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {} of {}", self.process, self.processes)
    }
}

/// The content of `build.json`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Manifest {
    format: u32,
    /// The identifier of this build, which the provenance of its table repeats.
    id: String,
    /// The table to build. The layers hold the states that it stores.
    #[serde(flatten)]
    spec: TableSpec,
    /// The number of upper pieces that the states of a partition share.
    #[serde(rename = "fixed")]
    fixed_pieces: usize,
    /// The maximum length of a segment, in words of 64 bits.
    #[serde(rename = "chunk_words")]
    segment_words: usize,
    /// The process of a cluster that the directory belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    member: Option<MemberId>,
    /// How often the build was resumed.
    resumes: u64,
}

impl Manifest {
    fn new(id: String, spec: TableSpec, params: PartitionParams) -> Manifest {
        let PartitionParams { fixed_pieces, segment_words, .. } = params;
        Manifest { format: FORMAT, id, spec, fixed_pieces, segment_words, member: None, resumes: 0 }
    }

    /// Returns the manifest of the build of `spec` whose layers are in a directory, which need not be locked. Returns
    /// `None` if there is no layer.
    ///
    /// # Errors
    /// If the manifest cannot be read, or the layers are of another table.
    pub fn with_layers(dir: &Path, spec: TableSpec) -> Result<Option<Manifest>> {
        if !any_layer(dir) {
            return Ok(None);
        }
        match read_manifest_in(&*OsFileSystem::shared(), dir, spec)? {
            Some(manifest) if manifest.spec != spec => Err(manifest.mismatch(dir, spec)),
            manifest => Ok(manifest),
        }
    }

    /// Returns the error that the layers in a directory are not of the requested table.
    fn mismatch(&self, dir: &Path, requested: TableSpec) -> BuilderError {
        BuilderError::WorkDirMismatch { path: dir.to_owned(), found: self.spec, requested }
    }

    /// Returns the table to build.
    pub fn spec(&self) -> TableSpec {
        self.spec
    }

    /// Returns the identifier of the build.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the process of a cluster that the directory belongs to.
    pub fn member(&self) -> Option<MemberId> {
        self.member
    }

    /// Returns the manifest of another process of the same build.
    pub fn of_member(&self, member: MemberId) -> Manifest {
        Manifest { member: Some(member), ..self.clone() }
    }

    /// Returns the recorded partitioning: the number of fixed pieces, and the words per segment.
    pub fn partitioning(&self) -> (usize, usize) {
        (self.fixed_pieces, self.segment_words)
    }

    /// Returns a checksum of the build, its prefix, its partitioning and the process.
    pub fn fingerprint(&self) -> u64 {
        let Manifest { id, spec: TableSpec { prefix, .. }, fixed_pieces, segment_words, member, .. } = self;
        let (side, pieces, within) = (prefix.board().size(), prefix.board().pieces(), prefix.within());
        let member = member.map_or(String::new(), |member| format!(" {member}"));
        checksum(format!("{id} {side} {pieces} {within} {fixed_pieces} {segment_words}{member}").as_bytes())
    }

    /// Returns what identifies a layer of this build.
    pub fn layer_identity(&self, distance: u32, segments: u64) -> LayerIdentity {
        LayerIdentity { distance, is_copy: false, fingerprint: self.fingerprint(), segments }
    }
}

/// Returns the name of the file of a layer.
pub fn layer_name(distance: u32) -> String {
    format!("layer-{distance:03}")
}

/// Returns the distances of the layers in a directory.
fn layer_distances(dir: &Path) -> io::Result<Vec<u32>> {
    let names = file_names(dir)?;
    Ok(distances().filter(|&distance| names.contains(OsStr::new(&layer_name(distance)))).collect())
}

/// Returns whether a directory contains a layer.
fn any_layer(dir: &Path) -> bool {
    layer_distances(dir).is_ok_and(|distances| !distances.is_empty())
}

/// Returns the distances of all layers that a search can have. The last one has no states.
fn distances() -> impl Iterator<Item = u32> {
    0..=Distance::COUNT as u32
}

/// Returns the names in a directory.
fn file_names(dir: &Path) -> io::Result<BTreeSet<OsString>> {
    std::fs::read_dir(dir)?.map(|entry| Ok(entry?.file_name())).collect()
}

/// Returns the name of the directory with second copies of the layers of another process.
pub fn copies_name(process: usize) -> String {
    format!("{COPIES}{process}")
}

/// Returns the name of the file with the checksums of all parts of a layer.
fn commit_name(distance: u32) -> String {
    format!("layer-{distance:03}.json")
}

/// Reads the manifest in a directory. Returns `None` if there is none.
///
/// Earlier versions did not record the parameters of zstd. Layers do not depend on them, so such a manifest gets those
/// of the table that the caller requests.
pub(super) fn read_manifest_in(storage: &dyn FileSystem, dir: &Path, requested: TableSpec) -> Result<Option<Manifest>> {
    let path = dir.join(MANIFEST);
    let Some(mut fields) = read_checked::<serde_json::Map<String, Value>>(storage, &path)? else { return Ok(None) };
    if fields.get("encoding").is_some_and(|name| name == "zstd") {
        let zstd = match requested.encoding {
            Encoding::Zstd(zstd) => zstd,
            _ => Zstd::default(),
        };
        fields.entry("zstd").or_insert_with(|| json!((zstd.block_states(), zstd.level())));
    }
    let manifest: Manifest =
        serde_json::from_value(fields.into()).map_err(|_| BuilderError::DamagedManifest { path })?;
    if manifest.format != FORMAT {
        let (found, path) = (manifest.format, dir.to_owned());
        return Err(BuilderError::WorkDirFormat { path, found, supported: FORMAT });
    }
    Ok(Some(manifest))
}

/// Reads the checksums of the parts of a committed layer from the directory of a process. Returns `None` if the layer
/// is not committed, or if the process is not the one of the manifest.
pub(super) fn read_commit_in(
    storage: &dyn FileSystem,
    dir: &Path,
    manifest: &Manifest,
    distance: u32,
) -> Result<Option<Vec<u64>>> {
    let commit: Option<(u64, Vec<u64>)> = read_checked(storage, &dir.join(commit_name(distance)))?;
    Ok(commit.filter(|(fingerprint, _)| *fingerprint == manifest.fingerprint()).map(|(_, parts)| parts))
}

/// Reads a file of JSON with a checksum. Returns `None` if there is none.
fn read_checked<T: DeserializeOwned>(storage: &dyn FileSystem, path: &Path) -> Result<Option<T>> {
    let file = match storage.open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file.map_err(BuilderError::file(path, "open"))?,
    };
    let damaged = || BuilderError::DamagedManifest { path: path.to_owned() };
    let length = file.len().map_err(BuilderError::file(path, "read"))?;
    if length > 1 << 16 {
        return Err(damaged());
    }
    let mut bytes = vec![0; length as usize];
    file.read_at(&mut bytes, 0).map_err(BuilderError::file(path, "read"))?;
    let text = std::str::from_utf8(&bytes).map_err(|_| damaged())?;
    let (json, sum) = text.split_once('\n').ok_or_else(damaged)?;
    if sum != format!("{:016x}\n", checksum(json.as_bytes())) {
        return Err(damaged());
    }
    serde_json::from_str(json).map(Some).map_err(|_| damaged())
}

/// A work directory that this process has locked, before its manifest is accepted.
#[derive(Debug)]
pub struct LockedDir {
    storage: Arc<dyn FileSystem>,
    /// The directory.
    pub path: PathBuf,
    _lock: Box<dyn RandomAccessFile>,
}

/// The locked work directory of one build.
#[derive(Debug)]
pub struct WorkDir {
    /// The directory.
    pub dir: LockedDir,
    manifest: Manifest,
}

impl LockedDir {
    /// Locks a work directory and creates it if it is missing. The lock lasts
    /// until the value is dropped. Other files of the directory are not touched.
    ///
    /// # Errors
    /// If another process has locked the directory, or it cannot be written.
    pub fn open(storage: &Arc<dyn FileSystem>, path: &Path) -> Result<LockedDir> {
        storage.create_directory(path).map_err(BuilderError::file(path, "make the directory"))?;
        let lock = path.join("lock");
        let lock = storage.create(&lock).map_err(|error| match error.kind() {
            io::ErrorKind::ResourceBusy => BuilderError::WorkDirInUse { path: path.to_owned() },
            _ => BuilderError::file(&lock, "create")(error),
        })?;
        Ok(LockedDir { storage: Arc::clone(storage), path: path.to_owned(), _lock: lock })
    }

    /// Returns the manifest of a build of `spec` that this directory holds.
    /// Returns `None` if there is no manifest, or one of another table without
    /// any layer, which a finished build leaves.
    pub fn manifest(&self, spec: TableSpec) -> Result<Option<Manifest>> {
        match read_manifest_in(&*self.storage, &self.path, spec)? {
            Some(manifest) if manifest.spec != spec && self.has_layers() => Err(manifest.mismatch(&self.path, spec)),
            manifest => Ok(manifest.filter(|manifest| manifest.spec == spec)),
        }
    }

    /// Returns whether the directory contains a layer.
    pub fn has_layers(&self) -> bool {
        any_layer(&self.path)
    }

    /// Continues the build of this manifest.
    pub fn resume(self, manifest: Manifest) -> WorkDir {
        WorkDir { dir: self, manifest }
    }

    /// Removes whatever the directory contains, and starts a build of `spec`.
    pub fn start(self, spec: TableSpec, params: PartitionParams) -> Result<WorkDir> {
        let manifest = Manifest::new(self.new_id(), spec, params);
        self.start_with(manifest)
    }

    /// Removes whatever the directory contains, and starts the part that a process of a cluster has in a build.
    pub fn start_part(self, id: String, spec: TableSpec, params: PartitionParams, member: MemberId) -> Result<WorkDir> {
        let manifest = Manifest { member: Some(member), ..Manifest::new(id, spec, params) };
        self.start_with(manifest)
    }

    fn start_with(self, manifest: Manifest) -> Result<WorkDir> {
        self.clear()?;
        let work = WorkDir { dir: self, manifest };
        work.write_manifest()?;
        Ok(work)
    }

    /// Returns an identifier that differs for each work directory.
    pub fn new_id(&self) -> String {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let seed = format!("{} {} {}", self.path.display(), std::process::id(), now.as_nanos());
        format!("{:016x}", checksum(seed.as_bytes()))
    }

    fn manifest_path(&self) -> PathBuf {
        self.path.join(MANIFEST)
    }

    /// Returns the path of spilled states.
    pub fn spill_path(&self) -> PathBuf {
        self.path.join("spill")
    }

    /// Returns the path of the journal of the table that is written.
    pub fn journal_path(&self) -> PathBuf {
        self.path.join("written")
    }

    /// Returns the path of a layer.
    pub fn layer_path(&self, distance: u32) -> PathBuf {
        self.path.join(layer_name(distance))
    }

    /// Returns the path of the copy of a layer that the search reads.
    pub fn copy_path(&self, distance: u32) -> PathBuf {
        self.path.join(format!("search-{distance:03}"))
    }

    /// Returns the path of the copy of the segments of other processes.
    pub fn visited_path(&self, distance: u32) -> PathBuf {
        self.path.join(format!("visited-{distance:03}"))
    }

    /// Returns the directory with second copies of the layers of another process.
    pub fn copies_path(&self, process: usize) -> PathBuf {
        self.path.join(copies_name(process))
    }

    fn commit_path(&self, distance: u32) -> PathBuf {
        self.path.join(commit_name(distance))
    }

    /// Writes a file of JSON with a checksum, and makes it durable.
    fn write_checked<T: Serialize>(&self, path: &Path, value: &T) -> Result<()> {
        let json = serde_json::to_string(value).expect("the value consists of strings and numbers");
        // One write, so that a build always takes the same steps.
        let text = format!("{json}\n{:016x}\n", checksum(json.as_bytes()));
        let write = || {
            let mut file = AtomicFile::create(&self.storage, path)?;
            file.write_all(text.as_bytes())?;
            file.persist(true)
        };
        write().map(drop).map_err(BuilderError::file(path, "write"))
    }

    /// Returns the distances of the layers in this directory.
    pub fn layer_distances(&self) -> Result<Vec<u32>> {
        layer_distances(&self.path).map_err(BuilderError::file(&self.path, "read"))
    }

    /// Removes the layers and the temporary files of a killed process.
    pub fn clear(&self) -> Result<()> {
        let present = self.file_names()?;
        let mut paths = vec![self.spill_path()];
        for distance in distances() {
            for layer in [
                self.copy_path(distance),
                self.visited_path(distance),
                self.commit_path(distance),
                self.layer_path(distance),
            ] {
                paths.push(AtomicFile::temporary_path(&layer));
                paths.push(layer);
            }
        }
        // Last, because it shows that segments of the layers may be freed.
        paths.push(self.journal_path());
        paths.retain(|path| path.file_name().is_some_and(|name| present.contains(name)));
        paths.iter().try_for_each(|path| self.remove(path))?;
        self.remove_copies()?;
        self.storage.sync_directory(&self.path).map_err(BuilderError::file(&self.path, "write"))
    }
}

impl LockedDir {
    /// Removes the second copies of the layers of other processes.
    fn remove_copies(&self) -> Result<()> {
        for name in self.file_names()? {
            if name.to_string_lossy().starts_with(COPIES) {
                let path = self.path.join(name);
                std::fs::remove_dir_all(&path).map_err(BuilderError::file(&path, "remove"))?;
            }
        }
        Ok(())
    }

    fn file_names(&self) -> Result<BTreeSet<OsString>> {
        file_names(&self.path).map_err(BuilderError::file(&self.path, "read"))
    }

    /// Removes a file if it exists.
    fn remove(&self, path: &Path) -> Result<()> {
        match self.storage.remove(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(BuilderError::file(path, "remove")(error)),
            _ => Ok(()),
        }
    }
}

impl WorkDir {
    /// Whether `path` is the work directory of some build.
    pub fn exists(path: &Path) -> bool {
        path.join(MANIFEST).exists()
    }

    /// Returns whether `path` is the work directory of a build that has layers.
    pub fn has_layers(path: &Path) -> bool {
        WorkDir::exists(path) && any_layer(path)
    }

    fn write_manifest(&self) -> Result<()> {
        self.dir.write_checked(&self.dir.manifest_path(), &self.manifest)
    }

    /// Returns the manifest.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Returns the identifier that the finished table records.
    pub fn id(&self) -> &str {
        &self.manifest.id
    }

    /// Returns the number of times that the build was resumed.
    pub fn resumes(&self) -> u64 {
        self.manifest.resumes
    }

    /// Records that the build is resumed.
    pub fn count_resume(&mut self) -> Result<()> {
        self.manifest.resumes += 1;
        self.write_manifest()
    }

    /// Returns a checksum of the build, its prefix, its partitioning and the process.
    pub fn fingerprint(&self) -> u64 {
        self.manifest.fingerprint()
    }

    fn identity(&self, distance: u32, segments: u64) -> LayerIdentity {
        self.manifest.layer_identity(distance, segments)
    }

    fn copy_identity(&self, distance: u32, segments: u64) -> LayerIdentity {
        LayerIdentity { is_copy: true, ..self.identity(distance, segments) }
    }

    /// Creates the temporary files of a layer in this form: the layer, and a copy unless its segments are whole.
    pub fn create_layer(&self, distance: u32, segments: u64, form: LayerForm) -> Result<NewLayer> {
        let layer = self.create_moved(distance, segments)?;
        let copy = (form == LayerForm::Delta).then(|| self.create_copy(distance, segments)).transpose()?;
        Ok(NewLayer::new(layer, copy))
    }

    /// Creates the temporary file of a layer whose segments exist, so that it gets no copy.
    pub fn create_moved(&self, distance: u32, segments: u64) -> Result<LayerWriter> {
        let path = self.dir.layer_path(distance);
        LayerWriter::create(&self.dir.storage, &path, self.identity(distance, segments))
    }

    /// Creates the temporary file of a copy.
    pub fn create_copy(&self, distance: u32, segments: u64) -> Result<LayerWriter> {
        let path = self.dir.copy_path(distance);
        LayerWriter::create(&self.dir.storage, &path, self.copy_identity(distance, segments))
    }

    /// Opens the copy of a layer; returns `None` if there is none.
    pub fn copy(&self, distance: u32, segments: u64) -> Result<Option<LayerFile>> {
        LayerFile::open(&*self.dir.storage, &self.dir.copy_path(distance), self.copy_identity(distance, segments))
    }

    /// Removes the copies of a layer if they exist.
    pub fn remove_copy(&self, distance: u32) -> Result<()> {
        self.dir.remove(&self.dir.visited_path(distance))?;
        self.dir.remove(&self.dir.copy_path(distance))
    }

    /// Removes the layer with this distance, and its copies, if they exist.
    pub fn remove_layer(&self, distance: u32) -> Result<()> {
        self.remove_copy(distance)?;
        self.dir.remove(&self.dir.layer_path(distance))
    }

    /// Opens the second copy of a layer of another process; returns `None` if there is none, or if it is damaged.
    pub fn second_copy(&self, process: usize, distance: u32, segments: u64) -> Option<LayerFile> {
        let manifest = self.manifest.of_member(MemberId { process, ..self.manifest.member? });
        let path = self.dir.copies_path(process).join(layer_name(distance));
        LayerFile::open(&*self.dir.storage, &path, manifest.layer_identity(distance, segments)).ok().flatten()
    }

    /// Creates the temporary file of a copy of the segments of other processes.
    pub fn create_visited(&self, distance: u32, segments: u64) -> Result<LayerWriter> {
        let path = self.dir.visited_path(distance);
        LayerWriter::create(&self.dir.storage, &path, self.copy_identity(distance, segments))
    }

    /// Records that all processes have their part of a layer, with these checksums.
    pub fn commit(&self, distance: u32, parts: &[u64]) -> Result<()> {
        self.dir.write_checked(&self.dir.commit_path(distance), &(self.fingerprint(), parts))
    }

    /// Returns the checksums of the parts of a committed layer, or `None` if the layer is not committed.
    pub fn committed(&self, distance: u32) -> Result<Option<Vec<u64>>> {
        read_commit_in(&*self.dir.storage, &self.dir.path, &self.manifest, distance)
    }

    /// Opens a layer; returns `None` if it is not complete.
    pub fn layer(&self, distance: u32, segments: u64) -> Result<Option<LayerFile>> {
        LayerFile::open(&*self.dir.storage, &self.dir.layer_path(distance), self.identity(distance, segments))
    }
}

#[cfg(test)]
mod tests {
    use sternhalma_data::table::Ans;
    use sternhalma_data::table::fs::OsFileSystem;
    use sternhalma_data::{Board, Prefix};

    use super::*;

    /// Manifests that earlier versions have written keep their meaning, and are written again byte for byte.
    #[test]
    fn manifests_of_earlier_versions_are_read_and_written_again_unchanged() {
        let spec = |side, within, encoding, mirrored| {
            let prefix = Prefix::new(Board::new(side, 3).unwrap(), within).unwrap();
            TableSpec { prefix, encoding, mirrored }
        };
        let (zstd, ans) = (Encoding::Zstd(Zstd::new(4096, 3).unwrap()), Encoding::Ans(Ans::default()));
        for (text, spec, fingerprint) in [
            (
                "{\"format\":2,\"id\":\"bab90e2124d6be79\",\"side\":4,\"pieces\":3,\"within\":16,\"encoding\":\"byte\",\
                 \"fixed\":0,\"chunk_words\":8192,\"resumes\":0}\ncca932d03baf8284\n",
                spec(4, 16, Encoding::Byte, false),
                "bab90e2124d6be79 4 3 16 0 8192",
            ),
            (
                "{\"format\":2,\"id\":\"d02b91d08b109d60\",\"side\":4,\"pieces\":3,\"within\":16,\"encoding\":\"zstd\",\
                 \"zstd\":[4096,3],\"mirrored\":true,\"fixed\":0,\"chunk_words\":8192,\"resumes\":0}\ne2f2bda01e9b5ad3\n",
                spec(4, 16, zstd, true),
                "d02b91d08b109d60 4 3 16 0 8192",
            ),
            (
                "{\"format\":2,\"id\":\"b5012c3824e1e909\",\"side\":5,\"pieces\":3,\"within\":15,\"encoding\":\"ans\",\
                 \"ans\":65536,\"mirrored\":true,\"fixed\":0,\"chunk_words\":8192,\"resumes\":0}\n93bc33f1111fa5e8\n",
                spec(5, 15, ans, true),
                "b5012c3824e1e909 5 3 15 0 8192",
            ),
        ] {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join(MANIFEST);
            std::fs::write(&path, text).unwrap();
            let locked = LockedDir::open(&OsFileSystem::shared(), dir.path()).unwrap();
            let manifest = locked.manifest(spec).unwrap().expect("the manifest is of this table");
            assert_eq!((manifest.spec(), manifest.partitioning()), (spec, (0, 8192)));
            assert_eq!(manifest.fingerprint(), checksum(fingerprint.as_bytes()));
            let work = locked.resume(manifest);
            std::fs::remove_file(&path).unwrap();
            work.write_manifest().unwrap();
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        }
    }
}
