//! Common parts of schemes whose writers have exclusive access to a record: the payload is read without validation
//! and written in place.
//!
//! The TID word (`record_word.rs`) names the version, and its latch is held only during the installation, for readers
//! outside of transactions (`restore::stable_read`).

use crate::access::{Kind, Write, WriteSet};
use crate::contract::{Abort, CommitPoint, Context, Scheme};
use crate::record_word;
use chiliad_api::{Reason, stamp};
use chiliad_machine::{Cost, Machine, Ordering, Spin, Word};
use chiliad_storage::{Kind as SlotKind, RecordRef};

/// Waits on a latched record before the writer gives up: holders keep a latch for microseconds.
const PATIENCE: u32 = 256;

/// Latches a record to be written, waiting for a moment.
#[inline]
pub fn latch<M: Machine>(record: RecordRef<M>) -> Result<u64, Abort<M>> {
    M::work(Cost::Lock, 1);
    record_word::try_latch(record.word()).or_else(|found| latch_soon(record, found))
}

/// Latches a record that was `found` latched or dead.
#[cold]
fn latch_soon<M: Machine>(record: RecordRef<M>, mut found: u64) -> Result<u64, Abort<M>> {
    const PLACEHOLDER: u64 = record_word::ABSENT | record_word::LATCH;
    let mut spin = Spin::<M>::new();
    for _ in 1..PATIENCE {
        // A placeholder's holder may be in user code.
        if found & record_word::DEAD != 0 || found & PLACEHOLDER == PLACEHOLDER {
            break;
        }
        spin.wait();
        match record_word::try_latch(record.word()) {
            Ok(prior) => return Ok(prior),
            Err(other) => found = other,
        }
    }
    let dead = found & record_word::DEAD != 0;
    let reason = if dead { Reason::Vanished } else { Reason::WriteLatched };
    Err(Abort::over(reason, record))
}

/// Notes the words of the versions that the writes replace, and puts blocks by for values that do not
/// fit in place, since an installation cannot fail. Returns the greatest of the words.
pub fn prepare<M: Machine, S: Scheme<M>>(
    cx: &mut Context<'_, M, S>,
    writes: &mut WriteSet<M>,
) -> Result<u64, Abort<M>> {
    let stamp = if cx.stamped { stamp::STAMP_BYTES } else { 0 };
    let mut greatest = 0;
    for write in &mut writes.entries {
        let word = write.record.word().load(Ordering::Relaxed);
        if word & record_word::DEAD != 0 {
            return Err(Abort::over(Reason::Vanished, write.record));
        }
        debug_assert!(write.spare.iter().all(Option::is_none), "nothing is set aside yet");
        write.prior = word;
        greatest = greatest.max(word);
        let bytes = write.new_bytes();
        if write.kind != Kind::Remove && bytes.max(stamp) > cx.heap.room(write.record) {
            let block = cx.heap.alloc_record(SlotKind::Version, bytes);
            write.spare[1] = Some(block.map_err(|_| Abort::out_of_memory())?);
        }
    }
    Ok(greatest)
}

/// Installs a write that [`prepare`] has seen.
#[inline]
pub fn install<M: Machine, S: Scheme<M>>(
    cx: &mut Context<'_, M, S>,
    point: CommitPoint,
    write: &mut Write<M>,
    value: &[u8],
) {
    let record = write.record;
    debug_assert!(point.order & record_word::FLAGS == 0, "an order leaves room for flags");
    debug_assert!(write.spare[0].is_none(), "no old version is kept");
    record.word().store(write.prior | record_word::LATCH, Ordering::Relaxed);
    // Release: pairs with the acquire fence in `restore::stable_read`.
    M::fence(Ordering::Release);
    if let Some(block) = record.overflow() {
        // SAFETY: it leaves the record here, during this pin.
        unsafe { cx.heap.retire_record(SlotKind::Version, block) };
    }
    match write.spare[1].take() {
        Some(block) => {
            block.write(value);
            record.set_overflow(block);
        }
        None => record.write_before(value, None),
    }
    let absent = if write.kind == Kind::Remove { record_word::ABSENT } else { 0 };
    record_word::publish(record.word(), point.order | absent);
}
