//! Rulesheets: files, and those that are part of this program.

use std::path::Path;

use anyhow::{Context, Result};

/// Returns the text of a rulesheet: of a file, or of a rulesheet of `sternhalma games` by its name.
pub fn read_rulesheet(path: &Path) -> Result<String> {
    sternhalma_ggp::gdl::read_rulesheet(path).with_context(|| {
        format!("{}: cannot read the rulesheet; `sternhalma games` lists the built-in ones", path.display())
    })
}
