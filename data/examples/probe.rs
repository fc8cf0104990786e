//! Opens a table and prints the distance of a state and a shortest solution.
//!
//! Usage: `probe [FILE STATE]`. A state is a list of cells of player `x`, e.g.,
//! `a1,b1,a2`. Without arguments, the program uses a small table of the tests.

use std::error::Error;

use sternhalma_data::{Probe, Side, Table};

const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/v1-4x4-3-within13-byte.sht");

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (file, text) = match &args[..] {
        [] => (GOLDEN, "c3,b2,d1"),
        [file, state] => (file.as_str(), state.as_str()),
        _ => return Err("usage: probe [FILE STATE]".into()),
    };
    let table = Table::open(file)?;
    let board = table.board();
    println!("{}: {}, {} states", file, table.prefix(), table.prefix().states());

    let army = board.parse_state(text, Side::X)?.to_army(board, Side::X);
    let probed = table.side(Side::X).probed(army)?;
    match probed.probe() {
        Probe::Exact(distance) => println!("{text}: {distance} moves to the goal"),
        Probe::UpperBound(distance) => println!("{text}: at most {distance} moves to the goal"),
        Probe::NotCovered => println!("{text}: the table does not cover this state"),
    }
    if let Some(solution) = probed.solution()? {
        let solution: Vec<String> = solution.into_iter().map(|mv| board.geometry().move_text(mv)).collect();
        println!("a shortest solution: {}", solution.join(" "));
    }
    Ok(())
}
