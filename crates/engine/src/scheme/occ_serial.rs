//! Optimistic concurrency control as it was first described, with *serial validation*: one transaction
//! at a time validates and writes (Kung and Robinson 1981; Yu, 2015, 2.2.3, 4.3.2).
//!
//! Readers read as under Silo, from the version in place, and remember the header word. To commit, a
//! transaction takes the one commit latch of the database, looks whether everything that it has read is as
//! it was, and installs. What this critical section costs is what `occ` and `silo` do without; and
//! since nobody else writes meanwhile it is the smallest scheme there is with scans and insertions: the
//! book's guide goes through it (`docs/adding-a-scheme.md`).

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
use crate::scheme::parts::unlink;
use crate::scheme::parts::versioned_read;
use crate::version::Version;
use chiliad_api::{Info, Intent, Part, Reason};
use chiliad_machine::{Cost, Fault, Line, Machine, Ordering, Rig, Spin, Word};
use chiliad_storage::{Change, RecordRef, Seen};

/// Two commits at a time.
static VALIDATED_TOGETHER: Fault = Fault {
    name: "validated-together",
    step: "one transaction at a time validates and writes",
    rig: Rig::SimSc,
    schemes: &["occ-serial"],
    workload: "bank",
    expected: &["G-single", "G2", "G2-item", "G1c", "lost update"],
    seeds: 200,
};

/// A commit that does not look at what it has read.
static READS_NOT_COMPARED: Fault = Fault {
    name: "reads-not-compared",
    step: "versions read are compared with those in place",
    rig: Rig::SimSc,
    schemes: &["occ-serial"],
    workload: "bank",
    expected: &["G-single", "G2", "G2-item", "G1c", "lost update"],
    seeds: 200,
};

/// The planted bugs of this scheme.
pub static FAULTS: &[&Fault] = &[&VALIDATED_TOGETHER, &READS_NOT_COMPARED];

/// One worker's part.
pub struct OccSerial<M: Machine> {
    reads: Vec<(RecordRef<M>, u64)>,
    opacity: Opacity,
    /// Whether it has the commit latch.
    commits: bool,
    last: u64,
}

impl<M: Machine> OccSerial<M> {
    fn take_latch(&mut self, cx: &mut Context<'_, M, Self>) {
        if M::fault(&VALIDATED_TOGETHER) {
            return;
        }
        debug_assert!(!self.commits, "it commits once");
        let part = cx.clockwork.switch(Part::Wait);
        let mut spin = Spin::<M>::new();
        // Acquire pairs with the releases in `end` and `collect`: we see what earlier commits have installed.
        while cx.shared.0.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_err() {
            spin.wait();
        }
        cx.clockwork.switch(part);
        self.commits = true;
    }

    fn end(&mut self, cx: &mut Context<'_, M, Self>) {
        cx.epochs.close_window(cx.heap.slot());
        if core::mem::take(&mut self.commits) {
            // Release pairs with the acquires in `take_latch` and `collect`.
            cx.shared.0.store(0, Ordering::Release);
        }
    }

    /// Whether what was read, and what was not found, is still as it was.
    fn check(&self, gaps: &Gaps<M>, writes: Option<&WriteSet<M>>) -> Result<(), Abort<M>> {
        self.check_reads(writes)?;
        Abort::unless_gaps(gaps.holds())
    }

    /// Whether what was read is still there.
    fn check_reads(&self, writes: Option<&WriteSet<M>>) -> Result<(), Abort<M>> {
        M::work(Cost::Validate, self.reads.len() as u32);
        for &(record, seen) in &self.reads {
            // Acquire pairs with `record_word::publish`: what we conclude from the word holds for what we look
            // at afterwards.
            let word = record.word().load(Ordering::Acquire);
            let foreign = word & record_word::LATCH != 0
                && writes.is_none_or(|writes| writes.find(record).is_none());
            let changed = !record_word::same_version(word, seen) || foreign;
            if changed && !M::fault(&READS_NOT_COMPARED) {
                return Err(Abort::over(Reason::ReadChanged, record));
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
        if let Err(abort) = self.check(cx.gaps, None) {
            return Step::Abort(abort.early());
        }
        self.opacity.looked(size);
        Step::Done(done)
    }
}

impl<M: Machine> Scheme<M> for OccSerial<M> {
    const INFO: Info = SchemeName::OccSerial.info();

    const NEEDS: Needs = Needs { watches_gaps: true, carries_additions: true, ..Needs::NOTHING };

    /// The commit latch.
    type Shared = Line<M::Word>;
    type LeafHooks = MinInsertTids;
    type LockTable = NoLockTable;

    fn shared(_options: &Options) -> Line<M::Word> {
        Line(M::Word::new(0))
    }

    fn new() -> Self {
        Self { reads: Vec::with_capacity(64), opacity: Opacity::new(), commits: false, last: 0 }
    }

    fn begin(&mut self, _cx: &mut Context<'_, M, Self>, _intent: &Intent<'_>) -> Step<M, ()> {
        debug_assert!(!self.commits, "the last commit is over");
        self.reads.clear();
        self.opacity = Opacity::new();
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
        match versioned_read::present(record, arena, cx.stamped).done() {
            Ok((word, version)) => {
                self.reads.push((record, word));
                self.stay_opaque(cx, version)
            }
            Err(other) => other,
        }
    }

    fn peek(record: RecordRef<M>, arena: &mut Arena, stamped: bool) -> Step<M, Version> {
        versioned_read::peek(record, arena, stamped)
    }

    #[inline]
    fn observe_leaf(&mut self, cx: &mut Context<'_, M, Self>, seen: Seen<M>) -> Step<M, ()> {
        cx.gaps.add(seen);
        self.stay_opaque(cx, ())
    }

    fn begin_insert(&mut self, _cx: &mut Context<'_, M, Self>, record: RecordRef<M>) {
        // Latched: nobody else inserts the key meanwhile.
        record_word::begin_life(record.word(), record_word::LATCH);
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

    /// Under the commit latch: commits latch no records, so half of one would look like a state.
    fn validate(
        &mut self,
        cx: &mut Context<'_, M, Self>,
        writes: &WriteSet<M>,
    ) -> Result<(), Abort<M>> {
        M::enter_section();
        self.take_latch(cx);
        let valid = self.check(cx.gaps, Some(writes));
        self.end(cx);
        M::leave_section();
        valid
    }

    fn prepare(
        &mut self,
        cx: &mut Context<'_, M, Self>,
        writes: &mut WriteSet<M>,
    ) -> Result<CommitPoint, Abort<M>> {
        self.take_latch(cx);
        // Full: what this transaction has inserted counts before it looks at any count; pairs with
        // the same fence of peers.
        M::fence(Ordering::SeqCst);
        let epoch = cx.epochs.open_window(cx.heap.slot());
        self.check_reads(Some(writes))?;
        Abort::unless_gaps(cx.gaps_hold(writes))?;
        if writes.is_empty() {
            return Ok(CommitPoint { epoch, order: self.last });
        }
        let overwritten = in_place::prepare(cx, writes)?;
        // Without the commit latch only placed records are latched: somebody inserts the same key.
        let taken =
            writes.entries.iter().find(|it| !it.placed && it.prior & record_word::LATCH != 0);
        if let Some(taken) = taken {
            return Err(Abort::over(Reason::WriteLatched, taken.record));
        }
        let read = self.reads.iter().map(|&(_, word)| word).max().unwrap_or(0);
        let greatest = self.last.max(overwritten).max(read);
        self.last = record_word::next(greatest, epoch).ok_or(Abort::new(Reason::EpochFull))?;
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

    fn skip_write(&mut self, record: RecordRef<M>) {
        record_word::unlatch(record.word());
    }

    fn release(&mut self, cx: &mut Context<'_, M, Self>) {
        self.end(cx);
    }

    fn abort(&mut self, cx: &mut Context<'_, M, Self>, writes: &mut WriteSet<M>) {
        for write in writes.entries.iter().filter(|write| write.placed) {
            record_word::unlatch(write.record.word());
        }
        self.end(cx);
    }

    fn collect(&mut self, cx: &mut Context<'_, M, Self>, tables: &dyn Tables<M>, budget: usize) {
        debug_assert!(!self.commits, "the last commit is over");
        // Under the commit latch, so that nobody is about to write what leaves its index; if it is not to
        // be had, some other time. Acquire pairs with the releases in `end` and below: what is installed is
        // visible.
        if cx.shared.0.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_err() {
            return;
        }
        unlink::sweep(self, cx, tables, budget);
        // Release pairs with the acquires in `take_latch` and above.
        cx.shared.0.store(0, Ordering::Release);
    }
}
