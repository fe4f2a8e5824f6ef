//! The partitioned store (Tu, 2013, 6.5): one lock per partition, taken in ascending order
//! before the transaction begins, and nothing else.
//!
//! ```text
//!  63                                   3    2      1     0
//! +--------------------------------------+------+--------+---+
//! | order (epoch and counter, see record_word.rs)| dead | absent | 0 |
//! +--------------------------------------+------+--------+---+
//! ```
//!
//! A transaction that holds the partitions of all records that it touches has exclusive access to them: reads copy,
//! writes write, no word is checked twice. The indexes are shared by all partitions and keep their
//! own latches. What leaves an index does so before the locks are released, since afterwards
//! somebody else may be reading it.
//!
//! That the declared partitions cover every access is the workload's promise; the checker sees
//! when it is broken.
//!
//! How a partition is got is a [`Policy`]: that of `partitioned` is here, a lock that is spun for;
//! that of `h-store`, which grants in the order of timestamps, in `hstore.rs`. Under both no transaction waits for a
//! partition while holding a greater one, so the holder of the greatest that is waited for waits for none: there is
//! no deadlock.
//!
//! Both are strict: between the last grant and the first release a transaction is alone with all
//! that it touches, and that moment lies between its begin and its commit.

use super::faults;
use crate::Options;
use crate::access::WriteSet;
use crate::arena::Arena;
use crate::collector::{self, Fate};
use crate::contract::{Abort, CommitPoint, Context, Needs, NoLockTable, Scheme, Step, Tables};
use crate::garbage::Due;
use crate::record_word;
use crate::scheme::SchemeName;
use crate::scheme::parts::in_place;
use crate::scheme::parts::min_insert_tid::{self, MinInsertTids};
use crate::scheme::parts::unlink;
use crate::version;
use crate::version::Version;
use crate::wait::{Ended, Limits};
use chiliad_api::{Info, Intent, Part, Reason};
use chiliad_machine::{Array, Cost, Line, Machine, Ordering, Word};
use chiliad_storage::{Change, LocalHeap, RecordRef};
use core::marker::PhantomData;

/// One lock per partition, spun for.
pub type Partitioned<M> = Exclusive<M, Spinning<M>>;

/// How a transaction gets a partition. The value is one worker's part.
pub trait Policy<M: Machine>: Sized + 'static {
    /// The scheme with this policy.
    const INFO: Info;
    /// Arriving draws a timestamp.
    const DRAWS: bool = false;
    /// State shared by all workers; lives in the machine's memory.
    type Shared: 'static;

    /// The part that all workers share.
    fn shared(options: &Options) -> Self::Shared;

    /// One worker's part.
    fn new() -> Self;

    /// A transaction arrives, before it asks for its first partition.
    fn arrive(&mut self, shared: &Self::Shared, heap: &LocalHeap<M>, limits: &Limits<M>);

    /// Waits for a partition, on behalf of the worker in `slot`. The caller has nothing latched or pinned.
    fn lock(
        &mut self,
        shared: &Self::Shared,
        partition: u32,
        slot: u32,
        limits: &Limits<M>,
    ) -> Result<(), Ended>;

    /// Gives a partition back. Never waits for a transaction.
    fn unlock(&mut self, shared: &Self::Shared, partition: u32);
}

/// One worker's part of a scheme under which transactions are alone with their partitions.
pub struct Exclusive<M: Machine, P: Policy<M>> {
    policy: P,
    held: Vec<u32>,
    last: u64,
    machine: PhantomData<fn() -> M>,
}

/// Spin locks, granted to the first that comes.
pub struct Spinning<M: Machine>(PhantomData<M>);

impl<M: Machine> Policy<M> for Spinning<M> {
    const INFO: Info = SchemeName::Partitioned.info();

    /// The holder of each partition: the worker's slot plus one; 0 if it is free.
    type Shared = Array<M, Line<M::Word>>;

    fn shared(options: &Options) -> Self::Shared {
        debug_assert!(options.partitions > 0, "every database has one");
        Array::new(options.partitions as usize, || Line(M::Word::new(0)))
    }

    fn new() -> Self {
        Self(PhantomData)
    }

    fn arrive(&mut self, _shared: &Self::Shared, _heap: &LocalHeap<M>, _limits: &Limits<M>) {}

    fn lock(
        &mut self,
        shared: &Self::Shared,
        partition: u32,
        slot: u32,
        limits: &Limits<M>,
    ) -> Result<(), Ended> {
        let held = &shared.get(partition as usize).0;
        let own = u64::from(slot) + 1;
        let mut wait = None;
        loop {
            let mut holder = held.load(Ordering::Relaxed);
            if holder == 0 {
                // Acquire pairs with the release in `unlock`.
                match held.compare_exchange(0, own, Ordering::Acquire, Ordering::Relaxed) {
                    Ok(_) => return Ok(()),
                    Err(found) => holder = found,
                }
            }
            if M::fault(&faults::SIBLING_SPUN_FOR) {
                M::stall(true);
            } else {
                debug_assert!(holder != own, "a worker has it once");
                limits.check_holder((holder - 1) as u32)?;
                wait.get_or_insert_with(|| limits.wait()).awake()?;
            }
        }
    }

    fn unlock(&mut self, shared: &Self::Shared, partition: u32) {
        // Release pairs with the acquire in `lock`: the next holder sees all our writes.
        shared.get(partition as usize).0.store(0, Ordering::Release);
    }
}

impl<M: Machine, P: Policy<M>> Exclusive<M, P> {
    fn unlock_all(&mut self, shared: &P::Shared) {
        M::work(Cost::Unlock, self.held.len() as u32);
        for partition in self.held.drain(..) {
            self.policy.unlock(shared, partition);
        }
    }
}

impl<M: Machine, P: Policy<M>> Scheme<M> for Exclusive<M, P> {
    const INFO: Info = P::INFO;
    const NEEDS: Needs = Needs { collects_before_release: true, ..Needs::NOTHING };

    type Shared = P::Shared;
    type LeafHooks = MinInsertTids;
    type LockTable = NoLockTable;

    fn shared(options: &Options) -> P::Shared {
        P::shared(options)
    }

    fn new() -> Self {
        Self { policy: P::new(), held: Vec::new(), last: 0, machine: PhantomData }
    }

    fn begin(&mut self, cx: &mut Context<'_, M, Self>, intent: &Intent<'_>) -> Step<M, ()> {
        debug_assert!(intent.partitions.is_sorted_by(|a, b| a < b), "ascending, each once");
        debug_assert!(self.held.is_empty(), "the last transaction has given all back");
        let before = cx.clockwork.switch(if P::DRAWS { Part::Timestamp } else { Part::Wait });
        self.policy.arrive(cx.shared, cx.heap, cx.limits);
        cx.clockwork.switch(Part::Wait);
        for (number, &partition) in intent.partitions.iter().enumerate() {
            let skipped = M::fault(&faults::PARTITION_NOT_LOCKED)
                || number > 0 && M::fault(&faults::REMOTE_PARTITION_NOT_LOCKED);
            if !skipped {
                M::work(Cost::Lock, 1);
                let slot = cx.heap.slot_number();
                if let Err(ended) = self.policy.lock(cx.shared, partition, slot, cx.limits) {
                    cx.clockwork.switch(before);
                    return Step::Abort(ended.into());
                }
                debug_assert!(self.held.last().is_none_or(|&last| last < partition), "ascending");
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
        if word & record_word::DEAD != 0 {
            return Step::Redo;
        }
        Step::Done(version::copy(record, word, arena, cx.stamped))
    }

    fn begin_insert(&mut self, _cx: &mut Context<'_, M, Self>, record: RecordRef<M>) {
        record_word::begin_life(record.word(), 0);
    }

    fn after_insert(
        &mut self,
        _cx: &mut Context<'_, M, Self>,
        placed: Option<RecordRef<M>>,
        changes: &[Change<M>],
    ) -> Step<M, ()> {
        min_insert_tid::apply(placed, changes);
        Step::Done(())
    }

    fn prepare(
        &mut self,
        cx: &mut Context<'_, M, Self>,
        writes: &mut WriteSet<M>,
    ) -> Result<CommitPoint, Abort<M>> {
        let overwritten = in_place::prepare(cx, writes)?;
        let epoch = cx.epochs.open_window(cx.heap.slot());
        let forgets = M::fault(&faults::ORDER_NOT_ABOVE_OVERWRITTEN);
        let overwritten = if forgets { 0 } else { overwritten };
        self.last = record_word::next(self.last.max(overwritten), epoch)
            .ok_or(Abort::new(Reason::EpochFull))?;
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

    fn release(&mut self, cx: &mut Context<'_, M, Self>) {
        cx.epochs.close_window(cx.heap.slot());
        self.unlock_all(cx.shared);
    }

    fn abort(&mut self, cx: &mut Context<'_, M, Self>, _writes: &mut WriteSet<M>) {
        cx.epochs.close_window(cx.heap.slot());
        self.unlock_all(cx.shared);
    }

    fn collect(&mut self, cx: &mut Context<'_, M, Self>, tables: &dyn Tables<M>, _budget: usize) {
        if self.held.is_empty() {
            // Its partitions may be somebody else's by now: what a panic left behind stays.
            return;
        }
        if M::fault(&faults::UNLINKED_WITHOUT_PARTITIONS) {
            self.unlock_all(cx.shared);
        }
        collector::sweep(self, cx, tables, usize::MAX, Due::ALL, |_, cx, garbage| {
            let found = garbage.record.word().load(Ordering::Relaxed);
            if record_word::is_absence(found, garbage.order) {
                unlink::unlink(cx, tables, garbage, found);
            }
            Fate::Gone
        });
    }
}
