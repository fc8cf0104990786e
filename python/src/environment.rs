//! Parts of the vectorised environments.

use std::sync::Arc;

use numpy::ndarray::Dimension;
use numpy::{Element, PyArray, PyArrayMethods, PyReadwriteArray};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use sternhalma_ggp::gdl::network::Autoreset;
use sternhalma_ggp::messages::excerpt;

/// Returns the mode with a name. `None` stands for no automatic reset.
pub fn parse_autoreset(name: Option<&str>) -> PyResult<Autoreset> {
    match name {
        None => Ok(Autoreset::Never),
        Some("next_step") => Ok(Autoreset::NextStep),
        Some("same_step") => Ok(Autoreset::SameStep),
        Some(other) => Err(PyValueError::new_err(format!(
            "autoreset: expected 'next_step', 'same_step' or False, got {:?}",
            excerpt(other)
        ))),
    }
}

/// Starts the threads that share the lanes, or returns `None` for one thread. 0 is one thread per processor core.
pub fn thread_pool(threads: usize) -> PyResult<Option<Arc<ThreadPool>>> {
    if threads == 1 {
        return Ok(None);
    }
    let pool = ThreadPoolBuilder::new().num_threads(threads).build();
    pool.map(|pool| Some(Arc::new(pool))).map_err(|error| PyRuntimeError::new_err(error.to_string()))
}

/// Borrows an array of an environment for one call, which writes to it.
pub fn borrow<'py, T: Element, D: Dimension>(
    py: Python<'py>,
    array: &Py<PyArray<T, D>>,
) -> PyResult<PyReadwriteArray<'py, T, D>> {
    let borrowed = array.bind(py).try_readwrite();
    borrowed.map_err(|_| PyRuntimeError::new_err("another thread uses the environment, or its arrays are read-only"))
}
