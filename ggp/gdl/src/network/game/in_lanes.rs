//! Replaying traces in lanes.

use sternhalma_game::Game;
use sternhalma_game::util::FluentSet;

use super::network_game::NetworkGame;
use crate::network::run::{LANES, Lanes, LanesError};
use crate::trace::moves_named;
use crate::{ProverError, Reasoner, ReplayError, StateView, TraceEngine};

/// Lanes that follow one match, with each state in another lane than its
/// predecessor, so that their evaluation can be compared with a trace.
pub struct InLanes {
    game: NetworkGame,
    lanes: Lanes,
    lane: usize,
}

impl InLanes {
    /// Compiles a network for lanes.
    ///
    /// # Errors
    ///
    /// Returns [`LanesError::TooLarge`] if the network does not fit.
    pub fn new(game: NetworkGame) -> Result<InLanes, LanesError> {
        let lanes = Lanes::new(&game.network().netlist)?;
        Ok(InLanes { game, lanes, lane: 0 })
    }
}

impl TraceEngine for InLanes {
    type State = FluentSet;

    fn names(&self) -> Vec<String> {
        self.game.role_names().to_vec()
    }

    fn start(&mut self) -> Result<FluentSet, ProverError> {
        Ok(FluentSet::of(&self.game.network().netlist.initial))
    }

    fn view(&mut self, state: &FluentSet) -> Result<StateView, ProverError> {
        self.lane = (self.lane + 1) % LANES;
        self.lanes.set(self.lane, state);
        self.lanes.evaluate();
        let network = self.game.network();
        let roles = 0..self.game.roles();
        let legal = |role| self.lanes.legal(self.lane, role).map(|mv| network.moves[mv].clone()).collect();
        Ok(StateView {
            facts: self.lanes.state(self.lane).iter().map(|fluent| network.fluents[fluent].clone()).collect(),
            terminal: self.lanes.is_terminal(self.lane),
            goals: roles.clone().map(|role| self.lanes.goal(self.lane, role)).collect(),
            legal: roles.map(legal).collect(),
        })
    }

    fn follow(&mut self, state: &mut FluentSet, joint: &[String]) -> Result<(), ReplayError> {
        let joint: Vec<usize> = moves_named(&self.game, joint)?.into_iter().map(|mv| mv as usize).collect();
        self.lanes.set(self.lane, state);
        self.lanes.evaluate();
        let idle: &[usize] = &[];
        self.lanes.step((0..=self.lane).map(|lane| if lane == self.lane { &joint[..] } else { idle }));
        *state = self.lanes.state(self.lane);
        Ok(())
    }
}
