//! Locks made in advance and given back in bulk (scalable-lock-manager.txt 4.2 to 4.4, Figure 9).
//!
//! Locks live in *segments*. A transaction's worker takes a whole leaf of one at a time, by one addition to
//! the segment's counter, and then makes its locks without touching anything shared. A segment all of whose
//! locks are done with (`valid.rs`) is used again when nobody can have seen them any more (`region.rs`).
//!
//! ```text
//! ready:   .. | used up | newest | fresh | fresh | (room) ..      a ring of segment numbers
//!                         ^taken from              ^supplied here
//! index:   number -> segment
//! ```
//!
//! Whoever supplies holds a latch: a background task ([`Pool::supply`]), one in some dozens of those who take a
//! leaf, or who finds nothing fresh. What comes back goes to the ring at once, and what was used last goes first, so
//! that the locks in use stay in the caches however many there are. The paper has one ring for all segments, in use or
//! not; here it has the fresh ones only, so that one which a stalled transaction keeps does not stand in the way of
//! its end.

use crate::agents::Agents;
use crate::lock::{Leaf, Lock};
use crate::region::Epoch;
use crate::valid::{FLAGS_MAX, Valid};
use chiliad_machine::{
    Array, Latch, Latched, Line, Link, Machine, Ordering, Shared, Spin, Tagged, Word,
};
use std::collections::VecDeque;

/// The low-water mark: fresh segments to which whoever supplies fills the ring.
const FRESH_LOW: u64 = 16;

/// Segments that are used up from one time to the next at which those who take leaves supply.
const SUPPLIED_EVERY: u64 = 8;

/// Visits of a background task after which what nobody has needed meanwhile goes back to the machine, but for so many
/// spare segments. To make them again would cost more than to keep them.
const IDLE_VISITS: u32 = 64;
const SPARE_KEPT: usize = 16;

/// As many leaves taken as no segment has.
const USED_UP: u32 = FLAGS_MAX;

/// So many locks.
pub(crate) struct Segment<M: Machine> {
    locks: Array<M, Lock<M>>,
    valid: Valid<M>,
    /// Where it is among those that were found empty: the next one.
    next: M::Word,
}

/// Why there is no lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Shortage {
    /// There are as many as are allowed, or as fit into memory.
    Exhausted,
    /// The same, but some are done with, and wait for regions to end.
    NotYet,
}

pub(crate) struct Pool<M: Machine> {
    /// Leaves of a segment.
    leaves: u32,
    /// Locks of a leaf.
    pub leaf_locks: u32,
    index: Array<M, M::Link<Segment<M>>>,
    /// By place in the ring: the number of a segment, and in the lower half how many of its leaves were taken.
    ready: Array<M, M::Word>,
    /// Where leaves are taken.
    newest: Line<M::Word>,
    /// Where fresh ones are added.
    end: Line<M::Word>,
    /// The segment that was found empty last, and nobody has taken note of yet: its number, and one.
    emptied: Line<M::Word>,
    supplies: Latch<M, Supplies<M>>,
}

struct Supplies<M: Machine> {
    segments: Vec<Option<Shared<M, Segment<M>>>>,
    /// Numbers of which there is none.
    unmade: Vec<u32>,
    /// How many are being made.
    making: u32,
    /// Empty ones, each with the epoch that ended when that was noticed, the first first.
    empty: VecDeque<(u32, u64)>,
    /// To be used again, the last one first.
    spare: Vec<u32>,
    /// The fewest spare ones in the visits of a background task since some were given back.
    idle: usize,
    visits: u32,
}

/// What a pool holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stock {
    /// Segments in memory.
    pub segments: usize,
    /// Bytes that they take.
    pub bytes: usize,
    /// Segments not taken from yet.
    pub fresh: usize,
    /// Segments whose locks are all done with, but may have been seen.
    pub empty: usize,
}

impl<M: Machine> Pool<M> {
    /// Up to `locks_max` locks, in segments of `segment_locks`.
    pub fn new(segment_locks: u32, locks_max: u64) -> Self {
        // Short runs that look for interleavings shall see locks reclaimed.
        let leaf_locks = if M::explores() { 4 } else { FLAGS_MAX };
        let leaves = segment_locks.div_ceil(leaf_locks).clamp(1, FLAGS_MAX);
        let segments_max = (locks_max / u64::from(leaves * leaf_locks)).max(1) as usize;
        let supplies = Supplies {
            segments: (0..segments_max).map(|_| None).collect(),
            unmade: (0..segments_max as u32).rev().collect(),
            making: 0,
            empty: VecDeque::new(),
            spare: Vec::new(),
            idle: 0,
            visits: 0,
        };
        Self {
            leaves,
            leaf_locks,
            index: Array::new(segments_max, || M::Link::new(Tagged::null())),
            ready: Array::new(segments_max, || M::Word::new(u64::from(USED_UP))),
            newest: Line(M::Word::new(0)),
            end: Line(M::Word::new(0)),
            emptied: Line(M::Word::new(0)),
            supplies: Latch::new(supplies),
        }
    }

    /// A segment. The caller has one of its locks that was not retired, or the latch.
    #[inline]
    fn segment(&self, number: u32) -> &Segment<M> {
        // Acquire pairs with the release in `fill`.
        let segment = self.index.get(number as usize).load(Ordering::Acquire);
        // SAFETY: taken out of the index under the latch, when it is spare, so that all its locks were retired, and
        // freed afterwards.
        unsafe { segment.pointer().as_ref() }.expect("a segment with locks in use is there")
    }

    /// Takes a leaf.
    pub fn take(&self, epoch: &Epoch<M>, agents: &Agents<M>) -> Result<Leaf, Shortage> {
        loop {
            let newest = self.newest.0.load(Ordering::Acquire);
            // Acquire pairs with the release in `add`: the number is there, and the segment fresh.
            if newest >= self.end.0.load(Ordering::Acquire) {
                self.supply_one(epoch, agents)?;
                continue;
            }
            let slot = self.ready.get(newest as usize % self.ready.count());
            // Acquire pairs with the release in `add`. Who comes late may find another segment there, fresh or not, and
            // either way what it takes is its own.
            let found = slot.fetch_add(1, Ordering::Acquire);
            let (number, leaf) = ((found >> 32) as u32, found as u32);
            if leaf < self.leaves {
                self.segment(number).valid.reset_leaf(leaf);
                return Ok(Leaf::new(number, leaf));
            }
            // It is used up; somebody else may have said so.
            let order = (Ordering::AcqRel, Ordering::Relaxed);
            let said = self.newest.0.compare_exchange(newest, newest + 1, order.0, order.1);
            if said.is_ok() && newest.is_multiple_of(SUPPLIED_EVERY) {
                // Before the latch: who loses its core under it holds up all others.
                let oldest = epoch.oldest(agents);
                if let Some(mut supplies) = self.supplies.try_lock() {
                    self.recycle(&mut supplies, epoch, oldest);
                    self.fill(supplies, 0);
                }
            }
        }
    }

    /// The locks of a leaf that the caller has taken, to be used for the first time.
    pub fn locks(&self, leaf: Leaf) -> &[Lock<M>] {
        let from = (leaf.number() * self.leaf_locks) as usize;
        let locks =
            &self.segment(leaf.segment()).locks.all()[from..from + self.leaf_locks as usize];
        M::unpoison(locks.as_ptr().cast(), size_of_val(locks));
        locks
    }

    /// Nobody comes to these locks of a leaf by their chains any more: a bit for each.
    #[inline]
    pub fn retire(&self, leaf: Leaf, locks: u64) {
        let segment = self.segment(leaf.segment());
        if !segment.valid.clear(leaf.number(), locks) {
            return;
        }
        let mut last = self.emptied.0.load(Ordering::Relaxed);
        loop {
            segment.next.store(last, Ordering::Relaxed);
            let own = u64::from(leaf.segment()) + 1;
            // Release pairs with the acquire in `recycle`.
            let order = (Ordering::Release, Ordering::Relaxed);
            match self.emptied.0.compare_exchange(last, own, order.0, order.1) {
                Ok(_) => return,
                Err(found) => last = found,
            }
        }
    }

    fn fresh(&self) -> u64 {
        let newest = self.newest.0.load(Ordering::Relaxed);
        self.end.0.load(Ordering::Relaxed).saturating_sub(newest)
    }

    /// For who finds nothing fresh: sees to it that there is something.
    #[cold]
    fn supply_one(&self, epoch: &Epoch<M>, agents: &Agents<M>) -> Result<(), Shortage> {
        let mut spin = Spin::<M>::new();
        loop {
            let supplies = self.supplies.lock();
            if self.fresh() > 0 {
                return Ok(());
            }
            let end = self.end.0.load(Ordering::Relaxed);
            drop(supplies);
            let oldest = epoch.oldest(agents);
            let mut supplies = self.supplies.lock();
            self.recycle(&mut supplies, epoch, oldest);
            let supplies = self.fill(supplies, 1);
            // What was added since may be used up already; then there may be more.
            if self.end.0.load(Ordering::Relaxed) != end {
                return Ok(());
            }
            if supplies.making == 0 {
                let none = supplies.empty.is_empty();
                return Err(if none { Shortage::Exhausted } else { Shortage::NotYet });
            }
            drop(supplies);
            spin.wait();
        }
    }

    /// Supplies ahead of demand, and gives back to the machine what nobody has needed for a while: for a background
    /// task.
    pub fn supply(&self, epoch: &Epoch<M>, agents: &Agents<M>) {
        let oldest = epoch.oldest(agents);
        // Who finds it taken is not needed.
        let Some(mut supplies) = self.supplies.try_lock() else { return };
        self.recycle(&mut supplies, epoch, oldest);
        let mut supplies = self.fill(supplies, FRESH_LOW);
        supplies.visits += 1;
        if supplies.visits < IDLE_VISITS {
            return;
        }
        supplies.visits = 0;
        let surplus = supplies.idle.saturating_sub(SPARE_KEPT);
        let Supplies { spare, segments, unmade, .. } = &mut *supplies;
        let given_back = spare.drain(..surplus).filter_map(|number| {
            self.index.get(number as usize).store(Tagged::null(), Ordering::Relaxed);
            unmade.push(number);
            segments[number as usize].take()
        });
        let given_back: Vec<_> = given_back.collect();
        supplies.idle = supplies.spare.len();
        drop(supplies);
        // Without the latch, as they are made.
        for segment in given_back {
            segment.locks_each(|lock| M::unpoison(lock, size_of::<Lock<M>>()));
        }
    }

    /// Makes segments spare that nobody can have seen the locks of any more, and takes note of those that are empty by
    /// now. All who still read began in `oldest` or later.
    fn recycle(&self, supplies: &mut Supplies<M>, epoch: &Epoch<M>, oldest: u64) {
        let Supplies { empty, spare, .. } = supplies;
        while let Some((number, _)) = empty.pop_front_if(|&mut (_, over)| over < oldest) {
            // Whoever comes to one of them before it is taken again reads what it must not.
            self.segment(number).locks_each(|lock| M::poison(lock, size_of::<Lock<M>>()));
            spare.push(number);
        }
        // Acquire pairs with the release in `retire`: what all have done with their locks is known.
        let mut number = self.emptied.0.swap(0, Ordering::Acquire);
        if number != 0 {
            let noticed = epoch.step();
            while let Some(found) = number.checked_sub(1) {
                let found = found as u32;
                empty.push_back((found, noticed));
                number = self.segment(found).next.load(Ordering::Relaxed);
            }
        }
    }

    /// Fills the ring up to the low-water mark, and makes segments until there are `made` fresh ones. That is done without
    /// the latch: it takes as long as to touch new pages, and who loses its core under the latch holds up all others.
    fn fill<'a>(
        &'a self,
        mut supplies: Latched<'a, M, Supplies<M>>,
        made: u64,
    ) -> Latched<'a, M, Supplies<M>> {
        let room = self.ready.count() as u64;
        loop {
            while self.fresh() < FRESH_LOW.min(room)
                && let Some(number) = supplies.spare.pop()
            {
                self.segment(number).valid.reset();
                self.add(number);
            }
            if self.fresh() >= made.min(room) {
                break;
            }
            let Some(number) = supplies.unmade.pop() else { break };
            supplies.making += 1;
            drop(supplies);
            let segment = Shared::new(Segment::new(number, self.leaves, self.leaf_locks));
            let place = core::ptr::from_ref(&*segment).cast_mut();
            supplies = self.supplies.lock();
            supplies.making -= 1;
            // Release pairs with the acquire in `segment`.
            self.index.get(number as usize).store(Tagged::new(place, 0), Ordering::Release);
            supplies.segments[number as usize] = Some(segment);
            self.add(number);
        }
        supplies.idle = supplies.idle.min(supplies.spare.len());
        supplies
    }

    /// Puts a fresh segment at the end of the ring, which has a place for each. The caller has the latch.
    fn add(&self, number: u32) {
        let end = self.end.0.load(Ordering::Relaxed);
        // Release pairs with the acquire in `take`: its flags are set.
        let slot = self.ready.get(end as usize % self.ready.count());
        slot.store(u64::from(number) << 32, Ordering::Release);
        // Release pairs with the acquire in `take`.
        self.end.0.store(end + 1, Ordering::Release);
    }

    /// What it holds.
    pub fn stock(&self) -> Stock {
        let supplies = self.supplies.lock();
        let segments = supplies.segments.iter().flatten().count();
        let locks = segments * (self.leaves * self.leaf_locks) as usize;
        Stock {
            segments,
            bytes: locks * size_of::<Lock<M>>(),
            fresh: self.fresh() as usize,
            empty: supplies.empty.len(),
        }
    }
}

impl<M: Machine> Segment<M> {
    fn new(number: u32, leaves: u32, leaf_locks: u32) -> Self {
        let next = core::cell::Cell::new(0);
        let make = || {
            let all = next.get();
            next.set(all + 1);
            Lock::new(Leaf::new(number, all / leaf_locks).place(all % leaf_locks))
        };
        let locks = Array::new((leaves * leaf_locks) as usize, make);
        Self { locks, valid: Valid::new(leaves, leaf_locks), next: M::Word::new(0) }
    }

    /// Where each lock begins.
    fn locks_each(&self, mut use_it: impl FnMut(*const u8)) {
        (0..self.locks.count())
            .for_each(|at| use_it(core::ptr::from_ref(self.locks.get(at)).cast()));
    }
}
