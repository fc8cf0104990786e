//! Distance tables.

use std::ffi::CString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyReadwriteArray1};
use pyo3::exceptions::{PyOverflowError, PyRuntimeWarning};
use pyo3::prelude::*;
use pyo3::types::PyString;
use sternhalma_builder::{check_memory, total_memory};
use sternhalma_data::table::{Coverage, TableFile, TablesDir, find_table, tables_dir};
use sternhalma_data::{
    Board as DataBoard, Distance, DistanceStream, Encoding, Prefix, Probe, ProbedState, State, Table as DataTable,
    TableError, TableOptions,
};
use sternhalma_engine::{Distances, TableAdvice};
use sternhalma_ggp::messages::excerpt;

use crate::arguments::{Argument, refused};
use crate::batch::{Batch, States};
use crate::board::Board;
use crate::errors::{exceptions, message, table_error};
use crate::states::{Reader, notation_error, parse_player, state_of_rank};

/// The distance of a state outside the table, in arrays of moves.
pub const OUTSIDE: u8 = u8::MAX;

/// The moves of several states: offsets, sources, destinations and distances.
type MoveArrays<'py> =
    (Bound<'py, PyArray1<u64>>, Bound<'py, PyArray1<u8>>, Bound<'py, PyArray1<u8>>, Bound<'py, PyArray1<u8>>);

/// An open table.
#[pyclass(frozen, module = "sternhalma._native")]
pub struct Table {
    /// `None` after `close`. Calls that have begun keep the table open.
    table: Mutex<Option<Arc<DataTable>>>,
    /// Whether blocks are compared with their checksums before their first use.
    checked: bool,
    /// Set when all blocks have been compared with their checksums.
    all_checked: OnceLock<()>,
}

/// The table of players, if the user names one: an open table, or [`ESTIMATE`].
#[derive(FromPyObject)]
pub enum PlayerTable {
    Open(Py<Table>),
    Word(String),
}

/// The word that stands for estimated distances in place of those of a table.
const ESTIMATE: &str = "estimate";

/// Returns the distances of players of a board. If no table is named, and the players need one, it is the best complete
/// table of the tables directory.
pub fn player_distances(board: DataBoard, table: Option<&PlayerTable>, is_needed: bool) -> PyResult<Distances> {
    match table {
        Some(PlayerTable::Open(table)) => Ok(Distances::new(table.get().get()?)),
        Some(PlayerTable::Word(word)) if word == ESTIMATE => Ok(Distances::estimated(board)),
        Some(PlayerTable::Word(word)) => {
            let word = excerpt(word);
            Err(exceptions::ArgumentError::new_err(format!(
                "table: expected a Table, {ESTIMATE:?} or None, got {word:?}"
            )))
        }
        None if is_needed => found_distances(board),
        None => Ok(Distances::estimated(board)),
    }
}

/// Opens the best complete table of a board in the tables directory.
fn found_distances(board: DataBoard) -> PyResult<Distances> {
    let dir = tables_dir().unwrap_or_default();
    let mut passed_over = Vec::new();
    let note = |error: &TableError| passed_over.push(format!("passed over {}", message(error)));
    let found = TablesDir::new(&dir).lookup(board, Coverage::Complete, note).map_err(table_error)?;
    Python::attach(|py| {
        let mut texts = passed_over.into_iter();
        texts.try_for_each(|text| PyErr::warn(py, &py.get_type::<PyRuntimeWarning>(), &CString::new(text)?, 2))
    })?;
    let missing = || {
        let advice = table_advice(&dir);
        exceptions::TableNotFound::new_err(format!(
            "these players need a distance table of {board}, and {} does not have a complete one; {} builds one, and \
             table={ESTIMATE:?} plays with estimated distances{}",
            dir.display(),
            advice.build(Prefix::whole(board)),
            advice.existing()
        ))
    };
    // As on the command line, as much of the table as fits in a quarter of the memory is loaded, if it is available.
    let table = found.ok_or_else(missing)?;
    let options = TableOptions::default().verify_blocks(true);
    let loading = options.load_budget(total_memory() / 4);
    let options = if check_memory(loading.memory(table.path())).is_ok() { loading } else { options };
    Ok(Distances::new(Arc::new(table.with_loading(options).map_err(table_error)?)))
}

/// Returns the remedies for missing tables of a directory.
fn table_advice(dir: &Path) -> TableAdvice<impl Fn(Option<(Prefix, Encoding)>) -> String> {
    TableAdvice::new(dir, |table| {
        let Some((prefix, encoding)) = table else { return "sternhalma.build(board=...)".to_owned() };
        let board = prefix.board();
        let within = if prefix.is_whole() { String::new() } else { format!(", within={}", prefix.within()) };
        let encoding = if encoding == Encoding::Byte { String::new() } else { format!(", encoding=\"{encoding}\"") };
        format!("sternhalma.build(board=sternhalma.Board({}, {}){within}{encoding})", board.size(), board.pieces())
    })
}

/// A file of the tables directory: the name, the path, the contents of its table, and the reason why it has none.
type FileRow = (String, PathBuf, Option<Contents>, Option<String>);

/// The contents of a table: the board, the cells and the states that it covers, the encoding, whether it is mirrored,
/// the length of the file, the largest distance, and the largest proven one.
type Contents = (Board, usize, u64, String, bool, u64, u8, Option<u32>);

/// Returns the files of the tables directory, ordered by name.
#[pyfunction]
pub fn tables(py: Python<'_>) -> PyResult<Vec<FileRow>> {
    let row = |file: TableFile| {
        let (contents, error) = match file.table {
            Ok(table) => (Some(contents(&table)), None),
            Err(error) => (None, Some(message(&error))),
        };
        (file.name, file.path, contents, error)
    };
    let Some(dir) = tables_dir() else { return Ok(Vec::new()) };
    let files = py.detach(|| TablesDir::new(dir).list()).map_err(table_error)?;
    Ok(files.into_iter().map(row).collect())
}

fn contents(table: &DataTable) -> Contents {
    let (prefix, encoding) = (table.prefix(), table.encoding().to_string());
    let (within, mirrored) = (prefix.within(), table.spec().mirrored);
    let (bytes, farthest) = (table.file_bytes(), table.max_distance().0);
    (Board(prefix.board()), within, prefix.states(), encoding, mirrored, bytes, farthest, table.proven_depth())
}

/// Opens a table by its path or its name.
#[pyfunction]
#[pyo3(signature = (path, *, checked, load_budget))]
pub fn open(py: Python<'_>, path: PathBuf, checked: bool, load_budget: u64) -> PyResult<Table> {
    let found = match tables_dir() {
        Some(dir) => find_table(&dir, &path).ok_or_else(|| {
            let advice = table_advice(&dir).for_name(&path.to_string_lossy());
            let (file, dir) = (path.display(), dir.display());
            let text = format!("{file}: there is no such file, neither here nor in {dir}{advice}");
            exceptions::TableNotFound::new_err(text)
        })?,
        None => path.clone(),
    };
    let options = TableOptions::default().verify_blocks(checked).load_budget(load_budget);
    check_memory(options.memory(&found)).map_err(|error| {
        let text = format!("{}: {error}; give a smaller load_budget or free some memory", found.display());
        exceptions::OutOfMemory::new_err(text)
    })?;
    let table = py.detach(|| options.open_found(&found, &path)).map_err(table_error)?;
    Ok(Table::new(table, checked))
}

impl Table {
    /// Creates the object of an open table. `checked` states whether the table verifies blocks.
    pub fn new(table: DataTable, checked: bool) -> Table {
        Table { table: Mutex::new(Some(Arc::new(table))), checked, all_checked: OnceLock::new() }
    }

    /// Returns the table, if it is open.
    pub fn get(&self) -> PyResult<Arc<DataTable>> {
        let table = self.table.lock().unwrap_or_else(PoisonError::into_inner).clone();
        table.ok_or_else(|| exceptions::ClosedError::new_err("the table is closed"))
    }

    /// Returns whether no block needs a comparison with its checksum for a look-up of `count` states. Look-ups of many
    /// states read nearly all blocks, so all are compared beforehand.
    fn check_for(&self, table: &DataTable, count: usize) -> Result<bool, TableError> {
        let blocks = table.layout().blocks();
        if !self.checked || self.all_checked.get().is_some() {
            return Ok(true);
        }
        // Only `Batch` leaves the comparison out, for bytes. In other encodings `Table::probe` compares each block before
        // its first use.
        if table.encoding() != Encoding::Byte || (count as u64) < blocks {
            return Ok(false);
        }
        (0..blocks).try_for_each(|block| table.check_block(block))?;
        let _ = self.all_checked.set(());
        Ok(true)
    }

    /// Writes the distances of states to `out`.
    fn look_up(
        &self,
        py: Python<'_>,
        table: &DataTable,
        states: States<'_>,
        missing: Option<u8>,
        threads: usize,
        mut out: PyReadwriteArray1<'_, u8>,
    ) -> PyResult<()> {
        let out = out.as_slice_mut()?;
        py.detach(|| {
            let is_checked = self.check_for(table, out.len()).map_err(table_error)?;
            Batch { table, states, missing, is_checked }.look_up(threads, out)
        })
    }

    /// Returns the state that a value describes: a rank, a text, or cells in board order.
    fn state(table: &DataTable, value: &Bound<'_, PyAny>, player: &str) -> PyResult<State> {
        let board = table.board();
        let side = parse_player(player)?;
        if let Ok(text) = value.cast::<PyString>() {
            return board.parse_state(&text.to_string_lossy(), side).map_err(|error| notation_error(&error));
        }
        let no_state = || exceptions::NotCovered::new_err(format!("no state of {board} has rank {value}"));
        match value.extract::<u64>() {
            Ok(rank) => return state_of_rank(board, rank).ok_or_else(no_state),
            Err(error) if error.is_instance_of::<PyOverflowError>(value.py()) => return Err(no_state()),
            // The value is not an integer.
            Err(_) => {}
        }
        let mut cells = [0; 16];
        let mut count = 0;
        let no_cells = |_| refused(value, "a rank, a text or the cells of a state", false);
        for cell in value.try_iter().map_err(no_cells)? {
            let number: i64 = cell?.extract().map_err(no_cells)?;
            let valid = u8::try_from(number).map_err(|_| {
                exceptions::StateError::new_err(format!("the board {0}x{0} has no cell {number}", board.size()))
            })?;
            if let Some(place) = cells.get_mut(count) {
                *place = valid;
            }
            count += 1;
        }
        if count != board.pieces() {
            let expected = board.pieces();
            return Err(exceptions::StateError::new_err(format!("expected {expected} cells, got {count}")));
        }
        let reader = Reader::new(board, side);
        let cells = &cells[..count];
        reader.state(cells).ok_or_else(|| exceptions::StateError::new_err(reader.fault(cells)))
    }

    /// Returns a state with its distance, or an error if the table does not cover it.
    fn probed<'a>(
        table: &'a DataTable,
        value: &Bound<'_, PyAny>,
        player: &str,
    ) -> PyResult<(ProbedState<'a>, Distance)> {
        let (state, side) = (Table::state(table, value, player)?, parse_player(player)?);
        let probed = table.side(side).probed_state(state).map_err(table_error)?;
        let distance = probed.probe().distance().ok_or_else(|| {
            exceptions::NotCovered::new_err(format!("the table does not cover the state of rank {}", state.rank()))
        })?;
        Ok((probed, distance))
    }
}

#[pymethods]
impl Table {
    fn close(&self) {
        self.table.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    #[getter]
    fn closed(&self) -> bool {
        self.get().is_err()
    }

    #[getter]
    fn path(&self) -> PyResult<PathBuf> {
        Ok(self.get()?.path().to_owned())
    }

    #[getter]
    fn board(&self) -> PyResult<Board> {
        Ok(Board(self.get()?.board()))
    }

    #[getter]
    fn within(&self) -> PyResult<usize> {
        Ok(self.get()?.prefix().within())
    }

    #[getter]
    fn states(&self) -> PyResult<u64> {
        Ok(self.get()?.prefix().states())
    }

    #[getter]
    fn encoding(&self) -> PyResult<String> {
        Ok(self.get()?.encoding().to_string())
    }

    #[getter]
    fn mirrored(&self) -> PyResult<bool> {
        Ok(self.get()?.spec().mirrored)
    }

    #[getter]
    fn layers<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<u64>>> {
        Ok(PyArray1::from_slice(py, &self.get()?.info().layers))
    }

    #[getter]
    fn max_distance(&self) -> PyResult<u8> {
        Ok(self.get()?.max_distance().0)
    }

    #[getter]
    fn exact_to(&self) -> PyResult<Option<u32>> {
        Ok(self.get()?.proven_depth())
    }

    #[getter]
    fn checksum(&self) -> PyResult<String> {
        Ok(self.get()?.checksum_text())
    }

    #[getter]
    fn file_bytes(&self) -> PyResult<u64> {
        Ok(self.get()?.file_bytes())
    }

    /// Returns the offset of the data in the file if it is one byte per state, by rank.
    #[getter]
    fn bytes_offset(&self) -> PyResult<Option<u64>> {
        let table = self.get()?;
        Ok(table.as_bytes().map(|_| table.data_offset()))
    }

    #[getter]
    fn provenance<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let json = serde_json::to_string(self.get()?.provenance()).expect("a provenance has only strings and numbers");
        py.import("json")?.call_method1("loads", (json,))
    }

    #[pyo3(signature = (ranks, *, missing, threads, out))]
    fn look_up_ranks(
        &self,
        py: Python<'_>,
        ranks: PyReadonlyArray1<'_, u64>,
        missing: Option<u8>,
        threads: usize,
        out: PyReadwriteArray1<'_, u8>,
    ) -> PyResult<()> {
        self.look_up(py, &*self.get()?, States::Ranks(ranks.as_slice()?), missing, threads, out)
    }

    #[pyo3(signature = (cells, *, player, missing, threads, out))]
    fn look_up_cells(
        &self,
        py: Python<'_>,
        cells: PyReadonlyArray2<'_, u8>,
        player: &str,
        missing: Option<u8>,
        threads: usize,
        out: PyReadwriteArray1<'_, u8>,
    ) -> PyResult<()> {
        let table = self.get()?;
        let reader = Reader::new(table.board(), parse_player(player)?);
        self.look_up(py, &table, States::Cells(reader, cells.as_slice()?), missing, threads, out)
    }

    #[pyo3(signature = (state, player = Argument("x")), text_signature = "($self, state, player='x')")]
    fn distance(&self, state: &Bound<'_, PyAny>, player: Argument<&str>) -> PyResult<u8> {
        Ok(Table::probed(&*self.get()?, state, player.0)?.1.0)
    }

    /// Returns the moves of states, which are rows of cells in board order, best first.
    fn moves_of<'py>(
        &self,
        py: Python<'py>,
        cells: PyReadonlyArray2<'py, u8>,
        player: &str,
    ) -> PyResult<MoveArrays<'py>> {
        let table = self.get()?;
        let (board, side) = (table.board(), parse_player(player)?);
        let reader = Reader::new(board, side);
        let rows = cells.as_slice()?;
        let (offsets, [from, to, distance]) = py.detach(|| {
            let (mut offsets, mut arrays) = (vec![0], [Vec::new(), Vec::new(), Vec::new()]);
            for (row, cells) in rows.chunks_exact(board.pieces()).enumerate() {
                let state = reader.state(cells).ok_or_else(|| reader.error(rows, row))?;
                let probed = table.side(side).probed_state(state).map_err(table_error)?;
                if probed.probe() == Probe::NotCovered {
                    return Err(States::Cells(reader, rows).not_covered(row));
                }
                for (mv, probe) in probed.moves().map_err(table_error)? {
                    arrays[0].push(mv.from.index() as u8);
                    arrays[1].push(mv.to.index() as u8);
                    arrays[2].push(probe.distance().map_or(OUTSIDE, |distance| distance.0));
                }
                offsets.push(arrays[0].len() as u64);
            }
            Ok::<_, PyErr>((offsets, arrays))
        })?;
        let array = |values| PyArray1::from_vec(py, values);
        Ok((PyArray1::from_vec(py, offsets), array(from), array(to), array(distance)))
    }

    /// Returns a shortest line of moves to the goal, in rows of a source and a destination.
    #[pyo3(signature = (state, player = "x"))]
    fn line<'py>(&self, py: Python<'py>, state: &Bound<'_, PyAny>, player: &str) -> PyResult<Bound<'py, PyArray2<u8>>> {
        let table = self.get()?;
        let (probed, _) = Table::probed(&table, state, player)?;
        let line = py.detach(|| probed.solution()).map_err(table_error)?.unwrap_or_default();
        let cells = line.iter().flat_map(|mv| [mv.from, mv.to].map(|cell| cell.index() as u8));
        PyArray1::from_vec(py, cells.collect()).reshape([line.len(), 2])
    }

    /// Returns the ranks of all states at a distance, in ascending order.
    fn states_at<'py>(&self, py: Python<'py>, distance: u8) -> PyResult<Bound<'py, PyArray1<u64>>> {
        let table = self.get()?;
        let ranks =
            py.detach(|| table.states_at(distance)?.map(|rank| rank.map(|rank| rank.0)).collect::<Result<_, _>>());
        Ok(PyArray1::from_vec(py, ranks.map_err(table_error)?))
    }

    /// Returns the ranks of different random states, of all or of those at a distance.
    #[pyo3(signature = (count, *, seed, distance))]
    fn sample<'py>(
        &self,
        py: Python<'py>,
        count: u64,
        seed: u64,
        distance: Option<u8>,
    ) -> PyResult<Bound<'py, PyArray1<u64>>> {
        let table = self.get()?;
        let ranks = py.detach(|| match distance {
            Some(distance) => table.sample_at(distance, count, seed),
            None => Ok(table.sample(count, seed)),
        });
        Ok(PyArray1::from_iter(py, ranks.map_err(table_error)?.into_iter().map(|rank| rank.0)))
    }

    /// Writes the distances of consecutive ranks to `out`.
    fn read(&self, py: Python<'_>, first: u64, mut out: PyReadwriteArray1<'_, u8>) -> PyResult<()> {
        let table = self.get()?;
        let out = out.as_slice_mut()?;
        let end = first.checked_add(out.len() as u64).filter(|&end| end <= table.prefix().states());
        let end = end.ok_or_else(|| exceptions::ArgumentError::new_err("the ranks are not in the table"))?;
        py.detach(|| DistanceStream::new(&table, first..end)?.read(out)).map_err(table_error)
    }
}
