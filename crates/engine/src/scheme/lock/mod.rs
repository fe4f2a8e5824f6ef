//! Two-phase locking with a lock per record (thousand-cores.txt 2.1, 4.1.2, 4.2).
//!
//! A record is locked before it is read or is to be written, by readers together or by one writer
//! alone, and stays so until the transaction has ended. The lock is a word beside the header word
//! (`word.rs`); the header word names the version, as in the other schemes, and orders it in the log.
//!
//! What a transaction does that meets a lock is its *policy*:
//!
//! - `no-wait` gives up at once (2.1.2).
//!
//! Where we depart from the paper: writes are deferred to the commit, as in all schemes here; a write
//! still takes its lock when it is declared. And gaps are not locked but watched: leaves in which a
//! key was missed or that a scan has passed are remembered with their counts of membership changes,
//! and compared when all locks are held (`node_set.rs`). The paper protects nobody from phantoms.
//! Serializable: let a transaction take place when, all its locks held, its counts are compared.
//! Whatever it has read is locked from before until after; whoever inserts into a gap counts before
//! taking place, and so is noticed, or takes place later.
//!
//! An insertion puts a locked, absent record into its index. A tombstone leaves its index under its
//! lock; what it leaves behind is a floor (`floor.rs`).

mod faults;
mod garbage;
mod held;
mod word;

pub use faults::FAULTS;

use super::floor::{self, Floors};
use super::in_place;
use super::node_set::NodeSet;
use super::tid;
use super::{
    CommitPoint, Context, Garbage, Info, Isolation, Refusal, Scheme, Step, Tables, Version,
};
use crate::Options;
use crate::access::{Kind, Write, WriteSet};
use crate::arena::Arena;
use crate::error::Reason;
use crate::transaction::Intent;
use chiliad_machine::{Machine, Ordering, Word};
use chiliad_storage::{Change, Hooks, Kind as SlotKind, LocalHeap, RecordRef, Seen};
use held::Held;
use std::collections::VecDeque;
use word::Mode;

const NO_WAIT: u8 = 0;

/// Two-phase locking that never waits.
pub type NoWait<M> = Locking<M, NO_WAIT>;

/// One worker's part of two-phase locking under one of the policies.
pub struct Locking<M: Machine, const POLICY: u8> {
    held: Held<M>,
    nodes: NodeSet<M>,
    /// The last TID given out by this worker.
    last: u64,
    /// The greatest TID that the transaction has read or must exceed for another reason.
    floor: u64,
    floors: Floors,
    garbage: VecDeque<Garbage<M>>,
}

impl<M: Machine, const POLICY: u8> Locking<M, POLICY> {
    /// Locks a record if it is not locked like this already.
    #[inline]
    fn lock(&mut self, record: RecordRef<M>, mode: Mode) -> Step<M, ()> {
        let lock = record.further(0);
        if let Some(held) = self.held.mode(record) {
            if *held == Mode::Owned || mode == Mode::Shared {
                return Step::Done(());
            }
            if word::try_upgrade(lock) || M::fault(&faults::UPGRADE_BESIDE_READERS) {
                *held = Mode::Owned;
                return Step::Done(());
            }
            return Step::Abort(Refusal::over(Reason::LockDenied, record));
        }
        if !word::try_lock(lock, mode) {
            return Step::Abort(Refusal::over(Reason::LockDenied, record));
        }
        self.held.add(record, mode);
        // Relaxed: the lock has acquired it.
        if record.word().load(Ordering::Relaxed) & tid::DEAD != 0 {
            // It has left its index since the caller found it there.
            self.held.drop(record);
            return Step::Redo;
        }
        Step::Done(())
    }
}

impl<M: Machine, const POLICY: u8> Scheme<M> for Locking<M, POLICY> {
    const INFO: Info = Info {
        name: "no-wait",
        summary: "two-phase locking; who meets a lock gives up",
        isolation: Isolation::Serializable,
        strict: true,
        order_follows_reads: true,
        snapshots: false,
        needs_partitions: false,
        source: "thousand-cores.txt 2.1.2",
    };
    const RECORD_WORDS: usize = 1;
    const INTENDS: bool = true;

    type Shared = ();

    fn shared(_options: &Options) {}

    fn new() -> Self {
        Self {
            held: Held::new(),
            nodes: NodeSet::new(),
            last: 0,
            floor: 0,
            floors: Floors,
            garbage: VecDeque::new(),
        }
    }

    #[inline]
    fn begin(&mut self, _cx: &mut Context<'_, M, Self>, _intent: &Intent<'_>) -> Step<M, ()> {
        self.nodes.clear();
        self.floor = 0;
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
        if !M::fault(&faults::NO_READ_LOCK)
            && let Err(other) = self.lock(record, Mode::Shared).done()
        {
            return other;
        }
        // Relaxed: the lock has acquired it.
        let word = record.word().load(Ordering::Relaxed);
        self.floor = self.floor.max(word);
        let version = in_place::copy(record, word, arena, cx.stamped);
        if M::fault(&faults::READ_LOCK_DROPPED) && self.held.mode(record) == Some(&mut Mode::Shared)
        {
            self.held.drop(record);
        }
        Step::Done(version)
    }

    #[inline]
    fn intend(&mut self, _cx: &mut Context<'_, M, Self>, record: RecordRef<M>) -> Step<M, ()> {
        self.lock(record, Mode::Owned)
    }

    #[inline]
    fn passed(&mut self, _cx: &mut Context<'_, M, Self>, seen: Seen<M>) -> Step<M, ()> {
        if !M::fault(&faults::GAPS_NOT_WATCHED) {
            self.nodes.add(seen);
        }
        Step::Done(())
    }

    fn place(&mut self, record: RecordRef<M>) {
        let word = record.word();
        // Nobody else has seen it in this life.
        word.store(tid::next_life(word.load(Ordering::Relaxed)) | tid::ABSENT, Ordering::Relaxed);
        if M::fault(&faults::PLACED_UNLOCKED) {
            return;
        }
        record.further(0).store(word::WRITER, Ordering::Relaxed);
        self.held.add(record, Mode::Owned);
    }

    fn give_up(&mut self, cx: &mut Context<'_, M, Self>, record: RecordRef<M>) {
        if !M::fault(&faults::PLACED_UNLOCKED) {
            self.held.drop(record);
        }
        // SAFETY: the index has not taken it, so nobody else has seen it.
        unsafe { cx.heap.free_record(SlotKind::Record, record) };
    }

    fn inserted(
        &mut self,
        _cx: &mut Context<'_, M, Self>,
        _record: RecordRef<M>,
        changes: &[Change<M>],
    ) -> Step<M, ()> {
        self.floor = self.floor.max(floor::after(changes));
        self.nodes.fix_up(changes, false);
        Step::Done(())
    }

    fn hooks(&mut self) -> &mut dyn Hooks<M> {
        &mut self.floors
    }

    fn validate(&mut self, _writes: &WriteSet<M>) -> Result<(), Refusal<M>> {
        if self.nodes.holds() { Ok(()) } else { Err(Refusal::new(Reason::Phantom)) }
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
        let overwritten = in_place::prepare(cx, writes)?;
        let greatest = self.last.max(self.floor).max(overwritten);
        self.last = tid::next(greatest, epoch).ok_or(Refusal::new(Reason::EpochFull))?;
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
        if M::fault(&faults::UNLOCKED_BEFORE_INSTALL) {
            self.held.unlock_all();
        }
        in_place::install(cx, point, &mut writes.entries[index], value);
    }

    fn is_void(write: &Write<M>) -> bool {
        write.kind == Kind::Remove && write.prior & tid::ABSENT != 0
    }

    fn withdraw(&mut self, _record: RecordRef<M>) {
        // It is unlocked with the others.
    }

    #[inline]
    fn release(&mut self, cx: &mut Context<'_, M, Self>) {
        cx.epochs.close_window(cx.heap.slot());
        self.held.unlock_all();
    }

    fn abort(&mut self, cx: &mut Context<'_, M, Self>, writes: &mut WriteSet<M>) {
        in_place::give_back(cx, writes);
        cx.epochs.close_window(cx.heap.slot());
        self.held.unlock_all();
    }

    fn leave_garbage(&mut self, garbage: Garbage<M>) {
        self.garbage.push_back(garbage);
    }

    fn collect(&mut self, cx: &mut Context<'_, M, Self>, tables: &dyn Tables<M>, budget: usize) {
        self.collect_some(cx, tables, budget);
    }

    #[inline]
    fn has_garbage(&self) -> bool {
        !self.garbage.is_empty()
    }

    fn hand_over(&mut self, heir: &mut Vec<Garbage<M>>) {
        heir.extend(self.garbage.drain(..));
    }

    unsafe fn discard(heap: &mut LocalHeap<M>, record: RecordRef<M>) {
        // SAFETY: the caller's promise.
        unsafe { super::ruins::discard(heap, record) };
    }

    fn current_version(record: RecordRef<M>, out: &mut Vec<u8>) -> bool {
        in_place::current_version(record, out)
    }
}
