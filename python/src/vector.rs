//! Vectorised environments of rulesheets.

use std::sync::{Arc, Mutex, PoisonError};

use numpy::{Element, PyArray1, PyReadonlyArray1, PyReadwriteArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rayon::ThreadPool;
use rayon::prelude::*;
use sternhalma_ggp::gdl::network::{EnvironmentBlock, EnvironmentOptions, EnvironmentRows, LANES, LaneEnvironment};

use crate::environment::{borrow, parse_autoreset, thread_pool};
use crate::errors::{exceptions, message};
use crate::rulesheet::Game;

/// The arrays of an environment, which Python allocates and keeps.
struct Arrays {
    observation: Py<PyArray1<u8>>,
    legal: Py<PyArray1<u8>>,
    planes: Py<PyArray1<u64>>,
    legal_planes: Py<PyArray1<u64>>,
    player: Py<PyArray1<i8>>,
    reward: Py<PyArray1<f32>>,
    terminated: Py<PyArray1<u8>>,
    truncated: Py<PyArray1<u8>>,
    steps: Py<PyArray1<u32>>,
    final_observation: Py<PyArray1<u8>>,
}

/// Matches of a rulesheet that advance together.
#[pyclass(frozen, module = "sternhalma._native")]
pub struct VectorGame {
    environment: Arc<LaneEnvironment>,
    blocks: Mutex<Vec<EnvironmentBlock>>,
    /// The threads, if there are several.
    pool: Option<Arc<ThreadPool>>,
    lanes: usize,
    arrays: Arrays,
}

/// The mask of lanes, or `None` for all.
type Mask<'py> = Option<PyReadonlyArray1<'py, u8>>;

#[pymethods]
impl VectorGame {
    #[new]
    #[pyo3(signature = (game, lanes, threads, simultaneous, rewards, max_steps, is_packed))]
    #[allow(clippy::too_many_arguments, reason = "the arguments are those of the Python class")]
    fn new(
        py: Python<'_>,
        game: &Game,
        lanes: usize,
        threads: usize,
        simultaneous: Option<bool>,
        rewards: Option<(f32, f32)>,
        max_steps: Option<u32>,
        is_packed: bool,
    ) -> PyResult<VectorGame> {
        let options = EnvironmentOptions { simultaneous, rewards, max_steps };
        let game = game.game();
        let environment = py.detach(|| LaneEnvironment::new(game.network(), game.engine(), &options));
        let environment = environment.map_err(|error| exceptions::RulesheetError::new_err(message(&error)))?;
        let pool = thread_pool(threads)?;
        let arrays = Arrays::new(py, &environment, lanes, is_packed)?;
        let blocks = py.detach(|| {
            let block =
                |number: usize| EnvironmentBlock::new(&environment, number as u64, LANES.min(lanes - number * LANES));
            (0..lanes.div_ceil(LANES)).map(block).collect()
        });
        let environment = Arc::new(environment);
        Ok(VectorGame { environment, blocks: Mutex::new(blocks), pool, lanes, arrays })
    }

    /// The maximum number of moves of a role.
    #[getter]
    fn max_moves(&self) -> usize {
        self.environment.max_moves()
    }

    /// Whether each role has an action.
    #[getter]
    fn simultaneous(&self) -> bool {
        self.environment.is_simultaneous()
    }

    /// The rewards for the goals 0 and 100.
    #[getter]
    fn reward_range(&self) -> (f32, f32) {
        self.environment.rewards()
    }

    /// The arrays, all of one dimension: observation, legal, planes, legal_planes, player, reward, terminated,
    /// truncated, steps and final_observation.
    #[getter]
    fn arrays(&self, py: Python<'_>) -> Vec<Py<PyAny>> {
        let Arrays {
            observation,
            legal,
            planes,
            legal_planes,
            player,
            reward,
            terminated,
            truncated,
            steps,
            final_observation,
        } = &self.arrays;
        vec![
            observation.clone_ref(py).into_any(),
            legal.clone_ref(py).into_any(),
            planes.clone_ref(py).into_any(),
            legal_planes.clone_ref(py).into_any(),
            player.clone_ref(py).into_any(),
            reward.clone_ref(py).into_any(),
            terminated.clone_ref(py).into_any(),
            truncated.clone_ref(py).into_any(),
            steps.clone_ref(py).into_any(),
            final_observation.clone_ref(py).into_any(),
        ]
    }

    /// Begins new matches in the lanes of a mask, and seeds the generators of random actions.
    fn reset(&self, py: Python<'_>, seed: Option<u64>, mask: Mask<'_>) -> PyResult<()> {
        let mask = self.mask(&mask)?;
        self.on_blocks(py, |first, block, rows| {
            if let Some(seed) = seed {
                block.seed(seed);
            }
            block.reset(&self.environment, |lane| mask.is_none_or(|mask| mask[first + lane] != 0), rows);
        })?;
        self.check_conflicts(py)
    }

    /// Puts the lanes of a mask in given states: the fluents of one lane after another.
    fn set_state(
        &self,
        py: Python<'_>,
        mask: PyReadonlyArray1<'_, u8>,
        rows: PyReadonlyArray1<'_, u8>,
    ) -> PyResult<()> {
        let mask = Some(mask);
        let mask = self.mask(&mask)?.unwrap_or_default();
        let (states, fluents) = (rows.as_slice()?, self.environment.fluents());
        let lanes: Vec<usize> = (0..self.lanes).filter(|&lane| mask[lane] != 0).collect();
        if states.len() != lanes.len() * fluents {
            let shape = format!("({}, {fluents})", lanes.len());
            return Err(PyValueError::new_err(format!(
                "rows: expected the shape {shape}, got {} values",
                states.len()
            )));
        }
        self.on_blocks(py, |first, block, rows| {
            let (from, to) =
                (lanes.partition_point(|&lane| lane < first), lanes.partition_point(|&lane| lane < first + LANES));
            let states = (from..to).map(|row| (lanes[row] - first, &states[row * fluents..(row + 1) * fluents]));
            block.set(&self.environment, states, rows);
        })?;
        self.check_conflicts(py)
    }

    /// Plays actions in the lanes of a mask.
    fn step(
        &self,
        py: Python<'_>,
        actions: PyReadonlyArray1<'_, i32>,
        mask: Mask<'_>,
        autoreset: Option<&str>,
    ) -> PyResult<()> {
        let (actions, mask) = (actions.as_slice()?, self.mask(&mask)?);
        let choices = self.environment.choices();
        if actions.len() != self.lanes * choices {
            let text = format!("expected {} actions, got {}", self.lanes * choices, actions.len());
            return Err(PyValueError::new_err(text));
        }
        let autoreset = parse_autoreset(autoreset)?;
        let mut arrays = self.arrays.borrow(py)?;
        let rows = arrays.rows();
        let illegal = py.detach(|| {
            let mut blocks = self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
            let blocks = &mut blocks[..];
            let read = |(number, block): (usize, &mut EnvironmentBlock)| {
                let mask = mask.map(|mask| &mask[number * LANES..]);
                let illegal = block.read_actions(&self.environment, &actions[number * LANES * choices..], mask);
                illegal.map(|lane| number * LANES + lane)
            };
            let illegal = match &self.pool {
                None => blocks.iter_mut().enumerate().find_map(read),
                Some(pool) => pool.install(|| blocks.par_iter_mut().enumerate().filter_map(read).min()),
            };
            if illegal.is_none() {
                let step = |_, block: &mut EnvironmentBlock, rows: &mut EnvironmentRows<'_>| {
                    block.step(&self.environment, autoreset, rows);
                };
                self.each_block(blocks, rows, step);
            }
            illegal
        });
        match illegal {
            Some(lane) => Err(exceptions::IllegalAction::new_err(lane)),
            None => self.check_conflicts(py),
        }
    }

    /// Writes random legal actions.
    fn random_actions(&self, py: Python<'_>, mut actions: PyReadwriteArray1<'_, i32>) -> PyResult<()> {
        let choices = self.environment.choices();
        let actions = actions.as_slice_mut()?;
        py.detach(|| {
            let mut blocks = self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
            let blocks = &mut blocks[..];
            let choose = |(block, actions): (&mut EnvironmentBlock, &mut [i32])| {
                block.choose(&self.environment, actions);
            };
            let size = LANES * choices;
            match &self.pool {
                None => blocks.iter_mut().zip(actions.chunks_mut(size)).for_each(choose),
                Some(pool) => {
                    pool.install(|| blocks.par_iter_mut().zip(actions.par_chunks_mut(size)).for_each(choose));
                }
            }
        });
        Ok(())
    }

    /// Returns an independent environment in the same states.
    fn clone(&self, py: Python<'_>) -> PyResult<VectorGame> {
        let blocks = py.detach(|| {
            let blocks = self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
            blocks.iter().map(|block| block.duplicate(&self.environment)).collect()
        });
        Ok(VectorGame {
            environment: self.environment.clone(),
            blocks: Mutex::new(blocks),
            pool: self.pool.clone(),
            lanes: self.lanes,
            arrays: self.arrays.copy(py)?,
        })
    }
}

impl VectorGame {
    /// Returns the values of a mask, which has one per lane.
    fn mask<'a>(&self, mask: &'a Mask<'_>) -> PyResult<Option<&'a [u8]>> {
        let mask = mask.as_ref().map(|mask| mask.as_slice()).transpose()?;
        match mask {
            Some(mask) if mask.len() != self.lanes => Err(PyValueError::new_err(format!(
                "mask: expected the shape ({},), got {} values",
                self.lanes,
                mask.len()
            ))),
            mask => Ok(mask),
        }
    }

    /// Calls a function with the first lane of each block, the block and its arrays.
    fn on_blocks(
        &self,
        py: Python<'_>,
        work: impl Fn(usize, &mut EnvironmentBlock, &mut EnvironmentRows<'_>) + Send + Sync,
    ) -> PyResult<()> {
        let mut arrays = self.arrays.borrow(py)?;
        let rows = arrays.rows();
        py.detach(|| {
            let mut blocks = self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
            self.each_block(&mut blocks, rows, work);
        });
        Ok(())
    }

    /// Calls a function with the first lane of each block, the block and its rows.
    fn each_block(
        &self,
        blocks: &mut [EnvironmentBlock],
        mut rows: EnvironmentRows<'_>,
        work: impl Fn(usize, &mut EnvironmentBlock, &mut EnvironmentRows<'_>) + Send + Sync,
    ) {
        let rows = (0..blocks.len()).map(|number| {
            let lanes = LANES.min(self.lanes - number * LANES);
            (number * LANES, take_rows(&mut rows, &self.environment, lanes))
        });
        match &self.pool {
            None => blocks.iter_mut().zip(rows).for_each(|(block, (first, mut rows))| work(first, block, &mut rows)),
            Some(pool) => {
                let rows: Vec<_> = rows.collect();
                let work = |(block, (first, mut rows)): (&mut EnvironmentBlock, (usize, EnvironmentRows<'_>))| {
                    work(first, block, &mut rows);
                };
                pool.install(|| blocks.par_iter_mut().zip(rows).for_each(work));
            }
        }
    }

    /// Returns an error if several roles have a choice although the environment is not simultaneous.
    fn check_conflicts(&self, py: Python<'_>) -> PyResult<()> {
        if self.environment.is_simultaneous() {
            return Ok(());
        }
        let conflict = py.detach(|| {
            let blocks = self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
            let conflict = |(number, block): (usize, &EnvironmentBlock)| {
                block.conflict(&self.environment).map(|lane| number * LANES + lane)
            };
            blocks.iter().enumerate().find_map(conflict)
        });
        match conflict {
            None => Ok(()),
            Some(lane) => {
                let text =
                    format!("lane {lane}: several roles have a choice; create the environment with simultaneous=True");
                Err(exceptions::RulesheetError::new_err(text))
            }
        }
    }
}

/// The arrays while Rust writes them.
struct BorrowedArrays<'py> {
    observation: PyReadwriteArray1<'py, u8>,
    legal: PyReadwriteArray1<'py, u8>,
    planes: PyReadwriteArray1<'py, u64>,
    legal_planes: PyReadwriteArray1<'py, u64>,
    player: PyReadwriteArray1<'py, i8>,
    reward: PyReadwriteArray1<'py, f32>,
    terminated: PyReadwriteArray1<'py, u8>,
    truncated: PyReadwriteArray1<'py, u8>,
    steps: PyReadwriteArray1<'py, u32>,
    final_observation: PyReadwriteArray1<'py, u8>,
}

impl Arrays {
    /// Allocates the arrays.
    fn new(py: Python<'_>, environment: &LaneEnvironment, lanes: usize, is_packed: bool) -> PyResult<Arrays> {
        let (fluents, actions) = (environment.fluents(), environment.choices() * environment.max_moves());
        let (blocks, rows) = (lanes.div_ceil(LANES), if is_packed { 0 } else { lanes });
        Ok(Arrays {
            observation: zeros(py, rows * fluents)?,
            legal: zeros(py, rows * actions)?,
            planes: zeros(py, blocks * fluents * LANES / 64)?,
            legal_planes: zeros(py, blocks * actions * LANES / 64)?,
            player: zeros(py, lanes)?,
            reward: zeros(py, lanes * environment.roles())?,
            terminated: zeros(py, lanes)?,
            truncated: zeros(py, lanes)?,
            steps: zeros(py, lanes)?,
            final_observation: zeros(py, rows * fluents)?,
        })
    }

    /// Returns copies of the arrays.
    fn copy(&self, py: Python<'_>) -> PyResult<Arrays> {
        Ok(Arrays {
            observation: copy(py, &self.observation)?,
            legal: copy(py, &self.legal)?,
            planes: copy(py, &self.planes)?,
            legal_planes: copy(py, &self.legal_planes)?,
            player: copy(py, &self.player)?,
            reward: copy(py, &self.reward)?,
            terminated: copy(py, &self.terminated)?,
            truncated: copy(py, &self.truncated)?,
            steps: copy(py, &self.steps)?,
            final_observation: copy(py, &self.final_observation)?,
        })
    }

    /// Borrows the arrays for writing.
    fn borrow<'py>(&self, py: Python<'py>) -> PyResult<BorrowedArrays<'py>> {
        Ok(BorrowedArrays {
            observation: borrow(py, &self.observation)?,
            legal: borrow(py, &self.legal)?,
            planes: borrow(py, &self.planes)?,
            legal_planes: borrow(py, &self.legal_planes)?,
            player: borrow(py, &self.player)?,
            reward: borrow(py, &self.reward)?,
            terminated: borrow(py, &self.terminated)?,
            truncated: borrow(py, &self.truncated)?,
            steps: borrow(py, &self.steps)?,
            final_observation: borrow(py, &self.final_observation)?,
        })
    }
}

/// Allocates an array of zeros. NumPy raises `MemoryError` if there is no room.
fn zeros<T: Element>(py: Python<'_>, size: usize) -> PyResult<Py<PyArray1<T>>> {
    let zeros = py.import("numpy")?.call_method1("zeros", (size, T::get_dtype(py)))?;
    Ok(zeros.cast_into::<PyArray1<T>>()?.unbind())
}

fn copy<T: Element>(py: Python<'_>, array: &Py<PyArray1<T>>) -> PyResult<Py<PyArray1<T>>> {
    Ok(array.bind(py).call_method0("copy")?.cast_into::<PyArray1<T>>()?.unbind())
}

impl BorrowedArrays<'_> {
    /// Returns the rows of all lanes.
    fn rows(&mut self) -> EnvironmentRows<'_> {
        EnvironmentRows {
            observation: values(&mut self.observation),
            legal: values(&mut self.legal),
            planes: values(&mut self.planes),
            legal_planes: values(&mut self.legal_planes),
            player: values(&mut self.player),
            reward: values(&mut self.reward),
            terminated: values(&mut self.terminated),
            truncated: values(&mut self.truncated),
            steps: values(&mut self.steps),
            final_observation: values(&mut self.final_observation),
        }
    }
}

/// Returns the values of an array, which is contiguous since this module allocated it.
fn values<'a, T: Element>(array: &'a mut PyReadwriteArray1<'_, T>) -> &'a mut [T] {
    array.as_slice_mut().unwrap_or_default()
}

/// Splits off the rows of the first lanes, which are those of a block.
fn take_rows<'a>(rows: &mut EnvironmentRows<'a>, environment: &LaneEnvironment, lanes: usize) -> EnvironmentRows<'a> {
    let (fluents, actions) = (environment.fluents(), environment.choices() * environment.max_moves());
    EnvironmentRows {
        observation: take(&mut rows.observation, lanes * fluents),
        legal: take(&mut rows.legal, lanes * actions),
        planes: take(&mut rows.planes, fluents * LANES / 64),
        legal_planes: take(&mut rows.legal_planes, actions * LANES / 64),
        player: take(&mut rows.player, lanes),
        reward: take(&mut rows.reward, lanes * environment.roles()),
        terminated: take(&mut rows.terminated, lanes),
        truncated: take(&mut rows.truncated, lanes),
        steps: take(&mut rows.steps, lanes),
        final_observation: take(&mut rows.final_observation, lanes * fluents),
    }
}

/// Splits off the first items; fewer if there are not as many.
fn take<'a, T>(items: &mut &'a mut [T], count: usize) -> &'a mut [T] {
    let all = std::mem::take(items);
    let (first, rest) = all.split_at_mut(count.min(all.len()));
    *items = rest;
    first
}
