//! The thread that advances a database's epochs, and has workers that are idle give back what they have.

use crate::Result;
use crate::cache::Slots;
use crate::engine::Engine;
use crate::owned_thread::OwnedThread;
use crate::snapshot_ages::SnapshotAges;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A worker that has run nothing for so long is idle.
const REST_EVERY: Duration = Duration::from_millis(40);

/// How often the recorder of metrics is told how the database is.
#[cfg(feature = "metrics")]
const PUBLISH_EVERY: Duration = Duration::from_secs(1);

/// Ends its thread when it is dropped.
pub(crate) struct Ticker {
    stop: Arc<Stop>,
    _thread: OwnedThread,
}

#[derive(Default)]
struct Stop {
    asked: Mutex<bool>,
    bell: Condvar,
}

impl Ticker {
    /// Advances the epochs, one after `epoch`; with the feature `metrics`, it tells how the database is.
    pub fn start(
        engine: Engine,
        slots: Arc<Slots>,
        epoch: Duration,
        ages: Arc<SnapshotAges>,
        #[cfg(feature = "metrics")] publisher: crate::watch::Publisher,
    ) -> Result<Self> {
        let stop = Arc::new(Stop::default());
        let seen = Arc::clone(&stop);
        let body = move || {
            let mut rested = Instant::now();
            #[cfg(feature = "metrics")]
            let mut published = Instant::now();
            while !seen.after(epoch) {
                engine.tick();
                ages.ticked(engine.epoch());
                if rested.elapsed() >= REST_EVERY {
                    slots.rest_idle();
                    engine.tidy();
                    rested = Instant::now();
                }
                #[cfg(feature = "metrics")]
                if published.elapsed() >= PUBLISH_EVERY {
                    publisher.publish(&engine, &ages);
                    published = Instant::now();
                }
            }
        };
        Ok(Self { stop, _thread: OwnedThread::start("chiliad-ticker", "the epochs", body)? })
    }
}

impl Stop {
    /// Waits for `time`, or less if the ticker is asked to stop: then `true`.
    fn after(&self, time: Duration) -> bool {
        let asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.bell.wait_timeout_while(asked, time, |asked| !*asked);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        *self.stop.asked.lock().unwrap_or_else(PoisonError::into_inner) = true;
        // The thread is waited for next.
        self.stop.bell.notify_all();
    }
}
