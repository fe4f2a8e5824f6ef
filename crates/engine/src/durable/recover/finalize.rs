//! The walk over all tables that ends an incarnation: words are reset, and after the last one the
//! entries of secondary indexes are made.

use crate::durable::parallel::next::Next;
use crate::durable::parallel::walk::Walk;
use crate::durable::recover::recovery::Replay;
use crate::durable::recover::restore::{self, Restored};
use crate::durable::recover::target::{Tables, Target};
use crate::tables::table::Table;
use chiliad_api::stamp::STAMP_BYTES;
use chiliad_api::{Error, Phase, Result};
use chiliad_machine::{Machine, Ordering, Shared, Word};
use chiliad_storage::{Changes, KEY_BYTES_MAX, LeafRun, LocalHeap};

/// Tables to be walked over, for the threads that do it.
pub struct Finalizers<'a, M: Machine> {
    replay: &'a Replay<'a, M>,
    target: Target<'a, M>,
    /// Make the entries of secondary indexes.
    entries: bool,
    tables: Vec<Walked<'a, M>>,
    rows: Shared<M, Rows<M>>,
    finished: Shared<M, Next<M>>,
}

/// A table, and how far the walk over it has come.
type Walked<'a, M> = (&'a Table<M>, Shared<M, Walk<M>>);

/// Buffers that a thread reuses from row to row.
struct Room<M: Machine> {
    value: Vec<u8>,
    entry: Vec<u8>,
    /// The entry's value: the row's key, and its stamp.
    row: Vec<u8>,
    changes: Changes<M>,
}

impl<M: Machine> Default for Room<M> {
    fn default() -> Self {
        let [value, entry, row] = Default::default();
        Self { value, entry, row, changes: Changes::new() }
    }
}

/// Counts rows.
struct Rows<M: Machine>(M::Word);

impl<'a, M: Machine> Finalizers<'a, M> {
    pub(in crate::durable) fn new(
        replay: &'a Replay<'a, M>,
        target: Target<'a, M>,
        entries: bool,
    ) -> Self {
        let tables = target.tables.iter().flatten();
        let tables = tables.filter(|table| !table.is_index && !table.is_group());
        let tables = tables.map(|table| (table, Shared::new(Walk::new(&table.index))));
        Self {
            replay,
            target,
            entries,
            tables: tables.collect(),
            rows: Shared::new(Rows(M::Word::new(0))),
            finished: Next::new(),
        }
    }

    /// Rows met that are present.
    pub(in crate::durable) fn rows(&self) -> u64 {
        if self.entries { self.rows.0.load(Ordering::Relaxed) } else { 0 }
    }

    /// Takes pieces of all tables until there are none.
    pub(in crate::durable) fn take_part(&self) {
        if let Err(error) = self.finalize_tables() {
            self.replay.fail(0, error);
        }
    }

    fn finalize_tables(&self) -> Result<()> {
        let limit_bytes = self.target.heap.usage().limit_bytes;
        let mut heap = LocalHeap::new(self.target.heap).ok_or(Error::NO_SLOT)?;
        let mut run = LeafRun::default();
        let mut room = Room::default();
        for (table, walk) in &self.tables {
            loop {
                heap.pin();
                let more = walk.next(&heap, &table.index, &mut run);
                let finalized = self.finalize_run(&mut heap, table, &run, &mut room);
                heap.unpin();
                heap.reclaim();
                finalized.map_err(|_| Error::OutOfMemory { limit_bytes })?;
                if !more || self.replay.has_failed() {
                    break;
                }
            }
            let done = self.finished.take() as u64 + 1;
            self.replay.host.progress(Phase::Finalize, done, self.tables.len() as u64);
        }
        Ok(())
    }

    fn finalize_run(
        &self,
        heap: &mut LocalHeap<M>,
        table: &Table<M>,
        run: &LeafRun<M>,
        Room { value, entry, row, changes }: &mut Room<M>,
    ) -> core::result::Result<(), chiliad_storage::OutOfMemory> {
        debug_assert!(heap.is_pinned(), "records stay");
        let mut rows = 0;
        for (key, record) in run.iter() {
            record.row().for_each(restore::finalize);
            if !self.entries {
                continue;
            }
            // Each part of a row counts, as in checkpoints.
            rows += record.row().skip(1).filter(|&mate| restore::is_present(mate)).count() as u64;
            value.clear();
            if restore::stable_read(record, value).is_none() {
                continue;
            }
            rows += 1;
            for secondary in table.secondary() {
                let Some(index) = self.index_of(secondary.table.0) else { continue };
                // In a verified run a row ends in its stamp, and an entry gets the same.
                let stamp = if table.tombstone_stamps.is_some() { STAMP_BYTES } else { 0 };
                let split = value.len() - stamp.min(value.len());
                debug_assert!(split <= value.len(), "the stamp comes last");
                entry.clear();
                if secondary.check(key, &value[..split]).is_err() {
                    continue;
                }
                secondary.encode(key, &value[..split], entry);
                if entry.len() > KEY_BYTES_MAX {
                    continue;
                }
                row.clear();
                row.extend_from_slice(key);
                row.extend_from_slice(&value[split..]);
                let version = Restored { order: 0, absent: false, value: row };
                let found = index.index.get(heap, entry);
                restore::put(heap, changes, index, entry, found, version)?;
            }
        }
        self.rows.0.fetch_add(rows, Ordering::Relaxed);
        Ok(())
    }

    fn index_of(&self, table: u32) -> Option<&'a Table<M>> {
        let tables: &'a Tables<M> = self.target.tables;
        tables.get(table as usize)?.as_ref()
    }
}
