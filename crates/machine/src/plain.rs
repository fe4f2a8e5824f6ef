//! One core and no concurrency at all: what Miri runs, and what shows the cost of the atomics.
//!
//! Its words are cells, so nothing built on it can be shared between threads; waiting for a peer
//! can never end and therefore panics.

use crate::{Class, Cost, Fault, Link, Machine, Tagged, Ticks, Woken, Word, WorkerId, bytes};
use core::alloc::Layout;
use core::cell::Cell;
use core::ptr::NonNull;
use core::sync::atomic::Ordering;

/// One core, no peers.
pub struct Plain;

/// An unshared word.
#[repr(transparent)]
pub struct PlainWord(Cell<u64>);

impl Word for PlainWord {
    fn new(value: u64) -> Self {
        Self(Cell::new(value))
    }
    fn load(&self, _order: Ordering) -> u64 {
        self.0.get()
    }
    fn read_bytes(source: &[Self], target: &mut [u8]) {
        bytes::read(source, target);
    }
    fn write_bytes(target: &[Self], source: &[u8]) {
        bytes::write(target, source);
    }
    fn copy_words(target: &[Self], source: &[Self]) {
        bytes::copy(target, source);
    }
    fn store(&self, value: u64, _order: Ordering) {
        self.0.set(value);
    }
    fn swap(&self, value: u64, _order: Ordering) -> u64 {
        self.0.replace(value)
    }
    fn compare_exchange(
        &self,
        current: u64,
        new: u64,
        _success: Ordering,
        _failure: Ordering,
    ) -> Result<u64, u64> {
        let found = self.0.get();
        if found == current {
            self.0.set(new);
            Ok(found)
        } else {
            Err(found)
        }
    }
    fn fetch_add(&self, value: u64, _order: Ordering) -> u64 {
        self.0.replace(self.0.get().wrapping_add(value))
    }
    fn fetch_and(&self, value: u64, _order: Ordering) -> u64 {
        self.0.replace(self.0.get() & value)
    }
    fn fetch_or(&self, value: u64, _order: Ordering) -> u64 {
        self.0.replace(self.0.get() | value)
    }
    fn fetch_max(&self, value: u64, _order: Ordering) -> u64 {
        self.0.replace(self.0.get().max(value))
    }
}

/// An unshared pointer.
#[repr(transparent)]
pub struct PlainLink<T>(Cell<*mut T>);

impl<T> Link<T> for PlainLink<T> {
    fn new(value: Tagged<T>) -> Self {
        Self(Cell::new(value.into_raw()))
    }
    fn load(&self, _order: Ordering) -> Tagged<T> {
        Tagged::from_raw(self.0.get())
    }
    fn store(&self, value: Tagged<T>, _order: Ordering) {
        self.0.set(value.into_raw());
    }
    fn swap(&self, value: Tagged<T>, _order: Ordering) -> Tagged<T> {
        Tagged::from_raw(self.0.replace(value.into_raw()))
    }
    fn compare_exchange(
        &self,
        current: Tagged<T>,
        new: Tagged<T>,
        _success: Ordering,
        _failure: Ordering,
    ) -> Result<Tagged<T>, Tagged<T>> {
        let found = Tagged::from_raw(self.0.get());
        if found == current {
            self.0.set(new.into_raw());
            Ok(found)
        } else {
            Err(found)
        }
    }
}

thread_local! {
    static CLOCK: Cell<u64> = const { Cell::new(0) };
    static RANDOM: Cell<u64> = const { Cell::new(0x9e37_79b9_7f4a_7c15) };
}

impl Machine for Plain {
    type Word = PlainWord;
    type Link<T: 'static> = PlainLink<T>;

    const CHUNK_BYTES: usize = 16 << 10;
    const SIMULATED: bool = true;

    fn alloc(layout: Layout, _class: Class) -> Option<NonNull<u8>> {
        // SAFETY: callers ask for at least one byte.
        NonNull::new(unsafe { std::alloc::alloc(layout) })
    }

    unsafe fn free(block: NonNull<u8>, layout: Layout, _class: Class) {
        // SAFETY: the caller vouches that the block came from `alloc` with this layout.
        unsafe { std::alloc::dealloc(block.as_ptr(), layout) };
    }

    fn poison(_start: *const u8, _bytes: usize) {}
    fn unpoison(_start: *const u8, _bytes: usize) {}

    fn address(start: *const u8) -> u64 {
        start.addr() as u64
    }

    fn worker() -> WorkerId {
        WorkerId(0)
    }

    /// Counts its own calls: time passes, and repeats.
    fn now() -> Ticks {
        CLOCK.with(|clock| {
            clock.set(clock.get() + 1);
            clock.get()
        })
    }

    fn ticks_per_second() -> u64 {
        1_000_000
    }

    fn random() -> u64 {
        RANDOM.with(|state| {
            let mut x = state.get();
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            state.set(x);
            x
        })
    }

    fn pause() {
        panic!("a spin on the one-core machine can never end");
    }

    fn yield_now() {
        panic!("a spin on the one-core machine can never end");
    }

    fn stall(_long: bool) {
        panic!("a spin on the one-core machine can never end");
    }

    fn park() {}

    fn park_until(time: Ticks) -> Woken {
        CLOCK.with(|clock| clock.set(clock.get().max(time)));
        Woken::ByTime
    }

    fn unpark(_worker: WorkerId) {}
    fn fence(_order: Ordering) {}
    fn light_fence() {}
    fn heavy_fence() {}
    fn prefetch(_start: *const u8, _lines: u32) {}
    fn await_line(_start: *const u8, _lines: u32) {}
    fn work(_site: Cost, _n: u32) {}

    fn fault(_fault: &'static Fault) -> bool {
        false
    }

    fn mark(_name: &'static str) {}
}
