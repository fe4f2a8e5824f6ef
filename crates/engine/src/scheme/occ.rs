//! Optimistic concurrency control with per-tuple validation (Yu, 2015, 2.2.3, 4.3.2).
//!
//! ```text
//!  63                                                3    2      1       0
//! +---------------------------------------------------+------+--------+-------+
//! | write timestamp                                    | dead | absent | latch |
//! +---------------------------------------------------+------+--------+-------+
//! ```
//!
//! A transaction takes a *start timestamp*, and is refused a version that is younger. To commit it
//! latches all records that it has read or will write, in the order of their addresses, takes an *end
//! timestamp*, and validates: no version that it has read may have changed, or be younger than its
//! start; none that it overwrites may be younger than its end. The end timestamp becomes that of its
//! versions. Transactions that touch different records validate side by side.
//!
//! Where we depart from the paper:
//!
//! - Validation also asks that the version be the one that was read. The paper compares timestamps alone, which
//!   suffices only if a later draw gets a greater one: batches and clocks do not promise that.
//! - Latches are waited for in one order and for a bounded time; the order is that of addresses, which
//!   all workers share, and not that of keys.
//! - Leaves that were passed are validated as well (`gaps`), and an insertion commits above what
//!   has left its leaf (`min_insert_tid.rs`): the paper has neither scans nor removals.
//! - A record that was only read is latched, as in the paper, and so is kept from all others meanwhile;
//!   Silo's look at the word without a latch is what this scheme is compared with.

use crate::Options;
use crate::access::WriteSet;
use crate::arena::Arena;
use crate::contract::{Abort, CommitPoint, Context, Needs, NoLockTable, Scheme, Step, Tables};
use crate::gaps::Gaps;
use crate::record_word;
use crate::scheme::SchemeName;
use crate::scheme::parts::min_insert_tid::{self, MinInsertTids};
use crate::scheme::parts::opacity::Opacity;
use crate::scheme::parts::versioned_read;
use crate::scheme::parts::{in_place, unlink};
use crate::timestamps::{Clock, TimestampSource};
use crate::version::Version;
use chiliad_api::{Info, Intent, Part, Reason};
use chiliad_machine::{Cost, Fault, Machine, Ordering, Rig, Word};
use chiliad_storage::{Change, RecordRef, Seen};

const OCC: &[&str] = &["occ"];
const NOT_SERIALIZABLE: &[&str] = &["G-single", "G2", "G2-item", "G1c", "lost update"];

static READS_NOT_VALIDATED: Fault = Fault {
    name: "occ-reads-not-validated",
    step: "versions read are compared with those in place when all records are latched",
    rig: Rig::SimSc,
    schemes: OCC,
    workload: "bank",
    expected: NOT_SERIALIZABLE,
    seeds: 200,
};

static READS_NOT_LATCHED: Fault = Fault {
    name: "occ-reads-not-latched",
    step: "records read are latched before they are validated",
    rig: Rig::SimSc,
    schemes: OCC,
    workload: "scan",
    expected: NOT_SERIALIZABLE,
    seeds: 200,
};

static UNLATCHED_BEFORE_INSTALL: Fault = Fault {
    name: "occ-unlatched-before-install",
    step: "latches are given back when everything is installed",
    rig: Rig::SimSc,
    schemes: OCC,
    workload: "bank",
    expected: NOT_SERIALIZABLE,
    seeds: 200,
};

static LEAVES_NOT_VALIDATED: Fault = Fault {
    name: "occ-leaves-not-validated",
    step: "leaves passed are as they were when all records are latched",
    rig: Rig::SimSc,
    schemes: OCC,
    workload: "scan",
    expected: &["G2", "G2-item", "G-single", "G1c"],
    seeds: 2000,
};

static END_NOT_ABOVE: Fault = Fault {
    name: "occ-end-not-above",
    step: "a transaction that overwrites a version younger than its end is refused",
    rig: Rig::SimSc,
    schemes: OCC,
    workload: "scan",
    expected: &["order reversal"],
    seeds: 1000,
};

/// The planted bugs of this scheme.
pub static FAULTS: &[&Fault] = &[
    &READS_NOT_VALIDATED,
    &READS_NOT_LATCHED,
    &UNLATCHED_BEFORE_INSTALL,
    &LEAVES_NOT_VALIDATED,
    &END_NOT_ABOVE,
];

/// A record that was read, and the header word then.
struct Read<M: Machine> {
    record: RecordRef<M>,
    word: u64,
}

/// One worker's part.
pub struct Occ<M: Machine> {
    clock: Clock<M>,
    /// The start timestamp, as a word.
    start: u64,
    reads: Vec<Read<M>>,
    opacity: Opacity,
    /// Records latched for the commit, none of them placed; once prepared, those that are only read:
    /// the others are unlatched by their new words.
    latched: Vec<RecordRef<M>>,
}

impl<M: Machine> Occ<M> {
    /// A timestamp as a word. No thread sleeps for it under latches.
    fn draw(&mut self, cx: &mut Context<'_, M, Self>, latched: bool) -> u64 {
        let part = cx.clockwork.switch(Part::Timestamp);
        let timestamp = if latched {
            self.clock.draw_awake(cx.shared, cx.heap)
        } else {
            self.clock.draw(cx.shared, cx.heap)
        };
        cx.clockwork.switch(part);
        record_word::word_of(timestamp)
    }

    /// Latches what was read or will be written, each record once.
    fn latch_all(&mut self, writes: &WriteSet<M>) -> Result<(), Abort<M>> {
        debug_assert!(self.latched.is_empty(), "the last commit has unlatched all");
        let mut records = core::mem::take(&mut self.latched);
        records.clear();
        let written = writes.entries.iter().filter(|write| !write.placed);
        records.extend(written.map(|write| write.record));
        if !M::fault(&READS_NOT_LATCHED) {
            let read = self.reads.iter().map(|read| read.record);
            let placed =
                |record| writes.find(record).is_some_and(|at| writes.entries[at as usize].placed);
            records.extend(read.filter(|&record| !placed(record)));
        }
        records.sort_unstable_by_key(|record| record.address());
        records.dedup();
        let refused = records
            .iter()
            .enumerate()
            .find_map(|(at, &record)| in_place::latch(record).err().map(|abort| (at, abort)));
        self.latched = records;
        let Some((count, abort)) = refused else { return Ok(()) };
        self.latched.truncate(count);
        Err(abort)
    }

    fn unlatch_all(&mut self) {
        M::work(Cost::Unlock, self.latched.len() as u32);
        for record in self.latched.drain(..) {
            record_word::unlatch(record.word());
        }
    }

    /// Whether what was read, and what was not found, is still as it was.
    fn check(&self, gaps: &Gaps<M>) -> Result<(), Abort<M>> {
        self.check_reads(false)?;
        Self::judge_gaps(gaps.holds())
    }

    #[inline]
    fn judge_gaps(hold: bool) -> Result<(), Abort<M>> {
        Abort::unless_gaps(hold || M::fault(&LEAVES_NOT_VALIDATED))
    }

    /// Whether what was read is still there; `own`: its records are latched by this transaction.
    fn check_reads(&self, own: bool) -> Result<(), Abort<M>> {
        M::work(Cost::Validate, self.reads.len() as u32);
        for read in &self.reads {
            // Acquire pairs with `record_word::publish`: what we conclude from the word holds for what we look
            // at afterwards.
            let word = read.record.word().load(Ordering::Acquire);
            let changed = !record_word::same_version(word, read.word)
                || word & !record_word::FLAGS > self.start
                || !own && word & record_word::LATCH != 0;
            if changed && !M::fault(&READS_NOT_VALIDATED) {
                return Err(Abort::over(Reason::ReadChanged, read.record));
            }
        }
        Ok(())
    }

    /// Looks at all that was read when that is due.
    #[inline]
    fn stay_opaque<T>(&mut self, cx: &Context<'_, M, Self>, done: T) -> Step<M, T> {
        let size = self.reads.len() + cx.gaps.len();
        if !cx.opacity || !self.opacity.is_due(size, false) {
            return Step::Done(done);
        }
        if let Err(abort) = self.check(cx.gaps) {
            return Step::Abort(abort.early());
        }
        self.opacity.looked(size);
        Step::Done(done)
    }
}

impl<M: Machine> Scheme<M> for Occ<M> {
    const INFO: Info = SchemeName::Occ.info();
    const NEEDS: Needs =
        Needs { copies_rows: true, watches_gaps: true, carries_additions: true, ..Needs::NOTHING };

    type Shared = TimestampSource<M>;
    type LeafHooks = MinInsertTids;
    type LockTable = NoLockTable;

    fn shared(options: &Options) -> TimestampSource<M> {
        TimestampSource::new(options)
    }

    fn new() -> Self {
        Self {
            clock: Clock::new(),
            start: 0,
            reads: Vec::with_capacity(64),
            opacity: Opacity::new(),
            latched: Vec::with_capacity(64),
        }
    }

    #[inline]
    fn begin(&mut self, cx: &mut Context<'_, M, Self>, _intent: &Intent<'_>) -> Step<M, ()> {
        debug_assert!(self.latched.is_empty(), "the last commit has unlatched all");
        self.reads.clear();
        self.opacity = Opacity::new();
        self.start = self.draw(cx, false);
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
        let (word, version) = match versioned_read::present(record, arena, cx.stamped).done() {
            Ok(found) => found,
            Err(other) => return other,
        };
        debug_assert!(self.start & record_word::FLAGS == 0, "a start is a word without flags");
        if word & !record_word::FLAGS > self.start {
            return Step::Abort(Abort::over(Reason::TooLate, record));
        }
        self.reads.push(Read { record, word });
        self.stay_opaque(cx, version)
    }

    fn peek(record: RecordRef<M>, arena: &mut Arena, stamped: bool) -> Step<M, Version> {
        versioned_read::peek(record, arena, stamped)
    }

    #[inline]
    fn observe_leaf(&mut self, cx: &mut Context<'_, M, Self>, seen: Seen<M>) -> Step<M, ()> {
        cx.gaps.add(seen);
        self.stay_opaque(cx, ())
    }

    fn cancel_part(record: RecordRef<M>) {
        let word = record.word();
        word.store(record_word::life_before(word.load(Ordering::Relaxed)), Ordering::Relaxed);
    }

    fn begin_insert(&mut self, _cx: &mut Context<'_, M, Self>, record: RecordRef<M>) {
        record_word::begin_life(record.word(), record_word::LATCH);
    }

    fn cancel_insert(&mut self, _cx: &mut Context<'_, M, Self>, record: RecordRef<M>) {
        let word = record.word();
        // A life that nobody has seen does not count: words must not run ahead of timestamps.
        word.store(record_word::life_before(word.load(Ordering::Relaxed)), Ordering::Relaxed);
    }

    #[inline]
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
        self.check(cx.gaps)
    }

    #[inline]
    fn prepare(
        &mut self,
        cx: &mut Context<'_, M, Self>,
        writes: &mut WriteSet<M>,
    ) -> Result<CommitPoint, Abort<M>> {
        self.latch_all(writes)?;
        // Full: the latches are visible before any word or count below is looked at; pairs with the
        // same fence of peers.
        M::fence(Ordering::SeqCst);
        let end = self.draw(cx, true);
        let epoch = cx.epochs.open_window(cx.heap.slot());
        self.check_reads(true)?;
        Self::judge_gaps(cx.gaps_hold(writes))?;
        if writes.is_empty() {
            return Ok(CommitPoint { epoch, order: end });
        }
        let overwritten = in_place::prepare(cx, writes)?;
        if end <= overwritten | record_word::FLAGS && !M::fault(&END_NOT_ABOVE) {
            return Err(Abort::new(Reason::TooLate));
        }
        if M::fault(&UNLATCHED_BEFORE_INSTALL) {
            self.unlatch_all();
        }
        // The list keeps the records that were only read; the install unlatches a written one with its new word.
        self.latched.retain(|&record| match writes.find(record) {
            Some(at) => {
                writes.entries[at as usize].latched = true;
                false
            }
            None => true,
        });
        Ok(CommitPoint { epoch, order: end })
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

    fn skip_write(&mut self, record: RecordRef<M>) {
        record_word::unlatch(record.word());
    }

    #[inline]
    fn release(&mut self, cx: &mut Context<'_, M, Self>) {
        cx.epochs.close_window(cx.heap.slot());
        self.unlatch_all();
    }

    fn abort(&mut self, cx: &mut Context<'_, M, Self>, writes: &mut WriteSet<M>) {
        for write in writes.entries.iter().filter(|write| write.latched || write.placed) {
            record_word::unlatch(write.record.word());
        }
        self.unlatch_all();
        cx.epochs.close_window(cx.heap.slot());
    }

    fn collect(&mut self, cx: &mut Context<'_, M, Self>, tables: &dyn Tables<M>, budget: usize) {
        unlink::sweep(self, cx, tables, budget);
    }
}
