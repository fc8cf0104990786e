//! Generation of games in several threads, in the order of their numbers.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use sternhalma_engine::{AllocationError, PreparedPlayer};
use sternhalma_ggp::MemoryBudget;

use crate::file::{GameFile, GameFileError};
use crate::game::TrainingGame;
use crate::selfplay::{OpeningError, SelfPlay};

/// The largest number of games of a block.
const BLOCK_GAMES: usize = 64;

/// The longest time between a game and its block on the disk.
const BLOCK_INTERVAL: Duration = Duration::from_secs(10);

/// An error of the generation of games.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GenerateError {
    /// The file cannot be written.
    #[error(transparent)]
    File(#[from] GameFileError),
    /// A game has no opening.
    #[error(transparent)]
    Opening(#[from] OpeningError),
    /// The memory of a player cannot be allocated.
    #[error(transparent)]
    Memory(#[from] AllocationError),
}

/// A game with its number.
pub(crate) type Generated = Result<(u64, TrainingGame), GenerateError>;

/// Appends games to a file until it has a number of positions, or until `stop` is set. The games and their order do
/// not depend on the number of threads.
///
/// The players of all threads share `memory`. `report` gets the number of positions after each game.
///
/// # Errors
///
/// Returns an error if the file cannot be written, if a game has no opening, or if the memory of a player cannot be
/// allocated. All earlier games remain.
pub fn generate(
    play: &SelfPlay,
    (player, memory): (&PreparedPlayer, &MemoryBudget),
    file: &mut GameFile,
    positions: u64,
    threads: NonZeroUsize,
    stop: &AtomicBool,
    report: &mut dyn FnMut(u64),
) -> Result<(), GenerateError> {
    if file.positions() >= positions {
        return Ok(());
    }
    let next = AtomicU64::new(file.games());
    // Ends the threads; `stop` belongs to the caller.
    let ended = AtomicBool::new(false);
    let (sender, finished) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..threads.get() {
            let (sender, next, ended) = (sender.clone(), &next, &ended);
            scope.spawn(move || {
                let mut player = match player.start(memory) {
                    Ok(player) => player,
                    // The receiver has ended if it does not take the error.
                    Err(error) => return drop(sender.send(Err(error.into()))),
                };
                while !ended.load(Relaxed) {
                    let number = next.fetch_add(1, Relaxed);
                    let game = play.game_of(&mut *player, number, ended).transpose();
                    let game = game.map(|game| game.map(|game| (number, game)).map_err(GenerateError::from));
                    let Some(game) = game else { break };
                    if sender.send(game).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        let written = write_in_order(file, &finished, positions, BLOCK_INTERVAL, stop, report);
        ended.store(true, Relaxed);
        written
    })
}

/// Writes finished games in the order of their numbers, at the latest after `interval`. On a stop, the games before the
/// first unfinished one are written.
pub(crate) fn write_in_order(
    file: &mut GameFile,
    finished: &mpsc::Receiver<Generated>,
    positions: u64,
    interval: Duration,
    stop: &AtomicBool,
    report: &mut dyn FnMut(u64),
) -> Result<(), GenerateError> {
    let (mut waiting, mut block, mut total) = (BTreeMap::new(), Vec::new(), file.positions());
    let (mut next, mut last_block) = (file.games(), Instant::now());
    let mut failed = None;
    let mut is_running = true;
    while total < positions && is_running {
        // After a stop, the games that have already arrived are written.
        let wait = if stop.load(Relaxed) { Duration::ZERO } else { Duration::from_millis(100) };
        match finished.recv_timeout(wait) {
            Ok(Ok((number, game))) => drop(waiting.insert(number, game)),
            Ok(Err(error)) => {
                failed = Some(error);
                is_running = false;
            }
            // A block is due even if no further game is finished.
            Err(mpsc::RecvTimeoutError::Timeout) => is_running = !stop.load(Relaxed),
            Err(mpsc::RecvTimeoutError::Disconnected) => is_running = false,
        }
        while let Some(game) = (total < positions).then(|| waiting.remove(&next)).flatten() {
            next += 1;
            total += game.plies.len() as u64;
            block.push(game);
            report(total);
        }
        if block.len() >= BLOCK_GAMES || last_block.elapsed() >= interval {
            file.append(&block)?;
            block.clear();
            last_block = Instant::now();
        }
    }
    file.append(&block)?;
    failed.map_or(Ok(()), Err)
}
