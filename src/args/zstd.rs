//! Options of the encoding `zstd`.

use anyhow::{Result, bail};
use clap::Args;
use sternhalma_data::Encoding;
use sternhalma_data::table::Zstd;

use crate::values::count;

/// The compression of blocks with the encoding `zstd`.
#[derive(Args)]
pub struct ZstdArgs {
    /// With --encoding zstd: states per block, a power of two from 64 to 1048576 [default: 32768]
    ///
    /// Small blocks make look-ups fast. Large blocks make the file small.
    #[arg(long, value_name = "N", value_parser = count::<u64>(0), help_heading = "Encoding")]
    block_states: Option<u64>,
    /// With --encoding zstd: compression level, 1 to 22 [default: 19]
    #[arg(long, value_name = "L", value_parser = count::<u8>(0), help_heading = "Encoding")]
    level: Option<u8>,
}

impl ZstdArgs {
    /// Returns the encoding with the given block size and level.
    pub fn apply(&self, encoding: Encoding) -> Result<Encoding> {
        match encoding {
            Encoding::Zstd(zstd) => {
                let block_states = self.block_states.unwrap_or(zstd.block_states());
                let level = self.level.unwrap_or(zstd.level());
                Zstd::new(block_states, level).map(Encoding::Zstd).map_err(anyhow::Error::msg)
            }
            _ if self.block_states.is_some() || self.level.is_some() => {
                bail!("--block-states and --level need --encoding zstd, not `{encoding}`")
            }
            _ => Ok(encoding),
        }
    }
}
