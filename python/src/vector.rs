//! Vectorised environments of rulesheets.

use std::sync::{Arc, Mutex, PoisonError};

use numpy::{PyReadonlyArray1, PyReadonlyArray2, PyReadonlyArrayDyn, PyReadwriteArrayDyn};
use pyo3::prelude::*;
use rayon::ThreadPool;
use rayon::prelude::*;
use sternhalma_ggp::gdl::network::{
    EnvironmentBlock, EnvironmentOptions, EnvironmentRows, LANES, LaneEnvironment, NetworkGame,
};

use crate::environment::{
    Autoreset, BorrowedArrays, LaneArrays, LaneSizes, Mask, illegal_action, is_selected, mask_values, selected_lanes,
    thread_pool,
};
use crate::errors::{exceptions, message};
use crate::rulesheet::Game;

/// Matches of a rulesheet that advance together.
#[pyclass(frozen, module = "sternhalma._native")]
pub struct VectorGame {
    game: Arc<NetworkGame>,
    environment: Arc<LaneEnvironment>,
    blocks: Mutex<Vec<EnvironmentBlock>>,
    /// The threads, if there are several.
    pool: Option<Arc<ThreadPool>>,
    #[pyo3(get)]
    arrays: Py<LaneArrays>,
}

#[pymethods]
impl VectorGame {
    #[new]
    #[pyo3(signature = (*, game, lanes, threads, simultaneous, rewards, max_steps, is_packed))]
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
        let game = game.game().clone();
        let environment = py.detach(|| LaneEnvironment::new(game.network(), game.engine(), &options));
        let environment = environment.map_err(|error| exceptions::RulesheetError::new_err(message(&error)))?;
        let pool = thread_pool(threads)?;
        let (roles, moves) = (environment.roles(), environment.max_moves());
        let sizes = LaneSizes {
            lanes,
            rows: if is_packed { 0 } else { lanes },
            blocks: lanes.div_ceil(LANES),
            observation: environment.fluents(),
            legal: if environment.is_simultaneous() { vec![roles, moves] } else { vec![moves] },
            roles,
        };
        let arrays = Py::new(py, LaneArrays::new(py, &sizes)?)?;
        let blocks = py.detach(|| {
            let block =
                |number: usize| EnvironmentBlock::new(&environment, number as u64, LANES.min(lanes - number * LANES));
            (0..lanes.div_ceil(LANES)).map(block).collect()
        });
        let environment = Arc::new(environment);
        Ok(VectorGame { game, environment, blocks: Mutex::new(blocks), pool, arrays })
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

    /// Returns the name of an action of a role, or `None` if there is none.
    fn action_name(&self, role: usize, action: usize) -> Option<String> {
        let network = self.game.network();
        let mv = (role < network.roles.len()).then(|| network.netlist.possible_moves(role).nth(action))??;
        network.moves.get(mv).cloned()
    }

    /// Begins new matches in the lanes of a mask, and seeds the generators of random actions.
    fn reset(&self, py: Python<'_>, seed: Option<u64>, mask: Mask<'_>) -> PyResult<()> {
        let mask = mask_values(&mask)?;
        self.on_blocks(py, |first, block, rows| {
            if let Some(seed) = seed {
                block.seed(seed);
            }
            block.reset(&self.environment, |lane| is_selected(mask, first + lane), rows);
        })?;
        self.check_conflicts(py)
    }

    /// Puts the lanes of a mask in given states: rows of fluents.
    fn set_state(
        &self,
        py: Python<'_>,
        mask: PyReadonlyArray1<'_, bool>,
        rows: PyReadonlyArray2<'_, u8>,
    ) -> PyResult<()> {
        let (lanes, states) = (selected_lanes(mask.as_slice()?), rows.as_slice()?);
        let fluents = self.environment.fluents();
        self.on_blocks(py, |first, block, rows| {
            let (from, to) =
                (lanes.partition_point(|&lane| lane < first), lanes.partition_point(|&lane| lane < first + LANES));
            let states = (from..to).map(|row| (lanes[row] - first, &states[row * fluents..(row + 1) * fluents]));
            block.set(&self.environment, states, rows);
        })?;
        self.check_conflicts(py)
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
        let choices = self.environment.choices();
        let mut arrays = self.arrays.get().borrow(py)?;
        let rows = arrays.parts(LANES);
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
                    block.step(&self.environment, autoreset.into(), rows);
                };
                self.each_block(blocks, rows, step);
            }
            illegal
        });
        match illegal {
            Some(lane) => Err(self.illegal(lane, given, &arrays)?),
            None => self.check_conflicts(py),
        }
    }

    /// Writes random legal actions.
    fn random_actions(&self, py: Python<'_>, mut out: PyReadwriteArrayDyn<'_, i32>) -> PyResult<()> {
        let choices = self.environment.choices();
        let actions = out.as_slice_mut()?;
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
            game: self.game.clone(),
            environment: self.environment.clone(),
            blocks: Mutex::new(blocks),
            pool: self.pool.clone(),
            arrays: Py::new(py, self.arrays.get().copy(py)?)?,
        })
    }
}

impl VectorGame {
    /// Returns the exception for the actions of a lane that are not legal.
    fn illegal(&self, lane: usize, given: &Bound<'_, PyAny>, arrays: &BorrowedArrays<'_>) -> PyResult<PyErr> {
        let (actions, roles) = (given.get_item(lane)?.call_method0("tolist")?, &self.game.network().roles);
        if self.environment.is_simultaneous() {
            let text = format!("lane {lane}: {actions} are not legal actions of {}", roles.join(", "));
            return Ok(exceptions::IllegalAction::new_err(text));
        }
        let role = arrays.role(lane).unwrap_or(0);
        let name = actions.extract().ok().and_then(|action| self.action_name(role, action));
        Ok(illegal_action(lane, &actions, name.as_deref(), &roles[role]))
    }

    /// Calls a function with the first lane of each block, the block and its arrays.
    fn on_blocks(
        &self,
        py: Python<'_>,
        work: impl Fn(usize, &mut EnvironmentBlock, &mut EnvironmentRows<'_>) + Send + Sync,
    ) -> PyResult<()> {
        let mut arrays = self.arrays.get().borrow(py)?;
        let rows = arrays.parts(LANES);
        py.detach(|| {
            let mut blocks = self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
            self.each_block(&mut blocks, rows, work);
        });
        Ok(())
    }

    /// Calls a function with the first lane of each block, the block and its rows.
    fn each_block<'a>(
        &self,
        blocks: &mut [EnvironmentBlock],
        rows: impl Iterator<Item = EnvironmentRows<'a>>,
        work: impl Fn(usize, &mut EnvironmentBlock, &mut EnvironmentRows<'_>) + Send + Sync,
    ) {
        let rows = rows.enumerate().map(|(number, rows)| (number * LANES, rows));
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
