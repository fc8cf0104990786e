//! Files that are written once.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::locked::{is_same_file, open_locked, place, sync_directory, temporary_path};
use crate::stream::Stream;

/// The largest number of symbolic links that follow each other.
const MAX_LINKS: usize = 40;

/// The reason why an output cannot be written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum OutputError {
    /// The file exists and must not be replaced.
    #[error("{}: the file exists", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// The output is an input of the same program.
    #[error("{}: this is an input ({}), which would be destroyed; name another file", path.display(), input.display())]
    IsInput {
        /// The output.
        path: PathBuf,
        /// The same file, as an input.
        input: PathBuf,
    },
    /// The operating system refused an operation.
    #[error("{}: cannot write", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
}

/// A file that is written once: see the [crate documentation](crate). A file that is dropped before
/// [`finish`](OutputFile::finish) is removed; bytes in a device or a pipe remain there.
#[derive(Debug)]
pub struct OutputFile {
    /// The path that was given.
    path: PathBuf,
    stream: Stream,
    /// For a regular file, its place.
    place: Option<Place>,
}

#[derive(Debug)]
struct Place {
    temporary: PathBuf,
    target: PathBuf,
    replace: bool,
}

impl OutputFile {
    /// Creates a file that will become `path`, or opens the device or pipe at `path`. `replace` permits to replace a
    /// regular file, but none of the `inputs`.
    ///
    /// # Errors
    /// If `path` is one of the inputs, also under another name; if the file exists and `replace` is false; or if it
    /// cannot be written.
    pub fn create(path: &Path, replace: bool, inputs: &[&Path]) -> Result<OutputFile, OutputError> {
        let same = |input: &&&Path| is_same_file(path, input);
        if let Some(input) = inputs.iter().find(same) {
            return Err(OutputError::IsInput { path: path.to_owned(), input: input.to_path_buf() });
        }
        let io = |source| OutputError::Io { path: path.to_owned(), source };
        match fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => return Err(io(io::ErrorKind::IsADirectory.into())),
            Ok(metadata) if !metadata.is_file() => {
                let stream = Stream::open(path).map_err(io)?;
                return Ok(OutputFile { path: path.to_owned(), stream, place: None });
            }
            Ok(_) if !replace => return Err(OutputError::Exists { path: path.to_owned() }),
            _ => {}
        }
        let target = followed(path).map_err(io)?;
        let temporary = temporary_path(&target);
        let stream = Stream::of_regular(open_locked(&temporary, true, true).map_err(io)?);
        Ok(OutputFile { path: path.to_owned(), stream, place: Some(Place { temporary, target, replace }) })
    }

    /// Returns the path that was given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes the file durable and gives it its name. Returns the file, which is still locked.
    ///
    /// # Errors
    /// If the file cannot be written, or another one has appeared at its path.
    pub fn finish(mut self) -> Result<Stream, OutputError> {
        let target = self.place.as_ref().map(|place| place.target.clone());
        let io = |path: &Path, source| OutputError::Io { path: path.to_owned(), source };
        if target.is_some() {
            self.stream.sync().map_err(|source| io(&self.path, source))?;
        }
        self.take_place()?;
        if let Some(target) = target {
            let directory = target.parent().filter(|directory| !directory.as_os_str().is_empty());
            sync_directory(directory.unwrap_or(Path::new("."))).map_err(|source| io(&self.path, source))?;
        }
        self.stream_again()
    }

    /// Gives the file its name, as [`finish`](OutputFile::finish) does, but does not make it durable: after a failure of
    /// the machine, the file may be damaged. This is for many small files whose readers check their contents.
    ///
    /// # Errors
    /// If the file cannot be written, or another one has appeared at its path.
    pub fn finish_unsynced(mut self) -> Result<(), OutputError> {
        self.take_place()
    }

    /// Gives the file its name.
    fn take_place(&mut self) -> Result<(), OutputError> {
        let Some(place) = self.place.take() else { return Ok(()) };
        if let Err(source) = self::place(&place.temporary, &place.target, place.replace) {
            let path = self.path.clone();
            // Dropping the value removes the file.
            self.place = Some(place);
            return Err(match source.kind() {
                io::ErrorKind::AlreadyExists => OutputError::Exists { path },
                _ => OutputError::Io { path, source },
            });
        }
        Ok(())
    }

    /// Returns another handle of the open file, which shares its lock.
    fn stream_again(&self) -> Result<Stream, OutputError> {
        self.stream.try_clone().map_err(|source| OutputError::Io { path: self.path.clone(), source })
    }
}

/// Returns the path behind symbolic links, the last of which may lead to no file.
fn followed(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        match fs::read_link(&path) {
            // The target of a link is relative to the directory of the link.
            Ok(target) => path = path.parent().unwrap_or(Path::new("")).join(target),
            Err(_) => return Ok(path),
        }
    }
    Err(io::Error::other("too many symbolic links"))
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

impl Drop for OutputFile {
    fn drop(&mut self) {
        if let Some(place) = &self.place {
            // Nothing can be done about a file that cannot be removed.
            let _ = fs::remove_file(&place.temporary);
        }
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::locked::leftover_bytes;

    fn write(path: &Path, replace: bool, inputs: &[&Path]) -> Result<(), OutputError> {
        let mut file = OutputFile::create(path, replace, inputs)?;
        file.write_all(b"new").map_err(|source| OutputError::Io { path: path.to_owned(), source })?;
        file.finish().map(drop)
    }

    fn names(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).unwrap();
        let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort_unstable();
        names
    }

    #[test]
    fn an_existing_file_is_replaced_only_on_request_and_an_input_never() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        fs::write(path("old"), "old").unwrap();
        fs::hard_link(path("old"), path("hard")).unwrap();
        symlink("old", path("soft")).unwrap();
        for name in ["old", "hard", "soft"] {
            assert!(matches!(write(&path(name), false, &[]), Err(OutputError::Exists { .. })), "{name}");
            let refused = write(&path(name), true, &[&path("old")]);
            assert!(matches!(refused, Err(OutputError::IsInput { .. })), "{name}");
            assert_eq!(fs::read(path("old")).unwrap(), b"old");
        }
        // A link is followed, and remains a link.
        write(&path("soft"), true, &[&path("absent")]).unwrap();
        assert!(path("soft").is_symlink());
        assert_eq!(fs::read(path("old")).unwrap(), b"new");
        assert_eq!(fs::read(path("hard")).unwrap(), b"old");
        symlink("absent", path("dangling")).unwrap();
        write(&path("dangling"), false, &[]).unwrap();
        assert_eq!(fs::read(path("absent")).unwrap(), b"new");
        symlink("loop", path("loop")).unwrap();
        assert!(write(&path("loop"), true, &[]).is_err());
        assert!(write(dir.path(), true, &[]).is_err());
        assert_eq!(names(dir.path()), ["absent", "dangling", "hard", "loop", "old", "soft"]);
    }

    #[test]
    fn links_and_pipes_with_the_temporary_name_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let (path, victim) = (dir.path().join("file"), dir.path().join("victim"));
        let temporary = temporary_path(&path);
        let refused = |found: &str| {
            let error = OutputFile::create(&path, true, &[]).unwrap_err();
            let reason = std::error::Error::source(&error).unwrap().to_string();
            assert!(reason.contains(&format!("`.file.writing` and found {found}")), "{reason}");
            assert_eq!(leftover_bytes(&path), 0);
        };
        fs::write(&victim, "precious").unwrap();
        symlink(&victim, &temporary).unwrap();
        refused("a symbolic link");
        assert_eq!(fs::read(&victim).unwrap(), b"precious");
        fs::remove_file(&temporary).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(&temporary).status().unwrap().success());
        refused("a device or a pipe");
    }

    #[test]
    fn a_file_that_is_not_finished_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let file = OutputFile::create(&path, false, &[]).unwrap();
        assert_eq!(names(dir.path()), [".file.writing"]);
        assert!(OutputFile::create(&path, false, &[]).is_err(), "another process writes the file");
        drop(file);
        // A file that appears meanwhile is kept.
        let file = OutputFile::create(&path, false, &[]).unwrap();
        fs::write(&path, "old").unwrap();
        assert!(matches!(file.finish(), Err(OutputError::Exists { .. })));
        assert_eq!(fs::read(&path).unwrap(), b"old");
        // A symbolic link that appears meanwhile is kept, too.
        let file = OutputFile::create(&path, true, &[]).unwrap();
        fs::remove_file(&path).unwrap();
        symlink("elsewhere", &path).unwrap();
        assert!(file.finish().is_err());
        assert_eq!(names(dir.path()), ["file"]);
    }

    #[test]
    fn a_file_that_is_not_durable_has_the_same_name() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let write = |replace| {
            let mut file = OutputFile::create(&path, replace, &[])?;
            file.write_all(b"new").unwrap();
            file.finish_unsynced()
        };
        write(false).unwrap();
        assert!(matches!(write(false), Err(OutputError::Exists { .. })));
        fs::write(&path, "old").unwrap();
        write(true).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        fs::remove_file(&path).unwrap();
        let file = OutputFile::create(&path, false, &[]).unwrap();
        // A file that appears meanwhile is kept.
        fs::write(&path, "old").unwrap();
        assert!(matches!(file.finish_unsynced(), Err(OutputError::Exists { .. })));
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(names(dir.path()), ["file"]);
    }

    #[test]
    fn devices_and_pipes_are_written_through() {
        let dir = tempfile::tempdir().unwrap();
        let link = dir.path().join("link");
        symlink("/dev/null", &link).unwrap();
        write(&link, false, &[]).unwrap();
        assert!(link.is_symlink());
        let pipe = dir.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let error = OutputFile::create(&pipe, true, &[]).unwrap_err();
        assert!(std::error::Error::source(&error).unwrap().to_string().starts_with("no process reads this pipe"));
        let from = pipe.clone();
        let reader = std::thread::spawn(move || fs::read(from).unwrap());
        // The pipe can be opened when its reader has opened it.
        let mut file = loop {
            match OutputFile::create(&pipe, false, &[]) {
                Ok(file) => break file,
                Err(_) => std::thread::yield_now(),
            }
        };
        // More than a pipe holds: the writer waits for the reader.
        let bytes = vec![7; 1 << 20];
        file.write_all(&bytes).unwrap();
        file.finish().unwrap();
        assert_eq!(reader.join().unwrap(), bytes);
        assert_eq!(names(dir.path()), ["link", "pipe"]);
    }
}
