//! Two-phase locking by a central lock table (scalable-lock-manager.txt).
//!
//! A transaction locks a record in the table of locks (`chiliad-lock`) before it is read (S) or is to be
//! written (X), after its intention on the database and on the record's table (IS, IX), and keeps all of
//! it until it has ended. Records go by their addresses: a lock stays behind where a record has left its
//! index and its memory is another's, and is one too many then, which costs waiting and is no error.
//!
//! The requester finds deadlocks itself, and the youngest of a circle gives up: a worker is the older the longer ago it
//! was refused for the first time since its last commit. So whoever was refused first gets through. A transaction also
//! gives up when it has waited for too long.
//!
//! Writes are deferred to the commit. Gaps are locked (`gap.rs`), so that scans and look-ups that find nothing are
//! free of phantoms. A tombstone or a placeholder leaves its index before its transaction
//! lets go of the lock: who waits for it looks the key up again.
//!
//! An insertion asks for the lock of its fresh record when that is in no index yet. It may meet whoever has
//! kept the lock of the memory's record before; it stands in line then, ahead of all who find the new record,
//! and waits when the index has taken it. Whom it waits for may find the new record too, and has its lock
//! already: if the record has been written when the wait is over the insertion is refused.

mod faults;
mod gap;
mod repeatable_read;
mod seat;
mod variants;

pub use faults::FAULTS;
pub use repeatable_read::RepeatableRead as LockTableRepeatableRead;
pub use variants::{
    LockTable, LockTableBucket, LockTableGlobal, LockTableNoEbr, LockTableSli, Variant,
};

use crate::record_word;
use crate::version;
use gap::{Gaps, Ranges};
use seat::Seat;

use crate::Options;
use crate::access::WriteSet;
use crate::arena::Arena;
use crate::contract::{CommitPoint, Context, Garbage, Refusal, Scheme, Step, Tables};
use crate::scheme::parts::floor;
use crate::scheme::parts::in_place;
use crate::scheme::parts::unlink;
use crate::version::Version;
use chiliad_api::{Info, Intent, Reason, TableId};
use chiliad_lock::{Locks, Mode};
use chiliad_machine::{Cost, Line, Machine, Ordering, Shared as Boxed, Word};
use chiliad_storage::{Change, Hooks, Kind as SlotKind, RecordRef, Seen};
use std::collections::VecDeque;
use std::sync::Arc;

/// What all workers share.
pub struct Shared<M: Machine, V: Variant<M>> {
    manager: Arc<Boxed<M, <V::Locks as Locks<M>>::Manager>>,
    /// Ticks after which a wait ends.
    wait_timeout: u64,
    /// Where the stamps of gaps come from.
    stamps: Line<M::Word>,
}

/// One worker's part.
pub struct Table<M: Machine, V: Variant<M>> {
    seat: Seat<M, V::Locks>,
    gaps: Gaps<M>,
    /// The last TID given out by this worker.
    last: u64,
    /// The greatest TID that the transaction has read.
    newest: u64,
    ranges: Ranges<M>,
    garbage: VecDeque<Garbage<M>>,
}

/// Refuses a transaction whose insertion has waited for the lock of the record that it had placed, if who had
/// the lock, of the memory's record before, has found the new one meanwhile and written it.
fn check_placed<M: Machine>(writes: &WriteSet<M>) -> Result<(), Refusal<M>> {
    // Relaxed: the lock has acquired it.
    let word = |record: RecordRef<M>| record.word().load(Ordering::Relaxed);
    let mut placed = writes.entries.iter().filter(|write| write.placed);
    match placed.find(|write| !record_word::same_version(word(write.record), write.prior)) {
        Some(write) => Err(Refusal::over(Reason::ReadChanged, write.record)),
        None => Ok(()),
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
        // A table that was dropped takes its garbage along. Acquire pairs with `record_word::publish` and
        // with the exchange in `unlink::take_out_and`: a record that is found alive is not freed while we
        // are pinned.
        let left =
            |word: &M::Word| record_word::is_absence(word.load(Ordering::Acquire), garbage.order);
        if !tables.contains(garbage.table) || !left(record.word()) {
            return true;
        }
        if !self.seat.can_lock(garbage.table, record) {
            return false;
        }
        let found = record.word().load(Ordering::Relaxed);
        if record_word::is_absence(found, garbage.order) {
            unlink::unlink(cx.heap, tables, garbage, found, &mut self.ranges);
        }
        true
    }
}

impl<M: Machine, V: Variant<M>> Scheme<M> for Table<M, V> {
    const INFO: Info = V::NAME.info();
    const COLLECTS_BEFORE_RELEASE: bool = true;
    const INTENDS: bool = true;
    const LOCKS_GAPS: bool = true;
    const WAITS: bool = true;

    type Shared = Shared<M, V>;

    fn shared(options: &Options) -> Shared<M, V> {
        Shared {
            manager: Arc::new(Boxed::new(V::table(options))),
            stamps: Line(M::Word::new(0)),
            wait_timeout: options.wait_ticks::<M>(Self::INFO.wait_timeout),
        }
    }

    fn tend(shared: &Shared<M, V>) {
        V::Locks::tend(&shared.manager);
    }

    fn new() -> Self {
        Self {
            seat: Seat::new(),
            gaps: Gaps::new(),
            last: 0,
            newest: 0,
            ranges: Ranges::new(),
            garbage: VecDeque::new(),
        }
    }

    #[inline]
    fn begin(&mut self, cx: &mut Context<'_, M, Self>, _intent: &Intent<'_>) -> Step<M, ()> {
        self.gaps.clear();
        self.newest = 0;
        self.seat.begin(&cx.shared.manager)
    }

    #[inline]
    fn expect(&self, table: TableId, record: RecordRef<M>) {
        self.seat.expect(table, record);
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
        if !unlocked && let Err(other) = self.seat.lock(cx.table, record, Mode::S).done() {
            return other;
        }
        // Relaxed: the lock has acquired it.
        let word = record.word().load(Ordering::Relaxed);
        self.newest = self.newest.max(word);
        Step::Done(version::copy(record, word, arena, cx.stamped))
    }

    #[inline]
    fn intend(&mut self, cx: &mut Context<'_, M, Self>, record: RecordRef<M>) -> Step<M, ()> {
        self.seat.lock(cx.table, record, Mode::X)
    }

    fn wait(&mut self, cx: &mut Context<'_, M, Self>) -> Result<(), Refusal<M>> {
        self.seat.wait(cx.shared.wait_timeout, cx.limits)
    }

    #[inline]
    fn passed(&mut self, cx: &mut Context<'_, M, Self>, seen: Seen<M>) -> Step<M, ()> {
        if M::fault(&faults::GAPS_UNLOCKED) {
            return Step::Done(());
        }
        let gap = gap::number(seen.guard_ptr());
        if let Err(other) = self.seat.lock_gap(cx.table, gap, Mode::S).done() {
            return other;
        }
        match self.gaps.add(&seen, &cx.shared.stamps.0) {
            true => Step::Done(()),
            false => Step::Redo,
        }
    }

    fn enter_gap(&mut self, cx: &mut Context<'_, M, Self>, seen: Seen<M>) -> Step<M, ()> {
        self.seat.lock_gap(cx.table, gap::number(seen.guard_ptr()), Mode::Ix)
    }

    fn place(&mut self, cx: &mut Context<'_, M, Self>, record: RecordRef<M>) {
        record_word::begin_life(record.word(), 0);
        if !M::fault(&faults::PLACED_WITHOUT_LOCK) {
            self.seat.place(cx.table, record);
        }
    }

    fn give_up(&mut self, cx: &mut Context<'_, M, Self>, record: RecordRef<M>) {
        self.seat.give_up();
        // SAFETY: the index has not taken it, so nobody else has seen it.
        unsafe { cx.heap.free_record(SlotKind::Record, record) };
    }

    fn inserted(
        &mut self,
        cx: &mut Context<'_, M, Self>,
        record: Option<RecordRef<M>>,
        changes: &[Change<M>],
    ) -> Step<M, ()> {
        floor::settle(record, changes);
        let (seat, table) = (&mut self.seat, cx.table);
        let lock = |guard| seat.try_gap(table, gap::number(guard));
        self.gaps.fix_up(&mut self.ranges, changes, &cx.shared.stamps.0, lock);
        // The key may have come into another leaf than was asked for.
        let guards = changes.iter().map(|change| match change {
            Change::Counted { after, .. } => after.guard_ptr(),
            Change::Handed { to, .. } => to.guard_ptr(),
        });
        self.seat.placed(cx.table, record, guards.map(gap::number))
    }

    fn hooks(&mut self) -> &mut dyn Hooks<M> {
        &mut self.ranges
    }

    fn validate(&mut self, _writes: &WriteSet<M>) -> Result<(), Refusal<M>> {
        if self.gaps.hold() { Ok(()) } else { Err(Refusal::new(Reason::Phantom)) }
    }

    #[inline]
    fn prepare(
        &mut self,
        cx: &mut Context<'_, M, Self>,
        writes: &mut WriteSet<M>,
    ) -> Result<CommitPoint, Refusal<M>> {
        // Full: what this transaction has inserted counts before it looks at any count; pairs with
        // the same fence of peers, one of which therefore sees the other's.
        M::fence(Ordering::SeqCst);
        let epoch = cx.epochs.open_window(cx.heap.slot());
        self.validate(writes)?;
        if writes.is_empty() {
            return Ok(CommitPoint { epoch, order: self.last });
        }
        check_placed(writes)?;
        let overwritten = in_place::prepare(cx, writes)?;
        let greatest = self.last.max(self.newest).max(overwritten);
        self.last = record_word::next(greatest, epoch).ok_or(Refusal::new(Reason::EpochFull))?;
        if M::fault(&faults::RELEASED_BEFORE_INSTALL) {
            self.seat.unlock_all();
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

    fn withdraw(&mut self, _record: RecordRef<M>) {
        // It is unlocked with the others.
    }

    #[inline]
    fn release(&mut self, cx: &mut Context<'_, M, Self>) {
        self.seat.committed();
        cx.epochs.close_window(cx.heap.slot());
    }

    fn let_go(&mut self, _cx: &mut Context<'_, M, Self>) {
        self.seat.unlock_all();
    }

    fn abort(&mut self, cx: &mut Context<'_, M, Self>, writes: &mut WriteSet<M>) {
        in_place::give_back(cx, writes);
        cx.epochs.close_window(cx.heap.slot());
    }

    fn leave_garbage(&mut self, garbage: Garbage<M>) {
        self.garbage.push_back(garbage);
    }

    fn collect(&mut self, cx: &mut Context<'_, M, Self>, tables: &dyn Tables<M>, budget: usize) {
        for _ in 0..budget.min(self.garbage.len()) {
            let Some(garbage) = self.garbage.pop_front() else { break };
            M::work(Cost::Collect, 1);
            if self.unlink(cx, tables, &garbage) {
                cx.keys.give(garbage.key);
            } else {
                self.garbage.push_back(garbage);
            }
        }
        self.ranges.forget();
        self.seat.unlock_collected();
    }

    #[inline]
    fn has_garbage(&self) -> bool {
        !self.garbage.is_empty()
    }

    fn hand_over(&mut self, heir: &mut Vec<Garbage<M>>) {
        heir.extend(self.garbage.drain(..));
    }
}
