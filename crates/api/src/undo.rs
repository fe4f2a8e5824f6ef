//! Savepoints: takes back what a part of a transaction has written, while the transaction goes on.
//!
//! While a savepoint is set, an undo log remembers for each write the row as it was before. To take the writes back,
//! newest first, it writes those rows again by the transaction's own operations. So it serves every engine and
//! scheme, and each state on the way back is one that the transaction had before: no unique index refuses it.

use crate::error::Result;
use crate::table::TableId;
use crate::transaction::{Row, Transaction};
use chiliad_machine::{Fault, Machine, Rig};
use chiliad_row::Number;
use core::marker::PhantomData;

/// Of the writes since a savepoint only the first is taken back.
pub(crate) static UNDO_FORGOTTEN: Fault = Fault {
    name: "undo-forgotten",
    step: "a rollback to a savepoint takes back every write since",
    rig: Rig::Waits,
    schemes: &[],
    workload: "savepoints",
    expected: &["is taken back"],
    seeds: 10,
};

/// Undo records of a transaction since its oldest savepoint that is still set.
pub struct UndoLog<M> {
    before: Vec<Before>,
    /// Savepoints that are set.
    depth: usize,
    machine: PhantomData<fn() -> M>,
}

impl<M> Default for UndoLog<M> {
    fn default() -> Self {
        Self { before: Vec::new(), depth: 0, machine: PhantomData }
    }
}

/// A row as it was before a write.
struct Before {
    table: TableId,
    key: Box<[u8]>,
    /// `None`: there was none.
    bytes: Option<Box<[u8]>>,
}

/// A point of a transaction to which [`UndoLog::roll_back`] leads. Those of one log nest: the newest ends first, by
/// [`UndoLog::release`] or by [`UndoLog::roll_back`].
#[derive(Debug)]
#[must_use = "a savepoint that is neither released nor rolled back to keeps the log growing"]
pub struct Savepoint {
    writes: usize,
}

impl<M: Machine> UndoLog<M> {
    /// Sets a savepoint: remembers from here on what writes replace.
    pub fn set(&mut self) -> Savepoint {
        self.depth += 1;
        Savepoint { writes: self.before.len() }
    }

    /// Whether a savepoint is set, so that writes have to go through this log.
    #[must_use]
    #[inline]
    pub fn is_recording(&self) -> bool {
        self.depth > 0
    }

    /// Ends a savepoint: what was written since belongs to the savepoint around it, or to the transaction alone.
    pub fn release(&mut self, savepoint: Savepoint) {
        debug_assert!(savepoint.writes <= self.before.len(), "savepoints nest");
        self.depth -= 1;
        if self.depth == 0 {
            self.before.clear();
        }
    }

    /// Ends a savepoint and takes back what was written since. The rows count as written all the same: others that
    /// have read them may conflict with this transaction.
    ///
    /// # Errors
    /// Conflicts and others of `tx`, after which that can only be rolled back.
    pub fn roll_back<T: Transaction + ?Sized>(
        &mut self,
        tx: &mut T,
        savepoint: Savepoint,
    ) -> Result<()> {
        let mut newest_first = self.before.drain(savepoint.writes..).rev();
        let undone = newest_first.try_for_each(|before| before.restore(tx));
        drop(newest_first);
        self.release(savepoint);
        undone
    }

    /// As [`Transaction::insert`] of `tx`.
    ///
    /// # Errors
    /// As for that.
    pub fn insert<T: Transaction + ?Sized>(
        &mut self,
        tx: &mut T,
        table: TableId,
        key: &[u8],
        value: &[u8],
    ) -> Result<()> {
        tx.insert(table, key, value)?;
        self.before.push(Before { table, key: key.into(), bytes: None });
        Ok(())
    }

    /// As [`Transaction::put`] of `tx`.
    ///
    /// # Errors
    /// As for that.
    pub fn put<T: Transaction + ?Sized>(
        &mut self,
        tx: &mut T,
        table: TableId,
        key: &[u8],
        value: &[u8],
    ) -> Result<()> {
        self.remember(tx, table, key)?;
        tx.put(table, key, value)
    }

    /// As [`Transaction::add`] of `tx`, which reads the row here.
    ///
    /// # Errors
    /// As for that.
    pub fn add<T: Transaction + ?Sized>(
        &mut self,
        tx: &mut T,
        (table, key): (TableId, &[u8]),
        number: Number,
        n: i64,
    ) -> Result<bool> {
        self.remember(tx, table, key)?;
        tx.add(table, key, number, n)
    }

    /// As [`Transaction::remove`] of `tx`.
    ///
    /// # Errors
    /// As for that.
    pub fn remove<T: Transaction + ?Sized>(
        &mut self,
        tx: &mut T,
        table: TableId,
        key: &[u8],
    ) -> Result<bool> {
        match self.remember(tx, table, key)? {
            Some(row) => tx.remove_row(row).map(|()| true),
            None => Ok(false),
        }
    }

    /// To be called before a row is changed through its handle: by [`Transaction::update`],
    /// [`Transaction::modify`] or [`Transaction::remove_row`] of `tx`.
    ///
    /// # Errors
    /// As for [`Transaction::get_for_update`].
    pub fn changes<T: Transaction + ?Sized>(&mut self, tx: &mut T, row: Row) -> Result<()> {
        // Looked up again: the handle may not show what was written since through another one.
        let (table, key) = (tx.table_of(row)?, tx.row_key(row)?.to_vec());
        self.remember(tx, table, &key).map(|_| ())
    }

    /// Remembers the row under a key, and returns it.
    fn remember<T: Transaction + ?Sized>(
        &mut self,
        tx: &mut T,
        table: TableId,
        key: &[u8],
    ) -> Result<Option<Row>> {
        let row = tx.get_for_update(table, key)?;
        let bytes = row.map(|row| tx.bytes(row).map(Box::from)).transpose()?;
        if self.before.is_empty() || !M::fault(&UNDO_FORGOTTEN) {
            self.before.push(Before { table, key: key.into(), bytes });
        }
        Ok(row)
    }
}

impl Before {
    /// Gives the row back what it was.
    fn restore<T: Transaction + ?Sized>(self, tx: &mut T) -> Result<()> {
        let Self { table, key, bytes } = self;
        match (tx.get_for_update(table, &key)?, bytes) {
            (Some(row), Some(bytes)) if tx.bytes(row)? == &*bytes => Ok(()),
            (Some(row), Some(bytes)) => tx.update(row, &bytes),
            (Some(row), None) => tx.remove_row(row),
            (None, Some(bytes)) => tx.insert(table, &key, &bytes),
            (None, None) => Ok(()),
        }
    }
}
