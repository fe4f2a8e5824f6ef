//! Stacks of segment numbers, without a latch: a thread that loses its core while it pushes or pops blocks nobody.
//!
//! The number below another stands in an array beside the segments (`Below`), so that a pop touches no segment, which
//! may be freed meanwhile. A segment is in one stack at a time, and the array serves all of them.
//!
//! A number that was picked up and put down again while somebody was about to pick it up has another one below it. So
//! the top counts how often it was picked up (R. K. Treiber, "Systems Programming: Coping with Parallelism", IBM Almaden RJ 5118, 1986).

use crate::faults;
use chiliad_machine::{Array, Line, Machine, Ordering, Word};

/// By number: the one below, and one; or zero.
pub(crate) type Below<M> = Array<M, <M as Machine>::Word>;

/// A stack of numbers.
///
/// ```text
/// top:  63 .. 32            31 .. 0
///       times picked up     the number on top, and one; or zero
/// ```
pub(crate) struct Stack<M: Machine>(Line<M::Word>);

const NUMBER: u64 = u32::MAX as u64;
const PICKED_UP: u64 = 1 << 32;

impl<M: Machine> Stack<M> {
    /// An empty one.
    pub fn new() -> Self {
        Self(Line(M::Word::new(0)))
    }

    /// One of all numbers below `count`, of which there is one at least, the least on top; and what is below each.
    pub fn of(count: u32) -> (Self, Below<M>) {
        debug_assert!(count > 0 && u64::from(count) < NUMBER, "numbers have 32 bits");
        let next = core::cell::Cell::new(0);
        let below = Below::<M>::new(count as usize, || {
            next.set(next.get() + 1);
            M::Word::new(if next.get() < u64::from(count) { next.get() + 1 } else { 0 })
        });
        (Self(Line(M::Word::new(1))), below)
    }

    /// Puts a number on top, which is in no stack.
    pub fn push(&self, below: &Below<M>, number: u32) {
        debug_assert!((number as usize) < below.count(), "a number that there is");
        let mut top = self.0.0.load(Ordering::Relaxed);
        loop {
            below.get(number as usize).store(top & NUMBER, Ordering::Relaxed);
            // Release pairs with the acquires of pops.
            let next = top & !NUMBER | (u64::from(number) + 1);
            match self.0.0.compare_exchange(top, next, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return,
                Err(found) => top = found,
            }
        }
    }

    /// Picks up the number on top.
    pub fn pop(&self, below: &Below<M>) -> Option<u32> {
        // Acquire, here and below, pairs with the release in `push`: what was done before it was put down is known.
        let mut top = self.0.0.load(Ordering::Acquire);
        loop {
            let number = (top & NUMBER).checked_sub(1)? as u32;
            debug_assert!((number as usize) < below.count(), "a number that there is");
            // Relaxed: if it is an old one the top has been counted on.
            let next = below.get(number as usize).load(Ordering::Relaxed);
            debug_assert!(next <= NUMBER, "what is below is a number");
            let times = if M::fault(&faults::PICKED_UP_UNCOUNTED) { 0 } else { PICKED_UP };
            let next = (top & !NUMBER).wrapping_add(times) | next;
            // Acquire pairs with the release in `push`.
            match self.0.0.compare_exchange(top, next, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return Some(number),
                Err(found) => top = found,
            }
        }
    }

    /// Picks up all of them, the last one first. Nobody picks up a single one from such a stack.
    pub fn take<'a>(&self, below: &'a Below<M>) -> impl Iterator<Item = u32> + use<'a, M> {
        // Acquire pairs with the release in `push`, as in `pop`.
        let mut top = self.0.0.swap(0, Ordering::Acquire);
        core::iter::from_fn(move || {
            let number = top.checked_sub(1)? as u32;
            debug_assert!((number as usize) < below.count(), "a number that there is");
            top = below.get(number as usize).load(Ordering::Relaxed);
            Some(number)
        })
    }
}
