//! The layout of a table file, version 1 and 2 (`docs/reference/table-format.md`).

mod encoding;
mod header;
mod info;
mod layout;
mod provenance;
mod spec;

pub use encoding::{Ans, Encoding, EncodingError, Zstd};
pub(crate) use header::Header;
pub use info::TableInfo;
pub use layout::{Block, Layout, Partition, checksum};
pub use provenance::{Conversion, LayerTraffic, Origin, Provenance};
pub use spec::{NoMirroredForm, TableSpec};
