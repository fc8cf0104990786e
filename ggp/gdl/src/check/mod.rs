//! Validation of rulesheets.

mod names;
mod options;
mod random_play;
mod static_check;
#[cfg(test)]
mod tests;

use random_play::simulate;

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

impl Rulesheet {
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
