//! How the running fiber waits for a transaction, and between two attempts at one.

use super::fibers::{Fiber, hand_on, running};
use crate::native::PAUSE;
use crate::{Machine, Native, Ticks};
use core::{iter, ptr};
use std::thread;

/// From this time on a fiber that rests sleeps: to sleep and to wake takes a fraction of it.
const REST_ASLEEP: Ticks = 2_000;

/// How long a fiber runs at a time in the middle of a transaction, about.
const TURN: Ticks = 150;

/// Lets a sibling run, unless the running fiber keeps its turn and none is in the middle of a transaction: then the
/// wait is for another thread. Returns whether one ran.
#[inline]
pub(super) fn give_way() -> bool {
    let waits = |fiber: &Fiber| !fiber.keeps.get() || fiber.peers().next().is_some();
    running().is_some_and(|fiber| waits(fiber) && fiber.hand_on())
}

/// Lets siblings run for the time of so many pauses; whether it did. A pause takes a turn of each sibling in a transaction:
/// one of them may be in the way, and is that much slower.
pub(super) fn rest(pauses: u64) -> bool {
    running().is_some_and(|fiber| {
        let pause = PAUSE + TURN * fiber.peers().count() as Ticks;
        fiber.rest(pauses.saturating_mul(pause))
    })
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

    /// Is out of the round for a time, or hands on for a short one. `false`: it has no siblings that could run meanwhile.
    fn rest(&self, time: Ticks) -> bool {
        if self.group().alone.get() || thread::panicking() {
            return false;
        }
        let end = Native::now().saturating_add(time);
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
