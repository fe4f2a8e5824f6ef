//! Additions: a transaction adds to a number of a row that it does not read.
//!
//! Under a scheme that carries additions ([`Needs::carries_additions`](crate::contract::Needs)) the write set has an
//! entry of the row, and what to add. Nothing about the row's version is remembered, so others may overwrite it
//! meanwhile. When the scheme has prepared the commit, and so nobody else can write the row, the sum is made of the
//! version in place ([`Core::make_sums`]); from there on it is an ordinary write. Under other schemes, and in tables with
//! secondary indexes, an addition reads the row for update and modifies it.

use crate::access::{Addition, Kind, Write};
use crate::contract::{Abort, Context, Scheme};
use crate::core::{Core, State, context};
use crate::read_ops::{Looked, check_key};
use crate::record_word;
use crate::tables::catalog::View;
use crate::tables::table::Table;
use crate::version::Version;
use chiliad_api::{BadNumber, Error, Get, Number, Part, Reason, Result, Row, TableId};
use chiliad_machine::{Cost, Fault, Machine, Ordering, Rig, Word};
use chiliad_storage::{Found, RecordRef};

/// What others have added since is lost.
static ADDED_TO_AN_OLD_VALUE: Fault = Fault {
    name: "added-to-an-old-value",
    step: "a sum is made of the version in place when nobody else can write the row any more",
    rig: Rig::SimSc,
    schemes: &["silo", "global-tid", "occ"],
    workload: "counters",
    expected: &["lost update", "G-single", "G2", "G2-item", "G1c", "consistency"],
    seeds: 200,
};

static ADDED_TWICE: Fault = Fault {
    name: "added-twice",
    step: "each addition is part of one sum, once",
    rig: Rig::SimSc,
    schemes: &["silo", "global-tid", "occ"],
    workload: "counters",
    expected: &["consistency"],
    seeds: 20,
};

/// The log gets the value that the row had when it was added to.
pub(crate) static LOGGED_BEFORE_ITS_SUM: Fault = Fault {
    name: "logged-before-its-sum",
    step: "an addition is a value before the log gets it",
    rig: Rig::Disk,
    schemes: &["silo", "global-tid", "occ"],
    workload: "counters",
    expected: &["wrong state", "consistency", "acknowledged transaction lost"],
    seeds: 400,
};

/// The planted bugs of additions.
pub(crate) static FAULTS: &[&Fault] =
    &[&ADDED_TO_AN_OLD_VALUE, &ADDED_TWICE, &LOGGED_BEFORE_ITS_SUM];

impl<M: Machine, S: Scheme<M>> Core<M, S> {
    pub fn add(
        &mut self,
        view: &View<M>,
        id: TableId,
        key: &[u8],
        number: Number,
        n: i64,
    ) -> Result<bool> {
        debug_assert!(matches!(self.attempt.state, State::Active), "a transaction is in hand");
        let table = view.writable(id, self.attempt.loads)?;
        check_key(key)?;
        // The entries of an index are made of the value.
        if !S::NEEDS.carries_additions || !table.secondary().is_empty() {
            return self.add_to_read(view, table, Get::update(id, key), number, n);
        }
        self.heap.pin();
        let added = self.add_pinned(id, table, key, number, n);
        self.heap.unpin();
        added
    }

    /// Reads the row and adds to it.
    fn add_to_read(
        &mut self,
        view: &View<M>,
        table: &Table<M>,
        get: Get<'_>,
        number: Number,
        n: i64,
    ) -> Result<bool> {
        let Some(row) = self.get(table, get)? else { return Ok(false) };
        number.check(self.bytes(row)?)?;
        let value = self.modify(view, row)?;
        number.add(value, n).map(|()| true).map_err(|bad| self.refuse_sum(bad))
    }

    fn add_pinned(
        &mut self,
        id: TableId,
        table: &Table<M>,
        key: &[u8],
        number: Number,
        n: i64,
    ) -> Result<bool> {
        debug_assert!(self.heap.is_pinned(), "what is found stays");
        self.table = id;
        loop {
            let looked = match self.look_up(table, key) {
                Found::Record(first) => {
                    let record = table.of_row(first);
                    if let Some(write) = self.writes.find(record) {
                        return self.add_to_own(write, number, n);
                    }
                    if self.note_addition(id, key, record, number, n)? {
                        return Ok(true);
                    }
                    self.table = id;
                    let get = Get::update(id, key);
                    self.use_found(table, false, get, Found::Record(first))?
                }
                Found::Absent(seen) => self.miss(id, table, false, key, seen)?,
            };
            match looked {
                Looked::Absent => return Ok(false),
                Looked::Row(row) => number.check(self.bytes(row)?)?,
                Looked::Redo => {}
            }
            M::mark("row to be added to looked up again");
        }
    }

    /// Puts an addition to the row of `record` into the write set, unless there is no row now, or none with the number:
    /// these are found by reading.
    fn note_addition(
        &mut self,
        id: TableId,
        key: &[u8],
        record: RecordRef<M>,
        number: Number,
        n: i64,
    ) -> Result<bool> {
        M::work(Cost::Read, 1);
        let mark = self.arena.used();
        let key = self.arena.push(key);
        let step = self.timed(Part::Manager, |core| {
            S::peek(record, &mut core.arena, core.verification.is_on())
        });
        let found = self.resolve(step)?.filter(|version| !version.is_absent());
        let Some(bytes) = found.map(Version::bytes) else {
            self.arena.truncate(mark);
            return Ok(false);
        };
        let value = self.verification.without_stamp(bytes);
        if number.check(self.arena.get(value)).is_err() {
            self.arena.truncate(mark);
            return Ok(false);
        }
        // The copy is room for the sum, and says how long the row is, with its stamp; its bytes count for nothing.
        let value = (Kind::Add, bytes);
        let write = self.writes.push(Write::new(record, (id, key), value, self.keeps(id)));
        self.writes.add(Addition { write, number, n });
        Ok(true)
    }

    /// Adds to what the transaction has written.
    fn add_to_own(&mut self, write: u32, number: Number, n: i64) -> Result<bool> {
        let own = &self.writes.entries[write as usize];
        if own.kind == Kind::Remove {
            return Ok(false);
        }
        if own.kind == Kind::Add {
            number.check(self.arena.get(self.verification.without_stamp(own.value)))?;
            self.writes.add(Addition { write, number, n });
            return Ok(true);
        }
        number.check(self.arena.get(own.value))?;
        let added = number.add(self.arena.get_mut(own.value), n);
        added.map(|()| true).map_err(|bad| self.refuse_sum_pinned(bad))
    }

    /// The sum is out of range. What follows from a state that never was is no error of the transaction's own.
    #[cold]
    fn refuse_sum(&mut self, bad: BadNumber) -> Error {
        match self.validate() {
            Ok(()) => self.abort_with(bad.into()),
            Err(conflict) => conflict,
        }
    }

    /// As [`Core::refuse_sum`], within an operation that ends with the error.
    #[cold]
    fn refuse_sum_pinned(&mut self, bad: BadNumber) -> Error {
        self.heap.unpin();
        let error = self.refuse_sum(bad);
        self.heap.pin();
        error
    }

    /// Makes additions to the row of a handle an ordinary write.
    #[inline]
    pub fn read_added_row(&mut self, table: &Table<M>, row: Row) -> Result<()> {
        if self.writes.additions.is_empty() {
            return Ok(());
        }
        let record = self.handles.access(row)?.record;
        let Some(write) = self.writes.find(record) else { return Ok(()) };
        if self.writes.entries[write as usize].kind != Kind::Add {
            return Ok(());
        }
        self.heap.pin();
        let key = self.arena.get(self.writes.entries[write as usize].key);
        let read = match table.find(&self.heap, key) {
            Found::Record(found) if found == record => self.read_added(write),
            // It has left its index since it was added to.
            _ => Err(self.mark_aborted(Abort::over(Reason::Vanished, record))),
        };
        self.heap.unpin();
        read
    }

    /// Reads the row that the transaction has added to, where the index has just led to it: its additions are an
    /// ordinary write from here on. Pinned.
    #[cold]
    pub fn read_added(&mut self, write: u32) -> Result<()> {
        debug_assert!(self.heap.is_pinned(), "the record stays");
        let Write { record, table, key, kind, .. } = self.writes.entries[write as usize];
        debug_assert!(kind == Kind::Add, "others have their value");
        loop {
            // Acquire pairs with the release of whoever takes the record out of its index.
            if record.word().load(Ordering::Acquire) & record_word::DEAD != 0 {
                return Err(self.mark_aborted(Abort::over(Reason::Vanished, record)));
            }
            self.table = table;
            let step = self.timed(Part::Manager, |core| {
                core.scheme.read(&mut context!(core), record, &mut core.arena, &core.writes)
            });
            let Some(version) = self.resolve(step)? else { continue };
            let key = self.arena.get(key).to_vec();
            let version = self.verification.read(record, (table, &key), version, &self.arena);
            if version.is_absent() {
                return Err(self.mark_aborted(Abort::over(Reason::ReadChanged, record)));
            }
            let own = &mut self.writes.entries[write as usize];
            (own.kind, own.value) = (Kind::Put, version.bytes());
            // A visit that has come to the row forgets what it shows; this is the write's.
            self.arena.keep();
            let value = self.arena.get_mut(version.bytes());
            let mut own = self.writes.additions.iter().filter(|it| it.write == write);
            return match own.try_for_each(|it| it.number.add(value, it.n)) {
                Ok(()) => Ok(()),
                Err(BadNumber::Overflow { integer, n }) => {
                    Err(self.refuse_sum_pinned(BadNumber::Overflow { integer, n }))
                }
                Err(_) => Err(self.mark_aborted(Abort::over(Reason::ReadChanged, record))),
            };
        }
    }

    /// Makes every addition a value. The scheme has prepared the commit: nobody else writes these rows.
    ///
    /// # Errors
    /// [`Error::BadNumber`], or a conflict where a row is gone: the transaction is aborted.
    #[inline]
    pub fn make_sums(&mut self) -> Result<()> {
        if self.writes.additions.is_empty() { Ok(()) } else { self.make_sums_of_all() }
    }

    fn make_sums_of_all(&mut self) -> Result<()> {
        debug_assert!(S::NEEDS.carries_additions, "others have made their sums already");
        let added = |write: &Write<M>| write.kind == Kind::Add;
        for at in 0..self.writes.entries.len() {
            let write = &mut self.writes.entries[at];
            if !added(write) {
                continue;
            }
            let record = write.record;
            if write.prior & record_word::ABSENT != 0 {
                return Err(self.mark_aborted(Abort::over(Reason::ReadChanged, record)));
            }
            let source = record.value();
            let bytes = source.length();
            if bytes != write.value.length() as usize {
                write.value = self.arena.reserve(bytes);
            }
            if !M::fault(&ADDED_TO_AN_OLD_VALUE) {
                source.read(self.arena.get_mut(write.value));
            }
            self.verification.added(write, &self.arena);
            write.value = self.verification.without_stamp(write.value);
        }
        for at in 0..self.writes.additions.len() {
            let Addition { write, number, n } = self.writes.additions[at];
            let write = &self.writes.entries[write as usize];
            if !added(write) {
                continue;
            }
            let (record, value) = (write.record, self.arena.get_mut(write.value));
            match number.add(value, n) {
                Ok(()) => {}
                // The reads are valid, so the transaction alone would have computed the same sum.
                Err(bad @ BadNumber::Overflow { .. }) => return Err(self.abort_with(bad.into())),
                // The row had the number when it was added to.
                Err(_) => return Err(self.mark_aborted(Abort::over(Reason::ReadChanged, record))),
            }
            if M::fault(&ADDED_TWICE) {
                _ = number.add(self.arena.get_mut(write.value), n);
            }
        }
        for write in self.writes.entries.iter_mut().filter(|write| added(write)) {
            write.kind = Kind::Put;
            write.value = self.verification.stamped(write.value, &mut self.arena);
        }
        Ok(())
    }
}
