//! Distance tables: open them, probe states, and stream distances.
//!
//! [`Table`] opens a file, [`Table::probe`] looks up a state, and
//! [`DistanceStream`] reads many distances in the order of their ranks.
//! [`mod@write`] and [`fs`] are the low level on which tables are built.

mod codec;
mod directory;
mod distance;
mod error;
mod export;
mod format;
pub mod fs;
#[allow(unsafe_code)]
mod map;
mod names;
mod options;
mod probe;
mod reader;
mod sample;
mod stream;
pub mod write;

pub use codec::{ans_models, rans};
pub use directory::{Coverage, TableFile, TablesDir};
pub use distance::{Distance, Probe};
pub use error::TableError;
pub use export::write_lex;
pub use format::{
    Ans, Block, Conversion, Encoding, EncodingError, LayerTraffic, Layout, NoMirroredForm, Origin, Partition,
    Provenance, TableInfo, TableSpec, Zstd, checksum,
};
pub use map::{advise_huge_pages, install_sigbus_handler, prefetch};
pub use names::{TABLES_VARIABLE, find_table, parse_table_name, table_name, tables_dir};
pub use options::TableOptions;
pub use probe::{ProbedState, SideTable};
pub use reader::Table;
pub use sample::StatesAt;
pub use stream::DistanceStream;
