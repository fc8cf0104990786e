//! Rulesheets: files, and those that are part of this program.

use std::fmt;
use std::path::Path;

use anyhow::{Context, Result, anyhow};
use sternhalma_ggp::gdl::{CheckOptions, Code, GAMES, InvalidRulesheet, Place, Rulesheet};
use sternhalma_ggp::messages::nearest;

use crate::output::{counted, status};

/// The maximum number of findings that are reported before a rulesheet is played.
const MAX_FINDINGS: usize = 10;

/// Returns the text of a rulesheet: of a file, or of a rulesheet of `sternhalma games` by its name.
pub fn read_rulesheet(path: &Path) -> Result<String> {
    sternhalma_ggp::gdl::read_rulesheet(path).with_context(|| {
        let name = path.to_string_lossy();
        let similar = nearest(&name, GAMES.iter().map(|game| game.name));
        let similar = similar.map_or(String::new(), |name| format!("; did you mean `{name}`?"));
        format!("{name}: cannot read the rulesheet; `sternhalma games` lists the built-in ones{similar}")
    })
}

/// Returns the rulesheet of a text to play it, and reports the warnings of `gdl check` about it. A lenient check reports
/// errors in the same way.
///
/// # Errors
/// If the rulesheet has an error, unless the check is lenient.
pub fn playable_rulesheet(path: &Path, text: &str, lenient: bool) -> Result<Rulesheet> {
    let options = CheckOptions::before_play();
    let (sheet, findings) = match lenient {
        true => {
            let sheet = Rulesheet::parse(text).with_context(|| path.display().to_string())?;
            let findings = sheet.check(&options);
            (sheet, findings)
        }
        false => Rulesheet::parse_valid(text, &options).map_err(|invalid| refusal(path, &invalid))?,
    };
    for finding in findings.iter().take(MAX_FINDINGS) {
        status!("{}", located(path, finding.place, finding));
    }
    if let Some(more @ 1..) = findings.len().checked_sub(MAX_FINDINGS) {
        status!("{}: `gdl check` reports {}", path.display(), counted(more, "more finding"));
    }
    Ok(sheet)
}

/// Returns the error that a rulesheet is not played.
fn refusal(path: &Path, invalid: &InvalidRulesheet) -> anyhow::Error {
    // No engine plays a text that cannot be parsed.
    let hint = match invalid.first.code {
        Code::Syntax => "",
        _ => " --lenient plays the rulesheet despite its errors",
    };
    anyhow!("{}{hint}", located(path, invalid.first.place, invalid))
}

/// Returns a finding, which begins with its place if it has one, with the path of the rulesheet.
pub fn located(path: &Path, place: Option<Place>, finding: impl fmt::Display) -> String {
    let gap = if place.is_some() { "" } else { " " };
    format!("{}:{gap}{finding}", path.display())
}
