//! The openings of a tournament.

use std::collections::HashSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use rand::SeedableRng;
use sternhalma_game::Rng;
use thiserror::Error;

use super::{ArenaGame, Opening, OpeningError, Schedule};

/// Attempts to draw a new opening before its length grows.
const DRAWS: usize = 16;

/// Maximum number of plies by which an opening grows.
const MAX_EXTRA_PLIES: u32 = 8;

/// Rounds of draws of all lengths after which no further different opening is expected.
const MAX_ROUNDS: usize = 32;

/// Maximum number of random plies of an opening.
pub const MAX_OPENING_PLIES: u32 = 10_000;

/// Maximum number of openings that are drawn before the first game. Later ones are drawn when they are needed.
const MAX_PREPARED: u64 = 10_000;

/// The reason why a tournament has no openings.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum OpeningsError {
    /// A listed opening is invalid.
    #[error("opening {}: {reason}", index + 1)]
    Listed {
        /// Its index in the list, from 0.
        index: usize,
        /// The reason.
        reason: OpeningError,
    },
    /// Random openings cannot be drawn, or are too few.
    #[error("{0}")]
    Random(String),
}

/// The openings of the pairs of games: listed ones in turn, or different random ones. Listed openings are read once, and
/// random ones are drawn once.
///
/// All schedules for which the same openings are used have the same list, number of random plies, roles, ply limit and
/// seed.
pub struct Openings<S>(Mutex<KnownOpenings<S>>);

struct KnownOpenings<S> {
    listed: Vec<Opening<S>>,
    drawn: Vec<Opening<S>>,
    /// The texts of the drawn openings.
    seen: HashSet<String>,
}

impl<S: Clone> Openings<S> {
    /// Reads the listed openings of a schedule. Draws no random ones.
    ///
    /// # Errors
    /// Returns an error if a listed opening is invalid, or if random openings are too long.
    pub fn new<G: ArenaGame<State = S>>(game: &G, schedule: &Schedule) -> Result<Openings<S>, OpeningsError> {
        let listed = schedule.openings.iter().enumerate();
        let listed =
            listed.map(|(index, text)| game.opening(text).map_err(|reason| OpeningsError::Listed { index, reason }));
        let listed = listed.collect::<Result<_, _>>()?;
        let (plies, limit) = (schedule.opening_plies, schedule.ply_limit);
        if schedule.openings.is_empty() && plies > 0 {
            if plies > MAX_OPENING_PLIES {
                let reason = format!("expected 0 to {MAX_OPENING_PLIES} random plies of an opening, got {plies}");
                return Err(OpeningsError::Random(reason));
            }
            if plies >= limit {
                return Err(OpeningsError::Random(format!(
                    "openings of {plies} random plies leave no move before the ply limit of {limit}; expected fewer plies"
                )));
            }
        }
        Ok(Openings(Mutex::new(KnownOpenings { listed, drawn: Vec::new(), seen: HashSet::new() })))
    }

    /// Draws the openings that the schedule needs, up to a maximum, or one with a sequential test, which rarely needs
    /// all of them. Ends early when `stop` is set.
    ///
    /// # Errors
    /// Returns an error if no further different opening can be drawn.
    pub fn draw<G: ArenaGame<State = S>>(
        &self,
        game: &G,
        schedule: &Schedule,
        stop: &AtomicBool,
    ) -> Result<(), OpeningsError> {
        let most = if schedule.test.is_some() { 1 } else { MAX_PREPARED };
        let last = pairs(schedule).min(most).saturating_sub(1);
        self.get(game, schedule, last, stop).map(drop)
    }

    /// Returns the opening of a pair of games, or `None` if `stop` is set. Random openings are drawn in order of pairs,
    /// so the result does not depend on the order of calls.
    ///
    /// # Errors
    /// Returns an error if no further different opening can be drawn.
    pub(super) fn get<G: ArenaGame<State = S>>(
        &self,
        game: &G,
        schedule: &Schedule,
        pair: u64,
        stop: &AtomicBool,
    ) -> Result<Option<Opening<S>>, OpeningsError> {
        let mut known = self.0.lock().expect("no thread panics while it draws an opening");
        if !known.listed.is_empty() {
            return Ok(Some(known.listed[(pair % known.listed.len() as u64) as usize].clone()));
        }
        if schedule.opening_plies == 0 {
            return Ok(game.random_opening(0, &mut rng(schedule, pair)));
        }
        while known.drawn.len() as u64 <= pair {
            let next = known.drawn.len() as u64;
            let Some(next) = draw_new(game, schedule, next, &mut known.seen, stop)? else { return Ok(None) };
            known.drawn.push(next);
        }
        Ok(Some(known.drawn[pair as usize].clone()))
    }
}

fn rng(schedule: &Schedule, pair: u64) -> Rng {
    Rng::seed_from_u64(schedule.opening_seed(pair))
}

/// Draws an opening that differs from those that were seen. Returns `None` if `stop` is set.
fn draw_new<G: ArenaGame>(
    game: &G,
    schedule: &Schedule,
    pair: u64,
    seen: &mut HashSet<String>,
    stop: &AtomicBool,
) -> Result<Option<Opening<G::State>>, OpeningsError> {
    let (plies, mut rng) = (schedule.opening_plies, rng(schedule, pair));
    // A whole round of moves more leaves the same role to move.
    let lengths = (plies..(plies + MAX_EXTRA_PLIES).min(schedule.ply_limit)).step_by(schedule.roles);
    for plies in (0..MAX_ROUNDS).flat_map(|_| lengths.clone()) {
        for _ in 0..DRAWS {
            if stop.load(Relaxed) {
                return Ok(None);
            }
            let opening = game.random_opening(plies, &mut rng);
            if let Some(opening) = opening.filter(|opening| seen.insert(opening.text.clone())) {
                return Ok(Some(opening));
            }
        }
    }
    Err(OpeningsError::Random(format!(
        "no further different openings can be drawn: {pair} of {} found with {plies} random plies; \
         expected a number of plies that gives more, or 0, with which all games start from the initial state",
        pairs(schedule)
    )))
}

/// Returns the number of pairs of games with an opening of their own.
fn pairs(schedule: &Schedule) -> u64 {
    schedule.rounds.iter().map(|round| round.games.div_ceil(2)).max().unwrap_or(0)
}
