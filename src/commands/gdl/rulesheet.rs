//! Reads rulesheets for the subcommands of `gdl`.

use std::path::Path;

use anyhow::{Context, Result};
use clap::ValueEnum;
use sternhalma_ggp::gdl::network::{Network, NetworkGame};
use sternhalma_ggp::gdl::{Prover, Rules, index_of_name};

use crate::args::rulesheet::read_rulesheet;

/// What plays a rulesheet.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum EngineArg {
    /// The prover, one state at a time
    Prover,
    /// The network, one match at a time
    Sequential,
    /// The network, 512 matches at once
    Lanes,
}

impl EngineArg {
    pub fn name(self) -> &'static str {
        match self {
            EngineArg::Prover => "prover",
            EngineArg::Sequential => "sequential",
            EngineArg::Lanes => "lanes",
        }
    }
}

pub fn rules(file: &Path) -> Result<Rules> {
    Rules::parse(&read_rulesheet(file)?).with_context(|| file.display().to_string())
}

pub fn prover(file: &Path) -> Result<Prover> {
    Prover::new(&rules(file)?).with_context(|| file.display().to_string())
}

pub fn network(file: &Path) -> Result<NetworkGame> {
    let rules = rules(file)?;
    let network = Network::new(&rules).with_context(|| file.display().to_string())?;
    Ok(NetworkGame::new(network).with_rules(rules))
}

/// Returns the index of the role with a name.
pub fn role_index(roles: &[String], name: &str) -> Result<usize> {
    index_of_name(name, roles).with_context(|| format!("there is no role `{name}`; the roles are {}", roles.join(", ")))
}
