//! Parameters of a search that may change while it runs.

/// Numbers of a search that may change from simulation to simulation, for each
/// role by itself. What is not told stays, and what a part has no use for it
/// passes over.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct ParamOverrides {
    /// The exploration constant C, on rewards 0 to 1.
    pub c: Option<f64>,
    /// The equivalence parameter K of [`Grave`](crate::Grave).
    pub k: Option<f64>,
    /// The visits ref from which on a node's AMAF values count.
    pub reference: Option<f64>,
    /// The share ε of random moves in playouts.
    pub epsilon: Option<f64>,
    /// What playouts go by.
    pub playout: Option<PlayoutKind>,
    /// The Move Decay γ of what playouts go by.
    pub gamma: Option<f64>,
    /// Its Simulation Decay ω.
    pub omega: Option<f64>,
}

/// What a playout goes by, of all that is learnt.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PlayoutKind {
    /// Nothing: any move.
    Random,
    /// The averages of moves.
    Mast,
    /// Those of sequences of moves, too.
    Nst,
}

impl PlayoutKind {
    /// All of them.
    pub const ALL: [PlayoutKind; 3] = [PlayoutKind::Random, PlayoutKind::Mast, PlayoutKind::Nst];
}

/// A value for all roles, until some have their own.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct PerRole<T> {
    all: T,
    by_role: Vec<T>,
}

impl<T: Copy> PerRole<T> {
    pub fn new(all: T) -> PerRole<T> {
        PerRole { all, by_role: Vec::new() }
    }

    #[inline]
    pub fn of(&self, role: usize) -> T {
        self.by_role.get(role).copied().unwrap_or(self.all)
    }

    pub fn set(&mut self, role: usize, value: T) {
        if self.by_role.len() <= role {
            self.by_role.resize(role + 1, self.all);
        }
        self.by_role[role] = value;
    }
}
