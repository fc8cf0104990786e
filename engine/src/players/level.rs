//! Levels of strength: node limits, and noise in the choice of a move.

use std::f64::consts::TAU;
use std::str::FromStr;
use std::sync::atomic::AtomicBool;

use rand::{RngExt, SeedableRng};
use serde::{Deserialize, Serialize};
use sternhalma_data::Move;
use sternhalma_ggp::{Limits, Rng, SearchStats, key_of_words};
use thiserror::Error;

use crate::players::analysis::{AnalysedMove, analyse};
use crate::players::interface::{Choice, EnginePlayer, SearchInfo, SearchObserver, SearchValue};
use crate::rules::{Action, GameState};

/// The moves among which a level with noise chooses.
const CANDIDATES: usize = 6;

/// The node expansions per move and the noise, in moves, of each level, from level 1.
///
/// Neighbours differ by 200 to 320 Elo in the tournament of `experiments/own/levels.toml`.
const LEVELS: [(u64, f64); 10] = [
    (60, 6.0),
    (60, 2.0),
    (100, 1.6),
    (150, 1.2),
    (250, 0.8),
    (400, 0.55),
    (800, 0.25),
    (2_000, 0.06),
    (2_000, 0.0),
    (100_000, 0.0),
];

/// A strength, from 1 to 10.
///
/// A level limits the node expansions per move. A level below 9 searches the best six moves
/// separately, adds a random number with a normal distribution to the lead of each, and plays the
/// best sum. A player that searches for one move only is not affected by the noise.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(try_from = "u32", into = "u32")]
pub struct Level(u8);

impl Level {
    /// The highest level.
    pub const HIGHEST: u32 = LEVELS.len() as u32;

    /// Returns the node expansions per move.
    pub fn nodes(self) -> u64 {
        LEVELS[usize::from(self.0) - 1].0
    }

    /// Returns the standard deviation of the noise, in moves.
    pub fn noise(self) -> f64 {
        LEVELS[usize::from(self.0) - 1].1
    }

    /// Chooses an action of a player at this level, within other limits. `seed` and the state determine
    /// the noise.
    pub fn think(
        self,
        player: &mut dyn EnginePlayer,
        state: &GameState,
        limits: Limits,
        seed: u64,
        stop: &AtomicBool,
        watch: &mut SearchObserver,
    ) -> Choice {
        let nodes = limits.expansions.map_or(self.nodes(), |nodes| nodes.min(self.nodes()));
        if self.noise() == 0.0 {
            return player.think(state, Limits { expansions: Some(nodes), ..limits }, stop, watch);
        }
        let shares = Limits {
            expansions: Some((nodes / CANDIDATES as u64).max(1)),
            time: limits.time.map(|time| time / CANDIDATES as u32),
            ..limits
        };
        let lines = analyse(player, state, shares, CANDIDATES, stop);
        // The noise of a state does not depend on earlier searches of the game.
        let [x, o] = state.placement().bits();
        let mut rng = Rng::seed_from_u64(key_of_words([seed, x as u64, (x >> 64) as u64, o as u64, (o >> 64) as u64]));
        let value = |line: &AnalysedMove, rng: &mut Rng| match line.info.value {
            Some(SearchValue::Lead(value) | SearchValue::Reward(value)) => value + self.noise() * normal(rng),
            Some(SearchValue::Won(_)) => f64::INFINITY,
            Some(SearchValue::Lost(_)) => f64::NEG_INFINITY,
            None => 0.0,
        };
        let mut spent = SearchStats::default();
        let mut best: Option<(f64, &AnalysedMove)> = None;
        for line in &lines {
            spent.expansions += line.info.spent.expansions;
            spent.playouts += line.info.spent.playouts;
            spent.time += line.info.spent.time;
            spent.depth = spent.depth.max(line.info.spent.depth);
            let value = value(line, &mut rng);
            if best.is_none_or(|(best, _)| value > best) {
                best = Some((value, line));
            }
        }
        let (_, line) = best.expect("the first search always chooses an action");
        watch(&SearchInfo { spent, ..line.info.clone() });
        Choice { action: line.action, spent }
    }
}

/// Returns a random number with a standard normal distribution [Box and Muller 1958].
fn normal(rng: &mut Rng) -> f64 {
    let (radius, angle): (f64, f64) = (1.0 - rng.random::<f64>(), rng.random());
    (-2.0 * radius.ln()).sqrt() * (TAU * angle).cos()
}

/// A number or a text that is not a level.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("expected a level from 1 to {highest}, got `{0}`", highest = Level::HIGHEST)]
pub struct LevelError(String);

impl TryFrom<u32> for Level {
    type Error = LevelError;

    fn try_from(level: u32) -> Result<Level, LevelError> {
        match level {
            1..=Level::HIGHEST => Ok(Level(level as u8)),
            _ => Err(LevelError(level.to_string())),
        }
    }
}

impl From<Level> for u32 {
    fn from(level: Level) -> u32 {
        level.0.into()
    }
}

impl FromStr for Level {
    type Err = LevelError;

    fn from_str(text: &str) -> Result<Level, LevelError> {
        let level = text.parse::<u32>().ok().and_then(|level| level.try_into().ok());
        level.ok_or_else(|| LevelError(text.to_owned()))
    }
}

/// A player at a level.
pub(crate) struct LevelPlayer {
    player: Box<dyn EnginePlayer>,
    level: Level,
    seed: u64,
}

impl LevelPlayer {
    pub fn new(player: Box<dyn EnginePlayer>, level: Level) -> LevelPlayer {
        LevelPlayer { player, level, seed: 0 }
    }
}

impl EnginePlayer for LevelPlayer {
    fn choose(&mut self, state: &GameState, limits: Limits, stop: &AtomicBool) -> Choice {
        self.think(state, limits, stop, &mut |_| ())
    }

    fn think(&mut self, state: &GameState, limits: Limits, stop: &AtomicBool, watch: &mut SearchObserver) -> Choice {
        self.level.think(&mut *self.player, state, limits, self.seed, stop, watch)
    }

    fn observe(&mut self, action: Action) {
        self.player.observe(action);
    }

    fn begin(&mut self, start: &GameState) {
        self.player.begin(start);
    }

    fn exclude(&mut self, moves: &[Move]) -> bool {
        // A search for several lines excludes moves itself.
        moves.is_empty()
    }

    fn reset(&mut self, seed: u64) {
        self.seed = seed;
        self.player.reset(seed);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use sternhalma_data::Board;
    use sternhalma_ggp::{Game, MemoryBudget};

    use super::*;
    use crate::distances::Distances;
    use crate::players::roster::Roster;
    use crate::rules::{ChineseCheckers, Filter};

    fn made(name: &str, board: Board) -> Box<dyn EnginePlayer> {
        let config = Roster::built_in().config(name).unwrap();
        let game = ChineseCheckers::new(board, Filter::All);
        config
            .prepare(game.setup(), Some(&Distances::estimated(board)))
            .unwrap()
            .start(&MemoryBudget::unlimited())
            .unwrap()
    }

    #[test]
    fn levels_are_from_1_to_10_and_grow() {
        for text in ["0", "11", "-1", "x", ""] {
            assert_eq!(text.parse::<Level>(), Err(LevelError(text.to_owned())));
            assert_eq!(LevelError(text.to_owned()).to_string(), format!("expected a level from 1 to 10, got `{text}`"));
        }
        let levels: Vec<Level> = (1..=10).map(|level| Level::try_from(level).unwrap()).collect();
        assert!(levels.windows(2).all(|two| two[0].nodes() <= two[1].nodes() && two[0].noise() >= two[1].noise()));
        assert!(levels.windows(2).all(|two| (two[0].nodes(), two[0].noise()) != (two[1].nodes(), two[1].noise())));
    }

    #[test]
    fn a_level_is_a_parameter_that_limits_the_search() {
        let board = Board::new(5, 3).unwrap();
        let state = ChineseCheckers::new(board, Filter::All).initial();
        let stop = AtomicBool::new(false);
        for level in 1..=9 {
            let nodes = Level::try_from(level).unwrap().nodes();
            let mut player = made(&format!("sternhalma,level={level}"), board);
            player.reset(1);
            let spent = player.choose(&state, Limits::default(), &stop).spent.expansions;
            assert!((1..=nodes).contains(&spent), "level {level}: {spent}");
            player.reset(1);
            assert!(player.choose(&state, Limits::expansions(12), &stop).spent.expansions <= 12);
        }
        let error = Roster::built_in().config("sternhalma,level=11").unwrap_err().to_string();
        assert!(error.contains("expected a whole number from 1 to 10, got `11`"), "{error}");
    }

    #[test]
    fn noise_varies_the_moves_of_low_levels_only() {
        let board = Board::new(5, 3).unwrap();
        let state = ChineseCheckers::new(board, Filter::All).initial();
        let moves = |level: u32| {
            let mut player = made(&format!("sternhalma,level={level}"), board);
            let mut counts: HashMap<Action, u32> = HashMap::new();
            for seed in 0..60 {
                player.reset(seed);
                *counts.entry(player.choose(&state, Limits::default(), &AtomicBool::new(false)).action).or_default() +=
                    1;
            }
            counts
        };
        let [first, fifth, ninth] = [1, 5, 9].map(moves);
        assert_eq!(ninth.len(), 1);
        assert!(first.len() > 3, "{first:?}");
        let most = |counts: &HashMap<Action, u32>| counts.values().copied().max();
        assert!(most(&first) < most(&fifth), "{first:?} {fifth:?}");
    }

    #[test]
    fn a_win_is_not_missed_at_any_level() {
        let board = Board::new(4, 3).unwrap();
        let game = ChineseCheckers::new(board, Filter::All);
        let state = game.state(&"2xx/2x1/4/ooo1 x 20".parse().unwrap()).unwrap();
        for level in 1..=9_u32 {
            let mut player = made(&format!("sternhalma,level={level}"), board);
            player.reset(level.into());
            let mut after = state;
            game.play_action(&mut after, player.choose(&state, Limits::default(), &AtomicBool::new(false)).action);
            assert!(after.outcome().is_some(), "level {level}");
        }
    }
}
