//! Level-synchronous breadth-first search over bitmaps in memory.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use sternhalma_data::Prefix;

use crate::bits::words_for;
use crate::expand::{Expander, Layer};

/// Groups a thread takes at a time.
const GRAIN: u64 = 16;

pub fn prototype(prefix: Prefix, lanes: usize, threads: usize) {
    let expander = Expander::new(prefix, lanes);
    let words = words_for(prefix.states());
    let mut frontier = vec![0u64; words];
    let mut seen = vec![0u64; words];
    let mut next: Vec<AtomicU64> = (0..words).map(|_| AtomicU64::new(0)).collect();
    frontier[0] = 1;
    seen[0] = 1;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let mut hist = vec![1u64];
    let t = std::time::Instant::now();
    let groups = expander.groups();
    loop {
        let t0 = std::time::Instant::now();
        let escapes = AtomicBool::new(false);
        let counter = AtomicU64::new(0);
        let layer = Layer { frontier: &frontier, seen: [&seen, &seen], next: &next, escapes: &escapes };
        pool.broadcast(|_| {
            let mut scratch = expander.scratch();
            loop {
                let first = counter.fetch_add(GRAIN, Relaxed);
                if first >= groups { break; }
                for g in first..(first + GRAIN).min(groups) {
                    expander.expand_group(g, &layer, &mut scratch);
                }
            }
        });
        let mut count = 0u64;
        for ((f, n), s) in frontier.iter_mut().zip(&mut next).zip(&mut seen) {
            *f = std::mem::take(n.get_mut());
            *s |= *f;
            count += u64::from(f.count_ones());
        }
        if count == 0 { break; }
        hist.push(count);
        println!("{} {count} {:.3}s escapes {}", hist.len() - 1, t0.elapsed().as_secs_f64(), escapes.load(Relaxed));
    }
    println!("{:?} total {} of {} in {:.3}s", hist, hist.iter().sum::<u64>(), prefix.states(), t.elapsed().as_secs_f64());
}
