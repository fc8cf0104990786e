//! Training of evaluations for Chinese Checkers: games of self-play, and models that are fitted to them.
//!
//! [`SelfPlay`] plays games, and [`GameFile`] stores them. `docs/reference/training-data.md` defines the bytes of such a file.
//!
//! ```
//! use sternhalma_data::Board;
//! use sternhalma_engine::{Distances, GameSetup, Roster};
//! use sternhalma_ggp::MemoryBudget;
//! use sternhalma_trainer::{GameFile, SelfPlay, SelfPlaySetup};
//! let board = Board::new(7, 3)?;
//! let setup = SelfPlaySetup::new(GameSetup::new(board), "sternhalma,table_megabytes=1", 50);
//! let distances = Distances::estimated(board);
//! let config = Roster::built_in().config(&setup.player)?;
//! let play = SelfPlay::new(setup.clone(), &[], distances.clone())?;
//! let player = config.prepare(play.game().setup(), Some(&distances))?;
//! let mut player = player.start(&MemoryBudget::unlimited())?;
//! let game = play.game_of(&mut *player, 0, &Default::default())?.expect("nothing stops it");
//! let directory = tempfile::tempdir()?;
//! let (mut file, _) = GameFile::open(&directory.path().join("games.bin"), &setup)?;
//! file.append(&[game])?;
//! assert_eq!(file.games(), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods))]

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod file;
mod fit;
mod game;
mod generate;
mod model;
mod samples;
mod selfplay;

pub use file::{GameFile, GameFileError, OpenedFile, read_games};
pub use fit::{EpochLoss, FitOptions, fit, fit_scale, mean_loss};
pub use game::{PlyScore, TrainingGame, TrainingPly};
pub use generate::{GenerateError, generate};
pub use model::{LinearModel, Model, NetworkModel};
pub use samples::{Sample, SampleScore, samples, split};
pub use selfplay::{OpeningError, SelfPlay, SelfPlayError, SelfPlaySetup};

#[cfg(test)]
mod tests;
