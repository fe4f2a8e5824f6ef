//! Dropped tables, until their memory has returned to the heap.
//!
//! A drop unlinks the table from the catalog; transactions that have begun may still be using it. So
//! a transaction shows the version of the catalog by which it finds its tables, in its worker's
//! `catalog_version` word, from its begin until it has done its share of collecting. A drop moves the catalog's
//! version to `v`: once no version below `v` is pinned, nobody can reach the table. Its indexes are then
//! taken apart, and nodes, records, versions and the buckets' array are free at once, without a
//! grace period. What rests on this:
//!
//! - a worker touches nothing of a table that it does not see, not even on behalf of garbage that it
//!   kept from earlier (`silo/collect.rs`). Where that garbage names a slot that has moved on to
//!   another table since, the record's latch decides: a record is taken out of circulation, dead,
//!   under it, and later ones leave it alone. So each version is freed by one hand only;
//! - an idle worker pins no version, so it holds nothing back, for however long. The list of tables
//!   that it keeps for its next transaction shares a dropped table's control structures with us, a
//!   few hundred bytes, but leads to nothing: the list is brought up to date before it is used.
//!
//! So a transaction holds memory back that began before the drop and does not end;
//! `Stats::holds` names its worker.
//!
//! **Who does it.** `Database::drop_table`, all that is there to do: its caller pays, and whoever
//! drops tables in a loop cannot outrun their teardown. What transactions still use then,
//! `Database::tick` takes apart later, a portion at a time, so that epochs go on meanwhile. No
//! transaction ever does any of it. Nothing is allocated from the heap on the way, so that no memory
//! limit can stop it.

#[cfg(test)]
mod models;

use crate::record_word;
use crate::tables::table::Stored;
use chiliad_machine::{Fault, Latch, Machine, Ordering, Rig, Shared, Word};
use chiliad_storage::{Heap, Kind, LocalHeap, RecordRef, Slot, Slots, Teardown};
use std::sync::Arc;

/// A pinned catalog version that is still in a store buffer is not seen, and its table is taken apart.
pub static RUIN_WITHOUT_FENCE: Fault = Fault {
    name: "ruin-without-fence",
    step: "who takes a dropped table apart runs the heavy fence before looking at the pinned versions",
    // No workload drops tables. The model in `models.rs` tells.
    rig: Rig::Loom,
    schemes: &[],
    workload: "scan",
    expected: &["is taken apart"],
    seeds: 0,
};

/// Nodes and entries that a tick deals with: a few milliseconds' worth. Simulated tables are tiny,
/// and theirs shall take several ticks, too.
pub fn portion<M: Machine>() -> usize {
    if M::explores() { 8 } else { 16 << 10 }
}

/// The dropped tables of a database. Lives in the machine's memory.
pub struct DroppedTables<M: Machine> {
    /// Tables whose memory has not returned, those included that somebody is working on.
    count: M::Word,
    /// The version of the last drop.
    newest: M::Word,
    waiting: Latch<M, Vec<Dropped<M>>>,
}

/// A dropped table.
struct Dropped<M: Machine> {
    table: Arc<Shared<M, Stored<M>>>,
    /// The catalog's version from which on it is not seen.
    version: u64,
    teardown: Teardown,
}

impl<M: Machine> DroppedTables<M> {
    pub fn new() -> Self {
        let zero = || M::Word::new(0);
        Self { count: zero(), newest: zero(), waiting: Latch::new(Vec::new()) }
    }

    /// Tables whose memory has not returned.
    pub fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    /// Whether the memory of a table waits for a worker that pins this catalog version; zero pins none.
    pub fn wait_for(&self, pinned: u64) -> bool {
        self.count() > 0 && pinned != 0 && pinned < self.newest.load(Ordering::Relaxed)
    }

    /// Takes over tables that workers no longer see from `version` of the catalog on, which is
    /// published.
    pub fn add(&self, tables: impl Iterator<Item = Arc<Shared<M, Stored<M>>>>, version: u64) {
        debug_assert!(version > 1, "the first version has dropped nothing");
        let dropped: Vec<_> = tables
            .map(|table| {
                let teardown = table.index.teardown();
                Dropped { table, version, teardown }
            })
            .collect();
        debug_assert!(!dropped.is_empty(), "a table is dropped");
        self.count.fetch_add(dropped.len() as u64, Ordering::Relaxed);
        self.newest.store(version, Ordering::Relaxed);
        self.waiting.lock().extend(dropped);
    }

    /// Takes tables apart that nobody can reach any more, until `budget` nodes and entries are dealt
    /// with. Leaves it to later calls when there is no worker slot to do it by.
    pub fn take_apart(
        &self,
        heap: &Arc<Shared<M, Heap<M>>>,
        versions_expire: bool,
        mut budget: usize,
    ) {
        if self.count() == 0 {
            return;
        }
        // Held while we work, they are nobody else's; and only tables dropped before the look at
        // the versions pinned below may be judged by it.
        let mut dropped_tables = core::mem::take(&mut *self.waiting.lock());
        let oldest = oldest_catalog_version(&heap.slots);
        if let Some(mut local) = LocalHeap::new(heap) {
            // SAFETY: an index hands out each record once, and nobody sees the table.
            let mut each = |local: &mut LocalHeap<M>, record| unsafe {
                discard_row(local, record, versions_expire)
            };
            dropped_tables.retain_mut(|Dropped { table, version, teardown }| {
                // SAFETY: no transaction sees the table, or ever will again, and none touches what
                // it does not see.
                let gone = *version <= oldest
                    && unsafe {
                        table.index.dismantle_some(&mut local, teardown, &mut budget, &mut each)
                    };
                if *version > oldest {
                    M::mark("dropped table in use");
                }
                if gone {
                    M::mark("dropped table taken apart");
                    let before = self.count.fetch_add(1_u64.wrapping_neg(), Ordering::Relaxed);
                    debug_assert!(before > 0, "it was counted when it was dropped");
                }
                !gone
            });
        }
        self.waiting.lock().append(&mut dropped_tables);
    }
}

/// Pins in `slot` that a transaction finds its tables by the newest version of the catalog, which
/// it returns; `known` is what the worker knew last.
#[inline]
pub fn pin_catalog_version<M: Machine>(slot: &Slot<M>, version: &M::Word, known: u64) -> u64 {
    let mut shown = known;
    loop {
        slot.catalog_version.store(shown, Ordering::Relaxed);
        // Pairs with the heavy fence in `oldest_catalog_version`: either our version is seen there, or we see
        // here that a table was dropped before, and go on without it.
        M::light_fence();
        // Acquire pairs with the release in the catalog's changes.
        let now = version.load(Ordering::Acquire);
        if now == shown {
            return shown;
        }
        debug_assert!(now > shown, "the version of a catalog grows");
        shown = now;
    }
}

/// The transaction, with all that followed it, has ended.
#[inline]
pub fn unpin_catalog_version<M: Machine>(slot: &Slot<M>) {
    // Release pairs with the acquire in `oldest_catalog_version`: we look at nothing any more.
    slot.catalog_version.store(0, Ordering::Release);
}

/// The oldest version of the catalog by which a transaction finds its tables, or will: every version
/// that was published before the call counts.
pub fn oldest_catalog_version<M: Machine>(slots: &Slots<M>) -> u64 {
    // Pairs with the light fence in `pin_catalog_version`.
    if !M::fault(&RUIN_WITHOUT_FENCE) {
        M::heavy_fence();
    }
    let pinned = slots.iter().map(|(_, slot)| slot.catalog_version.load(Ordering::Acquire));
    pinned.filter(|&version| version != 0).min().unwrap_or(u64::MAX)
}

/// Frees the records of a row, of which this is the first, and the blocks that hang on their links.
///
/// # Safety
/// As for `discard`.
unsafe fn discard_row<M: Machine>(
    heap: &mut LocalHeap<M>,
    first: RecordRef<M>,
    versions_expire: bool,
) {
    for record in first.row() {
        // SAFETY: the caller's promise; nothing but the record before led to the next one.
        unsafe { discard(heap, record, versions_expire) };
    }
}

/// Frees a record and the blocks that hang on its link, for schemes whose words are TIDs: all of them, or the one of an
/// overflowing value, where old versions expire by themselves.
///
/// # Safety
/// No transaction or collector can reach the record any more, and it is handed in once.
unsafe fn discard<M: Machine>(
    heap: &mut LocalHeap<M>,
    record: RecordRef<M>,
    versions_expire: bool,
) {
    let word = record.word();
    // The holder, if there is one, is a collector that kept the slot's address from an earlier life,
    // in a table that it still sees; it leaves within instructions. Transactions that placed or
    // wrote the record have ended.
    let found = record_word::latch::<M>(word);
    M::enter_section();
    let mut next = if versions_expire { record.overflow() } else { record.next(Ordering::Relaxed) };
    record.set_next(None, Ordering::Relaxed);
    // Collectors that kept the address find the record dead from here on, as after an ordinary removal.
    record_word::publish(word, found | record_word::DEAD);
    M::leave_section();
    while let Some(block) = next {
        next = block.next(Ordering::Relaxed).filter(|_| !versions_expire);
        // SAFETY: only the record led to the block, which is nobody else's now.
        unsafe { heap.free_record(Kind::Version, block) };
    }
    // SAFETY: the caller's promise.
    unsafe { heap.free_record(Kind::Record, record) };
}
