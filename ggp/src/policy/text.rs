//! Policies as text.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, de};
use sternhalma_game::MemoryBudget;
use sternhalma_game::messages::suggestion;
use sternhalma_game::param_table::{ParamError, key_value};
use thiserror::Error;

use super::search::{SearchPolicy, WrongParameter, parts_first, set_in_order};

/// The method by which a player of any game finds its moves, written
/// `name,key=value,…` or as a table of TOML (docs/reference/policies.md).
///
/// ```
/// use sternhalma_ggp::Policy;
///
/// let policy: Policy = "grave,playout=mast,epsilon=0.4".parse()?;
/// assert_eq!(policy.to_string(), "grave,c=0.2,k=250,ref=50,playout=mast,epsilon=0.4");
/// assert_eq!(policy.to_string().parse::<Policy>()?, policy);
/// # Ok::<(), sternhalma_ggp::policy::PolicyError>(())
/// ```
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
#[expect(clippy::large_enum_variant, reason = "a tournament has few policies, and most of them search")]
pub enum Policy {
    /// `random`: any legal move, all equally likely.
    Random,
    /// Monte-Carlo tree search.
    Search(SearchPolicy),
}

/// A named policy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NamedPolicy {
    /// The name.
    pub name: &'static str,
    /// The text of the same policy by another name; empty for `random` and `uct`.
    pub definition: &'static str,
    /// A description of the policy in one line.
    pub about: &'static str,
}

const fn policy(name: &'static str, definition: &'static str, about: &'static str) -> NamedPolicy {
    NamedPolicy { name, definition, about }
}

/// The named policies, most of which are defined by another name with parameters.
pub const NAMED_POLICIES: [NamedPolicy; 16] = [
    policy("random", "", "random legal moves"),
    policy("uct", "", "UCT with random playouts"),
    policy("grave", "uct,selection=grave,c=0.2", "GRAVE with random playouts"),
    policy("mast", "uct,playout=mast", "UCT with MAST playouts"),
    policy("nst", "uct,playout=nst", "UCT with NST playouts"),
    policy("lgrf", "uct,playout=nst,replies=lgrf2", "UCT with last good replies, then NST"),
    policy("cadia", "uct,playout=mast,tau=10", "the search of CadiaPlayer: UCT and MAST with Gibbs sampling"),
    policy("base", "grave,playout=mast,epsilon=0.4", "GRAVE and MAST, the player that papers on tuning start from"),
    policy(
        "authors",
        "grave,form=authors,playout=mast,epsilon=0.4,gamma=0.2",
        "base with the formula and the decay of the authors' program",
    ),
    policy("tuned", "grave,playout=mast,epsilon=0.4,tune=nmc", "base whose parameters are tuned while it searches"),
    policy("mini", "uct,playout=mini,play=eq", "MINI-Player: simulations are allocated to strategies"),
    policy("mini-c", "uct,playout=mini,strategies=HH", "MINI-Player with the history heuristic alone"),
    policy("mini-eq", "uct,playout=mini,strategies=HH,play=eq", "mini-c that plays the highest effective quality"),
    policy("mini-str", "uct,playout=mini", "MINI-Player that plays the highest mean reward"),
    policy("mini-1-s", "uct,playout=mini,allocation=best,play=eq", "MINI-Player with its best strategy only"),
    policy(
        "adaptive",
        "nst,n=2,omega=0.97,solver=yes,lanes=auto",
        "the default of `ggp-player`: NST, a solver, and simulations side by side",
    ),
];

/// The reason why a text defines no policy.
#[derive(Error, Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum PolicyError {
    /// No policy has the name.
    #[error("unknown policy `{name}`{}", policy_suggestion(name))]
    Unknown {
        /// The name.
        name: String,
    },
    /// A parameter is wrong.
    #[error("cannot set `{text}` in the policy `{name}`: {why}")]
    Parameter {
        /// The policy.
        name: String,
        /// The text of the parameter.
        text: String,
        /// The reason.
        why: ParamError,
    },
}

fn policy_suggestion(name: &str) -> String {
    suggestion(name, "policies", NAMED_POLICIES.iter().map(|policy| policy.name))
}

impl Default for Policy {
    /// Returns `adaptive`.
    fn default() -> Policy {
        "adaptive".parse().expect("the text names a policy")
    }
}

impl FromStr for Policy {
    type Err = PolicyError;

    fn from_str(text: &str) -> Result<Policy, PolicyError> {
        let mut words = text.split(',').map(str::trim);
        let name = words.next().unwrap_or_default();
        let pairs = words
            .map(|word| key_value(word).ok_or_else(|| wrong(name, word, ParamError::Form("expected `key=value`"))));
        Policy::from_pairs(name, pairs.collect::<Result<Vec<_>, _>>()?)
    }
}

fn wrong(name: &str, text: &str, why: ParamError) -> PolicyError {
    PolicyError::Parameter { name: name.to_owned(), text: text.to_owned(), why }
}

impl Policy {
    /// Creates the policy with a name and some parameters, which are set [in order](set_in_order).
    ///
    /// # Errors
    /// If there is no such policy, or a parameter is wrong.
    pub fn from_pairs<'a>(
        name: &str,
        pairs: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Policy, PolicyError> {
        let pairs: Vec<(&str, &str)> = pairs.into_iter().collect();
        let wrong = |(key, text): (&str, &str), why| wrong(name, &format!("{key}={text}"), why);
        let mut policy = Policy::named(name)?;
        match (&mut policy, pairs.last()) {
            (_, None) => {}
            (Policy::Random, Some(&pair)) => return Err(wrong(pair, ParamError::Form("`random` has no parameters"))),
            (Policy::Search(search), Some(&last)) => {
                let set = set_in_order(pairs, |key, text| search.set(key, text));
                set.map_err(|WrongParameter { key, text, why }| wrong((&key, &text), why))?;
                search.check().map_err(|why| wrong(last, why))?;
            }
        }
        Ok(policy)
    }

    fn named(name: &str) -> Result<Policy, PolicyError> {
        if name == "random" {
            return Ok(Policy::Random);
        }
        match NAMED_POLICIES.iter().find(|policy| policy.name == name) {
            Some(NamedPolicy { definition: "", .. }) => Ok(Policy::Search(SearchPolicy::default())),
            Some(policy) => policy.definition.parse(),
            None => Err(PolicyError::Unknown { name: name.to_owned() }),
        }
    }

    /// Limits the memory of all searches by the policy, which share the budget.
    #[must_use]
    pub fn within(self, memory: &MemoryBudget) -> Policy {
        match self {
            Policy::Random => Policy::Random,
            Policy::Search(search) => Policy::Search(SearchPolicy { budget: memory.clone(), ..search }),
        }
    }

    /// Returns the [revision](SearchPolicy::revision) of the search.
    pub(crate) fn revision(&self) -> Option<u32> {
        match self {
            Policy::Random => None,
            Policy::Search(search) => search.revision(),
        }
    }

    /// Returns whether the policy plays better with more time.
    pub(crate) fn thinks(&self) -> bool {
        !matches!(self, Policy::Random)
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Policy::Random => f.write_str("random"),
            Policy::Search(search) => search.fmt(f),
        }
    }
}

impl<'de> Deserialize<'de> for Policy {
    /// Reads a policy from its text, or from a table with its `name` and its parameters.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Policy, D::Error> {
        PolicyText::deserialize(deserializer)?.0.parse().map_err(de::Error::custom)
    }
}

/// The text of a policy that has not been parsed, read from a text or from a table with its `name` and its parameters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PolicyText(pub String);

impl<'de> Deserialize<'de> for PolicyText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<PolicyText, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Input {
            Text(String),
            Table(BTreeMap<String, Scalar>),
        }
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Scalar {
            Number(f64),
            Truth(bool),
            Text(String),
        }
        let mut table = match Input::deserialize(deserializer)? {
            Input::Text(text) => return Ok(PolicyText(text)),
            Input::Table(table) => table,
        };
        let text = |value: Scalar| match value {
            Scalar::Number(number) => number.to_string(),
            Scalar::Truth(truth) => if truth { "yes" } else { "no" }.to_owned(),
            Scalar::Text(text) => text,
        };
        let name = table.remove("name").ok_or_else(|| de::Error::custom("a table of a policy needs a `name`"))?;
        let words = parts_first(table).into_iter().map(|(key, value)| format!(",{key}={}", text(value)));
        Ok(PolicyText(text(name) + &words.collect::<String>()))
    }
}
