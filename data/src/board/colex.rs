//! Binomial coefficients: the weights of the combinatorial number system.

/// The largest number of pieces of an army.
pub(crate) const MOST_PIECES: usize = 15;

/// A row length above the cells of any board. The row length is a power of two,
/// so that `index % ROW` needs no bounds check.
pub(crate) const ROW: usize = 128;

/// `BINOMIALS[k][n]` is C(n, k), or `u64::MAX` if that exceeds 64 bits.
pub(super) static BINOMIALS: [[u64; ROW]; MOST_PIECES + 1] = binomials();

pub(super) const fn binomials() -> [[u64; ROW]; MOST_PIECES + 1] {
    let mut table = [[0u64; ROW]; MOST_PIECES + 1];
    let mut n = 0;
    while n < ROW {
        table[0][n] = 1;
        let mut k = 1;
        while k <= MOST_PIECES && n > 0 {
            table[k][n] = table[k - 1][n - 1].saturating_add(table[k][n - 1]);
            k += 1;
        }
        n += 1;
    }
    table
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
