//! What a table contains, except for its distances.

use super::spec::TableSpec;

/// What a table contains, except for its distances.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TableInfo {
    /// The covered states, how distances are stored, and whether only canonical states are.
    pub spec: TableSpec,
    /// The number of states at each distance, from 0 on. A state and its mirror
    /// image count separately.
    pub layers: Vec<u64>,
    /// The lowest distance at which a state has a move out of the prefix, or
    /// `None` if no state has one. The file format calls this distance
    /// `escape_layer`.
    pub boundary_layer: Option<u32>,
}

impl TableInfo {
    /// Returns what is wrong with the values, if anything.
    pub(super) fn fault(&self) -> Option<&'static str> {
        let sum = self.layers.iter().try_fold(0u64, |sum, &states| sum.checked_add(states));
        if sum != Some(self.spec.prefix.states()) {
            return Some("its layers do not add up to its states");
        }
        if self.spec.prefix.is_whole() && self.boundary_layer.is_some() {
            return Some("it covers the whole board and yet has an escape layer");
        }
        if self.boundary_layer.is_some_and(|layer| layer as usize >= self.layers.len()) {
            return Some("its escape layer is beyond its last layer");
        }
        None
    }
}
