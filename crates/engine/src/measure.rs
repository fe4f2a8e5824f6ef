//! The memory of each table, counted by a walk over its records and indexes: nobody keeps account of it meanwhile, so no
//! transaction pays for it.

use crate::base::Base;
use crate::contract::{Scheme, Tables as _};
use crate::count_versions::old_versions;
use crate::database::Database;
use crate::tables::catalog::View;
use crate::tables::dropped::unpin_catalog_version;
use chiliad_api::{Error, Footprint, Result, TableMemory};
use chiliad_machine::Machine;
use chiliad_storage::{IndexMemory, LeafRun, LocalHeap, Measuring, RecordRef};

impl<M: Machine, S: Scheme<M>> Database<M, S> {
    /// Counts the memory of the tables that can be found by name. Of what nobody changes meanwhile the counts are exact;
    /// the others are of different moments. `over` is asked after every leaf, and ends the walk.
    ///
    /// # Errors
    /// [`Error::TooManyWorkers`]; [`Error::Canceled`] when `over` says so.
    pub fn measure_tables(&self, over: &dyn Fn() -> bool) -> Result<Vec<TableMemory>> {
        self.inner.base().measure_tables(over)
    }
}

impl<M: Machine> Base<'_, M> {
    fn measure_tables(&self, over: &dyn Fn() -> bool) -> Result<Vec<TableMemory>> {
        let heap = LocalHeap::new(self.heap).ok_or(Error::NO_SLOT)?;
        let mut measured = Vec::new();
        for listed in self.catalog.listed() {
            let mut memory = TableMemory::default();
            memory.table = listed.name;
            memory.rows = self.measure(&heap, listed.number, over)?;
            for (name, number) in listed.indexes {
                memory.indexes.push((name, self.measure(&heap, number, over)?));
            }
            measured.push(memory);
        }
        Ok(measured)
    }

    /// What the table of this number takes, which may be one of a secondary index; nothing once it was dropped.
    fn measure(
        &self,
        heap: &LocalHeap<M>,
        number: u32,
        over: &dyn Fn() -> bool,
    ) -> Result<Footprint> {
        let mut view = View::new();
        let (mut run, mut index_memory) = (LeafRun::default(), IndexMemory::default());
        let mut footprint = Footprint::default();
        let mut measuring: Option<Measuring> = None;
        let mut more = true;
        while more {
            if over() {
                return Err(Error::Canceled);
            }
            more = false;
            debug_assert!(
                !heap.is_pinned(),
                "a walk holds reclamation back for one step at a time"
            );
            view.show(self.catalog, heap.slot());
            view.with_index(number, &mut |index, _| {
                let measuring = measuring.get_or_insert_with(|| index.measuring());
                heap.pin();
                more = index.measure_some(heap, measuring, &mut run, &mut index_memory);
                let expired = self.expired_below();
                let records = run.records.iter().flat_map(|&(_, first)| first.row());
                records.for_each(|record| weigh(record, expired, &mut footprint));
                heap.unpin();
            });
            unpin_catalog_version(heap.slot());
        }
        footprint.node_bytes = index_memory.node_bytes;
        footprint.key_bytes = index_memory.key_bytes;
        Ok(footprint)
    }
}

/// Adds a record, its overflowing value and its older versions. Pinned.
fn weigh<M: Machine>(record: RecordRef<M>, expired_below: u64, footprint: &mut Footprint) {
    footprint.records += 1;
    footprint.record_bytes += record.slot_bytes() as u64;
    let value = record.value();
    if value != record {
        footprint.record_bytes += value.slot_bytes() as u64;
    }
    for version in old_versions(record, expired_below) {
        footprint.versions += 1;
        footprint.version_bytes += version.slot_bytes() as u64;
    }
}
