//! Parsers and defaults of single values.

use std::num::NonZeroUsize;
use std::ops::RangeInclusive;
use std::time::Duration;

use bytesize::ByteSize;

/// The default size of a board.
pub const DEFAULT_SIZE: u64 = 9;

/// The default number of pieces per army.
pub const DEFAULT_PIECES: u64 = 6;

/// Returns a parser of whole numbers from `least` up.
pub fn count<T: TryFrom<u64> + 'static>(
    least: u64,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static {
    move |text| {
        let found = whole(text).filter(|&number| number >= least).and_then(|number| T::try_from(number).ok());
        found.ok_or_else(|| {
            let smaller = if whole(text).is_some_and(|number| number >= least) { " that is smaller" } else { "" };
            format!("expected a whole number ≥ {least}{smaller}, e.g. 100000, 100_000, 100k or 2M, got `{text}`")
        })
    }
}

/// Parses a whole number: digits with `_` between them, and perhaps a suffix `k`, `M` or `G`, before which there may be
/// a decimal point.
fn whole(text: &str) -> Option<u64> {
    let (number, zeros) = match text.strip_suffix(['k', 'K', 'm', 'M', 'g', 'G']) {
        Some(number) => (number, [3, 6, 9]["kmg".find(text[number.len()..].to_ascii_lowercase().as_str())?]),
        None => (text, 0),
    };
    let (integer, decimals) = number.split_once('.').unwrap_or((number, ""));
    let integer = integer.replace('_', "");
    let digits = integer.bytes().chain(decimals.bytes()).all(|byte| byte.is_ascii_digit());
    // A decimal point needs digits behind it, and the result is whole.
    let fits = decimals.len() <= zeros && number.contains('.') != decimals.is_empty();
    if integer.is_empty() || !digits || !fits {
        return None;
    }
    format!("{integer}{decimals}{}", "0".repeat(zeros - decimals.len())).parse().ok()
}

/// Parses a whole number from 1 up.
pub fn positive(text: &str) -> Result<NonZeroUsize, String> {
    count(1)(text).map(|number| NonZeroUsize::new(number).expect("the number is at least 1"))
}

/// Parses a number of plies, or a range of such numbers.
pub fn plies(text: &str) -> Result<RangeInclusive<u32>, String> {
    let (least, most) = text.split_once('-').unwrap_or((text, text));
    let (least, most) = (count(0)(least)?, count(0)(most)?);
    match least <= most {
        true => Ok(least..=most),
        false => Err(format!("expected a range with the smaller number first, got `{text}`")),
    }
}

/// Parses a number.
pub fn number(text: &str) -> Result<f64, String> {
    text.trim().parse().map_err(|_| format!("expected a number, e.g. 0.5 or 20, got `{text}`"))
}

/// Parses a size in bytes.
pub fn size(text: &str) -> Result<ByteSize, String> {
    text.parse().map_err(|_| "expected a number of bytes, or a size such as `64MiB`, `4GiB` or `4GB`".to_owned())
}

/// Parses a time in seconds.
pub fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().filter(|seconds| (0.0..=1e6).contains(seconds));
    seconds.map(Duration::from_secs_f64).ok_or_else(|| "expected seconds from 0 to a million".into())
}

/// Parses a name that the game manager's protocol can carry.
pub fn symbol(text: &str) -> Result<String, String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        Ok(text.to_owned())
    } else {
        Err("expected letters, digits, `_`, `.` and `-`".into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_have_suffixes_and_separators() {
        for (text, number) in [
            ("0", 0),
            ("100000", 100_000),
            ("100_000", 100_000),
            ("100k", 100_000),
            ("2M", 2_000_000),
            ("2m", 2_000_000),
            ("1.5M", 1_500_000),
            ("0.25k", 250),
            ("1_000k", 1_000_000),
            ("3G", 3_000_000_000),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(count(0)(text), Ok(number), "{text}");
        }
        for text in
            ["", "k", "1q", "-1", "+1", "1.5", "1.k", ".5k", "1.2345k", "1e6", "0x10", "18446744073709551616", "1 000"]
        {
            let error = count::<u64>(0)(text).unwrap_err();
            assert!(error.ends_with(&format!("100k or 2M, got `{text}`")), "{error}");
        }
        assert!(count::<u64>(1)("0").unwrap_err().starts_with("expected a whole number ≥ 1, e.g."));
        assert!(count::<u32>(1)("5G").unwrap_err().starts_with("expected a whole number ≥ 1 that is smaller, e.g."));
    }
}
