//! The three phases of a commit (Tu, 2013, 4.2, figure 4-1) and the installation of one write
//! (chapter 5, figure 5-1).

use super::{GLOBAL_TID, KEY_VALUE, Optimistic, SILO, faults, give_back};
use crate::access::{Kind, Write, WriteSet};
use crate::contract::{Abort, CommitPoint, Context};
use crate::epoch::Epochs;
use crate::record_word;
use crate::scheme::parts::versioned_read::latched_too_long;
use crate::scheme::parts::{chain, in_place};
use chiliad_api::{Part, Reason};
use chiliad_machine::{Cost, Machine, Ordering, Word};
use chiliad_storage::{Kind as SlotKind, RecordRef, SegmentPlan};

/// How often what was read is looked at until nothing changes from one time to the next.
const PASSES_MAX: u32 = 8;

/// How many commits of a worker latch in the order of addresses after one that has met a foreign latch.
const COMMITS_IN_ORDER: u32 = 64;

impl<M: Machine, const VARIANT: u8> Optimistic<M, VARIANT> {
    /// Latches, fences, loads the epoch, validates, and takes a TID.
    #[inline]
    pub(super) fn commit_point(
        &mut self,
        cx: &mut Context<'_, M, Self>,
        writes: &mut WriteSet<M>,
    ) -> Result<CommitPoint, Abort<M>> {
        debug_assert!(self.snapshot == 0 || writes.is_empty(), "the past does not change");
        if self.snapshot != 0 {
            return Ok(CommitPoint { epoch: self.snapshot, order: 0 });
        }
        match &mut writes.entries[..] {
            // A single latch needs no order.
            [write] if !write.placed => Self::latch(write)?,
            [] | [_] => {}
            _ => self.latch_all(writes)?,
        }
        // The serialization point. Full: the latches are visible before any word below is looked
        // at, and what readers copied cannot be of after; pairs with the same fence of peers.
        if !M::fault(&faults::NO_FENCE) {
            M::fence(Ordering::SeqCst);
        }
        let mut epoch = cx.epochs.open_window(cx.heap.slot());
        if M::fault(&faults::EPOCH_AT_BEGIN) {
            epoch = self.first_epoch;
        }
        if VARIANT != KEY_VALUE {
            self.check_reads(cx, Some(writes), epoch)?;
            Self::judge_gaps(cx.gaps_hold(writes))?;
        }
        if writes.is_empty() {
            return Ok(CommitPoint { epoch, order: self.last });
        }
        self.set_blocks_by(cx, writes, epoch)?;
        self.last = self.take_tid(cx, writes, epoch)?;
        Ok(CommitPoint { epoch, order: self.last })
    }

    /// Phase 1. Tries the latches in the order of the writes. If another transaction holds one, gives back those taken and
    /// takes all in the order of addresses, so that no two transactions wait for each other for long. The next
    /// [`COMMITS_IN_ORDER`] commits go by address at once, since a vain try takes time and delays others.
    fn latch_all(&mut self, writes: &mut WriteSet<M>) -> Result<(), Abort<M>> {
        let WriteSet { entries, order, .. } = writes;
        if self.in_order > 0 || M::fault(&faults::NO_WRITE_LATCH) {
            self.in_order = self.in_order.saturating_sub(1);
        } else if Self::latch_free(entries) {
            return Ok(());
        } else {
            M::mark("latches taken in order");
            self.in_order = COMMITS_IN_ORDER;
        }
        order.clear();
        for (at, write) in entries.iter().enumerate() {
            if !write.placed {
                order.push(u128::from(write.record.address()) << 32 | at as u128);
            }
        }
        order.sort_unstable();
        order.iter().try_for_each(|&place| Self::latch(&mut entries[place as u32 as usize]))
    }

    /// Latches all records, or none where one is latched or dead.
    fn latch_free(entries: &mut [Write<M>]) -> bool {
        for at in 0..entries.len() {
            let write = &mut entries[at];
            if write.placed {
                continue;
            }
            debug_assert!(!write.latched, "each record is latched once");
            M::work(Cost::Lock, 1);
            let Ok(prior) = record_word::try_latch(write.record.word()) else {
                for write in entries.iter_mut().filter(|write| write.latched) {
                    if !M::fault(&faults::LATCHES_KEPT) {
                        record_word::unlatch(write.record.word());
                    }
                    write.latched = false;
                }
                return false;
            };
            write.prior = prior;
            write.latched = true;
        }
        debug_assert!(entries.iter().all(|it| it.latched || it.placed), "all are latched");
        true
    }

    #[inline]
    fn latch(write: &mut Write<M>) -> Result<(), Abort<M>> {
        debug_assert!(!write.latched, "each record is latched once");
        if M::fault(&faults::NO_WRITE_LATCH) {
            write.prior = write.record.word().load(Ordering::Relaxed) & !record_word::LATCH;
            return Ok(());
        }
        write.prior = in_place::latch(write.record)?;
        write.latched = true;
        Ok(())
    }

    /// Looks at all that was read, before phase 2.
    pub(super) fn check(
        &mut self,
        cx: &Context<'_, M, Self>,
        writes: Option<&WriteSet<M>>,
    ) -> Result<(), Abort<M>> {
        // The commit's epoch is none before those of today.
        self.check_reads(cx, writes, u64::MAX)?;
        Self::judge_gaps(cx.gaps.holds())
    }

    #[inline]
    fn judge_gaps(hold: bool) -> Result<(), Abort<M>> {
        Abort::unless_gaps(hold || M::fault(&faults::NODE_SET_NOT_VALIDATED))
    }

    /// Looks at the records that were read. `writes` may be latched by the transaction itself; none of what it has read is,
    /// before phase 1. A version that is taken for the one that was read is of this epoch at most.
    fn check_reads(
        &mut self,
        cx: &Context<'_, M, Self>,
        writes: Option<&WriteSet<M>>,
        epoch: u64,
    ) -> Result<(), Abort<M>> {
        for _ in 0..PASSES_MAX {
            let mut renewed = false;
            M::work(Cost::Validate, self.reads.len() as u32);
            for (at, read) in self.reads.iter_mut().enumerate() {
                // Acquire pairs with `record_word::publish`: what we conclude from the word holds for what we look
                // at afterwards.
                let word = read.record.word().load(Ordering::Acquire);
                if !record_word::same_version(word, read.word)
                    && !M::fault(&faults::NO_READ_VALIDATION)
                {
                    self.renewals.renew(cx, (at, read), word, epoch)?;
                    renewed = !M::fault(&faults::RENEWED_IN_ONE_PASS);
                } else if word & record_word::LATCH != 0
                    && writes.is_none_or(|writes| writes.find(read.record).is_none())
                    && !M::fault(&faults::FOREIGN_LATCH_IGNORED)
                {
                    return Err(latched_too_long(read.record));
                }
            }
            if !renewed {
                return writes.map_or(Ok(()), |writes| self.renewals.check(writes));
            }
            // The versions taken and those seen before need not have been there together.
        }
        Err(Abort::new(Reason::ReadChanged))
    }

    fn take_tid(
        &self,
        cx: &mut Context<'_, M, Self>,
        writes: &WriteSet<M>,
        epoch: u64,
    ) -> Result<u64, Abort<M>> {
        if VARIANT == GLOBAL_TID {
            // Relaxed: latches order the transactions that share a record.
            let part = cx.clockwork.switch(Part::Timestamp);
            let count = cx.shared.counter.fetch_add(1, Ordering::Relaxed);
            cx.clockwork.switch(part);
            return Ok(record_word::word_of(count));
        }
        let mut greatest = 0;
        if !M::fault(&faults::TID_NOT_ABOVE_READ) {
            greatest = self.reads.iter().map(|read| read.word).fold(self.last, u64::max);
        }
        if !M::fault(&faults::TID_NOT_ABOVE_OVERWRITTEN) {
            greatest = writes.entries.iter().map(|write| write.prior).fold(greatest, u64::max);
        }
        debug_assert!(record_word::epoch(greatest) <= epoch || M::SIMULATED);
        record_word::next(greatest, epoch).ok_or_else(|| {
            M::mark("epoch full");
            Abort::new(Reason::EpochFull)
        })
    }

    /// Sets blocks by for what `install_one` has to keep or to hold, since an installation cannot
    /// fail. Only now that the epoch is known can it be told what snapshots will want.
    fn set_blocks_by(
        &mut self,
        cx: &mut Context<'_, M, Self>,
        writes: &mut WriteSet<M>,
        epoch: u64,
    ) -> Result<(), Abort<M>> {
        let kept_below = if VARIANT == SILO { cx.epochs.kept_below(epoch) } else { 0 };
        let mut plan = cx.garbage.segments.plan();
        for write in &mut writes.entries {
            debug_assert!(write.spare.iter().all(Option::is_none), "nothing is set aside yet");
            let record = write.record;
            // In a verified run a tombstone's value is its stamp.
            let installs = write.kind != Kind::Remove || cx.stamped;
            let new_bytes = if installs { write.new_bytes() } else { 0 };
            if new_bytes > cx.heap.room(record) {
                let block = cx.heap.alloc_record(SlotKind::Version, new_bytes);
                write.spare[1] = Some(block.map_err(|_| Abort::out_of_memory())?);
            }
            let news = write.placed && !cx.stamped || write.is_void();
            write.keep &= !news && old_epoch(write) < kept_below;
            // An overflowing value has a block of its own, which becomes the old version.
            if write.keep && record.overflow().is_none() {
                set_by(cx, &mut plan, write)?;
            }
        }
        Ok(())
    }

    /// Phase 3 for one write, which also unlatches the record.
    #[inline]
    pub(super) fn install_one(
        &mut self,
        cx: &mut Context<'_, M, Self>,
        point: CommitPoint,
        write: &mut Write<M>,
        value: &[u8],
    ) {
        let record = write.record;
        debug_assert!(point.order & record_word::FLAGS == 0, "an order leaves room for flags");
        let absent = if write.kind == Kind::Remove { record_word::ABSENT } else { 0 };
        if M::fault(&faults::UNLATCHED_BEFORE_TID) {
            record_word::publish(record.word(), write.prior & !record_word::LATCH);
        }
        let in_place = write.spare[1].is_none() && record.overflow().is_none();
        if in_place && !write.keep {
            record.write(value);
        } else if in_place && write.spare[0].is_none() && !M::fault(&faults::OLD_VERSION_LOST) {
            let older = record.next(Ordering::Relaxed);
            record.write_before(value, Some(lay_version(cx, point, write, older)));
        } else {
            self.install_chained(cx, point, write, value);
        }
        record_word::publish(record.word(), point.order | absent);
    }

    /// Installs a write where a value is, or is to be, in a block of its own, or the version that is overwritten.
    #[cold]
    fn install_chained(
        &mut self,
        cx: &mut Context<'_, M, Self>,
        point: CommitPoint,
        write: &mut Write<M>,
        value: &[u8],
    ) {
        let record = write.record;
        let head = record.overflow();
        let mut chain = head.unwrap_or(record).next(Ordering::Relaxed);
        if write.keep && !M::fault(&faults::OLD_VERSION_LOST) {
            // An overflowing value is a version block already, under the TID it was written by.
            let slot = head.or(write.spare[0].take());
            if let Some(slot) = slot {
                cx.garbage.add_version(cx.heap, slot, point.epoch);
            }
            chain = Some(match slot {
                None => lay_version(cx, point, write, chain),
                Some(block) => {
                    M::mark("old version put by");
                    match head {
                        None => {
                            let older = other_than(chain, block);
                            chain::put_by(record, block, older, overwritten(write))
                        }
                        Some(_) => block,
                    }
                }
            });
        } else if let Some(block) = head {
            drop_version(cx, block);
        }
        match write.spare[1].take() {
            Some(block) => {
                M::mark("value outgrew its record");
                block.write(value);
                block.word().store(point.order, Ordering::Relaxed);
                block.set_next(other_than(chain, block), Ordering::Relaxed);
                record.set_overflow(block);
            }
            None => record.write_before(value, chain),
        }
        if let Some(unused) = write.spare[0].take() {
            give_back(cx.heap, unused);
        }
    }
}

/// Puts the version that a write overwrites, with older ones at `older`, into a segment of the worker's.
#[inline(always)]
fn lay_version<M: Machine, const VARIANT: u8>(
    cx: &mut Context<'_, M, Optimistic<M, VARIANT>>,
    point: CommitPoint,
    write: &Write<M>,
    older: Option<RecordRef<M>>,
) -> RecordRef<M> {
    M::mark("old version put by");
    let block = cx.garbage.segments.lay(cx.heap, write.record, older, point.epoch);
    block.word().store(overwritten(write) & !record_word::LATCH, Ordering::Relaxed);
    block
}

/// The word of the version that a write overwrites.
#[inline]
fn overwritten<M: Machine>(write: &Write<M>) -> u64 {
    if write.placed { record_word::ABSENT } else { write.prior }
}

/// The chain below `block`, which is to be its first version: a link that still leads to an expired version may lead to
/// `block` itself, whose memory that was, and then there is none.
fn other_than<M: Machine>(
    chain: Option<RecordRef<M>>,
    block: RecordRef<M>,
) -> Option<RecordRef<M>> {
    chain.filter(|&version| version != block)
}

/// The epoch of the version that a write overwrites. A record that the transaction has placed had
/// none: the key was absent for ever. (In verified runs that absence has a stamp worth keeping.)
fn old_epoch<M: Machine>(write: &Write<M>) -> u64 {
    if write.placed { 0 } else { record_word::epoch(write.prior) }
}

/// Gives up a version that nothing leads to any more, or is about to: the caller holds the record's
/// latch.
pub fn drop_version<M: Machine, const VARIANT: u8>(
    cx: &mut Context<'_, M, Optimistic<M, VARIANT>>,
    block: RecordRef<M>,
) {
    if M::fault(&faults::VERSION_FREED_AT_ONCE) {
        give_back(cx.heap, block);
        return;
    }
    // SAFETY: unlinked under the record's latch during this pin; readers may be looking at it.
    unsafe { cx.heap.retire_record(SlotKind::Version, block) };
}

/// Makes sure of the block for the version that is overwritten.
fn set_by<M: Machine, const VARIANT: u8>(
    cx: &mut Context<'_, M, Optimistic<M, VARIANT>>,
    plan: &mut SegmentPlan,
    write: &mut Write<M>,
) -> Result<(), Abort<M>> {
    debug_assert!(write.spare[0].is_none(), "one version is kept");
    let out_of_memory = |_| Abort::out_of_memory();
    let planned = cx.garbage.segments.plan_block(cx.heap, plan, write.record);
    if !planned.map_err(out_of_memory)? {
        // Whatever is in place is no longer than this.
        let block = cx.heap.alloc_record(SlotKind::Version, cx.heap.room(write.record));
        write.spare[0] = Some(block.map_err(out_of_memory)?);
    }
    Ok(())
}

impl<M: Machine, const VARIANT: u8> Optimistic<M, VARIANT> {
    /// Looks at all that was read, where `word` is of a version or a leaf that was added last, when that is due.
    #[inline]
    pub(super) fn stay_opaque(
        &mut self,
        cx: &Context<'_, M, Self>,
        word: u64,
    ) -> Result<(), Abort<M>> {
        self.note_first_read(cx.epochs);
        let size = self.reads.len() + cx.gaps.len();
        let younger = self.is_younger(word);
        debug_assert!(self.first_epoch > 0, "the first read has an epoch");
        if self.opacity.is_due(size, younger) { self.look(cx, size) } else { Ok(()) }
    }

    /// Whether nothing is due when `word` joins what was read, `size` entries then.
    #[inline]
    pub(super) fn stays_quiet(&mut self, epochs: &Epochs<M>, size: usize, word: u64) -> bool {
        self.note_first_read(epochs);
        self.opacity.is_quiet(size, self.is_younger(word))
    }

    #[inline]
    fn note_first_read(&mut self, epochs: &Epochs<M>) {
        debug_assert!(self.snapshot == 0, "the past is one state in any case");
        if self.first_epoch == 0 {
            self.first_epoch = epochs.current();
        }
    }

    /// Whether the version of `word` is younger than the last look. The TIDs of `global-tid` have no epoch.
    #[inline]
    fn is_younger(&self, word: u64) -> bool {
        VARIANT == SILO && record_word::epoch(word) > self.first_epoch
    }

    #[cold]
    fn look(&mut self, cx: &Context<'_, M, Self>, size: usize) -> Result<(), Abort<M>> {
        self.first_epoch = cx.epochs.current();
        self.check(cx, None).map_err(Abort::early)?;
        self.opacity.looked(size);
        Ok(())
    }
}
