//! The machine that the engine runs on.
//!
//! Everything that runs under a concurrency-control scheme reaches shared memory, time, waiting and
//! randomness through [`Machine`]. It is a type parameter, not a compile-time switch, so that one
//! binary runs natively *and* simulates:
//!
//! - [`Native`]: the plain instruction, nothing added;
//! - [`Interleaved`]: the same, with several transactions in flight on each thread;
//! - [`Plain`]: one core and no concurrency at all, which is what Miri runs;
//! - `Sim` (crate `chiliad-simulator`): many cores on one host thread, deterministic by seed;
//! - loom is a further machine, in the dev-dependencies of the small protocols.
//!
//! [`tasks`] is a second interface beside it: ordered tasks, for hardware that speculates.
//!
//! Rules of the seam, which the rooms above keep:
//!
//! 1. every [`Word`] and [`Link`] that two workers share lives in memory obtained from
//!    [`Machine::alloc`] and is constructed in place, never by zeroing;
//! 2. no host address orders, hashes or places anything: [`Machine::address`] gives the number that
//!    may;
//! 3. a worker never waits while it holds a latch, a reclaim pin or the commit window; it spins only for
//!    what is held in a *no-yield section*, *section* for short (a latch, the commit window), in which no worker
//!    lets a sibling run;
//! 4. code that holds a concrete machine (the facade, a driver) starts threads: code that is generic over
//!    `M` offers loops to run and never spawns.

#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
compile_error!("Chiliad runs on Linux, on x86-64 and aarch64");

mod affinity;
mod allocator;
mod array;
pub mod bytes;
mod cost;
pub mod disk;
mod fault;
mod interleaved;
mod latch;
mod link;
mod mutex;
mod native;
mod plain;
mod room;
mod serial;
mod shared;
pub mod shared_log;
#[cfg_attr(
    not(target_arch = "x86_64"),
    expect(dead_code, reason = "where stacks cannot be switched there are no fibers")
)]
mod sleepers;
mod slices;
mod sparse;
mod spin;
pub mod tasks;
mod turn;
#[cfg(target_arch = "x86_64")]
mod wide;

pub use affinity::{allowed_cores, restrict_to_cores, thread_switches};
pub use allocator::{Allocator, Buffer};
pub use array::{Array, Line};
pub use bytes::{copy_in, copy_out, words_for};
pub use cost::Cost;
pub use fault::{Fault, Rig};
pub use interleaved::{
    Idle, Interleaved, MEMBERS_MAX, Pace, interleave, interleave_idle, park_for_long,
};
pub use latch::{Latch, Latched};
pub use link::{Link, Tagged};
pub use mutex::{FAULTS, Mutex, MutexKind, Place};
pub use native::Native;
pub use plain::Plain;
pub use room::{NoRoom, Spare, mappings_max, stacks_max};
pub use serial::serial;
pub use shared::Shared;
pub use slices::set_slice;
pub use sparse::SparseShape;
pub use spin::{Patience, Spin};

use core::alloc::Layout;
use core::ptr::NonNull;
pub use core::sync::atomic::Ordering;
use core::time::Duration;

/// The size of a cache line in bytes, on every machine.
pub const LINE_BYTES: usize = 64;

/// A running thread (natively) or simulated worker, dense from zero: what `unpark` wakes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, PartialOrd, Ord)]
pub struct WorkerId(pub u32);

/// A point in time: nanoseconds natively, events (later: cycles) in simulation.
pub type Ticks = u64;

/// How a [`Machine::park_until`] ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Woken {
    /// Another worker called [`Machine::unpark`].
    ByPeer,
    /// The time came.
    ByTime,
}

/// The use of a block of memory; machines may place classes differently.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// Chunks of several megabytes out of which slots are carved: huge pages where there are any.
    Chunk,
    /// Arrays of hash buckets.
    Buckets,
    /// Everything small and rare: worker slots, roots, tables of tables.
    Control,
}

/// A shared 64-bit word with the atomic operations of the C11 memory model.
///
/// Orderings have their usual meaning; callers name the access that each one pairs with.
pub trait Word: Sized + 'static {
    /// A word holding `value`, constructed in place.
    fn new(value: u64) -> Self;
    /// Reads the word.
    fn load(&self, order: Ordering) -> u64;
    /// Reads `target.len()` bytes out of the words of `source`, relaxed; see [`copy_out`].
    fn read_bytes(source: &[Self], target: &mut [u8]);
    /// Writes `source` to the words of `target`, relaxed; see [`copy_in`].
    fn write_bytes(target: &[Self], source: &[u8]);
    /// Copies as many words as `target` has from `source` to it, relaxed.
    ///
    /// # Panics
    /// When `source` is shorter.
    fn copy_words(target: &[Self], source: &[Self]);
    /// Writes the word.
    fn store(&self, value: u64, order: Ordering);
    /// Writes the word and returns what it held.
    fn swap(&self, value: u64, order: Ordering) -> u64;
    /// Writes `new` if the word holds `current`; `Err` carries what it held instead.
    ///
    /// # Errors
    /// The value found, when it was not `current`.
    fn compare_exchange(
        &self,
        current: u64,
        new: u64,
        success: Ordering,
        failure: Ordering,
    ) -> Result<u64, u64>;
    /// Adds, wrapping, and returns what the word held.
    fn fetch_add(&self, value: u64, order: Ordering) -> u64;
    /// Ands and returns what the word held.
    fn fetch_and(&self, value: u64, order: Ordering) -> u64;
    /// Ors and returns what the word held.
    fn fetch_or(&self, value: u64, order: Ordering) -> u64;
    /// Takes the maximum and returns what the word held.
    fn fetch_max(&self, value: u64, order: Ordering) -> u64;
}

/// The machine a database runs on. See the crate's head for the rules.
///
/// All functions are associated: the running thread or core is found by the machine itself.
pub trait Machine: Sized + Send + Sync + 'static {
    /// A shared word.
    type Word: Word;
    /// A shared pointer with three tag bits.
    type Link<T: 'static>: Link<T>;

    /// Bytes that a pool of slots should ask for at a time.
    const CHUNK_BYTES: usize;
    /// Whether accesses are simulated: callers may then prefer one generic instance (a virtual call
    /// does not show) to many monomorphised ones.
    const SIMULATED: bool;
    /// Whether there are slots with a hole: see [`SparseShape`].
    const SPARSE: bool = false;

    /// Whether runs are short and made to see many interleavings: what comes seldom natively, such as the
    /// reclaiming of memory, shall then come often.
    #[must_use]
    #[inline]
    fn explores() -> bool {
        Self::SIMULATED
    }
    /// [`Machine::CHUNK_BYTES`], or more on a machine whose runs are long.
    #[must_use]
    #[inline]
    fn chunk_bytes() -> usize {
        Self::CHUNK_BYTES
    }
    /// Bytes that a pool should ask for at first: it doubles them from one time to the next, up to
    /// [`Machine::chunk_bytes`].
    #[must_use]
    #[inline]
    fn first_chunk_bytes() -> usize {
        Self::chunk_bytes()
    }
    /// Obtains memory; `None` when the machine has no more. The content is undefined.
    fn alloc(layout: Layout, class: Class) -> Option<NonNull<u8>>;
    /// Returns memory obtained from [`Machine::alloc`] with the same layout and class.
    ///
    /// # Safety
    /// `block` came from `alloc` with `layout` and `class`, and no pointer to it is used any more.
    unsafe fn free(block: NonNull<u8>, layout: Layout, class: Class);
    /// Declares `bytes` at `start` out of bounds until [`Machine::unpoison`]: a simulated access
    /// stops the run with a report. Pools call it for slots on their free lists.
    fn poison(start: *const u8, bytes: usize);
    /// Takes a [`Machine::poison`] back.
    fn unpoison(start: *const u8, bytes: usize);
    /// Slots of this shape, at distances of [`SparseShape::held_bytes`], and how many; given back by
    /// [`Machine::free`] with [`SparseShape::layout`] and [`Class::Chunk`]. `None` when the machine has no
    /// more, or only whole slots.
    fn alloc_sparse(shape: SparseShape) -> Option<(NonNull<u8>, usize)> {
        let _ = shape;
        None
    }
    /// The shape of the slot at `start`, if it has a hole.
    #[inline]
    fn sparse_shape(start: *const u8) -> Option<SparseShape> {
        let _ = start;
        None
    }
    /// An access to `bytes` in the hole of the slot at `start`, from its byte `offset` on: they are
    /// charged for, if memory accesses are.
    #[inline]
    fn touch(start: *const u8, offset: usize, bytes: usize, write: bool) {
        let _ = (start, offset, bytes, write);
    }
    /// A number that may order or place what lives at `start`: the same in every run of one seed.
    fn address(start: *const u8) -> u64;

    /// The running thread or simulated core.
    fn worker() -> WorkerId;
    /// The time.
    fn now() -> Ticks;
    /// [`Ticks`] per second, for turning durations into ticks.
    fn ticks_per_second() -> u64;
    /// A duration in [`Ticks`]; the most there are, if it is longer.
    fn ticks(duration: Duration) -> Ticks {
        let ticks = duration.as_nanos() * u128::from(Self::ticks_per_second()) / 1_000_000_000;
        Ticks::try_from(ticks).unwrap_or(Ticks::MAX)
    }
    /// The time on a clock that takes the least time to look at, in a unit of its own: for shares of a time. A thread that
    /// changes its core may see it go back.
    #[inline]
    fn stopwatch() -> u64 {
        Self::now()
    }
    /// The next number, from 1, of a counter in the middle of the chip, which is sent a message and
    /// adds in a cycle; `None` on a machine that has none.
    fn counter() -> Option<u64> {
        None
    }
    /// Whether the cores' clocks agree: no core sees [`Machine::now`] run backwards against another's.
    fn clocks_agree() -> bool {
        true
    }
    /// A random number, from the run's seed where the machine has one.
    fn random() -> u64;

    /// A moment's delay while a transaction is waited for. Where the machine interleaves a sibling may
    /// run. Never in a section.
    fn pause();
    /// As [`Machine::pause`], when it takes long: the transaction waited for may be a sibling on the same thread, which runs
    /// then, or may have lost its core.
    fn yield_now();
    /// A delay of about so many pauses between two attempts at a transaction, of which nothing is held. Siblings and
    /// other threads run meanwhile, and it lasts no longer for their sake. May end early. Never in a section.
    fn rest(pauses: u64) {
        for _ in 0..pauses {
            Self::pause();
        }
    }
    /// Whether the worker had better sleep at once than look again and again for what it waits for: siblings on its
    /// thread can run, and it is back as soon as one of them has woken it.
    fn sleep_is_cheap() -> bool {
        false
    }
    /// Whether a thread that is woken may have to wait for a core, since there may be more threads than cores.
    fn shares_cores() -> bool {
        true
    }
    /// A moment's delay while a worker on another thread is about to leave a section: no sibling runs.
    /// `long`: it may have lost its core.
    fn stall(long: bool);
    /// Sleeps until [`Machine::unpark`]; a permit given earlier makes it return at once. May wake
    /// without reason. Never in a section.
    fn park();
    /// Sleeps until [`Machine::unpark`] or until the time has come.
    fn park_until(time: Ticks) -> Woken;
    /// Wakes `worker`, or lets its next park return at once.
    fn unpark(worker: WorkerId);

    /// Whether the thread is likely to lose its core soon. If it has nothing in hand that others wait for, it had better
    /// give it up now, by [`Machine::stall`]. Asked at the beginning of each transaction, and true once in a turn.
    fn turn_is_over() -> bool {
        false
    }

    /// The price of a call into the system, to sleep or to wake, where that is not part of the call
    /// itself: nothing natively.
    fn call_system() {}

    /// A fence of the C11 memory model.
    fn fence(order: Ordering);
    /// The cheap side of an asymmetric pair of sequentially consistent fences: orders the caller's
    /// accesses before and after it against any thread that runs [`Machine::heavy_fence`].
    fn light_fence();
    /// The dear side: acts as a full fence on every running thread.
    fn heavy_fence();

    /// Starts loading `lines` cache lines from `start`.
    fn prefetch(start: *const u8, lines: u32);
    /// The caller is about to wait for this memory: nothing natively, a switch to a sibling
    /// transaction where the machine interleaves. Never in a section, unless the turn is kept.
    fn await_line(start: *const u8, lines: u32);
    /// From here on [`Machine::await_line`] and [`Machine::pause`] let no sibling run (`keep`); or they
    /// do so again. Returns which of the two it was until now: the turn is kept where there are no siblings.
    fn keep_turn(keep: bool) -> bool {
        let _ = keep;
        true
    }
    /// The caller begins a transaction: `again` one that was refused, with nothing in its hands. Siblings may
    /// have been in the way of that one: they get a turn, then it keeps its own, as what it looked at is in
    /// the cache by now.
    fn begun(again: bool) {
        let _ = again;
    }
    /// The transaction is over: nothing of it is in hand any more, and `finished` if it will not be run again,
    /// since it has committed or its own logic has given it up.
    fn ended(finished: bool) {
        let _ = finished;
        Self::keep_turn(false);
    }
    /// The caller leaves a transaction that it has in hand, for [`Machine::resumed`] on whichever thread.
    fn suspended() {
        Self::keep_turn(false);
    }
    /// The caller takes up a transaction that was left.
    fn resumed() {}
    /// The caller has answered a request and not taken up the next: siblings may run for longer, and as many
    /// transactions be in flight as pay.
    fn between() {}
    /// Begins a section: the caller holds a latch or its commit window is open, and no sibling may run
    /// until as many calls of [`Machine::leave_section`]. Nothing but a check, in simulation and where
    /// debug assertions are on: what would let a sibling run says so loudly.
    fn enter_section() {}
    /// Ends a section.
    fn leave_section() {}
    /// From here on what the caller does takes simulated time (`on`, as at first), or does not: for what
    /// surrounds the work that is measured.
    fn clocked(on: bool) {
        let _ = on;
    }
    /// Charges `n` units of computation at `site`; free natively.
    fn work(site: Cost, n: u32);

    /// Whether a planted bug is switched on for this run; natively the constant `false`.
    fn fault(fault: &'static Fault) -> bool;
    /// Tells the rig that a rare branch was taken, so that a campaign can prove that it was.
    /// Nothing natively.
    fn mark(name: &'static str);
}
