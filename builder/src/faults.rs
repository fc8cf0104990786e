//! A storage in which every operation can fail or be the last before a crash.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use sternhalma_data::table::fs::{FileSystem, OsFileSystem, RandomAccessFile, Traffic, parent_directory};
use tempfile::TempDir;

/// The changes that survive a crash.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Crash {
    /// All changes: the process was killed.
    Killed,
    /// All changes, and half of the bytes of the current write.
    Torn,
    /// Only synced changes: the power failed.
    Lost,
    /// The names of all files, and the bytes of synced files.
    Zeroed,
}

/// A fault at a certain operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fault {
    Nothing,
    /// A crash before this change.
    Crash(usize, Crash),
    /// A full disk at this change, once.
    Full(usize),
    /// An error at this read, once.
    Unread(usize),
    /// A flipped bit in this read, once.
    Flipped(usize),
}

/// The file system with a fault. Changes and reads are numbered separately.
/// A sync is only recorded and does not wait for the disk.
#[derive(Debug)]
pub(crate) struct Faults {
    disk: OsFileSystem,
    state: Arc<Mutex<FaultState>>,
}

#[derive(Debug)]
struct FaultState {
    fault: Fault,
    dead: bool,
    changes: Vec<String>,
    reads: usize,
    /// The changes of names in directories not synced since, oldest first.
    undo: Vec<(PathBuf, Undo)>,
    /// All files that can be written.
    files: Vec<OpenFile>,
    /// The files that an undo restores.
    stash: TempDir,
}

#[derive(Debug)]
struct OpenFile {
    file: File,
    /// The bytes that survive a power failure.
    synced: Vec<u8>,
    /// Whether all bytes do.
    is_synced: bool,
}

impl OpenFile {
    fn open(path: &Path, is_synced: bool) -> io::Result<OpenFile> {
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        let synced = if is_synced { fs::read(path)? } else { Vec::new() };
        Ok(OpenFile { file, synced, is_synced })
    }

    fn sync(&mut self) -> io::Result<()> {
        self.is_synced = true;
        self.synced = vec![0; self.file.metadata()?.len() as usize];
        self.file.read_exact_at(&mut self.synced, 0)
    }
}

#[derive(Debug)]
enum Undo {
    Created(PathBuf),
    Renamed { from: PathBuf, to: PathBuf },
    Removed { path: PathBuf, stashed: PathBuf },
}

fn dead() -> io::Error {
    io::Error::other("the process has crashed")
}

impl Faults {
    pub fn new(fault: Fault) -> Arc<Faults> {
        let state = FaultState {
            fault,
            dead: false,
            changes: Vec::new(),
            reads: 0,
            undo: Vec::new(),
            files: Vec::new(),
            stash: tempfile::tempdir().unwrap(),
        };
        Arc::new(Faults { disk: OsFileSystem::default(), state: Arc::new(Mutex::new(state)) })
    }

    fn state(&self) -> MutexGuard<'_, FaultState> {
        self.state.lock().unwrap()
    }

    pub fn crashed(&self) -> bool {
        self.state().dead
    }

    /// Returns the changes so far, each as the operation and the name of the file.
    pub fn changes(&self) -> Vec<String> {
        self.state().changes.clone()
    }

    pub fn reads(&self) -> usize {
        self.state().reads
    }

    fn wrap(&self, file: Box<dyn RandomAccessFile>, path: &Path, number: Option<usize>) -> Box<dyn RandomAccessFile> {
        Box::new(FaultyFile { file, path: path.to_owned(), number, state: Arc::clone(&self.state) })
    }
}

impl FaultState {
    /// Counts a change, and returns an error if it must not happen.
    fn change(&mut self, what: &str, path: &Path) -> io::Result<()> {
        if self.dead {
            return Err(dead());
        }
        let number = self.changes.len();
        self.changes.push(format!("{what} {}", path.file_name().unwrap_or_default().display()));
        match self.fault {
            Fault::Crash(at, crash) if at == number => {
                self.crash(crash);
                Err(dead())
            }
            Fault::Full(at) if at == number => Err(io::ErrorKind::StorageFull.into()),
            _ => Ok(()),
        }
    }

    fn crash(&mut self, crash: Crash) {
        self.dead = true;
        if matches!(crash, Crash::Killed | Crash::Torn) {
            return;
        }
        for OpenFile { file, synced, .. } in self.files.iter().filter(|file| !file.is_synced) {
            let length = file.metadata().unwrap().len();
            file.set_len(0).unwrap();
            file.write_all_at(synced, 0).unwrap();
            if crash == Crash::Zeroed {
                file.set_len(length).unwrap();
            }
        }
        if crash == Crash::Lost {
            for (_, undo) in std::mem::take(&mut self.undo).into_iter().rev() {
                match undo {
                    Undo::Created(path) => fs::remove_file(path).unwrap(),
                    Undo::Renamed { from, to } => fs::rename(to, from).unwrap(),
                    Undo::Removed { path, stashed } => fs::rename(stashed, path).unwrap(),
                }
            }
        }
    }

    fn undo(&mut self, path: &Path, undo: Undo) {
        self.undo.push((parent_directory(path).to_owned(), undo));
    }

    /// Removes a file so that it can be restored.
    fn remove(&mut self, path: &Path) -> io::Result<()> {
        let stashed = self.stash.path().join(self.changes.len().to_string());
        fs::hard_link(path, &stashed)?;
        fs::remove_file(path)?;
        self.undo(path, Undo::Removed { path: path.to_owned(), stashed });
        Ok(())
    }

    /// Counts a read, and returns whether one of its bits must be flipped.
    fn read(&mut self) -> io::Result<bool> {
        if self.dead {
            return Err(dead());
        }
        let number = self.reads;
        self.reads += 1;
        match self.fault {
            Fault::Unread(at) if at == number => Err(io::Error::other("the disk does not answer")),
            fault => Ok(fault == Fault::Flipped(number)),
        }
    }
}

impl FileSystem for Faults {
    fn create(&self, path: &Path) -> io::Result<Box<dyn RandomAccessFile>> {
        let mut state = self.state();
        state.change("create", path)?;
        let new = !path.exists();
        let file = self.disk.create(path)?;
        if new {
            state.undo(path, Undo::Created(path.to_owned()));
        }
        state.files.push(OpenFile::open(path, false)?);
        let number = state.files.len() - 1;
        Ok(self.wrap(file, path, Some(number)))
    }

    fn reopen(&self, path: &Path) -> io::Result<Box<dyn RandomAccessFile>> {
        let file = self.disk.reopen(path)?;
        let mut state = self.state();
        state.read()?;
        state.files.push(OpenFile::open(path, true)?);
        let number = state.files.len() - 1;
        Ok(self.wrap(file, path, Some(number)))
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn RandomAccessFile>> {
        let file = self.disk.open(path)?;
        self.state().read()?;
        Ok(self.wrap(file, path, None))
    }

    /// Renames in two steps if `replace` is false, like systems that add a second name first.
    fn rename(&self, from: &Path, to: &Path, replace: bool) -> io::Result<()> {
        let mut state = self.state();
        if !replace {
            state.change("link", to)?;
            fs::hard_link(from, to)?;
            state.undo(to, Undo::Created(to.to_owned()));
            state.change("unlink", from)?;
            return state.remove(from);
        }
        state.change("rename", to)?;
        if to.exists() {
            state.remove(to)?;
        }
        fs::rename(from, to)?;
        state.undo(to, Undo::Renamed { from: from.to_owned(), to: to.to_owned() });
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state();
        if !path.exists() && !state.dead {
            return Err(io::ErrorKind::NotFound.into());
        }
        state.change("remove", path)?;
        state.remove(path)
    }

    fn create_directory(&self, path: &Path) -> io::Result<()> {
        self.state().change("make", path)?;
        fs::create_dir_all(path)
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.change("sync directory", path)?;
        state.undo.retain(|(dir, _)| dir != path);
        Ok(())
    }

    fn traffic(&self) -> Traffic {
        self.disk.traffic()
    }
}

#[derive(Debug)]
struct FaultyFile {
    file: Box<dyn RandomAccessFile>,
    path: PathBuf,
    /// The number of a file that can be written.
    number: Option<usize>,
    state: Arc<Mutex<FaultState>>,
}

impl RandomAccessFile for FaultyFile {
    fn read_at(&self, bytes: &mut [u8], at: u64) -> io::Result<()> {
        let flip = self.state.lock().unwrap().read()?;
        self.file.read_at(bytes, at)?;
        if flip {
            let middle = bytes.len() / 2;
            bytes[middle] ^= 4;
        }
        Ok(())
    }

    fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        let mut state = self.state.lock().unwrap();
        let alive = !state.dead;
        if let Err(error) = state.change("write", &self.path) {
            if alive && matches!(state.fault, Fault::Crash(_, Crash::Torn)) {
                self.file.write_at(&bytes[..bytes.len() / 2], at)?;
            }
            return Err(error);
        }
        state.files[self.number.expect("the file can be written")].is_synced = false;
        self.file.write_at(bytes, at)
    }

    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn sync(&self) -> io::Result<()> {
        let mut state = self.state.lock().unwrap();
        state.change("sync", &self.path)?;
        let keep = matches!(state.fault, Fault::Crash(..));
        let file = &mut state.files[self.number.expect("the file can be written")];
        // The bytes are needed only for a crash.
        if keep { file.sync() } else { Ok(()) }
    }

    fn truncate(&self, length: u64) -> io::Result<()> {
        let mut state = self.state.lock().unwrap();
        state.change("truncate", &self.path)?;
        state.files[self.number.expect("the file can be written")].is_synced = false;
        self.file.truncate(length)
    }

    /// Clears the bytes, at once and durably.
    fn free(&self, bytes: Range<u64>) -> io::Result<()> {
        let mut state = self.state.lock().unwrap();
        state.change("free", &self.path)?;
        let zeros = vec![0; (bytes.end - bytes.start) as usize];
        let synced = &mut state.files[self.number.expect("the file can be written")].synced;
        if let Some(synced) = synced.get_mut(bytes.start as usize..bytes.end as usize) {
            synced.fill(0);
        }
        self.file.write_at(&zeros, bytes.start)
    }

    fn prefetch(&self, _: Range<u64>) {}

    fn drop_page_cache(&self) {}
}
