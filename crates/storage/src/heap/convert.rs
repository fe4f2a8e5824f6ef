//! Where there is no more memory, that of old versions becomes records for good: nothing of a free block is looked at, so it
//! may become anything, which a record may not.

use super::{Central, Heap, Kind, LocalHeap, pool_index};
use crate::classes::{class_bytes, class_for};
use crate::pool::batch_slots;
use crate::record::RecordRef;
use crate::segments::segment_bytes;
use chiliad_machine::{Machine, Ordering, Word};
use core::ptr::NonNull;

impl<M: Machine> LocalHeap<M> {
    /// Makes records of `class` of free blocks of versions: blocks of that class, or else a segment of them. `None` where there
    /// is neither, or others than records are wanted.
    #[cold]
    pub(super) fn convert(&mut self, kind: Kind, class: u8) -> Option<()> {
        if kind != Kind::Record {
            return None;
        }
        let to = pool_index(kind, class);
        debug_assert!(self.free[to].slots.is_empty(), "no record is left");
        let blocks = self.take_blocks(class, batch_slots(class_bytes(class)));
        if blocks.is_empty() {
            self.cut_segment(class);
        }
        for place in blocks {
            M::unpoison(place.as_ptr(), kind.stable_bytes());
            self.free[to].slots.push(place);
        }
        (!self.free[to].slots.is_empty()).then_some(())
    }

    /// Free blocks of versions of `class`: the worker's own, or up to so many of the shared ones.
    fn take_blocks(&mut self, class: u8, wanted: usize) -> Vec<NonNull<u8>> {
        let from = pool_index(Kind::Version, class);
        let mut blocks = core::mem::take(&mut self.free[from]);
        if blocks.slots.is_empty() {
            let central: &mut Central = &mut self.shared.central.lock();
            Heap::<M>::take_free(central, from, wanted, &mut blocks);
        }
        blocks.slots
    }

    /// Makes records of `class` of a segment of old versions, if one is free.
    fn cut_segment(&mut self, class: u8) {
        let bytes = class_bytes(class);
        let Some(of_segments) = class_for(segment_bytes::<M>()) else { return };
        let mut segments = self.take_blocks(of_segments, 1);
        let cut = if bytes <= segment_bytes::<M>() { segments.pop() } else { None };
        self.free[pool_index(Kind::Version, of_segments)].slots.append(&mut segments);
        let Some(segment) = cut else { return };
        let records = &mut self.free[pool_index(Kind::Record, class)].slots;
        for at in (0..segment_bytes::<M>() / bytes).rev() {
            // SAFETY: it lies within the segment, which is free.
            let place = unsafe { segment.add(at * bytes) };
            M::unpoison(place.as_ptr(), Kind::Record.stable_bytes());
            // SAFETY: a slot for a record, constructed as words.
            let record = unsafe { RecordRef::<M>::from_raw(place.cast()) };
            // The word holds bytes of an old value, which a scheme would take for the word of the slot's last record.
            record.word().store(0, Ordering::Relaxed);
            records.push(place);
        }
    }
}
