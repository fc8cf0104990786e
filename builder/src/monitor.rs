//! What long work tells its caller, and asks of it.

/// A part of long work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Stage {
    /// Finding the states at this distance; counted in groups of contexts.
    Layer(u32),
    /// Comparing the work files of an earlier process with their checksums;
    /// counted in chunks.
    Resume,
    /// Writing the file; counted in blocks.
    Write,
    /// Comparing blocks with their checksums.
    Check,
    /// Proving the distances; counted in contexts.
    Prove,
    /// Comparing two tables; counted in states.
    Compare,
}

/// Follows long work and may end it. `()` does neither.
///
/// The methods are called from several threads, some often: they are to be quick.
pub trait Monitor: Sync {
    /// A stage of `total` steps begins.
    fn begin(&self, _stage: Stage, _total: u64) {}

    /// So many more steps of the stage are done.
    fn advance(&self, _steps: u64) {}

    /// A layer is complete: `states` at this distance, `seen` up to it, of `all`.
    fn layer(&self, _distance: u32, _states: u64, _seen: u64, _all: u64) {}

    /// Whether the work is to end before it is done.
    fn cancelled(&self) -> bool {
        false
    }
}

impl Monitor for () {}
