//! Fibers that sleep, by number: to take one out, or to find the first whose time has come, costs the same however many
//! there are.

use crate::Ticks;
use core::cmp::Reverse;
use std::collections::BinaryHeap;

/// The sleeping ones of so many fibers.
pub(super) struct Parked {
    /// Of each fiber the time that it sleeps until; `None` where it is awake.
    until: Vec<Option<Ticks>>,
    count: usize,
    /// Those that have a time, the first in front. An entry counts while its fiber sleeps until that time.
    times: BinaryHeap<Reverse<(Ticks, u32)>>,
}

impl Parked {
    /// All are awake.
    pub fn new(fibers: usize) -> Self {
        Self { until: vec![None; fibers], count: 0, times: BinaryHeap::new() }
    }

    /// One goes to sleep, until a time; [`Ticks::MAX`]: until it is woken.
    pub fn add(&mut self, fiber: u32, until: Ticks) {
        let before = self.until[fiber as usize].replace(until);
        debug_assert!(before.is_none(), "it was awake");
        self.count += 1;
        if until < Ticks::MAX {
            self.times.push(Reverse((until, fiber)));
        }
    }

    /// Whether a fiber sleeps.
    pub fn contains(&self, fiber: u32) -> bool {
        self.until[fiber as usize].is_some()
    }

    /// Takes a fiber out; whether it slept.
    pub fn remove(&mut self, fiber: u32) -> bool {
        let slept = self.until[fiber as usize].take().is_some();
        self.count -= usize::from(slept);
        slept
    }

    /// Takes out the first whose time has come.
    pub fn take_due(&mut self, now: Ticks) -> Option<u32> {
        if self.first_time() > now {
            return None;
        }
        let Reverse((_, fiber)) = self.times.pop()?;
        self.remove(fiber).then_some(fiber)
    }

    /// When the time of the first comes; [`Ticks::MAX`]: of none.
    pub fn first_time(&mut self) -> Ticks {
        while let Some(&Reverse((time, fiber))) = self.times.peek() {
            if self.until[fiber as usize] == Some(time) {
                return time;
            }
            self.times.pop();
        }
        Ticks::MAX
    }

    /// Whether nobody sleeps.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Those that sleep.
    pub fn iter(&self) -> impl Iterator<Item = u32> {
        let asleep = self.until.iter().zip(0_u32..).filter(|(until, _)| until.is_some());
        asleep.map(|(_, fiber)| fiber)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_come_in_order_and_none_twice() {
        let mut parked = Parked::new(4);
        parked.add(0, 30);
        parked.add(1, Ticks::MAX);
        parked.add(2, 10);
        parked.add(3, 20);
        assert_eq!(parked.first_time(), 10);
        assert!(parked.remove(2));
        assert!(!parked.remove(2));
        assert_eq!(parked.take_due(15), None);
        // Asleep again, until another time: the old one is nothing.
        parked.add(2, 40);
        assert_eq!(parked.take_due(25), Some(3));
        assert_eq!(parked.take_due(100), Some(0));
        assert_eq!(parked.first_time(), 40);
        assert_eq!(parked.iter().collect::<Vec<_>>(), [1, 2]);
        assert_eq!(parked.take_due(100), Some(2));
        assert_eq!(parked.take_due(100), None);
        assert_eq!(parked.first_time(), Ticks::MAX);
        assert!(parked.remove(1) && parked.is_empty());
    }
}
