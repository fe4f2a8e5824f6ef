//! Lists of the workers that wait for locks, found by the record's address. Each list has a latch of its own.
//!
//! A list is there for all records whose addresses lead to it; those who wait for one record stand in it in the order in
//! which they will be served. It is short: a worker stands in one list at most, and there are many lists. Nobody who
//! meets nobody ever looks at one.

use super::waiter::{GRANTED, Waiter, Waiters, waits};
use crate::record_slots::hash_of;
use chiliad_machine::{Array, Cost, Machine, Ordering, Spin, Word, WorkerId};

/// Lists of a database, and those of one whose runs are to make records meet in them.
const LISTS: usize = 1024;
const LISTS_EXPLORED: usize = 2;

/// The ends of a list: slots plus one, zero for none.
#[repr(C, align(64))]
struct List<M: Machine> {
    latch: M::Word,
    first: M::Word,
    last: M::Word,
}

/// All lists.
pub(super) struct Lists<M: Machine>(Array<M, List<M>>);

impl<M: Machine> Lists<M> {
    pub fn new() -> Self {
        let count = if M::explores() { LISTS_EXPLORED } else { LISTS };
        let zero = || M::Word::new(0);
        Self(Array::new(count, || List { latch: zero(), first: zero(), last: zero() }))
    }

    /// The list of a record, latched.
    pub fn latch<'a>(&'a self, waiters: &'a Waiters<M>, record: u64) -> Latched<'a, M> {
        let list = self.0.get(hash_of(record) % self.0.count());
        let mut spin = Spin::<M>::new();
        loop {
            // Acquire pairs with the release in `Latched::drop`: the list is as it was left.
            let free = list.latch.load(Ordering::Relaxed) == 0;
            let exchange = |latch: &M::Word| {
                latch.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_ok()
            };
            if free && exchange(&list.latch) {
                M::enter_section();
                return Latched { waiters, list, record, woken: Woken::new() };
            }
            spin.wait();
        }
    }
}

/// Threads to be woken, when no latch is held any more.
struct Woken {
    threads: [u32; 16],
    count: usize,
}

impl Woken {
    fn new() -> Self {
        Self { threads: [0; 16], count: 0 }
    }
}

/// A list in hand, and the record whose waiters are looked at. Unlatches the list when dropped, and then wakes whoever has
/// been granted something.
pub(super) struct Latched<'a, M: Machine> {
    waiters: &'a Waiters<M>,
    list: &'a List<M>,
    record: u64,
    woken: Woken,
}

fn slot_of(link: u64) -> Option<u32> {
    link.checked_sub(1).map(|slot| slot as u32)
}

fn link_to(slot: Option<u32>) -> u64 {
    slot.map_or(0, |slot| u64::from(slot) + 1)
}

impl<'a, M: Machine> Latched<'a, M> {
    pub fn waiter(&self, slot: u32) -> &'a Waiter<M> {
        self.waiters.get(slot)
    }

    fn walk(&self, from: u64, next: impl Fn(&Waiter<M>) -> &M::Word) -> impl Iterator<Item = u32> {
        let (waiters, record) = (self.waiters, self.record);
        let mut at = slot_of(from);
        let all = core::iter::from_fn(move || {
            let slot = at?;
            M::work(Cost::Queue, 1);
            at = slot_of(next(waiters.get(slot)).load(Ordering::Relaxed));
            Some(slot)
        });
        all.filter(move |&slot| waiters.get(slot).record.load(Ordering::Relaxed) == record)
    }

    /// The slots that wait for the record, in order.
    pub fn in_order(&self) -> impl Iterator<Item = u32> {
        self.walk(self.list.first.load(Ordering::Relaxed), |waiter| &waiter.next)
    }

    /// The slot that waits for the record and is last in order.
    pub fn last(&self) -> Option<u32> {
        self.walk(self.list.last.load(Ordering::Relaxed), |waiter| &waiter.prev).next()
    }

    /// The slot that waits for the record after this one.
    pub fn after(&self, slot: u32) -> Option<u32> {
        let next = self.waiter(slot).next.load(Ordering::Relaxed);
        self.walk(next, |waiter| &waiter.next).next()
    }

    /// The slot that waits for the record before this one.
    pub fn before(&self, slot: u32) -> Option<u32> {
        let prev = self.waiter(slot).prev.load(Ordering::Relaxed);
        self.walk(prev, |waiter| &waiter.prev).next()
    }

    /// Inserts `slot` after another one of the list, or in front of all.
    pub fn insert(&mut self, slot: u32, after: Option<u32>) {
        debug_assert!(after != Some(slot), "a waiter does not follow itself");
        let exchange = |link: &M::Word, slot| {
            let found = link.load(Ordering::Relaxed);
            link.store(link_to(Some(slot)), Ordering::Relaxed);
            found
        };
        let next = match after {
            None => exchange(&self.list.first, slot),
            Some(before) => exchange(&self.waiter(before).next, slot),
        };
        let waiter = self.waiter(slot);
        waiter.prev.store(link_to(after), Ordering::Relaxed);
        waiter.next.store(next, Ordering::Relaxed);
        match slot_of(next) {
            None => self.list.last.store(link_to(Some(slot)), Ordering::Relaxed),
            Some(next) => self.waiter(next).prev.store(link_to(Some(slot)), Ordering::Relaxed),
        }
    }

    /// Takes `slot` out of the list.
    pub fn remove(&mut self, slot: u32) {
        let waiter = self.waiter(slot);
        debug_assert!(
            waiter.record.load(Ordering::Relaxed) == self.record,
            "a waiter for the record"
        );
        let next = waiter.next.load(Ordering::Relaxed);
        let prev = waiter.prev.load(Ordering::Relaxed);
        match slot_of(prev) {
            None => self.list.first.store(next, Ordering::Relaxed),
            Some(prev) => self.waiter(prev).next.store(next, Ordering::Relaxed),
        }
        match slot_of(next) {
            None => self.list.last.store(prev, Ordering::Relaxed),
            Some(next) => self.waiter(next).prev.store(prev, Ordering::Relaxed),
        }
    }

    /// Shows a waiter that it has been granted what it waits for, and wakes its thread once the list is unlatched.
    pub fn grant(&mut self, slot: u32) {
        let waiter = self.waiter(slot);
        debug_assert!(waits(waiter.state.load(Ordering::Relaxed)), "it is granted once");
        // Before: afterwards it may wait for something else, on another thread.
        let thread = waiter.thread.load(Ordering::Relaxed) as u32;
        // Release pairs with the acquire in `waiter::is_granted`: what the last owner has written is there.
        waiter.state.store(GRANTED, Ordering::Release);
        match self.woken.threads.get_mut(self.woken.count) {
            Some(place) => {
                *place = thread;
                self.woken.count += 1;
            }
            None => M::unpark(WorkerId(thread)),
        }
    }
}

impl<M: Machine> Drop for Latched<'_, M> {
    fn drop(&mut self) {
        // Release pairs with the acquire in `Lists::latch`.
        self.list.latch.store(0, Ordering::Release);
        M::leave_section();
        for &thread in &self.woken.threads[..self.woken.count] {
            M::unpark(WorkerId(thread));
        }
    }
}
