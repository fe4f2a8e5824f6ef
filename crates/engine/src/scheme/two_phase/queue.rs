//! Waiting for a lock: whoever cannot have it stands in a list, and is handed the lock by
//! whoever held it last.
//!
//! The list's latch is held for what happens to waiters alone. As long as anybody waits the word says so: then nobody
//! takes the lock without the latch, and the last holder takes the latch before it leaves. So it leaves the lock and hands it on
//! in one step, and a lock that somebody waits for is never free.
//!
//! | policy | order | who waits |
//! | --- | --- | --- |
//! | by age | the youngest first | who is older than all that hold the lock, and so than all before it |
//! | otherwise | first come, first served | everybody |
//!
//! A reader that wants to write stands in front of all.

use super::deadlock;
use super::faults;
use super::lists::{Latched, Lists};
use super::row_lock::{self, Claim, QUEUED, READER, UPGRADE};
use super::waiter::{
    self, GRANTED, IDLE, UPGRADES, WANTS_TO_READ, WANTS_TO_WRITE, Waiter, Waiters,
};
use super::word::Mode;
use chiliad_machine::{Cost, Machine, Ordering, Word};

/// The result of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Answer {
    /// It is granted.
    Granted,
    /// It stands in the list, and [`waiter::is_granted`] will tell.
    Waiting,
    /// It is not in the list.
    Denied,
}

/// Where waiters stand.
pub(super) struct Queues<M: Machine> {
    pub waiters: Waiters<M>,
    lists: Lists<M>,
    /// Bits of a timestamp below those of an age; `None` where nothing goes by age.
    age_shift: Option<u32>,
}

/// The lock of a record.
pub(super) struct Locked<'a, M: Machine> {
    pub word: &'a M::Word,
    pub address: u64,
}

impl<M: Machine> Queues<M> {
    pub fn new(age_shift: Option<u32>) -> Self {
        Self { waiters: Waiters::new(), lists: Lists::new(), age_shift }
    }

    /// How old a transaction of this timestamp is, where that decides.
    #[inline]
    pub fn age(&self, timestamp: u64) -> Option<u64> {
        self.age_shift.map(|shift| timestamp >> shift & ((1 << row_lock::WHO_BITS) - 1))
    }

    fn claim(&self, slot: u32) -> Option<Claim> {
        let waiter = self.waiters.get(slot);
        let age = self.age(waiter.timestamp.load(Ordering::Relaxed));
        waiter.claim(slot, waiter.state.load(Ordering::Relaxed), age)
    }

    /// Asks for a lock that could not be taken at once; by age the claim is older than all that held it then.
    #[cold]
    pub fn lock(&self, lock: &Locked<'_, M>, claim: Claim) -> Answer {
        M::work(Cost::Queue, 1);
        let mut list = self.lists.latch(&self.waiters, lock.address);
        let own = list.waiter(claim.slot);
        debug_assert!(claim.age.is_some() == self.age_shift.is_some(), "one policy for all");
        let ahead = match self.age_shift {
            None => list.last(),
            Some(_) => self.younger(&list, own),
        };
        loop {
            let found = row_lock::load::<M>(lock.word);
            let granted = claim.beside(found).filter(|_| ahead.is_none());
            let too_young = claim.age.is_some() && !claim.is_oldest(found);
            if granted.is_none() && too_young && !M::fault(&faults::YOUNGER_WAITS) {
                return Answer::Denied;
            }
            let queued = if M::fault(&faults::QUEUE_BIT_LOST) { found } else { found | QUEUED };
            if !exchange::<M>(lock.word, found, granted.unwrap_or(queued)) {
                continue;
            }
            if granted.is_some() {
                return Answer::Granted;
            }
            let wanted = if claim.mode == Mode::Owned { WANTS_TO_WRITE } else { WANTS_TO_READ };
            self.join(&mut list, lock, claim.slot, ahead, wanted, queued);
            return Answer::Waiting;
        }
    }

    /// Asks for the right to write with a claim that holds the lock for reading, together with others; by age it is the
    /// oldest of them.
    #[cold]
    pub fn upgrade(&self, lock: &Locked<'_, M>, claim: Claim) -> Answer {
        M::work(Cost::Queue, 1);
        debug_assert!(claim.mode == Mode::Owned, "it wants to write");
        let mut list = self.lists.latch(&self.waiters, lock.address);
        loop {
            let found = lock.word.load(Ordering::Relaxed);
            if row_lock::readers(found) == 1 {
                if exchange::<M>(lock.word, found, claim.alone_in(found)) {
                    return Answer::Granted;
                }
                continue;
            }
            let too_young = claim.age.is_some() && !claim.is_the_oldest_of(found);
            if too_young && !M::fault(&faults::YOUNGER_WAITS) {
                return Answer::Denied;
            }
            let queued = found | QUEUED | UPGRADE;
            if exchange::<M>(lock.word, found, queued) {
                self.join(&mut list, lock, claim.slot, None, UPGRADES, queued);
                return Answer::Waiting;
            }
        }
    }

    /// The last of those who wait for the record and are younger than `own`; they are served before it.
    fn younger(&self, list: &Latched<'_, M>, own: &Waiter<M>) -> Option<u32> {
        let born = |waiter: &Waiter<M>| waiter.timestamp.load(Ordering::Relaxed);
        let upgrades = |slot| list.waiter(slot).state.load(Ordering::Relaxed) == UPGRADES;
        let before = |slot: &u32| upgrades(*slot) || born(list.waiter(*slot)) > born(own);
        list.in_order().take_while(before).last()
    }

    /// Puts the caller into the list, after `ahead` or in front of all who wait for the record.
    fn join(
        &self,
        list: &mut Latched<'_, M>,
        lock: &Locked<'_, M>,
        slot: u32,
        ahead: Option<u32>,
        wanted: u64,
        word: u64,
    ) {
        let own = list.waiter(slot);
        debug_assert!(waiter::waits(wanted), "who joins waits");
        debug_assert!(ahead != Some(slot), "a waiter does not follow itself");
        if !M::fault(&faults::BELL_OF_BEGIN) {
            // Whom a grant wakes, and a search that chooses this transaction as its victim: the caller, which need not be the
            // thread that began the transaction.
            own.thread.store(u64::from(M::worker().0), Ordering::Relaxed);
        }
        own.record.store(lock.address, Ordering::Relaxed);
        // A worker that was told to end an earlier wait, and got through all the same, may wait again.
        own.victim.store(0, Ordering::Relaxed);
        list.insert(slot, ahead);
        self.show(list, Some(slot), word);
        // Release pairs with the acquire in `Node::waits`: the edges are there.
        own.state.store(wanted, Ordering::Release);
        self.show(list, list.after(slot), word);
    }

    /// Takes back what a waiter waits for: it leaves the list, or goes on reading. `false`: it has been granted in the
    /// meantime.
    pub fn cancel(&self, lock: &Locked<'_, M>, slot: u32) -> bool {
        let mut list = self.lists.latch(&self.waiters, lock.address);
        let own = list.waiter(slot);
        let state = own.state.load(Ordering::Relaxed);
        if state == GRANTED {
            return false;
        }
        own.state.store(IDLE, Ordering::Relaxed);
        let next = list.after(slot);
        list.remove(slot);
        self.show(&list, next, lock.word.load(Ordering::Relaxed));
        let kept = state == UPGRADES && M::fault(&faults::COUNT_KEPT);
        self.serve(&mut list, lock, |found| if kept { found + READER } else { found });
        true
    }

    /// Shows searches for deadlocks what a waiter waits for, under a policy that needs them.
    fn show(&self, list: &Latched<'_, M>, slot: Option<u32>, word: u64) {
        if let (Some(slot), None) = (slot, self.age_shift) {
            deadlock::show(&self.waiters, list.waiter(slot), list.before(slot), word);
        }
    }

    /// Gives a lock back, or hands it to those who wait.
    #[inline]
    pub fn unlock(&self, lock: &Locked<'_, M>, claim: Claim) {
        if !row_lock::try_unlock::<M>(lock.word, claim) {
            self.hand_over(lock, claim);
        }
    }

    #[cold]
    fn hand_over(&self, lock: &Locked<'_, M>, claim: Claim) {
        M::work(Cost::Queue, 1);
        let mut list = self.lists.latch(&self.waiters, lock.address);
        self.serve(&mut list, lock, |found| row_lock::without(found, claim.mode));
    }

    /// Grants what can be granted of a lock that `change` happens to, and says in the word what is left. The caller holds the
    /// lock, or the word still says that it waits: the record stays until the word is changed.
    fn serve(&self, list: &mut Latched<'_, M>, lock: &Locked<'_, M>, change: impl Fn(u64) -> u64) {
        let (granted, word) = loop {
            let found = lock.word.load(Ordering::Relaxed);
            let (granted, next) = self.plan(list, change(found));
            if exchange::<M>(lock.word, found, next) {
                break (granted, next);
            }
        };
        for _ in 0..granted {
            let first = list.in_order().next().expect("as many as were counted");
            list.remove(first);
            list.grant(first);
        }
        self.show(list, list.in_order().next(), word);
    }

    /// How many of those who wait can be granted what they wait for, and the word then.
    fn plan(&self, list: &Latched<'_, M>, found: u64) -> (usize, u64) {
        let mut granted = 0;
        let mut word = found & !(QUEUED | UPGRADE);
        if M::fault(&faults::HAND_OVER_FORGOTTEN) {
            return (0, word);
        }
        for slot in list.in_order() {
            let claim = self.claim(slot).expect("who stands in a list waits");
            let upgrades = list.waiter(slot).state.load(Ordering::Relaxed) == UPGRADES;
            let alone = row_lock::readers(word) == 1 || M::fault(&faults::GRANTED_TWICE);
            let next = match upgrades {
                true if alone => Some(claim.alone_in(word)),
                true => None,
                false => claim.beside(word).or_else(|| claim.beside_readers::<M>(word)),
            };
            match next {
                Some(next) => word = next,
                None => return (granted, word | QUEUED | if upgrades { UPGRADE } else { 0 }),
            }
            granted += 1;
        }
        (granted, word)
    }
}

/// Changes the word from `found` to `next`, under the latch of the list. What is not to be changed was as it was found when
/// that was read, and only holders that leave others behind can have changed it since.
fn exchange<M: Machine>(word: &M::Word, found: u64, next: u64) -> bool {
    // Acquire pairs with the releases in `row_lock::try_unlock` and here, on behalf of those who are granted the lock.
    // Release pairs with the acquires of the next owners, on behalf of those who leave it.
    found == next || word.compare_exchange(found, next, Ordering::AcqRel, Ordering::Relaxed).is_ok()
}
