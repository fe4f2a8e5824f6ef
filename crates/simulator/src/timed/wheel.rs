//! Events in the order of their times: one for each core at most.
//!
//! - Events of one time come out in the order in which they went in; after them those that were to come
//!   last, in the order of their cores.
//! - What is due within [`SPAN`] cycles lies in a slot of a wheel, found by a bitmap; what is due later
//!   lies in a heap, and comes out before what the wheel holds for the same time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Cycles that the wheel looks ahead; a power of two.
const SPAN: u64 = 4096;
const WORDS: usize = SPAN as usize / 64;

/// No core.
const NOBODY: u32 = u32::MAX;

/// A queue of cores by time.
pub(crate) struct Wheel {
    /// Of each slot the first and the last core.
    slots: Vec<(u32, u32)>,
    occupied: [u64; WORDS],
    /// Of each core the next one in its slot.
    behind: Vec<u32>,
    /// The time up to which everything has come out.
    now: u64,
    /// When the first event is due, `u64::MAX` if there is none.
    next: u64,
    /// When the first event in a slot is due, `u64::MAX` if there is none.
    near: u64,
    far: BinaryHeap<Reverse<(u64, u64, u32)>>,
    /// Events that come last at their time.
    late: BinaryHeap<Reverse<(u64, u32)>>,
    /// Events that went into the heap so far.
    serial: u64,
}

impl Wheel {
    /// An empty one.
    pub(crate) fn new() -> Self {
        Self {
            slots: vec![(NOBODY, NOBODY); SPAN as usize],
            occupied: [0; WORDS],
            behind: Vec::new(),
            now: 0,
            next: u64::MAX,
            near: u64::MAX,
            far: BinaryHeap::new(),
            late: BinaryHeap::new(),
            serial: 0,
        }
    }

    /// Room for one more core.
    pub(crate) fn add_core(&mut self) {
        self.behind.push(NOBODY);
    }

    /// When the first event is due, `u64::MAX` if there is none.
    #[inline]
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    /// The time of the event that came out last.
    pub(crate) fn now(&self) -> u64 {
        self.now
    }

    /// `core`, which has no event, has one at `time`, or now if that is past.
    #[inline]
    pub(crate) fn push(&mut self, time: u64, core: u32) {
        let time = time.max(self.now);
        self.next = self.next.min(time);
        if time - self.now >= SPAN {
            self.serial += 1;
            self.far.push(Reverse((time, self.serial, core)));
            return;
        }
        self.near = self.near.min(time);
        let slot = (time % SPAN) as usize;
        let (first, last) = self.slots[slot];
        self.behind[core as usize] = NOBODY;
        if first == NOBODY {
            self.slots[slot] = (core, core);
            self.occupied[slot / 64] |= 1 << (slot % 64);
        } else {
            self.behind[last as usize] = core;
            self.slots[slot].1 = core;
        }
    }

    /// As [`Wheel::push`], after all else at that time.
    pub(crate) fn push_last(&mut self, time: u64, core: u32) {
        let time = time.max(self.now);
        self.next = self.next.min(time);
        self.late.push(Reverse((time, core)));
    }

    /// Takes the first event out: its time and core.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<(u64, u32)> {
        if self.next == u64::MAX {
            return None;
        }
        let time = self.next;
        self.now = time;
        if let Some(&Reverse((far, _, core))) = self.far.peek()
            && far == time
        {
            self.far.pop();
            self.next = self.earliest();
            return Some((time, core));
        }
        if self.near != time {
            let core = self.late.pop().map_or(NOBODY, |first| first.0.1);
            self.next = self.earliest();
            return Some((time, core));
        }
        let slot = (time % SPAN) as usize;
        let (core, last) = self.slots[slot];
        if core == last {
            self.slots[slot] = (NOBODY, NOBODY);
            self.occupied[slot / 64] &= !(1 << (slot % 64));
            self.near = self.first_near(slot);
            self.next = self.earliest();
        } else {
            self.slots[slot].0 = self.behind[core as usize];
        }
        Some((time, core))
    }

    /// The cores of the first two events, as far as one slot of the wheel tells.
    #[inline]
    pub(crate) fn ahead(&self) -> [Option<u32>; 2] {
        if self.near == u64::MAX {
            return [None, None];
        }
        let (first, last) = self.slots[(self.near % SPAN) as usize];
        [Some(first), (first != last).then(|| self.behind[first as usize])]
    }

    /// When the first event is due; `near` is up to date.
    fn earliest(&self) -> u64 {
        let far = self.far.peek().map_or(u64::MAX, |first| first.0.0);
        let late = self.late.peek().map_or(u64::MAX, |first| first.0.0);
        self.near.min(far).min(late)
    }

    /// The first time after that of `slot`, which has become empty, that the wheel holds.
    fn first_near(&self, slot: usize) -> u64 {
        let (word, bit) = (slot / 64, slot % 64);
        let here = self.occupied[word] >> bit;
        if here != 0 {
            return self.now + u64::from(here.trailing_zeros());
        }
        for ahead in 1..=WORDS {
            let at = (word + ahead) % WORDS;
            if self.occupied[at] != 0 {
                let found = at * 64 + self.occupied[at].trailing_zeros() as usize;
                return self.now + (found as u64).wrapping_sub(slot as u64) % SPAN;
            }
        }
        u64::MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Generator, Stream};
    use std::collections::BTreeSet;

    /// Against a sorted set: times never fall, and what comes last does.
    #[test]
    fn events_come_out_in_order() {
        let (mut wheel, mut random) = (Wheel::new(), Generator::new(7, Stream::Schedule));
        let mut model = BTreeSet::new();
        let cores = 100;
        for core in 0..cores {
            wheel.add_core();
            wheel.push(u64::from(core) / 3, core);
            model.insert((u64::from(core) / 3, false, core));
        }
        for _ in 0..100_000 {
            let (time, core) = wheel.pop().expect("every core has an event");
            assert_eq!(model.first().expect("the model has as many").0, time);
            let late = model.remove(&(time, true, core));
            assert!(late || model.remove(&(time, false, core)));
            let before = model.first().is_none_or(|first| (first.0, first.1) >= (time, late));
            assert!(before, "what comes last does");
            let reach = random.one_of(&[1, 60, 5_000, 100_000]);
            let (next, late) = (time + random.below(reach), random.below(4) == 0);
            if late {
                wheel.push_last(next, core);
            } else {
                wheel.push(next, core);
            }
            model.insert((next, late, core));
            assert_eq!(wheel.next(), model.first().expect("just inserted").0);
        }
    }

    #[test]
    fn equal_times_keep_their_order() {
        let mut wheel = Wheel::new();
        (0..10).for_each(|_| wheel.add_core());
        // The list of a slot is by arrival, not by number.
        (0..10).for_each(|core| wheel.push(5, 9 - core));
        assert_eq!(wheel.ahead(), [Some(9), Some(8)]);
        let order: Vec<u32> = std::iter::from_fn(|| wheel.pop()).map(|it| it.1).collect();
        assert_eq!(wheel.ahead(), [None, None]);
        assert_eq!(order, (0..10).rev().collect::<Vec<_>>());
    }
}
