//! The parts of layers that a directory contains.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use sternhalma_data::TableSpec;
use sternhalma_data::table::fs::FileSystem;

use super::layer_file::LayerFile;
use super::work_dir::{Manifest, MemberId, copies_name, layer_name, read_commit_in, read_manifest_in};
use crate::error::{BuilderError, Result};

/// The layers of one process of a cluster: its own files, or second copies.
#[derive(Clone, Debug)]
pub struct StoredPart {
    /// The process to which the layers belong.
    pub member: MemberId,
    /// The manifest of that process.
    manifest: Manifest,
    /// The directory of the process that has written the layers.
    pub home: PathBuf,
    /// The manifest in that directory.
    home_manifest: Manifest,
    /// The directory with the layers.
    dir: PathBuf,
}

impl StoredPart {
    /// Returns the parts of builds of `spec` in a work directory: first those that the processes have written
    /// themselves.
    ///
    /// # Errors
    /// If the directory cannot be read. A part without a valid manifest is left out.
    pub fn scan(storage: &dyn FileSystem, work_dir: &Path, spec: TableSpec) -> Result<Vec<StoredPart>> {
        let mut members = Vec::new();
        match fs::read_dir(work_dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            entries => {
                for entry in entries.map_err(BuilderError::file(work_dir, "read"))? {
                    let name = entry.map_err(BuilderError::file(work_dir, "read"))?.file_name();
                    members.extend(name.to_str().and_then(MemberId::of_directory_name));
                }
            }
        }
        members.sort_by_key(|member| (member.processes, member.process));
        let own = members.into_iter().filter_map(|member| StoredPart::own(storage, work_dir, member, spec));
        let own: Vec<StoredPart> = own.collect();
        let copies: Vec<StoredPart> = own.iter().flat_map(StoredPart::second_copies).collect();
        Ok(own.into_iter().chain(copies).collect())
    }

    fn own(storage: &dyn FileSystem, work_dir: &Path, member: MemberId, spec: TableSpec) -> Option<StoredPart> {
        let dir = work_dir.join(member.directory_name());
        let manifest = read_manifest_in(storage, &dir, spec).ok().flatten()?;
        (manifest.spec() == spec && manifest.member() == Some(member)).then(|| StoredPart {
            member,
            manifest: manifest.clone(),
            home: dir.clone(),
            home_manifest: manifest,
            dir,
        })
    }

    /// Returns the parts of other processes of which this one keeps second copies.
    fn second_copies(&self) -> Vec<StoredPart> {
        let others = (0..self.member.processes).filter(|&process| process != self.member.process);
        let copy = |process| {
            let dir = self.home.join(copies_name(process));
            let member = MemberId { process, ..self.member };
            let manifest = self.manifest.of_member(member);
            dir.is_dir().then(|| StoredPart { member, manifest, dir, ..self.clone() })
        };
        others.filter_map(copy).collect()
    }

    /// Returns the identifier of the build.
    pub fn id(&self) -> &str {
        self.manifest.id()
    }

    /// Returns the number of fixed pieces, and the words per segment.
    pub fn partitioning(&self) -> (usize, usize) {
        self.manifest.partitioning()
    }

    /// Returns the process that has written the layers.
    pub fn home_process(&self) -> usize {
        self.home_manifest.member().map_or(self.member.process, |home| home.process)
    }

    /// Returns the path of the part of a layer.
    pub fn layer_path(&self, distance: u32) -> PathBuf {
        self.dir.join(layer_name(distance))
    }

    /// Returns the number of layers of this build, which begin with layer 0. Only their headers are read.
    pub fn layers(&self, storage: &dyn FileSystem) -> u32 {
        let is_layer = |distance: &u32| {
            LayerFile::begins_as(storage, &self.layer_path(*distance), self.manifest.layer_identity(*distance, 0))
        };
        (0..).take_while(is_layer).count() as u32
    }

    /// Opens a layer; returns `None` if there is none.
    pub fn layer(&self, storage: &dyn FileSystem, distance: u32, segments: u64) -> Result<Option<LayerFile>> {
        let identity = self.manifest.layer_identity(distance, segments);
        LayerFile::open(storage, &self.layer_path(distance), identity)
    }

    /// Returns the checksums of all parts of the committed layers, as far as the process that has written this part has
    /// recorded them.
    pub fn committed(&self, storage: &dyn FileSystem) -> Result<Vec<Vec<u64>>> {
        let commit = |distance| read_commit_in(storage, &self.home, &self.home_manifest, distance).transpose();
        (0..).map_while(commit).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_are_named_after_processes() {
        let member = MemberId { process: 3, processes: 12 };
        assert_eq!(MemberId::of_directory_name(&member.directory_name()), Some(member));
        for name in ["part-3-of-3", "part-03-of-12", "part-3-of", "copy-of-3", "part--1-of-2", "part-3-of-12.old"] {
            assert_eq!(MemberId::of_directory_name(name), None, "{name}");
        }
    }
}
