//! Parsers of single values.

use std::time::Duration;

/// A time on the command line.
pub fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().filter(|seconds| (0.0..=1e6).contains(seconds));
    seconds.map(Duration::from_secs_f64).ok_or_else(|| "expected seconds from 0 to a million".into())
}

/// A name that can stand in a message.
pub fn symbol(text: &str) -> Result<String, String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
    match !text.is_empty() && text.chars().all(plain) {
        true => Ok(text.to_owned()),
        false => Err("expected letters, digits, `_`, `.` and `-`".into()),
    }
}
