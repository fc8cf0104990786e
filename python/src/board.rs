//! Boards, ranks, notation and moves.

use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sternhalma_data::{Board as DataBoard, Cell, CellSet, Move, Side};

use crate::arguments::Argument;
use crate::errors::{board_error, exceptions, message};
use crate::states::{Reader, parse_player, rank_error};

/// Arrays that list the moves of several states: the offsets of the states, the sources and the destinations.
type MoveArrays<'py> = (Bound<'py, PyArray1<u64>>, Bound<'py, PyArray1<u8>>, Bound<'py, PyArray1<u8>>);

/// A diamond-shaped board of `side` times `side` cells (3 to 11), and the number of pieces of an army.
///
/// Cells are numbered from 0, which is a1, by rows x + y and then by x.
///
/// Raises `BoardError` if there is no such board.
#[pyclass(frozen, eq, hash, module = "sternhalma", from_py_object)]
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Board(pub DataBoard);

#[pymethods]
impl Board {
    #[new]
    #[pyo3(signature = (side = Argument(9), pieces = Argument(6)), text_signature = "(side=9, pieces=6)")]
    fn new(side: Argument<u64>, pieces: Argument<u64>) -> PyResult<Board> {
        DataBoard::new(side.0, pieces.0).map(Board).map_err(board_error)
    }

    /// The number of cells per side.
    #[getter]
    fn side(&self) -> usize {
        self.0.size()
    }

    /// The number of pieces of an army.
    #[getter]
    fn pieces(&self) -> usize {
        self.0.pieces()
    }

    /// The number of cells.
    #[getter]
    fn cells(&self) -> usize {
        self.0.cells()
    }

    /// The number of states of one army. Their ranks are 0 to `states - 1`.
    #[getter]
    fn states(&self) -> u64 {
        self.0.states()
    }

    /// Returns the cells where the army of a player begins, as uint8.
    #[pyo3(signature = (player = Argument("x")), text_signature = "($self, player='x')")]
    fn home<'py>(&self, py: Python<'py>, player: Argument<&str>) -> PyResult<Bound<'py, PyArray1<u8>>> {
        Ok(array_of(py, self.0.home(parse_player(player.0)?)))
    }

    /// Returns the cells that the army of a player must reach, as uint8.
    #[pyo3(signature = (player = Argument("x")), text_signature = "($self, player='x')")]
    fn goal<'py>(&self, py: Python<'py>, player: Argument<&str>) -> PyResult<Bound<'py, PyArray1<u8>>> {
        Ok(array_of(py, self.0.goal(parse_player(player.0)?)))
    }

    /// Returns x and y of each cell from 0, as uint8 of the shape (cells, 2). Cell b3 has x = 1 and y = 2.
    fn coordinates<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<u8>>> {
        let geometry = self.0.geometry();
        let cells = (0..self.0.cells()).flat_map(|cell| <[u8; 2]>::from(geometry.coordinates(Cell::new(cell))));
        PyArray1::from_iter(py, cells).reshape([self.0.cells(), 2])
    }

    /// Returns the ranks of states of the board, as `sternhalma.rank` does.
    #[pyo3(signature = (cells, *, player = Argument("x")), text_signature = "($self, cells, *, player='x')")]
    fn rank<'py>(
        slf: &Bound<'py, Board>,
        cells: &Bound<'py, PyAny>,
        player: Argument<&str>,
    ) -> PyResult<Bound<'py, PyAny>> {
        of_board(slf, "rank", cells, Some(player.0))
    }

    /// Returns the cells of states of the board, as `sternhalma.unrank` does.
    #[pyo3(signature = (ranks, *, player = Argument("x")), text_signature = "($self, ranks, *, player='x')")]
    fn unrank<'py>(
        slf: &Bound<'py, Board>,
        ranks: &Bound<'py, PyAny>,
        player: Argument<&str>,
    ) -> PyResult<Bound<'py, PyAny>> {
        of_board(slf, "unrank", ranks, Some(player.0))
    }

    /// Returns the cells of the states that texts describe, as `sternhalma.parse` does.
    #[pyo3(signature = (text, *, player = Argument("x")), text_signature = "($self, text, *, player='x')")]
    fn parse<'py>(
        slf: &Bound<'py, Board>,
        text: &Bound<'py, PyAny>,
        player: Argument<&str>,
    ) -> PyResult<Bound<'py, PyAny>> {
        of_board(slf, "parse", text, Some(player.0))
    }

    /// Returns the texts of states, as `sternhalma.format` does.
    fn format<'py>(slf: &Bound<'py, Board>, cells: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        of_board(slf, "format", cells, None)
    }

    /// Returns the texts of moves, as `sternhalma.format_moves` does.
    fn format_moves<'py>(slf: &Bound<'py, Board>, moves: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        of_board(slf, "format_moves", moves, None)
    }

    /// Returns the moves of armies that are alone on the board, as `sternhalma.moves` does.
    fn moves<'py>(slf: &Bound<'py, Board>, cells: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        of_board(slf, "moves", cells, None)
    }

    /// Returns a picture of the board with both homes, as `sternhalma.draw` draws it.
    fn _repr_svg_<'py>(slf: &Bound<'py, Board>) -> PyResult<Bound<'py, PyAny>> {
        svg_of(slf.as_any())
    }

    fn __repr__(&self) -> String {
        format!("Board(side={}, pieces={})", self.0.size(), self.0.pieces())
    }

    fn __reduce__(slf: &Bound<'_, Board>) -> (Py<PyAny>, (usize, usize)) {
        let board = slf.get().0;
        (slf.get_type().into_any().unbind(), (board.size(), board.pieces()))
    }
}

/// Returns the picture of a board or a position as SVG.
pub fn svg_of<'py>(thing: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    thing.py().import("sternhalma")?.call_method1("draw", (thing,))?.getattr("svg")
}

/// Calls a function of the package for a board.
fn of_board<'py>(
    board: &Bound<'py, Board>,
    name: &str,
    argument: &Bound<'py, PyAny>,
    player: Option<&str>,
) -> PyResult<Bound<'py, PyAny>> {
    let options = PyDict::new(board.py());
    options.set_item("board", board)?;
    if let Some(player) = player {
        options.set_item("player", player)?;
    }
    board.py().import("sternhalma")?.getattr(name)?.call((argument,), Some(&options))
}

/// Returns the numbers of cells in ascending order.
fn array_of(py: Python<'_>, cells: CellSet) -> Bound<'_, PyArray1<u8>> {
    PyArray1::from_iter(py, cells.iter().map(|cell| cell.index() as u8))
}

/// Returns the ranks of states, which are rows of `uint8` cells in board order.
#[pyfunction]
pub fn rank<'py>(
    py: Python<'py>,
    board: &Board,
    cells: PyReadonlyArray2<'py, u8>,
    player: &str,
) -> PyResult<Bound<'py, PyArray1<u64>>> {
    let reader = Reader::new(board.0, parse_player(player)?);
    let (rows, pieces) = (cells.as_slice()?, board.0.pieces());
    let mut ranks = vec![0; rows.len() / pieces];
    match py.detach(|| reader.ranks(rows, &mut ranks)) {
        Some(row) => Err(reader.error(rows, row)),
        None => Ok(PyArray1::from_vec(py, ranks)),
    }
}

/// Returns the cells of the states of some ranks, in rows.
#[pyfunction]
pub fn unrank<'py>(
    py: Python<'py>,
    board: &Board,
    ranks: PyReadonlyArray1<'py, u64>,
    player: &str,
) -> PyResult<Bound<'py, PyArray2<u8>>> {
    let reader = Reader::new(board.0, parse_player(player)?);
    let (ranks, pieces) = (ranks.as_slice()?, board.0.pieces());
    let cells = PyArray2::zeros(py, [ranks.len(), pieces], false);
    {
        let mut out = cells.readwrite();
        let out = out.as_slice_mut()?;
        if let Some(index) = py.detach(|| reader.rows(ranks, out)) {
            return Err(rank_error(board.0, ranks[index], index));
        }
    }
    Ok(cells)
}

/// Returns the cells of the states that texts describe, in rows.
#[pyfunction]
pub fn parse<'py>(
    py: Python<'py>,
    board: &Board,
    texts: Vec<String>,
    player: &str,
) -> PyResult<Bound<'py, PyArray2<u8>>> {
    let side = parse_player(player)?;
    let mut cells = Vec::with_capacity(texts.len() * board.0.pieces());
    for (index, text) in texts.iter().enumerate() {
        let place = if texts.len() == 1 { String::new() } else { format!("state {index}: ") };
        let wrong = |error| exceptions::NotationError::new_err(place + &message(&error));
        let state = board.0.parse_state(text, side).map_err(wrong)?;
        cells.extend(state.to_army(board.0, side).iter().map(|cell| cell.index() as u8));
    }
    PyArray1::from_vec(py, cells).reshape([texts.len(), board.0.pieces()])
}

/// Returns the texts of states, which are rows of cells in board order.
#[pyfunction]
pub fn format_cells(board: &Board, cells: PyReadonlyArray2<'_, u8>) -> PyResult<Vec<String>> {
    let reader = Reader::new(board.0, Side::X);
    let rows = cells.as_slice()?;
    let states = rows.chunks_exact(board.0.pieces()).enumerate();
    let text = |(row, cells)| match reader.state(cells) {
        Some(state) => Ok(board.0.state_text(state, Side::X)),
        None => Err(reader.error(rows, row)),
    };
    states.map(text).collect()
}

/// Returns the texts of moves, which are rows of a source and a destination.
#[pyfunction]
pub fn format_moves(board: &Board, moves: PyReadonlyArray2<'_, u8>) -> PyResult<Vec<String>> {
    let cells = board.0.cells();
    let rows = moves.as_slice()?.chunks_exact(2).enumerate();
    rows.map(|(row, mv)| match mv.iter().find(|&&cell| usize::from(cell) >= cells) {
        Some(cell) => Err(exceptions::StateError::new_err(format!("move {row}: the board has no cell {cell}"))),
        None => {
            let [from, to] = [mv[0], mv[1]].map(|cell| Cell::new(usize::from(cell)));
            Ok(board.0.geometry().move_text(Move { from, to }))
        }
    })
    .collect()
}

/// Returns the moves of states, which are rows of cells in board order.
#[pyfunction]
pub fn moves<'py>(py: Python<'py>, board: &Board, cells: PyReadonlyArray2<'py, u8>) -> PyResult<MoveArrays<'py>> {
    let reader = Reader::new(board.0, Side::X);
    let (rows, pieces) = (cells.as_slice()?, board.0.pieces());
    let moves = py.detach(|| -> Result<_, usize> {
        let (mut offsets, mut from, mut to) = (vec![0], Vec::new(), Vec::new());
        for (row, cells) in rows.chunks_exact(pieces).enumerate() {
            let army = reader.state(cells).ok_or(row)?.to_army(board.0, Side::X);
            for mv in board.0.geometry().army_moves(army, CellSet::EMPTY) {
                from.push(mv.from.index() as u8);
                to.push(mv.to.index() as u8);
            }
            offsets.push(from.len() as u64);
        }
        Ok((offsets, from, to))
    });
    let (offsets, from, to) = moves.map_err(|row| reader.error(rows, row))?;
    Ok((PyArray1::from_vec(py, offsets), PyArray1::from_vec(py, from), PyArray1::from_vec(py, to)))
}
