//! A transaction's part in locking (Jung et al., 2014, 3.1 and 3.2, Figure 3).
//!
//! [`Session::ask`] is lines A1 to A16, [`Session::wait`] lines A17 to A28 and [`Session::release_all`] lines
//! R1 to R14. Where we depart from the figure:
//!
//! - Waiters are not granted their locks by the releasing session, but woken by it, and look themselves. A lock is
//!   granted once its owner's walk finds no conflicting request (`lock.rs`).
//! - A transaction that has a lock and wants it in a stronger mode converts it in place, and goes before
//!   those who wait for it to go. It looks at both sides, and those behind it look again when they claim.
//! - The transaction's mutex is a permit to go on, which [`Machine::unpark`] gives, and a word that says
//!   whether anybody sleeps at all.
//! - What a transaction holds becomes obsolete all at once, with one fence (S6) for all of it.

mod wait;

use crate::agents::Agent;
use crate::answer::{Answer, Refused};
use crate::cancel::Cancel;
use crate::chain::{Bucket, Walk};
use crate::deadlock::Search;
use crate::epoch_guard::{Along, Epoch, Reclaim};
use crate::faults;
use crate::ground::Intentions;
use crate::held::{Entry, Held};
use crate::lock::{Leaf, Lock, State, Status};
use crate::locks::Locks;
use crate::manager::Manager;
use crate::mode::{Mode, Modes};
use crate::name::Name;
use crate::pool::Shortage;
use crate::retired::Retired;
use crate::trace::Own;
use crate::until::Until;
use chiliad_machine::{Machine, Ordering, Shared, Spin, Ticks};
use core::ptr::NonNull;
use std::sync::Arc;

/// Fresh locks whose memory is asked for ahead of use: as many as a short transaction needs.
const AHEAD: usize = 8;

/// Looks at the pool, when it is short, for locks that others may be about to let go of.
const SHORTAGE_TURNS: u32 = 10_000;

/// The lock that a transaction waits for.
pub(crate) struct Pending<M: Machine> {
    name: Name,
    bucket: NonNull<Bucket<M>>,
    lock: NonNull<Lock<M>>,
    /// The mode that it has already.
    granted: Option<Mode>,
    wanted: Mode,
}

impl<M: Machine> Clone for Pending<M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M: Machine> Copy for Pending<M> {}

impl<M: Machine> Pending<M> {
    /// The bucket and the lock.
    #[inline]
    fn place(&self) -> (&Bucket<M>, &Lock<M>) {
        // SAFETY: the bucket lives as long as the manager, which the session keeps; the lock is in its chain
        // and not released, so its memory is the session's.
        unsafe { (self.bucket.as_ref(), self.lock.as_ref()) }
    }
}

/// Where a lock that is held is: it, and its bucket.
pub(crate) type Place<M> = (NonNull<Lock<M>>, NonNull<Bucket<M>>);

/// Locks of a leaf that were not used yet: the next, and where they end, which is the last of the leaf (`trace.rs`).
struct Fresh<M: Machine> {
    next: NonNull<Lock<M>>,
    end: NonNull<Lock<M>>,
    /// Where those went that were.
    own: Own,
}

/// One transaction at a time, of one thread at a time.
pub struct Session<M: Machine> {
    pub(crate) manager: Arc<Shared<M, Manager<M>>>,
    pub(crate) number: u32,
    agent: NonNull<Agent<M>>,
    /// The manager's buckets, and their number less one.
    buckets: NonNull<Bucket<M>>,
    mask: u64,
    /// Memory is held back by epoch guards, not by transactions.
    pub(crate) by_guards: bool,
    /// Where its next locks are.
    fresh: Fresh<M>,
    pub(crate) held: Held<Place<M>>,
    pub(crate) intentions: Intentions,
    /// It has asked for something in a mode that excludes intentions.
    pub(crate) strong: bool,
    pub(crate) pending: Option<Pending<M>>,
    /// Others may see that it waits.
    shows: bool,
    /// It wants what it can have at once.
    tries: bool,
    /// It was refused since it has last committed.
    has_age: bool,
    pub(crate) retired: Retired,
    /// Locks with others in their chains: room to release them.
    pub(crate) shared: Vec<Entry<Place<M>>>,
    search: Search,
}

// SAFETY: what its pointers lead to lives in the manager, which it keeps, and is shared by words.
unsafe impl<M: Machine> Send for Session<M> where Arc<Shared<M, Manager<M>>>: Send {}

impl<M: Machine> Session<M> {
    /// One that holds nothing; `None` when there are [`crate::AGENTS_MAX`].
    #[must_use]
    pub fn new(manager: &Arc<Shared<M, Manager<M>>>) -> Option<Self> {
        let manager = Arc::clone(manager);
        debug_assert!(manager.buckets.count().is_power_of_two(), "a mask chooses");
        let number = manager.agents.acquire()?;
        let agent = NonNull::from(manager.agents.get(number));
        Some(Self {
            by_guards: manager.reclaim == Reclaim::EpochGuards,
            buckets: NonNull::from(manager.buckets.get(0)),
            mask: manager.buckets.count() as u64 - 1,
            manager,
            number,
            agent,
            fresh: Fresh { next: NonNull::dangling(), end: NonNull::dangling(), own: Own::new() },
            held: Held::new(),
            intentions: Intentions::default(),
            strong: false,
            pending: None,
            shows: false,
            tries: false,
            has_age: false,
            retired: Retired::default(),
            shared: Vec::new(),
            search: Search::default(),
        })
    }

    /// A transaction begins. Needed where the oldest transaction holds back memory; elsewhere it only lets a thread that is
    /// about to lose its core do so before it has locks in hand.
    #[inline]
    pub fn begin(&mut self) {
        debug_assert!(self.pending.is_none(), "the last transaction waits for nothing");
        debug_assert!(self.held.entries().is_empty(), "nor has it a lock");
        debug_assert!(self.intentions.is_empty(), "nor is it counted");
        if M::turn_is_over() {
            self.give_up_core();
        }
        if !self.by_guards {
            self.manager.epoch.enter(&self.agent().guard, Along::ANY);
        }
    }

    /// Others get the core, and what locks of its leaf the session has not used: until it comes back no segment waits for it.
    #[cold]
    fn give_up_core(&mut self) {
        self.close_leaf();
        M::stall(true);
    }

    #[inline]
    pub(crate) fn agent(&self) -> &Agent<M> {
        // SAFETY: agents live as long as the manager, which the session keeps.
        unsafe { self.agent.as_ref() }
    }

    /// The number of the bucket of a name.
    #[inline(always)]
    fn bucket_of(&self, name: Name) -> u64 {
        name.hash() & self.mask
    }

    /// Takes an epoch guard for the chain of `name`, in place of one that it holds.
    #[inline]
    pub(crate) fn enter(&self, name: Name) {
        self.enter_along(Along::bucket(self.bucket_of(name)));
    }

    #[inline]
    fn enter_along(&self, along: Along) {
        if self.by_guards && !M::fault(&faults::GUARD_UNSHOWN) {
            self.manager.epoch.enter(&self.agent().guard, along);
        }
    }

    /// As `enter`, for a caller that fences fully before it walks along the chain.
    #[inline]
    pub(crate) fn show(&self, name: Name) {
        if self.by_guards && !M::fault(&faults::GUARD_UNSHOWN) {
            let along = Along::bucket(self.bucket_of(name));
            self.manager.epoch.show(&self.agent().guard, along);
        }
    }

    #[inline]
    pub(crate) fn leave(&self) {
        if self.by_guards {
            Epoch::<M>::leave(&self.agent().guard);
        }
    }

    /// Prefetches the chain of `name`, which will be requested soon; the earlier the better, but a late call gains
    /// something, too.
    #[inline(always)]
    pub fn expect(&self, name: Name) {
        let bucket = self.buckets.as_ptr().wrapping_add(self.bucket_of(name) as usize);
        M::prefetch(bucket.cast_const().cast(), 1);
    }

    /// Locks `name` in `mode`, after waiting for it until `deadline` if need be. The caller holds no latch.
    ///
    /// # Errors
    /// Why the lock is refused. The transaction keeps what else it holds.
    pub fn acquire(
        &mut self,
        name: Name,
        mode: Mode,
        deadline: Option<Ticks>,
    ) -> Result<(), Refused> {
        match self.ask(name, mode)? {
            Answer::Granted => Ok(()),
            Answer::Waits => self.wait(Until::time(deadline)),
        }
    }

    /// Locks `name` in `mode`, or stands in line for it.
    ///
    /// # Errors
    /// Why the lock is refused.
    ///
    /// # Panics
    /// When the transaction waits already.
    #[inline(always)]
    pub fn ask(&mut self, name: Name, mode: Mode) -> Result<Answer, Refused> {
        assert!(self.pending.is_none(), "a transaction waits for one lock at a time");
        if name.ground().is_some() {
            return self.ask_ground(name, mode);
        }
        self.expect(name);
        if let Some(held) = self.held.find(name) {
            if held.mode.covers(mode) {
                return Ok(Answer::Granted);
            }
            return self.convert(name, mode);
        }
        self.request(name, mode)
    }

    /// As `ask`, for a name whose parts have locks of their own.
    #[inline(never)]
    fn ask_ground(&mut self, name: Name, mode: Mode) -> Result<Answer, Refused> {
        debug_assert!(name.ground().is_some(), "only grounds have counters");
        let counted = self.intentions.find(name);
        if counted.is_some_and(|held| held.covers(mode)) {
            return Ok(Answer::Granted);
        }
        if let Some(held) = self.held.find(name) {
            if held.mode.covers(mode) {
                return Ok(Answer::Granted);
            }
            return self.convert(name, mode);
        }
        if self.count_in(name, mode, counted) {
            return Ok(Answer::Granted);
        }
        let mode = counted.map_or(mode, |held| held.join(mode));
        match mode.is_intention() {
            true => self.request(name, mode),
            false => self.request_strong(name, mode),
        }
    }

    /// Asks for what it does not hold, by a lock in a chain.
    #[inline(always)]
    fn request(&mut self, name: Name, mode: Mode) -> Result<Answer, Refused> {
        if self.fresh.next == self.fresh.end && !self.refill() {
            return Err(Refused::Exhausted);
        }
        let (place, has_ahead) = self.come_in(name, mode);
        if has_ahead {
            return self.contend(name, mode, place);
        }
        self.held.add(Entry { name, mode, place });
        Ok(Answer::Granted)
    }

    /// As `request`, for a mode that intentions check for.
    fn request_strong(&mut self, name: Name, mode: Mode) -> Result<Answer, Refused> {
        debug_assert!(is_strong(name, mode), "intentions need not be counted on");
        if self.fresh.next == self.fresh.end && !self.refill() {
            return Err(Refused::Exhausted);
        }
        self.strong = true;
        self.come(name);
        let (place, _) = self.come_in(name, mode);
        self.contend(name, mode, place)
    }

    /// Puts the next fresh lock into its chain, and whether there is anything ahead of it.
    #[inline(always)]
    fn come_in(&mut self, name: Name, mode: Mode) -> (Place<M>, bool) {
        debug_assert!(self.fresh.next != self.fresh.end, "the last lock of a leaf is never taken");
        let lock = self.fresh.next;
        let state = State::new(self.number, Status::Active, None, mode);
        // SAFETY: there are as many buckets, a power of two, and they live as long as the manager. The lock is one
        // of a leaf, which lives while one of its locks was not given back.
        let (bucket, has_ahead) = unsafe {
            let number = self.bucket_of(name);
            let bucket = self.buckets.add(number as usize);
            self.fresh.next = lock.add(1);
            // One that may have gone cold.
            M::prefetch(lock.as_ptr().wrapping_add(AHEAD).cast_const().cast(), 1);
            self.fresh.own.note(lock.as_ref().place.at(), Along::bucket(number));
            lock.as_ref().prepare(name, state);
            (bucket, bucket.as_ref().insert(lock.as_ref()))
        };
        ((lock, bucket), has_ahead)
    }

    /// Claims what may not be had.
    #[inline(never)]
    fn contend(&mut self, name: Name, mode: Mode, place: Place<M>) -> Result<Answer, Refused> {
        let (lock, bucket) = place;
        self.show(name);
        // Full: linked before it looks at those ahead. Pairs with S6 of a releaser, who therefore finds this
        // lock if it does not see the other obsolete, and with the fence of a conversion.
        M::fence(Ordering::SeqCst);
        let answer = self.claim(Pending { name, bucket, lock, granted: None, wanted: mode });
        self.leave();
        answer
    }

    /// Asks for what it holds in a stronger mode.
    #[inline(never)]
    fn convert(&mut self, name: Name, mode: Mode) -> Result<Answer, Refused> {
        let held = self.held.find(name).expect("what is converted is held");
        let (granted, wanted) = (held.mode, held.mode.join(mode));
        debug_assert!(wanted != granted, "what is covered is had");
        let (lock, bucket) = held.place;
        let pending = Pending { name, bucket, lock, granted: Some(granted), wanted };
        if is_strong(name, wanted) && !is_strong(name, granted) {
            self.strong = true;
            self.come(name);
        }
        let state = State::new(self.number, Status::Active, Some(granted), wanted);
        pending.place().1.set(state);
        self.show(name);
        // Full: the wish is seen before we look behind us. Pairs with the fences of those behind, of whom
        // therefore either we see the claim, or they see the wish: the one of an insertion, S3, S5.
        M::fence(Ordering::SeqCst);
        let answer = self.claim(pending);
        self.leave();
        answer
    }

    /// Tries to hold an intention by a counter; `counted` is what it has of the kind already.
    #[inline]
    fn count_in(&mut self, name: Name, mode: Mode, counted: Option<Mode>) -> bool {
        let may_count = mode.is_intention() && (counted.is_some() || !self.intentions.is_full());
        if !may_count {
            return false;
        }
        let Some(ground) = self.manager.grounds.of(name) else { return false };
        if !ground.enter(self.number, mode) {
            // A strong request may have counted us.
            self.wake_strong(name);
            return false;
        }
        // SAFETY: agents live as long as the manager, which the session keeps.
        self.intentions.set(unsafe { self.agent.as_ref() }, name, mode);
        if let Some(weaker) = counted {
            _ = ground.leave(self.number, weaker);
        }
        true
    }

    /// An intention was counted out: strong requests may go on.
    #[cold]
    pub(crate) fn wake_strong(&self, name: Name) {
        self.show(name);
        // As S6.
        M::fence(Ordering::SeqCst);
        self.manager.wake_waiters(self.manager.bucket(name), name);
        self.leave();
    }

    fn come(&self, name: Name) {
        if let Some(ground) = self.manager.grounds.of(name) {
            ground.come();
        }
    }

    pub(crate) fn go(&self, name: Name) {
        if let Some(ground) = self.manager.grounds.of(name) {
            ground.go();
        }
    }

    /// Gets fresh locks: such as nobody has used since they were made, or since nobody could see them any more;
    /// whether there are any.
    #[cold]
    fn refill(&mut self) -> bool {
        self.close_leaf();
        let Some(leaf) = self.take_leaf() else { return false };
        let locks = self.manager.pool.locks(leaf);
        debug_assert!(locks.len() > 1, "there is one to take before the last");
        self.fresh.next = NonNull::from(locks).cast();
        // SAFETY: the last of them.
        self.fresh.end = unsafe { self.fresh.next.add(locks.len() - 1) };
        true
    }

    /// Uses no more of the leaf's locks, if it has one.
    fn close_leaf(&mut self) {
        self.retired.hand_back(&self.manager.pool);
        let Fresh { next, end, own } = &mut self.fresh;
        if *end != NonNull::dangling() {
            // SAFETY: in the leaf, whose last one was not given back.
            let (from, last) = unsafe { (next.as_ref().place, end.as_ref().place) };
            debug_assert!(from.leaf() == last.leaf(), "of one leaf");
            debug_assert!(from.at() <= last.at(), "the last one is there");
            let unused = u64::MAX << from.at() & u64::MAX >> (u64::BITS - 1 - last.at());
            self.manager.pool.close(from.leaf(), own, unused);
            (*next, *end) = (NonNull::dangling(), NonNull::dangling());
        }
    }

    fn take_leaf(&mut self) -> Option<Leaf> {
        let manager = &self.manager;
        let mut spin = Spin::<M>::new();
        let mut turns = 0;
        loop {
            match manager.pool.take(&manager.epoch, &manager.agents) {
                Ok(leaf) => return Some(leaf),
                Err(Shortage::NotYet) if turns < SHORTAGE_TURNS && self.by_guards => {
                    spin.wait();
                    turns += 1;
                }
                Err(_) => return None,
            }
        }
    }

    /// The lock's state says that it claims: has it, or stands in line for it. Under an epoch guard.
    fn claim(&mut self, pending: Pending<M>) -> Result<Answer, Refused> {
        debug_assert!(self.pending.is_none(), "it stands in one line at a time");
        let lock = pending.place().1;
        let state = |status| State::new(self.number, status, pending.granted, pending.wanted);
        loop {
            if !self.is_excluded(pending) {
                self.grant(pending);
                return Ok(Answer::Granted);
            }
            if self.tries {
                self.withdraw(pending);
                return Err(Refused::Timeout);
            }
            self.agent().waits_by(lock);
            self.shows = true;
            lock.set(state(Status::Waiting));
            // S2: a search for deadlocks, or a releasing session, sees that it waits, or we see what they did.
            if !M::fault(&faults::WAIT_UNFENCED) {
                M::fence(Ordering::SeqCst);
            }
            if self.is_excluded(pending) {
                break;
            }
            lock.set(state(Status::Active));
            // S3: a conversion ahead sees the claim, or we see its wish.
            if !M::fault(&faults::CLAIM_UNFENCED) {
                M::fence(Ordering::SeqCst);
            }
        }
        self.wake_conversions(pending);
        self.enter_along(Along::ANY);
        while let Some(victim) = self.search.victim(&mut &**self.manager, self.number, lock) {
            M::mark("deadlock found");
            if victim.owner == self.number {
                self.withdraw(pending);
                self.grow_older();
                return Err(Refused::deadlock(pending.granted));
            }
            M::mark("another told to give up");
            let agent = self.manager.agents.get(victim.owner);
            agent.tell_to_abort(victim.wait);
            self.manager.rouse(agent);
        }
        debug_assert!(self.shows, "those who look for deadlocks see it wait");
        self.pending = Some(pending);
        Ok(Answer::Waits)
    }

    /// Takes note of a lock that the transaction has.
    #[inline]
    fn grant(&mut self, pending: Pending<M>) {
        let Pending { name, bucket, lock, granted, wanted } = pending;
        debug_assert!(granted.is_none_or(|had| wanted.covers(had)), "no lock becomes weaker");
        self.stop_showing();
        if granted.is_none() {
            // A claim without anything before excludes what it excludes from now on.
            self.held.add(Entry { name, mode: wanted, place: (lock, bucket) });
            return;
        }
        let state = State::new(self.number, Status::Active, Some(wanted), wanted);
        pending.place().1.set(state);
        self.held.find(name).expect("what is converted is held").mode = wanted;
    }

    /// Whether locks of others exclude what the transaction asks for. Under an epoch guard.
    #[inline]
    fn is_excluded(&self, pending: Pending<M>) -> bool {
        let conflicts = pending.wanted.conflicts();
        let (bucket, own) = pending.place();
        let mut excluded = false;
        bucket.ahead(own, |other| {
            excluded = other.is_for(pending.name) && other.state().toward_behind().meets(conflicts);
            if excluded { Walk::Enough } else { Walk::On }
        });
        if !excluded && is_strong(pending.name, pending.wanted) {
            let ground = self.manager.grounds.of(pending.name);
            let own = self.intentions.find(pending.name);
            let counted = ground.map_or(Modes::NONE, |ground| ground.counted(own));
            excluded = counted.meets(conflicts) && !M::fault(&faults::COUNT_UNAWAITED);
        }
        if pending.granted.is_some() && !excluded {
            bucket.behind(own, |other| {
                excluded = other.is_some_and(|other| {
                    other.is_for(pending.name) && other.state().toward_ahead().meets(conflicts)
                });
                if excluded { Walk::Enough } else { Walk::On }
            });
        }
        excluded
    }

    /// A claim has turned into a wait: conversions ahead may have stopped at it.
    fn wake_conversions(&self, pending: Pending<M>) {
        let (bucket, own) = pending.place();
        bucket.ahead(own, |other| {
            let state = other.state();
            if state.status() == Status::Waiting && state.converts() && other.is_for(pending.name) {
                self.manager.rouse(self.manager.agents.get(state.owner()));
            }
            Walk::On
        });
    }

    /// Whether it could lock `name` in `mode` at once. The caller may be in a section, where nobody sleeps, and between two
    /// transactions: it releases what it has got by `release_all` then.
    fn try_lock(&mut self, name: Name, mode: Mode) -> bool {
        debug_assert!(!self.tries, "one try at a time");
        if !self.by_guards && self.held.entries().is_empty() {
            // A guard covers transactions, and there may be none. While nothing is held another one will do.
            self.manager.epoch.enter(&self.agent().guard, Along::ANY);
        }
        self.tries = true;
        let granted = self.ask(name, mode) == Ok(Answer::Granted);
        self.tries = false;
        debug_assert!(self.pending.is_none(), "who tries stands in no line");
        granted
    }

    /// It was refused: among those that make a circle it is spared before those that were not, or later.
    #[cold]
    fn grow_older(&mut self) {
        self.has_age = true;
        self.agent().grow_older(&self.manager.agents.refused.0);
    }

    /// Its transaction has committed: the next one is as young as any.
    #[inline]
    pub fn renew(&mut self) {
        if core::mem::take(&mut self.has_age) {
            self.agent().grow_young();
        }
    }

    /// Stands in line no more, if it does. It keeps what it holds.
    pub fn stop_waiting(&mut self) {
        if let Some(pending) = self.pending.take() {
            self.show(pending.name);
            self.withdraw(pending);
            self.leave();
        }
    }

    /// How many locks the transaction has, intentions not counted.
    #[must_use]
    pub fn count(&self) -> usize {
        self.held.entries().len()
    }

    /// What the transaction holds: an intention, and what it then asked for beyond it, are two.
    pub fn held(&self) -> impl Iterator<Item = (Name, Mode)> {
        let held = self.held.entries().iter().map(|held| (held.name, held.mode));
        self.intentions.iter().chain(held)
    }

    /// The mode in which the transaction holds `name`.
    pub fn mode_of(&mut self, name: Name) -> Option<Mode> {
        self.held.find(name).map(|held| held.mode).or(self.intentions.find(name))
    }
}

impl<M: Machine> Drop for Session<M> {
    fn drop(&mut self) {
        self.release_all();
        self.close_leaf();
        self.renew();
        self.agent().outlive_handles();
        self.manager.agents.release(self.number);
    }
}

/// Whether intentions on `name` have to look out for a request like this.
#[inline]
pub(crate) fn is_strong(name: Name, mode: Mode) -> bool {
    !mode.is_intention() && name.ground().is_some()
}

impl<M: Machine> Locks<M> for Session<M> {
    type Manager = Manager<M>;

    fn session(manager: &Arc<Shared<M, Manager<M>>>) -> Option<Self> {
        Self::new(manager)
    }

    fn tend(manager: &Manager<M>) {
        manager.supply();
    }

    #[inline]
    fn begin(&mut self) {
        Self::begin(self);
    }

    #[inline(always)]
    fn expect(&self, name: Name) {
        Self::expect(self, name);
    }

    #[inline(always)]
    fn ask(&mut self, name: Name, mode: Mode) -> Result<Answer, Refused> {
        Self::ask(self, name, mode)
    }

    fn try_lock(&mut self, name: Name, mode: Mode) -> bool {
        Self::try_lock(self, name, mode)
    }

    #[inline]
    fn renew(&mut self) {
        Self::renew(self);
    }

    fn wait(&mut self, until: Until<'_>) -> Result<(), Refused> {
        Self::wait(self, until)
    }

    fn stop_waiting(&mut self) {
        Self::stop_waiting(self);
    }

    fn cancel_handle(&self) -> Cancel<M, Manager<M>> {
        Cancel::new(&self.manager, |manager| &manager.agents, self.number)
    }

    fn clear_cancel(&mut self) {
        self.agent().clear_cancel();
    }

    fn count(&self) -> usize {
        Self::count(self)
    }

    fn mode_of(&mut self, name: Name) -> Option<Mode> {
        Self::mode_of(self, name)
    }

    #[inline]
    fn release_all(&mut self) {
        Self::release_all(self);
    }
}
