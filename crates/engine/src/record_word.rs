//! The TID word (Tu, 2013, 4.1, with the separate data-version word of that design folded in).
//!
//! ```text
//!  63                    24 23              3    2     1      0
//! +------------------------+-----------------+------+--------+-------+
//! | commit epoch (40)      | counter (21)    | dead | absent | latch |
//! +------------------------+-----------------+------+--------+-------+
//! ```
//!
//! - **latch**: a transaction that is committing, or that has inserted the record, may write it.
//! - **absent**: the version is a tombstone, or a record that is being inserted.
//! - **dead**: the record has left its index. The word never returns to a value that somebody read.
//!
//! There are no bits for a core: per-record monotonicity is all that validation needs, and a
//! transaction is identified elsewhere. The TID of a version is greater than that of every version
//! that its transaction read or overwrote.
//!
//! A writer holds the latch, runs a release fence, changes the payload, and then stores the new
//! word, which is also the unlatching; a reader checks the word before and after copying. The
//! functions are generic over the word so that loom can check them.

use chiliad_machine::{Machine, Ordering, Spin, Word};

pub(crate) const LATCH: u64 = 1;
pub(crate) const ABSENT: u64 = 2;
pub(crate) const DEAD: u64 = 4;
pub(crate) const FLAGS: u64 = LATCH | ABSENT | DEAD;

const COUNTER_SHIFT: u32 = 3;
const COUNTER_BITS: u32 = 21;
pub(crate) const EPOCH_SHIFT: u32 = COUNTER_SHIFT + COUNTER_BITS;
const _: () = assert!(FLAGS == (1 << COUNTER_SHIFT) - 1, "the counter begins above the flags");

/// The commit epoch of a word's version.
#[inline]
pub(crate) fn epoch(word: u64) -> u64 {
    word >> EPOCH_SHIFT
}

/// The smallest TID of an epoch: those of earlier ones are below it, flags and all.
#[inline]
pub(crate) fn first_of(epoch: u64) -> u64 {
    debug_assert!(epoch >> (u64::BITS - EPOCH_SHIFT) == 0, "an epoch has 40 bits");
    epoch << EPOCH_SHIFT
}

/// The smallest TID above `greatest` in `epoch`, flags clear; `None` when the epoch's counter is
/// used up, which the transaction sits out until the next epoch (Tu, 2013, chapter 5).
#[inline]
pub(crate) fn next(greatest: u64, epoch: u64) -> Option<u64> {
    let first = first_of(epoch);
    let above = (greatest | FLAGS) + 1;
    debug_assert!(above > greatest && above & FLAGS == 0, "TIDs grow, flags clear");
    if above <= first {
        return Some(first);
    }
    (above >> EPOCH_SHIFT == epoch).then_some(above)
}

/// The first word of a slot's new life: no word that anybody saw in an earlier one, flags clear.
#[inline]
pub(crate) fn next_life(word: u64) -> u64 {
    debug_assert!(word < !FLAGS, "a slot has a life left");
    (word | FLAGS) + 1
}

/// Begins a slot's new life as an absent record, which nobody else has seen yet; `latch` is [`LATCH`] or
/// nothing.
#[inline]
pub(crate) fn begin_life<W: Word>(word: &W, latch: u64) {
    debug_assert!(latch & !LATCH == 0, "the latch or nothing");
    word.store(next_life(word.load(Ordering::Relaxed)) | ABSENT | latch, Ordering::Relaxed);
}

/// A timestamp as it stands in a word, flags clear.
#[inline]
pub(crate) fn word_of(timestamp: u64) -> u64 {
    debug_assert!(timestamp <= u64::MAX / (FLAGS + 1), "flags fit beside it");
    timestamp * (FLAGS + 1)
}

/// A word from which [`next_life`] comes to the life that `word` has begun.
#[inline]
pub(crate) fn life_before(word: u64) -> u64 {
    debug_assert!(word > FLAGS, "a life has begun");
    (word & !FLAGS) - 1
}

/// Takes the latch; `Err` with the word found if it is held or the record is dead.
#[inline]
pub(crate) fn try_latch<W: Word>(word: &W) -> Result<u64, u64> {
    let found = word.load(Ordering::Relaxed);
    if found & (LATCH | DEAD) != 0 {
        return Err(found);
    }
    // Acquire pairs with the release in `publish`: we see the version that we overwrite.
    word.compare_exchange(found, found | LATCH, Ordering::Acquire, Ordering::Relaxed)
}

/// Takes the latch of a record that is not dead, after its holder, who leaves within instructions; returns the word found.
pub(crate) fn latch<M: Machine>(word: &M::Word) -> u64 {
    let mut spin = Spin::<M>::new();
    loop {
        match try_latch(word) {
            Ok(found) => return found,
            Err(found) => {
                debug_assert!(found & DEAD == 0, "a record that is dead has no holder to wait for");
                spin.wait();
            }
        }
    }
}

/// Stores the latch holder's last word on the record, which unlatches it.
#[inline]
pub(crate) fn publish<W: Word>(word: &W, value: u64) {
    debug_assert!(value & LATCH == 0);
    // Release pairs with the acquire in `try_latch` and in readers: the payload comes first.
    word.store(value, Ordering::Release);
}

/// Unlatches a record that stays as it was. The caller holds the latch.
#[inline]
pub(crate) fn unlatch<W: Word>(word: &W) {
    publish(word, word.load(Ordering::Relaxed) & !LATCH);
}

/// Whether `word` still names the version that a reader saw, latched or not.
#[inline]
pub(crate) fn same_version(word: u64, seen: u64) -> bool {
    (word ^ seen) & !LATCH == 0
}

/// Whether `word` names the version of `order`.
#[inline]
pub(crate) fn same_order(word: u64, order: u64) -> bool {
    (word ^ order) & !FLAGS == 0
}

/// Whether `word` is that of a living record whose version, of `order`, is absent.
#[inline]
pub(crate) fn is_absence(word: u64, order: u64) -> bool {
    same_order(word, order) && word & (ABSENT | DEAD) == ABSENT
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tid_exceeds_what_was_seen_and_lies_in_its_epoch() {
        let seen = 7 << EPOCH_SHIFT | 9 << COUNTER_SHIFT | ABSENT;
        let same = next(seen, 7).expect("room");
        assert!(same > seen && epoch(same) == 7 && same & FLAGS == 0);
        assert_eq!(next(seen, 8), Some(8 << EPOCH_SHIFT));
        assert_eq!(next(0, 3), Some(3 << EPOCH_SHIFT));
    }

    #[test]
    fn a_life_that_did_not_count_begins_again() {
        for word in [0, 7 << EPOCH_SHIFT | DEAD, 9 << COUNTER_SHIFT | ABSENT] {
            let life = next_life(word);
            assert_eq!(next_life(life_before(life | ABSENT | LATCH)), life);
        }
    }

    #[test]
    fn a_full_counter_waits_for_the_next_epoch() {
        let full = 7 << EPOCH_SHIFT | ((1 << COUNTER_BITS) - 1) << COUNTER_SHIFT;
        assert_eq!(next(full, 7), None);
        assert_eq!(next(full, 8), Some(8 << EPOCH_SHIFT));
    }
}
