//! loom models of the node version: every execution that the memory model allows, for a few
//! threads. A machine on loom's atomics takes the place of the real one.

use super::version::NodeVersion;
use chiliad_machine::{
    Class, CoreId, Cost, Fault, Link, Machine, Ordering, Tagged, Ticks, Woken, Word, WorkerId,
};
use core::alloc::Layout;
use core::ptr::NonNull;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicPtr, AtomicU64, fence};

/// loom, as far as the version protocol asks.
struct Loom;

struct LoomWord(AtomicU64);

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

struct LoomLink<T>(AtomicPtr<T>);

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

/// A node of two words that a writer keeps equal, and equal to the count.
struct Node {
    version: NodeVersion<Loom>,
    words: [LoomWord; 2],
}

impl Node {
    fn new() -> Self {
        Self { version: NodeVersion::new(0), words: [LoomWord::new(0), LoomWord::new(0)] }
    }

    /// Counts both words up, if nobody is in the way.
    fn try_write(&self) -> bool {
        let stamp = self.version.read();
        let Some(mut held) = self.version.try_latch(stamp) else {
            return false;
        };
        for word in &self.words {
            let value = word.load(Ordering::Relaxed);
            assert_eq!(value, stamp.count() as u64, "the last writer's words are not visible");
            word.store(value + 1, Ordering::Relaxed);
        }
        held.set_count(stamp.count() + 1);
        true
    }

    /// What an optimistic reader makes of it.
    fn try_read(&self) {
        let stamp = self.version.read();
        let [one, two] = [&self.words[0], &self.words[1]].map(|it| it.load(Ordering::Relaxed));
        if self.version.holds(stamp) {
            assert_eq!((one, two), (stamp.count() as u64, stamp.count() as u64), "a torn read");
        }
    }
}

#[test]
fn a_reader_never_believes_half_a_write() {
    loom::model(|| {
        let node = Arc::new(Node::new());
        let writer = Arc::clone(&node);
        let writer = loom::thread::spawn(move || {
            writer.try_write();
            writer.try_write();
        });
        node.try_read();
        node.try_read();
        writer.join().expect("no panic");
    });
}

#[test]
fn two_writers_lose_nothing() {
    loom::model(|| {
        let node = Arc::new(Node::new());
        let other = Arc::clone(&node);
        let other = loom::thread::spawn(move || u64::from(other.try_write()));
        let mine = u64::from(node.try_write());
        node.try_read();
        let written = mine + other.join().expect("no panic");
        assert!(written >= 1);
        assert_eq!(node.words[0].load(Ordering::Relaxed), written);
        assert_eq!(node.version.read().count() as u64, written);
    });
}

/// A key moves from one node to another under both latches: a reader that goes from the holder to
/// the child, hand over hand, finds it in one of them.
#[test]
fn a_reader_follows_what_moves() {
    /// The holder's first word says which child has the key.
    struct Tree {
        holder: Node,
        children: [Node; 2],
    }
    loom::model(|| {
        let tree = Arc::new(Tree { holder: Node::new(), children: [Node::new(), Node::new()] });
        tree.children[0].words[0].store(1, Ordering::Relaxed);
        let writer = Arc::clone(&tree);
        let writer = loom::thread::spawn(move || {
            let (holder, from) = (&writer.holder.version, &writer.children[0].version);
            let (at_holder, at_from) = (holder.read(), from.read());
            let held = (holder.try_latch(at_holder), from.try_latch(at_from));
            writer.children[0].words[0].store(0, Ordering::Relaxed);
            writer.children[1].words[0].store(1, Ordering::Relaxed);
            writer.holder.words[0].store(1, Ordering::Relaxed);
            drop(held.1);
            drop(held.0);
        });
        let holder = &tree.holder;
        let at_holder = holder.version.read();
        let child = &tree.children[holder.words[0].load(Ordering::Relaxed) as usize];
        if holder.version.holds(at_holder) {
            let at_child = child.version.read();
            if holder.version.holds(at_holder) {
                let found = child.words[0].load(Ordering::Relaxed);
                if child.version.holds(at_child) {
                    assert_eq!(found, 1, "the key is in neither");
                }
            }
        }
        writer.join().expect("no panic");
    });
}
