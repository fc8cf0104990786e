//! The logs of tournaments in a directory. A log may still be written.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use sternhalma_engine::record::check_logged;
use sternhalma_ggp::arena::{GameLog, GameRecord, LogError, Schedule, Standings};

use crate::error::ApiError;
use crate::files::FileIdentity;

/// The ends of the names of logs.
const EXTENSIONS: [&str; 2] = [".ndjson", ".ndjson.zst"];

/// The largest log that is read, in bytes.
const MAX_BYTES: u64 = 1 << 30;

/// The logs of a directory. A log is read for its first request, and again if its file has changed.
#[derive(Debug)]
pub struct LogStore {
    dir: Option<PathBuf>,
    read: Mutex<HashMap<String, Known>>,
}

/// The result of the last attempt to read a file. A file that is no log is read again only after a change.
#[derive(Debug)]
struct Known {
    file: FileIdentity,
    log: Result<Arc<ReadLog>, ApiError>,
}

/// A log, as far as it was written.
#[derive(Debug)]
pub struct ReadLog {
    /// The name of the file.
    pub name: String,
    /// The schedule.
    pub schedule: Schedule,
    /// The games, in the order in which they ended.
    pub games: Vec<GameRecord>,
    results: OnceLock<LogResults>,
}

/// The results in a log.
#[derive(Debug)]
pub struct LogResults {
    /// The standings after all games.
    pub standings: Standings,
    /// The courses of the sequential tests, by round and pairing: numbers of pairs of games, and the log-likelihood
    /// ratio after them.
    pub courses: BTreeMap<(usize, usize), Vec<(u64, f64)>>,
}

impl ReadLog {
    /// Returns the results, which are computed once.
    pub fn results(&self) -> &LogResults {
        self.results.get_or_init(|| {
            let mut standings = Standings::new(self.schedule.clone());
            let mut courses = BTreeMap::<_, Vec<(u64, f64)>>::new();
            // Threads end games in any order. In the order of the games, each pair is a point.
            let mut games: Vec<&GameRecord> = self.games.iter().collect();
            games.sort_by_key(|game| game.id);
            for game in games {
                standings.add(game);
                let slot = (game.id.round, game.id.pairing);
                let Some(test) = standings.test(slot.0, slot.1) else { continue };
                let course = courses.entry(slot).or_default();
                let pairs = test.pairs().total();
                if course.last().map_or(0, |last| last.0) < pairs {
                    course.push((pairs, test.llr()));
                }
            }
            LogResults { standings, courses }
        })
    }
}

impl LogStore {
    /// Creates the store of a directory, or one without logs.
    pub fn new(dir: Option<PathBuf>) -> LogStore {
        LogStore { dir, read: Mutex::default() }
    }

    /// Returns the names of the logs, in order.
    ///
    /// # Errors
    /// If the directory cannot be read.
    pub fn names(&self) -> Result<Vec<String>, ApiError> {
        let Some(dir) = &self.dir else { return Ok(Vec::new()) };
        let unreadable = |error| ApiError::internal(format!("{}: cannot read the directory: {error}", dir.display()));
        let mut names = Vec::new();
        for entry in std::fs::read_dir(dir).map_err(unreadable)? {
            let name = entry.map_err(unreadable)?.file_name();
            names.extend(name.to_str().filter(|name| is_log(name)).map(str::to_owned));
        }
        names.sort();
        Ok(names)
    }

    /// Returns the log with a name.
    ///
    /// # Errors
    /// If there is none, or it is no log of a tournament.
    pub fn read(&self, name: &str) -> Result<Arc<ReadLog>, ApiError> {
        let missing = || ApiError::missing(format!("there is no log `{name}`; `/api/tournaments` lists the logs"));
        let plain = is_log(name) && !name.contains(['/', '\\', ':', '\0']);
        let path = self.dir.as_ref().filter(|_| plain).ok_or_else(missing)?.join(name);
        let file = FileIdentity::of(&path).filter(|_| path.is_file()).ok_or_else(missing)?;
        if let Some(log) = self.known(name, file) {
            return log;
        }
        if file.bytes() > MAX_BYTES {
            return Err(ApiError::internal(format!("{name}: the log has more than 1 GiB")));
        }
        let log = match GameLog::read_checked(&path, &check_logged) {
            // The system may be able to read the file the next time.
            Err(error @ LogError::Io { .. }) => return Err(ApiError::failure(&error)),
            read => read.map_err(|error| ApiError::failure(&error)).and_then(|log| checked(name, log)),
        };
        let log = log.map(Arc::new);
        let known = Known { file, log: log.clone() };
        self.read.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned(), known);
        log
    }

    fn known(&self, name: &str, file: FileIdentity) -> Option<Result<Arc<ReadLog>, ApiError>> {
        let read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        read.get(name).filter(|known| known.file == file).map(|known| known.log.clone())
    }
}

fn checked(name: &str, (schedule, games): (Schedule, Vec<GameRecord>)) -> Result<ReadLog, ApiError> {
    schedule.check().map_err(|error| ApiError::internal(format!("{name}: {error}")))?;
    Ok(ReadLog { name: name.to_owned(), schedule, games, results: OnceLock::new() })
}

fn is_log(name: &str) -> bool {
    EXTENSIONS.iter().any(|extension| name.len() > extension.len() && name.ends_with(extension))
}
