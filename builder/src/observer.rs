//! Progress reports and cancellation of long operations.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use serde::{Deserialize, Serialize};

/// A phase of a long operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum BuildPhase {
    /// The search for the states at this distance. A step is a group of contexts.
    Layer(u32),
    /// The check of the work files of an interrupted build. A step is a segment.
    Resume,
    /// The transfer of layers to other processes of a cluster. A step is a segment.
    Move,
    /// The writing of the table. A step is a block.
    Write,
    /// The check of block checksums. A step is a block.
    Check,
    /// The proof of the distances. A step is a context.
    Prove,
    /// The comparison of two tables. A step is a state.
    Compare,
    /// The reading of all distances of a table. A step is a state.
    Read,
}

/// Prints the name of the phase for people, such as `layer 7`.
impl fmt::Display for BuildPhase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            BuildPhase::Layer(distance) => return write!(f, "layer {distance}"),
            BuildPhase::Resume => "work files",
            BuildPhase::Move => "moving layers",
            BuildPhase::Write => "writing",
            BuildPhase::Check => "checksums",
            BuildPhase::Prove => "proof",
            BuildPhase::Compare => "comparison",
            BuildPhase::Read => "reading",
        })
    }
}

/// What a process of a cluster reports about a layer.
#[derive(Clone, PartialEq, Default, Debug, Serialize, Deserialize)]
pub struct LayerReport {
    /// The distance of the layer.
    pub layer: u32,
    /// The process.
    pub process: usize,
    /// The states of the layer that the process owns.
    pub states: u64,
    /// Seconds for the expansion of contexts, messages included.
    pub expand_s: f64,
    /// Seconds in which the process has waited for others after the expansion.
    pub wait_s: f64,
    /// Seconds for the new states: removing those of earlier layers, packing, writing, sending.
    pub close_s: f64,
    /// Seconds of processor time of all threads.
    pub cpu_s: f64,
    /// The bytes that the process has sent to others since the previous layer.
    pub sent: u64,
    /// The bytes of the part of the layer.
    pub bytes: u64,
    /// The peak memory of the process so far, in bytes.
    pub peak_bytes: u64,
}

/// The progress of the search for all layers, as a number of states. The size of the layer that is being searched is
/// unknown until its end; until then it is taken to be that of the layer before.
///
/// ```
/// use sternhalma_builder::LayerProgress;
///
/// let progress = LayerProgress::default();
/// progress.layer(10, 15, 40);
/// progress.begin(4);
/// progress.advance(2);
/// assert_eq!((progress.states(), progress.all()), (20, 40));
/// ```
#[derive(Debug, Default)]
pub struct LayerProgress {
    done: AtomicU64,
    total: AtomicU64,
    /// The states of the layers that are complete, those of the last one, and all.
    seen: AtomicU64,
    last: AtomicU64,
    all: AtomicU64,
    /// The largest number that was returned.
    most: AtomicU64,
}

impl LayerProgress {
    /// Begins a layer of `total` steps.
    pub fn begin(&self, total: u64) {
        self.done.store(0, Relaxed);
        self.total.store(total, Relaxed);
    }

    /// Adds steps of the layer.
    pub fn advance(&self, steps: u64) {
        self.done.fetch_add(steps, Relaxed);
    }

    /// Ends a layer of `states`. `seen` of `all` states are now known.
    pub fn layer(&self, states: u64, seen: u64, all: u64) {
        self.begin(0);
        self.last.store(states, Relaxed);
        self.seen.store(seen, Relaxed);
        self.all.store(all, Relaxed);
    }

    /// Returns the estimated number of states that are known. The number never decreases.
    pub fn states(&self) -> u64 {
        let (seen, all) = (self.seen.load(Relaxed), self.all());
        let expected = self.last.load(Relaxed).min(all.saturating_sub(seen));
        let (done, total) = (self.done.load(Relaxed), self.total.load(Relaxed));
        let part = u128::from(expected) * u128::from(done.min(total)) / u128::from(total.max(1));
        let states = (seen + part as u64).min(all);
        self.most.fetch_max(states, Relaxed).max(states)
    }

    /// Returns the number of all states, or 0 until the end of the first layer.
    pub fn all(&self) -> u64 {
        self.all.load(Relaxed)
    }

    /// Returns the share of the states that are known, from 0 to 1.
    pub fn share(&self) -> f64 {
        self.states() as f64 / self.all().max(1) as f64
    }
}

/// A receiver of progress reports, which can also cancel the operation.
/// The type `()` ignores all reports.
///
/// Several threads call the methods, some of them often, so they must return quickly.
pub trait Observer: Sync {
    /// Reports that a phase of `total` steps begins.
    fn begin(&self, _phase: BuildPhase, _total: u64) {}

    /// Reports that `steps` more steps of the phase are complete.
    fn advance(&self, _steps: u64) {}

    /// Reports that an earlier process completed the first `steps` steps of the phase. The default
    /// implementation reports them as complete.
    fn resume(&self, steps: u64) {
        self.advance(steps);
    }

    /// Reports that a layer is complete: `states` have this distance, and
    /// `seen` of `all` states have this distance or a smaller one.
    fn layer(&self, _distance: u32, _states: u64, _seen: u64, _all: u64) {}

    /// Reports the sizes of the work files of a build out of core after a layer, in bytes: of the
    /// `layers`, which are kept, and of the `copies` of the last ones.
    fn work_files(&self, _layers: u64, _copies: u64) {}

    /// Reports what each process of a cluster says about a layer that is complete, in order.
    fn processes(&self, _reports: &[LayerReport]) {}

    /// Returns whether the operation must stop.
    fn cancelled(&self) -> bool {
        false
    }
}

impl Observer for () {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_progress_of_layers_grows_up_to_all_states() {
        let (progress, layers) = (LayerProgress::default(), [1, 4, 9, 20, 9, 2]);
        let all = layers.iter().sum();
        let (mut seen, mut shown) = (0, vec![progress.states()]);
        for states in layers {
            progress.begin(10);
            for _ in 0..10 {
                progress.advance(1);
                shown.push(progress.states());
            }
            seen += states;
            progress.layer(states, seen, all);
            shown.push(progress.states());
        }
        assert!(shown.is_sorted() && shown.last() == Some(&all), "{shown:?}");
        // Only the last layers are near the end.
        let middle = shown[3 * 11];
        assert!((all / 5..all / 2).contains(&middle), "{shown:?}");
        // The layer before the last one is expected to be the last one.
        assert_eq!(shown.iter().filter(|&&states| states == all).count(), 13);
        assert!((progress.share() - 1.0).abs() < f64::EPSILON);
    }
}
