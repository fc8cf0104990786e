//! Results of tournaments as columns.

use std::path::PathBuf;

use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::Serialize;
use sternhalma_engine::record::check_logged;
use sternhalma_ggp::arena::{
    EntrantSummary, GameLog, GameRecord, LogError, PairingSummary, RoundSummary, Schedule, ScheduleError, ScoreSummary,
    Standings, Termination, Totals, merge_directories, result_text, standings_text,
};
use sternhalma_ggp::statistics::{Estimate, Verdict};

use crate::errors::{exceptions, message};

/// The results of a tournament.
#[pyclass(frozen, module = "sternhalma._native")]
pub struct Results {
    standings: Standings,
    /// In the order in which games start.
    records: Vec<GameRecord>,
}

/// Returns the exception for an error of a log.
pub fn log_error(error: LogError) -> PyErr {
    let text = message(&error);
    match error {
        LogError::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound => {
            exceptions::LogNotFound::new_err(text)
        }
        _ => exceptions::LogError::new_err(text),
    }
}

/// Reads a log.
#[pyfunction]
pub fn read_log(py: Python<'_>, path: PathBuf) -> PyResult<Results> {
    py.detach(|| {
        let (schedule, records) = GameLog::read_checked(&path, &check_logged).map_err(log_error)?;
        let invalid = |error: ScheduleError| {
            exceptions::LogError::new_err(format!("{}: line 1: {}", path.display(), message(&error)))
        };
        schedule.check().map_err(invalid)?;
        Ok(Results::new(schedule, records))
    })
}

/// Reads the logs of directories, and merges those of one game.
#[pyfunction]
pub fn read_logs(py: Python<'_>, directories: Vec<PathBuf>) -> PyResult<Vec<(String, Results)>> {
    let merged = py.detach(|| merge_directories(&directories, &check_logged));
    let merged = merged.map_err(|error| exceptions::LogError::new_err(message(&error)))?;
    Ok(merged.into_iter().map(|(name, (schedule, records))| (name, Results::new(schedule, records))).collect())
}

/// Returns pickled results: the schedule and the games, as JSON.
#[pyfunction]
pub fn restore_results(schedule: &str, records: &str) -> PyResult<Results> {
    let wrong = |error: &dyn std::error::Error| exceptions::LogError::new_err(message(error));
    let schedule: Schedule = serde_json::from_str(schedule).map_err(|error| wrong(&error))?;
    let records = serde_json::from_str(records).map_err(|error| wrong(&error))?;
    schedule.check().map_err(|error| wrong(&error))?;
    Ok(Results::new(schedule, records))
}

/// Columns with one value per row, by name.
struct Columns<'a, 'py, T> {
    rows: &'a [T],
    dict: Bound<'py, PyDict>,
}

impl<'a, 'py, T> Columns<'a, 'py, T> {
    fn new(py: Python<'py>, rows: &'a [T]) -> Columns<'a, 'py, T> {
        Columns { rows, dict: PyDict::new(py) }
    }

    /// Adds a column of texts, or of lists of texts, as a list.
    fn texts<V: IntoPyObject<'py>>(&self, name: &str, value: impl Fn(&'a T) -> V) -> PyResult<()> {
        self.dict.set_item(name, self.rows.iter().map(value).collect::<Vec<V>>())
    }

    /// Adds a column of counts.
    fn counts(&self, name: &str, value: impl Fn(&'a T) -> u64) -> PyResult<()> {
        let values = self.rows.iter().map(|row| i64::try_from(value(row)).unwrap_or(i64::MAX));
        self.dict.set_item(name, PyArray1::from_iter(self.dict.py(), values))
    }

    /// Adds a column of numbers. Missing numbers are NaN.
    fn numbers(&self, name: &str, value: impl Fn(&'a T) -> Option<f64>) -> PyResult<()> {
        let values = self.rows.iter().map(|row| value(row).unwrap_or(f64::NAN));
        self.dict.set_item(name, PyArray1::from_iter(self.dict.py(), values))
    }

    /// Adds the columns of an estimate and of its interval.
    fn estimate(&self, name: &str, value: impl Fn(&'a T) -> Option<Estimate>) -> PyResult<()> {
        self.numbers(name, |row| Some(value(row)?.value))?;
        self.numbers(&format!("{name}_low"), |row| Some(value(row)?.interval[0]))?;
        self.numbers(&format!("{name}_high"), |row| Some(value(row)?.interval[1]))
    }

    /// Adds the columns of a score: counts, points, the share of the points, and its interval.
    fn score(&self, score: impl Fn(&'a T) -> Option<ScoreSummary>) -> PyResult<()> {
        let count = |row, of: fn(ScoreSummary) -> u64| score(row).map_or(0, of);
        self.counts("wins", |row| count(row, |score| score.score.wins))?;
        self.counts("draws", |row| count(row, |score| score.score.draws))?;
        self.counts("losses", |row| count(row, |score| score.score.losses))?;
        let points = |row| Some(score(row)?.score).map(|score| score.wins as f64 + 0.5 * score.draws as f64);
        self.numbers("points", points)?;
        self.estimate("score", |row| score(row).map(|score| Estimate { value: score.rate, interval: score.interval }))
    }

    /// Adds the columns of the cost of searches.
    fn cost(&self, suffix: &str, spent: impl Fn(&'a T) -> Totals) -> PyResult<()> {
        self.counts(&format!("searches{suffix}"), |row| spent(row).moves)?;
        self.counts(&format!("nodes{suffix}"), |row| spent(row).expansions)?;
        self.counts(&format!("playouts{suffix}"), |row| spent(row).playouts)?;
        self.numbers(&format!("seconds{suffix}"), |row| Some(spent(row).seconds))?;
        self.counts(&format!("memory_limited{suffix}"), |row| spent(row).memory_limited)
    }
}

impl Results {
    /// Creates the results of games, in any order, of a checked schedule.
    pub fn new(schedule: Schedule, mut records: Vec<GameRecord>) -> Results {
        records.sort_by_key(|record| schedule.number(record.id));
        records.dedup_by_key(|record| record.id);
        Results { standings: Standings::with_games(schedule, &records), records }
    }

    /// Returns the number of games of an entrant.
    fn games_of(&self, place: usize, round: &RoundSummary) -> u64 {
        let schedule = self.standings.schedule();
        let own = schedule.pairings.iter().zip(&round.pairings).filter(|(players, _)| players.contains(&place));
        // A single role is played by each player in half of the games.
        own.map(|(_, pairing)| if schedule.roles == 1 { pairing.games / 2 } else { pairing.games }).sum()
    }
}

fn json(value: &impl Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|error| exceptions::LogError::new_err(error.to_string()))
}

#[pymethods]
impl Results {
    /// The number of games that count.
    #[getter]
    fn played(&self) -> u64 {
        self.standings.played()
    }

    /// The number of games that count when all are played.
    #[getter]
    fn expected(&self) -> u64 {
        self.standings.expected()
    }

    /// Returns the schedule as JSON.
    fn schedule(&self) -> PyResult<String> {
        json(self.standings.schedule())
    }

    /// Returns the games as JSON.
    fn records(&self) -> PyResult<String> {
        json(&self.records)
    }

    /// Returns the results as text.
    fn text(&self) -> String {
        standings_text(&self.standings)
    }

    /// Returns the columns of the players, a row per round and player.
    fn players<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let rounds = self.standings.summary();
        let rows: Vec<(&RoundSummary, usize, &EntrantSummary)> = rounds
            .iter()
            .flat_map(|round| round.entrants.iter().enumerate().map(move |(place, entrant)| (round, place, entrant)))
            .collect();
        let columns = Columns::new(py, &rows);
        columns.texts("round", |(round, ..)| &round.name)?;
        columns.texts("player", |(.., entrant)| &entrant.name)?;
        columns.counts("games", |&(round, place, _)| self.games_of(place, round))?;
        columns.score(|(.., entrant)| entrant.score)?;
        columns.estimate("elo", |(.., entrant)| entrant.elo)?;
        columns.numbers("goal", |(.., entrant)| entrant.goal)?;
        columns.counts("faults", |(.., entrant)| entrant.faults.values().sum())?;
        columns.cost("", |(.., entrant)| entrant.spent)?;
        Ok(columns.dict)
    }

    /// Returns the columns of the pairings, a row per round and pairing.
    fn pairings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let rounds = self.standings.summary();
        let rows: Vec<(&str, &PairingSummary)> = rounds
            .iter()
            .flat_map(|round| round.pairings.iter().map(move |pairing| (round.name.as_str(), pairing)))
            .collect();
        let columns = Columns::new(py, &rows);
        columns.texts("round", |&(round, _)| round)?;
        columns.texts("a", |(_, pairing)| &pairing.a)?;
        columns.texts("b", |(_, pairing)| &pairing.b)?;
        columns.counts("games", |(_, pairing)| pairing.games)?;
        columns.score(|(_, pairing)| pairing.score)?;
        columns.estimate("elo", |(_, pairing)| pairing.elo)?;
        columns.estimate("nelo", |(_, pairing)| pairing.nelo)?;
        for (place, name) in ["pairs_0", "pairs_1", "pairs_2", "pairs_3", "pairs_4"].into_iter().enumerate() {
            columns.counts(name, |(_, pairing)| pairing.pairs[place])?;
        }
        columns.numbers("first_score", |(_, pairing)| Some(pairing.first?.rate))?;
        columns.numbers("plies", |(_, pairing)| pairing.mean_plies)?;
        if self.standings.schedule().test.is_some() {
            let bound = |pairing: &PairingSummary, place: usize| Some(pairing.sprt?.bounds[place]);
            columns.numbers("llr", |(_, pairing)| Some(pairing.sprt?.llr))?;
            columns.numbers("llr_low", |(_, pairing)| bound(pairing, 0))?;
            columns.numbers("llr_high", |(_, pairing)| bound(pairing, 1))?;
            columns.texts("accepted", |(_, pairing)| match pairing.sprt.map(|test| test.verdict) {
                Some(Verdict::H0) => "H0",
                Some(Verdict::H1) => "H1",
                _ => "",
            })?;
        }
        Ok(columns.dict)
    }

    /// Returns the columns of the games, in the order in which they start.
    fn games<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let schedule = self.standings.schedule();
        let columns = Columns::new(py, &self.records);
        columns.counts("number", |record| schedule.number(record.id))?;
        columns.texts("round", |record| schedule.rounds[record.id.round].name.as_str())?;
        columns.counts("pairing", |record| record.id.pairing as u64)?;
        columns.counts("game", |record| record.id.game)?;
        for role in 0..schedule.roles {
            columns.texts(&format!("player_{}", role + 1), |record| schedule.titles(record.id)[role])?;
        }
        columns.texts("result", |record| result_text(&record.goals))?;
        for role in 0..schedule.roles {
            columns.counts(&format!("goal_{}", role + 1), |record| u64::from(record.goals[role]))?;
        }
        columns.counts("plies", |record| u64::from(record.plies))?;
        columns.texts("end", |record| match record.end {
            Termination::Rules => "rules",
            Termination::PlyLimit => "ply-limit",
            Termination::Repetition => "repetition",
            Termination::Adjudicated => "adjudicated",
            Termination::Fault => "fault",
        })?;
        columns
            .texts("fault", |record| record.fault.as_ref().map_or(String::new(), |fault| fault.fault.to_string()))?;
        columns.texts("opening", |record| record.opening.as_str())?;
        columns.texts("moves", |record| &record.moves)?;
        for role in 0..schedule.roles {
            columns.cost(&format!("_{}", role + 1), |record| record.spent[role])?;
        }
        Ok(columns.dict)
    }
}
