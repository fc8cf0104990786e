//! Look-ups of many states.

use pyo3::{PyErr, PyResult};
use rayon::prelude::*;
use sternhalma_data::{Encoding, Probe, State, Table};

use crate::errors::{exceptions, table_error};
use crate::states::{Reader, state_of_rank};
use crate::work::with_threads;

/// The states that a thread looks up at a time.
const GRAIN: usize = 1 << 12;

/// The states to look up.
#[derive(Clone, Copy)]
pub enum States<'a> {
    /// States by their ranks.
    Ranks(&'a [u64]),
    /// Rows of cells, with their conversion.
    Cells(Reader, &'a [u8]),
}

impl States<'_> {
    /// Returns the exception for the state with a number that the table does not cover.
    pub fn not_covered(&self, place: usize) -> PyErr {
        let state = match self {
            States::Ranks(ranks) => format!("rank {}", ranks[place]),
            States::Cells(reader, cells) => format!("cells {:?}", reader.row(cells, place)),
        };
        exceptions::NotCovered::new_err(format!("state {place} ({state}): the table does not cover it"))
    }
}

/// A look-up of many states.
pub struct Batch<'a> {
    /// The table.
    pub table: &'a Table,
    /// The states.
    pub states: States<'a>,
    /// The value for states that the table does not cover, or `None` if these are an error.
    pub missing: Option<u8>,
    /// Whether blocks need no comparison with their checksums.
    pub is_checked: bool,
}

impl Batch<'_> {
    /// Writes the distances of the states to `out`, which has one value per state.
    ///
    /// # Errors
    /// If a row is no army, a state is not covered although `missing` is `None`, or the table is damaged. The
    /// exception is that of the first part of the states that has one.
    pub fn look_up(&self, threads: usize, out: &mut [u8]) -> PyResult<()> {
        let parts = |out: &mut [u8]| {
            let part = |(number, out): (usize, &mut [u8])| self.part(number * GRAIN, out).err();
            // The order of the parts does not depend on the threads.
            out.par_chunks_mut(GRAIN).enumerate().map(part).flatten().collect::<Vec<PyErr>>()
        };
        let error = match threads {
            1 => out.chunks_mut(GRAIN).enumerate().find_map(|(number, out)| self.part(number * GRAIN, out).err()),
            _ => with_threads(threads, || parts(out)).into_iter().next(),
        };
        error.map_or(Ok(()), Err)
    }

    /// Writes the distances of the states from `first` on to `out`.
    fn part(&self, first: usize, out: &mut [u8]) -> PyResult<()> {
        if let (Some(bytes), true) = (self.table.as_bytes(), self.is_checked) {
            return self.part_of_bytes(bytes, first, out);
        }
        let mut states = Vec::with_capacity(out.len());
        for place in first..first + out.len() {
            states.push(self.state(place)?);
        }
        if self.is_checked && self.table.encoding() == Encoding::Byte {
            let found: Option<Vec<State>> = states.iter().copied().collect();
            if found.is_some_and(|states| self.table.probe_bytes(&states, out)) {
                return Ok(());
            }
        }
        self.probe(first, &states, out)
    }

    /// Writes the distances of the states from `first` on to `out`, from the distances by rank.
    fn part_of_bytes(&self, bytes: &[u8], first: usize, out: &mut [u8]) -> PyResult<()> {
        let mut buffer = Vec::new();
        let (ranks, error) = match &self.states {
            States::Ranks(ranks) => (&ranks[first..first + out.len()], None),
            States::Cells(reader, cells) => {
                let pieces = self.table.board().pieces();
                buffer.resize(out.len(), 0);
                let no_state = reader.ranks(&cells[first * pieces..][..out.len() * pieces], &mut buffer);
                let error = no_state.map(|row| reader.error(cells, first + row));
                (&buffer[..no_state.unwrap_or(out.len())], error)
            }
        };
        let mut is_covered = true;
        for (out, &rank) in out.iter_mut().zip(ranks) {
            let distance = bytes.get(usize::try_from(rank).unwrap_or(usize::MAX));
            is_covered &= distance.is_some();
            *out = distance.copied().unwrap_or(self.missing.unwrap_or(0));
        }
        if !is_covered && self.missing.is_none() {
            let outside = ranks.iter().position(|&rank| rank >= bytes.len() as u64);
            return outside.map_or(Ok(()), |place| Err(self.states.not_covered(first + place)));
        }
        error.map_or(Ok(()), Err)
    }

    /// Returns the state with a number, or `None` if its rank is too large for the board.
    #[inline]
    fn state(&self, place: usize) -> PyResult<Option<State>> {
        let board = self.table.board();
        match &self.states {
            States::Ranks(ranks) => Ok(state_of_rank(board, ranks[place])),
            States::Cells(reader, cells) => {
                reader.state(reader.row(cells, place)).map(Some).ok_or_else(|| reader.error(cells, place))
            }
        }
    }

    /// Looks up states one by one. `first` is the number of the first state.
    fn probe(&self, first: usize, states: &[Option<State>], out: &mut [u8]) -> PyResult<()> {
        let mut order: Vec<usize> = (0..states.len()).collect();
        if self.table.encoding() != Encoding::Byte {
            // States of one block follow each other, so that the block is decoded once.
            order.sort_unstable_by_key(|&place| states[place].map_or(0, |state| state.cells().bits()));
        }
        let mut outside = None::<usize>;
        for place in order {
            let found = states[place].map_or(Ok(Probe::NotCovered), |state| self.table.probe(state));
            out[place] = match found.map_err(table_error)?.distance() {
                Some(distance) => distance.0,
                None => {
                    outside = Some(outside.map_or(place, |other| other.min(place)));
                    self.missing.unwrap_or(0)
                }
            };
        }
        match outside {
            Some(place) if self.missing.is_none() => Err(self.states.not_covered(first + place)),
            _ => Ok(()),
        }
    }
}
