//! Games between people. The server keeps them in memory, and checks their moves.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde::Serialize;
use sternhalma_data::{RuleSet, Side};
use sternhalma_engine::ugi::action_text;
use sternhalma_engine::{ChineseCheckers, Filter, GameHistory, GameSetup, Outcome};
use tokio::sync::watch;
use utoipa::ToSchema;

use crate::error::{ApiError, ErrorCode};
use crate::facts::result_text;
use crate::openapi;
use crate::secret::{Secret, random_name};

/// The maximum number of clients that watch a game. Each holds a connection.
const MAX_WATCHERS: usize = 32;

/// The limits of the games that a server keeps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GameLimits {
    /// The maximum number of games.
    pub games: usize,
    /// The time without a move after which a game is forgotten.
    pub idle: Duration,
    /// The same time for games that are over, or wait for a second player.
    pub waiting: Duration,
}

impl Default for GameLimits {
    fn default() -> GameLimits {
        GameLimits { games: 256, idle: Duration::from_secs(24 * 3600), waiting: Duration::from_secs(3600) }
    }
}

/// The games between people.
#[derive(Debug)]
pub struct Games {
    limits: GameLimits,
    by_name: Mutex<HashMap<String, LiveGame>>,
}

/// A game, with its players.
#[derive(Debug)]
struct LiveGame {
    name: String,
    history: GameHistory,
    /// The secrets of the players, by side. A seat without one is free.
    seats: [Option<Secret>; 2],
    resigned: Option<Side>,
    /// The name of the game in which the players have changed sides.
    rematch: Option<String>,
    changed: Instant,
    /// Notifies the watchers of each change.
    changes: watch::Sender<()>,
}

/// The reason for the end of a game between people.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GameEnd {
    /// A player has won, or both players have passed.
    Rules,
    /// The game has reached the ply at which it is a draw.
    PlyLimit,
    /// A position has occurred too often.
    Repetition,
    /// A player has resigned.
    Resigned,
}

/// A game between people, without the secrets of its players.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
#[schema(as = LiveGame)]
pub struct GameReport {
    /// The name of the game, which nobody can guess.
    #[schema(pattern = "^[0-9a-f]{32}$")]
    game: String,
    #[schema(value_type = openapi::RuleSet)]
    rules: RuleSet,
    /// The position before the first move.
    position: String,
    #[schema(value_type = Vec<openapi::Move>)]
    moves: Vec<String>,
    /// The player to move.
    #[schema(value_type = openapi::Side)]
    player: Side,
    #[schema(value_type = Option<openapi::Result>)]
    result: Option<String>,
    end: Option<GameEnd>,
    /// The sides that have a player.
    #[schema(value_type = Vec<openapi::Side>)]
    joined: Vec<Side>,
    /// The name of the game in which the players have changed sides.
    rematch: Option<String>,
}

/// A player of a game.
#[derive(Serialize, ToSchema)]
pub struct Seat {
    /// The secret of the player, which every move must contain.
    #[schema(pattern = "^[0-9a-f]{32}$")]
    seat: String,
    #[schema(value_type = openapi::Side)]
    player: Side,
    game: GameReport,
}

impl Games {
    /// Creates an empty list of games.
    pub fn new(limits: GameLimits) -> Games {
        Games { limits, by_name: Mutex::default() }
    }

    /// Begins a game, in which the caller plays a side.
    ///
    /// # Errors
    /// If there are too many games.
    pub fn create(&self, setup: GameSetup, side: Side) -> Result<Seat, ApiError> {
        let mut games = self.games();
        Ok(self.add(&mut games, setup, [None, None])?.take_seat(side))
    }

    /// Takes the free seat of a game.
    ///
    /// # Errors
    /// If there is no such game, it is over, or it has two players.
    pub fn join(&self, name: &str) -> Result<Seat, ApiError> {
        let mut games = self.games();
        let game = find(&mut games, name)?;
        game.check_running()?;
        let free = Side::BOTH.into_iter().find(|&side| game.seats[side as usize].is_none());
        let full = || ApiError::conflict("the game already has two players; you can watch it");
        Ok(game.take_seat(free.ok_or_else(full)?))
    }

    /// Returns the state of a game.
    ///
    /// # Errors
    /// If there is no such game.
    pub fn report(&self, name: &str) -> Result<GameReport, ApiError> {
        Ok(find(&mut self.games(), name)?.report())
    }

    /// Returns a receiver that changes with a game, and is closed when the game is forgotten.
    ///
    /// # Errors
    /// If there is no such game, or too many clients watch it.
    pub fn watch(&self, name: &str) -> Result<watch::Receiver<()>, ApiError> {
        let mut games = self.games();
        let game = find(&mut games, name)?;
        if game.changes.receiver_count() >= MAX_WATCHERS {
            return Err(ApiError::busy(format!("{MAX_WATCHERS} clients watch this game already; try again later")));
        }
        Ok(game.changes.subscribe())
    }

    /// Returns whether a game is kept. Forgets games whose time is over.
    pub fn has(&self, name: &str) -> bool {
        self.games().contains_key(name)
    }

    /// Plays a move of the player with a seat, after `ply` moves. A move that was played before is accepted again, so
    /// that a client may repeat a request whose answer was lost.
    ///
    /// # Errors
    /// If there is no such game, the seat is not of the game, it is not the turn of the player, or the move is not legal.
    pub fn play(&self, name: &str, seat: &str, ply: usize, mv: &str) -> Result<GameReport, ApiError> {
        self.change(name, seat, |game, side| game.play(side, ply, mv))
    }

    /// Resigns the game for the player with a seat.
    ///
    /// # Errors
    /// If there is no such game, the seat is not of the game, or the game is over.
    pub fn resign(&self, name: &str, seat: &str) -> Result<GameReport, ApiError> {
        self.change(name, seat, |game, side| {
            game.check_running()?;
            game.history.resign(side);
            game.resigned = Some(side);
            Ok(true)
        })
    }

    /// Begins another game of the same players, who change sides, and returns the seat in it. For the second player it
    /// is the game that the first one has begun.
    ///
    /// # Errors
    /// If there is no such game, the seat is not of the game, the game is not over, or there are too many games.
    pub fn rematch(&self, name: &str, seat: &str) -> Result<Seat, ApiError> {
        let mut games = self.games();
        let game = find(&mut games, name)?;
        let (side, [x, o], rules) = (game.side_of(seat)?, game.seats.clone(), game.history.rules());
        if game.history.outcome().is_none() {
            return Err(ApiError::conflict("the game is not over"));
        }
        let setup = GameSetup { board: rules.board(), rules: rules.rules(), ply_limit: rules.ply_limit() };
        let known = game.rematch.clone().filter(|next| games.contains_key(next));
        let next = match known {
            Some(next) => find(&mut games, &next)?.report(),
            None => {
                let next = self.add(&mut games, setup, [o, x])?.report();
                let game = find(&mut games, name)?;
                game.rematch = Some(next.game.clone());
                game.changed();
                next
            }
        };
        Ok(Seat { seat: seat.to_owned(), player: side.other(), game: next })
    }

    /// Forgets all games, which ends the streams of their changes.
    pub fn clear(&self) {
        self.games().clear();
    }

    /// Changes a game for the player with a seat, and notifies its watchers if `change` has changed it.
    fn change(
        &self,
        name: &str,
        seat: &str,
        change: impl FnOnce(&mut LiveGame, Side) -> Result<bool, ApiError>,
    ) -> Result<GameReport, ApiError> {
        let mut games = self.games();
        let game = find(&mut games, name)?;
        let side = game.side_of(seat)?;
        Ok(if change(game, side)? { game.changed() } else { game.report() })
    }

    /// Adds a game.
    fn add<'a>(
        &self,
        games: &'a mut HashMap<String, LiveGame>,
        setup: GameSetup,
        seats: [Option<Secret>; 2],
    ) -> Result<&'a mut LiveGame, ApiError> {
        if games.len() >= self.limits.games {
            let most = self.limits.games;
            return Err(ApiError::busy(format!("the server keeps {most} games at most; try again later")));
        }
        let game = LiveGame::new(random_name(), setup, seats);
        Ok(games.entry(game.name.clone()).or_insert(game))
    }

    /// Returns the games, without those that nobody has changed for too long.
    fn games(&self) -> MutexGuard<'_, HashMap<String, LiveGame>> {
        let mut games = self.by_name.lock().unwrap_or_else(PoisonError::into_inner);
        games.retain(|_, game| {
            let longest = if game.is_running() { self.limits.idle } else { self.limits.waiting };
            game.changed.elapsed() < longest
        });
        games
    }
}

impl LiveGame {
    fn new(name: String, setup: GameSetup, seats: [Option<Secret>; 2]) -> LiveGame {
        let history = GameHistory::new(ChineseCheckers::of(setup, Filter::All));
        let (changed, changes) = (Instant::now(), watch::Sender::new(()));
        LiveGame { name, history, seats, resigned: None, rematch: None, changed, changes }
    }

    fn is_running(&self) -> bool {
        self.seats.iter().all(Option::is_some) && self.history.outcome().is_none()
    }

    /// Gives a free seat to a new player.
    fn take_seat(&mut self, player: Side) -> Seat {
        let secret = Secret::draw();
        let seat = secret.text().to_owned();
        self.seats[player as usize] = Some(secret);
        Seat { seat, player, game: self.changed() }
    }

    /// Returns the side of a player.
    fn side_of(&self, seat: &str) -> Result<Side, ApiError> {
        let is_of = |side: &Side| self.seats[*side as usize].as_ref().is_some_and(|secret| secret.is(seat));
        let unknown = || {
            let message = "the seat is not one of this game; only its players may move";
            ApiError::forbidden(message).with_code(ErrorCode::NoSeat)
        };
        Side::BOTH.into_iter().find(is_of).ok_or_else(unknown)
    }

    fn check_running(&self) -> Result<(), ApiError> {
        match self.history.outcome() {
            None => Ok(()),
            Some(_) => Err(ApiError::conflict("the game is over").with_code(ErrorCode::GameOver)),
        }
    }

    /// Plays a move, and returns whether it is new.
    fn play(&mut self, side: Side, ply: usize, mv: &str) -> Result<bool, ApiError> {
        let geometry = self.history.rules().geometry();
        let played = self.history.actions().nth(ply).map(|action| action_text(geometry, action));
        if played.is_some_and(|played| played == mv && Side::BOTH[ply % 2] == side) {
            return Ok(false);
        }
        self.check_running()?;
        let (plies, player) = (self.history.actions().len(), self.history.state().player());
        if ply != plies {
            return Err(ApiError::conflict(format!("expected a move at ply {plies}, got one at ply {ply}")));
        }
        if player != side {
            return Err(ApiError::conflict(format!("it is the turn of {player}")));
        }
        self.history.play_text(mv)?;
        Ok(true)
    }

    /// Notifies the watchers, and returns the state.
    fn changed(&mut self) -> GameReport {
        self.changed = Instant::now();
        self.changes.send_replace(());
        self.report()
    }

    fn report(&self) -> GameReport {
        let (history, rules) = (&self.history, self.history.rules());
        GameReport {
            game: self.name.clone(),
            rules: rules.rules(),
            position: rules.position(history.start()).to_string(),
            moves: history.actions().map(|action| action_text(rules.geometry(), action)).collect(),
            player: history.state().player(),
            result: history.outcome().map(result_text),
            end: history.outcome().map(|outcome| self.end(outcome)),
            joined: Side::BOTH.into_iter().filter(|&side| self.seats[side as usize].is_some()).collect(),
            rematch: self.rematch.clone(),
        }
    }

    /// Returns the reason for the end of the game.
    fn end(&self, outcome: Outcome) -> GameEnd {
        let (state, rules) = (self.history.state(), self.history.rules());
        match self.resigned {
            Some(_) => GameEnd::Resigned,
            None if self.history.is_repeated() => GameEnd::Repetition,
            None if outcome == Outcome::Draw && state.ply() >= rules.ply_limit() => GameEnd::PlyLimit,
            None => GameEnd::Rules,
        }
    }
}

fn find<'a>(games: &'a mut HashMap<String, LiveGame>, name: &str) -> Result<&'a mut LiveGame, ApiError> {
    let missing = || {
        let message = "the server does not have this game: it keeps games in memory, until it stops or a game has had \
                       no move for some time";
        ApiError::missing(message).with_code(ErrorCode::UnknownGame)
    };
    games.get_mut(name).ok_or_else(missing)
}

#[cfg(test)]
mod tests {
    use sternhalma_data::Board;

    use super::*;

    const SOON: Duration = Duration::from_millis(20);

    fn setup(side: u64, pieces: u64, ply_limit: u32) -> GameSetup {
        GameSetup::new(Board::new(side, pieces).unwrap()).with_ply_limit(ply_limit)
    }

    fn begin(games: &Games, setup: GameSetup) -> (String, [String; 2]) {
        let x = games.create(setup, Side::X).unwrap();
        let o = games.join(&x.game.game).unwrap();
        (x.game.game, [x.seat, o.seat])
    }

    fn play(games: &Games, name: &str, seats: &[String; 2], moves: &[&str]) -> GameReport {
        let first = games.report(name).unwrap().moves.len();
        for (ply, mv) in (first..).zip(moves) {
            games.play(name, &seats[ply % 2], ply, mv).unwrap();
        }
        games.report(name).unwrap()
    }

    #[test]
    fn games_end_for_every_reason() {
        let games = Games::new(GameLimits::default());
        let (name, seats) = begin(&games, setup(3, 1, 1000));
        let won = play(&games, &name, &seats, &["a1-b1", "c3-b3", "b1-b2", "b3-a3", "b2-c2", "a3-a2", "c2-c3"]);
        assert_eq!((won.result.as_deref(), won.end), (Some("x"), Some(GameEnd::Rules)));
        let (name, seats) = begin(&games, setup(3, 1, 2));
        let limited = play(&games, &name, &seats, &["a1-b1", "c3-b3"]);
        assert_eq!((limited.result.as_deref(), limited.end), (Some("draw"), Some(GameEnd::PlyLimit)));
        let (name, seats) = begin(&games, setup(3, 1, 1000));
        let there_and_back = ["a1-b1", "c3-b3", "b1-a1", "b3-c3"].repeat(2);
        let repeated = play(&games, &name, &seats, &there_and_back);
        assert_eq!((repeated.result.as_deref(), repeated.end), (Some("draw"), Some(GameEnd::Repetition)));
        let (name, seats) = begin(&games, setup(3, 1, 1000));
        let resigned = games.resign(&name, &seats[0]).unwrap();
        assert_eq!((resigned.result.as_deref(), resigned.end), (Some("o"), Some(GameEnd::Resigned)));
    }

    #[test]
    fn the_number_of_games_is_limited_and_games_are_forgotten() {
        let limits = GameLimits { games: 2, idle: Duration::from_secs(3600), waiting: SOON };
        let games = Games::new(limits);
        let (running, seats) = begin(&games, setup(3, 1, 1000));
        let waiting = games.create(setup(3, 1, 1000), Side::O).unwrap().game.game;
        let mut changes = games.watch(&waiting).unwrap();
        changes.mark_unchanged();
        std::thread::sleep(2 * SOON);
        // The game with two players stays, and the other one makes room.
        assert!(games.report(&waiting).is_err() && changes.has_changed().is_err());
        assert!(games.create(setup(3, 1, 1000), Side::X).is_ok());
        let full = Games::new(GameLimits { games: 1, ..GameLimits::default() });
        assert!(full.create(setup(3, 1, 1000), Side::X).is_ok());
        let refused = full.create(setup(3, 1, 1000), Side::X).err().unwrap();
        assert_eq!(refused, ApiError::busy("the server keeps 1 games at most; try again later"));
        // A game that is over waits for a second game, as one that waits for a player.
        games.resign(&running, &seats[1]).unwrap();
        std::thread::sleep(2 * SOON);
        assert!(games.report(&running).is_err());
        let idle = Games::new(GameLimits { idle: SOON, ..GameLimits::default() });
        let (name, _) = begin(&idle, setup(3, 1, 1000));
        std::thread::sleep(2 * SOON);
        assert!(idle.report(&name).is_err());
    }
}
