//! The work directory of a build out of core: what it is for, how far it is,
//! and that no other process works in it.
//!
//! | file | holds |
//! |---|---|
//! | `build.json` | what is built, how it is cut, and a checksum |
//! | `layer-007` | the states at distance 7; the last one is empty |
//! | `spill` | what is put aside within a layer; nothing between layers |
//! | `lock` | an advisory lock while a process works here |

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sternhalma_data::{Encoding, NewFile, Prefix, Storage, StoredFile, checksum};

use crate::error::BuildError;
use crate::layer_file::{Identity, LayerFile};
use crate::memory::Limits;

const FORMAT: u32 = 1;

/// What `build.json` says.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
struct Manifest {
    format: u32,
    /// Of this work, found in the provenance of its table.
    id: String,
    side: usize,
    pieces: usize,
    within: usize,
    encoding: String,
    fixed: usize,
    chunk_words: usize,
    resumes: u64,
}

/// A locked work directory.
#[derive(Debug)]
pub(crate) struct Work {
    storage: Arc<dyn Storage>,
    dir: PathBuf,
    manifest: Manifest,
    _lock: Box<dyn StoredFile>,
}

impl Work {
    /// Opens the work directory, or makes it, for a table of this prefix and
    /// encoding. One that is new is to be cut as `limits` say; one that is not
    /// tells how in [`Work::cut`].
    pub fn open(
        storage: &Arc<dyn Storage>,
        dir: &Path,
        prefix: Prefix,
        encoding: Encoding,
        limits: Limits,
        fresh: bool,
    ) -> Result<Work, BuildError> {
        storage.create_directory(dir).map_err(BuildError::file(dir, "make the directory"))?;
        let lock = dir.join("lock");
        let lock = storage.create(&lock).map_err(|error| match error.kind() {
            io::ErrorKind::ResourceBusy => BuildError::WorkDirectory {
                path: dir.to_owned(),
                why: "another process is building in this work directory".to_owned(),
            },
            _ => BuildError::file(&lock, "create")(error),
        })?;
        let wanted = Manifest {
            format: FORMAT,
            id: new_id(dir),
            side: prefix.board().side(),
            pieces: prefix.board().pieces(),
            within: prefix.within(),
            encoding: encoding.to_string(),
            fixed: limits.fixed,
            chunk_words: limits.chunk_words,
            resumes: 0,
        };
        let mut work = Work { storage: Arc::clone(storage), dir: dir.to_owned(), manifest: wanted, _lock: lock };
        if fresh {
            // Whatever there is, damaged or not.
            work.clear()?;
        } else if let Some(found) = work.read_manifest()? {
            work.refuse_other(&found)?;
            work.manifest = found;
            return Ok(work);
        }
        work.write_manifest()?;
        Ok(work)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    pub fn spill(&self) -> PathBuf {
        self.path("spill")
    }

    fn read_manifest(&self) -> Result<Option<Manifest>, BuildError> {
        let path = self.path("build.json");
        let file = match self.storage.open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file.map_err(BuildError::file(&path, "open"))?,
        };
        let damaged = || BuildError::WorkDirectory {
            path: path.clone(),
            why: "the file is damaged, so that nothing here can be trusted; --fresh starts anew".to_owned(),
        };
        let length = file.len().map_err(BuildError::file(&path, "read"))?;
        if length > 1 << 16 {
            return Err(damaged());
        }
        let mut bytes = vec![0; length as usize];
        file.read_at(&mut bytes, 0).map_err(BuildError::file(&path, "read"))?;
        let text = std::str::from_utf8(&bytes).map_err(|_| damaged())?;
        let (json, sum) = text.split_once('\n').ok_or_else(damaged)?;
        if sum != format!("{:016x}\n", checksum(json.as_bytes())) {
            return Err(damaged());
        }
        serde_json::from_str(json).map(Some).map_err(|_| damaged())
    }

    fn write_manifest(&self) -> Result<(), BuildError> {
        let path = self.path("build.json");
        let json = serde_json::to_string(&self.manifest).expect("a manifest is strings and numbers");
        // In one step, so that a build takes the same steps every time.
        let text = format!("{json}\n{:016x}\n", checksum(json.as_bytes()));
        let write = || {
            let mut file = NewFile::create(&self.storage, &path)?;
            file.write_all(text.as_bytes())?;
            file.keep(true)
        };
        write().map(drop).map_err(BuildError::file(&path, "write"))
    }

    fn refuse_other(&self, found: &Manifest) -> Result<(), BuildError> {
        let wanted = &self.manifest;
        let refuse = |why: String| Err(BuildError::WorkDirectory { path: self.dir.clone(), why });
        if found.format != wanted.format {
            return refuse(format!(
                "this work directory has format {}, and this program knows {FORMAT}; --fresh starts anew",
                found.format
            ));
        }
        let what = |m: &Manifest| {
            format!("{0}x{0} with {1} pieces within {2} cells, {3}", m.side, m.pieces, m.within, m.encoding)
        };
        if what(found) != what(wanted) {
            return refuse(format!(
                "this work directory is for another table: {}, not {}; name another with --work-dir, or start anew with --fresh",
                what(found),
                what(wanted)
            ));
        }
        Ok(())
    }

    /// How the states are cut: pieces fixed, and words of a chunk.
    pub fn cut(&self) -> (usize, usize) {
        (self.manifest.fixed, self.manifest.chunk_words)
    }

    /// The mark that the finished table bears.
    pub fn id(&self) -> &str {
        &self.manifest.id
    }

    /// How often the work has been taken up again.
    pub fn resumes(&self) -> u64 {
        self.manifest.resumes
    }

    /// Notes that the work is taken up again.
    pub fn resume(&mut self) -> Result<(), BuildError> {
        self.manifest.resumes += 1;
        self.write_manifest()
    }

    pub fn identity(&self, distance: u32, chunks: u64) -> Identity {
        let Manifest { id, side, pieces, within, fixed, chunk_words, .. } = &self.manifest;
        let parameters = format!("{id} {side} {pieces} {within} {fixed} {chunk_words}");
        Identity { distance, fingerprint: checksum(parameters.as_bytes()), chunks }
    }

    pub fn layer_path(&self, distance: u32) -> PathBuf {
        self.path(&format!("layer-{distance:03}"))
    }

    /// The layer, if it is complete.
    pub fn layer(&self, distance: u32, chunks: u64) -> Result<Option<LayerFile>, BuildError> {
        LayerFile::open(&*self.storage, &self.layer_path(distance), self.identity(distance, chunks))
    }

    /// Removes the layers and what a killed process may have left.
    pub fn clear(&self) -> Result<(), BuildError> {
        let mut paths = vec![self.spill()];
        for distance in 0..=u32::from(u8::MAX) {
            let layer = self.layer_path(distance);
            paths.push(layer.with_file_name(format!(".layer-{distance:03}.writing")));
            paths.push(layer);
        }
        for path in paths {
            match self.storage.remove(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(BuildError::file(&path, "remove")(error));
                }
                _ => {}
            }
        }
        self.storage.sync_directory(&self.dir).map_err(BuildError::file(&self.dir, "write"))
    }
}

/// Different for every work directory that is made.
fn new_id(dir: &Path) -> String {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let seed = format!("{} {} {}", dir.display(), std::process::id(), now.as_nanos());
    format!("{:016x}", checksum(seed.as_bytes()))
}
