//! Keeping secondary indexes in line with their rows, inside the transaction.
//!
//! Rows changed in place by `modify` are compared with what they were at the next operation that
//! uses an index of theirs, and at the commit at the latest.
//!
//! Violations are found before anything is written, where that is possible. Where an entry fails all the same, the
//! row or another of its entries is written already, and the transaction must abort: whatever its
//! caller makes of the error, no row is ever visible without its entries.

use crate::access::Kind;
use crate::arena::Piece;
use crate::contract::Scheme;
use crate::core::Core;
use crate::tables::catalog::View;
use crate::tables::table::{Kept, Table};
use chiliad_api::{Error, Get, Result};
use chiliad_machine::Machine;

impl<M: Machine, S: Scheme<M>> Core<M, S> {
    /// Brings the entries of all changed rows in line.
    #[inline]
    pub fn align_indexes(&mut self, view: &View<M>) -> Result<()> {
        if self.attempt.dirty == 0 {
            return Ok(());
        }
        self.align_dirty(view)
    }

    #[cold]
    fn align_dirty(&mut self, view: &View<M>) -> Result<()> {
        let dirty = self.writes.entries.iter().filter(|write| write.dirty);
        debug_assert!(dirty.count() == self.attempt.dirty, "each counts once");
        // Entries are added to the write set on the way: these are not dirty.
        for at in 0..self.writes.entries.len() {
            let write = &mut self.writes.entries[at];
            if !write.dirty {
                continue;
            }
            let (id, key, before, after) = (write.table, write.key, write.before, write.value);
            let kept = write.kind == Kind::Put;
            if kept {
                self.realign(view, view.get(id)?, key, before, after)?;
                let now = self.arena.duplicate(after);
                self.writes.entries[at].before = now;
            }
            self.writes.entries[at].dirty = false;
            self.attempt.dirty -= 1;
        }
        debug_assert!(self.attempt.dirty == 0, "all that was counted was met");
        Ok(())
    }

    /// One row's entries, from one value to the other.
    fn realign(
        &mut self,
        view: &View<M>,
        table: &Table<M>,
        key: Piece,
        before: Piece,
        after: Piece,
    ) -> Result<()> {
        let same = |core: &Self, secondary: &Kept| {
            secondary.same_key(core.arena.get(before), core.arena.get(after))
        };
        if table.secondary().iter().all(|secondary| same(self, secondary)) {
            return Ok(());
        }
        let key_bytes = self.arena.get(key).to_vec();
        let after_bytes = self.arena.get(after).to_vec();
        let before_bytes = self.arena.get(before).to_vec();
        self.check_unique(view, table, &key_bytes, Some(&before_bytes), &after_bytes)?;
        for secondary in table.secondary() {
            if secondary.same_key(&before_bytes, &after_bytes) {
                continue;
            }
            let mut entry = Vec::new();
            secondary.encode(&key_bytes, &before_bytes, &mut entry);
            self.remove_entry(view, secondary, &entry, &key_bytes)?;
            if !secondary.takes_entries() {
                continue;
            }
            entry.clear();
            secondary.encode(&key_bytes, &after_bytes, &mut entry);
            self.insert_entry(view, secondary, &entry, &key_bytes)?;
        }
        Ok(())
    }

    /// Refuses a value whose key in a unique index another row has. `before` is the value that it
    /// replaces.
    pub fn check_unique(
        &mut self,
        view: &View<M>,
        table: &Table<M>,
        key: &[u8],
        before: Option<&[u8]>,
        value: &[u8],
    ) -> Result<()> {
        debug_assert!(!table.is_index, "indexes have no indexes");
        for secondary in table.secondary() {
            secondary.check(key, value)?;
            if !secondary.takes_entries() {
                continue;
            }
            let moved = before.is_none_or(|before| !secondary.same_key(before, value));
            if !secondary.spec.unique || !moved {
                continue;
            }
            let mut entry = Vec::new();
            secondary.encode(key, value, &mut entry);
            if self.get(view.get(secondary.table)?, Get::read(secondary.table, &entry))?.is_some() {
                return Err(Error::UniqueViolation { index: secondary.spec.name.clone() });
            }
        }
        Ok(())
    }

    /// Adds a new row's entries.
    pub fn insert_entries(
        &mut self,
        view: &View<M>,
        table: &Table<M>,
        key: &[u8],
        value: &[u8],
    ) -> Result<()> {
        debug_assert!(!table.secondary().is_empty(), "a row with entries");
        for secondary in table.secondary().iter().filter(|index| index.takes_entries()) {
            let mut entry = Vec::new();
            secondary.encode(key, value, &mut entry);
            self.insert_entry(view, secondary, &entry, key)?;
        }
        Ok(())
    }

    /// Adds an entry that was found absent, or that only this row can have: where it is there
    /// already, what was read has changed since.
    fn insert_entry(
        &mut self,
        view: &View<M>,
        secondary: &chiliad_api::Secondary,
        entry: &[u8],
        key: &[u8],
    ) -> Result<()> {
        debug_assert!(
            view.get(secondary.table).is_ok_and(|table| table.is_index),
            "entries are in tables of their own"
        );
        match self.insert(view, secondary.table, entry, key) {
            Err(Error::DuplicateKey(_)) => {
                Err(self.mark_aborted(crate::contract::Abort::new(chiliad_api::Reason::Phantom)))
            }
            // The row is written already, or another entry of it.
            other => other.map_err(|error| self.abort_with(error)),
        }
    }

    /// Removes a row's entries.
    pub fn remove_entries(
        &mut self,
        view: &View<M>,
        table: &Table<M>,
        key: Piece,
        value: Piece,
    ) -> Result<()> {
        debug_assert!(!table.secondary().is_empty(), "a row with entries");
        for secondary in table.secondary() {
            let mut entry = Vec::new();
            secondary.encode(self.arena.get(key), self.arena.get(value), &mut entry);
            let key = if secondary.is_ready() { Vec::new() } else { self.arena.get(key).to_vec() };
            self.remove_entry(view, secondary, &entry, &key)?;
        }
        Ok(())
    }

    /// Removes the entry of the row of `key`, which is looked at where the index is not ready.
    fn remove_entry(
        &mut self,
        view: &View<M>,
        secondary: &Kept,
        entry: &[u8],
        key: &[u8],
    ) -> Result<()> {
        let table = secondary.table;
        debug_assert!(
            view.get(table).is_ok_and(|table| table.is_index),
            "entries are in tables of their own"
        );
        match self.get(view.get(table)?, Get::read(table, entry))? {
            // Two rows may have one key in a unique index that is not ready: the other one has the entry.
            Some(row) if !secondary.is_ready() && self.bytes(row)? != key => Ok(()),
            Some(row) => self.remove_row(view, row).map_err(|error| self.abort_with(error)),
            // Not filled yet, or it belongs to a state that will not validate.
            None => Ok(()),
        }
    }
}
