//! Rulesheets: files, and those that are part of this program.

use std::path::Path;

use anyhow::{Context, Result};
use sternhalma_ggp::gdl::GAMES;
use sternhalma_ggp::messages::nearest;

/// Returns the text of a rulesheet: of a file, or of a rulesheet of `sternhalma games` by its name.
pub fn read_rulesheet(path: &Path) -> Result<String> {
    sternhalma_ggp::gdl::read_rulesheet(path).with_context(|| {
        let name = path.to_string_lossy();
        let similar = nearest(&name, GAMES.iter().map(|game| game.name));
        let similar = similar.map_or(String::new(), |name| format!("; did you mean `{name}`?"));
        format!("{name}: cannot read the rulesheet; `sternhalma games` lists the built-in ones{similar}")
    })
}
