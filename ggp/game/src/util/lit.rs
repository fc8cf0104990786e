//! The literals of circuits.

use std::ops::Not;

/// A node of a circuit, or its negation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Lit(u32);

impl Lit {
    /// The literal that never holds.
    pub const FALSE: Lit = Lit(0);
    /// The literal that always holds.
    pub const TRUE: Lit = Lit(1);

    /// Creates the literal of a node, inverted or not.
    pub fn new(node: usize, inverted: bool) -> Lit {
        Lit((node as u32) << 1 | u32::from(inverted))
    }

    /// Returns the node.
    #[inline]
    pub fn node(self) -> usize {
        (self.0 >> 1) as usize
    }

    /// Returns whether the literal is the negation of its node.
    #[inline]
    pub fn is_inverted(self) -> bool {
        self.0 & 1 == 1
    }

    /// Returns whether the literal is [`Lit::FALSE`] or [`Lit::TRUE`].
    #[inline]
    pub fn is_constant(self) -> bool {
        self.0 < 2
    }

    /// Returns the literal, negated if `inverted` is set.
    #[inline]
    #[must_use]
    pub fn xor(self, inverted: bool) -> Lit {
        Lit(self.0 ^ u32::from(inverted))
    }

    /// Returns the literal that results from replacing the node by another literal.
    #[inline]
    #[must_use]
    pub fn map(self, replace: impl FnOnce(usize) -> Lit) -> Lit {
        replace(self.node()).xor(self.is_inverted())
    }

    /// Returns the value of the literal, given the values of all nodes.
    #[inline]
    pub fn of(self, values: &[bool]) -> bool {
        values[self.node()] ^ self.is_inverted()
    }
}

impl Not for Lit {
    type Output = Lit;

    #[inline]
    fn not(self) -> Lit {
        Lit(self.0 ^ 1)
    }
}
