//! A shared log in the memory of a process.

use crate::RECORD_BYTES_MAX;
use crate::batch::Batch;
use crate::window::{Placed, Window, hand_over};
use chiliad_machine::shared_log::{Position, SharedLog, SharedLogError};
use chiliad_machine::{Machine, Native};
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Records in the memory of this process: for servers that are threads of it. Clones are the same log; it is gone
/// with the last of them. A reader that waits holds up its thread: not for simulated cores, whose log is another.
///
/// ```
/// use chiliad_machine::shared_log::SharedLog;
/// use chiliad_shared_log::MemoryLog;
/// use std::time::Duration;
///
/// let log = MemoryLog::new();
/// log.append(&[b"one", b"two"])?;
/// let mut seen = Vec::new();
/// let next = log.read(1, 1 << 20, Duration::ZERO, &mut |position, record| {
///     seen.push((position, record.to_vec()));
/// })?;
/// assert_eq!(next, 3);
/// assert_eq!(seen, [(1, b"one".to_vec()), (2, b"two".to_vec())]);
/// # Ok::<(), chiliad_machine::shared_log::SharedLogError>(())
/// ```
#[derive(Clone)]
pub struct MemoryLog {
    shared: Arc<Shared>,
}

struct Shared {
    identity: u128,
    record_bytes_max: usize,
    bytes_max: usize,
    window: Mutex<Window>,
    /// Records were appended.
    appended: Condvar,
}

impl Default for MemoryLog {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for MemoryLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryLog").field("identity", &self.shared.identity).finish_non_exhaustive()
    }
}

impl MemoryLog {
    /// An empty log, which grows until the memory is full.
    #[must_use]
    pub fn new() -> Self {
        Self::limited(usize::MAX, RECORD_BYTES_MAX)
    }

    /// An empty log that is full when its records have more than `bytes_max` bytes, and whose records have at most
    /// `record_bytes_max`.
    #[must_use]
    pub fn limited(bytes_max: usize, record_bytes_max: usize) -> Self {
        let identity = u128::from(Native::random()) << 64 | u128::from(Native::random());
        let window = Mutex::new(Window::new(1));
        let appended = Condvar::new();
        Self {
            shared: Arc::new(Shared { identity, record_bytes_max, bytes_max, window, appended }),
        }
    }

    /// The records. No panic leaves them half changed.
    fn window(&self) -> MutexGuard<'_, Window> {
        self.shared.window.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The records from `from` on, after `patience` at most.
    fn find(
        &self,
        from: Position,
        bytes: usize,
        patience: Duration,
    ) -> Result<Vec<Placed>, SharedLogError> {
        let begun = Instant::now();
        let mut window = self.window();
        loop {
            if from < window.first() {
                return Err(SharedLogError::Trimmed { first: window.first() });
            }
            let left = patience.saturating_sub(begun.elapsed());
            if from < window.next() || left.is_zero() {
                return Ok(window.since(from, bytes));
            }
            let waited = self.shared.appended.wait_timeout(window, left);
            window = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl SharedLog for MemoryLog {
    fn place(&self) -> String {
        "memory".into()
    }

    fn identity(&self) -> Result<u128, SharedLogError> {
        Ok(self.shared.identity)
    }

    fn record_bytes_max(&self) -> usize {
        self.shared.record_bytes_max
    }

    fn append(&self, records: &[&[u8]]) -> Result<(), SharedLogError> {
        Batch::check(records, self.shared.record_bytes_max)?;
        let batch = Arc::new(Batch::of(records));
        {
            let mut window = self.window();
            if window.bytes().saturating_add(batch.bytes()) > self.shared.bytes_max {
                let most = self.shared.bytes_max;
                return Err(SharedLogError::Full(format!(
                    "memory: {most} bytes are all it may have"
                )));
            }
            window.push(batch);
        }
        self.shared.appended.notify_all();
        Ok(())
    }

    fn read(
        &self,
        from: Position,
        bytes: usize,
        patience: Duration,
        take: &mut dyn FnMut(Position, &[u8]),
    ) -> Result<Position, SharedLogError> {
        let found = self.find(from, bytes, patience)?;
        Ok(hand_over(&found, from, bytes, take))
    }

    fn bounds(&self) -> Result<Range<Position>, SharedLogError> {
        let window = self.window();
        Ok(window.first()..window.next())
    }

    fn trim(&self, position: Position) -> Result<(), SharedLogError> {
        self.window().trim(position);
        Ok(())
    }

    fn stored_bytes(&self) -> Option<u64> {
        Some(self.window().bytes() as u64)
    }
}
