//! Planted bugs: one line at the step that each removes, off on every machine that does real work.
//!
//! A fault is a `static` beside the code that it breaks; the rig that claims to guard the step
//! switches it on for one run and must then report the declared verdict, while the same seed
//! without it passes. Natively [`crate::Machine::fault`] is the constant `false` and folds away.

/// The rig that guards against a fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rig {
    /// Simulated interleavings, sequentially consistent: logic.
    SimSc,
    /// Simulated interleavings with store buffers: store-load barriers.
    SimTso,
    /// Simulated interleavings with several workers on each core: what siblings may do to each other.
    SimCrews,
    /// A loom model: acquire and release.
    Loom,
    /// Simulated transactions in the engine's tests: that are to stop waiting, or to write while an index is added.
    Waits,
    /// Simulated crashes on a disk that loses what was not synced.
    Disk,
    /// Simulated loads on few rows, watched for commits: whether anybody gets on.
    Soak,
    /// Simulated servers of one shared log, on hosts that crash, stop and are cut off.
    World,
    /// Simulated hardware that runs ordered tasks ahead of their turn.
    Tasks,
}

/// A planted bug and the verdict that it must earn.
#[derive(Debug)]
pub struct Fault {
    /// The name on the command line (`--plant NAME`).
    pub name: &'static str,
    /// The step that the fault removes, in one sentence.
    pub step: &'static str,
    /// The rig that must catch it.
    pub rig: Rig,
    /// The schemes that it breaks, each of which must show it; none: what all schemes use.
    pub schemes: &'static [&'static str],
    /// The campaign workload that provokes it.
    pub workload: &'static str,
    /// Verdicts that count as caught: anomaly classes of the checker, `use of freed memory`,
    /// `consistency`.
    pub expected: &'static [&'static str],
    /// The number of seeds within which it must be caught, at most 1,000.
    pub seeds: u32,
}
