//! The openings of a tournament.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use rand::SeedableRng;
use sternhalma_game::Rng;
use thiserror::Error;

use super::{ArenaGame, Opening, Schedule};

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
    #[error("{reason}")]
    Listed {
        /// Its index in the list, from 0.
        index: usize,
        /// The reason.
        reason: String,
    },
    /// Random openings cannot be drawn, or are too few.
    #[error("{0}")]
    Random(String),
}

/// The openings of the pairs of games: listed ones in turn, or different random ones.
pub(super) struct Openings<'a, G: ArenaGame> {
    game: &'a G,
    schedule: &'a Schedule,
    listed: Vec<Opening<G::State>>,
    drawn: Vec<Opening<G::State>>,
    seen: HashSet<String>,
}

/// Checks that the openings of a schedule are valid, and that there are enough different ones. A sequential test rarely
/// needs all openings, so one is enough. Ends early when `stop` is set.
///
/// # Errors
/// Returns an error if a listed opening is invalid, or if there are fewer different openings of random plies.
pub fn check_openings<G: ArenaGame>(game: &G, schedule: &Schedule, stop: &AtomicBool) -> Result<(), OpeningsError> {
    Openings::new(game, schedule)?.prepare(stop)
}

impl<'a, G: ArenaGame> Openings<'a, G> {
    /// Creates the openings of a schedule.
    ///
    /// # Errors
    /// Returns an error if a listed opening is invalid, or if random openings are too long.
    pub fn new(game: &'a G, schedule: &'a Schedule) -> Result<Openings<'a, G>, OpeningsError> {
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
        Ok(Openings { game, schedule, listed, drawn: Vec::new(), seen: HashSet::new() })
    }

    /// Draws the openings that the schedule needs, up to a maximum, or one with a sequential test, which rarely needs
    /// all of them. Ends early when `stop` is set.
    ///
    /// # Errors
    /// Returns an error if no further different opening can be drawn.
    pub fn prepare(&mut self, stop: &AtomicBool) -> Result<(), OpeningsError> {
        let most = if self.schedule.test.is_some() { 1 } else { MAX_PREPARED };
        let last = pairs(self.schedule).min(most).saturating_sub(1);
        self.get(last, stop).map(drop)
    }

    /// Returns the opening of a pair of games, or `None` if `stop` is set. Random openings are drawn in order of pairs,
    /// so the result does not depend on the order of calls.
    ///
    /// # Errors
    /// Returns an error if no further different opening can be drawn.
    pub fn get(&mut self, pair: u64, stop: &AtomicBool) -> Result<Option<Opening<G::State>>, OpeningsError> {
        if !self.listed.is_empty() {
            return Ok(Some(self.listed[(pair % self.listed.len() as u64) as usize].clone()));
        }
        if self.schedule.opening_plies == 0 {
            return Ok(self.game.random_opening(0, &mut self.rng(pair)));
        }
        while self.drawn.len() as u64 <= pair {
            let Some(next) = self.draw(self.drawn.len() as u64, stop)? else { return Ok(None) };
            self.drawn.push(next);
        }
        Ok(Some(self.drawn[pair as usize].clone()))
    }

    fn rng(&self, pair: u64) -> Rng {
        Rng::seed_from_u64(self.schedule.opening_seed(pair))
    }

    /// Draws an opening that differs from all earlier ones. Returns `None` if `stop` is set.
    fn draw(&mut self, pair: u64, stop: &AtomicBool) -> Result<Option<Opening<G::State>>, OpeningsError> {
        let (plies, mut rng) = (self.schedule.opening_plies, self.rng(pair));
        // A whole round of moves more leaves the same role to move.
        let lengths = (plies..(plies + MAX_EXTRA_PLIES).min(self.schedule.ply_limit)).step_by(self.schedule.roles);
        for plies in (0..MAX_ROUNDS).flat_map(|_| lengths.clone()) {
            for _ in 0..DRAWS {
                if stop.load(Relaxed) {
                    return Ok(None);
                }
                let opening = self.game.random_opening(plies, &mut rng);
                if let Some(opening) = opening.filter(|opening| self.seen.insert(opening.text.clone())) {
                    return Ok(Some(opening));
                }
            }
        }
        Err(OpeningsError::Random(format!(
            "no further different openings can be drawn: {pair} of {} found with {plies} random plies; \
             expected a number of plies that gives more, or 0, with which all games start from the initial state",
            pairs(self.schedule)
        )))
    }
}

/// Returns the number of pairs of games with an opening of their own.
fn pairs(schedule: &Schedule) -> u64 {
    schedule.rounds.iter().map(|round| round.games.div_ceil(2)).max().unwrap_or(0)
}
