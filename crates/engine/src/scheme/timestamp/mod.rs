//! Timestamp ordering, with one version of each record and with several (Yu, 2015, 2.2.1,
//! 2.2.2, 4.3).
//!
//! A transaction takes its timestamp when it begins, and that is its place in the serial order. A read
//! raises the record's read timestamp; a write is announced first (the paper's *pre-write*: a *claim*,
//! `record.rs`), is buffered, and takes place at the commit with the transaction's timestamp. A transaction that
//! comes too late, to write what a younger one has read or to overwrite a younger one, aborts and begins anew with a
//! new timestamp. A reader waits for an older transaction's claim; so transactions wait for older ones only, and
//! never in a circle. What is announced can be written: a commit
//! has nothing left to check.
//!
//! - `timestamp` gives up as well when what it comes to read is younger than itself.
//! - `mvcc` puts versions that are overwritten into a chain (`chain.rs`) and reads there what was in
//!   place at its time. Versions that no transaction at work can read are collected (`garbage.rs`,
//!   `oldest_active.rs`), and a snapshot reads at a time before which all is settled.
//!
//! Where we depart from the paper:
//!
//! - A record has one claim at a time: of two transactions that have announced to write it the older
//!   one gives up, if it comes second. The paper queues both.
//! - `mvcc` appends versions, and never inserts one between two others: a transaction that would write one older than
//!   the newest aborts. So only the version in place needs a read timestamp.
//! - Gaps have read timestamps (`gap.rs`): the paper has neither scans nor insertions.
//! - The paper's variants copy every record that they read; so do we, into the worker's arena.
//!
//! Not strict: a transaction may take place before one that had ended when it began, where timestamps
//! come in batches or by clocks that differ.

mod faults;
mod gap;
mod garbage;
mod record;

pub use faults::FAULTS;

use crate::Options;
use crate::access::WriteSet;
use crate::arena::Arena;
use crate::contract::{Abort, CommitPoint, Context, Needs, NoLockTable, Scheme, Step, Tables};
use crate::record_word;
use crate::scheme::SchemeName;
use crate::scheme::parts::chain;
use crate::scheme::parts::in_place;
use crate::scheme::parts::install;
use crate::scheme::parts::oldest_active::OldestActive;
use crate::timestamps::{Clock, TimestampSource};
use crate::version;
use crate::version::Version;
use chiliad_api::{Info, Intent, Part, Reason};
use chiliad_machine::{Cost, Machine, Ordering, Spin, Word};
use chiliad_storage::{Change, RecordRef, Seen};
use gap::Gaps;
use record::{Blocker, Outcome, Reader};

/// Timestamp ordering with one version.
pub type Timestamp<M> = Ordered<M, false>;
/// Timestamp ordering with several versions.
pub type Mvcc<M> = Ordered<M, true>;

/// State shared by all workers.
pub struct Shared<M: Machine> {
    timestamps: TimestampSource<M>,
    oldest_active: OldestActive<M>,
}

/// A row that another transaction has claimed.
struct Blocked {
    /// The address of its record.
    row: u64,
    blocker: Blocker,
}

/// One worker's part of timestamp ordering, with one version of each record or with several.
pub struct Ordered<M: Machine, const VERSIONS: bool> {
    clock: Clock<M>,
    /// The timestamp of the transaction in hand, or of the last one, as a header word.
    now: u64,
    /// The transaction reads what was settled when it began, and is not tracked.
    snapshot: bool,
    /// It fills tables for later transactions.
    loads: bool,
    /// Versions whose words are below are its to read.
    limit: u64,
    /// Records that it will write.
    claims: Vec<RecordRef<M>>,
    /// What it waits for.
    blocked: Option<Blocked>,
    /// No transaction reads what is older than this.
    oldest_active: u64,
    /// Transactions since the last search for the oldest active timestamp.
    since: u32,
}

impl<M: Machine, const VERSIONS: bool> Ordered<M, VERSIONS> {
    fn draw(&mut self, cx: &mut Context<'_, M, Self>) -> u64 {
        let part = cx.clockwork.switch(Part::Timestamp);
        let timestamp = self.clock.draw(&cx.shared.timestamps, cx.heap);
        cx.clockwork.switch(part);
        record_word::word_of(timestamp)
    }

    #[inline]
    fn reader<'a>(&self, cx: &'a Context<'_, M, Self>) -> Reader<'a, M> {
        Reader {
            slots: &cx.heap.shared().slots,
            slot: cx.heap.slot_number(),
            now: self.now,
            stamped: cx.stamped,
        }
    }

    /// Whether everybody else at work, now and until this transaction ends, is younger.
    #[cold]
    fn is_oldest(&self, cx: &mut Context<'_, M, Self>) -> bool {
        let (slots, slot) = (&cx.heap.shared().slots, cx.heap.slot_number());
        let above = self.now + record_word::word_of(1);
        cx.shared.oldest_active.look(slots, slot, above) == above
    }

    fn end(&mut self, cx: &mut Context<'_, M, Self>) {
        M::work(Cost::Unlock, self.claims.len() as u32);
        for record in self.claims.drain(..) {
            record::release(record);
        }
        self.blocked = None;
        cx.epochs.close_window(cx.heap.slot());
        OldestActive::leave(&cx.heap.shared().slots, cx.heap.slot_number());
    }
}

impl<M: Machine, const VERSIONS: bool> Scheme<M> for Ordered<M, VERSIONS> {
    const INFO: Info = match VERSIONS {
        false => SchemeName::Timestamp.info(),
        true => SchemeName::Mvcc.info(),
    };
    const NEEDS: Needs = Needs {
        waits: true,
        declares_writes: true,
        record_words: 2,
        // Old versions are read where they are.
        copies_rows: !VERSIONS,
        ..Needs::NOTHING
    };

    type Shared = Shared<M>;
    type LeafHooks = Gaps;
    type LockTable = NoLockTable;

    fn shared(options: &Options) -> Shared<M> {
        Shared { timestamps: TimestampSource::new(options), oldest_active: OldestActive::new() }
    }

    fn new() -> Self {
        Self {
            clock: Clock::new(),
            now: 0,
            snapshot: false,
            loads: false,
            limit: 0,
            claims: Vec::with_capacity(32),
            blocked: None,
            oldest_active: 0,
            since: 0,
        }
    }

    #[inline]
    fn begin(&mut self, cx: &mut Context<'_, M, Self>, intent: &Intent<'_>) -> Step<M, ()> {
        debug_assert!(self.claims.is_empty(), "the last transaction has ended its claims");
        debug_assert!(self.blocked.is_none(), "it waits for nobody");
        let slot = cx.heap.slot_number();
        self.now = self.draw(cx);
        while !cx.shared.oldest_active.enter(&cx.heap.shared().slots, slot, self.now) {
            M::mark("timestamp below the oldest active");
            self.now = self.draw(cx);
        }
        self.limit = self.now;
        self.loads = intent.loads;
        self.snapshot = intent.snapshot && cx.snapshots;
        if self.snapshot && !M::fault(&faults::SNAPSHOT_TOO_YOUNG) {
            self.limit =
                cx.shared.oldest_active.for_snapshot(&cx.heap.shared().slots, slot, self.now);
        }
        debug_assert!(self.limit <= self.now, "nobody reads the future");
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
        let reader = self.reader(cx);
        let mark = arena.used();
        let mut spin = Spin::<M>::new();
        loop {
            // Acquire pairs with the release of its writer: the payload is visible.
            let word = record.word().load(Ordering::Acquire);
            if word & record_word::DEAD != 0 {
                return Step::Redo;
            }
            let younger = word >= self.limit
                && !M::fault(&faults::YOUNGER_VERSION_READ)
                && !M::fault(&faults::NEWEST_VERSION_READ);
            if word & record_word::LATCH != 0 {
                // It is being installed.
            } else if !younger {
                match reader.read(record, word, arena, !self.snapshot) {
                    Some(Outcome::Done(version)) => return Step::Done(version),
                    Some(Outcome::Wait(blocker)) => {
                        self.blocked = Some(Blocked { row: record.address(), blocker });
                        return Step::Wait;
                    }
                    _ => {}
                }
            } else if !VERSIONS {
                return Step::Abort(Abort::over(Reason::TooLate, record));
            } else if let Some(version) =
                chain::read_old(record, word, self.limit, arena, cx.stamped)
            {
                return Step::Done(version);
            }
            arena.truncate(mark);
            spin.wait();
        }
    }

    /// Rows loaded since the transaction began are younger than it, in a sealed table too.
    #[inline]
    fn read_sealed(
        &self,
        record: RecordRef<M>,
        arena: &mut Arena,
        stamped: bool,
    ) -> Step<M, Version> {
        // Acquire pairs with `record_word::publish` of the load that installed it.
        if record.word().load(Ordering::Acquire) < self.limit {
            return version::read_sealed(record, arena, stamped).map_or(Step::Redo, Step::Done);
        }
        match VERSIONS {
            true => Step::Done(chain::unborn(arena, stamped)),
            false => Step::Abort(Abort::over(Reason::TooLate, record)),
        }
    }

    #[inline]
    fn declare_write(
        &mut self,
        cx: &mut Context<'_, M, Self>,
        record: RecordRef<M>,
    ) -> Step<M, ()> {
        match self.reader(cx).claim(record) {
            Outcome::Done(fresh) => {
                if fresh {
                    debug_assert!(!self.claims.contains(&record), "a record is claimed once");
                    self.claims.push(record);
                }
                Step::Done(())
            }
            Outcome::Gone => Step::Redo,
            Outcome::Wait(blocker) => {
                self.blocked = Some(Blocked { row: record.address(), blocker });
                Step::Wait
            }
            Outcome::TooLate => Step::Abort(Abort::over(Reason::TooLate, record)),
        }
    }

    /// Waits until the transaction in the way has ended: it is older, and waits for none that waits for this one. Another
    /// older one may have claimed the row when this one looks again, which is the next piece of the same wait: it has its
    /// own claim, or a read timestamp that keeps older ones off, when it waits for the row no more.
    fn wait(&mut self, cx: &mut Context<'_, M, Self>) -> Result<(), Abort<M>> {
        let Some(Blocked { row, blocker }) = self.blocked.take() else { return Ok(()) };
        let Blocker { slot, timestamp } = blocker;
        M::mark("waited for an older transaction");
        let shown = &cx.heap.shared().slots.get(slot).timestamp;
        cx.limits.check_holder(slot)?;
        let mut wait = cx.limits.wait_for_row(row, self.now);
        // Acquire pairs with the release in `OldestActive::leave`.
        while shown.load(Ordering::Acquire) == timestamp {
            wait.awake()?;
        }
        wait.end_piece();
        Ok(())
    }

    #[inline]
    fn observe_leaf(&mut self, _cx: &mut Context<'_, M, Self>, seen: Seen<M>) -> Step<M, ()> {
        match self.snapshot || gap::stamp(&seen, self.now) {
            true => Step::Done(()),
            false => Step::Redo,
        }
    }

    fn begin_part(record: RecordRef<M>) {
        // Release pairs with the acquires of the word in `garbage.rs`.
        record.word().store(record_word::ABSENT, Ordering::Release);
    }

    fn cancel_part(record: RecordRef<M>) {
        record.word().store(record_word::DEAD, Ordering::Relaxed);
    }

    fn begin_insert(&mut self, cx: &mut Context<'_, M, Self>, record: RecordRef<M>) {
        record::claim_fresh(record, cx.heap.slot_number());
        // No active transaction knows of an earlier row of this key, if there was one. A collector that
        // remembers the slot for its last life, and finds it alive, finds it claimed.
        // Release pairs with the acquires of the word in `garbage.rs`.
        record.word().store(record_word::ABSENT, Ordering::Release);
        self.claims.push(record);
    }

    fn cancel_insert(&mut self, _cx: &mut Context<'_, M, Self>, record: RecordRef<M>) {
        let last = self.claims.pop();
        debug_assert!(last == Some(record), "it was claimed last");
        record.word().store(record_word::DEAD, Ordering::Relaxed);
    }

    fn after_insert(
        &mut self,
        _cx: &mut Context<'_, M, Self>,
        placed: Option<RecordRef<M>>,
        changes: &[Change<M>],
    ) -> Step<M, ()> {
        let read = gap::last_read(changes);
        if let Some(record) = placed
            && !M::fault(&faults::PLACED_UNREAD)
        {
            record::raise(record, read);
        }
        if read <= self.now {
            return Step::Done(());
        }
        let late = Reason::TooLate;
        Step::Abort(placed.map_or(Abort::new(late), |record| Abort::over(late, record)))
    }

    #[inline]
    fn prepare(
        &mut self,
        cx: &mut Context<'_, M, Self>,
        writes: &mut WriteSet<M>,
    ) -> Result<CommitPoint, Abort<M>> {
        debug_assert!(!self.snapshot || writes.is_empty(), "the past does not change");
        debug_assert!(self.blocked.is_none(), "it waits for nobody");
        // A reader of what this window installs opens a window later, and so in this epoch at least.
        let epoch = cx.epochs.open_window(cx.heap.slot());
        if !writes.is_empty() {
            in_place::prepare(cx, writes)?;
            if VERSIONS {
                install::set_blocks_by(cx, writes, |cx| self.is_oldest(cx))?;
            }
        }
        let order = if self.snapshot { 0 } else { self.now };
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
        debug_assert!(point.order == self.now, "a commit takes place at its timestamp");
        if M::fault(&faults::CLAIMS_RELEASED_EARLY) {
            self.claims.drain(..).for_each(record::release);
        }
        let write = &mut writes.entries[index];
        match VERSIONS {
            true => install::install_before_old(cx, point, write, value, self.oldest_active),
            false => in_place::install(cx, point, write, value),
        }
    }

    #[inline]
    fn release(&mut self, cx: &mut Context<'_, M, Self>) {
        if self.loads {
            cx.shared.oldest_active.close_below(self.now);
        }
        self.end(cx);
    }

    fn abort(&mut self, cx: &mut Context<'_, M, Self>, _writes: &mut WriteSet<M>) {
        self.end(cx);
    }

    fn collect(&mut self, cx: &mut Context<'_, M, Self>, tables: &dyn Tables<M>, budget: usize) {
        self.collect_some(cx, tables, budget);
    }
}
