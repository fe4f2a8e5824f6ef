//! Which columns have changed of rows that were overwritten a moment ago.
//!
//! A row that all transactions change, such as a branch with its balance, hardly ever has the version any more that a
//! transaction has read of it, and its newest version is hardly ever durable. But most queries ask for the branch's name. So
//! this table remembers of rows that were overwritten a moment ago when each column has changed last. By that a scheme knows
//! whether a row differs from what was read where the transaction has looked, and a server, which shows what is
//! durable, whether what it shows of a row is.
//!
//! A version is named by its word, which no record has twice, so an entry stays true however late it is made or read. The
//! table may lose an entry: then nothing is known but the newest version.

use chiliad_api::Columns;
use chiliad_machine::{Fault, Latch, Machine, Rig, Shared};

static UNTOLD_CHANGE_PASSED_OVER: Fault = Fault {
    name: "untold-change-passed-over",
    step: "what is known of a record begins anew after a change of which nobody has said the columns",
    rig: Rig::SimSc,
    schemes: &["silo"],
    workload: "columns",
    expected: &["G-single", "G2", "G2-item", "G1c", "lost update"],
    seeds: 200,
};

/// The planted bugs of what is known of columns.
pub(crate) static FAULTS: &[&Fault] = &[&UNTOLD_CHANGE_PASSED_OVER];

/// Enough for the rows that all transactions change.
const SLOTS: usize = 256;
/// Sets of columns that an entry tells apart.
const SETS: usize = 4;
/// Simulated memory begins at a multiple of this, and has the same addresses in each run from there on.
const REGION_ALIGN: u64 = 2 << 20;

/// The changes of the record `record` between its versions `base` and `word`.
struct Entry {
    record: u64,
    base: u64,
    word: u64,
    /// Sets of columns, each with the version that has changed one of them last. Those that have changed are in one of them.
    changes: [(Columns, u64); SETS],
}

impl Entry {
    fn new(record: u64, base: u64) -> Self {
        Self { record, base, word: base, changes: [(Columns::NONE, 0); SETS] }
    }

    /// The version from which on none of these columns has changed, or a later one.
    fn last_change(&self, columns: Columns) -> u64 {
        debug_assert!(self.base <= self.word, "the entry tells what came after its base");
        let met = self.changes.iter().filter(|(changed, _)| changed.meets(columns));
        let last = met.map(|(_, word)| *word).fold(self.base, u64::max);
        debug_assert!(last <= self.word, "no column is newer than the record");
        last
    }

    /// The version `word` has changed these columns.
    fn add(&mut self, columns: Columns, word: u64) {
        debug_assert!(word > self.word, "a version is newer than the one before");
        self.word = word;
        let sets = &mut self.changes;
        if let Some(set) = sets.iter_mut().find(|(changed, _)| *changed == columns) {
            set.1 = word;
            return;
        }
        // The set that has rested longest makes room, and counts with the one that has rested longest but for it.
        sets.sort_unstable_by_key(|(_, word)| *word);
        sets[1].0 = sets[1].0.with(sets[0].0);
        sets[0] = (columns, word);
    }
}

type Slots<M> = [Latch<M, Option<Entry>>; SLOTS];

/// One table for a database. Records share slots, by where they lie.
pub struct Recent<M: Machine>(Option<Shared<M, Slots<M>>>);

impl<M: Machine> Recent<M> {
    /// A table that remembers, or one that knows nothing.
    pub fn new(remembers: bool) -> Self {
        Self(remembers.then(|| Shared::new(core::array::from_fn(|_| Latch::new(None)))))
    }

    fn slot(&self, record: u64) -> Option<&Latch<M, Option<Entry>>> {
        // Not `hash_of`: records of one size lie in a row, mostly, and these bits of the product spread some tens of them over
        // the few slots without a collision; of whole 16 bytes they do not.
        let place = record % REGION_ALIGN;
        let hash = (place >> 3).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        Some(&self.0.as_ref()?[hash as usize % SLOTS])
    }

    /// A commit has changed these columns of a record, from the version `prior` to the version `word`.
    pub fn note(&self, record: u64, (prior, word): (u64, u64), columns: Columns) {
        debug_assert!(prior < word, "a version is newer than the one before");
        let Some(slot) = self.slot(record) else { return };
        let mut slot = slot.lock();
        match &mut *slot {
            Some(entry)
                if (entry.record, entry.word) == (record, prior)
                    || entry.record == record && M::fault(&UNTOLD_CHANGE_PASSED_OVER) =>
            {
                entry.add(columns, word);
            }
            // A row that changes again and again keeps its slot against one that had long been as it was.
            Some(entry) if entry.record != record && prior < entry.base => {}
            _ => {
                let mut entry = Entry::new(record, prior);
                entry.add(columns, word);
                *slot = Some(entry);
            }
        }
    }

    /// The version from which on none of these columns of a record has changed, or a later one: at most `word`, the
    /// record's version.
    pub fn last_change(&self, record: u64, word: u64, columns: Columns) -> u64 {
        let Some(slot) = self.slot(record) else { return word };
        match &*slot.lock() {
            Some(it) if (it.record, it.word) == (record, word) => it.last_change(columns),
            _ => word,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record_word::first_of;
    use chiliad_api::TableId;
    use chiliad_machine::Native;

    const RECORD: u64 = 0x1000;
    /// Another record of the same slot.
    const NEIGHBOUR: u64 = RECORD + REGION_ALIGN;

    fn column(place: usize) -> Columns {
        Columns::of(TableId(1), place)
    }

    /// A row that changes in a column, from one version to another; versions are counted.
    fn note(recent: &Recent<Native>, record: u64, (from, to): (u64, u64), place: usize) {
        recent.note(record, (first_of(from), first_of(to)), column(place));
    }

    /// The versions in which three columns have changed last.
    fn changes(recent: &Recent<Native>, word: u64) -> [u64; 3] {
        let last_change = |place| recent.last_change(RECORD, first_of(word), column(place));
        [0, 1, 2].map(|place| crate::record_word::epoch(last_change(place)))
    }

    #[test]
    fn columns_that_stay_are_as_old_as_the_version_before() {
        let recent = Recent::new(true);
        note(&recent, RECORD, (3, 5), 0);
        assert_eq!(changes(&recent, 5), [5, 3, 3]);
        let of = |record, columns| recent.last_change(record, first_of(5), columns);
        assert_eq!(of(RECORD, column(0).with(column(1))), first_of(5), "one of them has changed");
        assert_eq!(of(RECORD, Columns::ALL), first_of(5));
        assert_eq!(of(RECORD, Columns::NONE), first_of(3), "the row was there before");
        assert_eq!(of(RECORD + 8, column(1)), first_of(5), "another row");
        assert_eq!(changes(&recent, 6), [6; 3], "another version");
        assert_eq!(Recent::<Native>::new(false).last_change(RECORD, 7, column(1)), 7);
    }

    #[test]
    fn each_column_counts_by_its_last_change() {
        let recent = Recent::new(true);
        note(&recent, RECORD, (3, 5), 0);
        note(&recent, RECORD, (5, 6), 1);
        assert_eq!(changes(&recent, 6), [5, 6, 3]);
        note(&recent, RECORD, (6, 7), 0);
        assert_eq!(changes(&recent, 7), [7, 6, 3]);
    }

    #[test]
    fn a_change_that_was_not_told_breaks_the_chain() {
        let recent = Recent::new(true);
        note(&recent, RECORD, (3, 5), 0);
        // From 5 to 6 somebody has written the whole row.
        assert_eq!(changes(&recent, 6), [6; 3]);
        note(&recent, RECORD, (6, 7), 0);
        assert_eq!(changes(&recent, 7), [7, 6, 6]);
        // One that is told late is of its own versions alone.
        note(&recent, RECORD, (5, 6), 1);
        assert_eq!(changes(&recent, 7), [7; 3]);
    }

    /// Against a plain model: what is told is never older than the truth, and is the truth as long as there are few sets.
    #[test]
    fn many_sets_are_told_apart_or_count_as_later() {
        for places in 1..=12 {
            let recent = Recent::new(true);
            let mut last = [1; 12];
            for version in 2..200_u64 {
                let place = (version * version % 31) as usize % places;
                note(&recent, RECORD, (version - 1, version), place);
                last[place] = version;
                for (place, &truth) in last.iter().enumerate() {
                    let told = recent.last_change(RECORD, first_of(version), column(place));
                    let told = crate::record_word::epoch(told);
                    let shares = (0..places).filter(|&it| column(it).meets(column(place))).count();
                    let is_exact = places <= SETS && shares <= 1;
                    assert!(told >= truth && (told == truth || !is_exact), "{place}: {told}");
                }
            }
        }
    }

    #[test]
    fn a_row_that_changes_often_keeps_its_slot() {
        let recent = Recent::new(true);
        note(&recent, RECORD, (3, 5), 0);
        note(&recent, NEIGHBOUR, (2, 6), 0);
        assert_eq!(changes(&recent, 5), [5, 3, 3], "the other one had rested for longer");
        note(&recent, NEIGHBOUR, (6, 7), 0);
        assert_eq!(changes(&recent, 5), [5; 3], "it has rested itself since");
    }
}
