//! How long to wait for a lock.

use chiliad_machine::Ticks;

/// When a wait ends that has not got its lock.
#[derive(Clone, Copy)]
pub struct Until<'a> {
    /// At this time, if there is one.
    pub deadline: Option<Ticks>,
    /// When this is so: looked at before each sleep, from which whoever makes it so wakes the session's thread.
    pub is_cancelled: &'a dyn Fn() -> bool,
}

impl Until<'_> {
    /// Until a time, if there is one.
    #[must_use]
    pub fn time(deadline: Option<Ticks>) -> Self {
        Self { deadline, is_cancelled: &|| false }
    }
}
