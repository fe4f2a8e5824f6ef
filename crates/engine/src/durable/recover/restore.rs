//! Records outside transactions: read as they stand, for checkpoints; and put back in place, by
//! recovery.
//!
//! While a database is recovered no scheme is at work, and the header word holds the order of the
//! version that is in place: the greatest one wins, whatever comes first. At the end the words become
//! zero: a version from before the incarnation, whichever scheme runs it.

use crate::record_word;
use crate::tables::table::Table;
use chiliad_api::stamp;
use chiliad_machine::{Fault, Machine, Ordering, Rig, Spin, Word};
use chiliad_storage::{
    Changes, Found, Inserted, Kind as SlotKind, LocalHeap, NoHooks, OutOfMemory, RecordRef,
};

/// Planted bug: the version that is read last wins, instead of the one with the greatest order.
pub static REPLAYED_AS_FOUND: Fault = Fault {
    name: "replayed-as-found",
    step: "of two versions of a key the one with the greater order is replayed",
    rig: Rig::Disk,
    schemes: &[],
    workload: "bank",
    expected: &["wrong state", "consistency"],
    seeds: 400,
};

/// The word that a record leaves in its slot. Transactions to come commit above what they find there,
/// and an order of an incarnation that is over may be ahead of all their epochs.
const FREED: u64 = record_word::DEAD;

/// The word of a part of a row of which no version has come yet: it is absent, and whatever comes is newer.
const UNKNOWN: u64 = record_word::ABSENT;

/// A version to be put in place.
#[derive(Clone, Copy)]
pub struct Restored<'a> {
    pub order: u64,
    pub absent: bool,
    pub value: &'a [u8],
}

/// The newest version of a record, without a transaction: appends its value to `out` and returns its
/// order; `None` if the key is absent. Waits for a writer that is installing. Pinned.
pub fn stable_read<M: Machine>(record: RecordRef<M>, out: &mut Vec<u8>) -> Option<u64> {
    let word = record.word();
    let start = out.len();
    let mut spin = Spin::<M>::new();
    loop {
        // Acquire pairs with the release of the word by the thread that installed: the payload is visible.
        let before = word.load(Ordering::Acquire);
        if before & (record_word::ABSENT | record_word::DEAD) != 0 {
            return None;
        }
        if before & record_word::LATCH == 0 {
            let source = record.value();
            out.resize(start + source.length(), 0);
            source.read(&mut out[start..]);
            // Acquire: the copy happens before the check; pairs with the release fence of writers.
            M::fence(Ordering::Acquire);
            if word.load(Ordering::Relaxed) == before {
                return Some(before & !record_word::FLAGS);
            }
            out.truncate(start);
        }
        spin.wait();
    }
}

/// Puts a version in place at `key`, which the table's index may or may not have, unless a newer one is
/// there. `found` is what the index has told; `changes` is room that is used and left empty.
pub fn put<M: Machine>(
    heap: &mut LocalHeap<M>,
    changes: &mut Changes<M>,
    table: &Table<M>,
    key: &[u8],
    found: Found<M>,
    version: Restored<'_>,
) -> Result<(), OutOfMemory> {
    debug_assert!(heap.is_pinned(), "what was found stays");
    let record = match found {
        Found::Record(record) => record,
        Found::Absent(_) => {
            let fresh = new_row(heap, table, version)?;
            let inserted = table.index.insert(heap, key, fresh, &mut NoHooks, changes);
            changes.clear();
            if !matches!(inserted, Ok(Inserted::Yes)) {
                fresh.row().for_each(|record| record.word().store(FREED, Ordering::Relaxed));
                // SAFETY: the index has not taken it, so nobody else has seen it.
                unsafe { heap.free_row(fresh) };
            }
            match inserted? {
                Inserted::Yes => return Ok(()),
                Inserted::Exists(record) => record,
            }
        }
    };
    match table.parts_of_row() {
        1 => replace(heap, record, version),
        _ => replace_part(heap, table, record, version),
    }
}

/// A row of which nothing is known but one version of one part.
fn new_row<M: Machine>(
    heap: &mut LocalHeap<M>,
    table: &Table<M>,
    version: Restored<'_>,
) -> Result<RecordRef<M>, OutOfMemory> {
    debug_assert!(table.part() < table.parts_of_row(), "a part of its rows");
    // A tombstone of a verified run is its stamp, which has to fit into any record.
    let least = if table.tombstone_stamps.is_some() { stamp::STAMP_BYTES } else { 0 };
    let bytes = |part| if part == table.part() { version.value.len().max(least) } else { least };
    let fresh = match table.parts_of_row() {
        1 => heap.alloc_record(SlotKind::Record, version.value.len())?,
        parts => heap.alloc_row((0..parts).map(bytes))?,
    };
    fresh.row().for_each(|record| record.word().store(UNKNOWN, Ordering::Relaxed));
    let own = table.of_row(fresh);
    if let Err(error) = put_value(heap, own, version.value) {
        fresh.row().for_each(|record| record.word().store(FREED, Ordering::Relaxed));
        // SAFETY: it was allocated here, and nobody has seen it.
        unsafe { heap.free_row(fresh) };
        return Err(error);
    }
    own.word().store(word_of(version), Ordering::Relaxed);
    Ok(fresh)
}

/// Whether a number can be the order of a version: orders leave room for the flags of a word.
pub fn is_order(number: u64) -> bool {
    number & record_word::FLAGS == 0
}

fn word_of(version: Restored<'_>) -> u64 {
    debug_assert!(version.order & record_word::FLAGS == 0, "{}", version.order);
    version.order | if version.absent { record_word::ABSENT } else { 0 }
}

/// Puts a version in the place of an older one.
fn replace<M: Machine>(
    heap: &mut LocalHeap<M>,
    record: RecordRef<M>,
    version: Restored<'_>,
) -> Result<(), OutOfMemory> {
    let prior = record_word::latch::<M>(record.word());
    M::enter_section();
    let replaced = replace_latched(heap, record, version, prior);
    record_word::publish(record.word(), *replaced.as_ref().unwrap_or(&prior));
    M::leave_section();
    replaced.map(|_| ())
}

/// As `replace`, of a part of the row at `first`, whose latch is for all parts. A part of which nothing was known gets a record
/// with room for its version.
fn replace_part<M: Machine>(
    heap: &mut LocalHeap<M>,
    table: &Table<M>,
    first: RecordRef<M>,
    version: Restored<'_>,
) -> Result<(), OutOfMemory> {
    if !table.is_group() {
        return replace(heap, first, version);
    }
    let prior = record_word::latch::<M>(first.word());
    M::enter_section();
    let mut record = table.of_row(first);
    let unknown = record.word().load(Ordering::Relaxed) == UNKNOWN;
    let mut replaced = Ok(());
    if unknown && version.value.len() > heap.room(record) {
        // SAFETY: nobody reads rows that are being recovered but under the latch of the first part.
        match unsafe { heap.exchange_part(first, table.part(), version.value.len()) } {
            Ok(exchanged) => record = exchanged,
            Err(error) => replaced = Err(error),
        }
    }
    if replaced.is_ok() {
        let found = record.word().load(Ordering::Relaxed);
        replaced = replace_latched(heap, record, version, found)
            .map(|word| record.word().store(word, Ordering::Relaxed));
    }
    // Release, in here, pairs with the acquire in `try_latch`.
    record_word::publish(first.word(), prior);
    M::leave_section();
    replaced
}

/// As `replace`, under the record's latch; returns the word that the record is to have.
fn replace_latched<M: Machine>(
    heap: &mut LocalHeap<M>,
    record: RecordRef<M>,
    version: Restored<'_>,
    prior: u64,
) -> Result<u64, OutOfMemory> {
    debug_assert!(prior & (record_word::LATCH | record_word::DEAD) == 0, "latched by the caller");
    let is_older = version.order <= prior & !record_word::FLAGS && prior != UNKNOWN;
    if is_older && !M::fault(&REPLAYED_AS_FOUND) {
        return Ok(prior);
    }
    put_value(heap, record, version.value)?;
    Ok(word_of(version))
}

/// Puts a value into a record in the place of what it has.
fn put_value<M: Machine>(
    heap: &mut LocalHeap<M>,
    record: RecordRef<M>,
    value: &[u8],
) -> Result<(), OutOfMemory> {
    debug_assert!(
        value.len() <= chiliad_storage::VALUE_BYTES_MAX + stamp::STAMP_BYTES,
        "it was checked"
    );
    let block = match value.len() > heap.room(record) {
        true => Some(heap.alloc_record(SlotKind::Version, value.len())?),
        false => None,
    };
    if let Some(old) = record.overflow() {
        // SAFETY: it leaves the record here; nobody reads records that are being recovered but under
        // their latch.
        unsafe { heap.free_record(SlotKind::Version, old) };
    }
    match block {
        Some(block) => {
            block.write(value);
            // Where it is put by as an older version, it is one from before the incarnation.
            block.word().store(0, Ordering::Relaxed);
            record.set_next(None, Ordering::Relaxed);
            record.set_overflow(block);
        }
        None => record.write_before(value, None),
    }
    Ok(())
}

/// The incarnation that the version in place belongs to is over: whatever comes is newer.
pub fn finalize<M: Machine>(record: RecordRef<M>) {
    let word = record.word();
    let found = word.load(Ordering::Relaxed);
    debug_assert!(found & record_word::LATCH == 0, "nobody is at it");
    word.store(found & record_word::ABSENT, Ordering::Relaxed);
}

/// Whether the version in place of a record that nobody writes is a row.
pub fn is_present<M: Machine>(record: RecordRef<M>) -> bool {
    record.word().load(Ordering::Relaxed) & (record_word::ABSENT | record_word::DEAD) == 0
}

/// Takes the row of `key` out of its index if its version is absent.
pub fn clear_away<M: Machine>(heap: &mut LocalHeap<M>, table: &Table<M>, key: &[u8]) {
    debug_assert!(heap.is_pinned(), "what is found stays");
    debug_assert!(!table.is_group(), "a row goes as a whole");
    let Found::Record(record) = table.index.get(heap, key) else {
        return;
    };
    let word = record.word().load(Ordering::Relaxed);
    if word & (record_word::ABSENT | record_word::DEAD) != record_word::ABSENT {
        return;
    }
    if let Some(tombstone_stamps) = &table.tombstone_stamps {
        let tombstone = record.value();
        let mut bytes = vec![0; tombstone.length()];
        tombstone.read(&mut bytes);
        tombstone_stamps.record(key, 1, stamp::read_absent(&bytes));
    }
    let mut confirm = |_: &_| {
        // Release pairs with the acquire in `stable_read`: a reader that still has the address finds the
        // record dead.
        record.row().for_each(|record| record.word().store(FREED, Ordering::Release));
        true
    };
    if table.index.unlink(heap, key, record, &mut NoHooks, &mut confirm) {
        for record in record.row() {
            // SAFETY: the row has left its index during this pin, by our hand.
            unsafe { heap.retire_record(SlotKind::Record, record) };
        }
    }
}
