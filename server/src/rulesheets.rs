//! Rulesheets: those of the project, those of a directory, and the games compiled from them.

use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::Serialize;
use sternhalma_ggp::MemoryBudget;
use sternhalma_ggp::gdl::network::{Network, NetworkGame};
use sternhalma_ggp::gdl::{
    CheckOptions, Finding, GAMES, GroundError, ProverLimits, Rules, RulesError, Rulesheet, Severity,
};
use utoipa::ToSchema;

use crate::error::{ApiError, ErrorCode};

/// The end of the names of files with rulesheets.
const EXTENSION: &str = ".kif";

/// The largest rulesheet that is read, in bytes.
const MAX_BYTES: u64 = 1 << 20;

/// The most compiled games that are kept.
const MAX_COMPILED: usize = 8;

/// The most rulesheets whose findings are kept.
const MAX_CHECKED: usize = 64;

/// The random matches of a check, and the longest time that they take. A check that takes longer has no findings of
/// further matches.
const CHECK_MATCHES: u64 = 3;
const CHECK_TIME: Duration = Duration::from_secs(5);

/// The interval at which a check tests whether to stop.
const LOOK: Duration = Duration::from_millis(20);

/// The origin of a rulesheet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// The rulesheet is a part of the program.
    Embedded,
    /// The rulesheet is a file of the directory.
    Directory,
}

/// The rulesheets, and the games that were compiled last.
#[derive(Debug)]
pub struct RulesheetStore {
    dir: Option<PathBuf>,
    /// The compiled games, the last used one last.
    compiled: Mutex<Vec<Arc<CompiledGame>>>,
    /// The findings about rulesheets by their digests, the last ones last.
    checked: Mutex<Vec<(String, Arc<[Finding]>)>>,
}

/// A rulesheet of a directory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RulesheetFile {
    /// The name of the file.
    pub name: String,
    /// The first error, if the rulesheet cannot be played.
    pub error: Option<String>,
}

/// A rulesheet with its network.
#[derive(Debug)]
pub struct CompiledGame {
    text: String,
    /// The game, or the reason why the rules have no network.
    pub game: Result<NetworkGame, GroundError>,
}

impl RulesheetStore {
    /// Creates the store of the embedded rulesheets and those of a directory, if there is one.
    pub fn new(dir: Option<PathBuf>) -> RulesheetStore {
        RulesheetStore { dir, compiled: Mutex::default(), checked: Mutex::default() }
    }

    /// Returns the names of all rulesheets with their origins, in order. A file takes precedence over an embedded
    /// rulesheet with its name.
    ///
    /// # Errors
    /// If the directory cannot be read.
    pub fn names(&self) -> Result<Vec<(String, Source)>, ApiError> {
        let unreadable = |error| ApiError::internal(format!("cannot read the directory of rulesheets: {error}"));
        let mut names: Vec<(String, Source)> =
            self.files().map_err(unreadable)?.into_iter().map(|name| (name, Source::Directory)).collect();
        let embedded = GAMES.iter().filter(|game| !names.iter().any(|(name, _)| name == game.name));
        let embedded: Vec<_> = embedded.map(|game| (game.name.to_owned(), Source::Embedded)).collect();
        names.extend(embedded);
        names.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        Ok(names)
    }

    /// Returns the names of the files without their extension.
    fn files(&self) -> io::Result<Vec<String>> {
        let Some(dir) = &self.dir else { return Ok(Vec::new()) };
        let mut names = Vec::new();
        for entry in std::fs::read_dir(dir)? {
            let name = entry?.file_name();
            let plain = name.to_str().and_then(|name| name.strip_suffix(EXTENSION)).filter(|name| !name.is_empty());
            names.extend(plain.map(str::to_owned));
        }
        Ok(names)
    }

    /// Returns the rulesheets of the directory in order, each with the first error of its text. No match is played.
    ///
    /// # Errors
    /// If the directory cannot be read.
    pub fn survey(&self) -> io::Result<Vec<RulesheetFile>> {
        let mut names = self.files()?;
        names.sort_unstable();
        let file = |name: String| {
            let error = self.read(&name).and_then(|(text, _)| parse_valid(&text)).err();
            RulesheetFile { name: name + EXTENSION, error: error.map(|error| error.to_string()) }
        };
        Ok(names.into_iter().map(file).collect())
    }

    /// Returns the text of a rulesheet and its origin.
    ///
    /// # Errors
    /// If there is none, or its file cannot be read.
    pub fn read(&self, name: &str) -> Result<(String, Source), ApiError> {
        if let Some(text) = self.read_file(name)? {
            return Ok((text, Source::Directory));
        }
        let missing = || ApiError::missing(format!("there is no rulesheet `{name}`; `/api/rulesheets` lists them"));
        let game = GAMES.iter().find(|game| game.name == name).ok_or_else(missing)?;
        Ok((game.text.to_owned(), Source::Embedded))
    }

    fn read_file(&self, name: &str) -> Result<Option<String>, ApiError> {
        let Some(dir) = self.dir.as_ref().filter(|_| !name.contains(['/', '\\', ':', '\0'])) else { return Ok(None) };
        let path = dir.join(format!("{name}{EXTENSION}"));
        let Some(metadata) = path.metadata().ok().filter(std::fs::Metadata::is_file) else { return Ok(None) };
        if metadata.len() > MAX_BYTES {
            return Err(ApiError::internal(format!("{name}: the rulesheet has more than 1 MiB")));
        }
        let unreadable = |error| ApiError::internal(format!("{name}: cannot read the rulesheet: {error}"));
        sternhalma_ggp::messages::read_text(path).map(Some).map_err(unreadable)
    }

    /// Returns what the checker finds in a rulesheet, with random matches. The last findings are kept.
    ///
    /// # Errors
    /// If the limits interrupt the check.
    pub fn findings(&self, sheet: &Rulesheet, limits: &ProverLimits) -> Result<Arc<[Finding]>, ApiError> {
        let known = |all: &[(String, Arc<[Finding]>)]| {
            all.iter().find(|(digest, _)| digest == sheet.digest()).map(|(_, findings)| findings.clone())
        };
        if let Some(findings) = known(&self.checked.lock().unwrap_or_else(PoisonError::into_inner)) {
            return Ok(findings);
        }
        let interrupt = Arc::new(AtomicBool::new(false));
        let options = CheckOptions {
            playouts: CHECK_MATCHES,
            rows: limits.rows,
            memory: limits.memory.limit(),
            interrupt: interrupt.clone(),
            ..CheckOptions::default()
        };
        let (ended, end) = channel::<()>();
        let findings: Arc<[Finding]> = std::thread::scope(|scope| {
            scope.spawn(move || {
                let began = Instant::now();
                while end.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                    if began.elapsed() >= CHECK_TIME || limits.interrupt.load(Relaxed) {
                        interrupt.store(true, Relaxed);
                    }
                }
            });
            let _ended = ended;
            sheet.check(&options).into()
        });
        if limits.interrupt.load(Relaxed) {
            return Err(ApiError::busy("the rulesheet takes too long to check; try again later"));
        }
        let mut all = self.checked.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MAX_CHECKED {
            all.remove(0);
        }
        all.push((sheet.digest().to_owned(), findings.clone()));
        Ok(findings)
    }

    /// Parses a rulesheet to play it.
    ///
    /// # Errors
    /// If the text is no rulesheet, the checker finds an error, or the limits interrupt the check.
    pub fn playable(&self, text: &str, limits: &ProverLimits) -> Result<Rules, ApiError> {
        let sheet = Rulesheet::parse(text).map_err(|error| invalid(&Finding::from(error)))?;
        valid(&sheet, &self.findings(&sheet, limits)?)
    }

    /// Returns the game of a text, compiled within a budget of memory. The last games are kept.
    ///
    /// # Errors
    /// If `stop` is set.
    pub fn compile(
        &self,
        text: &str,
        rules: &Rules,
        memory: &MemoryBudget,
        stop: &AtomicBool,
    ) -> Result<Arc<CompiledGame>, ApiError> {
        if let Some(known) = self.known(text) {
            return Ok(known);
        }
        let game = match Network::within(rules, memory.room() / 4, stop) {
            Err(GroundError::Stopped) => return Err(ApiError::busy("the rulesheet takes too long to compile")),
            network => network.map(|network| NetworkGame::new(network).with_rules(rules.clone()).within(memory)),
        };
        let compiled = Arc::new(CompiledGame { text: text.to_owned(), game });
        let mut all = self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() == MAX_COMPILED {
            all.remove(0);
        }
        all.push(compiled.clone());
        // Kept games leave half of the memory to searches.
        while all.len() > 1 && memory.used() > memory.limit() / 2 {
            all.remove(0);
        }
        Ok(compiled)
    }

    /// Returns a game that was compiled before, and marks it as the last used one.
    fn known(&self, text: &str) -> Option<Arc<CompiledGame>> {
        let mut all = self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        let index = all.iter().position(|known| known.text == text)?;
        let known = all.remove(index);
        all.push(known.clone());
        Some(known)
    }
}

/// Parses a rulesheet, and checks it without a match.
///
/// # Errors
/// If the text is no rulesheet, or has an error.
pub fn parse_valid(text: &str) -> Result<Rules, ApiError> {
    let sheet = Rulesheet::parse(text).map_err(|error| invalid(&Finding::from(error)))?;
    valid(&sheet, &sheet.check(&CheckOptions { playouts: 0, ..CheckOptions::default() }))
}

/// Returns the rules of a rulesheet without errors.
///
/// # Errors
/// If one of the findings is an error.
pub fn valid(sheet: &Rulesheet, findings: &[Finding]) -> Result<Rules, ApiError> {
    match (findings.iter().find(|finding| finding.severity == Severity::Error), sheet.rules()) {
        (Some(error), _) => Err(invalid(error)),
        (None, Err(RulesError::Statement(error))) => Err(invalid(&error)),
        (None, rules) => {
            rules.cloned().map_err(|error| ApiError::invalid(error).with_code(ErrorCode::InvalidRulesheet))
        }
    }
}

/// Returns the error of a rulesheet with an error.
pub fn invalid(error: &Finding) -> ApiError {
    ApiError::invalid(format!("the rulesheet is invalid: {error}")).with_code(ErrorCode::InvalidRulesheet)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compiled_games_are_kept_up_to_a_limit() {
        let (store, memory, stop) = (RulesheetStore::new(None), MemoryBudget::new(1 << 30), AtomicBool::new(false));
        let compile = |number: usize| {
            let text = format!("(role a) (init (n {number})) (legal a go) (<= terminal (true (n 1))) (goal a 50)");
            store.compile(&text, &Rules::parse(&text).unwrap(), &memory, &stop).unwrap()
        };
        let first = compile(0);
        assert!(Arc::ptr_eq(&first, &compile(0)));
        (0..=MAX_COMPILED).for_each(|number| drop(compile(number)));
        assert_eq!(store.compiled.lock().unwrap().len(), MAX_COMPILED);
        assert!(!Arc::ptr_eq(&first, &compile(0)));
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        assert!(store.compile("other", &Rules::parse(GAMES[0].text).unwrap(), &memory, &stop).is_err());
    }

    #[test]
    fn files_take_precedence_and_names_are_no_paths() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("inner")).unwrap();
        std::fs::write(dir.path().join("outside.kif"), "").unwrap();
        std::fs::write(dir.path().join("inner/othello.kif"), "own").unwrap();
        let store = RulesheetStore::new(Some(dir.path().join("inner")));
        assert_eq!(store.read("othello").unwrap(), ("own".to_owned(), Source::Directory));
        assert_eq!(store.read("tic-tac-toe").unwrap().1, Source::Embedded);
        assert!(store.read("../outside").is_err() && store.read("").is_err());
        assert_eq!(store.names().unwrap().len(), GAMES.len());
    }
}
