//! Effective quality (paper 002, section VII.B, Table III).

/// What the decision after a search looks at in a child of the root.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Child<'a> {
    /// The mean reward of the role that decides, of simulations through the child.
    pub quality: f64,
    /// Whether the match is over there.
    pub is_terminal: bool,
    /// The legal moves of the role that decides.
    pub own_moves: usize,
    /// The joint moves of all roles.
    pub joint_moves: usize,
    /// The mean reward of the role that decides after each joint move that
    /// was visited.
    pub successors: &'a [f64],
}

impl Child<'_> {
    /// The value by which the move to play is chosen: as low as the others can
    /// make it where they alone choose, as high as the role can make it where
    /// it alone does, and between the lowest and the mean where both do. The
    /// cases are tried in the order terminal, one move of one's own, all moves
    /// one's own. A child whose successors were not visited has its mean.
    pub fn effective_quality(&self) -> f64 {
        if self.is_terminal || self.successors.is_empty() {
            return self.quality;
        }
        let least = self.successors.iter().copied().fold(f64::INFINITY, f64::min);
        if self.own_moves == 1 {
            least
        } else if self.own_moves == self.joint_moves {
            self.successors.iter().copied().fold(f64::NEG_INFINITY, f64::max)
        } else {
            (least + self.quality) / 2.0
        }
    }
}
