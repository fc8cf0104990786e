//! Loops over planes: one [`Bits`] per fluent or move, with one bit per lane.
//!
//! As in the choice of random moves, the loops are separate functions that are not inlined, because the compiler only
//! vectorises them while their operands are in memory.

use fearless_simd::prelude::*;
use fearless_simd::{Simd, mask8x64, u8x64, u16x32};
use fearless_simd_macros::simd;

use crate::network::run::{Bits, LANES};

/// Finds the lanes in which any of the planes holds, and those in which several do.
#[simd]
#[inline(never)]
pub fn count_planes<S: Simd>(_: S, planes: &[Bits], any: &mut Bits, several: &mut Bits) {
    for plane in planes {
        for word in 0..Bits::WORDS {
            several.0[word] |= any.0[word] & plane.0[word];
            any.0[word] |= plane.0[word];
        }
    }
}

/// Adds the planes to others in some lanes.
#[simd]
#[inline(never)]
pub fn add_planes<S: Simd>(_: S, to: &mut [Bits], lanes: &Bits, planes: &[Bits]) {
    for (to, plane) in to.iter_mut().zip(planes) {
        for word in 0..Bits::WORDS {
            to.0[word] |= lanes.0[word] & plane.0[word];
        }
    }
}

/// Replaces the planes by others in some lanes.
#[simd]
#[inline(never)]
pub fn replace_planes<S: Simd>(_: S, planes: &mut [Bits], lanes: &Bits, by: &[Bits]) {
    for (plane, by) in planes.iter_mut().zip(by) {
        for word in 0..Bits::WORDS {
            plane.0[word] = (lanes.0[word] & by.0[word]) | (!lanes.0[word] & plane.0[word]);
        }
    }
}

/// Finds the lanes in which any of the planes holds that are not left out.
#[simd]
#[inline(never)]
pub fn find_others<S: Simd>(_: S, planes: &[Bits], left_out: &[bool], any: &mut Bits) {
    for (plane, _) in planes.iter().zip(left_out).filter(|(_, left_out)| !**left_out) {
        for word in 0..Bits::WORDS {
            any.0[word] |= plane.0[word];
        }
    }
}

/// The maximum number of binary digits of the number of a plane.
const DIGITS: usize = 16;

/// The binary digits of one number per lane, the lowest first.
type Digits = [Bits; DIGITS];

/// The number of planes that are numbered together. Their numbers differ in [`LOW_DIGITS`] digits.
const GROUP: usize = 1 << LOW_DIGITS;
const LOW_DIGITS: usize = 3;

/// Converts the number of the plane that holds in each of some lanes to every `step`-th integer. The number of the other
/// lanes is 0.
#[simd]
pub fn find_numbers<S: Simd>(simd: S, planes: &[Bits], lanes: &Bits, integers: &mut [i32], step: usize) {
    let mut digits = [Bits::NONE; DIGITS];
    let (groups, rest) = planes.as_chunks::<GROUP>();
    for (number, group) in groups.iter().enumerate() {
        add_group(simd, number, group, &mut digits);
    }
    if !rest.is_empty() {
        let mut group = [Bits::NONE; GROUP];
        group[..rest.len()].copy_from_slice(rest);
        add_group(simd, groups.len(), &group, &mut digits);
    }
    digits.iter_mut().for_each(|digit| *digit &= *lanes);
    join_numbers(simd, &digits, integers, step);
}

/// Adds the digits of the numbers of the planes of a group.
#[simd]
#[inline(never)]
fn add_group<S: Simd>(_: S, number: usize, group: &[Bits; GROUP], digits: &mut Digits) {
    let mut any = Bits::NONE;
    for word in 0..Bits::WORDS {
        let at = |index: usize| group[index].0[word];
        let (upper, threes) = (at(4) | at(5) | at(6) | at(7), at(3) | at(7));
        digits[0].0[word] |= at(1) | at(5) | threes;
        digits[1].0[word] |= at(2) | at(6) | threes;
        digits[2].0[word] |= upper;
        any.0[word] = at(0) | at(1) | at(2) | at(3) | upper;
    }
    for digit in sternhalma_game::util::bits(number as u64) {
        for word in 0..Bits::WORDS {
            digits[LOW_DIGITS + digit].0[word] |= any.0[word];
        }
    }
}

/// Converts binary digits to integers.
#[simd]
#[inline(never)]
fn join_numbers<S: Simd>(simd: S, digits: &Digits, integers: &mut [i32], step: usize) {
    let mut bytes = [[0; LANES]; 2];
    for (bytes, digits) in bytes.iter_mut().zip(digits.chunks(8)) {
        if digits.iter().any(Bits::any) {
            join_digits(simd, digits, bytes);
        }
    }
    let [low, high] = bytes;
    let numbers = low.into_iter().zip(high).map(|(low, high)| i32::from(u16::from_le_bytes([low, high])));
    if step == 1 {
        integers.iter_mut().zip(numbers).for_each(|(to, number)| *to = number);
    } else {
        integers.iter_mut().step_by(step).zip(numbers).for_each(|(to, number)| *to = number);
    }
}

/// Joins up to 8 binary digits per lane, the lowest first.
#[simd]
fn join_digits<S: Simd>(simd: S, digits: &[Bits], bytes: &mut [u8; LANES]) {
    for (word, bytes) in bytes.as_chunks_mut::<64>().0.iter_mut().enumerate() {
        let mut sum = u8x64::splat(simd, 0);
        for (digit, plane) in digits.iter().enumerate() {
            sum |= spread(simd, plane.0[word], 1 << digit);
        }
        sum.store_slice(bytes);
    }
}

/// Finds the plane with the number of each lane. `found` has for each plane the lanes with its number in which the plane
/// holds. Returns the lanes for which there is such a plane.
#[simd]
pub fn find_planes<S: Simd>(simd: S, numbers: &[u16; LANES], planes: &[Bits], found: &mut [Bits]) -> Bits {
    let mut digits = [Bits::NONE; DIGITS];
    // Numbers that are too large become the largest number with these digits, which no plane has.
    let used = (usize::BITS - planes.len().leading_zeros()).max(LOW_DIGITS as u32 + 1) as usize;
    split_numbers(simd, numbers, &mut digits[..used]);
    let low: [Bits; GROUP] = std::array::from_fn(|number| with_digits(&digits[..LOW_DIGITS], number));
    let mut any = Bits::NONE;
    for (number, (planes, found)) in planes.chunks(GROUP).zip(found.chunks_mut(GROUP)).enumerate() {
        let high = with_digits(&digits[LOW_DIGITS..used], number);
        find_in_group(simd, &low, &high, planes, found, &mut any);
    }
    any
}

/// Returns the lanes whose number has the digits of `number`.
#[inline(always)]
fn with_digits(digits: &[Bits], number: usize) -> Bits {
    let digits = digits.iter().enumerate();
    digits.fold(Bits::ALL, |lanes, (place, digit)| lanes & (*digit ^ Bits::all_if(number >> place & 1 == 0)))
}

#[simd]
#[inline(never)]
fn find_in_group<S: Simd>(_: S, low: &[Bits; GROUP], high: &Bits, planes: &[Bits], found: &mut [Bits], any: &mut Bits) {
    for ((plane, found), low) in planes.iter().zip(found).zip(low) {
        for word in 0..Bits::WORDS {
            found.0[word] = plane.0[word] & low.0[word] & high.0[word];
            any.0[word] |= found.0[word];
        }
    }
}

/// Converts every `step`-th of some integers to numbers of planes. Integers that are no such number become 65535, which
/// no plane has.
#[simd]
#[inline(never)]
pub fn to_numbers<S: Simd>(_: S, integers: &[i32], step: usize, numbers: &mut [u16; LANES]) {
    let number = |integer: i32| (integer as u32).min(u32::from(u16::MAX)) as u16;
    if step == 1 {
        numbers.iter_mut().zip(integers).for_each(|(to, &integer)| *to = number(integer));
    } else {
        numbers.iter_mut().zip(integers.iter().step_by(step)).for_each(|(to, &integer)| *to = number(integer));
    }
}

/// Splits numbers into binary digits. Numbers that are too large become the largest number with these digits.
#[simd]
#[inline(never)]
fn split_numbers<S: Simd>(simd: S, numbers: &[u16; LANES], digits: &mut [Bits]) {
    let most = ((1u32 << digits.len()) - 1) as u16;
    for (part, digits) in digits.chunks_mut(8).enumerate() {
        let mut bytes = [0; LANES];
        bytes.iter_mut().zip(numbers).for_each(|(byte, &number)| *byte = (number.min(most) >> (8 * part)) as u8);
        for (word, bytes) in bytes.as_chunks::<64>().0.iter().enumerate() {
            let bytes = u8x64::from_slice(simd, bytes);
            for (place, digit) in digits.iter_mut().enumerate() {
                let bit = u8x64::splat(simd, 1 << place);
                digit.0[word] = (bytes & bit).simd_eq(bit).to_bitmask();
            }
        }
    }
}

/// The planes of 64 fluents or moves, transposed by bytes: item 8w + b has for each plane the byte b of word w.
pub type PlaneBytes = [[u8; 64]; 64];

/// Writes the values of planes as bytes, with one row of bytes per lane. `blocks` has room for the planes.
#[simd]
#[inline(never)]
pub fn unpack_planes<S: Simd>(simd: S, planes: &[Bits], blocks: &mut [PlaneBytes], rows: &mut [u8]) {
    let width = planes.len();
    if width == 0 || rows.is_empty() {
        return;
    }
    let blocks = &mut blocks[..width.div_ceil(64)];
    for (block, planes) in blocks.iter_mut().zip(planes.chunks(64)) {
        transpose_bytes(simd, planes, block);
    }
    let one = u8x64::splat(simd, 1);
    for first in (0..rows.len() / width).step_by(8) {
        // Bytes after the end of a row belong to the first 64 bytes of the next ones, which are written later.
        for (number, block) in blocks.iter().enumerate().rev() {
            let mut bits: u16x32<S> = u8x64::from_slice(simd, &block[first / 8]).bitcast();
            for lane in first..(first + 8).min(rows.len() / width) {
                let values: u8x64<S> = bits.bitcast();
                write(values & one, &mut rows[lane * width + 64 * number..]);
                bits >>= 1;
            }
        }
    }
}

/// Transposes up to 64 planes by bytes.
#[simd]
#[inline(never)]
fn transpose_bytes<S: Simd>(_: S, planes: &[Bits], bytes: &mut PlaneBytes) {
    for (eight, planes) in planes.chunks(8).enumerate() {
        let mut rows = [[0; Bits::WORDS]; 8];
        rows.iter_mut().zip(planes).for_each(|(row, plane)| *row = plane.0);
        swap_bytes::<4>(&mut rows);
        swap_bytes::<2>(&mut rows);
        swap_bytes::<1>(&mut rows);
        for (byte, row) in rows.iter().enumerate() {
            for (word, value) in row.iter().enumerate() {
                bytes[8 * word + byte].as_chunks_mut::<8>().0[eight] = value.to_le_bytes();
            }
        }
    }
}

/// Swaps the upper `WIDTH` of `2 * WIDTH` bytes of rows with the lower ones of the rows that are `WIDTH` further down.
#[inline(always)]
fn swap_bytes<const WIDTH: usize>(rows: &mut [[u64; Bits::WORDS]; 8]) {
    let low = u64::MAX / ((1 << (8 * WIDTH)) + 1);
    for first in 0..8 {
        if first & WIDTH == 0 {
            let (upper, lower) = rows.split_at_mut(first + WIDTH);
            for (a, b) in upper[first].iter_mut().zip(&mut lower[0]) {
                let change = ((*a >> (8 * WIDTH)) ^ *b) & low;
                *b ^= change;
                *a ^= change << (8 * WIDTH);
            }
        }
    }
}

/// Writes `value` for each bit of a plane, or 0, to the first bytes.
#[simd]
pub fn unpack_plane<S: Simd>(simd: S, plane: &Bits, value: u8, bytes: &mut [u8]) {
    for (&word, bytes) in plane.0.iter().zip(bytes.chunks_mut(64)) {
        write(spread(simd, word, value), bytes);
    }
}

/// Returns `value` for each bit of a word, or 0.
#[inline(always)]
fn spread<S: Simd>(simd: S, word: u64, value: u8) -> u8x64<S> {
    mask8x64::from_bitmask(simd, word).select(u8x64::splat(simd, value), u8x64::splat(simd, 0))
}

/// Writes the first bytes, up to 64.
#[inline(always)]
fn write<S: Simd>(values: u8x64<S>, to: &mut [u8]) {
    match to.first_chunk_mut::<64>() {
        Some(to) => values.store_slice(to),
        None => {
            let values: [u8; 64] = values.into();
            to.copy_from_slice(&values[..to.len()]);
        }
    }
}
