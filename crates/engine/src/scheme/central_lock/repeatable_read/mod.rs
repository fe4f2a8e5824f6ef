//! Two-phase locking for writes, and reads of a snapshot without locks (Jung et al., 2014, 5.1:
//! "REPEATABLE READ", and 5.3.3 for the versions that it has to keep).
//!
//! A transaction's snapshot is what was committed when it began: versions of commits up to a number, which
//! it reads off the counter of commits. Reads and scans find versions of the snapshot, in place or in the
//! chain behind (`chain.rs`), take no locks and are not tracked. A write locks the record in the lock table
//! (X, after IX on the database and the table), and keeps the lock until the transaction has ended. Who
//! finds then that the version in place is younger than its snapshot gives up: the first to update wins, as
//! in PostgreSQL under the same name. So histories have snapshot isolation. Write skew is possible, and
//! phantoms beside it: **not serializable**. (The paper's system, InnoDB, lets the second one overwrite what
//! it has not seen.)
//!
//! **Commit.** Who commits marks each record that it writes, by the latch in its word; *then* it counts the
//! commit, and so has its number; then it installs, which ends the marks. A reader that meets a mark waits
//! for its end, a commit's length and never for a lock. So of a commit that its snapshot has counted it
//! finds either the mark or the version, and what is marked after it looked is of a later one. Numbers come
//! from a counter, whatever the options say of timestamps: those of batches and clocks may be lower than
//! some that were given out before, and a snapshot must be complete when it is taken.
//!
//! **Versions** are those of `mvcc` (`parts/install.rs`), and so is the oldest active number, below which nobody
//! reads (`parts/oldest_active.rs`): a transaction shows the first number that is not in its snapshot. Versions and
//! tombstones go when they are below (`garbage.rs`). A key that is not in its index is therefore absent in
//! every snapshot at work, and what a transaction has found in one stays in its index until the transaction
//! has ended. Where memory is full and a version cannot be kept, its successor is refused, unless every snapshot at
//! work has the successor.
//!
//! **Insertions.** A record is placed as an absent one of [`PLACED`], which is in every snapshot, and
//! nobody takes it out of its index until its transaction has ended. One that was given up is of order zero.

mod garbage;

use super::check_placed;
use super::client::LockClient;
use super::faults;
use super::variants::{Scalable, Variant};
use crate::Options;
use crate::access::WriteSet;
use crate::arena::Arena;
use crate::contract::{Abort, CommitPoint, Context, LockTable, Needs, Scheme, Step, Tables};
use crate::record_word;
use crate::scheme::SchemeName;
use crate::scheme::parts::oldest_active::OldestActive;
use crate::scheme::parts::{chain, in_place, install};
use crate::version;
use crate::version::Version;
use chiliad_api::{Info, Intent, Part, Reason};
use chiliad_lock::{Locks, Manager, Mode, Session};
use chiliad_machine::{Cost, Line, Machine, Ordering, Shared as Boxed, Spin, Word};
use chiliad_storage::{Change, NoHooks, RecordRef};
use core::cell::Cell;
use std::sync::Arc;

/// The word of a record whose insertion is at work: below all numbers of commits.
const PLACED: u64 = (record_word::FLAGS + 1) | record_word::ABSENT;
/// The word of one whose insertion was given up.
const CANCELLED: u64 = record_word::ABSENT;
/// The counter of commits begins here: the last number that no commit has.
const FIRST: u64 = 1;

/// State shared by all workers.
pub struct Shared<M: Machine> {
    manager: Arc<Boxed<M, Manager<M>>>,
    /// Ticks after which a wait ends.
    wait_timeout: u64,
    /// The number of the last commit.
    commits: Line<M::Word>,
    oldest_active: OldestActive<M>,
}

impl<M: Machine> Shared<M> {
    /// The first number, as a header word, that no commit has yet.
    #[inline]
    fn next(&self) -> u64 {
        // Acquire pairs with the release in `RepeatableRead::count`: of whatever commit is counted the
        // marks are visible, or what came of them.
        record_word::word_of(self.commits.0.load(Ordering::Acquire) + 1)
    }
}

/// One worker's part.
pub struct RepeatableRead<M: Machine> {
    client: LockClient<M, Session<M>>,
    /// Versions whose words are below are in its snapshot.
    limit: u64,
    /// No snapshot reads what is older than this.
    oldest_active: u64,
    /// Transactions since the last search for the oldest active number.
    since: u32,
}

impl<M: Machine> RepeatableRead<M> {
    /// Counts a commit; its number as a header word.
    fn count(cx: &mut Context<'_, M, Self>) -> u64 {
        let part = cx.clockwork.switch(Part::Timestamp);
        M::work(Cost::Timestamp, 1);
        // Release: the marks are set before; pairs with the acquire in `Shared::next`. Acquire: the number
        // exceeds that of every version below, whose writer has counted before it let go of its lock.
        let number = cx.shared.commits.0.fetch_add(1, Ordering::AcqRel) + 1;
        debug_assert!(number > FIRST, "the first number is no commit's");
        cx.clockwork.switch(part);
        record_word::word_of(number)
    }

    /// Whether what was counted as `order` is in the snapshots of all others at work, and of those to come.
    fn is_in_all_snapshots(cx: &mut Context<'_, M, Self>, order: u64) -> bool {
        let (slots, slot) = (&cx.heap.shared().slots, cx.heap.slot_number());
        let next = order + record_word::word_of(1);
        cx.shared.oldest_active.look(slots, slot, next) == next
    }

    /// The commit is refused after all.
    fn unmark(writes: &WriteSet<M>) {
        for write in writes.entries.iter().filter(|write| !write.is_void()) {
            record_word::publish(write.record.word(), write.prior);
        }
    }

    /// Marks the records that are to be written, and notes the words that they had.
    fn mark(writes: &mut WriteSet<M>) {
        for write in &mut writes.entries {
            if write.is_void() {
                if write.placed {
                    cancel(write.record);
                }
                continue;
            }
            // The lock excludes all writers, so that somebody is at the chain for a moment, or gives up what
            // it has placed.
            let mut spin = Spin::<M>::new();
            write.prior = loop {
                match record_word::try_latch(write.record.word()) {
                    Ok(prior) => break prior,
                    Err(_) => spin.wait(),
                }
            };
        }
    }
}

/// The insertion that has placed the record is at work no more. If somebody else is about to write the
/// record, or has, that stays: the insertion was refused the lock.
fn cancel<M: Machine>(record: RecordRef<M>) {
    // Release pairs with the acquire of the collector that takes it out of its index.
    _ = record.word().compare_exchange(PLACED, CANCELLED, Ordering::Release, Ordering::Relaxed);
}

impl<M: Machine> Scheme<M> for RepeatableRead<M> {
    const INFO: Info = SchemeName::LockTableRepeatableRead.info();
    const NEEDS: Needs = Needs { waits: true, declares_writes: true, ..Needs::NOTHING };

    type Shared = Shared<M>;
    type LeafHooks = NoHooks;
    type LockTable = Self;

    fn shared(options: &Options) -> Shared<M> {
        Shared {
            manager: Arc::new(Boxed::new(<Scalable as Variant<M>>::table(options))),
            wait_timeout: options.wait_ticks::<M>(Self::INFO.wait_timeout),
            commits: Line(M::Word::new(FIRST)),
            oldest_active: OldestActive::new(),
        }
    }

    fn new() -> Self {
        Self { client: LockClient::new(), limit: 0, oldest_active: 0, since: 0 }
    }

    #[inline]
    fn begin(&mut self, cx: &mut Context<'_, M, Self>, _intent: &Intent<'_>) -> Step<M, ()> {
        if let Err(other) = self.client.begin(&cx.shared.manager).done() {
            return other;
        }
        let slot = cx.heap.slot_number();
        self.limit = cx.shared.next();
        while !cx.shared.oldest_active.enter(&cx.heap.shared().slots, slot, self.limit) {
            M::mark("snapshot below the oldest active");
            self.limit = cx.shared.next();
        }
        debug_assert!(self.limit & record_word::FLAGS == 0, "a limit is a word without flags");
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
        let mark = arena.used();
        let mut spin = Spin::<M>::new();
        loop {
            // Acquire pairs with the release of its writer: the payload is visible.
            let word = record.word().load(Ordering::Acquire);
            if word & record_word::DEAD != 0 {
                return Step::Redo;
            }
            let marked = word & record_word::LATCH != 0 && !M::fault(&faults::MARK_PASSED_BY);
            let version = match word < self.limit {
                _ if marked => None,
                true => version::copy_whole(record, word, arena, cx.stamped),
                false => chain::read_old(record, word, self.limit, arena, cx.stamped),
            };
            if let Some(version) = version {
                return Step::Done(version);
            }
            arena.truncate(mark);
            M::mark("read waited for a commit");
            spin.wait();
        }
    }

    /// Rows loaded since the transaction began are not in its snapshot, in a sealed table either.
    #[inline]
    fn read_sealed(
        &self,
        record: RecordRef<M>,
        arena: &mut Arena,
        stamped: bool,
    ) -> Step<M, Version> {
        // Acquire pairs with `record_word::publish` of the load that installed it.
        match record.word().load(Ordering::Acquire) < self.limit {
            true => version::read_sealed(record, arena, stamped).map_or(Step::Redo, Step::Done),
            false => Step::Done(chain::unborn(arena, stamped)),
        }
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
        // Relaxed: the lock has acquired it. It stays what it is until the lock is let go of.
        let younger = record.word().load(Ordering::Relaxed) >= self.limit;
        match younger && !M::fault(&faults::YOUNGER_OVERWRITTEN) {
            true => Step::Abort(Abort::over(Reason::TooLate, record)),
            false => Step::Done(()),
        }
    }

    fn wait(&mut self, cx: &mut Context<'_, M, Self>) -> Result<(), Abort<M>> {
        self.client.wait(cx.shared.wait_timeout, cx.limits)
    }

    fn begin_part(record: RecordRef<M>) {
        record.word().store(PLACED, Ordering::Relaxed);
    }

    fn cancel_part(record: RecordRef<M>) {
        record.word().store(record_word::DEAD, Ordering::Relaxed);
    }

    fn begin_insert(&mut self, cx: &mut Context<'_, M, Self>, record: RecordRef<M>) {
        record.word().store(PLACED, Ordering::Relaxed);
        self.client.place(cx.table, record);
    }

    fn cancel_insert(&mut self, _cx: &mut Context<'_, M, Self>, record: RecordRef<M>) {
        self.client.cancel_insert();
        record.word().store(record_word::DEAD, Ordering::Relaxed);
    }

    fn after_insert(
        &mut self,
        cx: &mut Context<'_, M, Self>,
        record: Option<RecordRef<M>>,
        _changes: &[Change<M>],
    ) -> Step<M, ()> {
        self.client.placed(cx.table, record, core::iter::empty())
    }

    #[inline]
    fn prepare(
        &mut self,
        cx: &mut Context<'_, M, Self>,
        writes: &mut WriteSet<M>,
    ) -> Result<CommitPoint, Abort<M>> {
        // A reader of what this window installs opens a window later, and so in this epoch at least.
        let epoch = cx.epochs.open_window(cx.heap.slot());
        if writes.is_empty() {
            // Behind the last commit of the snapshot.
            return Ok(CommitPoint { epoch, order: self.limit - record_word::word_of(1) });
        }
        check_placed(writes)?;
        in_place::prepare(cx, writes)?;
        // A snapshot that begins before this commit is counted reads what it overwrites: whether there is none is
        // known afterwards.
        let lost = Cell::new(false);
        install::set_blocks_by(cx, writes, |_| {
            lost.set(true);
            true
        })?;
        let early = M::fault(&faults::COUNTED_BEFORE_MARKS).then(|| Self::count(cx));
        Self::mark(writes);
        let order = early.unwrap_or_else(|| Self::count(cx));
        debug_assert!(order >= self.limit, "a commit is not in its own snapshot");
        if lost.get() && !Self::is_in_all_snapshots(cx, order) {
            Self::unmark(writes);
            return Err(Abort::out_of_memory());
        }
        Ok(CommitPoint { epoch, order })
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
        debug_assert!(point.order >= self.limit, "a commit is not in its own snapshot");
        let write = &mut writes.entries[index];
        install::install_before_old(cx, point, write, value, self.oldest_active);
    }

    #[inline]
    fn release(&mut self, cx: &mut Context<'_, M, Self>) {
        self.client.committed();
        cx.epochs.close_window(cx.heap.slot());
        OldestActive::leave(&cx.heap.shared().slots, cx.heap.slot_number());
    }

    fn abort(&mut self, cx: &mut Context<'_, M, Self>, writes: &mut WriteSet<M>) {
        for write in writes.entries.iter().filter(|write| write.placed) {
            cancel(write.record);
        }
        cx.epochs.close_window(cx.heap.slot());
        // Last: what it has placed is not taken out of an index by others while it is shown.
        OldestActive::leave(&cx.heap.shared().slots, cx.heap.slot_number());
    }

    fn collect(&mut self, cx: &mut Context<'_, M, Self>, tables: &dyn Tables<M>, budget: usize) {
        self.collect_some(cx, tables, budget);
        self.client.unlock_collected();
    }
}

impl<M: Machine> LockTable<M, Self> for RepeatableRead<M> {
    fn background_tick(shared: &Shared<M>) {
        <Session<M> as Locks<M>>::tend(&shared.manager);
    }

    fn release_locks(scheme: &mut Self) {
        scheme.client.unlock_all();
    }
}
