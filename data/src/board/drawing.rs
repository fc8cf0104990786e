//! Pictures of positions as text.

use super::cell::{Cell, CellSet};
use super::moves::Move;
use super::position::Position;
use super::side::Side;

/// The options of drawing a position.
///
/// The board is a diamond that stands on `a1`, one row per line. The pieces are
/// `x` and `o`, an empty cell is `.`, and an empty cell of a home is `:`. Both
/// ends of each row are named. Along a row from left to right, the letter of a
/// cell increases and its number decreases.
///
/// ```
/// use sternhalma_data::board::Drawing;
/// use sternhalma_data::{Board, Position};
///
/// let position = Position::initial(Board::new(3, 3)?);
/// let after = position.after(position.geometry().parse_move("b1-b2").unwrap());
/// let last = position.geometry().parse_move("b1-b2").ok();
/// assert_eq!(Drawing::new().last_move(last).draw(&after), [
///     "     c3  o",
///     "   b3  o   o  c2",
///     " a3  .  [x]  .  c1",
///     "   a2  x  [:] b1",
///     "     a1  x",
/// ].join("\n"));
/// # Ok::<(), sternhalma_data::BoardError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Drawing {
    labels: bool,
    color: bool,
    flipped: bool,
    home: Option<usize>,
    last: Option<Move>,
    marked: CellSet,
}

/// The text of a cell: a mark on both sides, the body, and its ANSI colors.
struct CellText {
    marks: [char; 2],
    body: String,
    style: &'static str,
}

impl Drawing {
    /// Returns a drawing in plain text without highlighted cells.
    pub fn new() -> Drawing {
        Drawing::default()
    }

    /// Prints the name of every cell beside its piece, instead of the names of
    /// the ends of each row.
    #[must_use]
    pub fn labels(self, labels: bool) -> Drawing {
        Drawing { labels, ..self }
    }

    /// Adds ANSI escape sequences for colors. Nothing is shown by color alone.
    #[must_use]
    pub fn color(self, color: bool) -> Drawing {
        Drawing { color, ..self }
    }

    /// Turns the board by 180°, as the player of `o` sees it.
    #[must_use]
    pub fn flipped(self, flipped: bool) -> Drawing {
        Drawing { flipped, ..self }
    }

    /// Sets the number of cells of a home. The default is the number of pieces
    /// of the larger army. Homes without cells are not marked.
    #[must_use]
    pub fn home(self, cells: usize) -> Drawing {
        Drawing { home: Some(cells), ..self }
    }

    /// Puts the two ends of a move in brackets.
    #[must_use]
    pub fn last_move(self, last: Option<Move>) -> Drawing {
        Drawing { last, ..self }
    }

    /// Puts cells in parentheses, e.g. those of a
    /// [path of jumps](super::Geometry::move_path). The ends of the last move keep
    /// their brackets.
    #[must_use]
    pub fn marked(self, marked: CellSet) -> Drawing {
        Drawing { marked, ..self }
    }

    /// Returns the picture of a position. The picture has a line per row,
    /// without blanks at the ends of lines and without a line break after the
    /// last line.
    pub fn draw(&self, position: &Position) -> String {
        let geometry = position.geometry();
        let rows = 2 * geometry.size() - 1;
        let mut lines: Vec<String> = (0..rows).map(|row| self.line(position, row)).collect();
        if !self.flipped {
            lines.reverse();
        }
        lines.join("\n")
    }

    /// Returns the line of a row of the board.
    fn line(&self, position: &Position, row: usize) -> String {
        let geometry = position.geometry();
        let mut cells: Vec<Cell> = geometry.row_cells(row).iter().collect();
        if self.flipped {
            cells.reverse();
        }
        let width = if self.labels { 6 } else { 4 };
        let indent = " ".repeat(width / 2 * (geometry.size() - cells.len()));
        let mut line = String::new();
        let last = cells.len() - 1;
        for (number, &cell) in cells.iter().enumerate() {
            let text = self.cell(position, cell);
            let drawn = text.marks.len() + text.body.len();
            line += &text.styled(self.color);
            if number < last {
                line += &" ".repeat(width - drawn);
            }
        }
        if self.labels {
            return format!("{indent}{line}").trim_end().to_owned();
        }
        let name = |number: usize| geometry.cell_name(cells[number]);
        let right = if last == 0 { String::new() } else { name(last) };
        format!("{indent}{:>3} {line} {right}", name(0)).trim_end().to_owned()
    }

    fn cell(&self, position: &Position, cell: Cell) -> CellText {
        let side = Side::BOTH.into_iter().find(|&side| position.army(side).contains(cell));
        let home = Side::BOTH.into_iter().find(|&side| self.home_of(position, side).contains(cell));
        let piece = match (side, home) {
            (Some(Side::X), _) => 'x',
            (Some(Side::O), _) => 'o',
            (None, Some(_)) => ':',
            (None, None) if self.labels => ' ',
            (None, None) => '.',
        };
        let style = match (side, home) {
            (Some(Side::X), _) => "\x1b[1;94m",
            (Some(Side::O), _) => "\x1b[1;91m",
            (None, Some(Side::X)) => "\x1b[34m",
            (None, Some(Side::O)) => "\x1b[31m",
            (None, None) => "",
        };
        let ends = self.last.is_some_and(|last| last.from == cell || last.to == cell);
        let marks = match () {
            () if ends => ['[', ']'],
            () if self.marked.contains(cell) => ['(', ')'],
            () => [' ', ' '],
        };
        let name = if self.labels { position.geometry().cell_name(cell) } else { String::new() };
        CellText { marks, body: format!("{piece}{name}"), style }
    }

    fn home_of(&self, position: &Position, side: Side) -> CellSet {
        let larger = position.army(Side::X).len().max(position.army(Side::O).len());
        let cells = position.geometry().cells();
        let home = CellSet::first_cells(self.home.unwrap_or(larger).min(cells));
        match side {
            Side::X => home,
            Side::O => home.rotate_180(cells),
        }
    }
}

impl CellText {
    fn styled(&self, color: bool) -> String {
        let CellText { marks: [left, right], body, style } = self;
        let paint = |style: &str, text: &str| match style {
            "" => text.to_owned(),
            style => format!("{style}{text}\x1b[0m"),
        };
        if !color {
            return format!("{left}{body}{right}");
        }
        let mark = if *left == ' ' { "" } else { "\x1b[1;33m" };
        paint(mark, &left.to_string()) + &paint(style, body) + &paint(mark, &right.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::{Board, Rank};

    fn position(text: &str) -> Position {
        text.parse().unwrap()
    }

    #[test]
    fn boards_are_drawn_as_documented() {
        let plain = Drawing::new();
        let start = Position::initial(Board::new(4, 3).unwrap());
        assert_eq!(
            plain.draw(&start).lines().collect::<Vec<_>>(),
            [
                "       d4  o",
                "     c4  o   o  d3",
                "   b4  .   .   .  d2",
                " a4  .   .   .   .  d1",
                "   a3  .   .   .  c1",
                "     a2  x   x  b1",
                "       a1  x",
            ]
        );
        let after = position("2oo/3o/4/xxx1 o 1");
        let mv = after.geometry().parse_move("a2-c1").unwrap();
        let marked = after.geometry().parse_cells("c2,c1").unwrap();
        assert_eq!(
            plain.last_move(Some(mv)).marked(marked).flipped(true).draw(&after).lines().collect::<Vec<_>>(),
            [
                "       a1  x",
                "     b1  x  [:] a2",
                "   c1 [x]  .   .  a3",
                " d1  .  (.)  .   .  a4",
                "   d2  .   .   .  b4",
                "     d3  o   o  c4",
                "       d4  o",
            ]
        );
    }

    #[test]
    fn labels_name_every_cell_once() {
        for size in 3..=11 {
            let start = Position::initial(Board::new(size, 3).unwrap());
            for flipped in [false, true] {
                let text = Drawing::new().labels(true).flipped(flipped).draw(&start);
                let mut names: Vec<&str> = text.split_whitespace().map(|cell| cell.trim_matches(['x', 'o'])).collect();
                let geometry = start.geometry();
                let mut cells: Vec<String> = (0..geometry.cells()).map(|c| geometry.cell_name(Cell::new(c))).collect();
                names.sort_unstable();
                cells.sort_unstable();
                assert_eq!(names, cells);
                assert!(text.lines().all(|line| line.len() <= 6 * size as usize), "{text}");
            }
        }
        let text = Drawing::new().labels(true).draw(&position("2o/3/x2 x 0"));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines, ["       oc3", "     b3    c2", "  a3    b2    c1", "     a2    b1", "       xa1"]);
    }

    #[test]
    fn colors_add_escape_sequences_only() {
        let after = position("2oo/3o/4/xxx1 o 1");
        let mv = after.geometry().parse_move("a2-c1").unwrap();
        for labels in [false, true] {
            let drawing = Drawing::new().labels(labels).last_move(Some(mv));
            let mut colored = drawing.color(true).draw(&after);
            assert!(colored.contains("\x1b[1;94mx"), "{colored:?}");
            while let Some(start) = colored.find('\x1b') {
                let end = start + colored[start..].find('m').unwrap();
                colored.replace_range(start..=end, "");
            }
            let lines: Vec<&str> = colored.lines().map(str::trim_end).collect();
            assert_eq!(lines.join("\n"), drawing.draw(&after));
        }
    }

    #[test]
    fn homes_have_the_given_number_of_cells() {
        let count = |drawing: Drawing, position: &Position| drawing.draw(position).matches(':').count();
        let army = position("4/4/1x2/4 x 0");
        assert_eq!(count(Drawing::new(), &army), 2);
        assert_eq!(count(Drawing::new().home(3), &army), 6);
        assert_eq!(count(Drawing::new().home(0), &army), 0);
    }

    proptest::proptest! {
        #[test]
        fn paths_exist_for_destinations_and_consist_of_jumps(rank in 0u64..53130, from in 0usize..5) {
            let board = Board::new(5, 5).unwrap();
            let geometry = board.geometry();
            let army = Rank(rank).state(5).cells();
            let from = army.iter().nth(from).unwrap();
            let others = army.without(from);
            for to in (0..25).map(Cell::new) {
                let path = geometry.move_path(others, Move { from, to });
                proptest::prop_assert_eq!(path.is_some(), geometry.destinations(others, from).contains(to));
                let Some(path) = path else { continue };
                proptest::prop_assert_eq!((path[0], path[path.len() - 1]), (from, to));
                let step = path.len() == 2 && geometry.neighbors(from).contains(to);
                let jump = |pair: &[Cell]| {
                    let lands = |jump: &&crate::board::Jump| jump.to == pair[1] && others.contains(jump.over);
                    geometry.jumps(pair[0]).iter().any(|jump| lands(&jump)) && !others.contains(pair[1])
                };
                proptest::prop_assert!(step || path.windows(2).all(jump), "{:?}", path);
            }
        }
    }
}
