//! What the vectorised environments share: their arrays, masks, modes and threads.

use std::slice::ChunksMut;
use std::sync::Arc;

use numpy::{Element, PyArrayDyn, PyArrayMethods, PyReadonlyArray1, PyReadwriteArrayDyn, PyUntypedArrayMethods};
use pyo3::exceptions::{PyMemoryError, PyValueError};
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use sternhalma_ggp::gdl::network::{self, EnvironmentRows, LANES};

use crate::errors::exceptions;

/// What happens to the lanes whose match is over.
#[pyclass(frozen, eq, hash, module = "sternhalma._native", from_py_object)]
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum Autoreset {
    /// The next step begins a new match.
    NextStep,
    /// The step that ends a match begins a new one.
    SameStep,
    /// The lanes do not change.
    Never,
}

impl From<Autoreset> for network::Autoreset {
    fn from(autoreset: Autoreset) -> network::Autoreset {
        match autoreset {
            Autoreset::NextStep => network::Autoreset::NextStep,
            Autoreset::SameStep => network::Autoreset::SameStep,
            Autoreset::Never => network::Autoreset::Never,
        }
    }
}

/// The sizes of the arrays of an environment.
pub struct LaneSizes {
    /// The number of lanes.
    pub lanes: usize,
    /// The lanes with an observation and legal actions: all, or none if only planes are written.
    pub rows: usize,
    /// The blocks of lanes with planes.
    pub blocks: usize,
    /// The values of an observation.
    pub observation: usize,
    /// The shape of the legal actions of a lane.
    pub legal: Vec<usize>,
    /// The number of roles.
    pub roles: usize,
}

/// Declares the arrays of environments: per array its type, the type that Python sees if it is another, the lanes that
/// share a row, and the shape.
macro_rules! lane_arrays {
    ($($(#[$doc:meta])* $name:ident: $element:ty as $seen:expr, $lanes:expr => |$sizes:ident| $shape:expr;)*) => {
        /// The arrays of an environment, which its lanes write and Python reads.
        #[pyclass(frozen, module = "sternhalma._native")]
        pub struct LaneArrays {
            $($name: Py<PyArrayDyn<$element>>,)*
        }

        #[pymethods]
        impl LaneArrays {
            $(
                $(#[$doc])*
                #[getter]
                fn $name<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
                    seen(self.$name.bind(py), $seen)
                }
            )*
        }

        impl LaneArrays {
            /// Allocates the arrays.
            pub fn new(py: Python<'_>, sizes: &LaneSizes) -> PyResult<LaneArrays> {
                Ok(LaneArrays {
                    $($name: {
                        let $sizes = sizes;
                        zeros(py, $shape)?
                    },)*
                })
            }

            /// Returns copies of the arrays.
            pub fn copy(&self, py: Python<'_>) -> PyResult<LaneArrays> {
                Ok(LaneArrays { $($name: copy(py, &self.$name)?,)* })
            }

            /// Borrows the arrays for one call, which writes to them.
            pub fn borrow<'py>(&self, py: Python<'py>) -> PyResult<BorrowedArrays<'py>> {
                Ok(BorrowedArrays { $($name: borrow(py, &self.$name)?,)* })
            }
        }

        /// The arrays while one call writes to them.
        pub struct BorrowedArrays<'py> {
            $($name: PyReadwriteArrayDyn<'py, $element>,)*
        }

        impl BorrowedArrays<'_> {
            /// Returns the rows of each part of `size` lanes.
            pub fn parts(&mut self, size: usize) -> impl Iterator<Item = EnvironmentRows<'_>> {
                let count = self.player.len().div_ceil(size);
                $(let mut $name = parts(&mut self.$name, size.div_ceil($lanes));)*
                (0..count).map(move |_| EnvironmentRows { $($name: $name.next().unwrap_or_default(),)* })
            }
        }
    };
}

lane_arrays! {
    /// The observation of each lane.
    observation: u8 as None, 1 => |of| vec![of.rows, of.observation];
    /// The legal actions of each lane.
    legal: u8 as Some("bool"), 1 => |of| [&[of.rows][..], &of.legal].concat();
    /// The observations in bits.
    planes: u64 as None, LANES => |of| vec![of.blocks, of.observation, LANES / 64];
    /// The legal actions in bits.
    legal_planes: u64 as None, LANES => |of| [&[of.blocks][..], &of.legal, &[LANES / 64]].concat();
    /// The role to move.
    player: i8 as None, 1 => |of| vec![of.lanes];
    /// The reward of each role.
    reward: f32 as None, 1 => |of| vec![of.lanes, of.roles];
    /// Whether the match ended by the rules.
    terminated: u8 as Some("bool"), 1 => |of| vec![of.lanes];
    /// Whether the match ended by a limit of steps.
    truncated: u8 as Some("bool"), 1 => |of| vec![of.lanes];
    /// The steps of the match.
    steps: u32 as None, 1 => |of| vec![of.lanes];
    /// The last observation of a match that ended.
    final_observation: u8 as None, 1 => |of| vec![of.rows, of.observation];
}

impl BorrowedArrays<'_> {
    /// Returns the role to move in a lane, or `None` if there is none.
    pub fn role(&self, lane: usize) -> Option<usize> {
        self.player.as_slice().ok()?.get(lane).and_then(|&player| usize::try_from(player).ok())
    }
}

/// Allocates an array of zeros. Raises `OutOfMemory` if there is no room.
fn zeros<T: Element>(py: Python<'_>, shape: Vec<usize>) -> PyResult<Py<PyArrayDyn<T>>> {
    let no_room =
        |error: PyErr| match error.is_instance_of::<PyMemoryError>(py) || error.is_instance_of::<PyValueError>(py) {
            true => exceptions::OutOfMemory::new_err(format!("the lanes need more memory: {error}")),
            false => error,
        };
    let zeros = py.import("numpy")?.call_method1("zeros", (shape, T::get_dtype(py))).map_err(no_room)?;
    Ok(zeros.cast_into::<PyArrayDyn<T>>()?.unbind())
}

fn copy<T: Element>(py: Python<'_>, array: &Py<PyArrayDyn<T>>) -> PyResult<Py<PyArrayDyn<T>>> {
    Ok(array.bind(py).call_method0("copy")?.cast_into::<PyArrayDyn<T>>()?.unbind())
}

/// Returns an array as one of a type with elements of the same size, or as it is.
fn seen<'py, T: Element>(array: &Bound<'py, PyArrayDyn<T>>, kind: Option<&str>) -> PyResult<Bound<'py, PyAny>> {
    kind.map_or_else(|| Ok(array.clone().into_any()), |kind| array.call_method1("view", (kind,)))
}

fn borrow<'py, T: Element>(py: Python<'py>, array: &Py<PyArrayDyn<T>>) -> PyResult<PyReadwriteArrayDyn<'py, T>> {
    let borrowed = array.bind(py).try_readwrite();
    borrowed
        .map_err(|_| exceptions::CallError::new_err("another thread uses the environment, or its arrays are read-only"))
}

/// Returns the values of parts of an array, each of a number of rows. The array is contiguous since this module
/// allocated it.
fn parts<'a, T: Element>(array: &'a mut PyReadwriteArrayDyn<'_, T>, rows: usize) -> ChunksMut<'a, T> {
    let width: usize = array.shape()[1..].iter().product();
    array.as_slice_mut().unwrap_or_default().chunks_mut((rows * width).max(1))
}

/// A mask of lanes, or `None` for all.
pub type Mask<'py> = Option<PyReadonlyArray1<'py, bool>>;

/// Returns the values of a mask.
pub fn mask_values<'a>(mask: &'a Mask<'_>) -> PyResult<Option<&'a [bool]>> {
    Ok(mask.as_ref().map(|mask| mask.as_slice()).transpose()?)
}

/// Returns whether a mask selects a lane.
pub fn is_selected(mask: Option<&[bool]>, lane: usize) -> bool {
    mask.is_none_or(|mask| mask.get(lane) == Some(&true))
}

/// Returns the numbers of the lanes that a mask selects.
pub fn selected_lanes(mask: &[bool]) -> Vec<usize> {
    (0..mask.len()).filter(|&lane| mask[lane]).collect()
}

/// Returns the exception for an action of a lane that a role cannot play. `name` is the name of the action, if it has
/// one.
pub fn illegal_action(lane: usize, action: &Bound<'_, PyAny>, name: Option<&str>, role: &str) -> PyErr {
    let name = name.map(|name| format!(" ({name})")).unwrap_or_default();
    exceptions::IllegalAction::new_err(format!("lane {lane}: {action}{name} is not a legal action of {role}"))
}

/// Starts the threads that share the lanes, or returns `None` for one thread. 0 is one thread per processor core.
pub fn thread_pool(threads: usize) -> PyResult<Option<Arc<ThreadPool>>> {
    if threads == 1 {
        return Ok(None);
    }
    let pool = ThreadPoolBuilder::new().num_threads(threads).build();
    pool.map(|pool| Some(Arc::new(pool))).map_err(|error| exceptions::CallError::new_err(error.to_string()))
}
