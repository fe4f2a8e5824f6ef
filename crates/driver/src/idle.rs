//! The times in which no client has committed.

use chiliad_machine::Ticks;

/// The times without a commit, in ticks of the run's machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Idle {
    /// The longest of them, without what the machine stood still in it.
    pub longest: Ticks,
    /// How long the machine stood still in all.
    pub stood_still: Ticks,
    /// One of them was longer than allowed, and has ended the run.
    pub exceeded: bool,
}
