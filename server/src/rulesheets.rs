//! Rulesheets: those of the project, those of a directory, and the games compiled from them.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;
use sternhalma_ggp::MemoryBudget;
use sternhalma_ggp::gdl::network::{Network, NetworkGame};
use sternhalma_ggp::gdl::{GAMES, GroundError, Rules};
use utoipa::ToSchema;

use crate::error::ApiError;

/// The end of the names of files with rulesheets.
const EXTENSION: &str = ".kif";

/// The largest rulesheet that is read, in bytes.
const MOST_BYTES: u64 = 1 << 20;

/// The most compiled games that are kept.
const MOST_COMPILED: usize = 8;

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
        RulesheetStore { dir, compiled: Mutex::default() }
    }

    /// Returns the names of all rulesheets with their origins, in order. A file takes precedence over an embedded
    /// rulesheet with its name.
    ///
    /// # Errors
    /// If the directory cannot be read.
    pub fn names(&self) -> Result<Vec<(String, Source)>, ApiError> {
        let mut names: Vec<(String, Source)> =
            self.files()?.into_iter().map(|name| (name, Source::Directory)).collect();
        let embedded = GAMES.iter().filter(|game| !names.iter().any(|(name, _)| name == game.name));
        let embedded: Vec<_> = embedded.map(|game| (game.name.to_owned(), Source::Embedded)).collect();
        names.extend(embedded);
        names.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        Ok(names)
    }

    /// Returns the names of the files without their extension.
    fn files(&self) -> Result<Vec<String>, ApiError> {
        let Some(dir) = &self.dir else { return Ok(Vec::new()) };
        let unreadable = |error| ApiError::internal(format!("{}: cannot read the directory: {error}", dir.display()));
        let mut names = Vec::new();
        for entry in std::fs::read_dir(dir).map_err(unreadable)? {
            let name = entry.map_err(unreadable)?.file_name();
            let plain = name.to_str().and_then(|name| name.strip_suffix(EXTENSION)).filter(|name| !name.is_empty());
            names.extend(plain.map(str::to_owned));
        }
        Ok(names)
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
        if metadata.len() > MOST_BYTES {
            return Err(ApiError::internal(format!("{name}: the rulesheet has more than 1 MiB")));
        }
        let unreadable = |error| ApiError::internal(format!("{name}: cannot read the rulesheet: {error}"));
        sternhalma_ggp::messages::read_text(path).map(Some).map_err(unreadable)
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
        if all.len() == MOST_COMPILED {
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
        (0..=MOST_COMPILED).for_each(|number| drop(compile(number)));
        assert_eq!(store.compiled.lock().unwrap().len(), MOST_COMPILED);
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
