//! The real machine with several transactions in flight on each thread.
//!
//! [`interleave`] runs a few *fibers* on the calling thread, each on a stack of its own. A fiber that
//! is about to wait for memory ([`Machine::await_line`]) asks for it and lets the next fiber run, so
//! that one transaction's work hides another's cache miss; and so does one that waits for a
//! transaction ([`Machine::pause`], [`Machine::park`]), which may be its neighbour's. CoroBase (He et al.,
//! 2021) has the idea, and rewrote an engine as stackless coroutines for it; here it is a
//! machine under an engine that does not know.
//!
//! Ownership:
//!
//! | | |
//! | --- | --- |
//! | the fiber | its stack; its [`WorkerId`], and with it its permit to return from a park; all that hangs off an engine's worker: slot, pins, read and write sets, arena, pools, log buffer, tally |
//! | the thread | the fibers' turns ([`fibers`]); spare stacks ([`stack`]); the count of sections; random numbers |
//!
//! Invariants: fibers never move to another thread; a fiber switches only where it says so, never in
//! a section (under a latch, in a commit window), so a spin for a latch waits for another thread;
//! a fiber that unwinds never switches, since `panicking()` is true of the whole thread.
//!
//! Groups that share a [`Pace`] find out by themselves how many fibers it pays to have in flight ([`trials`]).
//!
//! Outside of [`interleave`] it is [`Native`]: each of these costs a load and a branch more. Stacks are
//! switched by a few instructions written for x86-64; elsewhere a thread has one fiber.

#[cfg(target_arch = "x86_64")]
mod fibers;
#[cfg(not(target_arch = "x86_64"))]
#[path = "alone.rs"]
mod fibers;
#[cfg(target_arch = "x86_64")]
mod overflow;
#[cfg(target_arch = "x86_64")]
mod pace;
#[cfg(target_arch = "x86_64")]
mod parked;
#[cfg(target_arch = "x86_64")]
mod stack;
#[cfg(target_arch = "x86_64")]
mod switch;
#[cfg(target_arch = "x86_64")]
mod trials;
#[cfg(target_arch = "x86_64")]
mod waiting;

#[cfg(not(target_arch = "x86_64"))]
use fibers::waiting;
#[cfg(not(target_arch = "x86_64"))]
pub use fibers::{MEMBERS_MAX, Pace};
pub use fibers::{interleave, interleave_idle, park_for_long};
#[cfg(target_arch = "x86_64")]
pub use pace::Pace;
#[cfg(target_arch = "x86_64")]
pub use stack::MEMBERS_MAX;

use crate::{Class, Cost, Fault, Machine, Native, Ticks, Woken, WorkerId};
use core::alloc::Layout;
use core::ptr::NonNull;
use core::sync::atomic::Ordering;
use core::task::Waker;
use core::time::Duration;

/// How the thread of [`interleave_idle`] sleeps while none of its fibers can run: in the poll of its sockets, say.
pub trait Idle {
    /// Sleeps until there is something for a fiber to do, which this then wakes; until [`Idle::waker`]'s waker was
    /// woken, also before the call; and at most for this time, where there is one. May return without reason.
    fn sleep(&self, at_most: Option<Duration>);

    /// What any thread wakes when it has woken one of the fibers.
    fn waker(&self) -> Waker;
}

/// The cores you have, with several transactions in flight on each: see [`interleave`].
pub struct Interleaved;

impl Machine for Interleaved {
    type Word = <Native as Machine>::Word;
    type Link<T: 'static> = <Native as Machine>::Link<T>;

    const CHUNK_BYTES: usize = Native::CHUNK_BYTES;
    const SIMULATED: bool = false;

    #[inline]
    fn first_chunk_bytes() -> usize {
        Native::first_chunk_bytes()
    }

    fn alloc(layout: Layout, class: Class) -> Option<NonNull<u8>> {
        Native::alloc(layout, class)
    }

    unsafe fn free(block: NonNull<u8>, layout: Layout, class: Class) {
        // SAFETY: the caller's promise.
        unsafe { Native::free(block, layout, class) };
    }

    #[inline]
    fn poison(_start: *const u8, _bytes: usize) {}
    #[inline]
    fn unpoison(_start: *const u8, _bytes: usize) {}

    #[inline]
    fn address(start: *const u8) -> u64 {
        Native::address(start)
    }

    #[inline]
    fn worker() -> WorkerId {
        fibers::worker().unwrap_or_else(Native::worker)
    }

    fn now() -> Ticks {
        Native::now()
    }

    fn ticks_per_second() -> u64 {
        Native::ticks_per_second()
    }

    #[inline]
    fn stopwatch() -> u64 {
        Native::stopwatch()
    }

    fn random() -> u64 {
        Native::random()
    }

    #[inline]
    fn pause() {
        if !waiting::give_way() {
            Native::pause();
        }
    }

    fn yield_now() {
        if !fibers::hand_on() {
            Native::yield_now();
        }
    }

    fn rest(pauses: u64) {
        if !waiting::rest(pauses) {
            Native::rest(pauses);
        }
    }

    fn sleep_is_cheap() -> bool {
        waiting::has_siblings()
    }

    #[inline]
    fn stall(long: bool) {
        Native::stall(long);
    }

    #[inline]
    fn turn_is_over() -> bool {
        Native::turn_is_over()
    }

    fn park() {
        if fibers::park(None).is_none() {
            Native::park();
        }
    }

    fn park_until(time: Ticks) -> Woken {
        fibers::park(Some(time)).unwrap_or_else(|| Native::park_until(time))
    }

    fn unpark(worker: WorkerId) {
        Native::unpark(worker);
        waiting::has_woken();
    }

    #[inline]
    fn fence(order: Ordering) {
        Native::fence(order);
    }

    #[inline]
    fn light_fence() {
        Native::light_fence();
    }

    fn heavy_fence() {
        Native::heavy_fence();
    }

    #[inline]
    fn prefetch(start: *const u8, lines: u32) {
        Native::prefetch(start, lines);
    }

    #[inline(always)]
    fn await_line(start: *const u8, lines: u32) {
        fibers::await_line(start, lines);
    }

    #[inline]
    fn keep_turn(keep: bool) -> bool {
        fibers::keep_turn(keep)
    }

    #[inline]
    fn begun(again: bool) {
        if again {
            fibers::hand_on();
        }
        fibers::begun(again);
    }

    #[inline]
    fn ended(finished: bool) {
        fibers::ended(finished);
    }

    #[inline]
    fn suspended() {
        fibers::suspended();
    }

    #[inline]
    fn resumed() {
        fibers::resumed();
    }

    #[inline]
    fn between() {
        fibers::between();
    }

    #[inline]
    fn enter_section() {
        fibers::enter_section();
    }

    #[inline]
    fn leave_section() {
        fibers::leave_section();
    }

    #[inline(always)]
    fn work(_site: Cost, _n: u32) {}
    #[inline]
    fn fault(_fault: &'static Fault) -> bool {
        false
    }
    #[inline]
    fn mark(_name: &'static str) {}
}
