//! Rulesheets: texts that are parsed once.

use super::diagnostics::Finding;
use super::kif::{Document, KifError};
use super::rules::{Rules, RulesError};

/// A rulesheet whose text was parsed: the document, its rules, and what their conversion found.
///
/// [`check`](Rulesheet::check) validates it, and every engine takes its [rules](Rulesheet::rules).
#[derive(Clone, Debug)]
pub struct Rulesheet {
    document: Document,
    rules: Rules,
    /// The findings about statements that have no meaning or an unusual form.
    findings: Vec<Finding>,
    /// The first finding that made the conversion omit something.
    dropped: Option<Finding>,
    digest: String,
}

impl Rulesheet {
    /// Parses a text.
    ///
    /// # Errors
    ///
    /// Returns an error if the text is not KIF.
    pub fn parse(text: &str) -> Result<Rulesheet, KifError> {
        let document = Document::parse(text)?;
        let (rules, findings, dropped) = Rules::converted(&document);
        Ok(Rulesheet { document, rules, findings, dropped, digest: digest(text) })
    }

    /// Returns the expressions of the text.
    pub fn document(&self) -> &Document {
        &self.document
    }

    /// Returns the facts and rules.
    ///
    /// # Errors
    ///
    /// Returns the first statement that is neither a fact nor a rule, or that exceeds a bound of rules.
    pub fn rules(&self) -> Result<&Rules, RulesError> {
        match &self.dropped {
            Some(finding) => Err(RulesError::Statement(Box::new(finding.clone()))),
            None => Ok(&self.rules),
        }
    }

    /// Returns the facts and rules that could be converted.
    pub(crate) fn converted_rules(&self) -> &Rules {
        &self.rules
    }

    /// Returns the findings of the conversion.
    pub(crate) fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// Returns the digest of the text (XXH3, 128 bits, in hexadecimal), which identifies the rulesheet in logs.
    pub fn digest(&self) -> &str {
        &self.digest
    }
}

/// Returns the digest of the text of a rulesheet.
pub fn digest(text: &str) -> String {
    format!("{:032x}", xxhash_rust::xxh3::xxh3_128(text.as_bytes()))
}
