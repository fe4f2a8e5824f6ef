//! The clock by which rows expire.

use core::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The clock by which rows expire ([`Options::clock`](crate::Options::clock)): the system's, or one that a test sets. Clones
/// of a clock that is set are the same clock.
///
/// ```
/// use chiliad::Clock;
/// use std::time::{Duration, UNIX_EPOCH};
///
/// let clock = Clock::set_to(UNIX_EPOCH);
/// let same = clock.clone();
/// clock.advance(Duration::from_secs(7));
/// assert_eq!(same.now(), UNIX_EPOCH + Duration::from_secs(7));
/// ```
#[derive(Clone, Default)]
pub struct Clock(Option<Arc<AtomicI64>>);

impl Clock {
    /// The system's clock.
    #[must_use]
    pub fn system() -> Self {
        Self(None)
    }

    /// A clock that stands at `time`, between 1677 and 2262, until it is advanced.
    #[must_use]
    pub fn set_to(time: SystemTime) -> Self {
        let nanoseconds =
            |duration: Duration| i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX);
        let since = match time.duration_since(UNIX_EPOCH) {
            Ok(since) => nanoseconds(since),
            Err(before) => -nanoseconds(before.duration()),
        };
        Self(Some(Arc::new(AtomicI64::new(since))))
    }

    /// Advances a clock that was set. The system's goes by itself, and stays as it is.
    pub fn advance(&self, by: Duration) {
        if let Some(since) = &self.0 {
            let by = i64::try_from(by.as_nanos()).unwrap_or(i64::MAX);
            // Relaxed: a time and nothing else.
            let later = |since: i64| Some(since.saturating_add(by));
            let _ = since.fetch_update(Ordering::Relaxed, Ordering::Relaxed, later);
        }
    }

    /// Its time now.
    #[must_use]
    pub fn now(&self) -> SystemTime {
        let Some(since) = &self.0 else { return SystemTime::now() };
        let since = since.load(Ordering::Relaxed);
        let distance = Duration::from_nanos(since.unsigned_abs());
        if since < 0 { UNIX_EPOCH - distance } else { UNIX_EPOCH + distance }
    }
}

impl PartialEq for Clock {
    /// Whether it is the same clock.
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (None, None) => true,
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            _ => false,
        }
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            None => f.write_str("Clock::system()"),
            Some(_) => f.debug_tuple("Clock").field(&self.now()).finish(),
        }
    }
}
