//! The engine under a scheme that is chosen at run time: one `match` per call, no virtual call.

use crate::options::{Options, Scheme};
use crate::raw::{Entry, Get, Range, Row, Scanned, TableId, TableSpec};
use crate::{Error, Layout, Result, Stats};
use chiliad_engine::{Checkpointed, Committed, Copied, Host, Intent, Mode, Outer, Recovered};
use chiliad_machine::Interleaved;
use chiliad_machine::disk::Disk;
use std::sync::Arc;

/// The types and the matches over all schemes, from one list. `$d` is a dollar sign, for the macros
/// that this one makes.
macro_rules! schemes {
    ($d:tt $($name:ident),*) => {
        /// Runs `$body` with `$inner` bound to what the enum holds, whichever scheme that is.
        macro_rules! each {
            ($d any:expr, $d inner:ident => $d body:expr) => {
                match $d any { $(Self::$name($d inner) => $d body,)* }
            };
        }

        /// As [`each`], with the result wrapped in the variant of the same scheme of `$other`.
        macro_rules! each_as {
            ($d any:expr, $d other:ident, $d inner:ident => $d body:expr) => {
                match $d any { $(Self::$name($d inner) => $d other::$name($d body),)* }
            };
        }

        /// Runs the macro `$of` with the name of a scheme.
        macro_rules! of_scheme {
            ($d scheme:expr, $d of:ident) => {
                match $d scheme { $(Scheme::$name => $d of!($name),)* }
            };
        }

        #[derive(Clone)]
        pub(crate) enum AnyDatabase {
            $($name(chiliad_engine::Database<Interleaved, chiliad_engine::$name<Interleaved>>),)*
        }

        pub(crate) enum AnyWorker {
            $($name(chiliad_engine::Worker<Interleaved, chiliad_engine::$name<Interleaved>>),)*
        }

        pub(crate) enum AnyTransaction<'w> {
            $($name(chiliad_engine::Tx<'w, Interleaved, chiliad_engine::$name<Interleaved>>),)*
        }

        pub(crate) enum AnyRunner {
            $($name(chiliad_engine::LogRunner<Interleaved, chiliad_engine::$name<Interleaved>>),)*
        }
    };
}

schemes!(
    $ Silo, GlobalTid, KeyValue, Partitioned, HStore, NoWait, WaitDie, DlDetect, Timestamp, Mvcc, Occ, OccSerial,
    LockTable, LockTableGlobal, LockTableBucket, LockTableSli, LockTableNoEbr, LockTableRepeatableRead
);

impl AnyRunner {
    pub fn run(self, over: impl Fn() -> bool, claimed: impl Fn()) {
        each!(self, runner => runner.run(over, claimed));
    }
}

/// A database from a directory, with the writers of its log.
pub(crate) type AnyOpened = (AnyDatabase, Vec<AnyRunner>, Recovered);

impl AnyDatabase {
    pub fn open_on(
        disk: Arc<dyn Disk>,
        mode: Mode,
        options: &Options,
        host: &dyn Host<Interleaved>,
    ) -> Result<AnyOpened> {
        macro_rules! open {
            ($scheme:ident) => {{
                let (engine, durable) = (options.engine(), options.durable());
                let opened = chiliad_engine::Database::open_on(disk, mode, engine, durable, host)?;
                let runners = opened.runners.into_iter().map(AnyRunner::$scheme).collect();
                (Self::$scheme(opened.database), runners, opened.recovered)
            }};
        }
        Ok(of_scheme!(options.scheme, open))
    }

    pub fn tables(&self) -> Vec<(TableId, TableSpec)> {
        each!(self, db => db.tables())
    }

    pub fn epoch(&self) -> u64 {
        each!(self, db => db.epoch())
    }

    pub fn hurry(&self, epoch: u64) {
        each!(self, db => db.hurry(epoch));
    }

    pub fn durable_epoch(&self) -> u64 {
        each!(self, db => db.durable_epoch())
    }

    pub fn log_failure(&self) -> Option<Error> {
        each!(self, db => db.log_failure())
    }

    pub fn log_bytes(&self) -> u64 {
        each!(self, db => db.log_bytes())
    }

    pub fn prepare_log(&self) -> Result<bool> {
        each!(self, db => db.prepare_log())
    }

    pub fn checkpoint_is_due(&self) -> bool {
        each!(self, db => db.checkpoint_is_due())
    }

    pub fn checkpoint(&self, host: &dyn Host<Interleaved>) -> Result<Checkpointed> {
        each!(self, db => db.checkpoint(host))
    }

    pub fn cancel_checkpoints(&self) {
        each!(self, db => db.cancel_checkpoints());
    }

    pub fn backup(&self, to: &dyn Disk) -> Result<Copied> {
        each!(self, db => db.backup(to))
    }

    pub fn export(&self, to: &dyn Disk, host: &dyn Host<Interleaved>) -> Result<Checkpointed> {
        each!(self, db => db.export(to, host))
    }

    pub fn open(options: &Options) -> Result<Self> {
        macro_rules! open {
            ($scheme:ident) => {
                Self::$scheme(chiliad_engine::Database::open(options.engine())?)
            };
        }
        Ok(of_scheme!(options.scheme, open))
    }

    pub fn create_table(&self, spec: TableSpec) -> Result<TableId> {
        each!(self, db => db.create_table(spec))
    }

    pub fn adopt_layout(&self, table: TableId, layout: Layout) -> Result<()> {
        each!(self, db => db.adopt_layout(table, layout))
    }

    pub fn drop_table(&self, name: &str) -> Result<()> {
        each!(self, db => db.drop_table(name))
    }

    pub fn seal(&self, name: &str) -> Result<()> {
        each!(self, db => db.seal(name))
    }

    pub fn worker(&self) -> Result<AnyWorker> {
        Ok(each_as!(self, AnyWorker, db => db.worker()?))
    }

    pub fn tick(&self) {
        each!(self, db => db.tick());
    }

    /// Bytes gained from what workers that have gone have left behind.
    pub fn tidy(&self) -> u64 {
        each!(self, db => db.tidy())
    }

    pub fn settle(&self) {
        each!(self, db => db.settle());
    }

    pub fn stats(&self) -> Stats {
        each!(self, db => db.stats())
    }
}

impl AnyWorker {
    pub fn begin(&mut self, intent: &Intent<'_>) -> Result<AnyTransaction<'_>> {
        Ok(each_as!(self, AnyTransaction, worker => worker.begin(intent)?))
    }

    /// As [`chiliad_engine::Worker::rest`].
    pub fn rest(&mut self, budget: usize) -> (bool, u64) {
        each!(self, worker => worker.rest(budget))
    }

    pub fn cancel_by(&mut self, cancel: Option<&chiliad_engine::Cancel<Interleaved>>) {
        each!(self, worker => worker.cancel_by(cancel));
    }

    /// As [`chiliad_engine::Worker::try_load`].
    pub fn try_load(
        &mut self,
        outer: &[Outer],
        table: TableId,
        key: &[u8],
        value: &[u8],
    ) -> Result<()> {
        each!(self, worker => worker.try_load(outer, table, key, value))
    }
}

impl AnyTransaction<'_> {
    /// Whether what was read so far is one state of the database.
    pub fn validate(&mut self) -> Result<()> {
        each!(self, tx => tx.validate())
    }

    pub fn commit(self) -> Result<Committed> {
        each!(self, tx => tx.commit())
    }

    /// What transactions in its closure know it by.
    pub fn as_outer(&self) -> Outer {
        each!(self, tx => tx.as_outer())
    }

    pub fn rollback(self) {
        each!(self, tx => tx.rollback());
    }
}

impl chiliad_engine::Transaction for AnyTransaction<'_> {
    fn get(&mut self, table: TableId, key: &[u8]) -> Result<Option<Row>> {
        each!(self, tx => tx.get(table, key))
    }

    fn get_for_update(&mut self, table: TableId, key: &[u8]) -> Result<Option<Row>> {
        each!(self, tx => tx.get_for_update(table, key))
    }

    fn get_many(&mut self, requests: &[Get<'_>], rows: &mut [Option<Row>]) -> Result<()> {
        each!(self, tx => tx.get_many(requests, rows))
    }

    fn scan(&mut self, table: TableId, range: Range<'_>) -> Result<Scanned> {
        each!(self, tx => tx.scan(table, range))
    }

    fn scan_index(&mut self, table: TableId, index: usize, range: Range<'_>) -> Result<Scanned> {
        each!(self, tx => tx.scan_index(table, index, range))
    }

    fn entries(&self, scanned: Scanned) -> Result<&[Entry]> {
        each!(self, tx => tx.entries(scanned))
    }

    fn key(&self, entry: Entry) -> Result<&[u8]> {
        each!(self, tx => tx.key(entry))
    }

    fn bytes(&self, row: Row) -> Result<&[u8]> {
        each!(self, tx => tx.bytes(row))
    }

    fn insert(&mut self, table: TableId, key: &[u8], value: &[u8]) -> Result<()> {
        each!(self, tx => tx.insert(table, key, value))
    }

    fn update(&mut self, row: Row, value: &[u8]) -> Result<()> {
        each!(self, tx => tx.update(row, value))
    }

    fn modify(&mut self, row: Row) -> Result<&mut [u8]> {
        each!(self, tx => tx.modify(row))
    }

    fn put(&mut self, table: TableId, key: &[u8], value: &[u8]) -> Result<()> {
        each!(self, tx => tx.put(table, key, value))
    }

    fn remove_row(&mut self, row: Row) -> Result<()> {
        each!(self, tx => tx.remove_row(row))
    }

    fn remove(&mut self, table: TableId, key: &[u8]) -> Result<bool> {
        each!(self, tx => tx.remove(table, key))
    }
}
