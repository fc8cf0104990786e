//! Options of the encodings that compress blocks.

use anyhow::{Result, bail};
use clap::Args;
use clap::builder::TypedValueParser;
use sternhalma_data::Encoding;
use sternhalma_data::table::{Ans, Zstd};

use crate::values::{completed, count};

/// The names of all encodings.
const NAMES: [&str; 4] = ["byte", "mod3", "zstd", "ans"];

/// Returns a parser of encodings, whose names shells complete.
pub fn encoding_parser() -> impl TypedValueParser<Value = Encoding> {
    completed(&NAMES, str::parse::<Encoding>)
}

/// The blocks of the encodings `zstd` and `ans`.
#[derive(Args)]
pub struct BlockArgs {
    /// With --encoding zstd or ans: states per block, a power of two from 64 to 1048576 [default: 32768 with zstd, 65536 with ans]
    ///
    /// Small blocks make look-ups fast. Large blocks make the file small.
    #[arg(long, value_name = "N", value_parser = count::<u64>(0), help_heading = "Encoding")]
    block_states: Option<u64>,
    /// With --encoding zstd: compression level, 1 to 22 [default: 12]
    #[arg(long, value_name = "L", value_parser = count::<u8>(0), help_heading = "Encoding")]
    level: Option<u8>,
}

impl BlockArgs {
    /// Returns the arguments that specify the same blocks.
    pub fn arguments(&self) -> Vec<String> {
        let block_states = self.block_states.map(|states| format!("--block-states={states}"));
        block_states.into_iter().chain(self.level.map(|level| format!("--level={level}"))).collect()
    }

    /// Returns the encoding with the given block size and level.
    pub fn apply(&self, encoding: Encoding) -> Result<Encoding> {
        let applied = match (encoding, self.block_states, self.level) {
            (Encoding::Zstd(zstd), block_states, level) => {
                let block_states = block_states.unwrap_or(zstd.block_states());
                Zstd::new(block_states, level.unwrap_or(zstd.level())).map(Encoding::Zstd)
            }
            (_, _, Some(_)) => bail!("--level needs --encoding zstd, not `{encoding}`"),
            (Encoding::Ans(_), Some(block_states), None) => Ans::new(block_states).map(Encoding::Ans),
            (Encoding::Byte | Encoding::Mod3, Some(_), None) => {
                bail!("--block-states needs --encoding zstd or ans, not `{encoding}`")
            }
            _ => Ok(encoding),
        };
        applied.map_err(anyhow::Error::msg)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_are_those_of_the_encodings() {
        for name in NAMES {
            assert_eq!(name.parse::<Encoding>().map(|encoding| encoding.to_string()), Ok(name.to_owned()));
        }
        let error = "".parse::<Encoding>().unwrap_err().to_string();
        assert_eq!(error.matches('`').count() / 2 - 1, NAMES.len(), "{error}");
    }
}
