//! Cells, moves, states and positions as text (`docs/notation.md`).

use std::fmt::{self, Write as _};
use std::str::FromStr;

use thiserror::Error;

use crate::board::{Board, Geometry, Side};
use crate::cell::{Cell, CellSet};
use crate::position::{Move, Position};
use crate::rank::Rank;

/// What is wrong with a piece of text.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum NotationError {
    /// Not a letter and a number, or beyond the edge.
    #[error("`{text}` is no cell of a board of size {size}; cells are {first} to {last}")]
    Cell {
        /// What was read.
        text: String,
        /// The size of the board.
        size: usize,
        /// The first cell's name.
        first: String,
        /// The last cell's name.
        last: String,
    },
    /// A cell is named twice.
    #[error("`{0}` is given twice; a cell holds one piece")]
    Twice(String),
    /// The state has too few or too many pieces for the board.
    #[error("{found} pieces are given where the board has {expected}")]
    Pieces {
        /// The pieces of the board.
        expected: usize,
        /// The pieces read.
        found: usize,
    },
    /// Not a number after `#`, or one that no state has.
    #[error("`{text}` is no rank; ranks of {board} are #0 to #{last}")]
    Rank {
        /// What was read.
        text: String,
        /// The board.
        board: Board,
        /// The largest rank.
        last: u64,
    },
    /// A position string that does not read `ROWS PLAYER PLY`.
    #[error("`{text}` is no position: {why}; a position reads `ROWS PLAYER PLY`, for example `1oo/x1o/xx1 x 0`")]
    Position {
        /// What was read.
        text: String,
        /// What is wrong with it.
        why: String,
    },
    /// Not two cells joined by `-`.
    #[error("`{0}` is no move; a move reads `c1-e3`")]
    Move(String),
}

impl Geometry {
    /// The name of a cell: a letter for `x`, a number for `y + 1`.
    pub fn cell_name(&self, cell: Cell) -> String {
        let (x, y) = self.coordinates(cell);
        format!("{}{}", char::from(b'a' + x), y + 1)
    }

    /// The cell of this name.
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

    /// The names of the cells of a set, joined by commas.
    pub fn cells_text(&self, cells: CellSet) -> String {
        cells.iter().map(|cell| self.cell_name(cell)).collect::<Vec<_>>().join(",")
    }

    /// A set from cell names joined by commas.
    ///
    /// # Errors
    /// If a name is no cell, or a cell is named twice.
    pub fn parse_cells(&self, text: &str) -> Result<CellSet, NotationError> {
        let mut cells = CellSet::EMPTY;
        for name in text.split(',').map(str::trim) {
            let cell = self.parse_cell(name)?;
            if cells.contains(cell) {
                return Err(NotationError::Twice(name.to_owned()));
            }
            cells = cells.with(cell);
        }
        Ok(cells)
    }

    /// A move as text: `c1-e3`.
    pub fn move_text(&self, mv: Move) -> String {
        format!("{}-{}", self.cell_name(mv.from), self.cell_name(mv.to))
    }

    /// A move from text.
    ///
    /// # Errors
    /// If the text is not two cells of the board joined by `-`.
    pub fn parse_move(&self, text: &str) -> Result<Move, NotationError> {
        let (from, to) = text.split_once('-').ok_or_else(|| NotationError::Move(text.to_owned()))?;
        Ok(Move { from: self.parse_cell(from)?, to: self.parse_cell(to)? })
    }
}

impl Board {
    /// One player's pieces, in the board's order, from text: cell names
    /// joined by commas, a position string (the player's army is taken), or
    /// `#RANK` (as the player's goal tip sees it).
    ///
    /// # Errors
    /// If the text is none of these or has the wrong number of pieces.
    pub fn parse_army(self, text: &str, side: Side) -> Result<CellSet, NotationError> {
        let text = text.trim();
        let army = if let Some(rank) = text.strip_prefix('#') {
            let rank = self.parse_rank(rank)?;
            side.goal_view(self.cells(), rank.state(self.pieces()))
        } else if text.contains('/') {
            let position: Position = text.parse()?;
            if position.geometry().size() != self.size() {
                let why = format!("it has {} rows where the board has {}", position.geometry().size(), self.size());
                return Err(NotationError::Position { text: text.to_owned(), why });
            }
            position.army(side)
        } else {
            self.geometry().parse_cells(text)?
        };
        if army.len() != self.pieces() {
            return Err(NotationError::Pieces { expected: self.pieces(), found: army.len() });
        }
        Ok(army)
    }

    /// A rank of a state of the board.
    ///
    /// # Errors
    /// If the text is no number or no state has this rank.
    pub fn parse_rank(self, text: &str) -> Result<Rank, NotationError> {
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
                let piece = [(Side::X, 'x'), (Side::O, 'o')].into_iter().find(|&(p, _)| self.army(p).contains(cell));
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

    fn from_str(text: &str) -> Result<Position, NotationError> {
        parse_position(text).map_err(|why| NotationError::Position { text: text.to_owned(), why })
    }
}

fn parse_position(text: &str) -> Result<Position, String> {
    let mut fields = text.split_whitespace();
    let (Some(rows), Some(side), Some(ply), None) = (fields.next(), fields.next(), fields.next(), fields.next()) else {
        return Err("it has not three fields".to_owned());
    };
    let rows: Vec<&str> = rows.split('/').collect();
    let size = u8::try_from(rows.len()).ok().filter(|size| Geometry::SIZES.contains(size));
    let size = size.ok_or_else(|| format!("it has {} rows, and a board has 3 to 11", rows.len()))?;
    let geometry = Geometry::of_size(size);
    let mut armies = [CellSet::EMPTY; 2];
    for (row, y) in rows.iter().zip((0..size).rev()) {
        parse_row(row, y, geometry, &mut armies)?;
    }
    let side = side.parse()?;
    let ply = ply.parse().map_err(|_| format!("`{ply}` is no number of plies"))?;
    Ok(Position::new(geometry, armies[0], armies[1], side, ply).expect("each cell was read once"))
}

fn parse_row(row: &str, y: u8, geometry: &Geometry, armies: &mut [CellSet; 2]) -> Result<(), String> {
    let size = geometry.size();
    let long = || format!("row `{row}` is longer than {size} cells");
    let mut x = 0;
    let mut rest = row;
    while let Some(letter) = rest.chars().next() {
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        if digits > 0 {
            let run = rest[..digits].parse::<usize>().ok().filter(|&run| run <= size).ok_or_else(long)?;
            if run == 0 || rest.starts_with('0') {
                return Err(format!("row `{row}` has a run of no cells"));
            }
            x += run;
            rest = &rest[digits..];
        } else {
            let side: Side = letter.to_string().parse().map_err(|_| format!("row `{row}` has a `{letter}`"))?;
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
        return Err(format!("row `{row}` is shorter than {size} cells"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_initial_position_reads_as_the_notation_says() {
        let position = Position::initial(Board::new(9, 6).unwrap());
        let text = "6ooo/7oo/8o/9/9/9/x8/xx7/xxx6 x 0";
        assert_eq!(position.to_string(), text);
        assert_eq!(text.parse(), Ok(position));
        let wide = Position::initial(Board::new(11, 1).unwrap()).to_string();
        assert_eq!(wide, "10o/11/11/11/11/11/11/11/11/11/x10 x 0");
    }

    #[test]
    fn bad_text_is_refused_in_words() {
        let board = Board::new(9, 3).unwrap();
        for (text, why) in [
            ("a1,b1", "2 pieces are given"),
            ("a1,b1,c1,d1", "4 pieces are given"),
            ("a1,b1,a1", "`a1` is given twice"),
            ("a1,b1,j1", "`j1` is no cell of a board of size 9; cells are a1 to i9"),
            ("a1,b1,a10", "`a10` is no cell"),
            ("a1,b1,a01", "`a01` is no cell"),
            ("a1,b1,a+1", "`a+1` is no cell"),
            ("a1,b1,ä1", "`ä1` is no cell"),
            ("", "`` is no cell"),
            ("#85320", "ranks of 9x9, 3 pieces are #0 to #85319"),
            ("#-1", "`-1` is no rank"),
            ("#+1", "`+1` is no rank"),
            ("#", "`` is no rank"),
            ("#99999999999999999999", "is no rank"),
            ("3/3/3 x 0", "3 rows where the board has 9"),
            ("9/9/9/9/9/9/9/9/9 x 0", "0 pieces are given"),
            ("9/9/9/9/9/9/9/9/10 x 0", "longer than 9"),
            ("9/9/9/9/9/9/9/9/xxx5 x 0", "shorter than 9"),
            ("9/9/9/9/9/9/9/9/xxx06 x 0", "run of no cells"),
            ("9/9/9/9/9/9/9/9/xxz6 x 0", "has a `z`"),
            ("9/9/9/9/9/9/9/9/xxx6 y 0", "a player is `x` or `o`"),
            ("9/9/9/9/9/9/9/9/xxx6 x -1", "no number of plies"),
            ("9/9/9/9/9/9/9/9/xxx6 x", "three fields"),
            ("9/9 x 0", "2 rows"),
        ] {
            let error = board.parse_army(text, Side::X).expect_err(text).to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    #[test]
    fn a_state_reads_the_same_in_all_three_forms() {
        let board = Board::new(9, 6).unwrap();
        let text = "6ooo/7oo/8o/9/9/9/x8/xx7/xxx6 x 0";
        let goal = board.parse_army("#0", Side::X).unwrap();
        assert_eq!(goal, board.parse_army(text, Side::O).unwrap());
        let home = board.parse_army("c1, b1,a1,a2,b2,a3", Side::X).unwrap();
        assert_eq!(home, board.parse_army(text, Side::X).unwrap());
        assert_eq!(home, board.parse_army("#0", Side::O).unwrap());
        assert_eq!(board.geometry().cells_text(home), "a1,a2,b1,a3,b2,c1");
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
                let _ = Board::new(9, 6).unwrap().parse_army(&text, Side::O);
                let _ = Board::new(3, 1).unwrap().geometry().parse_move(&text);
            }
        }
    }
}
