//! Chinese Checkers as a vectorised environment.

use std::sync::{Arc, Mutex, PoisonError};

use numpy::{PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2, PyReadwriteArray1, PyReadwriteArray2};
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use rayon::prelude::*;
use sternhalma_data::{CellSet, Position as DataPosition, Side, Table as DataTable};
use sternhalma_engine::lanes::{Lane, LaneArrays, RewardedGame};
use sternhalma_engine::ugi::action_text;
use sternhalma_engine::{ChineseCheckers, Distances, Filter, GameSetup, GameState};

use crate::board::Board;
use crate::environment::{borrow, parse_autoreset, thread_pool};
use crate::errors::{board_error, exceptions, table_error};
use crate::play::{Position, parse_rules};
use crate::states::{Reader, parse_player};
use crate::table::{OUTSIDE, Table};

/// The arrays of all lanes, which Python owns.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Arrays {
    observation: Py<PyArray2<u8>>,
    legal: Py<PyArray2<bool>>,
    player: Py<PyArray1<i8>>,
    reward: Py<PyArray2<f32>>,
    terminated: Py<PyArray1<bool>>,
    truncated: Py<PyArray1<bool>>,
    steps: Py<PyArray1<u32>>,
    final_observation: Py<PyArray2<u8>>,
}

/// The arrays, borrowed for one call.
struct Borrowed<'py> {
    observation: PyReadwriteArray2<'py, u8>,
    legal: PyReadwriteArray2<'py, bool>,
    player: PyReadwriteArray1<'py, i8>,
    reward: PyReadwriteArray2<'py, f32>,
    terminated: PyReadwriteArray1<'py, bool>,
    truncated: PyReadwriteArray1<'py, bool>,
    steps: PyReadwriteArray1<'py, u32>,
    final_observation: PyReadwriteArray2<'py, u8>,
}

impl Arrays {
    fn borrow<'py>(&self, py: Python<'py>) -> PyResult<Borrowed<'py>> {
        Ok(Borrowed {
            observation: borrow(py, &self.observation)?,
            legal: borrow(py, &self.legal)?,
            player: borrow(py, &self.player)?,
            reward: borrow(py, &self.reward)?,
            terminated: borrow(py, &self.terminated)?,
            truncated: borrow(py, &self.truncated)?,
            steps: borrow(py, &self.steps)?,
            final_observation: borrow(py, &self.final_observation)?,
        })
    }
}

impl Borrowed<'_> {
    /// Returns the rows of each lane.
    fn rows(&mut self, actions: usize, cells: usize) -> PyResult<Vec<LaneArrays<'_>>> {
        let observations = self.observation.as_slice_mut()?.chunks_exact_mut(2 * cells);
        let masks = self.legal.as_slice_mut()?.chunks_exact_mut(actions);
        let rewards = self.reward.as_slice_mut()?.chunks_exact_mut(2);
        let last = self.final_observation.as_slice_mut()?.chunks_exact_mut(2 * cells);
        let flags = self.terminated.as_slice_mut()?.iter_mut().zip(self.truncated.as_slice_mut()?);
        let numbers = self.player.as_slice_mut()?.iter_mut().zip(self.steps.as_slice_mut()?);
        let rows = observations.zip(masks).zip(rewards).zip(last).zip(flags).zip(numbers);
        let row =
            |(((((observation, legal), reward), final_observation), (terminated, truncated)), (player, steps))| {
                LaneArrays { observation, legal, player, reward, terminated, truncated, steps, final_observation }
            };
        Ok(rows.map(row).collect())
    }
}

/// Lanes of Chinese Checkers.
#[pyclass(frozen, module = "sternhalma._native")]
pub struct CheckersLanes {
    game: Arc<RewardedGame>,
    table: Option<Arc<DataTable>>,
    arrays: Arrays,
    lanes: Mutex<Vec<Lane>>,
    /// The threads that share the lanes; `None` for one.
    pool: Option<Arc<rayon::ThreadPool>>,
}

/// Returns whether a lane is selected.
fn is_in(mask: Option<&[bool]>, lane: usize) -> bool {
    mask.is_none_or(|mask| mask.get(lane) == Some(&true))
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
                let grain = lanes.len().div_ceil(4 * pool.current_num_threads());
                let each = |(number, (lane, row)): (usize, (&mut Lane, &mut R))| work(number, lane, row).err();
                let parts = || {
                    let lanes = lanes.par_iter_mut().zip(rows).with_min_len(grain).enumerate();
                    lanes.filter_map(each).collect::<Vec<_>>()
                };
                pool.install(parts).into_iter().next().map_or(Ok(()), Err)
            }
        }
    }

    /// Calls `work` with each lane, which it may change, its number and its arrays. Nothing is called if `check` fails
    /// for a lane. No other thread can change lanes in between, because it would have to borrow the arrays.
    fn change_checked(
        &self,
        py: Python<'_>,
        check: impl Fn(usize, &Lane) -> PyResult<()> + Sync + Send,
        work: impl Fn(usize, &mut Lane, &mut LaneArrays) + Sync + Send,
    ) -> PyResult<()> {
        let mut arrays = self.arrays.borrow(py)?;
        let mut rows = arrays.rows(self.game.actions(), self.game.game().board().cells())?;
        py.detach(|| {
            self.each(&mut rows, |number, lane, _| check(number, lane))?;
            self.each(&mut rows, |number, lane, row| {
                work(number, lane, row);
                Ok(())
            })
        })
    }

    /// Calls `work` with each lane, which it may change, its number and its arrays.
    fn change(&self, py: Python<'_>, work: impl Fn(usize, &mut Lane, &mut LaneArrays) + Sync + Send) -> PyResult<()> {
        self.change_checked(py, |_, _| Ok(()), work)
    }

    /// Puts lanes with these numbers, which ascend, in states.
    fn set(&self, py: Python<'_>, lanes: &[usize], states: &[GameState]) -> PyResult<()> {
        if lanes.len() != states.len() {
            let (expected, found) = (lanes.len(), states.len());
            let text = format!("expected {expected} rows, one per lane of the mask, got {found}");
            return Err(PyValueError::new_err(text));
        }
        self.change(py, |number, lane, row| {
            if let Ok(place) = lanes.binary_search(&number) {
                self.game.set_state(lane, states[place], row);
            }
        })
    }

    fn table(&self) -> PyResult<&DataTable> {
        self.table.as_deref().ok_or_else(|| PyValueError::new_err("the environment has no table"))
    }
}

#[pymethods]
impl CheckersLanes {
    #[new]
    #[allow(clippy::too_many_arguments, reason = "the arguments are those of the Python class")]
    fn new(
        py: Python<'_>,
        board: &Board,
        threads: usize,
        table: Option<&Table>,
        shaping: f32,
        ply_limit: u32,
        rules: &str,
        arrays: Arrays,
    ) -> PyResult<CheckersLanes> {
        let board = board.0.for_two().map_err(board_error)?;
        let table = table.map(Table::get).transpose()?;
        if let Some(other) = table.as_ref().map(|table| table.board()).filter(|&other| other != board) {
            return Err(PyValueError::new_err(format!("the table is of {other}, and the environment of {board}")));
        }
        let setup = GameSetup { board, rules: parse_rules(rules)?, ply_limit };
        let mut game = RewardedGame::new(ChineseCheckers::of(setup, Filter::All));
        if let (Some(table), true) = (&table, shaping != 0.0) {
            game = game.shaped(Distances::new(table.clone()), shaping);
        }
        let pool = thread_pool(threads)?;
        let mut borrowed = arrays.borrow(py)?;
        let mut rows = borrowed.rows(game.actions(), board.cells())?;
        let lanes = rows.iter_mut().enumerate().map(|(number, row)| game.lane(number, row)).collect();
        drop(rows);
        drop(borrowed);
        Ok(CheckersLanes { game: Arc::new(game), table, arrays, lanes: Mutex::new(lanes), pool })
    }

    /// Returns lanes in the same states, which write to other arrays with the same contents.
    fn copy(&self, arrays: Arrays) -> CheckersLanes {
        let lanes = self.lanes.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let (game, table, pool) = (self.game.clone(), self.table.clone(), self.pool.clone());
        CheckersLanes { game, table, arrays, lanes: Mutex::new(lanes), pool }
    }

    fn reset(&self, py: Python<'_>, seed: Option<u64>, mask: Option<PyReadonlyArray1<'_, bool>>) -> PyResult<()> {
        let mask = mask.as_ref().map(|mask| mask.as_slice()).transpose()?;
        self.change(py, |number, lane, row| {
            seed.into_iter().for_each(|seed| lane.seed(seed, number));
            if is_in(mask, number) {
                self.game.reset(lane, row);
            }
        })
    }

    fn step(
        &self,
        py: Python<'_>,
        actions: PyReadonlyArray1<'_, i64>,
        mask: Option<PyReadonlyArray1<'_, bool>>,
        autoreset: Option<&str>,
    ) -> PyResult<()> {
        let autoreset = parse_autoreset(autoreset)?;
        let actions = actions.as_slice()?;
        let mask = mask.as_ref().map(|mask| mask.as_slice()).transpose()?;
        let action = |number: usize| usize::try_from(actions[number]).unwrap_or(usize::MAX);
        let check = |number: usize, lane: &Lane| {
            if !is_in(mask, number) || self.game.accepts(lane, action(number)) {
                return Ok(());
            }
            let (action, player) = (actions[number], lane.state().player());
            Err(exceptions::IllegalAction::new_err(format!("lane {number}: action {action} is not legal for {player}")))
        };
        self.change_checked(py, check, |number, lane, row| match is_in(mask, number) {
            true => self.game.step(lane, action(number), autoreset, row),
            false => self.game.skip(lane, row),
        })
    }

    /// Writes a random legal action of each lane to `out`.
    fn random_actions(&self, py: Python<'_>, mut out: PyReadwriteArray1<'_, i32>) -> PyResult<()> {
        let out = out.as_slice_mut()?;
        py.detach(|| {
            self.each(out, |_, lane, action| {
                *action = self.game.random_action(lane) as i32;
                Ok(())
            })
        })
    }

    /// Puts lanes with these numbers in the states of positions.
    fn set_positions(&self, py: Python<'_>, lanes: Vec<usize>, positions: Vec<Py<Position>>) -> PyResult<()> {
        let states = positions.iter().enumerate().map(|(row, position)| {
            let position = position.get();
            let data = position.game.position(&position.state);
            self.game.game().state(&data).ok_or_else(|| {
                let (found, board) = (position.game.board(), self.game.game().board());
                PyValueError::new_err(format!("row {row}: the position is of {found}, and the environment of {board}"))
            })
        });
        self.set(py, &lanes, &states.collect::<PyResult<Vec<_>>>()?)
    }

    /// Puts lanes with these numbers in states: the cells of x, those of o, and the player to move, 0 or 1.
    fn set_cells(&self, py: Python<'_>, lanes: Vec<usize>, rows: PyReadonlyArray2<'_, u8>) -> PyResult<()> {
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
        self.set(py, &lanes, &states.collect::<PyResult<Vec<_>>>()?)
    }

    /// Returns the position string of a lane.
    fn position(&self, lane: usize) -> PyResult<String> {
        let lanes = self.lanes.lock().unwrap_or_else(PoisonError::into_inner);
        let lane = lanes.get(lane).ok_or_else(|| PyIndexError::new_err(format!("there is no lane {lane}")))?;
        Ok(self.game.game().position(lane.state()).to_string())
    }

    /// Returns the text of an action of a player, or `None` if there is none.
    fn action_text(&self, player: &str, action: usize) -> PyResult<Option<String>> {
        let decoded = self.game.decode(parse_player(player)?, action);
        Ok(decoded.map(|action| action_text(self.game.game().geometry(), action)))
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
