//! Chinese Checkers as the backend of a tournament.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use serde_json::{Value, json};
use sternhalma_ggp::arena::{
    ArenaError, Backend, Contestant, GameObserver, GameRecord, Schedule, Standings, TournamentSetup, check_openings,
    run,
};
use sternhalma_ggp::{Limits, MemoryBudget};

use crate::player::player_within;
use crate::record::check_logged;
use crate::{
    ChineseCheckers, Config, Distances, EngineContestant, ExternalPlayer, ExternalPlayerError, Filter, GameSetup,
    GameState, ProtocolLog, Separated,
};

/// A player of a tournament on a board.
pub enum BoardPlayer {
    /// A player of this crate, with the distance table that it uses.
    BuiltIn(Box<Config>, Option<Distances>),
    /// An external program.
    External(ExternalCommand),
}

/// The command line and the options of an external program.
pub struct ExternalCommand {
    /// The command line.
    pub command: String,
    /// The options to set before each game.
    pub options: Vec<(String, String)>,
    /// The directory in which the program runs.
    pub dir: Option<PathBuf>,
    /// The time that the program has to start.
    pub patience: Duration,
    /// The log of the protocol, and the name of the player in it.
    pub log: Option<(ProtocolLog, String)>,
}

impl ExternalCommand {
    /// Creates a player that starts the program when it is needed.
    ///
    /// # Errors
    /// Returns an error if the command line or an option is invalid.
    pub fn player(&self) -> Result<ExternalPlayer, ExternalPlayerError> {
        let player = ExternalPlayer::new(&self.command, self.options.clone(), self.dir.clone())?;
        let trace = self.log.as_ref().map(|(log, player)| log.of(player));
        Ok(player.with_starting_patience(self.patience).with_trace(trace))
    }
}

/// Starts each external program once, so that one that cannot play is reported before the first game. Programs for
/// which `is_named` is false get the title with which they introduce themselves. `report` receives the command and
/// the title of each program.
///
/// # Errors
/// Returns an error if a program does not start, or if `stop` is set before all have.
pub fn introduce(
    players: &mut [BoardPlayer],
    is_named: &[bool],
    schedule: &mut Schedule,
    stop: &AtomicBool,
    mut report: impl FnMut(&str, &str),
) -> Result<(), ArenaError> {
    let mut titles = Vec::new();
    for (player, is_named) in players.iter().zip(is_named) {
        let BoardPlayer::External(external) = player else {
            titles.push(None);
            continue;
        };
        let mut program = external.player().map_err(|error| ArenaError::Setup(error.to_string()))?;
        let greeting = program.greet(external.patience, stop);
        let greeting = greeting.map_err(|fault| ArenaError::Start { player: external.command.clone(), fault })?;
        report(&external.command, &greeting);
        titles.push(Some(greeting).filter(|title| !title.is_empty() && !is_named));
    }
    schedule.set_titles(titles);
    for (player, entrant) in players.iter_mut().zip(&schedule.entrants) {
        if let BoardPlayer::External(ExternalCommand { log: Some((_, name)), .. }) = player {
            *name = entrant.title().to_owned();
        }
    }
    Ok(())
}

/// A board and the players of a tournament.
pub struct BoardBackend {
    game: ChineseCheckers,
    players: Vec<BoardPlayer>,
    /// The test that ends games early.
    separated: Option<Separated>,
    memory: MemoryBudget,
}

impl BoardBackend {
    /// Creates a backend. With `adjudicator`, a game ends once the armies are separated, by the
    /// distances of that table.
    ///
    /// # Errors
    /// Returns an error if a player cannot play on the board.
    pub fn new(
        setup: GameSetup,
        players: Vec<BoardPlayer>,
        adjudicator: Option<Distances>,
    ) -> Result<BoardBackend, ArenaError> {
        for entrant in &players {
            match entrant {
                BoardPlayer::BuiltIn(config, distances) => {
                    // The test of the configuration takes as little memory as possible.
                    player_within(config, setup, distances.as_ref(), &MemoryBudget::new(0))?;
                }
                BoardPlayer::External(command) => {
                    command.player().map_err(|error| ArenaError::Setup(error.to_string()))?;
                }
            }
        }
        let game = ChineseCheckers::of(setup, Filter::All);
        let separated = adjudicator.map(|distances| Separated::new(&game, distances));
        Ok(BoardBackend { game, players, separated, memory: MemoryBudget::unlimited() })
    }

    /// Limits the memory of all built-in players, which share it.
    #[must_use]
    pub fn within(self, memory: &MemoryBudget) -> BoardBackend {
        BoardBackend { memory: memory.clone(), ..self }
    }

    /// Creates a player for one of several threads. Trees share the memory as they need it, and
    /// transposition tables get equal parts.
    ///
    /// # Errors
    /// Returns an error if the memory of the player cannot be allocated.
    fn contestant(
        &self,
        entrant: usize,
        threads: NonZeroUsize,
    ) -> Result<Box<dyn Contestant<ChineseCheckers>>, String> {
        Ok(match &self.players[entrant] {
            BoardPlayer::BuiltIn(config, distances) => {
                let distances = distances.as_ref();
                let memory = match **config {
                    Config::Pvs(_) => self.memory.part(self.memory.limit() / 2 / threads.get() as u64),
                    _ => self.memory.clone(),
                };
                Box::new(EngineContestant::new(player_within(config, self.game.setup(), distances, &memory)?))
            }
            BoardPlayer::External(command) => Box::new(command.player().expect("`new` has created this player")),
        })
    }
}

impl Backend for BoardBackend {
    fn game(&self) -> Value {
        let board = self.game.board();
        let adjudicator = self.separated.as_ref().and_then(|separated| checksum(separated.distances()));
        let mut game = json!({ "side": board.size(), "pieces": board.pieces(), "adjudicated-by": adjudicator });
        // Logs of earlier versions have no rule set.
        if !self.game.rules().is_paper() {
            game["rules"] = self.game.rules().stored_name().into();
        }
        game
    }

    fn roles(&self) -> usize {
        2
    }

    fn players(&self) -> Vec<Value> {
        let describe = |player: &BoardPlayer| match player {
            BoardPlayer::BuiltIn(config, distances) => {
                let mut player = json!({ "player": config, "table": distances.as_ref().and_then(checksum) });
                if let Some(revision) = config.revision() {
                    player["revision"] = revision.into();
                }
                player
            }
            BoardPlayer::External(ExternalCommand { command, options, dir, .. }) => {
                json!({ "command": command, "options": options, "dir": dir })
            }
        };
        self.players.iter().map(describe).collect()
    }

    fn is_bounded(&self, player: usize, limits: &Limits) -> bool {
        match &self.players[player] {
            BoardPlayer::BuiltIn(config, _) => config.ends_by(limits),
            // Every request to an external program has a deadline.
            BoardPlayer::External(_) => true,
        }
    }

    fn check_logged(&self, schedule: &Schedule, record: &GameRecord) -> Result<(), String> {
        check_logged(schedule, record)
    }

    fn check_openings(&self, schedule: &Schedule, stop: &AtomicBool) -> Result<(), ArenaError> {
        Ok(check_openings(&self.game, schedule, stop)?)
    }

    fn play(
        &self,
        standings: &mut Standings,
        threads: NonZeroUsize,
        stop: &AtomicBool,
        observer: &mut GameObserver<'_>,
    ) -> Result<(), ArenaError> {
        let contestants = |entrant: usize| self.contestant(entrant, threads);
        let adjudicator = |state: &GameState| {
            let winner = self.separated.as_ref()?.winner(&self.game, state)?;
            Some([0, 1].map(|role| if role == winner as usize { 100u8 } else { 0 }).to_vec())
        };
        let adjudicator = standings.schedule().adjudicate.then_some(&adjudicator as _);
        let setup = TournamentSetup { game: &self.game, contestants: &contestants, adjudicator };
        run(&setup, standings, threads, stop, observer)
    }
}

/// Returns the checksum that identifies a table in a log, or `None` for
/// estimates without a table.
fn checksum(distances: &Distances) -> Option<String> {
    distances.table().map(|table| format!("{:016x}", table.checksum()))
}

#[cfg(test)]
mod tests {
    use sternhalma_data::Board;
    use sternhalma_ggp::arena::{Budget, Entrant, Schedule, Tournament};

    use super::*;
    use crate::config::Roster;

    fn tournament(budget: Budget) -> Result<Tournament, ArenaError> {
        let players = ["greedy", "base0"]
            .map(|name| BoardPlayer::BuiltIn(Box::new(Roster::built_in().config(name).unwrap()), None));
        let board = Board::new(5, 3).unwrap();
        let backend = BoardBackend::new(GameSetup::new(board).with_ply_limit(100), players.into(), None)?;
        let entrants = ["greedy", "base0"].map(Entrant::named).to_vec();
        Tournament::new(Box::new(backend), Schedule { ply_limit: 100, ..Schedule::new(entrants, budget, 4) })
    }

    #[test]
    fn an_interrupted_tournament_resumes_from_its_log() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("log");
        let tournament = tournament(Budget { nodes: Some(50), ..Budget::default() }).unwrap();
        let threads = NonZeroUsize::MIN;
        let mut games = 0;
        loop {
            let stop = AtomicBool::new(false);
            let standings = tournament
                .run(Some(&log), threads, &stop, |_, _| {
                    games += 1;
                    stop.store(true, std::sync::atomic::Ordering::Relaxed);
                })
                .unwrap();
            if standings.played() == standings.expected() {
                break;
            }
        }
        assert_eq!(games, 4, "no game is played twice");
        let whole = tournament.run(None, threads, &AtomicBool::new(false), |_, _| {}).unwrap();
        let resumed =
            tournament.run(Some(&log), threads, &AtomicBool::new(false), |_, _| panic!("all played")).unwrap();
        assert_eq!(resumed.score(0, 0), whole.score(0, 0));
        let estimate =
            tournament.estimate(Some(&log), threads, &AtomicBool::new(false), Duration::from_secs(1)).unwrap();
        assert!(estimate.text().contains("4 games, 4 of them played; less than a second to go"), "{}", estimate.text());
    }

    #[test]
    fn a_budget_must_bound_every_search() {
        let error = tournament(Budget { depth: Some(2), ..Budget::default() }).err().unwrap().to_string();
        assert!(error.contains("the budget of base0 (2 plies) does not bound its searches"), "{error}");
    }
}
