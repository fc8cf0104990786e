//! Logs: append-only files from which an interrupted run resumes.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Debug;
use std::fs::{File, TryLockError};
use std::io::{self, BufRead, BufReader, Read, Seek, Write};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bytesize::ByteSize;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use sternhalma_files::{OutputError, OutputFile, Stream};
use thiserror::Error;
use xxhash_rust::xxh3::xxh3_64;

use super::{GameId, GameRecord, Schedule};

/// An entry of a [`Log`].
pub trait LogEntry: Serialize + DeserializeOwned {
    /// The first line of the log, which identifies the run.
    type Head: Serialize + DeserializeOwned + PartialEq + Clone + Debug;

    /// The kind of run, e.g. "tournament".
    const RUN: &'static str;

    /// The kind of entry, e.g. "game".
    const ENTRY: &'static str;

    /// Returns the place of the entry in the run, if a run has one entry for each place.
    fn place(&self) -> Option<String> {
        None
    }

    /// Checks that the entry belongs to a run.
    ///
    /// # Errors
    /// Returns the reason why it does not.
    fn check(&self, head: &Self::Head) -> Result<(), WrongEntry>;

    /// Returns the head with which a run continues a log. All entries must remain valid.
    ///
    /// # Errors
    /// Returns the first difference, if the log belongs to another run.
    fn continued_head(requested: &Self::Head, logged: &Self::Head) -> Result<Self::Head, Difference> {
        if requested == logged { Ok(logged.clone()) } else { Err(difference(logged, requested).into()) }
    }
}

/// The reason why an entry does not belong to its log, or contradicts itself.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
#[error("{0}")]
pub struct WrongEntry(pub String);

/// A further check of an entry, for lines without a checksum, which were written by earlier versions.
pub type EntryCheck<'a, E> = dyn Fn(&<E as LogEntry>::Head, &E) -> Result<(), WrongEntry> + 'a;

/// Returns the head of a log of an earlier version as this version writes it.
pub type RenewHead<'a, E> = dyn Fn(<E as LogEntry>::Head) -> <E as LogEntry>::Head + 'a;

/// A check of the games of a log, such as a replay of their moves.
pub type GameCheck<'a> = EntryCheck<'a, GameRecord>;

/// Accepts every entry.
fn accept<E: LogEntry>(_: &E::Head, _: &E) -> Result<(), WrongEntry> {
    Ok(())
}

/// The first difference between the head of a log and that of a run.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Difference {
    /// The games differ in the names of their rule sets alone.
    #[error("the rule set is `{logged}` in the log, and `{requested}` here")]
    RuleSet {
        /// The rule set of the log.
        logged: String,
        /// The rule set of the run.
        requested: String,
    },
    /// Any other difference.
    #[error("{0}")]
    Other(String),
}

impl From<String> for Difference {
    fn from(text: String) -> Difference {
        Difference::Other(text)
    }
}

/// An append-only file of JSON objects, one per line: a head, which identifies the run, and then
/// the entries.
///
/// A process that is killed may leave an incomplete last line, which is removed when the log is
/// opened again. While one process has a log open, no other process can open it. A log whose
/// name ends in `.zst` is compressed with Zstandard; it can be created and read, but not
/// extended.
#[derive(Debug)]
pub struct Log<E: LogEntry> {
    file: Stream,
    path: PathBuf,
    head: E::Head,
    /// The time of the last sync.
    synced: Instant,
    entry: PhantomData<fn(E)>,
}

/// The Zstandard level of compressed logs.
const LEVEL: i32 = 19;

/// The interval at which appended entries are synced to the disk.
const SYNC_INTERVAL: Duration = Duration::from_secs(1);

/// The longest line, in bytes. The longest games have less than a megabyte.
const MAX_LINE: u64 = 16 << 20;

/// The largest compressed log that is read, in decompressed bytes: a small file may contain any number of them.
const MAX_DECOMPRESSED: u64 = 1 << 30;

/// An error of a log.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LogError {
    /// The file cannot be read or written.
    #[error("{path}: cannot use the log")]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A line cannot be parsed, or does not belong to the run.
    #[error("{path}: line {line} is not {expected}: {reason}")]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The number of the line, from 1.
        line: usize,
        /// The expected content.
        expected: String,
        /// The reason.
        reason: String,
    },
    /// The log belongs to a different run.
    #[error("{path}: the log belongs to a different {run} ({difference}); use another file")]
    OtherRun {
        /// The file.
        path: PathBuf,
        /// The kind of run.
        run: &'static str,
        /// The first difference between the heads.
        difference: Difference,
    },
    /// The log is compressed.
    #[error("{path}: a compressed log cannot be extended; use another file, or decompress it with `zstd -d`")]
    Compressed {
        /// The file.
        path: PathBuf,
    },
    /// The log is compressed, and too large.
    #[error(
        "{path}: the compressed log has more than {} when it is decompressed; if it is a log, decompress it with `zstd -d`",
        ByteSize(*most)
    )]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The decompressed bytes that are read.
        most: u64,
    },
    /// The file cannot be created.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// Another process has the log open.
    #[error("{path}: another run has this log open")]
    Locked {
        /// The file.
        path: PathBuf,
    },
}

impl<E: LogEntry> Log<E> {
    /// Opens or creates the log of a run, and returns it with its entries. If the run
    /// [extends](LogEntry::continued_head) the log, the head is replaced. A device or a pipe is written through, and has
    /// no entries.
    ///
    /// # Errors
    /// Returns an error if the file cannot be used, is locked or compressed, or is not a log of
    /// this run.
    pub fn open(path: &Path, head: &E::Head) -> Result<(Log<E>, Vec<E>), LogError> {
        Log::open_checked(path, head, &accept::<E>, &|logged| logged)
    }

    /// Opens a log as [`open`](Log::open) does, compares its head as renewed, and checks the entries of lines without a
    /// checksum.
    ///
    /// # Errors
    /// As for [`open`](Log::open), and if `check` refuses an entry.
    pub fn open_checked(
        path: &Path,
        head: &E::Head,
        check: &EntryCheck<'_, E>,
        renew: &RenewHead<'_, E>,
    ) -> Result<(Log<E>, Vec<E>), LogError> {
        let io = |source| LogError::Io { path: path.to_owned(), source };
        if is_compressed(path) {
            return Err(LogError::Compressed { path: path.to_owned() });
        }
        let mut file = Stream::open(path).map_err(io)?;
        let mut known = None;
        if let Some(file) = file.regular() {
            lock(file, path)?;
            let ParsedLog { head: logged, entries, length } = parse::<E>(file, path, check)?;
            let continued = continued_head::<E>(path, logged.clone().map(renew), head)?;
            if logged.is_none() && !is_partial_head(file, head).map_err(io)? {
                let reason = "it is another file, which would be overwritten".to_owned();
                return Err(malformed(path, 1, "the head of a log".to_owned(), reason));
            }
            file.set_len(length).map_err(io)?;
            known = logged.map(|logged| (logged, continued, entries));
        }
        let (continued, entries) = match known {
            None => {
                to_checked_line(head).and_then(|line| append(&mut file, &line)).map_err(io)?;
                sync_with_directory(&file, path).map_err(io)?;
                (head.clone(), Vec::new())
            }
            Some((logged, continued, entries)) => {
                if let Some(old) = file.regular().filter(|_| logged != continued) {
                    file = with_head(old, path, &continued)?;
                }
                (continued, entries)
            }
        };
        let log = Log { file, path: path.to_owned(), head: continued, synced: Instant::now(), entry: PhantomData };
        Ok((log, entries))
    }

    /// Returns the head.
    pub fn head(&self) -> &E::Head {
        &self.head
    }

    /// Returns the head with which a run would continue a log, and the entries of the log, which
    /// may still be written.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or is not a log of this run.
    pub fn entries(path: &Path, head: &E::Head, renew: &RenewHead<'_, E>) -> Result<(E::Head, Vec<E>), LogError> {
        let ParsedLog { head: logged, entries, .. } = read::<E>(path, &accept::<E>)?;
        Ok((continued_head::<E>(path, logged.map(renew), head)?, entries))
    }

    /// Creates a log with entries.
    ///
    /// # Errors
    /// Returns an error if the file exists or cannot be written.
    pub fn create(path: &Path, head: &E::Head, entries: &[E]) -> Result<(), LogError> {
        Log::write(OutputFile::create(path, false, &[])?, head, entries)
    }

    /// Writes a whole log, compressed if the name of the file says so.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written.
    pub fn write(mut file: OutputFile, head: &E::Head, entries: &[E]) -> Result<(), LogError> {
        let path = file.path().to_owned();
        let written = to_bytes(head, entries)
            .and_then(|text| if is_compressed(&path) { zstd::bulk::compress(&text, LEVEL) } else { Ok(text) })
            .and_then(|text| file.write_all(&text));
        written.map_err(|source| LogError::Io { path, source })?;
        file.finish()?;
        Ok(())
    }

    /// Reads a log.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or is not a log.
    pub fn read(path: &Path) -> Result<(E::Head, Vec<E>), LogError> {
        Log::read_checked(path, &accept::<E>)
    }

    /// Reads a log, and checks the entries of lines without a checksum.
    ///
    /// # Errors
    /// As for [`read`](Log::read), and if `check` refuses an entry.
    pub fn read_checked(path: &Path, check: &EntryCheck<'_, E>) -> Result<(E::Head, Vec<E>), LogError> {
        let ParsedLog { head, entries, .. } = read::<E>(path, check)?;
        let empty = || malformed(path, 1, "the head of a log".to_owned(), "the file is empty".to_owned());
        Ok((head.ok_or_else(empty)?, entries))
    }

    /// Appends an entry in one write. If the process is killed, no appended entry is lost. A power
    /// failure may lose the entries of the last second.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written. The entry is then not in the log.
    pub fn append(&mut self, entry: &E) -> Result<(), LogError> {
        let io = |source| LogError::Io { path: self.path.clone(), source };
        to_checked_line(entry).and_then(|line| append(&mut self.file, &line)).map_err(io)?;
        if self.synced.elapsed() >= SYNC_INTERVAL {
            self.file.sync_data().map_err(io)?;
            self.synced = Instant::now();
        }
        Ok(())
    }

    /// Syncs all entries to the disk.
    ///
    /// # Errors
    /// Returns an error if the system cannot write them.
    pub fn sync(&self) -> Result<(), LogError> {
        self.file.sync().map_err(|source| LogError::Io { path: self.path.clone(), source })
    }
}

impl<E: LogEntry> Drop for Log<E> {
    fn drop(&mut self) {
        // A program that another thread starts shares all open files until it is executed. Closing
        // the file alone would leave it locked until then.
        let _ = self.file.regular().map(File::unlock);
    }
}

/// The log of a tournament.
pub type GameLog = Log<GameRecord>;

impl LogEntry for GameRecord {
    type Head = Schedule;
    const RUN: &'static str = "tournament";
    const ENTRY: &'static str = "game";

    fn place(&self) -> Option<String> {
        let GameId { round, pairing, game } = self.id;
        Some(format!("game {game} of pairing {pairing} in round {round}"))
    }

    fn check(&self, schedule: &Schedule) -> Result<(), WrongEntry> {
        let id = self.id;
        let games = schedule.rounds.get(id.round).map_or(0, |round| round.games);
        let known = id.pairing < schedule.pairings.len() && id.game < games;
        let roles = [self.goals.len(), self.spent.len(), self.players.len()] == [schedule.roles; 3];
        let fault = self.fault.as_ref().is_none_or(|fault| fault.role < schedule.roles);
        if !(known && roles && fault) {
            let GameId { round, pairing, game } = id;
            return Err(WrongEntry(format!("there is no game {game} of pairing {pairing} in round {round}")));
        }
        let wrong = |reason| WrongEntry(format!("it contradicts itself: {reason}"));
        self.contradiction(schedule).map_or(Ok(()), |reason| Err(wrong(reason)))
    }

    fn continued_head(requested: &Schedule, logged: &Schedule) -> Result<Schedule, Difference> {
        requested.continuing(logged)
    }
}

struct ParsedLog<E: LogEntry> {
    head: Option<E::Head>,
    entries: Vec<E>,
    /// The length of all complete lines, in bytes.
    length: u64,
}

fn malformed(path: &Path, line: usize, expected: String, reason: String) -> LogError {
    LogError::Malformed { path: path.to_owned(), line, expected, reason }
}

/// Returns whether a log is compressed, by its name.
fn is_compressed(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "zst")
}

fn to_bytes<E: LogEntry>(head: &E::Head, entries: &[E]) -> io::Result<Vec<u8>> {
    let mut text = to_checked_line(head)?;
    for entry in entries {
        text.append(&mut to_checked_line(entry)?);
    }
    Ok(text)
}

/// The last field of a line: the checksum of the bytes before its comma, and of the final brace.
const CHECK: &[u8] = b",\"check\":\"";

/// The length of [`CHECK`], 16 hexadecimal digits, a quotation mark and a brace.
const CHECK_LENGTH: usize = CHECK.len() + 18;

/// Returns the line of a head or an entry, with its checksum. Lines of earlier versions have none.
fn to_checked_line(value: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(value)?;
    let sum = xxh3_64(&line);
    if line.pop() != Some(b'}') {
        return Err(io::Error::other("expected a JSON object"));
    }
    line.extend(CHECK);
    line.extend(format!("{sum:016x}\"}}\n").bytes());
    Ok(line)
}

/// Returns the JSON of a line and whether the line has a checksum, or an error if the checksum is wrong.
fn checked(line: &[u8]) -> Result<(Cow<'_, [u8]>, bool), String> {
    let text = line.trim_ascii_end();
    let Some((fields, check)) = text.len().checked_sub(CHECK_LENGTH).map(|at| text.split_at(at)) else {
        return Ok((text.into(), false));
    };
    if !check.starts_with(CHECK) {
        return Ok((text.into(), false));
    }
    let json = [fields, b"}"].concat();
    let digits = &check[CHECK.len()..CHECK.len() + 16];
    match format!("{:016x}", xxh3_64(&json)).as_bytes() == digits {
        true => Ok((json.into(), true)),
        false => Err("it was changed after it was written, because its checksum `check` is wrong".to_owned()),
    }
}

fn read<E: LogEntry>(path: &Path, check: &EntryCheck<'_, E>) -> Result<ParsedLog<E>, LogError> {
    let io = |source| LogError::Io { path: path.to_owned(), source };
    let file = File::open(path).map_err(io)?;
    if !is_compressed(path) {
        return parse(file, path, check);
    }
    parse_within(zstd::Decoder::new(file).map_err(io)?, path, MAX_DECOMPRESSED, check)
}

fn parse<E: LogEntry>(file: impl Read, path: &Path, check: &EntryCheck<'_, E>) -> Result<ParsedLog<E>, LogError> {
    parse_within(file, path, u64::MAX, check)
}

/// Parses a log of at most `most` bytes.
fn parse_within<E: LogEntry>(
    file: impl Read,
    path: &Path,
    most: u64,
    check: &EntryCheck<'_, E>,
) -> Result<ParsedLog<E>, LogError> {
    let mut reader = BufReader::new(file);
    let mut parsed = ParsedLog { head: None, entries: Vec::new(), length: 0 };
    let mut text = Vec::new();
    // The line and the checksum of the entry of each place.
    let mut lines: HashMap<String, (usize, u64)> = HashMap::new();
    for line in 1.. {
        text.clear();
        let left = most - parsed.length;
        let length = (&mut reader).take(left.saturating_add(1).min(MAX_LINE + 1)).read_until(b'\n', &mut text);
        let length = length.map_err(|source| LogError::Io { path: path.to_owned(), source })? as u64;
        if length > left {
            return Err(LogError::TooLarge { path: path.to_owned(), most });
        }
        if length > MAX_LINE {
            let expected = format!("a line of at most {}", ByteSize(MAX_LINE));
            return Err(malformed(path, line, expected, "it is longer, so the file is damaged or no log".to_owned()));
        }
        if !text.ends_with(b"\n") {
            break;
        }
        match &parsed.head {
            None => {
                let text = text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&text);
                let error = |reason| malformed(path, line, "the head of a log".to_owned(), reason);
                let (json, _) = checked(text).map_err(error)?;
                parsed.head = Some(parse_head(&json).map_err(|reason| error(reason.to_string()))?);
            }
            Some(head) => {
                let error =
                    |error: serde_json::Error| malformed(path, line, format!("a {}", E::ENTRY), error.to_string());
                let expected = || format!("a {} of this {}", E::ENTRY, E::RUN);
                let (json, has_checksum) =
                    checked(&text).map_err(|reason| malformed(path, line, expected(), reason))?;
                let entry: E = serde_json::from_slice(&json).map_err(error)?;
                let valid = entry.check(head).and_then(|()| if has_checksum { Ok(()) } else { check(head, &entry) });
                valid.map_err(|wrong| malformed(path, line, expected(), wrong.0))?;
                if let Some(place) = entry.place() {
                    let json = json.into_owned();
                    match lines.get(&place) {
                        Some((first, other)) if *other != xxh3_64(&json) => {
                            let reason = format!("{place} is also in line {first}, and the lines differ");
                            return Err(malformed(path, line, expected(), reason));
                        }
                        _ => drop(lines.insert(place, (line, xxh3_64(&json)))),
                    }
                }
                parsed.entries.push(entry);
            }
        }
        parsed.length += length;
    }
    Ok(parsed)
}

/// Parses a head. Programs that print the JSON in another form keep the field of the checksum.
fn parse_head<H: DeserializeOwned>(json: &[u8]) -> serde_json::Result<H> {
    let mut head: serde_json::Value = serde_json::from_slice(json)?;
    if let Some(fields) = head.as_object_mut() {
        fields.remove("check");
    }
    serde_json::from_value(head)
}

/// Returns the head with which a run continues a log, or an error if the log has the head of
/// another run.
fn continued_head<E: LogEntry>(path: &Path, logged: Option<E::Head>, requested: &E::Head) -> Result<E::Head, LogError> {
    let Some(logged) = logged else { return Ok(requested.clone()) };
    let error = |difference| LogError::OtherRun { path: path.to_owned(), run: E::RUN, difference };
    E::continued_head(requested, &logged).map_err(error)
}

fn lock(file: &File, path: &Path) -> Result<(), LogError> {
    file.try_lock().map_err(|error| match error {
        TryLockError::WouldBlock => LogError::Locked { path: path.to_owned() },
        TryLockError::Error(source) => LogError::Io { path: path.to_owned(), source },
    })
}

/// Replaces a log by one with another head, and returns it, locked. An interruption leaves the old
/// log.
fn with_head(mut file: &File, path: &Path, head: &impl Serialize) -> Result<Stream, LogError> {
    let io = |source| LogError::Io { path: path.to_owned(), source };
    let mut text = Vec::new();
    file.rewind().and_then(|()| file.read_to_end(&mut text)).map_err(io)?;
    let entries = text.iter().position(|&byte| byte == b'\n').map_or(&[][..], |end| &text[end + 1..]);
    let mut new = OutputFile::create(path, true, &[])?;
    to_checked_line(head).and_then(|head| new.write_all(&head)).and_then(|()| new.write_all(entries)).map_err(io)?;
    Ok(new.finish()?)
}

/// Returns whether a file without a complete line is empty or the start of a head.
fn is_partial_head(mut file: &File, head: &impl Serialize) -> io::Result<bool> {
    let mut text = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut text)?;
    // Heads of earlier versions have no checksum.
    Ok(to_checked_line(head)?.starts_with(&text) || serde_json::to_vec(head)?.starts_with(&text))
}

/// Syncs a new file and its directory entry.
fn sync_with_directory(file: &Stream, path: &Path) -> io::Result<()> {
    file.sync()?;
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // Systems on which a directory cannot be opened do not need this.
    File::open(dir).map_or(Ok(()), |dir| dir.sync_all())
}

fn append(file: &mut Stream, line: &[u8]) -> io::Result<()> {
    let before = file.regular().map_or(Ok(0), |file| Ok::<_, io::Error>(file.metadata()?.len()))?;
    // On a full disk a part of the line may have been written. Remove it.
    file.write_all(line).inspect_err(|_| drop(file.regular().map(|file| file.set_len(before))))
}

/// Describes the first field in which two heads differ.
fn difference(logged: &impl Serialize, requested: &impl Serialize) -> String {
    let value = |head: Result<Value, serde_json::Error>| head.unwrap_or_default();
    field_difference("", &value(serde_json::to_value(logged)), &value(serde_json::to_value(requested)))
}

/// Describes the first field in which two different values differ, with its path.
fn field_difference(path: &str, logged: &Value, requested: &Value) -> String {
    if let (Value::Object(old), Value::Object(new)) = (logged, requested) {
        let differs = |key: &&String| old.get(*key) != new.get(*key);
        if let Some(key) = old.keys().chain(new.keys()).find(differs) {
            let dot = if path.is_empty() { "" } else { "." };
            let of = |fields: &serde_json::Map<String, Value>| fields.get(key).cloned().unwrap_or_default();
            return field_difference(&format!("{path}{dot}{key}"), &of(old), &of(new));
        }
    }
    if logged.is_object() || logged.is_array() || requested.is_object() || requested.is_array() {
        return format!("`{path}` differs");
    }
    format!("`{path}` is {logged} in the log, and {requested} here")
}

#[cfg(test)]
mod tests {
    use super::super::schedule::tests::schedule;
    use super::super::{Termination, Totals};
    use super::*;

    fn record(game: u64) -> GameRecord {
        GameRecord {
            id: GameId { round: 0, pairing: 0, game },
            players: vec!["a".to_owned(), "b".to_owned()],
            opening: "o".to_owned(),
            moves: vec!["m".to_owned(); 3],
            plies: 5,
            end: Termination::Rules,
            goals: vec![100, 0],
            fault: None,
            spent: vec![Totals::default(); 2],
            searches: Vec::new(),
            origin: None,
        }
    }

    #[test]
    fn a_log_truncated_anywhere_resumes() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let schedule = schedule(2, &["a", "b"], &[4]);
        let (mut log, none) = GameLog::open(&path, &schedule).unwrap();
        assert!(none.is_empty());
        (0..3).for_each(|game| log.append(&record(game)).unwrap());
        log.sync().unwrap();
        drop(log);
        let whole = std::fs::read(&path).unwrap();
        for length in 0..=whole.len() {
            std::fs::write(&path, &whole[..length]).unwrap();
            let (mut log, records) = GameLog::open(&path, &schedule).unwrap();
            let lines = whole[..length].iter().filter(|&&byte| byte == b'\n').count();
            assert_eq!(records, (0..3).take(lines.saturating_sub(1)).map(record).collect::<Vec<_>>());
            (records.len() as u64..3).for_each(|game| log.append(&record(game)).unwrap());
            drop(log);
            assert_eq!(std::fs::read(&path).unwrap(), whole);
        }
        assert_eq!(GameLog::read(&path).unwrap(), (schedule, (0..3).map(record).collect()));
    }

    #[test]
    fn changed_and_contradicting_lines_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let schedule = schedule(2, &["a", "b"], &[4]);
        GameLog::create(&path, &schedule, &[record(0), record(1)]).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let error = |text: &str| {
            std::fs::write(&path, text).unwrap();
            let [read, opened] =
                [GameLog::read(&path).map(drop), GameLog::open(&path, &schedule).map(drop)].map(Result::unwrap_err);
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
            assert_eq!(read.to_string(), opened.to_string());
            read.to_string()
        };
        for (old, new) in
            [("[100,0]", "[0,100]"), ("\"plies\":5", "\"plies\":6"), ("[\"m\",\"m\",\"m\"]", "[\"m\",\"m\"]")]
        {
            assert!(text.contains(old), "{text}");
            assert!(
                error(&text.replacen(old, new, 1)).contains("line 2 is not a game of this tournament: it was changed")
            );
        }
        let changed = text.replacen("\"ply_limit\":1000", "\"ply_limit\":999", 1);
        assert_ne!(changed, text);
        assert!(error(&changed).contains("line 1 is not the head of a log: it was changed"));
        // Lines of earlier versions have no checksum.
        let line = |value: Result<String, serde_json::Error>| value.unwrap() + "\n";
        let to_json = serde_json::to_string::<GameRecord>;
        let old = [serde_json::to_string(&schedule), to_json(&record(0)), to_json(&record(1))].map(line).concat();
        std::fs::write(&path, &old).unwrap();
        assert_eq!(GameLog::read(&path).unwrap().1, [record(0), record(1)]);
        let line = old.lines().last().unwrap();
        let twice = |line: &str| format!("{old}{line}\n");
        assert!(
            error(&twice(&line.replace("[100,0]", "[0,100]")))
                .contains("line 4 is not a game of this tournament: game 1 of pairing 0 in round 0 is also in line 3")
        );
        std::fs::write(&path, twice(line)).unwrap();
        assert_eq!(GameLog::read(&path).unwrap().1.len(), 3);
        // A record that contradicts itself is refused without the rules of the game.
        for (old, new, reason) in [
            ("\"end\":\"rules\"", "\"end\":\"ply-limit\"", "it ended as a draw, and its goals are [100, 0]"),
            ("\"end\":\"rules\"", "\"end\":\"fault\"", "it ended by a fault, and has none"),
            ("\"plies\":5", "\"plies\":2", "it has 2 plies, and 3 moves"),
            ("[100,0]", "[101,0]", "a goal is at most 100, and its goals are [101, 0]"),
        ] {
            let changed = twice(line).replacen(old, new, 1);
            assert!(changed != twice(line) && error(&changed).ends_with(reason), "{}", error(&changed));
        }
        // Lines without a checksum have a further check.
        let refuse = |_: &Schedule, record: &GameRecord| match record.id.game {
            0 => Ok(()),
            game => Err(WrongEntry(format!("refused {game}"))),
        };
        std::fs::write(&path, &old).unwrap();
        for error in [
            GameLog::read_checked(&path, &refuse).unwrap_err(),
            GameLog::open_checked(&path, &schedule, &refuse, &|logged| logged).unwrap_err(),
        ] {
            assert!(error.to_string().ends_with("line 3 is not a game of this tournament: refused 1"), "{error}");
        }
        std::fs::write(&path, &text).unwrap();
        assert_eq!(GameLog::read_checked(&path, &refuse).unwrap().1.len(), 2);
        std::fs::write(&path, format!("\u{feff}{text}")).unwrap();
        assert_eq!(GameLog::open(&path, &schedule).unwrap().1.len(), 2);
    }

    #[test]
    fn a_closed_log_is_not_locked() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let schedule = schedule(2, &["a", "b"], &[4]);
        let open = || GameLog::open(&path, &schedule);
        let (log, _) = open().unwrap();
        // A new process that has not executed its program yet has such a copy.
        let _copy = log.file.regular().unwrap().try_clone().unwrap();
        assert!(matches!(open(), Err(LogError::Locked { .. })));
        drop(log);
        open().unwrap();
    }

    #[test]
    fn a_compressed_log_is_read_but_not_extended() {
        let dir = tempfile::tempdir().unwrap();
        let [plain, compressed] = ["log.ndjson", "log.ndjson.zst"].map(|name| dir.path().join(name));
        let schedule = schedule(2, &["a", "b"], &[40]);
        let records: Vec<GameRecord> = (0..40).map(record).collect();
        for path in [&plain, &compressed] {
            GameLog::create(path, &schedule, &records).unwrap();
            assert_eq!(GameLog::read(path).unwrap(), (schedule.clone(), records.clone()));
            assert_eq!(
                GameLog::entries(path, &schedule, &|logged| logged).unwrap(),
                (schedule.clone(), records.clone())
            );
        }
        let bytes = std::fs::read(&compressed).unwrap();
        assert_eq!(zstd::decode_all(&*bytes).unwrap(), std::fs::read(&plain).unwrap());
        assert!(GameLog::open(&compressed, &schedule).unwrap_err().to_string().contains("cannot be extended"));
        assert_eq!(std::fs::read(&compressed).unwrap(), bytes);
        std::fs::write(&compressed, b"{}").unwrap();
        assert!(GameLog::read(&compressed).unwrap_err().to_string().contains("cannot use the log"));
    }

    #[test]
    fn small_files_with_endless_contents_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let message = |name: &str, bytes: &[u8]| {
            let path = dir.path().join(name);
            std::fs::write(&path, bytes).unwrap();
            let error = GameLog::read(&path).unwrap_err().to_string();
            error.replace(&path.display().to_string(), "log")
        };
        let zeros = vec![0; 17 << 20];
        let expected = "log: line 1 is not a line of at most 16.0 MiB: it is longer, so the file is damaged or no log";
        assert_eq!(message("zeros.ndjson", &zeros), expected);
        assert_eq!(message("zeros.ndjson.zst", &zstd::bulk::compress(&zeros, 1).unwrap()), expected);
        // After the head, any number of lines follow.
        let schedule = schedule(2, &["a", "b"], &[4]);
        let log = to_bytes(&schedule, &[record(0), record(1)]).unwrap();
        let path = Path::new("log");
        let within = |most| {
            parse_within::<GameRecord>(&*log, path, most, &accept::<GameRecord>).map(|parsed| parsed.entries.len())
        };
        assert_eq!(within(log.len() as u64).unwrap(), 2);
        let error = within(log.len() as u64 - 1).unwrap_err().to_string();
        assert!(error.starts_with("log: the compressed log has more than "), "{error}");
    }

    #[test]
    fn more_games_and_players_extend_a_log() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let small = schedule(2, &["a", "b"], &[2]);
        let (mut log, _) = GameLog::open(&path, &small).unwrap();
        log.append(&record(1)).unwrap();
        drop(log);
        let text = std::fs::read_to_string(&path).unwrap();
        // A part of a line is removed, as in a log that is not extended.
        std::fs::write(&path, text.clone() + "{\"round\":").unwrap();
        let large = schedule(2, &["c", "a", "b"], &[4]);
        let (mut log, records) = GameLog::open(&path, &large).unwrap();
        assert_eq!((records, log.head().pairings.clone()), (vec![record(1)], vec![[1, 2], [0, 1], [0, 2]]));
        let error = GameLog::open(&path, &large).unwrap_err().to_string();
        assert!(error.contains("another run has this log open"), "{error}");
        log.append(&record(2)).unwrap();
        let head = log.head().clone();
        drop(log);
        assert_eq!(GameLog::read(&path).unwrap(), (head, vec![record(1), record(2)]));
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
        let error = GameLog::open(&path, &small).unwrap_err().to_string();
        assert!(error.contains("the log has the player `c`, which is missing"), "{error}");
    }

    #[test]
    fn other_files_and_logs_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let schedule = schedule(2, &["a", "b"], &[4]);
        let (mut log, _) = GameLog::open(&path, &schedule).unwrap();
        let error = |schedule: &Schedule| GameLog::open(&path, schedule).unwrap_err().to_string();
        assert!(error(&schedule).contains("another run has this log open"));
        log.append(&record(4)).unwrap();
        drop(log);
        assert!(error(&schedule).contains("line 2 is not a game of this tournament: there is no game 4"));
        let other = Schedule { seed: 2, ..schedule.clone() };
        std::fs::write(&path, serde_json::to_string(&schedule).unwrap() + "\n{}\n").unwrap();
        assert!(error(&schedule).contains("line 2 is not a game: missing field"));
        std::fs::write(&path, serde_json::to_string(&schedule).unwrap() + "\n").unwrap();
        assert!(error(&other).contains("different tournament (the seed is 1 in the log, and 2 here)"));
        std::fs::write(&path, "").unwrap();
        assert!(GameLog::read(&path).unwrap_err().to_string().contains("the file is empty"));
        assert!(GameLog::create(&path, &schedule, &[]).is_err());
        // A file that is not a log is not overwritten.
        for text in ["{\"precious\":1}", "{\"game\":null,\"roles\":3", "x\n"] {
            std::fs::write(&path, text).unwrap();
            assert!(error(&schedule).contains("line 1 is not the head of a log"), "{text}");
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        }
    }
}
