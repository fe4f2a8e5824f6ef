//! Two-phase locking by a central lock table (Jung et al., 2014).
//!
//! A transaction locks a record in the table of locks (`chiliad-lock`) before it is read (S) or is to be
//! written (X), after its intention on the database and on the record's table (IS, IX), and keeps all of
//! it until it has ended. Records go by their addresses: a lock stays behind where a record has left its
//! index and its memory is another's, and is one too many then, which costs waiting and is no error.
//!
//! The requester finds deadlocks itself, and the youngest of a circle aborts: a worker is the older the longer ago it
//! aborted for the first time since its last commit. So the first to abort gets through. A transaction also aborts
//! when it has waited for too long.
//!
//! Writes are deferred to the commit. Gaps are locked (`gap.rs`), so that scans and look-ups that find nothing are
//! free of phantoms. A tombstone or a placeholder leaves its index before its transaction
//! releases the lock: a waiter for it looks the key up again.
//!
//! An insertion requests the lock of its fresh record before the record is in an index. Another transaction may still
//! hold the lock of the record that had this memory before; the insertion stands in line then, ahead of all that find
//! the new record, and waits once the index has taken it. The holder may find the new record too, and has its lock
//! already: if the record has been written when the wait is over, the insertion aborts. Until the record stands above the
//! minimum insert TID of its leaf it is latched, for which that holder spins.

mod client;
mod faults;
mod gap;
mod repeatable_read;
mod variants;

pub use faults::FAULTS;
pub use repeatable_read::RepeatableRead as LockTableRepeatableRead;
pub use variants::{
    LockTable, LockTableBucket, LockTableGlobal, LockTableNoEbr, LockTableSli, Variant,
};

use crate::record_word;
use crate::version;
use client::LockClient;
use gap::{Gaps, Ranges};

use crate::Options;
use crate::access::{Write, WriteSet};
use crate::arena::Arena;
use crate::collector::{self, Fate};
use crate::contract;
use crate::contract::{Abort, CommitPoint, Context, Needs, Scheme, Step, Tables};
use crate::garbage::{Due, Garbage};
use crate::scheme::parts::in_place;
use crate::scheme::parts::min_insert_tid;
use crate::scheme::parts::unlink;
use crate::version::Version;
use chiliad_api::{Info, Intent, Reason, TableId};
use chiliad_lock::{Locks, Mode};
use chiliad_machine::{Line, Machine, Ordering, Shared as Boxed, Spin, Word};
use chiliad_storage::{Change, LocalHeap, RecordRef, Seen};
use std::sync::Arc;

/// State shared by all workers.
pub struct Shared<M: Machine, V: Variant<M>> {
    manager: Arc<Boxed<M, <V::Locks as Locks<M>>::Manager>>,
    /// Ticks after which a wait ends.
    wait_timeout: u64,
    /// Where the stamps of gaps come from.
    stamps: Line<M::Word>,
}

/// One worker's part.
pub struct Table<M: Machine, V: Variant<M>> {
    client: LockClient<M, V::Locks>,
    gaps: Gaps<M>,
    /// The last TID given out by this worker.
    last: u64,
    /// The greatest TID that the transaction has read.
    newest: u64,
}

/// Aborts a transaction whose insertion has waited for the lock of the record that it had placed, if the holder,
/// which had it for the record in this memory before, has found the new one meanwhile and written it.
fn check_placed<M: Machine>(writes: &WriteSet<M>) -> Result<(), Abort<M>> {
    // The holder may have written it before the insertion looked at the word, too.
    let is_absent = |write: &&Write<M>| write.prior & record_word::ABSENT != 0;
    // Relaxed: the lock has acquired it.
    let word = |record: RecordRef<M>| record.word().load(Ordering::Relaxed);
    let is_same = |write: &&Write<M>| record_word::same_version(word(write.record), write.prior);
    let mut placed = writes.entries.iter().filter(|write| write.placed);
    match placed.find(|write| !is_absent(write) || !is_same(write)) {
        Some(write) => Err(Abort::over(Reason::ReadChanged, write.record)),
        None => Ok(()),
    }
}

/// The word of a record that the transaction has locked, once it does not belong to an insertion any more that waits for
/// that lock.
#[inline]
fn locked_word<M: Machine>(record: RecordRef<M>) -> u64 {
    // Relaxed: the lock has acquired it.
    let word = record.word().load(Ordering::Relaxed);
    if word & record_word::LATCH == 0 { word } else { placed_word(record) }
}

#[cold]
fn placed_word<M: Machine>(record: RecordRef<M>) -> u64 {
    M::mark("record found while it is placed");
    let mut spin = Spin::<M>::new();
    loop {
        // Acquire pairs with the release in `after_insert`, by `record_word::unlatch`: its minimum insert TID is known.
        let word = record.word().load(Ordering::Acquire);
        if word & record_word::LATCH == 0 {
            return word;
        }
        spin.wait();
    }
}

impl<M: Machine, V: Variant<M>> Table<M, V> {
    /// Takes a record out of its index, under its lock, if it is what was left there; whether nothing is
    /// left to do.
    fn unlink(
        &mut self,
        cx: &mut Context<'_, M, Self>,
        tables: &dyn Tables<M>,
        garbage: &Garbage<M>,
    ) -> bool {
        let record = garbage.record;
        // Acquire pairs with `record_word::publish` and with the exchange in `unlink::take_out_and`: a record
        // that is found alive is not freed while we are pinned.
        if !record_word::is_absence(record.word().load(Ordering::Acquire), garbage.order) {
            return true;
        }
        if !self.client.can_lock(garbage.table, record) {
            return false;
        }
        let found = record.word().load(Ordering::Relaxed);
        if record_word::is_absence(found, garbage.order) {
            unlink::unlink(cx, tables, garbage, found);
        }
        true
    }
}

impl<M: Machine, V: Variant<M>> Scheme<M> for Table<M, V> {
    const INFO: Info = V::NAME.info();
    const NEEDS: Needs = Needs {
        waits: true,
        declares_writes: true,
        collects_before_release: true,
        ..Needs::NOTHING
    };

    type Shared = Shared<M, V>;
    type LeafHooks = Ranges<M>;
    type LockTable = Self;

    fn shared(options: &Options) -> Shared<M, V> {
        Shared {
            manager: Arc::new(Boxed::new(V::table(options))),
            stamps: Line(M::Word::new(0)),
            wait_timeout: options.wait_ticks::<M>(Self::INFO.wait_timeout),
        }
    }

    fn new() -> Self {
        Self { client: LockClient::new(), gaps: Gaps::new(), last: 0, newest: 0 }
    }

    #[inline]
    fn begin(&mut self, cx: &mut Context<'_, M, Self>, _intent: &Intent<'_>) -> Step<M, ()> {
        self.gaps.clear();
        self.newest = 0;
        self.client.begin(&cx.shared.manager)
    }

    #[inline]
    fn read(
        &mut self,
        cx: &mut Context<'_, M, Self>,
        record: RecordRef<M>,
        arena: &mut Arena,
        _writes: &WriteSet<M>,
    ) -> Step<M, Version> {
        let unlocked = M::fault(&faults::READ_WITHOUT_LOCK);
        if !unlocked && let Err(other) = self.client.lock(cx.table, record, Mode::S).done() {
            return other;
        }
        let word = locked_word(record);
        self.newest = self.newest.max(word);
        Step::Done(version::copy(record, word, arena, cx.stamped))
    }

    #[inline]
    fn declare_write(
        &mut self,
        cx: &mut Context<'_, M, Self>,
        record: RecordRef<M>,
    ) -> Step<M, ()> {
        if let Err(other) = self.client.lock(cx.table, record, Mode::X).done() {
            return other;
        }
        _ = locked_word(record);
        Step::Done(())
    }

    fn wait(&mut self, cx: &mut Context<'_, M, Self>) -> Result<(), Abort<M>> {
        self.client.wait(cx.shared.wait_timeout, cx.limits)
    }

    #[inline]
    fn observe_leaf(&mut self, cx: &mut Context<'_, M, Self>, seen: Seen<M>) -> Step<M, ()> {
        if M::fault(&faults::GAPS_UNLOCKED) {
            return Step::Done(());
        }
        let gap = gap::number(seen.guard_ptr());
        if let Err(other) = self.client.lock_gap(cx.table, gap, Mode::S).done() {
            return other;
        }
        match self.gaps.add(&seen, &cx.shared.stamps.0) {
            true => Step::Done(()),
            false => Step::Redo,
        }
    }

    fn begin_insert(&mut self, cx: &mut Context<'_, M, Self>, record: RecordRef<M>) {
        record_word::begin_life(record.word(), record_word::LATCH);
        if !M::fault(&faults::PLACED_WITHOUT_LOCK) {
            self.client.place(cx.table, record);
        }
    }

    fn cancel_insert(&mut self, _cx: &mut Context<'_, M, Self>, _record: RecordRef<M>) {
        self.client.cancel_insert();
    }

    fn after_insert(
        &mut self,
        cx: &mut Context<'_, M, Self>,
        record: Option<RecordRef<M>>,
        changes: &[Change<M>],
    ) -> Step<M, ()> {
        min_insert_tid::apply(record, changes);
        if let Some(record) = record {
            record_word::unlatch(record.word());
        }
        let (client, table) = (&mut self.client, cx.table);
        let lock = |guard| client.try_gap(table, gap::number(guard));
        self.gaps.fix_up(cx.leaf_hooks, changes, &cx.shared.stamps.0, lock);
        // The key may have come into another leaf than was asked for.
        let guards = changes.iter().map(|change| match change {
            Change::Counted { after, .. } => after.guard_ptr(),
            Change::Handed { to, .. } => to.guard_ptr(),
        });
        self.client.placed(cx.table, record, guards.map(gap::number))
    }

    fn validate(
        &mut self,
        _cx: &mut Context<'_, M, Self>,
        _writes: &WriteSet<M>,
    ) -> Result<(), Abort<M>> {
        Abort::unless_gaps(self.gaps.hold())
    }

    fn seen_epoch(&self, _gaps: &crate::gaps::Gaps<M>) -> u64 {
        record_word::epoch(self.newest.max(self.gaps.min_insert_tid()))
    }

    #[inline]
    fn prepare(
        &mut self,
        cx: &mut Context<'_, M, Self>,
        writes: &mut WriteSet<M>,
    ) -> Result<CommitPoint, Abort<M>> {
        // Full: what this transaction has inserted counts before it looks at any count; pairs with
        // the same fence of peers, one of which therefore sees the other's.
        M::fence(Ordering::SeqCst);
        let epoch = cx.epochs.open_window(cx.heap.slot());
        self.validate(cx, writes)?;
        if writes.is_empty() {
            return Ok(CommitPoint { epoch, order: self.last });
        }
        check_placed(writes)?;
        let overwritten = in_place::prepare(cx, writes)?;
        let greatest = self.last.max(self.newest).max(overwritten);
        self.last = record_word::next(greatest, epoch).ok_or(Abort::new(Reason::EpochFull))?;
        if M::fault(&faults::RELEASED_BEFORE_INSTALL) {
            self.client.unlock_all();
        }
        Ok(CommitPoint { epoch, order: self.last })
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
        in_place::install(cx, point, &mut writes.entries[index], value);
    }

    #[inline]
    fn release(&mut self, cx: &mut Context<'_, M, Self>) {
        self.client.committed();
        cx.epochs.close_window(cx.heap.slot());
    }

    fn abort(&mut self, cx: &mut Context<'_, M, Self>, _writes: &mut WriteSet<M>) {
        cx.epochs.close_window(cx.heap.slot());
    }

    fn collect(&mut self, cx: &mut Context<'_, M, Self>, tables: &dyn Tables<M>, budget: usize) {
        collector::sweep(self, cx, tables, budget, Due::ALL, |scheme, cx, garbage| {
            if scheme.unlink(cx, tables, garbage) { Fate::Gone } else { Fate::Later }
        });
        cx.leaf_hooks.forget();
        self.client.unlock_collected();
    }
}

impl<M: Machine, V: Variant<M>> contract::LockTable<M, Self> for Table<M, V> {
    fn background_tick(shared: &Shared<M, V>) {
        V::Locks::tend(&shared.manager);
    }

    #[inline]
    fn prefetch(scheme: &Self, table: TableId, record: RecordRef<M>) {
        scheme.client.expect(table, record);
    }

    fn lock_gap(
        scheme: &mut Self,
        cx: &mut Context<'_, M, Self>,
        find: impl FnOnce(&LocalHeap<M>) -> Option<Seen<M>>,
    ) -> Step<M, ()> {
        let Some(seen) = find(cx.heap) else { return Step::Done(()) };
        scheme.client.lock_gap(cx.table, gap::number(seen.guard_ptr()), Mode::Ix)
    }

    fn release_locks(scheme: &mut Self) {
        scheme.client.unlock_all();
    }
}
