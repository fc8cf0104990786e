//! Configurations of players.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sternhalma_ggp::mcts::Decision;
use sternhalma_ggp::param_table::ParamError;
use sternhalma_ggp::policy::{PlayoutPolicy, SearchPolicy, SelectionPolicy, parts_first, set_in_order};
use sternhalma_ggp::{Limits, Policy};
use toml::Value;

use crate::players::evaluate::{SeparationTest, TieRule};
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
    /// For the separation of the armies: the states in which it is tested.
    pub separation: SeparationTest,
    /// For the separation of the armies: the winner of a tie.
    pub ties: TieRule,
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
    /// The other parameters, as of policies (docs/reference/policies.md). The playouts of a policy use forward moves.
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
    #[serde(default, skip_serializing_if = "is_default")]
    separation: SeparationTest,
    #[serde(default, skip_serializing_if = "is_default")]
    ties: TieRule,
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
        let StoredUct { moves, random, threshold, end, separation, ties, depth, .. } = stored;
        let StoredUct { difference_weight, length_weight, temperature, .. } = stored;
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
            separation,
            ties,
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
            config.set(key, text).unwrap_or(Err(ParamError::Form("it is no parameter of policies")))
        })
        .map_err(|wrong| wrong.to_string())?;
        Ok(config)
    }
}

impl From<UctConfig> for StoredUct {
    fn from(config: UctConfig) -> StoredUct {
        let UctConfig { moves, random, threshold, end, separation, ties, depth, .. } = config;
        let UctConfig { difference_weight, length_weight, temperature, .. } = config;
        let (search, parts) = (&config.search, config.parts());
        StoredUct {
            moves,
            random,
            threshold,
            end,
            separation,
            ties,
            depth,
            difference_weight,
            c: search.selection.c(),
            length_weight,
            decision: search.decision.try_into().unwrap_or_default(),
            selection: if config.is_guided { TreePolicy::Guided } else { TreePolicy::Uct },
            temperature,
            transpositions: search.transpositions,
            parts,
        }
    }
}

impl UctConfig {
    /// Returns the parameters of policies that have no key of their own in a stored player.
    pub(super) fn parts(&self) -> BTreeMap<String, Value> {
        let mut parts: BTreeMap<String, Value> = BTreeMap::new();
        for (key, text) in self.search.parameters() {
            let is_part = match key {
                "c" | "transpositions" => false,
                "selection" => text != "uct",
                "play" => DecisionRule::try_from(self.search.decision).is_err(),
                _ => true,
            };
            // Whole numbers are written as integers.
            let number = text.parse().map(Value::Integer).or_else(|_| text.parse().map(Value::Float));
            is_part.then(|| parts.insert(key.to_owned(), number.unwrap_or(Value::String(text))));
        }
        // `parameters` omits random playouts, the default, and a stored player without this key has playouts of its own.
        if !self.has_own_playouts {
            parts.entry("playout".to_owned()).or_insert_with(|| Value::String("random".to_owned()));
        }
        parts
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

/// Returns the text of a number, a truth value or a text.
pub(super) fn scalar_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Integer(_) | Value::Float(_) | Value::Boolean(_) => Some(value.to_string()),
        _ => None,
    }
}

impl Config {
    /// Returns the player of a policy: all moves in the tree, and forward moves in
    /// playouts that continue to the end.
    pub(super) fn of_policy(policy: Policy) -> Config {
        let Policy::Search(search) = policy else { return Config::Random };
        Config::Uct(UctConfig {
            moves: Filter::All,
            random: 1.0,
            threshold: 0,
            end: PlayoutEnd::PlayedOut,
            separation: SeparationTest::default(),
            ties: TieRule::default(),
            depth: 0,
            difference_weight: 0.0,
            length_weight: 0.0,
            is_guided: false,
            temperature: 0.0,
            has_own_playouts: search.playout == PlayoutPolicy::Random,
            search,
        })
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
