//! Rulesheets: files, and those that are part of this program.

use std::path::Path;

use anyhow::{Context, Result};
use sternhalma_ggp::gdl::GAMES;

/// Returns the text of a rulesheet. A name without a folder also selects a rulesheet of `sternhalma games`, with or
/// without `.kif`, if there is no such file.
pub fn read_rulesheet(path: &Path) -> Result<String> {
    let name = path.to_str().map(|text| text.strip_suffix(".kif").unwrap_or(text));
    match GAMES.iter().find(|game| Some(game.name) == name) {
        Some(game) if !path.exists() => Ok(game.text.to_owned()),
        _ => std::fs::read_to_string(path).with_context(|| {
            format!("{}: cannot read the rulesheet; `sternhalma games` lists the built-in ones", path.display())
        }),
    }
}
