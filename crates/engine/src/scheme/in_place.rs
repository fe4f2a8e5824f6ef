//! What schemes have in common under which whoever writes a record is alone with it: the payload is
//! read without a second look and written in place.
//!
//! The TID word (`tid.rs`) names the version, and its latch is held for the moment of the
//! installation only, for those who read outside transactions (`restore::stable_read`).

use super::tid;
use super::{CommitPoint, Context, Refusal, Scheme, Step, Version};
use crate::access::{Kind, Write, WriteSet};
use crate::arena::Arena;
use chiliad_api::{Reason, stamp};
use chiliad_machine::{Cost, Machine, Ordering, Spin, Word};
use chiliad_storage::{Kind as SlotKind, RecordRef};

/// Waits on a latched record before the writer gives up: holders keep a latch for microseconds.
const PATIENCE: u32 = 256;

/// Latches a record to be written, waiting for a moment.
pub(super) fn latch<M: Machine>(record: RecordRef<M>) -> Result<u64, Refusal<M>> {
    M::work(Cost::Lock, 1);
    let mut spin = Spin::<M>::new();
    for _ in 0..PATIENCE {
        match tid::try_latch(record.word()) {
            Ok(prior) => return Ok(prior),
            Err(found) if found & tid::DEAD != 0 => {
                return Err(Refusal::over(Reason::Vanished, record));
            }
            // A placeholder's holder may be in user code.
            Err(found) if found & (tid::ABSENT | tid::LATCH) == tid::ABSENT | tid::LATCH => break,
            Err(_) => spin.wait(),
        }
    }
    Err(Refusal::over(Reason::WriteLatched, record))
}

/// Copies the version in place, whose word is `word`.
#[inline]
pub(super) fn copy<M: Machine>(
    record: RecordRef<M>,
    word: u64,
    arena: &mut Arena,
    stamped: bool,
) -> Version {
    let absent = word & tid::ABSENT != 0;
    let source = record.value();
    let length = if absent && !stamped { 0 } else { source.length() };
    let bytes = arena.reserve(length);
    source.read(arena.get_mut(bytes));
    Version { absent, bytes }
}

/// The same, where others may write: `None` if the version has changed meanwhile, or if it is the absence
/// that an insertion places and its stamp is not there yet.
#[inline]
pub(super) fn copy_whole<M: Machine>(
    record: RecordRef<M>,
    word: u64,
    arena: &mut Arena,
    stamped: bool,
) -> Option<Version> {
    let version = copy(record, word, arena, stamped);
    // Acquire: the copy happens before the check; pairs with the release fence of the writer.
    M::fence(Ordering::Acquire);
    if record.word().load(Ordering::SeqCst) != word {
        return None;
    }
    // Whoever places a record writes the stamp of its absence when the index has it already.
    let torn =
        version.absent && stamped && stamp::read_absent(arena.get(version.bytes)) == stamp::TORN;
    (!torn).then_some(version)
}

/// Reads a record of a table that is sealed. What a load has left that failed may still leave its
/// index; all else stays as it is.
#[inline]
pub(super) fn read_sealed<M: Machine>(
    record: RecordRef<M>,
    arena: &mut Arena,
    stamped: bool,
) -> Step<M, Version> {
    // Acquire pairs with the release of whoever installed it.
    let word = record.word().load(Ordering::Acquire);
    if word & tid::DEAD != 0 {
        return Step::Redo;
    }
    Step::Done(copy(record, word, arena, stamped))
}

/// Notes the words of the versions that the writes replace, and puts blocks by for values that do not
/// fit in place, since an installation cannot fail. Returns the greatest of the words.
pub(super) fn prepare<M: Machine, S: Scheme<M>>(
    cx: &mut Context<'_, M, S>,
    writes: &mut WriteSet<M>,
) -> Result<u64, Refusal<M>> {
    let stamp = if cx.stamped { stamp::STAMP_BYTES } else { 0 };
    let mut greatest = 0;
    for write in &mut writes.entries {
        let word = write.record.word().load(Ordering::Relaxed);
        if word & tid::DEAD != 0 {
            return Err(Refusal::over(Reason::Vanished, write.record));
        }
        write.prior = word;
        greatest = greatest.max(word);
        let bytes = write.value.length as usize;
        if write.kind == Kind::Put && bytes.max(stamp) > cx.heap.room(write.record) {
            let block = cx.heap.alloc_record(SlotKind::Version, bytes);
            write.spare[1] = Some(block.map_err(|_| Refusal::out_of_memory())?);
        }
    }
    Ok(greatest)
}

/// Gives back what has been put by for the writes.
pub(super) fn give_back<M: Machine, S: Scheme<M>>(
    cx: &mut Context<'_, M, S>,
    writes: &mut WriteSet<M>,
) {
    let spare = writes.entries.iter_mut().flat_map(|write| &mut write.spare);
    for block in spare.filter_map(Option::take) {
        // SAFETY: put by for this transaction and never linked.
        unsafe { cx.heap.free_record(SlotKind::Version, block) };
    }
}

/// Installs a write that [`prepare`] has seen.
#[inline]
pub(super) fn install<M: Machine, S: Scheme<M>>(
    cx: &mut Context<'_, M, S>,
    point: CommitPoint,
    write: &mut Write<M>,
    value: &[u8],
) {
    let record = write.record;
    record.word().store(write.prior | tid::LATCH, Ordering::Relaxed);
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
    let absent = if write.kind == Kind::Remove { tid::ABSENT } else { 0 };
    tid::publish(record.word(), point.order | absent);
}

/// The version in place, for the recorder: its bytes, and whether it is absent.
pub(super) fn current_version<M: Machine>(record: RecordRef<M>, out: &mut Vec<u8>) -> bool {
    let source = record.value();
    out.resize(source.length(), 0);
    source.read(out);
    record.word().load(Ordering::Relaxed) & tid::ABSENT != 0
}
