//! Balanced openings: random openings whose search score is near that of equal chances.

use std::collections::HashSet;
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::thread;

use rand::{RngExt, SeedableRng};
use sternhalma_data::{CellSet, RuleSet, Side, State};
use sternhalma_ggp::arena::derive_seed;
use sternhalma_ggp::{Limits, Rng};

use crate::players::{EnginePlayer, SearchValue};
use crate::rules::{ChineseCheckers, Filter, GameSetup, GameState};

/// The number of draws in succession without a new opening after which no further opening is
/// expected.
const MAX_REPEATS: u64 = 10_000;

/// The number of openings in succession that fail a test of balance after which no balanced one is expected.
pub const MAX_UNBALANCED: usize = 10_000;

/// The openings that are searched before the results are collected, per thread.
const BATCH: usize = 16;

/// Random openings, all of them different.
///
/// Two openings are the same if a symmetry of the game maps one to the other: the exchange of
/// both sides with a half turn of the board, and the left-right mirror image if the homes are
/// their own mirror images. The ply does not matter.
///
/// The moves of an opening are legal under all rule sets, and no goal is sealed.
pub struct DistinctOpenings {
    game: ChineseCheckers,
    plies: RangeInclusive<u32>,
    seed: u64,
    drawn: u64,
    seen: HashSet<[CellSet; 2]>,
}

impl DistinctOpenings {
    /// Creates the sequence of openings of a board. The number of plies of each opening is random
    /// in `plies`. The sequence depends only on these arguments.
    ///
    /// # Panics
    /// Panics if the homes of the board overlap.
    pub fn new(setup: GameSetup, plies: RangeInclusive<u32>, seed: u64) -> DistinctOpenings {
        let game = ChineseCheckers::of(setup.with_rules(RuleSet::NEWEST), Filter::All);
        DistinctOpenings { game, plies, seed, drawn: 0, seen: HashSet::new() }
    }
}

impl Iterator for DistinctOpenings {
    type Item = GameState;

    /// Returns the next opening, or `None` if none was found in 10,000 draws.
    fn next(&mut self) -> Option<GameState> {
        self.next_until(&AtomicBool::new(false))
    }
}

impl DistinctOpenings {
    /// Returns the next opening, or `None` if none was found in 10,000 draws or `stop` is set.
    fn next_until(&mut self, stop: &AtomicBool) -> Option<GameState> {
        for _ in 0..MAX_REPEATS {
            if stop.load(Relaxed) {
                return None;
            }
            let mut rng = Rng::seed_from_u64(derive_seed(self.seed, self.drawn));
            self.drawn += 1;
            let plies = rng.random_range(self.plies.clone());
            let Some(state) = self.game.random_state(plies, &mut rng) else { continue };
            if !self.game.has_seal(&state) && self.seen.insert(canonical(&self.game, &state)) {
                return Some(state);
            }
        }
        None
    }
}

/// Returns the armies of the player to move and of the opponent, each in its goal order, or their
/// mirror images if these are smaller and mirroring is a symmetry of the game.
fn canonical(game: &ChineseCheckers, state: &GameState) -> [CellSet; 2] {
    let (board, geometry) = (game.board(), game.geometry());
    let mover = state.player();
    let armies = [mover, mover.other()].map(|side| State::from_army(board, side, state.army(side)).cells());
    let home = game.goal_corner(Side::X);
    if geometry.mirror(home) != home {
        return armies;
    }
    armies.min(armies.map(|cells| geometry.mirror(cells)))
}

/// A test of balance by a search.
#[derive(Clone, Copy, Debug)]
pub struct BalanceTest {
    /// The limits of the search.
    pub limits: Limits,
    /// The score for the player to move at which both players have equal chances, in moves.
    pub advantage: f64,
    /// The largest difference of the score to the advantage, in moves.
    pub margin: f64,
}

impl BalanceTest {
    /// Returns whether a score is within the margin. Proofs are not.
    fn passes(&self, score: Option<SearchValue>) -> bool {
        matches!(score, Some(SearchValue::Lead(lead)) if (lead - self.advantage).abs() <= self.margin)
    }
}

/// The reason why fewer openings than expected were found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OpeningShortage {
    /// No further different openings can be drawn.
    NoOthers,
    /// None of [`MAX_UNBALANCED`] openings in succession passes the tests.
    Unbalanced,
    /// The search was stopped.
    Stopped,
}

/// Players that search openings, one per thread.
pub struct OpeningSearch {
    players: Vec<Box<dyn EnginePlayer>>,
}

impl OpeningSearch {
    /// Creates a search with the threads of these players, which must be equal.
    pub fn new(players: Vec<Box<dyn EnginePlayer>>) -> OpeningSearch {
        OpeningSearch { players }
    }

    /// Returns the scores of states for the player to move, in their order. The searches are
    /// independent of each other, so the scores do not depend on the number of threads. Returns
    /// `None` after `stop` is set.
    pub fn scores(
        &mut self,
        states: &[GameState],
        limits: Limits,
        stop: &AtomicBool,
    ) -> Option<Vec<Option<SearchValue>>> {
        self.map(states, stop, |player, state| score(player, state, limits, stop))
    }

    /// Returns up to `count` openings that pass all tests, in the order in which they are drawn, and
    /// passes each to `watch` when it is found. The tests are run in order, up to the first that
    /// fails, so a test with a short search first saves time. Fewer openings are returned, with the
    /// reason, if no further ones can be drawn, if none of 10,000 in succession passes, or after
    /// `stop` is set.
    pub fn balanced(
        &mut self,
        openings: &mut DistinctOpenings,
        tests: &[BalanceTest],
        count: usize,
        stop: &AtomicBool,
        watch: &mut dyn FnMut(&GameState),
    ) -> (Vec<GameState>, Option<OpeningShortage>) {
        let (mut found, mut failed) = (Vec::new(), 0);
        while found.len() < count {
            if failed >= MAX_UNBALANCED {
                return (found, Some(OpeningShortage::Unbalanced));
            }
            let draw = std::iter::from_fn(|| openings.next_until(stop));
            let batch: Vec<GameState> = draw.take(BATCH * self.players.len()).collect();
            let passes = self.map(&batch, stop, |player, state| {
                tests.iter().all(|test| test.passes(score(player, state, test.limits, stop)))
            });
            let Some(passes) = passes else { return (found, Some(OpeningShortage::Stopped)) };
            if passes.is_empty() {
                return (found, Some(OpeningShortage::NoOthers));
            }
            failed = passes.iter().rev().position(|&passes| passes).unwrap_or(failed + passes.len());
            for (state, _) in batch.iter().zip(passes).filter(|&(_, passes)| passes).take(count - found.len()) {
                watch(state);
                found.push(*state);
            }
        }
        (found, None)
    }

    /// Returns the results of a function for all states, or `None` after `stop` is set.
    fn map<T: Send>(
        &mut self,
        states: &[GameState],
        stop: &AtomicBool,
        function: impl Fn(&mut dyn EnginePlayer, &GameState) -> T + Sync,
    ) -> Option<Vec<T>> {
        let next = AtomicUsize::new(0);
        let work = |player: &mut dyn EnginePlayer| -> Vec<(usize, T)> {
            let claim = || Some(next.fetch_add(1, Relaxed)).filter(|&at| at < states.len() && !stop.load(Relaxed));
            std::iter::from_fn(|| claim().map(|at| (at, function(player, &states[at])))).collect()
        };
        let mut results: Vec<(usize, T)> = thread::scope(|scope| {
            let threads: Vec<_> = self.players.iter_mut().map(|player| scope.spawn(|| work(player.as_mut()))).collect();
            threads.into_iter().flat_map(|thread| thread.join().expect("a search does not panic")).collect()
        });
        results.sort_unstable_by_key(|&(at, _)| at);
        (!stop.load(Relaxed)).then(|| results.into_iter().map(|(_, result)| result).collect())
    }
}

/// Returns the value of a state for the player to move, from a search without earlier results.
fn score(player: &mut dyn EnginePlayer, state: &GameState, limits: Limits, stop: &AtomicBool) -> Option<SearchValue> {
    let mut value = None;
    player.reset(0);
    player.think(state, limits, stop, &mut |info| value = info.value);
    value
}

#[cfg(test)]
mod tests {
    use sternhalma_data::Board;
    use sternhalma_ggp::{Game, MemoryBudget};

    use super::*;
    use crate::distances::Distances;
    use crate::players::Roster;

    fn setup() -> GameSetup {
        GameSetup::new(Board::new(5, 3).unwrap())
    }

    fn search(name: &str, threads: usize) -> OpeningSearch {
        let config = Roster::built_in().config(name).unwrap();
        let distances = Distances::estimated(setup().board);
        let player = config.prepare(setup(), Some(&distances)).unwrap();
        OpeningSearch::new((0..threads).map(|_| player.start(&MemoryBudget::unlimited()).unwrap()).collect())
    }

    /// Returns the images of a position under the symmetries of the game, by the coordinates of
    /// pieces: the mirror exchanges the axes, and the half turn also exchanges the sides.
    fn images(game: &ChineseCheckers, state: &GameState) -> Vec<String> {
        let size = game.board().size() as u8;
        let place = |army: CellSet, mirror: bool, turn: bool| {
            let mut cells: Vec<(u8, u8)> = army
                .iter()
                .map(|cell| game.geometry().coordinates(cell))
                .map(|(x, y)| if mirror { (y, x) } else { (x, y) })
                .map(|(x, y)| if turn { (size - 1 - x, size - 1 - y) } else { (x, y) })
                .collect();
            cells.sort_unstable();
            cells
        };
        let [x, o] = Side::BOTH.map(|side| state.army(side));
        [(false, false), (false, true), (true, false), (true, true)]
            .into_iter()
            .map(|(mirror, turn)| {
                let (first, second, side) = if turn { (o, x, state.player().other()) } else { (x, o, state.player()) };
                format!("{side} {:?} {:?}", place(first, mirror, turn), place(second, mirror, turn))
            })
            .collect()
    }

    #[test]
    fn openings_differ_also_after_a_symmetry() {
        let game = ChineseCheckers::of(setup(), Filter::All);
        let openings: Vec<GameState> = DistinctOpenings::new(setup(), 0..=4, 1).take(400).collect();
        assert_eq!(openings.len(), 400);
        let mut seen = HashSet::new();
        for state in &openings {
            let images = images(&game, state);
            assert!(!images.iter().any(|image| seen.contains(image)), "{images:?}");
            seen.extend(images);
        }
        // The lengths vary.
        for ply in 0..=4 {
            assert!(openings.iter().any(|state| state.ply() == ply), "{ply}");
        }
    }

    #[test]
    fn all_openings_of_a_length_are_found_once() {
        let game = ChineseCheckers::of(setup(), Filter::All);
        let positions: HashSet<Vec<String>> = game
            .position(&game.initial())
            .moves()
            .map(|mv| {
                let mut state = game.initial();
                game.play_action(&mut state, Some(mv));
                let mut images = images(&game, &state);
                images.sort();
                images
            })
            .collect();
        assert_eq!(DistinctOpenings::new(setup(), 1..=1, 7).count(), positions.len());
    }

    #[test]
    fn openings_have_legal_moves_and_no_sealed_goal() {
        let setup = GameSetup::new(Board::new(6, 6).unwrap());
        let rules = ChineseCheckers::of(setup.with_rules(RuleSet::NEWEST), Filter::All);
        for state in DistinctOpenings::new(setup, 20..=40, 3).take(200) {
            let state = rules.state(&rules.position(&state)).unwrap();
            assert!(!rules.has_seal(&state) && state.outcome().is_none());
        }
    }

    #[test]
    fn balanced_openings_are_those_that_pass_one_by_one() {
        let limits = Limits::expansions(300);
        let test = BalanceTest { limits, advantage: 0.5, margin: 0.4 };
        let short = BalanceTest { limits: Limits::expansions(30), margin: 1.0, ..test };
        let stop = AtomicBool::new(false);
        let drawn: Vec<GameState> = DistinctOpenings::new(setup(), 2..=5, 9).take(200).collect();
        let mut single = search("sternhalma", 1);
        let mut passes = |state: &GameState, test: BalanceTest| {
            let scores = single.scores(&[*state], test.limits, &stop).unwrap();
            matches!(scores[..], [Some(SearchValue::Lead(lead))] if (lead - test.advantage).abs() <= test.margin)
        };
        let expected: Vec<GameState> =
            drawn.into_iter().filter(|state| passes(state, short) && passes(state, test)).take(10).collect();
        assert_eq!(expected.len(), 10);
        for threads in [1, 3] {
            let mut openings = DistinctOpenings::new(setup(), 2..=5, 9);
            let mut watched = Vec::new();
            let found =
                search("sternhalma", threads).balanced(&mut openings, &[short, test], 10, &stop, &mut |state| {
                    watched.push(*state);
                });
            assert_eq!((&found, &watched), (&(expected.clone(), None), &expected), "{threads} threads");
        }
    }

    #[test]
    fn a_search_ends_early() {
        let balanced = |plies, margin, stop: bool| {
            let test = BalanceTest { limits: Limits::expansions(1), advantage: 0.0, margin };
            let mut openings = DistinctOpenings::new(setup(), plies, 1);
            let stop = AtomicBool::new(stop);
            search("sternhalma", 2).balanced(&mut openings, &[test], 50, &stop, &mut |_| ())
        };
        let found = |plies, margin, stop: bool| {
            let (found, shortage) = balanced(plies, margin, stop);
            (found.len(), shortage)
        };
        // There is one initial position.
        assert_eq!(found(0..=0, 1e3, false), (1, Some(OpeningShortage::NoOthers)));
        assert_eq!(found(3..=3, 1e3, false), (50, None));
        assert_eq!(found(3..=3, 1e3, true), (0, Some(OpeningShortage::Stopped)));
        // No score is exactly equal, so none of many openings passes.
        assert_eq!(found(4..=30, -1.0, false), (0, Some(OpeningShortage::Unbalanced)));
    }
}
