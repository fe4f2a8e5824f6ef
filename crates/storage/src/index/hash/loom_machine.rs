//! loom in the place of the machine: tests run a small protocol in every execution that the memory
//! model allows. It offers words, links and fences, and no memory: words live in loom's own `Arc`.

use chiliad_machine::{
    Class, CoreId, Cost, Fault, Link, Machine, Ordering, Tagged, Ticks, Woken, Word, WorkerId,
};
use core::alloc::Layout;
use core::ptr::NonNull;
use loom::sync::atomic::{AtomicPtr, AtomicU64, fence};

/// loom, as far as protocols on words ask.
pub(crate) struct Loom;

/// A word that loom watches.
pub(crate) struct LoomWord(AtomicU64);

impl Word for LoomWord {
    fn new(value: u64) -> Self {
        Self(AtomicU64::new(value))
    }
    fn load(&self, order: Ordering) -> u64 {
        self.0.load(order)
    }
    fn store(&self, value: u64, order: Ordering) {
        self.0.store(value, order);
    }
    fn swap(&self, value: u64, order: Ordering) -> u64 {
        self.0.swap(value, order)
    }
    fn compare_exchange(
        &self,
        current: u64,
        new: u64,
        success: Ordering,
        failure: Ordering,
    ) -> Result<u64, u64> {
        self.0.compare_exchange(current, new, success, failure)
    }
    fn fetch_add(&self, value: u64, order: Ordering) -> u64 {
        self.0.fetch_add(value, order)
    }
    fn fetch_and(&self, value: u64, order: Ordering) -> u64 {
        self.0.fetch_and(value, order)
    }
    fn fetch_or(&self, value: u64, order: Ordering) -> u64 {
        self.0.fetch_or(value, order)
    }
    fn fetch_max(&self, value: u64, order: Ordering) -> u64 {
        self.0.fetch_max(value, order)
    }
}

/// A link that loom watches.
pub(crate) struct LoomLink<T>(AtomicPtr<T>);

impl<T> Link<T> for LoomLink<T> {
    fn new(value: Tagged<T>) -> Self {
        Self(AtomicPtr::new(value.into_raw()))
    }
    fn load(&self, order: Ordering) -> Tagged<T> {
        Tagged::from_raw(self.0.load(order))
    }
    fn store(&self, value: Tagged<T>, order: Ordering) {
        self.0.store(value.into_raw(), order);
    }
    fn swap(&self, value: Tagged<T>, order: Ordering) -> Tagged<T> {
        Tagged::from_raw(self.0.swap(value.into_raw(), order))
    }
    fn compare_exchange(
        &self,
        current: Tagged<T>,
        new: Tagged<T>,
        success: Ordering,
        failure: Ordering,
    ) -> Result<Tagged<T>, Tagged<T>> {
        match self.0.compare_exchange(current.into_raw(), new.into_raw(), success, failure) {
            Ok(found) => Ok(Tagged::from_raw(found)),
            Err(found) => Err(Tagged::from_raw(found)),
        }
    }
}

impl Machine for Loom {
    type Word = LoomWord;
    type Link<T: 'static> = LoomLink<T>;

    const CHUNK_BYTES: usize = 0;
    const SIMULATED: bool = true;

    fn alloc(_layout: Layout, _class: Class) -> Option<NonNull<u8>> {
        None
    }
    unsafe fn free(_block: NonNull<u8>, _layout: Layout, _class: Class) {}
    fn poison(_start: *const u8, _bytes: usize) {}
    fn unpoison(_start: *const u8, _bytes: usize) {}
    fn address(_start: *const u8) -> u64 {
        0
    }
    fn worker() -> WorkerId {
        WorkerId(0)
    }
    fn core() -> CoreId {
        CoreId(0)
    }
    fn now() -> Ticks {
        0
    }
    fn ticks_per_second() -> u64 {
        1
    }
    fn random() -> u64 {
        0
    }
    fn pause() {
        loom::thread::yield_now();
    }
    fn yield_now() {
        loom::thread::yield_now();
    }
    fn park() {}
    fn park_until(_time: Ticks) -> Woken {
        Woken::ByTime
    }
    fn unpark(_worker: WorkerId) {}
    fn fence(order: Ordering) {
        fence(order);
    }
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
