//! Building, verifying, converting and comparing tables.

use std::path::{Path, PathBuf};

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use sternhalma_builder::{
    BuildMode, BuilderError, LayerForm, MachineSpec, SampleSpec, TableBuilder, TableConverter, Verifier,
};
use sternhalma_data::table::fs::parent_directory;
use sternhalma_data::{Encoding, Prefix, TableError, TableOptions, table};
use sternhalma_ggp::messages::excerpt;

use crate::board::Board;
use crate::errors::{board_error, builder_error, exceptions, message, table_error};
use crate::table::Table;
use crate::work::run;

/// Returns the encoding with this name.
fn parse_encoding(name: &str) -> PyResult<Encoding> {
    name.parse().map_err(|error: table::EncodingError| exceptions::ArgumentError::new_err(message(&error)))
}

/// Returns the value with this name. `kind` names the type of the values in the error.
fn parse_name<T: Copy, const N: usize>(
    kind: &str,
    all: [T; N],
    name_of: fn(T) -> &'static str,
    name: &str,
) -> PyResult<T> {
    let names = all.map(name_of).join("' or '");
    let found = all.into_iter().find(|&value| name_of(value) == name);
    found.ok_or_else(|| {
        exceptions::ArgumentError::new_err(format!("expected the {kind} '{names}', got {:?}", excerpt(name)))
    })
}

/// Returns the builder of a table.
fn table_builder(
    board: &Board,
    within: Option<u64>,
    encoding: &str,
    mirrored: Option<bool>,
    threads: usize,
    memory: u64,
    layer_form: Option<&str>,
) -> PyResult<TableBuilder> {
    let prefix = match within {
        Some(within) => Prefix::new(board.0, within).map_err(board_error)?,
        None => Prefix::whole(board.0),
    };
    let mut builder =
        TableBuilder::new(prefix).encoding(parse_encoding(encoding)?).threads(threads).memory_limit(memory);
    if let Some(form) = layer_form {
        builder = builder.layer_form(parse_name("form of layers", LayerForm::ALL, LayerForm::name, form)?);
    }
    Ok(match mirrored {
        Some(mirrored) => builder.mirroring(mirrored),
        None => builder,
    })
}

/// Creates the directory of a table.
fn create_directory(path: &Path) -> PyResult<()> {
    let failed = |source| TableError::Io { path: path.to_owned(), action: "create the directory", source };
    std::fs::create_dir_all(path).map_err(|error| table_error(failed(error)))
}

/// Returns the path of a table: the given one, or that of its name in the tables directory.
fn table_path(builder: &TableBuilder, path: Option<PathBuf>) -> PyResult<PathBuf> {
    let named = || {
        let spec = builder.spec();
        Some(table::tables_dir()?.join(table::table_name(spec.prefix, spec.encoding) + ".sht"))
    };
    let no_directory = || exceptions::ArgumentError::new_err("this system has no data directory; specify a path");
    path.or_else(named).ok_or_else(no_directory)
}

/// Builds a table, unless the file contains it, and opens it.
#[pyfunction]
#[pyo3(signature = (
    *, board, within, encoding, mirrored, path, overwrite, memory, mode, layer_form, work_dir, fresh, threads, progress
))]
#[allow(clippy::too_many_arguments, reason = "the arguments are those of the Python function")]
pub fn build(
    py: Python<'_>,
    board: &Board,
    within: Option<u64>,
    encoding: &str,
    mirrored: Option<bool>,
    path: Option<PathBuf>,
    overwrite: bool,
    memory: u64,
    mode: Option<&str>,
    layer_form: Option<&str>,
    work_dir: Option<PathBuf>,
    fresh: bool,
    threads: usize,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Table> {
    let builder = table_builder(board, within, encoding, mirrored, threads, memory, layer_form)?;
    let mut builder = builder.restart(fresh).overwrite(overwrite);
    let path = table_path(&builder, path)?;
    if let Some(mode) = mode {
        builder = builder.mode(parse_name("mode", BuildMode::ALL, BuildMode::name, mode)?);
    }
    if let Some(dir) = work_dir {
        builder = builder.work_dir(dir);
    }
    let mut plan = builder.plan(&path).map_err(builder_error)?;
    let checked = TableOptions::default().verify_blocks(true);
    let table = match plan.take_existing() {
        Some(table) => table.with_loading(checked),
        None => {
            if let Some(dir) = path.parent() {
                create_directory(dir)?;
            }
            plan.check().map_err(builder_error)?;
            run(py, progress, |observer| plan.run(observer))?;
            checked.open(&path)
        }
    };
    Ok(Table::new(table.map_err(table_error)?, true))
}

/// The estimate of a build: mode, form of layers, states, layers, bytes of memory, table, disk, reads and writes, and
/// seconds of the processor and in all.
type Plan = (&'static str, Option<&'static str>, u64, usize, u64, u64, u64, u64, u64, f64, f64);

/// Estimates the cost of a build on a machine with a number of cores, a memory limit, a page cache, and a disk with a
/// rate in bytes per second. Without a rate, the disk is measured.
#[pyfunction]
#[pyo3(signature = (
    *, board, within, encoding, mirrored, path, memory, layer_form, threads, cores, disk_rate, cache, progress
))]
#[allow(clippy::too_many_arguments, reason = "the arguments are those of the Python function")]
pub fn plan(
    py: Python<'_>,
    board: &Board,
    within: Option<u64>,
    encoding: &str,
    mirrored: Option<bool>,
    path: Option<PathBuf>,
    memory: u64,
    layer_form: Option<&str>,
    threads: usize,
    cores: Option<usize>,
    disk_rate: Option<f64>,
    cache: u64,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Plan> {
    let builder = table_builder(board, within, encoding, mirrored, threads, memory, layer_form)?;
    let path = table_path(&builder, path)?;
    let directory = parent_directory(&path);
    create_directory(directory)?;
    let found = run(py, progress, |observer| {
        let cores = cores.unwrap_or(sternhalma_builder::thread_count(threads));
        let disk_rate = disk_rate.map_or_else(|| sternhalma_builder::disk_rate(directory), Ok)?;
        builder.plan(&path)?.estimate(&[MachineSpec { cores, memory, disk_rate, cache }], observer)
    })?;
    let plan = found.into_iter().next().ok_or_else(|| exceptions::BuildError::new_err("there is no estimate"))?;
    let bytes = (plan.memory_bytes, plan.table_bytes, plan.disk_bytes, plan.read_bytes, plan.written_bytes);
    Ok((
        plan.mode.name(),
        plan.layer_form.map(LayerForm::name),
        plan.states,
        plan.layers,
        bytes.0,
        bytes.1,
        bytes.2,
        bytes.3,
        bytes.4,
        plan.cpu_s,
        plan.wall_s,
    ))
}

/// Checks a table against its checksums, or proves its distances.
#[pyfunction]
#[pyo3(signature = (table, *, deep, sample, seed, memory, work_dir, threads, progress))]
#[allow(clippy::too_many_arguments, reason = "the arguments are those of the Python function")]
pub fn verify(
    py: Python<'_>,
    table: &Table,
    deep: bool,
    sample: Option<u64>,
    seed: u64,
    memory: u64,
    work_dir: Option<PathBuf>,
    threads: usize,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    let table = table.get()?;
    let mut verifier = Verifier::new(&table).threads(threads).memory_limit(memory);
    if let Some(dir) = work_dir {
        verifier = verifier.work_dir(dir);
    }
    run(py, progress, |observer| match sample {
        Some(states) => verifier.prove_sample(SampleSpec { states, seed }, observer).map(|_| ()),
        None if deep => verifier.prove(observer),
        None => verifier.check(observer),
    })
}

/// Writes a table in another encoding or form.
#[pyfunction]
#[pyo3(signature = (table, *, path, encoding, mirrored, overwrite, threads, progress))]
#[allow(clippy::too_many_arguments, reason = "the arguments are those of the Python function")]
pub fn convert(
    py: Python<'_>,
    table: &Table,
    path: PathBuf,
    encoding: &str,
    mirrored: Option<bool>,
    overwrite: bool,
    threads: usize,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    let table = table.get()?;
    let mut converter = TableConverter::new(&table, parse_encoding(encoding)?).threads(threads).overwrite(overwrite);
    if let Some(mirrored) = mirrored {
        converter = converter.mirrored(mirrored);
    }
    run(py, progress, |observer| converter.convert(&path, observer))
}

/// Compares two tables on the states that both cover.
#[pyfunction]
#[pyo3(signature = (a, b, *, threads, progress))]
pub fn compare<'py>(
    py: Python<'py>,
    a: &Table,
    b: &Table,
    threads: usize,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let (a, b) = (a.get()?, b.get()?);
    let compared = run(py, progress, |observer| -> Result<_, BuilderError> {
        sternhalma_builder::compare(&a, &b, threads, observer)
    })?;
    let all = compared.all();
    let dict = PyDict::new(py);
    dict.set_item("within", compared.prefix().within())?;
    dict.set_item("exact_to", compared.proven_depth())?;
    dict.set_item("states", all.states)?;
    dict.set_item("differ", all.differing())?;
    dict.set_item("largest", all.largest())?;
    dict.set_item("mean", all.mean())?;
    dict.set_item("proven", all.proven)?;
    dict.set_item("contradictions", all.contradictions)?;
    let rows = PyList::empty(py);
    for (distance, stats) in compared.by_distance() {
        for (difference, states) in std::iter::once((0, stats.states - stats.differing())).chain(stats.differences) {
            rows.append((distance, difference, states))?;
        }
    }
    dict.set_item("pairs", rows)?;
    Ok(dict)
}

/// Returns the checksum of the distances of a table, apart from their encoding and form.
#[pyfunction]
#[pyo3(signature = (table, *, threads, progress))]
pub fn contents_checksum(
    py: Python<'_>,
    table: &Table,
    threads: usize,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    let table = table.get()?;
    let checksum = run(py, progress, |observer| sternhalma_builder::contents_checksum(&table, threads, observer))?;
    Ok(format!("{checksum:016x}"))
}
