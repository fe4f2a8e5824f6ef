//! Two-phase locking with a lock per record (Yu, 2015, 2.1, 4.1.2, 4.2).
//!
//! A record is locked before it is read or is to be written, by readers together or by one writer
//! alone, and stays so until the transaction has ended. The lock is a word beside the header word;
//! the header word names the version, as in the other schemes, and orders it in the log.
//!
//! The *policy* decides about a transaction that meets a lock:
//!
//! - `no-wait` gives up at once (2.1.2). Its lock word (`word.rs`) counts readers.
//! - `wait-die` waits for younger transactions and gives up before older ones (2.1.3). A transaction
//!   that is run again keeps its timestamp, and so gets older until nobody is in its way. Where threads share cores it
//!   begins no wait that is likely to be long (`outlook.rs`): a lock that is handed to a sleeper is kept until that has a
//!   core, and each younger transaction that asks for it meanwhile has run in vain.
//! - `dl-detect` waits for anybody, for a limited time, and looks for deadlocks (2.1.1, 4.2.1, 4.2.3;
//!   `deadlock.rs`). It begins no wait that is likely to be cut off (`outlook.rs`).
//!
//! Waiters stand in a list that the lock word leads to (`queue.rs`), and sleep until the releasing transaction
//! hands the lock to them. Between being granted and being used a lock is as good as
//! any: the record cannot leave its index meanwhile.
//!
//! Where we depart from the paper: writes are deferred to the commit, as in all schemes here; a write
//! still takes its lock when it is declared. And gaps are not locked but watched: leaves in which a
//! key was missed or that a scan has passed are remembered with their counts of membership changes,
//! and compared when all locks are held (`gaps`). The paper protects nobody from phantoms.
//! Serializable: let a transaction take place when, all its locks held, its counts are compared.
//! Everything it has read is locked from before until after; an insertion into a gap counts before it takes place,
//! and so is noticed, or takes place later.
//!
//! An insertion puts a locked, absent record into its index. A tombstone leaves its index under its lock, and its
//! order in the leaf (`min_insert_tid.rs`).

mod deadlock;
mod faults;
mod garbage;
mod held;
mod lists;
#[cfg(test)]
mod models;
mod outlook;
mod queue;
mod row_lock;
mod shared;
mod wait;
mod waiter;
mod word;

pub use faults::FAULTS;
pub use shared::Shared;

use crate::Options;
use crate::access::WriteSet;
use crate::arena::Arena;
use crate::contract::{Abort, CommitPoint, Context, Needs, NoLockTable, Scheme, Step, Tables};
use crate::gaps::Gaps;
use crate::record_word;
use crate::scheme::SchemeName;
use crate::scheme::parts::in_place;
use crate::scheme::parts::min_insert_tid::{self, MinInsertTids};
use crate::scheme::parts::opacity::Opacity;
use crate::timestamps::Clock;
use crate::version;
use crate::version::Version;
use chiliad_api::{Info, Intent, Reason};
use chiliad_machine::{Cost, Machine, Ordering, Word};
use chiliad_storage::{Change, RecordRef, Seen};
use deadlock::Search;
use held::{Held, Lock};
use outlook::Outlook;
use queue::{Answer, Locked};
use wait::Pending;
use word::Mode;

const NO_WAIT: u8 = 0;
const WAIT_DIE: u8 = 1;
const DL_DETECT: u8 = 2;

/// Two-phase locking that never waits.
pub type NoWait<M> = Locking<M, NO_WAIT>;
/// Two-phase locking in which the old wait for the young.
pub type WaitDie<M> = Locking<M, WAIT_DIE>;
/// Two-phase locking with deadlock detection.
pub type DlDetect<M> = Locking<M, DL_DETECT>;

/// One worker's part of two-phase locking under one of the policies.
pub struct Locking<M: Machine, const POLICY: u8> {
    held: Held<M>,
    /// The lock that the transaction waits for.
    pending: Option<Pending<M>>,
    /// The transaction's number among those of the worker.
    transaction: u64,
    /// Its age among all, kept when it is run again.
    timestamp: u64,
    /// How often it has been run before.
    retries: u32,
    clock: Clock<M>,
    search: Search,
    /// What it expects of waits that have a limit.
    outlook: Outlook,
    opacity: Opacity,
    /// The last TID given out by this worker.
    last: u64,
    /// The greatest TID that the transaction has read.
    newest: u64,
}

impl<M: Machine, const POLICY: u8> Locking<M, POLICY> {
    /// Why a transaction is refused that the policy does not let wait.
    const DENIED: Reason = if POLICY == WAIT_DIE { Reason::Younger } else { Reason::LockDenied };

    /// Looks at the leaves that were passed when that is due: records read are locked, gaps are not.
    #[inline]
    fn stay_opaque<T>(&mut self, cx: &Context<'_, M, Self>, done: T) -> Step<M, T> {
        let size = self.held.count() + cx.gaps.len();
        if !cx.opacity || !self.opacity.is_due(size, false) {
            return Step::Done(done);
        }
        if !cx.gaps.holds() {
            return Step::Abort(Abort::new(Reason::Phantom).early());
        }
        self.opacity.looked(size);
        Step::Done(done)
    }

    /// Locks a record if it is not locked like this already.
    #[inline]
    fn lock(
        &mut self,
        cx: &mut Context<'_, M, Self>,
        record: RecordRef<M>,
        mode: Mode,
    ) -> Step<M, ()> {
        M::work(Cost::Lock, 1);
        let held = self.held.find(record);
        if held.as_ref().is_some_and(|held| held.mode == Mode::Owned || mode == Mode::Shared) {
            return Step::Done(());
        }
        let upgrades = held.is_some();
        if upgrades && M::fault(&faults::UPGRADE_BESIDE_READERS) {
            return Step::Done(());
        }
        let answer = match POLICY {
            NO_WAIT => {
                let word = record.further(0);
                let locked = match upgrades {
                    true => word::try_upgrade(word),
                    false => word::try_lock(word, mode),
                };
                Ok(if locked { Answer::Granted } else { Answer::Denied })
            }
            _ => self.ask(cx, record, mode, upgrades),
        };
        match answer {
            Ok(Answer::Granted) => {}
            Ok(Answer::Waiting)
                if record.word().load(Ordering::Relaxed) & record_word::DEAD != 0 =>
            {
                // As below: what it holds is given back at once. A record that is alive now stays while anybody waits.
                self.stop_waiting(cx);
                if self.held.find(record).is_some() {
                    self.forget(cx, record);
                }
                return Step::Redo;
            }
            Ok(Answer::Waiting) => return Step::Wait,
            Ok(Answer::Denied) => return Step::Abort(Abort::over(Self::DENIED, record)),
            Err(why) => return Step::Abort(Abort { why, record: Some(record) }),
        }
        self.granted(cx.shared, cx.heap.slot_number(), record, mode);
        // Relaxed: the lock has acquired it.
        if !upgrades && record.word().load(Ordering::Relaxed) & record_word::DEAD != 0 {
            // It has left its index since the caller found it there.
            self.forget(cx, record);
            return Step::Redo;
        }
        Step::Done(())
    }

    /// Takes note of a lock that the transaction has got.
    #[inline]
    fn granted(&mut self, shared: &Shared<M>, slot: u32, record: RecordRef<M>, mode: Mode) {
        if let Some(held) = self.held.find(record) {
            held.mode = mode;
            return;
        }
        self.held.add(record, mode);
        self.note_held(shared, slot, self.held.count() - 1);
    }

    /// Notes what the transaction holds, from its `first` lock on, where others look for it.
    #[inline]
    fn note_held(&self, shared: &Shared<M>, slot: u32, first: usize) {
        if POLICY == NO_WAIT {
            return;
        }
        let waiters = &shared.queues().waiters;
        for (at, record) in self.held.from(first) {
            waiters.note_held(waiters.get(slot), at, record.address());
        }
    }

    /// Gives back the lock of one record.
    #[cold]
    fn forget(&mut self, cx: &Context<'_, M, Self>, record: RecordRef<M>) {
        let lock = self.held.forget(record);
        if POLICY != NO_WAIT {
            let waiter = cx.shared.queues().waiters.get(cx.heap.slot_number());
            waiter.held_count.store(self.held.count() as u64, Ordering::Relaxed);
            self.note_held(cx.shared, cx.heap.slot_number(), 0);
        }
        Self::unlock(cx, self.timestamp, &lock);
    }

    /// Gives back a lock of the transaction of this timestamp.
    #[inline]
    fn unlock(cx: &Context<'_, M, Self>, timestamp: u64, lock: &Lock<M>) {
        M::work(Cost::Unlock, 1);
        let (word, mode) = (lock.record.further(0), lock.mode);
        if POLICY == NO_WAIT {
            return word::unlock(word, mode);
        }
        let claim = Self::claim(cx, timestamp, mode);
        cx.shared.queues().unlock(&Locked { word, address: lock.record.address() }, claim);
    }

    #[inline]
    fn unlock_all(&mut self, cx: &Context<'_, M, Self>) {
        for lock in self.held.drain() {
            Self::unlock(cx, self.timestamp, &lock);
        }
    }
}

impl<M: Machine, const POLICY: u8> Scheme<M> for Locking<M, POLICY> {
    const INFO: Info = match POLICY {
        NO_WAIT => SchemeName::NoWait.info(),
        WAIT_DIE => SchemeName::WaitDie.info(),
        _ => SchemeName::DlDetect.info(),
    };
    const NEEDS: Needs = Needs {
        waits: POLICY != NO_WAIT,
        declares_writes: true,
        watches_gaps: true,
        record_words: 1,
        ..Needs::NOTHING
    };

    type Shared = Shared<M>;
    type LeafHooks = MinInsertTids;
    type LockTable = NoLockTable;

    fn shared(options: &Options) -> Shared<M> {
        Shared::new(options, POLICY != NO_WAIT, POLICY == WAIT_DIE, Self::INFO.wait_timeout)
    }

    fn new() -> Self {
        Self {
            held: Held::new(),
            pending: None,
            retries: 0,
            transaction: 0,
            timestamp: 0,
            clock: Clock::new(),
            search: Search::default(),
            outlook: Outlook::default(),
            opacity: Opacity::new(),
            last: 0,
            newest: 0,
        }
    }

    #[inline]
    fn begin(&mut self, cx: &mut Context<'_, M, Self>, intent: &Intent<'_>) -> Step<M, ()> {
        debug_assert!(self.held.count() == 0, "the last transaction has unlocked all");
        debug_assert!(self.pending.is_none(), "it waits for nothing");
        self.opacity = Opacity::new();
        self.newest = 0;
        if POLICY != NO_WAIT {
            self.announce_begin(cx, intent);
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
        if !M::fault(&faults::NO_READ_LOCK)
            && let Err(other) = self.lock(cx, record, Mode::Shared).done()
        {
            return other;
        }
        // Relaxed: the lock has acquired it.
        let word = record.word().load(Ordering::Relaxed);
        self.newest = self.newest.max(word);
        let version = version::copy(record, word, arena, cx.stamped);
        if M::fault(&faults::READ_LOCK_DROPPED)
            && self.held.find(record).is_some_and(|held| held.mode == Mode::Shared)
        {
            self.forget(cx, record);
        }
        self.stay_opaque(cx, version)
    }

    #[inline]
    fn declare_write(
        &mut self,
        cx: &mut Context<'_, M, Self>,
        record: RecordRef<M>,
    ) -> Step<M, ()> {
        self.lock(cx, record, Mode::Owned)
    }

    fn wait(&mut self, cx: &mut Context<'_, M, Self>) -> Result<(), Abort<M>> {
        self.wait_for_lock(cx)
    }

    #[inline]
    fn observe_leaf(&mut self, cx: &mut Context<'_, M, Self>, seen: Seen<M>) -> Step<M, ()> {
        if !M::fault(&faults::GAPS_NOT_WATCHED) {
            cx.gaps.add(seen);
        }
        self.stay_opaque(cx, ())
    }

    fn begin_insert(&mut self, cx: &mut Context<'_, M, Self>, record: RecordRef<M>) {
        record_word::begin_life(record.word(), 0);
        if M::fault(&faults::PLACED_UNLOCKED) {
            return;
        }
        let placed = self.lock(cx, record, Mode::Owned);
        debug_assert!(matches!(placed, Step::Done(())), "nobody else knows it");
    }

    fn cancel_insert(&mut self, cx: &mut Context<'_, M, Self>, record: RecordRef<M>) {
        if !M::fault(&faults::PLACED_UNLOCKED) {
            self.forget(cx, record);
        }
    }

    fn after_insert(
        &mut self,
        cx: &mut Context<'_, M, Self>,
        placed: Option<RecordRef<M>>,
        changes: &[Change<M>],
    ) -> Step<M, ()> {
        min_insert_tid::apply(placed, changes);
        cx.gaps.fix_up(changes, false);
        Step::Done(())
    }

    fn validate(
        &mut self,
        cx: &mut Context<'_, M, Self>,
        _writes: &WriteSet<M>,
    ) -> Result<(), Abort<M>> {
        Abort::unless_gaps(cx.gaps.holds())
    }

    fn seen_epoch(&self, gaps: &Gaps<M>) -> u64 {
        // As under Silo.
        record_word::epoch(self.newest.max(gaps.min_insert_tid()))
    }

    #[inline]
    fn prepare(
        &mut self,
        cx: &mut Context<'_, M, Self>,
        writes: &mut WriteSet<M>,
    ) -> Result<CommitPoint, Abort<M>> {
        debug_assert!(self.pending.is_none(), "all its locks are granted");
        // Full: what this transaction has inserted counts before it looks at any count; pairs with
        // the same fence of peers, one of which therefore sees the other's.
        M::fence(Ordering::SeqCst);
        let epoch = cx.epochs.open_window(cx.heap.slot());
        Abort::unless_gaps(cx.gaps_hold(writes))?;
        if writes.is_empty() {
            return Ok(CommitPoint { epoch, order: self.last });
        }
        let overwritten = in_place::prepare(cx, writes)?;
        let greatest = self.last.max(self.newest).max(overwritten);
        self.last = record_word::next(greatest, epoch).ok_or(Abort::new(Reason::EpochFull))?;
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
            self.unlock_all(cx);
        }
        in_place::install(cx, point, &mut writes.entries[index], value);
    }

    #[inline]
    fn release(&mut self, cx: &mut Context<'_, M, Self>) {
        cx.epochs.close_window(cx.heap.slot());
        self.unlock_all(cx);
        self.announce_end(cx);
    }

    fn abort(&mut self, cx: &mut Context<'_, M, Self>, _writes: &mut WriteSet<M>) {
        cx.epochs.close_window(cx.heap.slot());
        self.stop_waiting(cx);
        self.unlock_all(cx);
        self.announce_end(cx);
    }

    fn collect(&mut self, cx: &mut Context<'_, M, Self>, tables: &dyn Tables<M>, budget: usize) {
        self.collect_some(cx, tables, budget);
    }
}
