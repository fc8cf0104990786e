//! Validation of rulesheets.

mod names;
mod options;
mod random_play;
mod static_check;
#[cfg(test)]
mod tests;
mod variables;

use random_play::simulate;
use thiserror::Error;

use super::network::Network;
use super::syntax::{Code, Finding, Place, Rules, Rulesheet, Severity, has_error};
use static_check::StaticCheck;

pub use options::CheckOptions;

/// Returns the errors and warnings about a rulesheet, in the order of the text.
///
/// A text that defines no relation of the language is an error, unless
/// [`CheckOptions::fragment`] is set. Relations that are missing in a fragment
/// are not reported.
///
/// ```
/// use sternhalma_gdl::{CheckOptions, check};
///
/// let options = CheckOptions { fragment: true, ..CheckOptions::default() };
/// let findings = check("(<= (bigger ?x ?y)\n    (not (smaller ?x ?y)))", &options);
/// assert_eq!(findings[0].to_string(), "1:1: error[unsafe]: No positive literal of the body binds ?x.");
/// ```
pub fn check(text: &str, options: &CheckOptions) -> Vec<Finding> {
    match Rulesheet::parse(text) {
        Ok(sheet) => sheet.check(options),
        Err(error) => vec![error.into()],
    }
}

/// The error that a rulesheet is not valid.
#[derive(Error, Clone, PartialEq, Eq, Debug)]
#[error("{first}{}", and_others(*.others))]
pub struct InvalidRulesheet {
    /// The first error in the order of the text.
    pub first: Box<Finding>,
    /// The number of other errors.
    pub others: usize,
}

fn and_others(others: usize) -> String {
    match others {
        0 => String::new(),
        1 => " There is 1 more error.".to_owned(),
        _ => format!(" There are {others} more errors."),
    }
}

impl Rulesheet {
    /// Parses and checks a rulesheet before it is played. Returns the rulesheet and the warnings.
    ///
    /// ```
    /// use sternhalma_gdl::{CheckOptions, Rulesheet};
    ///
    /// let error = Rulesheet::parse_valid("(role a) (init", &CheckOptions::before_play()).unwrap_err();
    /// assert!(error.to_string().starts_with("1:10: error[syntax]: "), "{error}");
    /// ```
    ///
    /// # Errors
    /// Returns the first error that [`check`](Rulesheet::check) finds.
    pub fn parse_valid(text: &str, options: &CheckOptions) -> Result<(Rulesheet, Vec<Finding>), InvalidRulesheet> {
        let invalid = |first: Finding, others| InvalidRulesheet { first: Box::new(first), others };
        let sheet = Rulesheet::parse(text).map_err(|error| invalid(error.into(), 0))?;
        let (errors, warnings): (Vec<Finding>, Vec<Finding>) =
            sheet.check(options).into_iter().partition(|finding| finding.severity == Severity::Error);
        let others = errors.len().saturating_sub(1);
        match errors.into_iter().next() {
            Some(first) => Err(invalid(first, others)),
            None => Ok((sheet, warnings)),
        }
    }

    /// Returns the errors and warnings about the rulesheet, as [`check()`] does about a text.
    pub fn check(&self, options: &CheckOptions) -> Vec<Finding> {
        let (rules, mut findings) = (self.converted_rules(), self.findings().to_vec());
        findings.extend(StaticCheck::new(rules, options.fragment).run());
        accept_negation(rules, &mut findings, options);
        if has_error(&findings) {
            // The rules that read a name may be missing too.
            findings.retain(|finding| finding.code != Code::Unused);
        }
        let is_game = rules.iter().any(|rule| rule.head.name == "role");
        if options.lenient && is_game && self.rules().is_ok() {
            let played = simulate(rules, options);
            if !played.iter().any(|finding| STOPS.contains(&finding.code)) {
                findings.iter_mut().for_each(|finding| finding.severity = Severity::Warning);
            }
            let tolerated = |finding: &Finding| ![Code::NoLegalMove, Code::Refused].contains(&finding.code);
            findings.extend(played.into_iter().map(|finding| match tolerated(&finding) {
                true => Finding { severity: Severity::Warning, ..finding },
                false => finding,
            }));
        } else if is_game && !has_error(&findings) {
            findings.extend(simulate(rules, options));
        }
        findings.sort_by_key(|finding| finding.place.unwrap_or(Place { line: u32::MAX, column: 0 }));
        findings
    }
}

/// The findings of a simulation in which some match did not end.
const STOPS: [Code; 3] = [Code::NoLegalMove, Code::NotPlayed, Code::Refused];

/// Makes the findings of negation through the same relation warnings if no
/// ground atom depends on its own negation.
fn accept_negation(rules: &Rules, findings: &mut [Finding], options: &CheckOptions) {
    let mut unstratified = findings.iter_mut().filter(|finding| finding.code == Code::Unstratified).peekable();
    if unstratified.peek().is_some() && Network::plain_within(rules, options.memory, &options.interrupt).is_ok() {
        unstratified.for_each(|finding| {
            finding.severity = Severity::Warning;
            finding.message += " No ground instance does.";
        });
    }
}
