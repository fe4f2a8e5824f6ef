//! In which chains the locks of a segment were: what tells whether an epoch guard that is held can have one of them in sight
//! (`epoch_guard.rs`).
//!
//! Each lock has an entry of 16 bits. Whoever takes its locks from a leaf keeps the entries to itself, and writes them
//! down when the leaf is used up: two lines for the 64 of a leaf. To read the locks instead would take as many lines as
//! there are locks, which have gone cold by then; that took a sixth of all time with 500 threads on two cores.
//!
//! The last lock of a leaf is never used. Its flag (`valid.rs`) stands for the entries to come: as long as it is set
//! the segment is not empty, even if all that were used are done with.

use crate::epoch_guard::{Along, Chains};
use crate::valid::FLAGS_MAX;
use chiliad_machine::{Array, LINE_BYTES, Line, Machine, Ordering, Word};

/// Entries that share a word.
const TOGETHER: usize = 4;

const WORDS: usize = FLAGS_MAX as usize / TOGETHER;

/// The entries of a leaf, kept by the session that takes its locks.
pub(crate) struct Own([[Along; TOGETHER]; WORDS]);

impl Own {
    pub fn new() -> Self {
        Self([[Along::ANY; TOGETHER]; WORDS])
    }

    /// The lock at this place of the leaf goes into this chain.
    #[inline]
    pub fn note(&mut self, at: u32, chain: Along) {
        debug_assert!(at < FLAGS_MAX, "an entry for each lock");
        self.0.as_flattened_mut()[at as usize % FLAGS_MAX as usize] = chain;
    }

    fn words(&self) -> [u64; WORDS] {
        let fold = |word, entry: &Along| word << 16 | u64::from(entry.0);
        self.0.map(|entries| entries.iter().rev().fold(0, fold))
    }
}

/// The entries of a segment.
pub(crate) struct Trace<M: Machine>(Array<M, Line<[M::Word; WORDS]>>);

impl<M: Machine> Trace<M> {
    /// That of so many leaves.
    pub fn new(leaves: u32) -> Self {
        let zero = || Line(core::array::from_fn(|_| M::Word::new(0)));
        Self(Array::new(leaves as usize, zero))
    }

    /// Writes down those of a leaf.
    pub fn set(&self, leaf: u32, own: &Own) {
        for (word, entries) in self.0.get(leaf as usize).0.iter().zip(own.words()) {
            // Relaxed: the flag that is cleared afterwards publishes it.
            word.store(entries, Ordering::Relaxed);
        }
    }

    /// Prefetches the lines that [`Trace::meets`] reads.
    pub fn expect(&self) {
        let leaves = self.0.all();
        let lines = size_of_val(leaves) / LINE_BYTES;
        M::prefetch(leaves.as_ptr().cast(), lines as u32);
    }

    /// Whether a lock of the segment was in one of these chains.
    pub fn meets(&self, chains: &Chains) -> bool {
        self.0.all().iter().any(|leaf| {
            // Relaxed: the caller knows that the segment is empty.
            let words = leaf.0.each_ref().map(|word| word.load(Ordering::Relaxed));
            chains.iter().any(|chain| holds(&words, chain))
        })
    }
}

/// Whether one of the entries in these words is this. Compares those of a word at once.
#[inline]
fn holds(words: &[u64; WORDS], Along(chain): Along) -> bool {
    // The lowest and the highest bit of each entry.
    const LOW: u64 = u64::MAX / 0xffff;
    const HIGH: u64 = LOW << 15;
    let same = u64::from(chain) * LOW;
    let found = words.iter().fold(0, |found, word| {
        // An entry that is nothing borrows from its highest bit, and none else does but above such a one.
        let difference = word ^ same;
        found | (difference.wrapping_sub(LOW) & !difference & HIGH)
    });
    found != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_found_wherever_it_is() {
        for at in 0..FLAGS_MAX {
            let mut own = Own([[Along(0x7fff); TOGETHER]; WORDS]);
            own.note(at, Along(0x8000));
            let words = own.words();
            assert!(holds(&words, Along(0x8000)) && holds(&words, Along(0x7fff)));
            for other in [0, 1, 0x7ffe, 0x8001, 0xffff] {
                assert!(!holds(&words, Along(other)), "{other:#x} at {at}");
            }
        }
    }
}
