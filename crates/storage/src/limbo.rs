//! Slots that are free once all readers have left that may be looking at them.

use crate::classes::pool_bytes;
use chiliad_machine::Machine;
use core::ptr::NonNull;
use std::collections::VecDeque;

/// A worker keeps up to this fraction of the heap in limbo, one byte of so many.
const PART: u64 = 512;
/// The least and the most bytes that a worker keeps in limbo, in a heap of any size.
const BYTES_MIN: u64 = 16 << 10;
const BYTES_MAX: u64 = 1 << 20;

/// Room for so many slots is made at once.
const SLOTS_EXPECTED: usize = 1024;

/// Bytes in limbo before their owner tries to advance the epoch, in a heap of so many bytes. An attempt interrupts all other
/// cores for microseconds, and slots in limbo take memory: few of them where there is little of it.
/// An exploring machine does not look at the bytes, which would be a step of its schedule.
pub fn patience<M: Machine>(heap_bytes: impl FnOnce() -> u64) -> usize {
    // Simulated runs are short; in theirs, too, slots must come back while others look on.
    if M::explores() {
        return 1;
    }
    (heap_bytes() / PART).clamp(BYTES_MIN, BYTES_MAX) as usize
}

/// A slot that nothing leads to any more.
#[derive(Clone, Copy)]
pub struct Retired {
    /// Its tag: `heap.rs` says why it is free two epochs later.
    pub epoch: u64,
    pub pool: u16,
    pub place: NonNull<u8>,
}

impl Retired {
    fn bytes(&self) -> usize {
        pool_bytes(usize::from(self.pool))
    }

    /// Whether its grace period is over in the reclaim epoch `now`.
    fn is_over(&self, now: u64) -> bool {
        debug_assert!(self.epoch <= now + 1, "nothing is retired ahead of time");
        self.epoch + 2 <= now
    }
}

/// The retired slots of one worker, oldest first but for those that it has from others.
pub struct Limbo {
    slots: VecDeque<Retired>,
    /// Bytes of the slots.
    bytes: usize,
    /// So many bytes are borne before their owner tries to advance the epoch.
    patience: usize,
}

impl Limbo {
    /// None, with so much patience.
    pub fn new(patience: usize) -> Self {
        Self { slots: VecDeque::with_capacity(SLOTS_EXPECTED), bytes: 0, patience }
    }

    #[inline]
    pub fn add(&mut self, retired: Retired) {
        self.bytes += retired.bytes();
        self.slots.push_back(retired);
    }

    /// Takes over what others had.
    pub fn adopt(&mut self, others: Vec<Retired>) {
        others.into_iter().for_each(|retired| self.add(retired));
    }

    /// Whether there are too many to go on.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.bytes >= self.patience
    }

    /// Whether the oldest is free in the reclaim epoch `now`.
    pub fn has_free(&self, now: u64) -> bool {
        self.slots.front().is_some_and(|oldest| oldest.is_over(now))
    }

    /// Takes the oldest if it is free.
    pub fn take_free(&mut self, now: u64) -> Option<Retired> {
        let free = self.slots.pop_front_if(|oldest| oldest.is_over(now))?;
        self.bytes -= free.bytes();
        Some(free)
    }

    /// Bears what it has, and so many more.
    pub fn bear(&mut self, more: usize) {
        self.patience = self.bytes + more;
    }

    /// Takes all.
    pub fn drain(&mut self) -> impl Iterator<Item = Retired> {
        self.bytes = 0;
        self.slots.drain(..)
    }

    /// Bytes of the slots.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::patience;
    use chiliad_machine::Native;

    #[test]
    fn a_large_heap_bears_more_and_a_small_one_does_not() {
        let bytes = [0, 16 << 20, 64 << 20, 512 << 20, 1 << 40].map(|it| patience::<Native>(|| it));
        assert_eq!(bytes, [16 << 10, 32 << 10, 128 << 10, 1 << 20, 1 << 20]);
    }
}
