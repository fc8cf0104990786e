//! Ground terms of the prover, each stored once.

use std::cmp::Ordering;
use std::collections::HashMap;

use hashbrown::HashTable;

use super::rows::hash;
use crate::syntax::{MAX_DEPTH, MAX_TERM_LENGTH};

/// A ground term of one [`Prover`](super::prove::Prover). Equal terms have equal ids, in the order of first occurrence.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TermId(pub(super) u32);

/// A name with a number of arguments.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct FunctorId(pub u32);

/// All ground terms that have occurred.
#[derive(Default)]
pub struct TermStore {
    names: Vec<(String, usize)>,
    functors: HashMap<(String, usize), FunctorId>,
    /// The functor and the arguments of each term, one term after another.
    words: Vec<u32>,
    starts: Vec<u32>,
    depths: Vec<u16>,
    /// The length of the text of each term, in bytes.
    lengths: Vec<u32>,
    /// Whether a term was rejected because it is nested too deep to recurse into, or because its text is too long.
    pub too_large: bool,
    slots: HashTable<u32>,
}

impl TermStore {
    pub fn functor(&mut self, name: &str, arity: usize) -> FunctorId {
        let next = FunctorId(self.names.len() as u32);
        let found = *self.functors.entry((name.to_string(), arity)).or_insert(next);
        if found == next {
            self.names.push((name.to_string(), arity));
        }
        found
    }

    /// Returns the memory of all terms in bytes.
    pub fn bytes(&self) -> usize {
        let words = (self.words.capacity() + self.starts.capacity()) * size_of::<u32>();
        let sizes = self.depths.capacity() * size_of::<u16>() + self.lengths.capacity() * size_of::<u32>();
        words + sizes + self.slots.allocation_size()
    }

    pub fn functors(&self) -> usize {
        self.names.len()
    }

    pub fn constant(&mut self, name: &str) -> u32 {
        let functor = self.functor(name, 0);
        self.intern(&[functor.0])
    }

    /// Returns the term of a functor and its arguments. For a term nested deeper than
    /// [`MAX_DEPTH`], or a text longer than [`MAX_TERM_LENGTH`], sets the flag `too_large`
    /// and returns its first argument.
    pub fn intern(&mut self, words: &[u32]) -> u32 {
        let TermStore { words: all, starts, slots, depths, lengths, .. } = self;
        let next = starts.len() as u32;
        let same = |&id: &u32| slice(all, starts, id) == words;
        if let Some(&id) = slots.find(hash(words), same) {
            return id;
        }
        let args = &words[1..];
        let depth = args.iter().map(|&arg| depths[arg as usize] + 1).max().unwrap_or(0);
        let mut length = self.names[words[0] as usize].0.len();
        if let [first, ..] = *args {
            // Parentheses, and a blank before each argument.
            length += 2 + args.iter().map(|&arg| 1 + lengths[arg as usize] as usize).sum::<usize>();
            if usize::from(depth) > MAX_DEPTH || length > MAX_TERM_LENGTH {
                self.too_large = true;
                return first;
            }
        }
        starts.push(all.len() as u32);
        depths.push(depth);
        lengths.push(u32::try_from(length).unwrap_or(u32::MAX));
        all.extend_from_slice(words);
        slots.insert_unique(hash(words), next, |&id| hash(slice(all, starts, id)));
        next
    }

    /// Returns the functor and the arguments of a term.
    #[inline]
    pub fn words(&self, id: u32) -> &[u32] {
        slice(&self.words, &self.starts, id)
    }

    /// Returns the length of the text of a term, in bytes.
    pub fn length(&self, id: u32) -> usize {
        self.lengths[id as usize] as usize
    }

    /// Compares terms by the order of names in the rulesheet, which does not depend
    /// on the order in which terms occurred.
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
