//! Games of a tournament log as records.

use std::time::Duration;

use serde_json::Value;
use sternhalma_data::{Board, RuleSet, Side};
use sternhalma_ggp::arena::{
    ArenaGame, GameRecord, MoveSearch, OpeningError, Schedule, Termination, WrongEntry, result_text,
};

use thiserror::Error;

use super::game::{AnnotatedGame, AnnotatedMove, MoveInfo};
use crate::protocol::ugi::{UgiError, legal_action};
use crate::rules::{ChineseCheckers, Filter, GameSetup, Outcome, Repetitions};

/// The reason why a logged game cannot be replayed.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum LoggedGameError {
    /// The log is of another game.
    #[error("the log is not one of Chinese Checkers")]
    OtherGame,
    /// The opening is invalid.
    #[error(transparent)]
    Opening(#[from] OpeningError),
    /// A move is not legal.
    #[error(transparent)]
    Move(#[from] UgiError),
}

impl AnnotatedGame {
    /// Returns a logged game of Chinese Checkers, with the data of its searches if the log has them.
    /// The record starts after the opening. Role 0 is `x`, and role 1 is `o`.
    ///
    /// # Errors
    ///
    /// Returns an error if the log is of another game, or if the opening or a move is not legal.
    pub fn from_log(schedule: &Schedule, record: &GameRecord) -> Result<AnnotatedGame, LoggedGameError> {
        let setup = logged_setup(schedule).ok_or(LoggedGameError::OtherGame)?;
        let game = ChineseCheckers::of(setup, Filter::All);
        let mut state = game.opening(&record.opening)?.state;
        let mut found = AnnotatedGame::new(game.position(&state));
        (found.rules, found.ply_limit) = (setup.rules, setup.ply_limit);
        let round = &schedule.rounds[record.id.round].name;
        let event = if round.is_empty() { "a tournament".to_owned() } else { format!("a tournament, {round}") };
        let titles = schedule.titles(record.id);
        let ending = match (&record.fault, record.end) {
            (Some(fault), _) => format!("{}: {}", titles[fault.role], fault.fault),
            (None, Termination::Rules) => "rules".to_owned(),
            (None, Termination::PlyLimit) => "ply limit".to_owned(),
            (None, Termination::Repetition) => "repetition".to_owned(),
            (None, Termination::Adjudicated) => "adjudicated".to_owned(),
            (None, Termination::Fault) => "fault".to_owned(),
        };
        let number = schedule.number(record.id).to_string();
        let tags = [
            ("Event", event.as_str()),
            ("Game", &number),
            ("PlayerX", titles[0]),
            ("PlayerO", titles[1]),
            ("Ending", &ending),
        ];
        // A tag is one line.
        for (name, value) in tags {
            found.set_tag(name, value.replace(char::is_control, " "));
        }
        for (at, text) in record.moves.iter().enumerate() {
            let action = legal_action(&game, &state, text)?;
            game.play_action(&mut state, action);
            // In this game one role moves per ply, so searches and moves have the same order.
            let info = record.searches.get(at).map(MoveInfo::from).unwrap_or_default();
            found.line.moves.push(AnnotatedMove::new(action, info));
        }
        found.result = Some(match record.goals[..] {
            [x, o] if x > o => Outcome::Won(Side::X),
            [x, o] if x < o => Outcome::Won(Side::O),
            _ => Outcome::Draw,
        });
        Ok(found)
    }
}

/// Checks that the moves of a logged game of Chinese Checkers are legal and lead to its result. Games of other logs are
/// not checked, nor the winner of an adjudicated game, which follows from a table.
///
/// # Errors
///
/// Returns how the record contradicts its moves.
pub fn check_logged(schedule: &Schedule, record: &GameRecord) -> Result<(), WrongEntry> {
    let Some(setup) = logged_setup(schedule) else { return Ok(()) };
    let game = ChineseCheckers::of(setup, Filter::All);
    let opening = game.opening(&record.opening).map_err(wrong)?;
    let mut state = opening.state;
    let mut played = Repetitions::new(&game, &state);
    for text in &record.moves {
        if played.is_over() {
            return Err(wrong(UgiError::after_repetition(text, state.ply())));
        }
        let action = legal_action(&game, &state, text).map_err(wrong)?;
        game.play_action(&mut state, action);
        played.push(&game, &state);
    }
    let plies = opening.plies as usize + record.moves.len();
    if plies != record.plies as usize {
        return Err(wrong(format!("it has {} plies, and its opening and moves have {plies}", record.plies)));
    }
    let goals = match state.outcome() {
        Some(Outcome::Won(side)) => Some(if side == Side::X { [100, 0] } else { [0, 100] }),
        Some(Outcome::Draw) => Some([50, 50]),
        None => (played.is_over() || plies >= setup.ply_limit as usize).then_some([50, 50]),
    };
    let agrees = match (goals, record.end) {
        (_, Termination::Fault) | (None, Termination::Adjudicated) => true,
        (Some(goals), Termination::Rules | Termination::PlyLimit | Termination::Repetition) => {
            goals[..] == record.goals
        }
        (Some(_), Termination::Adjudicated) | (None, _) => false,
    };
    if agrees {
        return Ok(());
    }
    let end =
        goals.map_or_else(|| "do not end the game".to_owned(), |goals| format!("end with {}", result_text(&goals)));
    let (result, recorded) = (result_text(&record.goals), serde_json::to_value(record.end).unwrap_or_default());
    Err(wrong(format!("its result is {result} ({}), and its moves {end}", recorded.as_str().unwrap_or_default())))
}

fn wrong(why: impl ToString) -> WrongEntry {
    WrongEntry(why.to_string())
}

/// Returns the board and the rules of a log, or `None` if it is of another game.
fn logged_setup(schedule: &Schedule) -> Option<GameSetup> {
    let number = |key: &str| schedule.game.get(key).and_then(Value::as_u64);
    let board = Board::new(number("side")?, number("pieces")?).and_then(Board::for_two).ok()?;
    let rules = match schedule.game.get("rules") {
        None => RuleSet::Paper,
        Some(rules) => RuleSet::from_stored(rules.as_str()?).ok()?,
    };
    Some(GameSetup { board, rules, ply_limit: schedule.ply_limit })
}

/// Numbers that are 0 in the log are not known.
impl From<&MoveSearch> for MoveInfo {
    fn from(search: &MoveSearch) -> MoveInfo {
        let playouts = (search.playouts > 0).then(|| ("playouts".to_owned(), search.playouts.to_string()));
        let time = Duration::try_from_secs_f64(search.seconds).ok().filter(|time| !time.is_zero());
        MoveInfo {
            time,
            score: search.score,
            depth: Some(search.depth).filter(|&depth| depth > 0),
            nodes: Some(search.nodes).filter(|&nodes| nodes > 0),
            others: playouts.into_iter().collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use sternhalma_ggp::arena::{Budget, Entrant, Fault, FaultKind, GameId, RoleFault, SearchValue, Totals};

    use super::*;

    #[test]
    fn a_logged_game_agrees_with_its_moves() {
        let mut schedule = Schedule::new(["a", "b"].map(Entrant::named).to_vec(), Budget::default(), 2);
        schedule.game = json!({"side": 3, "pieces": 1, "adjudicated-by": null});
        let moves = ["a1-b1", "c3-c2", "b1-b2", "c2-c1", "b2-b3", "c1-b1", "b3-c3", "b1-a1"];
        let record = GameRecord {
            id: GameId { round: 0, pairing: 0, game: 0 },
            players: vec!["a".to_owned(), "b".to_owned()],
            opening: "startpos moves a1-b1 c3-c2".to_owned(),
            moves: moves[2..7].iter().copied().map(str::to_owned).collect(),
            plies: 7,
            end: Termination::Rules,
            goals: vec![100, 0],
            fault: None,
            spent: vec![Totals::default(); 2],
            searches: Vec::new(),
            origin: None,
        };
        assert_eq!(check_logged(&schedule, &record), Ok(()));
        let error = |change: &dyn Fn(&mut GameRecord)| {
            let mut changed = record.clone();
            change(&mut changed);
            check_logged(&schedule, &changed).err().map(|wrong| wrong.0).unwrap_or_default()
        };
        assert_eq!(error(&|it| it.goals = vec![0, 100]), "its result is 0-1 (rules), and its moves end with 1-0");
        assert_eq!(error(&|it| it.plies = 8), "it has 8 plies, and its opening and moves have 7");
        let cut = |it: &mut GameRecord| (_, it.plies) = (it.moves.pop(), 6);
        assert_eq!(error(&cut), "its result is 1-0 (rules), and its moves do not end the game");
        let adjudicated = |it: &mut GameRecord| {
            cut(it);
            it.end = Termination::Adjudicated;
        };
        assert_eq!(error(&adjudicated), "");
        assert!(error(&|it| it.end = Termination::Adjudicated).contains("(adjudicated), and its moves end with 1-0"));
        assert!(error(&|it| it.moves[1] = "c2-a1".to_owned()).contains("not legal for o at ply 3"));
        assert!(error(&|it| it.moves.push(moves[7].to_owned())).contains("after the end of the game"));
        // The moves of a rulesheet are not known.
        schedule.game = json!({"rules": "x"});
        assert_eq!(check_logged(&schedule, &GameRecord { goals: vec![0, 100], ..record }), Ok(()));
    }

    #[test]
    fn a_logged_game_is_a_record() {
        let mut schedule = Schedule::new(["a", "b"].map(Entrant::named).to_vec(), Budget::default(), 2);
        schedule.game = json!({"side": 5, "pieces": 1, "adjudicated-by": null});
        let search = MoveSearch { score: Some(SearchValue::Lead(0.5)), depth: 3, nodes: 9, playouts: 4, seconds: 0.25 };
        let mut record = GameRecord {
            id: GameId { round: 0, pairing: 0, game: 1 },
            players: vec!["b".to_owned(), "a".to_owned()],
            opening: "startpos moves a1-b1".to_owned(),
            moves: ["e5-d5", "b1-c1"].map(str::to_owned).to_vec(),
            plies: 3,
            end: Termination::Fault,
            goals: vec![100, 0],
            fault: Some(RoleFault { role: 1, fault: Fault { kind: FaultKind::Crash, detail: "it\nended".to_owned() } }),
            spent: vec![Totals::default(); 2],
            searches: vec![search],
            origin: None,
        };
        let game = AnnotatedGame::from_log(&schedule, &record).unwrap();
        let text = game.to_string();
        for part in [
            "[Game \"2\"]",
            "[PlayerX \"b\"]",
            "[PlayerO \"a\"]",
            "[Ending \"a: crash: it ended\"]",
            "[Result \"1-0\"]",
            "e5-d5 <score=+0.5 depth=3 nodes=9 time=0.250 playouts=4> 2. b1-c1 1-0",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert_eq!(text.parse(), Ok(game));
        record.moves[1] = "b1-e5".to_owned();
        let error = AnnotatedGame::from_log(&schedule, &record).unwrap_err();
        assert!(error.to_string().contains("not legal for x at ply 2"), "{error}");
        schedule.game = json!({"rules": "x"});
        let error = AnnotatedGame::from_log(&schedule, &record).unwrap_err();
        assert_eq!(error, LoggedGameError::OtherGame);
        assert_eq!(error.to_string(), "the log is not one of Chinese Checkers");
    }
}
