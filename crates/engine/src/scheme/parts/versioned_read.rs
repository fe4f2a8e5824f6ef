//! Reading a record that may be modified in place (Tu, 2013, chapter 5, figure 5-2), in the present and
//! in the past.

use crate::arena::Arena;
use crate::contract::{Abort, Step};
use crate::record_word;
use crate::scheme::parts::chain;
use crate::version::{Version, current_version};
use chiliad_api::Reason;
use chiliad_machine::{Fault, Machine, Ordering, Rig, Spin, Word};
use chiliad_storage::RecordRef;

/// Waits on a latched record before the reader gives up. A holder is between its first latch and
/// its last write; one that lost its core may take longer than it is worth.
const PATIENCE: u32 = 4096;

pub static TORN_READ: Fault = Fault {
    name: "torn-read",
    step: "a copy is checked against the word after it was made",
    rig: Rig::SimSc,
    schemes: &[],
    workload: "scan",
    // Half a version, or a whole one that the snapshot does not contain.
    expected: &["read of unknown version", "G-single", "G2", "G2-item"],
    seeds: 1000,
};

/// The planted bugs of reading.
pub static FAULTS: &[&Fault] = &[&TORN_READ];

/// The newest version, with the word that names it, unless somebody is in the way, it is absent, or its word is not below
/// `limit`.
#[inline(always)]
pub fn newest_alone<M: Machine>(
    record: RecordRef<M>,
    arena: &mut Arena,
    limit: u64,
) -> Option<(u64, Version)> {
    let mark = arena.used();
    // Acquire pairs with `record_word::publish`: the payload of this word is visible.
    let word = record.word().load(Ordering::Acquire);
    if word & record_word::FLAGS != 0 || word >= limit {
        return None;
    }
    let version = intact(record, word, arena);
    if version.is_none() {
        arena.truncate(mark);
    }
    version.map(|version| (word, version))
}

/// Copies the version in place, whose word is `word`; `None`: it has changed meanwhile, and the copy may be torn.
#[inline(always)]
fn intact<M: Machine>(record: RecordRef<M>, word: u64, arena: &mut Arena) -> Option<Version> {
    let bytes = copy(record, arena);
    // Acquire: the copy above happens before the check below; pairs with the fence between
    // latching and writing, in silo's `commit_point` and in `in_place::install`.
    M::fence(Ordering::Acquire);
    let holds = record.word().load(Ordering::Relaxed) == word || M::fault(&TORN_READ);
    holds.then(|| Version::new(false, bytes))
}

/// An abort because `record` is latched by another transaction.
pub fn latched_too_long<M: Machine>(record: RecordRef<M>) -> Abort<M> {
    Abort::over(Reason::ReadLatched, record)
}

/// The newest version, with the word that names it.
#[inline]
pub fn present<M: Machine>(
    record: RecordRef<M>,
    arena: &mut Arena,
    stamped: bool,
) -> Step<M, (u64, Version)> {
    let word = record.word();
    let mark = arena.used();
    let mut spin = Spin::<M>::new();
    let mut waits = 0;
    loop {
        // Acquire pairs with `record_word::publish`: the payload of this word is visible.
        let before = word.load(Ordering::Acquire);
        if before & record_word::DEAD != 0 {
            return Step::Redo;
        }
        if before & record_word::ABSENT != 0 {
            match absent(record, before, arena, stamped) {
                Some(version) => return Step::Done((before & !record_word::LATCH, version)),
                None if before & record_word::LATCH != 0 => {
                    return Step::Abort(latched_too_long(record));
                }
                None => {}
            }
        } else if before & record_word::LATCH == 0 {
            if let Some(version) = intact(record, before, arena) {
                return Step::Done((before, version));
            }
        } else {
            waits += 1;
            if waits > PATIENCE {
                return Step::Abort(latched_too_long(record));
            }
            M::mark("read waited for a latch");
            spin.wait();
        }
        arena.truncate(mark);
    }
}

/// The bytes of the version in place, if that is the one of `word`, which nobody writes.
pub fn bytes_of<M: Machine>(record: RecordRef<M>, word: u64) -> Option<Vec<u8>> {
    debug_assert!(word & record_word::LATCH == 0, "nobody is in the way");
    let mut bytes = Vec::new();
    _ = current_version(record, &mut bytes);
    // Acquire: the copy happens before the check; pairs with the writer's fence as in `intact`.
    M::fence(Ordering::Acquire);
    (record.word().load(Ordering::Relaxed) == word).then_some(bytes)
}

/// The newest version, for who does not remember it.
pub fn peek<M: Machine>(
    record: RecordRef<M>,
    arena: &mut Arena,
    stamped: bool,
) -> Step<M, Version> {
    match present(record, arena, stamped).done() {
        Ok((_, version)) => Step::Done(version),
        Err(other) => other,
    }
}

/// An absent version needs no waiting for a latch: there is nothing to tear but the stamp, whose
/// check tells. `None`: the stamp is being changed.
fn absent<M: Machine>(
    record: RecordRef<M>,
    before: u64,
    arena: &mut Arena,
    stamped: bool,
) -> Option<Version> {
    let none = Version::new(true, arena.reserve(0));
    if !stamped {
        return Some(none);
    }
    let bytes = copy(record, arena);
    // Acquire: the copy happens before the check; pairs with the writer's fence as in `intact`.
    M::fence(Ordering::Acquire);
    let intact = record.word().load(Ordering::Relaxed) == before
        && chiliad_api::stamp::read_absent(arena.get(bytes)) != chiliad_api::stamp::TORN;
    intact.then(|| Version::new(true, bytes))
}

/// Copies the payload of the newest version, which may be torn: the check tells. In line always, as every
/// read of the present does nothing else.
#[inline(always)]
fn copy<M: Machine>(record: RecordRef<M>, arena: &mut Arena) -> crate::arena::Piece {
    let source = record.value();
    arena.fill(source.length(), |target| source.read(target))
}

/// The version that the snapshot at `boundary` contains: the newest of an epoch below it
/// (Tu, 2013, 4.7). Never aborts.
pub fn snapshot<M: Machine>(
    record: RecordRef<M>,
    boundary: u64,
    arena: &mut Arena,
    stamped: bool,
) -> Step<M, Version> {
    let word = record.word();
    let limit = record_word::first_of(boundary);
    debug_assert!(limit > 0, "zero stands for the present");
    let mark = arena.used();
    let mut spin = Spin::<M>::new();
    loop {
        arena.truncate(mark);
        // Acquire pairs with `record_word::publish`: the payload of this word is visible.
        let before = word.load(Ordering::Acquire);
        if before & record_word::DEAD != 0 {
            return Step::Redo;
        }
        if before < limit {
            if before & record_word::ABSENT != 0 {
                if let Some(version) = absent(record, before, arena, stamped) {
                    return Step::Done(version);
                }
            } else if before & record_word::LATCH == 0
                && let Some(version) = intact(record, before, arena)
            {
                return Step::Done(version);
            }
        } else if before & record_word::ABSENT != 0 {
            // A tombstone, or a placeholder whose slot's last life was late. Its holder may be in
            // user code, and need not be waited for: versions below the boundary stay in the chain
            // whatever is put in front of them. Acquire pairs with the release in `RecordRef::write_before`:
            // the blocks are filled.
            let chain = record.value().next(Ordering::Acquire);
            if let Some(version) = chain::version_below(chain, limit, arena, stamped) {
                return Step::Done(version);
            }
            if let Some(version) = absent(record, before, arena, stamped) {
                return Step::Done(version);
            }
        } else if before & record_word::LATCH == 0 {
            // Acquire pairs with the releases in `RecordRef::write_before` and in the collector's `shorten`.
            let chain = record.value().next(Ordering::Acquire);
            // Acquire: the link is looked at before the word; pairs with the fences of `commit_point` and
            // `shorten`, so that a link of theirs shows the latch or a later word.
            M::fence(Ordering::Acquire);
            if word.load(Ordering::Relaxed) == before {
                let version = chain::version_below(chain, limit, arena, stamped);
                return Step::Done(version.unwrap_or_else(|| chain::unborn(arena, stamped)));
            }
        }
        // A holder is about to overwrite what we came for: it will put it by.
        spin.wait();
    }
}
