use std::path::PathBuf;

use anyhow::{Result, bail};
use indicatif::HumanCount;
use serde_json::{Value, json};
use sternhalma_builder::{Comparison, DifferenceStats, compare};
use sternhalma_data::Table;

use crate::args::threads::ThreadArgs;
use crate::context::CommandContext;
use crate::output::{self, CommandOutcome};

/// Compare two tables on the states that both cover
///
/// Shows how much the upper bounds of the smaller table exceed the distances
/// of the larger one. Both tables must be of the same board. Exit code 2 if the
/// tables contradict each other.
#[derive(clap::Args)]
pub struct Args {
    /// First table: a path, or a name in the tables directory
    a: PathBuf,
    /// Second table, of the same board
    b: PathBuf,
    #[command(flatten)]
    threads: ThreadArgs,
    /// Print JSON, with figures for each distance
    #[arg(long)]
    json: bool,
}

pub fn run(ctx: &CommandContext, args: &Args) -> Result<CommandOutcome> {
    let [a, b] = [ctx.open_table(&args.a)?, ctx.open_table(&args.b)?];
    let progress = ctx.progress()?;
    let compared = compare(&a, &b, args.threads.get(), &progress);
    progress.finish();
    let compared = compared?;
    let outcome = output::answer(args.json, &json_report(&a, &b, &compared), || text_report(&a, &b, &compared))?;
    match compared.all().contradictions {
        0 => Ok(outcome),
        states => bail!(
            "one of the tables is wrong: {} differ in a way that correct tables cannot; `verify --deep` shows which",
            counted(states)
        ),
    }
}

fn json_report(a: &Table, b: &Table, compared: &Comparison) -> Value {
    let prefix = compared.prefix();
    let all = compared.all();
    let differences = |stats: &DifferenceStats| -> Vec<Value> {
        let row = |(by, states): (&i16, &u64)| json!({ "difference": by, "states": states });
        stats.differences.iter().map(row).collect()
    };
    let at = |(distance, stats): &(u8, DifferenceStats)| {
        json!({ "distance": distance, "states": stats.states, "differ": stats.differing(), "share": stats.share(),
                "largest": stats.largest(), "mean": stats.mean() })
    };
    json!({
        "a": a.path().display().to_string(),
        "b": b.path().display().to_string(),
        "side": prefix.board().size(),
        "pieces": prefix.board().pieces(),
        "within": [a.prefix().within(), b.prefix().within()],
        "states": all.states,
        "differ": all.differing(),
        "share": all.share(),
        "largest": all.largest(),
        "mean": all.mean(),
        "differences": differences(&all),
        "exact_to": compared.proven_depth(),
        "proven": all.proven,
        "proven_differ": all.proven_differing,
        "impossible": all.contradictions,
        "by_distance": compared.by_distance().iter().map(at).collect::<Vec<Value>>(),
    })
}

fn text_report(a: &Table, b: &Table, compared: &Comparison) -> String {
    let all = compared.all();
    let percent = |part: u64| 100.0 * part as f64 / all.states as f64;
    let differ = match (all.largest(), all.mean()) {
        (Some(largest), Some(mean)) => {
            format!(
                "{} ({:.4}%), by at most {largest} and {mean:.3} on average",
                counted(all.differing()),
                100.0 * all.share()
            )
        }
        _ => "no state".to_owned(),
    };
    let rule = match compared.proven_depth() {
        None => "all distances".to_owned(),
        Some(limit) => format!("distances up to {limit}"),
    };
    let none = match all.proven_differing {
        0 => "none of them differs".to_owned(),
        states => format!("{} of them differ, which is impossible", HumanCount(states)),
    };
    let proven = format!("{} ({:.4}%), {rule}: {none}", counted(all.proven), percent(all.proven));
    let mut lines = vec![
        format!("{}: {}", a.path().display(), a.prefix()),
        format!("{}: {}", b.path().display(), b.prefix()),
        format!("compared  {}", counted(all.states)),
        format!("proven    {proven}"),
        format!("differ    {differ}"),
        "difference  states".to_owned(),
        format!("{:>10}  {}", 0, HumanCount(all.states - all.differing())),
    ];
    lines.extend(all.differences.iter().map(|(by, states)| format!("{by:>10}  {}", HumanCount(*states))));
    lines.join("\n")
}

fn counted(states: u64) -> String {
    output::counted(states as usize, "state")
}
