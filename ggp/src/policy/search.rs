//! Policies that search, and their parameters.

use std::fmt;

use bytesize::ByteSize;
use sternhalma_game::MemoryBudget;
use sternhalma_game::messages::suggestion;
use sternhalma_game::param_table::{
    self, Domain, Field, Pair, Param, ParamError, ParamHelp, choice, flag, keys, owners, range,
};
use sternhalma_gdl::network::LANES;
use sternhalma_mcts::Decision;
use sternhalma_mcts::tuning::{self, Aspect, Tuning};
use thiserror::Error;

use super::playout::PlayoutPolicy;
use super::selection::SelectionPolicy;
use crate::batch::Parallelism;

/// A Monte-Carlo tree search as a value.
#[derive(Clone, PartialEq, Debug)]
pub struct SearchPolicy {
    /// The choice of moves in the tree.
    pub selection: SelectionPolicy,
    /// The choice of moves beyond the tree, and among untried moves.
    pub playout: PlayoutPolicy,
    /// Which move is played.
    pub decision: Decision,
    /// The factor, from 0 to 1, for all visits and rewards in the tree after each joint move of the match.
    pub tree_gamma: f64,
    /// Whether the search proves outcomes in its tree (docs/reference/policies.md).
    pub solver: bool,
    /// Whether states that are reached by different moves share a node, if the game has
    /// [keys](sternhalma_game::Game::key).
    pub transpositions: bool,
    /// The tuning of parameters while the search runs.
    pub tuning: Option<Tuning>,
    /// The number of simulations that run side by side, if the game has a
    /// network (docs/reference/policies.md).
    pub lanes: Parallelism,
    /// The limit of the memory of the search in bytes, if the search has its own limit.
    pub memory: Option<u64>,
    /// The memory that the search shares with others, which is not part of the text.
    pub budget: MemoryBudget,
}

/// Parameters of earlier versions, which are read and have no effect.
const REMOVED: [&str; 1] = ["tune-shadow"];

const DECISIONS: &[(&str, Decision)] =
    &[("average", Decision::BestAverage), ("visits", Decision::MostVisits), ("eq", Decision::EffectiveQuality)];

/// The parameters that are not of selection, playout or tuning.
pub(super) const PARAMS: &[Param<SearchPolicy>] = &[
    Param {
        key: "play",
        owner: "",
        help: "final move selection: highest mean reward, most visits, or highest effective quality (which looks one joint move ahead)",
        is_optional: true,
        field: |search| choice(&mut search.decision, DECISIONS),
    },
    Param {
        key: "tree-gamma",
        owner: "",
        help: "factor for all visits and rewards in the tree after each joint move of the match",
        is_optional: true,
        field: |search| range(&mut search.tree_gamma, 0.0, 1.0),
    },
    Param {
        key: "solver",
        owner: "",
        help: "whether the search [proves](#proving-in-the-tree) outcomes in the tree",
        is_optional: true,
        field: |search| flag(&mut search.solver),
    },
    Param {
        key: "transpositions",
        owner: "",
        help: "whether a state that is reached by different moves is one node of the tree, if the game has a network",
        is_optional: true,
        field: |search| flag(&mut search.transpositions),
    },
    Param {
        key: "lanes",
        owner: "",
        help: "simulations that run [side by side](#side-by-side) in one tree",
        is_optional: true,
        field: |search| Some(lanes(&mut search.lanes)),
    },
    Param {
        key: "memory",
        owner: "",
        help: "limit for the tree and for what selection and playouts learn, by default the [common limit](#memory)",
        is_optional: false,
        field: |search| Some(memory(&mut search.memory)),
    },
];

impl Default for SearchPolicy {
    /// Returns `uct`: UCB1 with C = 0.4 and random playouts.
    fn default() -> SearchPolicy {
        SearchPolicy {
            selection: SelectionPolicy::default(),
            playout: PlayoutPolicy::default(),
            decision: Decision::BestAverage,
            tree_gamma: 1.0,
            solver: false,
            transpositions: false,
            tuning: None,
            lanes: Parallelism::One,
            memory: None,
            budget: MemoryBudget::unlimited(),
        }
    }
}

impl SearchPolicy {
    /// Returns the budget of a search: that of the policy, with its own limit.
    pub fn memory_budget(&self) -> MemoryBudget {
        self.budget.part(self.memory.unwrap_or(u64::MAX))
    }

    /// Returns a number by which logs distinguish searches whose text is the same but whose meaning changed, or `None`
    /// for all others.
    ///
    /// Revision 2 samples `ref = none` in LSI, and allocates the simulations of MINI-Player by rewards from 0 to 1.
    /// Revision 3 has `opponents=tree` by default in MINI-Player. Revision 4 expects epsilon = 0.2 in every game.
    pub fn revision(&self) -> Option<u32> {
        match (&self.playout, &self.tuning) {
            (PlayoutPolicy::Mini(_), _) => Some(3),
            (_, Some(tuning)) if tuning.method().is_lsi() => Some(2),
            (_, Some(tuning)) if tuning.expects_epsilon() => Some(4),
            _ => None,
        }
    }

    /// Sets a parameter of docs/reference/policies.md. The parameters of a selection, a playout or a tuner follow its name.
    /// Parameters of earlier versions that no longer exist have no effect.
    ///
    /// # Errors
    /// If there is no such parameter, the search does not have it, or the text is not one of its values: says what was
    /// expected.
    pub fn set(&mut self, key: &str, text: &str) -> Result<(), ParamError> {
        if REMOVED.contains(&key) {
            return Ok(());
        }
        param_table::set(SelectionPolicy::PARAMS, &mut self.selection, key, text)
            .or_else(|| param_table::set(PlayoutPolicy::PARAMS, &mut self.playout, key, text))
            .or_else(|| param_table::set(PARAMS, self, key, text))
            .or_else(|| param_table::set(tuning::PARAMS, &mut self.tuning, key, text))
            .unwrap_or_else(|| {
                let suggestion = suggestion(key, "parameters", parameter_keys());
                Err(ParamError::Unknown { key: key.to_owned(), suggestion })
            })
    }

    /// Checks that the parts fit together.
    ///
    /// # Errors
    ///
    /// Returns the reason why the parts do not fit together.
    pub fn check(&self) -> Result<(), ParamError> {
        for aspect in self.tuning.iter().flat_map(Tuning::aspects) {
            match aspect {
                Aspect::Grave if !(self.selection.is_grave() && self.playout.has_epsilon()) => {
                    return Err(ParamError::Form(
                        "tuning `grave` needs `selection=grave` and a playout with `epsilon`; \
                         for other searches set `tune-what`",
                    ));
                }
                Aspect::Epsilon if !self.playout.has_epsilon() => {
                    return Err(ParamError::Form("tuning `epsilon` needs a playout with `epsilon`"));
                }
                _ if !self.playout.learns() => {
                    return Err(ParamError::Form("tuning needs `playout=mast` or `playout=nst`"));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Returns whether there is a parameter of this name.
    pub fn knows(key: &str) -> bool {
        parameter_keys().contains(&key) || REMOVED.contains(&key)
    }

    /// Returns the parameters that determine the search, in order, the selection first.
    pub fn parameters(&self) -> Vec<Pair> {
        let mut pairs = param_table::pairs(SelectionPolicy::PARAMS, &self.selection);
        pairs.extend(param_table::pairs(PlayoutPolicy::PARAMS, &self.playout));
        pairs.extend(param_table::pairs(PARAMS, self));
        pairs.extend(param_table::pairs(tuning::PARAMS, &self.tuning));
        pairs
    }
}

impl fmt::Display for SearchPolicy {
    /// Writes the text of the policy: the name of its selection, then the other parameters.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (key, text)) in self.parameters().iter().enumerate() {
            if index == 0 { f.write_str(text)? } else { write!(f, ",{key}={text}")? }
        }
        Ok(())
    }
}

/// Returns a notice if the text of a policy has parameters of earlier versions, which have no effect.
pub fn removal_notice(text: &str) -> Option<String> {
    let key = |word: &str| word.split_once('=').map(|(key, _)| key.trim().to_owned());
    let removed = text.split(',').filter_map(key).find(|key| REMOVED.contains(&key.as_str()))?;
    Some(format!("`{text}`: the parameter `{removed}` was removed and has no effect"))
}

/// Returns the documentation of all parameters.
pub fn parameters() -> Vec<ParamHelp> {
    [
        param_table::help(SelectionPolicy::PARAMS),
        param_table::help(PlayoutPolicy::PARAMS),
        param_table::help(PARAMS),
        param_table::help(tuning::PARAMS),
    ]
    .concat()
}

/// Returns the documentation of all parameters as rows of a table in Markdown: name, owner, values with their default,
/// and meaning.
pub fn parameter_table() -> Vec<String> {
    let row = |ParamHelp { key, owner, values, help }: &ParamHelp| format!("| `{key}` | {owner} | {values} | {help} |");
    parameters().iter().map(row).collect()
}

/// A parameter that cannot be set.
#[derive(Error, Clone, PartialEq, Eq, Debug)]
#[error("`{key}={text}`: {why}")]
pub struct WrongParameter {
    /// The name.
    pub key: String,
    /// The text.
    pub text: String,
    /// The reason.
    pub why: ParamError,
}

/// Sets the parameters of a text in order. A parameter before the part that it belongs to is set right after the part;
/// a later part replaces an earlier one with its parameters.
///
/// # Errors
/// Returns the first parameter that `set` refuses, with the reason.
pub fn set_in_order<'a>(
    pairs: impl IntoIterator<Item = (&'a str, &'a str)>,
    mut set: impl FnMut(&str, &str) -> Result<(), ParamError>,
) -> Result<(), WrongParameter> {
    let mut waiting: Vec<WrongParameter> = Vec::new();
    for (key, text) in pairs {
        let wrong = |why| WrongParameter { key: key.to_owned(), text: text.to_owned(), why };
        match set(key, text) {
            Ok(()) if precedence(key).is_some() => waiting.retain(|wrong| set(&wrong.key, &wrong.text).is_err()),
            Ok(()) => {}
            // No part brings a parameter that does not exist.
            Err(why @ ParamError::Unknown { .. }) => return Err(wrong(why)),
            Err(why) => waiting.push(wrong(why)),
        }
    }
    waiting.into_iter().next().map_or(Ok(()), Err)
}

/// Returns the parameters of a table, which has no order, in the order in which they are set: parts come first.
pub fn parts_first<T: AsRef<str>, V>(pairs: impl IntoIterator<Item = (T, V)>) -> Vec<(T, V)> {
    let mut pairs: Vec<(T, V)> = pairs.into_iter().collect();
    pairs.sort_by_key(|(key, _)| precedence(key.as_ref()).unwrap_or(usize::MAX));
    pairs
}

/// Returns the place of a part among the parts: a part comes after the part that it belongs to. `None` for parameters
/// that no others belong to.
fn precedence(key: &str) -> Option<usize> {
    let search = owners(SelectionPolicy::PARAMS).chain(owners(PlayoutPolicy::PARAMS)).chain(owners(PARAMS));
    search.chain(owners(tuning::PARAMS)).position(|owner| owner == key)
}

fn parameter_keys() -> Vec<&'static str> {
    let search = keys(SelectionPolicy::PARAMS).chain(keys(PlayoutPolicy::PARAMS)).chain(keys(PARAMS));
    search.chain(keys(tuning::PARAMS)).collect()
}

/// Returns the parameter `memory`.
fn memory(bytes: &mut Option<u64>) -> Field<'_> {
    let text = bytes.map(|bytes| match bytes >> 20 {
        mebibytes if mebibytes << 20 == bytes => format!("{mebibytes}MiB"),
        _ => bytes.to_string(),
    });
    Field::new(Domain::Size, text, bytes, |_, text| match param_table::number(text) {
        Some(ByteSize(bytes @ 1..)) => Some(Some(bytes)),
        _ => None,
    })
}

/// Returns the parameter `lanes`.
fn lanes(parallelism: &mut Parallelism) -> Field<'_> {
    let text = match *parallelism {
        Parallelism::One => "1".to_owned(),
        Parallelism::Lanes(lanes) => lanes.to_string(),
        Parallelism::Auto => "auto".to_owned(),
    };
    Field::whole([1, LANES as u32], Some("auto"), Some(text), parallelism, |_, lanes| match lanes {
        Some(1) => Parallelism::One,
        Some(lanes) => Parallelism::Lanes(lanes as usize),
        None => Parallelism::Auto,
    })
}
