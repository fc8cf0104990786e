//! Fits the number of moves that a step beyond a table's prefix costs, on a
//! whole table. For each sampled state, the army is drawn into the prefix,
//! which takes a number of steps and reduces the distance. The program prints
//! the slope of the reduction over the steps, by least squares through the
//! origin. Only states whose pieces are within ten rows of each other are
//! sampled.
//!
//! `cargo run --release -p sternhalma-engine --example fit_estimate -- FILE`

use rand::{RngExt, SeedableRng};
use sternhalma_data::{Prefix, Probe, Rank, Table};
use sternhalma_engine::DrawIn;
use sternhalma_ggp::Rng;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args_os().nth(1).ok_or("usage: fit_estimate FILE")?;
    let table = Table::open(path)?;
    let board = table.prefix().board();
    let geometry = board.geometry();
    println!("within  moves a step  mean error  root mean square");
    let (mut all_xy, mut all_xx) = (0.0, 0.0);
    for within in [36, 42, 45, 47, 53, 57, 60] {
        let prefix = Prefix::new(board, within)?;
        let draw_in = DrawIn::new(prefix);
        let mut rng = Rng::seed_from_u64(within);
        let mut samples = Vec::new();
        while samples.len() < 100_000 {
            let rank = Rank(rng.random_range(prefix.states()..board.states()));
            let state = rank.state(board.pieces());
            let rows =
                [state.cells().first(), state.cells().last()].map(|cell| cell.map_or(0, |cell| geometry.row(cell)));
            if rows[1] - rows[0] > 10 {
                continue;
            }
            let (placed, steps) = draw_in.place(state);
            let (Probe::Exact(far), Probe::Exact(near)) = (table.probe(state)?, table.probe(placed)?) else {
                return Err("the table is not whole".into());
            };
            samples.push((f64::from(steps), f64::from(far.0) - f64::from(near.0)));
        }
        let xy: f64 = samples.iter().map(|(x, y)| x * y).sum();
        let xx: f64 = samples.iter().map(|(x, _)| x * x).sum();
        let slope = xy / xx;
        let errors: Vec<f64> = samples.iter().map(|(x, y)| y - slope * x).collect();
        let mean = errors.iter().sum::<f64>() / errors.len() as f64;
        let square = (errors.iter().map(|e| e * e).sum::<f64>() / errors.len() as f64).sqrt();
        println!("{within:>6}  {slope:>12.3}  {mean:>10.2}  {square:>16.2}");
        (all_xy, all_xx) = (all_xy + xy, all_xx + xx);
    }
    println!("   all  {:>12.3}", all_xy / all_xx);
    Ok(())
}
