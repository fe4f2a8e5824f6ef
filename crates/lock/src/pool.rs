//! Locks made in advance and given back in bulk (Jung et al., 2014, 4.2 to 4.4, Figure 9).
//!
//! Locks live in *segments*. A transaction's worker takes a whole leaf of one at a time, by one addition to
//! the count of those that were taken, and then makes its locks without touching anything shared. A segment all of whose
//! locks are done with (`valid.rs`) is used again when nobody can have seen them any more (`epoch_guard.rs`).
//!
//! ```text
//! unmade --make--> spare --install--> current --> used up --> emptied --> waiting, by epoch --> spare
//!         \_____________________________/ when nothing is spare
//! index:   number -> segment
//! ```
//!
//! A session that needs a segment never waits for a thread that has lost its core: spare segments stand in a stack
//! without a latch (`stack.rs`), the last one used on top, so that the locks in use stay in the caches however many
//! there are; and a session that finds none spare makes one. Segments that wait for epoch guards stand in order
//! behind a latch. A background task ([`Pool::supply`]) takes it, one in some dozens of the sessions that take a
//! leaf, and a session that finds none spare; all of them do without if another holds it for long.
//!
//! The paper has one ring for all segments, in use or not; here one which a stalled transaction keeps stands in nobody's way.

use crate::agents::Agents;
use crate::epoch_guard::{Epoch, Readers};
use crate::faults;
use crate::ground::subtract;
use crate::lock::{Leaf, Lock};
use crate::stack::{Below, Stack};
use crate::trace::{Own, Trace};
use crate::valid::{FLAGS_MAX, Valid};
use chiliad_machine::{
    Array, Latch, Latched, Line, Link, Machine, Ordering, Shared, Spin, Tagged, Word,
};
use core::ptr::NonNull;
use std::collections::VecDeque;

/// The low-water mark: spare segments that a background task sees to.
const SPARE_LOW: u64 = 16;

/// Segments that are used up between two looks for segments to recycle.
const RECYCLED_EVERY: u64 = 16;

/// Turns for which a caller that finds nothing spare waits for another that is looking already: that one may have
/// lost its core.
const TURNS_MAX: u32 = 80;

/// Visits of a background task after which what nobody has needed meanwhile goes back to the machine, but for so many
/// spare segments. To make them again would cost more than to keep them.
const IDLE_VISITS: u32 = 64;
const SPARE_KEPT: u64 = 16;

/// So many locks.
pub(crate) struct Segment<M: Machine> {
    locks: Array<M, Lock<M>>,
    valid: Valid<M>,
    trace: Trace<M>,
}

/// Why there is no lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Shortage {
    /// There are as many as are allowed, or as fit into memory.
    Exhausted,
    /// All are in use, but some are retired, and wait for epoch guards to end.
    NotYet,
}

pub(crate) struct Pool<M: Machine> {
    /// Leaves of a segment.
    leaves: u32,
    /// Locks of a leaf.
    pub leaf_locks: u32,
    index: Array<M, M::Link<Segment<M>>>,
    below: Below<M>,
    /// Where leaves are taken: the number of a segment, and in the lower half how many of its leaves were taken.
    current: Line<M::Word>,
    /// To be used, all their flags set.
    spare: Stack<M>,
    /// Numbers of which there is none.
    unmade: Stack<M>,
    /// Found empty, and nobody has taken note of it yet.
    emptied: Stack<M>,
    counts: Line<Counts<M>>,
    waiting: Latch<M, Waiting>,
}

/// How many segments there are.
struct Counts<M: Machine> {
    made: M::Word,
    /// One more than the greatest number of one that was ever made.
    numbers: M::Word,
    spare: M::Word,
    /// That have become the current one, ever, and that were found empty: the difference is in use.
    installed: M::Word,
    emptied: M::Word,
}

/// Empty segments.
struct Waiting {
    /// Each with the epoch that ended when that was noticed, the first first.
    empty: VecDeque<(u32, u64)>,
    /// Those of them that a walk under an epoch guard may have in sight.
    in_sight: VecDeque<(u32, u64)>,
    /// The fewest spare ones in the visits of a background task since some were given back.
    idle: u64,
    visits: u32,
}

/// Memory and counts of a pool.
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
        debug_assert!((1..=FLAGS_MAX).contains(&leaf_locks), "a flag for each lock");
        let segments_max = (locks_max / u64::from(leaves * leaf_locks)).max(1) as u32;
        let (unmade, below) = Stack::of(segments_max);
        let zero = || M::Word::new(0);
        let counts = Counts {
            made: zero(),
            numbers: zero(),
            spare: zero(),
            installed: zero(),
            emptied: zero(),
        };
        Self {
            leaves,
            leaf_locks,
            index: Array::new(segments_max as usize, || M::Link::new(Tagged::null())),
            below,
            current: Line(M::Word::new(u64::from(leaves))),
            spare: Stack::new(),
            unmade,
            emptied: Stack::new(),
            counts: Line(counts),
            waiting: Latch::new(Waiting {
                empty: VecDeque::new(),
                in_sight: VecDeque::new(),
                idle: 0,
                visits: 0,
            }),
        }
    }

    /// A segment. The caller has one of its locks that was not retired, or nobody else can come by its number.
    #[inline]
    fn segment(&self, number: u32) -> &Segment<M> {
        // Acquire pairs with the release in `make`.
        let segment = self.index.get(number as usize).load(Ordering::Acquire);
        // SAFETY: freed by the caller that has taken its number off the spare ones, all of whose locks were retired.
        unsafe { segment.pointer().as_ref() }.expect("a segment with locks in use is there")
    }

    /// Takes a leaf.
    pub fn take(&self, epoch: &Epoch<M>, agents: &Agents<M>) -> Result<Leaf, Shortage> {
        loop {
            if let Some(leaf) = self.take_current() {
                return Ok(leaf);
            }
            let number = match self.pick_up() {
                Some(number) => number,
                None => match self.supply_one(epoch, agents)? {
                    Some(number) => number,
                    None => continue,
                },
            };
            if let Some(leaf) = self.install(number) {
                // Release pairs with the acquire in `shortage`.
                let before = self.counts.0.installed.fetch_add(1, Ordering::AcqRel);
                if before.is_multiple_of(RECYCLED_EVERY) {
                    self.try_recycle(epoch, agents);
                }
                return Ok(leaf);
            }
        }
    }

    /// Takes a leaf of the current segment, if there is one.
    fn take_current(&self) -> Option<Leaf> {
        // Looked at first, so that the count of leaves does not run over while there is nothing to be had.
        if self.is_used_up(self.current.0.load(Ordering::Relaxed)) {
            return None;
        }
        // Acquire pairs with the release in `install`: the segment is there, and its flags are set. It may be another
        // one by now, and either way what is taken is the caller's own.
        let found = self.current.0.fetch_add(1, Ordering::Acquire);
        (!self.is_used_up(found)).then(|| self.taken(found))
    }

    fn is_used_up(&self, current: u64) -> bool {
        current as u32 >= self.leaves
    }

    /// The leaf of a caller that has found this segment current.
    fn taken(&self, found: u64) -> Leaf {
        let (number, leaf) = ((found >> 32) as u32, found as u32);
        debug_assert!(leaf < self.leaves, "a leaf of its segment");
        debug_assert!((number as usize) < self.index.count(), "a segment that there is");
        self.segment(number).valid.reset_leaf(leaf);
        Leaf::new(number, leaf)
    }

    /// Makes a segment, which the caller has, the current one, and takes its first leaf; or puts it down if somebody else
    /// was faster.
    fn install(&self, number: u32) -> Option<Leaf> {
        let own = u64::from(number) << 32;
        let mut current = self.current.0.load(Ordering::Relaxed);
        while self.is_used_up(current) {
            // Release pairs with the acquire in `take_current`.
            let order = (Ordering::Release, Ordering::Relaxed);
            match self.current.0.compare_exchange(current, own + 1, order.0, order.1) {
                Ok(_) => return Some(self.taken(own)),
                Err(found) => current = found,
            }
        }
        self.put_down(number);
        None
    }

    /// The locks of a leaf that the caller has taken, to be used for the first time.
    pub fn locks(&self, leaf: Leaf) -> &[Lock<M>] {
        debug_assert!(leaf.number() < self.leaves, "a leaf of its segment");
        let from = (leaf.number() * self.leaf_locks) as usize;
        let locks =
            &self.segment(leaf.segment()).locks.all()[from..from + self.leaf_locks as usize];
        M::unpoison(locks.as_ptr().cast(), size_of_val(locks));
        locks
    }

    /// No lock of a leaf is used any more that was not, and those that were went into these chains.
    pub fn close(&self, leaf: Leaf, own: &Own, unused: u64) {
        debug_assert!(unused != 0, "the last lock of a leaf is never taken");
        if !M::fault(&faults::CHAINS_UNTOLD) {
            self.segment(leaf.segment()).trace.set(leaf.number(), own);
        }
        self.retire(leaf, unused);
    }

    /// Nobody comes to these locks of a leaf by their chains any more: a bit for each.
    #[inline]
    pub fn retire(&self, leaf: Leaf, locks: u64) {
        debug_assert!(locks != 0, "a lock is given back");
        if self.segment(leaf.segment()).valid.clear(leaf.number(), locks) {
            // Release pairs with the acquire in `shortage`.
            self.counts.0.emptied.fetch_add(1, Ordering::AcqRel);
            self.emptied.push(&self.below, leaf.segment());
        }
    }

    /// For a caller that finds nothing spare: a segment, or nothing when another has installed one.
    #[cold]
    fn supply_one(&self, epoch: &Epoch<M>, agents: &Agents<M>) -> Result<Option<u32>, Shortage> {
        let mut spin = Spin::<M>::new();
        let mut turns = 0;
        loop {
            let current = self.current.0.load(Ordering::Relaxed);
            if !self.is_used_up(current) {
                return Ok(None);
            }
            let has_looked = self.try_recycle(epoch, agents);
            if let Some(number) = self.pick_up() {
                return Ok(Some(number));
            }
            if has_looked || turns == TURNS_MAX {
                return match self.make() {
                    Some(number) => Ok(Some(number)),
                    None => Err(self.shortage(current)),
                };
            }
            spin.wait();
            turns += 1;
        }
    }

    /// Why there was nothing, while this was the current segment, used up.
    fn shortage(&self, current: u64) -> Shortage {
        // Acquires, in this order: what was found empty meanwhile makes it fewer, never more. Those of the counts pair with
        // the releases where they are counted up (`retire` and where a segment is installed), that of the segment with the
        // release in `install`.
        let installed = self.counts.0.installed.load(Ordering::Acquire);
        let in_use = installed.wrapping_sub(self.counts.0.emptied.load(Ordering::Acquire));
        let is_same = self.current.0.load(Ordering::Acquire) >> 32 == current >> 32;
        match is_same && in_use == self.index.count() as u64 {
            true => Shortage::Exhausted,
            false => Shortage::NotYet,
        }
    }

    /// Supplies ahead of demand, and gives back to the machine what nobody has needed for a while: for a background
    /// task.
    pub fn supply(&self, epoch: &Epoch<M>, agents: &Agents<M>) {
        self.try_recycle(epoch, agents);
        while self.counts.0.spare.load(Ordering::Relaxed) < SPARE_LOW
            && let Some(number) = self.make()
        {
            self.put_down(number);
        }
        for _ in 0..self.surplus() {
            let Some(number) = self.pick_up() else { return };
            self.free(number);
        }
    }

    /// How many spare segments nobody has needed for a while, and has it counted anew.
    fn surplus(&self) -> u64 {
        // A caller that finds it taken is not needed.
        let Some(mut waiting) = self.waiting.try_lock() else { return 0 };
        waiting.visits += 1;
        if waiting.visits < IDLE_VISITS {
            return 0;
        }
        waiting.visits = 0;
        let idle = core::mem::replace(&mut waiting.idle, u64::MAX);
        idle.min(self.counts.0.spare.load(Ordering::Relaxed)).saturating_sub(SPARE_KEPT)
    }

    /// Looks for what can be used again, unless somebody else does.
    fn try_recycle(&self, epoch: &Epoch<M>, agents: &Agents<M>) -> bool {
        if self.waiting.is_held() {
            return false;
        }
        // The latch is held as briefly as possible: a thread that loses its core with it keeps others from looking.
        let readers = epoch.readers(agents);
        let emptied: Vec<u32> = self.emptied.take(&self.below).collect();
        let Some(waiting) = self.waiting.try_lock() else {
            emptied.into_iter().for_each(|number| self.emptied.push(&self.below, number));
            return false;
        };
        let noticed = if emptied.is_empty() { 0 } else { epoch.step() };
        self.recycle(waiting, emptied.into_iter().map(|number| (number, noticed)), &readers);
        true
    }

    /// Makes segments spare that nobody can have seen the locks of any more, and takes note of those that are empty by
    /// now. The readers are those of a moment ago.
    fn recycle(
        &self,
        mut waiting: Latched<'_, M, Waiting>,
        emptied: impl Iterator<Item = (u32, u64)>,
        readers: &Readers,
    ) {
        let Waiting { empty, in_sight, idle, .. } = &mut *waiting;
        *idle = (*idle).min(self.counts.0.spare.load(Ordering::Relaxed));
        let mut spare = Vec::new();
        for list in [in_sight, &mut *empty] {
            while let Some(found) = list.pop_front_if(|&mut (_, over)| readers.are_younger(over)) {
                spare.push(found);
            }
        }
        let mut seen = Vec::new();
        while let Some(found) = empty.pop_front_if(|&mut (_, over)| readers.keep_elsewhere(over)) {
            seen.push(found);
        }
        empty.extend(emptied);
        debug_assert!(empty.iter().is_sorted_by_key(|&(_, over)| over), "in the order of epochs");
        drop(waiting);
        seen.iter().for_each(|&(number, _)| self.segment(number).trace.expect());
        seen.retain(|&found| {
            let is_in_sight = self.segment(found.0).trace.meets(readers.chains());
            if !is_in_sight {
                spare.push(found);
            }
            is_in_sight
        });
        spare.into_iter().for_each(|(number, _)| self.put_down(number));
        if !seen.is_empty() {
            self.waiting.lock().in_sight.extend(seen);
        }
    }

    /// Makes a segment, if there may be another one.
    fn make(&self) -> Option<u32> {
        let number = self.unmade.pop(&self.below)?;
        debug_assert!((number as usize) < self.index.count(), "a segment that there is");
        let segment = Shared::<M, _>::new(Segment::new(number, self.leaves, self.leaf_locks));
        let place = Tagged::new(segment.into_raw().as_ptr(), 0);
        // Release pairs with the acquire in `segment`.
        self.index.get(number as usize).store(place, Ordering::Release);
        self.counts.0.made.fetch_add(1, Ordering::Relaxed);
        self.counts.0.numbers.fetch_max(u64::from(number) + 1, Ordering::Relaxed);
        Some(number)
    }

    /// Gives back to the machine a segment that the caller has.
    fn free(&self, number: u32) {
        let link = self.index.get(number as usize);
        // Acquire pairs with the release in `make`: the segment is constructed.
        let place = link.swap(Tagged::null(), Ordering::Acquire);
        if let Some(place) = NonNull::new(place.pointer()) {
            // SAFETY: it is one that `make` has made, and nobody else can come by its number.
            let segment = unsafe { Shared::<M, Segment<M>>::from_raw(place) };
            segment.locks_each(|lock| M::unpoison(lock, size_of::<Lock<M>>()));
            subtract(&self.counts.0.made, 1);
        }
        self.unmade.push(&self.below, number);
    }

    /// Puts down a segment, which the caller has, to be used.
    fn put_down(&self, number: u32) {
        let segment = self.segment(number);
        // A walk that comes to one of its locks before it is taken again reads what it must not.
        segment.locks_each(|lock| M::poison(lock, size_of::<Lock<M>>()));
        segment.valid.reset();
        self.spare.push(&self.below, number);
        self.counts.0.spare.fetch_add(1, Ordering::Relaxed);
    }

    /// Picks up a segment to use.
    fn pick_up(&self) -> Option<u32> {
        let number = self.spare.pop(&self.below)?;
        subtract(&self.counts.0.spare, 1);
        Some(number)
    }

    /// Memory and counts of this pool.
    pub fn stock(&self) -> Stock {
        let segments = self.counts.0.made.load(Ordering::Relaxed) as usize;
        let locks = segments * (self.leaves * self.leaf_locks) as usize;
        let waiting = self.waiting.lock();
        Stock {
            segments,
            bytes: locks * size_of::<Lock<M>>(),
            fresh: self.counts.0.spare.load(Ordering::Relaxed) as usize,
            empty: waiting.empty.len() + waiting.in_sight.len(),
        }
    }
}

impl<M: Machine> Drop for Pool<M> {
    fn drop(&mut self) {
        let numbers = self.counts.0.numbers.load(Ordering::Relaxed) as u32;
        (0..numbers).for_each(|number| self.free(number));
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
        debug_assert!(next.get() == leaves * leaf_locks, "each lock has its place");
        Self { locks, valid: Valid::new(leaves, leaf_locks), trace: Trace::new(leaves) }
    }

    /// Where each lock begins.
    fn locks_each(&self, mut use_it: impl FnMut(*const u8)) {
        (0..self.locks.count())
            .for_each(|at| use_it(core::ptr::from_ref(self.locks.get(at)).cast()));
    }
}
