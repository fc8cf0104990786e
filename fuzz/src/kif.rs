//! Any text is read or refused, and judged.

use sternhalma_ggp::gdl::{CheckOptions, Document, KifError, Place, Rules, RulesError, Severity, check};

/// Bytes that are not UTF-8 are read as a server reads them, with
/// replacement characters.
pub fn target(bytes: &[u8]) {
    let text = &*String::from_utf8_lossy(bytes);
    match Document::parse(text) {
        Ok(document) => prints_and_reads_the_same(&document),
        Err(error) => names_its_place(text, &error),
    }
    let findings = check(text, &CheckOptions { playouts: 0, ..CheckOptions::default() });
    for place in findings.iter().filter_map(|finding| finding.place) {
        assert!(character(text, place).is_some(), "{place} is not in the text");
    }
    let valid = findings.iter().all(|finding| finding.severity != Severity::Error);
    match Rules::parse(text) {
        Ok(_) => {}
        Err(RulesError::Statement(finding)) => assert!(findings.contains(&finding), "unknown to check: {finding}"),
        Err(error) => assert!(!valid, "found valid and not read: {error}"),
    }
    let lenient = CheckOptions { lenient: true, playouts: 0, ..CheckOptions::default() };
    let excused = check(text, &lenient);
    assert_eq!(excused.len(), findings.len(), "leniency changes what is found");
    assert!(!valid || excused.iter().all(|finding| finding.severity != Severity::Error));
}

fn prints_and_reads_the_same(document: &Document) {
    let printed = document.to_string();
    let again = Document::parse(&printed).expect("what is printed can be read");
    assert_eq!(&again, document);
    assert_eq!(again.to_string(), printed, "printing is not idempotent");
}

fn names_its_place(text: &str, error: &KifError) {
    let place = error.place();
    let expected = match error {
        KifError::Unopened { .. } => ')',
        KifError::UnclosedString { .. } => '"',
        _ => '(',
    };
    assert_eq!(character(text, place), Some(expected), "{error}");
    assert!(error.to_string().starts_with(&place.to_string()), "{error}");
}

/// The character at a place.
fn character(text: &str, place: Place) -> Option<char> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let line = text.split('\n').nth((place.line as usize).checked_sub(1)?)?;
    line.chars().nth((place.column as usize).checked_sub(1)?)
}
