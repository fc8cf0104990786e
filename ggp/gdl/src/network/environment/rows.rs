//! The arrays that a block writes.

/// The arrays of a [block](super::EnvironmentBlock), with one row per lane. Truth values are 0 and 1. An array that is
/// not needed may be empty.
#[derive(Default)]
pub struct EnvironmentRows<'a> {
    /// The fluents of each lane.
    pub observation: &'a mut [u8],
    /// The legal actions of each lane: those of the role to move, or those of each role if the environment is
    /// simultaneous. All are legal if the match is over.
    pub legal: &'a mut [u8],
    /// The lanes in which each fluent holds, in 8 words.
    pub planes: &'a mut [u64],
    /// The lanes in which each action is legal, in 8 words.
    pub legal_planes: &'a mut [u64],
    /// The role to move, or -1 if several roles have a choice or the match is over.
    pub player: &'a mut [i8],
    /// The reward of each role in each lane.
    pub reward: &'a mut [f32],
    /// Whether the match ended by the rules.
    pub terminated: &'a mut [u8],
    /// Whether the match ended by the limit of steps.
    pub truncated: &'a mut [u8],
    /// The steps of the match.
    pub steps: &'a mut [u32],
    /// The fluents at the end of the matches that ended and began again in one step.
    pub final_observation: &'a mut [u8],
}
