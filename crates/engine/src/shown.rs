//! Rows that are shown to a visitor, and of which the transaction keeps no handle: what scans and look-ups of many keys
//! share, and the latter.

use crate::contract::{LockTable, Scheme};
use crate::core::{Core, Group, State};
use crate::handles::Handles;
use crate::read_ops::{GROUP, check_key};
use crate::tables::table::Table;
use crate::version::Version;
use chiliad_api::{Get, Part, Result, TableId, VisitMany};
use chiliad_machine::{Cost, Fault, Machine, Rig};
use chiliad_storage::{Found, RecordRef};

/// A row that is shown is read without its scheme.
static SHOWN_NOT_CHECKED: Fault = Fault {
    name: "shown-not-checked",
    step: "a row that is shown and not kept is read by the scheme, which checks it",
    // Where histories are recorded each row is kept. Sums that simulated transactions see in the engine's tests tell.
    rig: Rig::Waits,
    schemes: &["silo"],
    workload: "scan",
    expected: &["a sum"],
    seeds: 0,
};

/// The planted bugs of rows that are shown.
pub(crate) static FAULTS: &[&Fault] = &[&SHOWN_NOT_CHECKED];

/// How many accesses, entries and bytes a transaction had collected at some time.
pub(crate) struct Mark {
    accesses: usize,
    entries: usize,
    bytes: usize,
}

impl<M: Machine, S: Scheme<M>> Core<M, S> {
    /// Calls `visit` with the place and the bytes of each row, and keeps none of them.
    pub fn visit_many(
        &mut self,
        id: TableId,
        table: &Table<M>,
        keys: &[&[u8]],
        visit: &mut VisitMany<'_>,
    ) -> Result<()> {
        debug_assert!(matches!(self.attempt.state, State::Active), "a transaction is in hand");
        keys.iter().try_for_each(|key| check_key(key))?;
        let mark = self.mark();
        let mut first = 0;
        for group in keys.chunks(GROUP) {
            self.heap.pin();
            let read = self.read_group(id, table, group);
            self.heap.unpin();
            read?;
            let more = self
                .scan
                .shown
                .iter()
                .all(|&(at, value)| visit(first + at, self.arena.get(value)).is_continue());
            self.forget_to(&mark);
            self.check_room()?;
            if !more {
                break;
            }
            first += group.len();
        }
        Ok(())
    }

    /// Reads a group of rows, and leaves the place and the value of each in `Scan::shown`.
    fn read_group(&mut self, id: TableId, table: &Table<M>, keys: &[&[u8]]) -> Result<()> {
        debug_assert!(self.heap.is_pinned(), "a group is one pin");
        debug_assert!(keys.len() <= GROUP, "one group");
        self.table = id;
        self.scan.shown.clear();
        let sealed = self.goes_by(table);
        self.timed(Part::Index, |core| core.descend_all(id, table, keys));
        let waits = self.attempt.waits;
        for (at, &key) in keys.iter().enumerate() {
            let found = self.found_in_pin(at, waits);
            if let Some(Found::Record(record)) = found
                && let Some(version) = self.glance(table, sealed, record)
            {
                if !version.is_absent() {
                    self.scan.shown.push((at, version.bytes()));
                }
                continue;
            }
            if let Some(row) = self.row_of(table, sealed, Get::read(id, key), found)? {
                let value = self.value_piece(row)?;
                self.scan.shown.push((at, value));
            }
        }
        debug_assert!(self.scan.shown.is_sorted_by(|a, b| a.0 < b.0), "each in its turn");
        if let Some((_, value)) = self.scan.shown.last() {
            self.group.row_bytes.learn(id, value.length());
        }
        Ok(())
    }

    /// Looks a group of keys up together, and asks for the records that it finds.
    fn descend_all(&mut self, id: TableId, table: &Table<M>, keys: &[&[u8]]) {
        debug_assert!(self.heap.is_pinned(), "what is found stays");
        let Self { group: Group { lookups, row_bytes }, scheme, heap, attempt, .. } = self;
        lookups.clear();
        keys.iter().for_each(|key| lookups.begin(&table.index, key));
        let (of_first, bytes) = (row_bytes.of_first(table, id), row_bytes.of(id));
        lookups.finish(
            heap,
            |at| (&table.index, keys[at]),
            |_, first| {
                first.prefetch(of_first);
                if !table.is_group() {
                    S::LockTable::prefetch(scheme, id, first);
                }
            },
        );
        if !(table.is_group() || attempt.in_past) {
            return;
        }
        for at in 0..keys.len() {
            let Found::Record(first) = lookups.found(at) else { continue };
            let record = table.of_row(first);
            if table.is_group() {
                record.prefetch(bytes);
                S::LockTable::prefetch(scheme, id, record);
            }
            if attempt.in_past {
                record.prefetch_older();
            }
        }
    }

    /// What the transaction has found by now.
    pub(crate) fn mark(&self) -> Mark {
        let Handles { accesses, entries, .. } = &self.handles;
        Mark { accesses: accesses.len(), entries: entries.len(), bytes: self.arena.used() }
    }

    /// Forgets what was found since, of which nobody has a handle. The scheme has what it needs of it. A verified run
    /// keeps the keys until the scan is reported.
    pub(crate) fn forget_to(&mut self, mark: &Mark) {
        debug_assert!(mark.bytes <= self.arena.used(), "only what was found since is forgotten");
        if !self.verification.is_on() {
            self.handles.accesses.truncate(mark.accesses);
            self.arena.truncate(mark.bytes);
        }
        self.handles.entries.truncate(mark.entries);
    }

    /// Reads a record that is shown and then forgotten, where a look at it is all that there is to do. Pinned.
    #[inline(always)]
    pub(crate) fn glance(
        &mut self,
        table: &Table<M>,
        sealed: bool,
        record: RecordRef<M>,
    ) -> Option<Version> {
        let is_plain = !table.is_group() && !self.verification.is_on();
        if !is_plain || self.writes.find(record).is_some() {
            return None;
        }
        let unchecked = sealed || M::fault(&SHOWN_NOT_CHECKED);
        let version = match self.read_alone(unchecked, record) {
            Some(version) => version,
            // Most rows that change often have an older version there. A reader of the past waits for no lock meanwhile, so
            // that the record stays.
            None if !S::NEEDS.waits && self.attempt.in_past => {
                self.read(sealed, record).ok().flatten()?
            }
            None => return None,
        };
        M::work(Cost::Read, 1);
        Some(version)
    }
}
