//! Parameters of a search that may change from simulation to simulation.

/// Parameters that a tuner sets for one role and one simulation. `None` leaves
/// a parameter unchanged. A component ignores parameters that it does not use.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct ParamOverrides {
    /// The exploration constant C, on rewards 0 to 1.
    pub c: Option<f64>,
    /// The equivalence parameter K of [`Grave`](crate::mcts::Grave).
    pub k: Option<f64>,
    /// The visits `ref` that a node needs for its AMAF values to be used.
    pub reference: Option<f64>,
    /// The share ε of random moves in playouts.
    pub epsilon: Option<f64>,
    /// The playout policy.
    pub playout: Option<PlayoutKind>,
    /// The Move Decay γ of the playout policy.
    pub gamma: Option<f64>,
    /// The Simulation Decay ω of the playout policy.
    pub omega: Option<f64>,
}

/// A playout policy that a tuner can choose.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PlayoutKind {
    /// Random moves.
    Random,
    /// MAST: averages of moves.
    Mast,
    /// NST: averages of moves and of sequences of moves.
    Nst,
}

impl PlayoutKind {
    /// All kinds.
    pub const ALL: [PlayoutKind; 3] = [PlayoutKind::Random, PlayoutKind::Mast, PlayoutKind::Nst];
}

/// A value for each role, with a default.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct PerRole<T> {
    default: T,
    by_role: Vec<T>,
}

impl<T: Copy> PerRole<T> {
    /// Creates the values of roles that all have the default.
    pub fn new(default: T) -> PerRole<T> {
        PerRole { default, by_role: Vec::new() }
    }

    /// Returns the value of a role.
    #[inline]
    pub fn of(&self, role: usize) -> T {
        self.by_role.get(role).copied().unwrap_or(self.default)
    }

    /// Sets the value of a role.
    pub fn set(&mut self, role: usize, value: T) {
        if self.by_role.len() <= role {
            self.by_role.resize(role + 1, self.default);
        }
        self.by_role[role] = value;
    }
}
