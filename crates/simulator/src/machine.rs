//! `Sim`, the machine: each function finds the host thread's current run and asks it.

use crate::outcome::Access;
use crate::state::State;
use crate::word::{SimLink, SimWord};
use chiliad_machine::{Class, Cost, Fault, Machine, Ordering, SparseShape, Ticks, Woken, WorkerId};
use std::alloc::Layout;
use std::ptr::NonNull;

/// The bytes that pools request at a time where time passes.
const CHUNK_BYTES_TIMED: usize = 2 << 20;

/// The simulated machine. See the crate's head.
pub struct Sim;

/// Whether the running core is told to stop: a daemon when all other cores have ended, any core when
/// the run is over or past [`crate::Config::stop_after`]. Long loops look at it.
#[must_use]
pub fn stopping() -> bool {
    State::current().stopping()
}

/// The running core is taken away until a time, or a while less, as by a system that has other work for
/// it: no wait of the program's own, so it may happen in a section, and no sibling runs.
pub fn lose_core(until: Ticks) {
    let state = State::current();
    let until = until.saturating_sub(state.begun.get());
    if !state.stand_still(until) {
        state.park(Some(until));
    }
}

impl Sim {
    /// The core that the running worker has at the moment.
    #[must_use]
    pub fn core() -> u32 {
        State::current().core.get()
    }
}

impl Machine for Sim {
    type Word = SimWord;
    type Link<T: 'static> = SimLink<T>;

    const CHUNK_BYTES: usize = 16 << 10;
    const SIMULATED: bool = true;
    const SPARSE: bool = true;

    fn explores() -> bool {
        State::current().config.machine.is_none()
    }

    fn shares_cores() -> bool {
        // A drawn schedule keeps any thread waiting.
        Self::explores() || State::current().timeshare.get().is_some()
    }

    fn chunk_bytes() -> usize {
        if Self::explores() { Self::CHUNK_BYTES } else { CHUNK_BYTES_TIMED }
    }

    fn alloc(layout: Layout, _class: Class) -> Option<NonNull<u8>> {
        let state = State::current();
        let block = state.region.alloc(layout)?;
        state.timed_call();
        state.digest_address(Access::Alloc, state.region.offset(block.addr().get()) as u64);
        Some(block)
    }

    unsafe fn free(block: NonNull<u8>, layout: Layout, _class: Class) {
        State::current().timed_call();
        State::current().free(block.addr().get(), layout);
    }

    fn poison(start: *const u8, bytes: usize) {
        State::current().poison(start.addr(), bytes, true);
    }

    fn unpoison(start: *const u8, bytes: usize) {
        State::current().poison(start.addr(), bytes, false);
    }

    fn alloc_sparse(shape: SparseShape) -> Option<(NonNull<u8>, usize)> {
        let state = State::current();
        let (slots, count) = state.region.alloc_sparse(shape)?;
        state.digest_address(Access::Alloc, state.region.offset(slots.addr().get()) as u64);
        Some((slots, count))
    }

    #[inline]
    fn sparse_shape(start: *const u8) -> Option<SparseShape> {
        let region = &State::current().region;
        region.sparse_shape(region.offset(start.addr()))
    }

    fn touch(start: *const u8, offset: usize, bytes: usize, write: bool) {
        let state = State::current();
        let slot = state.region.simulated(state.region.offset(start.addr()));
        state.touch_tail(slot + offset as u64, bytes, write);
    }

    fn address(start: *const u8) -> u64 {
        let region = &State::current().region;
        let offset = region.offset(start.addr());
        assert!(
            region.contains(offset),
            "Machine::address of something outside the run's memory: its host address differs from \
             run to run"
        );
        region.simulated(offset)
    }

    fn worker() -> WorkerId {
        WorkerId(State::current().running.get())
    }

    fn now() -> Ticks {
        let state = State::current();
        state.begun.get() + state.look_at_clock()
    }

    fn ticks_per_second() -> u64 {
        State::try_current().map_or(1_000_000, |state| state.config.ticks_per_second())
    }

    fn counter() -> Option<u64> {
        let state = State::current();
        let there = state.config.machine.as_ref().is_none_or(|machine| machine.counter);
        there.then(|| state.count_on_chip())
    }

    fn clocks_agree() -> bool {
        State::current().config.machine.as_ref().is_none_or(|machine| machine.clocks)
    }

    fn random() -> u64 {
        let state = State::current();
        state.no_task("a random number");
        if let Some(timed) = state.timed() {
            timed.borrow_mut().acts(state.core.get());
        }
        state.workers.borrow_mut()[state.running.get() as usize].random.next()
    }

    fn pause() {
        State::current().no_task("to pause");
        State::current().pause(false);
    }

    fn yield_now() {
        State::current().no_task("to pause");
        State::current().pause(true);
    }

    fn stall(long: bool) {
        State::current().no_task("to pause");
        State::current().stall(long);
    }

    fn park() {
        let state = State::current();
        state.may_switch("a park");
        state.park(None);
    }

    fn park_until(time: Ticks) -> Woken {
        let state = State::current();
        state.may_switch("a park");
        state.park(Some(time.saturating_sub(state.begun.get())))
    }

    fn unpark(worker: WorkerId) {
        State::current().unpark(worker);
    }

    fn call_system() {
        State::current().timed_call();
    }

    fn fence(order: Ordering) {
        State::current().no_task("a fence");
        State::current().fence(order == Ordering::SeqCst, false);
    }

    /// Orders nothing by itself: the heavy side makes this core's stores visible when it must.
    fn light_fence() {
        State::current().no_task("a fence");
        State::current().fence(false, false);
    }

    fn heavy_fence() {
        State::current().no_task("a fence");
        State::current().timed_call();
        State::current().fence(true, true);
    }

    fn prefetch(start: *const u8, lines: u32) {
        let state = State::current();
        if let Some(timed) = state.timed() {
            state.timed_prefetch(timed, start.addr(), u64::from(lines));
        }
        let mut counters = state.counters.get();
        counters.prefetches += 1;
        state.counters.set(counters);
    }

    fn await_line(start: *const u8, lines: u32) {
        let state = State::current();
        if let Some(timed) = state.timed() {
            state.timed_prefetch(timed, start.addr(), u64::from(lines));
        }
        state.await_line();
    }

    fn keep_turn(keep: bool) -> bool {
        let state = State::current();
        let running = &mut state.workers.borrow_mut()[state.running.get() as usize];
        std::mem::replace(&mut running.keeps_turn, keep)
    }

    /// No event where no sibling can run.
    fn begun(again: bool) {
        let state = State::current();
        if again {
            if state.is_scheduled() && state.has_company() {
                state.pause(false);
            }
            Self::keep_turn(true);
        }
        if state.timed().is_some() {
            state.books.borrow_mut().begun(state.running.get());
        }
    }

    fn ended(finished: bool) {
        let state = State::current();
        if state.timed().is_some() {
            let (worker, time) = (state.running.get(), state.time.get());
            state.books.borrow_mut().ended(worker, time, finished);
        }
        Self::keep_turn(false);
    }

    fn enter_section() {
        State::current().enter_section();
    }

    fn leave_section() {
        State::current().leave_section();
    }

    fn clocked(on: bool) {
        let state = State::current();
        if let Some(timed) = state.timed() {
            state.set_clocked(timed, on);
        }
    }

    fn work(site: Cost, n: u32) {
        let state = State::current();
        if let Some(timed) = state.timed() {
            state.timed_work(timed, site, n);
        }
        let counters = state.counters.as_ptr();
        // SAFETY: cells of a run are its host thread's alone, and no reference into this one lives
        // anywhere. In place: a copy of all sums for each unit would show.
        unsafe { (*counters).work[site.index()] += u64::from(n) };
    }

    fn fault(fault: &'static Fault) -> bool {
        State::current().config.fault.is_some_and(|planted| std::ptr::eq(planted, fault))
    }

    fn mark(name: &'static str) {
        State::current().marks.borrow_mut().insert(name);
    }
}
