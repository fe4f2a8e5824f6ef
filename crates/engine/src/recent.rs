//! Which columns have changed of rows that were overwritten a moment ago.
//!
//! Whoever tells a client of a row waits until its version is durable. A row that everybody changes, as the one with a
//! balance of a whole branch, has hardly ever a durable version; but most who read it are told of its name. So this table
//! remembers for such rows how they came from an older version to the newest one. It may forget: then a row counts
//! by its version.
//!
//! A row has the slot to which its address leads, and shares it. An entry says: from the version `base` to the version
//! `word`, the row `record` has changed in `columns` at most. Versions are told by their words, which no row has twice, so
//! that an entry is true of them however late it is made or read.

use crate::record_word;
use chiliad_api::Columns;
use chiliad_machine::{Latch, Machine};

/// As many rows are changed again and again by all; of two in one slot the last one is remembered.
const SLOTS: usize = 256;

struct Entry {
    record: u64,
    base: u64,
    word: u64,
    columns: Columns,
}

/// One table for a database.
pub struct Recent<M: Machine> {
    /// None on simulated machines, where nobody is told of anything.
    slots: Box<[Latch<M, Option<Entry>>]>,
}

impl<M: Machine> Recent<M> {
    pub fn new() -> Self {
        let count = if M::SIMULATED { 0 } else { SLOTS };
        Self { slots: (0..count).map(|_| Latch::new(None)).collect() }
    }

    fn slot(&self, record: u64) -> Option<&Latch<M, Option<Entry>>> {
        // Fibonacci hashing, as for `Columns`; the lowest bits of an address say nothing.
        let hash = (record >> 3).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        self.slots.get(hash as usize % self.slots.len().max(1))
    }

    /// A commit has changed these columns of a row, from the version `prior` to the version `word`; all through `durable` is
    /// durable.
    pub fn note(&self, record: u64, (prior, word): (u64, u64), columns: Columns, durable: u64) {
        debug_assert!(prior < word, "a version is newer than the one before");
        let Some(slot) = self.slot(record) else { return };
        let mut entry = slot.lock();
        let goes_on = |it: &&Entry| (it.record, it.word) == (record, prior);
        let is_open = record_word::epoch(prior) > durable;
        *entry = Some(match entry.as_ref().filter(goes_on).filter(|_| is_open) {
            Some(it) => Entry { word, columns: it.columns.with(columns), ..*it },
            None => Entry { record, base: prior, word, columns },
        });
    }

    /// The epoch through which all must be durable, so that a client may be told of these columns of a row whose version is
    /// `word`; all through `durable` is.
    pub fn epoch_of(&self, record: u64, word: u64, columns: Columns, durable: u64) -> u64 {
        let epoch = record_word::epoch(word);
        let Some(slot) = self.slot(record).filter(|_| epoch > durable) else { return epoch };
        match &*slot.lock() {
            Some(it) if (it.record, it.word) == (record, word) && !it.columns.meets(columns) => {
                debug_assert!(it.base < word, "the version that it comes from is older");
                record_word::epoch(it.base)
            }
            _ => epoch,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Recent;
    use crate::record_word::first_of;
    use chiliad_api::{Columns, TableId};
    use chiliad_machine::Native;

    const RECORD: u64 = 0x1000;

    fn column(place: usize) -> Columns {
        Columns::of(TableId(1), place)
    }

    /// A row that changes in a column, from the version of one epoch to that of another.
    fn note(recent: &Recent<Native>, from: u64, to: u64, place: usize, durable: u64) {
        recent.note(RECORD, (first_of(from), first_of(to)), column(place), durable);
    }

    /// The epochs by which three columns count.
    fn epochs_of(recent: &Recent<Native>, word: u64, durable: u64) -> [u64; 3] {
        [0, 1, 2].map(|place| recent.epoch_of(RECORD, first_of(word), column(place), durable))
    }

    #[test]
    fn columns_that_stay_are_as_old_as_the_version_before() {
        let recent = Recent::new();
        note(&recent, 3, 5, 0, 3);
        assert_eq!(epochs_of(&recent, 5, 3), [5, 3, 3]);
        let epoch_of = |record, columns| recent.epoch_of(record, first_of(5), columns, 3);
        assert_eq!(epoch_of(RECORD, column(0).with(column(1))), 5, "one of them has changed");
        assert_eq!(epoch_of(RECORD, Columns::ALL), 5);
        assert_eq!(epoch_of(RECORD + 8, column(1)), 5, "another row");
        assert_eq!(epochs_of(&recent, 6, 3), [6; 3], "another version");
    }

    #[test]
    fn changes_add_up_until_they_are_durable() {
        let recent = Recent::new();
        note(&recent, 3, 5, 0, 3);
        note(&recent, 5, 6, 1, 3);
        assert_eq!(epochs_of(&recent, 6, 3), [6, 6, 3]);
        note(&recent, 6, 7, 2, 5);
        assert_eq!(epochs_of(&recent, 7, 5), [7; 3], "6 was not durable");
        note(&recent, 7, 8, 1, 7);
        assert_eq!(epochs_of(&recent, 8, 7), [7, 8, 7]);
    }

    #[test]
    fn a_change_that_was_not_told_breaks_the_chain() {
        let recent = Recent::new();
        note(&recent, 3, 5, 0, 3);
        // From 5 to 6 somebody has written the whole row.
        assert_eq!(epochs_of(&recent, 6, 3), [6; 3]);
        note(&recent, 6, 7, 0, 3);
        assert_eq!(epochs_of(&recent, 7, 3), [7, 6, 6]);
        // One that is told late is of its own versions alone.
        note(&recent, 5, 6, 1, 3);
        assert_eq!(epochs_of(&recent, 7, 3), [7; 3]);
    }
}
