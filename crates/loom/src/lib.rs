//! loom as a machine: a model runs a small protocol in every execution that the memory model
//! allows. For the dev-dependencies of the rooms only.
//!
//! The parts of the real machine that a model sees:
//!
//! - words, links and fences are loom's; sequentially consistent *accesses* count as acquire and
//!   release only, fences count in full;
//! - memory is the host's: create what a model shares inside the model, so that each execution
//!   begins anew;
//! - the asymmetric fences are sequentially consistent fences on both sides, unless
//!   [`Model::without_light_fences`] takes the cheap side away;
//! - waiting is yielding, time stands still, there is one worker number.
//!
//! A model whose protocol lacks a step must fail, or it shows nothing: [`Model::plant`] switches a
//! planted bug on.

mod word;

pub use loom::thread;
pub use word::{LoomLink, LoomWord};

use chiliad_machine::{Class, Cost, Fault, Machine, Ordering, Ticks, Woken, WorkerId};
use core::alloc::Layout;
use core::cell::Cell;
use core::ptr::NonNull;

/// loom in the place of the machine.
pub struct Loom;

/// Thread switches per execution that are not forced, unless `LOOM_MAX_PREEMPTIONS` says otherwise:
/// nearly all bugs of small protocols show with two or three, and the executions stay countable.
const PREEMPTIONS: usize = 3;

thread_local! {
    // loom runs the threads of a model as coroutines of the thread that checks it.
    static PLANTED: Cell<Option<&'static str>> = const { Cell::new(None) };
    static LIGHT_FENCES: Cell<bool> = const { Cell::new(true) };
}

/// How a protocol is to be checked.
pub struct Model {
    planted: Option<&'static str>,
    light_fences: bool,
    preemptions: usize,
}

impl Model {
    /// With all its steps.
    #[must_use]
    pub fn new() -> Self {
        Self { planted: None, light_fences: true, preemptions: PREEMPTIONS }
    }

    /// With the planted bug on.
    #[must_use]
    pub fn plant(self, fault: &Fault) -> Self {
        Self { planted: Some(fault.name), ..self }
    }

    /// With nothing in the place of [`Machine::light_fence`]. That is the exact model where nobody
    /// runs the heavy side, and a missing step where somebody does.
    #[must_use]
    pub fn without_light_fences(self) -> Self {
        Self { light_fences: false, ..self }
    }

    /// With so many preemptions, for models that would take too long with the usual number.
    #[must_use]
    pub fn preemptions(self, preemptions: usize) -> Self {
        Self { preemptions, ..self }
    }

    /// Runs `setup` and then `run` on what it made, in every execution. Nothing is explored during
    /// the setup, which has one thread.
    ///
    /// # Panics
    /// When an execution does.
    pub fn check<T: 'static>(
        &self,
        setup: impl Fn() -> T + Send + Sync + 'static,
        run: impl Fn(T) + Send + Sync + 'static,
    ) {
        PLANTED.set(self.planted);
        LIGHT_FENCES.set(self.light_fences);
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound.get_or_insert(self.preemptions);
        builder.max_branches = builder.max_branches.max(10_000);
        builder.expect_explicit_explore = true;
        builder.check(move || {
            let shared = setup();
            loom::explore();
            run(shared);
        });
    }
}

impl Default for Model {
    fn default() -> Self {
        Self::new()
    }
}

impl Machine for Loom {
    type Word = LoomWord;
    type Link<T: 'static> = LoomLink<T>;

    // Small: every word is an object that loom keeps a history of.
    const CHUNK_BYTES: usize = 1 << 10;
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

    fn now() -> Ticks {
        0
    }

    fn ticks_per_second() -> u64 {
        1_000_000
    }

    fn random() -> u64 {
        0
    }

    fn pause() {
        thread::yield_now();
    }

    fn yield_now() {
        thread::yield_now();
    }

    fn stall(_long: bool) {
        thread::yield_now();
    }

    fn park() {
        thread::yield_now();
    }

    fn park_until(_time: Ticks) -> Woken {
        thread::yield_now();
        Woken::ByTime
    }

    fn unpark(_worker: WorkerId) {}

    fn fence(order: Ordering) {
        loom::sync::atomic::fence(order);
    }

    fn light_fence() {
        if LIGHT_FENCES.get() {
            Self::fence(Ordering::SeqCst);
        }
    }

    fn heavy_fence() {
        Self::fence(Ordering::SeqCst);
    }

    fn prefetch(_start: *const u8, _lines: u32) {}
    fn await_line(_start: *const u8, _lines: u32) {}
    fn work(_site: Cost, _n: u32) {}

    fn fault(fault: &'static Fault) -> bool {
        PLANTED.get() == Some(fault.name)
    }

    fn mark(_name: &'static str) {}
}
