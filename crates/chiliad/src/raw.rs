//! Tables as bytes under bytes: what the typed layer stands on.
//!
//! Tables are declared by a [`TableSpec`] ([`Database::create_table_raw`]), which may state their
//! columns ([`TableLayout`]; a table without holds bytes, and is not opened as a typed one). Keys and
//! values are byte strings, and a row that was read is a small handle ([`Row`]) by which it can be updated without
//! looking it up again. [`Reader::raw`] leads from a transaction to this interface.
//!
//! ```
//! use chiliad::Database;
//! use chiliad::raw::{Range, TableSpec, Transaction};
//!
//! let db = Database::in_memory()?;
//! let pages = db.create_table_raw(TableSpec::ordered("pages"))?;
//! let pages_after = db.run(|tx| {
//!     let tx = tx.raw();
//!     tx.insert(pages, b"/index", b"hello")?;
//!     tx.put(pages, b"/about", b"us")?;
//!     if let Some(row) = tx.get(pages, b"/index")? {
//!         tx.update(row, b"hello, world")?;
//!     }
//!     let scanned = tx.scan(pages, Range::all().reverse())?;
//!     let keys = tx.entries(scanned)?.iter().map(|&entry| tx.key(entry).map(<[u8]>::to_vec));
//!     keys.collect::<Result<Vec<_>, _>>()
//! })?;
//! assert_eq!(pages_after, [b"/index", b"/about"]);
//! # Ok::<(), chiliad::Error>(())
//! ```
//!
//! [`Database::create_table_raw`]: crate::Database::create_table_raw
//! [`Reader::raw`]: crate::Reader::raw

pub use chiliad_api::{Visit, VisitIndex};
pub use chiliad_engine::{
    ColumnPart, IndexKind, IndexParts, KeyPart, PartType, SecondarySpec, Source, TableChange,
    TableId, TableLayout, TableSpec, Writes,
};
pub use chiliad_engine::{Entry, Get, Range, Row, Scanned, Transaction};
pub use chiliad_engine::{Integer, KEY_BYTES_MAX, Number, VALUE_BYTES_MAX};

use crate::until::Until;
use crate::{Error, Reason, Result};
use chiliad_api::{Savepoint, UndoLog};
use chiliad_engine::{NativeSession, Running};
use chiliad_machine::Interleaved;

/// A running transaction, untyped: use it through the trait [`Transaction`].
///
/// Handles of rows, entries and scans belong to the transaction that gave them out: in another one,
/// of this database or not, their use fails with [`Error::ForeignHandle`], as does that of handles
/// that no transaction has given out.
pub struct Untyped<'w> {
    /// It remembers conflicts itself, whatever the closure makes of them.
    running: Running<'w, Interleaved, NativeSession>,
    until: Until,
    /// Records the writes that a rollback to a savepoint undoes.
    undo: UndoLog<Interleaved>,
    /// Why writes could not be taken back: it must not commit.
    spoilt: Option<Error>,
}

/// What an untyped transaction knows beside its session, while nobody has it in hand.
pub(crate) struct Left {
    pub until: Until,
    undo: UndoLog<Interleaved>,
    spoilt: Option<Error>,
}

impl<'w> Untyped<'w> {
    pub(crate) fn new(running: Running<'w, Interleaved, NativeSession>, until: Until) -> Self {
        Self { running, until, undo: UndoLog::default(), spoilt: None }
    }

    /// Leaves the transaction in progress on its session.
    pub(crate) fn leave(self) -> Left {
        let Self { running, until, undo, spoilt } = self;
        running.suspend();
        Left { until, undo, spoilt }
    }

    /// Takes up the transaction that was left in progress on a session.
    pub(crate) fn resume(session: &'w mut NativeSession, left: Left) -> Self {
        let Left { until, undo, spoilt } = left;
        Self { running: Running::resume(session), until, undo, spoilt }
    }

    /// Whether what was read so far is one state of the database.
    pub(crate) fn validate(&mut self) -> Result<()> {
        self.check()?;
        self.running.validate()
    }

    /// The newest commit epoch of what was read so far, as far as the scheme knows it.
    pub(crate) fn seen_epoch(&self) -> u64 {
        self.running.seen_epoch()
    }

    /// Why the transaction cannot commit: it has met a conflict, or what it has read is no state
    /// that ever was.
    pub(crate) fn conflict(&mut self) -> Option<Reason> {
        match self.running.validate() {
            Err(Error::Conflict(reason)) => Some(reason),
            _ => None,
        }
    }

    /// Whether there was no memory left for it.
    pub(crate) fn is_short(&mut self) -> bool {
        matches!(self.running.validate(), Err(Error::OutOfMemory { .. }))
    }

    pub(crate) fn commit(self) -> Result<chiliad_engine::Committed> {
        match self.check() {
            Ok(()) => self.running.commit(),
            Err(over) => {
                self.running.rollback();
                Err(over)
            }
        }
    }

    /// The limits of the transaction's waits.
    pub(crate) fn until(&self) -> &Until {
        &self.until
    }

    /// The name by which transactions in its closure know it.
    pub(crate) fn as_outer(&self) -> chiliad_engine::Outer {
        self.running.as_outer()
    }

    pub(crate) fn rollback(self) {
        self.running.rollback();
    }

    /// Whether the transaction may go on.
    fn check(&self) -> Result<()> {
        match &self.spoilt {
            None => self.until.check(),
            Some(error) => Err(error.clone()),
        }
    }

    /// The transaction's operations, unless its deadline has passed or it was canceled.
    fn operations(&mut self) -> Result<&mut NativeSession> {
        self.check()?;
        Ok(self.running.session())
    }

    /// The operations, and the log that has to hear of writes while a savepoint is set.
    fn recording(&mut self) -> Result<(&mut NativeSession, Option<&mut UndoLog<Interleaved>>)> {
        self.check()?;
        let undo = self.undo.is_recording().then_some(&mut self.undo);
        Ok((self.running.session(), undo))
    }

    /// The operations, for a change of a row that was read.
    fn before_change(&mut self, row: Row) -> Result<&mut NativeSession> {
        let (operations, undo) = self.recording()?;
        if let Some(undo) = undo {
            undo.changes(operations, row)?;
        }
        Ok(operations)
    }

    pub(crate) fn set_savepoint(&mut self) -> Savepoint {
        self.undo.set()
    }

    pub(crate) fn release(&mut self, savepoint: Savepoint) {
        self.undo.release(savepoint);
    }

    /// Takes back what was written since. Where that fails, the transaction does not commit.
    pub(crate) fn roll_back_to(&mut self, savepoint: Savepoint) -> Result<()> {
        let undone = self.undo.roll_back(self.running.session(), savepoint);
        match &undone {
            // The session remembers with what it was lost.
            Ok(()) | Err(Error::Conflict(_) | Error::TransactionOver) => {}
            Err(error) => _ = self.spoilt.get_or_insert_with(|| error.clone()),
        }
        undone
    }
}

impl Transaction for Untyped<'_> {
    fn get(&mut self, table: TableId, key: &[u8]) -> Result<Option<Row>> {
        self.operations()?.get(table, key)
    }

    fn get_for_update(&mut self, table: TableId, key: &[u8]) -> Result<Option<Row>> {
        self.operations()?.get_for_update(table, key)
    }

    fn get_many(&mut self, requests: &[Get<'_>], rows: &mut [Option<Row>]) -> Result<()> {
        self.operations()?.get_many(requests, rows)
    }

    fn scan(&mut self, table: TableId, range: Range<'_>) -> Result<Scanned> {
        self.operations()?.scan(table, range)
    }

    fn scan_index(&mut self, table: TableId, index: usize, range: Range<'_>) -> Result<Scanned> {
        self.operations()?.scan_index(table, index, range)
    }

    fn visit(&mut self, table: TableId, range: Range<'_>, visit: &mut Visit<'_>) -> Result<()> {
        self.operations()?.visit(table, range, visit)
    }

    fn visit_index(
        &mut self,
        table: TableId,
        index: usize,
        range: Range<'_>,
        visit: &mut VisitIndex<'_>,
    ) -> Result<()> {
        self.operations()?.visit_index(table, index, range, visit)
    }

    fn entries(&self, scanned: Scanned) -> Result<&[Entry]> {
        self.running.entries(scanned)
    }

    fn key(&self, entry: Entry) -> Result<&[u8]> {
        self.running.key(entry)
    }

    fn table_of(&self, row: Row) -> Result<TableId> {
        self.running.table_of(row)
    }

    fn bytes(&self, row: Row) -> Result<&[u8]> {
        self.running.bytes(row)
    }

    fn insert(&mut self, table: TableId, key: &[u8], value: &[u8]) -> Result<()> {
        match self.recording()? {
            (operations, Some(undo)) => undo.insert(operations, table, key, value),
            (operations, None) => operations.insert(table, key, value),
        }
    }

    fn update(&mut self, row: Row, value: &[u8]) -> Result<()> {
        self.before_change(row)?.update(row, value)
    }

    fn modify(&mut self, row: Row) -> Result<&mut [u8]> {
        self.before_change(row)?.modify(row)
    }

    fn put(&mut self, table: TableId, key: &[u8], value: &[u8]) -> Result<()> {
        match self.recording()? {
            (operations, Some(undo)) => undo.put(operations, table, key, value),
            (operations, None) => operations.put(table, key, value),
        }
    }

    fn add(&mut self, table: TableId, key: &[u8], number: Number, n: i64) -> Result<bool> {
        match self.recording()? {
            (operations, Some(undo)) => undo.add(operations, (table, key), number, n),
            (operations, None) => operations.add(table, key, number, n),
        }
    }

    fn remove_row(&mut self, row: Row) -> Result<()> {
        self.before_change(row)?.remove_row(row)
    }

    fn remove(&mut self, table: TableId, key: &[u8]) -> Result<bool> {
        match self.recording()? {
            (operations, Some(undo)) => undo.remove(operations, table, key),
            (operations, None) => operations.remove(table, key),
        }
    }
}
