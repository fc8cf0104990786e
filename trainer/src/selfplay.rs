//! Games of a player against itself.

use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use rand::{RngExt, SeedableRng};
use serde::{Deserialize, Serialize};
use sternhalma_data::{Board, BoardError, RuleSet, Side};
use sternhalma_engine::{ChineseCheckers, Distances, EnginePlayer, Filter, GameSetup, GameState, Outcome, Repetitions};
use sternhalma_ggp::arena::{ArenaGame, MAX_OPENING_PLIES, OpeningsError};
use sternhalma_ggp::{Game, Limits, Rng, derive_seed};
use xxhash_rust::xxh3::xxh3_64;

use crate::game::{PlyScore, TrainingGame, TrainingPly};

/// Everything on which the games of a file depend.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SelfPlaySetup {
    /// Cells along an edge of the board.
    pub size: u64,
    /// Pieces per army.
    pub pieces: u64,
    /// The rules.
    pub rules: RuleSet,
    /// The ply at which a game is a draw.
    pub ply_limit: u32,
    /// The player, as for [`Roster::config`](sternhalma_engine::Roster::config).
    pub player: String,
    /// The parameters of the player, for programs in which the same name has other parameters.
    pub parameters: String,
    /// The checksum of the learned weights of the player, if it has any.
    pub weights: Option<u64>,
    /// The checksum of the distance table, if the player has one.
    pub table: Option<u64>,
    /// Node expansions per move.
    pub nodes: u64,
    /// The seed of the openings and of the player.
    pub seed: u64,
    /// The smallest and the largest number of random plies of an opening.
    pub opening_plies: [u32; 2],
    /// The checksum of the positions before the random plies, if they are not the initial one.
    pub openings: Option<u64>,
}

impl SelfPlaySetup {
    /// Returns the setup of a player with 4 to 10 random plies after the initial position.
    pub fn new(game: GameSetup, player: &str, nodes: u64) -> SelfPlaySetup {
        SelfPlaySetup {
            size: game.board.size() as u64,
            pieces: game.board.pieces() as u64,
            rules: game.rules,
            ply_limit: game.ply_limit,
            player: player.to_owned(),
            parameters: String::new(),
            weights: None,
            table: None,
            nodes,
            seed: 1,
            opening_plies: [4, 10],
            openings: None,
        }
    }

    /// Returns the board and the rules.
    ///
    /// # Errors
    ///
    /// Returns an error if two armies do not fit.
    pub fn game(&self) -> Result<GameSetup, BoardError> {
        let board = Board::new(self.size, self.pieces)?.for_two()?;
        Ok(GameSetup::new(board).with_rules(self.rules).with_ply_limit(self.ply_limit))
    }
}

/// The number of draws after which no opening is expected.
const MAX_ATTEMPTS: usize = 10_000;

/// A game without an opening.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "no opening can be drawn for game {number}: {least} to {most} random plies end the game, or let the armies pass; \
     expected fewer opening plies, or a larger ply limit"
)]
pub struct OpeningError {
    number: u64,
    least: u32,
    most: u32,
}

/// An error of a setup.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SelfPlayError {
    /// Two armies do not fit on the board.
    #[error(transparent)]
    Board(#[from] BoardError),
    /// A listed opening is invalid.
    #[error(transparent)]
    Openings(#[from] OpeningsError),
    /// There are too many random plies.
    #[error("expected 0 to {MAX_OPENING_PLIES} random plies of an opening, got {0}")]
    Plies(u32),
}

/// Plays the games of a setup. Each game depends on the setup and its number alone.
pub struct SelfPlay {
    game: ChineseCheckers,
    setup: SelfPlaySetup,
    distances: Distances,
    /// The states before the random plies.
    starts: Vec<GameState>,
}

impl SelfPlay {
    /// Creates the games of a setup. They begin at the positions of `openings` in turn, or at the initial position if
    /// there are none, and then with random plies. Sets the checksums of the openings and of the table.
    ///
    /// # Errors
    ///
    /// Returns an error if two armies do not fit, an opening is invalid, or the random plies are too many.
    pub fn new(mut setup: SelfPlaySetup, openings: &[String], distances: Distances) -> Result<SelfPlay, SelfPlayError> {
        if let Some(plies) = setup.opening_plies.into_iter().find(|&plies| plies > MAX_OPENING_PLIES) {
            return Err(SelfPlayError::Plies(plies));
        }
        let game = ChineseCheckers::of(setup.game()?, Filter::All);
        let opening = |(index, text): (usize, &String)| match game.opening(text) {
            // A game of no plies would make no position.
            Ok(opening) if game.have_passed(&opening.state) => {
                let reason = sternhalma_ggp::arena::OpeningError::notation(format!(
                    "the armies of `{text}` have passed each other"
                ));
                Err(OpeningsError::Listed { index, reason })
            }
            Ok(opening) => Ok(opening.state),
            Err(reason) => Err(OpeningsError::Listed { index, reason }),
        };
        let mut starts = openings.iter().enumerate().map(opening).collect::<Result<Vec<GameState>, _>>()?;
        setup.openings = (!starts.is_empty()).then(|| xxh3_64(openings.join("\n").as_bytes()));
        setup.table = distances.table().map(|table| table.checksum());
        if starts.is_empty() {
            starts.push(game.initial());
        }
        Ok(SelfPlay { game, setup, distances, starts })
    }

    /// Returns the setup.
    pub fn setup(&self) -> &SelfPlaySetup {
        &self.setup
    }

    /// Returns the rules of the games.
    pub fn game(&self) -> &ChineseCheckers {
        &self.game
    }

    /// Checks that a game has an opening, until `stop` is set.
    ///
    /// # Errors
    ///
    /// Returns an error if no opening can be drawn.
    pub fn check_opening(&self, number: u64, stop: &AtomicBool) -> Result<(), OpeningError> {
        self.opening(number, stop).map(drop)
    }

    /// Plays a game with a player of the setup. Returns `None` if it is stopped.
    ///
    /// The game ends when the armies [have passed](ChineseCheckers::have_passed) each other. The player with the smaller
    /// distance then wins. With adjacent rows this is wrong in few positions, and a [race](ChineseCheckers::is_race) of
    /// the search therefore needs an empty row. Files of games continue with the end that they began with, so their games
    /// end one row earlier.
    ///
    /// # Errors
    ///
    /// Returns an error if no opening can be drawn.
    pub fn game_of(
        &self,
        player: &mut dyn EnginePlayer,
        number: u64,
        stop: &AtomicBool,
    ) -> Result<Option<TrainingGame>, OpeningError> {
        let seed = derive_seed(self.setup.seed, number);
        let Some(start) = self.opening(number, stop)? else { return Ok(None) };
        let (mut state, mut plies) = (start, Vec::new());
        let mut repetitions = Repetitions::new(&self.game, &start);
        player.reset(seed);
        player.begin(&start);
        let mut is_draw = false;
        while state.outcome().is_none() && !is_draw && !self.game.have_passed(&state) {
            let mut score = PlyScore::Unknown;
            let limits = Limits::expansions(self.setup.nodes);
            let choice = player.think(&state, limits, stop, &mut |info| score = PlyScore::of(info));
            if stop.load(Relaxed) {
                return Ok(None);
            }
            plies.push(TrainingPly { action: choice.action, score });
            self.game.play_action(&mut state, choice.action);
            player.observe(choice.action);
            is_draw = repetitions.push(&self.game, &state);
        }
        let winner = match state.outcome() {
            _ if is_draw => None,
            Some(Outcome::Won(side)) => Some(side),
            Some(Outcome::Draw) => None,
            None => Some(self.race_winner(&state)),
        };
        Ok(Some(TrainingGame { start: self.game.position(&start), plies, winner }))
    }

    /// Returns the winner of a race. With equal distances the player to move arrives first.
    fn race_winner(&self, state: &GameState) -> Side {
        let [own, other] = [state.player(), state.player().other()].map(|side| {
            let (army, rank) = self.game.ranked(state, side);
            self.distances.of(army, rank)
        });
        if own <= other { state.player() } else { state.player().other() }
    }

    /// Returns the start of a game, after random plies that neither end the game nor let the armies pass, or `None` if
    /// `stop` is set.
    fn opening(&self, number: u64, stop: &AtomicBool) -> Result<Option<GameState>, OpeningError> {
        let mut rng = Rng::seed_from_u64(derive_seed(self.setup.seed, number));
        let first = self.starts[(number % self.starts.len() as u64) as usize];
        let [least, most] = self.setup.opening_plies;
        let mut moves = Vec::new();
        for _ in 0..MAX_ATTEMPTS {
            if stop.load(Relaxed) {
                return Ok(None);
            }
            let plies = rng.random_range(RangeInclusive::new(least, most.max(least)));
            let mut state = first;
            for _ in 0..plies {
                moves.clear();
                self.game.legal(&state, state.player() as usize, &mut moves);
                self.game.play_action(&mut state, moves[rng.random_range(0..moves.len())]);
                if state.outcome().is_some() {
                    break;
                }
            }
            // A start without random plies is taken as it is.
            if plies == 0 || state.outcome().is_none() && !self.game.have_passed(&state) {
                return Ok(Some(state));
            }
        }
        Err(OpeningError { number, least, most })
    }
}
