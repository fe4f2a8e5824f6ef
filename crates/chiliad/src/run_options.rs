//! Options of one transaction, or of several that are run alike.

use crate::{Cancel, Error};
use std::time::{Duration, Instant};

/// The most transactions in flight on one thread: see
/// [`Database::run_each`](crate::Database::run_each).
pub const IN_FLIGHT_MAX: usize = chiliad_machine::MEMBERS_MAX;

/// Refuses a number of transactions in flight that no thread can have.
pub(crate) fn check_in_flight(in_flight: usize) -> Result<(), Error> {
    if (1..=IN_FLIGHT_MAX).contains(&in_flight) {
        return Ok(());
    }
    let message = format!("in_flight {in_flight}: 1 to {IN_FLIGHT_MAX} are accepted");
    Err(Error::InvalidOption(message))
}

/// How one transaction is run.
///
/// ```
/// use chiliad::RunOptions;
/// use std::time::Duration;
///
/// let patient = RunOptions::default().deadline(Duration::from_millis(500)).retries_max(100);
/// let audit = RunOptions::default().read_only();
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct RunOptions {
    /// How long after the call the transaction must have committed; then
    /// [`Error::DeadlineExceeded`], and nothing has happened. Every wait ends then, under every scheme. Where it
    /// has committed by then, and its result is held back until it is durable
    /// ([`Durability::Sync`](crate::Durability::Sync)), that wait ends with [`Error::NotYetDurable`].
    /// A closure that does not use its transaction is not interrupted.
    pub deadline: Option<Duration>,
    /// How long each of its waits for what another transaction holds may last, a row or a partition, until it has that; then
    /// [`Error::WaitLimitExceeded`], and nothing has happened. It counts for one wait on its own, under every scheme whose
    /// transactions wait: neither what the transaction does between them counts, nor waits for the disk, for room in the
    /// log, for a snapshot, or between two attempts. Zero refuses what it would wait for. A scheme may refuse a wait
    /// sooner, as a conflict ([`Options::wait_timeout`](crate::Options::wait_timeout)).
    pub wait_limit: Option<Duration>,
    /// A handle by which another thread can cancel the transaction: it ends with [`Error::Canceled`].
    pub cancel: Option<Cancel>,
    /// It writes nothing: a write fails with [`Error::ReadOnly`]. Unlike a snapshot it sees the
    /// present, and may have to be run again.
    pub read_only: bool,
    /// It sees everything that had committed before the call, on any server: for a database that several servers share
    /// ([`Database::join`](crate::Database::join)), whose readers otherwise see a state that was, between all transactions,
    /// a moment ago. It costs an append to the shared log, which readers that ask at once share. Elsewhere every
    /// transaction but a snapshot does.
    pub linearizable: bool,
    /// The partitions that it touches, for [`Scheme::Partitioned`](crate::Scheme::Partitioned) and
    /// [`Scheme::HStore`](crate::Scheme::HStore); ignored by the others. All of them if empty, which is
    /// always right and never fast.
    pub partitions: Vec<u32>,
    /// How often it may be run again; then the conflict is returned. `None`: for ever.
    pub retries_max: Option<u32>,
    /// The most transactions in flight at once, for [`Database::run_each_with`](crate::Database::run_each_with);
    /// 8 by default, 1 to [`IN_FLIGHT_MAX`] are accepted. The others run one and ignore it.
    pub in_flight: usize,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            deadline: None,
            wait_limit: None,
            cancel: None,
            read_only: false,
            linearizable: false,
            partitions: Vec::new(),
            retries_max: None,
            in_flight: 8,
        }
    }
}

impl RunOptions {
    /// Sets [`RunOptions::deadline`].
    #[must_use]
    pub fn deadline(self, deadline: Duration) -> Self {
        Self { deadline: Some(deadline), ..self }
    }

    /// Sets [`RunOptions::wait_limit`].
    #[must_use]
    pub fn wait_limit(self, wait_limit: Duration) -> Self {
        Self { wait_limit: Some(wait_limit), ..self }
    }

    /// Sets [`RunOptions::cancel`].
    #[must_use]
    pub fn cancel(self, cancel: &Cancel) -> Self {
        Self { cancel: Some(cancel.clone()), ..self }
    }

    /// Sets [`RunOptions::read_only`].
    #[must_use]
    pub fn read_only(self) -> Self {
        Self { read_only: true, ..self }
    }

    /// Sets [`RunOptions::linearizable`].
    #[must_use]
    pub fn linearizable(self) -> Self {
        Self { linearizable: true, ..self }
    }

    /// Sets [`RunOptions::partitions`], in any order.
    #[must_use]
    pub fn partitions(self, partitions: impl IntoIterator<Item = u32>) -> Self {
        let mut partitions: Vec<u32> = partitions.into_iter().collect();
        partitions.sort_unstable();
        partitions.dedup();
        Self { partitions, ..self }
    }

    /// Sets [`RunOptions::retries_max`].
    #[must_use]
    pub fn retries_max(self, retries_max: u32) -> Self {
        Self { retries_max: Some(retries_max), ..self }
    }

    /// Sets [`RunOptions::in_flight`].
    #[must_use]
    pub fn in_flight(self, in_flight: usize) -> Self {
        Self { in_flight, ..self }
    }

    pub(crate) fn deadline_from_now(&self) -> Option<Instant> {
        // The clock is looked at only where there is a deadline.
        let deadline = self.deadline?;
        Instant::now().checked_add(deadline)
    }
}

#[cfg(test)]
mod tests {
    use super::RunOptions;

    #[test]
    fn partitions_are_put_in_order() {
        assert_eq!(RunOptions::default().partitions([3, 1, 3]).partitions, [1, 3]);
    }
}
