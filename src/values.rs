//! Parsers and defaults of single values.

use std::error::Error;
use std::ffi::OsStr;
use std::num::NonZeroUsize;
use std::ops::RangeInclusive;
use std::time::Duration;

use bytesize::ByteSize;
use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, Command};
use sternhalma_ggp::Policy;
use sternhalma_ggp::arena::MAX_OPENING_PLIES;
use sternhalma_ggp::policy::{PolicyError, removal_notice};

use crate::output::status;

/// The default size of a board.
pub const DEFAULT_SIZE: u64 = 9;

/// The default number of pieces per army.
pub const DEFAULT_PIECES: u64 = 6;

/// Parses a policy. Prints a notice about removed parameters.
pub fn policy(text: &str) -> Result<Policy, PolicyError> {
    report_removed(text);
    text.parse()
}

/// Prints a notice for each line of a text that sets a removed parameter of policies.
pub fn report_removed(text: &str) {
    text.lines().filter_map(removal_notice).for_each(|notice| status!("{notice}"));
}

/// A parser of a value, with the values that shells complete. Help and errors do not list these.
#[derive(Clone)]
pub struct Completed<F> {
    parse: F,
    values: &'static [&'static str],
}

/// Returns a parser with the values that shells complete.
pub fn completed<F>(values: &'static [&'static str], parse: F) -> Completed<F> {
    Completed { parse, values }
}

impl<T, E, F> TypedValueParser for Completed<F>
where
    T: Clone + Send + Sync + 'static,
    E: Into<Box<dyn Error + Send + Sync + 'static>>,
    F: Fn(&str) -> Result<T, E> + Clone + Send + Sync + 'static,
{
    type Value = T;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<T, clap::Error> {
        let parse = self.parse.clone();
        StringValueParser::new().try_map(move |text| parse(&text)).parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.values.iter().map(PossibleValue::new)))
    }
}

/// Returns a parser of whole numbers from `least` to the largest of the type.
pub fn count<T: TryFrom<u64> + 'static>(
    least: u64,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static {
    count_in(least..=u64::MAX >> (64 - 8 * size_of::<T>()))
}

/// Returns a parser of whole numbers in a range, which the type contains.
pub fn count_in<T: TryFrom<u64> + 'static>(
    range: RangeInclusive<u64>,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static {
    move |text| {
        let found = whole(text).filter(|number| range.contains(number)).and_then(|number| T::try_from(number).ok());
        found.ok_or_else(|| {
            let (least, most) = (range.start(), range.end());
            let examples = if *most < 2_000_000 { "" } else { ", e.g. 100000, 100_000, 100k or 2M" };
            format!("expected a whole number from {least} to {most}{examples}, got `{text}`")
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

/// Parses a number of random plies.
pub fn opening_plies(text: &str) -> Result<u32, String> {
    count_in(0..=MAX_OPENING_PLIES.into())(text)
}

/// Parses a number of random plies, or a range of such numbers.
pub fn plies(text: &str) -> Result<RangeInclusive<u32>, String> {
    let (least, most) = text.split_once('-').unwrap_or((text, text));
    // A sign belongs to the number.
    let (least, most) = if least.is_empty() { (text, text) } else { (least, most) };
    let (least, most) = (opening_plies(least)?, opening_plies(most)?);
    match least <= most {
        true => Ok(least..=most),
        false => Err(format!("expected a range with the smaller number first, got `{text}`")),
    }
}

/// Returns a parser of numbers in a range, which has finite bounds.
pub fn number(range: RangeInclusive<f64>) -> impl Fn(&str) -> Result<f64, String> + Clone + Send + Sync + 'static {
    move |text| {
        let found = text.trim().parse().ok().filter(|number| range.contains(number));
        found.ok_or_else(|| {
            format!(
                "expected a number from {} to {}, e.g. {}, got `{text}`",
                range.start(),
                range.end(),
                example(&range)
            )
        })
    }
}

/// Returns a number of a range that shows that a decimal point is allowed.
fn example(range: &RangeInclusive<f64>) -> f64 {
    if range.contains(&0.5) { 0.5 } else { *range.start() }
}

/// Parses a size in bytes.
pub fn size(text: &str) -> Result<ByteSize, String> {
    size_from(ByteSize::b(0))(text)
}

/// Returns a parser of sizes from `least` up.
pub fn size_from(least: ByteSize) -> impl Fn(&str) -> Result<ByteSize, String> + Clone + Send + Sync + 'static {
    move |text| {
        // A size that does not fit into 64 bits is parsed as the largest one.
        let fits = |size: &ByteSize| *size >= least && (size.as_u64() < u64::MAX || text == u64::MAX.to_string());
        text.parse().ok().filter(fits).ok_or_else(|| {
            let (least, most) = (least.as_u64(), u64::MAX);
            format!(
                "expected a number of bytes from {least} to {most}, or a size such as `64MiB`, `4GiB` or `4GB`, got `{text}`"
            )
        })
    }
}

/// The largest number of seconds of an option.
pub const MAX_SECONDS: f64 = 1e6;

/// Parses a time in seconds.
pub fn seconds(text: &str) -> Result<Duration, String> {
    number(0.0..=MAX_SECONDS)(text).map(Duration::from_secs_f64)
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
            assert!(error.starts_with("expected a whole number from 0 to 18446744073709551615, e.g."), "{error}");
            assert!(error.ends_with(&format!("100k or 2M, got `{text}`")), "{error}");
        }
        for (parsed, range) in [
            (count::<u64>(1)("0").map(drop), "1 to 18446744073709551615, e.g. 100000, 100_000, 100k or 2M, got `0`"),
            (count::<u32>(1)("5G").map(drop), "1 to 4294967295, e.g. 100000, 100_000, 100k or 2M, got `5G`"),
            (count::<u8>(3)("256").map(drop), "3 to 255, got `256`"),
            (count_in::<u64>(1..=2)("3").map(drop), "1 to 2, got `3`"),
        ] {
            assert_eq!(parsed, Err(format!("expected a whole number from {range}")));
        }
    }

    #[test]
    fn numbers_and_sizes_are_in_their_range() {
        assert_eq!(number(-1.0..=1.0)(" -1"), Ok(-1.0));
        for text in ["nan", "inf", "-inf", "1e308", "1.5", "", "x"] {
            assert_eq!(
                number(-1.0..=1.0)(text),
                Err(format!("expected a number from -1 to 1, e.g. 0.5, got `{text}`"))
            );
        }
        assert_eq!(size("18446744073709551615"), Ok(ByteSize::b(u64::MAX)));
        for text in ["18446744073709551616", "16EiB", "1e30", "nan", "inf", "-1", "1x"] {
            assert!(size(text).unwrap_err().starts_with("expected a number of bytes from 0 to 18446744073709551615"));
        }
        assert_eq!(plies("4-10"), Ok(4..=10));
        assert!(plies("-1").unwrap_err().ends_with("from 0 to 10000, got `-1`"));
        assert!(plies("4-10001").unwrap_err().ends_with("from 0 to 10000, got `10001`"));
    }
}
