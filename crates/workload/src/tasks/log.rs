//! The log of a graph's tasks, where its options ask for one.

use super::{GraphOptions, RANGE, TaskLogOptions};
use chiliad_machine::Machine;
use chiliad_machine::tasks::{FunctionId, Task, Tasks};
use chiliad_swarm::{Entry, TaskLog, View};

/// A log, or none: then nothing is logged, and no task made for it.
pub(crate) struct Log<M: Machine>(Option<TaskLog<M>>);

impl<M: Machine> Log<M> {
    /// A log of so many transactions, as a graph's options say, whose function of this number is [`Log::put`].
    pub(crate) fn new(options: &GraphOptions, transactions: usize, function: FunctionId) -> Self {
        let log = |TaskLogOptions { slots }| {
            let slots = slots.unwrap_or((transactions * RANGE as usize).next_power_of_two());
            TaskLog::new(transactions, RANGE, slots, function)
        };
        Self(options.task_log.map(log))
    }

    /// What there is.
    pub(crate) fn kept(&self) -> Option<&TaskLog<M>> {
        self.0.as_ref()
    }

    /// Logs what the calling task has written, in its transaction's order at `timestamp`.
    pub(crate) fn write<T: Tasks<Machine = M>>(
        &self,
        view: &View<'_, T>,
        timestamp: u64,
        changes: impl FnOnce(&mut Entry),
    ) {
        if let Some(log) = &self.0 {
            let mut entry = Entry::default();
            changes(&mut entry);
            log.write(view, timestamp, &entry);
        }
    }

    /// Logs the commit of the transaction that `task` belongs to.
    pub(crate) fn commit<T: Tasks<Machine = M>>(&self, view: &View<'_, T>, task: &Task) {
        if let Some(log) = &self.0 {
            log.commit(view, task);
        }
    }

    /// The body of a task that puts an entry into its slot.
    pub(crate) fn put<T: Tasks<Machine = M>>(&self, view: &View<'_, T>, task: &Task) {
        if let Some(log) = &self.0 {
            log.put(view, task);
        }
    }
}
