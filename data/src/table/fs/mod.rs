//! The file system as the writers of tables see it.
//!
//! Every file that is written, and every work file that is read, goes through a
//! [`FileSystem`]. Traffic is therefore counted, and tests can make each
//! operation fail.

mod atomic_file;
mod file_system;
mod os;
mod path;

pub use atomic_file::AtomicFile;
pub use file_system::{FileSystem, RandomAccessFile, Traffic};
pub use os::OsFileSystem;
pub use path::parent_directory;
