//! Configurations of players.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, de};
use sternhalma_ggp::messages::{nearest, plain_serde, suggestion};
use sternhalma_ggp::policy::{NAMED_POLICIES, SearchPolicy, SelectionPolicy, parameters};
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
    #[serde(deserialize_with = "uct_config")]
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
#[serde(deny_unknown_fields)]
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
    #[serde(default)]
    pub depth: u32,
    /// For fixed depth: the reward per move of table difference.
    #[serde(default)]
    pub difference_weight: f64,
    /// The exploration constant, for rewards from 0 to 1.
    pub c: f64,
    /// The maximum effect of the length of a simulation on its reward.
    pub length_weight: f64,
    /// The rule for the final move.
    #[serde(default)]
    pub decision: DecisionRule,
    /// The selection in the tree.
    #[serde(default, skip_serializing_if = "is_default")]
    pub selection: TreePolicy,
    /// For guided selection: a move that is behind another by this table
    /// distance, in moves, gets 1/e of its probability.
    #[serde(default, skip_serializing_if = "is_default")]
    pub temperature: f64,
    /// Whether states that are reached by other orders of the same moves share
    /// a node.
    #[serde(default, skip_serializing_if = "is_default")]
    pub transpositions: bool,
    /// Parameters of policies (docs/policies.md) that replace its own parts, as
    /// they were given. The playouts of these policies use forward moves.
    #[serde(default, skip_serializing_if = "is_default")]
    parts: BTreeMap<String, Value>,
    /// The search that `parts` define, if there are any.
    #[serde(skip)]
    search: Option<SearchPolicy>,
}

/// Reads the configuration of a UCT player, and parses its policy parameters.
fn uct_config<'de, D: Deserializer<'de>>(deserializer: D) -> Result<UctConfig, D::Error> {
    let mut config = UctConfig::deserialize(deserializer)?;
    config.search = config.parse_parts().map_err(de::Error::custom)?;
    Ok(config)
}

/// A rule that selects among the moves of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TreePolicy {
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

impl From<DecisionRule> for sternhalma_ggp::mcts::Decision {
    fn from(decision: DecisionRule) -> sternhalma_ggp::mcts::Decision {
        match decision {
            DecisionRule::BestAverage => sternhalma_ggp::mcts::Decision::BestAverage,
            DecisionRule::MostVisits => sternhalma_ggp::mcts::Decision::MostVisits,
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
    /// with some parameters changed.
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
        let mut table = match (self.resolve(name, 0), name.parse::<Policy>()) {
            (Err(ConfigError::Unknown { .. }), Ok(policy)) => table_of(&policy),
            (known, _) => put_in_place(known?),
        };
        for change in words {
            let (key, value) = change.split_once('=').ok_or_else(|| wrong(format!("`{change}` is not `key=value`")))?;
            let (key, value) = (key.trim(), value.trim());
            let parsed = format!("v = {value}").parse::<Table>().or_else(|_| format!("v = '{value}'").parse());
            let mut parsed = parsed.map_err(|_| wrong(format!("`{value}` is no value")))?;
            change_in(&mut table, key, parsed.remove("v").expect("the text defines v"));
        }
        let config: Config =
            Value::Table(table).try_into().map_err(|error: toml::de::Error| wrong(plain_error(error.message())))?;
        config.check().map_err(wrong)?;
        Ok(config)
    }

    /// Returns a player's table, including the inherited parameters.
    fn resolve(&self, name: &str, depth: usize) -> Result<Table, ConfigError> {
        let unknown = || {
            let policies = NAMED_POLICIES.iter().map(|policy| policy.name);
            let suggestion = match nearest(name, self.names().chain(policies)) {
                Some(similar) => format!("; did you mean `{similar}`?"),
                None => suggestion(name, "players", self.names()) + ", and policies such as `nst`",
            };
            ConfigError::Unknown { name: name.to_owned(), suggestion }
        };
        let own = self.players.get(name).ok_or_else(unknown)?;
        let Some(like) = own.get("like") else { return Ok(own.clone()) };
        let wrong = |why: &str| ConfigError::Player { name: name.to_owned(), why: why.to_owned() };
        if depth > self.players.len() {
            return Err(wrong("it is like itself"));
        }
        let mut table = self.resolve(like.as_str().ok_or_else(|| wrong("`like` is no name"))?, depth + 1)?;
        table.extend(own.iter().filter(|(key, _)| *key != "like").map(|(key, value)| (key.clone(), value.clone())));
        Ok(table)
    }
}

/// Returns the message of an error in a player's parameters, in plain words. Suggests the parameters of policies, too.
fn plain_error(message: &str) -> String {
    let plain = plain_serde(message);
    let key = plain.strip_prefix("unknown key `").and_then(|rest| rest.split('`').next());
    let similar = key.and_then(|key| nearest(key, parameters().iter().map(|parameter| parameter.key)));
    match (key, similar) {
        (Some(key), Some(similar)) if key != similar && !plain.contains("did you mean") => {
            format!("unknown key `{key}`; did you mean `{similar}`?")
        }
        _ => plain,
    }
}

/// Returns the player of a policy: all moves in the tree, and forward moves in
/// playouts that continue to the end.
fn table_of(policy: &Policy) -> Table {
    let text = "kind = 'uct'\nmoves = 'all'\nrandom = 1\nthreshold = 0\nend = 'played-out'\nc = 0\nlength_weight = 0";
    let mut table: Table = text.parse().expect("the text is TOML");
    let Policy::Search(search) = policy else { return table };
    for (key, value) in search.parameters() {
        // Whole numbers are written as integers.
        let number = value.parse().map(Value::Integer).or_else(|_| value.parse().map(Value::Float));
        change_in(&mut table, key, number.unwrap_or(Value::String(value)));
    }
    table
}

/// Changes a parameter of a player. If the player searches with UCT and has no
/// such parameter, the change is for its parts. Replaced parameters are
/// removed.
fn change_in(table: &mut Table, key: &str, value: Value) {
    let searches = table.get("kind").and_then(Value::as_str) == Some("uct");
    let own = match (key, value.as_str()) {
        ("selection", Some("guided")) => true,
        ("selection", Some("uct")) if !table.contains_key("parts") => true,
        ("c", _) => true,
        ("transpositions", _) => value.is_bool(),
        _ => !SearchPolicy::knows(key),
    };
    if own || !searches {
        table.insert(key.to_owned(), value);
        if let (true, "decision", Some(Value::Table(parts))) = (searches, key, table.get_mut("parts")) {
            parts.remove("play");
        }
        return;
    }
    let replaced: &[&str] = match key {
        "epsilon" => &["tau"],
        "tau" => &["epsilon"],
        "selection" => &["k", "ref", "form"],
        _ => &[],
    };
    if key == "selection" {
        table.remove(key);
    }
    let Value::Table(parts) = table.entry("parts").or_insert_with(|| Value::Table(Table::new())) else { return };
    replaced.iter().for_each(|key| _ = parts.remove(*key));
    parts.insert(key.to_owned(), value);
}

/// Applies a player's parameters in their order.
fn put_in_place(parameters: Table) -> Table {
    let mut table = Table::new();
    let (kind, others): (Vec<_>, Vec<_>) = parameters.into_iter().partition(|(key, _)| key == "kind" || key == "parts");
    table.extend(kind);
    others.into_iter().for_each(|(key, value)| change_in(&mut table, &key, value));
    table
}

impl Config {
    /// Checks the ranges and the combination of the parameters. The error is the
    /// reason why they are invalid.
    fn check(&self) -> Result<(), String> {
        match self {
            Config::Uct(uct) => uct.check(),
            Config::Pvs(pvs) => pvs.check(),
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
            Config::Uct(uct) if uct.selection == TreePolicy::Guided => "PUCT",
            Config::Uct(_) => "MCTS",
            Config::AlphaBeta(_) => "alpha-beta",
            Config::Pvs(_) => "principal-variation search",
            _ => "none",
        }
    }

    /// Returns the [revision](SearchPolicy::revision) of its policy parameters.
    pub(crate) fn revision(&self) -> Option<u32> {
        match self {
            Config::Uct(uct) => uct.search()?.revision(),
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
    /// Returns whether the player has its own playouts, not those of a policy.
    pub(crate) fn has_own_playouts(&self) -> bool {
        !self.parts.contains_key("playout")
    }

    /// Returns the search of its policy parameters, if it has any.
    pub(crate) fn search(&self) -> Option<&SearchPolicy> {
        self.search.as_ref()
    }

    /// Parses the policy parameters in `parts`. The exploration constant and the
    /// final move of the player apply unless the parts have their own. Returns
    /// `None` without parts.
    ///
    /// # Errors
    ///
    /// Returns a message if a part is unknown or has an invalid value.
    fn parse_parts(&self) -> Result<Option<SearchPolicy>, String> {
        if self.parts.is_empty() {
            return Ok(None);
        }
        let mut search = SearchPolicy {
            selection: SelectionPolicy::Uct { c: self.c },
            decision: self.decision.into(),
            ..SearchPolicy::default()
        };
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let parts: Vec<(&str, String)> = self.parts.iter().map(|(key, value)| (key.as_str(), text(value))).collect();
        search.set_all(parts.iter().map(|(key, text)| (*key, text.as_str())))?;
        Ok(Some(search))
    }

    /// Checks the parameters, with `search` already parsed from `parts`.
    fn check(&self) -> Result<(), String> {
        if let Some(search) = &self.search {
            if self.selection == TreePolicy::Guided {
                return Err("guided selection goes with playouts of its own, not with other parts".to_owned());
            }
            if search.decision == sternhalma_ggp::mcts::Decision::EffectiveQuality && self.threshold > 0 {
                return Err("`play=eq` looks at the states after moves, and goes with `threshold=0`".to_owned());
            }
            if search.solver && self.length_weight != 0.0 {
                return Err("`solver=yes` goes with `length_weight=0`, for lengths change from move to move".to_owned());
            }
        }
        if !(0.0..=1.0).contains(&self.random) {
            return Err(format!("`random` is a share of 0 to 1, not {}", self.random));
        }
        if !(self.c >= 0.0
            && self.c.is_finite()
            && self.length_weight.is_finite()
            && self.difference_weight.is_finite())
        {
            return Err("`c` is at least 0, and the weights are finite".to_owned());
        }
        if self.selection == TreePolicy::Guided {
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

impl PvsConfig {
    fn check(&self) -> Result<(), String> {
        if self.depth == 0 || !(1..=MOST_MEGABYTES).contains(&self.table_megabytes) {
            return Err(format!("`depth` is at least 1, and `table_megabytes` 1 to {MOST_MEGABYTES}"));
        }
        if !(1..=MOST_THREADS).contains(&self.threads) {
            return Err(format!("`threads` is a number from 1 to {MOST_THREADS}"));
        }
        // This keeps evaluations far below the values of won races (`pvs::value`).
        const MOST_WEIGHT: i32 = 10_000;
        let weights = [self.futility, self.row, self.rearmost, self.second, self.tempo];
        if !weights.iter().all(|weight| (0..=MOST_WEIGHT).contains(weight)) {
            return Err(format!("weights and `futility` are 0 to {MOST_WEIGHT} hundredths of a move"));
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
        assert_eq!(uct("base2").c, uct("base0").c);
    }

    #[test]
    fn policies_are_players_and_parts_of_players() {
        let roster = Roster::built_in();
        let uct = |text: &str| match roster.config(text).unwrap() {
            Config::Uct(uct) => uct,
            other => panic!("{other:?} is no UCT player"),
        };
        let searches = |text: &str| uct(text).search().unwrap().to_string();
        assert_eq!(searches("nst,n=2"), "uct,c=0.4,playout=nst,n=2,least=7,epsilon=0.2");
        let adaptive = "uct,c=0.4,playout=nst,n=2,least=7,epsilon=0.2,omega=0.97,solver=yes,lanes=auto";
        assert_eq!(searches("adaptive"), adaptive);
        assert_eq!(searches("base,ref=inf"), "grave,c=0.2,k=250,ref=inf,playout=mast,epsilon=0.4");
        let heur0 = uct("heur0,selection=grave,playout=mast,tau=10,play=visits,c=0.3,threshold=4");
        assert_eq!((heur0.end, heur0.depth, heur0.c, heur0.threshold), (PlayoutEnd::FixedDepth, 13, 0.3, 4));
        let search = heur0.search().unwrap().to_string();
        assert_eq!(search, "grave,c=0.3,k=250,ref=50,playout=mast,tau=10,play=visits");
        assert_eq!(uct("heur0").search(), None);
        assert_eq!(searches("cadia,epsilon=0.3"), "uct,c=0.4,playout=mast,epsilon=0.3");
        assert_eq!(searches("base,selection=uct,c=1"), "uct,c=1,playout=mast,epsilon=0.4");
        assert_eq!(
            searches("mini,decision=most-visits,strategies=R"),
            "uct,c=0.4,playout=mini,b=5,strategies=R,play=visits"
        );
        assert_eq!(["heur0", "heur0,selection=grave"].map(|text| uct(text).has_own_playouts()), [true; 2]);
        assert_eq!(["heur0,playout=random", "nst"].map(|text| uct(text).has_own_playouts()), [false; 2]);
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
    fn a_player_may_be_changed_by_name() {
        let roster = Roster::built_in();
        let Config::Uct(uct) = roster.config("heur0,c=0.7, threshold=5,moves=all").unwrap() else { panic!() };
        assert_eq!((uct.c, uct.threshold, uct.moves), (0.7, 5, Filter::All));
        for (text, why) in [
            ("heur9", "there is no player `heur9`; did you mean `heur0`?"),
            ("utc", "there is no player `utc`; did you mean `uct`?"),
            ("minimax", "there is no player `minimax`; the players are ab-avg, ab-lookup"),
            ("heur0,cc=1", "unknown key `cc`; did you mean `c`?"),
            ("heur0,epsilom=1", "unknown key `epsilom`; did you mean `epsilon`?"),
            ("heur0,c", "is not `key=value`"),
            ("heur0,colour=1", "unknown key `colour`"),
            ("heur0,c=red", "expected a number, got \"red\""),
            ("heur0,random=1.5", "a share of 0 to 1"),
            ("heur0,c=nan", "at least 0"),
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
