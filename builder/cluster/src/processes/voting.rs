//! Decisions that all processes make alike, because each of them knows what all processes say.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::exchange::{Exchange, ParcelKind};
use crate::error::{ClusterError, Result};

/// The votes that have arrived, by their number and process.
#[derive(Default)]
pub(crate) struct Voting {
    arrived: Mutex<BTreeMap<(u64, u32), Vec<u8>>>,
    /// The number of the next vote.
    next: Mutex<u64>,
}

impl Voting {
    /// Receives the vote of a process.
    pub fn deliver(&self, number: u64, process: u32, bytes: Vec<u8>) {
        let mut arrived = self.arrived.lock().unwrap_or_else(PoisonError::into_inner);
        arrived.insert((number, process), bytes);
    }

    /// Sends a value to all processes, and returns the values of all of them in order. Nothing that was sent before
    /// is still under way.
    pub fn ask<T: Serialize + DeserializeOwned>(&self, exchange: &Exchange, value: &T) -> Result<Vec<T>> {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let number = *next;
        *next += 1;
        let bytes = serde_json::to_vec(value).expect("a vote has only finite numbers");
        for to in 0..exchange.processes() {
            exchange.send(to, ParcelKind::Vote, number, bytes.clone())?;
        }
        exchange.barrier()?;
        let mut arrived = self.arrived.lock().unwrap_or_else(PoisonError::into_inner);
        let value = |process: usize| {
            let invalid = || ClusterError::Lost { process, what: "its vote is invalid".to_owned() };
            let bytes = arrived.remove(&(number, process as u32)).ok_or_else(invalid)?;
            Ok(serde_json::from_slice(&bytes).map_err(|_| invalid())?)
        };
        (0..exchange.processes()).map(value).collect()
    }
}
