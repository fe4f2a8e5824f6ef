//! Canceling transactions from outside.

use chiliad_engine::Sleeper;
use chiliad_machine::Interleaved;
use core::fmt;

/// Tells transactions to give up, from any thread: those that were given it by
/// [`RunOptions::cancel`](crate::RunOptions::cancel), while they run and before they begin. They end with
/// [`Error::Canceled`](crate::Error::Canceled) at their next operation, and at once where they wait: for locks and for other
/// transactions, under every scheme; between attempts; for the disk
/// ([`Error::NotYetDurable`](crate::Error::NotYetDurable)); in a queue. What has committed stays committed.
///
/// Told once, it stays told: each request of a server has one of its own. Clones tell the same.
///
/// ```
/// use chiliad::{Cancel, Database, Error, RunOptions, Table};
///
/// let db = Database::in_memory()?;
/// let counters: Table<u32, u64> = db.create_table("counters")?;
/// let cancel = Cancel::new();
/// let options = RunOptions::default().cancel(&cancel);
/// db.run_with(&options, |tx| tx.put(&counters, &1, &10))?;
/// cancel.cancel(); // on another thread, most likely
/// let late = db.run_with(&options, |tx| tx.put(&counters, &1, &20));
/// assert_eq!(late, Err(Error::Canceled));
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Cancel(chiliad_engine::Cancel<Interleaved>);

impl Cancel {
    /// One that has told nobody.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Tells them. Returns at once; they end in a moment, but for a closure that does not use its transaction.
    pub fn cancel(&self) {
        self.0.cancel();
    }

    pub(crate) fn engine(&self) -> &chiliad_engine::Cancel<Interleaved> {
        &self.0
    }

    /// From here on the caller is woken when it tells them.
    pub(crate) fn wakes_caller(&self) -> Sleeper<'_, Interleaved> {
        self.0.wakes_caller()
    }

    /// Whether it has told them.
    #[must_use]
    pub fn is_canceled(&self) -> bool {
        self.0.is_canceled()
    }
}

impl fmt::Debug for Cancel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cancel").field("canceled", &self.is_canceled()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::Cancel;

    fn passed<T: Send + Sync + Clone>() {}

    #[test]
    fn any_thread_may_tell() {
        passed::<Cancel>();
        let cancel = Cancel::new();
        assert_ne!(cancel, Cancel::new());
        cancel.clone().cancel();
        assert!(cancel.is_canceled());
    }
}
