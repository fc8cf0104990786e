//! The moves before a move.

use crate::trail::Trail;

/// What goes before a move of a role: the last `length` moves, 1 or 2, of role
/// i - 1 a step and of role i - 2 two steps earlier, counted round all roles
/// (paper 000, section IV-B). `back` tells what a role played so many steps
/// ago.
#[inline]
pub(super) fn context(roles: usize, role: usize, length: usize, back: impl Fn(usize, usize) -> u32) -> u64 {
    let one = back(1, (role + roles - 1) % roles);
    // A number that no move has keeps the lengths apart.
    let two = if length == 2 { back(2, (role + 2 * roles - 2) % roles) } else { Trail::WAITS - 1 };
    u64::from(two) << 32 | u64::from(one)
}
