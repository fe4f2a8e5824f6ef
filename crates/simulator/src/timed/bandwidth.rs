//! Resources of limited bandwidth: links, ports, memory controllers.
//!
//! Time is cut into windows of [`WINDOW`] cycles, each with room for as much as fits into it. A use
//! takes room in the window of its time, or in the first later ones that have some, and is delayed until
//! the first of these begins. Unlike a mark of when the resource is free again, this does not depend on the order in
//! which the uses are booked, which is not that of their times. Within a window nothing is delayed: queues
//! shorter than a window do not show.
//!
//! The loads of all resources in one window lie side by side, a byte each: resources in use are used at
//! about the same time, and a message takes neighbours.

use super::table::table;

/// Cycles of a window.
const WINDOW: u64 = 32;
/// Windows that are kept: longer than any queue of one message from each core.
const KEPT: usize = 1024;
/// The capacity of a window, in quarters of a cycle.
const QUARTERS: u32 = 4 * WINDOW as u32;

/// Some resources of one kind.
pub(crate) struct Bandwidth {
    count: usize,
    /// By place of the window and resource, the quarters that are taken.
    taken: Vec<u8>,
    /// Which window is kept at each place.
    windows: Vec<u64>,
}

impl Bandwidth {
    /// So many unused ones.
    pub(crate) fn new(count: usize) -> Self {
        Self { count, taken: table(0, count * KEPT), windows: vec![0; KEPT] }
    }

    /// Takes `quarters` of a cycle of a resource at `time`; until when that is delayed.
    #[inline]
    pub(crate) fn take(&mut self, resource: usize, time: u64, quarters: u32) -> u64 {
        let taken = &mut self.row(time / WINDOW)[resource];
        if u32::from(*taken) + quarters <= QUARTERS {
            *taken += quarters as u8;
            return time;
        }
        self.take_later(resource, time, quarters)
    }

    /// Takes `quarters` of each of `count` neighbours, one after the other, of which each delays by `hop`
    /// cycles besides: when the last one has. `up`: towards higher numbers.
    #[inline]
    pub(crate) fn take_way(
        &mut self,
        (first, up, count): (usize, bool, u32),
        time: u64,
        hop: u64,
        quarters: u32,
    ) -> u64 {
        let (mut first, mut left, mut time) = (first, count as usize, time);
        let limit = QUARTERS.saturating_sub(quarters) as u8;
        while left > 0 {
            // Those that are reached within the window.
            let rest = WINDOW - time % WINDOW;
            let some = if hop == 0 { left } else { left.min(rest.div_ceil(hop) as usize) };
            let from = if up { first } else { first + 1 - some };
            let some_taken = &mut self.row(time / WINDOW)[from..from + some];
            if quarters <= QUARTERS && some_taken.iter().all(|&taken| taken <= limit) {
                some_taken.iter_mut().for_each(|taken| *taken += quarters as u8);
                time += some as u64 * hop;
                first = if up { first + some } else { first.wrapping_sub(some) };
                left -= some;
            } else {
                time = self.take(first, time, quarters) + hop;
                first = if up { first + 1 } else { first.wrapping_sub(1) };
                left -= 1;
            }
        }
        time
    }

    /// The load of a resource in a window.
    #[inline]
    fn row(&mut self, window: u64) -> &mut [u8] {
        let place = window as usize % KEPT;
        let row = &mut self.taken[place * self.count..(place + 1) * self.count];
        if self.windows[place] != window {
            self.windows[place] = window;
            row.fill(0);
        }
        row
    }

    /// As [`Bandwidth::take`], where the first window has too little room.
    #[cold]
    fn take_later(&mut self, resource: usize, time: u64, quarters: u32) -> u64 {
        let first = time / WINDOW;
        let (mut left, mut begin) = (quarters, None);
        for window in first..first + KEPT as u64 {
            let taken = &mut self.row(window)[resource];
            let room = left.min(QUARTERS - u32::from(*taken));
            *taken += room as u8;
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
    use crate::random::{Generator, Stream};

    #[test]
    fn a_resource_carries_what_it_can_and_no_more() {
        let mut bandwidth = Bandwidth::new(2);
        let mut last = 0;
        for _ in 0..1000 {
            last = last.max(bandwidth.take(1, 10, 4 * 8));
        }
        // Four uses of eight cycles fill a window.
        assert_eq!(last, (1000 / 4 - 1) * WINDOW);
        assert_eq!(bandwidth.take(0, 10, 4), 10, "the other one is free");
    }

    #[test]
    fn late_bookings_find_the_room_that_there_was() {
        let mut bandwidth = Bandwidth::new(1);
        assert_eq!(bandwidth.take(0, 1000, QUARTERS), 1000);
        assert_eq!(bandwidth.take(0, 100, QUARTERS), 100);
        assert_eq!(bandwidth.take(0, 100, 4), 128);
    }

    #[test]
    fn neighbours_are_taken_as_if_one_by_one() {
        let (mut ways, mut singly) = (Bandwidth::new(40), Bandwidth::new(40));
        let mut random = Generator::new(5, Stream::Schedule);
        for _ in 0..5_000 {
            let (from, to) = (random.below(40) as usize, random.below(40) as usize);
            let (up, count) = (from <= to, from.abs_diff(to) as u32);
            let (time, hop) = (random.below(2_000), random.below(40));
            let quarters = random.one_of(&[1, 4, 36, 130]) as u32;
            let mut expected = time;
            for step in 0..count as usize {
                let resource = if up { from + step } else { from - step };
                expected = singly.take(resource, expected, quarters) + hop;
            }
            assert_eq!(ways.take_way((from, up, count), time, hop, quarters), expected);
        }
        assert_eq!(ways.taken, singly.taken);
    }
}
