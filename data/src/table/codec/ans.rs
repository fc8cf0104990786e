//! Blocks of the encoding `ans`: differences of distances, with an entropy coder.

use std::cell::RefCell;

use fearless_simd::{Simd, dispatch};
use fearless_simd_macros::simd;
use sternhalma_cpu::level;

use super::context::{LowerCells, NextDistance, Workspace};
use super::intervals::Intervals;
use super::models::{CodedSymbol, ESCAPE, Model, cheapest_model, decode_escaped, encode_escaped, models};
use super::rans::{Decoder, Encoder};
use crate::board::Geometry;

thread_local! {
    static WORKSPACE: RefCell<Workspace> = RefCell::new(Workspace::new());
}

/// An encoder of blocks.
pub(super) struct AnsEncoder {
    lower: LowerCells,
    /// The symbols of a block.
    symbols: Vec<CodedSymbol>,
}

impl AnsEncoder {
    pub fn new(geometry: &Geometry) -> AnsEncoder {
        AnsEncoder { lower: LowerCells::of(geometry), symbols: Vec::new() }
    }

    /// Returns the bytes of the block of these states.
    pub fn encode(&mut self, states: Intervals, distances: &[u8]) -> Vec<u8> {
        dispatch!(level(), simd => self.encode_at(simd, states, distances))
    }

    #[simd]
    fn encode_at<S: Simd>(&mut self, simd: S, states: Intervals, distances: &[u8]) -> Vec<u8> {
        self.symbols.clear();
        let mut recorder = Recorder { distances, symbols: &mut self.symbols };
        WORKSPACE.with_borrow_mut(|workspace| {
            workspace.visit(simd, &self.lower, states, &mut recorder);
        });
        let number = cheapest_model(&self.symbols);
        let model = &models()[number];
        let mut encoder = Encoder::new();
        for (&symbol, &distance) in self.symbols.iter().zip(distances).rev() {
            if symbol.is_escape() {
                encode_escaped(&mut encoder, distance);
            }
            model.encode(&mut encoder, symbol);
        }
        let mut bytes = vec![number as u8];
        encoder.finish(&mut bytes);
        bytes
    }
}

/// The distances of a block to encode, and its symbols so far.
struct Recorder<'a> {
    distances: &'a [u8],
    symbols: &'a mut Vec<CodedSymbol>,
}

impl NextDistance for Recorder<'_> {
    #[inline]
    fn next(&mut self, context: usize, base: u8) -> u8 {
        let distance = self.distances[self.symbols.len()];
        let difference = distance.wrapping_sub(base).wrapping_add(1);
        self.symbols.push(CodedSymbol::new(context, difference.min(ESCAPE)));
        distance
    }
}

/// A block from which distances are decoded.
struct BlockDecoder<'a> {
    model: &'static Model,
    decoder: Decoder<'a>,
}

impl NextDistance for BlockDecoder<'_> {
    #[inline(always)]
    fn next(&mut self, context: usize, base: u8) -> u8 {
        match self.model.decode(&mut self.decoder, context) {
            ESCAPE => decode_escaped(&mut self.decoder),
            symbol => base.wrapping_add(symbol).wrapping_sub(1),
        }
    }
}

/// Writes the distances of the states of a block to `out`. Returns whether the bytes are those of a
/// block of these states. A distance that is not valid is 255.
pub(super) fn decode(lower: &LowerCells, bytes: &[u8], states: Intervals, out: &mut Vec<u8>) -> bool {
    let Some((&model, coded)) = bytes.split_first() else { return false };
    let (Some(model), Some(decoder)) = (models().get(usize::from(model)), Decoder::new(coded)) else { return false };
    let mut decoder = BlockDecoder { model, decoder };
    WORKSPACE.with_borrow_mut(|workspace| {
        out.clear();
        let distances = dispatch!(level(), simd => workspace.visit(simd, lower, states, &mut decoder));
        out.extend_from_slice(distances);
    });
    decoder.decoder.is_finished()
}

#[cfg(test)]
mod tests {
    use super::super::test_blocks::{blocks, distances, prefixes, whole_boards};
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn blocks_decode_as_encoded(
            block in blocks(prop_oneof![whole_boards(), prefixes(1)], distances()),
            damage in prop::option::of((any::<prop::sample::Index>(), 1u8..=255)),
        ) {
            let geometry = block.prefix.board().geometry();
            let (distances, states) = (&block.distances, block.distances.len());
            let mut bytes = AnsEncoder::new(geometry).encode(block.intervals(states), distances);
            let lower = LowerCells::of(geometry);
            let mut out = vec![7; 10];
            prop_assert!(decode(&lower, &bytes, block.intervals(states), &mut out));
            prop_assert_eq!(&out, distances);
            // A block of another number of states, or with other bytes after it, is refused.
            if states > 1 {
                prop_assert!(!decode(&lower, &bytes, block.intervals(states - 1), &mut out));
            }
            bytes.push(0);
            prop_assert!(!decode(&lower, &bytes, block.intervals(states), &mut out));
            bytes.pop();
            for length in [0, 1, 8, bytes.len() - 1] {
                prop_assert!(!decode(&lower, &bytes[..length.min(bytes.len() - 1)], block.intervals(states), &mut out));
            }
            // Damaged bytes decode to some distances or are refused.
            if let Some((place, damage)) = damage {
                let place = place.index(bytes.len());
                bytes[place] ^= damage;
                decode(&lower, &bytes, block.intervals(states), &mut out);
            }
        }
    }
}
