//! A log whose appends take longer than those of another one.

use crate::sleeper::Sleeper;
use chiliad_machine::Machine;
use chiliad_machine::shared_log::{Position, SharedLog, SharedLogError};
use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

/// Another log, to which each record of an append comes only after a delay: so an append takes that much longer, and
/// between the moment in which a server decides what to append and the moment in which all servers see it lie more
/// records of others. Appends that are under way together are delayed together, not in turn.
///
/// ```
/// use chiliad_machine::Native;
/// use chiliad_machine::shared_log::SharedLog;
/// use chiliad_shared_log::{DelayedLog, MemoryLog};
/// use std::sync::Arc;
/// use std::time::{Duration, Instant};
///
/// let delay = Duration::from_millis(5);
/// let log = DelayedLog::<Native>::new(Arc::new(MemoryLog::new()), delay);
/// let begun = Instant::now();
/// log.append(&[b"record"])?;
/// assert!(begun.elapsed() >= delay);
/// # Ok::<(), chiliad_machine::shared_log::SharedLogError>(())
/// ```
pub struct DelayedLog<M> {
    inner: Arc<dyn SharedLog>,
    delay: Duration,
    machine: PhantomData<fn() -> M>,
}

impl<M> fmt::Debug for DelayedLog<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DelayedLog")
            .field("inner", &self.inner)
            .field("delay", &self.delay)
            .finish()
    }
}

impl<M: Machine> DelayedLog<M> {
    /// `inner`, with `delay` before each append. Servers that shall all be delayed have one each, or share one.
    #[must_use]
    pub fn new(inner: Arc<dyn SharedLog>, delay: Duration) -> Self {
        Self { inner, delay, machine: PhantomData }
    }
}

impl<M: Machine> SharedLog for DelayedLog<M> {
    fn place(&self) -> String {
        format!("{}, delayed by {:?}", self.inner.place(), self.delay)
    }

    fn identity(&self) -> Result<u128, SharedLogError> {
        self.inner.identity()
    }

    fn record_bytes_max(&self) -> usize {
        self.inner.record_bytes_max()
    }

    fn append(&self, records: &[&[u8]]) -> Result<(), SharedLogError> {
        let until = M::now().saturating_add(M::ticks(self.delay));
        let mut sleeper = Sleeper::<M>::new();
        while M::now() < until {
            sleeper.sleep_until(until);
        }
        drop(sleeper);
        self.inner.append(records)
    }

    fn read(
        &self,
        from: Position,
        bytes: usize,
        patience: Duration,
        take: &mut dyn FnMut(Position, &[u8]),
    ) -> Result<Position, SharedLogError> {
        self.inner.read(from, bytes, patience, take)
    }

    fn bounds(&self) -> Result<Range<Position>, SharedLogError> {
        self.inner.bounds()
    }

    fn trim(&self, position: Position) -> Result<(), SharedLogError> {
        self.inner.trim(position)
    }

    fn stored_bytes(&self) -> Option<u64> {
        self.inner.stored_bytes()
    }
}
