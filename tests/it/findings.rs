//! The examples of `docs/reference/gdl-findings.md`.

use std::collections::BTreeSet;
use std::path::Path;

use sternhalma_ggp::gdl::{CheckOptions, Code, Finding, check};

/// Returns the blocks of code of a section.
fn blocks(section: &str) -> Vec<&str> {
    section.split("```lisp\n").skip(1).map(|rest| rest.split("```").next().unwrap_or(rest)).collect()
}

#[test]
fn every_code_has_a_wrong_and_a_right_example() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/reference/gdl-findings.md");
    let page = std::fs::read_to_string(page).unwrap();
    let mut sections = page.split("\n## ");
    let head = sections.next().expect("the page has a head");
    let game = blocks(head.split("<!-- game -->").nth(1).expect("the head has a game"))[0];
    let findings = |example: &str| -> Vec<Finding> {
        let text = if example.starts_with("; complete") { example.to_owned() } else { format!("{game}{example}") };
        check(&text, &CheckOptions::default())
    };
    let mut documented = BTreeSet::new();
    for section in sections {
        let (code, text) = section.split_once('\n').expect("a section has a text");
        let examples = blocks(text);
        assert_eq!(examples.len(), 2, "{code}");
        let found = findings(examples[0]);
        let finding = found.iter().find(|finding| finding.code.name() == code);
        let finding = finding.unwrap_or_else(|| panic!("{code}: the wrong example has {found:?}"));
        let severity = finding.severity.to_string();
        assert!(text.trim_start().to_lowercase().starts_with(&format!("*{severity}.*")), "{code}: {severity}");
        let right =
            findings(examples[1]).into_iter().filter(|finding| code == "unused" || finding.code != Code::Unused);
        assert_eq!(right.collect::<Vec<_>>(), [], "{code}: the right example");
        assert!(documented.insert(code), "{code} is documented twice");
    }
    let codes: BTreeSet<&str> = Code::ALL.iter().map(|code| code.name()).collect();
    assert_eq!(documented, codes);
}
