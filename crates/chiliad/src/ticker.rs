//! The thread that advances a database's epochs, and has workers that are idle give back what they have.

use crate::cache::Slots;
use crate::engine::Engine;
use crate::{Error, Result};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A worker that has run nothing for so long is idle.
const REST_EVERY: Duration = Duration::from_millis(40);

/// Ends its thread when it is dropped.
pub(crate) struct Ticker {
    stop: Arc<Stop>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Stop {
    asked: Mutex<bool>,
    bell: Condvar,
}

impl Ticker {
    pub fn start(engine: Engine, slots: Arc<Slots>, epoch: Duration) -> Result<Self> {
        let stop = Arc::new(Stop::default());
        let seen = Arc::clone(&stop);
        let thread = std::thread::Builder::new()
            .name("chiliad-ticker".into())
            .spawn(move || {
                let mut rested = Instant::now();
                while !seen.after(epoch) {
                    engine.tick();
                    if rested.elapsed() >= REST_EVERY {
                        slots.rest_idle();
                        engine.tidy();
                        rested = Instant::now();
                    }
                }
            })
            .map_err(|error| Error::HostExhausted(format!("no thread for the epochs: {error}")))?;
        Ok(Self { stop, thread: Some(thread) })
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
        self.stop.bell.notify_all();
        if let Some(thread) = self.thread.take() {
            // A panic of the ticker was reported when it happened; a drop has nobody to tell.
            let _ = thread.join();
        }
    }
}
