//! The lock word of a record under policies under which transactions wait.
//!
//! ```text
//!  63                                21 20          4     3         2       1        0
//! +------------------------------------+-------------+---------+-------+--------+--------+
//! | who                                | readers     | upgrade | taken | writer | queued |
//! +------------------------------------+-------------+---------+-------+--------+--------+
//! ```
//!
//! - **queued**: others wait, or nobody is to join the readers: whoever releases the lock hands it on
//!   (`queue.rs`).
//! - **taken**: the record is leaving its index.
//! - **upgrade**: one of the readers waits to be the only one, and to write.
//! - **who**, while the lock is held: by age, how old the oldest was of those who have held it together; otherwise
//!   the slot of the writer, or for each reader the bit of its slot, which others may share.
//!
//! Where nobody waits, locking and unlocking change the word once each, and a refused transaction has only read it.
//! Functions over the word, so that loom can check them.

use super::faults;
use super::word::Mode;
use chiliad_machine::{Machine, Ordering, Spin, Word};

pub(super) const QUEUED: u64 = 1;
const WRITER: u64 = 1 << 1;
const TAKEN: u64 = 1 << 2;
pub(super) const UPGRADE: u64 = 1 << 3;
pub(super) const READER: u64 = 1 << 4;
/// As many as there are workers.
const READERS_BITS: u32 = 17;
const READERS: u64 = ((1 << READERS_BITS) - 1) * READER;
const WHO_SHIFT: u32 = READER.ilog2() + READERS_BITS;
/// Bits of an age.
pub(super) const WHO_BITS: u32 = u64::BITS - WHO_SHIFT;
const WHO_MASK: u64 = (1 << WHO_BITS) - 1;
const _: () = assert!(chiliad_storage::WORKERS_MAX < 1 << READERS_BITS, "all may read");

/// A transaction's request for a lock.
#[derive(Clone, Copy)]
pub(super) struct Claim {
    /// The slot of its worker.
    pub slot: u32,
    pub mode: Mode,
    /// How old it is, where that decides; see [`is_older`].
    pub age: Option<u64>,
}

/// Whether the age `one` is that of a transaction older than one of age `other`. Ages are numbers of [`WHO_BITS`] bits,
/// which begin anew; those of transactions that meet are not half as far apart.
pub(super) fn is_older(one: u64, other: u64) -> bool {
    debug_assert!(one <= WHO_MASK && other <= WHO_MASK, "ages have so many bits");
    let ahead = other.wrapping_sub(one) & WHO_MASK;
    ahead != 0 && ahead <= WHO_MASK / 2
}

impl Claim {
    /// The word of a lock that this claim alone holds.
    pub fn alone(self) -> u64 {
        debug_assert!((self.slot as usize) < chiliad_storage::WORKERS_MAX, "a slot that there is");
        debug_assert!(self.age.is_none_or(|age| age <= WHO_MASK), "ages have so many bits");
        let who = match (self.mode, self.age) {
            (_, Some(age)) => age & WHO_MASK,
            (Mode::Owned, None) => u64::from(self.slot),
            (Mode::Shared, None) => 1 << (self.slot % WHO_BITS),
        };
        let held = if self.mode == Mode::Owned { WRITER } else { READER };
        who << WHO_SHIFT | held
    }

    /// The same, where others may wait as `found` says.
    pub fn alone_in(self, found: u64) -> u64 {
        found & QUEUED | self.alone()
    }

    /// The word of a lock that this claim holds beside those of `found`; `None`: one of these is in its way.
    pub fn beside(self, found: u64) -> Option<u64> {
        if !is_held(found) {
            return Some(self.alone_in(found));
        }
        if self.mode == Mode::Owned || found & WRITER != 0 {
            return None;
        }
        let (others, own) = (found >> WHO_SHIFT, self.alone() >> WHO_SHIFT);
        let who = match self.age {
            None => others | own,
            Some(age) if is_older(age, others) => own,
            // Neither is older than the other, and so neither may wait for the other: the lock is held by someone older.
            Some(_) if own == others => own.wrapping_sub(1) & WHO_MASK,
            Some(_) => others,
        };
        let counted = found + READER;
        Some(who << WHO_SHIFT | counted & !(WHO_MASK << WHO_SHIFT))
    }

    /// As [`Claim::beside`], where a planted bug grants a writer a lock that others read.
    pub fn beside_readers<M: Machine>(self, found: u64) -> Option<u64> {
        let overlooks = self.mode == Mode::Owned && found & WRITER == 0;
        (overlooks && M::fault(&faults::GRANTED_BESIDE_READERS)).then(|| self.alone_in(found))
    }

    /// Whether this claim is older than all that hold the lock.
    pub fn is_oldest(self, found: u64) -> bool {
        self.age.is_some_and(|age| !is_held(found) || is_older(age, found >> WHO_SHIFT))
    }

    /// The same, of one that holds the lock itself, with others.
    pub fn is_the_oldest_of(self, found: u64) -> bool {
        debug_assert!(is_held(found), "it holds the lock itself");
        self.age.is_some_and(|age| age == found >> WHO_SHIFT)
    }
}

/// Whether anybody holds the lock.
pub(super) fn is_held(word: u64) -> bool {
    word & (WRITER | READERS) != 0
}

/// Whether others wait, or readers are kept off.
pub(super) fn is_queued(word: u64) -> bool {
    word & QUEUED != 0
}

/// How many read.
pub(super) fn readers(word: u64) -> u64 {
    (word & READERS) / READER
}

/// Whether a worker may be among the holders that a word of a lock without ages tells of.
pub(super) fn may_hold(word: u64, slot: u32) -> bool {
    let who = word >> WHO_SHIFT;
    match word & WRITER {
        0 => who >> (slot % WHO_BITS) & 1 != 0,
        _ => who == u64::from(slot),
    }
}

/// The slots of workers below `end` that may be among these holders.
pub(super) fn holders(word: u64, end: u32) -> impl Iterator<Item = u32> {
    debug_assert!(end as usize <= chiliad_storage::WORKERS_MAX, "slots that there are");
    let writer = word & WRITER != 0;
    let slot = (word >> WHO_SHIFT) as u32;
    let (first, step) = if writer { (slot, end.max(1)) } else { (0, 1) };
    let slots = (first..end).step_by(step as usize);
    slots.filter(move |&slot| may_hold(word, slot))
}

/// The word, once the record is not leaving its index.
#[inline]
pub(super) fn load<M: Machine>(word: &M::Word) -> u64 {
    let mut spin = Spin::<M>::new();
    loop {
        // Relaxed: a hint, until it is exchanged.
        let found = word.load(Ordering::Relaxed);
        if found & TAKEN == 0 {
            return found;
        }
        spin.wait();
    }
}

/// Takes the lock unless somebody is in the way, or waits: `Err` with the word that says so.
#[inline]
pub(super) fn try_lock<M: Machine>(word: &M::Word, claim: Claim) -> Result<(), u64> {
    loop {
        let found = load::<M>(word);
        let beside = claim.beside(found).filter(|_| found & QUEUED == 0);
        let Some(locked) = beside else { return Err(found) };
        // Acquire pairs with the releases in `try_unlock` and `give_back`.
        if word.compare_exchange(found, locked, Ordering::Acquire, Ordering::Relaxed).is_ok() {
            return Ok(());
        }
    }
}

/// The claim of a reader becomes the writer's, if it is the only one. Who waits has been refused the same or waits for
/// the lock to be free, so it goes first.
#[inline]
pub(super) fn try_upgrade<M: Machine>(word: &M::Word, claim: Claim) -> Result<(), u64> {
    debug_assert!(claim.mode == Mode::Owned, "it wants to write");
    let mut found = word.load(Ordering::Relaxed);
    while readers(found) == 1 {
        let locked = claim.alone_in(found);
        // Acquire pairs with the other readers' releases in `try_unlock`: they have read.
        match word.compare_exchange(found, locked, Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => return Ok(()),
            Err(now) => found = now,
        }
    }
    Err(found)
}

/// Gives the lock back, unless the caller has to hand it to one who waits: `false`, and it still holds it.
#[inline]
pub(super) fn try_unlock<M: Machine>(word: &M::Word, claim: Claim) -> bool {
    // Release, both, pairs with the acquires of the next owners: our reads have been made, our writes are there.
    if claim.mode == Mode::Owned {
        let alone = claim.alone();
        return word.compare_exchange(alone, 0, Ordering::Release, Ordering::Relaxed).is_ok();
    }
    loop {
        let found = word.load(Ordering::Relaxed);
        let left = without(found, claim.mode);
        debug_assert!(readers(left) <= readers(found), "one reader less, if any");
        let last = readers(left) == 0 || readers(left) == 1 && left & UPGRADE != 0;
        if left & QUEUED != 0 && last {
            return false;
        }
        // Release pairs with the acquires of the next owners, as above.
        if word.compare_exchange(found, left, Ordering::Release, Ordering::Relaxed).is_ok() {
            return true;
        }
    }
}

/// The word of a lock when one of its holders has left it.
pub(super) fn without(found: u64, mode: Mode) -> u64 {
    match (mode, readers(found)) {
        (Mode::Owned, _) | (Mode::Shared, 1) => found & QUEUED,
        // Under a planted bug alone: the word has forgotten its readers.
        (Mode::Shared, 0) => found,
        (Mode::Shared, _) => found - READER,
    }
}

/// Keeps further readers off a lock that is read, until it is free: for a transaction that is refused again and again,
/// by readers that come and go and of whom the word still says how old the oldest was that there ever was.
#[cold]
pub(super) fn close<M: Machine>(word: &M::Word, found: u64) {
    if readers(found) > 0 && found & QUEUED == 0 {
        M::mark("readers kept off");
        // Relaxed: the bit alone. That it fails is as well: another reader has come or gone.
        _ = word.compare_exchange(found, found | QUEUED, Ordering::Relaxed, Ordering::Relaxed);
    }
}

/// Takes a lock that nobody holds or waits for, for a moment; whoever wants it meanwhile spins.
pub(super) fn try_take<W: Word>(word: &W) -> bool {
    // Acquire pairs with the releases in `try_unlock` and `give_back`.
    word.compare_exchange(0, TAKEN, Ordering::Acquire, Ordering::Relaxed).is_ok()
}

/// Ends a [`try_take`].
pub(super) fn give_back<W: Word>(word: &W) {
    debug_assert!(word.load(Ordering::Relaxed) == TAKEN, "nobody takes or awaits it meanwhile");
    // Release pairs with the acquire in `try_lock`.
    word.store(0, Ordering::Release);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(slot: u32, mode: Mode, age: Option<u64>) -> Claim {
        Claim { slot, mode, age }
    }

    #[test]
    fn readers_are_together_and_a_writer_alone() {
        for age in [None, Some(7)] {
            let reads = claim(3, Mode::Shared, age).beside(0).expect("free");
            let both = claim(4, Mode::Shared, age.map(|age| age + 1)).beside(reads).expect("read");
            assert_eq!((readers(reads), readers(both)), (1, 2));
            assert_eq!(claim(5, Mode::Owned, age).beside(both), None);
            let writes = claim(3, Mode::Owned, age).beside(0).expect("free");
            assert_eq!(claim(4, Mode::Shared, age).beside(writes), None);
        }
    }

    #[test]
    fn the_word_says_who_may_hold_it() {
        let writes = claim(300, Mode::Owned, None).alone();
        assert_eq!(holders(writes, 1000).collect::<Vec<_>>(), [300]);
        let reads = claim(1, Mode::Shared, None).alone();
        let both = claim(44, Mode::Shared, None).beside(reads).expect("read");
        assert_eq!(holders(both, 90).collect::<Vec<_>>(), [1, 44, 87], "and slots of the same bit");
        assert_eq!(holders(both, 44).collect::<Vec<_>>(), [1]);
    }

    #[test]
    fn the_oldest_is_known() {
        let reads = claim(0, Mode::Shared, Some(5)).alone();
        let both = claim(1, Mode::Shared, Some(9)).beside(reads).expect("read");
        assert!(claim(2, Mode::Owned, Some(4)).is_oldest(both));
        assert!(!claim(2, Mode::Owned, Some(5)).is_oldest(both));
        assert!(claim(0, Mode::Owned, Some(5)).is_the_oldest_of(both));
        let older = claim(2, Mode::Shared, Some(4)).beside(both).expect("read");
        assert!(!claim(0, Mode::Owned, Some(5)).is_the_oldest_of(older));
        let equal = claim(3, Mode::Shared, Some(4)).beside(older).expect("read");
        assert!(!claim(2, Mode::Owned, Some(4)).is_the_oldest_of(equal), "neither is older");
    }

    #[test]
    fn ages_begin_anew() {
        assert!(is_older(WHO_MASK, 0) && !is_older(0, WHO_MASK));
        assert!(is_older(1, 2) && !is_older(2, 2));
    }
}
