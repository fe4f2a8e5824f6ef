//! The thread that measures the memory of tables for the recorder of metrics.

use super::Publisher;
use crate::Result;
use crate::engine::Engine;
use crate::owned_thread::OwnedThread;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The shortest rest between two walks.
const REST_MIN: Duration = Duration::from_secs(10);

/// It rests so many times as long as it walks: a hundredth of the time is the most that it is busy.
const REST_TIMES: u32 = 100;

/// Ends its thread when it is dropped, and the walk that it is at.
pub(crate) struct Measurer {
    stop: Arc<AtomicBool>,
    _thread: OwnedThread,
}

impl Measurer {
    /// Begins with a walk at once.
    ///
    /// # Errors
    /// [`crate::Error::HostExhausted`].
    pub fn start(engine: Engine, publisher: Publisher) -> Result<Self> {
        let stop = Arc::<AtomicBool>::default();
        let told = Arc::clone(&stop);
        let body = move || {
            // Acquire pairs with the release in `drop`.
            let over = || told.load(Ordering::Acquire);
            while !over() {
                let begun = Instant::now();
                // Without a worker to spare the numbers stay those of the last walk.
                if let Ok(memory) = engine.measure_tables(&over) {
                    publisher.publish_tables(&memory);
                }
                let walked = begun.elapsed();
                let rest = REST_MIN.max(walked * REST_TIMES);
                while !over() && begun.elapsed() < walked + rest {
                    std::thread::park_timeout((walked + rest).saturating_sub(begun.elapsed()));
                }
            }
        };
        let thread = OwnedThread::start("chiliad-measure", "the memory of tables", body)?;
        Ok(Self { stop, _thread: thread })
    }
}

impl Drop for Measurer {
    fn drop(&mut self) {
        // Release pairs with the acquire of the thread, which is waited for next.
        self.stop.store(true, Ordering::Release);
    }
}
