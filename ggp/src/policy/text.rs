//! Policies as text.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, de};
use thiserror::Error;

use super::{MoveValuePolicy, PlayoutPolicy, Policy, SearchPolicy, SelectionPolicy};
use crate::batch::Parallelism;
use crate::gdl::network::LANES;
use crate::mcts::Decision;
use crate::mcts::playout::mini::{Chances, MiniConfig, Strategy, StrategyAllocation};
use crate::mcts::playout::{Decay, Selector};
use crate::mcts::tuning::{Aspect, Method, Tuning};
use crate::mcts::{GraveForm, GraveSettings};

/// Policies that have names of their own, each with what it is.
const NAMED: [(&str, &str); 13] = [
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

/// The share of random moves where none is told (paper 000, section VI-C).
const EPSILON: f64 = 0.2;

/// Why a text names no policy.
#[derive(Error, Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum PolicyError {
    /// No policy has the name.
    #[error("there is no policy `{name}`: the policies are {known}")]
    Unknown {
        /// The name.
        name: String,
        /// The names there are.
        known: String,
    },
    /// The policy has no such parameter, or not of such a value.
    #[error("`{text}` is no parameter of `{name}`: {why}")]
    Parameter {
        /// The policy.
        name: String,
        /// What was told.
        text: String,
        /// What there is.
        why: String,
    },
}

impl FromStr for Policy {
    type Err = PolicyError;

    fn from_str(text: &str) -> Result<Policy, PolicyError> {
        let mut words = text.split(',').map(str::trim);
        let name = words.next().unwrap_or_default();
        let pairs = words.map(|word| {
            let pair = word.split_once('=').map(|(key, value)| (key.trim(), value.trim()));
            pair.ok_or_else(|| PolicyError::Parameter {
                name: name.to_owned(),
                text: word.to_owned(),
                why: "parameters are written `key=value`".to_owned(),
            })
        });
        Policy::from_pairs(name, pairs.collect::<Result<Vec<_>, _>>()?)
    }
}

impl Policy {
    /// A policy of this name with these parameters; of those told twice the
    /// last holds.
    ///
    /// # Errors
    /// If there is no such policy, or it has no such parameter.
    pub fn from_pairs<'a>(
        name: &str,
        pairs: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Policy, PolicyError> {
        let known = NAMED.iter().find(|(known, _)| *known == name);
        let mut policy = match (known, name) {
            (Some((_, text)), _) => text.parse()?,
            (None, "random") => Policy::Random,
            (None, "uct") => Policy::Search(SearchPolicy::default()),
            (None, "grave") => Policy::Search(SearchPolicy {
                selection: SelectionPolicy::Grave(GraveSettings::BASE),
                ..SearchPolicy::default()
            }),
            (None, _) => {
                let names = ["random", "uct", "grave"].into_iter().chain(NAMED.map(|(name, _)| name));
                let known = names.collect::<Vec<_>>().join(", ");
                return Err(PolicyError::Unknown { name: name.to_owned(), known });
            }
        };
        let mut last = None;
        for (key, value) in pairs {
            let error =
                |why: String| PolicyError::Parameter { name: name.to_owned(), text: format!("{key}={value}"), why };
            match &mut policy {
                Policy::Random => return Err(error("it has none".to_owned())),
                Policy::Search(search) => search.set(key, value).map_err(error)?,
            }
            last = Some(format!("{key}={value}"));
        }
        match &policy {
            Policy::Search(search) => search.check().map_err(|why| PolicyError::Parameter {
                name: name.to_owned(),
                text: last.unwrap_or_default(),
                why,
            })?,
            Policy::Random => {}
        }
        Ok(policy)
    }
}

/// A number from `least` to `most`, which may be infinite.
fn number(value: &str, least: f64, most: f64) -> Result<f64, String> {
    let told = value.parse().ok().filter(|value: &f64| (least..=most).contains(value));
    told.ok_or_else(|| match most.is_infinite() {
        true => format!("it is to be a number from {least} up"),
        false => format!("it is to be a number from {least} to {most}"),
    })
}

/// A number from `least` up that is not infinite.
fn finite(value: &str, least: f64) -> Result<f64, String> {
    number(value, least, f64::MAX).map_err(|_| format!("it is to be a number from {least} up"))
}

fn count(value: &str) -> Result<u32, String> {
    value.parse().ok().filter(|&count| count > 0).ok_or_else(|| "it is to be a whole number from 1 up".to_owned())
}

/// One of the values that a parameter can have.
fn one_of<T: Copy>(value: &str, values: &[(&str, T)]) -> Result<T, String> {
    let found = values.iter().find(|(name, _)| *name == value).map(|&(_, value)| value);
    let names = || values.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    found.ok_or_else(|| format!("it is to be one of {}", names()))
}

/// Some of the values that a parameter can have, each once and in order.
fn some_of<T: Copy + Ord>(value: &str, values: &[(&str, T)]) -> Result<Vec<T>, String> {
    let told: Result<Vec<T>, String> = value.split('+').map(|name| one_of(name, values)).collect();
    let mut told = told.map_err(|why| format!("{}, with a plus between them", why.replace("one of", "some of")))?;
    told.sort_unstable();
    told.dedup();
    Ok(told)
}

/// The parameters of a search, and those of its playouts.
const SEARCH_KEYS: [&str; 10] =
    ["selection", "c", "k", "ref", "form", "play", "tree-gamma", "solver", "lanes", "playout"];
const TUNING_KEYS: [&str; 11] = [
    "tune",
    "tune-what",
    "tune-evolve",
    "tune-c",
    "tune-batch",
    "tune-epsilon",
    "tune-prior",
    "tune-generate",
    "tune-evaluate",
    "tune-candidates",
    "tune-shadow",
];
const PLAYOUT_KEYS: [&str; 12] =
    ["epsilon", "tau", "replies", "n", "least", "waiting", "gamma", "lambda", "batch", "omega", "cap", "decay-alone"];

const MINI_KEYS: [&str; 11] =
    ["allocation", "b", "floor", "ceiling", "prior", "strategies", "pr-age", "pr-ssc", "pr-m", "pr-e", "pr-hh"];

const FORMS: [(&str, GraveForm); 2] = [("paper", GraveForm::Paper), ("authors", GraveForm::Authors)];
const DECISIONS: [(&str, Decision); 3] =
    [("average", Decision::BestAverage), ("visits", Decision::MostVisits), ("eq", Decision::EffectiveQuality)];
const WORTHS: [(&str, MoveValuePolicy); 2] =
    [("mast", MoveValuePolicy::Mast), ("nst", MoveValuePolicy::Nst { longest: 3, least: 7.0, skips_waits: false })];
const WAITS: [(&str, bool); 2] = [("count", false), ("skip", true)];
const ALLOCATIONS: [(&str, StrategyAllocation); 4] = [
    ("ucb", StrategyAllocation::UCB),
    ("static", StrategyAllocation::Static),
    ("square", StrategyAllocation::Square),
    ("best", StrategyAllocation::UniformThenBest),
];
const TUNERS: [&str; 6] = ["none", "mab", "he", "nmc", "local-nmc", "lsi"];
const ASPECTS: [(&str, Aspect); 5] = [
    ("grave", Aspect::Grave),
    ("playout", Aspect::Playout),
    ("epsilon", Aspect::Epsilon),
    ("gamma", Aspect::Gamma),
    ("omega", Aspect::Omega),
];
const TRUTHS: [(&str, bool); 2] = [("yes", true), ("no", false)];
const REPLIES: [(&str, bool); 2] = [("none", false), ("lgrf2", true)];

impl SearchPolicy {
    /// Whether it has a parameter of this name.
    pub fn knows(key: &str) -> bool {
        [&SEARCH_KEYS[..], &PLAYOUT_KEYS, &MINI_KEYS, &TUNING_KEYS].concat().contains(&key)
    }

    /// Whether its parts go together.
    ///
    /// # Errors
    /// Why they do not.
    pub fn check(&self) -> Result<(), String> {
        let Some(tuning) = &self.tuning else { return Ok(()) };
        let learned = matches!(self.playout, PlayoutPolicy::Learned { .. });
        let greedy = matches!(self.playout, PlayoutPolicy::Learned { selector: Selector::Greedy { .. }, .. });
        for aspect in &tuning.what {
            match aspect {
                Aspect::Grave if !(greedy && matches!(self.selection, SelectionPolicy::Grave(_))) => {
                    let else_tell = "of other searches tell `tune-what`";
                    return Err(format!("what is tuned is `grave` with playouts that have an `epsilon`; {else_tell}"));
                }
                Aspect::Epsilon if !greedy => return Err("only playouts with an `epsilon` can tune it".to_owned()),
                _ if !learned => return Err("only playouts by `mast` or `nst` can tune it".to_owned()),
                _ => {}
            }
        }
        tuning.check().map_err(|error| error.to_string())
    }

    /// Sets a parameter.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        match (key, &mut self.selection) {
            ("play", _) => self.decision = one_of(value, &DECISIONS)?,
            ("lanes", _) => self.lanes = side_by_side(value)?,
            ("tree-gamma", _) => self.tree_gamma = number(value, 0.0, 1.0)?,
            ("solver", _) => self.solver = one_of(value, &TRUTHS)?,
            ("selection", selection) => *selection = selection.changed_to(value)?,
            ("c", SelectionPolicy::Uct { c } | SelectionPolicy::Grave(GraveSettings { c, .. })) => {
                *c = finite(value, 0.0)?;
            }
            ("k", SelectionPolicy::Grave(grave)) => grave.k = number(value, 0.0, f64::INFINITY)?,
            ("ref", SelectionPolicy::Grave(grave)) => grave.reference = number(value, 0.0, f64::INFINITY)?,
            ("form", SelectionPolicy::Grave(grave)) => grave.form = one_of(value, &FORMS)?,
            ("k" | "ref" | "form", _) => return Err("only `grave` has it".to_owned()),
            ("tune", _) => {
                let method = match value {
                    "none" => None,
                    "mab" => Some(Method::mab()),
                    "he" => Some(Method::he()),
                    "nmc" => Some(Method::nmc()),
                    "local-nmc" => Some(Method::local_nmc()),
                    "lsi" => Some(Method::lsi()),
                    _ => return Err(format!("it is to be one of {}", TUNERS.join(", "))),
                };
                self.tuning =
                    method.map(|method| Tuning { method, what: vec![Aspect::Grave], evolve: None, shadow: false });
            }
            _ if TUNING_KEYS.contains(&key) => {
                let tuning = self.tuning.as_mut().ok_or("nothing is tuned; tell `tune=nmc`, for one, before")?;
                set_tuning(tuning, key, value)?;
            }
            _ => self.playout.set(key, value)?,
        }
        Ok(())
    }
}

fn side_by_side(value: &str) -> Result<Parallelism, String> {
    match value.parse() {
        Ok(1) => Ok(Parallelism::One),
        Ok(lanes @ 2..=LANES) => Ok(Parallelism::Lanes(lanes)),
        _ if value == "auto" => Ok(Parallelism::Auto),
        _ => Err(format!("it is to be a whole number from 1 to {LANES}, or auto")),
    }
}

fn set_tuning(tuning: &mut Tuning, key: &str, value: &str) -> Result<(), String> {
    if let ("tune-generate", Method::Lsi { .. } | Method::LsiAuto) = (key, &tuning.method) {
        match value {
            "auto" => tuning.method = Method::LsiAuto,
            _ if tuning.method == Method::LsiAuto => tuning.method = Method::lsi(),
            _ => {}
        }
    }
    match (key, &mut tuning.method) {
        ("tune-generate", Method::LsiAuto) => {}
        ("tune-what", _) => tuning.what = some_of(value, &ASPECTS)?,
        ("tune-evolve", Method::Lsi { .. } | Method::LsiAuto) => {
            return Err("LSI tests each value once; tell another way of tuning".to_owned());
        }
        ("tune-evolve", _) => tuning.evolve = Some(count(value)?),
        ("tune-shadow", _) => tuning.shadow = one_of(value, &TRUTHS)?,
        ("tune-c", Method::Mab { c, .. } | Method::He { c } | Method::Nmc { c, .. }) => *c = finite(value, 0.0)?,
        ("tune-batch", Method::Mab { batch, .. }) => *batch = count(value)?,
        ("tune-epsilon", Method::Nmc { epsilon0, .. }) => *epsilon0 = number(value, 0.0, 1.0)?,
        ("tune-prior", Method::Nmc { prior, .. }) => *prior = finite(value, 1.0)?,
        ("tune-generate", Method::Lsi { generate, .. }) => *generate = count(value)?,
        ("tune-evaluate", Method::Lsi { evaluate, .. }) => *evaluate = count(value)?,
        ("tune-candidates", Method::Lsi { candidates, .. }) => *candidates = count(value)?,
        _ => return Err("this way of tuning does not have it".to_owned()),
    }
    Ok(())
}

impl SelectionPolicy {
    /// The selection of this name, with the same C.
    fn changed_to(self, name: &str) -> Result<SelectionPolicy, String> {
        let (SelectionPolicy::Uct { c } | SelectionPolicy::Grave(GraveSettings { c, .. })) = self;
        match (name, self) {
            ("uct", _) => Ok(SelectionPolicy::Uct { c }),
            ("grave", SelectionPolicy::Uct { .. }) => {
                Ok(SelectionPolicy::Grave(GraveSettings { c, ..GraveSettings::BASE }))
            }
            ("grave", grave) => Ok(grave),
            _ => Err("it is to be one of uct, grave".to_owned()),
        }
    }
}

impl PlayoutPolicy {
    fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        match self {
            _ if key == "playout" => self.change_to(value)?,
            _ if !PLAYOUT_KEYS.contains(&key) && !MINI_KEYS.contains(&key) => {
                let keys = [&SEARCH_KEYS[..], &PLAYOUT_KEYS, &MINI_KEYS, &TUNING_KEYS].concat();
                return Err(format!("the parameters are {}", keys.join(", ")));
            }
            PlayoutPolicy::Mini(config) => set_mini(config, key, value)?,
            _ if MINI_KEYS.contains(&key) => return Err("only `playout=mini` has it".to_owned()),
            PlayoutPolicy::Learned { .. } => self.set_learned(key, value)?,
            PlayoutPolicy::Random => {
                return Err("random playouts have none; tell `playout=mast` or `playout=nst` before".to_owned());
            }
        }
        Ok(())
    }

    fn change_to(&mut self, name: &str) -> Result<(), String> {
        let learned = |worth| PlayoutPolicy::Learned {
            worth,
            selector: Selector::Greedy { epsilon: EPSILON },
            replies: false,
            decay: Decay::NONE,
        };
        let changed = match (name, &*self) {
            ("random", _) => PlayoutPolicy::Random,
            ("mini", PlayoutPolicy::Mini(config)) => PlayoutPolicy::Mini(config.clone()),
            ("mini", _) => PlayoutPolicy::Mini(MiniConfig::default()),
            (_, &PlayoutPolicy::Learned { selector, replies, decay, .. }) => {
                PlayoutPolicy::Learned { worth: one_of(name, &WORTHS)?, selector, replies, decay }
            }
            _ => learned(one_of(name, &WORTHS)?),
        };
        *self = changed;
        Ok(())
    }

    fn set_learned(&mut self, key: &str, value: &str) -> Result<(), String> {
        let PlayoutPolicy::Learned { worth, selector, replies, decay } = self else { return Ok(()) };
        match (key, worth) {
            ("epsilon", _) => *selector = Selector::Greedy { epsilon: number(value, 0.0, 1.0)? },
            ("tau", _) => *selector = Selector::Gibbs { tau: finite(value, f64::MIN_POSITIVE)? },
            ("replies", _) => *replies = one_of(value, &REPLIES)?,
            ("gamma", _) => decay.gamma = number(value, 0.0, 1.0)?,
            ("lambda", _) => decay.lambda = number(value, 0.0, 1.0)?,
            ("batch", _) => decay.batch = count(value)?,
            ("omega", _) => decay.omega = number(value, 0.0, 1.0)?,
            ("decay-alone", _) => decay.alone = one_of(value, &TRUTHS)?,
            ("cap", _) => decay.cap = number(value, 1.0, f64::INFINITY)?,
            ("n", MoveValuePolicy::Nst { longest, .. }) => *longest = one_of(value, &[("1", 1), ("2", 2), ("3", 3)])?,
            ("least", MoveValuePolicy::Nst { least, .. }) => *least = finite(value, 0.0)?,
            ("waiting", MoveValuePolicy::Nst { skips_waits, .. }) => *skips_waits = one_of(value, &WAITS)?,
            _ => return Err("only `playout=nst` has it".to_owned()),
        }
        Ok(())
    }
}

fn set_mini(config: &mut MiniConfig, key: &str, value: &str) -> Result<(), String> {
    let chance = || number(value, 0.0, 1.0);
    match (key, &mut config.allocation) {
        ("allocation", allocation) => *allocation = one_of(value, &ALLOCATIONS)?,
        ("b", StrategyAllocation::Ucb { b, .. }) => *b = finite(value, 0.0)?,
        ("floor", StrategyAllocation::Ucb { floor, .. }) => *floor = number(value, 0.0, 1.0)?,
        ("ceiling", StrategyAllocation::Ucb { ceiling, .. }) => *ceiling = number(value, 0.0, 1.0)?,
        ("prior", StrategyAllocation::Ucb { prior, .. }) => *prior = finite(value, 1.0)?,
        ("b" | "floor" | "ceiling" | "prior", _) => return Err("only `allocation=ucb` has it".to_owned()),
        ("strategies", _) => {
            config.strategies = some_of(value, &Strategy::ALL.map(|strategy| (strategy.name(), strategy)))?;
        }
        ("pr-age", _) => config.chances.goal = chance()?,
        ("pr-ssc", _) => config.chances.symbols = chance()?,
        ("pr-m", _) => config.chances.mobility = chance()?,
        ("pr-e", _) => config.chances.exploration = chance()?,
        ("pr-hh", _) => config.chances.history = chance()?,
        _ => return Err("`playout=mini` does not have it".to_owned()),
    }
    Ok(())
}

/// The name of a value.
fn name_of<T: PartialEq>(value: &T, values: &[(&'static str, T)]) -> &'static str {
    values.iter().find(|(_, known)| known == value).map_or("", |(name, _)| name)
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Policy::Random => f.write_str("random"),
            Policy::Search(search) => search.fmt(f),
        }
    }
}

impl fmt::Display for SearchPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.selection {
            SelectionPolicy::Uct { c } => write!(f, "uct,c={c}")?,
            SelectionPolicy::Grave(GraveSettings { c, k, reference, form }) => {
                write!(f, "grave,c={c},k={k},ref={reference}")?;
                if form != GraveForm::default() {
                    write!(f, ",form={}", name_of(&form, &FORMS))?;
                }
            }
        }
        self.playout.fmt(f)?;
        if self.decision != Decision::default() {
            write!(f, ",play={}", name_of(&self.decision, &DECISIONS))?;
        }
        if self.tree_gamma != 1.0 {
            write!(f, ",tree-gamma={}", self.tree_gamma)?;
        }
        if self.solver {
            f.write_str(",solver=yes")?;
        }
        match self.lanes {
            Parallelism::One => {}
            Parallelism::Lanes(lanes) => write!(f, ",lanes={lanes}")?,
            Parallelism::Auto => f.write_str(",lanes=auto")?,
        }
        self.tuning.as_ref().map_or(Ok(()), |tuning| print_tuning(tuning, f))
    }
}

fn print_tuning(tuning: &Tuning, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match tuning.method {
        Method::Mab { c, batch } => write!(f, ",tune=mab,tune-c={c},tune-batch={batch}")?,
        Method::He { c } => write!(f, ",tune=he,tune-c={c}")?,
        Method::Nmc { c, epsilon0, prior } => {
            write!(f, ",tune=nmc,tune-c={c},tune-epsilon={epsilon0}")?;
            if prior != 1.0 {
                write!(f, ",tune-prior={prior}")?;
            }
        }
        Method::LsiAuto => f.write_str(",tune=lsi,tune-generate=auto")?,
        Method::Lsi { generate, evaluate, candidates } => {
            write!(f, ",tune=lsi,tune-generate={generate},tune-evaluate={evaluate},tune-candidates={candidates}")?
        }
    }
    if tuning.what != [Aspect::Grave] {
        let names: Vec<&str> = tuning.what.iter().map(|aspect| name_of(aspect, &ASPECTS)).collect();
        write!(f, ",tune-what={}", names.join("+"))?;
    }
    if let Some(every) = tuning.evolve {
        write!(f, ",tune-evolve={every}")?;
    }
    if tuning.shadow { f.write_str(",tune-shadow=yes") } else { Ok(()) }
}

impl fmt::Display for PlayoutPolicy {
    /// With a comma before each parameter; nothing for random playouts.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let PlayoutPolicy::Mini(config) = self {
            return print_mini(config, f);
        }
        let PlayoutPolicy::Learned { worth, selector, replies, decay } = self else { return Ok(()) };
        match worth {
            MoveValuePolicy::Mast => f.write_str(",playout=mast")?,
            MoveValuePolicy::Nst { longest, least, skips_waits } => {
                f.write_str(",playout=nst")?;
                if (*longest, *least) != (3, 7.0) {
                    write!(f, ",n={longest},least={least}")?;
                }
                if *skips_waits {
                    f.write_str(",waiting=skip")?;
                }
            }
        }
        match selector {
            Selector::Greedy { epsilon } => write!(f, ",epsilon={epsilon}")?,
            Selector::Gibbs { tau } => write!(f, ",tau={tau}")?,
        }
        if *replies {
            f.write_str(",replies=lgrf2")?;
        }
        let Decay { gamma, lambda, batch, omega, cap, alone } = decay;
        for (key, factor) in [("gamma", gamma), ("lambda", lambda), ("omega", omega)] {
            if *factor != 1.0 {
                write!(f, ",{key}={factor}")?;
            }
        }
        if *batch != Decay::NONE.batch {
            write!(f, ",batch={batch}")?;
        }
        if *cap != Decay::NONE.cap {
            write!(f, ",cap={cap}")?;
        }
        if *alone {
            f.write_str(",decay-alone=yes")?;
        }
        Ok(())
    }
}

fn print_mini(config: &MiniConfig, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str(",playout=mini")?;
    match config.allocation {
        StrategyAllocation::Ucb { b, floor, ceiling, prior } => {
            write!(f, ",b={b}")?;
            if prior != 1.0 {
                write!(f, ",prior={prior}")?;
            }
            if floor != 0.0 {
                write!(f, ",floor={floor}")?;
            }
            if ceiling != 1.0 {
                write!(f, ",ceiling={ceiling}")?;
            }
        }
        allocation => write!(f, ",allocation={}", name_of(&allocation, &ALLOCATIONS))?,
    }
    let names: Vec<&str> = config.strategies.iter().map(|strategy| strategy.name()).collect();
    write!(f, ",strategies={}", names.join("+"))?;
    let (told, usual) = (&config.chances, Chances::default());
    let chances = [
        ("age", told.goal, usual.goal),
        ("ssc", told.symbols, usual.symbols),
        ("m", told.mobility, usual.mobility),
        ("e", told.exploration, usual.exploration),
        ("hh", told.history, usual.history),
    ];
    for (name, told, _) in chances.iter().filter(|(_, told, usual)| told != usual) {
        write!(f, ",pr-{name}={told}")?;
    }
    Ok(())
}

impl<'de> Deserialize<'de> for Policy {
    /// From its text, or from a table with its `name` and its parameters.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Policy, D::Error> {
        PolicyText::deserialize(deserializer)?.0.parse().map_err(de::Error::custom)
    }
}

/// What is to be the text of a policy, told as text or as a table with its
/// `name` and its parameters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PolicyText(pub String);

impl<'de> Deserialize<'de> for PolicyText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<PolicyText, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Told {
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
        let table = match Told::deserialize(deserializer)? {
            Told::Text(text) => return Ok(PolicyText(text)),
            Told::Table(table) => table,
        };
        let mut pairs: Vec<(String, String)> = (table.into_iter())
            .map(|(key, value)| match value {
                Scalar::Number(number) => (key, number.to_string()),
                Scalar::Truth(truth) => (key, if truth { "yes" } else { "no" }.to_owned()),
                Scalar::Text(text) => (key, text),
            })
            .collect();
        // What others are parameters of goes first.
        const FIRST: [&str; 5] = ["name", "selection", "playout", "allocation", "tune"];
        pairs.sort_by_key(|(key, _)| FIRST.iter().position(|first| first == key).unwrap_or(FIRST.len()));
        let words = pairs.into_iter().map(|(key, value)| if key == "name" { value } else { format!("{key}={value}") });
        Ok(PolicyText(words.collect::<Vec<_>>().join(",")))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::strategy::Strategy;

    use super::*;

    #[test]
    fn policies_have_names_and_parameters() {
        for (text, printed) in [
            ("random", "random"),
            ("uct", "uct,c=0.4"),
            ("uct, c = 1e-3", "uct,c=0.001"),
            ("uct,solver=yes", "uct,c=0.4,solver=yes"),
            ("uct,solver=yes,solver=no", "uct,c=0.4"),
            ("uct,c=1,c=2", "uct,c=2"),
            ("grave,k=inf,ref=inf,play=visits", "grave,c=0.2,k=inf,ref=inf,play=visits"),
            ("cadia", "uct,c=0.4,playout=mast,tau=10"),
            ("nst,n=2", "uct,c=0.4,playout=nst,n=2,least=7,epsilon=0.2"),
            ("nst,playout=random", "uct,c=0.4"),
            (
                "nst,tune=nmc,tune-what=epsilon+playout+epsilon",
                "uct,c=0.4,playout=nst,epsilon=0.2,tune=nmc,tune-c=0.7,tune-epsilon=0.75,tune-what=playout+epsilon",
            ),
            (
                "nst,tune=local-nmc,tune-what=omega,tune-prior=4",
                "uct,c=0.4,playout=nst,epsilon=0.2,tune=nmc,tune-c=0.7,tune-epsilon=1,tune-prior=4,tune-what=omega",
            ),
            ("mini,prior=20,strategies=HH+E", "uct,c=0.4,playout=mini,b=5,prior=20,strategies=E+HH,play=eq"),
            (
                "cadia,tune=he,tune-what=gamma+omega",
                "uct,c=0.4,playout=mast,tau=10,tune=he,tune-c=0.7,tune-what=gamma+omega",
            ),
            (
                "tuned,tune=lsi,tune-generate=auto",
                "grave,c=0.2,k=250,ref=50,playout=mast,epsilon=0.4,tune=lsi,tune-generate=auto",
            ),
            (
                "tuned,tune=lsi,tune-generate=auto,tune-generate=9",
                "grave,c=0.2,k=250,ref=50,playout=mast,epsilon=0.4,tune=lsi,tune-generate=9,tune-evaluate=25000,tune-candidates=2000",
            ),
            (
                "tuned,tune-evolve=5000",
                "grave,c=0.2,k=250,ref=50,playout=mast,epsilon=0.4,tune=nmc,tune-c=0.7,tune-epsilon=0.75,tune-evolve=5000",
            ),
            ("nst,waiting=skip", "uct,c=0.4,playout=nst,waiting=skip,epsilon=0.2"),
            ("base,tree-gamma=0.5", "grave,c=0.2,k=250,ref=50,playout=mast,epsilon=0.4,tree-gamma=0.5"),
            ("mast,cap=50", "uct,c=0.4,playout=mast,epsilon=0.2,cap=50"),
            ("nst,gamma=0.6,decay-alone=yes", "uct,c=0.4,playout=nst,epsilon=0.2,gamma=0.6,decay-alone=yes"),
            ("mast,cap=50,cap=inf", "uct,c=0.4,playout=mast,epsilon=0.2"),
            ("nst,waiting=skip,waiting=count", "uct,c=0.4,playout=nst,epsilon=0.2"),
            ("mini", "uct,c=0.4,playout=mini,b=5,strategies=R+AGE+SSC+M+E+HH,play=eq"),
            ("mini-c,floor=0.05,ceiling=0.5", "uct,c=0.4,playout=mini,b=5,floor=0.05,ceiling=0.5,strategies=HH"),
            (
                "mini-1-s,strategies=HH+R,pr-hh=0.5",
                "uct,c=0.4,playout=mini,allocation=best,strategies=R+HH,pr-hh=0.5,play=eq",
            ),
            (
                "tuned,tune=he,tune-shadow=yes",
                "grave,c=0.2,k=250,ref=50,playout=mast,epsilon=0.4,tune=he,tune-c=0.7,tune-shadow=yes",
            ),
            (
                "base,tune=local-nmc",
                "grave,c=0.2,k=250,ref=50,playout=mast,epsilon=0.4,tune=nmc,tune-c=0.7,tune-epsilon=1",
            ),
            ("lgrf,playout=mast,omega=0.94", "uct,c=0.4,playout=mast,epsilon=0.2,replies=lgrf2,omega=0.94"),
            (
                "authors,lambda=0.9,batch=10",
                "grave,c=0.2,k=250,ref=50,form=authors,playout=mast,epsilon=0.4,gamma=0.2,lambda=0.9,batch=10",
            ),
        ] {
            let policy: Policy = text.parse().unwrap();
            assert_eq!(policy.to_string(), printed);
            assert_eq!(printed.parse(), Ok(policy));
        }
    }

    #[test]
    fn what_is_no_policy_is_told() {
        for (text, error) in [
            ("uct,tune=nmc", "`tune=nmc` is no parameter of `uct`: what is tuned is `grave` with"),
            ("base,tau=1,tune=he", "`tune=he` is no parameter of `base`: what is tuned is"),
            ("nst,tune=he", "`tune=he` is no parameter of `nst`: what is tuned is `grave` with playouts"),
            ("tuned,tune-generate=auto", "`tune-generate=auto` is no parameter of `tuned`: this way of tuning"),
            (
                "tuned,tune=lsi,tune-generate=auto,tune-evaluate=9",
                "`tune-evaluate=9` is no parameter of `tuned`: this way of tuning",
            ),
            ("tuned,tune-evolve=0", "`tune-evolve=0` is no parameter of `tuned`: it is to be a whole number from 1 up"),
            ("tuned,tune=lsi,tune-evolve=9", "`tune-evolve=9` is no parameter of `tuned`: LSI tests each value once"),
            ("nst,tune-what=gamma", "`tune-what=gamma` is no parameter of `nst`: nothing is tuned"),
            ("cadia,tune=he,tune-what=epsilon", "`tune-what=epsilon` is no parameter of `cadia`: only playouts with"),
            ("grave,tune=he,tune-what=playout", "`tune-what=playout` is no parameter of `grave`: only playouts by"),
            ("nst,tune=he,tune-what=c", "`tune-what=c` is no parameter of `nst`: it is to be some of grave, playout,"),
            ("base,tune-c=1", "`tune-c=1` is no parameter of `base`: nothing is tuned"),
            ("tuned,tune-batch=5", "`tune-batch=5` is no parameter of `tuned`: this way of tuning"),
            (
                "tuned,tune=lsi,tune-candidates=100000000",
                "`tune-candidates=100000000` is no parameter of `tuned`: candidates must",
            ),
            ("", "there is no policy ``: the policies are random, uct, grave, mast,"),
            ("UCT", "there is no policy `UCT`"),
            ("uct,c", "`c` is no parameter of `uct`: parameters are written `key=value`"),
            ("uct,c=-1", "`c=-1` is no parameter of `uct`: it is to be a number from 0 up"),
            ("uct,c=nan", "`c=nan` is no parameter"),
            ("uct,c=inf", "`c=inf` is no parameter"),
            ("uct,k=1", "`k=1` is no parameter of `uct`: only `grave` has it"),
            ("uct,x=1", "`x=1` is no parameter of `uct`: the parameters are selection, c, k,"),
            ("uct,epsilon=0.1", "`epsilon=0.1` is no parameter of `uct`: random playouts have none"),
            ("mast,n=2", "`n=2` is no parameter of `mast`: only `playout=nst` has it"),
            ("mast,waiting=skip", "`waiting=skip` is no parameter of `mast`: only `playout=nst` has it"),
            ("nst,waiting=yes", "`waiting=yes` is no parameter of `nst`: it is to be one of count, skip"),
            ("mast,epsilon=1.1", "`epsilon=1.1` is no parameter of `mast`: it is to be a number from 0 to 1"),
            ("mast,tau=0", "`tau=0` is no parameter"),
            ("mast,playout=mist", "`playout=mist` is no parameter of `mast`: it is to be one of mast, nst"),
            ("mast,b=1", "`b=1` is no parameter of `mast`: only `playout=mini` has it"),
            ("mini,n=1", "`n=1` is no parameter of `mini`: `playout=mini` does not have it"),
            ("mini,strategies=R+X", "`strategies=R+X` is no parameter of `mini`: it is to be some of R, AGE"),
            ("mini,allocation=square,floor=0.1", "`floor=0.1` is no parameter of `mini`: only `allocation=ucb`"),
            ("tuned,tune-prior=0.5", "`tune-prior=0.5` is no parameter of `tuned`: it is to be a number from 1 up"),
            (
                "base,tune=he,tune-prior=2",
                "`tune-prior=2` is no parameter of `base`: this way of tuning does not have it",
            ),
            ("mini-1-s,prior=2", "`prior=2` is no parameter of `mini-1-s`: only `allocation=ucb`"),
            ("mini,prior=0", "`prior=0` is no parameter of `mini`: it is to be a number from 1 up"),
            ("mini,ceiling=2", "`ceiling=2` is no parameter of `mini`: it is to be a number from 0 to 1"),
            ("mini-1-s,b=1", "`b=1` is no parameter of `mini-1-s`: only `allocation=ucb`"),
            ("mast,cap=0.5", "`cap=0.5` is no parameter of `mast`: it is to be a number from 1 up"),
            ("uct,tree-gamma=2", "`tree-gamma=2` is no parameter of `uct`: it is to be a number from 0 to 1"),
            ("uct,solver=1", "`solver=1` is no parameter of `uct`: it is to be one of yes, no"),
            ("random,tree-gamma=0", "`tree-gamma=0` is no parameter of `random`: it has none"),
            ("mast,decay-alone=1", "`decay-alone=1` is no parameter of `mast`: it is to be one of yes, no"),
            ("uct,cap=9", "`cap=9` is no parameter of `uct`: random playouts have none"),
            ("mast,batch=0", "`batch=0` is no parameter"),
            ("random,c=1", "`c=1` is no parameter of `random`: it has none"),
        ] {
            let told = text.parse::<Policy>().unwrap_err().to_string();
            assert!(told.starts_with(error), "{told}");
        }
    }

    #[test]
    fn a_table_is_a_policy() {
        let told = |text: &str| serde_json::from_str::<Policy>(text).map_err(|error| error.to_string());
        let table = r#"{ "name": "grave", "k": 100, "epsilon": 0.5, "playout": "mast" }"#;
        assert_eq!(told(table), Ok("grave,k=100,playout=mast,epsilon=0.5".parse().unwrap()));
        assert_eq!(told(r#""nst""#), Ok("nst".parse().unwrap()));
        assert!(told(r#"{ "name": "uct", "k": 1 }"#).unwrap_err().starts_with("`k=1` is no parameter"));
        assert!(told(r#"{ "c": 1 }"#).unwrap_err().starts_with("there is no policy `c=1`"));
    }

    fn any_decay() -> impl Strategy<Value = Decay> {
        let cap = prop_oneof![Just(f64::INFINITY), 1.0..1e6];
        (0.0..=1.0, 0.0..=1.0, 1..1000u32, 0.0..=1.0, cap, any::<bool>())
            .prop_map(|(gamma, lambda, batch, omega, cap, alone)| Decay { gamma, lambda, batch, omega, cap, alone })
    }

    fn any_mini() -> impl Strategy<Value = PlayoutPolicy> {
        let ucb = (0.0..100.0, 0.0..=1.0, 0.0..=1.0, 1.0..100.0);
        let allocation = prop_oneof![
            ucb.prop_map(|(b, floor, ceiling, prior)| StrategyAllocation::Ucb { b, floor, ceiling, prior }),
            Just(StrategyAllocation::UCB),
            Just(StrategyAllocation::Static),
            Just(StrategyAllocation::Square),
            Just(StrategyAllocation::UniformThenBest),
        ];
        let strategies = proptest::sample::subsequence(super::Strategy::ALL.to_vec(), 1..=6);
        (allocation, strategies, 0.0..=1.0, 0.0..=1.0).prop_map(|(allocation, strategies, goal, history)| {
            let chances = Chances { goal, history, ..Chances::default() };
            PlayoutPolicy::Mini(MiniConfig { allocation, strategies, chances })
        })
    }

    fn any_playout() -> impl Strategy<Value = PlayoutPolicy> {
        let worth =
            prop_oneof![
                Just(MoveValuePolicy::Mast),
                (1..=3usize, 0.0..100.0, any::<bool>())
                    .prop_map(|(longest, least, skips_waits)| MoveValuePolicy::Nst { longest, least, skips_waits }),
            ];
        let selector = prop_oneof![
            (0.0..=1.0).prop_map(|epsilon| Selector::Greedy { epsilon }),
            (1e-3..1e3).prop_map(|tau| Selector::Gibbs { tau }),
        ];
        let learned = (worth, selector, any::<bool>(), any_decay());
        prop_oneof![
            Just(PlayoutPolicy::Random),
            any_mini(),
            learned.prop_map(|(worth, selector, replies, decay)| PlayoutPolicy::Learned {
                worth,
                selector,
                replies,
                decay
            }),
        ]
    }

    fn any_selection() -> impl Strategy<Value = SelectionPolicy> {
        let infinite = || prop_oneof![Just(f64::INFINITY), 0.0..1e5];
        prop_oneof![
            (0.0..1e9).prop_map(|c| SelectionPolicy::Uct { c }),
            (0.0..10.0, infinite(), infinite(), any::<bool>()).prop_map(|(c, k, reference, paper)| {
                let form = if paper { GraveForm::Paper } else { GraveForm::Authors };
                SelectionPolicy::Grave(GraveSettings { c, k, reference, form })
            }),
        ]
    }

    fn any_tuning() -> impl Strategy<Value = Tuning> {
        let methods = vec![
            Method::mab(),
            Method::he(),
            Method::nmc(),
            Method::local_nmc(),
            Method::Nmc { c: 0.5, epsilon0: 1.0, prior: 4.0 },
            Method::lsi(),
            Method::LsiAuto,
        ];
        let others: Vec<Aspect> = ASPECTS[1..].iter().map(|&(_, aspect)| aspect).collect();
        let aspects = proptest::sample::subsequence(others, 1..=4);
        let evolve = proptest::option::of(1..10_000u32);
        (proptest::sample::select(methods), aspects, evolve, any::<bool>()).prop_map(
            |(method, what, evolve, shadow)| {
                let evolve = evolve.filter(|_| !matches!(method, Method::Lsi { .. } | Method::LsiAuto));
                Tuning { method, what, evolve, shadow }
            },
        )
    }

    proptest! {
        #[test]
        fn what_is_printed_is_the_same(
            selection in any_selection(),
            playout in any_playout(),
            visits in any::<bool>(),
            tree_gamma in 0.0..=1.0,
            solver in any::<bool>(),
            tuning in any_tuning(),
            lanes in prop_oneof![
                Just(Parallelism::One),
                (2..=LANES).prop_map(Parallelism::Lanes),
                Just(Parallelism::Auto),
            ],
        ) {
            let decision = if visits { Decision::MostVisits } else { Decision::BestAverage };
            let policy = SearchPolicy { selection, playout, decision, tree_gamma, solver, tuning: None, lanes };
            let tuned = SearchPolicy { tuning: Some(tuning), ..policy.clone() };
            let policy = Policy::Search(if tuned.check().is_ok() { tuned } else { policy });
            prop_assert_eq!(policy.to_string().parse(), Ok(policy));
        }
    }
}
