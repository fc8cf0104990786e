//! A game in progress whose moves can be taken back.

use sternhalma_data::{Cell, Move, Position, Side};
use sternhalma_ggp::Game;

use crate::protocol::ugi::{UgiError, legal_action};
use crate::record::{AnnotatedGame, AnnotatedMove, MoveInfo};
use crate::rules::{Action, ChineseCheckers, GameState, Outcome, Repetitions};

/// A game in progress: the moves since its start, and the moves that were taken
/// back.
///
/// ```
/// use sternhalma_data::{Board, Position};
/// use sternhalma_engine::{ChineseCheckers, Filter, GameHistory};
///
/// let rules = ChineseCheckers::new(Board::new(5, 3)?, Filter::All);
/// let mut history = GameHistory::new(rules);
/// let action = history.legal()[0];
/// history.play(action, Default::default());
/// assert_eq!((history.undo(), history.state().ply()), (Some(action), 0));
/// assert_eq!((history.redo(), history.state().ply()), (Some(action), 1));
/// # Ok::<(), sternhalma_data::BoardError>(())
/// ```
#[derive(Debug)]
pub struct GameHistory {
    rules: ChineseCheckers,
    /// The game without its moves and its result.
    template: AnnotatedGame,
    played: Vec<AnnotatedMove>,
    /// The moves that were taken back, the first one last.
    undone: Vec<AnnotatedMove>,
    /// The state before each move, and the present state.
    states: Vec<GameState>,
    repetitions: Repetitions,
    /// The result of a game that did not end by the rules.
    declared: Option<Outcome>,
}

impl GameHistory {
    /// Creates a game at the initial position.
    pub fn new(rules: ChineseCheckers) -> GameHistory {
        let start = rules.position(&rules.initial());
        GameHistory::at(rules, start).expect("the initial position is the board's")
    }

    /// Creates a game that starts at a position, or returns `None` if its
    /// armies do not have the number of pieces of the board.
    pub fn at(rules: ChineseCheckers, start: Position) -> Option<GameHistory> {
        let states = vec![rules.state(&start)?];
        let mut template = AnnotatedGame::new(start);
        (template.rules, template.ply_limit) = (rules.rules(), rules.ply_limit());
        let repetitions = Repetitions::new(&rules, &states[0]);
        let (played, undone) = (Vec::new(), Vec::new());
        Some(GameHistory { rules, template, played, undone, states, repetitions, declared: None })
    }

    /// Creates a game from a record, after its last move. The rules are those of
    /// its board, with its rule set and ply limit. Returns `None` if the moves of the record
    /// are not legal.
    pub fn from_record(rules: ChineseCheckers, record: &AnnotatedGame) -> Option<GameHistory> {
        let rules = rules.with_rules(record.rules).with_ply_limit(record.ply_limit);
        let mut history = GameHistory::at(rules, record.start)?;
        for mv in &record.line.moves {
            if !history.legal().contains(&mv.action) {
                return None;
            }
            history.push(mv.clone());
        }
        if history.outcome().is_none() {
            history.declared = record.result;
        }
        let mut template = record.clone();
        template.line.moves.clear();
        history.template = template;
        Some(history)
    }

    /// Returns the rules.
    pub fn rules(&self) -> &ChineseCheckers {
        &self.rules
    }

    /// Returns the state before the first move.
    pub fn start(&self) -> &GameState {
        &self.states[0]
    }

    /// Returns the present state.
    pub fn state(&self) -> &GameState {
        self.states.last().expect("the start is a state")
    }

    /// Returns the moves since the start.
    pub fn actions(&self) -> impl ExactSizeIterator<Item = Action> + '_ {
        self.played.iter().map(|mv| mv.action)
    }

    /// Returns the state before the last move, and that move.
    pub fn last(&self) -> Option<(&GameState, Action)> {
        let last = self.played.last()?;
        Some((&self.states[self.states.len() - 2], last.action))
    }

    /// Returns the legal actions: moves, or a pass if there are none. A finished
    /// game has no legal actions.
    pub fn legal(&self) -> Vec<Action> {
        let mut legal = Vec::new();
        if self.outcome().is_none() {
            let state = self.state();
            self.rules.legal(state, state.player() as usize, &mut legal);
        }
        legal
    }

    /// Returns the result, by the rules or declared.
    pub fn outcome(&self) -> Option<Outcome> {
        let drawn = || self.is_repeated().then_some(Outcome::Draw);
        self.declared.or(self.state().outcome()).or_else(drawn)
    }

    /// Returns whether the game is drawn by the third occurrence of a position.
    pub fn is_repeated(&self) -> bool {
        self.repetitions.is_over()
    }

    /// Plays an action. Moves that were taken back are forgotten.
    ///
    /// # Panics
    ///
    /// Panics if the action is not legal.
    pub fn play(&mut self, action: Action, info: MoveInfo) {
        assert!(self.legal().contains(&action), "the action is legal");
        self.undone.clear();
        self.push(AnnotatedMove::new(action, info));
    }

    /// Plays the action of a text.
    ///
    /// # Errors
    ///
    /// Returns an error if the text is not a legal action, or the game is over by the rules.
    ///
    /// # Panics
    ///
    /// Panics if the result of the game was declared.
    pub fn play_text(&mut self, text: &str) -> Result<Action, UgiError> {
        if self.is_repeated() {
            return Err(UgiError::after_repetition(text, self.state().ply()));
        }
        let action = legal_action(&self.rules, self.state(), text)?;
        self.play(action, MoveInfo::default());
        Ok(action)
    }

    fn push(&mut self, mv: AnnotatedMove) {
        let mut state = *self.state();
        self.rules.play_action(&mut state, mv.action);
        self.repetitions.push(&self.rules, &state);
        self.states.push(state);
        self.played.push(mv);
    }

    /// Continues a game whose result was declared. Returns whether it was.
    pub fn reopen(&mut self) -> bool {
        self.declared.take().is_some()
    }

    /// Takes the last action back and returns it. A declared result is taken
    /// back too. Without an action, returns `None` and changes nothing.
    pub fn undo(&mut self) -> Option<Action> {
        let mv = self.played.pop()?;
        self.states.pop();
        self.repetitions.truncate(self.states.len());
        self.declared = None;
        let action = mv.action;
        self.undone.push(mv);
        Some(action)
    }

    /// Plays the last action that was taken back, and returns it. Returns `None` if
    /// there is none.
    pub fn redo(&mut self) -> Option<Action> {
        let mv = self.undone.pop()?;
        let action = mv.action;
        self.push(mv);
        Some(action)
    }

    /// Ends the game: the other player wins. Does nothing if the game is over.
    /// Actions that were taken back cannot be played again.
    pub fn resign(&mut self, side: Side) {
        if self.outcome().is_none() {
            self.declared = Some(Outcome::Won(side.other()));
            self.undone.clear();
        }
    }

    /// Returns the shortest path of the last move, from its first to its last
    /// cell.
    pub fn last_path(&self) -> Option<(Move, Vec<Cell>)> {
        let (before, action) = self.last()?;
        let mv = action?;
        let others = (before.army(Side::X) | before.army(Side::O)).without(mv.from);
        Some((mv, self.rules.geometry().move_path(others, mv)?))
    }

    /// Returns the position of the present state.
    pub fn position(&self) -> Position {
        self.rules.position(self.state())
    }

    /// Sets a tag of the record.
    ///
    /// # Panics
    ///
    /// Panics for names that [`AnnotatedGame::set_tag`] does not accept.
    pub fn set_tag(&mut self, name: &str, value: impl Into<String>) {
        self.template.set_tag(name, value);
    }

    /// Returns the value of a tag of the record.
    pub fn tag(&self, name: &str) -> Option<&str> {
        self.template.tag(name)
    }

    /// Returns the record of the game.
    pub fn record(&self) -> AnnotatedGame {
        let mut record = self.template.clone();
        record.line.moves = self.played.clone();
        record.result = self.outcome();
        record
    }
}

#[cfg(test)]
mod tests {
    use sternhalma_data::Board;

    use super::*;
    use crate::rules::Filter;

    fn history(size: u64, pieces: u64) -> GameHistory {
        GameHistory::new(ChineseCheckers::new(Board::new(size, pieces).unwrap(), Filter::All))
    }

    fn play(history: &mut GameHistory, moves: &str) {
        for text in moves.split(' ') {
            let mv = history.rules().geometry().parse_move(text).unwrap();
            history.play(Some(mv), MoveInfo::default());
        }
    }

    #[test]
    fn moves_are_taken_back_and_played_again() {
        let mut history = history(5, 3);
        let start = *history.state();
        play(&mut history, "a2-a3 d5-d4 a1-a2");
        let end = *history.state();
        let taken: Vec<Action> = std::iter::from_fn(|| history.undo()).collect();
        assert_eq!((taken.len(), *history.state()), (3, start));
        let replayed: Vec<Action> = std::iter::from_fn(|| history.redo()).collect();
        assert_eq!((*history.state(), replayed), (end, taken.into_iter().rev().collect()));
        // Another move replaces those that were taken back.
        history.undo();
        play(&mut history, "b1-c1");
        assert_eq!((history.redo(), history.actions().len()), (None, 3));
    }

    #[test]
    fn a_game_ends_by_the_rules_or_by_resignation() {
        let mut history = history(3, 1);
        play(&mut history, "a1-b1 c3-b3 b1-b2 b3-a3 b2-c2 a3-a2");
        history.resign(Side::X);
        assert_eq!((history.outcome(), history.legal()), (Some(Outcome::Won(Side::O)), Vec::new()));
        history.undo();
        assert_eq!(history.outcome(), None);
        history.resign(Side::X);
        assert_eq!(history.redo(), None, "a move after the end of the game");
        assert_eq!(history.outcome(), Some(Outcome::Won(Side::O)));
        assert!(history.reopen());
        play(&mut history, "a3-a2");
        assert_eq!(history.outcome(), None);
        play(&mut history, "c2-c3");
        assert_eq!((history.outcome(), history.legal()), (Some(Outcome::Won(Side::X)), Vec::new()));
        history.resign(Side::X);
        assert_eq!(history.outcome(), Some(Outcome::Won(Side::X)));
    }

    #[test]
    fn a_record_restores_the_game() {
        let mut history = history(5, 3);
        history.set_tag("PlayerX", "A");
        play(&mut history, "a2-a3 d5-d4 a1-a2");
        history.resign(Side::O);
        let mut record = history.record();
        record.line.moves[0].comments.push("first".to_owned());
        let text = record.to_string();
        assert!(text.contains("[PlayerX \"A\"]\n[Result \"1-0\"]"), "{text}");
        let rules = || ChineseCheckers::new(Board::new(5, 3).unwrap(), Filter::All);
        let restored = GameHistory::from_record(rules(), &text.parse().unwrap()).unwrap();
        assert_eq!((restored.record(), restored.state()), (record.clone(), history.state()));
        assert_eq!(restored.outcome(), Some(Outcome::Won(Side::X)));
        record.line.moves.swap(0, 1);
        assert!(GameHistory::from_record(rules(), &record).is_none());
        let other = ChineseCheckers::new(Board::new(5, 1).unwrap(), Filter::All);
        assert!(GameHistory::from_record(other, &history.record()).is_none());
    }

    #[test]
    fn the_path_of_a_move_has_every_landing() {
        let rules = ChineseCheckers::new(Board::new(5, 2).unwrap(), Filter::All);
        let mut history = GameHistory::at(rules, "5/2o2/5/2o2/2x1x x 0".parse().unwrap()).unwrap();
        assert_eq!(history.last_path(), None);
        play(&mut history, "c1-c5");
        let (mv, path) = history.last_path().unwrap();
        let geometry = history.rules().geometry();
        let names: Vec<String> = path.iter().map(|&cell| geometry.cell_name(cell)).collect();
        assert_eq!(
            (geometry.move_text(mv), names),
            ("c1-c5".to_owned(), ["c1", "c3", "c5"].map(String::from).to_vec())
        );
    }
}
