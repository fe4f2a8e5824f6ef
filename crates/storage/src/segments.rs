//! Blocks for old versions, in segments: a worker lays them one behind the other and never touches one again that it has
//! written; when nobody needs the last one of a segment any more, the segment goes as a whole.
//!
//! ```text
//!   full, oldest first        at work         ready
//!   [v v v v] [v v v v]       [v v . .]       [. . . .]
//!   epoch 7   epoch 9
//! ```
//!
//! Blocks that would fill much of a segment, and sparse ones (`sparse.rs`), are slots of their own instead, which their owner
//! looks after.

use crate::budget::OutOfMemory;
use crate::classes::class_bytes;
use crate::heap::{Kind, LocalHeap};
use crate::record::{Record, RecordRef};
use crate::sparse;
use chiliad_machine::{Fault, Machine, Rig};
use core::marker::PhantomData;
use core::ptr::NonNull;
use std::collections::VecDeque;

/// Bytes of a segment. Those of exploring machines fill up sooner, so that they are freed within short runs.
pub(crate) fn segment_bytes<M: Machine>() -> usize {
    if M::explores() { 128 } else { 4 << 10 }
}

/// A segment is freed when nobody needs its first version any more.
pub static SEGMENT_FREED_EARLY: Fault = Fault {
    name: "segment-freed-early",
    step: "a segment of old versions is freed when none of them is needed",
    rig: Rig::SimSc,
    schemes: &[],
    workload: "scan",
    expected: &["use of freed memory"],
    seeds: 1000,
};

/// A segment that is full.
struct Full {
    place: NonNull<u8>,
    /// The greatest epoch of its versions.
    epoch: u64,
}

/// The segments of a worker.
pub struct Segments<M: Machine> {
    /// The one at work, if there is one, and how much of it is used.
    place: Option<NonNull<u8>>,
    used: usize,
    /// The greatest epoch of its versions.
    epoch: u64,
    ready: VecDeque<NonNull<u8>>,
    full: VecDeque<Full>,
    machine: PhantomData<fn() -> M>,
}

// SAFETY: the pointers are to memory that is the owner's until he has retired it.
unsafe impl<M: Machine> Send for Segments<M> {}

/// Blocks that are planned, to be laid in the same order.
pub struct Plan {
    /// The number of the segment among those that are ready, from 1 on; 0 is the one at work.
    segment: usize,
    left_bytes: usize,
}

impl<M: Machine> Default for Segments<M> {
    fn default() -> Self {
        let (ready, full) = (VecDeque::new(), VecDeque::new());
        Self { place: None, used: 0, epoch: 0, ready, full, machine: PhantomData }
    }
}

impl<M: Machine> Segments<M> {
    /// No block is planned yet.
    #[inline]
    pub fn plan(&self) -> Plan {
        let left_bytes = self.place.map_or(0, |_| segment_bytes::<M>() - self.used);
        Plan { segment: 0, left_bytes }
    }

    /// Makes sure of the memory for one block more, for the version in place of `source`. `false`: it does not belong in a
    /// segment.
    ///
    /// # Errors
    /// When the memory limit is reached. What is planned need not be laid.
    #[inline]
    pub fn plan_block(
        &mut self,
        heap: &mut LocalHeap<M>,
        plan: &mut Plan,
        source: RecordRef<M>,
    ) -> Result<bool, OutOfMemory> {
        let class = source.class();
        let bytes = class_bytes(class);
        let is_sparse = sparse::shape::<M>(heap.shared().kept, class).is_some();
        if 2 * bytes > segment_bytes::<M>() || is_sparse {
            return Ok(false);
        }
        if plan.left_bytes < bytes {
            self.plan_segment(heap, plan)?;
        }
        plan.left_bytes -= bytes;
        Ok(true)
    }

    #[cold]
    fn plan_segment(
        &mut self,
        heap: &mut LocalHeap<M>,
        plan: &mut Plan,
    ) -> Result<(), OutOfMemory> {
        if plan.segment == self.ready.len() {
            self.ready.push_back(heap.alloc(Kind::Version, segment_bytes::<M>())?);
        }
        plan.segment += 1;
        plan.left_bytes = segment_bytes::<M>();
        Ok(())
    }

    /// Lays a planned block: the version in place of `source`, which is overwritten in `epoch`, with older ones at `next`. The
    /// caller excludes writers. Epochs do not fall. A link that still leads to an expired version may lead to the block
    /// itself, whose memory that was, and then there is no older one.
    ///
    /// # Panics
    /// When it was not planned.
    #[inline(always)]
    pub fn lay(
        &mut self,
        heap: &LocalHeap<M>,
        source: RecordRef<M>,
        next: Option<RecordRef<M>>,
        epoch: u64,
    ) -> RecordRef<M> {
        let class = source.class();
        let bytes = class_bytes(class);
        if self.place.is_none_or(|_| segment_bytes::<M>() - self.used < bytes) {
            self.close();
            self.place = Some(self.ready.pop_front().expect("it was planned"));
        }
        let place = self.place.expect("one is at work");
        debug_assert!(self.used + bytes <= segment_bytes::<M>(), "it has room");
        if self.used == 0 || !M::fault(&SEGMENT_FREED_EARLY) {
            self.epoch = epoch;
        }
        // SAFETY: it lies within the segment, which is the worker's alone, constructed as words, and aligned as they are:
        // classes are whole words.
        let block = unsafe { RecordRef::from_raw(place.add(self.used).cast::<Record<M>>()) };
        self.used += bytes;
        block.begin_copy(class, source, next.filter(|&it| it != block), heap.scheme_words);
        block
    }

    /// Ends the segment at work.
    #[cold]
    fn close(&mut self) {
        if let Some(place) = self.place.take() {
            self.full.push_back(Full { place, epoch: self.epoch });
        }
        self.used = 0;
    }

    /// Whether no segment is full.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.full.is_empty()
    }

    /// Retires the oldest full segment if all of its versions were overwritten below `epoch`; whether it was. Pinned.
    ///
    /// # Safety
    /// Nobody who is not pinned yet looks at a version that was overwritten below `epoch`.
    #[inline]
    pub unsafe fn retire_below(&mut self, heap: &mut LocalHeap<M>, epoch: u64) -> bool {
        let Some(Full { place, .. }) = self.full.pop_front_if(|full| full.epoch < epoch) else {
            return false;
        };
        // SAFETY: it came from this heap, in this size, and is the worker's, who has it no longer; the caller vouches for others.
        unsafe { heap.retire(Kind::Version, segment_bytes::<M>(), place) };
        true
    }

    /// Takes over all that another has.
    pub fn absorb(&mut self, other: &mut Self) {
        other.close();
        self.full.append(&mut other.full);
        self.ready.append(&mut other.ready);
        debug_assert!(other.is_empty() && other.place.is_none(), "nothing stays");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::heap::Heap;
    use chiliad_machine::{Native, Ordering, Word};

    fn segment(segments: &Segments<Native>, record: RecordRef<Native>) -> bool {
        let place = segments.place.expect("one is at work").addr().get();
        (place..place + segment_bytes::<Native>()).contains(&record.as_ptr().addr())
    }

    /// A worker's part of a new heap of so many bytes, and its segments.
    fn fresh(limit: u64) -> (LocalHeap<Native>, Segments<Native>) {
        let heap = Heap::new(limit);
        (LocalHeap::new(&heap).expect("a slot"), Segments::default())
    }

    /// A record with a value of so many bytes, all of them `content`.
    fn record(local: &mut LocalHeap<Native>, bytes: usize, content: u8) -> RecordRef<Native> {
        let record = local.alloc_record(Kind::Record, bytes).expect("there is memory");
        record.write(&vec![content; bytes]);
        record
    }

    #[test]
    fn blocks_lie_in_order_and_go_as_one() {
        let (mut local, mut segments) = fresh(u64::MAX);
        let (mut blocks, mut epoch) = (Vec::<(RecordRef<Native>, _, _)>::new(), 0);
        while segments.full.len() < 3 {
            epoch += 1;
            let sources = [epoch as usize % 90, 500, 1]
                .map(|bytes| (record(&mut local, bytes, epoch as u8), bytes));
            let mut plan = segments.plan();
            for (source, _) in sources {
                assert_eq!(segments.plan_block(&mut local, &mut plan, source), Ok(true));
            }
            for (source, bytes) in sources {
                let next = blocks.last().map(|&(block, ..)| block);
                let block = segments.lay(&local, source, next, epoch);
                assert!(segment(&segments, block) && block.capacity() >= bytes);
                assert_eq!(block.next(Ordering::Relaxed), next);
                block.word().store(epoch, Ordering::Relaxed);
                blocks.push((block, bytes, epoch as u8));
            }
        }
        for (block, bytes, content) in blocks {
            assert_eq!(block.length(), bytes);
            let mut read = vec![0; block.length()];
            block.read(&mut read);
            assert_eq!(read, vec![content; bytes], "no block overlaps another");
        }
        let last = segments.full.iter().map(|full| full.epoch).collect::<Vec<_>>();
        assert!(last.is_sorted() && last[0] < last[1]);
        local.pin();
        // SAFETY: nobody else looks at any of them.
        let retired = unsafe {
            [last[0], last[0] + 1, last[0] + 1, u64::MAX, u64::MAX, u64::MAX]
                .map(|epoch| segments.retire_below(&mut local, epoch))
        };
        local.unpin();
        assert_eq!(retired, [false, true, false, true, true, false], "the one at work stays");
    }

    #[test]
    fn a_link_to_the_memory_of_the_block_leads_nowhere() {
        let (mut local, mut segments) = fresh(u64::MAX);
        let source = record(&mut local, 100, 7);
        let mut plan = segments.plan();
        assert_eq!(segments.plan_block(&mut local, &mut plan, source), Ok(true));
        // SAFETY: a segment is longer than a record's head, and constructed as words.
        let stale = segments.ready.front().map(|&it| unsafe { RecordRef::from_raw(it.cast()) });
        let block = segments.lay(&local, source, stale, 1);
        assert_eq!(Some(block), stale);
        assert_eq!(block.next(Ordering::Relaxed), None);
    }

    #[test]
    fn what_was_planned_and_not_laid_is_there_for_the_next() {
        let (mut local, mut segments) = fresh(u64::MAX);
        let source = record(&mut local, 1000, 1);
        for _ in 0..3 {
            let mut plan = segments.plan();
            for _ in 0..40 {
                assert_eq!(segments.plan_block(&mut local, &mut plan, source), Ok(true));
            }
        }
        let segments_of_all = segments.ready.len();
        assert_eq!(segments_of_all, 10, "40 blocks of 1,024 bytes, four to a segment");
        let mut others = Segments::default();
        others.absorb(&mut segments);
        assert_eq!((others.ready.len(), segments.ready.len()), (10, 0));
    }

    #[test]
    fn where_memory_is_short_free_segments_become_records() {
        let limit = 2 << 20;
        let (mut local, mut segments) = fresh(limit);
        let source = record(&mut local, 100, 0xff);
        loop {
            let mut plan = segments.plan();
            if segments.plan_block(&mut local, &mut plan, source).is_err() {
                break;
            }
            let block = segments.lay(&local, source, None, 1);
            block.word().store(u64::MAX, Ordering::Relaxed);
        }
        let mut all = Segments::default();
        all.absorb(&mut segments);
        local.pin();
        // SAFETY: nobody else looks at any of them.
        while unsafe { all.retire_below(&mut local, 2) } {}
        local.unpin();
        (0..3).for_each(|_| local.reclaim_now());
        let mut records = 0;
        while let Ok(record) = local.alloc_record(Kind::Record, 100) {
            assert_eq!(
                record.word().load(Ordering::Relaxed),
                0,
                "nothing of a value is in its word"
            );
            record.write(&[1; 100]);
            records += 1;
        }
        assert!(records * 128 > limit * 3 / 4, "{records} records");
    }

    #[test]
    fn a_large_block_does_not_belong_in_a_segment() {
        let (mut local, mut segments) = fresh(u64::MAX);
        let mut plan = segments.plan();
        let held = [0, 1000, 2000, 2100, 1 << 20].map(|bytes| {
            let source = record(&mut local, bytes, 1);
            segments.plan_block(&mut local, &mut plan, source)
        });
        assert_eq!(held, [true, true, true, false, false].map(Ok));
    }
}
