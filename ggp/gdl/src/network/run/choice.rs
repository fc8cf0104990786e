//! A uniform random choice in all lanes at once.
//!
//! Numbers are bit-sliced: the number of a lane is spread over *planes*, one
//! [`Bits`] per binary digit.
//!
//! The inner loops are separate functions that are not inlined, because the
//! compiler only vectorises them while their operands are in memory.

use fearless_simd::{Simd, dispatch};
use fearless_simd_macros::simd;
use sternhalma_cpu::level;

use super::bits::{Bits, RandomBits};

/// The maximum number of binary digits of a number of moves.
const DIGITS: usize = 16;

/// The maximum number of moves to choose among.
pub const MAX_MOVES: usize = (1 << DIGITS) - 1;

/// The number of moves that are counted or skipped together.
const GROUP: usize = 8;

/// Chooses one of the legal moves in each lane, all with the same probability.
/// `planes` has one plane per move: before the call the lanes in which it is
/// legal, afterwards the lanes that choose it. Returns the lanes without a
/// legal move.
///
/// At most [`MAX_MOVES`] planes are possible. Each lane draws a number below
/// the number of its legal moves, with rejection, and counts it down from move
/// to move.
pub fn choose(planes: &mut [Bits], random: &mut RandomBits) -> Bits {
    dispatch!(level(), simd => choose_at(simd, planes, random))
}

#[simd]
fn choose_at<S: Simd>(simd: S, planes: &mut [Bits], random: &mut RandomBits) -> Bits {
    match usize::BITS - planes.len().leading_zeros() {
        0..=3 => choose_of::<S, 3>(simd, planes, random),
        4..=6 => choose_of::<S, 6>(simd, planes, random),
        7..=9 => choose_of::<S, 9>(simd, planes, random),
        10..=12 => choose_of::<S, 12>(simd, planes, random),
        _ => choose_of::<S, DIGITS>(simd, planes, random),
    }
}

/// Chooses moves if the number of moves has at most `N` digits in every lane.
#[simd]
fn choose_of<S: Simd, const N: usize>(simd: S, planes: &mut [Bits], random: &mut RandomBits) -> Bits {
    let mut counts = count::<S, N>(simd, planes);
    let none = !counts.iter().fold(Bits::NONE, |any, &digit| any | digit);
    // From here on `counts` is the largest number that may be drawn; a lane
    // without moves draws 0.
    let mut borrow = !none;
    for digit in &mut counts {
        let before = *digit;
        *digit ^= borrow;
        borrow &= !before;
    }
    let digits = (0..N).rev().find(|&digit| counts[digit].any()).map_or(0, |digit| digit + 1);
    macro_rules! by_digits {
        ($($n:literal)*) => {
            match digits {
                $($n => pick::<S, $n>(simd, planes, &counts, random),)*
                _ => unreachable!("a count has at most {DIGITS} digits"),
            }
        };
    }
    by_digits!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16);
    none
}

/// Returns the number of planes that hold in each lane.
#[simd]
fn count<S: Simd, const N: usize>(simd: S, planes: &[Bits]) -> [Bits; N] {
    let mut counts = [Bits::NONE; N];
    let (groups, rest) = planes.as_chunks::<GROUP>();
    for group in groups {
        count_group(simd, group, &mut counts);
    }
    if !rest.is_empty() {
        let mut group = [Bits::NONE; GROUP];
        group[..rest.len()].copy_from_slice(rest);
        count_group(simd, &group, &mut counts);
    }
    counts
}

/// Adds the number of planes of a group that hold in each lane.
#[simd]
#[inline(never)]
fn count_group<S: Simd, const N: usize>(_: S, group: &[Bits; GROUP], counts: &mut [Bits; N]) {
    for word in 0..Bits::WORDS {
        let at = |index: usize| group[index].0[word];
        let (a, p) = add(at(0), at(1), at(2));
        let (b, q) = add(at(3), at(4), at(5));
        let (c, r) = add(a, b, at(6));
        let (ones, s) = add(c, at(7), 0);
        let (d, t) = add(p, q, r);
        let (twos, u) = add(d, s, 0);
        let (fours, eights) = add(t, u, 0);
        let sum = [ones, twos, fours, eights];
        let mut carry = 0;
        for digit in 0..N {
            let other = if digit < 4 { sum[digit] } else { 0 };
            (counts[digit].0[word], carry) = add(counts[digit].0[word], other, carry);
        }
    }
}

/// Returns the sum and the carry of three digits.
#[inline(always)]
fn add(a: u64, b: u64, c: u64) -> (u64, u64) {
    (a ^ b ^ c, (a & b) | (c & (a ^ b)))
}

/// Draws a number from 0 to `most` in each lane and selects the plane with
/// that number among the planes that hold.
#[simd]
fn pick<S: Simd, const N: usize>(simd: S, planes: &mut [Bits], most: &[Bits], random: &mut RandomBits) {
    let mut left = draw::<S, N>(simd, most, random);
    let (groups, rest) = planes.as_chunks_mut::<GROUP>();
    for group in groups {
        if any(group) {
            count_down(simd, group, &mut left);
        }
    }
    for plane in rest {
        count_down(simd, std::array::from_mut(plane), &mut left);
    }
}

/// Returns whether a plane of the group holds in any lane.
#[inline(always)]
fn any(planes: &[Bits; GROUP]) -> bool {
    let mut any = 0;
    for plane in planes {
        for word in plane.0 {
            any |= word;
        }
    }
    any != 0
}

/// Subtracts the planes one by one from the numbers of the lanes in which they
/// hold, and keeps those lanes whose number was 0. All digits are then 1, a
/// number that is too large to be counted down again.
#[simd]
#[inline(never)]
fn count_down<S: Simd, const M: usize, const N: usize>(_: S, planes: &mut [Bits; M], left: &mut [Bits; N]) {
    for word in 0..Bits::WORDS {
        let mut digits: [u64; N] = std::array::from_fn(|digit| left[digit].0[word]);
        for plane in planes.iter_mut() {
            let mut borrow = plane.0[word];
            for digit in &mut digits {
                let before = *digit;
                *digit ^= borrow;
                borrow &= !before;
            }
            plane.0[word] = borrow;
        }
        for digit in 0..N {
            left[digit].0[word] = digits[digit];
        }
    }
}

/// Draws a number from 0 to `most` in each lane, all equally likely. Digits up
/// to the highest of `most` are drawn until the number is not above it.
#[simd]
fn draw<S: Simd, const N: usize>(simd: S, most: &[Bits], random: &mut RandomBits) -> [Bits; N] {
    let mut may = [Bits::NONE; N];
    let mut any = Bits::NONE;
    for digit in (0..N).rev() {
        any |= most[digit];
        may[digit] = any;
    }
    let mut drawn = [Bits::NONE; N];
    let mut rejected = any;
    let mut coins = Bits::NONE;
    while rejected.any() {
        let mut above = Bits::NONE;
        for digit in 0..N {
            random.toss(simd, &mut coins);
            redraw(simd, &mut drawn[digit], &coins, &may[digit], &most[digit], &rejected, &mut above);
        }
        rejected &= above;
    }
    drawn
}

/// Draws one digit again in the rejected lanes. `above` has the lanes in which
/// the digits so far are above those of `most`.
#[simd]
#[inline(never)]
fn redraw<S: Simd>(_: S, drawn: &mut Bits, coins: &Bits, may: &Bits, most: &Bits, rejected: &Bits, above: &mut Bits) {
    let new = *coins & *may;
    *drawn = (*rejected & new) | (!*rejected & *drawn);
    *above = (new & !*most) | (*above & !(new ^ *most));
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};

    use super::super::bits::LANES;
    use super::*;
    use sternhalma_game::Rng;

    /// Returns planes for a number of moves. In each lane a move is legal with
    /// a probability that depends on the lane.
    fn random_planes(rng: &mut Rng, moves: usize) -> Vec<Bits> {
        let mut planes = vec![Bits::NONE; moves];
        for lane in 0..LANES {
            let probability = rng.random::<f64>().powi(3);
            planes.iter_mut().for_each(|plane| plane.set(lane, rng.random_bool(probability)));
        }
        planes
    }

    #[test]
    fn one_of_the_legal_moves_is_chosen() {
        let mut rng = Rng::seed_from_u64(1);
        let mut random = RandomBits::new(&mut rng);
        let mut levels = sternhalma_cpu::levels().into_iter().cycle();
        let few = (0..40).map(|moves| (moves, 10));
        for (moves, times) in few.chain([(63, 10), (64, 10), (65, 10), (200, 5), (513, 2), (5000, 1)]) {
            for _ in 0..times {
                let legal = random_planes(&mut rng, moves);
                let mut chosen = legal.clone();
                let level = levels.next().expect("there is a level");
                let none = dispatch!(level, simd => choose_at(simd, &mut chosen, &mut random));
                for lane in 0..LANES {
                    let some = legal.iter().any(|plane| plane.get(lane));
                    assert_eq!(none.get(lane), !some, "lane {lane} of {moves} moves");
                    let chosen: Vec<usize> = (0..moves).filter(|&mv| chosen[mv].get(lane)).collect();
                    assert_eq!(chosen.len(), usize::from(some), "lane {lane} of {moves} moves");
                    assert!(chosen.iter().all(|&mv| legal[mv].get(lane)));
                }
            }
        }
    }

    /// Converts the chi-squared statistic of equally likely cases to a
    /// standard normal deviate [Wilson and Hilferty 1931]. The deviate exceeds
    /// 6.5 with a probability below 10⁻⁹.
    fn deviate(counts: &[u32]) -> f64 {
        let freedom = counts.len() as f64 - 1.0;
        let expected = f64::from(counts.iter().sum::<u32>()) / counts.len() as f64;
        let chi: f64 = counts.iter().map(|&count| (f64::from(count) - expected).powi(2) / expected).sum();
        let variance = 2.0 / (9.0 * freedom);
        ((chi / freedom).cbrt() - (1.0 - variance)) / variance.sqrt()
    }

    #[test]
    fn choices_are_uniform() {
        // Each lane has between 1 and all of 11 moves. The test uses the
        // chi-squared statistics of a lane's choice, and of its pairs with the
        // choice of the next lane, of the next step, and of the generator with
        // the next seed.
        const MOVES: usize = 11;
        const STEPS: usize = 4_000;
        let mut rng = Rng::seed_from_u64(2);
        let mut legal = vec![Bits::NONE; MOVES];
        let mut order: Vec<usize> = (0..MOVES).collect();
        let mut count = [0; LANES];
        for lane in 0..LANES {
            for index in 0..MOVES {
                order.swap(index, rng.random_range(index..MOVES));
            }
            count[lane] = 1 + lane % MOVES;
            order[..count[lane]].iter().for_each(|&mv| legal[mv].set(lane, true));
        }
        let index = |chosen: &[Bits], lane: usize| {
            let legal = (0..MOVES).filter(|&mv| legal[mv].get(lane));
            legal.take_while(|&mv| !chosen[mv].get(lane)).count()
        };
        let mut random = [3, 4].map(|seed| RandomBits::new(&mut Rng::seed_from_u64(seed)));
        let mut tables: [Vec<Vec<u32>>; 4] = Default::default();
        for lane in 0..LANES {
            let squares = [1, count[(lane + 1) % LANES], count[lane], count[lane]];
            for (table, factor) in tables.iter_mut().zip(squares) {
                table.push(vec![0; count[lane] * factor]);
            }
        }
        let mut before = [0; LANES];
        for step in 0..STEPS {
            let [this, other] = random.each_mut().map(|random| {
                let mut planes = legal.clone();
                assert!(!choose(&mut planes, random).any());
                (0..LANES).map(|lane| index(&planes, lane)).collect::<Vec<_>>()
            });
            for lane in 0..LANES {
                let choice = this[lane];
                tables[0][lane][choice] += 1;
                let next = (lane + 1) % LANES;
                tables[1][lane][choice * count[next] + this[next]] += 1;
                if step > 0 {
                    tables[2][lane][choice * count[lane] + before[lane]] += 1;
                }
                tables[3][lane][choice * count[lane] + other[lane]] += 1;
                before[lane] = choice;
            }
        }
        for (kind, tables) in tables.iter().enumerate() {
            let deviates: Vec<f64> =
                tables.iter().filter(|table| table.len() > 1).map(|table| deviate(table)).collect();
            let worst = deviates.iter().copied().fold(0.0, f64::max);
            assert!(worst < 6.5, "{kind}: {worst}");
            // The sum of all deviates must be neither too large nor too small.
            let all = deviates.iter().sum::<f64>() / (deviates.len() as f64).sqrt();
            assert!(all.abs() < 5.0, "{kind}: {all}");
        }
    }

    #[test]
    fn the_test_of_uniformity_can_fail() {
        assert!(deviate(&[1000, 1000, 1000, 1400]) > 6.5);
        assert!(deviate(&[1000, 1030, 980, 990]) < 3.0);
    }
}
