//! Rows in several parts: records that one index entry leads to (`chiliad_storage`'s mates).
//!
//! A table with groups of columns has a record for each part of a row. The index leads to that of the table's own part,
//! and that to the others. The parts come and go together: an insertion makes all of them, the removal of a row writes a
//! tombstone into each, and the row leaves its index as one, when the tombstone of its first part may.
//!
//! **How a part is read.** Under schemes that take nothing before they read (`Needs::declares_writes` and `Needs::waits` say so)
//! the record of the part alone is: what is there is there. Where it is absent the first part is read, too, since that is
//! what stays in the index, and what an insertion of the row changes. Under all others the first part is read, and with
//! that locked, before the part is touched: so whoever removes a row has all of it to himself, and nobody holds or waits
//! for a part of a row that has left its index.

use crate::access::Kind;
use crate::contract::{Abort, Scheme};
use crate::core::{Core, State};
use crate::read_ops::{Looked, check_key};
use crate::record_word;
use crate::tables::catalog::View;
use crate::tables::table::Table;
use chiliad_api::{Error, Get, GetKind, Reason, Result, Row, TableId};
use chiliad_machine::{Fault, Machine, Rig};
use chiliad_storage::RecordRef;

/// A part is read without its scheme.
static PART_NOT_CHECKED: Fault = Fault {
    name: "part-not-checked",
    step: "each part of a row is read by the scheme, which checks or locks it",
    rig: Rig::SimSc,
    schemes: &["silo", "occ", "no-wait", "lock-table"],
    workload: "scan",
    expected: &["G2", "G2-item", "G-single", "G1c", "lost update", "consistency"],
    seeds: 2000,
};

/// A row that is removed leaves its other parts behind.
static MATES_LEFT_BEHIND: Fault = Fault {
    name: "mates-left-behind",
    step: "the removal of a row removes all its parts",
    rig: Rig::SimSc,
    schemes: &["silo", "occ"],
    workload: "scan",
    expected: &["consistency", "broken chain", "read of unknown version"],
    seeds: 200,
};

/// The planted bugs of rows in several parts.
pub(crate) static FAULTS: &[&Fault] = &[&PART_NOT_CHECKED, &MATES_LEFT_BEHIND];

/// Marks the other parts of a row as dead whose first record has just left its index, and has `retire` free each.
/// Nobody comes to them any more: those who did before are pinned, or find them dead.
pub fn retire_mates<M: Machine>(first: RecordRef<M>, mut retire: impl FnMut(RecordRef<M>)) {
    for record in first.row().skip(1) {
        kill(record);
        retire(record);
    }
}

/// Marks a record as dead that no index leads to. A transaction that holds its latch meanwhile is about to be refused, and
/// leaves within instructions.
fn kill<M: Machine>(record: RecordRef<M>) {
    let found = record_word::latch::<M>(record.word());
    record_word::publish(record.word(), found | record_word::DEAD);
}

impl<M: Machine, S: Scheme<M>> Core<M, S> {
    /// Reads a part of the row to whose first record the index has led. Pinned.
    #[inline(always)]
    pub(crate) fn use_part(
        &mut self,
        table: &Table<M>,
        sealed: bool,
        get: Get<'_>,
        first: RecordRef<M>,
    ) -> Result<Looked> {
        debug_assert!(self.heap.is_pinned(), "what was found stays");
        debug_assert!(table.is_group(), "a part of the row");
        let Get { table: id, key, kind } = get;
        let first_first = S::NEEDS.declares_writes || S::NEEDS.waits;
        if first_first {
            let waits = self.attempt.waits;
            match self.use_first(table, sealed, get, first)? {
                Looked::Row(_) if self.attempt.waits == waits => {}
                // The scheme has waited, and unpinned meanwhile: an older pin has found the row's records.
                Looked::Row(_) => return Ok(Looked::Redo),
                other => return Ok(other),
            }
            self.table = id;
        }
        let record = table.of_row(first);
        debug_assert!(record != first, "another part than the first");
        let updates = kind == GetKind::Update;
        let declares = S::NEEDS.declares_writes && updates && self.writes.find(record).is_none();
        if declares && !self.declare_write(record)? {
            return Ok(Looked::Redo);
        }
        let unchecked = sealed || M::fault(&PART_NOT_CHECKED);
        match self.look_at(id, unchecked, key, record)? {
            Looked::Absent if !first_first => match self.use_first(table, sealed, get, first)? {
                // The parts come together: what was read of them is not one state.
                Looked::Row(_) => Err(self.mark_aborted(Abort::over(Reason::ReadChanged, record))),
                other => Ok(other),
            },
            // Named one by one: a whole is not read out of its parts then.
            Looked::Row(row) => Ok(Looked::Row(row)),
            Looked::Absent => Ok(Looked::Absent),
            Looked::Redo => Ok(Looked::Redo),
        }
    }

    /// Reads the first record of a row of which another part is asked for. Not in line: under most schemes it is rare. Pinned.
    #[inline(never)]
    fn use_first(
        &mut self,
        table: &Table<M>,
        sealed: bool,
        get: Get<'_>,
        first: RecordRef<M>,
    ) -> Result<Looked> {
        debug_assert!(self.heap.is_pinned(), "what was found stays");
        self.table = table.table_of_group(get.table);
        self.look_at(self.table, sealed, get.key, first)
    }

    /// Inserts a row of a table with groups, in all its parts.
    pub fn insert_parts(
        &mut self,
        view: &View<M>,
        id: TableId,
        key: &[u8],
        parts: &[&[u8]],
    ) -> Result<()> {
        debug_assert!(matches!(self.attempt.state, State::Active), "a transaction is in hand");
        let table = view.writable(id, self.attempt.loads)?;
        check_key(key)?;
        parts.iter().try_for_each(|value| Self::check_value(value))?;
        self.check_parts(table, parts.len())?;
        if table.secondary().is_empty() {
            return self.insert_one(id, table, key, parts);
        }
        self.insert_indexed(view, table, (id, key), parts)
    }

    /// Makes the other parts of a fresh row absent, as its first one is.
    pub(crate) fn begin_mates(&self, first: RecordRef<M>, table: &Table<M>, key: &[u8]) {
        debug_assert!(first.mate().is_some(), "a row in several parts");
        for mate in first.row().skip(1) {
            S::begin_part(mate);
            self.verification.placed(mate, table, key);
        }
    }

    /// Refuses a row in fewer or more parts than the table has.
    #[inline]
    pub(crate) fn check_parts(&self, table: &Table<M>, given: usize) -> Result<()> {
        let accepted = table.parts();
        if given == accepted && !table.is_group() {
            return Ok(());
        }
        let table = table.name().to_owned();
        match given == accepted {
            true => Err(Error::PartOfRow(table)),
            false => Err(Error::WrongParts { table, given, accepted }),
        }
    }

    /// Writes the other parts of a row whose first record the transaction inserts, a `fresh` one or one that was absent. Pinned;
    /// nobody else may insert the row meanwhile, or the commit finds out.
    pub(crate) fn write_mates(
        &mut self,
        id: TableId,
        key: &[u8],
        (first, fresh): (RecordRef<M>, bool),
        parts: &[&[u8]],
    ) -> Result<()> {
        debug_assert!(self.heap.is_pinned(), "the records stay");
        let mates: Vec<_> = first.row().skip(1).collect();
        debug_assert!(mates.len() == parts.len(), "a record for each part");
        debug_assert!(!mates.contains(&first), "a row does not lead back");
        for (at, (record, value)) in mates.into_iter().zip(parts).enumerate() {
            let id = id.group(at);
            if let Some(write) = self.writes.find(record) {
                let value = self.arena.push(value);
                let own = &mut self.writes.entries[write as usize];
                (own.kind, own.value) = (Kind::Put, value);
                continue;
            }
            self.table = id;
            // No other transaction is at the other parts while this one has declared the first, so this ends.
            while S::NEEDS.declares_writes && !self.declare_write(record)? {}
            let write = self.push_write(id, key, value, record, false);
            // Of a row that was never there nobody reads an old version, but for the stamp of its absence.
            self.writes.entries[write as usize].keep &= !fresh || self.verification.is_on();
        }
        Ok(())
    }

    /// Removes the other parts of a row, of which this is the first, unless it is removed already.
    pub(crate) fn remove_mates(&mut self, view: &View<M>, row: Row) -> Result<()> {
        debug_assert!(!self.heap.is_pinned(), "no operation is in progress");
        let access = self.handles.access(row)?;
        let own = self.writes.find(access.record).map(|at| &self.writes.entries[at as usize]);
        if own.is_some_and(|own| own.kind == Kind::Remove) || M::fault(&MATES_LEFT_BEHIND) {
            return Ok(());
        }
        let (id, key) = (access.table, self.arena.get(access.key).to_vec());
        for id in (0..view.get(id)?.parts() - 1).map(|at| id.group(at)) {
            let table = view.get(id)?;
            let Some(row) = self.get(table, Get::update(id, &key))? else {
                // Another transaction has removed the part since this one read the first.
                return Err(self.mark_aborted(Abort::new(Reason::ReadChanged)));
            };
            self.read_added_row(table, row)?;
            let write = self.write_of(row, false)?;
            self.writes.entries[write as usize].kind = Kind::Remove;
        }
        Ok(())
    }
}
