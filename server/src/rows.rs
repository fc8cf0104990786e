//! Parameters and parts of answers that several routes share.

use serde::{Deserialize, Deserializer, Serialize};
use sternhalma_data::{Board, Cell, CellSet, Geometry, Move, Probe, Side};
use sternhalma_engine::record::JsonValue;
use sternhalma_engine::ugi::action_text;
use sternhalma_engine::{SearchInfo, SearchValue};

/// The side of the pieces.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Player(pub Side);

impl Default for Player {
    fn default() -> Player {
        Player(Side::X)
    }
}

impl<'de> Deserialize<'de> for Player {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Player, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map(Player).map_err(serde::de::Error::custom)
    }
}

/// A distance, and whether it is exact or an upper bound. Both are `None` if the table does not cover the state.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct DistanceRow {
    /// The distance.
    pub distance: Option<u8>,
    /// Whether the distance is exact.
    pub exact: Option<bool>,
}

impl From<Probe> for DistanceRow {
    fn from(probe: Probe) -> DistanceRow {
        DistanceRow { distance: probe.distance().map(|distance| distance.0), exact: probe.is_exact() }
    }
}

impl DistanceRow {
    /// Returns the distance as a short text: `=` or, for an upper bound, `<` before it. A distance that is not known
    /// is an empty text.
    pub fn short(self) -> String {
        let sign = if self.exact == Some(true) { '=' } else { '<' };
        self.distance.map_or_else(String::new, |distance| format!("{sign}{distance}"))
    }

    /// Returns the difference to an earlier distance, if both are known.
    pub fn change(self, before: DistanceRow) -> Option<i16> {
        Some(i16::from(self.distance?) - i16::from(before.distance?))
    }
}

/// A move, a shortest chain of hops, and the distance after it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct MoveRow {
    #[serde(rename = "move")]
    mv: String,
    path: Vec<String>,
    #[serde(flatten)]
    after: DistanceRow,
    change: Option<i16>,
}

impl MoveRow {
    /// Returns the row of a move in board order. `others` are all pieces of both players in board order
    /// except the one that moves.
    pub fn new(board: Board, others: CellSet, mv: Move, before: DistanceRow, after: DistanceRow) -> MoveRow {
        let geometry = board.geometry();
        MoveRow { mv: geometry.move_text(mv), path: path(board, others, mv), after, change: after.change(before) }
    }

    /// Returns the move and the distance as a short text: the hops, and `=` or, for an upper bound, `<` before the
    /// distance.
    pub fn short(&self) -> String {
        let hops = if self.path.is_empty() { self.mv.clone() } else { self.path.join("-") };
        hops + &self.after.short()
    }

    /// Returns the row of a pass, which leaves the distance as it is.
    pub fn pass(distance: DistanceRow) -> MoveRow {
        let change = distance.change(distance);
        MoveRow { mv: sternhalma_engine::ugi::PASS.to_owned(), path: Vec::new(), after: distance, change }
    }
}

/// The progress of a search, or its result.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct InfoRow {
    /// The number of the line, from 1.
    line: usize,
    depth: u32,
    nodes: u64,
    playouts: u64,
    seconds: f64,
    value: Option<JsonValue>,
    /// The principal variation.
    pv: Vec<String>,
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
    moves.sort_by_key(|row| row.after.distance.unwrap_or(u8::MAX));
}

/// Returns the cells of a shortest chain of hops in board order. The first one is the source.
pub fn path(board: Board, others: CellSet, mv: Move) -> Vec<String> {
    let geometry = board.geometry();
    let path = geometry.move_path(others, mv).unwrap_or_else(|| vec![mv.from, mv.to]);
    path.into_iter().map(|cell: Cell| geometry.cell_name(cell)).collect()
}
