//! The threads of a database in a directory: log writers, one that makes room for them, and one for
//! checkpoints.

use crate::acks::Acks;
use crate::engine::{Engine, Writer};
use crate::threads::Threads;
use crate::{Error, Result};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// How often it is asked whether a checkpoint is due.
const UPKEEP: Duration = Duration::from_millis(50);

/// The threads. They end when it is dropped, after everything committed has become durable.
pub(crate) struct BackgroundThreads {
    stop: Arc<AtomicBool>,
    engine: Engine,
    upkeep: Vec<JoinHandle<()>>,
    writers: Vec<JoinHandle<()>>,
    /// What went wrong with the last checkpoint that nobody asked for.
    checkpoint_failure: Arc<Mutex<Option<Error>>>,
}

impl BackgroundThreads {
    pub fn start(
        engine: &Engine,
        writers: Vec<Writer>,
        acks: &Arc<Acks>,
        threads: usize,
    ) -> Result<Self> {
        let mut background = Self {
            stop: Arc::default(),
            engine: engine.clone(),
            upkeep: Vec::new(),
            writers: Vec::new(),
            checkpoint_failure: Arc::default(),
        };
        for writer in writers {
            let (stop, acks) = (Arc::clone(&background.stop), Arc::clone(acks));
            // Acquire pairs with the release in `wind_down`.
            let body = move || writer.run(&|| stop.load(Ordering::Acquire), &|| acks.publish());
            background.writers.push(spawn("chiliad-log", body)?);
        }
        // Apart: the log needs room while a checkpoint takes its time.
        let (stop, room) = (Arc::clone(&background.stop), engine.clone());
        // One after the other, until there is enough: small files are soon used up.
        let body = move || upkeep(&stop, || while room.prepare_log() == Ok(true) {});
        background.upkeep.push(spawn("chiliad-room", body)?);
        let (stop, checkpoint_failure) =
            (Arc::clone(&background.stop), Arc::clone(&background.checkpoint_failure));
        let engine = engine.clone();
        let body = move || {
            let host = Threads::new(threads);
            upkeep(&stop, || checkpoint_if_due(&engine, &host, &checkpoint_failure));
        };
        background.upkeep.push(spawn("chiliad-checkpoint", body)?);
        Ok(background)
    }

    /// What went wrong with the last checkpoint that nobody asked for.
    pub fn checkpoint_failure(&self) -> Option<Error> {
        self.checkpoint_failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Ends checkpoints: before the ticker ends, without which none gets anywhere.
    pub fn wind_down(&mut self) {
        // Release pairs with the acquire of the log's threads and of `upkeep`.
        self.stop.store(true, Ordering::Release);
        self.engine.cancel_checkpoints();
        for thread in self.upkeep.drain(..) {
            thread.thread().unpark();
            // A panic was reported when it happened; a drop has nobody to tell.
            let _ = thread.join();
        }
    }
}

impl Drop for BackgroundThreads {
    fn drop(&mut self) {
        self.wind_down();
        for thread in self.writers.drain(..) {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>> {
    let refused = |error| Error::HostExhausted(format!("no thread for the log: {error}"));
    Builder::new().name(name.into()).spawn(body).map_err(refused)
}

/// Does a task again and again.
fn upkeep(stop: &AtomicBool, task: impl Fn()) {
    // Acquire pairs with the release in `wind_down`.
    while !stop.load(Ordering::Acquire) {
        task();
        std::thread::park_timeout(UPKEEP);
    }
}

fn checkpoint_if_due(
    engine: &Engine,
    host: &Threads<'_>,
    checkpoint_failure: &Mutex<Option<Error>>,
) {
    if !engine.checkpoint_is_due() {
        return;
    }
    let made = engine.checkpoint(host);
    if made != Err(Error::Canceled) {
        *checkpoint_failure.lock().unwrap_or_else(PoisonError::into_inner) = made.err();
    }
}
