//! What carries only so much at a time: links, ports, memory controllers.
//!
//! Time is cut into windows of [`WINDOW`] cycles, each with room for as much as fits into it. Whoever comes
//! takes room in the window of its time, or in the first later ones that have some, and is delayed until
//! the first of these begins. Unlike a mark of when the resource is free again, this does not depend on the order in
//! which the uses are booked, which is not that of their times. Within a window nobody is delayed: what
//! queues for less than a window does so unseen.

/// Cycles of a window.
const WINDOW: u64 = 32;
/// Windows that are kept: longer than any queue of one message from each core.
const KEPT: usize = 1024;
/// Bits of a window's word that hold what is taken, in quarters of a cycle.
const TAKEN_BITS: u32 = 8;
const QUARTERS: u32 = 4 * WINDOW as u32;

/// Some resources of one kind.
pub(crate) struct Meters {
    count: usize,
    /// By window, since what is used is used at about the same time, and resource: the number of the window above
    /// what is taken in it.
    windows: Vec<u32>,
}

impl Meters {
    /// So many unused ones.
    pub(crate) fn new(count: usize) -> Self {
        Self { count, windows: vec![0; count * KEPT] }
    }

    /// Takes `quarters` of a cycle of a resource at `time`; until when that is delayed.
    #[inline]
    pub(crate) fn take(&mut self, resource: usize, time: u64, quarters: u32) -> u64 {
        let (word, taken) = self.window(resource, time / WINDOW);
        if taken + quarters <= QUARTERS {
            *word += quarters;
            return time;
        }
        self.take_later(resource, time, quarters)
    }

    /// A window's word, and what is taken in it.
    #[inline]
    fn window(&mut self, resource: usize, window: u64) -> (&mut u32, u32) {
        let tag = (window / KEPT as u64) as u32 & (u32::MAX >> TAKEN_BITS);
        let word = &mut self.windows[window as usize % KEPT * self.count + resource];
        if *word >> TAKEN_BITS != tag {
            *word = tag << TAKEN_BITS;
        }
        let taken = *word & ((1 << TAKEN_BITS) - 1);
        (word, taken)
    }

    /// The same where the first window has too little room.
    #[cold]
    fn take_later(&mut self, resource: usize, time: u64, quarters: u32) -> u64 {
        let first = time / WINDOW;
        let (mut left, mut begin) = (quarters, None);
        for window in first..first + KEPT as u64 {
            let (word, taken) = self.window(resource, window);
            let room = left.min(QUARTERS - taken);
            *word += room;
            left -= room;
            if room > 0 {
                begin.get_or_insert(time.max(window * WINDOW));
            }
            if left == 0 {
                break;
            }
        }
        begin.unwrap_or(time + KEPT as u64 * WINDOW)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resource_carries_what_it_can_and_no_more() {
        let mut meters = Meters::new(2);
        let mut last = 0;
        for _ in 0..1000 {
            last = last.max(meters.take(1, 10, 4 * 8));
        }
        // Four uses of eight cycles fill a window.
        assert_eq!(last, (1000 / 4 - 1) * WINDOW);
        assert_eq!(meters.take(0, 10, 4), 10, "the other one is free");
    }

    #[test]
    fn late_bookings_find_the_room_that_there_was() {
        let mut meters = Meters::new(1);
        assert_eq!(meters.take(0, 1000, QUARTERS), 1000);
        assert_eq!(meters.take(0, 100, QUARTERS), 100);
        assert_eq!(meters.take(0, 100, 4), 128);
    }
}
