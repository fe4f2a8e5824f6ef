//! The threads of a database in a directory: log writers, one that makes room for them, and one for
//! checkpoints.

use crate::acks::Acks;
use crate::engine::{Engine, Writer};
use crate::owned_thread::OwnedThread;
use crate::upkeep::{Checkpointer, Upkeep};
use crate::{Error, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The threads. They end when it is dropped, after everything committed has become durable.
pub(crate) struct BackgroundThreads {
    stop: Arc<AtomicBool>,
    /// Apart from the checkpoints: the log needs room while one takes its time. `None` once wound down.
    room: Option<Upkeep>,
    checkpointer: Checkpointer,
    writers: Vec<OwnedThread>,
}

impl BackgroundThreads {
    pub fn start(
        engine: &Engine,
        writers: Vec<Writer>,
        acks: &Arc<Acks>,
        threads: usize,
    ) -> Result<Self> {
        let log = engine.clone();
        // One after the other, until there is enough: small files are soon used up.
        let make_room = move || while log.prepare_log() == Ok(true) {};
        let mut background = Self {
            stop: Arc::default(),
            room: Some(Upkeep::start("chiliad-room", engine, make_room)?),
            checkpointer: Checkpointer::start(engine, threads)?,
            writers: Vec::new(),
        };
        for writer in writers {
            let (stop, acks) = (Arc::clone(&background.stop), Arc::clone(acks));
            // Acquire pairs with the release in `wind_down`.
            let body = move || writer.run(&|| stop.load(Ordering::Acquire), &|| acks.publish());
            background.writers.push(OwnedThread::start("chiliad-log", "the log", body)?);
        }
        Ok(background)
    }

    /// The error of the last automatic checkpoint.
    pub fn checkpoint_failure(&self) -> Option<Error> {
        self.checkpointer.failure()
    }

    /// Ends checkpoints: before the ticker ends, without which none gets anywhere.
    pub fn wind_down(&mut self) {
        // Release pairs with the acquire of the log's threads.
        self.stop.store(true, Ordering::Release);
        self.checkpointer.wind_down();
        self.room = None;
    }
}

impl Drop for BackgroundThreads {
    fn drop(&mut self) {
        // The writers are waited for next.
        self.wind_down();
    }
}
