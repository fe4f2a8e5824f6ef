//! Writing the rows of all tables into the parts of a checkpoint.

use crate::durable::Durable;
use crate::durable::parallel::next::Next;
use crate::durable::parallel::walk::Walk;
use crate::tables::catalog::{Catalog, View};
use crate::tables::dropped::unpin_catalog_version;
use chiliad_api::{Error, Result, TableId};
use chiliad_log::PartWriter;
use chiliad_log::entry::Write;
use chiliad_machine::disk::Disk;
use chiliad_machine::{Latch, Machine, Shared};
use chiliad_storage::{Heap, LeafRun, LocalHeap, RecordRef};
use std::sync::Arc;

/// How records are read outside transactions.
type StableRead<M> = fn(RecordRef<M>, &mut Vec<u8>) -> Option<u64>;

/// Tables whose rows are being written, for the threads that write them.
pub struct Walkers<'a, M: Machine> {
    pub disk: &'a dyn Disk,
    pub database: u128,
    pub number: u32,
    pub compress: bool,
    pub effort: u32,
    /// Tells when nobody wants it any more.
    pub durable: Option<&'a Durable<M>>,
    pub catalog: &'a Catalog<M>,
    pub heap: &'a Arc<Shared<M, Heap<M>>>,
    pub read: StableRead<M>,
    pub tables: Vec<(u32, Shared<M, Walk<M>>)>,
    pub next_part: Shared<M, Next<M>>,
    pub result: Shared<M, Latch<M, Written>>,
}

/// Counts of the rows and bytes that were written.
#[derive(Default)]
pub struct Written {
    pub parts: u32,
    pub rows: u64,
    pub bytes: u64,
    pub failure: Option<Error>,
}

impl<M: Machine> Walkers<'_, M> {
    /// Writes pieces of all tables until there are none.
    pub(in crate::durable) fn take_part(&self) {
        if let Err(error) = self.write_part() {
            self.result.lock().failure.get_or_insert(error);
        }
    }

    fn write_part(&self) -> Result<()> {
        let mut heap = LocalHeap::new(self.heap).ok_or(Error::NO_SLOT)?;
        let mut view = View::new();
        let mut run = LeafRun::default();
        let mut value = Vec::new();
        let mut part: Option<PartWriter<M>> = None;
        let mut pace = Pace::new(self.effort);
        for (number, walk) in &self.tables {
            let mut more = true;
            while more {
                let writer = match &mut part {
                    Some(part) => part,
                    None => part.insert(self.begin_part()?),
                };
                more =
                    self.piece(&mut heap, &mut view, *number, walk, &mut run, &mut value, writer);
                debug_assert!(!heap.is_pinned(), "nothing is held back while it writes");
                unpin_catalog_version(heap.slot());
                writer.write_if_full()?;
                heap.reclaim();
                pace.keep::<M>();
                let canceled = self.durable.is_some_and(Durable::is_canceled);
                if canceled || self.result.lock().failure.is_some() {
                    return if canceled { Err(Error::Canceled) } else { Ok(()) };
                }
            }
        }
        if let Some(part) = part {
            let (bytes, rows) = part.finish()?;
            let mut written = self.result.lock();
            written.bytes += bytes;
            written.rows += rows;
        }
        Ok(())
    }

    fn begin_part(&self) -> Result<PartWriter<M>> {
        let part = self.next_part.take() as u32;
        let made = PartWriter::create(self.disk, self.database, self.number, part, self.compress)?;
        self.result.lock().parts += 1;
        Ok(made)
    }

    /// Takes the rows of one piece; `false` when nothing is left of the table. Until the view is
    /// hidden, the table is not taken apart.
    #[expect(clippy::too_many_arguments, reason = "one worker's scratch memory")]
    fn piece(
        &self,
        heap: &mut LocalHeap<M>,
        view: &mut View<M>,
        number: u32,
        walk: &Walk<M>,
        run: &mut LeafRun<M>,
        value: &mut Vec<u8>,
        part: &mut PartWriter<M>,
    ) -> bool {
        view.show(self.catalog, heap.slot());
        let mut more = false;
        if let Ok(table) = view.get(TableId(number)) {
            heap.pin();
            more = walk.next(heap, &table.index, run);
            for (_, record) in run.iter() {
                record.prefetch(128);
            }
            for (key, record) in run.iter() {
                value.clear();
                if let Some(order) = (self.read)(table.of_row(record), value) {
                    part.add(order, &Write { table: number, removed: false, key, value });
                }
            }
            heap.unpin();
        }
        more
    }
}

/// Works for a share of its time only.
struct Pace {
    effort: u64,
    begun: u64,
}

impl Pace {
    fn new(effort: u32) -> Self {
        debug_assert!((1..=100).contains(&effort), "a share in percent");
        Self { effort: effort.into(), begun: 0 }
    }

    /// Sleeps, now and then, as long as the share wants.
    fn keep<M: Machine>(&mut self) {
        let now = M::now();
        if self.begun == 0 {
            self.begun = now;
        }
        let worked = now.saturating_sub(self.begun);
        if self.effort < 100 && worked >= M::ticks_per_second() / 1000 {
            M::park_until(now + worked * (100 - self.effort) / self.effort);
            self.begun = M::now();
        }
    }
}
