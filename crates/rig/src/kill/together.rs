//! The threads of a process that is killed: clients, and one that makes checkpoints. The first that fails
//! stops all.

use super::client::Trouble;
use super::said::{Said, say};
use chiliad::Database;
use chiliad_host::threads;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, Scope};
use std::time::Duration;

/// Where threads are started.
pub struct Crew<'scope, 'env> {
    scope: &'scope Scope<'scope, 'env>,
    stop: &'env AtomicBool,
    /// Why the first of them has failed.
    trouble: Arc<Mutex<Option<Trouble>>>,
    no_thread: fn(io::Error) -> Trouble,
}

/// Lets `begin` start threads, and waits for all. `no_thread` is what is said where the system gives none.
///
/// # Errors
/// That of the first thread that has failed.
pub fn together<'env>(
    stop: &'env AtomicBool,
    no_thread: fn(io::Error) -> Trouble,
    begin: impl for<'scope> FnOnce(&Crew<'scope, 'env>),
) -> Result<(), Trouble> {
    let trouble = Arc::<Mutex<_>>::default();
    thread::scope(|scope| {
        begin(&Crew { scope, stop, trouble: Arc::clone(&trouble), no_thread });
    });
    let first = trouble.lock().unwrap_or_else(PoisonError::into_inner).take();
    first.map_or(Ok(()), Err)
}

impl<'scope> Crew<'scope, '_> {
    /// Starts a thread.
    pub fn start(&self, work: impl FnOnce() -> Result<(), Trouble> + Send + 'scope) {
        let (stop, trouble) = (self.stop, Arc::clone(&self.trouble));
        let started = threads::start(self.scope, move || note(stop, &trouble, work()));
        note(self.stop, &self.trouble, started.map(drop).map_err(self.no_thread));
    }
}

fn note(stop: &AtomicBool, trouble: &Mutex<Option<Trouble>>, result: Result<(), Trouble>) {
    if let Err(error) = result {
        stop.store(true, Ordering::Relaxed);
        trouble.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }
}

/// Makes one checkpoint after the other, with so long between two, until `stop`.
pub fn checkpoints(db: &Database, pause: Duration, stop: &AtomicBool) -> Result<(), Trouble> {
    while !stop.load(Ordering::Relaxed) {
        thread::sleep(pause);
        say(&Said::CheckpointBegins)?;
        db.checkpoint()?;
        say(&Said::CheckpointEnds)?;
    }
    Ok(())
}
