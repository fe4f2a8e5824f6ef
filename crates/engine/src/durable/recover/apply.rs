//! Versions into tables, in groups, so that the cache misses of their look-ups overlap.

use crate::durable::recover::restore::{self, Restored};
use crate::durable::recover::target::{Removed, Tables, Target};
use crate::tables::table::Table;
use chiliad_api::{Error, Result};
use chiliad_log::entry::Write;
use chiliad_machine::Machine;
use chiliad_storage::{Changes, LocalHeap, LookupBatch};

/// Look-ups in flight together.
const GROUP: usize = 32;

/// One thread's part in the recovery.
pub struct Applier<'a, M: Machine> {
    tables: &'a Tables<M>,
    pub heap: LocalHeap<M>,
    limit_bytes: u64,
    lookups: LookupBatch<M>,
    changes: Changes<M>,
    /// Keys that were removed by something replayed, with their tables: what is absent in the end
    /// leaves its index.
    pub removed: Removed,
}

/// A version to be applied.
#[derive(Clone, Copy)]
pub struct Item<'p> {
    pub order: u64,
    pub write: Write<'p>,
}

/// Versions that wait for their group to be full, with their tables.
pub struct Group<'a, 'p, M: Machine> {
    items: [Option<(&'a Table<M>, Item<'p>)>; GROUP],
    count: usize,
}

impl<'a, 'p, M: Machine> Group<'a, 'p, M> {
    pub fn new() -> Self {
        Self { items: [None; GROUP], count: 0 }
    }

    fn items(&self) -> impl Iterator<Item = (&'a Table<M>, Item<'p>)> {
        self.items[..self.count].iter().copied().flatten()
    }

    fn item(&self, at: usize) -> (&'a Table<M>, Item<'p>) {
        self.items[at].expect("there are as many as look-ups")
    }
}

impl<'a, M: Machine> Applier<'a, M> {
    pub fn new(target: Target<'a, M>) -> Result<Self> {
        let Target { tables, heap } = target;
        Ok(Self {
            tables,
            limit_bytes: heap.usage().limit_bytes,
            heap: LocalHeap::new(heap).ok_or(Error::NO_SLOT)?,
            lookups: LookupBatch::default(),
            changes: Changes::new(),
            removed: Vec::new(),
        })
    }

    fn table(&self, number: u32) -> Option<&'a Table<M>> {
        self.tables.get(number as usize)?.as_ref()
    }

    /// Adds a version to the group, and applies the group if it is full.
    #[inline]
    pub fn push<'p>(&mut self, group: &mut Group<'a, 'p, M>, item: Item<'p>) -> Result<()> {
        let Some(table) = self.table(item.write.table) else { return Ok(()) };
        debug_assert!(group.count < GROUP, "a full group is flushed");
        debug_assert!(restore::is_order(item.order), "what is replayed was admitted");
        group.items[group.count] = Some((table, item));
        group.count += 1;
        if group.count == GROUP { self.flush(group) } else { Ok(()) }
    }

    /// Applies what the group has.
    pub fn flush(&mut self, group: &mut Group<'_, '_, M>) -> Result<()> {
        self.heap.pin();
        debug_assert!(group.items().count() == group.count, "no gaps");
        let applied = self.apply(group);
        self.heap.unpin();
        self.heap.reclaim();
        group.count = 0;
        applied.map_err(|_| Error::OutOfMemory { limit_bytes: self.limit_bytes })
    }

    fn apply(
        &mut self,
        group: &Group<'_, '_, M>,
    ) -> core::result::Result<(), chiliad_storage::OutOfMemory> {
        self.find(group);
        for (at, (table, item)) in group.items().enumerate() {
            let found = self.lookups.found(at);
            let Write { key, value, removed, table: number } = item.write;
            let version = Restored { order: item.order, absent: removed, value };
            // An insertion earlier in the group may have put the key there: `put` looks again.
            restore::put(&mut self.heap, &mut self.changes, table, key, found, version)?;
            if removed && !table.is_group() {
                self.removed.push((number, key.into()));
            }
        }
        Ok(())
    }

    /// Looks all keys of the group up together.
    fn find(&mut self, group: &Group<'_, '_, M>) {
        debug_assert!(self.heap.is_pinned(), "what is found stays");
        let begun = |at: usize| {
            let (table, item) = group.item(at);
            (&table.index, item.write.key)
        };
        self.lookups.clear();
        for (table, item) in group.items() {
            self.lookups.begin(&table.index, item.write.key);
        }
        self.lookups.finish(&self.heap, begun, |at, record| {
            record.prefetch(group.item(at).1.write.value.len());
        });
    }
}
