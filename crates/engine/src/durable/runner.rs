//! A writer of the log with the database that it belongs to; the owner of the machine runs it.

use super::gathering::{Gathering, OPEN_MIN};
use crate::contract::Scheme;
use crate::database::Database;
use crate::shared::Inner;
use chiliad_log::{Log, LogWriter, Stepped};
use chiliad_machine::Machine;
use std::sync::Arc;

/// How often a writer looks at the buffers where nobody wakes it.
const LOOKS_PER_SECOND: u64 = 200;
/// Looks after which it takes the database for idle, if nothing was written meanwhile.
const QUIET_LOOKS: u32 = 40;
/// How often it looks then, beside the end of each epoch and calls of workers whose buffers are full.
const IDLE_LOOKS_PER_SECOND: u64 = 10;

/// One of the writers of a database's log. Somebody gives it a thread by [`LogRunner::run`], or calls
/// [`LogRunner::step`] after every tick, and now and then between; [`Database::tick`] unparks the
/// worker that called it last.
///
/// It keeps the database alive.
pub struct LogRunner<M: Machine, S: Scheme<M>> {
    inner: Arc<Inner<M, S>>,
    writer: LogWriter<M>,
}

impl<M: Machine, S: Scheme<M>> LogRunner<M, S> {
    pub(in crate::durable) fn new(inner: Arc<Inner<M, S>>, writer: LogWriter<M>) -> Self {
        debug_assert!(inner.words.durable.is_some(), "there is a log to write");
        Self { inner, writer }
    }

    /// Runs the writer until `over`, which is asked after every wake-up, and ends its log. `claimed` is
    /// called whenever an epoch may have become durable, and when the log has failed. The first of the
    /// writers also ends epochs early for those who hurry ([`Database::hurry`]).
    pub fn run(mut self, over: impl Fn() -> bool, claimed: impl Fn()) {
        let (mut seen, mut quiet) = (0, 0);
        let mut gathering = Gathering::default();
        while !over() {
            if self.hurries()
                && gathering.rests(self.opened(), M::now()).is_none()
                && !gathering.goes_on(self.calls(), M::now())
            {
                gathering.ends(self.calls(), M::now());
                self.database().tick();
            }
            match self.step() {
                Stepped::Claimed => {
                    gathering.claims(self.calls(), M::now(), M::ticks_per_second());
                    claimed();
                }
                Stepped::Failed => claimed(),
                Stepped::Idle | Stepped::Wrote => {}
            }
            if let Some(until) = gathering.rests(self.opened(), M::now()) {
                self.rest(until);
            } else if self.hurries() {
                // A commit window is open, or somebody is expected who hurries, too: they may want this core.
                M::yield_now();
            } else {
                let written = self.written_bytes();
                quiet = if written == seen { QUIET_LOOKS.min(quiet + 1) } else { 0 };
                seen = written;
                let idle = quiet == QUIET_LOOKS;
                let looks = if idle { IDLE_LOOKS_PER_SECOND } else { LOOKS_PER_SECOND };
                M::park_until(M::now() + M::ticks_per_second() / looks);
            }
        }
        self.finish();
        claimed();
    }

    /// Waits until this time, or until few transactions are open.
    fn rest(&self, until: u64) {
        let Some(log) = self.log() else { return };
        log.rest_while_open(OPEN_MIN);
        M::park_until(until);
        log.rest_while_open(0);
    }

    fn log(&self) -> Option<&Log<M>> {
        self.inner.words.durable.as_ref().map(|durable| &durable.log)
    }

    fn written_bytes(&self) -> u64 {
        self.log().map_or(0, Log::written_bytes)
    }

    /// Transactions that are open and may hurry.
    fn opened(&self) -> u64 {
        self.log().map_or(0, Log::opened)
    }

    /// Calls of those that hurry so far.
    fn calls(&self) -> u64 {
        self.log().map_or(0, Log::hurries)
    }

    fn hurries(&self) -> bool {
        self.writer.number() == 0 && self.log().is_some_and(Log::is_urgent)
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
        self.inner.base().end_epoch();
        let writer = self.writer.number();
        let ended =
            self.writer.finish(&durable.log).is_some_and(|end| durable.finish(writer, end).is_ok());
        if ended { Stepped::Claimed } else { Stepped::Failed }
    }
}
