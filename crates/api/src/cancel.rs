//! Cancelling transactions from outside.
//!
//! One word says whether they are to. A waiter that goes to sleep shows itself first, and looks at the
//! word once more; a cancellation writes the word first and then wakes all that are shown. Both do so under
//! one latch, so that one of the two sees the other.

use chiliad_machine::{Latch, Machine, Ordering, Shared, Word, WorkerId};
use std::sync::Arc;

/// Cancels transactions from any thread, before they begin or while they run: those of each worker that was given it
/// ([`crate::Session::cancel_by`]). It cannot be taken back. A handle: clones cancel the same transactions.
pub struct Cancel<M: Machine>(Arc<Shared<M, Told<M>>>);

struct Told<M: Machine> {
    told: M::Word,
    sleepers: Latch<M, Vec<WorkerId>>,
}

impl<M: Machine> Cancel<M> {
    /// One that has told nobody.
    ///
    /// # Panics
    /// When the machine has no memory for it.
    #[must_use]
    pub fn new() -> Self {
        let told = Told { told: M::Word::new(0), sleepers: Latch::new(Vec::new()) };
        Self(Arc::new(Shared::new(told)))
    }

    /// The transactions shall give up: waits end, and nothing of them commits from here on but what is committing.
    pub fn cancel(&self) {
        // Release pairs with the acquire in `is_canceled`.
        self.0.told.store(1, Ordering::Release);
        for &sleeper in self.0.sleepers.lock().iter() {
            M::unpark(sleeper);
        }
    }

    /// Whether it has told them to.
    #[must_use]
    #[inline]
    pub fn is_canceled(&self) -> bool {
        // Acquire pairs with the release in `cancel`.
        self.0.told.load(Ordering::Acquire) != 0
    }

    /// From here on until it is dropped the caller is woken when it is told. It asks once more before it
    /// sleeps.
    #[must_use]
    pub fn wakes_caller(&self) -> Sleeper<'_, M> {
        let worker = M::worker();
        self.0.sleepers.lock().push(worker);
        Sleeper { cancel: self, worker }
    }
}

impl<M: Machine> Clone for Cancel<M> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<M: Machine> Default for Cancel<M> {
    fn default() -> Self {
        Self::new()
    }
}

impl<M: Machine> PartialEq for Cancel<M> {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl<M: Machine> Eq for Cancel<M> {}

/// A waiter that a cancel wakes: see [`Cancel::wakes_caller`].
pub struct Sleeper<'a, M: Machine> {
    cancel: &'a Cancel<M>,
    worker: WorkerId,
}

impl<M: Machine> Drop for Sleeper<'_, M> {
    fn drop(&mut self) {
        let mut sleepers = self.cancel.0.sleepers.lock();
        let place = sleepers.iter().position(|&it| it == self.worker);
        sleepers.swap_remove(place.expect("shown since it was made"));
    }
}
