use std::path::{Path, PathBuf};

use anyhow::Result;
use serde_json::{Value, json};
use sternhalma_ggp::gdl::{CheckOptions, Finding, Severity, check};
use sternhalma_ggp::messages::{excerpt_around, shorten_quotes};

use crate::args::rulesheet::{located, read_rulesheet};
use crate::error::one_line;
use crate::output::{self, CommandOutcome};
use crate::values::count;

/// Report the errors of rulesheets
///
/// Exit code 1 if a rulesheet has an error.
#[derive(clap::Args)]
pub struct Args {
    /// Rulesheets
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Report errors as warnings if the prover can play the rulesheet
    #[arg(long)]
    lenient: bool,
    /// Accept a part of a rulesheet, which need not define a game
    #[arg(long)]
    fragment: bool,
    /// Random matches to play with a rulesheet that has no errors
    #[arg(long, alias = "playouts", value_name = "N", default_value_t = 10, value_parser = count::<u64>(0))]
    matches: u64,
    /// Seed of the matches
    #[arg(long, value_name = "S", default_value_t = 1, value_parser = count::<u64>(0))]
    seed: u64,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> Result<CommandOutcome> {
    let options = CheckOptions {
        lenient: args.lenient,
        fragment: args.fragment,
        playouts: args.matches,
        seed: args.seed,
        ..CheckOptions::default()
    };
    let (mut rows, mut invalid, mut unreadable) = (Vec::new(), false, false);
    for file in &args.files {
        let text = match read_rulesheet(file) {
            Ok(text) => text,
            Err(error) => {
                output::print_error(&one_line(&error));
                unreadable = true;
                continue;
            }
        };
        let findings = check(&text, &options);
        let errors = findings.iter().filter(|finding| finding.severity == Severity::Error).count();
        invalid |= errors > 0;
        if args.json {
            rows.push(json!({
                "file": file.display().to_string(),
                "ok": errors == 0,
                "findings": findings.iter().map(finding_json).collect::<Vec<_>>(),
            }));
        } else {
            print_findings(file, &text, &findings, errors)?;
        }
    }
    if args.json {
        output::print_json(&rows)?;
    }
    Ok(match (unreadable, invalid) {
        (true, _) => CommandOutcome::SomeInvalid,
        (false, true) => CommandOutcome::NotFound,
        (false, false) => CommandOutcome::Answered,
    })
}

fn finding_json(finding: &Finding) -> Value {
    json!({
        "severity": finding.severity.to_string(),
        "code": finding.code.name(),
        "line": finding.place.map(|place| place.line),
        "column": finding.place.map(|place| place.column),
        "message": shorten_quotes(&finding.message),
    })
}

/// Prints each finding with its line of the text and a caret.
fn print_findings(file: &Path, text: &str, findings: &[Finding], errors: usize) -> Result<()> {
    let lines: Vec<&str> = text.lines().collect();
    for finding in findings {
        output::print_line(&shorten_quotes(&located(file, finding.place, finding)))?;
        if let Some(place) = finding.place
            && let Some(line) = lines.get(place.line as usize - 1)
        {
            let (line, column) = excerpt_around(line, place.column as usize - 1);
            output::print_line(&format!("  {}", line.replace(char::is_control, " ")))?;
            output::print_line(&format!("  {}^", " ".repeat(column)))?;
        }
    }
    let warnings = findings.len() - errors;
    let verdict = if errors == 0 { "valid" } else { "not valid" };
    let (errors, warnings) = (output::counted(errors, "error"), output::counted(warnings, "warning"));
    output::print_line(&format!("{}: {verdict}, {errors}, {warnings}", file.display()))
}
