//! Ending the waits of others, whose clients are gone.
//!
//! An agent's word is even while its session is to wait, and odd once the session has been told to give up.
//! Sessions that have the agent one after another see greater numbers, so that a handle that outlives its
//! session does nothing to the next.

use crate::agents::{Agent, Agents};
use chiliad_machine::{Machine, Ordering, Shared, Word, WorkerId};
use std::sync::Arc;

/// Ends the waits of a session, from any thread: see [`crate::Locks::cancel_handle`]. `T` is what the session
/// is of.
pub struct Cancel<M: Machine, T> {
    manager: Arc<Shared<M, T>>,
    agents: fn(&T) -> &Agents<M>,
    number: u32,
    /// The agent's word while the session has it, and is to wait.
    waits: u64,
}

impl<M: Machine, T> Cancel<M, T> {
    /// For the session that now has agent `number` of these.
    pub(crate) fn new(
        manager: &Arc<Shared<M, T>>,
        agents: fn(&T) -> &Agents<M>,
        number: u32,
    ) -> Self {
        let waits = agents(manager).get(number).cancelled.load(Ordering::Relaxed) & !1;
        Self { manager: Arc::clone(manager), agents, number, waits }
    }

    /// The session's wait ends, and so does each later one, until [`crate::Locks::clear_cancel`]. Nothing
    /// happens when the session is gone.
    pub fn cancel(&self) {
        let agent = (self.agents)(&self.manager).get(self.number);
        let (waits, gives_up) = (self.waits, self.waits | 1);
        // Release pairs with the acquire in `Agent::is_cancelled`.
        let told =
            agent.cancelled.compare_exchange(waits, gives_up, Ordering::Release, Ordering::Relaxed);
        if told.is_ok() {
            // A session that has published its thread and fenced before it sleeps sees that it has been told, or is
            // woken.
            M::fence(Ordering::SeqCst);
            M::unpark(WorkerId(agent.thread.load(Ordering::Relaxed) as u32));
        }
    }
}

/// The side of the session that has the agent.
impl<M: Machine> Agent<M> {
    /// Whether it has been told to give up.
    pub fn is_cancelled(&self) -> bool {
        // Acquire pairs with the release in `Cancel::cancel`.
        self.cancelled.load(Ordering::Acquire) & 1 != 0
    }

    /// It has not been told, whatever it was.
    pub fn clear_cancel(&self) {
        // Relaxed: a handle writes nothing besides.
        self.cancelled.fetch_and(!1, Ordering::Relaxed);
    }

    /// The session has ended: its handles mean nobody from here on.
    pub fn outlive_handles(&self) {
        let told = self.cancelled.load(Ordering::Relaxed) | 1;
        // Relaxed: the next session has the agent by way of the registry's latch.
        self.cancelled.store(told + 1, Ordering::Relaxed);
    }
}
