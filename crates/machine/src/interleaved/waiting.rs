//! How the running fiber waits for a transaction, and between two attempts at one.

use super::fibers::{Fiber, hand_on, running};
use crate::native::PAUSE;
use crate::{Machine, Native, Ticks};
use core::{iter, ptr};
use std::thread;

/// From this time on a fiber that rests sleeps: to sleep and to wake takes a fraction of it.
const REST_ASLEEP: Ticks = 2_000;

/// Turns of all siblings that a fiber sees before it knows how long one takes.
const ROUNDS_SEEN: u64 = 4;

/// No turn of all siblings takes longer, unless the thread has lost its core meanwhile.
const ROUND: Ticks = 4_000;

/// Lets a sibling run, unless the running fiber keeps its turn and none is in the middle of a transaction: then the
/// wait is for another thread. Returns whether one ran.
#[inline]
pub(super) fn give_way() -> bool {
    let waits = |fiber: &Fiber| !fiber.keeps.get() || fiber.peers().next().is_some();
    running().is_some_and(|fiber| waits(fiber) && fiber.hand_on())
}

/// Lets siblings run for the time in which each of them would have so many turns; whether it did.
pub(super) fn rest(pauses: u64) -> bool {
    running().is_some_and(|fiber| fiber.rest(pauses))
}

/// Whether siblings of the running fiber can run.
pub(super) fn has_siblings() -> bool {
    running().is_some_and(|fiber| !ptr::eq(fiber.next.get(), fiber))
}

/// The running fiber may have woken a sibling, which is in the middle of a transaction, most likely, and holds what others
/// want: it runs as soon as this one hands on.
#[inline]
pub(super) fn has_woken() {
    if let Some(fiber) = running()
        && fiber.group().bell.is_rung()
    {
        fiber.group().turns.set(1);
    }
}

impl Fiber {
    /// The siblings that can run and are in the middle of a transaction.
    fn peers(&self) -> impl Iterator<Item = &Self> {
        // SAFETY: the fibers of the round live as long as the group.
        let next = |fiber: &Self| unsafe { &*fiber.next.get() };
        let round = iter::successors(Some(next(self)), move |fiber| Some(next(fiber)));
        let siblings = round.take_while(|fiber| !ptr::eq(*fiber, self));
        siblings.filter(|fiber| fiber.depth.get() > 0)
    }

    /// Hands on a few times, and is then out of the round for as long as the other turns would have taken. `false`: it has
    /// no siblings that could run meanwhile.
    fn rest(&self, pauses: u64) -> bool {
        if self.group().alone.get() || thread::panicking() {
            return false;
        }
        let seen = pauses.min(ROUNDS_SEEN);
        let begun = Native::now();
        for _ in 0..seen {
            if !hand_on() {
                Native::pause();
            }
        }
        let now = Native::now();
        let round = (now.saturating_sub(begun) / seen.max(1)).clamp(PAUSE, ROUND);
        let time = round.saturating_mul(pauses - seen);
        let end = now.saturating_add(time);
        if time >= REST_ASLEEP {
            self.park(Some(end), self.depth.get() > 0);
        }
        while Native::now() < end {
            if !hand_on() {
                Native::pause();
            }
        }
        true
    }
}
