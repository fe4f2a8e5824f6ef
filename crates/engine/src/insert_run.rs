//! Insertions of many rows of one table. Those whose keys belong beside each other in the index, such as the lines of an order,
//! go there together, under one latch (`chiliad_storage`'s runs); all others one by one.

use crate::contract::{Abort, Scheme, Step};
use crate::core::{Core, State};
use crate::tables::catalog::View;
use crate::tables::table::Table;
use chiliad_api::{Part, Result, TableId};
use chiliad_machine::{Fault, Machine, Rig};
use chiliad_storage::{Index, VALUE_BYTES_MAX};

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
        let rows = &rows[..run.length()];
        let part = self.clockwork.switch(Part::Index);
        let mut records = core::mem::take(&mut self.run);
        for (_, value) in rows {
            let Ok(record) = self.make_absent(&[value]) else { break };
            records.push(record);
        }
        let has_room = records.len() == rows.len();
        self.changes.clear();
        let keys = rows.iter().map(|row| row.0);
        let Self { changes, finger, .. } = self;
        let placed = has_room && index.insert_run(&run, keys, &records, changes, finger);
        self.clockwork.switch(part);
        let mut said = Step::Done(());
        if placed {
            let changes = core::mem::take(&mut self.changes);
            let count = if M::fault(&LAST_OF_RUN_FORGOTTEN) { rows.len() - 1 } else { rows.len() };
            for (&row, &record) in rows.iter().zip(&records).take(count) {
                let step = self.note_placed(id, table, row, record, &changes);
                if matches!(said, Step::Done(())) {
                    said = step;
                }
            }
            self.changes = changes;
        } else {
            for &record in records.iter().rev() {
                // SAFETY: it was made for this run and the index has not taken it, so no other thread has seen it.
                unsafe { self.give_back(record) };
            }
        }
        records.clear();
        self.run = records;
        if !has_room {
            return Err(self.mark_aborted(Abort::out_of_memory()));
        }
        self.resolve(said)?;
        Ok(if placed { rows.len() } else { 0 })
    }
}
