use anyhow::Result;
use serde_json::{Value, json};
use sternhalma_ggp::Policy;
use sternhalma_ggp::policy::{NAMED_POLICIES, ParamHelp, parameters};

use crate::output::{self, CommandOutcome, columns};
use crate::values::policy;

/// List the policies for rulesheets and their parameters, or explain some
///
/// A policy is used by its name, or as `name,key=value,…`.
#[derive(clap::Args)]
pub struct Args {
    /// Policies to print with all parameters: `name`, or `name,key=value,…` [default: list everything]
    #[arg(value_name = "POLICY", value_parser = policy)]
    policies: Vec<Policy>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> Result<CommandOutcome> {
    if !args.policies.is_empty() {
        let texts: Vec<String> = args.policies.iter().map(Policy::to_string).collect();
        return output::answer(args.json, &texts, || {
            let lines = args.policies.iter().zip(&texts).map(|(policy, text)| format!("{text}{}", description(policy)));
            lines.collect::<Vec<_>>().join("\n")
        });
    }
    let named = NAMED_POLICIES
        .iter()
        .map(|policy| json!({ "name": policy.name, "definition": policy.definition, "about": policy.about }));
    let parameters = parameters();
    let rows = parameters.iter().map(|parameter| {
        json!({
            "key": parameter.key,
            "needs": plain(&parameter.owner),
            "values": plain(&parameter.values),
            "help": plain(parameter.help),
        })
    });
    let value = json!({ "policies": named.collect::<Vec<Value>>(), "parameters": rows.collect::<Vec<Value>>() });
    output::answer(args.json, &value, || text(&parameters))
}

/// Returns the description of a named policy, on a line of its own, or an empty text for other policies.
fn description(policy: &Policy) -> String {
    let named = NAMED_POLICIES.iter().find(|named| named.name.parse().as_ref() == Ok(policy));
    named.map_or_else(String::new, |named| format!("\n    {}: {}", named.name, named.about))
}

fn text(parameters: &[ParamHelp]) -> String {
    let mut policies = vec![["policy", "same as", "description"].map(str::to_owned).to_vec()];
    policies.extend(
        NAMED_POLICIES.iter().map(|policy| [policy.name, policy.definition, policy.about].map(str::to_owned).to_vec()),
    );
    let rows = parameters.iter().map(|ParamHelp { key, owner, values, help }| {
        let needs = if owner.is_empty() { String::new() } else { format!(" (needs {})", plain(owner)) };
        format!("{key}: {}{needs}\n    {}", plain(values), plain(help))
    });
    format!("{}\n\nparameter: values; default\n\n{}", columns(policies), rows.collect::<Vec<_>>().join("\n"))
}

/// Returns Markdown without its signs: code, and the addresses of links.
fn plain(markdown: &str) -> String {
    let mut text = String::new();
    let mut rest = markdown;
    while let Some((before, link)) = rest.split_once("](") {
        let (start, word) = before.rsplit_once('[').unwrap_or(("", before));
        text += start;
        text += word;
        rest = link.split_once(')').map_or("", |(_, after)| after);
    }
    (text + rest).replace('`', "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markdown_becomes_text() {
        assert_eq!(plain("whether it [proves](#proving) `x` in [y](z)."), "whether it proves x in y.");
        assert_eq!(plain("`uct`, `grave`; `uct`"), "uct, grave; uct");
        for parameter in parameters() {
            for part in [&*parameter.owner, &*parameter.values, parameter.help] {
                assert!(!plain(part).contains("](") && !plain(part).contains('`'), "{part}");
            }
        }
    }
}
