//! How long to wait for a lock.

use chiliad_machine::Ticks;

/// When a wait ends that has not got its lock.
#[derive(Clone, Copy)]
pub struct Until<'a> {
    /// At this time, if there is one.
    pub deadline: Option<Ticks>,
    /// Ends the wait when true. Checked before each sleep; the caller that makes it true wakes the session's thread.
    pub is_cancelled: &'a dyn Fn() -> bool,
}

impl Until<'_> {
    /// Until a time, if there is one.
    #[must_use]
    pub fn time(deadline: Option<Ticks>) -> Self {
        Self { deadline, is_cancelled: &|| false }
    }
}
