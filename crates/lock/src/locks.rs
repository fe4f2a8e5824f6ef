//! The interface of a lock manager for a transaction, whatever its implementation.

use crate::answer::{Answer, Refused};
use crate::cancel::Cancel;
use crate::mode::Mode;
use crate::name::Name;
use crate::until::Until;
use chiliad_machine::{Machine, Shared, Ticks};
use std::sync::Arc;

/// A transaction's part: one transaction at a time, of one thread at a time.
pub trait Locks<M: Machine>: Sized + 'static {
    /// The state that all of them share. Lives in the machine's memory.
    type Manager: 'static;

    /// One that holds nothing; `None` when there are [`crate::AGENTS_MAX`].
    fn session(manager: &Arc<Shared<M, Self::Manager>>) -> Option<Self>;

    /// Background maintenance beside all transactions.
    fn tend(manager: &Self::Manager) {
        _ = manager;
    }

    /// A transaction begins.
    fn begin(&mut self) {}

    /// `name` will be asked for soon: asks for the memory of its chain.
    fn expect(&self, name: Name) {
        _ = name;
    }

    /// Locks `name` in `mode`, or stands in line for it. It stands in one line at a time.
    ///
    /// # Errors
    /// Why the lock is refused. The transaction keeps what else it holds.
    fn ask(&mut self, name: Name, mode: Mode) -> Result<Answer, Refused>;

    /// Whether it could lock `name` in `mode` at once. The caller may be in a section, where nobody sleeps.
    fn try_lock(&mut self, name: Name, mode: Mode) -> bool;

    /// Its transaction has committed: the next one is as young as any. Until then a session whose transaction was
    /// aborted to end a deadlock is spared before those that were not, or later.
    fn renew(&mut self);

    /// Waits for what [`Locks::ask`] stands in line for. The caller holds no latch.
    ///
    /// # Errors
    /// Why it is not to be had. The transaction stands in line no more, and keeps what else it holds.
    fn wait(&mut self, until: Until<'_>) -> Result<(), Refused>;

    /// Stands in line no more, if it does. It keeps what it holds.
    fn stop_waiting(&mut self);

    /// For others to end its waits, those for what [`Locks::ask`] has stood in line for: its client is gone.
    fn cancel_handle(&self) -> Cancel<M, Self::Manager>;

    /// Clears a cancel: the session can wait again.
    fn clear_cancel(&mut self);

    /// How many locks it holds, counted intentions aside.
    fn count(&self) -> usize;

    /// The mode in which it holds `name`.
    fn mode_of(&mut self, name: Name) -> Option<Mode>;

    /// The transaction has ended: releases all that it holds, and what it stands in line for. The caller holds
    /// no latch.
    fn release_all(&mut self);

    /// Locks `name` in `mode`, after waiting for it until `deadline` if need be. The caller holds no latch.
    ///
    /// # Errors
    /// Why the lock is refused. The transaction keeps what else it holds.
    #[inline]
    fn acquire(&mut self, name: Name, mode: Mode, deadline: Option<Ticks>) -> Result<(), Refused> {
        match self.ask(name, mode)? {
            Answer::Granted => Ok(()),
            Answer::Waits => self.wait(Until::time(deadline)),
        }
    }
}
