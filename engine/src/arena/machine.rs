//! The speed of the machine.

use std::hint::black_box;
use std::sync::OnceLock;
use std::time::Instant;

use sternhalma_data::{Board, Position};

/// Returns the speed of one thread: perft from the initial position with 6 pieces on the 9x9
/// diamond, in leaves per second. The first call measures it in about 10 ms.
pub fn machine_rate() -> f64 {
    static RATE: OnceLock<f64> = OnceLock::new();
    *RATE.get_or_init(|| {
        let position = Position::initial(Board::new(9, 6).expect("the board has room for both armies"));
        let rate = |_| {
            let start = Instant::now();
            let leaves = black_box(&position).perft(4);
            (leaves as f64 / start.elapsed().as_secs_f64()).round()
        };
        // The fastest run is the least disturbed one.
        (0..5).map(rate).fold(0.0, f64::max)
    })
}
