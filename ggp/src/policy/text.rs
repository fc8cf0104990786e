//! Policies as text.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, de};
use thiserror::Error;

use super::search::{SearchPolicy, precedence};

/// How a player of any game finds its moves, written `name,key=value,…` or as a table of TOML (docs/policies.md).
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

/// The policies that search, by name, each with its definition by others.
const NAMED: [(&str, &str); 15] = [
    ("uct", ""),
    ("grave", "uct,selection=grave,c=0.2"),
    ("mast", "uct,playout=mast"),
    ("nst", "uct,playout=nst"),
    ("lgrf", "uct,playout=nst,replies=lgrf2"),
    ("cadia", "uct,playout=mast,tau=10"),
    ("base", "grave,playout=mast,epsilon=0.4"),
    ("authors", "grave,form=authors,playout=mast,epsilon=0.4,gamma=0.2"),
    ("tuned", "grave,playout=mast,epsilon=0.4,tune=nmc"),
    ("mini", "uct,playout=mini,play=eq"),
    ("mini-c", "uct,playout=mini,strategies=HH"),
    ("mini-eq", "uct,playout=mini,strategies=HH,play=eq"),
    ("mini-str", "uct,playout=mini"),
    ("mini-1-s", "uct,playout=mini,allocation=best,play=eq"),
    ("adaptive", "nst,n=2,omega=0.97,solver=yes,lanes=auto"),
];

/// The reason why a text defines no policy.
#[derive(Error, Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum PolicyError {
    /// No policy has the name.
    #[error("unknown policy `{name}`; the policies are {known}")]
    Unknown {
        /// The name.
        name: String,
        /// The known names.
        known: String,
    },
    /// A parameter is wrong.
    #[error("cannot set `{text}` in the policy `{name}`: {why}")]
    Parameter {
        /// The policy.
        name: String,
        /// The text of the parameter.
        text: String,
        /// What was expected.
        why: String,
    },
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
        let pairs = words.map(|word| {
            let pair = word.split_once('=').map(|(key, value)| (key.trim(), value.trim()));
            pair.ok_or_else(|| wrong(name, word, "expected `key=value`"))
        });
        Policy::from_pairs(name, pairs.collect::<Result<Vec<_>, _>>()?)
    }
}

fn wrong(name: &str, text: &str, why: impl Into<String>) -> PolicyError {
    PolicyError::Parameter { name: name.to_owned(), text: text.to_owned(), why: why.into() }
}

impl Policy {
    /// Creates the policy with a name and some parameters, which are set in order.
    ///
    /// # Errors
    /// If there is no such policy, or a parameter is wrong.
    pub fn from_pairs<'a>(
        name: &str,
        pairs: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Policy, PolicyError> {
        let mut policy = Policy::named(name)?;
        let mut last = String::new();
        for (key, value) in pairs {
            last = format!("{key}={value}");
            match &mut policy {
                Policy::Random => return Err(wrong(name, &last, "`random` has no parameters")),
                Policy::Search(search) => search.set(key, value).map_err(|why| wrong(name, &last, why))?,
            }
        }
        if let Policy::Search(search) = &policy {
            search.check().map_err(|why| wrong(name, &last, why))?;
        }
        Ok(policy)
    }

    fn named(name: &str) -> Result<Policy, PolicyError> {
        if name == "random" {
            return Ok(Policy::Random);
        }
        match NAMED.iter().find(|(known, _)| *known == name) {
            Some((_, "")) => Ok(Policy::Search(SearchPolicy::default())),
            Some((_, definition)) => definition.parse(),
            None => {
                let names = ["random"].into_iter().chain(NAMED.map(|(name, _)| name));
                let known = names.collect::<Vec<_>>().join(", ");
                Err(PolicyError::Unknown { name: name.to_owned(), known })
            }
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
        let table = match Input::deserialize(deserializer)? {
            Input::Text(text) => return Ok(PolicyText(text)),
            Input::Table(table) => table,
        };
        let mut pairs: Vec<(String, String)> = (table.into_iter())
            .map(|(key, value)| match value {
                Scalar::Number(number) => (key, number.to_string()),
                Scalar::Truth(truth) => (key, if truth { "yes" } else { "no" }.to_owned()),
                Scalar::Text(text) => (key, text),
            })
            .collect();
        pairs.sort_by_key(|(key, _)| (key != "name").then(|| precedence(key)));
        let words = pairs.into_iter().map(|(key, value)| if key == "name" { value } else { format!("{key}={value}") });
        Ok(PolicyText(words.collect::<Vec<_>>().join(",")))
    }
}
