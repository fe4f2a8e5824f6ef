//! Ending the waits of others, whose clients are gone.
//!
//! An agent's word is even while its session is to wait, and odd once the session has been told to give up.
//! Sessions that have the agent one after another see greater numbers, so that a handle that outlives its
//! session does nothing to the next.

use crate::manager::Manager;
use chiliad_machine::{Machine, Ordering, Shared, Word, WorkerId};
use std::sync::Arc;

/// Ends the waits of a session, from any thread: see [`crate::Session::cancel_handle`].
pub struct Cancel<M: Machine> {
    manager: Arc<Shared<M, Manager<M>>>,
    number: u32,
    /// The agent's word while the session has it, and is to wait.
    waits: u64,
}

impl<M: Machine> Cancel<M> {
    /// For the session that now has this agent.
    pub(crate) fn new(manager: Arc<Shared<M, Manager<M>>>, number: u32) -> Self {
        let waits = manager.agents.get(number).cancelled.load(Ordering::Relaxed) & !1;
        Self { manager, number, waits }
    }

    /// The session's wait ends, and so does each later one, until [`crate::Session::clear_cancel`]. Nothing
    /// happens when the session is gone.
    pub fn cancel(&self) {
        let agent = self.manager.agents.get(self.number);
        let (waits, gives_up) = (self.waits, self.waits | 1);
        // Release pairs with the acquire in `Session::is_cancelled`.
        let told =
            agent.cancelled.compare_exchange(waits, gives_up, Ordering::Release, Ordering::Relaxed);
        if told.is_ok() {
            M::fence(Ordering::SeqCst);
            M::unpark(WorkerId(agent.thread.load(Ordering::Relaxed) as u32));
        }
    }
}
