//! A session that waits for a lock: awake at first, then asleep until the releasing session wakes it (Jung et al.,
//! 2014, Figure 3, lines A17 to A28).

use super::{Pending, Session, is_strong};
use crate::answer::Refused;
use crate::faults;
use crate::lock::{State, Status};
use crate::mode::Mode;
use crate::until::Until;
use chiliad_machine::{Link, Machine, Ordering, Patience, Tagged, Woken, Word};

/// Looks at what it waits for before a transaction sleeps: about as long as a short transaction takes.
const LOOKS_MAX: u32 = 64;

impl<M: Machine> Session<M> {
    /// Waits for what [`Session::ask`] stands in line for. The caller holds no latch.
    ///
    /// # Errors
    /// Why it is not to be had. The transaction stands in line no more, and keeps what else it holds.
    #[inline(never)]
    pub fn wait(&mut self, until: Until<'_>) -> Result<(), Refused> {
        while let Some(pending) = self.pending {
            debug_assert!(self.shows, "those who look for deadlocks see it wait");
            let waited = self.sleep(pending, until);
            self.pending = None;
            self.show(pending.name);
            let answer = match waited {
                Ok(()) => {
                    pending.place().1.set(State::new(
                        self.number,
                        Status::Active,
                        pending.granted,
                        pending.wanted,
                    ));
                    // S5: as S3.
                    if !M::fault(&faults::WOKEN_UNFENCED) {
                        M::fence(Ordering::SeqCst);
                    }
                    self.claim(pending).map(|_| ())
                }
                Err(refused) => {
                    if refused.ends_deadlock() {
                        self.grow_older();
                    }
                    self.withdraw(pending);
                    Err(refused)
                }
            };
            self.leave();
            answer?;
        }
        Ok(())
    }

    /// Waits until nothing excludes what it stands in line for, awake at first.
    fn sleep(&self, pending: Pending<M>, until: Until<'_>) -> Result<(), Refused> {
        debug_assert!(!self.tries, "who tries does not sleep");
        let Until { deadline, is_cancelled } = until;
        // An epoch guard is held.
        let look = || {
            let excluded = self.is_excluded(pending);
            self.leave();
            !excluded
        };
        let is_free = || {
            self.enter(pending.name);
            look()
        };
        let mut patience = Patience::<M>::new();
        // Short runs that look for interleavings shall see it sleep.
        for _ in 0..if M::explores() { M::random() as u32 % 4 } else { LOOKS_MAX } {
            if is_free() {
                return Ok(());
            }
            if self.agent().gives_up() {
                return Err(Refused::deadlock(pending.granted));
            }
            patience.wait();
        }
        let agent = self.agent();
        let is_told = || agent.is_cancelled() || is_cancelled();
        agent.thread.store(u64::from(M::worker().0), Ordering::Relaxed);
        M::mark("slept for a lock");
        let slept = loop {
            agent.sleeps.store(1, Ordering::Release); // S4 pairs with the fence before `rouse`.
            self.show(pending.name);
            // S4: a releasing session sees that it sleeps, or we see what was released.
            if !M::fault(&faults::SLEEP_UNFENCED) {
                M::fence(Ordering::SeqCst);
            }
            if look() {
                break Ok(());
            }
            if agent.gives_up() {
                break Err(Refused::deadlock(pending.granted));
            }
            // Acquire pairs with the release in `rouse`.
            while agent.sleeps.load(Ordering::Acquire) != 0 && !is_told() {
                match deadline {
                    None => M::park(),
                    Some(deadline) => {
                        if M::park_until(deadline) == Woken::ByTime && M::now() >= deadline {
                            break;
                        }
                    }
                }
            }
            if is_told() {
                break Err(Refused::Cancelled);
            }
            if deadline.is_some_and(|deadline| M::now() >= deadline) {
                break if is_free() { Ok(()) } else { Err(Refused::Timeout) };
            }
        };
        agent.sleeps.store(0, Ordering::Relaxed);
        slept
    }

    /// Stands in line no more. The epoch guard of the chain is held.
    pub(crate) fn withdraw(&mut self, pending: Pending<M>) {
        debug_assert!(self.pending.is_none(), "it stands in no other line");
        let (bucket, lock) = pending.place();
        self.stop_showing();
        let state = match pending.granted {
            None => State::RELEASED,
            Some(mode) => State::new(self.number, Status::Active, Some(mode), mode),
        };
        lock.set(state);
        let weak = |mode: Option<Mode>| mode.is_none_or(|mode| !is_strong(pending.name, mode));
        if is_strong(pending.name, pending.wanted) && weak(pending.granted) {
            self.go(pending.name);
        }
        // As S6.
        M::fence(Ordering::SeqCst);
        match pending.granted {
            None => self.manager.release(bucket, pending.name),
            Some(_) => self.manager.wake_waiters(bucket, pending.name),
        }
    }

    /// The transaction waits for nothing. The release pairs with the acquire of searches for deadlocks.
    #[inline]
    pub(super) fn stop_showing(&mut self) {
        if core::mem::take(&mut self.shows) {
            self.agent().waits_for.store(Tagged::null(), Ordering::Release);
        }
    }
}
