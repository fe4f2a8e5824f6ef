//! Total store order: what a core stored and the others do not see yet.
//!
//! - A core's stores become visible in the order in which it made them (a buffer is a queue).
//! - Stores of different cores become visible in one order, the same for all: draining writes the
//!   one memory.
//! - A core sees its own stores at once: its loads look into its buffer first.
//! - Nothing that is freed or poisoned is in any buffer: closing memory drains it first. A correct
//!   program cannot tell, since the core that frees has seen a later store of every core that wrote.
//!
//! How much a core may hold back, and how slowly buffers drain, are drawn once per run.

use crate::random::{Generator, Stream};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicPtr, Ordering};

/// A store that is not visible yet. A word's value travels as a pointer without provenance, so that
/// a link's keeps its own.
#[derive(Clone, Copy)]
struct Pending {
    target: *const AtomicPtr<()>,
    value: *mut (),
}

impl Pending {
    fn perform(self) {
        // SAFETY: the target was accessible when the store was made, closing its memory would have
        // drained it, and the region stays mapped during the run.
        unsafe { (*self.target).store(self.value, Ordering::Relaxed) };
    }
}

struct Buffer {
    capacity: usize,
    pending: VecDeque<Pending>,
}

/// The store buffers of all cores.
pub(crate) struct StoreBuffers {
    random: Generator,
    buffers: Vec<Buffer>,
    /// Stores pending in all.
    total: usize,
    /// The mean number of events between two drains.
    drain_mean: u64,
}

impl StoreBuffers {
    pub(crate) fn new(seed: u64) -> Self {
        let mut random = Generator::new(seed, Stream::StoreBuffers);
        let drain_mean = random.one_of(&[2, 16, 128, 1024, 8192]);
        Self { random, buffers: Vec::new(), total: 0, drain_mean }
    }

    pub(crate) fn add_core(&mut self) {
        let capacity = self.random.one_of(&[0, 1, 2, 4, 8, 8, 16, 32]);
        self.buffers.push(Buffer { capacity, pending: VecDeque::with_capacity(capacity) });
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.total == 0
    }

    /// Whether any core but this one holds stores back.
    pub(crate) fn others_hold(&self, core: u32) -> bool {
        self.total > self.buffers[core as usize].pending.len()
    }

    /// Events until the next drain.
    pub(crate) fn gap(&mut self) -> u64 {
        self.random.gap(self.drain_mean)
    }

    /// Holds a store of `core` back.
    pub(crate) fn store(&mut self, core: u32, target: *const AtomicPtr<()>, value: *mut ()) {
        let buffer = &mut self.buffers[core as usize];
        let store = Pending { target, value };
        if buffer.capacity == 0 {
            store.perform();
            return;
        }
        if buffer.pending.len() < buffer.capacity {
            self.total += 1;
        } else if let Some(oldest) = buffer.pending.pop_front() {
            oldest.perform();
        }
        buffer.pending.push_back(store);
    }

    /// The value that `core` itself must see at `target`, if that is not what memory holds.
    pub(crate) fn forward(&self, core: u32, target: *const AtomicPtr<()>) -> Option<*mut ()> {
        let pending = &self.buffers[core as usize].pending;
        pending.iter().rev().find(|store| store.target == target).map(|store| store.value)
    }

    /// Makes all stores of `core` visible.
    pub(crate) fn drain(&mut self, core: u32) {
        let pending = &mut self.buffers[core as usize].pending;
        self.total -= pending.len();
        pending.drain(..).for_each(Pending::perform);
    }

    /// A core is no more: the oldest of its stores become visible, a number that is drawn, and the rest never
    /// does. How many that is.
    pub(crate) fn lose(&mut self, core: u32) -> usize {
        let pending = &mut self.buffers[core as usize].pending;
        if pending.is_empty() {
            return 0;
        }
        self.total -= pending.len();
        let kept = usize::try_from(self.random.below(pending.len() as u64 + 1)).unwrap_or(0);
        pending.drain(..kept).for_each(Pending::perform);
        let lost = pending.len();
        pending.clear();
        lost
    }

    /// Makes all stores visible.
    pub(crate) fn drain_all(&mut self) {
        for buffer in &mut self.buffers {
            buffer.pending.drain(..).for_each(Pending::perform);
        }
        self.total = 0;
    }

    /// Makes the oldest store of some core visible.
    pub(crate) fn drain_one(&mut self) {
        let holding = self.buffers.iter().filter(|buffer| !buffer.pending.is_empty()).count();
        if holding == 0 {
            return;
        }
        let chosen = usize::try_from(self.random.below(holding as u64)).unwrap_or(0);
        let mut holders = self.buffers.iter_mut().filter(|buffer| !buffer.pending.is_empty());
        if let Some(oldest) = holders.nth(chosen).and_then(|buffer| buffer.pending.pop_front()) {
            oldest.perform();
            self.total -= 1;
        }
    }

    /// Makes the stores to memory between two host addresses visible, out of their order: nobody
    /// may look at that memory any more.
    pub(crate) fn drain_range(&mut self, from: usize, to: usize) {
        for buffer in &mut self.buffers {
            let before = buffer.pending.len();
            buffer.pending.retain(|store| {
                let inside = (from..to).contains(&store.target.addr());
                if inside {
                    store.perform();
                }
                !inside
            });
            self.total -= before - buffer.pending.len();
        }
    }
}
