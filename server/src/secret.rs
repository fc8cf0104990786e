//! Secrets that clients must present.

use std::fmt;

use rand::RngExt;

/// A random text that only its holder knows. It does not appear in debug output.
#[derive(Clone)]
pub struct Secret(String);

impl Secret {
    /// Draws a secret of 128 bits.
    pub fn draw() -> Secret {
        Secret(random_name())
    }

    /// Returns the text, for its holder.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// Compares a text with the secret, in a time that does not depend on where they differ.
    pub fn is(&self, given: &str) -> bool {
        let differences = given.bytes().zip(self.0.bytes()).fold(0, |all, (a, b)| all | (a ^ b));
        given.len() == self.0.len() && differences == 0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// Draws 128 bits as 32 hexadecimal digits, which nobody can guess.
pub fn random_name() -> String {
    format!("{:032x}", rand::rng().random::<u128>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_differ_and_are_compared_whole() {
        let (one, other) = (Secret::draw(), Secret::draw());
        assert!(one.text().len() == 32 && one.is(one.text()) && !one.is(other.text()));
        for given in ["", &one.text()[1..], &format!("{}0", one.text()), &"0".repeat(32)] {
            assert!(!one.is(given), "{given}");
        }
        assert!(!format!("{one:?}").contains(one.text()));
    }
}
