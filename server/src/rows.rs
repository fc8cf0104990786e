//! Parameters and parts of answers that several routes share.

use serde::{Deserialize, Serialize};
use sternhalma_data::{Board, Cell, CellSet, Geometry, Move, Probe, RuleSet, Side, State, Table, TableError};
use sternhalma_engine::record::{JsonValue, MARK_LIMITS, MarkLimits};
use sternhalma_engine::ugi::action_text;
use sternhalma_engine::{OCCURRENCES, SearchInfo, SearchValue};
use utoipa::ToSchema;

use crate::openapi;

/// Returns the side of the pieces of a request that has none.
pub fn default_player() -> Side {
    Side::X
}

/// Returns a distance as a short text: `=` or, for an upper bound, `<` before it. A distance that is not known
/// is an empty text.
pub fn short(probe: Probe) -> String {
    match probe {
        Probe::Exact(distance) => format!("={distance}"),
        Probe::UpperBound(distance) => format!("<{distance}"),
        Probe::NotCovered => String::new(),
    }
}

/// Returns the difference of a distance to an earlier one, if both are known.
pub fn change(after: Probe, before: Probe) -> Option<i16> {
    Some(i16::from(after.distance()?.0) - i16::from(before.distance()?.0))
}

/// A move, a shortest chain of hops, and the distance after it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
pub struct MoveRow {
    #[serde(rename = "move")]
    #[schema(value_type = openapi::Move)]
    mv: String,
    #[schema(value_type = openapi::Path)]
    path: Vec<String>,
    #[serde(flatten)]
    #[schema(value_type = openapi::Distance)]
    after: Probe,
    /// The distance after the move minus the distance before it.
    change: Option<i16>,
}

impl MoveRow {
    /// Returns the row of a move in board order. `others` are all pieces of both players in board order
    /// except the one that moves.
    pub fn new(board: Board, others: CellSet, mv: Move, before: Probe, after: Probe) -> MoveRow {
        let geometry = board.geometry();
        MoveRow { mv: geometry.move_text(mv), path: path(board, others, mv), after, change: change(after, before) }
    }

    /// Returns the move and the distance as a short text: the hops, and `=` or, for an upper bound, `<` before the
    /// distance.
    pub fn short(&self) -> String {
        let hops = if self.path.is_empty() { self.mv.clone() } else { self.path.join("-") };
        hops + &short(self.after)
    }

    /// Returns the row of a pass, which leaves the distance as it is.
    pub fn pass(distance: Probe) -> MoveRow {
        let (mv, change) = (sternhalma_engine::ugi::PASS.to_owned(), change(distance, distance));
        MoveRow { mv, path: Vec::new(), after: distance, change }
    }
}

/// The progress of a search, or its result.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = Info)]
pub struct InfoRow {
    /// The number of the line, from 1.
    #[schema(minimum = 1, maximum = 100)]
    line: usize,
    depth: u32,
    nodes: u64,
    playouts: u64,
    #[schema(minimum = 0)]
    seconds: f64,
    /// The value for the player to move.
    #[schema(value_type = Option<openapi::SearchValue>)]
    value: Option<JsonValue>,
    /// The principal variation.
    #[schema(value_type = Vec<openapi::Move>)]
    pv: Vec<String>,
}

/// A rule set of Chinese Checkers.
#[derive(Serialize, ToSchema)]
#[schema(as = Rules)]
pub struct RulesRow {
    #[schema(value_type = openapi::RuleSet)]
    name: RuleSet,
    about: &'static str,
    /// What the rule set forbids and when it ends a game, in sentences for players.
    explanation: &'static str,
    /// The occurrence of a position that is a draw, if repetitions count.
    repetitions: Option<usize>,
    /// Whether no newer version has replaced the rule set.
    current: bool,
}

impl RulesRow {
    /// Returns the rows of all rule sets, the newest first.
    pub fn all() -> Vec<RulesRow> {
        let row = |name: RuleSet| RulesRow {
            name,
            about: name.about(),
            explanation: name.explanation(),
            repetitions: name.counts_repetitions().then_some(OCCURRENCES),
            current: !name.is_replaced(),
        };
        RuleSet::ALL.into_iter().rev().map(row).collect()
    }
}

/// The losses from which a move is an inaccuracy, a mistake and a blunder.
#[derive(Serialize, ToSchema)]
#[schema(as = MarkLimits)]
pub struct MarkLimitsRow {
    /// Losses of lead, in moves.
    #[schema(value_type = openapi::Losses)]
    lead: [f64; 3],
    /// Losses of mean reward.
    #[schema(value_type = openapi::Losses)]
    reward: [f64; 3],
    /// Losses of distance, in moves, for positions that were not searched.
    #[schema(value_type = openapi::Losses)]
    distance: [f64; 3],
}

impl MarkLimitsRow {
    /// Returns the row of all reviews.
    pub fn new() -> MarkLimitsRow {
        let MarkLimits { lead, reward, distance } = MARK_LIMITS;
        MarkLimitsRow { lead, reward, distance }
    }
}

/// What a table contains. The names are those of `sternhalma info --json`.
#[derive(Serialize, ToSchema)]
#[schema(as = TableInfo)]
pub struct TableRow {
    name: String,
    /// The cells along an edge.
    #[schema(minimum = 3, maximum = 11)]
    side: usize,
    /// The pieces of an army.
    #[schema(minimum = 1, maximum = 15)]
    pieces: usize,
    /// The number of covered cells, those nearest the goal.
    #[schema(minimum = 1, maximum = 121)]
    within: usize,
    states: u64,
    #[schema(value_type = openapi::Encoding)]
    encoding: String,
    mirrored: bool,
    pub bytes: u64,
    #[schema(value_type = openapi::Moves)]
    max_distance: u8,
    /// The distance of the army in the corner opposite the goal.
    #[schema(value_type = Option<openapi::Moves>)]
    start_distance: Option<u8>,
    /// The largest distance that is exact; null if all are.
    exact_to: Option<u32>,
    #[schema(pattern = "^[0-9a-f]{16}$")]
    checksum: String,
}

impl TableRow {
    /// Describes a table with a name.
    ///
    /// # Errors
    /// If the data of the table is damaged.
    pub fn new(name: &str, table: &Table) -> Result<TableRow, TableError> {
        let (prefix, board) = (table.prefix(), table.board());
        Ok(TableRow {
            name: name.to_owned(),
            side: board.size(),
            pieces: board.pieces(),
            within: prefix.within(),
            states: prefix.states(),
            encoding: table.encoding().to_string(),
            mirrored: table.spec().mirrored,
            bytes: table.file_bytes(),
            max_distance: table.max_distance().0,
            start_distance: table.probe(State::start(board))?.distance().map(|distance| distance.0),
            exact_to: table.proven_depth(),
            checksum: table.checksum_text(),
        })
    }
}

/// A file that cannot be read.
#[derive(Serialize, ToSchema)]
pub struct Unreadable {
    /// Its name.
    pub name: String,
    /// The reason.
    pub error: String,
}

impl InfoRow {
    /// Returns the row of a search with its index among the lines. A value that is not finite is left out.
    pub fn new(geometry: &Geometry, index: usize, info: &SearchInfo) -> InfoRow {
        let finite = |value: &SearchValue| match value {
            SearchValue::Lead(number) | SearchValue::Reward(number) => number.is_finite(),
            SearchValue::Won(_) | SearchValue::Lost(_) => true,
        };
        InfoRow {
            line: index + 1,
            depth: info.spent.depth,
            nodes: info.spent.expansions,
            playouts: info.spent.playouts,
            seconds: info.spent.time.as_secs_f64(),
            value: info.value.filter(finite).map(JsonValue::from),
            pv: info.line.iter().map(|&action| action_text(geometry, action)).collect(),
        }
    }
}

/// Orders moves by the distance after them. Moves without one are last.
pub fn best_first(moves: &mut [MoveRow]) {
    moves.sort_by_key(|row| row.after.distance().map_or(u8::MAX, |distance| distance.0));
}

/// Returns the cells of a shortest chain of hops in board order. The first one is the source.
pub fn path(board: Board, others: CellSet, mv: Move) -> Vec<String> {
    let geometry = board.geometry();
    let path = geometry.move_path(others, mv).unwrap_or_else(|| vec![mv.from, mv.to]);
    path.into_iter().map(|cell: Cell| geometry.cell_name(cell)).collect()
}
