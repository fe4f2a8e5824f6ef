//! Slots for entries, and the tasks that fill them.
//!
//! A task that writes makes its entry in memory of its own and leaves a link to it in a line that is this entry's alone; a
//! child moves the link into a slot. So only children meet where hashes meet, and no writer is taken back for it. A slot
//! that is taken is passed over: its entry is another transaction's, or has not been drained.

use crate::record::{Place, Row};
use crate::view::View;
use crate::{Link, Word};
use chiliad_machine::tasks::{FunctionId, Task, Tasks};
use chiliad_machine::{Array, Line, Link as _, Machine, Ordering, Tagged, Word as _};

/// The log of so many transactions.
pub struct TaskLog<M: Machine> {
    pub(super) slots: Array<M, Line<Slot<M>>>,
    /// By timestamp, the entry that a task has made.
    made: Array<M, Line<Link<M, Row<M>>>>,
    /// Timestamps of a transaction.
    range: u64,
    /// The function of [`TaskLog::put`].
    function: FunctionId,
}

/// A place for an entry.
pub(super) struct Slot<M: Machine> {
    /// Its timestamp and one; zero where it is free.
    pub(super) taken: Word<M>,
    /// The changes; none for a commit.
    pub(super) entry: Link<M, Row<M>>,
}

impl<M: Machine> TaskLog<M> {
    /// An empty log of transactions with `range` timestamps each, whose graph runs [`TaskLog::put`] as `function`. Slots must be
    /// more than entries that are made and not drained: where somebody drains, more than tasks in flight.
    ///
    /// # Panics
    /// When `slots` is no power of two, or there is no memory for them.
    #[must_use]
    pub fn new(transactions: usize, range: u64, slots: usize, function: FunctionId) -> Self {
        assert!(slots.is_power_of_two(), "the hash of a timestamp is some of its bits");
        let none = || Link::<M, Row<M>>::new(Tagged::null());
        let slot = || Line(Slot { taken: Word::<M>::new(0), entry: none() });
        let made = (transactions * range as usize).max(1);
        Self {
            slots: Array::new(slots, slot),
            made: Array::new(made, || Line(none())),
            range,
            function,
        }
    }

    /// Logs what the calling task has written, in its transaction's order at `timestamp`: not below the task's own, and no
    /// other entry's.
    pub fn write<T: Tasks<Machine = M>>(
        &self,
        view: &View<'_, T>,
        timestamp: u64,
        entry: &super::Entry,
    ) {
        let Some(bytes) = entry.bytes() else {
            view.trap("an entry of the log with too many changes")
        };
        let Ok(block) = Place::make(view.memory, &[], bytes, 0) else {
            view.trap("no memory for an entry of the log");
        };
        let place = &self.made(view, timestamp).0;
        place.store(Tagged::new(block.pointer(), 0), Ordering::Relaxed);
        view.enqueue(self.function, timestamp, &[timestamp], None);
    }

    /// Logs the commit of the transaction that `task` belongs to, at its last timestamp.
    pub fn commit<T: Tasks<Machine = M>>(&self, view: &View<'_, T>, task: &Task) {
        let last = task.timestamp / self.range * self.range + self.range - 1;
        view.enqueue(self.function, last, &[last], None);
    }

    /// The body of a task that puts an entry into its slot. Where none is free it runs again when it is the earliest: what was
    /// before it can have been drained then.
    pub fn put<T: Tasks<Machine = M>>(&self, view: &View<'_, T>, task: &Task) {
        let timestamp = task.word(0);
        let entry = self.made(view, timestamp).0.load(Ordering::Relaxed);
        let first = hash(timestamp);
        let slots = self.slots.count();
        for slot in 0..slots {
            let Line(slot) = self.slots.get((first + slot) % slots);
            if slot.taken.load(Ordering::Relaxed) == 0 {
                slot.entry.store(entry, Ordering::Relaxed);
                slot.taken.store(timestamp + 1, Ordering::Relaxed);
                return;
            }
            M::mark("slot of the log passed over");
        }
        view.trap("no slot of the log is free");
    }

    fn made<T: Tasks<Machine = M>>(
        &self,
        view: &View<'_, T>,
        timestamp: u64,
    ) -> &Line<Link<M, Row<M>>> {
        if timestamp >= self.made.count() as u64 {
            view.trap("an entry of a transaction that is none");
        }
        self.made.get(timestamp as usize)
    }
}

/// A number that timestamps which follow each other do not share.
fn hash(timestamp: u64) -> usize {
    let mixed = timestamp.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 32) as usize
}
