//! Insertions of many rows of one table. Those whose keys belong beside each other in the index, such as the lines of an order,
//! go there together, under one latch (`chiliad_storage`'s runs); all others one by one.

use crate::contract::{Abort, Context, Scheme, Step};
use crate::core::{Core, State, context};
use crate::tables::catalog::View;
use crate::tables::table::Table;
use chiliad_api::{Part, Result, TableId};
use chiliad_machine::{Fault, Machine, Rig};
use chiliad_storage::{Index, Kind as SlotKind, OutOfMemory, RecordRef, VALUE_BYTES_MAX};

/// The last row of a run stays absent, and latched.
static LAST_OF_RUN_FORGOTTEN: Fault = Fault {
    name: "last-of-run-forgotten",
    step: "each row that a run puts into the index is in the write set",
    // A campaign's run in which a row stays latched ends by its limit of events, late and without a cause. The engine's tests
    // look at the rows themselves.
    rig: Rig::Waits,
    schemes: &["silo", "occ"],
    workload: "tpcc",
    expected: &["half an order"],
    seeds: 0,
};

/// The planted bugs of insertions in runs.
pub(crate) static FAULTS: &[&Fault] = &[&LAST_OF_RUN_FORGOTTEN];

impl<M: Machine, S: Scheme<M>> Core<M, S> {
    /// Whether rows may be made absent and put into the index before the scheme has a say: it has none that others wait for.
    const GOES_BY_RUNS: bool = !S::NEEDS.waits && !S::NEEDS.declares_writes;

    /// Inserts rows as [`Core::insert`] does one after another.
    pub fn insert_many(
        &mut self,
        view: &View<M>,
        id: TableId,
        rows: &[(&[u8], &[u8])],
    ) -> Result<()> {
        debug_assert!(matches!(self.attempt.state, State::Active), "a transaction is in hand");
        let table = view.writable(id, self.attempt.loads)?;
        let in_runs = Self::GOES_BY_RUNS && table.is_plain();
        let mut rest = rows;
        while let Some(&(key, value)) = rest.first() {
            let mut placed = 0;
            if in_runs && rest.len() > 1 {
                self.heap.pin();
                let run = self.place_run(id, table, rest);
                self.heap.unpin();
                placed = run?;
            }
            if placed == 0 {
                self.insert(view, id, key, value)?;
            }
            rest = &rest[placed.max(1)..];
        }
        Ok(())
    }

    /// Inserts the first of `rows`, as many as belong beside the transaction's last insertion, and returns how many. Pinned.
    fn place_run(
        &mut self,
        id: TableId,
        table: &Table<M>,
        rows: &[(&[u8], &[u8])],
    ) -> Result<usize> {
        debug_assert!(self.heap.is_pinned(), "the leaf stays");
        debug_assert!(table.is_plain(), "a record for each row");
        let Index::Ordered(index) = &table.index else { return Ok(0) };
        let fitting = rows.iter().take_while(|(_, value)| value.len() <= VALUE_BYTES_MAX);
        let Some(run) = index.plan_run(&self.heap, fitting.map(|row| row.0), &self.finger) else {
            return Ok(0);
        };
        self.table = id;
        let rows = &rows[..run.len()];
        let mut records = core::mem::take(&mut self.run);
        let part = self.clockwork.switch(Part::Index);
        let mut placed = self.make_absent(rows, &mut records).is_ok();
        let has_room = placed;
        if placed {
            let Self { changes, finger, .. } = self;
            changes.clear();
            let keys = rows.iter().map(|row| row.0);
            placed = index.insert_run(&run, keys, &records, changes, finger);
        }
        self.clockwork.switch(part);
        let step = if placed {
            self.note_run(id, table, rows, &records)
        } else {
            self.give_back(&records);
            Step::Done(())
        };
        records.clear();
        self.run = records;
        if !has_room {
            return Err(self.mark_aborted(Abort::out_of_memory()));
        }
        self.resolve(step)?;
        Ok(if placed { rows.len() } else { 0 })
    }

    /// Obtains a record for each row, absent and nobody else's to write. Where memory runs out, `records` are those obtained
    /// before.
    fn make_absent(
        &mut self,
        rows: &[(&[u8], &[u8])],
        records: &mut Vec<RecordRef<M>>,
    ) -> core::result::Result<(), OutOfMemory> {
        debug_assert!(records.is_empty(), "of this run alone");
        for (_, value) in rows {
            let bytes = self.verification.stored_bytes(value.len());
            let record = self.heap.alloc_record(SlotKind::Record, bytes)?;
            self.scheme.begin_insert(&mut context!(self), record);
            self.verification.placing(record);
            records.push(record);
        }
        Ok(())
    }

    /// Gives records back that the index has not taken.
    #[cold]
    fn give_back(&mut self, records: &[RecordRef<M>]) {
        for &record in records.iter().rev() {
            self.scheme.cancel_insert(&mut context!(self), record);
            // SAFETY: it was allocated for this run and the index has not taken it, so no other thread has seen it.
            unsafe { self.heap.free_record(SlotKind::Record, record) };
        }
    }

    /// Tells the scheme of the records that the index has taken, and adds their writes. Returns what the scheme has said of
    /// the first with which it is not content: all are in the write set by then.
    fn note_run(
        &mut self,
        id: TableId,
        table: &Table<M>,
        rows: &[(&[u8], &[u8])],
        records: &[RecordRef<M>],
    ) -> Step<M, ()> {
        debug_assert!(rows.len() == records.len(), "a record for each row");
        let changes = core::mem::take(&mut self.changes);
        let mut said = Step::Done(());
        for (at, (&(key, value), &record)) in rows.iter().zip(records).enumerate() {
            self.verification.placed(record, table, key);
            let step = self.scheme.after_insert(&mut context!(self), Some(record), &changes);
            if matches!(said, Step::Done(())) {
                said = step;
            }
            if S::NEEDS.watches_gaps {
                self.gaps.settle(id, key, &changes);
            }
            if at + 1 < rows.len() || !M::fault(&LAST_OF_RUN_FORGOTTEN) {
                self.push_write(id, key, value, record, true);
            }
        }
        self.changes = changes;
        said
    }
}
