//! Memory of which only a part exists, and the simulated addresses of all of it.
//!
//! - It is handed out in *granules* from the upper end of the region downwards, so that one compare
//!   tells it from ordinary memory. A granule holds slots of one shape and is not handed out again.
//! - The simulated addresses of its slots lie above all that a region can have, side by side as if
//!   every slot were whole: so no two bytes share one, and they depend on the order of the calls only.

use chiliad_machine::Hollow;
use std::cell::{Cell, RefCell};

/// Bytes of memory in a granule.
pub(crate) const GRANULE_BYTES: usize = 16 << 10;

/// Where the simulated addresses begin: the most that a region can have.
pub(crate) const START: u64 = crate::region::BYTES_MAX as u64;

/// The granules of a region.
pub(crate) struct Hollows {
    /// The end of the region, as an offset.
    end: usize,
    /// Where the lowest granule begins.
    from: Cell<usize>,
    /// The first simulated address that is free.
    next: Cell<u64>,
    /// By place, the uppermost first.
    granules: RefCell<Vec<Granule>>,
}

#[derive(Clone, Copy)]
struct Granule {
    shape: Hollow,
    /// 2^32 divided by the bytes held of a slot, rounded up: offsets in a granule are so small that
    /// multiplying by it divides exactly.
    reciprocal: u32,
    /// The simulated address of the first slot.
    start: u64,
}

impl Hollows {
    /// None yet, in a region that ends at `end`, a multiple of [`GRANULE_BYTES`].
    pub(crate) fn new(end: usize) -> Self {
        debug_assert!(end.is_multiple_of(GRANULE_BYTES));
        Self { end, from: Cell::new(end), next: Cell::new(START), granules: RefCell::default() }
    }

    /// Where ordinary memory must end.
    #[inline]
    pub(crate) fn from(&self) -> usize {
        self.from.get()
    }

    /// Whether the offset is in a granule.
    #[inline]
    pub(crate) fn contains(&self, offset: usize) -> bool {
        offset >= self.from.get() && offset < self.end
    }

    /// Whether there are any.
    pub(crate) fn is_empty(&self) -> bool {
        self.from.get() == self.end
    }

    /// The bytes that were handed out, had they all existed.
    pub(crate) fn simulated_bytes(&self) -> u64 {
        self.next.get() - START
    }

    /// A granule of slots: its offset, and how many there are. `None` if it would reach below `floor`
    /// or could not hold a single one.
    pub(crate) fn take(&self, shape: Hollow, floor: usize) -> Option<(usize, usize)> {
        let held = shape.held_bytes();
        let count = GRANULE_BYTES / held;
        let from = self.from.get().checked_sub(GRANULE_BYTES).filter(|&from| from >= floor)?;
        if count == 0 {
            return None;
        }
        let start = self.next.get();
        let reciprocal = u32::try_from((1_u64 << 32).div_ceil(held as u64)).ok()?;
        let bytes = (count as u64 * u64::from(shape.whole_bytes)).next_multiple_of(64);
        self.next.set(start + bytes);
        self.from.set(from);
        self.granules.borrow_mut().push(Granule { shape, reciprocal, start });
        Some((from, count))
    }

    #[inline]
    fn granule(&self, offset: usize) -> Option<Granule> {
        let place = self.end.checked_sub(offset + 1)? / GRANULE_BYTES;
        self.granules.borrow().get(place).copied()
    }

    /// The shape of the slots around `offset`.
    #[inline]
    pub(crate) fn shape(&self, offset: usize) -> Option<Hollow> {
        Some(self.granule(offset)?.shape)
    }

    /// The simulated address of what is held at `offset`; an offset outside stands for itself.
    pub(crate) fn simulated(&self, offset: usize) -> u64 {
        let Some(Granule { shape, reciprocal, start }) = self.granule(offset) else {
            return offset as u64;
        };
        let within = offset % GRANULE_BYTES;
        let slot = (within as u64 * u64::from(reciprocal)) >> 32;
        let held = within - slot as usize * shape.held_bytes();
        start + slot * u64::from(shape.whole_bytes) + shape.byte_of(held) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const END: usize = 4 << 20;

    fn shape(whole_bytes: u32, front_bytes: u32) -> Hollow {
        Hollow { whole_bytes, front_bytes, back_bytes: 24, spared: false }
    }

    #[test]
    fn no_two_bytes_share_an_address_and_slots_lie_side_by_side() {
        let hollows = Hollows::new(END);
        let mut last = START;
        for shape in [shape(1024, 32), shape(1280, 100), shape(65_536, 4112), shape(496, 96)] {
            let (offset, count) = hollows.take(shape, 0).expect("room");
            let held = shape.held_bytes();
            assert_eq!(count, GRANULE_BYTES / held);
            for slot in 0..count {
                let at = |byte: usize| hollows.simulated(offset + slot * held + byte);
                assert_eq!(hollows.shape(offset + slot * held), Some(shape));
                let whole = u64::from(shape.whole_bytes);
                assert!(at(0) >= last && at(0) - last < 64, "behind the one before");
                for byte in 0..held {
                    assert_eq!(at(byte), at(0) + shape.byte_of(byte) as u64);
                }
                assert_eq!(at(held - 1), at(0) + whole - 1);
                last = at(0) + whole;
            }
        }
        assert_eq!(hollows.simulated_bytes(), (last - START).next_multiple_of(64));
    }

    #[test]
    fn granules_end_where_ordinary_memory_does() {
        let hollows = Hollows::new(END);
        assert!(hollows.is_empty() && !hollows.contains(END - 1));
        assert_eq!(hollows.simulated(END - 1), END as u64 - 1);
        let floor = END - GRANULE_BYTES - 1;
        let (offset, _) = hollows.take(shape(1024, 32), floor).expect("room for one");
        assert!(hollows.contains(offset) && hollows.contains(END - 1) && !hollows.contains(END));
        assert_eq!(hollows.take(shape(1024, 32), floor), None);
        assert_eq!(hollows.take(shape(65_536, 16_384), 0), None, "none fits into a granule");
        assert_eq!(hollows.from(), offset);
    }
}
