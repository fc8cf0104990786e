//! Games prepared for environments.

use rand::SeedableRng;
use sternhalma_game::Rng;
use thiserror::Error;

use crate::network::analysis::Profile;
use crate::network::run::{Bits, LaneProgram, LaneSlots, LanesError, MAX_MOVES, RoleSlots, SequentialEngine, Slot};
use crate::network::{Netlist, Network};

/// The number of random matches that determine the kind of a game.
const MATCHES: usize = 100;
/// The maximum number of steps of these matches.
const MAX_STEPS: usize = 10_000;

/// What happens to a lane whose match is over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Autoreset {
    /// The lane does not change.
    Never,
    /// The next step begins a new match, and ignores the moves.
    NextStep,
    /// The step that ends the match also begins a new one.
    SameStep,
}

/// The properties of an environment. By default they follow from random matches.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct EnvironmentOptions {
    /// Whether each role has an action, because several roles may have a choice at once.
    pub simultaneous: Option<bool>,
    /// The rewards for the goals 0 and 100. The default is -1 and 1 if there are two roles and their goals sum to 100,
    /// and 0 and 1 otherwise.
    pub rewards: Option<(f32, f32)>,
    /// The number of steps after which a match is truncated.
    pub max_steps: Option<u32>,
}

/// The reason why a game has no environment.
#[derive(Error, Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum EnvironmentError {
    /// The game cannot be played in lanes.
    #[error(transparent)]
    Lanes(#[from] LanesError),
    /// No match has a step.
    #[error("the initial state is terminal")]
    Terminal,
    /// The number of a role does not fit into its array.
    #[error("expected at most {MAX_ROLES} roles, got {0}")]
    TooManyRoles(usize),
}

/// The maximum number of roles.
const MAX_ROLES: usize = i8::MAX as usize;

/// A game whose matches advance in lanes by given moves.
///
/// In each lane, one role is *to move*, and the others play their only legal move. An *action* is the place of a move
/// in [`moves`](LaneEnvironment::moves). If the environment is *simultaneous*, each role has an action. The states are
/// in [blocks](super::EnvironmentBlock) of 512 lanes.
pub struct LaneEnvironment {
    pub(super) program: LaneProgram,
    pub(super) initial: Vec<bool>,
    /// The slots that legal moves and the next state are evaluated from, with their values in the initial state.
    pub(super) restart: Vec<(Slot, bool)>,
    /// For each move of each role: whether it was the only legal move while another role had a choice.
    pub(super) waiting: Vec<Vec<bool>>,
    pub(super) max_steps: Option<u32>,
    is_simultaneous: bool,
    rewards: (f32, f32),
    max_moves: usize,
}

impl LaneEnvironment {
    /// Compiles the game of a network. `engine` is that of the network.
    ///
    /// # Errors
    ///
    /// Fails if the initial state is terminal or a role has no legal move in it, or if there are too many moves or
    /// roles.
    pub fn new(
        network: &Network,
        engine: &SequentialEngine,
        options: &EnvironmentOptions,
    ) -> Result<LaneEnvironment, EnvironmentError> {
        let netlist = &network.netlist;
        if netlist.roles.len() > MAX_ROLES {
            return Err(EnvironmentError::TooManyRoles(netlist.roles.len()));
        }
        if netlist.roles.iter().any(|moves| moves.len() > MAX_MOVES) {
            return Err(LanesError::TooLarge.into());
        }
        if engine.is_terminal(engine.initial()) {
            return Err(EnvironmentError::Terminal);
        }
        if let Some(role) = (0..netlist.roles.len()).find(|&role| !engine.can_move(engine.initial(), role)) {
            return Err(LanesError::NoLegalMove { role }.into());
        }
        let profile = Profile::observe(netlist, engine, MATCHES, MAX_STEPS, &mut Rng::seed_from_u64(1));
        let program = LaneProgram::new(netlist);
        let is_symmetric = netlist.roles.len() == 2 && profile.fixed_sum == Some(100);
        let waiting = |role: &RoleSlots| role.moves.iter().map(|&mv| profile.waiting[mv]).collect();
        Ok(LaneEnvironment {
            restart: restart(netlist, &program),
            waiting: program.roles().iter().map(waiting).collect(),
            max_steps: options.max_steps,
            is_simultaneous: options.simultaneous.unwrap_or(!profile.turn_taking),
            rewards: options.rewards.unwrap_or(if is_symmetric { (-1.0, 1.0) } else { (0.0, 1.0) }),
            max_moves: program.roles().iter().map(|role| role.moves.len()).max().unwrap_or(0),
            initial: netlist.initial.clone(),
            program,
        })
    }

    /// Returns the moves of a role, by their actions.
    pub fn moves(&self, role: usize) -> &[usize] {
        &self.program.roles()[role].moves
    }

    /// Returns the maximum number of moves of a role.
    pub fn max_moves(&self) -> usize {
        self.max_moves
    }

    /// Returns the number of roles.
    pub fn roles(&self) -> usize {
        self.program.roles().len()
    }

    /// Returns the number of fluents.
    pub fn fluents(&self) -> usize {
        self.initial.len()
    }

    /// Returns whether each role has an action.
    pub fn is_simultaneous(&self) -> bool {
        self.is_simultaneous
    }

    /// Returns the number of actions in each lane: that of the roles, or 1.
    pub fn choices(&self) -> usize {
        if self.is_simultaneous { self.roles() } else { 1 }
    }

    /// Returns the rewards for the goals 0 and 100.
    pub fn rewards(&self) -> (f32, f32) {
        self.rewards
    }

    /// Returns the reward for a goal.
    pub(super) fn reward(&self, goal: u8) -> f32 {
        let (low, high) = self.rewards;
        low + (high - low) * (f32::from(goal) / 100.0)
    }
}

/// Returns the slots that a program keeps after the terminal condition, with their values in the initial state.
fn restart(netlist: &Netlist, program: &LaneProgram) -> Vec<(Slot, bool)> {
    let mut slots = LaneSlots::new(program.slot_count());
    for (fluent, &holds) in netlist.initial.iter().enumerate() {
        slots[LaneProgram::fluent(fluent)] = Bits::all_if(holds);
    }
    program.terminal(&mut slots);
    program.kept().iter().map(|&slot| (slot, slots[slot].get(0))).collect()
}
