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

pub use chiliad_api::{Columns, GROUPS_MAX, GroupSpec, Visit, VisitIndex, VisitMany};
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
    /// From the first savepoint on. Boxed, since few transactions have one and each is moved several times.
    undoing: Option<Box<Undoing>>,
}

/// The state that a transaction keeps for its savepoints.
#[derive(Default)]
struct Undoing {
    /// Records the writes that a rollback to a savepoint undoes.
    log: UndoLog<Interleaved>,
    /// Why writes could not be taken back: it must not commit.
    spoilt: Option<Error>,
}

/// What an untyped transaction knows beside its session, while nobody has it in hand.
pub(crate) struct Left {
    pub until: Until,
    undoing: Option<Box<Undoing>>,
}

impl<'w> Untyped<'w> {
    pub(crate) fn new(running: Running<'w, Interleaved, NativeSession>, until: Until) -> Self {
        Self { running, until, undoing: None }
    }

    /// Leaves the transaction in progress on its session.
    pub(crate) fn leave(self) -> Left {
        let Self { running, until, undoing } = self;
        running.suspend();
        Left { until, undoing }
    }

    /// Takes up the transaction that was left in progress on a session.
    pub(crate) fn resume(session: &'w mut NativeSession, left: Left) -> Self {
        let Left { until, undoing } = left;
        Self { running: Running::resume(session), until, undoing }
    }

    /// Whether what was read so far is one state of the database.
    pub(crate) fn validate(&mut self) -> Result<()> {
        self.check()?;
        self.running.validate()
    }

    /// The newest commit epoch in which these columns changed of what was read so far, as far as the scheme knows it.
    pub(crate) fn seen_epoch(&self, columns: Columns, durable: u64) -> u64 {
        self.running.seen_epoch(columns, durable)
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

    #[inline]
    pub(crate) fn commit(self) -> Result<chiliad_engine::Committed> {
        let checked = self.check();
        let Self { running, undoing, .. } = self;
        if let Some(undoing) = undoing {
            forget_undoing(undoing);
        }
        match checked {
            Ok(()) => running.commit(),
            Err(over) => {
                running.rollback();
                Err(over)
            }
        }
    }

    /// The limits of the transaction's waits.
    pub(crate) fn until(&self) -> &Until {
        &self.until
    }

    /// The name by which transactions in its closure know it.
    #[inline]
    pub(crate) fn as_outer(&self) -> chiliad_engine::Outer {
        self.running.as_outer()
    }

    pub(crate) fn rollback(self) {
        self.running.rollback();
    }

    /// Whether the transaction may go on.
    #[inline]
    fn check(&self) -> Result<()> {
        if self.undoing.is_none() && self.until.is_never() {
            return Ok(());
        }
        self.check_limits()
    }

    #[cold]
    fn check_limits(&self) -> Result<()> {
        match self.undoing.as_deref() {
            Some(Undoing { spoilt: Some(error), .. }) => Err(error.clone()),
            _ => self.until.check(),
        }
    }

    /// The transaction's operations, unless its deadline has passed or it was canceled.
    #[inline]
    fn operations(&mut self) -> Result<&mut NativeSession> {
        self.check()?;
        Ok(self.running.session())
    }

    /// The operations, and the log that has to hear of writes while a savepoint is set.
    #[inline]
    fn recording(&mut self) -> Result<(&mut NativeSession, Option<&mut UndoLog<Interleaved>>)> {
        self.check()?;
        let session = self.running.session();
        match self.undoing.as_deref_mut() {
            None => Ok((session, None)),
            Some(undoing) => Ok((session, Some(&mut undoing.log).filter(|log| log.is_recording()))),
        }
    }

    /// The operations, for a change of a row that was read.
    #[inline]
    fn before_change(&mut self, row: Row) -> Result<&mut NativeSession> {
        let (operations, undo) = self.recording()?;
        if let Some(undo) = undo {
            undo.changes(operations, row)?;
        }
        Ok(operations)
    }

    pub(crate) fn set_savepoint(&mut self) -> Savepoint {
        self.undoing.get_or_insert_default().log.set()
    }

    pub(crate) fn release(&mut self, savepoint: Savepoint) {
        self.undoing.get_or_insert_default().log.release(savepoint);
    }

    /// Takes back what was written since. Where that fails, the transaction does not commit.
    pub(crate) fn roll_back_to(&mut self, savepoint: Savepoint) -> Result<()> {
        let Undoing { log, spoilt } = &mut **self.undoing.get_or_insert_default();
        let undone = log.roll_back(self.running.session(), savepoint);
        match &undone {
            // The session remembers with what it was lost.
            Ok(()) | Err(Error::Conflict(_) | Error::TransactionOver) => {}
            Err(error) => _ = spoilt.get_or_insert_with(|| error.clone()),
        }
        undone
    }
}

#[cold]
fn forget_undoing(undoing: Box<Undoing>) {
    drop(undoing);
}

impl Transaction for Untyped<'_> {
    #[inline]
    fn get(&mut self, table: TableId, key: &[u8]) -> Result<Option<Row>> {
        self.operations()?.get(table, key)
    }

    #[inline]
    fn get_for_update(&mut self, table: TableId, key: &[u8]) -> Result<Option<Row>> {
        self.operations()?.get_for_update(table, key)
    }

    #[inline]
    fn reread_for_update(&mut self, row: Row) -> Result<Option<Row>> {
        self.operations()?.reread_for_update(row)
    }

    #[inline]
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

    fn visit_many(
        &mut self,
        table: TableId,
        keys: &[&[u8]],
        visit: &mut VisitMany<'_>,
    ) -> Result<()> {
        self.operations()?.visit_many(table, keys, visit)
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

    fn visit_index_keys(
        &mut self,
        table: TableId,
        index: usize,
        range: Range<'_>,
        visit: &mut Visit<'_>,
    ) -> Result<()> {
        self.operations()?.visit_index_keys(table, index, range, visit)
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

    #[inline]
    fn bytes(&self, row: Row) -> Result<&[u8]> {
        self.running.bytes(row)
    }

    #[inline]
    fn insert(&mut self, table: TableId, key: &[u8], value: &[u8]) -> Result<()> {
        match self.recording()? {
            (operations, Some(undo)) => undo.insert(operations, table, key, value),
            (operations, None) => operations.insert(table, key, value),
        }
    }

    fn insert_many(&mut self, table: TableId, rows: &[(&[u8], &[u8])]) -> Result<()> {
        match self.recording()? {
            (operations, Some(undo)) => {
                rows.iter().try_for_each(|&(key, value)| undo.insert(operations, table, key, value))
            }
            (operations, None) => operations.insert_many(table, rows),
        }
    }

    fn insert_parts(&mut self, table: TableId, key: &[u8], parts: &[&[u8]]) -> Result<()> {
        match self.recording()? {
            (operations, Some(undo)) => undo.insert_parts(operations, table, key, parts),
            (operations, None) => operations.insert_parts(table, key, parts),
        }
    }

    fn groups(&self, table: TableId) -> Result<usize> {
        self.running.groups(table)
    }

    #[inline]
    fn update(&mut self, row: Row, value: &[u8]) -> Result<()> {
        self.before_change(row)?.update(row, value)
    }

    fn update_columns(&mut self, row: Row, value: &[u8], columns: Columns) -> Result<()> {
        self.before_change(row)?.update_columns(row, value, columns)
    }

    fn look_at(&mut self, columns: Columns) {
        self.running.look_at(columns);
    }

    #[inline]
    fn modify(&mut self, row: Row) -> Result<&mut [u8]> {
        self.before_change(row)?.modify(row)
    }

    #[inline]
    fn put(&mut self, table: TableId, key: &[u8], value: &[u8]) -> Result<()> {
        match self.recording()? {
            (operations, Some(undo)) => undo.put(operations, table, key, value),
            (operations, None) => operations.put(table, key, value),
        }
    }

    #[inline]
    fn add(&mut self, table: TableId, key: &[u8], number: Number, n: i64) -> Result<bool> {
        match self.recording()? {
            (operations, Some(undo)) => undo.add(operations, (table, key), number, n),
            (operations, None) => operations.add(table, key, number, n),
        }
    }

    #[inline]
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
