//! Validation of rulesheets.

mod options;
mod random_play;
mod static_check;
#[cfg(test)]
mod tests;

use super::syntax::{Code, Document, Finding, Place, Rules, Severity, has_error};
use random_play::simulate;
use static_check::StaticCheck;

pub use options::CheckOptions;

/// Returns the errors and warnings about a rulesheet, in the order of the text.
///
/// A text that defines no relation of the language is a fragment. Missing
/// relations are not reported for fragments.
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
    findings.extend(StaticCheck::new(&rules).run());
    if options.lenient {
        findings.iter_mut().for_each(make_lenient);
    }
    let is_game = rules.iter().any(|rule| rule.head.name == "role");
    if is_game && !has_error(&findings) {
        findings.extend(simulate(&rules, options));
    }
    findings.sort_by_key(|finding| finding.place.unwrap_or(Place { line: u32::MAX, column: 0 }));
    findings
}

/// Makes findings that reasoners tolerate warnings.
fn make_lenient(finding: &mut Finding) {
    let codes = [Code::SentenceArity, Code::FunctionArity, Code::EmptyBody, Code::EmptyArguments];
    if codes.contains(&finding.code) {
        finding.severity = Severity::Warning;
    }
}
