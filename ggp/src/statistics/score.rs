//! Counts of won, lost and drawn games.

use serde::{Deserialize, Serialize};

use super::elo::{Outcomes, half_points};
use super::interval::wilson;

/// The games of a match, counted for the first player.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Score {
    /// Number of games.
    pub games: u64,
    /// Number of games won.
    pub wins: u64,
    /// Number of games lost.
    pub losses: u64,
    /// Number of games drawn.
    pub draws: u64,
}

impl Score {
    /// Adds a game: 1 is a win, 0 a loss, and any value between a draw.
    pub fn add(&mut self, score: f64) {
        self.games += 1;
        *[&mut self.losses, &mut self.draws, &mut self.wins][half_points(score)] += 1;
    }

    /// Returns the score as a share of the games. A draw counts one half.
    pub fn rate(&self) -> f64 {
        (self.wins as f64 + 0.5 * self.draws as f64) / (self.games as f64).max(1.0)
    }

    /// Returns the 95% confidence interval of [`rate`](Score::rate), by Wilson's score, over single games.
    pub fn interval(&self) -> [f64; 2] {
        if self.games == 0 {
            return [0.0, 1.0];
        }
        wilson(self.rate(), self.games)
    }

    /// Adds the games of another score.
    pub fn join(&mut self, other: Score) {
        self.games += other.games;
        self.wins += other.wins;
        self.losses += other.losses;
        self.draws += other.draws;
    }

    /// Returns the counts as outcomes of single games.
    pub fn outcomes(&self) -> Outcomes<3> {
        Outcomes::new([self.losses, self.draws, self.wins])
    }

    /// Returns the score of the same games, counted for the opponent.
    #[must_use]
    pub fn reversed(self) -> Score {
        Score { wins: self.losses, losses: self.wins, ..self }
    }
}
