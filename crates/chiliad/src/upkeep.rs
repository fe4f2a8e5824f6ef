//! Threads that do a task again and again, and the one that makes checkpoints.

use crate::engine::Engine;
use crate::owned_thread::OwnedThread;
use crate::threads::Threads;
use crate::watch::span;
use crate::{Error, Result};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How long a thread rests between two tasks while the log grows.
const REST: Duration = Duration::from_millis(50);
/// How long it rests at most where nothing is logged: a process may have a hundred databases that are idle.
const REST_MAX: Duration = Duration::from_millis(400);

/// A thread that does a task for the log of a database again and again. It ends when this is dropped, after the task
/// that it is at.
pub(crate) struct Upkeep {
    stop: Arc<AtomicBool>,
    _thread: OwnedThread,
}

impl Upkeep {
    /// # Errors
    /// [`Error::HostExhausted`].
    pub fn start(name: &str, engine: &Engine, task: impl Fn() + Send + 'static) -> Result<Self> {
        let stop = Arc::<AtomicBool>::default();
        let (told, engine) = (Arc::clone(&stop), engine.clone());
        let body = move || {
            let (mut rest, mut seen) = (REST, 0);
            // Acquire pairs with the release in `drop`.
            while !told.load(Ordering::Acquire) {
                let bytes = engine.log_bytes();
                rest = if bytes == seen { REST_MAX.min(2 * rest) } else { REST };
                seen = bytes;
                task();
                std::thread::park_timeout(rest);
            }
        };
        Ok(Self { stop, _thread: OwnedThread::start(name, "the log", body)? })
    }
}

impl Drop for Upkeep {
    fn drop(&mut self) {
        // Release pairs with the acquire of the thread, which is waited for next.
        self.stop.store(true, Ordering::Release);
    }
}

/// Makes checkpoints when they are due.
pub(crate) struct Checkpointer {
    /// `None` once it was wound down.
    thread: Option<Upkeep>,
    engine: Engine,
    failure: Arc<Mutex<Option<Error>>>,
}

impl Checkpointer {
    /// A checkpoint uses so many threads.
    ///
    /// # Errors
    /// [`Error::HostExhausted`].
    pub fn start(engine: &Engine, threads: usize) -> Result<Self> {
        let failure = Arc::<Mutex<_>>::default();
        let (due, told) = (engine.clone(), Arc::clone(&failure));
        let task = move || checkpoint_if_due(&due, &Threads::new(threads), &told);
        let thread = Some(Upkeep::start("chiliad-checkpoint", engine, task)?);
        Ok(Self { thread, engine: engine.clone(), failure })
    }

    /// The error of the last automatic checkpoint.
    pub fn failure(&self) -> Option<Error> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Ends the checkpoint that is being made, and the thread.
    pub fn wind_down(&mut self) {
        self.engine.cancel_checkpoints();
        self.thread = None;
    }
}

fn checkpoint_if_due(engine: &Engine, host: &Threads<'_>, failure: &Mutex<Option<Error>>) {
    if !engine.checkpoint_is_due() {
        return;
    }
    span!("chiliad.checkpoint");
    let made = engine.checkpoint(host);
    if made != Err(Error::Canceled) {
        *failure.lock().unwrap_or_else(PoisonError::into_inner) = made.err();
    }
}
