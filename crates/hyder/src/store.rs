//! A server as a database: what drivers, rigs and the facade use of it.

use crate::audit::{Deviation, deviation, fingerprint};
use crate::catalog::Change;
use crate::measure::measure;
use crate::options::{INFO, ServerOptions};
use crate::oracle::Oracle;
use crate::server::{Server, SharedServer};
use crate::session::HyderSession;
use chiliad_api::{
    Checkpointed, Error, Host, Info, LogTask, NativeSession, NativeStore, Result, Session, Stats,
    Stepped, Store, TableId, TableLayout, TableMemory, TableSpec, Tally,
};
use chiliad_machine::disk::Disk;
use chiliad_machine::shared_log::{Position, SharedLog};
use chiliad_machine::{Interleaved, Machine};
use std::sync::Arc;

/// A server that has joined those of a shared log. Clones are the same server.
pub struct Hyder<M: Machine>(pub(crate) SharedServer<M>);

impl<M: Machine> Clone for Hyder<M> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<M: Machine> Hyder<M> {
    /// Joins the servers that share `log`, with the state that it makes.
    ///
    /// # Errors
    /// Those of the log; [`Error::OutOfMemory`]; [`Error::TooManyWorkers`].
    pub fn join(log: Arc<dyn SharedLog>, options: ServerOptions) -> Result<Self> {
        Self::join_with(log, None, options)
    }

    /// As [`Hyder::join`], beginning with the newest checkpoint on `disk`, where [`Store::checkpoint`] puts further
    /// ones. Servers may share a disk; other files on it are left alone, if their names do not begin with `checkpoint-`.
    ///
    /// # Errors
    /// As for [`Hyder::join`]; [`Error::LogRefused`] for a log that is not the one of the checkpoint, or does not go on
    /// from there; [`Error::Data`] for a disk that cannot be read, and for a checkpoint that is damaged where the log
    /// does not reach back to the one before.
    pub fn join_with(
        log: Arc<dyn SharedLog>,
        disk: Option<Arc<dyn Disk>>,
        options: ServerOptions,
    ) -> Result<Self> {
        Server::open(log, disk, options).map(Self)
    }

    /// Tasks for threads of the server, each on one of its own, all of them or none: one appends, the others
    /// roll the log forward, as many as [`crate::RollOptions::pipeline`] says. While none runs, the sessions do that wait
    /// for their verdicts.
    #[must_use]
    pub fn tasks(&self) -> Vec<HyderTask<M>> {
        let mut duties = vec![Duty::Append];
        match self.0.options.roll.pipeline {
            0 | 1 => duties.push(Duty::Roll),
            threads => {
                duties.push(Duty::Front);
                duties.extend((2..threads).map(|_| Duty::Build));
                duties.push(Duty::Last);
            }
        }
        let task = |duty| HyderTask { server: Arc::clone(&self.0), duty };
        duties.into_iter().map(task).collect()
    }

    /// Ends the server: what its sessions wait for is not decided here any more, and fails. What was appended before may
    /// commit on the other servers.
    pub fn close(&self) {
        self.0.close();
    }

    /// Reads all that is in the log by now.
    pub(crate) fn read_to_end(&self) {
        self.0.read_to_end();
    }

    /// The first difference between the server, at rest, and `oracle`, which has read all of its log.
    ///
    /// # Errors
    /// [`Error::TooManyWorkers`].
    pub fn deviation(&self, oracle: &Oracle) -> Result<Option<Deviation>> {
        deviation(&self.0, oracle)
    }

    /// A session, which begins with all that is in the log by now.
    fn new_session(&self) -> Result<HyderSession<M>> {
        self.0.read_to_end();
        HyderSession::new(Arc::clone(&self.0))
    }

    /// The position of the log at which the server goes on: it has read all before.
    #[must_use]
    pub fn position(&self) -> Position {
        self.0.progress.next()
    }

    /// The label of the newest state, and the digest of all verdicts up to it.
    #[must_use]
    pub fn digest(&self) -> (u64, u64) {
        let head = self.0.head();
        (head.label, head.digest)
    }
}

impl NativeStore for Hyder<Interleaved> {
    fn native_session(&self) -> Result<Box<NativeSession>> {
        Ok(Box::new(self.new_session()?))
    }
}

impl<M: Machine> Store<M> for Hyder<M> {
    fn info(&self) -> Info {
        INFO
    }

    fn create_table(&self, spec: TableSpec) -> Result<TableId> {
        spec.validate()?;
        self.0.change(&Change::Create(spec))
    }

    fn change_layout(&self, table: TableId, layout: TableLayout) -> Result<()> {
        self.0.change(&Change::Layout(table, layout)).map(|_| ())
    }

    fn seal(&self, name: &str) -> Result<()> {
        self.0.change(&Change::Seal(name.into())).map(|_| ())
    }

    fn tables(&self) -> Vec<(TableId, TableSpec)> {
        let catalog = self.0.catalog();
        catalog.declared().map(|(id, table)| (id, table.spec.clone())).collect()
    }

    fn table(&self, name: &str) -> Result<TableId> {
        self.0.catalog().find(name)
    }

    fn drop_table(&self, name: &str) -> Result<()> {
        self.0.change(&Change::Drop(name.into())).map(|_| ())
    }

    fn session(&self) -> Result<Box<dyn Session<M>>> {
        Ok(Box::new(self.new_session()?))
    }

    fn tick(&self) {
        self.0.append_and_roll(1);
    }

    fn epoch(&self) -> u64 {
        self.0.published.label()
    }

    fn reach_snapshot(&self) {
        self.tick();
    }

    fn fingerprint(&self) -> Result<Option<String>> {
        self.read_to_end();
        fingerprint(&self.0).map(Some)
    }

    fn stats(&self) -> Stats {
        let server = &self.0;
        let mut tally = Tally::default();
        let mut counted = server.tally.lock().clone();
        tally.absorb(&mut counted);
        let catalog = server.catalog();
        let next = server.progress.next();
        let name = |id| catalog.get(id).ok().map(|table| table.spec.name.clone());
        let mut stats = Stats::new(tally, &name);
        stats.memory = self.0.heap.usage();
        stats.epoch = self.epoch();
        stats.snapshot_boundary = self.epoch();
        stats.snapshot_oldest = server.oldest_label();
        stats.holds = server.holds();
        stats.log_lag = server.log.bounds().map_or(0, |bounds| bounds.end.saturating_sub(next));
        stats.blocks_waiting = server.progress.waiting();
        stats.rolled = server.progress.rolled();
        stats
    }

    fn measure_tables(&self, over: &dyn Fn() -> bool) -> Result<Vec<TableMemory>> {
        measure(&self.0, over)
    }

    fn log_failure(&self) -> Option<Error> {
        self.0.failure()
    }

    fn log_bytes(&self) -> u64 {
        self.0.progress.log_bytes()
    }

    fn checkpoint_is_due(&self) -> bool {
        self.0.checkpoint_is_due()
    }

    fn checkpoint(&self, _host: &dyn Host<M>) -> Result<Checkpointed> {
        self.0.checkpoint()
    }

    fn cancel_checkpoints(&self) {
        self.0.checkpointing.cancel();
    }
}

/// A part of a server's work, for a thread of its own.
pub struct HyderTask<M: Machine> {
    server: SharedServer<M>,
    duty: Duty,
}

#[derive(Clone, Copy)]
enum Duty {
    Append,
    Roll,
    Front,
    Build,
    Last,
}

impl<M: Machine> LogTask<M> for HyderTask<M> {
    fn run(self: Box<Self>, over: &dyn Fn() -> bool, _claimed: &dyn Fn()) {
        match self.duty {
            Duty::Append => self.server.run_appender(over),
            Duty::Roll => self.server.run_roller(over),
            Duty::Front => self.server.run_front(over),
            Duty::Build => self.server.run_builder(over),
            Duty::Last => self.server.run_last(over),
        }
    }

    fn step(&mut self) -> Stepped {
        self.server.append_and_roll(1);
        Stepped::Idle
    }

    fn finish(self: Box<Self>) -> Stepped {
        Stepped::Idle
    }
}
