//! The threads of a database that shares a log with others.

use crate::{Error, Result};
use chiliad_engine::LogTask;
use chiliad_hyder::Hyder;
use chiliad_machine::Interleaved;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, JoinHandle};

/// The threads of a server: one appends, one rolls the log forward. They end when it is dropped.
pub(crate) struct JoinedThreads {
    stop: Arc<AtomicBool>,
    server: Hyder<Interleaved>,
    threads: Vec<JoinHandle<()>>,
}

impl JoinedThreads {
    pub fn start(server: &Hyder<Interleaved>) -> Result<Self> {
        let server = server.clone();
        let mut joined = Self { stop: Arc::default(), server, threads: Vec::new() };
        for task in joined.server.tasks() {
            let stop = Arc::clone(&joined.stop);
            // Acquire pairs with the release in `drop`.
            let body = move || Box::new(task).run(&|| stop.load(Ordering::Acquire), &|| {});
            let refused =
                |error| Error::HostExhausted(format!("no thread for the shared log: {error}"));
            let thread = Builder::new().name("chiliad-shared-log".into()).spawn(body);
            joined.threads.push(thread.map_err(refused)?);
        }
        Ok(joined)
    }
}

impl Drop for JoinedThreads {
    fn drop(&mut self) {
        // Release pairs with the acquire of the threads.
        self.stop.store(true, Ordering::Release);
        for thread in self.threads.drain(..) {
            thread.thread().unpark();
            // A panic was reported when it happened; a drop has nobody to tell.
            let _ = thread.join();
        }
        // Nobody would answer those that still wait.
        self.server.close();
    }
}
