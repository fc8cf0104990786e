//! The file that keeps the games of a tournament.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, BufRead, BufReader, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::Value;
use thiserror::Error;

use super::record::Record;
use super::schedule::Schedule;

/// An append-only file of JSON objects, one a line: the [`Schedule`] and then
/// each [`Record`] as its game ends. A line that a killed process left
/// unfinished is cut off when the log is opened. While a run has a log open
/// no other can. A log whose name ends in `.zst` is packed by Zstandard: it can
/// be read, and written whole, but no game can be added to it.
#[derive(Debug)]
pub struct Log {
    file: File,
    path: PathBuf,
    /// When games were last brought to the disk.
    synced: Instant,
}

/// How much packed logs are compressed.
const LEVEL: i32 = 19;

/// Games are brought to the disk so often, whatever their number.
const SYNC_EVERY: Duration = Duration::from_secs(1);

/// What is wrong with a log.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LogError {
    /// The file cannot be read or written.
    #[error("{path}: cannot use the log")]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A line is not what a log has there.
    #[error("{path}: line {line} is no {wanted}: {why}")]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What it should be.
        wanted: &'static str,
        /// What is wrong.
        why: String,
    },
    /// The log is another tournament's.
    #[error("{path}: it is the log of another tournament, whose {what}; name another file to begin anew")]
    Other {
        /// The file.
        path: PathBuf,
        /// The first difference.
        what: String,
    },
    /// It is packed.
    #[error("{path}: a packed log takes no more games; name another, or unpack it (`zstd -d`)")]
    Packed {
        /// The file.
        path: PathBuf,
    },
    /// Another process writes it.
    #[error("{path}: another run has this log open")]
    Locked {
        /// The file.
        path: PathBuf,
    },
}

impl Log {
    /// Opens the log of a tournament, or begins one, and gives the games that
    /// it has.
    ///
    /// # Errors
    /// If the file cannot be used, or is no log of this tournament.
    pub fn open(path: &Path, schedule: &Schedule) -> Result<(Log, Vec<Record>), LogError> {
        let io = |source| LogError::Io { path: path.to_owned(), source };
        if is_packed(path) {
            return Err(LogError::Packed { path: path.to_owned() });
        }
        let mut file = OpenOptions::new().create(true).read(true).append(true).open(path).map_err(io)?;
        file.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => LogError::Locked { path: path.to_owned() },
            TryLockError::Error(source) => io(source),
        })?;
        let Contents { schedule: found, records, whole } = parse(&file, path)?;
        let begun = found.is_some();
        same(path, found, schedule)?;
        if !begun && !is_begun(&file, schedule).map_err(io)? {
            let why = "it is another file, which would be overwritten".to_owned();
            return Err(LogError::Malformed { path: path.to_owned(), line: 1, wanted: "head of a log", why });
        }
        file.set_len(whole).map_err(io)?;
        if !begun {
            append(&mut file, schedule).map_err(io)?;
            sync_name(&file, path).map_err(io)?;
        }
        Ok((Log { file, path: path.to_owned(), synced: Instant::now() }, records))
    }

    /// The games that the log of a tournament has, also while it is written.
    ///
    /// # Errors
    /// As of [`open`](Log::open).
    pub fn games(path: &Path, schedule: &Schedule) -> Result<Vec<Record>, LogError> {
        let Contents { schedule: found, records, .. } = read(path)?;
        same(path, found, schedule)?;
        Ok(records)
    }

    /// Begins the log of a tournament with games that were played elsewhere.
    ///
    /// # Errors
    /// If there is such a file, or it cannot be written.
    pub fn create(path: &Path, schedule: &Schedule, records: &[Record]) -> Result<(), LogError> {
        let io = |source| LogError::Io { path: path.to_owned(), source };
        let mut file = File::create_new(path).map_err(io)?;
        let written = whole(schedule, records)
            .and_then(|text| if is_packed(path) { zstd::bulk::compress(&text, LEVEL) } else { Ok(text) })
            .and_then(|text| file.write_all(&text))
            .and_then(|()| sync_name(&file, path));
        // Half a log would stand in the way of the next try.
        written.inspect_err(|_| drop(std::fs::remove_file(path))).map_err(io)
    }

    /// Reads a log.
    ///
    /// # Errors
    /// If the file cannot be read, or is no log.
    pub fn read(path: &Path) -> Result<(Schedule, Vec<Record>), LogError> {
        let Contents { schedule, records, .. } = read(path)?;
        let why = "the file is empty".to_owned();
        let empty = || LogError::Malformed { path: path.to_owned(), line: 1, wanted: "head of a log", why };
        Ok((schedule.ok_or_else(empty)?, records))
    }

    /// Adds a game in one write. A killed process loses none that was added,
    /// and a power cut those of the last second.
    ///
    /// # Errors
    /// If the file cannot be written; the game is then not in it.
    pub fn append(&mut self, record: &Record) -> Result<(), LogError> {
        let io = |source| LogError::Io { path: self.path.clone(), source };
        append(&mut self.file, record).map_err(io)?;
        if self.synced.elapsed() >= SYNC_EVERY {
            self.file.sync_data().map_err(io)?;
            self.synced = Instant::now();
        }
        Ok(())
    }

    /// Waits until all games are on the disk.
    ///
    /// # Errors
    /// If the system cannot write them.
    pub fn sync(&self) -> Result<(), LogError> {
        self.file.sync_all().map_err(|source| LogError::Io { path: self.path.clone(), source })
    }
}

struct Contents {
    schedule: Option<Schedule>,
    records: Vec<Record>,
    /// The bytes of whole lines.
    whole: u64,
}

/// Whether a log is packed, as its name says.
fn is_packed(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "zst")
}

/// A log in one piece.
fn whole(schedule: &Schedule, records: &[Record]) -> io::Result<Vec<u8>> {
    let mut text = line(schedule)?;
    for record in records {
        text.append(&mut line(record)?);
    }
    Ok(text)
}

fn line(value: &impl serde::Serialize) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    Ok(line)
}

fn read(path: &Path) -> Result<Contents, LogError> {
    let io = |source| LogError::Io { path: path.to_owned(), source };
    let file = File::open(path).map_err(io)?;
    match is_packed(path) {
        true => parse(zstd::Decoder::new(file).map_err(io)?, path),
        false => parse(file, path),
    }
}

fn parse(file: impl Read, path: &Path) -> Result<Contents, LogError> {
    let io = |source| LogError::Io { path: path.to_owned(), source };
    let mut reader = BufReader::new(file);
    let (mut schedule, mut records, mut whole) = (None, Vec::new(), 0);
    let mut text = Vec::new();
    for line in 1.. {
        text.clear();
        let length = reader.read_until(b'\n', &mut text).map_err(io)?;
        if !text.ends_with(b"\n") {
            break;
        }
        let malformed = |wanted| {
            move |error: serde_json::Error| LogError::Malformed {
                path: path.to_owned(),
                line,
                wanted,
                why: error.to_string(),
            }
        };
        match &schedule {
            None => schedule = Some(serde_json::from_slice(&text).map_err(malformed("head of a log"))?),
            Some(schedule) => {
                let record = serde_json::from_slice(&text).map_err(malformed("game"))?;
                records.push(placed(schedule, record).map_err(|why| LogError::Malformed {
                    path: path.to_owned(),
                    line,
                    wanted: "game of this tournament",
                    why,
                })?);
            }
        }
        whole += length as u64;
    }
    Ok(Contents { schedule, records, whole })
}

/// An error if what was found is the head of another tournament.
fn same(path: &Path, found: Option<Schedule>, wanted: &Schedule) -> Result<(), LogError> {
    let what = found.and_then(|found| difference(&found, wanted));
    what.map_or(Ok(()), |what| Err(LogError::Other { path: path.to_owned(), what }))
}

/// Whether a file without a whole line is empty, or a head that was cut short.
fn is_begun(mut file: &File, schedule: &Schedule) -> io::Result<bool> {
    let mut text = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut text)?;
    Ok(serde_json::to_vec(schedule)?.starts_with(&text))
}

/// Brings a new file and its name to the disk.
fn sync_name(file: &File, path: &Path) -> io::Result<()> {
    file.sync_all()?;
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // Some systems cannot open a directory, and need not.
    File::open(dir).map_or(Ok(()), |dir| dir.sync_all())
}

/// A record, if the schedule has such a game.
fn placed(schedule: &Schedule, record: Record) -> Result<Record, String> {
    let id = record.id;
    let games = schedule.rounds.get(id.round).map_or(0, |round| round.games);
    let known = id.pairing < schedule.pairings.len() && id.game < games;
    let roles = [record.goals.len(), record.spent.len(), record.players.len()] == [schedule.roles; 3];
    let fault = record.fault.as_ref().is_none_or(|fault| fault.role < schedule.roles);
    match known && roles && fault {
        true => Ok(record),
        false => Err(format!("there is no game {} of pairing {} in round {}", id.game, id.pairing, id.round)),
    }
}

fn append(file: &mut File, value: &impl serde::Serialize) -> io::Result<()> {
    let before = file.metadata()?.len();
    let line = line(value)?;
    // On a full disk a part may have been written, which is not to be taken for a line.
    file.write_all(&line).inspect_err(|_| drop(file.set_len(before)))
}

/// The first thing in which two tournaments differ.
fn difference(found: &Schedule, wanted: &Schedule) -> Option<String> {
    if found == wanted {
        return None;
    }
    let fields = |schedule: &Schedule| match serde_json::to_value(schedule) {
        Ok(Value::Object(fields)) => fields,
        _ => serde_json::Map::new(),
    };
    let (found, wanted) = (fields(found), fields(wanted));
    let told = |value: Option<&Value>| value.map_or("none".to_owned(), Value::to_string);
    let keys = found.keys().chain(wanted.keys());
    let key = keys.into_iter().find(|&key| found.get(key) != wanted.get(key))?;
    Some(format!("{key} is {}, not {}", told(found.get(key)), told(wanted.get(key))))
}

#[cfg(test)]
mod tests {
    use super::super::schedule::GameId;
    use super::super::schedule::tests::schedule;
    use super::super::{End, Totals};
    use super::*;

    fn record(game: u64) -> Record {
        Record {
            id: GameId { round: 0, pairing: 0, game },
            players: vec!["a".to_owned(), "b".to_owned()],
            opening: "o".to_owned(),
            moves: vec!["m".to_owned(); 3],
            plies: 5,
            end: End::Rules,
            goals: vec![100, 0],
            fault: None,
            spent: vec![Totals::default(); 2],
        }
    }

    #[test]
    fn a_log_cut_short_anywhere_goes_on() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let schedule = schedule(2, &["a", "b"], &[4]);
        let (mut log, none) = Log::open(&path, &schedule).unwrap();
        assert!(none.is_empty());
        (0..3).for_each(|game| log.append(&record(game)).unwrap());
        log.sync().unwrap();
        drop(log);
        let whole = std::fs::read(&path).unwrap();
        for length in 0..=whole.len() {
            std::fs::write(&path, &whole[..length]).unwrap();
            let (mut log, records) = Log::open(&path, &schedule).unwrap();
            let lines = whole[..length].iter().filter(|&&byte| byte == b'\n').count();
            assert_eq!(records, (0..3).take(lines.saturating_sub(1)).map(record).collect::<Vec<_>>());
            (records.len() as u64..3).for_each(|game| log.append(&record(game)).unwrap());
            drop(log);
            assert_eq!(std::fs::read(&path).unwrap(), whole);
        }
        assert_eq!(Log::read(&path).unwrap(), (schedule, (0..3).map(record).collect()));
    }

    #[test]
    fn a_packed_log_is_read_and_not_added_to() {
        let dir = tempfile::tempdir().unwrap();
        let [plain, packed] = ["log.ndjson", "log.ndjson.zst"].map(|name| dir.path().join(name));
        let schedule = schedule(2, &["a", "b"], &[40]);
        let records: Vec<Record> = (0..40).map(record).collect();
        for path in [&plain, &packed] {
            Log::create(path, &schedule, &records).unwrap();
            assert_eq!(Log::read(path).unwrap(), (schedule.clone(), records.clone()));
            assert_eq!(Log::games(path, &schedule).unwrap(), records);
        }
        let bytes = std::fs::read(&packed).unwrap();
        assert_eq!(zstd::decode_all(&*bytes).unwrap(), std::fs::read(&plain).unwrap());
        assert!(Log::open(&packed, &schedule).unwrap_err().to_string().contains("takes no more games"));
        assert_eq!(std::fs::read(&packed).unwrap(), bytes);
        std::fs::write(&packed, b"{}").unwrap();
        assert!(Log::read(&packed).unwrap_err().to_string().contains("cannot use the log"));
    }

    #[test]
    fn what_is_not_this_log_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let schedule = schedule(2, &["a", "b"], &[4]);
        let (mut log, _) = Log::open(&path, &schedule).unwrap();
        let told = |schedule: &Schedule| Log::open(&path, schedule).unwrap_err().to_string();
        assert!(told(&schedule).contains("another run has this log open"));
        log.append(&record(4)).unwrap();
        drop(log);
        assert!(told(&schedule).contains("line 2 is no game of this tournament: there is no game 4"));
        let other = Schedule { seed: 2, ..schedule.clone() };
        std::fs::write(&path, serde_json::to_string(&schedule).unwrap() + "\n{}\n").unwrap();
        assert!(told(&schedule).contains("line 2 is no game: missing field"));
        std::fs::write(&path, serde_json::to_string(&schedule).unwrap() + "\n").unwrap();
        assert!(told(&other).contains("another tournament, whose seed is 1, not 2"));
        std::fs::write(&path, "").unwrap();
        assert!(Log::read(&path).unwrap_err().to_string().contains("the file is empty"));
        assert!(Log::create(&path, &schedule, &[]).is_err());
        // Nothing that is not a log is written over.
        for text in ["{\"precious\":1}", "{\"game\":null,\"roles\":3", "x\n"] {
            std::fs::write(&path, text).unwrap();
            assert!(told(&schedule).contains("line 1 is no head of a log"), "{text}");
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        }
    }
}
