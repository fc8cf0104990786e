//! Checking rulesheets.

mod options;
mod random_play;
mod static_check;
#[cfg(test)]
mod tests;

use super::syntax::{Code, Document, Finding, Place, Rules, Severity, has_error};
use random_play::simulate;
use static_check::Checks;

pub use options::CheckOptions;

/// Returns the errors and warnings of a rulesheet, in the order of the text.
///
/// A text that defines no relation of the language is a fragment; missing
/// relations are then not reported.
///
/// ```
/// use sternhalma_ggp::gdl::{CheckOptions, check};
///
/// let findings = check("(<= (bigger ?x ?y)\n    (not (smaller ?x ?y)))", &CheckOptions::default());
/// assert_eq!(findings[0].to_string(), "1:1: error[unsafe]: No positive literal of the body binds ?x.");
/// ```
pub fn check(text: &str, options: &CheckOptions) -> Vec<Finding> {
    let document = match Document::parse(text) {
        Ok(document) => document,
        Err(error) => return vec![error.into()],
    };
    let (rules, mut findings) = Rules::examine(&document);
    findings.extend(Checks::new(&rules).run());
    if options.lenient {
        findings.iter_mut().for_each(excuse);
    }
    let played = rules.iter().any(|rule| rule.head.name == "role");
    if played && !has_error(&findings) {
        findings.extend(simulate(&rules, options));
    }
    findings.sort_by_key(|finding| finding.place.unwrap_or(Place { line: u32::MAX, column: 0 }));
    findings
}

/// Turns an error that most reasoners accept into a warning.
fn excuse(finding: &mut Finding) {
    let codes = [Code::SentenceArity, Code::FunctionArity, Code::EmptyBody, Code::EmptyArguments];
    if codes.contains(&finding.code) {
        finding.severity = Severity::Warning;
    }
}
