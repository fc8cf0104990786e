//! A game manager: runs a match between players and records the match.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rand::{RngExt, SeedableRng};
use serde::Serialize;
use sternhalma_game::Rng;
use sternhalma_gdl::{Document, Reasoner, Renaming, index_of_name};
use thiserror::Error;

use super::message::Message;

/// The time beyond the play clock that a manager waits for a move.
const GRACE: Duration = Duration::from_secs(1);

/// The number of characters of an invalid reply that are recorded.
const MAX_RECORDED: usize = 200;

/// The transport of messages to the players of a match.
pub trait Transport {
    /// Sends each player its message at the same time, and waits for the
    /// replies within the limit. Returns each reply with its duration in
    /// seconds.
    fn ask(&mut self, messages: &[String], limit: Duration) -> Vec<(Result<String, TransportError>, f64)>;
}

/// An error of the transport.
#[derive(Error, Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum TransportError {
    /// The connection failed.
    #[error("cannot be reached: {0}")]
    Unreachable(String),
    /// The clock ran out.
    #[error("no reply in time")]
    Timeout,
    /// The connection ended before the reply did.
    #[error("the connection was closed without a reply")]
    Closed,
    /// The answer is not HTTP, or its status is not 200.
    #[error("the reply is not HTTP with status 200: {0}")]
    Http(String),
    /// The reply is too long.
    #[error("the reply is longer than {0} bytes")]
    TooLong(usize),
    /// The match was interrupted.
    #[error("interrupted")]
    Interrupted,
}

/// The kind of a player's error.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum PlayerErrorKind {
    /// The connection failed.
    Unreachable,
    /// The clock ran out.
    Timeout,
    /// The connection ended before the reply did.
    Closed,
    /// The reply is not HTTP with status 200.
    Http,
    /// The reply is too long.
    TooLong,
    /// The reply is not one term.
    Unreadable,
    /// The reply is not a legal move.
    Illegal,
    /// The player answered that it is busy.
    Busy,
    /// START was not answered by `ready`.
    NotReady,
    /// The match was interrupted.
    Interrupted,
}

impl From<&TransportError> for PlayerErrorKind {
    fn from(fault: &TransportError) -> PlayerErrorKind {
        match fault {
            TransportError::Unreachable(_) => PlayerErrorKind::Unreachable,
            TransportError::Timeout => PlayerErrorKind::Timeout,
            TransportError::Closed => PlayerErrorKind::Closed,
            TransportError::Http(_) => PlayerErrorKind::Http,
            TransportError::TooLong(_) => PlayerErrorKind::TooLong,
            TransportError::Interrupted => PlayerErrorKind::Interrupted,
        }
    }
}

/// The settings of a match.
#[derive(Clone, Debug)]
pub struct MatchConfig {
    /// The name of the match.
    pub id: String,
    /// The name of the game.
    pub game: String,
    /// The players, one per role.
    pub players: Vec<String>,
    /// The time from START to the first move.
    pub start: Duration,
    /// The time for each move.
    pub play: Duration,
    /// The maximum number of joint moves.
    pub steps: usize,
    /// The seed of the moves that replace missing ones.
    pub seed: u64,
    /// The names of the symbols for the players, if the rulesheet is
    /// scrambled.
    pub renaming: Option<Renaming>,
}

/// The record of a match, in the names of the rulesheet.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct MatchRecord {
    /// The name of the match.
    #[serde(rename = "match")]
    pub id: String,
    /// The name of the game.
    pub game: String,
    /// The roles, in order.
    pub roles: Vec<String>,
    /// The players, one per role.
    pub players: Vec<String>,
    /// The start clock in seconds.
    pub start_clock: f64,
    /// The play clock in seconds.
    pub play_clock: f64,
    /// The seed of the moves that replaced missing ones.
    pub seed: u64,
    /// Whether the players received other names.
    pub scrambled: bool,
    /// The start of the match in seconds since 1970.
    pub began: f64,
    /// The duration of the match in seconds.
    pub seconds: f64,
    /// The time until each player was ready, in seconds.
    pub ready_seconds: Vec<f64>,
    /// The joint moves.
    pub steps: Vec<MatchStep>,
    /// The fluents of the last state.
    pub state: Vec<String>,
    /// The errors of the players.
    pub errors: Vec<PlayerError>,
    /// The end of the match.
    pub ended: MatchEnd,
    /// The goal of each role in the last state; 0 if there is not exactly one.
    pub goals: Vec<u8>,
    /// The roles that do not have exactly one goal in the last state.
    pub undefined: Vec<String>,
}

impl MatchRecord {
    /// Returns the players that gave no legal move in any step, if there was a step.
    pub fn absent_players(&self) -> impl Iterator<Item = &str> {
        let faults = |role: &str| self.errors.iter().filter(|error| error.step.is_some() && error.role == role).count();
        let players = self.roles.iter().zip(&self.players).filter(|_| !self.steps.is_empty());
        players.filter(move |(role, _)| faults(role) >= self.steps.len()).map(|(_, player)| player.as_str())
    }
}

/// A state and the joint move that was played in it.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct MatchStep {
    /// The fluents.
    pub state: Vec<String>,
    /// The moves, in the order of roles.
    pub moves: Vec<String>,
    /// The seconds that each player took.
    pub seconds: Vec<f64>,
}

/// An error of a player. If a move was requested, the manager played a random
/// legal move.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct PlayerError {
    /// The step, counted from 0; `None` at START and STOP.
    pub step: Option<usize>,
    /// The role of the player.
    pub role: String,
    /// The kind of error.
    pub kind: PlayerErrorKind,
    /// The reply, or the reason why there is none.
    pub detail: String,
}

/// The reason for the end of a match.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MatchEnd {
    /// The state is terminal.
    #[default]
    Terminal,
    /// The maximum number of steps was reached.
    Steps,
    /// The caller interrupted the match.
    Interrupted,
}

/// An error that prevents a match.
#[derive(Error, Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum MatchError {
    /// The number of players is not the number of roles.
    #[error("the game has {roles} roles ({names}) and there are {players} players: give one a role, in this order")]
    Players {
        /// The number of roles.
        roles: usize,
        /// Their names.
        names: String,
        /// The number of players.
        players: usize,
    },
    /// Several roles have the same player. Messages other than START have no role, so the player cannot distinguish them.
    #[error(
        "{first} and {second} have the same player {player}, which can play only one role of a match; start another player"
    )]
    SamePlayer {
        /// A role.
        first: String,
        /// Another role.
        second: String,
        /// The player.
        player: String,
    },
    /// A symbol of the rulesheet is not ASCII and cannot be sent.
    #[error("the rulesheet has characters beyond ASCII, which the protocol cannot carry: scramble it")]
    NotAscii,
}

/// Runs a match: START, PLAY until the end, and STOP, or ABORT if `stop` or the
/// limit of steps ends the match. A player cannot make the match wait longer
/// than its clock and, for a move, one second.
///
/// `log` receives one line per event.
///
/// # Errors
///
/// Returns an error if the number of players is not the number of roles, if two
/// roles have the same player, or if the rulesheet as sent to the players is not
/// ASCII.
pub fn play_match<G: Reasoner>(
    game: &G,
    rules: &Document,
    terms: &MatchConfig,
    peers: &mut dyn Transport,
    stop: &AtomicBool,
    log: &dyn Fn(&str),
) -> Result<MatchRecord, MatchError> {
    let roles = game.role_names();
    if terms.players.len() != roles.len() {
        let (roles, names) = (roles.len(), roles.join(", "));
        return Err(MatchError::Players { roles, names, players: terms.players.len() });
    }
    for (index, player) in terms.players.iter().enumerate() {
        if let Some(earlier) = terms.players[..index].iter().position(|other| other.eq_ignore_ascii_case(player)) {
            let [first, second] = [earlier, index].map(|role| roles[role].clone());
            return Err(MatchError::SamePlayer { first, second, player: player.clone() });
        }
    }
    let rules = terms.renaming.as_ref().map_or_else(|| rules.clone(), |renaming| renaming.document(rules));
    if rules.expressions().any(|expr| !expr.to_string().is_ascii()) {
        return Err(MatchError::NotAscii);
    }
    let record = MatchRecord {
        id: terms.id.clone(),
        game: terms.game.clone(),
        roles: roles.to_vec(),
        players: terms.players.clone(),
        start_clock: terms.start.as_secs_f64(),
        play_clock: terms.play.as_secs_f64(),
        seed: terms.seed,
        scrambled: terms.renaming.is_some(),
        began: SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64(),
        ..MatchRecord::default()
    };
    let rng = Rng::seed_from_u64(terms.seed);
    Ok(MatchRunner { game, terms, peers, stop, log, rng, record }.hold(&rules))
}

/// A match in progress.
struct MatchRunner<'a, G> {
    game: &'a G,
    terms: &'a MatchConfig,
    peers: &'a mut dyn Transport,
    stop: &'a AtomicBool,
    log: &'a dyn Fn(&str),
    rng: Rng,
    record: MatchRecord,
}

impl<G: Reasoner> MatchRunner<'_, G> {
    fn hold(mut self, rules: &Document) -> MatchRecord {
        let began = Instant::now();
        self.start(rules);
        let mut state = self.game.initial();
        let mut last = None;
        while !self.game.is_terminal(&state) {
            if self.stop.load(Relaxed) {
                self.record.ended = MatchEnd::Interrupted;
                break;
            }
            if self.record.steps.len() == self.terms.steps {
                self.record.ended = MatchEnd::Steps;
                break;
            }
            let (joint, step) = self.ask_for_moves(&state, last.take());
            (self.log)(&format!("step {}: {}", self.record.steps.len(), step.moves.join(" ")));
            last = Some(step.moves.clone());
            self.record.steps.push(step);
            self.game.play_all(&mut state, &joint);
        }
        self.end(last);
        self.record.state = self.game.facts(&state);
        for (role, name) in self.game.role_names().iter().enumerate() {
            let goal = self.game.reached(&state, role);
            self.record.goals.push(goal.score());
            self.record.undefined.extend((!goal.is_value()).then(|| name.clone()));
        }
        self.record.seconds = began.elapsed().as_secs_f64();
        self.record
    }

    fn start(&mut self, rules: &Document) {
        let message = |role: &String| {
            let (id, role, rules) = (self.terms.id.clone(), self.sent_name(role), rules.clone());
            Message::Start { id, role, rules, start: self.terms.start, play: self.terms.play }.to_string()
        };
        let messages: Vec<String> = self.game.role_names().iter().map(message).collect();
        for (role, (reply, seconds)) in self.peers.ask(&messages, self.terms.start).into_iter().enumerate() {
            self.record.ready_seconds.push(seconds);
            match reply {
                Ok(text) if text.trim().eq_ignore_ascii_case("ready") => {}
                Ok(text) if is_busy(&text) => self.note(None, role, PlayerErrorKind::Busy, &text),
                Ok(text) => self.note(None, role, PlayerErrorKind::NotReady, &text),
                Err(fault) => self.note(None, role, PlayerErrorKind::from(&fault), &fault.to_string()),
            }
        }
    }

    /// Returns a joint move, with random legal moves for players that give
    /// none.
    fn ask_for_moves(&mut self, state: &G::State, last: Option<Vec<String>>) -> (Vec<G::Move>, MatchStep) {
        let message = Message::Play { id: self.terms.id.clone(), moves: self.sent_names(last) }.to_string();
        let messages = vec![message; self.game.roles()];
        let replies = self.peers.ask(&messages, self.terms.play + GRACE);
        let step = self.record.steps.len();
        let mut joint = Vec::new();
        let mut played = MatchStep { state: self.game.facts(state), moves: Vec::new(), seconds: Vec::new() };
        for (role, (reply, seconds)) in replies.into_iter().enumerate() {
            let legal = self.game.legal_of(state, role);
            let mv = match self.chosen(&legal, role, reply) {
                Ok(mv) => mv,
                Err((kind, detail)) => {
                    self.note(Some(step), role, kind, &detail);
                    legal[self.rng.random_range(0..legal.len())]
                }
            };
            played.moves.push(self.game.move_name(role, mv));
            played.seconds.push(seconds);
            joint.push(mv);
        }
        (joint, played)
    }

    /// Returns the legal move that a reply names.
    fn chosen(
        &self,
        legal: &[G::Move],
        role: usize,
        reply: Result<String, TransportError>,
    ) -> Result<G::Move, (PlayerErrorKind, String)> {
        let text = reply.map_err(|fault| (PlayerErrorKind::from(&fault), fault.to_string()))?;
        let one = Document::parse(&text).ok().filter(|document| document.expressions().count() == 1);
        let Some(name) = one.as_ref().and_then(|document| document.expressions().next()) else {
            return Err((PlayerErrorKind::Unreadable, text));
        };
        let names: Vec<String> = legal.iter().map(|&mv| self.sent_name(&self.game.move_name(role, mv))).collect();
        match index_of_name(&name.without_empty_parentheses().to_string(), &names) {
            Some(place) => Ok(legal[place]),
            None if is_busy(&text) => Err((PlayerErrorKind::Busy, text)),
            None => Err((PlayerErrorKind::Illegal, text)),
        }
    }

    fn end(&mut self, last: Option<Vec<String>>) {
        let id = self.terms.id.clone();
        let (message, limit) = match self.record.ended {
            MatchEnd::Terminal => (Message::Stop { id, moves: self.sent_names(last) }, self.terms.play + GRACE),
            MatchEnd::Steps | MatchEnd::Interrupted => (Message::Abort { id }, GRACE),
        };
        let replies = self.peers.ask(&vec![message.to_string(); self.game.roles()], limit);
        for (role, (reply, _)) in replies.into_iter().enumerate() {
            match reply {
                Ok(text) if is_busy(&text) => self.note(None, role, PlayerErrorKind::Busy, &text),
                Ok(_) => {}
                Err(fault) => self.note(None, role, PlayerErrorKind::from(&fault), &fault.to_string()),
            }
        }
    }

    fn note(&mut self, step: Option<usize>, role: usize, kind: PlayerErrorKind, detail: &str) {
        let detail: String = detail.chars().take(MAX_RECORDED).collect();
        let role = self.game.role_names()[role].clone();
        (self.log)(&format!("{role}: {kind:?}: {detail}"));
        self.record.errors.push(PlayerError { step, role, kind, detail });
    }

    /// Returns a name as the players know it.
    fn sent_name(&self, name: &str) -> String {
        let renamed = self.terms.renaming.as_ref().and_then(|renaming| renaming.to_new(name));
        renamed.unwrap_or_else(|| name.to_string())
    }

    fn sent_names(&self, moves: Option<Vec<String>>) -> Option<Vec<String>> {
        Some(moves?.iter().map(|mv| self.sent_name(mv)).collect())
    }
}

fn is_busy(text: &str) -> bool {
    text.trim().eq_ignore_ascii_case("busy")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Policy;
    use crate::protocol::{GgpPlayer, PlayerOptions};
    use sternhalma_gdl::{ProverGame, Rules};

    type Answers = Box<dyn FnMut(&str) -> Result<String, TransportError>>;

    /// Players in the same process.
    struct Here(Vec<Answers>);

    impl Transport for Here {
        fn ask(&mut self, messages: &[String], _: Duration) -> Vec<(Result<String, TransportError>, f64)> {
            assert!(messages.iter().all(|message| message.is_ascii()));
            self.0.iter_mut().zip(messages).map(|(player, message)| (player(message), 0.0)).collect()
        }
    }

    fn ours(seed: u64) -> Answers {
        let player = GgpPlayer::new(PlayerOptions { policy: Policy::Random, seed, ..PlayerOptions::default() });
        Box::new(move |text| Ok(player.answer(text.parse().unwrap(), Instant::now()).to_string()))
    }

    fn own(name: &str) -> Document {
        let path = format!("{}/games/{name}.kif", env!("CARGO_MANIFEST_DIR"));
        Document::parse(&std::fs::read_to_string(path).unwrap()).unwrap()
    }

    fn terms(game: &str, players: usize) -> MatchConfig {
        MatchConfig {
            id: "m".into(),
            game: game.into(),
            players: (0..players).map(|player| format!("here{player}")).collect(),
            start: Duration::from_secs(5),
            play: Duration::from_secs(5),
            steps: 100,
            seed: 1,
            renaming: None,
        }
    }

    fn held(rules: &Document, terms: &MatchConfig, peers: &mut Here) -> MatchRecord {
        let game = ProverGame::new(&Rules::from_document(rules).unwrap()).unwrap();
        play_match(&game, rules, terms, peers, &AtomicBool::new(false), &|_| {}).unwrap()
    }

    #[test]
    fn matches_are_played_to_their_end() {
        for (name, scrambled) in [("tic-tac-toe", false), ("matching-pennies", true), ("subtraction", true)] {
            let rules = own(name);
            let renaming = scrambled.then(|| Renaming::random(&rules, &mut Rng::seed_from_u64(2)));
            let terms = MatchConfig { renaming, ..terms(name, 2) };
            let record = held(&rules, &terms, &mut Here(vec![ours(1), ours(2)]));
            assert_eq!((record.ended, &record.errors), (MatchEnd::Terminal, &vec![]), "{name}");
            assert_eq!(record.goals.iter().map(|&goal| u32::from(goal)).sum::<u32>(), 100, "{name}");
            assert_eq!((record.scrambled, record.undefined.len()), (scrambled, 0));
            // The record is in the names of the rulesheet and can be replayed.
            let game = ProverGame::new(&Rules::from_document(&rules).unwrap()).unwrap();
            let mut state = sternhalma_game::Game::initial(&game);
            for step in &record.steps {
                assert_eq!(game.facts(&state), step.state);
                let joint: Vec<_> =
                    step.moves.iter().enumerate().map(|(role, mv)| game.move_named(role, mv).unwrap()).collect();
                assert!(joint.iter().enumerate().all(|(role, mv)| game.legal_of(&state, role).contains(mv)));
                game.play_all(&mut state, &joint);
            }
            assert_eq!(game.facts(&state), record.state);
        }
    }

    #[test]
    fn bad_answers_are_replaced_and_recorded() {
        let rules = own("matching-pennies");
        let bad = |answers: [Result<&'static str, TransportError>; 4]| {
            let mut answers = answers.into_iter();
            let player = move |_: &str| answers.next().unwrap().map(str::to_string);
            Box::new(player) as Answers
        };
        let long: &'static str = "é".repeat(1_000).leak();
        let first = bad([Ok("no"), Ok("(show"), Ok("( SHOW  Heads )\r\n"), Ok("whatever")]);
        let second = bad([Ok("busy"), Ok(long), Err(TransportError::Timeout), Err(TransportError::Closed)]);
        let record = held(&rules, &terms("m", 2), &mut Here(vec![first, second]));
        let kinds: Vec<_> = record.errors.iter().map(|error| (error.step, error.role.as_str(), error.kind)).collect();
        assert_eq!(
            kinds,
            [
                (None, "matcher", PlayerErrorKind::NotReady),
                (None, "differ", PlayerErrorKind::Busy),
                (Some(0), "matcher", PlayerErrorKind::Unreadable),
                (Some(0), "differ", PlayerErrorKind::Illegal),
                (Some(1), "differ", PlayerErrorKind::Timeout),
                (None, "differ", PlayerErrorKind::Closed),
            ]
        );
        assert_eq!(record.errors[3].detail.chars().count(), MAX_RECORDED);
        assert_eq!(record.steps[1].moves[0], "(show heads)");
        assert_eq!(record.ended, MatchEnd::Terminal);
    }

    #[test]
    fn the_same_seed_makes_the_same_moves() {
        let rules = own("tic-tac-toe");
        let moves = |seed| {
            let silent = || Box::new(|_: &str| Err(TransportError::Timeout)) as Answers;
            let record = held(&rules, &MatchConfig { seed, ..terms("t", 2) }, &mut Here(vec![silent(), silent()]));
            record.steps.into_iter().map(|step| step.moves).collect::<Vec<_>>()
        };
        assert_eq!(moves(1), moves(1));
        assert_ne!(moves(1), moves(2));
    }

    #[test]
    fn a_match_ends_after_its_steps_or_when_it_is_broken_off() {
        let rules = own("tic-tac-toe");
        let record = held(&rules, &MatchConfig { steps: 2, ..terms("t", 2) }, &mut Here(vec![ours(1), ours(2)]));
        assert_eq!((record.ended, record.steps.len(), record.errors.len()), (MatchEnd::Steps, 2, 0));
        let game = ProverGame::new(&Rules::from_document(&rules).unwrap()).unwrap();
        let stop = AtomicBool::new(true);
        let mut peers = Here(vec![ours(1), ours(2)]);
        let record = play_match(&game, &rules, &terms("t", 2), &mut peers, &stop, &|_| {}).unwrap();
        assert_eq!((record.ended, record.steps.len(), record.errors.len()), (MatchEnd::Interrupted, 0, 0));
    }

    #[test]
    fn each_role_has_its_own_player_and_names_are_ascii() {
        let refused_with = |text: &str, terms: &MatchConfig| {
            let rules = Document::parse(text).unwrap();
            let game = ProverGame::new(&Rules::from_document(&rules).unwrap()).unwrap();
            let stop = AtomicBool::new(false);
            play_match(&game, &rules, terms, &mut Here(vec![]), &stop, &|_| {}).unwrap_err()
        };
        let refused = |text: &str, players: usize| refused_with(text, &terms("t", players));
        let two = "(role a) (role b) (legal a x) (legal b x)";
        let error = refused(two, 1).to_string();
        assert!(error.starts_with("the game has 2 roles (a, b) and there are 1 players"), "{error}");
        let same = MatchConfig { players: vec!["Here:1".into(), "here:1".into()], ..terms("t", 2) };
        let error = refused_with(two, &same).to_string();
        assert!(error.starts_with("a and b have the same player here:1"), "{error}");
        assert_eq!(refused("(role é) (legal é x)", 1), MatchError::NotAscii);
    }
}
