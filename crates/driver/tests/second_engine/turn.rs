//! Mutual exclusion by ownership: what all sessions share lies in one box, and the transaction in progress has
//! it. There is no lock to be forgotten, and nothing that two could touch at once.
//!
//! A session that finds the box gone queues and parks: on the simulated machine a core that waits takes no turn
//! from the others, and natively the fibers of its thread run. The first of the queue stays there until it has
//! the box or gives up, so that a wake-up that meets a session about to give up is passed on and never lost.

use chiliad_api::{Cancel, Error, Nested, Result};
use chiliad_machine::{Latch, Machine, Shared, Ticks, WorkerId};
use std::collections::VecDeque;

/// Something that one transaction at a time owns.
pub struct Turn<M: Machine, T>(Shared<M, Latch<M, State<T>>>);

struct State<T> {
    /// Nothing while a transaction has it.
    free: Option<Box<T>>,
    /// Those that wait for it, in the order of their arrival.
    waiting: VecDeque<WorkerId>,
}

/// What ends a wait before the turn comes.
pub struct Limits<'a, M: Machine> {
    /// The time, in ticks of the machine.
    pub deadline: Option<Ticks>,
    /// A word from outside.
    pub cancel: Option<&'a Cancel<M>>,
    /// The caller runs inside another transaction, which has the turn and ends later: it never waits.
    pub nested: bool,
}

impl<M: Machine> Limits<'_, M> {
    /// Waits as long as it takes.
    pub fn none() -> Self {
        Self { deadline: None, cancel: None, nested: false }
    }

    /// Why the caller has to give up by now.
    pub fn check(&self) -> Result<()> {
        if self.cancel.is_some_and(Cancel::is_canceled) {
            return Err(Error::Canceled);
        }
        match self.deadline {
            Some(time) if M::now() >= time => Err(Error::DeadlineExceeded),
            _ => Ok(()),
        }
    }
}

impl<M: Machine, T> Turn<M, T> {
    pub fn new(owned: T) -> Self {
        let free = Some(Box::new(owned));
        Self(Shared::new(Latch::new(State { free, waiting: VecDeque::new() })))
    }

    /// Takes the box, when it is there.
    ///
    /// # Errors
    /// What `limits` say.
    pub fn take(&self, limits: &Limits<'_, M>) -> Result<Box<T>> {
        // Not in the head of a `match`: the latch would be held while the caller parks.
        let free = self.0.lock().free.take();
        match free {
            Some(owned) => Ok(owned),
            None => self.wait(limits),
        }
    }

    fn wait(&self, limits: &Limits<'_, M>) -> Result<Box<T>> {
        if limits.nested {
            return Err(Error::Nested(Nested::WaitsForOuter));
        }
        let own = M::worker();
        let _sleeper = limits.cancel.map(Cancel::wakes_caller);
        loop {
            let over = limits.check();
            let mut state = self.0.lock();
            if let Err(error) = over {
                state.waiting.retain(|&it| it != own);
                // The wake-up may have been for us.
                let next = state.waiting.front().copied().filter(|_| state.free.is_some());
                drop(state);
                next.into_iter().for_each(M::unpark);
                return Err(error);
            }
            if let Some(owned) = state.free.take() {
                state.waiting.retain(|&it| it != own);
                return Ok(owned);
            }
            if !state.waiting.contains(&own) {
                state.waiting.push_back(own);
            }
            drop(state);
            match limits.deadline {
                None => M::park(),
                Some(time) => drop(M::park_until(time)),
            }
        }
    }

    /// Puts the box back and wakes the first that waits for it.
    pub fn give_back(&self, owned: Box<T>) {
        let mut state = self.0.lock();
        state.free = Some(owned);
        let next = state.waiting.front().copied();
        drop(state);
        next.into_iter().for_each(M::unpark);
    }
}
