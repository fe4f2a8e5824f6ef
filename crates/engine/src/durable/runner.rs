//! A writer of the log with the database that it belongs to, for whoever runs it.

use crate::database::{Database, Inner};
use crate::scheme::Scheme;
use chiliad_log::{LogWriter, Stepped};
use chiliad_machine::Machine;
use std::sync::Arc;

/// One of the writers of a database's log. Somebody calls [`LogRunner::step`] after every tick, and
/// now and then between; [`Database::tick`] unparks the worker that called it last.
///
/// It keeps the database alive.
pub struct LogRunner<M: Machine, S: Scheme<M>> {
    inner: Arc<Inner<M, S>>,
    writer: LogWriter<M>,
}

impl<M: Machine, S: Scheme<M>> LogRunner<M, S> {
    pub(super) fn new(inner: Arc<Inner<M, S>>, writer: LogWriter<M>) -> Self {
        Self { inner, writer }
    }

    /// Writes what is due, and says what it did.
    pub fn step(&mut self) -> Stepped {
        let Some(durable) = &self.inner.words.durable else {
            return Stepped::Idle;
        };
        self.writer.step(&durable.log)
    }

    /// The database.
    #[must_use]
    pub fn database(&self) -> Database<M, S> {
        Database::from_inner(Arc::clone(&self.inner))
    }

    /// Ends the log as it should be: everything committed becomes durable. Nobody is at work any
    /// more, and nobody ticks.
    pub fn finish(self) -> Stepped {
        let Some(durable) = &self.inner.words.durable else {
            return Stepped::Idle;
        };
        let slots = &self.inner.heap.slots;
        durable.log.advance(self.inner.words.epochs.tick(slots));
        self.writer.finish(&durable.log)
    }
}
