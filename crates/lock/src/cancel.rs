//! Ending the waits of others, whose clients are gone.

use crate::manager::Manager;
use chiliad_machine::{Machine, Ordering, Shared, Word, WorkerId};
use std::sync::Arc;

/// Ends the waits of a session, from any thread: see [`crate::Session::cancel_handle`].
pub struct Cancel<M: Machine> {
    manager: Arc<Shared<M, Manager<M>>>,
    number: u32,
}

impl<M: Machine> Cancel<M> {
    /// For the session whose agent has this number.
    pub(crate) fn new(manager: Arc<Shared<M, Manager<M>>>, number: u32) -> Self {
        Self { manager, number }
    }

    /// The session's wait ends, and so does each later one, until [`crate::Session::clear_cancel`].
    pub fn cancel(&self) {
        let agent = self.manager.agents.get(self.number);
        // Release pairs with the acquire in `Session::is_cancelled`.
        agent.cancelled.store(1, Ordering::Release);
        M::fence(Ordering::SeqCst);
        M::unpark(WorkerId(agent.thread.load(Ordering::Relaxed) as u32));
    }
}
