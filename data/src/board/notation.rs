//! The text of cells, moves, states and positions (`docs/reference/notation.md`).

use std::fmt::{self, Write as _};
use std::str::FromStr;

use thiserror::Error;

use super::cell::{Cell, CellSet};
use super::geometry::Geometry;
use super::moves::Move;
use super::position::Position;
use super::rank::Rank;
use super::setup::{Board, BoardError};
use super::side::{ParseSideError, Side};
use super::state::State;

/// The text of the initial position.
const START_POSITION: &str = "startpos";

/// The reason why text cannot be parsed.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum NotationError {
    /// The text is not a letter and a number, or the cell is beyond the edge.
    #[error("`{text}` is not a cell of a {size}x{size} board; expected {first} to {last}{}", rank_hint(text))]
    Cell {
        /// The text.
        text: String,
        /// The size of the board.
        size: usize,
        /// The name of the first cell.
        first: String,
        /// The name of the last cell.
        last: String,
    },
    /// A cell is given twice.
    #[error("`{0}` is given twice; a cell holds one piece")]
    Twice(String),
    /// The state has too few or too many pieces for the board.
    #[error("expected {}, got {found}{}", counted(expected, "piece"), separator_hint(*expected, *found))]
    Pieces {
        /// The number of pieces of the board.
        expected: usize,
        /// The number of pieces in the text.
        found: usize,
    },
    /// The text after `#` is not a number, or no state has this rank.
    #[error("`{text}` is not a rank of {board}; expected #0 to #{last}")]
    Rank {
        /// The text.
        text: String,
        /// The board.
        board: Board,
        /// The largest rank.
        last: u64,
    },
    /// The text is not of the form `ROWS PLAYER PLY`, the last two of which are optional.
    #[error("`{text}` is not a position: {fault}; expected `ROWS PLAYER PLY`, for example `1oo/x1o/xx1 x 0`")]
    Position {
        /// The text.
        text: String,
        /// The error in the text.
        fault: PositionFault,
    },
    /// The board does not have what the text requires.
    #[error(transparent)]
    Board(#[from] BoardError),
    /// The text is not two cells joined by `-`.
    #[error("`{0}` is not a move; expected two cells, for example `c1-e3`")]
    Move(String),
}

/// The error in a position string.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PositionFault {
    /// The string has no field, or more than three.
    #[error("it does not have one to three fields")]
    Fields,
    /// The number of rows is not the size of a board.
    #[error("it has {}, and a board has 3 to 11", counted(.0, "row"))]
    Rows(usize),
    /// The position is on a board of another size.
    #[error("it has {}, and the board has {expected}", counted(found, "row"))]
    Size {
        /// The size of the board.
        expected: usize,
        /// The number of rows.
        found: usize,
    },
    /// A row has too many cells.
    #[error("row `{row}` is longer than {size} cells")]
    LongRow {
        /// The row.
        row: String,
        /// The size of the board.
        size: usize,
    },
    /// A row has too few cells.
    #[error("row `{row}` is shorter than {size} cells")]
    ShortRow {
        /// The row.
        row: String,
        /// The size of the board.
        size: usize,
    },
    /// A number of empty cells is 0 or begins with 0.
    #[error("row `{0}` has a run of no cells")]
    EmptyRun(String),
    /// A row contains another letter than `x` and `o`.
    #[error("row `{row}` contains `{letter}`")]
    Letter {
        /// The row.
        row: String,
        /// The letter.
        letter: char,
    },
    /// The player to move is invalid.
    #[error(transparent)]
    Side(#[from] ParseSideError),
    /// The number of plies is invalid.
    #[error("`{0}` is not a number of plies")]
    Ply(String),
}

/// Explains how ranks are written, if the text could be one.
fn rank_hint(text: &str) -> String {
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if digits { format!("; if this is a rank, write `#{text}`") } else { String::new() }
}

fn counted(number: &usize, noun: &str) -> String {
    format!("{number} {noun}{}", if *number == 1 { "" } else { "s" })
}

/// Returns a hint about separators if one cell was found instead of a state.
fn separator_hint(expected: usize, found: usize) -> &'static str {
    if found == 1 && expected > 1 { "; separate the cells of a state with commas, as in `a1,b1,a2`" } else { "" }
}

impl Geometry {
    /// Returns the name of a cell: a letter for `x` and a number for `y + 1`.
    pub fn cell_name(&self, cell: Cell) -> String {
        let (x, y) = self.coordinates(cell);
        format!("{}{}", char::from(b'a' + x), y + 1)
    }

    /// Returns the cell with this name, whose letter must be in lower case.
    ///
    /// # Errors
    /// If the text is not the name of a cell of the board.
    pub fn parse_cell(&self, text: &str) -> Result<Cell, NotationError> {
        self.cell_of(text).ok_or_else(|| NotationError::Cell {
            text: text.to_owned(),
            size: self.size(),
            first: self.cell_name(Cell::new(0)),
            last: self.cell_name(Cell::new(self.cells() - 1)),
        })
    }

    fn cell_of(&self, text: &str) -> Option<Cell> {
        let (&letter, number) = text.as_bytes().split_first()?;
        let plain = number.first().is_some_and(|d| (b'1'..=b'9').contains(d)) && number.len() <= 2;
        let y: u8 = text.get(1..)?.parse().ok().filter(|_| plain)?;
        self.at(letter.checked_sub(b'a')?, y - 1)
    }

    /// Returns the names of the cells of a set, joined by commas.
    pub fn cells_text(&self, cells: CellSet) -> String {
        cells.iter().map(|cell| self.cell_name(cell)).collect::<Vec<_>>().join(",")
    }

    /// Returns the set of the cells named in the text, in either case,
    /// separated by commas or blanks.
    ///
    /// # Errors
    /// If a name is not a cell, if a cell is named twice, or if a name is
    /// missing: in an empty text, or beside a comma.
    pub fn parse_cells(&self, text: &str) -> Result<CellSet, NotationError> {
        let mut cells = CellSet::EMPTY;
        for part in text.split(',').map(str::trim) {
            // A part without a name yields the name "", which is an error.
            for name in part.split_whitespace().chain(part.is_empty().then_some("")) {
                // `parse_cell` makes the error, which shows the name in its own case.
                let cell = self.cell_of(&name.to_ascii_lowercase()).map_or_else(|| self.parse_cell(name), Ok)?;
                if cells.contains(cell) {
                    return Err(NotationError::Twice(name.to_owned()));
                }
                cells = cells.with(cell);
            }
        }
        Ok(cells)
    }

    /// Returns the text of a move: `c1-e3`.
    pub fn move_text(&self, mv: Move) -> String {
        format!("{}-{}", self.cell_name(mv.from), self.cell_name(mv.to))
    }

    /// Returns the move with this text.
    ///
    /// # Errors
    /// If the text is not two cells of the board joined by `-`.
    pub fn parse_move(&self, text: &str) -> Result<Move, NotationError> {
        let (from, to) = text.split_once('-').ok_or_else(|| NotationError::Move(text.to_owned()))?;
        Ok(Move { from: self.parse_cell(from)?, to: self.parse_cell(to)? })
    }
}

impl Geometry {
    /// Returns the move that a person typed: `c1-e3`, `c1e3`, `c1 e3` or
    /// `c1 to e3`, in either case.
    ///
    /// # Errors
    /// If the text is not two cells of the board.
    pub fn parse_typed_move(&self, text: &str) -> Result<Move, NotationError> {
        let wrong = || NotationError::Move(text.to_owned());
        let lower = text.trim().to_ascii_lowercase();
        let second = lower.rfind(|c: char| c.is_ascii_alphabetic()).filter(|&at| at > 0).ok_or_else(wrong)?;
        let (from, to) = lower.split_at(second);
        let from = from.trim().trim_end_matches("to").trim_end_matches(['-', ',', ' ', '>']);
        Ok(Move { from: self.parse_cell(from)?, to: self.parse_cell(to)? })
    }
}

impl Board {
    /// Parses a position: `startpos`, or a position string on a board of this
    /// size.
    ///
    /// # Errors
    /// If the text is neither, or if it is `startpos` and the homes overlap.
    pub fn parse_position(self, text: &str) -> Result<Position, NotationError> {
        if text.trim().eq_ignore_ascii_case(START_POSITION) {
            return Ok(Position::initial(self.for_two()?));
        }
        let position: Position = text.parse()?;
        let found = position.geometry().size();
        if found != self.size() {
            let fault = PositionFault::Size { expected: self.size(), found };
            return Err(NotationError::Position { text: text.to_owned(), fault });
        }
        Ok(position)
    }

    /// Parses an army, in board order.
    ///
    /// The text is one of:
    /// - cell names separated by commas or blanks;
    /// - a position string, from which the player's army is taken;
    /// - `startpos`, the player's home;
    /// - `#RANK`.
    ///
    /// # Errors
    /// If the text is none of these or has the wrong number of pieces.
    pub fn parse_army(self, text: &str, side: Side) -> Result<CellSet, NotationError> {
        let text = text.trim();
        let army = if let Some(rank) = text.strip_prefix('#') {
            self.parse_rank(rank)?.state(self.pieces()).to_army(self, side)
        } else if text.contains('/') {
            self.parse_position(text)?.army(side)
        } else if text.eq_ignore_ascii_case(START_POSITION) {
            self.home(side)
        } else {
            self.geometry().parse_cells(text)?
        };
        self.check_army(army)
    }

    /// Parses the state of an army, as [`parse_army`](Board::parse_army) does.
    ///
    /// # Errors
    /// If the text is no army of the board.
    pub fn parse_state(self, text: &str, side: Side) -> Result<State, NotationError> {
        Ok(State::from_army(self, side, self.parse_army(text, side)?))
    }

    /// Returns the army if it has the board's number of pieces.
    ///
    /// # Errors
    /// If it has another number.
    pub fn check_army(self, army: CellSet) -> Result<CellSet, NotationError> {
        match army.len() == self.pieces() {
            true => Ok(army),
            false => Err(NotationError::Pieces { expected: self.pieces(), found: army.len() }),
        }
    }

    /// Returns the names of the cells of a state in board order, joined by commas.
    pub fn state_text(self, state: State, side: Side) -> String {
        self.geometry().cells_text(state.to_army(self, side))
    }

    /// Parses the rank of a state of the board.
    ///
    /// # Errors
    /// If the text is not a number or no state has this rank.
    pub fn parse_rank(self, text: &str) -> Result<Rank, NotationError> {
        // `parse` alone would also accept a sign, e.g., `+5`.
        let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        let rank = text.parse().ok().filter(|&rank| digits && rank < self.states());
        rank.map(Rank).ok_or_else(|| NotationError::Rank {
            text: text.to_owned(),
            board: self,
            last: self.states() - 1,
        })
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let geometry = self.geometry();
        let size = geometry.size() as u8;
        for y in (0..size).rev() {
            let mut empty = 0;
            for x in 0..size {
                let cell = geometry.at(x, y).expect("x and y are below the size");
                let piece =
                    [(Side::X, 'x'), (Side::O, 'o')].into_iter().find(|&(side, _)| self.army(side).contains(cell));
                match piece {
                    None => empty += 1,
                    Some((_, letter)) => {
                        if empty > 0 {
                            write!(f, "{empty}")?;
                        }
                        empty = 0;
                        f.write_char(letter)?;
                    }
                }
            }
            if empty > 0 {
                write!(f, "{empty}")?;
            }
            f.write_char(if y > 0 { '/' } else { ' ' })?;
        }
        write!(f, "{} {}", self.side_to_move(), self.ply())
    }
}

impl FromStr for Position {
    type Err = NotationError;

    /// Parses a position string. Letters may be of either case. Without a ply,
    /// the position is at ply 0, and without a player, `x` is to move.
    fn from_str(text: &str) -> Result<Position, NotationError> {
        parse_position(text).map_err(|fault| NotationError::Position { text: text.to_owned(), fault })
    }
}

fn parse_position(text: &str) -> Result<Position, PositionFault> {
    let lower = text.to_ascii_lowercase();
    let fields: Vec<&str> = lower.split_whitespace().collect();
    let (rows, side, ply) = match fields[..] {
        [rows] => (rows, "x", "0"),
        [rows, side] => (rows, side, "0"),
        [rows, side, ply] => (rows, side, ply),
        _ => return Err(PositionFault::Fields),
    };
    let rows: Vec<&str> = rows.split('/').collect();
    let size = u8::try_from(rows.len()).ok().filter(|size| Geometry::SIZES.contains(size));
    let size = size.ok_or(PositionFault::Rows(rows.len()))?;
    let geometry = Geometry::of_size(size);
    let mut armies = [CellSet::EMPTY; 2];
    for (row, y) in rows.iter().zip((0..size).rev()) {
        parse_row(row, y, geometry, &mut armies)?;
    }
    let side = side.parse()?;
    let ply = ply.parse().map_err(|_| PositionFault::Ply(ply.to_owned()))?;
    Ok(Position::new(geometry, armies[0], armies[1], side, ply).expect("each cell is parsed once"))
}

fn parse_row(row: &str, y: u8, geometry: &Geometry, armies: &mut [CellSet; 2]) -> Result<(), PositionFault> {
    let size = geometry.size();
    let long = || PositionFault::LongRow { row: row.to_owned(), size };
    let mut x = 0;
    let mut rest = row;
    while let Some(letter) = rest.chars().next() {
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        if digits > 0 {
            let run = rest[..digits].parse::<usize>().ok().filter(|&run| run <= size).ok_or_else(long)?;
            if run == 0 || rest.starts_with('0') {
                return Err(PositionFault::EmptyRun(row.to_owned()));
            }
            x += run;
            rest = &rest[digits..];
        } else {
            let side: Result<Side, _> = rest[..letter.len_utf8()].parse();
            let side = side.map_err(|_| PositionFault::Letter { row: row.to_owned(), letter })?;
            let cell = u8::try_from(x).ok().and_then(|x| geometry.at(x, y)).ok_or_else(long)?;
            armies[side as usize] = armies[side as usize].with(cell);
            x += 1;
            rest = &rest[letter.len_utf8()..];
        }
        if x > size {
            return Err(long());
        }
    }
    if x < size {
        return Err(PositionFault::ShortRow { row: row.to_owned(), size });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_initial_position_prints_as_documented() {
        let position = Position::initial(Board::new(9, 6).unwrap());
        let text = "6ooo/7oo/8o/9/9/9/x8/xx7/xxx6 x 0";
        assert_eq!(position.to_string(), text);
        assert_eq!(text.parse(), Ok(position));
        let wide = Position::initial(Board::new(11, 1).unwrap()).to_string();
        assert_eq!(wide, "10o/11/11/11/11/11/11/11/11/11/x10 x 0");
    }

    #[test]
    fn bad_text_is_rejected_with_the_reason() {
        let board = Board::new(9, 3).unwrap();
        for (text, why) in [
            ("a1,b1", "expected 3 pieces, got 2"),
            ("a1,b1,c1,d1", "expected 3 pieces, got 4"),
            ("a1,b1,a1", "`a1` is given twice"),
            ("a1,b1,j1", "`j1` is not a cell of a 9x9 board; expected a1 to i9"),
            ("a1,b1,a10", "`a10` is not a cell"),
            ("a1,b1,a01", "`a01` is not a cell"),
            ("a1,b1,a+1", "`a+1` is not a cell"),
            ("a1,b1,ä1", "`ä1` is not a cell"),
            ("", "`` is not a cell"),
            ("#85320", "is not a rank of 9x9, 3 pieces; expected #0 to #85319"),
            ("#-1", "`-1` is not a rank"),
            ("#+1", "`+1` is not a rank"),
            ("#", "`` is not a rank"),
            ("#99999999999999999999", "is not a rank"),
            ("3/3/3 x 0", "3 rows, and the board has 9"),
            ("9/9/9/9/9/9/9/9/9 x 0", "expected 3 pieces, got 0"),
            ("9/9/9/9/9/9/9/9/10 x 0", "longer than 9"),
            ("9/9/9/9/9/9/9/9/xxx5 x 0", "shorter than 9"),
            ("9/9/9/9/9/9/9/9/xxx06 x 0", "run of no cells"),
            ("9/9/9/9/9/9/9/9/xxz6 x 0", "contains `z`"),
            ("9/9/9/9/9/9/9/9/xxx6 y 0", "expected the player `x` or `o`, got `y`"),
            ("9/9/9/9/9/9/9/9/xxx6 x -1", "not a number of plies"),
            ("9/9/9/9/9/9/9/9/xxx6 x 0 0", "one to three fields"),
            ("9/9 x 0", "2 rows"),
            ("85319", "`85319` is not a cell of a 9x9 board; expected a1 to i9; if this is a rank, write `#85319`"),
            ("a1", "expected 3 pieces, got 1; separate the cells"),
            ("a1 b1,,c1", "`` is not a cell"),
        ] {
            let error = board.parse_state(text, Side::X).expect_err(text).to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    #[test]
    fn all_three_forms_of_a_state_parse_alike() {
        let board = Board::new(9, 6).unwrap();
        let text = "6ooo/7oo/8o/9/9/9/x8/xx7/xxx6 x 0";
        let state = |text, side| board.parse_state(text, side).unwrap();
        for side in [Side::X, Side::O] {
            assert_eq!(state("#0", side), State::goal(board));
            assert_eq!(state(text, side), State::start(board));
            assert_eq!(board.parse_army("#0", side), Ok(board.home(side.other())));
            assert_eq!(board.parse_army(text, side), Ok(board.home(side)));
        }
        let home = "c1, b1,a1,a2,b2,a3";
        assert_eq!((state(home, Side::X), state(home, Side::O)), (State::start(board), State::goal(board)));
        assert_eq!(board.state_text(State::start(board), Side::X), "a1,a2,b1,a3,b2,c1");
    }

    #[test]
    fn states_and_positions_are_read_generously() {
        let board = Board::new(9, 6).unwrap();
        let start = Position::initial(board);
        let goal = "6ooo/7oo/8o/9/9/9/9/9/9";
        for text in ["A1,B1,C1,A2,B2,A3", "a1 b1 c1 a2 b2 a3", " a1, b1 C1,a2 ,b2\ta3 ", "startpos", "StartPos"] {
            assert_eq!(board.parse_state(text, Side::X), Ok(State::start(board)), "{text}");
        }
        for text in ["startpos", goal, "6OOO/7OO/8O/9/9/9/9/9/9 O"] {
            assert_eq!(board.parse_state(text, Side::O), Ok(State::start(board)), "{text}");
        }
        for (text, side, ply) in
            [("", Side::X, 0), (" x", Side::X, 0), (" O", Side::O, 0), (" o 17", Side::O, 17), ("  x   3 ", Side::X, 3)]
        {
            let text = format!("6ooo/7oo/8o/9/9/9/x8/xx7/xxx6{text}");
            let expected =
                Position::new(start.geometry(), start.army(Side::X), start.army(Side::O), side, ply).unwrap();
            assert_eq!(text.parse(), Ok(expected), "{text}");
        }
        assert_eq!(board.parse_position("startpos"), Ok(start));
        assert!(board.parse_position("3/3/3").unwrap_err().to_string().contains("3 rows, and the board has 9"));
        let crowded = Board::new(3, 5).unwrap();
        assert!(crowded.parse_position("startpos").unwrap_err().to_string().contains("overlap"));
    }

    #[test]
    fn typed_moves_have_several_forms() {
        let geometry = Geometry::of_size(11);
        let mv = geometry.parse_move("c10-e3").unwrap();
        for text in ["c10-e3", "c10e3", "C10 e3", " C10-E3 ", "c10 - e3", "c10->e3", "c10 to e3", "c10,e3"] {
            assert_eq!(geometry.parse_typed_move(text), Ok(mv), "{text}");
        }
        for text in ["", "c10", "help", "c10-", "c1-e3-g5", "c1 z9", "-e3", "undo", "to", "ä1e3"] {
            assert!(geometry.parse_typed_move(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn positions_survive_printing(size in 3u8..=11, x: u128, o: u128, ply: u32, first: bool) {
            let geometry = Geometry::of_size(size);
            let board = CellSet::first_cells(geometry.cells()).bits();
            let (x, o) = (CellSet::from_bits(x & board), CellSet::from_bits(o & !x & board));
            let side = if first { Side::X } else { Side::O };
            let position = Position::new(geometry, x, o, side, ply).unwrap();
            prop_assert_eq!(position.to_string().parse(), Ok(position));
        }

        #[test]
        fn no_text_panics(text in "\\PC*", cells in "[a-l0-9,#/xo -]{0,40}") {
            for text in [text, cells] {
                let _ = text.parse::<Position>();
                let _ = Board::new(9, 6).unwrap().parse_state(&text, Side::O);
                let _ = Board::new(3, 1).unwrap().geometry().parse_move(&text);
                let _ = Board::new(3, 1).unwrap().geometry().parse_typed_move(&text);
            }
        }
    }
}
