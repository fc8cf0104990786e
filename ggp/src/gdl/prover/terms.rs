//! Ground terms, each stored once.

use std::cmp::Ordering;
use std::collections::HashMap;

use super::rows::{Slots, hash};
use crate::gdl::syntax::MAX_DEPTH;

/// A ground term of one [`Prover`](super::prove::Prover). Equal terms have
/// equal ids.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TermId(pub(super) u32);

impl TermId {
    /// Returns the number of the term.
    pub(super) fn number(self) -> u32 {
        self.0
    }
}

/// A name with a number of arguments.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Functor(pub u32);

/// All ground terms so far.
#[derive(Default)]
pub struct Terms {
    names: Vec<(String, usize)>,
    functors: HashMap<(String, usize), Functor>,
    /// For each term its functor and its arguments.
    words: Vec<u32>,
    starts: Vec<u32>,
    depths: Vec<u16>,
    /// Whether a term was requested that is nested too deep.
    too_deep: bool,
    slots: Slots,
}

impl Terms {
    pub fn functor(&mut self, name: &str, arity: usize) -> Functor {
        let next = Functor(self.names.len() as u32);
        let found = *self.functors.entry((name.to_string(), arity)).or_insert(next);
        if found == next {
            self.names.push((name.to_string(), arity));
        }
        found
    }

    pub fn functors(&self) -> usize {
        self.names.len()
    }

    pub fn constant(&mut self, name: &str) -> u32 {
        let functor = self.functor(name, 0);
        self.intern(&[functor.0])
    }

    /// Returns whether a term was too deep since the last reset.
    #[inline]
    pub fn too_deep(&self) -> bool {
        self.too_deep
    }

    pub fn forgive_depth(&mut self) {
        self.too_deep = false;
    }

    /// Returns the term of a functor and its arguments. A term that is nested
    /// deeper than [`MAX_DEPTH`] is recorded as an error and replaced by its
    /// first argument.
    pub fn intern(&mut self, words: &[u32]) -> u32 {
        let depth = words[1..].iter().map(|&arg| self.depths[arg as usize] + 1).max().unwrap_or(0);
        if usize::from(depth) > MAX_DEPTH {
            self.too_deep = true;
            return words[1];
        }
        let Terms { words: all, starts, slots, depths, .. } = self;
        let next = starts.len() as u32;
        let same = |id: u32| slice(all, starts, id) == words;
        if let Some(id) = slots.find(hash(words), same) {
            return id;
        }
        starts.push(all.len() as u32);
        depths.push(depth);
        all.extend_from_slice(words);
        slots.insert(hash(words), next, |id| hash(slice(all, starts, id)));
        next
    }

    /// Returns functor and arguments.
    #[inline]
    pub fn words(&self, id: u32) -> &[u32] {
        slice(&self.words, &self.starts, id)
    }

    /// Compares terms by the order of names in the rulesheet, independent of
    /// earlier queries.
    pub fn compare(&self, a: u32, b: u32) -> Ordering {
        if a == b {
            return Ordering::Equal;
        }
        let (left, right) = (self.words(a), self.words(b));
        let parts = || left[1..].iter().zip(&right[1..]).map(|(&a, &b)| self.compare(a, b));
        left[0].cmp(&right[0]).then_with(|| parts().find(|order| order.is_ne()).unwrap_or(Ordering::Equal))
    }

    pub fn write(&self, id: u32, text: &mut String) {
        let words = self.words(id);
        let (name, arity) = &self.names[words[0] as usize];
        if *arity == 0 {
            text.push_str(name);
            return;
        }
        text.push('(');
        text.push_str(name);
        for &arg in &words[1..] {
            text.push(' ');
            self.write(arg, text);
        }
        text.push(')');
    }
}

#[inline]
fn slice<'a>(words: &'a [u32], starts: &[u32], id: u32) -> &'a [u32] {
    let start = starts[id as usize] as usize;
    let end = starts.get(id as usize + 1).map_or(words.len(), |&end| end as usize);
    &words[start..end]
}
