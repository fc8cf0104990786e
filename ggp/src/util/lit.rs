//! The literals of a netlist.

use std::ops::Not;

/// A node of a netlist, or its negation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Lit(u32);

impl Lit {
    /// Never holds.
    pub const FALSE: Lit = Lit(0);
    /// Always holds.
    pub const TRUE: Lit = Lit(1);

    /// The node as it is, or inverted.
    pub fn new(node: usize, inverted: bool) -> Lit {
        Lit((node as u32) << 1 | u32::from(inverted))
    }

    /// The node.
    #[inline]
    pub fn node(self) -> usize {
        (self.0 >> 1) as usize
    }

    /// Whether the literal is the negation of its node.
    #[inline]
    pub fn is_inverted(self) -> bool {
        self.0 & 1 == 1
    }

    /// Whether it is [`Lit::FALSE`] or [`Lit::TRUE`].
    #[inline]
    pub fn is_constant(self) -> bool {
        self.0 < 2
    }

    /// The value, of the values of all nodes.
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
