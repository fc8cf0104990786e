//! Logs of the protocol between a tournament and its programs.

use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use sternhalma_files::Stream;

/// A file with all lines between a tournament and its programs.
///
/// A line of the file has five fields, separated by tabs: the seconds since the log was opened, the
/// number of the game (0 before the first), the player, `>` (to the program) or `<` (from it), and
/// the line of the protocol.
#[derive(Clone, Debug)]
pub struct ProtocolLog {
    started: Instant,
    file: Arc<Mutex<Result<Stream, io::Error>>>,
}

impl ProtocolLog {
    /// Opens a log. Lines are added to an existing file.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be written.
    pub fn open(path: &Path) -> io::Result<ProtocolLog> {
        let file = Stream::open(path)?;
        Ok(ProtocolLog { started: Instant::now(), file: Arc::new(Mutex::new(Ok(file))) })
    }

    /// Returns the part of the log of one process of a player.
    pub fn of(&self, player: &str) -> ProtocolTrace {
        let trace = ProtocolTrace { log: self.clone(), player: Arc::default(), game: Arc::default() };
        trace.set_player(player);
        trace
    }

    /// Checks that all lines could be written.
    ///
    /// # Errors
    ///
    /// Returns the first error. Later lines are then missing.
    pub fn check(&self) -> io::Result<()> {
        match &*self.file.lock().unwrap_or_else(PoisonError::into_inner) {
            Ok(_) => Ok(()),
            Err(error) => Err(error.kind().into()),
        }
    }

    /// Adds a line in one write, so that lines of several processes stay whole.
    fn add(&self, game: u64, player: &str, direction: char, line: &str) {
        let seconds = self.started.elapsed().as_secs_f64();
        let text = format!("{seconds:.6}\t{game}\t{player}\t{direction}\t{line}\n");
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if let Ok(open) = &mut *file
            && let Err(error) = open.write_all(text.as_bytes())
        {
            *file = Err(error);
        }
    }
}

/// The log of one process of a player.
#[derive(Clone, Debug)]
pub struct ProtocolTrace {
    log: ProtocolLog,
    player: Arc<Mutex<String>>,
    game: Arc<AtomicU64>,
}

impl ProtocolTrace {
    /// Sets the number of the game.
    pub fn set_game_number(&self, number: u64) {
        self.game.store(number, Relaxed);
    }

    /// Sets the name of the player.
    pub fn set_player(&self, player: &str) {
        *self.player.lock().unwrap_or_else(PoisonError::into_inner) = player.replace(char::is_control, " ");
    }

    fn add(&self, direction: char, line: &str) {
        let player = self.player.lock().unwrap_or_else(PoisonError::into_inner).clone();
        self.log.add(self.game.load(Relaxed), &player, direction, line);
    }

    /// Adds lines that were sent to the program.
    pub fn sent(&self, lines: &str) {
        lines.lines().for_each(|line| self.add('>', line));
    }

    /// Adds a line that came from the program.
    pub fn received(&self, line: &str) {
        self.add('<', line);
    }
}
