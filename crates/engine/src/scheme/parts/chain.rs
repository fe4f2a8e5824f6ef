//! Chains of older versions: blocks behind a record's value, from new to old, each with the header word
//! that it had when it was in place.
//!
//! Nobody changes a version that is in a chain. Whoever changes the chain holds the record, for the
//! scheme to say how; readers follow it at any time.
//!
//! How a version leaves its chain:
//!
//! - **It is cut off**, where snapshots go by timestamps (`mvcc`, snapshots under locks), and retired, so that readers can
//!   finish.
//! - **It expires**, under Silo: it is retired when all snapshots are younger than the commit that has overwritten it, and
//!   the link that leads to it stays. No reader follows such a link. A reader at boundary `b` goes on from a version only if
//!   that one is not below `b`. Let it be X, of an epoch at or above `b`, and L the version that its link leads to, which
//!   was overwritten by S. If S is X, L was overwritten at or above `b`, and has not expired while the reader is there. If
//!   S is older than X, no version was kept between L and X; so no boundary that anybody reads at lies between S and X
//!   (`Epochs::kept_below`), and S is not below `b` either.

use crate::arena::Arena;
use crate::record_word;
use crate::version::Version;
use chiliad_machine::{Machine, Ordering, Word};
use chiliad_storage::RecordRef;

/// The newest version in a chain whose word is below `limit`.
pub fn version_below<M: Machine>(
    chain: Option<RecordRef<M>>,
    limit: u64,
    arena: &mut Arena,
    stamped: bool,
) -> Option<Version> {
    let mut next = chain;
    while let Some(block) = next {
        let word = block.word().load(Ordering::Relaxed);
        if word < limit {
            M::mark("old version read");
            let absent = word & record_word::ABSENT != 0;
            let length = if absent && !stamped { 0 } else { block.length() };
            return Some(Version::new(absent, arena.fill(length, |target| block.read(target))));
        }
        // Acquire pairs with the release in `cut`, which may end the chain here. The block itself came with
        // the head of the chain.
        next = block.next(Ordering::Acquire);
    }
    None
}

/// The version whose word is below `limit`, of a record whose version in place is not: that one's word
/// is `word`. `None`: it has changed.
#[cold]
pub fn read_old<M: Machine>(
    record: RecordRef<M>,
    word: u64,
    limit: u64,
    arena: &mut Arena,
    stamped: bool,
) -> Option<Version> {
    debug_assert!(word >= limit, "what is in place is too young");
    // Acquire pairs with the release in `RecordRef::write_before`, which has hung the chain on the version in
    // place: its blocks are filled.
    let chain = record.value().next(Ordering::Acquire);
    // Acquire: the link is looked at before the word; pairs with the release fence in `install_before_old`,
    // so that the link of a later version shows the latch or that version's word.
    M::fence(Ordering::Acquire);
    if record.word().load(Ordering::Relaxed) != word {
        return None;
    }
    let version = version_below(chain, limit, arena, stamped);
    Some(version.unwrap_or_else(|| unborn(arena, stamped)))
}

/// The key did not exist yet: stamp zero, in a verified run.
pub fn unborn(arena: &mut Arena, stamped: bool) -> Version {
    let stamp = chiliad_api::stamp::make_absent(0);
    Version::new(true, arena.push(if stamped { &stamp } else { &[] }))
}

/// Copies the version in place, whose word is `word`, to `block`, at the head of `chain`.
pub fn put_by<M: Machine>(
    record: RecordRef<M>,
    block: RecordRef<M>,
    chain: Option<RecordRef<M>>,
    word: u64,
) -> RecordRef<M> {
    block.copy_from(record);
    block.word().store(word & !record_word::LATCH, Ordering::Relaxed);
    block.set_next(chain, Ordering::Relaxed);
    block
}

/// Shortens the chain of the versions below one whose word is `above` to those that readers at `oldest`
/// and later need, gives the others to `drop`, and returns what is left.
pub fn cut<M: Machine>(
    chain: Option<RecordRef<M>>,
    mut above: u64,
    oldest: u64,
    mut drop: impl FnMut(RecordRef<M>),
) -> Option<RecordRef<M>> {
    let mut kept: Option<RecordRef<M>> = None;
    let mut next = chain;
    // A version is needed while the one above it is not old enough for the oldest reader.
    while let Some(block) = next.filter(|_| above >= oldest) {
        above = block.word().load(Ordering::Relaxed);
        kept = Some(block);
        next = block.next(Ordering::Relaxed);
    }
    // Release pairs with the acquire in `version_below`: nothing to publish, but readers may be on their way
    // along the link.
    if let Some(last) = kept {
        last.set_next(None, Ordering::Release);
    }
    while let Some(block) = next {
        next = block.next(Ordering::Relaxed);
        M::mark("version collected");
        drop(block);
    }
    kept.and(chain)
}
