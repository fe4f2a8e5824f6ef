//! The real machine: every operation is the plain instruction.

use crate::{
    Class, Cost, Fault, LINE_BYTES, Link, Machine, Tagged, Ticks, Woken, Word, WorkerId, bytes,
    sleepers, turn,
};
#[cfg(target_arch = "x86_64")]
use crate::{bytes::words_for, wide};
use core::alloc::Layout;
use core::cell::Cell;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};
use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

/// How long a pause lasts, about: from 10 to 50 ns, by the processor.
pub(crate) const PAUSE: Ticks = 30;

/// Pauses of a rest after which other threads are let run: whoever is in the way may wait for this core.
const PAUSES_AWAKE: u64 = 64;

/// A rest of this time sleeps: the system wakes a thread some 50 us too late.
const REST_ASLEEP: Ticks = 100_000;

/// The cores you have, as fast as they go.
pub struct Native;

/// A shared word: an [`AtomicU64`].
#[repr(transparent)]
pub struct NativeWord(AtomicU64);

impl Word for NativeWord {
    #[inline]
    fn new(value: u64) -> Self {
        Self(AtomicU64::new(value))
    }
    #[inline]
    fn load(&self, order: Ordering) -> u64 {
        self.0.load(order)
    }
    #[inline]
    fn read_bytes(source: &[Self], target: &mut [u8]) {
        #[cfg(target_arch = "x86_64")]
        if wide::SERVES && target.len() >= 8 {
            let source = &source[..words_for(target.len())];
            // SAFETY: both are so long, and nobody else has the target. Words are atomics.
            unsafe { wide::copy(target.as_mut_ptr(), source.as_ptr().cast(), target.len()) };
            return;
        }
        bytes::read(source, target);
    }
    #[inline]
    fn write_bytes(target: &[Self], source: &[u8]) {
        #[cfg(target_arch = "x86_64")]
        if wide::SERVES && source.len() >= 8 {
            let target = &target[..words_for(source.len())];
            let whole = source.len() & !7;
            // SAFETY: both are so long, and nobody writes the source meanwhile. Words are atomics: who has a reference may
            // write.
            unsafe { wide::copy(target.as_ptr().cast_mut().cast(), source.as_ptr(), whole) };
            if let Some(last) = target.get(whole / 8) {
                last.store(bytes::last_word(source), Ordering::Relaxed);
            }
            return;
        }
        bytes::write(target, source);
    }
    #[inline]
    fn copy_words(target: &[Self], source: &[Self]) {
        #[cfg(target_arch = "x86_64")]
        if wide::SERVES && !target.is_empty() {
            let source = &source[..target.len()];
            // SAFETY: both are so long. Words are atomics: who has a reference may write.
            unsafe {
                let target_start = target.as_ptr().cast_mut().cast();
                wide::copy(target_start, source.as_ptr().cast(), size_of_val(source));
            }
            return;
        }
        bytes::copy(target, source);
    }
    #[inline]
    fn store(&self, value: u64, order: Ordering) {
        self.0.store(value, order);
    }
    #[inline]
    fn swap(&self, value: u64, order: Ordering) -> u64 {
        self.0.swap(value, order)
    }
    #[inline]
    fn compare_exchange(
        &self,
        current: u64,
        new: u64,
        success: Ordering,
        failure: Ordering,
    ) -> Result<u64, u64> {
        self.0.compare_exchange(current, new, success, failure)
    }
    #[inline]
    fn fetch_add(&self, value: u64, order: Ordering) -> u64 {
        self.0.fetch_add(value, order)
    }
    #[inline]
    fn fetch_and(&self, value: u64, order: Ordering) -> u64 {
        self.0.fetch_and(value, order)
    }
    #[inline]
    fn fetch_or(&self, value: u64, order: Ordering) -> u64 {
        self.0.fetch_or(value, order)
    }
    #[inline]
    fn fetch_max(&self, value: u64, order: Ordering) -> u64 {
        self.0.fetch_max(value, order)
    }
}

/// A shared pointer: an [`AtomicPtr`].
#[repr(transparent)]
pub struct NativeLink<T>(AtomicPtr<T>);

impl<T> Link<T> for NativeLink<T> {
    #[inline]
    fn new(value: Tagged<T>) -> Self {
        Self(AtomicPtr::new(value.into_raw()))
    }
    #[inline]
    fn load(&self, order: Ordering) -> Tagged<T> {
        Tagged::from_raw(self.0.load(order))
    }
    #[inline]
    fn store(&self, value: Tagged<T>, order: Ordering) {
        self.0.store(value.into_raw(), order);
    }
    #[inline]
    fn swap(&self, value: Tagged<T>, order: Ordering) -> Tagged<T> {
        Tagged::from_raw(self.0.swap(value.into_raw(), order))
    }
    #[inline]
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

/// When the process first asked for the time.
static START: LazyLock<Instant> = LazyLock::new(Instant::now);

/// Whether the kernel runs a barrier on all our threads on request; decides both fences, once.
static MEMBARRIER: LazyLock<bool> = LazyLock::new(register_membarrier);

/// Light fences know that it does, and may be light.
static LIGHT: AtomicBool = AtomicBool::new(false);

/// A light fence as long as it is not known whether it may be light, or if it may not.
#[cold]
fn full_light_fence() {
    // Relaxed: a thread that does not see it runs the full fence, which is always right.
    LIGHT.store(*MEMBARRIER, Ordering::Relaxed);
    core::sync::atomic::fence(Ordering::SeqCst);
}

/// No number yet.
const UNREGISTERED: u32 = u32::MAX;

/// Registers the calling thread as one that can be woken. Where a database is used while the thread's own data is
/// being destroyed, the entry stays until the process ends.
#[cold]
fn register() -> u32 {
    let number = sleepers::enter_thread().0;
    WORKER.set(number);
    let _ = REGISTRATION.try_with(|_| ());
    number
}

/// Gives the thread's entry back when the thread ends.
struct Registration;

impl Drop for Registration {
    fn drop(&mut self) {
        sleepers::leave(WorkerId(WORKER.replace(UNREGISTERED)));
    }
}

thread_local! {
    static WORKER: Cell<u32> = const { Cell::new(UNREGISTERED) };
    static REGISTRATION: Registration = const { Registration };
    static RANDOM: Cell<u64> = const { Cell::new(0) };
}

/// Registers the process for expedited barriers (Linux 4.14 and later); whether it has done so.
fn register_membarrier() -> bool {
    // SAFETY: membarrier takes no pointers; an unknown command is refused with an error.
    unsafe {
        libc::syscall(libc::SYS_membarrier, libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0)
            == 0
    }
}

/// Asks for huge pages under `block`, where the system has them.
fn advise_huge(block: NonNull<u8>, layout: Layout) {
    if layout.align() >= 4096 {
        // SAFETY: the block is ours and page-aligned; the advice changes no content.
        unsafe { libc::madvise(block.as_ptr().cast(), layout.size(), libc::MADV_HUGEPAGE) };
    }
}

/// Starts loading a line.
#[inline(always)]
fn ask_for(address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch never faults, whatever the address.
    unsafe {
        core::arch::x86_64::_mm_prefetch(address.cast::<i8>(), core::arch::x86_64::_MM_HINT_T0);
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

impl Machine for Native {
    type Word = NativeWord;
    type Link<T: 'static> = NativeLink<T>;

    const CHUNK_BYTES: usize = 2 << 20;
    const SIMULATED: bool = false;

    #[inline]
    fn first_chunk_bytes() -> usize {
        // A process may have a hundred small databases, and a huge page is there as a whole.
        Self::CHUNK_BYTES / 32
    }

    fn alloc(layout: Layout, class: Class) -> Option<NonNull<u8>> {
        debug_assert!(layout.size() > 0);
        // SAFETY: the layout is not empty.
        let block = NonNull::new(unsafe { std::alloc::alloc(layout) })?;
        if matches!(class, Class::Chunk | Class::Buckets) && layout.size() >= Self::CHUNK_BYTES {
            advise_huge(block, layout);
        }
        Some(block)
    }

    unsafe fn free(block: NonNull<u8>, layout: Layout, _class: Class) {
        // SAFETY: the caller vouches that the block came from `alloc` with this layout.
        unsafe { std::alloc::dealloc(block.as_ptr(), layout) };
    }

    #[inline]
    fn poison(_start: *const u8, _bytes: usize) {}
    #[inline]
    fn unpoison(_start: *const u8, _bytes: usize) {}

    #[inline]
    fn address(start: *const u8) -> u64 {
        start.addr() as u64
    }

    #[inline]
    fn worker() -> WorkerId {
        let number = WORKER.get();
        WorkerId(if number == UNREGISTERED { register() } else { number })
    }

    fn now() -> Ticks {
        u64::try_from(START.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    fn ticks_per_second() -> u64 {
        1_000_000_000
    }

    #[cfg(all(target_arch = "x86_64", not(miri)))]
    #[inline]
    fn stopwatch() -> u64 {
        // SAFETY: every x86-64 processor has the instruction.
        unsafe { core::arch::x86_64::_rdtsc() }
    }

    fn random() -> u64 {
        RANDOM.with(|state| {
            let mut x = state.get();
            if x == 0 {
                // Seeded by the system: no two processes draw alike. Runs that must repeat are
                // simulated.
                x = RandomState::new().hash_one(Self::worker().0) | 1;
            }
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            state.set(x);
            x.wrapping_mul(0x2545_f491_4f6c_dd1d)
        })
    }

    #[inline]
    fn pause() {
        core::hint::spin_loop();
    }

    fn yield_now() {
        std::thread::yield_now();
    }

    fn rest(pauses: u64) {
        (0..pauses.min(PAUSES_AWAKE)).for_each(|_| Self::pause());
        let time = pauses.saturating_sub(PAUSES_AWAKE).saturating_mul(PAUSE);
        if time >= REST_ASLEEP {
            return std::thread::sleep(Duration::from_nanos(time));
        }
        let end = Self::now() + time;
        while time > 0 && Self::now() < end {
            Self::yield_now();
        }
    }

    #[inline]
    fn stall(long: bool) {
        if long { Self::yield_now() } else { Self::pause() }
    }

    #[inline]
    fn turn_is_over() -> bool {
        turn::is_over()
    }

    fn park() {
        // Registered first, or nobody could wake us.
        let _ = Self::worker();
        std::thread::park();
    }

    fn park_until(time: Ticks) -> Woken {
        let _ = Self::worker();
        let now = Self::now();
        if time > now {
            std::thread::park_timeout(Duration::from_nanos(time - now));
        }
        if Self::now() >= time { Woken::ByTime } else { Woken::ByPeer }
    }

    fn unpark(worker: WorkerId) {
        sleepers::wake(worker);
    }

    #[inline]
    fn fence(order: Ordering) {
        core::sync::atomic::fence(order);
    }

    #[inline]
    fn light_fence() {
        if LIGHT.load(Ordering::Relaxed) {
            // The kernel runs the full barrier on this thread whenever a peer asks for one, so it
            // suffices that the compiler keeps the order.
            core::sync::atomic::compiler_fence(Ordering::SeqCst);
        } else {
            full_light_fence();
        }
    }

    fn heavy_fence() {
        core::sync::atomic::fence(Ordering::SeqCst);
        if *MEMBARRIER {
            // SAFETY: the call takes no pointers; the process is registered.
            let refused = unsafe {
                libc::syscall(libc::SYS_membarrier, libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0)
            };
            assert!(refused == 0, "membarrier refused although registered");
        }
    }

    #[inline]
    fn prefetch(start: *const u8, lines: u32) {
        // Most are one or two, for which the compiler need not set up a loop.
        if lines > 0 {
            ask_for(start);
        }
        if lines > 1 {
            ask_for(start.wrapping_add(LINE_BYTES));
        }
        for line in 2..lines as usize {
            ask_for(start.wrapping_add(line * LINE_BYTES));
        }
    }

    #[inline]
    fn await_line(_start: *const u8, _lines: u32) {}
    #[inline(always)]
    fn work(_site: Cost, _n: u32) {}
    #[inline]
    fn fault(_fault: &'static Fault) -> bool {
        false
    }
    #[inline]
    fn mark(_name: &'static str) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unpark_before_the_park_is_not_lost() {
        Native::unpark(Native::worker());
        Native::park();
    }

    #[test]
    fn a_thread_gives_its_number_back() {
        let first = std::thread::spawn(Native::worker).join().expect("no panic");
        let second = std::thread::spawn(Native::worker).join().expect("no panic");
        // Other tests may take the number in between; what must not happen is growth without end.
        assert!(second.0 <= first.0 + 8);
    }

    #[test]
    fn parking_until_a_time_ends_by_time() {
        let deadline = Native::now() + 1_000_000;
        while Native::park_until(deadline) == Woken::ByPeer {}
        assert!(Native::now() >= deadline);
    }

    #[test]
    fn fences_run() {
        Native::light_fence();
        Native::heavy_fence();
    }
}
