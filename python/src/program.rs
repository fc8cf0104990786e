//! External programs as players.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use pyo3::prelude::*;
use sternhalma_engine::arena::ExternalCommand;
use sternhalma_engine::external::{ExternalPlayer, ProgramCommand};
use sternhalma_engine::ugi::action_text;
use sternhalma_ggp::Game;
use sternhalma_ggp::arena::{Contestant, Fault, FaultKind, Request};
use sternhalma_ggp::messages::shorten_quotes;

use crate::errors::{exceptions, message};
use crate::play::{FoundMove, Position, check_open, search_limits, value_pair};
use crate::work::run_until_stopped;

/// The longest patience, in seconds.
const LONGEST: f64 = 1e6;

/// An external program that plays, and its command.
#[pyclass(frozen, module = "sternhalma._native")]
pub struct Program {
    /// `None` after `close`.
    player: Mutex<Option<ExternalPlayer>>,
    /// Whether `player` is `None`, without waiting for a search.
    is_closed: AtomicBool,
    command: ProgramCommand,
    patience: Duration,
    name: String,
    seed: u64,
}

impl Program {
    /// Returns the command.
    pub fn command(&self) -> &ProgramCommand {
        &self.command
    }

    /// Returns the program as a player of a tournament, which starts processes of its own.
    pub fn external(&self) -> ExternalCommand {
        ExternalCommand::new(self.command.clone(), self.patience, None)
    }
}

/// Returns the exception for a fault of a program.
pub fn program_error(command: &str, fault: &Fault) -> PyErr {
    exceptions::ProgramError::new_err(shorten_quotes(&format!("{command}: {fault}")))
}

/// Returns a number of seconds as a duration.
pub fn patience_of(seconds: f64) -> PyResult<Duration> {
    let valid = (0.0..=LONGEST).contains(&seconds);
    valid.then(|| Duration::from_secs_f64(seconds)).ok_or_else(|| {
        exceptions::ArgumentError::new_err(format!("patience: expected 0 to {LONGEST} seconds, got {seconds}"))
    })
}

#[pymethods]
impl Program {
    /// Starts the program.
    #[new]
    #[pyo3(signature = (command, *, options, dir, patience, seed))]
    fn new(
        py: Python<'_>,
        command: String,
        options: Vec<(String, String)>,
        dir: Option<PathBuf>,
        patience: f64,
        seed: u64,
    ) -> PyResult<Program> {
        let patience = patience_of(patience)?;
        let command = ProgramCommand::new(&command, options, dir);
        let command = command.map_err(|error| exceptions::NotationError::new_err(message(&error)))?;
        let mut player = ExternalPlayer::new(command.clone()).with_starting_patience(patience);
        let name = run_until_stopped(py, |stop| player.greet(patience, stop))?;
        let name = name.map_err(|fault| program_error(command.text(), &fault))?;
        let (player, is_closed) = (Mutex::new(Some(player)), AtomicBool::new(false));
        Ok(Program { player, is_closed, command, patience, name, seed })
    }

    /// The name with which the program introduced itself.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    #[getter]
    fn closed(&self) -> bool {
        self.is_closed.load(Relaxed)
    }

    /// Ends the program, after a search of another thread.
    fn close(&self, py: Python<'_>) {
        py.detach(|| drop(self.player.lock().unwrap_or_else(PoisonError::into_inner).take()));
        self.is_closed.store(true, Relaxed);
    }

    /// Returns the move that the program chooses.
    #[pyo3(signature = (position, *, playouts, nodes, depth, seconds))]
    fn think(
        &self,
        py: Python<'_>,
        position: &Position,
        playouts: Option<u64>,
        nodes: Option<u64>,
        depth: Option<u32>,
        seconds: Option<f64>,
    ) -> PyResult<FoundMove> {
        check_open(position)?;
        let limits = search_limits(playouts, nodes, depth, seconds)?;
        if limits == Default::default() {
            return Err(exceptions::ArgumentError::new_err(
                "specify at least one limit: playouts, nodes, depth or seconds",
            ));
        }
        let (game, state) = (&position.game, &position.state);
        let found = run_until_stopped(py, |stop| {
            let mut player = self.player.lock().unwrap_or_else(PoisonError::into_inner);
            let player = player.as_mut().ok_or_else(|| exceptions::ClosedError::new_err("the program is closed"))?;
            let role = state.player() as usize;
            let request = Request { role, limits, clocks: &[None, None], patience: self.patience, stop };
            let begun = player.begin_game(game, state, self.seed, stop);
            let chosen = begun.and_then(|()| player.choose(game, state, &request)).and_then(|(action, spent)| {
                let mut legal = Vec::new();
                game.legal(state, role, &mut legal);
                let text = action_text(game.geometry(), action);
                let why =
                    action.and_then(|mv| game.why_forbidden(state, mv)).map_or(String::new(), |why| format!(": {why}"));
                let fault = || FaultKind::Illegal.fault(format!("{text}{why}"));
                legal.contains(&action).then(|| (text.clone(), spent)).ok_or_else(fault)
            });
            let (text, spent) = chosen.map_err(|fault| program_error(self.command.text(), &fault))?;
            Ok::<_, PyErr>((text, spent, player.value()))
        })?;
        let (text, spent, value) = found?;
        let seconds = spent.time.as_secs_f64();
        Ok((text.clone(), value.map(value_pair), spent.depth, spent.expansions, spent.playouts, seconds, vec![text]))
    }
}
