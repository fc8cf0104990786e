//! The messages of game managers, and the replies of players.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use sternhalma_gdl::{Document, Expr, ExprKind, KifError};
use thiserror::Error;

/// The maximum clock, in seconds: eleven days.
const MAX_SECONDS: f64 = 1e6;

/// A message of a game manager to a player.
///
/// Words may be in any case and separated by any white space. Clocks are in
/// seconds.
///
/// ```
/// use sternhalma_ggp::protocol::Message;
///
/// let message: Message = "(play m1 ((mark 1 1)noop))".parse()?;
/// assert_eq!(message.to_string(), "( PLAY m1 ( (mark 1 1) noop ) )");
/// # Ok::<(), sternhalma_ggp::protocol::MessageError>(())
/// ```
#[derive(Clone, PartialEq, Debug)]
pub enum Message {
    /// A request for the player's name and status.
    Info,
    /// An announcement of a game that may be played soon.
    Preview {
        /// The rulesheet of the game.
        rules: Document,
        /// The time for analysing the game.
        clock: Duration,
    },
    /// The start of a match.
    Start {
        /// The name of the match.
        id: String,
        /// The role that the player takes.
        role: String,
        /// The rulesheet.
        rules: Document,
        /// The time until the first move is requested.
        start: Duration,
        /// The time for each move.
        play: Duration,
    },
    /// A request for a move.
    Play {
        /// The name of the match.
        id: String,
        /// The last joint move, in the order of roles; `None` at first.
        moves: Option<Vec<String>>,
    },
    /// The end of a match.
    Stop {
        /// The name of the match.
        id: String,
        /// The last moves.
        moves: Option<Vec<String>>,
    },
    /// The interruption of a match.
    Abort {
        /// The name of the match.
        id: String,
    },
}

/// An error in the text of a message.
#[derive(Error, Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum MessageError {
    /// The text is not KIF.
    #[error(transparent)]
    Kif(#[from] KifError),
    /// The text does not begin like a message.
    #[error("this is not a message: expected one list that begins with INFO, PREVIEW, START, PLAY, STOP or ABORT")]
    Unknown,
    /// The parts of the message are invalid.
    #[error("expected {expected}")]
    Parts {
        /// The form of the message.
        expected: &'static str,
    },
    /// A clock is not a time.
    #[error("`{text}` is no clock: expected seconds from 0 to a million")]
    Clock {
        /// The text in place of the clock.
        text: String,
    },
}

impl FromStr for Message {
    type Err = MessageError;

    fn from_str(text: &str) -> Result<Message, MessageError> {
        let document = Document::parse(text)?;
        let mut exprs = document.expressions();
        let (Some(expr), None) = (exprs.next(), exprs.next()) else { return Err(MessageError::Unknown) };
        let (word, parts) = match &expr.kind {
            ExprKind::Symbol(word) => (word.as_str(), &[][..]),
            ExprKind::List(items) => (items[0].as_symbol().ok_or(MessageError::Unknown)?, &items[1..]),
        };
        let word = word.to_ascii_uppercase();
        let form = FORMS.iter().find(|(known, _)| *known == word);
        let (_, expected) = *form.ok_or(MessageError::Unknown)?;
        match (word.as_str(), parts) {
            // Additional parts of INFO are ignored.
            ("INFO", _) => Ok(Message::Info),
            ("PREVIEW", [rules, seconds]) => {
                Ok(Message::Preview { rules: rulesheet(rules, expected)?, clock: clock(seconds)? })
            }
            ("START", [id, role, rules, start, play]) => {
                let (id, role, rules) = (symbol(id, expected)?, role.to_string(), rulesheet(rules, expected)?);
                Ok(Message::Start { id, role, rules, start: clock(start)?, play: clock(play)? })
            }
            ("PLAY", [id, moves]) => Ok(Message::Play { id: symbol(id, expected)?, moves: joint(moves) }),
            ("STOP", [id, moves]) => Ok(Message::Stop { id: symbol(id, expected)?, moves: joint(moves) }),
            ("ABORT", [id]) => Ok(Message::Abort { id: symbol(id, expected)? }),
            _ => Err(MessageError::Parts { expected }),
        }
    }
}

/// The forms of messages, by their first words.
const FORMS: [(&str, &str); 6] = [
    ("INFO", "( INFO )"),
    ("PREVIEW", "( PREVIEW ( rules ) clock )"),
    ("START", "( START id role ( rules ) startclock playclock )"),
    ("PLAY", "( PLAY id ( moves ) ), with NIL for the moves at first"),
    ("STOP", "( STOP id ( moves ) )"),
    ("ABORT", "( ABORT id )"),
];

fn symbol(expr: &Expr, expected: &'static str) -> Result<String, MessageError> {
    expr.as_symbol().map(str::to_string).ok_or(MessageError::Parts { expected })
}

fn rulesheet(expr: &Expr, expected: &'static str) -> Result<Document, MessageError> {
    match &expr.kind {
        ExprKind::List(items) => Ok(items.iter().cloned().collect()),
        ExprKind::Symbol(_) => Err(MessageError::Parts { expected }),
    }
}

fn clock(expr: &Expr) -> Result<Duration, MessageError> {
    let error = || MessageError::Clock { text: expr.to_string() };
    let seconds: f64 = expr.as_symbol().and_then(|text| text.parse().ok()).ok_or_else(error)?;
    if (0.0..=MAX_SECONDS).contains(&seconds) { Ok(Duration::from_secs_f64(seconds)) } else { Err(error()) }
}

/// A symbol, usually NIL, means that there are no moves.
fn joint(expr: &Expr) -> Option<Vec<String>> {
    match &expr.kind {
        ExprKind::List(items) => Some(items.iter().map(|item| item.without_empty_parentheses().to_string()).collect()),
        ExprKind::Symbol(_) => None,
    }
}

/// Prints one line in the spelling of the public managers, without the
/// comments of the rulesheet.
impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Message::Info => f.write_str("( INFO )"),
            Message::Preview { rules, clock } => {
                write!(f, "( PREVIEW {} {} )", listed(rules.expressions()), clock.as_secs_f64())
            }
            Message::Start { id, role, rules, start, play } => {
                let (start, play) = (start.as_secs_f64(), play.as_secs_f64());
                write!(f, "( START {id} {role} {} {start} {play} )", listed(rules.expressions()))
            }
            Message::Play { id, moves } => write!(f, "( PLAY {id} {} )", joint_text(moves)),
            Message::Stop { id, moves } => write!(f, "( STOP {id} {} )", joint_text(moves)),
            Message::Abort { id } => write!(f, "( ABORT {id} )"),
        }
    }
}

fn listed(items: impl Iterator<Item = impl fmt::Display>) -> String {
    let mut text = String::from("( ");
    items.for_each(|item| text += &format!("{item} "));
    text + ")"
}

fn joint_text(moves: &Option<Vec<String>>) -> String {
    moves.as_ref().map_or_else(|| "NIL".to_string(), |moves| listed(moves.iter()))
}

/// A reply of a player.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reply {
    /// The reply to INFO.
    Info {
        /// The player's name.
        name: String,
        /// Whether the player is in a match.
        busy: bool,
    },
    /// The reply to PREVIEW and START.
    Ready,
    /// The reply to a START during a match or with an unplayable rulesheet,
    /// and to messages about another match.
    Busy,
    /// The reply to PLAY: the move, or NIL if no move is legal or none is
    /// known in time.
    Move(Option<String>),
    /// The reply to STOP.
    Done,
    /// The reply to ABORT.
    Aborted,
}

impl fmt::Display for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reply::Info { name, busy } => {
                write!(f, "( ( name {name} ) ( status {} ) )", if *busy { "busy" } else { "available" })
            }
            Reply::Ready => f.write_str("ready"),
            Reply::Busy => f.write_str("busy"),
            Reply::Move(mv) => f.write_str(mv.as_deref().unwrap_or("NIL")),
            Reply::Done => f.write_str("done"),
            Reply::Aborted => f.write_str("aborted"),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn seconds(seconds: f64) -> Duration {
        Duration::from_secs_f64(seconds)
    }

    fn rules(text: &str) -> Document {
        Document::parse(text).unwrap()
    }

    #[test]
    fn messages_are_read_in_any_case_and_spacing() {
        let joint = |words: &str| Some(words.split(' ').map(str::to_string).collect());
        let id = || "kEx.7".to_string();
        for (text, message) in [
            ("( INFO )", Message::Info),
            ("info", Message::Info),
            ("\r\n(Info extra)", Message::Info),
            ("( PREVIEW ((role a)) 10 )", Message::Preview { rules: rules("(role a)"), clock: seconds(10.0) }),
            (
                "(start kEx.7 A((ROLE A)(<= terminal (not (true b))))1.5\t+3)",
                Message::Start {
                    id: id(),
                    role: "A".into(),
                    rules: rules("(ROLE A) (<= terminal (not (true b)))"),
                    start: seconds(1.5),
                    play: seconds(3.0),
                },
            ),
            ("(PLAY kEx.7 NIL)", Message::Play { id: id(), moves: None }),
            ("(PLAY kEx.7 nil)", Message::Play { id: id(), moves: None }),
            ("(plaY\nkEx.7\n( a b ))", Message::Play { id: id(), moves: joint("a b") }),
            ("(STOP kEx.7 (a))", Message::Stop { id: id(), moves: joint("a") }),
            ("(ABORT kEx.7)", Message::Abort { id: id() }),
        ] {
            assert_eq!(text.parse(), Ok(message), "{text}");
        }
        let Ok(Message::Play { moves, .. }) = "(PLAY m ((mark  1 (f 2)) noop ((pass)) (go ((left)))))".parse() else {
            panic!("a PLAY")
        };
        assert_eq!(moves.unwrap(), ["(mark 1 (f 2))", "noop", "pass", "(go left)"]);
    }

    #[test]
    fn invalid_messages_are_refused_with_a_reason() {
        for (text, error) in [
            ("", "this is not a message"),
            ("INFO INFO", "this is not a message"),
            ("((INFO))", "this is not a message"),
            ("(HELLO)", "this is not a message"),
            ("(INFO", "1:1: this parenthesis is never closed"),
            ("(PLAY m)", "expected ( PLAY id"),
            ("(PLAY (m) NIL)", "expected ( PLAY id"),
            ("(PLAY m ())", "1:9: the list is empty"),
            ("(ABORT)", "expected ( ABORT id )"),
            ("(STOP m)", "expected ( STOP id"),
            ("(PREVIEW rules 3)", "expected ( PREVIEW"),
            ("(START m a ((role a)) 10)", "expected ( START"),
            ("(START m a ((role a)) 10 -1)", "`-1` is no clock"),
            ("(START m a ((role a)) 10 inf)", "`inf` is no clock"),
            ("(START m a ((role a)) 1e7 1)", "`1e7` is no clock"),
            ("(START m a ((role a)) (10) 1)", "`(10)` is no clock"),
        ] {
            let found = text.parse::<Message>().unwrap_err().to_string();
            assert!(found.starts_with(error), "{text}: {found}");
        }
    }

    fn word() -> impl Strategy<Value = String> {
        "[a-zA-Z0-9_.+-]{1,8}"
    }

    fn term() -> impl Strategy<Value = String> {
        prop_oneof![word(), (word(), word()).prop_map(|(name, arg)| format!("({name} (f {arg}))"))]
    }

    fn message() -> impl Strategy<Value = Message> {
        let joint = || proptest::option::of(proptest::collection::vec(term(), 1..4));
        let sheet = || proptest::collection::vec(term(), 1..5).prop_map(|terms| rules(&terms.join(" ")));
        let clock = || (0..1_000_000_000u64).prop_map(Duration::from_millis);
        prop_oneof![
            Just(Message::Info),
            (sheet(), clock()).prop_map(|(rules, clock)| Message::Preview { rules, clock }),
            (word(), word(), sheet(), clock(), clock()).prop_map(|(id, role, rules, start, play)| Message::Start {
                id,
                role,
                rules,
                start,
                play
            }),
            (word(), joint()).prop_map(|(id, moves)| Message::Play { id, moves }),
            (word(), joint()).prop_map(|(id, moves)| Message::Stop { id, moves }),
            word().prop_map(|id| Message::Abort { id }),
        ]
    }

    proptest! {
        #[test]
        fn printed_text_parses_to_the_same_value(message in message()) {
            prop_assert_eq!(message.to_string().parse(), Ok(message));
        }

        #[test]
        fn any_text_is_read_or_refused(text in "(\\(|\\)| |;|\n|START|play|STOP|info|PREVIEW|nil|1|\"|é){0,20}") {
            if let Ok(message) = text.parse::<Message>() {
                prop_assert_eq!(message.to_string().parse(), Ok(message));
            }
        }
    }
}
