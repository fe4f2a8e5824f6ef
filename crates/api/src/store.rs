//! A database of any engine: what drivers, crash rigs and the facade use of it.

use crate::error::{Error, Result};
use crate::host::Host;
use crate::info::Info;
use crate::layout::TableLayout;
use crate::report::{Checkpointed, Copied, Recovered};
use crate::session::Session;
use crate::stats::Stats;
use crate::table::{SecondarySpec, TableId, TableSpec};
use crate::table_change::TableChange;
use crate::table_memory::TableMemory;
use chiliad_log::{ChangeReader, EpochChanges, Position, Stepped};
use chiliad_machine::disk::Disk;
use chiliad_machine::{Interleaved, Machine};

/// Makes of a key and a row, both encoded, those of another table, or tells why it cannot. It may be called more than
/// once for a row.
pub type Rewrite<'a> = dyn FnMut(&[u8], &[u8]) -> RewrittenRow + 'a;

/// A key and a row, both encoded, or the reason why there are none.
pub type RewrittenRow = core::result::Result<(Vec<u8>, Vec<u8>), String>;

const UNSUPPORTED: Error =
    Error::Unsupported("servers that share a log change no indexes, and write no rows anew");

/// A database, whatever its engine and scheme. The methods about a log and a directory have the answers
/// of a database in memory where an engine says nothing else.
pub trait Store<M: Machine> {
    /// Properties and promises of its scheme.
    fn info(&self) -> Info;

    /// Creates a table.
    ///
    /// # Errors
    /// [`Error::TableExists`], [`Error::InvalidOption`] for a declaration that makes no sense,
    /// [`Error::OutOfMemory`]; [`Error::LogFailed`], [`Error::OpenedReadOnly`].
    fn create_table(&self, spec: TableSpec) -> Result<TableId>;

    /// Gives a table another layout, as [`TableSpec::change_layout`] allows: columns to a table of which none are
    /// known, as it is opened for the first time as a table of columns; one more version to its schema. The catalog
    /// keeps it before rows are written by it.
    ///
    /// # Errors
    /// [`Error::UnknownTable`]; those of [`TableSpec::change_layout`]; [`Error::LogFailed`],
    /// [`Error::OpenedReadOnly`].
    fn change_layout(&self, table: TableId, layout: TableLayout) -> Result<()>;

    /// The tables after these changes, hidden ones among them.
    ///
    /// # Errors
    /// Why a change cannot be made; [`Error::Unsupported`].
    fn tables_after(&self, changes: &[TableChange]) -> Result<Vec<(TableId, TableSpec)>> {
        let _ = changes;
        Err(UNSUPPORTED)
    }

    /// The migrations that were made, ascending, with their names.
    fn applied(&self) -> Vec<(u32, String)> {
        Vec::new()
    }

    /// Makes these changes of tables, all at once or none. In a directory they are durable when the call returns, and
    /// what was committed before it.
    ///
    /// # Errors
    /// Why a change cannot be made; [`Error::LogFailed`], [`Error::OpenedReadOnly`]; [`Error::Unsupported`].
    fn change_tables(&self, changes: &[TableChange]) -> Result<()> {
        let _ = changes;
        Err(UNSUPPORTED)
    }

    /// Adds a secondary index to a table as `after` is to leave it, for [`TableChange::Ready`]: nobody reads it before.
    /// Writers go on meanwhile, and keep it in line from its declaration on. Waits for the transactions that
    /// began before it. After a crash the index is not there.
    ///
    /// # Errors
    /// [`Error::UnknownTable`], [`Error::NotUnique`], [`Error::InvalidOption`] for a declaration that makes no sense,
    /// [`Error::ReadOnlyTable`], [`Error::OutOfMemory`], [`Error::OpenedReadOnly`]; [`Error::Unsupported`].
    fn fill_index(
        &self,
        after: &[TableChange],
        table: TableId,
        index: SecondarySpec,
    ) -> Result<()> {
        let _ = (after, table, index);
        Err(UNSUPPORTED)
    }

    /// The position of an index in calls of [`crate::Transaction::scan_index`]. It stays the same until the database is
    /// closed, whatever becomes of others.
    ///
    /// # Errors
    /// [`Error::UnknownTable`], [`Error::UnknownIndex`].
    fn position_of_index(&self, table: TableId, index: &str) -> Result<usize> {
        let tables = self.tables();
        let found = tables.iter().find(|(id, _)| *id == table);
        let (_, spec) = found.ok_or_else(|| Error::UnknownTable(format!("number {}", table.0)))?;
        let position = spec.secondary.iter().position(|it| it.name == index);
        position.ok_or_else(|| Error::UnknownIndex(index.into()))
    }

    /// Creates a table for [`TableChange::Show`]: until then no look-up by name leads to it, it may have the name of
    /// another one, and after a crash it is not there.
    ///
    /// # Errors
    /// Those of [`Store::create_table`]; [`Error::Unsupported`].
    fn build_table(&self, spec: TableSpec) -> Result<TableId> {
        let _ = spec;
        Err(UNSUPPORTED)
    }

    /// Puts what `rewrite` makes of each row of the first table into the second, which [`Store::build_table`] has
    /// created. From now on transactions only read the first, until it is dropped or [`Store::take_back_changes`]
    /// opens it again. Waits for the transactions that began before.
    ///
    /// # Errors
    /// [`Error::UnknownTable`]; [`Error::Migration`] with the error of `rewrite`, or of putting its row into the new table;
    /// [`Error::OutOfMemory`], [`Error::LogFailed`]; [`Error::Unsupported`].
    fn rewrite_rows(&self, tables: [TableId; 2], rewrite: &mut Rewrite<'_>) -> Result<()> {
        let _ = (tables, rewrite);
        Err(UNSUPPORTED)
    }

    /// Takes back indexes that were filled and tables that were built for changes that are not made.
    ///
    /// # Errors
    /// [`Error::LogFailed`].
    fn take_back_changes(&self) -> Result<()> {
        Ok(())
    }

    /// Ends the loading of a table that is declared read-only.
    ///
    /// # Errors
    /// [`Error::UnknownTable`]; [`Error::InvalidOption`] for a table not declared read-only;
    /// [`Error::LogFailed`], [`Error::OpenedReadOnly`].
    fn seal(&self, name: &str) -> Result<()>;

    /// The tables that were created and not dropped, with their numbers.
    fn tables(&self) -> Vec<(TableId, TableSpec)>;

    /// The number of the table of this name.
    ///
    /// # Errors
    /// [`Error::UnknownTable`].
    fn table(&self, name: &str) -> Result<TableId>;

    /// Drops a table and its secondary indexes.
    ///
    /// # Errors
    /// [`Error::UnknownTable`]; [`Error::LogFailed`], [`Error::OpenedReadOnly`].
    fn drop_table(&self, name: &str) -> Result<()>;

    /// A session: runs one transaction at a time.
    ///
    /// # Errors
    /// [`Error::TooManyWorkers`].
    fn session(&self) -> Result<Box<dyn Session<M>>>;

    /// Advances the commit epoch: called every `options.epoch` by a ticker that the owner of the
    /// machine runs.
    fn tick(&self);

    /// The commit epoch now.
    fn epoch(&self) -> u64;

    /// Advances epochs until a snapshot begun from now on sees everything committed before the call;
    /// for the time between loading tables and using them.
    fn reach_snapshot(&self);

    /// Obtains memory and touches it, until as much lies ready as when the database was opened, where its options ask for
    /// that: for the time between loading tables and using them.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    fn prepare_memory(&self) -> Result<()> {
        Ok(())
    }

    /// Collects the garbage of sessions that have gone. Returns the bytes that others gained.
    fn tidy(&self) -> u64 {
        0
    }

    /// The differences between copies of the database, in words; none where it has one copy. Nobody is at work.
    ///
    /// # Errors
    /// [`Error::TooManyWorkers`].
    fn audit(&self) -> Result<Vec<String>> {
        Ok(Vec::new())
    }

    /// A text that is equal for all copies of a database that have read as far and have the same; `None` where there
    /// are no others. Nobody is at work, on any copy.
    ///
    /// # Errors
    /// [`Error::TooManyWorkers`].
    fn fingerprint(&self) -> Result<Option<String>> {
        Ok(None)
    }

    /// Commits, aborts and memory of the database, and the sessions that hold it back.
    fn stats(&self) -> Stats;

    /// How many records have how many older versions.
    ///
    /// # Errors
    /// [`Error::TooManyWorkers`].
    fn count_versions(&self) -> Result<Vec<u64>> {
        Ok(Vec::new())
    }

    /// The memory of each table, counted by a walk over all of them. `over` is asked now and then, and ends the walk.
    ///
    /// # Errors
    /// [`Error::TooManyWorkers`]; [`Error::Canceled`] when `over` says so; [`Error::Unsupported`].
    fn measure_tables(&self, over: &dyn Fn() -> bool) -> Result<Vec<TableMemory>> {
        let _ = over;
        Err(Error::Unsupported("this engine does not count the memory of its tables"))
    }

    /// The newest epoch of which every transaction is durable: as many as there are where nothing is.
    fn durable_epoch(&self) -> u64 {
        u64::MAX
    }

    /// Asks that an epoch end soon, for a caller that waits until it is durable.
    fn hurry(&self, epoch: u64) {
        let _ = epoch;
    }

    /// A transaction is open whose owner comes back to it, until [`Store::transaction_closed`]. An engine that ends epochs for
    /// callers of [`Store::hurry`] may wait a moment for it.
    fn transaction_opened(&self) {}

    /// Such a transaction is over.
    fn transaction_closed(&self) {}

    /// Why the database only reads since its log has failed; `None` if it has not.
    fn log_failure(&self) -> Option<Error> {
        None
    }

    /// Bytes of log written since the database was opened.
    fn log_bytes(&self) -> u64 {
        0
    }

    /// Whether a table is being made by a migration that is not in force yet.
    fn is_hidden(&self, table: TableId) -> bool {
        let _ = table;
        false
    }

    /// The next epoch with changes behind those that `reader` was given; `None`: nothing more is durable yet.
    ///
    /// # Errors
    /// [`Error::PositionPassed`], [`Error::UnknownPosition`], [`Error::Data`]: the reader stays where it is.
    /// [`Error::InvalidOption`] where there is no log to read changes from.
    fn read_changes(&self, reader: &mut ChangeReader<M>) -> Result<Option<EpochChanges>> {
        let _ = reader;
        Err(no_changes())
    }

    /// The oldest position from which all changes are there, and the one after all that is durable.
    ///
    /// # Errors
    /// [`Error::InvalidOption`] where there is no log to read changes from.
    fn change_positions(&self) -> Result<(Position, Position)> {
        Err(no_changes())
    }

    /// Makes room for the log to come, a step at a time; returns whether there is more to do.
    ///
    /// # Errors
    /// [`Error::LogFailed`].
    fn prepare_log(&self) -> Result<bool> {
        Ok(false)
    }

    /// Whether the log has grown enough for a checkpoint.
    fn checkpoint_is_due(&self) -> bool {
        false
    }

    /// Makes a checkpoint.
    ///
    /// # Errors
    /// [`Error::InvalidOption`] for a database in memory; [`Error::Canceled`]; [`Error::LogFailed`].
    fn checkpoint(&self, host: &dyn Host<M>) -> Result<Checkpointed> {
        let _ = host;
        Err(in_memory())
    }

    /// Ends the checkpoint that is being made.
    fn cancel_checkpoints(&self) {}

    /// Copies the directory to another one while the database is in use.
    ///
    /// # Errors
    /// [`Error::InvalidOption`] for a database in memory; those of the two directories.
    fn backup(&self, to: &dyn Disk) -> Result<Copied> {
        let _ = to;
        Err(in_memory())
    }

    /// Writes what the database holds to an empty directory as a database of its own.
    ///
    /// # Errors
    /// [`Error::InvalidOption`] where the engine cannot; those of the directory.
    fn export(&self, to: &dyn Disk, host: &dyn Host<M>) -> Result<Checkpointed> {
        let _ = (to, host);
        Err(in_memory())
    }
}

fn no_changes() -> Error {
    let what = "changes are read from the log in a directory of the database's own; it has none";
    Error::InvalidOption(what.into())
}

fn in_memory() -> Error {
    Error::InvalidOption("the database is in memory; it has no directory".into())
}

/// A database that threads share.
pub trait NativeStore: Store<Interleaved> + Send + Sync {
    /// As [`Store::session`], for a session that moves between threads.
    ///
    /// # Errors
    /// As for [`Store::session`].
    fn native_session(&self) -> Result<Box<NativeSession>>;
}

/// A session that moves between threads.
pub type NativeSession = dyn Session<Interleaved> + Send;

/// A writer of a database's log. Somebody gives it a thread by [`LogTask::run`], or calls
/// [`LogTask::step`] after every tick, and now and then between.
pub trait LogTask<M: Machine> {
    /// Runs the writer until `over`, which is asked after every wake-up, and ends its log. `claimed` is
    /// called whenever an epoch may have become durable, and when the log has failed.
    fn run(self: Box<Self>, over: &dyn Fn() -> bool, claimed: &dyn Fn());

    /// Writes what is due, and says what it did.
    fn step(&mut self) -> Stepped;

    /// Ends the log as it should be: everything committed becomes durable. Nobody is at work any
    /// more, and nobody ticks.
    fn finish(self: Box<Self>) -> Stepped;
}

/// A database that was opened on a disk.
pub struct OpenedStore<D: ?Sized, L: ?Sized> {
    /// The database.
    pub store: Box<D>,
    /// The writers of its log, which somebody has to run.
    pub log_tasks: Vec<Box<L>>,
    /// The results of recovery.
    pub recovered: Recovered,
}

/// An engine's result of opening natively.
pub type OpenedNatively = OpenedStore<dyn NativeStore, dyn LogTask<Interleaved> + Send>;

/// An engine's result of opening on any machine.
pub type OpenedOn<M> = OpenedStore<dyn Store<M>, dyn LogTask<M>>;
