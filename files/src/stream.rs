//! Files that are extended, and devices and pipes that are written through.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Whether writes wait no longer for the readers of pipes.
static STOPPED: AtomicBool = AtomicBool::new(false);

/// Ends all present and later waits of [`Stream`]s for the readers of pipes. A signal handler calls this.
pub fn stop_waiting() {
    STOPPED.store(true, Relaxed);
}

/// Returns whether a path has a device or a pipe, also behind a link.
pub fn is_stream(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir())
}

/// A file to whose end bytes are written, or a device or pipe.
#[derive(Debug)]
pub struct Stream {
    file: File,
    is_regular: bool,
}

impl Stream {
    /// Opens a file for reading and appending, and creates it if there is none. Opens a device or a pipe for
    /// writing only.
    ///
    /// # Errors
    /// If the file cannot be opened, or is a pipe that no process reads.
    pub fn open(path: &Path) -> io::Result<Stream> {
        let is_stream = is_stream(path);
        #[expect(clippy::disallowed_methods, reason = "this crate opens the output files")]
        let mut options = OpenOptions::new();
        options.read(!is_stream).append(true).create(!is_stream);
        #[cfg(unix)]
        {
            use rustix::fs::OFlags;
            let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
            std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, flags.bits().cast_signed());
        }
        let file = options.open(path).map_err(|error| named(error, path))?;
        let is_regular = file.metadata()?.is_file();
        Ok(Stream { file, is_regular })
    }

    /// Returns a stream to the end of a regular file.
    pub(crate) fn of_regular(file: File) -> Stream {
        Stream { file, is_regular: true }
    }

    /// Returns another handle of the open file.
    pub(crate) fn try_clone(&self) -> io::Result<Stream> {
        Ok(Stream { file: self.file.try_clone()?, is_regular: self.is_regular })
    }

    /// Returns the file if it is regular: it can be read, locked and truncated.
    pub fn regular(&self) -> Option<&File> {
        self.is_regular.then_some(&self.file)
    }

    /// Makes the written bytes durable. Devices and pipes keep nothing.
    ///
    /// # Errors
    /// If the operating system refuses.
    pub fn sync(&self) -> io::Result<()> {
        self.regular().map_or(Ok(()), File::sync_all)
    }

    /// Makes the written bytes durable, without the times of the file. Devices and pipes keep nothing.
    ///
    /// # Errors
    /// If the operating system refuses.
    pub fn sync_data(&self) -> io::Result<()> {
        self.regular().map_or(Ok(()), File::sync_data)
    }
}

/// Names the cause of a refusal to open a pipe or a socket, for which the system's words are no help.
fn named(error: io::Error, path: &Path) -> io::Error {
    #[cfg(unix)]
    if error.raw_os_error() == Some(rustix::io::Errno::NXIO.raw_os_error()) {
        use std::os::unix::fs::FileTypeExt;
        let is_socket = std::fs::metadata(path).is_ok_and(|metadata| metadata.file_type().is_socket());
        let cause = match is_socket {
            true => "this is a socket, which cannot be opened as a file; write to a file or a pipe",
            false => "no process reads this pipe; start its reader first",
        };
        return io::Error::new(io::ErrorKind::NotConnected, cause);
    }
    let _ = path;
    error
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            match self.file.write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => wait_for_reader(&self.file)?,
                // A closed stdout is no failure, and a named output is.
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                    return Err(io::Error::other("the reader of the pipe has closed it"));
                }
                written => return written,
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Waits until a pipe has room, because its reader takes bytes, but at most 50 ms; the caller then tries to write again.
fn wait_for_reader(pipe: &File) -> io::Result<()> {
    #[cfg(unix)]
    {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let period = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
        let mut waiting = [PollFd::new(pipe, PollFlags::OUT)];
        match poll(&mut waiting, Some(&period)) {
            Ok(1..) => return Ok(()),
            Ok(0) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let _ = pipe;
    if STOPPED.load(Relaxed) {
        return Err(io::Error::other("interrupted, while the reader of the pipe takes nothing"));
    }
    Ok(())
}
