//! The rulesheet parser and checker under arbitrary input.

use sternhalma_ggp::gdl::{CheckOptions, Document, KifError, Place, RulesError, Rulesheet, Severity};

/// Parses and checks the bytes as a rulesheet.
///
/// Invalid UTF-8 is replaced by replacement characters, as in a server.
pub fn target(bytes: &[u8]) {
    let text = &*String::from_utf8_lossy(bytes);
    let sheet = match Rulesheet::parse(text) {
        Ok(sheet) => sheet,
        Err(error) => return assert_error_place(text, &error),
    };
    assert_round_trip(sheet.document());
    let findings = sheet.check(&CheckOptions { playouts: 0, ..CheckOptions::default() });
    for place in findings.iter().filter_map(|finding| finding.place) {
        assert!(character(text, place).is_some(), "{place} is not in the text");
    }
    let valid = findings.iter().all(|finding| finding.severity != Severity::Error);
    match sheet.rules() {
        Ok(_) => {}
        Err(RulesError::Statement(finding)) => assert!(findings.contains(&finding), "not reported by check: {finding}"),
        Err(error) => assert!(!valid, "reported as valid but refused: {error}"),
    }
    let lenient = CheckOptions { lenient: true, playouts: 0, ..CheckOptions::default() };
    let lenient_findings = sheet.check(&lenient);
    assert_eq!(lenient_findings.len(), findings.len(), "`lenient` changes the findings");
    assert!(!valid || lenient_findings.iter().all(|finding| finding.severity != Severity::Error));
}

fn assert_round_trip(document: &Document) {
    let printed = document.to_string();
    let again = Document::parse(&printed).expect("printed text can be parsed");
    assert_eq!(&again, document);
    assert_eq!(again.to_string(), printed, "printing is not idempotent");
}

fn assert_error_place(text: &str, error: &KifError) {
    let place = error.place();
    let expected = match error {
        KifError::Unopened { .. } => ')',
        KifError::UnclosedString { .. } => '"',
        _ => '(',
    };
    assert_eq!(character(text, place), Some(expected), "{error}");
    assert!(error.to_string().starts_with(&place.to_string()), "{error}");
}

/// Returns the character at a place.
fn character(text: &str, place: Place) -> Option<char> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let line = text.split('\n').nth((place.line as usize).checked_sub(1)?)?;
    line.chars().nth((place.column as usize).checked_sub(1)?)
}
