//! The items that sessions have handed over and wait for.

use crate::record::Kind;
use chiliad_api::{Error, Reason, TableId};
use chiliad_machine::{Machine, WorkerId};
use std::collections::HashMap;

/// An item on its way to the log.
pub struct Outgoing {
    pub kind: Kind,
    /// Its number among those of its server.
    pub local: u64,
    pub bytes: Vec<u8>,
}

/// The fate of an item.
#[derive(Clone, Debug)]
pub enum Answer {
    /// The intention of this number has committed.
    Committed(u64),
    /// It was refused.
    Refused(Reason),
    /// The catalog was changed, or could not be.
    Changed(Result<TableId, Error>),
    /// The server rolls nothing forward any more.
    Failed(Error),
}

struct Waiter {
    worker: WorkerId,
    answer: Option<Answer>,
}

/// Items that were handed over and not answered.
#[derive(Default)]
pub struct Pending {
    outgoing: Vec<Outgoing>,
    waiters: HashMap<u64, Waiter>,
}

impl Pending {
    /// Takes an item, for which the caller will wait.
    pub fn hand_over<M: Machine>(&mut self, item: Outgoing) {
        self.waiters.insert(item.local, Waiter { worker: M::worker(), answer: None });
        self.outgoing.push(item);
    }

    /// The items that are to be appended.
    pub fn take_outgoing(&mut self) -> Vec<Outgoing> {
        core::mem::take(&mut self.outgoing)
    }

    /// Whether items are to be appended.
    pub fn has_outgoing(&self) -> bool {
        !self.outgoing.is_empty()
    }

    /// One that waits for an item that is to be appended.
    pub fn someone(&self) -> Option<WorkerId> {
        let last = self.outgoing.last()?;
        self.waiters.get(&last.local).map(|waiter| waiter.worker)
    }

    /// Answers an item, and returns the worker that waits for it.
    pub fn answer(&mut self, local: u64, answer: Answer) -> Option<WorkerId> {
        let waiter = self.waiters.get_mut(&local)?;
        waiter.answer = Some(answer);
        Some(waiter.worker)
    }

    /// Those that wait for an answer, in an order that is the same in every run.
    pub fn waiting(&self) -> Vec<WorkerId> {
        let waiters = self.waiters.values().filter(|waiter| waiter.answer.is_none());
        let mut waiting: Vec<_> = waiters.map(|waiter| waiter.worker).collect();
        waiting.sort();
        waiting
    }

    /// Answers all items; returns those that wait for one.
    pub fn answer_all(&mut self, answer: &Answer) -> Vec<WorkerId> {
        self.outgoing.clear();
        let woken = self.waiting();
        for waiter in self.waiters.values_mut() {
            waiter.answer.get_or_insert_with(|| answer.clone());
        }
        woken
    }

    /// Takes the answer to an item, once it is there.
    pub fn take_answer(&mut self, local: u64) -> Option<Answer> {
        self.waiters.get(&local)?.answer.as_ref()?;
        self.waiters.remove(&local)?.answer
    }
}
