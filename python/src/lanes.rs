//! Chinese Checkers as a vectorised environment.

use std::sync::{Arc, Mutex, PoisonError};

use numpy::{PyReadonlyArray1, PyReadonlyArray2, PyReadonlyArrayDyn, PyReadwriteArray2, PyReadwriteArrayDyn};
use pyo3::prelude::*;
use rayon::ThreadPool;
use rayon::prelude::*;
use sternhalma_data::{CellSet, Position as DataPosition, Side, Table as DataTable};
use sternhalma_engine::lanes::{Lane, RewardedGame};
use sternhalma_engine::ugi::action_text;
use sternhalma_engine::{ChineseCheckers, Distances, Filter, GameSetup, GameState};
use sternhalma_ggp::gdl::network::EnvironmentRows;

use crate::board::Board;
use crate::environment::{
    Autoreset, LaneArrays, LaneSizes, Mask, illegal_action, is_selected, mask_values, selected_lanes, thread_pool,
};
use crate::errors::{board_error, exceptions, table_error};
use crate::play::{Position, parse_rules};
use crate::states::Reader;
use crate::table::{OUTSIDE, Table};

/// The roles, by number.
const ROLES: [Side; 2] = [Side::X, Side::O];

/// Lanes of Chinese Checkers.
#[pyclass(frozen, module = "sternhalma._native")]
pub struct CheckersLanes {
    game: Arc<RewardedGame>,
    table: Option<Arc<DataTable>>,
    #[pyo3(get)]
    arrays: Py<LaneArrays>,
    lanes: Mutex<Vec<Lane>>,
    /// The threads that share the lanes; `None` for one.
    pool: Option<Arc<ThreadPool>>,
}

/// Returns the lanes that a thread takes at a time.
fn grain(lanes: usize, pool: &ThreadPool) -> usize {
    lanes.div_ceil(4 * pool.current_num_threads())
}

impl CheckersLanes {
    /// Calls `work` with each lane, its number and its rows, and returns the first error.
    fn each<R>(&self, rows: &mut [R], work: impl Fn(usize, &mut Lane, &mut R) -> PyResult<()> + Sync) -> PyResult<()>
    where
        R: Send,
    {
        let mut lanes = self.lanes.lock().unwrap_or_else(PoisonError::into_inner);
        let lanes = lanes.as_mut_slice();
        match &self.pool {
            None => {
                let mut lanes = lanes.iter_mut().zip(rows).enumerate();
                lanes.try_for_each(|(number, (lane, row))| work(number, lane, row))
            }
            Some(pool) => {
                let grain = grain(lanes.len(), pool);
                let each = |(number, (lane, row)): (usize, (&mut Lane, &mut R))| work(number, lane, row).err();
                let parts = || {
                    let lanes = lanes.par_iter_mut().zip(rows).with_min_len(grain).enumerate();
                    lanes.filter_map(each).collect::<Vec<_>>()
                };
                pool.install(parts).into_iter().next().map_or(Ok(()), Err)
            }
        }
    }

    /// Returns the first lane with a property.
    fn find(&self, has: impl Fn(usize, &Lane) -> bool + Sync + Send) -> Option<usize> {
        let lanes = self.lanes.lock().unwrap_or_else(PoisonError::into_inner);
        let lanes = lanes.as_slice();
        match &self.pool {
            None => lanes.iter().enumerate().position(|(number, lane)| has(number, lane)),
            Some(pool) => {
                let lanes = lanes.par_iter().with_min_len(grain(lanes.len(), pool)).enumerate();
                pool.install(|| lanes.position_first(|(number, lane)| has(number, lane)))
            }
        }
    }

    /// Calls `work` with each lane, which it may change, its number and its rows. Nothing is called if `check` refuses a
    /// lane, which is returned. No other thread can change lanes in between, because it would have to borrow the arrays.
    fn change_checked(
        &self,
        py: Python<'_>,
        check: impl Fn(usize, &Lane) -> bool + Sync + Send,
        work: impl Fn(usize, &mut Lane, &mut EnvironmentRows) + Sync + Send,
    ) -> PyResult<Option<usize>> {
        let mut arrays = self.arrays.get().borrow(py)?;
        let mut rows: Vec<_> = arrays.parts(1).collect();
        py.detach(|| {
            let refused = self.find(|number, lane| !check(number, lane));
            if refused.is_none() {
                self.each(&mut rows, |number, lane, row| {
                    work(number, lane, row);
                    Ok(())
                })?;
            }
            Ok(refused)
        })
    }

    /// Calls `work` with each lane, which it may change, its number and its rows.
    fn change(
        &self,
        py: Python<'_>,
        work: impl Fn(usize, &mut Lane, &mut EnvironmentRows) + Sync + Send,
    ) -> PyResult<()> {
        self.change_checked(py, |_, _| true, work).map(|_| ())
    }

    /// Puts the lanes of a mask in states.
    fn set(&self, py: Python<'_>, mask: &PyReadonlyArray1<'_, bool>, states: &[GameState]) -> PyResult<()> {
        let lanes = selected_lanes(mask.as_slice()?);
        if lanes.len() != states.len() {
            let (expected, found) = (lanes.len(), states.len());
            let text = format!("expected {expected} rows, one per lane of the mask, got {found}");
            return Err(exceptions::ArgumentError::new_err(text));
        }
        self.change(py, |number, lane, row| {
            if let Ok(place) = lanes.binary_search(&number) {
                self.game.set_state(lane, states[place], row);
            }
        })
    }

    fn table(&self) -> PyResult<&DataTable> {
        self.table.as_deref().ok_or_else(|| exceptions::ArgumentError::new_err("the environment has no table"))
    }
}

#[pymethods]
impl CheckersLanes {
    #[new]
    #[pyo3(signature = (*, board, lanes, threads, table, shaping, ply_limit, rules))]
    #[allow(clippy::too_many_arguments, reason = "the arguments are those of the Python class")]
    fn new(
        py: Python<'_>,
        board: &Board,
        lanes: usize,
        threads: usize,
        table: Option<&Table>,
        shaping: f32,
        ply_limit: u32,
        rules: &str,
    ) -> PyResult<CheckersLanes> {
        let board = board.0.for_two().map_err(board_error)?;
        let table = table.map(Table::get).transpose()?;
        if let Some(other) = table.as_ref().map(|table| table.board()).filter(|&other| other != board) {
            return Err(exceptions::ArgumentError::new_err(format!(
                "the table is of {other}, and the environment of {board}"
            )));
        }
        let setup = GameSetup { board, rules: parse_rules(rules)?, ply_limit };
        let mut game = RewardedGame::new(ChineseCheckers::of(setup, Filter::All));
        if let (Some(table), true) = (&table, shaping != 0.0) {
            game = game.shaped(Distances::new(table.clone()), shaping);
        }
        let pool = thread_pool(threads)?;
        let (observation, legal) = (2 * board.cells(), vec![game.actions()]);
        let sizes = LaneSizes { lanes, rows: lanes, blocks: 0, observation, legal, roles: 2 };
        let arrays = LaneArrays::new(py, &sizes)?;
        let lanes =
            arrays.borrow(py)?.parts(1).enumerate().map(|(number, mut row)| game.lane(number, &mut row)).collect();
        let arrays = Py::new(py, arrays)?;
        Ok(CheckersLanes { game: Arc::new(game), table, arrays, lanes: Mutex::new(lanes), pool })
    }

    /// The number of actions.
    #[getter]
    fn max_moves(&self) -> usize {
        self.game.actions()
    }

    /// Whether each role has an action.
    #[getter]
    fn simultaneous(&self) -> bool {
        false
    }

    /// Returns the text of an action of a role, or `None` if there is none.
    fn action_name(&self, role: usize, action: usize) -> Option<String> {
        let action = self.game.decode(*ROLES.get(role)?, action)?;
        Some(action_text(self.game.game().geometry(), action))
    }

    /// Returns an independent environment in the same states.
    fn clone(&self, py: Python<'_>) -> PyResult<CheckersLanes> {
        let arrays = Py::new(py, self.arrays.get().copy(py)?)?;
        let lanes = self.lanes.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let (game, table, pool) = (self.game.clone(), self.table.clone(), self.pool.clone());
        Ok(CheckersLanes { game, table, arrays, lanes: Mutex::new(lanes), pool })
    }

    /// Begins new matches in the lanes of a mask, and seeds the generators of random actions.
    fn reset(&self, py: Python<'_>, seed: Option<u64>, mask: Mask<'_>) -> PyResult<()> {
        let mask = mask_values(&mask)?;
        self.change(py, |number, lane, row| {
            seed.into_iter().for_each(|seed| lane.seed(seed, number));
            if is_selected(mask, number) {
                self.game.reset(lane, row);
            }
        })
    }

    /// Plays actions in the lanes of a mask. Messages show `given`, the actions before their conversion.
    fn step(
        &self,
        py: Python<'_>,
        actions: PyReadonlyArrayDyn<'_, i32>,
        given: &Bound<'_, PyAny>,
        mask: Mask<'_>,
        autoreset: Autoreset,
    ) -> PyResult<()> {
        let (actions, mask) = (actions.as_slice()?, mask_values(&mask)?);
        let action = |number: usize| usize::try_from(actions[number]).unwrap_or(usize::MAX);
        let check = |number: usize, lane: &Lane| !is_selected(mask, number) || self.game.accepts(lane, action(number));
        let refused = self.change_checked(py, check, |number, lane, row| match is_selected(mask, number) {
            true => self.game.step(lane, action(number), autoreset.into(), row),
            false => self.game.skip(lane, row),
        })?;
        let Some(number) = refused else { return Ok(()) };
        let player = self.lanes.lock().unwrap_or_else(PoisonError::into_inner)[number].state().player();
        let name = self.action_name(player as usize, action(number));
        let given = given.get_item(number)?.call_method0("tolist")?;
        Err(illegal_action(number, &given, name.as_deref(), &player.to_string()))
    }

    /// Writes a random legal action of each lane to `out`.
    fn random_actions(&self, py: Python<'_>, mut out: PyReadwriteArrayDyn<'_, i32>) -> PyResult<()> {
        let out = out.as_slice_mut()?;
        py.detach(|| {
            self.each(out, |_, lane, action| {
                *action = self.game.random_action(lane) as i32;
                Ok(())
            })
        })
    }

    /// Puts the lanes of a mask in the states of positions.
    fn set_positions(
        &self,
        py: Python<'_>,
        mask: PyReadonlyArray1<'_, bool>,
        positions: Vec<Py<Position>>,
    ) -> PyResult<()> {
        let states = positions.iter().enumerate().map(|(row, position)| {
            let position = position.get();
            let data = position.game.position(&position.state);
            self.game.game().state(&data).ok_or_else(|| {
                let (found, board) = (position.game.board(), self.game.game().board());
                exceptions::ArgumentError::new_err(format!(
                    "row {row}: the position is of {found}, and the environment of {board}"
                ))
            })
        });
        self.set(py, &mask, &states.collect::<PyResult<Vec<_>>>()?)
    }

    /// Puts the lanes of a mask in states: the cells of x, those of o, and the player to move, 0 or 1.
    fn set_cells(
        &self,
        py: Python<'_>,
        mask: PyReadonlyArray1<'_, bool>,
        rows: PyReadonlyArray2<'_, u8>,
    ) -> PyResult<()> {
        let board = self.game.game().board();
        let (reader, pieces) = (Reader::new(board, Side::X), board.pieces());
        let army = |cells: &[u8]| -> PyResult<CellSet> {
            let state = reader.state(cells).ok_or_else(|| exceptions::StateError::new_err(reader.fault(cells)))?;
            Ok(state.to_army(board, Side::X))
        };
        let states = rows.as_slice()?.chunks_exact(2 * pieces + 1).enumerate().map(|(number, row)| {
            let place = |error: PyErr| exceptions::StateError::new_err(format!("row {number}: {}", error.value(py)));
            let [x, o] = [army(&row[..pieces]).map_err(place)?, army(&row[pieces..2 * pieces]).map_err(place)?];
            let side = match row[2 * pieces] {
                0 => Side::X,
                1 => Side::O,
                other => {
                    let text = format!("row {number}: expected the player 0 or 1, got {other}");
                    return Err(exceptions::StateError::new_err(text));
                }
            };
            let position = DataPosition::new(board.geometry(), x, o, side, 0);
            let state = position.and_then(|position| self.game.game().state(&position));
            state.ok_or_else(|| exceptions::StateError::new_err(format!("row {number}: the armies share a cell")))
        });
        self.set(py, &mask, &states.collect::<PyResult<Vec<_>>>()?)
    }

    /// Returns the position string of a lane.
    fn position(&self, lane: usize) -> PyResult<String> {
        let lanes = self.lanes.lock().unwrap_or_else(PoisonError::into_inner);
        let lane =
            lanes.get(lane).ok_or_else(|| exceptions::IndexOutOfRange::new_err(format!("there is no lane {lane}")))?;
        Ok(self.game.game().position(lane.state()).to_string())
    }

    /// Writes the distances of both armies of each lane to `out`.
    fn distances(&self, py: Python<'_>, mut out: PyReadwriteArray2<'_, u8>) -> PyResult<()> {
        let table = self.table()?;
        let mut rows: Vec<&mut [u8]> = out.as_slice_mut()?.chunks_exact_mut(2).collect();
        py.detach(|| {
            self.each(&mut rows, |_, lane, row| {
                let found = self.game.distances(lane, table).map_err(table_error)?;
                row.copy_from_slice(&found.map(|distance| distance.unwrap_or(OUTSIDE)));
                Ok(())
            })
        })
    }

    /// Writes the best actions of each lane to `out`.
    fn best_actions(&self, py: Python<'_>, mut out: PyReadwriteArray2<'_, bool>) -> PyResult<()> {
        let table = self.table()?;
        let mut rows: Vec<&mut [bool]> = out.as_slice_mut()?.chunks_exact_mut(self.game.actions()).collect();
        let write =
            |_, lane: &mut Lane, row: &mut &mut [bool]| self.game.best_actions(lane, table, row).map_err(table_error);
        py.detach(|| self.each(&mut rows, write))
    }
}
