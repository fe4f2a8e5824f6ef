//! The rows of a table some at a time, for changes that go through all of them while transactions go on.

use crate::base::Base;
use crate::durable::{Walk, stable_read};
use crate::tables::catalog::{Catalog, View};
use crate::tables::dropped::unpin_catalog_version;
use crate::tables::table::Table;
use chiliad_api::{Error, Result};
use chiliad_machine::{Machine, Ordering, Shared, Ticks, Word};
use chiliad_storage::{LeafRun, LocalHeap, Slot, Slots};

/// Rows of a batch, and their bytes: about as many.
pub const ROWS_MAX: usize = 256;
const BYTES_MAX: usize = 256 << 10;

/// It works for as long as one of so many parts of a second. Then it rests for as long, if others are at work.
const PIECES_PER_SECOND: u64 = 500;

/// The rows of a table, some at a time. Between two pieces nothing is held.
pub struct Pieces<'a, M: Machine> {
    catalog: &'a Catalog<M>,
    slots: &'a Slots<M>,
    table: &'a Table<M>,
    heap: LocalHeap<M>,
    walk: Shared<M, Walk<M>>,
    view: View<M>,
    run: LeafRun<M>,
    /// When it began to work without a rest.
    begun: Ticks,
}

impl<'a, M: Machine> Pieces<'a, M> {
    pub fn of(base: &Base<'a, M>, table: &'a Table<M>) -> Result<Self> {
        let heap = LocalHeap::new(base.heap).ok_or(Error::NO_SLOT)?;
        let walk = Shared::<M, Walk<M>>::new(Walk::new(&table.index));
        let (view, run) = (View::new(), LeafRun::default());
        let (catalog, slots) = (base.catalog, &base.heap.slots);
        Ok(Self { catalog, slots, table, heap, walk, view, run, begun: M::now() })
    }

    /// Shows the next piece, whose records stay as long; `false` where nothing is left.
    pub fn next(&mut self, show: impl FnOnce(&LeafRun<M>)) -> bool {
        // While the view is shown the table is not taken apart, should somebody drop it.
        self.view.show(self.catalog, self.heap.slot());
        self.heap.pin();
        let more = self.walk.next(&self.heap, &self.table.index, &mut self.run);
        show(&self.run);
        self.heap.unpin();
        unpin_catalog_version(self.heap.slot());
        self.heap.reclaim();
        debug_assert!(!self.heap.is_pinned(), "nothing is held back meanwhile");
        more
    }

    /// Leaves others half of the time, if there are any: the caller has no transaction in hand.
    pub fn rest(&mut self) {
        let now = M::now();
        let worked = now - self.begun;
        if worked <= M::ticks_per_second() / PIECES_PER_SECOND {
            return;
        }
        // Relaxed: it is a glance. Those that are at work are met in proportion to how much they are.
        let is_at_work = |slot: &Slot<M>| slot.catalog_version.load(Ordering::Relaxed) != 0;
        if self.slots.iter().any(|(_, slot)| is_at_work(slot)) {
            M::park_until(now + worked);
        }
        self.begun = M::now();
    }
}

/// Rows of a table that nobody changes any more, as bytes.
#[derive(Default)]
pub struct Batch {
    /// Keys and values in turn.
    bytes: Vec<u8>,
    /// Where each key ends, and its value.
    ends: Vec<(usize, usize)>,
}

impl Batch {
    /// Adds the rows of a piece, without so many bytes at their ends. Pinned.
    pub fn take<M: Machine>(&mut self, run: &LeafRun<M>, stamp_bytes: usize) {
        for (_, record) in run.iter() {
            record.prefetch(128);
        }
        for (key, record) in run.iter() {
            let start = self.bytes.len();
            self.bytes.extend_from_slice(key);
            let end = self.bytes.len();
            match stable_read(record, &mut self.bytes) {
                None => self.bytes.truncate(start),
                Some(_) => {
                    debug_assert!(self.bytes.len() >= end + stamp_bytes, "a stamp at each end");
                    self.bytes.truncate(self.bytes.len() - stamp_bytes);
                    self.ends.push((end, self.bytes.len()));
                }
            }
        }
    }

    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn is_full(&self) -> bool {
        self.len() >= ROWS_MAX || self.bytes.len() >= BYTES_MAX
    }

    pub fn row(&self, at: usize) -> (&[u8], &[u8]) {
        debug_assert!(at < self.len(), "a row of the batch");
        let start = if at == 0 { 0 } else { self.ends[at - 1].1 };
        let (key, value) = self.ends[at];
        debug_assert!(start <= key && key <= value, "keys and values in turn");
        (&self.bytes[start..key], &self.bytes[key..value])
    }

    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }
}
