//! The provenance that all builds record in the same way.

use std::time::SystemTime;

use rayon::ThreadPool;
use sternhalma_data::table::Provenance;

use crate::mode::BuildMode;
use crate::process::peak_memory;

/// Returns the provenance of a build that ends now, without times and traffic.
pub(super) fn provenance(mode: BuildMode, pool: &ThreadPool) -> Provenance {
    Provenance {
        program: concat!("sternhalma ", env!("CARGO_PKG_VERSION")).to_owned(),
        built: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
        mode: mode.to_string(),
        threads: pool.current_num_threads(),
        peak_bytes: peak_memory(),
        ..Provenance::default()
    }
}
