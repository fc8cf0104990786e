//! Files of games: a header, and blocks of whole games with checksums (`docs/reference/training-data.md`).

use std::fs::TryLockError;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use sternhalma_data::BoardError;
use sternhalma_engine::{ChineseCheckers, Filter};
use sternhalma_files::Stream;
use thiserror::Error;
use xxhash_rust::xxh3::xxh3_64;

use crate::game::TrainingGame;
use crate::selfplay::SelfPlaySetup;

/// The first bytes of a file.
const MAGIC: [u8; 8] = *b"SHGAMES\n";

/// The version of the format.
const VERSION: u32 = 1;

/// The bytes before the description: the magic, the version and the length of the description.
const FIXED: usize = MAGIC.len() + 4 + 4;

/// The bytes of a block before its games: the length of the games in bytes, the number of games and of positions.
const BLOCK_HEADER: usize = 4 + 4 + 8;

/// The bytes of a checksum.
const CHECKSUM: usize = 8;

/// An error of a file of games.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum GameFileError {
    /// The file cannot be read or written.
    #[error("{path}: cannot use the file of games")]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The file is not a file of games.
    #[error("{path}: expected a file of games, found {found}; use another file")]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What the file is instead.
        found: String,
    },
    /// The games have another setup.
    #[error("{path}: the games have another setup ({difference}); use another file")]
    OtherSetup {
        /// The file.
        path: PathBuf,
        /// The first difference.
        difference: String,
    },
    /// A block is damaged.
    #[error("{path}: the block at byte {offset} is damaged; the command that made the file removes it and resumes")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The first byte of the block.
        offset: u64,
    },
    /// Another process writes the file.
    #[error("{path}: another process writes this file")]
    Locked {
        /// The file.
        path: PathBuf,
    },
    /// The board of the file is invalid.
    #[error("{path}: the board is invalid")]
    Board {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: BoardError,
    },
}

/// A file of games that can be extended.
#[derive(Debug)]
pub struct GameFile {
    file: Stream,
    path: PathBuf,
    games: u64,
    positions: u64,
}

/// What [`GameFile::open`] found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OpenedFile {
    /// The damaged or incomplete bytes that were removed from the end.
    pub removed: u64,
}

impl GameFile {
    /// Opens or creates the file of a setup. Removes everything after the last valid block. A device or a pipe is
    /// written through, and has no games.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be used or is in use, or if it has other content or another setup.
    pub fn open(path: &Path, setup: &SelfPlaySetup) -> Result<(GameFile, OpenedFile), GameFileError> {
        let io = |source| GameFileError::Io { path: path.to_owned(), source };
        let mut file = Stream::open(path).map_err(io)?;
        let mut bytes = Vec::new();
        if let Some(mut file) = file.regular() {
            file.try_lock().map_err(|error| match error {
                TryLockError::WouldBlock => GameFileError::Locked { path: path.to_owned() },
                TryLockError::Error(source) => io(source),
            })?;
            file.read_to_end(&mut bytes).map_err(io)?;
        }
        let expected = header(setup);
        // An interruption may leave a part of the header.
        if bytes.len() < expected.len() && expected.starts_with(&bytes) {
            file.regular().map_or(Ok(()), |file| file.set_len(0)).map_err(io)?;
            file.write_all(&expected).and_then(|()| file.sync()).map_err(io)?;
            let opened = OpenedFile { removed: 0 };
            return Ok((GameFile { file, path: path.to_owned(), games: 0, positions: 0 }, opened));
        }
        let (found, mut offset) = parse_header(path, &bytes)?;
        if found != *setup {
            return Err(GameFileError::OtherSetup { path: path.to_owned(), difference: difference(&found, setup) });
        }
        let (mut games, mut positions) = (0, 0);
        while let Some(block) = bytes.get(offset..).and_then(Block::first) {
            offset += block.bytes;
            games += u64::from(block.games);
            positions += block.positions;
        }
        let removed = (bytes.len() - offset) as u64;
        if let Some(regular) = file.regular().filter(|_| removed > 0) {
            regular.set_len(offset as u64).and_then(|()| file.sync()).map_err(io)?;
        }
        Ok((GameFile { file, path: path.to_owned(), games, positions }, OpenedFile { removed }))
    }

    /// Appends a block of games, and waits until it is on the disk.
    ///
    /// # Errors
    ///
    /// Returns an error if the block cannot be written.
    pub fn append(&mut self, games: &[TrainingGame]) -> Result<(), GameFileError> {
        if games.is_empty() {
            return Ok(());
        }
        let positions: u64 = games.iter().map(|game| game.plies.len() as u64).sum();
        let mut bytes = vec![0; BLOCK_HEADER];
        games.iter().for_each(|game| game.write(&mut bytes));
        let length = (bytes.len() - BLOCK_HEADER) as u32;
        bytes[..4].copy_from_slice(&length.to_le_bytes());
        bytes[4..8].copy_from_slice(&(games.len() as u32).to_le_bytes());
        bytes[8..16].copy_from_slice(&positions.to_le_bytes());
        bytes.extend(xxh3_64(&bytes).to_le_bytes());
        let written = self.file.write_all(&bytes).and_then(|()| self.file.sync_data());
        written.map_err(|source| GameFileError::Io { path: self.path.clone(), source })?;
        self.games += games.len() as u64;
        self.positions += positions;
        Ok(())
    }

    /// Returns the number of games in the file.
    pub fn games(&self) -> u64 {
        self.games
    }

    /// Returns the number of positions in the file.
    pub fn positions(&self) -> u64 {
        self.positions
    }
}

/// Reads a whole file of games.
///
/// # Errors
///
/// Returns an error if the file cannot be read, or is damaged or incomplete.
pub fn read_games(path: &Path) -> Result<(SelfPlaySetup, Vec<TrainingGame>), GameFileError> {
    let bytes = std::fs::read(path).map_err(|source| GameFileError::Io { path: path.to_owned(), source })?;
    let (setup, mut offset) = parse_header(path, &bytes)?;
    let board = setup.game().map_err(|source| GameFileError::Board { path: path.to_owned(), source })?;
    let rules = ChineseCheckers::of(board, Filter::All);
    let mut games = Vec::new();
    while offset < bytes.len() {
        let damaged = || GameFileError::Damaged { path: path.to_owned(), offset: offset as u64 };
        let block = Block::first(&bytes[offset..]).ok_or_else(damaged)?;
        let mut rest = block.content;
        for _ in 0..block.games {
            games.push(TrainingGame::read(&mut rest, &rules).ok_or_else(damaged)?);
        }
        offset += block.bytes;
    }
    Ok((setup, games))
}

/// A block with a valid checksum.
struct Block<'a> {
    content: &'a [u8],
    games: u32,
    positions: u64,
    /// The length with the header and the checksum.
    bytes: usize,
}

impl Block<'_> {
    /// Returns the first block of `bytes`, or `None` if it is incomplete or damaged.
    fn first(bytes: &[u8]) -> Option<Block<'_>> {
        let length = u32::from_le_bytes(*bytes.first_chunk()?) as usize;
        let (checked, rest) = bytes.split_at_checked(BLOCK_HEADER.checked_add(length)?)?;
        let checksum = u64::from_le_bytes(*rest.first_chunk()?);
        (checksum == xxh3_64(checked)).then(|| Block {
            content: &checked[BLOCK_HEADER..],
            games: u32::from_le_bytes(checked[4..8].try_into().expect("the range has 4 bytes")),
            positions: u64::from_le_bytes(checked[8..16].try_into().expect("the range has 8 bytes")),
            bytes: checked.len() + CHECKSUM,
        })
    }
}

/// Returns the header of a file.
fn header(setup: &SelfPlaySetup) -> Vec<u8> {
    let description = serde_json::to_vec(setup).expect("a setup has only numbers and texts");
    let mut bytes = MAGIC.to_vec();
    bytes.extend(VERSION.to_le_bytes());
    bytes.extend((description.len() as u32).to_le_bytes());
    bytes.extend(description);
    bytes.extend(xxh3_64(&bytes).to_le_bytes());
    bytes
}

/// Returns the setup of a file, and the length of the header.
fn parse_header(path: &Path, bytes: &[u8]) -> Result<(SelfPlaySetup, usize), GameFileError> {
    let foreign = |found: &str| GameFileError::Foreign { path: path.to_owned(), found: found.to_owned() };
    let fixed: &[u8; FIXED] = bytes.first_chunk().ok_or_else(|| foreign("too few bytes"))?;
    let number = |at: usize| u32::from_le_bytes(fixed[at..at + 4].try_into().expect("the range has 4 bytes"));
    if fixed[..MAGIC.len()] != MAGIC {
        return Err(foreign("other bytes"));
    }
    match number(MAGIC.len()) {
        VERSION => {}
        other => return Err(foreign(&format!("version {other} (this program reads version {VERSION})"))),
    }
    let end = FIXED + number(MAGIC.len() + 4) as usize;
    let damaged = || foreign("a damaged header");
    let (checked, rest) = bytes.split_at_checked(end).ok_or_else(damaged)?;
    if rest.first_chunk() != Some(&xxh3_64(checked).to_le_bytes()) {
        return Err(damaged());
    }
    let setup = serde_json::from_slice(&checked[FIXED..]).map_err(|_| damaged())?;
    Ok((setup, end + CHECKSUM))
}

/// Returns the first field in which two setups differ.
fn difference(found: &SelfPlaySetup, expected: &SelfPlaySetup) -> String {
    let fields = |setup| match serde_json::to_value(setup) {
        Ok(serde_json::Value::Object(fields)) => fields,
        _ => unreachable!("a setup is an object"),
    };
    let (found, expected) = (fields(found), fields(expected));
    let field = expected.iter().find(|(name, value)| found.get(*name) != Some(*value));
    let (name, value) = field.expect("the setups differ");
    format!("`{name}` is {} in the file, not {value}", found.get(name).unwrap_or(&serde_json::Value::Null))
}
