//! Samples: the positions of games in which the armies may still meet.

use rayon::prelude::*;
use sternhalma_data::{Board, CellSet, Side};
use sternhalma_engine::{ChineseCheckers, Distances, Filter, GameSetup, GameState};
use sternhalma_ggp::derive_seed;

use crate::game::{PlyScore, TrainingGame};

/// A position, seen by the player to move.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Sample {
    /// The own pieces and those of the opponent, each in the goal order of its own player.
    pub armies: [CellSet; 2],
    /// The lead according to the table, in hundredths of a move.
    pub lead: f32,
    /// The score of the search.
    pub score: SampleScore,
    /// The result of the game: 1 for a win, 1/2 for a draw, 0 for a loss.
    pub result: f32,
}

/// The score of a sample.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum SampleScore {
    /// A lead in hundredths of a move.
    Lead(f32),
    /// A race whose winner is certain: 1 for a win, 0 for a loss.
    Decided(f32),
}

impl Sample {
    /// Returns the target: the mean of the expected result of the score and of the result, with the weight `blend` for
    /// the score. `scale` is the lead, in hundredths of a move, whose odds are e to 1.
    pub fn target(&self, scale: f32, blend: f32) -> f32 {
        let expected = match self.score {
            SampleScore::Lead(lead) => sigmoid(lead / scale),
            SampleScore::Decided(result) => result,
        };
        blend * expected + (1.0 - blend) * self.result
    }

    /// Returns the sample after the reflection that exchanges the axes of the board.
    #[must_use]
    pub fn mirrored(self, board: Board) -> Sample {
        Sample { armies: self.armies.map(|army| board.geometry().mirror(army)), ..self }
    }
}

/// Returns the expected result of a lead in units of the scale.
pub fn sigmoid(lead: f32) -> f32 {
    1.0 / (1.0 + (-lead).exp())
}

/// Divides games into those for training and those that are held out, about `percent` of them. A game stays on its side
/// if later games are added.
pub fn split(games: Vec<TrainingGame>, percent: u64, seed: u64) -> [Vec<TrainingGame>; 2] {
    let mut sets = [Vec::new(), Vec::new()];
    for (number, game) in (0..).zip(games) {
        sets[usize::from(derive_seed(seed, number) % 100 < percent)].push(game);
    }
    sets
}

/// Returns the samples of games on a board: the positions with a score that is not a proof, and in which the armies
/// have not passed each other. Games of [`SelfPlay`](crate::SelfPlay) end when the armies pass.
pub fn samples(board: Board, games: &[TrainingGame], distances: &Distances) -> Vec<Sample> {
    // The moves are known, so the rules of the games do not matter.
    let rules = ChineseCheckers::of(GameSetup::new(board), Filter::All);
    let of = |game: &TrainingGame| {
        let mut found = Vec::new();
        game.for_each_state(&rules, |state, ply| {
            let score = match ply.score {
                PlyScore::Lead(lead) => SampleScore::Lead(lead.into()),
                PlyScore::Race(lead) => SampleScore::Decided(if lead > 0 { 1.0 } else { 0.0 }),
                PlyScore::Proof(_) | PlyScore::Unknown => return,
            };
            if !rules.have_passed(state) && state.outcome().is_none() {
                found.push(sample(&rules, state, distances, score, game.winner));
            }
        });
        found
    };
    games.par_iter().flat_map_iter(of).collect()
}

fn sample(
    rules: &ChineseCheckers,
    state: &GameState,
    distances: &Distances,
    score: SampleScore,
    winner: Option<Side>,
) -> Sample {
    let sides = [state.player(), state.player().other()];
    let [own, other] = sides.map(|side| {
        let (army, rank) = rules.ranked(state, side);
        (army.cells(), distances.of(army, rank))
    });
    let result = winner.map_or(0.5, |winner| f32::from(u8::from(winner == sides[0])));
    Sample { armies: [own.0, other.0], lead: ((other.1 - own.1) * 100.0) as f32, score, result }
}
