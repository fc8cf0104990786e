//! The openings of a tournament.

use std::collections::HashSet;

use rand::SeedableRng;

use super::play::{ArenaGame, Opening};
use super::schedule::Schedule;
use crate::rng::Rng;

/// So often an opening is drawn again that has been drawn before, or that
/// ends the game, before one of a ply more is drawn,
const DRAWS: usize = 16;

/// up to so many plies more.
const MORE_PLIES: u32 = 8;

/// Openings pair by pair: listed ones in turn, or random ones, each of which
/// is another as long as there are any.
pub(super) struct Openings<'a, G: ArenaGame> {
    game: &'a G,
    schedule: &'a Schedule,
    drawn: Vec<Opening<G::State>>,
    seen: HashSet<String>,
}

impl<'a, G: ArenaGame> Openings<'a, G> {
    /// The openings of a schedule.
    ///
    /// # Errors
    /// If a listed one cannot be read.
    pub fn new(game: &'a G, schedule: &'a Schedule) -> Result<Openings<'a, G>, String> {
        schedule.openings.iter().try_for_each(|text| game.opening(text).map(drop))?;
        Ok(Openings { game, schedule, drawn: Vec::new(), seen: HashSet::new() })
    }

    /// The opening of a pair. All before it are drawn first, so that it is
    /// the same whatever was asked for before.
    pub fn of(&mut self, pair: u64) -> Opening<G::State> {
        let listed = &self.schedule.openings;
        if !listed.is_empty() {
            let text = &listed[(pair % listed.len() as u64) as usize];
            return self.game.opening(text).expect("listed openings have been read before");
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
        let lengths = if plies == 0 { 0..0 } else { plies..plies.saturating_add(MORE_PLIES) };
        let mut any = None;
        for plies in lengths {
            for opening in (0..DRAWS).filter_map(|_| self.game.random_opening(plies, &mut rng)) {
                if self.seen.insert(opening.text.clone()) {
                    return opening;
                }
                any = Some(opening);
            }
        }
        any.or_else(|| self.game.random_opening(0, &mut rng)).expect("the initial state is not terminal")
    }
}
