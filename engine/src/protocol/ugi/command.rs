//! The words of the protocol: parsing of commands, and printing of moves and of
//! the progress of a search.

use std::fmt::{self, Write};
use std::time::Duration;

use sternhalma_data::{Geometry, Move, Position, Side};
use sternhalma_ggp::arena::GameClock;
use sternhalma_ggp::{Game, Limits};
use thiserror::Error;

use crate::players::{SearchInfo, SearchValue};
use crate::rules::{Action, ChineseCheckers, GameState, Repetitions};

/// The text of a pass.
pub const PASS: &str = "pass";

/// The largest value of the option `MultiPV`.
pub(super) const MAX_LINES: u32 = 100;

/// A command to the engine.
#[derive(Clone, PartialEq, Debug)]
pub enum UgiCommand {
    /// `ugi`
    Ugi,
    /// `isready`
    IsReady,
    /// `uginewgame`
    NewGame,
    /// `position startpos|fen ROWS PLAYER PLY [moves MOVE…]`
    Position {
        /// The start position.
        start: StartPosition,
        /// The moves after the start position, as text, because `startpos` does
        /// not specify the board.
        moves: Vec<String>,
    },
    /// `go …`
    Go(Go),
    /// `stop`
    Stop,
    /// `setoption name NAME [value VALUE]`
    SetOption {
        /// The option.
        name: String,
        /// The value of the option, or an empty string.
        value: String,
    },
    /// `query …`
    Query(Query),
    /// `quit`
    Quit,
}

/// The start position of a game.
#[derive(Clone, PartialEq, Debug)]
pub enum StartPosition {
    /// The initial position of the engine's board.
    Initial,
    /// A position string.
    At(Position),
}

/// A query about a position.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Query {
    /// Whether the game is over.
    GameOver,
    /// Whether `x` is to move.
    P1Turn,
    /// The result of the game.
    Result,
}

/// The limits of a search.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Go {
    /// All limits except the clocks.
    pub limits: Limits,
    /// The remaining time of each player.
    pub left: [Option<Duration>; 2],
    /// The increment per move of each player.
    pub increment: [Duration; 2],
    /// Whether the answer waits for `stop`.
    pub infinite: bool,
    /// The parts of the command that are not known as limits.
    pub ignored: Vec<String>,
}

/// An error in a command.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum UgiError {
    /// The command is unknown.
    #[error("`{0}` is not a command; {COMMANDS}")]
    Unknown(String),
    /// The command is malformed.
    #[error("{0}")]
    Malformed(String),
    /// The rule set forbids a move because it seals the goal of the opponent.
    #[error("{0}")]
    SealedGoal(String),
}

impl UgiError {
    /// Returns the error for a move after the third occurrence of a position.
    pub(crate) fn after_repetition(text: &str, ply: u32) -> UgiError {
        UgiError::Malformed(format!("`{text}` comes after the end of the game, by repetition at ply {ply}"))
    }
}

const COMMANDS: &str = "the commands are ugi, isready, uginewgame, position, go, stop, setoption, query and quit";

impl UgiCommand {
    /// Parses a line; a blank line is not a command.
    ///
    /// # Errors
    ///
    /// Returns an error if the command is unknown or incomplete.
    pub fn parse(line: &str) -> Result<Option<UgiCommand>, UgiError> {
        let line = line.trim();
        let (first, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        Ok(Some(match first {
            "" => return Ok(None),
            "ugi" => UgiCommand::Ugi,
            "isready" => UgiCommand::IsReady,
            "uginewgame" => UgiCommand::NewGame,
            "position" => position(rest)?,
            "go" => UgiCommand::Go(go(rest)),
            "stop" => UgiCommand::Stop,
            "setoption" => option(rest)?,
            "query" => UgiCommand::Query(query(rest.trim())?),
            "quit" => UgiCommand::Quit,
            _ => return Err(UgiError::Unknown(first.to_owned())),
        }))
    }
}

fn position(text: &str) -> Result<UgiCommand, UgiError> {
    const USAGE: &str = "a position reads `position startpos` or `position fen ROWS PLAYER PLY`, then `moves c1-e3 …`";
    let malformed = |why: &dyn std::fmt::Display| UgiError::Malformed(why.to_string());
    let mut words = text.split_whitespace();
    let start = match words.next() {
        Some("startpos") => StartPosition::Initial,
        Some("fen") => {
            let fields: Vec<&str> = words.by_ref().take(3).collect();
            StartPosition::At(fields.join(" ").parse().map_err(|error| malformed(&error))?)
        }
        _ => return Err(malformed(&USAGE)),
    };
    let moves = match words.next() {
        None => Vec::new(),
        Some("moves") => words.map(str::to_owned).collect(),
        Some(_) => return Err(malformed(&USAGE)),
    };
    Ok(UgiCommand::Position { start, moves })
}

/// Parses the arguments of `go`. A limit that is unknown or has no number is ignored, so that every `go` is a search.
fn go(text: &str) -> Go {
    let mut go = Go::default();
    let mut words = text.split_whitespace().peekable();
    go.infinite = words.peek().is_none();
    while let Some(word) = words.next() {
        if word == "infinite" {
            go.infinite = true;
            continue;
        }
        let Some(number) = words.next_if(|text| number(text).is_some()).and_then(number) else {
            go.ignored.push(word.to_owned());
            continue;
        };
        match word {
            "movetime" => go.limits.time = Some(Duration::from_millis(number)),
            "nodes" => go.limits.expansions = Some(number),
            "playouts" => go.limits.playouts = Some(number),
            "depth" => go.limits.depth = Some(number.try_into().unwrap_or(u32::MAX)),
            "p1time" => go.left[0] = Some(Duration::from_millis(number)),
            "p2time" => go.left[1] = Some(Duration::from_millis(number)),
            "p1inc" => go.increment[0] = Duration::from_millis(number),
            "p2inc" => go.increment[1] = Duration::from_millis(number),
            _ => go.ignored.push(format!("{word} {number}")),
        }
    }
    go
}

/// Parses the number of a limit. Negative numbers, such as the clock of a player who has overstepped it, count as 0,
/// and larger numbers than 2^64 - 1 as that.
fn number(text: &str) -> Option<u64> {
    let real = || text.parse::<f64>().ok().filter(|number| !number.is_nan());
    text.parse().ok().or_else(|| real().map(|number| number as u64))
}

fn option(text: &str) -> Result<UgiCommand, UgiError> {
    let named = text.trim_start().strip_prefix("name").filter(|rest| rest.starts_with(char::is_whitespace));
    let named = named.map(str::trim).filter(|rest| !rest.is_empty());
    let rest =
        named.ok_or_else(|| UgiError::Malformed("an option is set by `setoption name NAME value VALUE`".into()))?;
    let mut words = rest.match_indices("value");
    // The separator must be a whole word.
    let value = words.find(|(at, _)| {
        rest[..*at].ends_with(char::is_whitespace) && rest[at + 5..].chars().next().is_none_or(char::is_whitespace)
    });
    let (name, value) = value.map_or((rest, ""), |(at, _)| (&rest[..at], &rest[at + 5..]));
    Ok(UgiCommand::SetOption { name: name.trim().to_owned(), value: value.trim().to_owned() })
}

fn query(text: &str) -> Result<Query, UgiError> {
    match text {
        "gameover" => Ok(Query::GameOver),
        "p1turn" => Ok(Query::P1Turn),
        "result" => Ok(Query::Result),
        _ => Err(UgiError::Malformed(format!("`query {text}` is unknown; there are gameover, p1turn and result"))),
    }
}

impl Go {
    /// Returns the limits of a player's search. A player uses a twentieth of
    /// its clock plus the increment, and leaves at least 10 ms. Without its
    /// clock, that of the other player counts.
    pub fn limits(&self, side: Side) -> Limits {
        let player = side as usize;
        match self.left[player].or(self.left[1 - player]) {
            Some(left) => {
                let clock = GameClock { left, increment: self.increment[player] };
                self.limits.and(Limits::time(clock.share()))
            }
            None => self.limits,
        }
    }
}

/// Prints the `go` command, with times in whole milliseconds.
impl fmt::Display for Go {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let added = |time: Duration| (!time.is_zero()).then(|| ms(time));
        let Limits { playouts, expansions, depth, time } = self.limits;
        let limits = [
            ("nodes", expansions),
            ("playouts", playouts),
            ("depth", depth.map(u64::from)),
            ("movetime", time.map(ms)),
            ("p1time", self.left[0].map(ms)),
            ("p2time", self.left[1].map(ms)),
            ("p1inc", added(self.increment[0])),
            ("p2inc", added(self.increment[1])),
        ];
        f.write_str("go")?;
        let mut given = limits.into_iter().filter_map(|(name, value)| Some((name, value?)));
        given.try_for_each(|(name, value)| write!(f, " {name} {value}"))?;
        f.write_str(if self.infinite { " infinite" } else { "" })
    }
}

/// Returns the text of an action.
pub fn action_text(geometry: &Geometry, action: Action) -> String {
    action.map_or(PASS.to_owned(), |mv: Move| geometry.move_text(mv))
}

/// Parses a legal action of the player to move.
///
/// # Errors
///
/// Returns an error if the game is over or the text is not a legal action.
pub fn legal_action(game: &ChineseCheckers, state: &GameState, text: &str) -> Result<Action, UgiError> {
    let malformed = |why: String| UgiError::Malformed(why);
    let ply = state.ply();
    if state.outcome().is_some() {
        return Err(malformed(format!("`{text}` comes after the end of the game, at ply {ply}")));
    }
    let parse = |text| game.geometry().parse_move(text).map_err(|error| malformed(error.to_string()));
    let action = if text == PASS { None } else { Some(parse(text)?) };
    let mut legal = Vec::new();
    game.legal(state, state.player() as usize, &mut legal);
    if legal.contains(&action) {
        return Ok(action);
    }
    let illegal = format!("`{text}` is not legal for {} at ply {ply}", state.player());
    Err(match action.and_then(|mv| game.why_forbidden(state, mv)) {
        Some(reason) => UgiError::SealedGoal(format!("{illegal}: {reason}")),
        None => malformed(illegal),
    })
}

/// Returns the state that the arguments of `position` set up on the board of a
/// game.
pub(crate) fn placed(game: &ChineseCheckers, text: &str) -> Result<GameState, String> {
    let message = |error: UgiError| error.to_string();
    let UgiCommand::Position { start, moves } = position(text).map_err(message)? else {
        unreachable!("a position is read as one")
    };
    let mut state = match start {
        StartPosition::Initial => game.initial(),
        StartPosition::At(position) => {
            game.state(&position).ok_or_else(|| format!("`{text}` is no position of {}", game.board()))?
        }
    };
    let mut played = Repetitions::new(game, &state);
    for text in &moves {
        let action = legal_action(game, &state, text).map_err(message)?;
        game.play_action(&mut state, action);
        if played.push(game, &state) {
            return Err(format!("`{text}` ends the game by repetition"));
        }
    }
    Ok(state)
}

/// Returns the `info` line of a search: depth, the number of the line from 1 if there are several,
/// time, nodes, nodes per second, playouts, score and principal variation, as far as they are known.
pub fn info_line(geometry: &Geometry, info: &SearchInfo, multipv: Option<usize>) -> String {
    let spent = info.spent;
    let rate = spent.expansions as f64 / spent.time.as_secs_f64().max(1e-6);
    let mut line = format!("info depth {}", spent.depth);
    if let Some(number) = multipv {
        let _ = write!(line, " multipv {number}");
    }
    let _ = write!(line, " time {} nodes {} nps {rate:.0}", spent.time.as_millis(), spent.expansions);
    if spent.playouts > 0 {
        let _ = write!(line, " playouts {}", spent.playouts);
    }
    let _ = match info.value {
        None => Ok(()),
        Some(SearchValue::Reward(points) | SearchValue::Lead(points)) => {
            write!(line, " score cp {:.0}", 100.0 * points)
        }
        Some(SearchValue::Won(plies)) => write!(line, " score mate {plies}"),
        Some(SearchValue::Lost(plies)) => write!(line, " score mate -{plies}"),
    };
    line += " pv";
    for &action in &info.line {
        line += " ";
        line += &action_text(geometry, action);
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn go_of(text: &str) -> Go {
        match UgiCommand::parse(text) {
            Ok(Some(UgiCommand::Go(go))) => go,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn commands_read_as_the_protocol_says() {
        for (line, command) in [
            ("ugi", UgiCommand::Ugi),
            (" isready\r", UgiCommand::IsReady),
            ("uginewgame", UgiCommand::NewGame),
            ("stop", UgiCommand::Stop),
            ("quit", UgiCommand::Quit),
            ("query  gameover", UgiCommand::Query(Query::GameOver)),
            ("query p1turn", UgiCommand::Query(Query::P1Turn)),
            ("query result", UgiCommand::Query(Query::Result)),
            ("position startpos", UgiCommand::Position { start: StartPosition::Initial, moves: vec![] }),
        ] {
            assert_eq!(UgiCommand::parse(line), Ok(Some(command)), "{line}");
        }
        assert_eq!(UgiCommand::parse(" \t"), Ok(None));
        let fen = "1oo/x1o/xx1 x 4";
        let found = UgiCommand::parse(&format!("position fen {fen} moves a1-a2  pass"));
        let moves = vec!["a1-a2".to_owned(), PASS.to_owned()];
        assert_eq!(found, Ok(Some(UgiCommand::Position { start: StartPosition::At(fen.parse().unwrap()), moves })));
    }

    #[test]
    fn a_value_is_all_that_comes_after_its_word() {
        for (line, name, value) in [
            ("setoption name Player value heur0, c=0.3", "Player", "heur0, c=0.3"),
            ("setoption  name  Tables  value  /a  b/value", "Tables", "/a  b/value"),
            ("setoption name Seed", "Seed", ""),
            ("setoption name Seed value", "Seed", ""),
            ("setoption name values value value", "values", "value"),
        ] {
            let expected = UgiCommand::SetOption { name: name.to_owned(), value: value.to_owned() };
            assert_eq!(UgiCommand::parse(line), Ok(Some(expected)), "{line}");
        }
    }

    #[test]
    fn limits_come_together_and_no_limit_is_infinite() {
        let ms = Duration::from_millis;
        let limits = Limits { playouts: Some(7), expansions: Some(500), depth: Some(3), time: Some(ms(20)) };
        let go = go_of("go nodes 500 movetime 20 depth 3 playouts 7");
        assert_eq!(go, Go { limits, ..Go::default() });
        assert_eq!(go_of("go"), go_of("go infinite"));
        assert!(go_of("go").infinite && !go.infinite);
        let go = go_of("go p1time 60000 p2time 100 p1inc 50 p2inc 200");
        assert_eq!(go.limits(Side::X).time, Some(ms(3050)));
        assert_eq!(go.limits(Side::O).time, Some(ms(90)));
        assert_eq!(go_of("go p2time 5").limits(Side::O).time, Some(ms(0)));
        assert_eq!(go_of("go depth 99999999999").limits.depth, Some(u32::MAX));
    }

    #[test]
    fn unparsable_text_is_refused_with_a_reason() {
        for (line, why) in [
            ("hello there", "`hello` is not a command"),
            ("UGI", "`UGI` is not a command"),
            ("query colour", "`query colour` is unknown"),
            ("position", "a position reads"),
            ("position startpos a1-a2", "a position reads"),
            ("position fen 3/3", "has 2 rows"),
            ("position fen 3/3 x 0 moves", "has 2 rows"),
            ("setoption Player heur0", "set by `setoption name"),
            ("setoption name", "set by `setoption name"),
            ("setoption nameless", "set by `setoption name"),
        ] {
            let error = UgiCommand::parse(line).unwrap_err().to_string();
            assert!(error.contains(why), "{line}: {error}");
        }
    }

    #[test]
    fn odd_limits_still_make_a_search() {
        let ms = Duration::from_millis;
        for (line, time, expansions) in [
            ("go p1time -5 p2time 1000", Some(0), None),
            ("go p2time 1000", Some(50), None),
            ("go p1time 1000 movestogo 3 p1inc -7", Some(50), None),
            ("go movetime 20.7", Some(20), None),
            ("go nodes -1", None, Some(0)),
            ("go nodes 99999999999999999999", None, Some(u64::MAX)),
            ("go nodes", None, None),
            ("go nodes many fast", None, None),
            ("go nodes nan", None, None),
        ] {
            let go = go_of(line);
            let limits = go.limits(Side::X);
            assert_eq!((limits.time, limits.expansions, go.infinite), (time.map(ms), expansions, false), "{line}");
        }
        assert_eq!(go_of("go movestogo 3 nodes 9 ponder nodes x").ignored, ["movestogo 3", "ponder", "nodes", "x"]);
    }

    /// Generates lines that are similar to commands.
    fn near_commands() -> impl Strategy<Value = String> {
        let words = [
            "ugi",
            "isready",
            "position",
            "startpos",
            "fen",
            "moves",
            "go",
            "nodes",
            "movetime",
            "infinite",
            "p1time",
            "p2inc",
            "setoption",
            "name",
            "value",
            "query",
            "result",
            "1oo/x1o/xx1",
            "x",
            "0",
            "a1-a2",
            "-1",
            "é",
            "18446744073709551616",
            "18446744073709551615",
            "\u{3000}",
            "valuevalue",
        ];
        prop::collection::vec(prop::sample::select(words.to_vec()), 0..9).prop_map(|words| words.join(" "))
    }

    proptest! {
        #[test]
        fn a_go_reads_as_it_prints(
            counts in prop::array::uniform4(prop::option::of(any::<u64>())),
            left in prop::array::uniform2(prop::option::of(any::<u64>())),
            added in prop::array::uniform2(any::<u64>()),
            infinite: bool,
        ) {
            let [playouts, expansions, plies, time] = counts;
            let depth = plies.map(|plies| plies as u32);
            let limits = Limits { playouts, expansions, depth, time: time.map(Duration::from_millis) };
            let left = left.map(|left| left.map(Duration::from_millis));
            let go = Go { limits, left, increment: added.map(Duration::from_millis), infinite, ..Go::default() };
            prop_assert_eq!(go_of(&go.to_string()), go);
        }

        #[test]
        fn no_line_panics(line in prop_oneof![".*", near_commands()]) {
            if let Ok(Some(UgiCommand::Go(go))) = UgiCommand::parse(&line) {
                let _ = (go.limits(Side::X), go.limits(Side::O));
            }
        }
    }
}
