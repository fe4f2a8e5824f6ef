//! The threads of a database that shares a log with others.

use crate::engine::Engine;
use crate::upkeep::Checkpointer;
use crate::{Error, Result};
use chiliad_engine::LogTask;
use chiliad_hyder::Hyder;
use chiliad_machine::Interleaved;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, JoinHandle};

/// The threads of a server: one appends, one rolls the log forward, and one makes checkpoints where there is a place
/// for them. They end when it is dropped.
pub(crate) struct JoinedThreads {
    stop: Arc<AtomicBool>,
    server: Hyder<Interleaved>,
    checkpointer: Option<Checkpointer>,
    threads: Vec<JoinHandle<()>>,
}

impl JoinedThreads {
    /// Starts the threads of `server`, which is the engine `engine` as well.
    ///
    /// # Errors
    /// [`Error::HostExhausted`].
    pub fn start(
        server: &Hyder<Interleaved>,
        engine: &Engine,
        makes_checkpoints: bool,
    ) -> Result<Self> {
        let mut joined = Self {
            stop: Arc::default(),
            server: server.clone(),
            checkpointer: None,
            threads: Vec::new(),
        };
        for task in joined.server.tasks() {
            let stop = Arc::clone(&joined.stop);
            // Acquire pairs with the release in `drop`.
            let body = move || Box::new(task).run(&|| stop.load(Ordering::Acquire), &|| {});
            let refused =
                |error| Error::HostExhausted(format!("no thread for the shared log: {error}"));
            let thread = Builder::new().name("chiliad-shared-log".into()).spawn(body);
            joined.threads.push(thread.map_err(refused)?);
        }
        if makes_checkpoints {
            // The rows are written in their order, by one thread.
            joined.checkpointer = Some(Checkpointer::start(engine, 1)?);
        }
        Ok(joined)
    }

    /// What went wrong with the last checkpoint that nobody asked for.
    pub fn checkpoint_failure(&self) -> Option<Error> {
        self.checkpointer.as_ref().and_then(Checkpointer::failure)
    }
}

impl Drop for JoinedThreads {
    fn drop(&mut self) {
        // A checkpoint that waits for the log would wait as long as the log cannot be reached. What is written of it is
        // whole or has no name.
        self.server.close();
        if let Some(checkpointer) = &mut self.checkpointer {
            checkpointer.wind_down();
        }
        // Release pairs with the acquire of the threads.
        self.stop.store(true, Ordering::Release);
        for thread in self.threads.drain(..) {
            thread.thread().unpark();
            // A panic was reported when it happened; a drop has nobody to tell.
            let _ = thread.join();
        }
    }
}
