//! The threads of a database that shares a log with others.

use crate::engine::Engine;
use crate::owned_thread::OwnedThread;
use crate::upkeep::Checkpointer;
use crate::{Error, Result};
use chiliad_engine::LogTask;
use chiliad_hyder::Hyder;
use chiliad_machine::Interleaved;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The threads of a server: one appends, one rolls the log forward, and one makes checkpoints where there is a place
/// for them. They end when it is dropped.
pub(crate) struct JoinedThreads {
    stop: Arc<AtomicBool>,
    server: Hyder<Interleaved>,
    checkpointer: Option<Checkpointer>,
    threads: Vec<OwnedThread>,
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
            joined.threads.push(OwnedThread::start("chiliad-shared-log", "the shared log", body)?);
        }
        if makes_checkpoints {
            // The rows are written in their order, by one thread.
            joined.checkpointer = Some(Checkpointer::start(engine, 1)?);
        }
        Ok(joined)
    }

    /// The error of the last automatic checkpoint.
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
        // Release pairs with the acquire of the threads, which are waited for next.
        self.stop.store(true, Ordering::Release);
    }
}
