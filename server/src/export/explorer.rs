//! Tables as files that a page reads from any file server.

use std::ops::Range;

use flate2::Crc;
use serde::Serialize;
use sternhalma_builder::Observer;
use sternhalma_data::table::ans_models;
use sternhalma_data::{Encoding, Table, TableError};

use super::samples::samples;
use crate::page::{EXPLORER, PageError, files_of, text};
use crate::rows::TableRow;

/// The most bytes of a file with data of a table.
const MAX_SHARD: u64 = 256 << 10;
/// The least bytes of such a file, except for the last one.
const MIN_SHARD: u64 = 4 << 10;
/// Files are larger than [`MIN_SHARD`] if there would be more than this number of files.
const MANY_SHARDS: u64 = 4096;
/// The bytes of the checksum of a file, and of a number in it.
const WORD: u64 = 4;
/// The version of the file [`ExplorerTable::INDEX`].
const VERSION: u32 = 1;

/// A table in the form that a page reads without a server of this program: the data is in files of at most 256 KiB, the
/// *shards*. A shard of the encodings `byte` and `mod3` has a fixed number of bytes of the data, and a shard of `ans` a
/// fixed number of blocks. A checksum is at the start of each file.
pub struct ExplorerTable<'a> {
    table: &'a Table,
    description: Description,
    shards: u64,
}

/// A table, as the page knows it.
#[derive(Serialize)]
struct Description {
    #[serde(flatten)]
    table: TableRow,
    /// The folder of the shards.
    folder: String,
    /// The bytes of data, or the blocks, per shard.
    per_shard: u64,
    /// The states per block of the encoding `ans`.
    block_states: Option<u64>,
}

/// The tables of a folder.
#[derive(Serialize)]
struct Index<'a> {
    explorer: u32,
    tables: Vec<&'a Description>,
}

/// Returns the files of the page with their paths.
///
/// # Errors
/// If a file is missing.
pub fn explorer_page() -> Result<Vec<(String, String)>, PageError> {
    let mut files = vec![("index.html".to_owned(), text(EXPLORER)?)];
    for path in files_of(EXPLORER)? {
        let content = text(&path)?;
        files.push((path, content));
    }
    Ok(files)
}

/// Returns the file [`ExplorerTable::INDEX`] of a folder with these tables.
pub fn explorer_index(tables: &[ExplorerTable]) -> String {
    let tables = tables.iter().map(|table| &table.description).collect();
    serde_json::to_string(&Index { explorer: VERSION, tables }).expect("all keys are texts")
}

/// Returns random states at each distance of a table as the content of a file. Returns `None` if the observer cancels the
/// pass. The same seed draws the same states in every form of the table.
///
/// Cost: a pass over the table.
///
/// # Errors
/// If the data of the table is damaged.
pub fn explorer_samples(table: &Table, seed: u64, observer: &dyn Observer) -> Result<Option<String>, TableError> {
    let text = |samples| serde_json::to_string(&samples).expect("lists of numbers can be JSON");
    Ok(samples(table, seed, observer)?.map(text))
}

impl<'a> ExplorerTable<'a> {
    /// The file that describes the tables of a folder.
    pub const INDEX: &'static str = "explorer.json";

    /// Returns whether the page can read the table as it is. Blocks of the encoding `zstd` need a library, and larger
    /// blocks than a file is large have no place.
    pub fn fits(table: &Table) -> bool {
        match table.encoding() {
            Encoding::Byte | Encoding::Mod3 => true,
            Encoding::Ans(_) => {
                (0..table.layout().blocks()).all(|block| shard_bytes(table, block..block + 1) <= MAX_SHARD)
            }
            _ => false,
        }
    }

    /// Returns the disk space of the files of a table with this number of bytes of data.
    pub fn disk_bytes(data: u64) -> u64 {
        let files = (data / MIN_SHARD + 1).min(MANY_SHARDS.max(data / MAX_SHARD + 1));
        data + MIN_SHARD * files
    }

    /// Divides a table, which must [fit](ExplorerTable::fits).
    ///
    /// # Errors
    /// If the data of the table is damaged.
    pub fn new(name: &str, table: &'a Table) -> Result<ExplorerTable<'a>, TableError> {
        let layout = table.layout();
        let target = (layout.data_bytes() / MANY_SHARDS).next_multiple_of(MIN_SHARD).clamp(MIN_SHARD, MAX_SHARD);
        let block_states = table.encoding().states_per_compressed_block();
        let (per_shard, parts) = match block_states {
            None => (target - WORD, layout.data_bytes()),
            Some(_) => (blocks_per_shard(table, target), layout.blocks()),
        };
        let folder = format!("tables/{}-{per_shard}", table.checksum_text());
        // The folder has the distances of the table without its history.
        let mut row = TableRow::new(name, table)?;
        row.bytes = layout.data_bytes();
        let description = Description { table: row, folder, per_shard, block_states };
        Ok(ExplorerTable { table, description, shards: parts.div_ceil(per_shard) })
    }

    /// Returns the folder of the files of the table, a path below the folder of the page. Tables that differ, or that are
    /// divided differently, have different folders.
    pub fn folder(&self) -> &str {
        &self.description.folder
    }

    /// Returns the number of shards.
    pub fn shards(&self) -> u64 {
        self.shards
    }

    /// Returns the path and the content of the file that the table needs besides its own, if there is one.
    pub fn common_file(&self) -> Option<(&'static str, Vec<u8>)> {
        let path = "models.bin";
        self.description.block_states.map(|_| (path, checked(path, ans_models().to_vec())))
    }

    /// Returns the path and the content of a shard.
    ///
    /// # Errors
    /// If the data of the table is damaged.
    ///
    /// # Panics
    /// If the shard does not exist.
    pub fn shard(&self, number: u64) -> Result<(String, Vec<u8>), TableError> {
        assert!(number < self.shards, "there is no shard {number}");
        let path = format!("{}/{number}.bin", self.description.folder);
        let per_shard = self.description.per_shard;
        let parts = number * per_shard..(number + 1) * per_shard;
        let content = if self.description.block_states.is_some() { self.blocks(parts)? } else { self.bytes(parts)? };
        Ok((path.clone(), checked(&path, content)))
    }

    /// Returns the path of the file with [random states](explorer_samples) of the table.
    pub fn samples_path(&self) -> String {
        format!("{}/samples.json", self.description.folder)
    }

    /// Returns the lengths and the bytes of blocks.
    fn blocks(&self, blocks: Range<u64>) -> Result<Vec<u8>, TableError> {
        let blocks = blocks.start..blocks.end.min(self.table.layout().blocks());
        let word = |number: usize| (number as u32).to_le_bytes();
        let mut content = word((blocks.end - blocks.start) as usize).to_vec();
        content.extend(blocks.clone().flat_map(|block| word(self.table.block_bytes(block).len())));
        for block in blocks {
            self.table.check_block(block)?;
            content.extend_from_slice(self.table.block_bytes(block));
        }
        Ok(content)
    }

    /// Returns bytes of the data.
    fn bytes(&self, bytes: Range<u64>) -> Result<Vec<u8>, TableError> {
        let layout = self.table.layout();
        let mut content = Vec::new();
        for block in first_block(self.table, bytes.start)..layout.blocks() {
            let place = layout.block(block).bytes;
            if place.start >= bytes.end {
                break;
            }
            self.table.check_block(block)?;
            let (start, end) = (bytes.start.max(place.start), bytes.end.min(place.end));
            let block = self.table.block_bytes(block);
            content.extend_from_slice(&block[(start - place.start) as usize..(end - place.start) as usize]);
        }
        Ok(content)
    }
}

/// Returns the number of the block that has a byte of the data.
fn first_block(table: &Table, byte: u64) -> u64 {
    let (mut low, mut high) = (0, table.layout().blocks());
    while low < high {
        let middle = (low + high) / 2;
        if table.layout().block(middle).bytes.end <= byte { low = middle + 1 } else { high = middle }
    }
    low
}

/// Returns the number of blocks with which every shard has at most `target` bytes, or 1.
fn blocks_per_shard(table: &Table, target: u64) -> u64 {
    let blocks = table.layout().blocks();
    let fits = |per_shard: u64| {
        let shards =
            (0..blocks.div_ceil(per_shard)).map(|shard| shard * per_shard..blocks.min((shard + 1) * per_shard));
        shards.into_iter().all(|shard| shard_bytes(table, shard) <= target)
    };
    let mean = (table.layout().data_bytes() / blocks).max(1) + WORD;
    let most = (target / mean).clamp(1, blocks);
    (1..=most).rev().find(|&per_shard| fits(per_shard)).unwrap_or(1)
}

/// Returns the bytes of a shard with these blocks.
fn shard_bytes(table: &Table, blocks: Range<u64>) -> u64 {
    let layout = table.layout();
    let bytes = layout.block(blocks.end - 1).bytes.end - layout.block(blocks.start).bytes.start;
    2 * WORD + WORD * (blocks.end - blocks.start) + bytes
}

/// Returns the content of a file after the CRC-32 of its path and the content, so that the page notices damage and files
/// that have been exchanged.
fn checked(path: &str, content: Vec<u8>) -> Vec<u8> {
    let mut crc = Crc::new();
    crc.update(path.as_bytes());
    crc.update(&content);
    let mut file = crc.sum().to_le_bytes().to_vec();
    file.extend(content);
    file
}

#[cfg(test)]
mod tests {
    use sternhalma_data::table::Ans;
    use sternhalma_data::{Board, Prefix};
    use sternhalma_testutil::{Reference, encodings};

    use super::*;

    #[test]
    fn the_shards_of_a_table_are_small_and_complete() {
        let dir = tempfile::tempdir().unwrap();
        let reference = Reference::search(Prefix::whole(Board::new(6, 4).unwrap()));
        let small = Encoding::Ans(Ans::new(64).unwrap());
        for (number, encoding) in encodings().into_iter().chain([small]).enumerate() {
            let table = reference.write(&dir.path().join(number.to_string()), encoding);
            assert_eq!(ExplorerTable::fits(&table), !matches!(encoding, Encoding::Zstd(_)), "{encoding}");
            if !ExplorerTable::fits(&table) {
                continue;
            }
            let explorer = ExplorerTable::new("t", &table).unwrap();
            let mut data = Vec::new();
            for number in 0..explorer.shards() {
                let (path, bytes) = explorer.shard(number).unwrap();
                assert_eq!(path, format!("{}/{number}.bin", explorer.folder()));
                assert!(bytes.len() as u64 <= MAX_SHARD);
                assert_eq!(checked(&path, bytes[4..].to_vec()), bytes);
                let blocks =
                    explorer.description.block_states.map_or(0, |_| bytes[4] as usize + 256 * bytes[5] as usize);
                let start = 4 + if blocks > 0 { 4 + 4 * blocks } else { 0 };
                data.extend_from_slice(&bytes[start..]);
            }
            let blocks = (0..table.layout().blocks()).map(|block| table.block_bytes(block));
            assert_eq!(data, blocks.collect::<Vec<_>>().concat(), "{encoding}");
            assert!(explorer.shards() > 1, "{encoding}");
        }
    }

    #[test]
    fn the_page_has_all_of_its_modules() {
        let files = explorer_page().unwrap();
        let names: Vec<&str> = files.iter().map(|(path, _)| &**path).collect();
        for (path, content) in &files {
            for import in content.split(" from \"").skip(1) {
                let import = import.split_once('"').unwrap().0;
                let name = import.strip_prefix("../").map_or_else(
                    || format!("{}/{}", path.rsplit_once('/').unwrap().0, import.strip_prefix("./").unwrap()),
                    |name| format!("js/{name}"),
                );
                assert!(names.contains(&&*name), "{path} imports {name}");
            }
        }
        assert!(names.contains(&"js/explorer.js") && names.contains(&"js/reader.js") && names[0] == "index.html");
        // Its addresses are relative, so that the folder may be below any path.
        assert!(files.iter().all(|(_, content)| !content.contains("=\"/") && !content.contains("fetch(\"/")));
    }
}
