//! The progress of long work on stderr.

use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use indicatif::{HumanCount, HumanDuration, ProgressBar, ProgressStyle};
use sternhalma_builder::{BuildPhase, Observer};

use crate::output::status;

/// A progress bar on a terminal, and plain lines elsewhere.
pub struct ProgressDisplay {
    started: Instant,
    bar: ProgressBar,
    plain: bool,
    cancelled: Arc<AtomicBool>,
    done: AtomicU64,
    total: AtomicU64,
}

impl ProgressDisplay {
    /// Creates a display. The work ends at its next step once `cancelled` is set.
    pub fn new(cancelled: Arc<AtomicBool>) -> ProgressDisplay {
        let plain = !io::stderr().is_terminal();
        let bar = if plain { ProgressBar::hidden() } else { ProgressBar::no_length() };
        let style = ProgressStyle::with_template("{prefix:>9} {wide_bar} {percent:>3}% {msg}");
        bar.set_style(style.expect("the template is valid"));
        bar.enable_steady_tick(Duration::from_millis(200));
        let (done, total) = (AtomicU64::new(0), AtomicU64::new(0));
        ProgressDisplay { started: Instant::now(), bar, plain, cancelled, done, total }
    }

    /// Removes the bar from the terminal.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }

    fn print_plain(&self, prefix: &str, message: &str) {
        if self.plain {
            status!("{prefix}: {message}");
        }
    }
}

fn stage_name(stage: BuildPhase) -> String {
    match stage {
        BuildPhase::Layer(distance) => format!("layer {distance}"),
        BuildPhase::Resume => "work files".to_owned(),
        BuildPhase::Write => "writing".to_owned(),
        BuildPhase::Check => "checksums".to_owned(),
        BuildPhase::Prove => "proof".to_owned(),
        BuildPhase::Compare => "comparison".to_owned(),
        _ => "working".to_owned(),
    }
}

impl Observer for ProgressDisplay {
    fn begin(&self, stage: BuildPhase, total: u64) {
        self.done.store(0, Relaxed);
        self.total.store(total, Relaxed);
        self.bar.set_prefix(stage_name(stage));
        self.bar.set_length(total);
        self.bar.set_position(0);
        if !matches!(stage, BuildPhase::Layer(_)) {
            self.bar.set_message("");
            self.print_plain(&stage_name(stage), &format!("{} steps", HumanCount(total)));
        }
    }

    fn advance(&self, steps: u64) {
        self.bar.inc(steps);
        // Plain output shows each tenth of a stage in which a tenth takes more than five seconds.
        let (before, total) = (self.done.fetch_add(steps, Relaxed), self.total.load(Relaxed).max(1));
        let tenth = (before + steps) * 10 / total;
        if self.plain && tenth != before * 10 / total && tenth < 10 && self.started.elapsed().as_secs() > 5 * tenth {
            status!("  {}%", 10 * tenth);
        }
    }

    fn layer(&self, distance: u32, states: u64, seen: u64, all: u64) {
        let rate = seen as f64 / self.started.elapsed().as_secs_f64().max(1e-3);
        // The first layers are too small for an estimate.
        let left = if seen < all / 100 {
            "time left not known yet".to_owned()
        } else {
            format!("{} left", HumanDuration(Duration::from_secs_f64((all - seen) as f64 / rate)))
        };
        let message = format!(
            "{} states, {} of {} seen, {:.1} M/s, {left}",
            HumanCount(states),
            HumanCount(seen),
            HumanCount(all),
            rate / 1e6
        );
        self.print_plain(&stage_name(BuildPhase::Layer(distance)), &message);
        self.bar.set_message(message);
    }

    fn cancelled(&self) -> bool {
        self.cancelled.load(Relaxed)
    }
}
