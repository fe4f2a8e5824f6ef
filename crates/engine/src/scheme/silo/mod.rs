//! Silo: optimistic, with decentralised TIDs and epochs (Tu, 2013, 4 and 5).
//!
//! Readers write nothing shared. A transaction remembers the TID word of each record that it read
//! (*read set*) and the membership count of each leaf in which it missed a key or scanned (*node
//! set*). To commit it
//!
//! 1. latches the records that it writes, in the order of their addresses once it has met a foreign latch;
//! 2. runs a full fence, opens its commit window and loads the commit epoch in it (not at begin, as
//!    Tu (2013) has it; see `epoch.rs`);
//! 3. validates that every word and count is as it was and that nobody else holds a latch on a
//!    record it read;
//! 4. takes the smallest TID in the epoch above all that it read, overwrote or gave out before;
//! 5. installs: old version put by if a snapshot may need it, payload, new word, which unlatches.
//!
//! Three names: `silo`; `global-tid`, whose TIDs come from one shared counter (6.4); and
//! `key-value`, which tracks and validates nothing, so that each operation is atomic and a
//! transaction is not (6.3).
//!
//! Inserts (4.5): an absent record is placed in the index before the commit, latched from the start. A reader that
//! meets it reads "absent" without waiting and notices at its own commit. The node
//! set is fixed up for the leaf changes that the transaction makes itself. Deletes: the tombstone is
//! an ordinary version; `collect.rs` takes the record out of the index later and leaves its TID in
//! the leaf's guard (the *minimum insert TID*), so that a later insertion of the same key commits above it.

mod collect;
mod commit;
mod faults;
#[cfg(test)]
mod models;
mod renewals;
pub(super) use commit::drop_version;

pub use faults::FAULTS;

use self::renewals::Renewals;
use crate::Options;
use crate::access::WriteSet;
use crate::arena::Arena;
use crate::contract::{
    Abort, CommitPoint, Context, Needs, NoLockTable, Renewed, Scheme, Step, Tables,
};
use crate::epoch::Epochs;
use crate::gaps::Gaps;
use crate::recent::Recent;
use crate::record_word;
use crate::scheme::SchemeName;
use crate::scheme::parts::min_insert_tid::{self, MinInsertTids};
use crate::scheme::parts::opacity::Opacity;
use crate::scheme::parts::versioned_read;
use crate::version::Version;
use chiliad_api::{Columns, Info, Intent, Part};
use chiliad_machine::{Machine, Word};
use chiliad_storage::{Change, LocalHeap, RecordRef, Seen};

const SILO: u8 = 0;
const GLOBAL_TID: u8 = 1;
const KEY_VALUE: u8 = 2;

/// Decentralised optimistic concurrency control.
pub type Silo<M> = Optimistic<M, SILO>;
/// Silo with TIDs from one counter.
pub type GlobalTid<M> = Optimistic<M, GLOBAL_TID>;
/// The store of Silo without transactions.
pub type KeyValue<M> = Optimistic<M, KEY_VALUE>;

/// A record that was read, and the header word then.
struct Read<M: Machine> {
    record: RecordRef<M>,
    word: u64,
}

/// One worker's part of the scheme, in one of its three variants.
pub struct Optimistic<M: Machine, const VARIANT: u8> {
    reads: Vec<Read<M>>,
    renewals: Renewals<M>,
    /// The boundary read at, or zero for a transaction of the present.
    snapshot: u64,
    /// The last TID given out by this worker.
    last: u64,
    /// The epoch in which the first read took place, or the last look at all that was read.
    first_epoch: u64,
    opacity: Opacity,
    /// How many of the next commits latch in the order of addresses at once.
    in_order: u32,
}

/// State shared by all workers.
pub struct Global<M: Machine> {
    /// The next TID of `global-tid`.
    counter: M::Word,
    /// Ticks to wait between looks at a boundary that is due.
    interval: u64,
}

impl<M: Machine, const VARIANT: u8> Optimistic<M, VARIANT> {
    /// Whether reads are remembered and validated.
    const TRACKS: bool = VARIANT != KEY_VALUE;
}

impl<M: Machine, const VARIANT: u8> Scheme<M> for Optimistic<M, VARIANT> {
    const INFO: Info = match VARIANT {
        SILO => SchemeName::Silo.info(),
        GLOBAL_TID => SchemeName::GlobalTid.info(),
        _ => SchemeName::KeyValue.info(),
    };

    const NEEDS: Needs = Needs {
        watches_gaps: Self::TRACKS,
        versions_expire: true,
        carries_additions: true,
        knows_columns: VARIANT == SILO,
        ..Needs::NOTHING
    };

    type Shared = Global<M>;
    type LeafHooks = MinInsertTids;
    type LockTable = NoLockTable;

    fn shared(options: &Options) -> Global<M> {
        Global { counter: M::Word::new(1), interval: options.epoch_ticks::<M>() }
    }

    fn new() -> Self {
        Self {
            reads: Vec::with_capacity(64),
            renewals: Renewals::new(),
            snapshot: 0,
            last: 0,
            first_epoch: 0,
            opacity: Opacity::new(),
            in_order: 0,
        }
    }

    #[inline]
    fn begin(&mut self, cx: &mut Context<'_, M, Self>, intent: &Intent<'_>) -> Step<M, ()> {
        debug_assert!(self.snapshot == 0, "the last snapshot has ended");
        self.reads.clear();
        self.renewals.clear();
        self.snapshot = 0;
        self.first_epoch = 0;
        self.opacity = Opacity::new();
        if intent.snapshot && cx.snapshots {
            let slots = &cx.heap.shared().slots;
            let part = cx.clockwork.switch(Part::Wait);
            let acquired =
                cx.epochs.acquire_snapshot(slots, cx.heap.slot(), cx.shared.interval, cx.limits);
            cx.clockwork.switch(part);
            match acquired {
                Ok(boundary) => self.snapshot = boundary,
                Err(ended) => return Step::Abort(ended.into()),
            }
        } else if M::fault(&faults::EPOCH_AT_BEGIN) {
            self.first_epoch = cx.epochs.current();
        }
        Step::Done(())
    }

    #[inline]
    fn read(
        &mut self,
        cx: &mut Context<'_, M, Self>,
        record: RecordRef<M>,
        arena: &mut Arena,
        _writes: &WriteSet<M>,
    ) -> Step<M, Version> {
        if self.snapshot != 0 {
            return versioned_read::snapshot(record, self.snapshot, arena, cx.stamped);
        }
        let (word, version) = match versioned_read::present(record, arena, cx.stamped).done() {
            Ok(found) => found,
            Err(other) => return other,
        };
        if Self::TRACKS {
            self.reads.push(Read { record, word });
            if cx.opacity
                && let Err(abort) = self.stay_opaque(cx, word)
            {
                return Step::Abort(abort);
            }
        }
        Step::Done(version)
    }

    #[inline(always)]
    fn read_alone(
        &mut self,
        record: RecordRef<M>,
        arena: &mut Arena,
        gaps: &Gaps<M>,
        opaque: Option<&Epochs<M>>,
    ) -> Option<Version> {
        if self.snapshot != 0 {
            let limit = record_word::first_of(self.snapshot);
            return versioned_read::newest_alone(record, arena, limit).map(|(_, version)| version);
        }
        let (word, version) = versioned_read::newest_alone(record, arena, u64::MAX)?;
        if Self::TRACKS {
            let size = self.reads.len() + 1 + gaps.len();
            if let Some(epochs) = opaque
                && !self.stays_quiet(epochs, size, word)
            {
                arena.truncate(version.bytes().start() as usize);
                return None;
            }
            debug_assert!(word & record_word::FLAGS == 0, "nobody is in the way");
            self.reads.push(Read { record, word });
        }
        Some(version)
    }

    fn peek(record: RecordRef<M>, arena: &mut Arena, stamped: bool) -> Step<M, Version> {
        versioned_read::peek(record, arena, stamped)
    }

    #[inline]
    fn observe_leaf(&mut self, cx: &mut Context<'_, M, Self>, seen: Seen<M>) -> Step<M, ()> {
        if Self::TRACKS && self.snapshot == 0 && !M::fault(&faults::NO_NODE_SET) {
            cx.gaps.add(seen);
            if cx.opacity
                && let Err(abort) = self.stay_opaque(cx, 0)
            {
                return Step::Abort(abort);
            }
        }
        Step::Done(())
    }

    #[inline]
    fn begin_insert(&mut self, _cx: &mut Context<'_, M, Self>, record: RecordRef<M>) {
        record_word::begin_life(record.word(), record_word::LATCH);
    }

    #[inline]
    fn after_insert(
        &mut self,
        cx: &mut Context<'_, M, Self>,
        placed: Option<RecordRef<M>>,
        changes: &[Change<M>],
    ) -> Step<M, ()> {
        min_insert_tid::apply(placed, changes);
        cx.gaps.fix_up(changes, M::fault(&faults::OWN_CHANGES_FORGIVEN));
        Step::Done(())
    }

    fn validate(
        &mut self,
        cx: &mut Context<'_, M, Self>,
        writes: &WriteSet<M>,
    ) -> Result<(), Abort<M>> {
        self.check(cx, Some(writes))
    }

    #[inline]
    fn prepare(
        &mut self,
        cx: &mut Context<'_, M, Self>,
        writes: &mut WriteSet<M>,
    ) -> Result<CommitPoint, Abort<M>> {
        self.commit_point(cx, writes)
    }

    #[inline]
    fn install(
        &mut self,
        cx: &mut Context<'_, M, Self>,
        point: CommitPoint,
        writes: &mut WriteSet<M>,
        index: usize,
        value: &[u8],
    ) {
        self.install_one(cx, point, &mut writes.entries[index], value);
    }

    fn skip_write(&mut self, record: RecordRef<M>) {
        record_word::unlatch(record.word());
    }

    #[inline]
    fn seen_epoch(&self, gaps: &Gaps<M>) -> u64 {
        // The TIDs of `global-tid` have no epoch, and a snapshot remembers nothing.
        if VARIANT != SILO || self.snapshot != 0 {
            return u64::MAX;
        }
        // A removed row that has left its leaf is one of those that the leaf's minimum insert TID stands for.
        let newest = self.reads.iter().map(|read| read.word).max().unwrap_or(0);
        record_word::epoch(newest.max(gaps.min_insert_tid()))
    }

    #[cold]
    fn seen_epoch_of(
        &self,
        recent: &Recent<M>,
        gaps: &Gaps<M>,
        columns: Columns,
        durable: u64,
    ) -> u64 {
        if VARIANT != SILO || self.snapshot != 0 || columns == Columns::ALL {
            return self.seen_epoch(gaps);
        }
        let last_change = |read: &Read<M>| match record_word::epoch(read.word) > durable {
            true => recent.last_change(read.record.address(), read.word, columns),
            false => read.word,
        };
        let newest = self.reads.iter().map(last_change).max().unwrap_or(0);
        record_word::epoch(newest.max(gaps.min_insert_tid()))
    }

    fn look_at(&mut self, columns: Columns) {
        debug_assert!(Self::NEEDS.knows_columns, "others are not told");
        self.renewals.look_at(self.reads.len(), columns);
    }

    fn renewed(&self) -> &[Renewed<M>] {
        self.renewals.renewed()
    }

    #[inline]
    fn release(&mut self, cx: &mut Context<'_, M, Self>) {
        cx.epochs.close_window(cx.heap.slot());
        self.end_snapshot(cx);
    }

    fn abort(&mut self, cx: &mut Context<'_, M, Self>, writes: &mut WriteSet<M>) {
        for write in writes.entries.iter().filter(|write| write.latched || write.placed) {
            // We hold the latch, so the word is as we left it: the version stays as it was.
            record_word::unlatch(write.record.word());
        }
        cx.epochs.close_window(cx.heap.slot());
        self.end_snapshot(cx);
    }

    fn collect(&mut self, cx: &mut Context<'_, M, Self>, tables: &dyn Tables<M>, budget: usize) {
        self.collect_some(cx, tables, budget);
    }
}

impl<M: Machine, const VARIANT: u8> Optimistic<M, VARIANT> {
    fn end_snapshot(&mut self, cx: &mut Context<'_, M, Self>) {
        if self.snapshot != 0 {
            self.snapshot = 0;
            cx.epochs.release_snapshot(cx.heap.slot());
        }
    }
}

/// Gives a block that nobody else has seen back to the heap.
fn give_back<M: Machine>(heap: &mut LocalHeap<M>, block: RecordRef<M>) {
    // SAFETY: the block was put by for this transaction and never linked anywhere.
    unsafe { heap.free_record(chiliad_storage::Kind::Version, block) };
}
