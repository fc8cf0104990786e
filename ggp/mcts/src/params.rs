//! Parameters of a search that may change while it runs, and the values that tuning tries.
//!
//! A new tunable parameter is a variant of [`ParameterId`] and of [`Aspect`], a row in each `match` of this file, and a
//! field of [`ParamOverrides`], which the component that uses the parameter reads.

use std::fmt;

/// A parameter that can be tuned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ParameterId {
    /// The exploration constant C, on rewards 0 to 1.
    C,
    /// The equivalence parameter K of GRAVE.
    K,
    /// The visits ref from which on GRAVE uses the AMAF values of a node.
    Ref,
    /// The share ε of random moves in playouts.
    Epsilon,
    /// The playout policy.
    Playout,
    /// The Move Decay γ of the playout policy.
    Gamma,
    /// The Simulation Decay ω of the playout policy.
    Omega,
}

impl ParameterId {
    /// Returns the symbol of the literature.
    pub fn name(self) -> &'static str {
        match self {
            ParameterId::C => "C",
            ParameterId::K => "K",
            ParameterId::Ref => "ref",
            ParameterId::Epsilon => "epsilon",
            ParameterId::Playout => "playout",
            ParameterId::Gamma => "gamma",
            ParameterId::Omega => "omega",
        }
    }

    /// Sets the parameter to a value. A value of another kind than the parameter's leaves the default of the component;
    /// for `ref` it means that no node's AMAF values are used.
    #[inline]
    pub fn apply(self, value: ParameterValue, overrides: &mut ParamOverrides) {
        match self {
            ParameterId::C => overrides.c = value.number(),
            ParameterId::K => overrides.k = value.number(),
            // With no `ref`, no node's AMAF values are used.
            ParameterId::Ref => overrides.reference = Some(value.number().unwrap_or(f64::INFINITY)),
            ParameterId::Epsilon => overrides.epsilon = value.number(),
            ParameterId::Playout => overrides.playout = value.playout(),
            ParameterId::Gamma => overrides.gamma = value.number(),
            ParameterId::Omega => overrides.omega = value.number(),
        }
    }

    /// Returns the value that is probably the best, before anything is played: of C, K, ref and ε of GRAVE with MAST
    /// the values that [Sironi and Winands 2018] found off-line, else NST, ε = 0.2, ω = 0.97 and no Move Decay.
    fn expected(self, tunes_grave: bool) -> ParameterValue {
        match self {
            ParameterId::C => 0.2.into(),
            ParameterId::K => 250.0.into(),
            ParameterId::Ref => 50.0.into(),
            ParameterId::Epsilon if tunes_grave => 0.4.into(),
            ParameterId::Epsilon => 0.2.into(),
            ParameterId::Playout => ParameterValue::Playout(PlayoutKind::Nst),
            ParameterId::Gamma => 1.0.into(),
            ParameterId::Omega => 0.97.into(),
        }
    }
}

/// A value of a tunable parameter.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum ParameterValue {
    /// The parameter has no effect, e.g. `ref` while GRAVE is off.
    Unused,
    /// A number, which may be infinite.
    Number(f64),
    /// A playout policy.
    Playout(PlayoutKind),
}

impl ParameterValue {
    /// Returns the number; none if the value is something else.
    #[inline]
    pub fn number(self) -> Option<f64> {
        match self {
            ParameterValue::Number(number) => Some(number),
            _ => None,
        }
    }

    #[inline]
    fn playout(self) -> Option<PlayoutKind> {
        match self {
            ParameterValue::Playout(kind) => Some(kind),
            _ => None,
        }
    }
}

impl From<f64> for ParameterValue {
    fn from(number: f64) -> ParameterValue {
        ParameterValue::Number(number)
    }
}

impl fmt::Display for ParameterValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParameterValue::Unused => f.write_str("none"),
            ParameterValue::Number(number) => number.fmt(f),
            ParameterValue::Playout(kind) => write!(f, "{kind:?}"),
        }
    }
}

/// The playout policies that tuning chooses from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PlayoutKind {
    /// Uniformly random moves.
    Random,
    /// Averages of moves.
    Mast,
    /// Averages of moves and of sequences of moves.
    Nst,
}

impl PlayoutKind {
    /// All playout policies.
    pub const ALL: [PlayoutKind; 3] = [PlayoutKind::Random, PlayoutKind::Mast, PlayoutKind::Nst];
}

/// Values of one role that replace those of a search, from one simulation to the next.
///
/// `None` leaves a parameter unchanged. A component ignores the parameters that it does not use.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct ParamOverrides {
    /// The exploration constant C, on rewards 0 to 1.
    pub c: Option<f64>,
    /// The equivalence parameter K of [`Grave`](crate::Grave).
    pub k: Option<f64>,
    /// The visits ref from which on a node's AMAF values are used.
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

/// A parameter and the values it may take.
#[derive(Clone, PartialEq, Debug)]
pub struct Parameter {
    /// Which parameter it is.
    pub id: ParameterId,
    /// Its values, all different.
    pub values: Vec<ParameterValue>,
}

impl Parameter {
    /// Creates a parameter whose values are numbers.
    pub fn new(id: ParameterId, values: &[f64]) -> Parameter {
        Parameter { id, values: values.iter().copied().map(ParameterValue::Number).collect() }
    }

    /// Returns the index of the value that is probably the best, if the parameter has that value.
    pub fn expected(&self, tunes_grave: bool) -> Option<usize> {
        let expected = self.id.expected(tunes_grave);
        self.values.iter().position(|&value| value == expected)
    }
}

/// A parameter, or a group of parameters, that is tuned or not.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Aspect {
    /// C, K, ref and ε of GRAVE with MAST, with the values of [Sironi and Winands 2018].
    Grave,
    /// The playout policy.
    Playout,
    /// The share ε of random moves in playouts.
    Epsilon,
    /// The Move Decay γ of the playout policy.
    Gamma,
    /// The Simulation Decay ω of the playout policy.
    Omega,
}

impl Aspect {
    /// All aspects by the names that policies use.
    pub const NAMES: [(&str, Aspect); 5] = [
        ("grave", Aspect::Grave),
        ("playout", Aspect::Playout),
        ("epsilon", Aspect::Epsilon),
        ("gamma", Aspect::Gamma),
        ("omega", Aspect::Omega),
    ];

    /// The values of ε if GRAVE is not tuned.
    const EPSILONS: [f64; 7] = [0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6];

    /// The values of γ. Playouts keep a table for each.
    pub const GAMMAS: [f64; 3] = [0.2, 0.6, 1.0];

    /// The values of ω. Playouts keep a table for each.
    pub const OMEGAS: [f64; 3] = [0.94, 0.97, 1.0];

    /// Whether evolution must not generate values, e.g. because playouts keep a table for each.
    pub fn is_fixed(self) -> bool {
        matches!(self, Aspect::Playout | Aspect::Gamma | Aspect::Omega)
    }

    /// Returns the parameters with their values.
    pub fn parameters(self) -> Vec<Parameter> {
        let one = |id, values: &[f64]| vec![Parameter::new(id, values)];
        match self {
            Aspect::Grave => grave(),
            Aspect::Playout => {
                let values = PlayoutKind::ALL.map(ParameterValue::Playout).to_vec();
                vec![Parameter { id: ParameterId::Playout, values }]
            }
            Aspect::Epsilon => one(ParameterId::Epsilon, &Aspect::EPSILONS),
            Aspect::Gamma => one(ParameterId::Gamma, &Aspect::GAMMAS),
            Aspect::Omega => one(ParameterId::Omega, &Aspect::OMEGAS),
        }
    }
}

/// The values of GRAVE that a combination has both or neither of: with K = 0 GRAVE is off, and `ref` has no effect.
pub(crate) const GRAVE_OFF: [(ParameterId, ParameterValue); 2] =
    [(ParameterId::K, ParameterValue::Number(0.0)), (ParameterId::Ref, ParameterValue::Unused)];

/// Returns the parameters of [Sironi and Winands 2018, section 5.1].
fn grave() -> Vec<Parameter> {
    let tenths = |range: std::ops::RangeInclusive<u8>| range.map(|n| f64::from(n) / 10.0).collect::<Vec<f64>>();
    let k = [0.0, 10.0, 50.0, 100.0, 250.0, 500.0, 750.0, 1000.0, 2000.0, f64::INFINITY];
    let mut reference =
        Parameter::new(ParameterId::Ref, &[0.0, 50.0, 100.0, 250.0, 500.0, 1000.0, 10_000.0, f64::INFINITY]);
    reference.values.push(ParameterValue::Unused);
    vec![
        Parameter::new(ParameterId::C, &tenths(1..=9)),
        Parameter::new(ParameterId::K, &k),
        reference,
        Parameter::new(ParameterId::Epsilon, &tenths(0..=10)),
    ]
}

/// A value of each role, the same for all roles until one is set.
#[derive(Clone, PartialEq, Debug)]
pub struct PerRole<T> {
    all: T,
    by_role: Vec<T>,
}

impl<T: Copy> PerRole<T> {
    /// Gives all roles the same value.
    pub fn new(all: T) -> PerRole<T> {
        PerRole { all, by_role: Vec::new() }
    }

    #[inline]
    /// Returns the value of a role.
    pub fn of(&self, role: usize) -> T {
        self.by_role.get(role).copied().unwrap_or(self.all)
    }

    /// Changes the value of a role.
    pub fn set(&mut self, role: usize, value: T) {
        if self.by_role.len() <= role {
            self.by_role.resize(role + 1, self.all);
        }
        self.by_role[role] = value;
    }
}
