//! Contexts: the moves before a move.

use std::ops::Range;

use sternhalma_game::NOOP;

use crate::MoveHistory;

/// A number that no move has. This number separates contexts of different lengths.
const SHORT: u32 = NOOP - 1;

/// Returns the context of a move of a role: the last `length` moves (1 or 2),
/// of role i - 1 one step earlier and of role i - 2 two steps earlier,
/// cyclically [Tak et al. 2012, section IV-B].
///
/// `back` returns the move that a role played a number of steps ago.
#[inline]
pub(super) fn context(roles: usize, role: usize, length: usize, back: impl Fn(usize, usize) -> u32) -> u64 {
    let one = back(1, (role + roles - 1) % roles);
    let two = if length == 2 { back(2, (role + 2 * roles - 2) % roles) } else { SHORT };
    u64::from(two) << 32 | u64::from(one)
}

/// Returns the context of a move of a role after some joint moves, with joint
/// moves without a choice skipped: the move of role i - 1 in the last
/// joint move, and that of role i - 2 in the previous joint move, cyclically.
///
/// A role without a choice is replaced by the nearest previous role that had
/// one. Returns `None` if there are too few joint moves.
///
/// If all roles choose simultaneously, or if they take turns, the result is
/// that of [`context`] without the joint moves that had no choice.
#[inline]
pub(super) fn chosen_context(history: &MoveHistory, joints: Range<usize>, role: usize, length: usize) -> Option<u64> {
    let roles = history.roles();
    let mut joints = joints.rev();
    let mut number = |steps: usize| {
        joints.find_map(|joint| {
            let mut before = (steps..steps + roles).map(|back| (role + back * (roles - 1)) % roles);
            let (role, number) = before.find_map(|role| Some((role, history.chosen(joint, role)?)))?;
            // Moves of different roles may have the same number.
            Some(number.wrapping_mul(roles as u32).wrapping_add(role as u32))
        })
    };
    let one = number(1)?;
    let two = if length == 2 { number(2)? } else { SHORT };
    Some(u64::from(two) << 32 | u64::from(one))
}
