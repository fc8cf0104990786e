//! Configurations of players.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sternhalma_ggp::mcts::Decision;
use sternhalma_ggp::messages::{nearest, plain_serde, suggestion};
use sternhalma_ggp::param_table::{Field, Names, choice, flag, range};
use sternhalma_ggp::policy::{
    NAMED_POLICIES, PlayoutPolicy, SearchPolicy, SelectionPolicy, WrongParameter, parameters, parts_first, set_in_order,
};
use sternhalma_ggp::{Limits, Policy};
use thiserror::Error;
use toml::{Table, Value};

use crate::players::level::Level;
use crate::rules::Filter;

/// A player's search and its parameters, as in `players.toml`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
#[expect(clippy::large_enum_variant, reason = "few configurations exist at a time")]
pub enum Config {
    /// Monte-Carlo tree search.
    Uct(UctConfig),
    /// Alpha-beta search.
    AlphaBeta(AlphaBetaConfig),
    /// Principal-variation search.
    Pvs(PvsConfig),
    /// One ply: the largest advance (ties: the rearmost piece).
    Greedy,
    /// A uniformly random legal move.
    Random,
    /// Two plies: the move after which the goal of the opponent is hardest to enter.
    Fortress,
    /// One ply: the move after which few pieces of the opponent can enter its goal.
    Hoarder,
    /// One ply: the largest advance, but the last piece at home stays.
    Straggler,
    /// One ply: pieces go to the middle row, and stay in the way of the opponent.
    Wall,
}

/// The parameters of a UCT player [Roschke and Sturtevant 2013, Table 2].
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(try_from = "StoredUct", into = "StoredUct")]
pub struct UctConfig {
    /// The moves in the tree.
    pub moves: Filter,
    /// The fraction of random moves in a playout, 0 to 1; the others are the
    /// longest advances.
    pub random: f64,
    /// The number of visits before a node is added.
    pub threshold: u32,
    /// The end of a playout.
    pub end: PlayoutEnd,
    /// For fixed depth: the number of moves of a playout.
    pub depth: u32,
    /// For fixed depth: the reward per move of table difference.
    pub difference_weight: f64,
    /// The maximum effect of the length of a simulation on its reward.
    pub length_weight: f64,
    /// Whether table distances guide the selection in the tree, with playouts of fixed depth.
    pub is_guided: bool,
    /// For guided selection: a move that is behind another by this table
    /// distance, in moves, gets 1/e of its probability.
    pub temperature: f64,
    /// Whether playouts are forward moves, of which the fraction `random` is random, instead of the playouts of `search`.
    pub has_own_playouts: bool,
    /// The other parameters, as of policies (docs/policies.md). The playouts of a policy use forward moves.
    pub search: SearchPolicy,
}

/// A UCT player as it is stored in files of players and in logs.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredUct {
    moves: Filter,
    random: f64,
    threshold: u32,
    end: PlayoutEnd,
    #[serde(default)]
    depth: u32,
    #[serde(default)]
    difference_weight: f64,
    c: f64,
    length_weight: f64,
    #[serde(default)]
    decision: DecisionRule,
    #[serde(default, skip_serializing_if = "is_default")]
    selection: TreePolicy,
    #[serde(default, skip_serializing_if = "is_default")]
    temperature: f64,
    #[serde(default, skip_serializing_if = "is_default")]
    transpositions: bool,
    /// The parameters of policies that have no key of their own.
    #[serde(default, skip_serializing_if = "is_default")]
    parts: BTreeMap<String, Value>,
}

impl TryFrom<StoredUct> for UctConfig {
    type Error = String;

    fn try_from(stored: StoredUct) -> Result<UctConfig, String> {
        let StoredUct { moves, random, threshold, end, depth, difference_weight, length_weight, temperature, .. } =
            stored;
        let search = SearchPolicy {
            selection: SelectionPolicy::Uct { c: stored.c },
            decision: stored.decision.into(),
            transpositions: stored.transpositions,
            ..SearchPolicy::default()
        };
        let is_guided = stored.selection == TreePolicy::Guided;
        let mut config = UctConfig {
            moves,
            random,
            threshold,
            end,
            depth,
            difference_weight,
            length_weight,
            is_guided,
            temperature,
            has_own_playouts: true,
            search,
        };
        let mut parts = Vec::new();
        for (key, value) in &stored.parts {
            parts.push((key.as_str(), scalar_text(value).ok_or_else(|| format!("`{key}` is no value"))?));
        }
        set_in_order(parts_first(parts.iter().map(|(key, text)| (*key, text.as_str()))), |key, text| {
            config.set(key, text).unwrap_or_else(|| Err("it is no parameter of policies".to_owned()))
        })
        .map_err(in_words)?;
        Ok(config)
    }
}

impl From<UctConfig> for StoredUct {
    fn from(config: UctConfig) -> StoredUct {
        let UctConfig { moves, random, threshold, end, depth, difference_weight, length_weight, temperature, .. } =
            config;
        let search = &config.search;
        let decision = search.decision.try_into();
        let mut parts: BTreeMap<String, Value> = BTreeMap::new();
        for (key, text) in search.parameters() {
            let is_part = match key {
                "c" | "transpositions" => false,
                "selection" => text != "uct",
                "play" => decision.is_err(),
                _ => true,
            };
            // Whole numbers are written as integers.
            let number = text.parse().map(Value::Integer).or_else(|_| text.parse().map(Value::Float));
            is_part.then(|| parts.insert(key.to_owned(), number.unwrap_or(Value::String(text))));
        }
        if !config.has_own_playouts {
            parts.entry("playout".to_owned()).or_insert_with(|| Value::String("random".to_owned()));
        }
        StoredUct {
            moves,
            random,
            threshold,
            end,
            depth,
            difference_weight,
            c: search.selection.c(),
            length_weight,
            decision: decision.unwrap_or_default(),
            selection: if config.is_guided { TreePolicy::Guided } else { TreePolicy::Uct },
            temperature,
            transpositions: search.transpositions,
            parts,
        }
    }
}

/// The key `selection` of a stored player.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum TreePolicy {
    /// UCB1; untried moves come first.
    #[default]
    Uct,
    /// Table distances, with playouts of fixed depth.
    Guided,
}

/// Returns whether a value is the default. Fields added later are not
/// serialized at their default, so that older logs still compare equal.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// The end of a playout.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PlayoutEnd {
    /// The end of the game.
    PlayedOut,
    /// A number of moves. The state is evaluated by the table difference.
    FixedDepth,
    /// The separation of the armies. The player with the smaller distance
    /// wins.
    Separated,
}

/// The rule for the final move.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DecisionRule {
    /// The highest average reward.
    #[default]
    BestAverage,
    /// The most visits.
    MostVisits,
}

impl From<DecisionRule> for Decision {
    fn from(decision: DecisionRule) -> Decision {
        match decision {
            DecisionRule::BestAverage => Decision::BestAverage,
            DecisionRule::MostVisits => Decision::MostVisits,
        }
    }
}

impl TryFrom<Decision> for DecisionRule {
    type Error = Decision;

    fn try_from(decision: Decision) -> Result<DecisionRule, Decision> {
        match decision {
            Decision::BestAverage => Ok(DecisionRule::BestAverage),
            Decision::MostVisits => Ok(DecisionRule::MostVisits),
            Decision::EffectiveQuality => Err(decision),
        }
    }
}

/// The parameters of an alpha-beta player.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AlphaBetaConfig {
    /// The maximum number of plies.
    pub depth: u32,
    /// The moves that the search considers.
    pub moves: Filter,
    /// The evaluation of states.
    pub evaluation: Evaluation,
}

/// The parameters of a player with principal-variation search.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PvsConfig {
    /// The maximum number of plies.
    pub depth: u32,
    /// The moves that the search considers.
    pub moves: Filter,
    /// The size of the transposition table, in units of 2^20 bytes.
    pub table_megabytes: u32,
    /// The number of threads. The moves of a search with several depend on their timing.
    pub threads: u32,
    /// Whether the depth of late moves is reduced.
    pub reductions: bool,
    /// Whether hopeless moves and decided nodes are pruned.
    pub pruning: bool,
    /// The maximum change of the lead per ply, in hundredths of a move.
    pub futility: i32,
    /// The value of a row of any piece, in hundredths of a move.
    pub row: i32,
    /// The additional value of a row of the rearmost piece, in hundredths of a
    /// move.
    pub rearmost: i32,
    /// The additional value of a row of the second rearmost piece, in
    /// hundredths of a move.
    pub second: i32,
    /// The value of being on move, in hundredths of a move.
    pub tempo: i32,
    /// The evaluation of armies that may meet.
    #[serde(default, skip_serializing_if = "is_default")]
    pub evaluation: PositionalEvaluation,
    /// The file of learned weights, if they are not the built-in ones.
    #[serde(default, skip_serializing_if = "is_default")]
    pub weights: String,
    /// The level, which limits the strength.
    #[serde(default, skip_serializing_if = "is_default")]
    pub level: Option<Level>,
}

/// The evaluation of armies that may meet, on top of the difference of the table distances.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PositionalEvaluation {
    /// The weights `row`, `rearmost`, `second` and `tempo`.
    #[default]
    Rows,
    /// Learned linear weights; `rows` on boards without them.
    Linear,
    /// Learned linear weights and a network; `linear` on boards without a network.
    Network,
}

/// The evaluation of states in alpha-beta search.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Evaluation {
    /// The difference of the mean rows from the home area.
    MeanRow,
    /// The difference of the table distances.
    Table,
}

/// The largest size of a transposition table, in units of 2^20 bytes.
pub(crate) const MOST_MEGABYTES: u32 = 1 << 16;

/// The largest number of threads of a search.
pub(crate) const MOST_THREADS: u32 = 256;

/// An error in a player's configuration.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The text is not TOML.
    #[error("the players are not valid TOML")]
    Toml(#[from] toml::de::Error),
    /// The player does not exist.
    #[error("there is no player `{name}`{suggestion}")]
    Unknown {
        /// The requested name.
        name: String,
        /// A player with a similar name, or the available names.
        suggestion: String,
    },
    /// The player's table is invalid.
    #[error("player `{name}`: {why}")]
    Player {
        /// The player.
        name: String,
        /// The reason.
        why: String,
    },
}

/// A set of named players.
#[derive(Clone, Debug)]
pub struct Roster {
    players: BTreeMap<String, Table>,
    /// The descriptions of the players that have one.
    about: BTreeMap<String, String>,
}

/// The key of a player's description.
const ABOUT: &str = "about";

impl Roster {
    /// Returns the built-in players.
    pub fn built_in() -> Roster {
        Roster::parse(include_str!("../../players.toml")).expect("the players that ship are well-formed")
    }

    /// Parses players from TOML, with one table per player.
    ///
    /// # Errors
    ///
    /// Returns an error if the text is not TOML or a player is not a table.
    pub fn parse(text: &str) -> Result<Roster, ConfigError> {
        let (mut players, mut about) = (BTreeMap::new(), BTreeMap::new());
        for (name, value) in text.parse::<Table>()? {
            let Value::Table(mut table) = value else {
                return Err(ConfigError::Player { name, why: "it is no table".to_owned() });
            };
            match table.remove(ABOUT) {
                None => {}
                Some(Value::String(text)) => drop(about.insert(name.clone(), text)),
                Some(_) => return Err(ConfigError::Player { name, why: "`about` is not a text".to_owned() }),
            }
            players.insert(name, table);
        }
        Ok(Roster { players, about })
    }

    /// Adds players. The new players replace players with the same name.
    pub fn add(&mut self, other: Roster) {
        self.about.retain(|name, _| !other.players.contains_key(name));
        self.players.extend(other.players);
        self.about.extend(other.about);
    }

    /// Returns the description of a player, in one line, if it has one.
    pub fn about(&self, name: &str) -> Option<&str> {
        self.about.get(name).map(String::as_str)
    }

    /// Returns the names, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.players.keys().map(String::as_str)
    }

    /// Returns the configuration of a player: `name`, or `name,key=value,…`
    /// with some parameters changed, in order.
    ///
    /// The name may also be that of a policy, whose playouts continue to the
    /// end unless they are configured otherwise.
    ///
    /// # Errors
    ///
    /// Returns an error if the player does not exist or its parameters are
    /// invalid.
    pub fn config(&self, text: &str) -> Result<Config, ConfigError> {
        let mut words = text.split(',');
        let name = words.next().unwrap_or_default().trim();
        let wrong = |why: String| ConfigError::Player { name: name.to_owned(), why };
        let mut config = match (self.resolve(name, 0), name.parse::<Policy>()) {
            (Err(ConfigError::Unknown { .. }), Ok(policy)) => Config::of_policy(policy),
            (known, _) => known?,
        };
        let mut pairs = Vec::new();
        for change in words {
            let (key, value) = change.split_once('=').ok_or_else(|| wrong(format!("`{change}` is not `key=value`")))?;
            pairs.push((key.trim(), toml_value(value.trim())));
        }
        if pairs.iter().any(|(key, _)| *key == "kind") {
            let own = pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
            config = Config::defined(Some(config), own).map_err(wrong)?;
        } else {
            config.set_values(pairs).map_err(wrong)?;
        }
        config.check().map_err(wrong)?;
        Ok(config)
    }

    /// Returns a player, with the inherited parameters.
    fn resolve(&self, name: &str, depth: usize) -> Result<Config, ConfigError> {
        let unknown = || {
            let policies = NAMED_POLICIES.iter().map(|policy| policy.name);
            let suggestion = match nearest(name, self.names().chain(policies)) {
                Some(similar) => format!("; did you mean `{similar}`?"),
                None => suggestion(name, "players", self.names()) + ", and policies such as `nst`",
            };
            ConfigError::Unknown { name: name.to_owned(), suggestion }
        };
        let wrong = |why: String| ConfigError::Player { name: name.to_owned(), why };
        if depth > self.players.len() {
            return Err(wrong("it is like itself".to_owned()));
        }
        let mut own = self.players.get(name).ok_or_else(unknown)?.clone();
        let like = match own.remove("like") {
            Some(Value::String(like)) => Some(self.resolve(&like, depth + 1)?),
            Some(_) => return Err(wrong("`like` is no name".to_owned())),
            None => None,
        };
        Config::defined(like, own).map_err(wrong)
    }
}

/// Returns the text of a number, a truth value or a text.
fn scalar_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Integer(_) | Value::Float(_) | Value::Boolean(_) => Some(value.to_string()),
        _ => None,
    }
}

/// Returns a value, which may be written as in TOML: in quotes, or a number with separators.
fn toml_value(text: &str) -> Value {
    let table = format!("v = {text}").parse::<Table>();
    table.ok().and_then(|mut table| table.remove("v")).unwrap_or_else(|| Value::String(text.to_owned()))
}

/// Returns the error of a parameter in words.
fn in_words((key, text, why): WrongParameter<'_>) -> String {
    format!("`{key}={text}`: {why}")
}

/// A parameter of a player: its key, and the place of its value.
type Row<T> = (&'static str, for<'a> fn(&'a mut T) -> Option<Field<'a>>);

const FILTERS: Names<Filter> =
    &[("forward", Filter::Forward), ("non-backward", Filter::NonBackward), ("all", Filter::All)];
const ENDS: Names<PlayoutEnd> = &[
    ("played-out", PlayoutEnd::PlayedOut),
    ("fixed-depth", PlayoutEnd::FixedDepth),
    ("separated", PlayoutEnd::Separated),
];
const DECISIONS: Names<Decision> = &[("best-average", Decision::BestAverage), ("most-visits", Decision::MostVisits)];

const UCT: &[Row<UctConfig>] = &[
    ("moves", |uct| choice(&mut uct.moves, FILTERS)),
    ("random", |uct| range(&mut uct.random, 0.0, 1.0)),
    ("threshold", |uct| whole(&mut uct.threshold, [0, u32::MAX])),
    ("end", |uct| choice(&mut uct.end, ENDS)),
    ("depth", |uct| whole(&mut uct.depth, [0, u32::MAX])),
    ("difference_weight", |uct| range(&mut uct.difference_weight, f64::MIN, f64::MAX)),
    ("length_weight", |uct| range(&mut uct.length_weight, f64::MIN, f64::MAX)),
    ("temperature", |uct| range(&mut uct.temperature, 0.0, f64::MAX)),
    ("decision", |uct| choice(&mut uct.search.decision, DECISIONS)),
];

const ALPHA_BETA: &[Row<AlphaBetaConfig>] = &[
    ("depth", |config| whole(&mut config.depth, [0, u32::MAX])),
    ("moves", |config| choice(&mut config.moves, FILTERS)),
    ("evaluation", |config| {
        choice(&mut config.evaluation, &[("mean-row", Evaluation::MeanRow), ("table", Evaluation::Table)])
    }),
];

const PVS: &[Row<PvsConfig>] = &[
    ("depth", |pvs| whole(&mut pvs.depth, [1, u32::MAX])),
    ("moves", |pvs| choice(&mut pvs.moves, FILTERS)),
    ("table_megabytes", |pvs| whole(&mut pvs.table_megabytes, [1, MOST_MEGABYTES])),
    ("threads", |pvs| whole(&mut pvs.threads, [1, MOST_THREADS])),
    ("reductions", |pvs| flag(&mut pvs.reductions)),
    ("pruning", |pvs| flag(&mut pvs.pruning)),
    ("futility", |pvs| hundredths(&mut pvs.futility)),
    ("row", |pvs| hundredths(&mut pvs.row)),
    ("rearmost", |pvs| hundredths(&mut pvs.rearmost)),
    ("second", |pvs| hundredths(&mut pvs.second)),
    ("tempo", |pvs| hundredths(&mut pvs.tempo)),
    ("evaluation", |pvs| choice(&mut pvs.evaluation, EVALUATIONS)),
    ("weights", |pvs| Some(Field::any_text(&mut pvs.weights))),
    ("level", |pvs| {
        let level = pvs.level.map(u32::from);
        let most = Level::HIGHEST;
        Some(Field::whole([1, most], None, level, &mut pvs.level, |_, level| level.and_then(|n| n.try_into().ok())))
    }),
];

const EVALUATIONS: Names<PositionalEvaluation> = &[
    ("rows", PositionalEvaluation::Rows),
    ("linear", PositionalEvaluation::Linear),
    ("network", PositionalEvaluation::Network),
];

/// A whole number with bounds.
fn whole(value: &mut u32, bounds: [u32; 2]) -> Option<Field<'_>> {
    Some(Field::whole(bounds, None, Some(*value), value, |value, number| number.unwrap_or(*value)))
}

/// A weight in hundredths of a move. The bound keeps evaluations far below the values of won races (`pvs::value`).
fn hundredths(value: &mut i32) -> Option<Field<'_>> {
    const MAX_WEIGHT: u32 = 10_000;
    Some(Field::whole([0, MAX_WEIGHT], None, Some(*value), value, |value, number| {
        number.map_or(*value, |number| number as i32)
    }))
}

/// Returns the field of a key.
fn field<'a, T>(rows: &[Row<T>], target: &'a mut T, key: &str) -> Option<Field<'a>> {
    rows.iter().find(|(known, _)| *known == key).and_then(|(_, field)| field(target))
}

/// Checks that every value is one that its field reads.
fn check_rows<T: Clone>(rows: &[Row<T>], target: &T) -> Result<(), String> {
    let mut target = target.clone();
    rows.iter().try_for_each(|(key, field)| {
        let Some(text) = field(&mut target).and_then(Field::text) else { return Ok(()) };
        let Some(field) = field(&mut target) else { return Ok(()) };
        field.set(&text).map_err(|why| in_words((key, &text, why)))
    })
}

impl Config {
    /// Returns the player of a policy: all moves in the tree, and forward moves in
    /// playouts that continue to the end.
    fn of_policy(policy: Policy) -> Config {
        let Policy::Search(search) = policy else { return Config::Random };
        Config::Uct(UctConfig {
            moves: Filter::All,
            random: 1.0,
            threshold: 0,
            end: PlayoutEnd::PlayedOut,
            depth: 0,
            difference_weight: 0.0,
            length_weight: 0.0,
            is_guided: false,
            temperature: 0.0,
            has_own_playouts: search.playout == PlayoutPolicy::Random,
            search,
        })
    }

    /// Returns the text of a parameter.
    pub(crate) fn get(&self, key: &str) -> Option<String> {
        match self.clone() {
            Config::Uct(mut uct) => field(UCT, &mut uct, key).and_then(Field::text).or_else(|| {
                let mut parameters = uct.search.parameters().into_iter();
                parameters.find(|(known, _)| *known == key).map(|(_, text)| text)
            }),
            Config::AlphaBeta(mut config) => field(ALPHA_BETA, &mut config, key)?.text(),
            Config::Pvs(mut pvs) => field(PVS, &mut pvs, key)?.text(),
            _ => None,
        }
    }

    /// Sets a parameter.
    ///
    /// # Errors
    ///
    /// Returns a message if the player has no such parameter, or the text is no value of it.
    pub(crate) fn set(&mut self, key: &str, text: &str) -> Result<(), String> {
        let set = match self {
            Config::Uct(uct) => uct.set(key, text),
            Config::AlphaBeta(config) => field(ALPHA_BETA, config, key).map(|field| field.set(text)),
            Config::Pvs(pvs) => field(PVS, pvs, key).map(|field| field.set(text)),
            _ => None,
        };
        set.unwrap_or_else(|| {
            let known: Vec<&str> = match self {
                Config::Uct(_) => {
                    let policies = parameters().into_iter().map(|parameter| parameter.key);
                    UCT.iter().map(|(key, _)| *key).chain(policies).collect()
                }
                Config::AlphaBeta(_) => ALPHA_BETA.iter().map(|(key, _)| *key).collect(),
                Config::Pvs(_) => PVS.iter().map(|(key, _)| *key).collect(),
                _ => Vec::new(),
            };
            let similar = nearest(key, known).map(|similar| format!("; did you mean `{similar}`?"));
            Err(format!("unknown key `{key}`{}", similar.unwrap_or_default()))
        })
    }

    /// Sets parameters in order.
    fn set_values<'a>(&mut self, pairs: impl IntoIterator<Item = (&'a str, Value)>) -> Result<(), String> {
        let mut texts = Vec::new();
        for (key, value) in pairs {
            texts.push((key, scalar_text(&value).ok_or_else(|| format!("`{key}` is no value"))?));
        }
        let pairs = texts.iter().map(|(key, text)| (*key, text.as_str()));
        set_in_order(pairs, |key, text| self.set(key, text)).map_err(in_words)
    }

    /// Returns the player of a table that is `like` another, or complete. A table with a `kind` of its own has all
    /// parameters of the kind that the other player lacks.
    fn defined(like: Option<Config>, own: Table) -> Result<Config, String> {
        let (mut config, own) = match like {
            Some(like) if !own.contains_key("kind") => (like, own),
            like => {
                // Parameters of policies that a stored player has in its parts stand beside its other parameters here.
                let is_uct = own.get("kind").and_then(Value::as_str) == Some("uct");
                let stored = |key: &str| key == "c" || !is_uct || !SearchPolicy::knows(key);
                let (complete, policy): (Table, Table) = own.into_iter().partition(|(key, _)| stored(key));
                let like = like.map(|like| Table::try_from(like).expect("a configuration is a table"));
                let config = Value::Table(like.into_iter().flatten().chain(complete).collect()).try_into();
                (config.map_err(|error: toml::de::Error| plain_serde(error.message()))?, policy)
            }
        };
        config.set_values(parts_first(own.iter().map(|(key, value)| (key.as_str(), value.clone()))))?;
        Ok(config)
    }

    /// Checks the ranges and the combination of the parameters. The error is the
    /// reason why they are invalid.
    fn check(&self) -> Result<(), String> {
        match self {
            Config::Uct(uct) => check_rows(UCT, uct).and_then(|()| uct.check()),
            Config::AlphaBeta(config) => check_rows(ALPHA_BETA, config),
            Config::Pvs(pvs) => check_rows(PVS, pvs),
            _ => Ok(()),
        }
    }

    /// Returns whether every search of the player ends, by these limits or by
    /// itself.
    pub fn ends_by(&self, limits: &Limits) -> bool {
        let counted = limits.expansions.is_some() || limits.time.is_some();
        match self {
            Config::Uct(_) => counted || limits.playouts.is_some(),
            Config::Pvs(pvs) => counted || limits.depth.is_some() || pvs.level.is_some(),
            _ => true,
        }
    }

    /// Returns the name of the search.
    pub fn search_name(&self) -> &'static str {
        match self {
            Config::Uct(uct) if uct.is_guided => "PUCT",
            Config::Uct(_) => "MCTS",
            Config::AlphaBeta(_) => "alpha-beta",
            Config::Pvs(_) => "principal-variation search",
            _ => "none",
        }
    }

    /// Returns the [revision](SearchPolicy::revision) of its policy parameters.
    pub(crate) fn revision(&self) -> Option<u32> {
        match self {
            Config::Uct(uct) => uct.search.revision(),
            _ => None,
        }
    }

    /// Returns whether the player reads a file that its parameters name.
    pub fn reads_file(&self) -> bool {
        matches!(self, Config::Pvs(config) if !config.weights.is_empty())
    }

    /// Returns whether the player needs a distance table.
    pub fn needs_table(&self) -> bool {
        match self {
            Config::Uct(uct) => uct.end != PlayoutEnd::PlayedOut,
            Config::AlphaBeta(config) => config.evaluation == Evaluation::Table,
            Config::Pvs(_) => true,
            _ => false,
        }
    }
}

impl UctConfig {
    /// Sets a parameter of the player or of its search, or returns `None` if there is none of this name.
    fn set(&mut self, key: &str, text: &str) -> Option<Result<(), String>> {
        match key {
            "selection" => {
                self.is_guided = text == "guided";
                if self.is_guided {
                    return Some(Ok(()));
                }
            }
            "playout" => self.has_own_playouts = false,
            _ => {}
        }
        let own = field(UCT, self, key).map(|field| field.set(text));
        own.or_else(|| SearchPolicy::knows(key).then(|| self.search.set(key, text)))
    }

    /// Checks the combination of the parameters.
    fn check(&self) -> Result<(), String> {
        let search = &self.search;
        search.check()?;
        if search.decision == Decision::EffectiveQuality && self.threshold > 0 {
            return Err("`play=eq` looks at the states after moves, and goes with `threshold=0`".to_owned());
        }
        if search.solver && self.length_weight != 0.0 {
            return Err("`solver=yes` goes with `length_weight=0`, for lengths change from move to move".to_owned());
        }
        if self.is_guided {
            if !StoredUct::from(self.clone()).parts.is_empty() {
                return Err("guided selection goes with playouts of its own, not with other parts".to_owned());
            }
            if self.end != PlayoutEnd::FixedDepth {
                return Err("guided selection goes with playouts of fixed depth".to_owned());
            }
            if !(self.temperature > 0.0 && self.difference_weight > 0.0) {
                return Err("guided selection takes `temperature` and `difference_weight` above 0".to_owned());
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_player_that_ships_is_complete() {
        let roster = Roster::built_in();
        assert_eq!(roster.names().count(), 19);
        for name in roster.names() {
            roster.config(name).unwrap();
            assert!(roster.about(name).is_some_and(|about| about.len() < 90), "{name}");
        }
        let mut own = roster;
        own.add(Roster::parse("[heur0]\nlike = 'base0'\n[mine]\nlike = 'mcts'\nabout = 'my own'").unwrap());
        assert_eq!((own.about("heur0"), own.about("mine"), own.about("unknown")), (None, Some("my own"), None));
        assert!(Roster::parse("[mine]\nabout = 3").unwrap_err().to_string().contains("`about` is not a text"));
    }

    #[test]
    fn printed_values_of_the_paper_are_those_that_ship() {
        let roster = Roster::built_in();
        let uct = |name: &str| match roster.config(name).unwrap() {
            Config::Uct(uct) => uct,
            other => panic!("{other:?} is no UCT player"),
        };
        for (name, moves, random, threshold, depth) in [
            ("base0", Filter::Forward, 0.17, 18, 0),
            ("base1", Filter::NonBackward, 0.14, 18, 0),
            ("base2", Filter::All, 0.22, 20, 0),
            ("heur0", Filter::Forward, 0.43, 32, 13),
            ("heur1", Filter::NonBackward, 0.55, 20, 13),
            ("heur2", Filter::All, 0.32, 27, 14),
            ("end0", Filter::Forward, 0.17, 18, 0),
            ("end1", Filter::NonBackward, 0.06, 2, 0),
            ("end2", Filter::All, 0.21, 23, 0),
        ] {
            let found = uct(name);
            assert_eq!((found.moves, found.random, found.threshold, found.depth), (moves, random, threshold, depth));
        }
        assert_eq!(uct("base2").search, uct("base0").search);
    }

    #[test]
    fn policies_are_players_and_parts_of_players() {
        let roster = Roster::built_in();
        let uct = |text: &str| match roster.config(text).unwrap() {
            Config::Uct(uct) => uct,
            other => panic!("{other:?} is no UCT player"),
        };
        let searches = |text: &str| uct(text).search.to_string();
        assert_eq!(searches("nst,n=2"), "uct,c=0.4,playout=nst,n=2,least=7,epsilon=0.2");
        let adaptive = "uct,c=0.4,playout=nst,n=2,least=7,epsilon=0.2,omega=0.97,solver=yes,lanes=auto";
        assert_eq!(searches("adaptive"), adaptive);
        assert_eq!(searches("base,ref=inf"), "grave,c=0.2,k=250,ref=inf,playout=mast,epsilon=0.4");
        let heur0 = uct("heur0,selection=grave,playout=mast,tau=10,play=visits,c=0.3,threshold=4");
        assert_eq!((heur0.end, heur0.depth, heur0.threshold), (PlayoutEnd::FixedDepth, 13, 4));
        let search = heur0.search.to_string();
        assert_eq!(search, "grave,c=0.3,k=250,ref=50,playout=mast,tau=10,play=visits");
        assert_eq!(searches("heur0"), "uct,c=0.175");
        assert_eq!(searches("cadia,epsilon=0.3"), "uct,c=0.4,playout=mast,epsilon=0.3");
        assert_eq!(searches("base,selection=uct,c=1"), "uct,c=1,playout=mast,epsilon=0.4");
        assert_eq!(
            searches("mini,decision=most-visits,strategies=R"),
            "uct,c=0.4,playout=mini,b=5,strategies=R,play=visits"
        );
        assert_eq!(["heur0", "heur0,selection=grave"].map(|text| uct(text).has_own_playouts), [true; 2]);
        assert_eq!(["heur0,playout=random", "nst"].map(|text| uct(text).has_own_playouts), [false; 2]);
        let mut own = Roster::built_in();
        own.add(Roster::parse("[mine]\nlike = 'heur0'\nplayout = 'nst'\nepsilon = 0.1").unwrap());
        assert_eq!(own.config("mine").unwrap(), own.config("heur0,playout=nst,epsilon=0.1").unwrap());
        // A serialized player defines the same player.
        let kept = toml::to_string(&Config::Uct(heur0.clone())).unwrap();
        assert_eq!(toml::from_str::<Config>(&kept).unwrap(), Config::Uct(heur0));
        let invalid = kept.replace("tau = 10", "tau = -10");
        assert!(toml::from_str::<Config>(&invalid).unwrap_err().to_string().contains("expected a number > 0"));
        assert_eq!(roster.config("random").unwrap(), Config::Random);
        for (text, why) in [
            ("heur0,epsilon=0.1", "`epsilon` needs `playout=mast`"),
            ("nst,epsilon=2", "from 0 to 1"),
            ("mcts,playout=mast", "guided selection goes with playouts of its own"),
            ("ab-avg,playout=mast", "unknown key `playout`"),
            ("heur0,playout=mini,play=eq", "goes with `threshold=0`"),
            ("heur0,solver=yes", "goes with `length_weight=0`"),
        ] {
            let error = roster.config(text).unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    #[test]
    fn a_policy_is_the_same_on_boards_and_on_rulesheets() {
        let roster = Roster::built_in();
        for text in [
            "nst,n=2,playout=mast",
            "nst,playout=mast,epsilon=0.3",
            "nst,epsilon=0.3,playout=mast",
            "uct,epsilon=0.1,playout=nst,n=2",
            "uct,n=1,playout=nst,n=2",
            "mini,b=3,playout=mast",
            "mini,b=3,allocation=best",
            "tuned,tune-c=0.5,tune=lsi",
            "tuned,tune-c=0.5,tune=none",
            "nst,epsilon=0.3,playout=random",
            "grave,k=10,selection=uct",
            "base,epsilon=0.1,tau=5",
            "nst,transpositions=true",
            "nst,transpositions=yes",
            "mast,play=visits,solver=yes",
        ] {
            let Policy::Search(expected) = text.parse().unwrap() else { panic!("{text}") };
            let Config::Uct(board) = roster.config(text).unwrap() else { panic!("{text}") };
            assert_eq!(board.search.to_string(), expected.to_string(), "{text}");
            // A stored player is the same player.
            let stored = serde_json::to_string(&Config::Uct(board.clone())).unwrap();
            assert_eq!(serde_json::from_str::<Config>(&stored).unwrap(), Config::Uct(board), "{stored}");
        }
    }

    #[test]
    fn a_player_like_another_can_replace_its_parts() {
        let mut roster = Roster::built_in();
        let own = "[mine]\nlike = 'heur0'\nplayout = 'nst'\n[three]\nlike = 'mine'\nn = 2\n\
            [four]\nlike = 'three'\nplayout = 'mast'\nepsilon = 0.3\n[guided]\nlike = 'four'\nselection = 'guided'\n\
            [whole]\nkind = 'uct'\nmoves = 'all'\nrandom = 1\nthreshold = 0\nend = 'played-out'\nc = 0.3\n\
            length_weight = 0\nselection = 'grave'\nk = 10\ntranspositions = true";
        roster.add(Roster::parse(own).unwrap());
        let search = |name: &str| match roster.config(name).unwrap() {
            Config::Uct(uct) => uct.search.to_string(),
            other => panic!("{other:?}"),
        };
        assert_eq!(search("three"), "uct,c=0.175,playout=nst,n=2,least=7,epsilon=0.2");
        assert_eq!(search("four"), "uct,c=0.175,playout=mast,epsilon=0.3");
        assert_eq!(search("whole"), "grave,c=0.3,k=10,ref=50,transpositions=yes");
        let error = roster.config("guided").unwrap_err().to_string();
        assert!(error.contains("guided selection goes with playouts of its own"), "{error}");
        roster.add(Roster::parse("[other]\nlike = 'greedy'\nkind = 'random'").unwrap());
        assert_eq!(
            ["other", "greedy,kind=random"].map(|text| roster.config(text).unwrap()),
            [const { Config::Random }; 2]
        );
    }

    #[test]
    fn stored_players_of_earlier_versions_are_read() {
        let stored = |end: &str| {
            let own = r#""kind":"uct","moves":"all","random":1.0,"threshold":0,"end":"played-out","depth":0"#;
            format!(r#"{{{own},"difference_weight":0.0,"c":0.4,"length_weight":0.0,"decision":"best-average"{end}}}"#)
        };
        for (end, text) in [
            ("", "uct"),
            (r#","parts":{"playout":"nst","n":2}"#, "nst,n=2"),
            (r#","parts":{"playout":"nst","play":"visits"}"#, "nst,play=visits"),
            (r#","parts":{"playout":"nst","transpositions":"yes"}"#, "nst,transpositions=true"),
            (
                r#","transpositions":true,"parts":{"epsilon":0.1,"playout":"mast"}"#,
                "mast,transpositions=yes,epsilon=0.1",
            ),
            (r#","parts":{"selection":"grave","k":10}"#, "uct,selection=grave,k=10"),
        ] {
            let config: Config = serde_json::from_str(&stored(end)).unwrap();
            assert_eq!(config, Roster::built_in().config(text).unwrap(), "{end}");
        }
        let error = serde_json::from_str::<Config>(&stored(r#","parts":{"moves":"all","colour":3}"#)).unwrap_err();
        assert!(error.to_string().contains("no parameter of policies"), "{error}");
    }

    #[test]
    fn names_of_values_are_those_of_stored_players() {
        fn assert_names<T: Serialize + Copy>(names: Names<T>) {
            for (name, value) in names {
                assert_eq!(serde_json::to_value(value).unwrap(), *name);
            }
        }
        assert_names(FILTERS);
        assert_names(ENDS);
        assert_names(EVALUATIONS);
        for (name, decision) in DECISIONS {
            assert_eq!(serde_json::to_value(DecisionRule::try_from(*decision).unwrap()).unwrap(), *name);
        }
        for name in ["mean-row", "table"] {
            let config = Roster::built_in().config(&format!("ab-avg,evaluation={name}")).unwrap();
            assert_eq!(serde_json::to_value(config).unwrap()["evaluation"], name);
        }
    }

    #[test]
    fn a_player_may_be_changed_by_name() {
        let roster = Roster::built_in();
        let quoted = roster.config("sternhalma,weights='w.bin',table_megabytes=1_024,level=3").unwrap();
        assert_eq!(quoted, roster.config("sternhalma,level = 3,table_megabytes=1024, weights=w.bin").unwrap());
        let Config::Uct(uct) = roster.config("heur0,c=0.7, threshold=5,moves=all").unwrap() else { panic!() };
        assert_eq!((uct.search.selection.c(), uct.threshold, uct.moves), (0.7, 5, Filter::All));
        for (text, why) in [
            ("heur9", "there is no player `heur9`; did you mean `heur0`?"),
            ("utc", "there is no player `utc`; did you mean `uct`?"),
            ("minimax", "there is no player `minimax`; the players are ab-avg, ab-lookup"),
            ("heur0,cc=1", "unknown key `cc`; did you mean `c`?"),
            ("heur0,epsilom=1", "unknown key `epsilom`; did you mean `epsilon`?"),
            ("heur0,c", "is not `key=value`"),
            ("heur0,colour=1", "unknown key `colour`"),
            ("heur0,c=red", "`c=red`: expected a number ≥ 0, got `red`"),
            ("heur0,random=1.5", "expected a number from 0 to 1, got `1.5`"),
            ("heur0,c=nan", "expected a number ≥ 0"),
            ("heur0,length_weight=inf", "expected a finite number, got `inf`"),
            ("base0,selection=guided", "fixed depth"),
            ("mcts,temperature=0", "above 0"),
            ("sternhalma,table_megabytes=0", "1 to 65536"),
            ("sternhalma,row=-1", "0 to 10000"),
        ] {
            let error = roster.config(text).unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
        let loop_of_two = Roster::parse("[a]\nlike = 'b'\n[b]\nlike = 'a'").unwrap();
        assert!(loop_of_two.config("a").unwrap_err().to_string().contains("like itself"));
    }
}
