//! Options of the encoding `zstd`.

use anyhow::{Result, bail};
use sternhalma_data::{Encoding, Zstd};

/// How blocks of the encoding `zstd` are made.
#[derive(clap::Args)]
pub struct ZstdArgs {
    /// With --encoding zstd: states in a block, a power of two from 64 to 1048576 [default: 32768]
    ///
    /// Small blocks make look-ups fast, large ones the file small.
    #[arg(long, value_name = "N")]
    block_states: Option<u64>,
    /// With --encoding zstd: the level of zstd, 1 to 22 [default: 19]
    #[arg(long, value_name = "L")]
    level: Option<u8>,
}

impl ZstdArgs {
    /// The encoding with its blocks as the user wants them.
    pub fn apply(&self, encoding: Encoding) -> Result<Encoding> {
        match encoding {
            Encoding::Zstd(zstd) => {
                let block_states = self.block_states.unwrap_or(zstd.block_states());
                let level = self.level.unwrap_or(zstd.level());
                Zstd::new(block_states, level).map(Encoding::Zstd).map_err(anyhow::Error::msg)
            }
            _ if self.block_states.is_some() || self.level.is_some() => {
                bail!("--block-states and --level are for --encoding zstd")
            }
            _ => Ok(encoding),
        }
    }
}
