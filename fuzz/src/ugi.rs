//! A session of the engine protocol under arbitrary commands.

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use sternhalma_data::Board;
use sternhalma_engine::ugi::{HostError, UgiCommand, UgiHost, UgiSession, UgiSettings};
use sternhalma_engine::{Config, EnginePlayer, GameSetup, Roster};
use sternhalma_ggp::MemoryBudget;

/// The words with which a line of an engine can begin.
const REPLIES: [&str; 7] = ["id", "option", "ugiok", "readyok", "bestmove", "info", "response"];

/// The built-in players, parsed once.
static ROSTER: LazyLock<Roster> = LazyLock::new(Roster::built_in);

/// A host without tables, whose players choose a move immediately.
struct QuickPlayers;

impl UgiHost for QuickPlayers {
    fn player(&mut self, config: &Config, setup: GameSetup) -> Result<Box<dyn EnginePlayer>, HostError> {
        match config {
            Config::Greedy | Config::Random => Ok(config.prepare(setup, None)?.start(&MemoryBudget::unlimited())?),
            _ => Err("this player is too slow".into()),
        }
    }

    fn tables_dir(&self) -> Option<PathBuf> {
        None
    }

    fn set_tables_dir(&mut self, _dir: PathBuf) {}

    fn memory(&self) -> u64 {
        1 << 20
    }

    fn set_memory(&mut self, _bytes: u64) -> Result<(), HostError> {
        Ok(())
    }
}

/// A buffer that several threads write to.
#[derive(Clone, Default)]
struct SharedBuffer(Arc<Mutex<Vec<u8>>>);

impl Write for SharedBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Executes the lines as commands of a session.
///
/// Every line of the output must begin with a word of the protocol, every
/// `isready` must have its `readyok` unless the session quits, and `go` must have a `bestmove`.
pub fn target(bytes: &[u8]) {
    let settings = UgiSettings {
        roster: ROSTER.clone(),
        player: "greedy".to_owned(),
        seed: 1,
        setup: GameSetup::new(Board::new(5, 6).expect("the board exists")),
        default_nodes: 10,
    };
    let output = SharedBuffer::default();
    let session = UgiSession::new(QuickPlayers, settings, output.clone()).expect("the settings are valid");
    session.run(bytes).expect("a buffer can be read and written");
    let output = std::mem::take(&mut *output.0.lock().unwrap_or_else(PoisonError::into_inner));
    let output = String::from_utf8(output).expect("replies are text");
    assert!(output.is_empty() || output.ends_with('\n'), "{output}");
    for line in output.lines() {
        let word = line.split(' ').next().unwrap_or_default();
        assert!(REPLIES.contains(&word) && !line.contains(char::is_control), "{line:?}");
    }
    // The session accepts a byte order mark at the start.
    let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
    let (mut ready, mut searches, mut quits) = (0, 0, false);
    for line in bytes.split(|&byte| byte == b'\n') {
        match UgiCommand::parse(&String::from_utf8_lossy(line)) {
            Ok(Some(UgiCommand::Quit)) => {
                quits = true;
                break;
            }
            Ok(Some(UgiCommand::IsReady)) => ready += 1,
            Ok(Some(UgiCommand::Go(_))) => searches += 1,
            _ => {}
        }
    }
    let count = |word: &str| output.lines().filter(|line| line.split(' ').next() == Some(word)).count();
    // `quit` does not wait for the end of a search, so commands that wait for it are not executed.
    assert!(count("readyok") == ready || quits && count("readyok") < ready, "{output}");
    // During a search, another `go` is an error.
    assert!(count("bestmove") <= searches && (searches == 0 || count("bestmove") > 0), "{output}");
}
