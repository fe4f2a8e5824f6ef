//! Installing a version before those that it replaces (`mvcc`).

use super::{Ordered, faults};
use crate::access::{Kind, Write, WriteSet};
use crate::scheme::{CommitPoint, Context, Garbage, Refusal, Scheme, chain, tid};
use chiliad_machine::{Machine, Ordering, Word};
use chiliad_storage::{Kind as SlotKind, LocalHeap, RecordRef};

/// Gives up a version that no reader at work can want.
pub(super) fn drop_version<M: Machine>(heap: &mut LocalHeap<M>, block: RecordRef<M>) {
    // SAFETY: it has left its chain during this pin, by the hand of who holds the record; readers may
    // be passing by.
    unsafe { heap.retire_record(SlotKind::Version, block) };
}

impl<M: Machine, const VERSIONS: bool> Ordered<M, VERSIONS> {
    /// Sets a block by for each version that is to join a chain, since an installation cannot fail.
    /// Where there is no memory for it the version goes if nobody can read it: rows can be removed when
    /// memory is full.
    pub(super) fn set_blocks_by(
        &mut self,
        cx: &mut Context<'_, M, Self>,
        writes: &mut WriteSet<M>,
    ) -> Result<(), Refusal<M>> {
        let mut oldest = None;
        for write in &mut writes.entries {
            // Of a key that was never there nobody reads an old version. (In a verified run the stamp
            // of its absence is one.) A value that has outgrown its record is in a block already.
            let news = write.placed && !cx.stamped || Self::is_void(write);
            if news || write.record.overflow().is_some() {
                continue;
            }
            match cx.heap.alloc_record(SlotKind::Version, cx.heap.room(write.record)) {
                Ok(block) => write.spare[0] = Some(block),
                Err(_) => {
                    let alone = *oldest.get_or_insert_with(|| self.is_oldest(cx));
                    if !alone {
                        return Err(Refusal::out_of_memory());
                    }
                    M::mark("version given up for want of memory");
                }
            }
        }
        Ok(())
    }

    /// Whether everybody else at work, now and until this transaction ends, is younger.
    #[cold]
    fn is_oldest(&self, cx: &mut Context<'_, M, Self>) -> bool {
        let (slots, slot) = (&cx.heap.shared().slots, cx.heap.slot_number());
        let above = self.now + tid::word_of(1);
        cx.shared.horizon.look(slots, slot, above) == above
    }

    /// Installs a write; what it replaces joins the chain.
    pub(super) fn install_before_old(
        &mut self,
        cx: &mut Context<'_, M, Self>,
        point: CommitPoint,
        write: &mut Write<M>,
        value: &[u8],
    ) {
        let record = write.record;
        record.word().store(write.prior | tid::LATCH, Ordering::Relaxed);
        // Release: pairs with the acquire fences of readers, who look at the word again.
        M::fence(Ordering::Release);
        let head = record.overflow();
        let mut chain = head.unwrap_or(record).next(Ordering::Relaxed);
        let spare = write.spare[0].take();
        let lost = M::fault(&faults::VERSION_NOT_KEPT);
        match head.or(spare).filter(|_| !lost) {
            Some(block) if head.is_some() => chain = Some(block),
            Some(block) => chain = Some(chain::put_by(record, block, chain, write.prior)),
            None => {}
        }
        let heap = &mut *cx.heap;
        chain = chain::cut(chain, point.order, self.horizon, |block| drop_version(heap, block));
        if chain.is_some() {
            self.garbage.push_back(Garbage {
                table: write.table.0,
                record,
                key: None,
                order: point.order,
                placeholder: false,
                epoch: 0,
            });
        }
        match write.spare[1].take() {
            Some(block) => {
                block.write(value);
                block.word().store(point.order, Ordering::Relaxed);
                block.set_next(chain, Ordering::Relaxed);
                record.set_overflow(block);
            }
            None => record.write_before(value, chain),
        }
        let absent = if write.kind == Kind::Remove { tid::ABSENT } else { 0 };
        tid::publish(record.word(), point.order | absent);
    }
}
