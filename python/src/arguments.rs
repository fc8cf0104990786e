//! Arguments of the classes that Python creates directly. Their refusals are exceptions of the package; the modules in
//! Python check all other arguments.

use pyo3::prelude::*;
use sternhalma_ggp::messages::excerpt;

use crate::board::Board;
use crate::errors::exceptions;

/// A type of arguments.
pub trait Expected {
    /// The name in messages.
    const NAME: &'static str;
    /// Whether an integer that is refused is out of range.
    const IS_INTEGER: bool = false;
}

impl Expected for u64 {
    const NAME: &'static str = "a whole number ≥ 0";
    const IS_INTEGER: bool = true;
}

impl Expected for u32 {
    const NAME: &'static str = "a whole number from 0 to 4294967295";
    const IS_INTEGER: bool = true;
}

impl Expected for &str {
    const NAME: &'static str = "a text";
}

impl Expected for Board {
    const NAME: &'static str = "a Board";
}

/// A value of an argument.
pub struct Argument<T>(pub T);

impl<'a, 'py, T: FromPyObject<'a, 'py> + Expected> FromPyObject<'a, 'py> for Argument<T> {
    type Error = PyErr;

    fn extract(value: Borrowed<'a, 'py, PyAny>) -> PyResult<Argument<T>> {
        value.extract().map(Argument).map_err(|_| {
            let is_number = T::IS_INTEGER && value.is_instance_of::<pyo3::types::PyInt>();
            refused(&value, T::NAME, is_number)
        })
    }
}

/// Returns the exception for a value in place of another one, which is of the wrong type unless `is_value`.
pub fn refused(value: &Bound<'_, PyAny>, expected: &str, is_value: bool) -> PyErr {
    let shown = value.repr().map_or_else(|_| value.get_type().to_string(), |text| text.to_string());
    let text = format!("expected {expected}, got {}", excerpt(&shown));
    match is_value {
        true => exceptions::ArgumentError::new_err(text),
        false => exceptions::ArgumentTypeError::new_err(text),
    }
}
