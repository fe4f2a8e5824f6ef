//! A record under timestamp ordering: reading it, and announcing that it will be written.
//!
//! Beside the header word, whose TID is the write timestamp, a record has two words:
//!
//! | word | holds |
//! | --- | --- |
//! | read timestamp | of the youngest transaction that has read the version in place |
//! | claim | of the next writer: the worker's slot plus one, zero for nobody, or a collector |
//!
//! Reader and writer each write one of the two and then look at the other's (all sequentially
//! consistent), so that of a reader and an older writer at least one notices: the reader waits, or the
//! writer gives up. A claim carries no timestamp: the slot shows it (`oldest_active.rs`). Where the slot shows
//! another one by then the claim is over, and a new version in place, if it left one, shows in the
//! header word.

use super::faults;
use crate::arena::Arena;
use crate::record_word;
use crate::version;
use crate::version::Version;
use chiliad_machine::{Cost, Machine, Ordering, Spin, Word};
use chiliad_storage::{RecordRef, Slots};

/// The claim of a collector, which has no timestamp and no patience.
const COLLECTOR: u64 = u64::MAX;

/// The transaction to wait for, as a slot shows it.
#[derive(Clone, Copy)]
pub(super) struct Blocker {
    pub slot: u32,
    pub timestamp: u64,
}

/// How a look at a record went.
pub(super) enum Outcome<T> {
    Done(T),
    /// The record has left its index.
    Gone,
    /// An older transaction will write it.
    Wait(Blocker),
    /// A younger one has been there.
    TooLate,
}

/// The transaction that looks.
#[derive(Clone, Copy)]
pub(super) struct Reader<'a, M: Machine> {
    pub slots: &'a Slots<M>,
    pub slot: u32,
    pub now: u64,
    pub stamped: bool,
}

fn read_timestamp<'a, M: Machine>(record: RecordRef<M>) -> &'a M::Word {
    record.further(0)
}

fn claim_word<'a, M: Machine>(record: RecordRef<M>) -> &'a M::Word {
    record.further(1)
}

impl<M: Machine> Reader<'_, M> {
    fn own_claim(&self) -> u64 {
        u64::from(self.slot) + 1
    }

    /// The transaction of another's claim; `None`: ask again, it is over or soon will be.
    fn holder(&self, claim: u64) -> Option<Blocker> {
        if claim == COLLECTOR {
            return None;
        }
        debug_assert!(claim != 0, "zero stands for no claim");
        let slot = u32::try_from(claim - 1).expect("a slot");
        // Acquire pairs with the release in `OldestActive::leave`.
        let timestamp = self.slots.get(slot).timestamp.load(Ordering::Acquire);
        (timestamp != 0).then_some(Blocker { slot, timestamp })
    }

    /// Reads the version in place, which is older than the reader: `word`, found there. `None`: look
    /// again. `tracked`: nobody older may write from here on.
    #[inline]
    pub fn read(
        &self,
        record: RecordRef<M>,
        word: u64,
        arena: &mut Arena,
        tracked: bool,
    ) -> Option<Outcome<Version>> {
        debug_assert!(word & record_word::LATCH == 0, "nobody installs the version");
        if tracked {
            let read = read_timestamp(record);
            if read.load(Ordering::SeqCst) < self.now && !M::fault(&faults::READ_NOT_STAMPED) {
                read.fetch_max(self.now, Ordering::SeqCst);
            }
            let claim = claim_word(record).load(Ordering::SeqCst);
            let foreign = claim != 0 && claim != self.own_claim() && claim != COLLECTOR;
            if foreign && !M::fault(&faults::CLAIM_IGNORED) {
                match self.holder(claim) {
                    Some(holder) if holder.timestamp < self.now => {
                        return Some(Outcome::Wait(holder));
                    }
                    Some(_) => {}
                    None => return None,
                }
            }
        }
        version::copy_whole(record, word, arena, self.stamped).map(Outcome::Done)
    }

    /// Announces that the transaction will write the record: nobody else may until it has ended, nobody
    /// younger reads it, and nobody younger has. Says whether the claim is new.
    pub fn claim(&self, record: RecordRef<M>) -> Outcome<bool> {
        debug_assert!(self.now & record_word::FLAGS == 0, "timestamps are words without flags");
        M::work(Cost::Lock, 1);
        let claim = claim_word(record);
        let mut spin = Spin::<M>::new();
        loop {
            // Acquire pairs with `record_word::publish`, with the store in `begin_insert` and with the exchange in
            // `unlink::take_out_and`: a record that is found alive is not freed while we are pinned.
            let word = record.word().load(Ordering::Acquire);
            if word & record_word::DEAD != 0 {
                return Outcome::Gone;
            }
            match claim.compare_exchange(0, self.own_claim(), Ordering::SeqCst, Ordering::SeqCst) {
                Ok(_) => break,
                Err(found) if found == self.own_claim() => return Outcome::Done(false),
                Err(found) => match self.holder(found) {
                    Some(holder) if holder.timestamp < self.now => return Outcome::Wait(holder),
                    Some(_) => return Outcome::TooLate,
                    None => spin.wait(),
                },
            }
        }
        let word = record.word().load(Ordering::SeqCst);
        let read = read_timestamp(record).load(Ordering::SeqCst);
        let outcome = if word & record_word::DEAD != 0 {
            Outcome::Gone
        } else if word > self.now || read > self.now && !M::fault(&faults::WRITTEN_INTO_THE_PAST) {
            Outcome::TooLate
        } else {
            return Outcome::Done(true);
        };
        release(record);
        outcome
    }
}

/// Makes a record that nobody else has seen the transaction's own to write.
pub(super) fn claim_fresh<M: Machine>(record: RecordRef<M>, slot: u32) {
    claim_word(record).store(u64::from(slot) + 1, Ordering::Relaxed);
}

/// The absence that a placed record stands for has been read at `read`.
pub(super) fn raise<M: Machine>(record: RecordRef<M>, read: u64) {
    // Before the claim ends, so that the next claimant sees it.
    read_timestamp(record).fetch_max(read, Ordering::Relaxed);
}

/// Ends a claim.
#[inline]
pub(super) fn release<M: Machine>(record: RecordRef<M>) {
    // Release pairs with the next claim: its owner sees the version.
    claim_word(record).store(0, Ordering::Release);
}

/// Claims a record for a collector; whether nobody else has.
pub(super) fn claim_for_collection<M: Machine>(record: RecordRef<M>) -> bool {
    let claim = claim_word(record);
    // Looked at first: what is only read does not move from core to core.
    claim.load(Ordering::Relaxed) == 0
        && claim.compare_exchange(0, COLLECTOR, Ordering::SeqCst, Ordering::SeqCst).is_ok()
}

/// The read timestamp of a dead record: no transaction that finds it alive has failed to raise it.
pub(super) fn last_read<M: Machine>(record: RecordRef<M>) -> u64 {
    read_timestamp(record).load(Ordering::SeqCst)
}
