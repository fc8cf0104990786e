//! Series of tournaments: one per game, reported in tables beside published results.

use std::num::NonZeroUsize;

use serde::{Deserialize, Serialize};

use super::table::markdown;
use super::{RoundSummary, Scoring, Standings, TournamentEstimate};
use crate::statistics::SampleMean;

/// The games of a series, for its report.
#[derive(Clone, Debug, Default)]
pub struct SeriesInfo {
    /// The title of the report.
    pub title: String,
    /// The rule for points.
    pub scoring: Scoring,
    /// The games, in the order of the report.
    pub games: Vec<SeriesGame>,
}

/// A game of a series.
#[derive(Clone, Debug)]
pub struct SeriesGame {
    /// The name of the game.
    pub name: String,
    /// Whether the rulesheet was written for this project, from a description of the game.
    pub ours: bool,
    /// Published results, by the names of the players.
    pub published: Vec<([String; 2], PublishedResult)>,
}

/// A published result: the percentage of points of the first player, or the mean goals of both
/// players.
#[derive(Deserialize, Serialize, Clone, Copy, PartialEq, Debug)]
#[serde(untagged)]
pub enum PublishedResult {
    /// The percentage of points of the first player.
    Points(f64),
    /// The mean goals of both players, in a game with one role.
    Goals([f64; 2]),
}

impl PublishedResult {
    fn values(&self) -> &[f64] {
        match self {
            PublishedResult::Points(points) => std::slice::from_ref(points),
            PublishedResult::Goals(goals) => goals,
        }
    }
}

impl SeriesGame {
    fn published(&self, pairing: &[String; 2]) -> Option<&PublishedResult> {
        self.published.iter().find(|(players, _)| players == pairing).map(|(_, result)| result)
    }
}

/// The results of a series, with a table per list of pairings.
#[derive(Serialize)]
pub struct SeriesReport {
    title: String,
    scoring: Scoring,
    /// Games of all pairings.
    games: u64,
    /// Games that were played.
    played: u64,
    tables: Vec<SeriesTable>,
}

#[derive(Serialize)]
struct SeriesTable {
    pairings: Vec<[String; 2]>,
    games: Vec<SeriesRow>,
    /// By pairing: the mean over its games.
    means: Vec<SeriesCell>,
}

#[derive(Serialize)]
struct SeriesRow {
    game: String,
    /// Whether the rulesheet was written for this project.
    ours: bool,
    games: u64,
    played: u64,
    /// The players of another revision than in this program.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    other_revisions: Vec<String>,
    /// By pairing.
    cells: Vec<SeriesCell>,
    rounds: Vec<RoundSummary>,
}

/// A pairing of a game: the percentage of points of its first player, or the mean goals of both
/// players in a game with one role.
#[derive(Serialize)]
struct SeriesCell {
    figures: Vec<Option<SampleMean>>,
    /// The published value of each figure, or nothing.
    #[serde(rename = "paper")]
    published: Vec<f64>,
}

impl SeriesReport {
    /// Creates a report from the results of games, by name.
    pub fn new(info: &SeriesInfo, mut results: Vec<(String, Standings)>) -> SeriesReport {
        let place = |name: &str| info.games.iter().position(|game| game.name == name);
        results.sort_by_key(|(name, _)| place(name).unwrap_or(usize::MAX));
        let mut tables: Vec<SeriesTable> = Vec::new();
        for (name, standings) in &results {
            let pairings = pairings(standings);
            let row = SeriesRow::new(info, name, standings);
            match tables.iter_mut().find(|table| table.pairings == pairings) {
                Some(table) => table.games.push(row),
                None => tables.push(SeriesTable { pairings, games: vec![row], means: Vec::new() }),
            }
        }
        for table in &mut tables {
            table.means =
                (0..table.pairings.len()).map(|at| mean(table.games.iter().map(|row| &row.cells[at]))).collect();
        }
        SeriesReport {
            title: info.title.clone(),
            scoring: info.scoring,
            games: results.iter().map(|(_, standings)| standings.expected()).sum(),
            played: results.iter().map(|(_, standings)| standings.played()).sum(),
            tables,
        }
    }

    /// Returns the report in Markdown.
    pub fn text(&self) -> String {
        let mut parts: Vec<String> = Vec::new();
        if !self.title.is_empty() {
            parts.push(self.title.clone());
        }
        parts.extend(self.tables.iter().map(SeriesTable::text));
        if self.tables.iter().flat_map(|table| &table.games).any(|row| row.ours) {
            parts.push("† a rulesheet of our own, made from a description".to_owned());
        }
        for row in self.tables.iter().flat_map(|table| &table.games).filter(|row| !row.other_revisions.is_empty()) {
            let names = row.other_revisions.join(", ");
            parts.push(format!("{}: this program has another revision of {names}", row.game));
        }
        if self.played < self.games {
            parts.push(format!("{} of {} games were played", self.played, self.games));
        }
        parts.join("\n\n")
    }
}

fn pairings(standings: &Standings) -> Vec<[String; 2]> {
    let schedule = standings.schedule();
    (0..schedule.pairings.len()).map(|at| [0, 1].map(|player| schedule.name(at, player).to_owned())).collect()
}

impl SeriesRow {
    fn new(info: &SeriesInfo, name: &str, standings: &Standings) -> SeriesRow {
        let game = info.games.iter().find(|game| game.name == name);
        let cell = |(at, pairing): (usize, [String; 2])| {
            let figures = standings.percentages(0, at, info.scoring);
            let published = game.and_then(|game| game.published(&pairing)).map(PublishedResult::values);
            let published = published.filter(|values| values.len() == figures.len());
            SeriesCell { figures, published: published.unwrap_or_default().to_vec() }
        };
        let schedule = standings.schedule();
        let changed = (0..schedule.entrants.len()).filter(|&at| schedule.entrants[at].is_of_another_revision());
        SeriesRow {
            game: name.to_owned(),
            ours: game.is_some_and(|game| game.ours),
            games: standings.expected(),
            played: standings.played(),
            other_revisions: changed.map(|at| schedule.entrants[at].name.clone()).collect(),
            cells: pairings(standings).into_iter().enumerate().map(cell).collect(),
            rounds: standings.summary(),
        }
    }
}

impl SeriesTable {
    fn text(&self) -> String {
        let mut head = vec!["game".to_owned()];
        head.extend(self.pairings.iter().map(|[a, b]| format!("{a} vs {b}")));
        let mut rows = vec![head];
        for row in &self.games {
            let name = if row.ours { format!("{} †", row.game) } else { row.game.clone() };
            rows.push(std::iter::once(name).chain(row.cells.iter().map(SeriesCell::text)).collect());
        }
        rows.push(std::iter::once("mean".to_owned()).chain(self.means.iter().map(SeriesCell::text)).collect());
        markdown(&rows)
    }
}

/// Returns the mean of the cells with games. The published mean is over the same games, and is
/// omitted if one of them has no published result.
fn mean<'a>(cells: impl Iterator<Item = &'a SeriesCell>) -> SeriesCell {
    let played: Vec<&SeriesCell> = cells.filter(|cell| cell.figures.iter().any(Option::is_some)).collect();
    // Points and goals have no common mean.
    let count = played.first().map_or(0, |cell| cell.figures.len());
    if played.iter().any(|cell| cell.figures.len() != count) {
        return SeriesCell { figures: Vec::new(), published: Vec::new() };
    }
    let figure =
        |at: usize| SampleMean::average(&played.iter().filter_map(|cell| cell.figures[at]).collect::<Vec<_>>());
    let published = |at: usize| played.iter().map(|cell| cell.published[at]).sum::<f64>() / played.len() as f64;
    let known = played.iter().all(|cell| !cell.published.is_empty());
    SeriesCell {
        figures: (0..count).map(figure).collect(),
        published: if known { (0..count).map(published).collect() } else { Vec::new() },
    }
}

impl SeriesCell {
    /// Returns the published values, then ours with intervals and numbers of games.
    fn text(&self) -> String {
        let figure = |figure: &Option<SampleMean>| match figure {
            Some(SampleMean { games, value, interval: [low, high] }) => {
                format!("{value:.1} ({low:.1}–{high:.1}; {games})")
            }
            None => "–".to_owned(),
        };
        let ours: Vec<String> = self.figures.iter().map(figure).collect();
        let published: Vec<String> = self.published.iter().map(|value| format!("{value:.1}")).collect();
        let published = if published.is_empty() { String::new() } else { format!("**{}** ", published.join(" : ")) };
        published + &ours.join(" : ")
    }
}

/// The estimates of all games of a series.
#[derive(Serialize)]
pub struct SeriesEstimate {
    games: Vec<GameEstimate>,
    /// Pairings of all games.
    cells: usize,
    /// The total.
    all: TournamentEstimate,
}

#[derive(Serialize)]
struct GameEstimate {
    game: String,
    cells: usize,
    #[serde(flatten)]
    estimate: TournamentEstimate,
}

impl SeriesEstimate {
    /// Creates an estimate from the name, the number of pairings and the estimate of each game.
    pub fn new(games: Vec<(String, usize, TournamentEstimate)>, threads: NonZeroUsize) -> SeriesEstimate {
        let games: Vec<GameEstimate> =
            games.into_iter().map(|(game, cells, estimate)| GameEstimate { game, cells, estimate }).collect();
        let cells = games.iter().map(|game| game.cells).sum();
        let all = TournamentEstimate::sum(games.iter().map(|game| &game.estimate), threads);
        SeriesEstimate { games, cells, all }
    }

    /// Returns the estimate as a Markdown table.
    pub fn text(&self) -> String {
        let row = |name: &str, cells: usize, estimate: &TournamentEstimate| {
            let mut row = vec![name.to_owned(), cells.to_string()];
            row.extend(estimate.row());
            row
        };
        let head = ["game", "cells", "games", "played", "simulations to go", "hours to go"];
        let mut rows = vec![head.map(str::to_owned).to_vec()];
        rows.extend(self.games.iter().map(|game| row(&game.game, game.cells, &game.estimate)));
        rows.push(row("all", self.cells, &self.all));
        markdown(&rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(games: u64, value: f64, interval: [f64; 2], published: &[f64]) -> SeriesCell {
        SeriesCell { figures: vec![Some(SampleMean { games, value, interval })], published: published.to_vec() }
    }

    #[test]
    fn means_cover_the_games_that_were_played() {
        let played = [cell(10, 60.0, [50.0, 70.0], &[55.0]), cell(20, 80.0, [70.0, 90.0], &[65.0])];
        let not_played = SeriesCell { figures: vec![None], published: vec![10.0] };
        let found = mean(played.iter().chain([&not_played]));
        // The half width is √(10² + 10²) / 2.
        assert_eq!(found.text(), "**60.0** 70.0 (62.9–77.1; 30)");
        assert_eq!(not_played.text(), "**10.0** –");
        let unknown = cell(4, 40.0, [20.0, 60.0], &[]);
        assert!(mean(played.iter().chain([&unknown])).published.is_empty());
        let goals = SeriesCell { figures: vec![None, unknown.figures[0]], published: vec![30.0, 40.0] };
        assert_eq!(goals.text(), "**30.0 : 40.0** – : 40.0 (20.0–60.0; 4)");
        assert!(mean(played.iter().chain([&goals])).figures.is_empty());
    }
}
