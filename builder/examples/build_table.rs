//! Builds a small table out of core with progress reports, and proves it.
//!
//! ```text
//! cargo run --release -p sternhalma-builder --example build_table
//! ```

use sternhalma_builder::{BuildMode, Observer, TableBuilder, Verifier};
use sternhalma_data::{Board, Encoding, Prefix, Table};

/// Prints each complete layer.
struct PrintLayers;

impl Observer for PrintLayers {
    fn layer(&self, distance: u32, states: u64, seen: u64, all: u64) {
        println!("distance {distance}: {states} states, {seen} of {all} seen");
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = tempfile::tempdir()?;
    let path = directory.path().join("6x6-4.sht");
    let prefix = Prefix::whole(Board::new(6, 4)?);

    // By default, the memory limit decides between a search in memory and out of core.
    let builder = TableBuilder::new(prefix).encoding(Encoding::Mod3).mode(BuildMode::OutOfCore).memory_limit(64 << 20);
    builder.build(&path, &PrintLayers)?;

    let table = Table::open(&path)?;
    Verifier::new(&table).prove(&())?;
    assert_eq!(table.info().layers.iter().sum::<u64>(), prefix.states());
    println!("proven: the farthest state is {} moves away", table.info().layers.len() - 1);
    Ok(())
}
