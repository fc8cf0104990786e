//! Files with a temporary name, which one process at a time writes.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

/// Returns the temporary name of a file that will become `path`: `.NAME.writing` in the same directory.
pub fn temporary_path(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.writing"))
}

/// Opens a file for reading and writing, and locks it. `create` makes an empty file if there is none, and empties
/// the file that a killed process left. Every write to a file that is opened with `append` goes to its end.
///
/// # Errors
/// If the path has a device, a pipe or a symbolic link, if the file cannot be opened, or if another process has locked
/// it ([`io::ErrorKind::ResourceBusy`]).
pub fn open_locked(path: &Path, create: bool, append: bool) -> io::Result<File> {
    loop {
        check_regular(path)?;
        // The file may be in use, so it is not truncated before it is locked.
        #[expect(clippy::disallowed_methods, reason = "this crate opens the output files")]
        let mut options = OpenOptions::new();
        options.read(true).write(true).append(append).create(create);
        #[cfg(unix)]
        {
            use rustix::fs::OFlags;
            // A link or a pipe may have replaced the file after the check.
            let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
            std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, flags.bits().cast_signed());
        }
        let file = options.open(path)?;
        lock(&file)?;
        if !create {
            return Ok(file);
        }
        // The previous holder of the lock may have renamed the file.
        if !is_at(&file, path) {
            continue;
        }
        if has_another_name(&file) {
            std::fs::remove_file(path)?;
        } else {
            file.set_len(0)?;
            return Ok(file);
        }
    }
}

/// Creates a file that only this user can read. A file at its path is removed before.
///
/// # Errors
/// If the file cannot be created.
pub fn create_private(path: &Path) -> io::Result<File> {
    let _ = std::fs::remove_file(path);
    #[expect(clippy::disallowed_methods, reason = "this crate opens the output files")]
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Renames a complete file. Without `replace`, a file at the new path is kept.
///
/// # Errors
/// If the new path is not that of a regular file; if it exists and `replace` is false
/// ([`io::ErrorKind::AlreadyExists`]); or if the operating system refuses.
pub fn place(from: &Path, to: &Path, replace: bool) -> io::Result<()> {
    check_regular(to)?;
    if replace {
        return std::fs::rename(from, to);
    }
    match std::fs::hard_link(from, to) {
        Ok(()) => std::fs::remove_file(from),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
        // The file system has no hard links.
        Err(_) if !to.exists() => std::fs::rename(from, to),
        Err(_) => Err(io::ErrorKind::AlreadyExists.into()),
    }
}

/// Makes the entries of a directory durable.
///
/// # Errors
/// If the operating system refuses.
pub fn sync_directory(path: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(path)?.sync_all() } else { Ok(()) }
}

/// Returns whether two paths have the same file, also through links. Opens neither, because opening a pipe may block.
pub fn is_same_file(a: &Path, b: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let id = |path| std::fs::metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino()));
        id(a).is_some_and(|a| Some(a) == id(b))
    }
    #[cfg(not(unix))]
    {
        let real = |path: &Path| path.canonicalize().ok();
        real(a).is_some_and(|a| Some(a) == real(b))
    }
}

/// Checks that a path has no file, or a regular one: not a device, a pipe or a symbolic link. Directories are left to
/// the operating system, which refuses them.
///
/// # Errors
/// If the path has a device, a pipe or a symbolic link.
pub fn check_regular(path: &Path) -> io::Result<()> {
    let Ok(metadata) = std::fs::symlink_metadata(path) else { return Ok(()) };
    let kind = metadata.file_type();
    let found = match () {
        () if kind.is_file() || kind.is_dir() => return Ok(()),
        () if kind.is_symlink() => "a symbolic link",
        () => "a device or a pipe",
    };
    let name = path.file_name().unwrap_or_default().display();
    let message = format!("expected a regular file `{name}` and found {found}; remove it, or name another file");
    Err(io::Error::new(io::ErrorKind::InvalidInput, message))
}

/// Returns the disk space that the file which will become `path` already has under its temporary name, in bytes: a
/// killed process left it, and the next one uses it again. Returns 0 if another process writes the file.
pub fn leftover_bytes(path: &Path) -> u64 {
    let path = temporary_path(path);
    // Opening a pipe would wait for its writer.
    let is_file = std::fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_file());
    let Some(file) = is_file.then(|| File::open(path).ok()).flatten() else { return 0 };
    if lock(&file).is_err() {
        return 0;
    }
    file.metadata().map_or(0, |metadata| allocated_bytes(&metadata))
}

#[cfg(unix)]
fn allocated_bytes(metadata: &std::fs::Metadata) -> u64 {
    512 * std::os::unix::fs::MetadataExt::blocks(metadata)
}

#[cfg(not(unix))]
fn allocated_bytes(metadata: &std::fs::Metadata) -> u64 {
    metadata.len()
}

fn lock(file: &File) -> io::Result<()> {
    file.try_lock().map_err(|error| match error {
        TryLockError::WouldBlock => io::Error::new(io::ErrorKind::ResourceBusy, "another process is using it"),
        TryLockError::Error(error) => error,
    })
}

#[cfg(unix)]
pub(crate) fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let same = |file: std::fs::Metadata, path: std::fs::Metadata| (file.dev(), file.ino()) == (path.dev(), path.ino());
    file.metadata().is_ok_and(|file| std::fs::metadata(path).is_ok_and(|path| same(file, path)))
}

/// Returns whether the file has a second name. A process killed during a
/// rename leaves two names for a complete file, which must not be overwritten.
#[cfg(unix)]
fn has_another_name(file: &File) -> bool {
    use std::os::unix::fs::MetadataExt;
    file.metadata().is_ok_and(|file| file.nlink() > 1)
}

#[cfg(not(unix))]
fn has_another_name(_: &File) -> bool {
    false
}

#[cfg(not(unix))]
pub(crate) fn is_at(_: &File, _: &Path) -> bool {
    // The standard library cannot compare open files with paths here. If another process renames the file just before
    // this one locks it, its contents are lost.
    true
}
