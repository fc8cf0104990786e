//! The moves before a move.

use crate::game::NOOP;
use crate::mcts::move_history::MoveHistory;

/// A number that no move has keeps the lengths apart.
const SHORT: u32 = NOOP - 1;

/// What goes before a move of a role: the last `length` moves, 1 or 2, of role
/// i - 1 a step and of role i - 2 two steps earlier, counted round all roles
/// (paper 000, section IV-B). `back` tells what a role played so many steps
/// ago.
#[inline]
pub(super) fn context(roles: usize, role: usize, length: usize, back: impl Fn(usize, usize) -> u32) -> u64 {
    let one = back(1, (role + roles - 1) % roles);
    let two = if length == 2 { back(2, (role + 2 * roles - 2) % roles) } else { SHORT };
    u64::from(two) << 32 | u64::from(one)
}

/// What goes before a move of a role in the `end`-th of all joint moves that
/// are known, if joint moves without a choice are skipped: the move of role
/// i - 1 in the last, and that of role i - 2 in the one before, counted round.
/// In place of a role that had no choice comes the next before it, counted
/// round, that had. Joint moves before the `first` are not looked at; none if
/// too few are left.
///
/// Where all roles choose at once, and where they take turns, that is what
/// [`context`] is but for joint moves without a choice.
#[inline]
pub(super) fn chosen_context(trail: &MoveHistory, first: usize, end: usize, role: usize, length: usize) -> Option<u64> {
    let roles = trail.roles();
    let mut joints = (first..end).rev();
    let mut number = |steps: usize| {
        joints.find_map(|joint| {
            let mut before = (steps..steps + roles).map(|back| (role + back * (roles - 1)) % roles);
            let (role, number) = before.find_map(|role| Some((role, trail.chosen(joint, role)?)))?;
            // Roles may have the same numbers.
            Some(number.wrapping_mul(roles as u32).wrapping_add(role as u32))
        })
    };
    let one = number(1)?;
    let two = if length == 2 { number(2)? } else { SHORT };
    Some(u64::from(two) << 32 | u64::from(one))
}
