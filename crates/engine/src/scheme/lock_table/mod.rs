//! Two-phase locking by a central lock table (scalable-lock-manager.txt).
//!
//! A transaction locks a record in the table of locks (`chiliad-lock`) before it is read (S) or is to be
//! written (X), after its intention on the database and on the record's table (IS, IX), and keeps all of
//! it until it has ended. Records go by their addresses: a lock stays behind where a record has left its
//! index and its memory is another's, and is one too many then, which costs waiting and is no error.
//!
//! The requester finds deadlocks itself and gives up; and it gives up when it has waited for too long.
//!
//! Writes are deferred to the commit, and gaps are not locked but watched, as under the other two-phase
//! locking schemes (`lock`, head). A tombstone or a placeholder leaves its index before its transaction
//! lets go of the lock: who waits for it looks the key up again.
//!
//! An insertion asks for the lock of its fresh record when that is in no index yet. It may meet whoever has
//! kept the lock of the memory's record before; it stands in line then, ahead of all who find the new record,
//! and waits when the index has taken it. Whom it waits for may find the new record too, and has its lock
//! already: if the record has been written when the wait is over the insertion is refused.

mod repeatable_read;
mod variants;

pub use repeatable_read::{FAULTS, RepeatableRead};
pub use variants::{
    LockTable, LockTableBucket, LockTableGlobal, LockTableNoEbr, LockTableSli, Variant,
};

use super::floor::{self, Floors};
use super::in_place;
use super::node_set::NodeSet;
use super::unlink;
use super::{
    CommitPoint, Context, Garbage, Info, Isolation, Refusal, Scheme, Step, Tables, Version, tid,
};
use crate::Options;
use crate::access::WriteSet;
use crate::arena::Arena;
use crate::error::Reason;
use crate::table::TableId;
use crate::transaction::Intent;
use chiliad_lock::{Answer, Locks, Mode, Name, Refused};
use chiliad_machine::{Cost, Machine, Ordering, Shared as Boxed, Word};
use chiliad_storage::{Change, Hooks, Kind as SlotKind, RecordRef, Seen};
use std::collections::VecDeque;
use std::sync::Arc;

/// What all workers share.
pub struct Shared<M: Machine, V: Variant<M>> {
    manager: Arc<Boxed<M, <V::Locks as Locks<M>>::Manager>>,
    /// Ticks after which a wait ends.
    wait_timeout: u64,
}

/// One worker's part.
pub struct Table<M: Machine, V: Variant<M>> {
    session: Option<V::Locks>,
    /// A transaction is in hand.
    active: bool,
    nodes: NodeSet<M>,
    /// The last TID given out by this worker.
    last: u64,
    /// The greatest TID that the transaction has read.
    newest: u64,
    floors: Floors,
    garbage: VecDeque<Garbage<M>>,
    /// How it went to lock a fresh record that the index has not taken yet.
    placing: Option<Result<Answer, Refused>>,
}

/// Why a transaction gives up that was refused a lock.
fn reason(refused: Refused) -> Reason {
    match refused {
        Refused::Deadlock | Refused::UpgradeDeadlock => Reason::Deadlock,
        Refused::Timeout | Refused::Cancelled => Reason::LockTimeout,
        Refused::Exhausted => Reason::LocksExhausted,
    }
}

/// Asks for a lock of the record, and for the intentions before it.
#[inline]
fn ask<M: Machine, L: Locks<M>>(
    session: &mut L,
    table: TableId,
    record: RecordRef<M>,
    mode: Mode,
) -> Result<Answer, Refused> {
    M::work(Cost::Lock, 1);
    let intention = if mode == Mode::S { Mode::Is } else { Mode::Ix };
    for name in [Name::DATABASE, Name::table(table.0)] {
        if session.ask(name, intention)? == Answer::Waits {
            return Ok(Answer::Waits);
        }
    }
    session.ask(Name::record(table.0, record.address()), mode)
}

/// The same, as hooks answer.
#[inline]
fn lock<M: Machine, L: Locks<M>>(
    session: &mut L,
    table: TableId,
    record: RecordRef<M>,
    mode: Mode,
) -> Step<M, ()> {
    match ask(session, table, record, mode) {
        Ok(Answer::Waits) => Step::Wait,
        Err(refused) => Step::Abort(Refusal::over(reason(refused), record)),
        // Relaxed: the lock has acquired it.
        Ok(Answer::Granted) => match record.word().load(Ordering::Relaxed) & tid::DEAD {
            0 => Step::Done(()),
            // It has left its index since the caller found it there.
            _ => Step::Redo,
        },
    }
}

/// Waits for what the session stands in line for, for `timeout` ticks.
fn wait<M: Machine, L: Locks<M>>(session: &mut L, timeout: u64) -> Result<(), Refusal<M>> {
    let deadline = M::now().saturating_add(timeout);
    let waited = session.wait((deadline < u64::MAX).then_some(deadline));
    waited.map_err(|refused| match timeout {
        0 => Refusal::new(Reason::LockDenied),
        _ => Refusal::new(reason(refused)),
    })
}

/// What follows from how it went to lock the record that an insertion has placed, if it has.
fn placed<M: Machine>(
    placed: Option<RecordRef<M>>,
    lock: Option<Result<Answer, Refused>>,
) -> Step<M, ()> {
    match (placed, lock) {
        (Some(_), Some(Ok(Answer::Waits))) => Step::Wait,
        (Some(record), Some(Err(refused))) => Step::Abort(Refusal::over(reason(refused), record)),
        _ => Step::Done(()),
    }
}

/// Refuses a transaction whose insertion has waited for the lock of the record that it had placed, if who had
/// the lock, of the memory's record before, has found the new one meanwhile and written it.
fn check_placed<M: Machine>(writes: &WriteSet<M>) -> Result<(), Refusal<M>> {
    // Relaxed: the lock has acquired it.
    let word = |record: RecordRef<M>| record.word().load(Ordering::Relaxed);
    let mut placed = writes.entries.iter().filter(|write| write.placed);
    match placed.find(|write| !tid::same_version(word(write.record), write.prior)) {
        Some(write) => Err(Refusal::over(Reason::ReadChanged, write.record)),
        None => Ok(()),
    }
}

impl<M: Machine, V: Variant<M>> Table<M, V> {
    fn session(&mut self) -> &mut V::Locks {
        self.session.as_mut().expect("it has begun")
    }

    #[inline]
    fn unlock_all(&mut self) {
        self.active = false;
        if let Some(session) = &mut self.session {
            M::work(Cost::Unlock, session.count() as u32);
            session.release_all();
        }
    }

    /// Takes a record out of its index, under its lock, if it is what was left there; whether nothing is
    /// left to do.
    fn unlink(
        &mut self,
        cx: &mut Context<'_, M, Self>,
        tables: &dyn Tables<M>,
        garbage: &Garbage<M>,
    ) -> bool {
        let record = garbage.record;
        // A table that was dropped takes its garbage along. Acquire: a record that is found alive is not
        // freed while we are pinned.
        let left = |word: &M::Word| tid::is_absence(word.load(Ordering::Acquire), garbage.order);
        if !tables.contains(garbage.table) || !left(record.word()) {
            return true;
        }
        let session = self.session.as_mut().expect("looked at by the caller");
        let name = Name::record(garbage.table, record.address());
        if !matches!(session.ask(name, Mode::X), Ok(Answer::Granted)) {
            session.stop_waiting();
            return false;
        }
        let found = record.word().load(Ordering::Relaxed);
        if tid::is_absence(found, garbage.order) {
            unlink::unlink(cx.heap, tables, garbage, found, &mut self.floors);
        }
        true
    }
}

impl<M: Machine, V: Variant<M>> Scheme<M> for Table<M, V> {
    const INFO: Info = Info {
        name: V::WORDS[0],
        summary: V::WORDS[1],
        isolation: Isolation::Serializable,
        strict: true,
        order_follows_reads: true,
        snapshots: false,
        needs_partitions: false,
        source: V::WORDS[2],
    };
    const COLLECTS_BEFORE_RELEASE: bool = true;
    const INTENDS: bool = true;
    const WAITS: bool = true;

    type Shared = Shared<M, V>;

    fn shared(options: &Options) -> Shared<M, V> {
        Shared {
            manager: Arc::new(Boxed::new(V::table(options))),
            wait_timeout: Options::ticks::<M>(options.wait_timeout),
        }
    }

    fn new() -> Self {
        Self {
            session: None,
            active: false,
            nodes: NodeSet::new(),
            last: 0,
            newest: 0,
            floors: Floors,
            garbage: VecDeque::new(),
            placing: None,
        }
    }

    #[inline]
    fn begin(&mut self, cx: &mut Context<'_, M, Self>, _intent: &Intent<'_>) -> Step<M, ()> {
        self.nodes.clear();
        self.newest = 0;
        if self.session.is_none() {
            self.session = V::Locks::session(&cx.shared.manager);
        }
        match &mut self.session {
            Some(session) => session.begin(),
            None => return Step::Abort(Refusal::out_of_memory()),
        }
        self.active = true;
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
        if let Err(other) = lock(self.session(), cx.table, record, Mode::S).done() {
            return other;
        }
        // Relaxed: the lock has acquired it.
        let word = record.word().load(Ordering::Relaxed);
        self.newest = self.newest.max(word);
        Step::Done(in_place::copy(record, word, arena, cx.stamped))
    }

    #[inline]
    fn intend(&mut self, cx: &mut Context<'_, M, Self>, record: RecordRef<M>) -> Step<M, ()> {
        lock(self.session(), cx.table, record, Mode::X)
    }

    fn wait(&mut self, cx: &mut Context<'_, M, Self>) -> Result<(), Refusal<M>> {
        wait(self.session(), cx.shared.wait_timeout)
    }

    #[inline]
    fn passed(&mut self, _cx: &mut Context<'_, M, Self>, seen: Seen<M>) -> Step<M, ()> {
        self.nodes.add(seen);
        Step::Done(())
    }

    fn place(&mut self, cx: &mut Context<'_, M, Self>, record: RecordRef<M>) {
        tid::begin_life(record.word(), 0);
        self.placing = Some(ask(self.session(), cx.table, record, Mode::X));
    }

    fn give_up(&mut self, cx: &mut Context<'_, M, Self>, record: RecordRef<M>) {
        self.placing = None;
        self.session().stop_waiting();
        // SAFETY: the index has not taken it, so nobody else has seen it.
        unsafe { cx.heap.free_record(SlotKind::Record, record) };
    }

    fn inserted(
        &mut self,
        _cx: &mut Context<'_, M, Self>,
        record: Option<RecordRef<M>>,
        changes: &[Change<M>],
    ) -> Step<M, ()> {
        floor::settle(record, changes);
        self.nodes.fix_up(changes, false);
        placed(record, self.placing.take())
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
        check_placed(writes)?;
        let overwritten = in_place::prepare(cx, writes)?;
        let greatest = self.last.max(self.newest).max(overwritten);
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
        in_place::install(cx, point, &mut writes.entries[index], value);
    }

    fn withdraw(&mut self, _record: RecordRef<M>) {
        // It is unlocked with the others.
    }

    #[inline]
    fn release(&mut self, cx: &mut Context<'_, M, Self>) {
        cx.epochs.close_window(cx.heap.slot());
    }

    fn let_go(&mut self, _cx: &mut Context<'_, M, Self>) {
        self.unlock_all();
    }

    fn abort(&mut self, cx: &mut Context<'_, M, Self>, writes: &mut WriteSet<M>) {
        in_place::give_back(cx, writes);
        cx.epochs.close_window(cx.heap.slot());
    }

    fn leave_garbage(&mut self, garbage: Garbage<M>) {
        self.garbage.push_back(garbage);
    }

    fn collect(&mut self, cx: &mut Context<'_, M, Self>, tables: &dyn Tables<M>, budget: usize) {
        if self.session.is_none() {
            return;
        }
        for _ in 0..budget.min(self.garbage.len()) {
            let Some(garbage) = self.garbage.pop_front() else { break };
            M::work(Cost::Collect, 1);
            if self.unlink(cx, tables, &garbage) {
                cx.keys.give(garbage.key);
            } else {
                self.garbage.push_back(garbage);
            }
        }
        if !self.active {
            // What was left behind by transactions that could not take it along.
            self.unlock_all();
        }
    }

    #[inline]
    fn has_garbage(&self) -> bool {
        !self.garbage.is_empty()
    }

    fn hand_over(&mut self, heir: &mut Vec<Garbage<M>>) {
        heir.extend(self.garbage.drain(..));
    }
}
