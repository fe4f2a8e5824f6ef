//! Installing a version before those that it replaces, and giving those up when nobody wants them.
//!
//! The caller has exclusive access to the record, but for readers: by a claim under `mvcc`, by a lock and the
//! record's latch under two-phase locking with snapshots (`central_lock/repeatable_read`).

use crate::access::{Kind, Write, WriteSet};
use crate::contract::{Abort, CommitPoint, Context, Scheme};
use crate::garbage::Garbage;
use crate::record_word;
use crate::rows;
use crate::scheme::parts::chain;
use chiliad_machine::{Fault, Machine, Ordering, Rig, Word};
use chiliad_storage::{Kind as SlotKind, LocalHeap, RecordRef};

/// The chain of versions loses one.
static VERSION_NOT_KEPT: Fault = Fault {
    name: "version-not-kept",
    step: "the version that is overwritten joins the chain",
    rig: Rig::SimSc,
    schemes: &["mvcc", "lock-table-repeatable-read"],
    workload: "bank",
    expected: &["G-single", "G2", "G2-item", "G1c", "lost update"],
    seeds: 200,
};

/// The planted bugs of this part.
pub static FAULTS: &[&Fault] = &[&VERSION_NOT_KEPT];

/// Gives up a version that no reader at work can want.
fn drop_version<M: Machine>(heap: &mut LocalHeap<M>, block: RecordRef<M>) {
    // SAFETY: the holder of the record has taken it out of its chain during this pin; readers may be passing by.
    unsafe { heap.retire_record(SlotKind::Version, block) };
}

/// Sets a block by for each version that is to join a chain, since an installation cannot fail. Where
/// there is no memory for it the version goes if `nobody_reads` what the transaction overwrites: rows can
/// be removed when memory is full.
pub fn set_blocks_by<M: Machine, S: Scheme<M>>(
    cx: &mut Context<'_, M, S>,
    writes: &mut WriteSet<M>,
    nobody_reads: impl Fn(&mut Context<'_, M, S>) -> bool,
) -> Result<(), Abort<M>> {
    let mut unread = None;
    for write in &mut writes.entries {
        debug_assert!(write.spare[0].is_none(), "nothing is set aside yet");
        // The replaced version is collected once it is below the oldest active timestamp, whatever its commit epoch.
        write.keep = false;
        // Of a key that was never there nobody reads an old version. (In a verified run the stamp
        // of its absence is one.) A value that has outgrown its record is in a block already.
        let news = write.placed && !cx.stamped || write.is_void();
        if news || write.record.overflow().is_some() {
            continue;
        }
        match cx.heap.alloc_record(SlotKind::Version, cx.heap.room(write.record)) {
            Ok(block) => write.spare[0] = Some(block),
            Err(_) => {
                if !*unread.get_or_insert_with(|| nobody_reads(cx)) {
                    return Err(Abort::out_of_memory());
                }
                M::mark("version given up for want of memory");
            }
        }
    }
    Ok(())
}

/// Installs a write; what it replaces joins the chain, which is cut to what readers at `oldest_active` and later
/// need. What is left of it is garbage.
pub fn install_before_old<M: Machine, S: Scheme<M>>(
    cx: &mut Context<'_, M, S>,
    point: CommitPoint,
    write: &mut Write<M>,
    value: &[u8],
    oldest_active: u64,
) {
    let record = write.record;
    debug_assert!(point.order & record_word::FLAGS == 0, "an order leaves room for flags");
    record.word().store(write.prior | record_word::LATCH, Ordering::Relaxed);
    // Release: pairs with the acquire fences of readers that look at the word again.
    M::fence(Ordering::Release);
    let head = record.overflow();
    let mut chain = head.unwrap_or(record).next(Ordering::Relaxed);
    let spare = write.spare[0].take();
    let lost = M::fault(&VERSION_NOT_KEPT);
    match head.or(spare).filter(|_| !lost) {
        Some(block) if head.is_some() => chain = Some(block),
        Some(block) => chain = Some(chain::put_by(record, block, chain, write.prior)),
        None => {}
    }
    let heap = &mut *cx.heap;
    chain = chain::cut(chain, point.order, oldest_active, |block| drop_version(heap, block));
    match write.spare[1].take() {
        Some(block) => {
            block.write(value);
            block.word().store(point.order, Ordering::Relaxed);
            block.set_next(chain, Ordering::Relaxed);
            record.set_overflow(block);
        }
        None => record.write_before(value, chain),
    }
    let absent = if write.kind == Kind::Remove { record_word::ABSENT } else { 0 };
    record_word::publish(record.word(), point.order | absent);
    if chain.is_some() {
        cx.garbage.add(Garbage {
            table: write.table.0,
            record,
            key: None,
            order: point.order,
            placeholder: false,
            epoch: 0,
        });
    }
}

/// Cuts the chain after the version in place to what readers at `oldest_active` and later need.
pub fn shorten<M: Machine>(heap: &mut LocalHeap<M>, record: RecordRef<M>, oldest_active: u64) {
    let above = record.value();
    let (chain, word) = (above.next(Ordering::Relaxed), record.word().load(Ordering::Relaxed));
    let left = chain::cut(chain, word, oldest_active, |block| drop_version(heap, block));
    if left.is_none() && chain.is_some() {
        // Release pairs with the acquire of the link in `chain::read_old`.
        above.set_next(None, Ordering::Release);
    }
}

/// Gives up a row whose first record is dead, and all versions of its parts.
///
/// # Safety
/// It has left its index during this pin, by the caller's hand alone.
pub unsafe fn retire_whole<M: Machine>(heap: &mut LocalHeap<M>, record: RecordRef<M>) {
    M::mark("record unlinked");
    // SAFETY: the caller's promise.
    rows::retire_mates(record, |mate| unsafe { retire_versions(heap, mate) });
    // SAFETY: the caller's promise.
    unsafe { retire_versions(heap, record) };
}

/// Gives up a record, and all its versions.
///
/// # Safety
/// As for [`retire_whole`].
unsafe fn retire_versions<M: Machine>(heap: &mut LocalHeap<M>, record: RecordRef<M>) {
    // Acquire pairs with the release in `RecordRef::write_before`, which has made the chain.
    let mut next = record.next(Ordering::Acquire);
    // Release pairs with the acquire of the link in `chain::read_old`.
    record.set_next(None, Ordering::Release);
    while let Some(block) = next {
        // Acquire pairs with the release in `chain::cut`.
        next = block.next(Ordering::Acquire);
        drop_version(heap, block);
    }
    // SAFETY: the caller's promise.
    unsafe { heap.retire_record(SlotKind::Record, record) };
}
