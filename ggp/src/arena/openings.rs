//! The openings of a tournament.

use std::collections::HashSet;

use rand::SeedableRng;

use super::{ArenaGame, Opening, Schedule};
use crate::Rng;

/// Attempts to draw a new opening before its length grows.
const DRAWS: usize = 16;

/// Maximum number of plies by which an opening grows.
const MAX_EXTRA_PLIES: u32 = 8;

/// The openings of the pairs of games: listed ones in turn, or different random ones.
/// Random openings repeat only if no new one is found.
pub(super) struct Openings<'a, G: ArenaGame> {
    game: &'a G,
    schedule: &'a Schedule,
    drawn: Vec<Opening<G::State>>,
    seen: HashSet<String>,
}

impl<'a, G: ArenaGame> Openings<'a, G> {
    /// Creates the openings of a schedule.
    ///
    /// # Errors
    /// Returns an error if a listed opening is invalid.
    pub fn new(game: &'a G, schedule: &'a Schedule) -> Result<Openings<'a, G>, String> {
        schedule.openings.iter().try_for_each(|text| game.opening(text).map(drop))?;
        Ok(Openings { game, schedule, drawn: Vec::new(), seen: HashSet::new() })
    }

    /// Returns the opening of a pair of games. Random openings are drawn in order of pairs, so the
    /// result does not depend on the order of calls.
    pub fn get(&mut self, pair: u64) -> Opening<G::State> {
        let listed = &self.schedule.openings;
        if !listed.is_empty() {
            let text = &listed[(pair % listed.len() as u64) as usize];
            return self.game.opening(text).expect("`new` has parsed the listed openings");
        }
        while self.drawn.len() as u64 <= pair {
            let next = self.draw(self.drawn.len() as u64);
            self.drawn.push(next);
        }
        self.drawn[pair as usize].clone()
    }

    fn draw(&mut self, pair: u64) -> Opening<G::State> {
        let mut rng = Rng::seed_from_u64(self.schedule.opening_seed(pair));
        let plies = self.schedule.opening_plies;
        let lengths = if plies == 0 { 0..0 } else { plies..plies.saturating_add(MAX_EXTRA_PLIES) };
        let mut repeated = None;
        // A whole round of moves more leaves the same role to move.
        for plies in lengths.step_by(self.schedule.roles) {
            for opening in (0..DRAWS).filter_map(|_| self.game.random_opening(plies, &mut rng)) {
                if self.seen.insert(opening.text.clone()) {
                    return opening;
                }
                repeated = Some(opening);
            }
        }
        repeated.or_else(|| self.game.random_opening(0, &mut rng)).expect("the initial state is not terminal")
    }
}
