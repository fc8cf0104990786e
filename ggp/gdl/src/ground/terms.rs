//! Ground terms of grounding, each stored once.

use std::fmt::Write;

use hashbrown::{HashMap, HashTable};
use rustc_hash::FxBuildHasher;

use super::tables::hash;

/// The number of a functor: a name with a number of arguments.
pub type Functor = u32;

/// Ground terms by number. Equal terms have equal numbers.
#[derive(Default)]
pub struct GroundTerms {
    names: Vec<(String, usize)>,
    functors: HashMap<(String, usize), Functor, FxBuildHasher>,
    /// The functor and the arguments of each term, one term after another.
    words: Vec<u32>,
    starts: Vec<u32>,
    depths: Vec<u8>,
    /// The length of the text of each term, in bytes.
    lengths: Vec<u64>,
    known: HashTable<u32>,
}

impl GroundTerms {
    pub fn functor(&mut self, name: &str, arity: usize) -> Functor {
        let next = self.names.len() as Functor;
        let functor = *self.functors.entry((name.to_string(), arity)).or_insert(next);
        if functor == next {
            self.names.push((name.to_string(), arity));
        }
        functor
    }

    pub fn constant(&mut self, name: &str) -> u32 {
        let functor = self.functor(name, 0);
        self.intern(&[functor])
    }

    /// Returns the term of a functor and its arguments.
    pub fn intern(&mut self, words: &[u32]) -> u32 {
        let key = hash(words);
        let GroundTerms { words: all, starts, known, depths, lengths, names, .. } = self;
        if let Some(&term) = known.find(key, |&term| slice(all, starts, term) == words) {
            return term;
        }
        let term = starts.len() as u32;
        let depth = words[1..].iter().map(|&arg| depths[arg as usize]).max().map_or(0, |depth| depth.saturating_add(1));
        depths.push(depth);
        // Parentheses, and a blank before each argument.
        let inside = words[1..].iter().map(|&arg| lengths[arg as usize].saturating_add(1));
        let outside = names[words[0] as usize].0.len() as u64 + if words.len() > 1 { 2 } else { 0 };
        lengths.push(inside.fold(outside, u64::saturating_add));
        starts.push(all.len() as u32);
        all.extend_from_slice(words);
        known.insert_unique(key, term, |&term| hash(slice(all, starts, term)));
        term
    }

    /// Returns the memory of all terms, in words.
    pub fn words_kept(&self) -> usize {
        self.words.len() + 6 * self.starts.len()
    }

    /// Returns the functor and the arguments of a term.
    #[inline]
    pub fn words(&self, term: u32) -> &[u32] {
        slice(&self.words, &self.starts, term)
    }

    /// Returns the arguments of a term, or `None` if it has another functor.
    pub fn arguments(&self, term: u32, name: &str, arity: usize) -> Option<&[u32]> {
        let words = self.words(term);
        let (found, _) = &self.names[words[0] as usize];
        (found == name && words.len() == arity + 1).then(|| &words[1..])
    }

    /// Returns the nesting depth of a term.
    pub fn depth(&self, term: u32) -> usize {
        usize::from(self.depths[term as usize])
    }

    /// Returns the length of the text of a term, in bytes.
    pub fn length(&self, term: u32) -> u64 {
        self.lengths[term as usize]
    }

    /// Returns a term as KIF.
    pub fn text(&self, term: u32) -> String {
        let mut text = String::new();
        self.write(term, &mut text);
        text
    }

    fn write(&self, term: u32, text: &mut String) {
        let words = self.words(term);
        let name = &self.names[words[0] as usize].0;
        if words.len() == 1 {
            text.push_str(name);
            return;
        }
        let _ = write!(text, "({name}");
        for &arg in &words[1..] {
            text.push(' ');
            self.write(arg, text);
        }
        text.push(')');
    }
}

fn slice<'a>(words: &'a [u32], starts: &[u32], term: u32) -> &'a [u32] {
    let start = starts[term as usize] as usize;
    let end = starts.get(term as usize + 1).map_or(words.len(), |&end| end as usize);
    &words[start..end]
}
