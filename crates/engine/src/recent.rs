//! Which columns have changed of rows that were overwritten a moment ago.
//!
//! A server shows a client a row only when the row's version is durable. The newest version of a row that all
//! transactions change, such as a branch with its balance, hardly ever is; but most queries ask for the branch's name. So
//! this table remembers, for rows that were overwritten a moment ago, in which columns the newest version differs from
//! an older one. It may lose an entry: then the row counts by its newest version.
//!
//! Records share slots, by the hash of their address. An entry says that the record `record` has changed in no other columns
//! than `columns` from the version `base` to the version `word`. A version is named by its word, which no record has twice, so
//! an entry stays true however late it is made or read.

use crate::record_word;
use chiliad_api::Columns;
use chiliad_machine::{Latch, Machine};

/// Enough for the rows that all transactions change. Of two records in one slot the one that changed last has it.
const SLOTS: usize = 256;

struct Entry {
    record: u64,
    base: u64,
    word: u64,
    columns: Columns,
}

/// One table for a database.
pub struct Recent<M: Machine> {
    /// None on simulated machines, where no client is shown anything.
    slots: Box<[Latch<M, Option<Entry>>]>,
}

impl<M: Machine> Recent<M> {
    pub fn new() -> Self {
        let count = if M::SIMULATED { 0 } else { SLOTS };
        Self { slots: (0..count).map(|_| Latch::new(None)).collect() }
    }

    fn slot(&self, record: u64) -> Option<&Latch<M, Option<Entry>>> {
        // Not `hash_of`: records of one size lie in a row, mostly, and these bits of the product spread some tens of them over
        // the few slots without a collision; of whole 16 bytes they do not.
        let hash = (record >> 3).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        self.slots.get(hash as usize % self.slots.len().max(1))
    }

    /// A commit has changed these columns of a record, from the version `prior` to the version `word`. All epochs through
    /// `durable` are durable.
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

    /// The commit epoch by which these columns count of a record whose version is `word`: a client may be shown them when that
    /// is durable. All epochs through `durable` are.
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
