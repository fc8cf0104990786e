//! Merged logs of the parts of a tournament.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::rule_set;
use super::rules_backend::replace_rules_by_digest;
use super::{Difference, GameCheck, GameId, GameLog, GameRecord, LogError, Schedule, ScheduleError};

/// A tournament with games of several logs.
pub type MergedLogs = (Schedule, Vec<GameRecord>);

/// Logs that cannot be merged.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum MergeError {
    /// A log cannot be read.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The schedule of a log is invalid.
    #[error("{path}: the schedule is invalid")]
    Schedule {
        /// The log.
        path: PathBuf,
        /// The error.
        source: ScheduleError,
    },
    /// A directory cannot be read.
    #[error("{path}: cannot read the directory")]
    Directory {
        /// The directory.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// There are no logs.
    #[error("{path}: no logs found, expected `*.ndjson` or `*.ndjson.zst`")]
    Empty {
        /// The first directory.
        path: PathBuf,
    },
    /// Two logs belong to different tournaments.
    #[error("{path}: the log belongs to a different tournament than {first} ({difference})")]
    OtherTournament {
        /// The log.
        path: PathBuf,
        /// The first log.
        first: PathBuf,
        /// The first difference.
        difference: Difference,
    },
    /// Two logs have different records of a game.
    #[error(
        "{first}: the logs have different records of game {} of pairing {} in round {}; leave one log out",
        id.game, id.pairing, id.round
    )]
    Conflict {
        /// The first log.
        first: PathBuf,
        /// The game.
        id: GameId,
    },
}

/// Merges the logs of all parts of a tournament. A game that several logs contain is kept once. `check` checks the games
/// of lines without a checksum.
///
/// # Errors
/// Returns an error if a log cannot be read, if `check` refuses a game, or if the logs contradict each other.
pub fn merge_logs(logs: &[PathBuf], check: &GameCheck<'_>) -> Result<MergedLogs, MergeError> {
    let mut merged: Option<Schedule> = None;
    let mut records: Vec<GameRecord> = Vec::new();
    for path in logs {
        let (mut schedule, found) = GameLog::read_checked(path, check)?;
        schedule.shard = None;
        replace_rules_by_digest(&mut schedule.game);
        rule_set::leave_out_default(&mut schedule.game);
        schedule.check().map_err(|source| MergeError::Schedule { path: path.clone(), source })?;
        if let Some(merged) = &merged {
            check_same(merged, &schedule).map_err(|difference| {
                let (path, first) = (path.clone(), logs[0].clone());
                MergeError::OtherTournament { path, first, difference }
            })?;
        }
        merged.get_or_insert(schedule);
        records.extend(found);
    }
    let schedule = merged.ok_or_else(|| MergeError::Empty { path: PathBuf::new() })?;
    records.sort_by_key(|record| record.id);
    let conflict = records.windows(2).find(|two| two[0].id == two[1].id && !is_same_game(&two[0], &two[1]));
    if let Some([GameRecord { id, .. }, _]) = conflict {
        return Err(MergeError::Conflict { first: logs[0].clone(), id: *id });
    }
    records.dedup_by_key(|record| record.id);
    Ok((schedule, records))
}

/// Merges the logs of directories, by game. The game of a log is its file name up to the first dot.
///
/// # Errors
/// Returns an error if there are no logs, and in the cases of [`merge_logs`].
pub fn merge_directories(dirs: &[PathBuf], check: &GameCheck<'_>) -> Result<Vec<(String, MergedLogs)>, MergeError> {
    let mut logs: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    for dir in dirs {
        let found = logs_of(dir).map_err(|source| MergeError::Directory { path: dir.clone(), source })?;
        found.into_iter().for_each(|(game, path)| logs.entry(game).or_default().push(path));
    }
    if logs.is_empty() {
        return Err(MergeError::Empty { path: dirs.first().cloned().unwrap_or_default() });
    }
    logs.into_iter().map(|(game, paths)| Ok((game, merge_logs(&paths, check)?))).collect()
}

/// Returns the logs of a directory with their games, in order of names.
fn logs_of(dir: &Path) -> io::Result<Vec<(String, PathBuf)>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.ends_with(".ndjson") || name.ends_with(".ndjson.zst") {
            let game = name.split('.').next().unwrap_or_default().to_owned();
            found.push((game, path));
        }
    }
    found.sort();
    Ok(found)
}

/// Checks that two logs have the same games, with the same places. Titles may differ.
fn check_same(first: &Schedule, other: &Schedule) -> Result<(), Difference> {
    let untitled = |schedule: &Schedule| {
        let mut schedule = schedule.clone();
        schedule.entrants.iter_mut().for_each(|entrant| entrant.title = None);
        schedule
    };
    if untitled(first) == untitled(other) {
        return Ok(());
    }
    Err(match other.continuing(first).and_then(|_| first.continuing(other)) {
        Err(difference) => difference,
        Ok(_) => "the order of players or pairings differs".to_owned().into(),
    })
}

/// Returns whether two records are of the same course of a game. Times may differ.
fn is_same_game(a: &GameRecord, b: &GameRecord) -> bool {
    (&a.opening, &a.moves, &a.goals) == (&b.opening, &b.moves, &b.goals)
}

#[cfg(test)]
mod tests {
    use super::super::log::GameLog;
    use super::super::record::tests::record_of;
    use super::super::schedule::tests::schedule;
    use super::*;

    fn record(game: u64, goals: [u8; 2]) -> GameRecord {
        let players = vec!["a".to_owned(), "b".to_owned()];
        GameRecord { players, ..record_of(GameId { round: 0, pairing: 0, game }, &goals) }
    }

    #[test]
    fn parts_are_merged_unless_they_contradict_each_other() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        let any = |_: &Schedule, _: &GameRecord| Ok(());
        let whole = schedule(2, &["a", "b"], &[6]);
        let part = |name: &str, shard: &str, records: &[GameRecord]| {
            let schedule = Schedule { shard: Some(shard.parse().unwrap()), ..whole.clone() };
            GameLog::create(&path(name), &schedule, records).unwrap();
        };
        part("g.1.ndjson", "1/2", &[record(5, [0, 100]), record(0, [100, 0])]);
        part("g.2.ndjson.zst", "2/2", &[record(2, [50, 50]), record(0, [100, 0])]);
        let expected = vec![record(0, [100, 0]), record(2, [50, 50]), record(5, [0, 100])];
        let merged = (whole.clone(), expected);
        assert_eq!(merge_logs(&["g.2.ndjson.zst", "g.1.ndjson"].map(path), &any).unwrap(), merged);
        let by_game = merge_directories(&[dir.path().to_owned()], &any).unwrap();
        assert_eq!(by_game, [("g".to_owned(), merged)]);

        part("other", "1/2", &[record(0, [0, 100])]);
        let error = merge_logs(&["g.1.ndjson", "other"].map(path), &any).unwrap_err().to_string();
        assert!(error.contains("different records of game 0 of pairing 0 in round 0"), "{error}");
        GameLog::create(&path("seed"), &Schedule { seed: 9, ..whole }, &[]).unwrap();
        let error = merge_logs(&["g.1.ndjson", "seed"].map(path), &any).unwrap_err().to_string();
        assert!(error.contains("different tournament"), "{error}");
        std::fs::create_dir(path("empty")).unwrap();
        assert!(merge_directories(&[path("empty")], &any).unwrap_err().to_string().contains("no logs found"));
    }
}
