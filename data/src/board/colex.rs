//! Binomial coefficients: the weights of the combinatorial number system.

use super::cell::Cell;

/// The largest number of pieces of an army.
pub(crate) const MAX_PIECES: usize = 15;

/// A row length above the cells of any board. The row length is a power of two,
/// so that `index % ROW` needs no bounds check.
pub(crate) const ROW: usize = 128;

/// `BINOMIALS[k][n]` is C(n, k), or `u64::MAX` if that exceeds 64 bits.
pub(super) static BINOMIALS: [[u64; ROW]; MAX_PIECES + 1] = binomials();

pub(super) const fn binomials() -> [[u64; ROW]; MAX_PIECES + 1] {
    let mut table = [[0u64; ROW]; MAX_PIECES + 1];
    let mut n = 0;
    while n < ROW {
        table[0][n] = 1;
        let mut k = 1;
        while k <= MAX_PIECES && n > 0 {
            table[k][n] = table[k - 1][n - 1].saturating_add(table[k][n - 1]);
            k += 1;
        }
        n += 1;
    }
    table
}

/// Bits of the mantissa in a bucket of [`ESTIMATES`]. With 6 bits a bucket contains at most one C(n, k) for
/// k above 1, because C(n + 1, k) / C(n, k) is at least 121 / 119.
const MANTISSA: u32 = 6;
const BUCKETS: usize = 64 << MANTISSA;

/// `ESTIMATES[k][bucket(rest)]` is the largest n with `bucket(C(n, k)) <= bucket(rest)`: the largest n with
/// C(n, k) <= `rest`, or one more.
static ESTIMATES: [[u8; BUCKETS]; MAX_PIECES + 1] = estimates();

/// Returns a number that grows with `rest`: the exponent and the first bits of the mantissa of `rest + 1`.
/// `rest` is below 2^63 - 1.
#[inline]
const fn bucket(rest: u64) -> usize {
    // Signed numbers convert with one instruction.
    let float = (rest as i64 + 1) as f64;
    (float.to_bits() >> (f64::MANTISSA_DIGITS - 1 - MANTISSA)) as usize - (1023 << MANTISSA)
}

const fn estimates() -> [[u8; BUCKETS]; MAX_PIECES + 1] {
    let counts = binomials();
    let mut table = [[0; BUCKETS]; MAX_PIECES + 1];
    let mut k = 2;
    while k <= MAX_PIECES {
        let (mut n, mut at) = (k, 0);
        while at < BUCKETS {
            let first = n;
            while n < Cell::LIMIT && bucket(counts[k][n]) == at {
                n += 1;
            }
            assert!(n - first <= 1, "a bucket contains one count");
            table[k][at] = (n - 1) as u8;
            at += 1;
        }
        k += 1;
    }
    table
}

/// Returns the largest n with C(n, k) <= `rest`, and the difference of the two.
///
/// `rest` is below C(121, k), and `k` is 1 to 15. Cost: independent of `rest`, and without a branch on it.
#[inline]
pub(super) fn largest(rest: u64, k: usize) -> (usize, u64) {
    if k == 1 {
        return (rest as usize, 0);
    }
    let estimate = usize::from(ESTIMATES[k][bucket(rest)]);
    let n = estimate - usize::from(BINOMIALS[k][estimate % ROW] > rest);
    (n, rest - BINOMIALS[k][n % ROW])
}

/// Returns C(n, k), or `None` if it exceeds 64 bits.
///
/// # Panics
/// If `n` is above 127 or `k` above 15.
#[inline]
pub fn binomial(n: usize, k: usize) -> Option<u64> {
    Some(BINOMIALS[k][n]).filter(|&count| count != u64::MAX)
}

/// Returns C(n, k).
///
/// # Panics
/// If `n` is above 127, `k` above 15, or C(n, k) exceeds 64 bits.
#[inline]
pub fn choose(n: usize, k: usize) -> u64 {
    binomial(n, k).expect("counts of a board's states fit in 64 bits")
}
