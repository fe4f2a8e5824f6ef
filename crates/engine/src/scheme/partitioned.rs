//! The partitioned store (maflingo-silo.txt 6.5): one lock per partition, taken in ascending order
//! before the transaction begins, and nothing else.
//!
//! ```text
//!  63                                   3    2      1     0
//! +--------------------------------------+------+--------+---+
//! | order (epoch and counter, see tid.rs)| dead | absent | 0 |
//! +--------------------------------------+------+--------+---+
//! ```
//!
//! Whoever holds the partitions of all records that it touches is alone with them: reads copy,
//! writes write, no word is checked twice. The indexes are shared by all partitions and keep their
//! own latches. What leaves an index does so before the locks are released, since afterwards
//! somebody else may be reading it.
//!
//! That the declared partitions cover every access is the workload's promise; the checker sees
//! when it is broken.
//!
//! How a partition is got is a [`Policy`]: that of `partitioned` is here, a lock that is spun for;
//! that of `h-store`, which grants in the order of timestamps, in `hstore.rs`. Under both nobody waits
//! for a partition while holding a greater one, so whoever holds the greatest that is waited for
//! waits for nobody: there is no deadlock.
//!
//! Both are strict: between the last grant and the first release a transaction is alone with all
//! that it touches, and that moment lies between its begin and its commit.

mod faults;

use super::floor::{self, Floors};
use super::in_place;
use super::partitions::Partitions;
use super::tid;
use super::{
    CommitPoint, Context, Garbage, Info, Isolation, Refusal, Scheme, Step, Tables, Version,
};
use crate::Options;
use crate::access::{Kind, Write, WriteSet};
use crate::arena::Arena;
use crate::breakdown::Part;
use crate::error::Reason;
use crate::stamp;
use crate::transaction::Intent;
use chiliad_machine::{Machine, Ordering, Spin, Word};
use chiliad_storage::{Change, Guard, Hooks, Kind as SlotKind, LocalHeap, RecordRef, Seen};
use core::marker::PhantomData;

pub use faults::FAULTS;

/// One lock per partition, spun for.
pub type Partitioned<M> = Exclusive<M, Spinning<M>>;

/// How a transaction gets a partition. The value is one worker's part.
pub trait Policy<M: Machine>: Sized + 'static {
    /// The scheme with this policy.
    const INFO: Info;
    /// What all workers share; lives in the machine's memory.
    type Shared: 'static;

    /// The part that all workers share.
    fn shared(options: &Options) -> Self::Shared;

    /// One worker's part.
    fn new() -> Self;

    /// A transaction arrives, before it asks for its first partition.
    fn arrive(&mut self, shared: &Self::Shared, heap: &LocalHeap<M>);

    /// Waits for a partition. The caller has nothing latched or pinned.
    fn lock(&mut self, shared: &Self::Shared, partition: u32);

    /// Gives a partition back. Never waits for a transaction.
    fn unlock(&mut self, shared: &Self::Shared, partition: u32);
}

/// One worker's part of a scheme under which transactions are alone with their partitions.
pub struct Exclusive<M: Machine, P: Policy<M>> {
    policy: P,
    held: Vec<u32>,
    last: u64,
    floor: u64,
    floors: Floors,
    garbage: Vec<Garbage<M>>,
}

/// Locks that are spun for, by whoever comes.
pub struct Spinning<M: Machine>(PhantomData<M>);

/// A lock on a line of its own.
#[repr(C, align(64))]
pub struct Lock<M: Machine> {
    held: M::Word,
}

impl<M: Machine> Policy<M> for Spinning<M> {
    const INFO: Info = Info {
        name: "partitioned",
        summary: "one lock per partition, taken in order before the transaction begins",
        isolation: Isolation::Serializable,
        strict: true,
        order_follows_reads: false,
        snapshots: false,
        needs_partitions: true,
        source: "maflingo-silo.txt 6.5",
    };

    type Shared = Partitions<M, Lock<M>>;

    fn shared(options: &Options) -> Self::Shared {
        Partitions::new(options.partitions, || Lock { held: M::Word::new(0) })
    }

    fn new() -> Self {
        Self(PhantomData)
    }

    fn arrive(&mut self, _shared: &Self::Shared, _heap: &LocalHeap<M>) {}

    fn lock(&mut self, shared: &Self::Shared, partition: u32) {
        let lock = shared.get(partition);
        let mut spin = Spin::<M>::new();
        // Acquire pairs with the release in `unlock`.
        while lock.held.load(Ordering::Relaxed) != 0
            || lock.held.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_err()
        {
            spin.wait();
        }
    }

    fn unlock(&mut self, shared: &Self::Shared, partition: u32) {
        // Release pairs with the acquire in `lock`: the next holder sees all our writes.
        shared.get(partition).held.store(0, Ordering::Release);
    }
}

impl<M: Machine, P: Policy<M>> Exclusive<M, P> {
    fn unlock_all(&mut self, shared: &P::Shared) {
        for partition in self.held.drain(..) {
            self.policy.unlock(shared, partition);
        }
    }
}

impl<M: Machine, P: Policy<M>> Scheme<M> for Exclusive<M, P> {
    const INFO: Info = P::INFO;
    const COLLECTS_BEFORE_RELEASE: bool = true;

    type Shared = P::Shared;

    fn shared(options: &Options) -> P::Shared {
        P::shared(options)
    }

    fn new() -> Self {
        let (held, garbage) = (Vec::new(), Vec::new());
        Self { policy: P::new(), held, last: 0, floor: 0, floors: Floors, garbage }
    }

    fn begin(&mut self, cx: &mut Context<'_, M, Self>, intent: &Intent<'_>) -> Step<M, ()> {
        debug_assert!(intent.partitions.is_sorted_by(|a, b| a < b), "ascending, each once");
        self.floor = 0;
        let before = cx.clockwork.switch(Part::Timestamp);
        self.policy.arrive(cx.shared, cx.heap);
        cx.clockwork.switch(Part::Wait);
        for (number, &partition) in intent.partitions.iter().enumerate() {
            let skipped = M::fault(&faults::PARTITION_NOT_LOCKED)
                || number > 0 && M::fault(&faults::REMOTE_PARTITION_NOT_LOCKED);
            if !skipped {
                self.policy.lock(cx.shared, partition);
                self.held.push(partition);
            }
        }
        cx.clockwork.switch(before);
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
        let word = record.word().load(Ordering::Relaxed);
        if word & tid::DEAD != 0 {
            return Step::Redo;
        }
        Step::Done(in_place::copy(record, word, arena, cx.stamped))
    }

    #[inline]
    fn passed(&mut self, _cx: &mut Context<'_, M, Self>, _seen: Seen<M>) -> Step<M, ()> {
        Step::Done(())
    }

    fn place(&mut self, _cx: &mut Context<'_, M, Self>, record: RecordRef<M>) {
        let word = record.word();
        word.store(tid::next_life(word.load(Ordering::Relaxed)) | tid::ABSENT, Ordering::Relaxed);
    }

    fn give_up(&mut self, cx: &mut Context<'_, M, Self>, record: RecordRef<M>) {
        // SAFETY: the index has not taken it.
        unsafe { cx.heap.free_record(SlotKind::Record, record) };
    }

    fn inserted(
        &mut self,
        _cx: &mut Context<'_, M, Self>,
        _record: RecordRef<M>,
        changes: &[Change<M>],
    ) -> Step<M, ()> {
        self.floor = self.floor.max(floor::after(changes));
        Step::Done(())
    }

    fn hooks(&mut self) -> &mut dyn Hooks<M> {
        &mut self.floors
    }

    fn validate(&mut self, _writes: &WriteSet<M>) -> Result<(), Refusal<M>> {
        Ok(())
    }

    fn prepare(
        &mut self,
        cx: &mut Context<'_, M, Self>,
        writes: &mut WriteSet<M>,
    ) -> Result<CommitPoint, Refusal<M>> {
        let overwritten = in_place::prepare(cx, writes)?;
        let epoch = cx.epochs.open_window(cx.heap.slot());
        let forgets = M::fault(&faults::ORDER_NOT_ABOVE_OVERWRITTEN);
        let overwritten = if forgets { 0 } else { overwritten };
        let floor = if M::fault(&faults::PARTITION_FLOOR_FORGOTTEN) { 0 } else { self.floor };
        let greatest = self.last.max(floor).max(overwritten);
        self.last = tid::next(greatest, epoch).ok_or(Refusal::new(Reason::EpochFull))?;
        if M::fault(&faults::RELEASED_EARLY) {
            self.unlock_all(cx.shared);
        }
        Ok(CommitPoint { epoch, order: self.last })
    }

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

    fn is_void(write: &Write<M>) -> bool {
        write.kind == Kind::Remove && write.prior & tid::ABSENT != 0
    }

    fn withdraw(&mut self, _record: RecordRef<M>) {
        // Nobody is kept off it.
    }

    fn release(&mut self, cx: &mut Context<'_, M, Self>) {
        cx.epochs.close_window(cx.heap.slot());
        self.unlock_all(cx.shared);
    }

    fn abort(&mut self, cx: &mut Context<'_, M, Self>, writes: &mut WriteSet<M>) {
        in_place::give_back(cx, writes);
        cx.epochs.close_window(cx.heap.slot());
        self.unlock_all(cx.shared);
    }

    fn leave_garbage(&mut self, garbage: Garbage<M>) {
        self.garbage.push(garbage);
    }

    fn collect(&mut self, cx: &mut Context<'_, M, Self>, tables: &dyn Tables<M>, _budget: usize) {
        if self.held.is_empty() {
            // Its partitions may be somebody else's by now: what a panic left behind stays.
            return;
        }
        if M::fault(&faults::UNLINKED_WITHOUT_PARTITIONS) {
            self.unlock_all(cx.shared);
        }
        let mut all = core::mem::take(&mut self.garbage);
        for garbage in all.drain(..) {
            self.unlink(cx, tables, &garbage);
            cx.keys.give(garbage.key);
        }
        self.garbage = all;
    }

    fn has_garbage(&self) -> bool {
        !self.garbage.is_empty()
    }

    fn hand_over(&mut self, heir: &mut Vec<Garbage<M>>) {
        heir.append(&mut self.garbage);
    }

    unsafe fn discard(heap: &mut LocalHeap<M>, record: RecordRef<M>) {
        // SAFETY: the caller's promise.
        unsafe { super::ruins::discard(heap, record) };
    }

    fn current_version(record: RecordRef<M>, out: &mut Vec<u8>) -> bool {
        in_place::current_version(record, out)
    }
}

impl<M: Machine, P: Policy<M>> Exclusive<M, P> {
    fn unlink(
        &mut self,
        cx: &mut Context<'_, M, Self>,
        tables: &dyn Tables<M>,
        garbage: &Garbage<M>,
    ) {
        let record = garbage.record;
        let key = garbage.key.as_deref().unwrap_or(&[]);
        let word = record.word().load(Ordering::Relaxed);
        let heap = &mut *cx.heap;
        let mut gone = false;
        tables.with_index(garbage.table, &mut |index, graveyard| {
            if let Some(graveyard) = graveyard.filter(|_| !garbage.placeholder) {
                let mut bytes = [0; stamp::STAMP_BYTES];
                record.read(&mut bytes);
                graveyard.bury(key, word & !tid::FLAGS, stamp::read(&bytes, true));
            }
            let mut confirm = |guard: &Guard<M>| {
                if !tid::is_absence(word, garbage.order) {
                    return false;
                }
                floor::raise(guard, word & !tid::FLAGS);
                record.word().store(word | tid::DEAD, Ordering::Release);
                true
            };
            gone = index.unlink(heap, key, record, &mut self.floors, &mut confirm);
        });
        if gone {
            // SAFETY: it has left its index during this pin, by our hand.
            unsafe { cx.heap.retire_record(SlotKind::Record, record) };
        }
    }
}
