//! A session of any engine: runs one transaction at a time.
//!
//! Clients, crash rigs and applications speak this interface and [`crate::Store`]; what orders the
//! transactions behind it is not seen. Both traits are object-safe, so that a driver is compiled once
//! for each machine and not once for each scheme.

use crate::cancel::Cancel;
use crate::columns::Columns;
use crate::error::{Error, Result};
use crate::part::Part;
use crate::recorder::Recorder;
use crate::table::TableId;
use crate::transaction::{
    Entry, Get, Intent, Outer, Range, Row, Scanned, Transaction, Visit, VisitIndex, VisitMany,
};
use chiliad_machine::{Fault, Machine, Ticks};
use chiliad_row::Number;
use core::marker::PhantomData;
use core::mem;

/// Where a committed transaction took place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Committed {
    /// Its commit epoch.
    pub epoch: u64,
    /// The epoch with which all that it has read and written is durable: its commit epoch where it wrote, and else the
    /// newest one of what it has read, as far as the engine knows it, at most the commit epoch.
    pub seen_epoch: u64,
    /// Its place among the versions of each record that it wrote.
    pub order: u64,
    /// Whether it wrote anything.
    pub wrote: bool,
}

/// Runs one transaction at a time on a [`crate::Store`]. Any thread may use it, one at a time.
///
/// The operations of [`Transaction`] act on the transaction in progress, and report
/// [`Error::TransactionOver`] where there is none. [`Running`] begins one and ends it in any case:
/// callers use that instead of [`Session::start`], [`Session::commit`] and [`Session::rollback`].
pub trait Session<M: Machine>: Transaction {
    /// Begins a transaction.
    ///
    /// An engine calls [`Machine::begun`] before it waits for anything, and [`Machine::ended`] when the
    /// transaction is over or has failed to begin.
    ///
    /// # Errors
    /// A conflict, for schemes that can refuse this early; [`Error::InvalidOption`] for a partition
    /// that does not exist; what has ended a wait: [`Error::DeadlineExceeded`], [`Error::WaitLimitExceeded`],
    /// [`Error::Canceled`], [`Error::Nested`].
    fn start(&mut self, intent: &Intent<'_>) -> Result<()>;

    /// Makes the changes of the transaction in progress visible to others, all or none, and ends it.
    ///
    /// # Errors
    /// As for [`Running::commit`].
    fn commit(&mut self) -> Result<Committed>;

    /// Forgets the changes of the transaction in progress and ends it.
    fn rollback(&mut self);

    /// As [`Session::rollback`], for a caller that may be unwinding: collects nothing on the way.
    fn abandon(&mut self);

    /// Leaves the transaction in progress as it is, for [`Session::resume`]: the session may go to another thread, and
    /// lies idle for as long as its owner likes. What the scheme has the transaction hold (locks, claims, partitions)
    /// it holds meanwhile.
    fn suspend(&mut self) {
        M::suspended();
    }

    /// Takes up the transaction in progress, on whichever thread: its operations may be called again. It may use tables
    /// that were made meanwhile; those that were there when it began stay for it as they were.
    fn resume(&mut self) {
        M::resumed();
    }

    /// Gives the waits of the transaction in progress other limits, from now on: [`Intent::deadline`] for all of them, and
    /// [`Intent::wait_limit`] for each. An engine whose transactions wait for nobody before they commit does nothing.
    fn set_limits(&mut self, deadline: Option<Ticks>, wait_limit: Option<Ticks>) {
        let _ = (deadline, wait_limit);
    }

    /// Whether what was read so far is one state of the database.
    ///
    /// # Errors
    /// The conflict.
    fn validate(&mut self) -> Result<()>;

    /// What the transaction in progress fails with where it has met `error`: an error found in a state that never was is not
    /// trustworthy, and a conflict instead.
    fn judge(&mut self, error: Error) -> Error {
        if error.is_retryable() { error } else { self.validate().err().unwrap_or(error) }
    }

    /// The newest commit epoch in which anything changed that the transaction in progress has read so far, in these columns
    /// of rows: when that is durable, so is what they show. All epochs through `durable` are. By default the engine does not
    /// know, and returns an epoch that never comes: then it is the one in progress. An engine may count changes of other
    /// columns, too. It does not know what the transaction has computed from its reads and written: a caller that reads this
    /// again asks for [`Columns::ALL`].
    fn seen_epoch(&self, columns: Columns, durable: u64) -> u64 {
        let _ = (columns, durable);
        u64::MAX
    }

    /// The name by which transactions that run inside the one in progress know it: [`Intent::outer`].
    fn as_outer(&self) -> Outer;

    /// Inserts a row outside any transaction, for loading tables that nobody uses yet.
    ///
    /// # Errors
    /// As for [`Transaction::insert`]; [`Error::ReadOnlyTable`] for a table that is sealed.
    fn load(&mut self, table: TableId, key: &[u8], value: &[u8]) -> Result<()> {
        self.load_parts(table, key, &[value])
    }

    /// As [`Session::load`], of a row in several parts.
    ///
    /// # Errors
    /// As for that, and for [`Transaction::insert_parts`].
    fn load_parts(&mut self, table: TableId, key: &[u8], parts: &[&[u8]]) -> Result<()> {
        loop {
            match self.try_load(&[], table, key, parts) {
                // Other loaders may be at work beside us.
                Err(error) if error.is_retryable() => M::pause(),
                done => return done,
            }
        }
    }

    /// As [`Session::load_parts`], but tries once, for a caller that decides itself whether to try again,
    /// and that may be in the closures of these other transactions.
    ///
    /// In a verified run the row has stamp zero, and no recorder hears of it.
    ///
    /// # Errors
    /// As for [`Session::load`]; [`Error::Conflict`], after which the row may be loaded again;
    /// [`Error::Nested`].
    fn try_load(
        &mut self,
        outer: &[Outer],
        table: TableId,
        key: &[u8],
        parts: &[&[u8]],
    ) -> Result<()>;

    /// Ends a load: from here on transactions see all rows that [`Session::load`] has returned for. An engine may hold
    /// them back until then, or until the session begins something else or goes.
    ///
    /// # Errors
    /// Why rows were not loaded: [`Error::LogFailed`], [`Error::OutOfMemory`].
    fn end_load(&mut self) -> Result<()> {
        Ok(())
    }

    /// Sets the handle that cancels this session's transactions, from the next one on: they end with
    /// [`Error::Canceled`]. `None`: no handle does.
    fn cancel_by(&mut self, cancel: Option<&Cancel<M>>);

    /// Reports the accesses of this session's transactions to `recorder` from now on. Only useful
    /// with `Options::verify`.
    fn set_recorder(&mut self, recorder: Box<dyn Recorder>);

    /// Takes the recorder back.
    fn take_recorder(&mut self) -> Option<Box<dyn Recorder>>;

    /// Follows the next transaction, through its retries, with a stopwatch: see
    /// [`Session::take_sample`]. An engine without one does nothing.
    fn sample_next(&mut self) {}

    /// The time that the sampled transaction spent in each [`Part`], from its first attempt to its end, by
    /// [`Machine::stopwatch`]: in a unit of that clock; ends the sample. All zero where nothing was sampled.
    fn take_sample(&mut self) -> [u64; Part::ALL.len()] {
        [0; Part::ALL.len()]
    }

    /// As [`crate::Store::durable_epoch`].
    fn durable_epoch(&self) -> u64 {
        u64::MAX
    }

    /// As [`crate::Store::hurry`].
    fn hurry(&self, epoch: u64) {
        let _ = epoch;
    }

    /// As [`crate::Store::log_failure`].
    fn log_failure(&self) -> Option<Error> {
        None
    }

    /// For a session that has nothing to do: collects up to `budget` items of its garbage,
    /// and gives free memory to others. Returns whether nothing is left to collect, and how many
    /// bytes others have gained.
    fn rest(&mut self, budget: usize) -> (bool, u64) {
        let _ = budget;
        (true, 0)
    }
}

/// A transaction in progress on a session. Rolled back when dropped.
pub struct Running<'s, M: Machine, S: Session<M> + ?Sized> {
    session: &'s mut S,
    machine: PhantomData<M>,
}

impl<'s, M: Machine, S: Session<M> + ?Sized> Running<'s, M, S> {
    /// Begins a transaction on `session`.
    ///
    /// # Errors
    /// As for [`Session::start`].
    #[inline]
    pub fn begin(session: &'s mut S, intent: &Intent<'_>) -> Result<Self> {
        session.start(intent)?;
        Ok(Self { session, machine: PhantomData })
    }

    /// Takes up a transaction that was left by [`Running::suspend`] of a session.
    #[inline]
    pub fn resume(session: &'s mut S) -> Self {
        session.resume();
        Self { session, machine: PhantomData }
    }

    /// Leaves the transaction in progress, for [`Running::resume`]. Whoever never takes it up calls
    /// [`Session::abandon`].
    #[inline]
    pub fn suspend(self) {
        self.session.suspend();
        // Not dropped: that would roll it back.
        mem::forget(self);
    }

    /// Makes the changes visible to others, all or none.
    ///
    /// # Errors
    /// The conflict or the lack of memory that the transaction met, now or at any earlier operation,
    /// even if its caller ignored it; [`Error::UniqueViolation`] for changes made by
    /// [`Transaction::modify`]; [`Error::LogFailed`] for changes that could not become durable. It is
    /// rolled back then.
    #[inline]
    pub fn commit(self) -> Result<Committed> {
        let committed = self.session.commit();
        // It has ended. Were the commit to panic, the drop would end it.
        mem::forget(self);
        committed
    }

    /// Forgets all changes.
    pub fn rollback(self) {
        self.session.rollback();
        mem::forget(self);
    }

    /// Forgets all changes after `error`, and returns what the transaction has failed with: [`Session::judge`].
    pub fn fail(self, error: Error) -> Error {
        let error = self.session.judge(error);
        self.rollback();
        error
    }

    /// Whether what was read so far is one state of the database. After a panic in user code this
    /// tells a conflict from a bug.
    ///
    /// # Errors
    /// The conflict.
    pub fn validate(&mut self) -> Result<()> {
        self.session.validate()
    }

    /// The newest commit epoch in which these columns changed of what was read so far: [`Session::seen_epoch`].
    #[must_use]
    pub fn seen_epoch(&self, columns: Columns, durable: u64) -> u64 {
        self.session.seen_epoch(columns, durable)
    }

    /// The name by which transactions that run inside this one know it: [`Intent::outer`].
    #[must_use]
    #[inline]
    pub fn as_outer(&self) -> Outer {
        self.session.as_outer()
    }

    /// The session that it runs on: its operations are the transaction's.
    #[must_use]
    #[inline]
    pub fn session(&mut self) -> &mut S {
        self.session
    }
}

impl<M: Machine, S: Session<M> + ?Sized> Drop for Running<'_, M, S> {
    #[inline]
    fn drop(&mut self) {
        self.session.abandon();
    }
}

impl<M: Machine, S: Session<M> + ?Sized> Transaction for Running<'_, M, S> {
    #[inline]
    fn get(&mut self, table: TableId, key: &[u8]) -> Result<Option<Row>> {
        self.session.get(table, key)
    }

    #[inline]
    fn get_for_update(&mut self, table: TableId, key: &[u8]) -> Result<Option<Row>> {
        self.session.get_for_update(table, key)
    }

    #[inline]
    fn reread_for_update(&mut self, row: Row) -> Result<Option<Row>> {
        self.session.reread_for_update(row)
    }

    #[inline]
    fn get_many(&mut self, requests: &[Get<'_>], rows: &mut [Option<Row>]) -> Result<()> {
        self.session.get_many(requests, rows)
    }

    #[inline]
    fn scan(&mut self, table: TableId, range: Range<'_>) -> Result<Scanned> {
        self.session.scan(table, range)
    }

    #[inline]
    fn scan_index(&mut self, table: TableId, index: usize, range: Range<'_>) -> Result<Scanned> {
        self.session.scan_index(table, index, range)
    }

    #[inline]
    fn visit(&mut self, table: TableId, range: Range<'_>, visit: &mut Visit<'_>) -> Result<()> {
        self.session.visit(table, range, visit)
    }

    #[inline]
    fn visit_many(
        &mut self,
        table: TableId,
        keys: &[&[u8]],
        visit: &mut VisitMany<'_>,
    ) -> Result<()> {
        self.session.visit_many(table, keys, visit)
    }

    #[inline]
    fn visit_index(
        &mut self,
        table: TableId,
        index: usize,
        range: Range<'_>,
        visit: &mut VisitIndex<'_>,
    ) -> Result<()> {
        self.session.visit_index(table, index, range, visit)
    }

    #[inline]
    fn visit_index_keys(
        &mut self,
        table: TableId,
        index: usize,
        range: Range<'_>,
        visit: &mut Visit<'_>,
    ) -> Result<()> {
        self.session.visit_index_keys(table, index, range, visit)
    }

    #[inline]
    fn entries(&self, scanned: Scanned) -> Result<&[Entry]> {
        self.session.entries(scanned)
    }

    #[inline]
    fn key(&self, entry: Entry) -> Result<&[u8]> {
        self.session.key(entry)
    }

    #[inline]
    fn table_of(&self, row: Row) -> Result<TableId> {
        self.session.table_of(row)
    }

    #[inline]
    fn bytes(&self, row: Row) -> Result<&[u8]> {
        self.session.bytes(row)
    }

    #[inline]
    fn insert(&mut self, table: TableId, key: &[u8], value: &[u8]) -> Result<()> {
        self.session.insert(table, key, value)
    }

    #[inline]
    fn insert_many(&mut self, table: TableId, rows: &[(&[u8], &[u8])]) -> Result<()> {
        self.session.insert_many(table, rows)
    }

    fn insert_parts(&mut self, table: TableId, key: &[u8], parts: &[&[u8]]) -> Result<()> {
        self.session.insert_parts(table, key, parts)
    }

    fn groups(&self, table: TableId) -> Result<usize> {
        self.session.groups(table)
    }

    #[inline]
    fn update(&mut self, row: Row, value: &[u8]) -> Result<()> {
        self.session.update(row, value)
    }

    fn update_columns(&mut self, row: Row, value: &[u8], columns: Columns) -> Result<()> {
        self.session.update_columns(row, value, columns)
    }

    fn look_at(&mut self, columns: Columns) {
        self.session.look_at(columns);
    }

    #[inline]
    fn modify(&mut self, row: Row) -> Result<&mut [u8]> {
        self.session.modify(row)
    }

    #[inline]
    fn put(&mut self, table: TableId, key: &[u8], value: &[u8]) -> Result<()> {
        self.session.put(table, key, value)
    }

    #[inline]
    fn add(&mut self, table: TableId, key: &[u8], number: Number, n: i64) -> Result<bool> {
        self.session.add(table, key, number, n)
    }

    #[inline]
    fn remove_row(&mut self, row: Row) -> Result<()> {
        self.session.remove_row(row)
    }

    #[inline]
    fn planted(&self) -> Option<fn(&'static Fault) -> bool> {
        self.session.planted()
    }
}
