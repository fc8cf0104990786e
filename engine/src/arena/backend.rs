//! Chinese Checkers as the backend of a tournament.

use std::num::NonZeroUsize;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use sternhalma_data::Side;
use sternhalma_ggp::MemoryBudget;
use sternhalma_ggp::arena::{
    ArenaError, Backend, Contestant, ContestantError, GameObserver, GameRecord, Openings, Schedule, Standings,
    TournamentSetup, WrongEntry, run,
};

use super::contest::EngineContestant;
use crate::distances::Distances;
use crate::external::{ExternalPlayer, ProgramCommand, ProtocolLog};
use crate::players::{Config, PreparedPlayer, Separated, SeparationTest, TieRule, renewed_identity};
use crate::record::check_logged;
use crate::rules::{ChineseCheckers, Filter, GameSetup, GameState, Outcome};

/// A player of a tournament on a board.
pub enum BoardPlayer {
    /// A player of this crate.
    BuiltIn(Box<PreparedPlayer>),
    /// An external program.
    External(Box<ExternalCommand>),
}

/// An external program as a player of a tournament.
pub struct ExternalCommand {
    command: ProgramCommand,
    /// The time that the program has to start.
    patience: Duration,
    /// The log of the protocol, and the name of the player in it.
    log: Option<(ProtocolLog, String)>,
    /// The player that has introduced itself, until a game takes it.
    greeted: Mutex<Option<ExternalPlayer>>,
}

impl ExternalCommand {
    /// Creates a player that starts the program when it is needed, with `patience` until it is ready. With `log`, all
    /// lines of the protocol are logged under the name of the player.
    pub fn new(command: ProgramCommand, patience: Duration, log: Option<(ProtocolLog, String)>) -> ExternalCommand {
        ExternalCommand { command, patience, log, greeted: Mutex::default() }
    }

    /// Starts the program, and returns the name with which it introduces itself. If `keep` is set, the first player
    /// keeps the running program.
    fn greet(&mut self, keep: bool, stop: &AtomicBool) -> Result<String, ArenaError> {
        let mut player = self.player();
        let greeting = player.greet(self.patience, stop);
        let greeting = greeting.map_err(|fault| ArenaError::Start { player: self.command.text().to_owned(), fault })?;
        self.greeted = Mutex::new(keep.then_some(player));
        Ok(greeting)
    }

    /// Sets the name of the player in the log of the protocol.
    fn set_traced_name(&mut self, name: &str) {
        if let Some((_, traced)) = &mut self.log {
            *traced = name.to_owned();
        }
        let greeted = self.greeted.get_mut().unwrap_or_else(PoisonError::into_inner);
        greeted.iter().for_each(|player| player.set_traced_name(name));
    }

    /// Returns the player that has introduced itself, or another one, whose program is not started yet.
    fn player(&self) -> ExternalPlayer {
        if let Some(player) = self.greeted.lock().unwrap_or_else(PoisonError::into_inner).take() {
            return player;
        }
        let trace = self.log.as_ref().map(|(log, player)| log.of(player));
        ExternalPlayer::new(self.command.clone()).with_starting_patience(self.patience).with_trace(trace)
    }
}

/// The programs that keep running between their introduction and their first game.
const MAX_WAITING: usize = 4;

/// Starts each external program, so that one that cannot play is reported before the first game. The first few of them
/// keep running until their first game. Programs for which `is_named` is false get the title with which they introduce
/// themselves. `report` receives the command and the title of each program.
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
    let (mut titles, mut waiting) = (Vec::new(), 0);
    for (player, is_named) in players.iter_mut().zip(is_named) {
        let BoardPlayer::External(external) = player else {
            titles.push(None);
            continue;
        };
        let greeting = external.greet(waiting < MAX_WAITING, stop)?;
        waiting += 1;
        report(external.command.text(), &greeting);
        titles.push(Some(greeting).filter(|title| !title.is_empty() && !is_named));
    }
    schedule.set_titles(titles);
    for (player, entrant) in players.iter_mut().zip(&schedule.entrants) {
        if let BoardPlayer::External(external) = player {
            external.set_traced_name(entrant.title());
        }
    }
    Ok(())
}

/// Checks that the budgets of a schedule bound all searches. `config` returns the configuration of a player, or `None`
/// for an external program, every request to which has a deadline.
///
/// # Errors
/// Returns an error if a search would not end.
pub fn check_player_budgets<'a>(
    schedule: &Schedule,
    config: impl Fn(usize) -> Option<&'a Config>,
) -> Result<(), ArenaError> {
    schedule.check_budgets(|player, limits| config(player).is_none_or(|config| config.ends_by(limits)))
}

/// A board and the players of a tournament.
pub struct BoardBackend {
    game: ChineseCheckers,
    players: Vec<BoardPlayer>,
    /// The test that ends games early.
    separated: Option<Separated>,
    memory: MemoryBudget,
    /// The openings of the schedule.
    openings: Option<Openings<GameState>>,
}

impl BoardBackend {
    /// Creates a backend. With `adjudicator`, a game ends once the armies are separated, by the
    /// distances of that table.
    ///
    /// # Panics
    /// Panics if a player was prepared for another game.
    pub fn new(setup: GameSetup, players: Vec<BoardPlayer>, adjudicator: Option<Distances>) -> BoardBackend {
        let fits = |player: &BoardPlayer| match player {
            BoardPlayer::BuiltIn(player) => player.setup() == setup,
            BoardPlayer::External(_) => true,
        };
        assert!(players.iter().all(fits), "players are prepared for the game of the tournament");
        let game = ChineseCheckers::of(setup, Filter::All);
        let separated = adjudicator
            .map(|distances| Separated::new(&game, distances, SeparationTest::default(), TieRule::default()));
        BoardBackend { game, players, separated, memory: MemoryBudget::unlimited(), openings: None }
    }

    /// Limits the memory of all built-in players, which share it.
    #[must_use]
    pub fn within(self, memory: &MemoryBudget) -> BoardBackend {
        BoardBackend { memory: memory.clone(), ..self }
    }

    /// Adds the openings of the schedule, if they have been read before. By default the tournament reads them.
    #[must_use]
    pub fn with_openings(self, openings: Openings<GameState>) -> BoardBackend {
        BoardBackend { openings: Some(openings), ..self }
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
    ) -> Result<Box<dyn Contestant<ChineseCheckers>>, ContestantError> {
        Ok(match &self.players[entrant] {
            BoardPlayer::BuiltIn(player) => {
                let memory = match player.config() {
                    Config::Pvs(_) => self.memory.part(self.memory.limit() / 2 / threads.get() as u64),
                    _ => self.memory.clone(),
                };
                Box::new(EngineContestant::new(player.start(&memory)?))
            }
            BoardPlayer::External(command) => Box::new(command.player()),
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
            BoardPlayer::BuiltIn(player) => player.identity(),
            BoardPlayer::External(external) => external.command.identity(),
        };
        self.players.iter().map(describe).collect()
    }

    fn renewed(&self, requested: &Schedule, mut logged: Schedule) -> Schedule {
        for entrant in &mut logged.entrants {
            if let Some(own) = requested.entrants.iter().find(|own| own.name == entrant.name) {
                entrant.player = renewed_identity(entrant.player.take(), &own.player);
            }
        }
        logged
    }

    fn set_schedule(&mut self, schedule: &Schedule) -> Result<(), ArenaError> {
        check_player_budgets(schedule, |player| match &self.players[player] {
            BoardPlayer::BuiltIn(player) => Some(player.config()),
            BoardPlayer::External(_) => None,
        })?;
        if self.openings.is_none() {
            self.openings = Some(Openings::new(&self.game, schedule)?);
        }
        Ok(())
    }

    fn check_logged(&self, schedule: &Schedule, record: &GameRecord) -> Result<(), WrongEntry> {
        check_logged(schedule, record)
    }

    fn draw_openings(&self, schedule: &Schedule, stop: &AtomicBool) -> Result<(), ArenaError> {
        if let Some(openings) = &self.openings {
            openings.draw(&self.game, schedule, stop)?;
        }
        Ok(())
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
            let outcome = self.separated.as_ref()?.outcome(&self.game, state)?;
            Some(Side::BOTH.map(|side| if outcome == Outcome::Won(side) { 100u8 } else { 0 }).to_vec())
        };
        let adjudicator = standings.schedule().adjudicate.then_some(&adjudicator as _);
        let openings = self.openings.as_ref();
        let setup = TournamentSetup { game: &self.game, contestants: &contestants, adjudicator, openings };
        run(&setup, standings, threads, stop, observer)
    }
}

/// Returns the checksum that identifies a table in a log, or `None` for
/// estimates without a table.
fn checksum(distances: &Distances) -> Option<String> {
    distances.table().map(|table| table.checksum_text())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use sternhalma_data::Board;
    use sternhalma_ggp::arena::{Budget, Entrant, Schedule, Tournament};

    use super::*;
    use crate::players::learned::{LearnedWeights, LinearWeights};
    use crate::players::{Roster, WeightsFiles};

    fn tournament(budget: Budget) -> Result<Tournament, ArenaError> {
        let setup = GameSetup::new(Board::new(5, 3).unwrap()).with_ply_limit(100);
        let players = ["greedy", "base0"].map(|name| {
            BoardPlayer::BuiltIn(Box::new(Roster::built_in().config(name).unwrap().prepare(setup, None).unwrap()))
        });
        let backend = BoardBackend::new(setup, players.into(), None);
        let entrants = ["greedy", "base0"].map(Entrant::named).to_vec();
        Tournament::new(Box::new(backend), Schedule { ply_limit: 100, ..Schedule::new(entrants, budget, 4) })
    }

    /// Writes weights for 5x5 with 3 pieces, which differ in `tempo`.
    fn write_weights(path: &Path, tempo: i16) {
        let board = Board::new(5, 3).unwrap();
        let linear = LinearWeights { cells: vec![0; 25], rearmost: 60, second: 30, tempo };
        let weights = LearnedWeights { board, linear, network: None };
        std::fs::write(path, weights.to_bytes(0)).unwrap();
    }

    /// Returns a tournament of `copies` players with the weights of a file against `greedy`.
    fn learned(path: &Path, copies: usize, games: u64) -> Result<Tournament, ArenaError> {
        let setup = GameSetup::new(Board::new(5, 3).unwrap()).with_ply_limit(60);
        let text = format!("sternhalma,table_megabytes=1,evaluation=linear,weights={}", path.display());
        let distances = Distances::estimated(setup.board);
        let texts = std::iter::once("greedy").chain(std::iter::repeat_n(&*text, copies));
        let player = |text| {
            let config = Roster::built_in().config(text).unwrap();
            BoardPlayer::BuiltIn(Box::new(config.prepare(setup, Some(&distances)).unwrap()))
        };
        let backend = BoardBackend::new(setup, texts.map(player).collect(), None);
        let entrants = (0..=copies).map(|index| Entrant::named(format!("player {index}"))).collect();
        let budget = Budget { nodes: Some(20), ..Budget::default() };
        Tournament::new(Box::new(backend), Schedule { ply_limit: 60, ..Schedule::new(entrants, budget, games) })
    }

    fn play(tournament: &Tournament, log: Option<&Path>) -> Result<Standings, ArenaError> {
        tournament.run(log, NonZeroUsize::MIN, &AtomicBool::new(false), |_, _| ())
    }

    #[test]
    fn a_log_identifies_learned_weights() {
        let dir = tempfile::tempdir().unwrap();
        let [weights, log] = ["w.bin", "log"].map(|name| dir.path().join(name));
        write_weights(&weights, 100);
        play(&learned(&weights, 1, 2).unwrap(), Some(&log)).unwrap();
        // A log of an earlier version has no checksum of the weights.
        let text = std::fs::read_to_string(&log).unwrap();
        let (head, games) = text.split_once('\n').unwrap();
        let mut head: Value = serde_json::from_str(head).unwrap();
        let player = head["entrants"][1]["player"].as_object_mut().unwrap();
        assert!(player.remove("weights").is_some_and(|checksum| checksum.as_str().unwrap().len() == 16));
        head.as_object_mut().unwrap().remove("check");
        let old = dir.path().join("old");
        std::fs::write(&old, format!("{head}\n{games}")).unwrap();
        // The same weights continue both logs.
        for log in [&log, &old] {
            assert_eq!(play(&learned(&weights, 1, 4).unwrap(), Some(log)).unwrap().played(), 4);
        }
        // Other weights at the same place continue neither.
        write_weights(&weights, 900);
        for log in [log, old] {
            let error = play(&learned(&weights, 1, 6).unwrap(), Some(&log)).unwrap_err().to_string();
            assert!(error.contains("the player `player 1` has other parameters"), "{error}");
        }
    }

    #[test]
    fn logs_with_players_in_an_earlier_form_continue() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("log");
        let tournament = |games| {
            let setup = GameSetup::new(Board::new(5, 3).unwrap()).with_ply_limit(60);
            let players = ["greedy", "base0,playout=nst,epsilon=0.1,play=visits"].map(|text| {
                BoardPlayer::BuiltIn(Box::new(Roster::built_in().config(text).unwrap().prepare(setup, None).unwrap()))
            });
            let backend = BoardBackend::new(setup, players.into(), None);
            let budget = Budget { nodes: Some(20), ..Budget::default() };
            let entrants = ["greedy", "searcher"].map(Entrant::named).to_vec();
            Tournament::new(Box::new(backend), Schedule { ply_limit: 60, ..Schedule::new(entrants, budget, games) })
        };
        play(&tournament(2).unwrap(), Some(&log)).unwrap();
        // Earlier versions wrote the parameters as they were given.
        let text = std::fs::read_to_string(&log).unwrap();
        let (head, games) = text.split_once('\n').unwrap();
        let mut head: Value = serde_json::from_str(head).unwrap();
        head.as_object_mut().unwrap().remove("check");
        let player = &mut head["entrants"][1]["player"]["player"];
        player["parts"] = json!({ "playout": "nst", "epsilon": 0.1, "play": "visits" });
        player["decision"] = json!("best-average");
        for (epsilon, continues) in [(0.1, true), (0.2, false)] {
            head["entrants"][1]["player"]["player"]["parts"]["epsilon"] = json!(epsilon);
            std::fs::write(&log, format!("{head}\n{games}")).unwrap();
            assert_eq!(play(&tournament(4).unwrap(), Some(&log)).is_ok(), continues, "{epsilon}");
        }
    }

    #[test]
    fn files_may_vanish_while_a_tournament_runs() {
        let dir = tempfile::tempdir().unwrap();
        let weights = dir.path().join("w.bin");
        write_weights(&weights, 100);
        // More players than a thread keeps, so that players start again and again.
        let tournament = learned(&weights, 6, 2).unwrap();
        std::fs::remove_file(&weights).unwrap();
        assert_eq!(play(&tournament, None).unwrap().played(), 42);
    }

    #[test]
    fn players_that_are_prepared_together_read_a_file_once() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("w.bin");
        write_weights(&path, 100);
        let setup = GameSetup::new(Board::new(5, 3).unwrap());
        let distances = Distances::estimated(setup.board);
        let text = format!("sternhalma,evaluation=linear,weights={}", path.display());
        let (config, files) = (Roster::built_in().config(&text).unwrap(), WeightsFiles::default());
        let first = config.prepare_from(setup, Some(&distances), &files).unwrap();
        std::fs::remove_file(&path).unwrap();
        let second = config.prepare_from(setup, Some(&distances), &files).unwrap();
        assert_eq!(second.identity(), first.identity());
        assert!(config.prepare(setup, Some(&distances)).is_err());
    }

    #[test]
    fn preparing_a_player_allocates_no_search() {
        let setup = GameSetup::new(Board::new(5, 3).unwrap());
        let distances = Distances::estimated(setup.board);
        let config = Roster::built_in().config("sternhalma,table_megabytes=65536").unwrap();
        let prepared = config.prepare(setup, Some(&distances)).unwrap();
        let memory = MemoryBudget::new(4 << 20);
        let player = prepared.start(&memory).unwrap();
        assert_eq!(memory.used(), 4 << 20, "the table takes no more than the budget");
        drop(player);
        assert_eq!(memory.used(), 0);
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
